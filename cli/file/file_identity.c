/*
 * Two files that both believe to be one replica lose each other's elements, and nothing tells. So a file is who it says
 * only if four things agree with what was written into it, and any doubt makes it somebody new, which costs a few
 * bytes.
 *
 *     device, inode    other ones for every copy that gets an inode of its own: cp, cp -a, rsync, mv to another disk
 *     birth time       for a copy that is written into an inode of the same number, which file systems use again as
 * soon as it is free: roost replaces a file by another inode, and back, with every change modification     chosen by
 * us; for what is written over the file itself: cat old > FILE one name         a hard link (cp -l, and the backups
 * made with it) shares all of the above, and stays as it is when roost gives the name to a new inode. With two names
 * neither is the one.
 *
 * Where there is no birth time (file systems of other machines, old ones) an old copy that cp -a writes back over an
 * inode of the same number would pass. But whoever writes a file changes the time of its last change, and that one
 * nobody can set: it has to be close to the modification time. There, mv and chmod make another replica, too.
 *
 * What no program can see from inside is a disk that is copied or turned back as a whole.
 */
#define _GNU_SOURCE
#include "file_identity.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#define MOST_SECONDS_TO_WRITE 2 /* between the time that is chosen and the last touch of the file: its rename */

/* What is known of a file. */
struct facts {
    struct file_identity identity; /* birth 0 where there is none */
    struct timespec changed;
    uint64_t names;
    bool has_birth;
};

#ifdef STATX_BTIME
static struct timespec time_of(struct statx_timestamp stamp)
{
    return (struct timespec){.tv_sec = stamp.tv_sec, .tv_nsec = stamp.tv_nsec};
}

static bool look_at(struct facts *facts, int descriptor)
{
    struct statx found;
    unsigned wanted = STATX_BASIC_STATS;
    if (statx(descriptor, "", AT_EMPTY_PATH, wanted | STATX_BTIME, &found) != 0 || (found.stx_mask & wanted) != wanted)
        return false;
    *facts = (struct facts){.identity = {.device = makedev(found.stx_dev_major, found.stx_dev_minor),
                                         .inode = found.stx_ino,
                                         .modified = time_of(found.stx_mtime)},
                            .changed = time_of(found.stx_ctime),
                            .names = found.stx_nlink,
                            .has_birth = (found.stx_mask & STATX_BTIME) != 0};
    if (facts->has_birth)
        facts->identity.birth = time_of(found.stx_btime);
    return true;
}
#else
/* C libraries without statx (musl before 1.2.5) know no birth time. */
static bool look_at(struct facts *facts, int descriptor)
{
    struct stat found;
    if (fstat(descriptor, &found) != 0)
        return false;
    *facts = (struct facts){
        .identity = {.device = found.st_dev, .inode = found.st_ino, .modified = found.st_mtim},
        .changed = found.st_ctim,
        .names = found.st_nlink,
    };
    return true;
}
#endif

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool set_modified(int descriptor, struct timespec modified)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, modified};
    return futimens(descriptor, times) == 0;
}

/*
 * The present, by the clock of the file system, which may be in another machine, and finer than that clock ticks. What
 * it then gives back is a time that it can hold.
 */
bool file_identity_choose(struct file_identity *identity, int descriptor)
{
    struct facts facts;
    struct timespec clock;
    if (!set_modified(descriptor, (struct timespec){.tv_nsec = UTIME_NOW}) || !look_at(&facts, descriptor) ||
        clock_gettime(CLOCK_REALTIME, &clock) != 0)
        return false;
    struct timespec chosen = facts.identity.modified;
    chosen.tv_nsec -= chosen.tv_nsec % 1000000;
    chosen.tv_nsec += clock.tv_nsec % 1000000;
    if (!set_modified(descriptor, chosen) || !look_at(&facts, descriptor))
        return false;
    *identity = facts.identity;
    return true;
}

bool file_identity_stamp(int descriptor, const struct file_identity *identity)
{
    return set_modified(descriptor, identity->modified);
}

static bool changed_when_written(const struct facts *facts)
{
    int64_t seconds = facts->changed.tv_sec - facts->identity.modified.tv_sec;
    return seconds >= 0 && seconds <= MOST_SECONDS_TO_WRITE;
}

bool file_identity_matches(const struct file_identity *identity, int descriptor)
{
    struct facts facts;
    if (!look_at(&facts, descriptor))
        return false;
    const struct file_identity *present = &facts.identity;
    return present->device == identity->device && present->inode == identity->inode && facts.names <= 1 &&
           same_time(present->birth, identity->birth) && same_time(present->modified, identity->modified) &&
           (facts.has_birth || changed_when_written(&facts));
}

void file_identity_retire(int descriptor)
{
    struct facts facts;
    if (look_at(&facts, descriptor) && facts.names > 0)
        set_modified(descriptor, (struct timespec){.tv_nsec = UTIME_NOW});
}

bool same_version(const struct stat *before, const struct stat *after)
{
    return before->st_dev == after->st_dev && before->st_ino == after->st_ino && before->st_size == after->st_size &&
           same_time(before->st_mtim, after->st_mtim) && same_time(before->st_ctim, after->st_ctim);
}
