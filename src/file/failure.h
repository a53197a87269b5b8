/* Why a call with a file failed: the status, the errno and a phrase for roost_file_get_error. */
#ifndef FILE_FAILURE_H
#define FILE_FAILURE_H

#include "roost/status.h"

#define FAILURE_ROOM 256

struct failure {
    int number; /* errno; 0: the operating system had no part in it */
    char text[FAILURE_ROOM];
};

/* Both return the status, so that a failing function ends in `return file_fail(...)`. `text` NULL: that of the
   status. */
roost_status file_fail(struct failure *failure, roost_status status, const char *text);

/* By errno, which is that of the last system call. `what` (may be NULL) stands before the system's text. */
roost_status file_fail_by_errno(struct failure *failure, const char *what);

#endif
