/* Options of all connections to a deployment. */
#ifndef CLIENT_CONNECTION_OPTIONS_H
#define CLIENT_CONNECTION_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: the defaults. */
struct connection_options {
    const char *ca_file;                     /* certificates to trust with rediss://; NULL: those of the system */
    const char *certificate_file, *key_file; /* our own, for servers that ask for one; NULL: none */
    bool insecure;                           /* accept any certificate */
    const char *needs;                       /* a command that the module must have; NULL: ROOST.PULL */
    unsigned timeout;                        /* milliseconds without a reply; 0: 30 s */
    uint64_t seed;                           /* of the random part of pauses */
};

#endif
