/*
 * The bits of a set of prefixes, for states and deltas.
 *
 *     count (varint), and unless it is 0: shortest and longest length (a byte each), then the ranges
 *
 *     range 0     shortest: how many (gamma, plus one), gaps    next length: how many, gaps    ...    longest
 *     range 1     ...
 *
 * The hashes are cut into 2^c ranges of equal size, such that a range has about two thousand prefixes; c follows from
 * the count, so one set has one form. Inside a range the prefixes of one length are a sorted list of numbers of L - c
 * bits, as Rice-coded gaps: 1.5 bits more than the logarithm of the mean gap, which is within 0.1 bit of what such a
 * set takes at least. (One list for each length, and not one for all: a list of several lengths would have to name the
 * length of each.) A prefix that spans several ranges is in the first, and has no bits there.
 *
 * So a state is written and read range by range, in the order of its table, with memory for one range; and no count of
 * a hostile frame is believed before its bits are there.
 */
#include "prefix_bytes.h"

#include <string.h>

#include "../base/sort.h"

#define RANGE_PREFIXES 2048

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static unsigned range_bits_of(uint64_t count)
{
    return count < 2 * RANGE_PREFIXES ? 0 : highest_bit(count / RANGE_PREFIXES);
}

/* The numbers of this length in a range are below this. */
static uint64_t universe_of(unsigned length, unsigned range_bits)
{
    return length > range_bits ? UINT64_C(1) << (length - range_bits) : 1;
}

static uint64_t range_start(uint64_t range, unsigned range_bits)
{
    return range_bits ? range << (64 - range_bits) : 0;
}

static uint64_t number_in_range(uint64_t prefix, unsigned length, unsigned range_bits)
{
    return length > range_bits ? prefix << range_bits >> 1 >> (63 - (length - range_bits)) : 0;
}

