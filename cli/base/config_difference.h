/* The option in which two filters differ, for messages about filters that do not merge. */
#ifndef CLI_BASE_CONFIG_DIFFERENCE_H
#define CLI_BASE_CONFIG_DIFFERENCE_H

#include "numbers.h"
#include "roost.h"

struct difference {
    const char *field;
    char ours[NUMBER_ROOM], theirs[NUMBER_ROOM];
};

/* The first field in which the configurations differ, with both values as text. False: none was found. A layout, entry
   or schedule of 0 is not known, and differs from nothing. */
bool config_difference(struct difference *difference, const roost_config *ours, const roost_config *theirs);

/* Sets the field and both values; whether they differ. */
bool differ_in_count(struct difference *difference, const char *field, uint64_t ours, uint64_t theirs);

#endif
