/*
 * Look-ups of many keys, shared by all kernels. A kernel defines, before it includes this,
 *
 *     static inline bool buckets_match(const struct segment *segment, const uint8_t *home, const uint8_t *other,
 *                                      uint64_t slot);
 *
 * and gets `contains_batch`. Each key waits for memory three times: for the directory, the segment's header and the
 * buckets. So each step is done for a row of keys, and asks for the memory that the next one needs.
 */
#ifndef GROWING_SEARCH_LOOPS_H
#define GROWING_SEARCH_LOOPS_H

#include "search.h"

#define ROW 16

struct search {
    const struct segment *segment;
    const uint8_t *home, *other; /* buckets */
    uint64_t slot;
};

static ALWAYS_INLINE void begin_search(struct search *search, uint64_t hash)
{
    struct slot_place place = slot_place_of(search->segment, hash);
    search->home = bucket_in(search->segment, search->segment->slots, place.home);
    search->other = bucket_in(search->segment, search->segment->slots, place.other);
    search->slot = place.slot;
}

static ALWAYS_INLINE bool end_search(const struct search *search, uint64_t hash)
{
    return buckets_match(search->segment, search->home, search->other, search->slot) ||
           (__builtin_expect(search->segment->spill_count != 0, 0) && spill_contains(search->segment, hash));
}

static void contains_row(const struct directory *root, bool *found, const roost_hash *hashes, size_t count)
{
    struct search searches[ROW];
    for (size_t i = 0; i < count; i++) {
        searches[i].segment = find_segment(root, hashes[i].high);
        __builtin_prefetch(searches[i].segment);
    }
    for (size_t i = 0; i < count; i++) {
        begin_search(&searches[i], hashes[i].high);
        __builtin_prefetch(searches[i].home);
        __builtin_prefetch(searches[i].other);
    }
    for (size_t i = 0; i < count; i++)
        found[i] = end_search(&searches[i], hashes[i].high);
}

static void contains_batch(const struct directory *root, bool *found, const roost_hash *hashes, size_t count)
{
    if (count == 1) {
        struct search search = {.segment = find_segment(root, hashes->high)};
        begin_search(&search, hashes->high);
        *found = end_search(&search, hashes->high);
        return;
    }
    for (size_t done = 0; done < count; done += ROW)
        contains_row(root, found + done, hashes + done, count - done < ROW ? count - done : ROW);
}

#endif
