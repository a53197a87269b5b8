/* Patterns of names as KEYS and SCAN of a server have them: * ? [abc] [a-z] [^a], and \ before what is meant itself. */
#ifndef LINK_GLOB_H
#define LINK_GLOB_H

#include "roost.h"

/* False where a bracket is not closed, or nothing follows a backslash. */
bool glob_is_valid(const char *pattern);

bool glob_matches(const char *pattern, roost_bytes key);

#endif
