/* A roost on another machine: `RSH HOST roost serve [OPTION] PATH`, and messages through its pipes. */
#ifndef CLI_PEER_REMOTE_H
#define CLI_PEER_REMOTE_H

#include <sys/types.h>

#include "wire.h"

/* How another machine is reached. */
struct remote_shell {
    const char *command; /* its words are separated by blanks: "ssh -p 2222" */
    const char *roost;   /* how the program is called there */
    const char *option;  /* of `serve`, or NULL */
};

/* The rows of a verb's table of options that choose it. */
#define SHELL_OPTIONS(shell)                                                                                           \
    {.name = "rsh",                                                                                                    \
     .type = OPTION_TEXT,                                                                                              \
     .place = &(shell).command,                                                                                        \
     .value = "COMMAND",                                                                                               \
     .help = "what reaches HOST (default: $ROOST_RSH, or else ssh)"},                                                  \
    {                                                                                                                  \
        .name = "roost", .type = OPTION_TEXT, .place = &(shell).roost, .value = "PATH",                                \
        .help = "how the program is called on HOST (default: roost)"                                                   \
    }

/* What was not chosen is as the environment has it, or the usual. */
void complete_shell(struct remote_shell *shell);

struct remote {
    const char *name; /* HOST:PATH as the user wrote it, for messages */
    const struct remote_shell *shell;
    pid_t process; /* 0: none is running */
    struct wire wire;
};

/* Whether the name has the form HOST:PATH: a colon before any slash, as for scp and rsync. */
bool is_remote_name(const char *name);

/* Whether it looks like a URL, which is none of these. */
bool is_url(const char *name);

/* Starts the program at the other end. Complains where that fails. */
bool remote_start(struct remote *remote, const char *name, const struct remote_shell *shell);

/* Sends a request and waits for the reply. Complains where there is none: who is there, and what became of it. */
bool remote_ask(struct remote *remote, struct byte_buffer *reply, roost_bytes request);

/* The exchange is over: waits for the other end to finish. One that does not is stopped. */
void remote_end(struct remote *remote);

#endif
