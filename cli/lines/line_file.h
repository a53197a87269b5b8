/* A file of lines that is read several times: once for all lines, then for some. */
#ifndef CLI_LINES_LINE_FILE_H
#define CLI_LINES_LINE_FILE_H

#include <sys/stat.h>

#include "blocks.h"

struct line_file {
    const char *name;
    int descriptor;
    struct stat version; /* when it was opened */
    bool is_copy;        /* of a pipe or terminal, which can be read only once */
};

/* Opens it. A pipe or terminal is copied to a temporary file first. Complains if it fails, as all of these do. */
bool line_file_open(struct line_file *file, const char *name);
void line_file_close(struct line_file *file);

/* The next read begins with the first line. */
bool line_file_rewind(struct line_file *file);

/* Works on all lines, from the first on: `work` needs no source. Then the file must be unchanged. */
bool line_file_work(struct line_file *file, struct block_work work);

/* Complains if it has changed since it was opened. */
bool line_file_is_unchanged(const struct line_file *file);

/* Picks lines by number, ascending, in one walk. */
struct line_picker {
    struct line_file *file;
    struct line_reader *reader;
    roost_bytes *lines; /* of the present batch */
    size_t count, next;
    uint64_t number; /* of the next one */
};

bool line_picker_open(struct line_picker *picker, struct line_file *file);
void line_picker_close(struct line_picker *picker);
/* The line of that number, from 0 on; valid until the next call. */
bool line_picker_take(struct line_picker *picker, roost_bytes *line, uint64_t number);

#endif
