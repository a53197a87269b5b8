/*
 * Lines that are there keep their order, and new ones come behind them. A last line without a newline gets one, since
 * otherwise it would not stay a line of its own.
 */
#include "line_union.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/messages.h"

#define COPIED_AT_ONCE ((size_t)1 << 20)

static bool is_what_was_read(const struct line_union *united, const struct line_file *file)
{
    const struct stat *now = &united->place.present, *before = &file->version;
    if (file->is_copy)
        return complain(file->name, "is not a file, and cannot take in lines");
    bool same = united->place.lock >= 0 && now->st_dev == before->st_dev && now->st_ino == before->st_ino;
    return (same && line_file_is_unchanged(file)) ||
           (!same && complain(file->name, "was replaced meanwhile; it is left as it is, try again"));
}

static bool copy_present(struct line_union *united, struct line_file *file)
{
    char *bytes = malloc(COPIED_AT_ONCE), last = '\n';
    off_t at = 0;
    ssize_t got = 1;
    bool fine = bytes != NULL;
    while (fine && got > 0) {
        got = pread(file->descriptor, bytes, COPIED_AT_ONCE, at);
        fine = got >= 0 || complain(file->name, "%s", strerror(errno));
        if (got > 0) {
            fine = safe_file_write(&united->place, bytes, (size_t)got);
            last = bytes[got - 1];
            at += got;
        }
    }
    free(bytes);
    return fine && (last == '\n' || safe_file_write(&united->place, "\n", 1));
}

static bool begin(struct line_union *united, struct line_file *file)
{
    united->begun = true;
    return safe_file_open(&united->place, file->name) && is_what_was_read(united, file) &&
           safe_file_begin(&united->place) && copy_present(united, file);
}

bool line_union_append(struct line_union *united, struct line_file *file, roost_bytes line, uint64_t copies)
{
    bool fine = united->begun || begin(united, file);
    for (uint64_t i = 0; fine && i < copies; i++)
        fine = safe_file_write(&united->place, line.data, line.size) && safe_file_write(&united->place, "\n", 1);
    return fine;
}

bool line_union_commit(struct line_union *united)
{
    return !united->begun || (safe_file_flush(&united->place) && safe_file_commit(&united->place));
}

void line_union_close(struct line_union *united)
{
    if (united->begun)
        safe_file_close(&united->place);
    *united = (struct line_union){0};
}
