/* A file that is replaced whole or not at all, by one process at a time. */
#ifndef CLI_FILE_SAFE_FILE_H
#define CLI_FILE_SAFE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct safe_file {
    const char *name; /* as the user wrote it, for messages */
    char *target;     /* what that names once symbolic links are followed */
    int lock;         /* the present file, open and locked; -1: there is none */
    struct stat present;
    int successor;        /* the file that is to take its place, open for writing; -1: none was begun */
    char *successor_path; /* NULL: it has no name as yet */
};

/*
 * Locks the file against other writers; waits as long as one is at work. Where there is no such file, `lock` is -1 and
 * all is well. Complains and answers false where it cannot be opened for writing. Close it in any case.
 */
bool safe_file_open(struct safe_file *file, const char *name);

/*
 * How it is replaced, step by step. Each complains where it fails; until `commit` succeeds the file is as it was, and
 * `close` takes the successor away.
 */
bool safe_file_begin(struct safe_file *file); /* an empty successor, with the old permissions */
bool safe_file_write(struct safe_file *file, const void *bytes, size_t size);
bool safe_file_flush(struct safe_file *file); /* all that was written is on the disk */

/*
 * Puts the successor in its place; from now on it is the one that is open and locked. Where there was no file when it
 * was opened and there is one now, it refuses. Once this succeeds, signals end the program as usual.
 */
bool safe_file_commit(struct safe_file *file);

void safe_file_close(struct safe_file *file);

#endif
