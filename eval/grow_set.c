/*
 * A grow-only set that holds the keys themselves, in frames like those of the filters (set_frame.c), so that sizes
 * compare.
 *
 * Members are sorted, as in the canonical frame of a cuckoo filter: sixteen bytes each, or, in the second form, the
 * gaps between them Rice-coded. Of n random keys the gaps are about 2^128 / n, so a member costs about 129.5 - log2 n
 * bits: 13.7 bytes for n = 2^20. That is as small as a set of random keys gets; the filters win by forgetting the keys,
 * not by a better code.
 */
#include "grow_set.h"

#include <stdlib.h>

#include "fatal.h"

/* ---- the set ----------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    set_member x = *(const set_member *)a, y = *(const set_member *)b;
    return (x > y) - (x < y);
}

static size_t drop_doubles(set_member *members, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || members[kept - 1] != members[i])
            members[kept++] = members[i];
    return kept;
}

struct grow_set grow_set_of(const struct key *keys, size_t count, size_t start, size_t stride)
{
    struct grow_set set = {.members = must_allocate(count, sizeof *set.members)};
    for (size_t i = start; i < count; i += stride)
        set.members[set.count++] = member_of(keys[i]);
    qsort(set.members, set.count, sizeof *set.members, by_value);
    set.count = drop_doubles(set.members, set.count);
    return set;
}

struct grow_set grow_set_merged(const struct grow_set *a, const struct grow_set *b)
{
    struct grow_set set = {.members = must_allocate(a->count + b->count, sizeof *set.members)};
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool from_a = j == b->count || (i < a->count && a->members[i] <= b->members[j]);
        set.members[set.count++] = from_a ? a->members[i++] : b->members[j++];
    }
    set.count = drop_doubles(set.members, set.count);
    return set;
}

void grow_set_release(struct grow_set *set)
{
    free(set->members);
    *set = (struct grow_set){0};
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* The whole bits of the mean gap, less one: what wastes least where gaps are geometric. */
static unsigned rice_parameter(size_t count)
{
    unsigned bits = 0;
    while (count >> bits > 1)
        bits++;
    return MEMBER_BITS - 1 - bits;
}

/* The gaps add up to less than 2^128, hence all quotients together to at most twice the count. */
static size_t most_bits(const struct grow_set *set, enum grow_set_coding coding)
{
    return set->count * (coding == SET_RAW ? MEMBER_BITS : rice_parameter(set->count) + 3);
}

struct set_frame grow_set_encode(const struct grow_set *set, enum grow_set_coding coding)
{
    struct set_frame frame;
    struct bit_row row = set_frame_begin(&frame, most_bits(set, coding));
    unsigned parameter = rice_parameter(set->count);
    set_member next = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (coding == SET_RAW)
            put_bits(&row, set->members[i], MEMBER_BITS);
        else
            put_rice(&row, set->members[i] - next, parameter);
        next = set->members[i] + 1;
    }
    set_frame_end(&frame, &row, coding, set->count);
    return frame;
}

static bool members_match(struct bit_row *row, const struct grow_set *set, enum grow_set_coding coding)
{
    unsigned parameter = rice_parameter(set->count);
    set_member next = 0;
    for (size_t i = 0; i < set->count; i++) {
        set_member member = coding == SET_RAW ? take_bits(row, MEMBER_BITS) : next + take_rice(row, parameter);
        if (member != set->members[i])
            return false;
        next = member + 1;
    }
    return true;
}

bool grow_set_frame_holds(struct set_frame frame, const struct grow_set *set)
{
    struct bit_row row;
    unsigned coding;
    size_t count;
    return set_frame_open(frame, &row, &coding, &count) && count == set->count &&
           members_match(&row, set, (enum grow_set_coding)coding);
}
