/* A file of lines that is read through several times: once for all of them, then for some. */
#ifndef CLI_LINES_LINE_FILE_H
#define CLI_LINES_LINE_FILE_H

#include <sys/stat.h>

#include "roost.h"

struct line_file {
    const char *name;
    int descriptor;
    struct stat version; /* as it was when it was opened */
    bool is_copy;        /* of something that can be read only once */
};

/* Opens it. What is no file (a pipe, a terminal) is copied first. Complains where that fails, as all of these do. */
bool line_file_open(struct line_file *file, const char *name);
void line_file_close(struct line_file *file);

/* What is done with a line; false stops the walk, for a reason that was told already. */
typedef bool line_visitor(void *context, roost_bytes line);

/* All lines from the first one on. */
bool line_file_walk(struct line_file *file, line_visitor *visit, void *context);

/* Complains if it is not as it was when it was opened. */
bool line_file_is_unchanged(const struct line_file *file);

/* Lines by number, ascending, one after the other in one walk. */
struct line_picker {
    struct line_file *file;
    struct line_reader *reader;
    roost_bytes *lines; /* of the present batch */
    size_t count, next;
    uint64_t number; /* of the next one */
};

bool line_picker_open(struct line_picker *picker, struct line_file *file);
void line_picker_close(struct line_picker *picker);
/* The line of that number, 0 being the first; it stays where it is until the next call. */
bool line_picker_take(struct line_picker *picker, roost_bytes *line, uint64_t number);

#endif
