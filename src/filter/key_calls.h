/*
 * The calls for one key as bytes (struct filter_calls), for kinds whose call for a hash is short. Hash and call are one
 * function, which calls nothing and saves no registers: one jump from the interface to the memory of the filter.
 *
 * A key of eight bytes, a number as a rule, is hashed in line. Keys of 4 to 16 bytes have a function of their own,
 * since a longer one would save registers for all keys. All others, and those of filters with imported parts, go to
 * filter.c, which hashes them and takes the call for a hash. Where code is to be short, one function does for all short
 * keys.
 */
#ifndef FILTER_KEY_CALLS_H
#define FILTER_KEY_CALLS_H

#include "kind.h"

#if SHORT_CODE
#define APART static
#else
#define APART static __attribute__((noinline))
#endif

static ALWAYS_INLINE bool is_eight_bytes(size_t size)
{
    return !SHORT_CODE && __builtin_expect(size == 8, 1);
}

/*
 * Defines contains_key##suffix and add_key##suffix by contains##suffix and add##suffix, which the compiler has to
 * inline. `seed_of` is a function that finds the seed of the filter. KEY_CALL(contains, suffix) is what a table has.
 */
#define KEY_CALLS(suffix, seed_of)                                                                                     \
    APART bool contains_short##suffix(const roost_filter *filter, const void *key, size_t size)                        \
    {                                                                                                                  \
        return __builtin_expect(is_short_key(size), 1)                                                                 \
                   ? contains##suffix(filter, hash_short_key(seed_of(filter), key, size))                              \
                   : contains_any_key(filter, key, size);                                                              \
    }                                                                                                                  \
    static bool contains_key##suffix(const roost_filter *filter, const void *key, size_t size)                         \
    {                                                                                                                  \
        return is_eight_bytes(size) ? contains##suffix(filter, hash_short_key(seed_of(filter), key, 8))                \
                                    : contains_short##suffix(filter, key, size);                                       \
    }                                                                                                                  \
    APART roost_status add_short##suffix(roost_filter *filter, bool *changed, const void *key, size_t size)            \
    {                                                                                                                  \
        return __builtin_expect(is_short_key(size), 1)                                                                 \
                   ? add##suffix(filter, changed, hash_short_key(seed_of(filter), key, size))                          \
                   : add_any_key(filter, changed, key, size);                                                          \
    }                                                                                                                  \
    static roost_status add_key##suffix(roost_filter *filter, bool *changed, const void *key, size_t size)             \
    {                                                                                                                  \
        return is_eight_bytes(size) ? add##suffix(filter, changed, hash_short_key(seed_of(filter), key, 8))            \
                                    : add_short##suffix(filter, changed, key, size);                                   \
    }
#define KEY_CALL(name, suffix) name##_key##suffix

#endif
