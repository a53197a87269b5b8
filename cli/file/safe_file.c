/*
 * How a file is replaced so that a crash, a full disk, a signal or another process cannot spoil it.
 *
 *     open, lock     flock on the file itself, so that no lock file is left lying around. A rename gives the name to
 *                    another inode, so whoever waited for the lock checks that the name still means what he locked.
 *     write          a successor in the same directory, then fsync: a full disk shows here, and costs the successor.
 *     rename         from one moment to the next readers see the new file; they need no lock. It was locked before
 *                    anybody could find it, so that the lock is never let go in between.
 *     fsync          of the directory, so that the rename outlives a power cut.
 *
 * A killed process leaves its successor behind. Its name comes from the inode of the file that is locked, so the next
 * one to lock that file finds it there and knows that nobody uses it: at most one is ever left, and not for long.
 * A new file has no inode yet; it is written without any name, and link() gives it its real one, which fails where
 * somebody else was faster. Where a file system has no nameless files, it gets a random name first.
 */
#define _GNU_SOURCE
#include "safe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"

#define MOST_LINKS      40
#define LONGEST_LINK    4096
#define WRITTEN_AT_ONCE ((size_t)16 << 20)
#define NAME_ROOM       40

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* How many bytes of a path are its directory, with the slash. */
static size_t directory_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* `name` as seen from the directory of `path`. */
static char *beside(const char *path, const char *name)
{
    size_t size = name[0] == '/' ? 0 : directory_size(path);
    char *joined = malloc(size + strlen(name) + 1);
    if (joined) {
        memcpy(joined, path, size);
        strcpy(joined + size, name);
    }
    return joined;
}

/* One link further; NULL with errno 0 where the path is no link. */
static char *follow_link(const char *path)
{
    char link[LONGEST_LINK + 1];
    ssize_t size = readlink(path, link, LONGEST_LINK);
    if (size < 0) {
        errno = 0; /* no link, or something that opening it will tell better */
        return NULL;
    }
    link[size] = '\0';
    return beside(path, link);
}

/* A link may point to a file that is yet to be made, which is why realpath() is of no help. */
static char *follow_links(const char *path)
{
    char *target = strdup(path);
    for (int links = 0; target && links < MOST_LINKS; links++) {
        char *next = follow_link(target);
        if (!next && errno == 0)
            return target;
        free(target);
        target = next;
    }
    if (target)
        errno = ELOOP;
    free(target);
    return NULL;
}

/* ---- lock ------------------------------------------------------------------------------------------------------ */

