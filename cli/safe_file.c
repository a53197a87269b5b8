/*
 * How a file is replaced so that a crash, a full disk, a signal or another process cannot spoil it.
 *
 *     open, lock     flock on the file itself, so that no lock file is left lying around. A rename gives the name to
 *                    another inode, so whoever waited for the lock checks that the name still means what he locked.
 *     write          a temporary in the same directory, then fsync: a full disk shows here, and costs the temporary.
 *     rename         from one moment to the next readers see the new file; they need no lock.
 *     fsync          of the directory, so that the rename outlives a power cut.
 *
 * A killed process leaves its temporary behind. Its name comes from the inode of the file that is locked, so the next
 * one to lock that file finds it there and knows that nobody uses it: at most one is ever left, and not for long.
 * A new file has no inode yet; its temporary has a random name, and link() gives it its real one, which fails where
 * somebody else was faster.
 */
#include "safe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "interrupt.h"
#include "messages.h"

#define MOST_LINKS      40
#define LONGEST_LINK    4096
#define WRITTEN_AT_ONCE ((size_t)16 << 20)
#define TEMPORARY_ROOM  32

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
    bool current = stat(file->target, &named) == 0 && same_file(&named, &file->present);
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
        safe_file_close(&(struct safe_file){.lock = file->lock});
        file->lock = -1;
        if (result == LOCK_FAILED)
            return false;
    }
}

static char *temporary_path(const struct safe_file *file);

/* Of a process that was killed while it held the lock that we hold now; gone even if we have nothing to write. */
static void remove_left_over(const struct safe_file *file)
{
    char *path = file->lock >= 0 ? temporary_path(file) : NULL;
    if (path)
        unlink(path);
    free(path);
}

bool safe_file_open(struct safe_file *file, const char *name)
{
    *file = (struct safe_file){.name = name, .lock = -1, .target = follow_links(name)};
    if (!file->target)
        return complain(name, "%s", strerror(errno));
    if (!open_and_lock(file))
        return false;
    remove_left_over(file);
    return true;
}

void safe_file_close(struct safe_file *file)
{
    if (file->lock >= 0)
        close(file->lock);
    free(file->target);
    file->target = NULL;
    file->lock = -1;
}

/* ---- temporary ------------------------------------------------------------------------------------------------- */

static char *temporary_path(const struct safe_file *file)
{
    char name[TEMPORARY_ROOM];
    uint64_t tag;
    if (file->lock >= 0) {
        snprintf(name, sizeof name, ".roost-%llx", (unsigned long long)file->present.st_ino);
    } else {
        if (getrandom(&tag, sizeof tag, 0) != sizeof tag)
            return NULL;
        snprintf(name, sizeof name, ".roost-new-%016llx", (unsigned long long)tag);
    }
    return beside(file->target, name);
}

static int open_temporary(const struct safe_file *file, const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file->lock >= 0 ? 0600 : 0666);
}

/* Where the group cannot be kept, another group must not get what was meant for it. */
static bool keep_owner_and_mode(const struct safe_file *file, int descriptor)
{
    struct stat now;
    mode_t mode = file->present.st_mode & 07777;
    if (file->lock < 0)
        return true;
    if (fstat(descriptor, &now) != 0)
        return false;
    bool same = now.st_uid == file->present.st_uid && now.st_gid == file->present.st_gid;
    if (!same && fchown(descriptor, file->present.st_uid, file->present.st_gid) != 0 &&
        fchown(descriptor, (uid_t)-1, file->present.st_gid) != 0)
        mode = (mode & 0707) | (mode & 07) << 3;
    return fchmod(descriptor, mode) == 0;
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

static bool fill_temporary(const struct safe_file *file, int descriptor, const void *bytes, size_t size)
{
    bool written =
        keep_owner_and_mode(file, descriptor) && write_all(descriptor, bytes, size) && sync_to_disk(descriptor);
    int error = errno;
    bool closed = close(descriptor) == 0;
    if (!written)
        errno = error;
    return written && closed;
}

/* ---- into its place -------------------------------------------------------------------------------------------- */

static bool links_are_missing_here(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

static bool place_new(const char *temporary, const char *target)
{
    if (link(temporary, target) == 0)
        return unlink(temporary), true;
    struct stat present;
    if (!links_are_missing_here(errno))
        return false;
    if (lstat(target, &present) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(temporary, target) == 0;
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

static bool put_in_place(const struct safe_file *file, const char *temporary)
{
    return file->lock >= 0 ? rename(temporary, file->target) == 0 : place_new(temporary, file->target);
}

static bool replace_through(struct safe_file *file, const char *temporary, const void *bytes, size_t size)
{
    int descriptor = open_temporary(file, temporary);
    if (descriptor < 0)
        return complain(file->name, "cannot write in its directory: %s", strerror(errno));
    if (!fill_temporary(file, descriptor, bytes, size) || interrupted() || !put_in_place(file, temporary)) {
        int error = errno;
        unlink(temporary);
        return complain(file->name, "cannot be written: %s", strerror(error));
    }
    interrupt_release();
    return sync_directory(file->target) ||
           complain(file->name, "written, but its directory could not be synced: %s", strerror(errno));
}

bool safe_file_replace(struct safe_file *file, const void *bytes, size_t size)
{
    char *temporary = temporary_path(file);
    if (!temporary)
        return complain(file->name, "cannot be written: %s", strerror(errno));
    bool replaced = replace_through(file, temporary, bytes, size);
    free(temporary);
    return replaced;
}
