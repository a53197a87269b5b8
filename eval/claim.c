/* Claims have one form for people and for `make check`, and one count that decides how the program exits. */
#include "claim.h"

#include <stdarg.h>

static unsigned made, failed;
static FILE *table;

/* Names and details have commas, and no quotes. */
static void write_row(const char *name, bool holds, const char *detail)
{
    fprintf(table, "\"%s\",%s,\"%s\"\n", name, holds ? "yes" : "no", detail);
}

void claim(const char *name, bool holds, const char *format, ...)
{
    char detail[320];
    va_list arguments;
    made++;
    failed += !holds;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    printf("%s: %s %s\n", name, holds ? "ok" : "FAILED", detail);
    fflush(stdout);
    if (table)
        write_row(name, holds, detail);
}

void claims_write_to(FILE *csv)
{
    table = csv;
    if (table)
        fprintf(table, "claim,holds,figures\n");
}

unsigned claims_made(void)
{
    return made;
}

unsigned claims_failed(void)
{
    return failed;
}
