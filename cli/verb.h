/* A verb of the program: one file each, gathered in main.c. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "cli/base/options.h"

struct verb {
    const char *name;
    const char *synopsis; /* what follows the name; " | " separates forms */
    const char *summary;  /* a line in the list of verbs */
    const char *details;  /* the text of its help; print_wrapped prints it */
    const struct option *options;
    const char *const *operands; /* names of those that are required, up to a NULL */
    bool more_operands;          /* whether others may follow */
    bool changes_file;           /* changes the first operand; a message about a signal then says that it did not */
    int (*run)(const struct arguments *arguments);
};

extern const struct verb verb_create, verb_add, verb_remove, verb_check, verb_merge, verb_sync, verb_info, verb_digest,
    verb_serve, verb_demo, verb_reconcile, verb_window, verb_counter, verb_link;

#endif
