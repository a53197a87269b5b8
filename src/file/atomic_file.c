/*
 * How a file is replaced so that a crash, a full disk, a signal or another process cannot spoil it.
 *
 *     open, lock     flock on the file itself, so that no lock file is left lying around. A rename gives the name to
 *                    another inode, so a process that waited for the lock checks that the name still means what it
 *                    locked, and starts over otherwise.
 *     write          a successor in the same directory, then fsync: a full disk shows here, and costs the successor.
 *     rename         from one moment to the next readers see the new file; they need no lock. It was locked before
 *                    it got its name, so that the lock is held without a gap.
 *     fsync          of the directory, so that the rename survives a power cut.
 *
 * A killed process leaves its successor behind. The successor's name comes from the inode of the locked file, so the
 * next process that locks this file finds it there and knows that it is unused: at most one is ever left, and not for
 * long. A new file has no inode yet; it is written without a name (O_TMPFILE), and link() gives it its real one, which
 * fails if another process was faster. On file systems without nameless files it gets a random name first.
 */
#define _GNU_SOURCE
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../base/entropy.h"

#define MOST_LINKS      40
#define LONGEST_LINK    4096
#define WRITTEN_AT_ONCE ((size_t)16 << 20)
#define NAME_ROOM       40

static void release(const struct atomic_file *file, void *memory)
{
    int error = errno; /* of the call that this cleans up after */
    memory_release(&file->allocator, memory);
    errno = error;
}

static void close_quietly(int descriptor)
{
    int error = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = error;
}

static roost_status fail_without_memory(struct atomic_file *file)
{
    return file_fail(&file->failure, ROOST_NO_MEMORY, NULL);
}

/* A system call failed. */
static roost_status fail_in(struct atomic_file *file, const char *what)
{
    if (errno == EINTR)
        return file_fail(&file->failure, ROOST_INTERRUPTED, NULL);
    return file_fail_by_errno(&file->failure, what);
}

