/* Ranges of positions and what they hold, as messages carry them. `ranges.c` has the idea. */
#ifndef SYNC_RANGES_H
#define SYNC_RANGES_H

#include "../filter/kind.h"

/*
 * The positions are cut into ranges of 2^shift; a range is named by its number. At the widest shift there are at most
 * FIRST_RANGES of them, and each round cuts a range into FANOUT.
 */
#define FIRST_RANGES 256
#define FANOUT_BITS  4
#define FANOUT       (1u << FANOUT_BITS)
#define FEWEST_SHIFT 6
#define MOST_EXTENT  (UINT64_C(1) << 62)

struct ranges {
    unsigned shift;
    uint64_t *numbers; /* ascending */
    uint64_t count;
};

unsigned widest_shift(uint64_t universe);
static inline uint64_t range_from(const struct ranges *ranges, uint64_t i)
{
    return ranges->numbers[i] << ranges->shift;
}
static inline uint64_t range_to(const struct ranges *ranges, uint64_t i, uint64_t universe)
{
    uint64_t to = (ranges->numbers[i] + 1) << ranges->shift;
    return to < universe ? to : universe;
}

/* Ascending numbers below a bound: how many, then the gaps. */
void write_numbers(struct bit_writer *writer, const uint64_t *numbers, uint64_t count, uint64_t bound);
/* NULL with a failed reader, or without memory and a reader that has not failed. */
uint64_t *read_numbers(struct bit_reader *reader, uint64_t *count, uint64_t bound, const roost_allocator *allocator);

void write_ranges(struct bit_writer *writer, const struct ranges *ranges, uint64_t universe);
roost_status read_ranges(struct bit_reader *reader, struct ranges *ranges, uint64_t universe,
                         const roost_allocator *allocator);
void ranges_release(struct ranges *ranges, const roost_allocator *allocator);

/* A list that grows up to a limit: a few bytes of a message may stand for very many numbers. */
struct number_list {
    uint64_t *numbers;
    uint64_t count, room, most;
};
/* ROOST_NO_MEMORY, ROOST_TOO_LARGE. */
roost_status list_append(struct number_list *list, uint64_t number, const roost_filter *filter);
void list_release(struct number_list *list, const roost_filter *filter);

/*
 * What a range holds, by gaps between its members or between the others, whichever are fewer; by the others only where
 * the range has at most MOST_LEAF positions, so that a few bytes never stand for very many numbers.
 */
#define MOST_LEAF ((uint64_t)1 << 16)
void write_leaf(struct bit_writer *writer, const uint64_t *members, uint64_t count, uint64_t from, uint64_t to);

/* A leaf as it is read: rows of members, ascending. At the end `failed` is set if it was malformed. */
struct leaf {
    struct bit_reader *reader;
    uint64_t next, to; /* what is left of the range */
    uint64_t named;    /* positions that are still to be read */
    unsigned parameter;
    bool others; /* those named are the ones that are missing */
    bool failed;
};
void leaf_open(struct leaf *leaf, struct bit_reader *reader, uint64_t from, uint64_t to);
/* False: no further row. */
bool leaf_next(struct leaf *leaf, uint64_t *from, uint64_t *to);
/* The bits that it will take, about. */
double leaf_bits(uint64_t count, uint64_t width);

#endif
