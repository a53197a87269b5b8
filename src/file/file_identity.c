/*
 * Two files that add under one actor lose each other's elements, and nothing shows it. So a file is the replica that
 * its section describes only if four facts agree with what was written into it. Any doubt makes it a new replica, which
 * costs a few bytes.
 *
 *     device, inode      differ for every copy with an inode of its own: cp, cp -a, rsync, mv to another disk
 *     birth time         differs for a copy that is written into an inode of the same number. File systems reuse a
 *                        number as soon as it is free, and every save replaces a file by another inode
 *     modification time  chosen by us; differs for what is written over the file itself: cat old > FILE
 *     number of links    a hard link (cp -l, and backups made with it) shares all of the above, and stays as it is when
 *                        a save gives the name to a new inode. A file with two names is neither of them
 *
 * Without a birth time (network file systems, old ones) an old copy that cp -a writes back over an inode of the same
 * number would pass. But each write sets the status change time (ctime), which no program can choose, so it must be
 * close to the modification time. On such file systems, mv and chmod make a new replica as well.
 *
 * A disk that is cloned, or set back to a snapshot, as a whole cannot be detected from inside.
 */
#define _GNU_SOURCE
#include "file_identity.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#define MOST_SECONDS_TO_WRITE 2 /* from the chosen time to the last change of the inode, by the rename */

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
/* C libraries without statx (musl before 1.2.5) report no birth time. */
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
 * The present time by the clock of the file system, which may be on another machine; the digits below a millisecond
 * come from our clock, because that of the file system may tick coarsely. The time is then read back, as the file
 * system stored it.
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

bool file_version_is_same(const struct stat *before, const struct stat *after)
{
    return before->st_dev == after->st_dev && before->st_ino == after->st_ino && before->st_size == after->st_size &&
           same_time(before->st_mtim, after->st_mtim) && same_time(before->st_ctim, after->st_ctim);
}
