/* Reads lines from a descriptor, many at a time. */
#ifndef CLI_LINES_LINES_H
#define CLI_LINES_LINES_H

#include "blocks.h"

struct line_reader {
    const char *name; /* for messages; "standard input" unless it is set */
    int descriptor;
    char terminator; /* what ends a line; a newline unless it is set */
    char *bytes;
    size_t room;
    size_t next;         /* begin of the first line that was not returned */
    size_t searched;     /* no terminator from `next` to here */
    size_t end;          /* of what was read */
    bool ended;          /* the input has ended */
    const char *failure; /* why the last call failed */
};

void line_reader_open(struct line_reader *reader, int descriptor);
void line_reader_close(struct line_reader *reader);

/*
 * Returns up to `most` lines, without their terminators; *count is 0 at the end. They are valid until the next call.
 * Waits only if the buffer has no complete line. Complains and returns false if reading fails.
 */
bool line_reader_next(struct line_reader *reader, roost_bytes *lines, size_t *count, size_t most);

/*
 * Reads a block of complete lines, and the last line of the input even if it is not complete; nothing at the end. Waits
 * only until there is one line. Returns false, and does not complain, if reading fails. Not together with the call
 * above.
 */
bool line_reader_fill(struct line_reader *reader, struct line_block *block);

/* Says why a call failed. */
void line_reader_complain(const struct line_reader *reader);

#endif