static roost_status fail_in_writing(struct atomic_file *file)
{
    return fail_in(file, "cannot be written");
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* How many bytes of a path are its directory, with the slash. */
static size_t directory_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* `name` as seen from the directory of `path`; NULL without memory. */
static char *beside(const struct atomic_file *file, const char *path, const char *name)
{
    size_t size = name[0] == '/' ? 0 : directory_size(path);
    char *joined = memory_allocate(&file->allocator, size + strlen(name) + 1);
    if (joined) {
        memcpy(joined, path, size);
        strcpy(joined + size, name);
    }
    return joined;
}

/* A link may point to a file that does not exist yet, so realpath() is of no help. */
static roost_status follow_links(struct atomic_file *file)
{
    char link[LONGEST_LINK + 1];
    file->target = beside(file, "", file->path);
    for (int links = 0; file->target && links < MOST_LINKS; links++) {
        ssize_t size = readlink(file->target, link, LONGEST_LINK);
        if (size < 0)
            return ROOST_OK; /* not a link; any other error shows when the file is opened */
        link[size] = '\0';
        char *next = beside(file, file->target, link);
        release(file, file->target);
        file->target = next;
    }
    if (!file->target)
        return fail_without_memory(file);
    errno = ELOOP;
    return fail_in(file, NULL);
}

/* ---- lock ------------------------------------------------------------------------------------------------------ */

static bool take_lock(struct atomic_file *file, bool wait)
{
    int operation = (file->exclusive ? LOCK_EX : LOCK_SH) | (wait ? 0 : LOCK_NB);
    while (flock(file->lock, operation) != 0)
        if (errno != EINTR || is_interrupted(&file->interrupt))
            return false;
    return true;
}

/* Closing it is not enough: a process that was forked meanwhile has the descriptor, too. */
static void unlock(int lock)
{
    int error = errno;
    if (lock >= 0)
        flock(lock, LOCK_UN);
    errno = error;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* *outdated: the name belongs to another file by now. */
static roost_status lock_open_file(struct atomic_file *file, bool wait, bool *outdated)
{
    struct stat named;
    if (fstat(file->lock, &file->present) != 0)
        return fail_in(file, NULL);
    if (!S_ISREG(file->present.st_mode))
        return file_fail(&file->failure, ROOST_INVALID, "not a regular file");
    if (!take_lock(file, wait))
        return errno == EWOULDBLOCK ? file_fail(&file->failure, ROOST_BUSY, NULL) : fail_in(file, "cannot be locked");
    *outdated =
        fstat(file->lock, &file->present) != 0 || stat(file->target, &named) != 0 || !same_file(&named, &file->present);
    return ROOST_OK;
}

static roost_status open_and_lock(struct atomic_file *file, bool wait)
{
    int flags = (file->exclusive ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    bool outdated = true;
    roost_status status = ROOST_OK;
    while (status == ROOST_OK && outdated) {
        close_quietly(file->lock);
        file->lock = open(file->target, flags);
        if (file->lock < 0)
            return errno == ENOENT ? ROOST_OK : fail_in(file, NULL);
        status = lock_open_file(file, wait, &outdated);
    }
    return status;
}

/* The name of the successor, which derives from the inode of the present file. */
static char *successor_path(const struct atomic_file *file)
{
    char name[NAME_ROOM];
    snprintf(name, sizeof name, ".roost-%llx", (unsigned long long)file->present.st_ino);
    return beside(file, file->target, name);
}

/* Of a process that was killed while it held this lock. */
static roost_status remove_left_over(struct atomic_file *file)
{
    if (file->lock < 0 || !file->exclusive)
        return ROOST_OK;
    char *path = successor_path(file);
    if (!path)
        return fail_without_memory(file);
    unlink(path);
    release(file, path);
    return ROOST_OK;
}

roost_status atomic_file_open(struct atomic_file *file, roost_lock lock, bool wait)
{
    file->lock = file->successor = -1;
    file->exclusive = lock == ROOST_LOCK_EXCLUSIVE;
    roost_status status = follow_links(file);
    if (status == ROOST_OK)
        status = open_and_lock(file, wait);
    if (status == ROOST_OK)
        status = remove_left_over(file);
    if (status != ROOST_OK)
        atomic_file_close(file);
    return status;
}

static void close_successor(struct atomic_file *file)
{
    close_quietly(file->successor);
    release(file, file->successor_path);
    file->successor_path = NULL;
    file->successor = -1;
}

void atomic_file_abandon(struct atomic_file *file)
{
    if (file->successor_path)
        unlink(file->successor_path);
    close_successor(file);
}

void atomic_file_leave(struct atomic_file *file)
{
    if (!file->target)
        return;
    close_successor(file);
    close_quietly(file->lock);
    release(file, file->target);
    file->target = NULL;
    file->lock = -1;
}

void atomic_file_close(struct atomic_file *file)
{
    if (!file->target)
        return;
    atomic_file_abandon(file);
    unlock(file->lock);
    atomic_file_leave(file);
}

/* ---- successor ------------------------------------------------------------------------------------------------- */

static char *random_path(const struct atomic_file *file)
{
    char name[NAME_ROOM];
    uint64_t tag = 0;
    entropy_number(&file->entropy, &tag); /* without one, O_EXCL keeps two processes apart */
    snprintf(name, sizeof name, ".roost-new-%016llx", (unsigned long long)tag);
    return beside(file, file->target, name);
}

/* A nameless file can be linked by this name. */
static void descriptor_path(char path[NAME_ROOM], int descriptor)
{
    snprintf(path, NAME_ROOM, "/proc/self/fd/%d", descriptor);
}

/* -1 if the file system has no nameless files, or the machine no /proc to link them from. */
static int open_nameless(const char *directory)
{
    char path[NAME_ROOM];
    int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return -1;
    descriptor_path(path, descriptor);
    if (access(path, F_OK) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

static roost_status open_named(struct atomic_file *file)
{
    file->successor_path = file->lock >= 0 ? successor_path(file) : random_path(file);
    if (!file->successor_path)
        return fail_without_memory(file);
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    file->successor = open(file->successor_path, flags, file->lock >= 0 ? 0600 : 0666);
    if (file->successor >= 0)
        return ROOST_OK;
    release(file, file->successor_path); /* whatever has that name is not ours to remove */
    file->successor_path = NULL;
    return fail_in(file, "cannot write in its directory");
}

static roost_status open_successor(struct atomic_file *file)
{
    if (file->lock >= 0)
        return open_named(file);
    char *directory = beside(file, file->target, ".");
    if (!directory)
        return fail_without_memory(file);
    file->successor = open_nameless(directory);
    release(file, directory);
    return file->successor >= 0 ? ROOST_OK : open_named(file);
}

/* If the group cannot be kept, the permissions of the group become those of others: another group must not get them. */
static bool keep_owner_and_mode(const struct atomic_file *file)
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

roost_status atomic_file_begin(struct atomic_file *file)
{
    atomic_file_abandon(file);
    roost_status status = open_successor(file);
    if (status == ROOST_OK && (!keep_owner_and_mode(file) || flock(file->successor, LOCK_EX | LOCK_NB) != 0))
        status = fail_in_writing(file);
    if (status != ROOST_OK)
        atomic_file_abandon(file);
    return status;
}

roost_status atomic_file_write(struct atomic_file *file, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    while (size > 0) {
        ssize_t written = write(file->successor, next, size < WRITTEN_AT_ONCE ? size : WRITTEN_AT_ONCE);
        if (is_interrupted(&file->interrupt))
            return file_fail(&file->failure, ROOST_INTERRUPTED, NULL);
        if (written < 0 && errno != EINTR)
            return fail_in_writing(file);
        next += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return ROOST_OK;
}

roost_status atomic_file_rewrite(struct atomic_file *file, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    for (size_t done = 0; done < size;) {
        ssize_t written = pwrite(file->successor, next + done, size - done, (off_t)done);
        if (written < 0 && errno != EINTR)
            return fail_in_writing(file);
        done += written > 0 ? (size_t)written : 0;
    }
    return ROOST_OK;
}

roost_status atomic_file_read(struct atomic_file *file, uint64_t position, uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(file->successor, bytes + done, size - done, (off_t)(position + done));
        if (is_interrupted(&file->interrupt))
            return file_fail(&file->failure, ROOST_INTERRUPTED, NULL);
        if (got == 0)
            errno = EIO; /* another process has cut it off */
        if (got == 0 || (got < 0 && errno != EINTR))
            return fail_in_writing(file);
        done += got > 0 ? (size_t)got : 0;
    }
    return ROOST_OK;
}

roost_status atomic_file_truncate(struct atomic_file *file, size_t size)
{
    return ftruncate(file->successor, (off_t)size) == 0 ? ROOST_OK : fail_in_writing(file);
}

roost_status atomic_file_flush(struct atomic_file *file)
{
    while (fsync(file->successor) != 0)
        if (errno != EINTR || is_interrupted(&file->interrupt))
            return fail_in_writing(file);
    return ROOST_OK;
}

/* ---- putting it in place --------------------------------------------------------------------------------------- */

static bool has_no_hard_links(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

static bool place_new(const char *successor, const char *target)
{
    if (link(successor, target) == 0)
        return unlink(successor), true;
    struct stat present;
    if (!has_no_hard_links(errno))
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

static bool put_in_place(struct atomic_file *file)
{
    if (!file->successor_path)
        return place_nameless(file->successor, file->target);
    return file->lock < 0 ? place_new(file->successor_path, file->target)
                          : rename(file->successor_path, file->target) == 0;
}

/* Some file systems cannot sync a directory, and some directories can be written but not read. */
static bool sync_directory(const char *directory)
{
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return true;
    bool synced = fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS || errno == EINTR;
    close_quietly(descriptor);
    return synced;
}

/* The successor is now the file. */
static bool become_present(struct atomic_file *file)
{
    unlock(file->lock);
    close_quietly(file->lock);
    file->lock = file->successor;
    file->successor = -1;
    release(file, file->successor_path);
    file->successor_path = NULL;
    return fstat(file->lock, &file->present) == 0;
}

roost_status atomic_file_commit(struct atomic_file *file, bool *in_place)
{
    char *directory = beside(file, file->target, ".");
    *in_place = false;
    if (!directory)
        return fail_without_memory(file);
    roost_status status = ROOST_OK;
    if (is_interrupted(&file->interrupt))
        status = file_fail(&file->failure, ROOST_INTERRUPTED, NULL);
    else if (!put_in_place(file))
        status = fail_in_writing(file);
    else {
        *in_place = true;
        if (!become_present(file) || !sync_directory(directory))
            status = file_fail_by_errno(&file->failure, "written, but its directory could not be synced");
    }
    release(file, directory);
    return status;
}
