/* Unpredictable numbers: from the environment of a filter, or from the operating system. */
#ifndef BASE_ENTROPY_H
#define BASE_ENTROPY_H

#include "roost/types.h"

/* The operating system's source where the caller passes none. */
roost_entropy entropy_or_default(roost_entropy entropy);

/* A number that is not 0; false when the source fails. */
bool entropy_number(const roost_entropy *entropy, uint64_t *number);

#endif
