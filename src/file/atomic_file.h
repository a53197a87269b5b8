/* A file that is replaced atomically, by one process at a time. */
#ifndef FILE_ATOMIC_FILE_H
#define FILE_ATOMIC_FILE_H

#include <sys/stat.h>

#include "../base/memory.h"
#include "failure.h"
#include "roost/file.h"

struct interrupt {
    bool (*requested)(void *context); /* NULL: never */
    void *context;
};

/* Whether the caller wants the call to end. */
static inline bool is_interrupted(const struct interrupt *interrupt)
{
    return interrupt->requested && interrupt->requested(interrupt->context);
}

/* The first four are set by the owner. */
struct atomic_file {
    const char *path;
    roost_allocator allocator;
    roost_entropy entropy;
    struct interrupt interrupt;
    struct failure failure; /* of the last call that failed */
    char *target;           /* the path with symbolic links followed; NULL: not open */
    int lock;               /* the present file, open and locked; -1: there is none */
    bool exclusive;
    struct stat present;
    int successor;        /* the file that is to replace it, open for writing; -1: not begun */
    char *successor_path; /* NULL: it has no name yet */
};

/*
 * Locks the file as roost_file_lock describes; `wait` false: ROOST_BUSY instead of waiting. If there is no such file,
 * `lock` is -1, and the status is ROOST_OK. Closed after a failure.
 */
roost_status atomic_file_open(struct atomic_file *file, roost_lock lock, bool wait);

/* How a file is replaced, step by step. Until `commit` succeeds the file is as it was, and `close` removes the
   successor. */
roost_status atomic_file_begin(struct atomic_file *file); /* an empty successor, with the old permissions */
roost_status atomic_file_write(struct atomic_file *file, const void *bytes, size_t size);
/* What was written already: the first bytes again, and exactly so many from a position on. */
roost_status atomic_file_rewrite(struct atomic_file *file, const void *bytes, size_t size);
roost_status atomic_file_read(struct atomic_file *file, uint64_t position, uint8_t *bytes, size_t size);
roost_status atomic_file_truncate(struct atomic_file *file, size_t size); /* keeps the first `size` bytes */
roost_status atomic_file_flush(struct atomic_file *file);                 /* syncs what was written to the disk */

/*
 * Puts the successor in place, and keeps it open and locked. ROOST_SYSTEM with EEXIST: there was no file when it was
 * opened, and there is one now. *in_place tells whether the file was replaced, which it also is if only the directory
 * could not be synced.
 */
roost_status atomic_file_commit(struct atomic_file *file, bool *in_place);

void atomic_file_abandon(struct atomic_file *file); /* removes the successor, if there is one; the lock stays */
void atomic_file_close(struct atomic_file *file);
/* The same in a child of the process that opened it: lock and successor stay the parent's. */
void atomic_file_leave(struct atomic_file *file);

#endif
