/*
 * Filter files: what the `roost` program reads and writes, for programs and language bindings.
 *
 * A file holds the frame of one filter and, behind it, a replica section (docs/format.md): the actor and journal of
 * this replica, and a cursor for each peer that it synced with. roost_filter_decode takes the frame alone; use the
 * functions below to read what the program wrote, and to write what the program reads.
 *
 *     roost_file *file;
 *     roost_file_new(&file, "seen.roost", NULL);
 *     roost_file_lock(file, ROOST_LOCK_EXCLUSIVE);                    waits for other writers
 *     roost_file_load(file, NULL);
 *     roost_filter_add(roost_file_get_filter(file), NULL, "swift", 5);
 *     roost_file_save(file);                                          replaces the file atomically
 *     roost_file_free(file);                                          unlocks
 *
 * Replacement. A save writes a temporary file in the same directory, syncs it to the disk and renames it, so a crash, a
 * full disk or kill -9 leaves the old file or the new one. Permissions and, where possible, owner and group stay.
 * Symbolic links stay links. Readers need no lock: they see the old file or the new one.
 *
 * Replica identity. Two files that add under one actor lose each other's elements, so a copy must become a replica of
 * its own. The section names the very file that it was written into: device, inode, birth time, modification time. A
 * file that was copied, restored from a backup or hard-linked does not match, and load makes it a new replica, without
 * actor, journal and cursors. A disk that was cloned as a whole cannot be distinguished from the original; see
 * roost_file_reset_replica.
 *
 * Memory. A file is decoded while it is read, and the array of a Bloom filter is written from where it is, so that a load
 * or a save takes little more memory than the filter itself.
 *
 * Errors. Each call returns one status. ROOST_SYSTEM means that the operating system refused something:
 * roost_file_get_errno has its error number. roost_file_get_error has a text for every failure.
 *
 * Ownership. The file owns its filter. One filter belongs to one file, so that no two files become the same replica.
 *
 * Threads. A roost_file is used by one thread at a time. Locks are flock() locks on the file itself: they exclude other
 * processes, and other roost_file objects of the same process. A child that was forked shares the locks of its parent;
 * it cannot save, nor go on with what its parent began (ROOST_BUSY), before it has unlocked the file and locked it again.
 */
#ifndef ROOST_FILE_H
#define ROOST_FILE_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file of one filter: its path, its lock, and its filter once that is loaded. */
typedef struct roost_file roost_file;

/* ---- the object ------------------------------------------------------------------------------------------------ */

/*
 * Makes an object for the file at `path`, which is copied. Touches no disk, and the file need not exist. `environment`
 * is that of the filters that are loaded; its allocator also serves this object, and its memory limit, if any, bounds
 * the size of a file that is read. On failure `*file` is NULL.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_new(roost_file **file, const char *path,
                                                       const roost_environment *environment);

/* Unlocks the file and frees its filter; what was not saved is lost. NULL is fine. */
ROOST_API void roost_file_free(roost_file *file);

/*
 * Lets the caller stop calls that wait for a lock, read or write. `requested` is called with `context` when a signal
 * interrupts a system call, and between blocks; if it returns true, the call ends with ROOST_INTERRUPTED and the file
 * on disk is unchanged. A wait for a lock ends only if a signal handler without SA_RESTART runs in this thread. NULL:
 * never.
 */
ROOST_API void roost_file_set_interrupt(roost_file *file, bool (*requested)(void *context), void *context);

/* Returns why the last call failed, as a phrase without the path ("cannot be written: No space left on device"), or ""
   if it did not fail. Valid until the next call with this object. */
ROOST_API const char *roost_file_get_error(const roost_file *file);

/* Returns the errno of the last call if that returned ROOST_SYSTEM, else 0. */
ROOST_API int roost_file_get_errno(const roost_file *file);

/* ---- locks ----------------------------------------------------------------------------------------------------- */

