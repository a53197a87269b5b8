/* Lines of a descriptor, many at a time. */
#ifndef CLI_LINES_LINES_H
#define CLI_LINES_LINES_H

#include "roost.h"

struct line_reader {
    const char *name; /* for messages; "standard input" unless somebody sets it */
    int descriptor;
    char *bytes;
    size_t room;
    size_t next;     /* where the first line that was not handed out begins */
    size_t searched; /* no newline from `next` to here */
    size_t end;      /* of what was read */
    bool ended;      /* there is no more to read */
};

void line_reader_open(struct line_reader *reader, int descriptor);
void line_reader_close(struct line_reader *reader);

/*
 * Up to `most` lines, without their newlines; *count is 0 at the end. They stay where they are until the next call.
 * Waits only if there is no whole line at hand. Complains and answers false where reading fails.
 */
bool line_reader_next(struct line_reader *reader, roost_bytes *lines, size_t *count, size_t most);

#endif
