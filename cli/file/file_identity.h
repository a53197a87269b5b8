/* What tells one very file from its copies. */
#ifndef CLI_FILE_FILE_IDENTITY_H
#define CLI_FILE_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct file_identity {
    uint64_t device, inode;
    struct timespec birth;    /* all zero where the file system does not tell */
    struct timespec modified; /* one that we chose */
};

/* For a file that is about to be written, before its contents are: they may then hold its identity. Answers false where
   the file system does not say enough. */
bool file_identity_choose(struct file_identity *identity, int descriptor);

/* Once all is written: gives the file the modification time of its identity. */
bool file_identity_stamp(int descriptor, const struct file_identity *identity);

/* Whether the open file is the very one. A copy, whoever made it and however, is not. */
bool file_identity_matches(const struct file_identity *identity, int descriptor);

/* If the file, whose name now belongs to its successor, goes on under another name, it is nobody from now on. */
void file_identity_retire(int descriptor);

/* Whether nobody has touched a file between two looks at it, by whatever name. */
bool same_version(const struct stat *before, const struct stat *after);

#endif
