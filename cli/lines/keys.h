/* The keys of a verb: from its command line, standard input, or both. */
#ifndef CLI_LINES_KEYS_H
#define CLI_LINES_KEYS_H

#include "lines.h"
#include "cli/base/options.h"

#define KEYS_AT_ONCE 4096

struct key_source {
    char **operands;
    size_t count, next, literal_from;
    bool reading; /* reading standard input now */
    struct line_reader lines;
    roost_bytes keys[KEYS_AT_ONCE];
};

/* Keys are the operands from `first` on; none of them, or "-" before a "--", means standard input. */
void key_source_open(struct key_source *source, const struct arguments *arguments, size_t first);
void key_source_close(struct key_source *source);

/* Reads the next batch into source->keys; *count is 0 at the end. Returns false after an error, with a message, or a
   signal. */
bool key_source_next(struct key_source *source, size_t *count);

#endif