/* How a file is locked. */
typedef enum roost_lock {
    ROOST_LOCK_SHARED = 1,    /* the file is not replaced meanwhile; any number of processes may hold it */
    ROOST_LOCK_EXCLUSIVE = 2, /* for a save: no other process holds a lock */
} roost_lock;

/*
 * Locks the file as `lock` says; waits while another process holds a lock that excludes this one. A file that does not
 * exist cannot be locked: the call returns ROOST_OK, roost_file_exists is false, and a save fails if another process
 * was faster to create it. An exclusive lock removes the temporary file of a writer that was killed. ROOST_INVALID:
 * locked already, or not a regular file. ROOST_SYSTEM: it cannot be opened (for an exclusive lock, for writing).
 * ROOST_INTERRUPTED, ROOST_NO_MEMORY. After a failure the file is not locked.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_lock(roost_file *file, roost_lock lock);

/* As roost_file_lock, without waiting: ROOST_BUSY if another process holds the lock. */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_try_lock(roost_file *file, roost_lock lock);

/* Unlocks the file and keeps the filter in memory: a later load reads the file only if it has changed. A file that is
   not locked is fine. */
ROOST_API void roost_file_unlock(roost_file *file);

/* Returns whether a locked file existed when it was locked, or was saved since; false if it is not locked. */
ROOST_API bool roost_file_exists(const roost_file *file);

/* Returns the descriptor of the locked file, for fstat() and reads; -1 if there is none. It belongs to the object. */
ROOST_API int roost_file_get_descriptor(const roost_file *file);

/* ---- loading --------------------------------------------------------------------------------------------------- */

/*
 * Loads the filter with its actor and journal, and the cursors of its peers. Needs no lock; of a locked file, it reads
 * what was locked. Reads nothing if roost_file_is_current. `*reread` (may be NULL) tells whether it did, and then the
 * filter of before, if any, was freed. ROOST_NOT_FRAME, ROOST_UNSUPPORTED_VERSION, ROOST_TRUNCATED, ROOST_CORRUPT: not
 * a filter file, or a damaged one. ROOST_TOO_LARGE: beyond the memory limit. ROOST_SYSTEM, ROOST_INTERRUPTED,
 * ROOST_NO_MEMORY. After a failure the object has no filter.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_load(roost_file *file, bool *reread);

/* Returns whether the filter of a locked file is the one that was loaded or saved last, so that a load would read
   nothing. It does not look for changes to the filter since. */
ROOST_API bool roost_file_is_current(const roost_file *file);

/* Returns the filter; NULL before the first load. You may change it and must not free it. It is valid until a load that
   rereads, set_filter, take_filter, new_replica or free. */
ROOST_API roost_filter *roost_file_get_filter(const roost_file *file);

/* Which replica a file holds. */
typedef enum roost_replica_status {
    ROOST_REPLICA_NEW = 0,      /* a plain frame, a filter from elsewhere, or nothing is loaded */
    ROOST_REPLICA_RESTORED = 1, /* the same replica as before */
    ROOST_REPLICA_COPY = 2,     /* a copy of a replica's file: a new replica */
    ROOST_REPLICA_LATER = 3,    /* the section is of a later version: a new replica */
    ROOST_REPLICA_DAMAGED = 4,  /* the section is damaged, the filter is not: a new replica */
} roost_replica_status;

/* Returns which replica the last load found. */
ROOST_API roost_replica_status roost_file_get_replica_status(const roost_file *file);

/* Returns the size of the filter's frame as last loaded or saved, in bytes; 0 before. */
ROOST_API uint64_t roost_file_get_frame_size(const roost_file *file);

/* Returns whether the file and `other` were last loaded from, or saved to, the same file on disk, by whatever paths. */
ROOST_API bool roost_file_is_same(const roost_file *file, const roost_file *other);

/* ---- saving ---------------------------------------------------------------------------------------------------- */

