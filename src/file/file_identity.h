/* Tells a file from its copies. */
#ifndef FILE_FILE_IDENTITY_H
#define FILE_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct file_identity {
    uint64_t device, inode;
    struct timespec birth;    /* all zero if the file system has none */
    struct timespec modified; /* chosen by file_identity_choose */
};

/* Chooses the identity of a file before its contents are written, so that they may contain it. Returns false if the
   file system does not provide what is needed. */
bool file_identity_choose(struct file_identity *identity, int descriptor);

/* After the last write: sets the modification time of the identity. */
bool file_identity_stamp(int descriptor, const struct file_identity *identity);

/* Whether the open file has this identity. No copy of it has. */
bool file_identity_matches(const struct file_identity *identity, int descriptor);

/* For a file that was just replaced: if it still has another name (a hard link made meanwhile), takes its identity
   away. */
void file_identity_retire(int descriptor);

/* Whether a file is unchanged between two calls of stat. */
bool file_version_is_same(const struct stat *before, const struct stat *after);

#endif
