#include "failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

roost_status file_fail(struct failure *failure, roost_status status, const char *text)
{
    failure->number = 0;
    snprintf(failure->text, sizeof failure->text, "%s", text ? text : roost_status_text(status));
    return status;
}

roost_status file_fail_by_errno(struct failure *failure, const char *what)
{
    int number = errno;
    snprintf(failure->text, sizeof failure->text, "%s%s%s", what ? what : "", what ? ": " : "", strerror(number));
    failure->number = number;
    return ROOST_SYSTEM;
}
