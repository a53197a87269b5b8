/*
 * An observed-remove set that holds the keys themselves: members with the dots of their additions, and a version vector
 * of all dots that were seen. A dot that was seen and has no member was removed. Merge keeps the members that both
 * sides hold, and those whose dots the other side has not seen; here each side has made its own dots, so that every
 * member is one that the other side has not seen.
 *
 *     body    | actors: 1 byte | each: actor 8, counter 4 | members |
 *     raw     sorted by key: key 16, actor 1, counter 4
 *     coded   which dots have members, by rank among all dots that were seen: Rice-coded gaps between those that have
 *             one or those that have none, whichever are fewer; then the keys in the order of their dots, 16 bytes each
 *
 * Coded, a member costs its key and what it takes to tell its dot: nothing where nothing was removed. Sorting by key
 * instead, with coded gaps, would save log2 n bits on the keys and spend them on the dots.
 */
#include "observed_remove_set.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"

#define ACTORS_BITS  8
#define ACTOR_BITS   64
#define COUNTER_BITS 32

/* ---- the set ----------------------------------------------------------------------------------------------------- */

struct observed_remove_set observed_remove_set_of(const struct key *keys, const struct script *script, uint64_t actor)
{
    struct observed_remove_set set = {.members = must_allocate(script->adds, sizeof *set.members)};
    set_member *by_dot = must_allocate(script->adds, sizeof *by_dot);
    bool *live = must_allocate(script->adds, sizeof *live);
    uint32_t made = 0, first = script->count ? script->steps[0].key : 0;
    for (size_t i = 0; i < script->count; i++) { /* each key is added once, one after the other: the n-th has dot n */
        const struct step *step = &script->steps[i];
        live[step->key - first] = !step->removes;
        if (!step->removes)
            by_dot[made++] = member_of(keys[step->key]);
    }
    for (uint32_t i = 0; i < made; i++)
        if (live[i])
            set.members[set.count++] = (struct dotted_member){by_dot[i], 0, i + 1};
    if (made)
        set.seen[set.actors++] = (struct seen_actor){actor, made};
    free(by_dot);
    free(live);
    return set;
}

static void append(struct observed_remove_set *set, const struct observed_remove_set *part)
{
    if (part->actors == 0)
        return;
    for (size_t i = 0; i < part->count; i++)
        set->members[set->count++] =
            (struct dotted_member){part->members[i].member, set->actors, part->members[i].counter};
    set->seen[set->actors++] = part->seen[0];
}

struct observed_remove_set observed_remove_set_merged(const struct observed_remove_set *a,
                                                      const struct observed_remove_set *b)
{
    struct observed_remove_set set = {.members = must_allocate(a->count + b->count, sizeof *set.members)};
    bool in_order = b->actors == 0 || a->seen[0].actor < b->seen[0].actor;
    append(&set, in_order ? a : b);
    append(&set, in_order ? b : a);
    return set;
}

void observed_remove_set_release(struct observed_remove_set *set)
{
    free(set->members);
    *set = (struct observed_remove_set){0};
}

/* ---- ranks of dots ----------------------------------------------------------------------------------------------- */

static uint64_t all_dots(const struct observed_remove_set *set)
{
    uint64_t dots = 0;
    for (unsigned i = 0; i < set->actors; i++)
        dots += set->seen[i].counter;
    return dots;
}

static uint64_t rank_of(const struct observed_remove_set *set, const struct dotted_member *member)
{
    return (member->actor ? set->seen[0].counter : 0) + member->counter - 1;
}

struct rank_code {
    uint64_t dots;
    bool names_others; /* those without a member */
    unsigned parameter;
};

/* The whole bits of 0.69 times the mean gap, which is the Rice parameter that wastes least. */
static struct rank_code rank_code_of(const struct observed_remove_set *set)
{
    struct rank_code code = {.dots = all_dots(set)};
    code.names_others = set->count > code.dots - set->count;
    uint64_t named = code.names_others ? code.dots - set->count : set->count;
    while (named && (named << (code.parameter + 1)) <= code.dots * 69 / 100)
        code.parameter++;
    return code;
}

static void put_ranks(struct bit_row *row, const struct observed_remove_set *set, struct rank_code code)
{
    uint64_t next = 0; /* after the one that was named last */
    for (uint64_t rank = 0, i = 0; rank < code.dots; rank++) {
        bool member = i < set->count && rank_of(set, &set->members[i]) == rank;
        i += member;
        if (member == code.names_others)
            continue;
        put_rice(row, rank - next, code.parameter);
        next = rank + 1;
    }
}

