/* Options of all connections to a deployment. */
#ifndef CLIENT_CONNECTION_OPTIONS_H
#define CLIENT_CONNECTION_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* How connections are made. All zero is what one usually wants. */
struct connection_options {
    const char *ca_file;                     /* certificates to trust with rediss://; NULL: those of the system */
    const char *certificate_file, *key_file; /* ours, where servers ask for one; NULL: none */
    bool insecure;                           /* any certificate will do */
    const char *needs; /* the command that a module must know to be new enough; NULL: ROOST.PULL */
    unsigned timeout;  /* milliseconds that a server may take to answer; 0: 30 s */
    uint64_t seed;     /* of the chance that makes pauses uneven */
};

#endif
