/*
 * Present lines keep their order, and new ones follow. A last line without a newline gets one, so that it stays a line.
 */
#include "line_union.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"
#include "cli/file/filter_file.h"

#define COPIED_AT_ONCE ((size_t)1 << 20)

static bool is_what_was_read(const struct line_union *united, const struct line_file *file)
{
    struct stat now;
    if (file->is_copy)
        return complain(file->name, "is not a regular file; lines cannot be added to it");
    bool same = roost_file_exists(united->file) && fstat(roost_file_get_descriptor(united->file), &now) == 0 &&
                now.st_dev == file->version.st_dev && now.st_ino == file->version.st_ino;
    return (same && line_file_is_unchanged(file)) ||
           (!same && complain(file->name, "was replaced meanwhile; it is unchanged, try again"));
}

static bool write_bytes(struct line_union *united, const char *name, const void *bytes, size_t size)
{
    roost_status status = roost_file_write(united->file, bytes, size);
    return status == ROOST_OK || complain_of_file(name, united->file, status);
}

static bool copy_present(struct line_union *united, struct line_file *file)
{
    char *bytes = malloc(COPIED_AT_ONCE), last = '\n';
    off_t at = 0;
    ssize_t got = 1;
    bool fine = true;
    if (!bytes)
        return complain_of_status(file->name, ROOST_NO_MEMORY);
    while (fine && got > 0) {
        got = pread(file->descriptor, bytes, COPIED_AT_ONCE, at);
        fine = got >= 0 || complain(file->name, "%s", strerror(errno));
        if (got > 0) {
            fine = write_bytes(united, file->name, bytes, (size_t)got);
            last = bytes[got - 1];
            at += got;
        }
    }
    free(bytes);
    return fine && (last == '\n' || write_bytes(united, file->name, "\n", 1));
}

static bool begin(struct line_union *united, struct line_file *file)
{
    united->name = file->name;
    united->file = file_object(file->name);
    if (!united->file)
        return false;
    roost_status status = roost_file_lock(united->file, ROOST_LOCK_EXCLUSIVE);
    if (status != ROOST_OK)
        return complain_of_file(file->name, united->file, status);
    if (!is_what_was_read(united, file))
        return false;
    status = roost_file_begin(united->file);
    return status == ROOST_OK ? copy_present(united, file) : complain_of_file(file->name, united->file, status);
}

bool line_union_append(struct line_union *united, struct line_file *file, roost_bytes line, uint64_t copies)
{
    bool fine = united->file || begin(united, file);
    for (uint64_t i = 0; fine && i < copies; i++)
        fine = write_bytes(united, file->name, line.data, line.size) && write_bytes(united, file->name, "\n", 1);
    return fine;
}

bool line_union_commit(struct line_union *united)
{
    roost_status status = united->file ? roost_file_commit(united->file) : ROOST_OK;
    if (status != ROOST_OK)
        return complain_of_file(united->name, united->file, status);
    if (united->file)
        interrupt_release();
    return true;
}

void line_union_close(struct line_union *united)
{
    roost_file_free(united->file);
    *united = (struct line_union){0};
}
