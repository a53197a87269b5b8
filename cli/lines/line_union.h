/* Appends lines to a file, all of them or none. */
#ifndef CLI_LINES_LINE_UNION_H
#define CLI_LINES_LINE_UNION_H

#include "line_file.h"

/* All zero before the first call. */
struct line_union {
    const char *name;
    roost_file *file; /* NULL: nothing was appended */
};

/* Appends `copies` copies of a line. The first call locks the file, which must not have changed since it was opened,
   and copies it. Complains if it fails, as all of these do. */
bool line_union_append(struct line_union *united, struct line_file *file, roost_bytes line, uint64_t copies);

/* Replaces the file; does nothing if nothing was appended. */
bool line_union_commit(struct line_union *united);

/* Without a commit the file is unchanged. */
void line_union_close(struct line_union *united);

#endif
