/* A file of lines that takes in more of them, whole or not at all. */
#ifndef CLI_LINES_LINE_UNION_H
#define CLI_LINES_LINE_UNION_H

#include "line_file.h"

/* All zero before the first call. */
struct line_union {
    const char *name;
    roost_file *file; /* NULL: nothing was appended */
};

/* Appends a line so many times. The first call locks the file, which must still be as it was when it was opened, and
   copies it. Complains where that fails, as all of these do. */
bool line_union_append(struct line_union *united, struct line_file *file, roost_bytes line, uint64_t copies);

/* What was appended takes its place; nothing happens if there was none. */
bool line_union_commit(struct line_union *united);

/* Without a commit the file is as it was. */
void line_union_close(struct line_union *united);

#endif
