/* What `roost link` was asked to do: its options, read by cli/link.c. */
#ifndef LINK_SETTINGS_H
#define LINK_SETTINGS_H

#include "client/connection_options.h"

#define MOST_REGIONS 16

struct link_settings {
    char **urls; /* passwords in them are overwritten */
    unsigned count;
    const char *match;              /* NULL: every key */
    uint64_t interval;              /* milliseconds */
    bool once, json, quiet, refill; /* refill: evicted keys are sent again, once */
    uint16_t metrics;               /* a port on loopback, or 0 */
    const char *password_file;
    struct connection_options connection;
};

#endif
