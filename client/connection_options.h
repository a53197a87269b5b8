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

/* What a user can set, for the option tables of verbs (cli/base/options.h); `passwords` is a const char *, the name of
   a file for secrets_read. */
#define CONNECTION_OPTIONS(connection, passwords)                                                                      \
    {.name = "password-file",                                                                                          \
     .type = OPTION_TEXT,                                                                                              \
     .place = &(passwords),                                                                                            \
     .value = "FILE",                                                                                                  \
     .help = "a file of lines \"URL password\", readable by you alone"},                                               \
        {.name = "cacert",                                                                                             \
         .type = OPTION_TEXT,                                                                                          \
         .place = &(connection).ca_file,                                                                               \
         .value = "FILE",                                                                                              \
         .help = "certificates to trust with rediss:// (default: the system's)"},                                      \
        {.name = "cert",                                                                                               \
         .type = OPTION_TEXT,                                                                                          \
         .place = &(connection).certificate_file,                                                                      \
         .value = "FILE",                                                                                              \
         .help = "client certificate, for servers that want one"},                                                     \
        {.name = "key",                                                                                                \
         .type = OPTION_TEXT,                                                                                          \
         .place = &(connection).key_file,                                                                              \
         .value = "FILE",                                                                                              \
         .help = "the key of that certificate (default: in the same file)"},                                           \
    {                                                                                                                  \
        .name = "insecure", .type = OPTION_BOOLEAN, .place = &(connection).insecure,                                   \
        .help = "accept any certificate of a server"                                                                   \
    }

/* Whether the options of TLS go together; `tls`: whether a server is to be reached by TLS. Complains if not. */
bool connection_options_are_valid(const struct connection_options *options, bool tls);

#endif
