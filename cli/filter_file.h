/* Filters in files: one file holds one frame. */
#ifndef CLI_FILTER_FILE_H
#define CLI_FILTER_FILE_H

#include "roost.h"
#include "safe_file.h"

/* What filters of this program live in: the memory of this machine, and choices that nobody can foresee. */
roost_environment filter_environment(void);

/* Says what a status means for this file, and answers false. */
bool complain_of_status(const char *name, roost_status status);

/* Reads a filter, without a lock: files are replaced whole. `size` (may be NULL) gets the bytes of its frame.
   Complains and answers NULL where that fails. */
roost_filter *filter_file_read(const char *name, uint64_t *size);

/* The same from a file that is open and locked. A file that does not exist is a complaint here. */
roost_filter *filter_file_read_locked(const struct safe_file *file);

/* Replaces the file by the frame of the filter. Complains where it fails. */
bool filter_file_write(struct safe_file *file, const roost_filter *filter);

#endif
