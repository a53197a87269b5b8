/* The keys that a verb is given: on its command line, on standard input, or both. */
#ifndef CLI_LINES_KEYS_H
#define CLI_LINES_KEYS_H

#include "lines.h"
#include "cli/base/options.h"

#define KEYS_AT_ONCE 4096

struct key_source {
    char **operands;
    size_t count, next, literal_from;
    bool reading; /* standard input, at present */
    struct line_reader lines;
    roost_bytes keys[KEYS_AT_ONCE];
};

/* Keys are the operands from `first` on; none means standard input, and so does "-" before a "--". */
void key_source_open(struct key_source *source, const struct arguments *arguments, size_t first);
void key_source_close(struct key_source *source);

/* The next batch is in source->keys; *count is 0 at the end. Answers false after a complaint or an interrupt. */
bool key_source_next(struct key_source *source, size_t *count);

#endif
