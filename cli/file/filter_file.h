/*
 * Filters in files. A file holds one frame and, once the file is a replica with a name or a memory, a replica section
 * behind it.
 */
#ifndef CLI_FILE_FILTER_FILE_H
#define CLI_FILE_FILTER_FILE_H

#include "peer_memories.h"
#include "roost.h"
#include "safe_file.h"

/* What filters of this program live in: the memory of this machine, and choices that nobody can foresee. */
roost_environment filter_environment(void);

/* An empty filter of the same configuration. */
roost_status filter_like(roost_filter **filter, const roost_filter *other);

/* Says what a status means for this file, and answers false. */
bool complain_of_status(const char *name, roost_status status);

/* Reads what a file holds, as a filter that is a replica of nobody; without a lock, since files are replaced whole.
   Complains and answers NULL where that fails. */
roost_filter *filter_file_read(const char *name);

/* A filter together with its file, as the replica that the file is. All zero before the first call below. */
struct filter_file {
    const char *name;
    roost_filter *filter;
    struct peer_memories peers;
    uint64_t frame_size; /* bytes, as last read or written */
    struct safe_file place;
    bool locked;
    bool on_disk;        /* `filter` was read from the file or written to it, */
    struct stat version; /* and the file looked so */
};

/* Reads the file, without a lock. Complains where that fails, as all of these do. */
bool filter_file_look(struct filter_file *file, const char *name);

/* Locks the file against other writers. It need not exist: see filter_file_exists. */
bool filter_file_lock(struct filter_file *file, const char *name);
bool filter_file_exists(const struct filter_file *file);
void filter_file_unlock(struct filter_file *file);

/* Of a locked file: reads it anew unless it is as it was when `filter` was read or written. */
bool filter_file_refresh(struct filter_file *file);
bool filter_file_is_fresh(const struct filter_file *file);

/* Locks and reads, for verbs that change a file. */
bool filter_file_open(struct filter_file *file, const char *name);

/* Replaces the locked file by the filter, which stays the replica that it was. */
bool filter_file_save(struct filter_file *file);

/* The filter becomes a replica of nobody: without actor, journal and peers. */
bool filter_file_forget_replica(struct filter_file *file);

/* Unlocks, and frees the filter. */
void filter_file_close(struct filter_file *file);

#endif
