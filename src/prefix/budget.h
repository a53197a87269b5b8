/*
 * How many prefixes of which length a writer may add. `budget.c` has the argument.
 */
#ifndef PREFIX_BUDGET_H
#define PREFIX_BUDGET_H

#include "roost/filter.h"
#include "prefix.h"

/* A filter whose capacity is not known begins with room for so many. */
#define UNKNOWN_CAPACITY 16384

/* The prefixes of a length that a writer who sees fewer of them may add; 0: none. */
struct budget {
    uint64_t capacity[MOST_LENGTH + 1];
    unsigned first; /* the shortest length with room; one beyond the longest if there is none */
};

/* Of a resolved configuration. */
void budget_of(struct budget *budget, const roost_config *config);

/* The length of the last of so many prefixes that one writer adds. */
uint8_t budget_length_of(const struct budget *budget, uint64_t prefixes);

/* Makes it that of one of 2^bits parts of all hashes, whose first bits are not part of prefixes any more. */
void budget_cut(struct budget *budget, unsigned bits);

/* What filters of prefixes have in common: the defaults of a configuration, and whether it is complete and possible. */
void resolve_prefixes(roost_config *config);
bool prefixes_are_resolved(const roost_config *config);

#endif