/*
 * Replaces the file, which needs an exclusive lock, by the filter with its replica section; the lock stays. A filter
 * without actor, journal and cursors is written as a plain frame. Save before a delta, a sync message or a cursor
 * leaves the process (roost_filter_encode_delta). ROOST_INVALID: not locked, or no filter. ROOST_SYSTEM, with EEXIST if
 * the file was created by another process since it was locked. ROOST_INTERRUPTED, ROOST_NO_MEMORY. A failure leaves the
 * old file and the filter as they were; only if the directory cannot be synced, the new file is in place and may not
 * survive a power cut (the text says so).
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_save(roost_file *file);

/* Gives the object a `filter`, for a file that is to be created or overwritten; takes ownership, and frees the filter
   of before. There are no peers then. The filter must not have been part of another file. */
ROOST_API void roost_file_set_filter(roost_file *file, roost_filter *filter);

/* Hands the filter to the caller, who frees it; the object has none then, and keeps its lock. The filter still has the
   actor of the file: merge it into another one, do not add to it. */
ROOST_API roost_filter *roost_file_take_filter(roost_file *file);

/* Discards the changes of the filter: the next load reads the file. */
ROOST_API void roost_file_discard(roost_file *file);

/*
 * Makes the filter a new replica, without actor, journal and peers; save it then. For files on a disk or in a virtual
 * machine that was cloned as a whole. ROOST_INVALID: no filter. ROOST_NO_MEMORY: as before.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_reset_replica(roost_file *file);

/* ---- peers ----------------------------------------------------------------------------------------------------- */

/* How many peers a file stores cursors of. */
#define ROOST_FILE_MOST_PEERS 64

/* Returns what roost_file_set_peer_cursor stored for `peer`, for roost_sync_new; NULL and 0 if nothing. Valid until the
   cursors change: by set_peer_cursor, set_filter, new_replica or a load that rereads. */
ROOST_API roost_bytes roost_file_get_peer_cursor(const roost_file *file, const char *peer);

/*
 * Stores `cursor`, what roost_sync_save_memory returned for this `peer`; save it together with the filter as it was
 * then. The program names a peer by its absolute path, HOST:PATH, or URL without a password. Of more than
 * ROOST_FILE_MOST_PEERS, the one that was stored the longest ago is dropped: its next sync costs more bytes.
 * ROOST_NO_MEMORY: as before.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_set_peer_cursor(roost_file *file, const char *peer,
                                                                   const void *cursor, size_t size);

/* Returns for how many peers there is a cursor. */
ROOST_API size_t roost_file_get_peer_count(const roost_file *file);

/* ---- frames and other contents --------------------------------------------------------------------------------- */

/*
 * Reads the file into a filter of the caller's, which is a new replica, as roost_filter_decode makes them: for programs
 * that only query, or merge it into another filter. No lock is needed, and the object's own filter stays. Errors as in
 * load; then `*filter` is NULL.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_read(roost_file *file, roost_filter **filter);

/* As roost_file_read, for the `contents` of a file that the caller has read, or got from elsewhere: a frame, and a
   replica section, which is skipped. Errors as in roost_filter_decode. */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_decode(roost_filter **filter, const void *contents, size_t size,
                                                          const roost_environment *environment);

/*
 * Replaces an exclusively locked file by any bytes, in the same way as save: for files that a program keeps beside its
 * filters. Call `begin`, any number of `write`, then `commit`; without a commit, unlock or free leave the file as it
 * was. Errors as in save.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_begin(roost_file *file);

/* Writes `size` more bytes; after roost_file_begin. */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_write(roost_file *file, const void *bytes, size_t size);

/* Replaces the file by the bytes that were written since roost_file_begin. */
ROOST_API ROOST_MUST_CHECK roost_status roost_file_commit(roost_file *file);

#ifdef __cplusplus
}
#endif
#endif
