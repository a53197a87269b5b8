/* Glob patterns as in KEYS and SCAN of a server: * ? [abc] [a-z] [^a], and \ to escape a character. */
#ifndef LINK_GLOB_H
#define LINK_GLOB_H

#include "roost.h"

/* False if a bracket is not closed or nothing follows a backslash. */
bool glob_is_valid(const char *pattern);

bool glob_matches(const char *pattern, roost_bytes key);

#endif