static bool wait_for_lock(int descriptor)
{
    while (flock(descriptor, LOCK_EX) != 0)
        if (errno != EINTR || interrupted())
            return false;
    return true;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

enum lock_result { LOCK_TAKEN, LOCK_OUTDATED, LOCK_FAILED };

static enum lock_result lock_open_file(struct safe_file *file)
{
    struct stat named;
    if (fstat(file->lock, &file->present) != 0)
        return complain(file->name, "%s", strerror(errno)), LOCK_FAILED;
    if (!S_ISREG(file->present.st_mode))
        return complain(file->name, "not a regular file"), LOCK_FAILED;
    if (!wait_for_lock(file->lock))
        return complain(file->name, "cannot be locked: %s", strerror(errno)), LOCK_FAILED;
    bool current =
        fstat(file->lock, &file->present) == 0 && stat(file->target, &named) == 0 && same_file(&named, &file->present);
    return current ? LOCK_TAKEN : LOCK_OUTDATED;
}

static bool open_and_lock(struct safe_file *file)
{
    for (;;) {
        file->lock = open(file->target, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (file->lock < 0)
            return errno == ENOENT || complain(file->name, "%s", strerror(errno));
        enum lock_result result = lock_open_file(file);
        if (result == LOCK_TAKEN)
            return true;
        close(file->lock);
        file->lock = -1;
        if (result == LOCK_FAILED)
            return false;
    }
}

/* The name of the successor, which the inode of the present file tells. */
static char *successor_path(const struct safe_file *file)
{
    char name[NAME_ROOM];
    snprintf(name, sizeof name, ".roost-%llx", (unsigned long long)file->present.st_ino);
    return beside(file->target, name);
}

/* Of a process that was killed while it held the lock that we hold now; gone even if we have nothing to write. */
static void remove_left_over(const struct safe_file *file)
{
    char *path = file->lock >= 0 ? successor_path(file) : NULL;
    if (path)
        unlink(path);
    free(path);
}

bool safe_file_open(struct safe_file *file, const char *name)
{
    *file = (struct safe_file){.name = name, .lock = -1, .successor = -1, .target = follow_links(name)};
    if (!file->target)
        return complain(name, "%s", strerror(errno));
    if (!open_and_lock(file))
        return false;
    remove_left_over(file);
    return true;
}

static void discard_successor(struct safe_file *file)
{
    if (file->successor >= 0)
        close(file->successor);
    if (file->successor_path)
        unlink(file->successor_path);
    free(file->successor_path);
    file->successor_path = NULL;
    file->successor = -1;
}

void safe_file_close(struct safe_file *file)
{
    discard_successor(file);
    if (file->lock >= 0)
        close(file->lock);
    free(file->target);
    file->target = NULL;
    file->lock = -1;
}

/* ---- successor ------------------------------------------------------------------------------------------------- */

static char *random_path(const struct safe_file *file)
{
    char name[NAME_ROOM];
    uint64_t tag;
    if (getrandom(&tag, sizeof tag, 0) != sizeof tag)
        return NULL;
    snprintf(name, sizeof name, ".roost-new-%016llx", (unsigned long long)tag);
    return beside(file->target, name);
}

/* By this name a nameless file can be linked. */
static void descriptor_path(char path[NAME_ROOM], int descriptor)
{
    snprintf(path, NAME_ROOM, "/proc/self/fd/%d", descriptor);
}

/* -1 where the file system has no nameless files, or the machine no /proc to link them from. */
static int open_nameless(const struct safe_file *file)
{
    char path[NAME_ROOM], *directory = beside(file->target, ".");
    int descriptor = directory ? open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
    free(directory);
    if (descriptor < 0)
        return -1;
    descriptor_path(path, descriptor);
    if (access(path, F_OK) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

static int open_successor(struct safe_file *file)
{
    int nameless = file->lock < 0 ? open_nameless(file) : -1;
    if (nameless >= 0)
        return nameless;
    file->successor_path = file->lock >= 0 ? successor_path(file) : random_path(file);
    if (!file->successor_path)
        return -1;
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    int descriptor = open(file->successor_path, flags, file->lock >= 0 ? 0600 : 0666);
    if (descriptor < 0) { /* whatever has that name is not ours to take away */
        free(file->successor_path);
        file->successor_path = NULL;
    }
    return descriptor;
}

/* Where the group cannot be kept, another group must not get what was meant for it. */
static bool keep_owner_and_mode(const struct safe_file *file)
{
    struct stat now;
    mode_t mode = file->present.st_mode & 07777;
    if (file->lock < 0)
        return true;
    if (fstat(file->successor, &now) != 0)
        return false;
    bool same = now.st_uid == file->present.st_uid && now.st_gid == file->present.st_gid;
    if (!same && fchown(file->successor, file->present.st_uid, file->present.st_gid) != 0 &&
        fchown(file->successor, (uid_t)-1, file->present.st_gid) != 0)
        mode = (mode & 0707) | (mode & 07) << 3;
    return fchmod(file->successor, mode) == 0;
}

static bool write_all(int descriptor, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(descriptor, bytes, size < WRITTEN_AT_ONCE ? size : WRITTEN_AT_ONCE);
        if (interrupted() || (written < 0 && errno != EINTR))
            return false;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static bool sync_to_disk(int descriptor)
{
    while (fsync(descriptor) != 0)
        if (errno != EINTR || interrupted())
            return false;
    return true;
}

static bool complain_of_writing(const struct safe_file *file)
{
    return complain(file->name, "cannot be written: %s", strerror(errno));
}

bool safe_file_begin(struct safe_file *file)
{
    file->successor = open_successor(file);
    if (file->successor < 0)
        return complain(file->name, "cannot write in its directory: %s", strerror(errno));
    return (keep_owner_and_mode(file) && flock(file->successor, LOCK_EX | LOCK_NB) == 0) || complain_of_writing(file);
}

bool safe_file_write(struct safe_file *file, const void *bytes, size_t size)
{
    return write_all(file->successor, bytes, size) || complain_of_writing(file);
}

bool safe_file_flush(struct safe_file *file)
{
    return sync_to_disk(file->successor) || complain_of_writing(file);
}

/* ---- into its place -------------------------------------------------------------------------------------------- */

static bool links_are_missing_here(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

static bool place_new(const char *successor, const char *target)
{
    if (link(successor, target) == 0)
        return unlink(successor), true;
    struct stat present;
    if (!links_are_missing_here(errno))
        return false;
    if (lstat(target, &present) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(successor, target) == 0;
}

static bool place_nameless(int descriptor, const char *target)
{
    char path[NAME_ROOM];
    descriptor_path(path, descriptor);
    return linkat(AT_FDCWD, path, AT_FDCWD, target, AT_SYMLINK_FOLLOW) == 0;
}

/* Some file systems cannot sync a directory, and some directories may be written but not read. */
static bool sync_directory(const char *path)
{
    char *directory = beside(path, ".");
    int descriptor = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(directory);
    if (descriptor < 0)
        return true;
    bool synced = fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS || errno == EINTR;
    int error = errno;
    close(descriptor);
    errno = error;
    return synced;
}

static bool put_in_place(const struct safe_file *file)
{
    if (file->lock >= 0)
        return rename(file->successor_path, file->target) == 0;
    return file->successor_path ? place_new(file->successor_path, file->target)
                                : place_nameless(file->successor, file->target);
}

static bool become_present(struct safe_file *file)
{
    if (file->lock >= 0)
        close(file->lock);
    file->lock = file->successor;
    file->successor = -1;
    free(file->successor_path);
    file->successor_path = NULL;
    return fstat(file->lock, &file->present) == 0;
}

bool safe_file_commit(struct safe_file *file)
{
    if (interrupted() || !put_in_place(file))
        return complain_of_writing(file);
    interrupt_release();
    return (become_present(file) && sync_directory(file->target)) ||
           complain(file->name, "written, but its directory could not be synced: %s", strerror(errno));
}
