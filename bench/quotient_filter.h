/* A quotient filter, to measure Roost's tables against. Not part of the library; docs/evaluation.md says why. */
#ifndef BENCH_QUOTIENT_FILTER_H
#define BENCH_QUOTIENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_REMAINDER_BITS 32

struct quotient_filter {
    uint64_t quotients, slots; /* slots: some more, for runs at the end */
    unsigned bits;             /* of a remainder */
    uint64_t entries;
    uint8_t *blocks;
    size_t bytes;
};

/* False without memory. */
bool quotient_new(struct quotient_filter *filter, uint64_t quotients, unsigned bits);
void quotient_free(struct quotient_filter *filter);

/* Of a hash of 64 bits: below quotients * 2^bits, evenly spread. */
uint64_t quotient_fingerprint(const struct quotient_filter *filter, uint64_t hash);

enum quotient_added { QUOTIENT_NEW, QUOTIENT_KNOWN, QUOTIENT_FULL }; /* full: nothing has changed */
enum quotient_added quotient_add(struct quotient_filter *filter, uint64_t fingerprint);
bool quotient_contains(const struct quotient_filter *filter, uint64_t fingerprint);

/* Batches of hashes; false if one of them found no room. */
bool quotient_add_many(struct quotient_filter *filter, const uint64_t *hashes, size_t count);
void quotient_contains_many(const struct quotient_filter *filter, bool *found, const uint64_t *hashes, size_t count);

/* Of two filters of the same sizes. False: no memory, or the union has no room; nothing has changed. */
bool quotient_merge(struct quotient_filter *filter, const struct quotient_filter *other);

/* The fingerprints in rising order. Begin with {filter}. */
struct quotient_cursor {
    const struct quotient_filter *filter;
    uint64_t quotient, slot;
    bool in_run, begun;
};
bool quotient_next(struct quotient_cursor *cursor, uint64_t *fingerprint);

/* The set as gaps in a Rice code, into a buffer that malloc made; 0 without memory. */
size_t quotient_encode(const struct quotient_filter *filter, uint8_t **frame);

#endif
