/*
 * A grow-only set that holds the keys themselves, in frames like those of the filters, so that sizes compare.
 *
 *     +------+---------+------+--------+-------+---------+----------+
 *     | ESet | version | form | length | count | members | checksum |
 *     |  4   |    1    |  1   |   8    |   8   |         |    8     |
 *     +------+---------+------+--------+-------+---------+----------+
 *
 * Members are sorted, as in the canonical frame of a cuckoo filter: sixteen bytes each, or, in the second form, the
 * gaps between them Rice-coded. The quotient of a gap is that many zeros and a one, then follow its low bits. Of n
 * random keys the gaps are about 2^128 / n, so a member costs about 129.5 - log2 n bits: 13.7 bytes for n = 2^20. That
 * is as small as a set of random keys gets; the filters win by forgetting the keys, not by a better code.
 */
#include "grow_set.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"

#define MAGIC          "ESet"
#define MAGIC_BYTES    4
#define VERSION        1
#define HEADER_BYTES   22
#define CHECKSUM_BYTES 8
#define MEMBER_BYTES   16
#define MEMBER_BITS    128

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
        set.members[set.count++] = (set_member)keys[i].high << 64 | keys[i].low;
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

/* ---- bits, the lowest of a byte first ---------------------------------------------------------------------------- */

struct bit_row {
    uint8_t *bytes;
    size_t position, end; /* in bits */
};

static void put_bits(struct bit_row *row, set_member value, unsigned count)
{
    for (unsigned i = 0; i < count; i++, row->position++)
        row->bytes[row->position / 8] |= (uint8_t)((unsigned)(value >> i & 1) << row->position % 8);
}

static set_member take_bits(struct bit_row *row, unsigned count)
{
    set_member value = 0;
    for (unsigned i = 0; i < count && row->position < row->end; i++, row->position++)
        value |= (set_member)(row->bytes[row->position / 8] >> row->position % 8 & 1) << i;
    return value;
}

static void put_rice(struct bit_row *row, set_member value, unsigned parameter)
{
    row->position += (size_t)(value >> parameter);
    put_bits(row, 1, 1);
    put_bits(row, value, parameter);
}

static set_member take_rice(struct bit_row *row, unsigned parameter)
{
    set_member quotient = 0;
    while (row->position < row->end && !take_bits(row, 1))
        quotient++;
    return quotient << parameter | take_bits(row, parameter);
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
static size_t most_bytes(const struct grow_set *set, enum grow_set_coding coding)
{
    if (coding == SET_RAW)
        return HEADER_BYTES + set->count * MEMBER_BYTES + CHECKSUM_BYTES;
    size_t bits = set->count * (rice_parameter(set->count) + 3);
    return HEADER_BYTES + bits / 8 + 1 + CHECKSUM_BYTES;
}

static uint64_t checksum(const uint8_t *bytes, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void write_members(struct bit_row *row, const struct grow_set *set, enum grow_set_coding coding)
{
    unsigned parameter = rice_parameter(set->count);
    set_member next = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (coding == SET_RAW)
            put_bits(row, set->members[i], MEMBER_BITS);
        else
            put_rice(row, set->members[i] - next, parameter);
        next = set->members[i] + 1;
    }
    row->position = (row->position + 7) / 8 * 8;
}

struct set_frame grow_set_encode(const struct grow_set *set, enum grow_set_coding coding)
{
    struct set_frame frame = {.bytes = must_allocate(most_bytes(set, coding), 1)};
    struct bit_row row = {.bytes = frame.bytes, .position = HEADER_BYTES * 8};
    write_members(&row, set, coding);
    size_t body = row.position / 8 - HEADER_BYTES;
    memcpy(frame.bytes, MAGIC, MAGIC_BYTES);
    row.position = MAGIC_BYTES * 8;
    put_bits(&row, VERSION, 8);
    put_bits(&row, coding, 8);
    put_bits(&row, body, 64);
    put_bits(&row, set->count, 64);
    row.position += body * 8;
    put_bits(&row, checksum(frame.bytes, row.position / 8), 64);
    frame.size = row.position / 8;
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
    struct bit_row row = {.bytes = frame.bytes, .position = MAGIC_BYTES * 8, .end = frame.size * 8};
    if (frame.size < HEADER_BYTES + CHECKSUM_BYTES || memcmp(frame.bytes, MAGIC, MAGIC_BYTES) != 0)
        return false;
    set_member version = take_bits(&row, 8), coding = take_bits(&row, 8);
    set_member body = take_bits(&row, 64), count = take_bits(&row, 64);
    struct bit_row tail = {.bytes = frame.bytes, .position = (frame.size - CHECKSUM_BYTES) * 8, .end = row.end};
    return version == VERSION && body == frame.size - HEADER_BYTES - CHECKSUM_BYTES && count == set->count &&
           take_bits(&tail, 64) == checksum(frame.bytes, frame.size - CHECKSUM_BYTES) &&
           members_match(&row, set, (enum grow_set_coding)coding);
}
