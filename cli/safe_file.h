/* A file that is replaced whole or not at all, by one process at a time. */
#ifndef CLI_SAFE_FILE_H
#define CLI_SAFE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct safe_file {
    const char *name; /* as the user wrote it, for messages */
    char *target;     /* what that names once symbolic links are followed */
    int lock;         /* the present file, open and locked; -1: there is none */
    struct stat present;
};

/*
 * Locks the file against other writers; waits as long as one is at work. Where there is no such file, `lock` is -1 and
 * all is well. Complains and answers false where it cannot be opened for writing. Close it in any case.
 */
bool safe_file_open(struct safe_file *file, const char *name);

/*
 * Puts the bytes in its place: all of them, on the disk, under the old permissions. Where there was no file when it was
 * opened and there is one now, it refuses. Complains where it fails; the file is then as it was. Once this succeeds,
 * signals end the program as usual.
 */
bool safe_file_replace(struct safe_file *file, const void *bytes, size_t size);

void safe_file_close(struct safe_file *file);

#endif
