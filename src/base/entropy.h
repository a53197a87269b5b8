/* Numbers that nobody else draws: from the environment of a filter, or from the operating system. */
#ifndef BASE_ENTROPY_H
#define BASE_ENTROPY_H

#include "roost/types.h"

/* The operating system where the caller brings none. */
roost_entropy entropy_or_default(roost_entropy entropy);

/* A number that is not 0; false when there is none to be had. */
bool entropy_number(const roost_entropy *entropy, uint64_t *number);

#endif
