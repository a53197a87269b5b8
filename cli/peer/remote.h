/* A roost on another machine: `RSH HOST roost serve [OPTION] PATH`, and messages through its pipes. */
#ifndef CLI_PEER_REMOTE_H
#define CLI_PEER_REMOTE_H

#include <sys/types.h>

#include "wire.h"

/* How the program on another machine is started. */
struct remote_shell {
    const char *command; /* words separated by spaces: "ssh -p 2222" */
    const char *roost;   /* the program on the other machine */
    const char *option;  /* of `serve`, or NULL */
};

/* The options for it, for the option tables of verbs. */
#define SHELL_OPTIONS(shell)                                                                                           \
    {.name = "rsh",                                                                                                    \
     .type = OPTION_TEXT,                                                                                              \
     .place = &(shell).command,                                                                                        \
     .value = "COMMAND",                                                                                               \
     .help = "remote shell for HOST (default: $ROOST_RSH, or ssh)"},                                                   \
    {                                                                                                                  \
        .name = "roost", .type = OPTION_TEXT, .place = &(shell).roost, .value = "PATH",                                \
        .help = "path of the program on HOST (default: roost)"                                                         \
    }

/* Fills in what was not given, from the environment or with the defaults. */
void complete_shell(struct remote_shell *shell);

struct remote {
    const char *name; /* HOST:PATH as the user wrote it, for messages */
    const struct remote_shell *shell;
    pid_t process; /* 0: not running */
    struct wire wire;
};

/* Whether the name has the form HOST:PATH: a colon before any slash, as for scp and rsync. */
bool is_remote_name(const char *name);

/* Whether it looks like a URL. */
bool is_url(const char *name);

/* Whether a program can be started there: name and settings are valid. Complains if not. */
bool remote_is_valid(const char *name, const struct remote_shell *shell);

/* Starts the program on the other machine. Complains if it fails. */
bool remote_start(struct remote *remote, const char *name, const struct remote_shell *shell);

/* Sends a request and waits for the reply. If there is none, complains with what the peer did or said. */
bool remote_ask(struct remote *remote, struct byte_buffer *reply, roost_bytes request);

/* Waits for the program on the other machine to end, and stops it if it does not. */
void remote_end(struct remote *remote);

#endif