static bool ranks_match(struct bit_row *row, const struct observed_remove_set *set, struct rank_code code)
{
    uint64_t named = code.names_others ? code.dots - set->count : set->count, rank = 0, i = 0;
    for (uint64_t next = 0; named > 0; named--, next++) {
        next += (uint64_t)take_rice(row, code.parameter);
        for (; code.names_others && rank < next; rank++, i++)
            if (i >= set->count || rank_of(set, &set->members[i]) != rank)
                return false;
        if (!code.names_others && rank_of(set, &set->members[i++]) != next)
            return false;
        rank = next + 1;
    }
    for (; code.names_others && i < set->count; rank++, i++)
        if (rank_of(set, &set->members[i]) != rank)
            return false;
    return i == set->count;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
    set_member x = ((const struct dotted_member *)a)->member, y = ((const struct dotted_member *)b)->member;
    return (x > y) - (x < y);
}

static struct dotted_member *sorted_by_key(const struct observed_remove_set *set)
{
    struct dotted_member *sorted = must_allocate(set->count, sizeof *sorted);
    memcpy(sorted, set->members, set->count * sizeof *sorted);
    qsort(sorted, set->count, sizeof *sorted, by_key);
    return sorted;
}

static void put_raw(struct bit_row *row, const struct observed_remove_set *set)
{
    struct dotted_member *sorted = sorted_by_key(set);
    for (size_t i = 0; i < set->count; i++) {
        put_bits(row, sorted[i].member, MEMBER_BITS);
        put_bits(row, sorted[i].actor, ACTORS_BITS);
        put_bits(row, sorted[i].counter, COUNTER_BITS);
    }
    free(sorted);
}

static bool raw_matches(struct bit_row *row, const struct observed_remove_set *set)
{
    struct dotted_member *sorted = sorted_by_key(set);
    bool match = true;
    for (size_t i = 0; i < set->count; i++) {
        match &= take_bits(row, MEMBER_BITS) == sorted[i].member;
        match &= take_bits(row, ACTORS_BITS) == sorted[i].actor;
        match &= take_bits(row, COUNTER_BITS) == sorted[i].counter;
    }
    free(sorted);
    return match;
}

static void put_coded(struct bit_row *row, const struct observed_remove_set *set)
{
    put_ranks(row, set, rank_code_of(set));
    for (size_t i = 0; i < set->count; i++)
        put_bits(row, set->members[i].member, MEMBER_BITS);
}

static bool coded_matches(struct bit_row *row, const struct observed_remove_set *set)
{
    bool match = ranks_match(row, set, rank_code_of(set));
    for (size_t i = 0; i < set->count; i++)
        match &= take_bits(row, MEMBER_BITS) == set->members[i].member;
    return match;
}

static bool actors_match(struct bit_row *row, const struct observed_remove_set *set)
{
    bool match = take_bits(row, ACTORS_BITS) == set->actors;
    for (unsigned i = 0; i < set->actors; i++) {
        match &= take_bits(row, ACTOR_BITS) == set->seen[i].actor;
        match &= take_bits(row, COUNTER_BITS) == set->seen[i].counter;
    }
    return match;
}

/* A gap that is named costs at most its parameter, which is below COUNTER_BITS, and a one; all quotients together are
 * at most three times the number of those that are named. */
static size_t most_bits(const struct observed_remove_set *set)
{
    return ACTORS_BITS + MOST_SET_ACTORS * (ACTOR_BITS + COUNTER_BITS) +
           set->count * (MEMBER_BITS + ACTORS_BITS + COUNTER_BITS + 4);
}

struct set_frame observed_remove_set_encode(const struct observed_remove_set *set, enum dotted_coding coding)
{
    struct set_frame frame;
    struct bit_row row = set_frame_begin(&frame, most_bits(set));
    put_bits(&row, set->actors, ACTORS_BITS);
    for (unsigned i = 0; i < set->actors; i++) {
        put_bits(&row, set->seen[i].actor, ACTOR_BITS);
        put_bits(&row, set->seen[i].counter, COUNTER_BITS);
    }
    if (coding == DOTTED_RAW)
        put_raw(&row, set);
    else
        put_coded(&row, set);
    set_frame_end(&frame, &row, coding, set->count);
    return frame;
}

bool observed_remove_set_frame_holds(struct set_frame frame, const struct observed_remove_set *set)
{
    struct bit_row row;
    unsigned coding;
    size_t count;
    if (!set_frame_open(frame, &row, &coding, &count) || count != set->count || !actors_match(&row, set))
        return false;
    return coding == DOTTED_RAW ? raw_matches(&row, set) : coding == DOTTED_CODED && coded_matches(&row, set);
}
