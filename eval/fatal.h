/* Calls that must succeed: a failure prints one line on stderr and exits with 2. A failed claim exits with 1. */
#ifndef EVAL_FATAL_H
#define EVAL_FATAL_H

#include <stddef.h>

#include "roost.h"

_Noreturn void fatal(const char *what, const char *why);
void must(roost_status status, const char *what);

/* Zeroed; released by free. */
void *must_allocate(size_t count, size_t size);

#endif
