/*
 * One pass with a single point of backtracking: a star matches as little as possible, and one byte more whenever the
 * rest does not match. A later star makes backtracking to earlier ones unnecessary, so the time is at most the product
 * of the two lengths.
 */
#include "glob.h"

/* The end of the bracket expression that the pattern is in, or NULL. */
static const char *bracket_end(const char *pattern)
{
    if (*pattern == '^')
        pattern++;
    for (; *pattern && *pattern != ']'; pattern++)
        if (*pattern == '\\' && !*++pattern)
            return NULL;
    return *pattern ? pattern + 1 : NULL;
}

bool glob_is_valid(const char *pattern)
{
    while (*pattern) {
        char c = *pattern++;
        if (c == '\\' && !*pattern++)
            return false;
        if (c == '[' && !(pattern = bracket_end(pattern)))
            return false;
    }
    return true;
}

static unsigned char range_character(const char **pattern)
{
    if (**pattern == '\\')
        ++*pattern;
    return (unsigned char)*(*pattern)++;
}

static bool in_bracket(const char *pattern, unsigned char byte)
{
    bool negated = *pattern == '^', found = false;
    pattern += negated;
    while (*pattern != ']') {
        unsigned char first = range_character(&pattern), last = first;
        if (*pattern == '-' && pattern[1] != ']') {
            pattern++;
            last = range_character(&pattern);
        }
        found |= (first <= byte && byte <= last) || (last <= byte && byte <= first);
    }
    return found != negated;
}

/* Whether the first element of the pattern, which is not *, matches the byte; *rest points behind it. */
static bool takes(const char *pattern, const char **rest, unsigned char byte)
{
    *rest = *pattern == '[' ? bracket_end(pattern + 1) : pattern + (*pattern == '\\' ? 2 : 1);
    switch (*pattern) {
    case '?':
        return true;
    case '[':
        return in_bracket(pattern + 1, byte);
    case '\\':
        return (unsigned char)pattern[1] == byte;
    default:
        return (unsigned char)*pattern == byte;
    }
}

bool glob_matches(const char *pattern, roost_bytes key)
{
    const unsigned char *at = key.data, *end = at + key.size, *retry = NULL;
    const char *star = NULL, *rest;
    while (at < end || *pattern == '*') {
        if (*pattern == '*') {
            star = ++pattern;
            retry = at;
        } else if (*pattern && takes(pattern, &rest, *at)) {
            pattern = rest;
            at++;
        } else if (star) {
            pattern = star;
            at = ++retry;
        } else {
            return false;
        }
    }
    return !*pattern;
}
