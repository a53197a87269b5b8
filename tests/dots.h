/*
 * An exact model of observed-remove filters: every dot that was ever made, with its class, and how each replica stands
 * to it. A row of standings is a state; merge is the larger standing, dot by dot. A filter agrees with a row when it
 * holds just the live dots, each in its class, and has seen just the dots that are not unseen.
 */
#ifndef TESTS_DOTS_H
#define TESTS_DOTS_H

#include "check.h"
#include "observed/orcuckoo.h"
#include "growing/growing_orcuckoo.h"

enum { MOST_ROWS = 8, MOST_DOTS = 4096 };
enum standing { UNSEEN, LIVE, DEAD };

struct dots {
    struct {
        roost_dot dot;
        roost_hash hash;
        uint64_t key;
    } list[MOST_DOTS];
    uint32_t count;
    uint8_t standing[MOST_ROWS][MOST_DOTS];
};

static inline struct place place_for(const roost_filter *filter, roost_hash hash)
{
    return place_of_hash(hash, as_const_orcuckoo(filter)->table.geometry);
}

/* The prefix that a filter which grows gives to its first elements. */
static inline uint64_t first_prefix_for(const roost_filter *filter, roost_hash hash)
{
    unsigned length = 0;
    while (!capacities_of(as_const_growing_orcuckoo(filter))[length])
        length++;
    return prefix_position(prefix_of(hash.high, length));
}

static inline uint64_t class_for(const roost_filter *filter, roost_hash hash)
{
    if (filter->kind->has_prefixes)
        return first_prefix_for(filter, hash);
    return class_key(place_for(filter, hash), as_const_orcuckoo(filter)->table.geometry);
}

static inline enum standing standing_of(const roost_filter *base, roost_hash hash, roost_dot dot)
{
    const struct observed *filter = as_const_observed(base);
    uint32_t number = actors_find(&filter->actors, dot.actor), counter = (uint32_t)dot.counter;
    if (number == NO_ACTOR || !causal_contains(&filter->causal, dot.actor, counter))
        return UNSEEN;
    return filter->store->holds(filter, (struct entry){number, counter, class_for(base, hash)}) ? LIVE : DEAD;
}

/* ---- calls that must succeed ------------------------------------------------------------------------------------- */

static inline roost_dot add(roost_filter *filter, roost_hash hash)
{
    roost_dot dot;
    assert_ok(roost_filter_add_dot_hash(filter, &dot, hash));
    return dot;
}

static inline bool holds(const roost_filter *filter, roost_hash hash)
{
    return roost_filter_contains_hash(filter, hash);
}

static inline bool removes(roost_filter *filter, roost_hash hash)
{
    bool changed;
    assert_ok(roost_filter_remove_hash(filter, &changed, hash));
    return changed;
}

static inline bool removes_one(roost_filter *filter, roost_hash hash)
{
    bool changed;
    assert_ok(roost_filter_remove_one_hash(filter, &changed, hash));
    return changed;
}

static inline bool removes_dot(roost_filter *filter, roost_hash hash, roost_dot dot)
{
    bool changed;
    assert_ok(roost_filter_remove_dot_hash(filter, &changed, hash, dot));
    return changed;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* What a filter says of the dots that the model knows. */
static inline void dots_read(struct dots *dots, int row, const roost_filter *filter)
{
    for (uint32_t i = 0; i < dots->count; i++)
        dots->standing[row][i] = (uint8_t)standing_of(filter, dots->list[i].hash, dots->list[i].dot);
}

static inline uint32_t dots_live(const struct dots *dots, int row, uint64_t key)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < dots->count; i++)
        live += dots->standing[row][i] == LIVE && dots->list[i].key == key;
    return live;
}

/* The filter is this row, and nothing else. */
static inline void dots_agree(const struct dots *dots, int row, const roost_filter *filter)
{
    uint64_t live = 0, seen = 0;
    roost_info info;
    for (uint32_t i = 0; i < dots->count; i++) {
        assert_int_equal(dots->standing[row][i], standing_of(filter, dots->list[i].hash, dots->list[i].dot));
        live += dots->standing[row][i] == LIVE;
        seen += dots->standing[row][i] != UNSEEN;
        if (dots->standing[row][i] == LIVE)
            assert_true(roost_filter_contains_hash(filter, dots->list[i].hash));
    }
    roost_filter_get_info(filter, &info);
    assert_int_equal(info.entries, live);
    assert_int_equal(info.dots, seen);
    for (uint32_t i = 0; i < dots->count; i += 7) {
        uint32_t copies = dots_live(dots, row, dots->list[i].key);
        bool found = roost_filter_contains_hash(filter, dots->list[i].hash);
        assert_int_equal(found, copies > 0);
        assert_int_equal(roost_filter_count_hash(filter, dots->list[i].hash),
                         roost_filter_get_config(filter)->multiset ? copies : copies > 0);
    }
}

static inline void dots_kill(struct dots *dots, int row, uint64_t key)
{
    for (uint32_t i = 0; i < dots->count; i++)
        if (dots->standing[row][i] == LIVE && dots->list[i].key == key)
            dots->standing[row][i] = DEAD;
}

static inline void dots_add(struct dots *dots, int row, const roost_filter *filter, roost_hash hash, roost_dot dot)
{
    assert_true(dots->count < MOST_DOTS && dot.actor != 0 && dot.counter != 0);
    for (uint32_t i = 0; i < dots->count; i++) /* no two additions share a dot */
        assert_true(dots->list[i].dot.actor != dot.actor || dots->list[i].dot.counter != dot.counter);
    uint64_t key = class_for(filter, hash);
    if (!roost_filter_get_config(filter)->multiset)
        dots_kill(dots, row, key);
    uint32_t i = dots->count++;
    dots->list[i].dot = dot;
    dots->list[i].hash = hash;
    dots->list[i].key = key;
    for (int other = 0; other < MOST_ROWS; other++)
        dots->standing[other][i] = other == row ? LIVE : UNSEEN;
}

static inline void dots_merge(struct dots *dots, int to, int from)
{
    for (uint32_t i = 0; i < dots->count; i++)
        if (dots->standing[to][i] < dots->standing[from][i])
            dots->standing[to][i] = dots->standing[from][i];
}

static inline bool dots_at_most(const struct dots *dots, int row, int other)
{
    for (uint32_t i = 0; i < dots->count; i++)
        if (dots->standing[row][i] > dots->standing[other][i])
            return false;
    return true;
}

static inline roost_order dots_order(const struct dots *dots, int row, int other)
{
    return (dots_at_most(dots, other, row) ? 0 : ROOST_BEFORE) | (dots_at_most(dots, row, other) ? 0 : ROOST_AFTER);
}

#endif
