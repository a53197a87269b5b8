/* Claims have one form for people and for `make check`, and one count that decides how the program exits. */
#include "claim.h"

#include <stdarg.h>
#include <stdio.h>

static unsigned made, failed;

void claim(const char *name, bool holds, const char *format, ...)
{
    va_list arguments;
    made++;
    failed += !holds;
    printf("%s: %s ", name, holds ? "ok" : "FAILED");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

unsigned claims_made(void)
{
    return made;
}

unsigned claims_failed(void)
{
    return failed;
}
