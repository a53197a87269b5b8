/*
 * Filter files as the verbs use them: roost/file.h, with a message on standard error for each failure. All functions
 * that return bool complain and return false if they fail.
 */
#ifndef CLI_FILE_FILTER_FILE_H
#define CLI_FILE_FILTER_FILE_H

#include "roost.h"

/* The environment of the program's filters: limited by the memory of this machine, with a random seed. */
roost_environment filter_environment(void);

/* An empty filter of the same configuration. */
roost_status filter_like(roost_filter **filter, const roost_filter *other);

/* Says what a status means for this file, and returns false. */
bool complain_of_status(const char *name, roost_status status);

/* A new object for the path; NULL without memory. Free it with roost_file_free. */
roost_file *file_object(const char *name);

/* Says why the last call with the object failed, and returns false. */
bool complain_of_file(const char *name, const roost_file *file, roost_status status);

/* Reads a file, without a lock, as a new replica. NULL if that fails. */
roost_filter *filter_file_read(const char *name);

/* A file and its filter. All zero before the first call below. */
struct filter_file {
    const char *name;
    roost_file *handle;
    roost_filter *filter; /* the handle's; NULL: not loaded */
};

/* Loads the file without a lock. */
bool filter_file_look(struct filter_file *file, const char *name);

/* Locks the file against other writers. It need not exist: see filter_file_exists. */
bool filter_file_lock(struct filter_file *file, const char *name);
bool filter_file_exists(const struct filter_file *file);
void filter_file_unlock(struct filter_file *file);

/* Of a locked file: loads it, unless it is as it was when `filter` was loaded or saved. */
bool filter_file_refresh(struct filter_file *file);

/* Locks and loads, for verbs that change a file. */
bool filter_file_open(struct filter_file *file, const char *name);

/* Takes a filter (NULL: false, without a message) for a file that is to be created or overwritten. */
bool filter_file_put(struct filter_file *file, const char *name, roost_filter *filter);

/* Replaces the locked file. Then signals end the program as usual (interrupt.h). */
bool filter_file_save(struct filter_file *file);

/* Unlocks, and frees the filter. */
void filter_file_close(struct filter_file *file);

#endif