/* The inverse; false where a range does not begin with such a prefix. */
static bool prefix_in_range(uint64_t *prefix, uint64_t range, uint64_t number, unsigned length, unsigned range_bits)
{
    uint64_t start = range_start(range, range_bits);
    if (length > range_bits)
        start |= number << (64 - length);
    *prefix = prefix_of(start, length);
    return first_covered(*prefix) == start;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Changes the prefixes to what is written. */
static void write_list(struct bit_writer *writer, uint64_t *prefixes, uint64_t count, unsigned length,
                       unsigned range_bits)
{
    const uint64_t universe = universe_of(length, range_bits);
    write_gamma(writer, count + 1);
    for (uint64_t i = 0; i < count; i++)
        prefixes[i] = number_in_range(prefixes[i], length, range_bits);
    for (uint64_t i = count; i-- > 1;)
        prefixes[i] -= prefixes[i - 1] + 1;
    write_rice_list(writer, prefixes, count, rice_parameter(universe, count));
}

/* The prefixes of one range, in order. */
static void write_range(struct bit_writer *writer, struct prefix_census census, const uint64_t *prefixes,
                        uint64_t *scratch, uint64_t count, unsigned range_bits)
{
    uint64_t ends[MOST_LENGTH + 1] = {0}, from = 0;
    for (uint64_t i = 0; i < count; i++)
        ends[prefix_length(prefixes[i])]++;
    for (unsigned length = census.shortest; length <= census.longest; length++)
        ends[length] = from += ends[length];
    for (uint64_t i = count; i-- > 0;)
        scratch[--ends[prefix_length(prefixes[i])]] = prefixes[i];
    for (unsigned length = census.shortest; length <= census.longest; length++) {
        uint64_t end = length < census.longest ? ends[length + 1] : count;
        write_list(writer, scratch + ends[length], end - ends[length], length, range_bits);
    }
}

static bool make_more_room(uint64_t **prefixes, uint64_t *room, uint64_t count, const roost_allocator *allocator)
{
    uint64_t more = *room ? 2 * *room : RANGE_PREFIXES / 4;
    uint64_t *longer = memory_allocate(allocator, 2 * more * sizeof *longer);
    if (!longer)
        return false;
    if (count)
        memcpy(longer, *prefixes, count * sizeof *longer);
    memory_release(allocator, *prefixes);
    *prefixes = longer;
    *room = more;
    return true;
}

/* Room for one more prefix, twice; false without memory. */
static inline bool make_room(uint64_t **prefixes, uint64_t *room, uint64_t count, const roost_allocator *allocator)
{
    return count < *room || make_more_room(prefixes, room, count, allocator);
}

roost_status write_prefixes(struct bit_writer *writer, struct prefix_census census, next_prefix *next, void *context,
                            const roost_allocator *allocator)
{
    unsigned range_bits = range_bits_of(census.count);
    uint64_t *prefixes = NULL, room = 0, ahead = next(context);
    bool enough = make_room(&prefixes, &room, 0, allocator);
    write_varint(writer, census.count);
    if (census.count > 0) {
        write_byte(writer, census.shortest);
        write_byte(writer, census.longest);
    }
    for (uint64_t range = 0; census.count > 0 && range < UINT64_C(1) << range_bits && enough; range++) {
        uint64_t count = 0,
                 last = range_start(range, range_bits) | (range_bits ? UINT64_MAX >> range_bits : UINT64_MAX);
        for (; ahead && first_covered(ahead) <= last; ahead = next(context)) {
            enough = make_room(&prefixes, &room, count, allocator);
            if (!enough)
                break;
            prefixes[count++] = ahead;
        }
        if (enough)
            write_range(writer, census, prefixes, prefixes + room, count, range_bits);
    }
    memory_release(allocator, prefixes);
    write_alignment(writer);
    return enough && !writer->failed ? ROOST_OK : ROOST_NO_MEMORY;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

void prefix_reader_begin(struct prefix_reader *prefixes, struct bit_reader *reader, const roost_allocator *allocator)
{
    *prefixes = (struct prefix_reader){.reader = reader, .allocator = allocator};
    struct prefix_census *census = &prefixes->census;
    census->count = prefixes->left = read_varint(reader);
    if (census->count > 0) {
        census->shortest = read_byte(reader);
        census->longest = read_byte(reader);
        prefixes->range_bits = range_bits_of(census->count);
        prefixes->ranges = UINT64_C(1) << prefixes->range_bits;
    }
    if (reader->failed || census->count > reader_bits_left(reader) || census->longest > MOST_LENGTH ||
        census->shortest > census->longest)
        prefixes->status = ROOST_CORRUPT;
}

void prefix_reader_end(struct prefix_reader *prefixes)
{
    memory_release(prefixes->allocator, prefixes->prefixes);
    prefixes->prefixes = NULL;
}

#define GAPS_AT_ONCE 128

/* The next prefixes of a list, behind what the range has so far; *next is the first number that can come. */
static roost_status read_some(struct prefix_reader *prefixes, uint64_t first, unsigned shift, unsigned parameter,
                              uint64_t *next, uint64_t universe, uint64_t count)
{
    uint64_t gaps[GAPS_AT_ONCE];
    while (prefixes->room < prefixes->count + count)
        if (!make_more_room(&prefixes->prefixes, &prefixes->room, prefixes->count, prefixes->allocator))
            return ROOST_NO_MEMORY;
    read_rice_list(prefixes->reader, gaps, count, parameter);
    if (prefixes->reader->failed)
        return ROOST_CORRUPT;
    for (uint64_t i = 0; i < count; i++) {
        if (*next >= universe || gaps[i] >= universe - *next)
            return ROOST_CORRUPT;
        *next += gaps[i];
        prefixes->prefixes[prefixes->count++] = first | *next << shift;
        ++*next;
    }
    return ROOST_OK;
}

/* One list, behind what the range has so far. */
static roost_status read_list(struct prefix_reader *prefixes, unsigned length)
{
    const unsigned range_bits = prefixes->range_bits;
    uint64_t universe = universe_of(length, range_bits), count = read_gamma(prefixes->reader) - 1, next = 0, first = 0;
    if (prefixes->reader->failed || count > prefixes->left || count > reader_bits_left(prefixes->reader))
        return ROOST_CORRUPT;
    if (count > 0 && !prefix_in_range(&first, prefixes->range, 0, length, range_bits))
        return ROOST_CORRUPT;
    const unsigned parameter = rice_parameter(universe, count), shift = length > range_bits ? 64 - length : 0;
    prefixes->left -= count;
    for (uint64_t some; count > 0; count -= some) {
        some = count < GAPS_AT_ONCE ? count : GAPS_AT_ONCE;
        roost_status status = read_some(prefixes, first, shift, parameter, &next, universe, some);
        if (status != ROOST_OK)
            return status;
    }
    return ROOST_OK;
}

/* The runs up to `middle` and from there to `count`, both in order, become one. */
static void merge_runs(uint64_t *prefixes, uint64_t *scratch, uint64_t middle, uint64_t count)
{
    if (middle == 0 || middle == count || prefixes[middle - 1] < prefixes[middle])
        return;
    memcpy(scratch, prefixes, middle * sizeof *scratch);
    for (uint64_t i = 0, j = middle, to = 0; i < middle; to++)
        prefixes[to] = j == count || scratch[i] < prefixes[j] ? scratch[i++] : prefixes[j++];
}

/* Lists as one, each merged with what is there so far. */
static void merge_lists(struct prefix_reader *prefixes, const uint64_t *ends)
{
    for (unsigned length = prefixes->census.shortest; length < prefixes->census.longest; length++)
        merge_runs(prefixes->prefixes, prefixes->prefixes + prefixes->room, ends[length], ends[length + 1]);
}

/* The lists of a range as one. Hashes are evenly spread. */
static void sort_lists(struct prefix_reader *prefixes, const uint64_t *ends)
{
    if (prefixes->count < 2 || prefixes->census.shortest == prefixes->census.longest)
        return;
    uint64_t *scratch = prefixes->prefixes + prefixes->room;
    if (sort_spread_numbers(scratch, prefixes->prefixes, prefixes->count, 64 - prefixes->range_bits))
        memcpy(prefixes->prefixes, scratch, prefixes->count * sizeof *scratch);
    else
        merge_lists(prefixes, ends);
}

/* Whether none covers another, in the range and since the last one. */
static bool is_disjoint(struct prefix_reader *prefixes)
{
    uint64_t last = prefixes->last, i = 0;
    if (prefixes->count > 0 && !prefixes->begun) {
        last = last_covered(prefixes->prefixes[i++]);
        prefixes->begun = true;
    }
    for (; i < prefixes->count; i++) {
        if (first_covered(prefixes->prefixes[i]) <= last)
            return false;
        last = last_covered(prefixes->prefixes[i]);
    }
    prefixes->last = last;
    return true;
}

static roost_status read_range(struct prefix_reader *prefixes)
{
    uint64_t ends[MOST_LENGTH + 1];
    prefixes->count = prefixes->at = 0;
    for (unsigned length = prefixes->census.shortest; length <= prefixes->census.longest; length++) {
        roost_status status = read_list(prefixes, length);
        if (status != ROOST_OK)
            return status;
        ends[length] = prefixes->count;
    }
    sort_lists(prefixes, ends);
    prefixes->range++;
    return is_disjoint(prefixes) ? ROOST_OK : ROOST_CORRUPT;
}

static void read_next_range(struct prefix_reader *prefixes)
{
    prefixes->status = read_range(prefixes);
    reader_forget(prefixes->reader);
    if (prefixes->status != ROOST_OK || prefixes->range < prefixes->ranges)
        return;
    read_alignment(prefixes->reader);
    if (prefixes->left > 0 || prefixes->reader->failed)
        prefixes->status = ROOST_CORRUPT;
}

uint64_t next_of_reader(void *context)
{
    struct prefix_reader *prefixes = context;
    while (prefixes->at == prefixes->count && prefixes->status == ROOST_OK && prefixes->range < prefixes->ranges)
        read_next_range(prefixes);
    return prefixes->status == ROOST_OK && prefixes->at < prefixes->count ? prefixes->prefixes[prefixes->at++] : 0;
}
