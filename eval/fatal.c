/* All parts of the evaluation use these where memory or a call must not fail. */
#include "fatal.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void fatal(const char *what, const char *why)
{
    fprintf(stderr, "roost-eval: %s: %s\n", what, why);
    exit(2);
}

void must(roost_status status, const char *what)
{
    if (status != ROOST_OK)
        fatal(what, roost_status_text(status));
}

void *must_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        fatal("memory", roost_status_text(ROOST_NO_MEMORY));
    return memory;
}
