/*
 * Bender et al., "Don't Thrash: How to Cache Your Hash on Flash" (2012), with the metadata of Pandey et al., "A General-
 * Purpose Counting Filter" (2017): ranks and selects instead of three bits a slot. Without counts and removal.
 *
 * A fingerprint is a quotient and a remainder. The remainder belongs into the slot of its number, the quotient; those of
 * one quotient are a run, in rising order, and runs follow each other in the order of their quotients. A run that finds
 * its slot taken begins where the one before it ends. So the layout follows from the set of fingerprints alone.
 *
 *     quotients  0 1 2 3 4 5 6 7        1: a, b    2: c    5: d
 *     occupied   0 1 1 0 0 1 0 0        quotients that have a run
 *     slots      - a b c - d - -        c is not in its own slot
 *     runend     0 0 1 1 0 1 0 0        the last slot of each run
 *
 * The n-th run ends at the n-th runend. Slots are in blocks of 64, each with the number of its slots that runs of earlier
 * blocks take, so that nothing is counted over more than a block or two:
 *
 *     offset: 16 bits | occupied: 64 | runend: 64 | 64 remainders
 *
 * which makes 2.25 bits a slot beside the remainder. An addition moves all that is between its place and the next free
 * slot up by one: many slots, as the table gets full.
 */
#define _GNU_SOURCE
#include "quotient_filter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __BMI2__
#include <immintrin.h>
#endif

#define SLOTS_A_BLOCK 64
#define MOST_OFFSET   UINT16_MAX
#define AHEAD         32
#define HUGE_PAGE     ((size_t)2 << 20)

/* ---- words and blocks -------------------------------------------------------------------------------------------- */

static uint64_t load(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static void store(uint8_t *bytes, uint64_t word)
{
    memcpy(bytes, &word, sizeof word);
}

static uint64_t lowest(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* The place of the set bit number `n`, which there is. */
static unsigned place_of_bit(uint64_t word, unsigned n)
{
#ifdef __BMI2__
    return (unsigned)__builtin_ctzll(_pdep_u64(UINT64_C(1) << n, word));
#else
    while (n-- > 0)
        word &= word - 1;
    return (unsigned)__builtin_ctzll(word);
#endif
}

static uint8_t *block_of(const struct quotient_filter *filter, uint64_t block)
{
    return filter->blocks + block * (18 + 8 * (size_t)filter->bits);
}

static uint64_t offset_of(const struct quotient_filter *filter, uint64_t block)
{
    uint16_t offset;
    memcpy(&offset, block_of(filter, block), sizeof offset);
    return offset;
}

static void set_offset(struct quotient_filter *filter, uint64_t block, uint64_t value)
{
    uint16_t offset = (uint16_t)value;
    memcpy(block_of(filter, block), &offset, sizeof offset);
}

static uint8_t *occupied_of(const struct quotient_filter *filter, uint64_t block)
{
    return block_of(filter, block) + 2;
}

static uint8_t *runends_of(const struct quotient_filter *filter, uint64_t block)
{
    return block_of(filter, block) + 10;
}

static uint8_t *remainders_of(const struct quotient_filter *filter, uint64_t block)
{
    return block_of(filter, block) + 18;
}

static bool has_bit(const uint8_t *word, uint64_t slot)
{
    return load(word) >> slot % SLOTS_A_BLOCK & 1;
}

static void put_bit(uint8_t *word, uint64_t slot, bool value)
{
    uint64_t bit = UINT64_C(1) << slot % SLOTS_A_BLOCK;
    store(word, value ? load(word) | bit : load(word) & ~bit);
}

static bool is_occupied(const struct quotient_filter *filter, uint64_t quotient)
{
    return has_bit(occupied_of(filter, quotient / SLOTS_A_BLOCK), quotient);
}

static bool is_runend(const struct quotient_filter *filter, uint64_t slot)
{
    return has_bit(runends_of(filter, slot / SLOTS_A_BLOCK), slot);
}

static uint64_t remainder_at(const struct quotient_filter *filter, uint64_t slot)
{
    const uint8_t *words = remainders_of(filter, slot / SLOTS_A_BLOCK);
    unsigned bit = (unsigned)(slot % SLOTS_A_BLOCK) * filter->bits, shift = bit % 64;
    uint64_t value = load(words + bit / 64 * 8) >> shift;
    if (shift + filter->bits > 64)
        value |= load(words + bit / 64 * 8 + 8) << (64 - shift);
    return value & lowest(filter->bits);
}

static void put_remainder(struct quotient_filter *filter, uint64_t slot, uint64_t value)
{
    uint8_t *words = remainders_of(filter, slot / SLOTS_A_BLOCK);
    unsigned bit = (unsigned)(slot % SLOTS_A_BLOCK) * filter->bits, shift = bit % 64;
    uint8_t *word = words + bit / 64 * 8;
    store(word, (load(word) & ~(lowest(filter->bits) << shift)) | value << shift);
    if (shift + filter->bits > 64)
        store(word + 8, (load(word + 8) & ~(lowest(filter->bits) >> (64 - shift))) | value >> (64 - shift));
}

/* Fields of `width` bits: those from `first` to before `last` go one place up. */
static void move_up(uint8_t *words, unsigned width, unsigned first, unsigned last)
{
    if (first == last)
        return;
    unsigned begin = (first + 1) * width, end = (last + 1) * width;
    for (unsigned i = (end - 1) / 64 + 1; i-- > begin / 64;) {
        uint64_t moved = load(words + 8 * i) << width | (i > 0 ? load(words + 8 * i - 8) >> (64 - width) : 0);
        uint64_t mask = UINT64_MAX;
        if (i == begin / 64)
            mask &= ~lowest(begin % 64);
        if (i == (end - 1) / 64)
            mask &= lowest((end - 1) % 64 + 1);
        store(words + 8 * i, (load(words + 8 * i) & ~mask) | (moved & mask));
    }
}

/* ---- where runs end ---------------------------------------------------------------------------------------------- */

/* Behind the runs of all quotients up to this one. The slot of the quotient is free if that is not behind it. */
static uint64_t end_of_runs(const struct quotient_filter *filter, uint64_t quotient)
{
    uint64_t block = quotient / SLOTS_A_BLOCK, begin = block * SLOTS_A_BLOCK + offset_of(filter, block);
    uint64_t occupied = load(occupied_of(filter, block)) & lowest(quotient % SLOTS_A_BLOCK + 1);
    unsigned runs = (unsigned)__builtin_popcountll(occupied);
    if (runs == 0)
        return begin;
    block = begin / SLOTS_A_BLOCK;
    uint64_t ends = load(runends_of(filter, block)) & ~lowest(begin % SLOTS_A_BLOCK);
    for (unsigned here; (here = (unsigned)__builtin_popcountll(ends)) < runs; ends = load(runends_of(filter, ++block)))
        runs -= here;
    return block * SLOTS_A_BLOCK + place_of_bit(ends, runs - 1) + 1;
}

/* The slots behind the last one count as free. */
static uint64_t free_slot(const struct quotient_filter *filter, uint64_t slot)
{
    for (uint64_t end; slot < filter->slots && (end = end_of_runs(filter, slot)) > slot;)
        slot = end;
    return slot;
}

/* In the run that ends before `end`: the place of the remainder, or where it belongs. */
static uint64_t place_in_run(const struct quotient_filter *filter, uint64_t quotient, uint64_t end, uint64_t remainder)
{
    uint64_t slot = end;
    do {
        if (remainder_at(filter, slot - 1) < remainder)
            return slot;
        slot--;
    } while (slot > quotient && !is_runend(filter, slot - 1));
    return slot;
}

/* ---- one by one -------------------------------------------------------------------------------------------------- */

/* Zeroed; in huge pages where there are any, as the library's tables are. */
static uint8_t *large_array(size_t bytes)
{
    size_t page = bytes < HUGE_PAGE ? 64 : HUGE_PAGE, rounded = (bytes + page - 1) / page * page;
    uint8_t *array = aligned_alloc(page, rounded);
    if (!array)
        return NULL;
    if (page == HUGE_PAGE)
        madvise(array, rounded, MADV_HUGEPAGE);
    return memset(array, 0, bytes);
}

bool quotient_new(struct quotient_filter *filter, uint64_t quotients, unsigned bits)
{
    uint64_t more = 64;
    while (more * more < 100 * quotients)
        more *= 2;
    *filter = (struct quotient_filter){.quotients = quotients, .slots = quotients + more, .bits = bits};
    filter->bytes = (filter->slots / SLOTS_A_BLOCK + 2) * (18 + 8 * (size_t)bits);
    filter->blocks = large_array(filter->bytes);
    return filter->blocks;
}

void quotient_free(struct quotient_filter *filter)
{
    free(filter->blocks);
    filter->blocks = NULL;
}

uint64_t quotient_fingerprint(const struct quotient_filter *filter, uint64_t hash)
{
    return (uint64_t)((unsigned __int128)hash * (filter->quotients << filter->bits) >> 64);
}

bool quotient_contains(const struct quotient_filter *filter, uint64_t fingerprint)
{
    uint64_t quotient = fingerprint >> filter->bits, remainder = fingerprint & lowest(filter->bits);
    if (!is_occupied(filter, quotient))
        return false;
    uint64_t end = end_of_runs(filter, quotient), slot = place_in_run(filter, quotient, end, remainder);
    return slot < end && remainder_at(filter, slot) == remainder;
}

/* What is in the slots from `place` on goes one up, to `free`; blocks that begin on the way have one slot more taken. */
static void make_room(struct quotient_filter *filter, uint64_t quotient, uint64_t place, uint64_t free)
{
    uint64_t first = place / SLOTS_A_BLOCK;
    for (uint64_t block = free / SLOTS_A_BLOCK + 1; block-- > first;) {
        unsigned from = block == first ? place % SLOTS_A_BLOCK : 0;
        unsigned to = block == free / SLOTS_A_BLOCK ? free % SLOTS_A_BLOCK : SLOTS_A_BLOCK - 1;
        move_up(remainders_of(filter, block), filter->bits, from, to);
        move_up(runends_of(filter, block), 1, from, to);
        if (block > first) {
            put_remainder(filter, block * SLOTS_A_BLOCK, remainder_at(filter, block * SLOTS_A_BLOCK - 1));
            put_bit(runends_of(filter, block), 0, is_runend(filter, block * SLOTS_A_BLOCK - 1));
        }
    }
    for (uint64_t block = quotient / SLOTS_A_BLOCK + 1; block * SLOTS_A_BLOCK <= free; block++)
        set_offset(filter, block, offset_of(filter, block) + 1);
}

enum quotient_added quotient_add(struct quotient_filter *filter, uint64_t fingerprint)
{
    uint64_t quotient = fingerprint >> filter->bits, remainder = fingerprint & lowest(filter->bits);
    uint64_t end = end_of_runs(filter, quotient), place = end > quotient ? end : quotient;
    bool has_run = is_occupied(filter, quotient);
    if (has_run)
        place = place_in_run(filter, quotient, end, remainder);
    if (has_run && place < end && remainder_at(filter, place) == remainder)
        return QUOTIENT_KNOWN;
    uint64_t free = free_slot(filter, end > quotient ? end : quotient);
    if (free >= filter->slots || free - quotient >= MOST_OFFSET)
        return QUOTIENT_FULL;
    make_room(filter, quotient, place, free);
    put_remainder(filter, place, remainder);
    put_bit(runends_of(filter, place / SLOTS_A_BLOCK), place, !has_run || place == end);
    if (has_run && place == end)
        put_bit(runends_of(filter, (end - 1) / SLOTS_A_BLOCK), end - 1, false);
    put_bit(occupied_of(filter, quotient / SLOTS_A_BLOCK), quotient, true);
    filter->entries++;
    return QUOTIENT_NEW;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* The block of a hash that comes soon. Inline: a call of a function that changes nothing would be left out. */
static inline __attribute__((always_inline)) void fetch_ahead(const struct quotient_filter *filter,
                                                              const uint64_t *hashes, size_t i, size_t count)
{
    if (i + AHEAD >= count)
        return;
    uint64_t quotient = quotient_fingerprint(filter, hashes[i + AHEAD]) >> filter->bits;
    const uint8_t *block = block_of(filter, quotient / SLOTS_A_BLOCK);
    __builtin_prefetch(block);
    __builtin_prefetch(block + 64);
}

bool quotient_add_many(struct quotient_filter *filter, const uint64_t *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fetch_ahead(filter, hashes, i, count);
        if (quotient_add(filter, quotient_fingerprint(filter, hashes[i])) == QUOTIENT_FULL)
            return false;
    }
    return true;
}

void quotient_contains_many(const struct quotient_filter *filter, bool *found, const uint64_t *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fetch_ahead(filter, hashes, i, count);
        found[i] = quotient_contains(filter, quotient_fingerprint(filter, hashes[i]));
    }
}

/* ---- whole sets -------------------------------------------------------------------------------------------------- */

/* The next quotient from this one on that has a run; the number of quotients if there is none. */
static uint64_t next_occupied(const struct quotient_filter *filter, uint64_t quotient)
{
    for (uint64_t block = quotient / SLOTS_A_BLOCK; quotient < filter->quotients; quotient = ++block * SLOTS_A_BLOCK) {
        uint64_t rest = load(occupied_of(filter, block)) & ~lowest(quotient % SLOTS_A_BLOCK);
        if (rest)
            return block * SLOTS_A_BLOCK + (unsigned)__builtin_ctzll(rest);
    }
    return filter->quotients;
}

bool quotient_next(struct quotient_cursor *cursor, uint64_t *fingerprint)
{
    const struct quotient_filter *filter = cursor->filter;
    if (!cursor->in_run) {
        cursor->quotient = next_occupied(filter, cursor->quotient + cursor->begun);
        cursor->slot = cursor->slot > cursor->quotient ? cursor->slot : cursor->quotient;
        cursor->begun = true;
    }
    if (cursor->quotient >= filter->quotients)
        return false;
    *fingerprint = cursor->quotient << filter->bits | remainder_at(filter, cursor->slot);
    cursor->in_run = !is_runend(filter, cursor->slot++);
    return true;
}

/* Behind all that is there; `slot` is the first one behind it. */
static bool append(struct quotient_filter *filter, uint64_t *slot, uint64_t fingerprint)
{
    uint64_t quotient = fingerprint >> filter->bits, place = *slot > quotient ? *slot : quotient;
    if (place >= filter->slots || place - quotient >= MOST_OFFSET)
        return false;
    if (is_occupied(filter, quotient))
        put_bit(runends_of(filter, (place - 1) / SLOTS_A_BLOCK), place - 1, false);
    put_bit(occupied_of(filter, quotient / SLOTS_A_BLOCK), quotient, true);
    put_bit(runends_of(filter, place / SLOTS_A_BLOCK), place, true);
    put_remainder(filter, place, fingerprint & lowest(filter->bits));
    for (uint64_t block = quotient / SLOTS_A_BLOCK + 1; block * SLOTS_A_BLOCK <= place; block++)
        set_offset(filter, block, place + 1 - block * SLOTS_A_BLOCK);
    *slot = place + 1;
    filter->entries++;
    return true;
}

bool quotient_merge(struct quotient_filter *filter, const struct quotient_filter *other)
{
    struct quotient_filter merged;
    struct quotient_cursor here = {.filter = filter}, there = {.filter = other};
    uint64_t ours, theirs, slot = 0;
    if (memcmp(filter->blocks, other->blocks, filter->bytes) == 0)
        return true;
    if (!quotient_new(&merged, filter->quotients, filter->bits))
        return false;
    bool has_ours = quotient_next(&here, &ours), has_theirs = quotient_next(&there, &theirs), fits = true;
    while (fits && (has_ours || has_theirs)) {
        bool take_ours = has_ours && (!has_theirs || ours <= theirs);
        bool take_theirs = has_theirs && (!has_ours || theirs <= ours);
        fits = append(&merged, &slot, take_ours ? ours : theirs);
        has_ours = take_ours ? quotient_next(&here, &ours) : has_ours;
        has_theirs = take_theirs ? quotient_next(&there, &theirs) : has_theirs;
    }
    quotient_free(fits ? filter : &merged);
    if (fits)
        *filter = merged;
    return fits;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

struct bits {
    uint8_t *next;
    uint64_t word;
    unsigned used;
};

/* Little-endian on every machine, as frames are. */
static void store_frame(uint8_t *bytes, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

static void put_bits(struct bits *bits, uint64_t value, unsigned count)
{
    bits->word |= value << bits->used;
    if (bits->used + count >= 64) {
        store_frame(bits->next, bits->word);
        bits->next += 8;
        bits->word = bits->used ? value >> (64 - bits->used) : 0;
        bits->used += count - 64;
    } else {
        bits->used += count;
    }
}

size_t quotient_encode(const struct quotient_filter *filter, uint8_t **frame)
{
    uint64_t mean = filter->entries ? (filter->quotients << filter->bits) / filter->entries : 1, last = 0, fingerprint;
    unsigned parameter = 0;
    while (mean >> (parameter + 1))
        parameter++;
    /* What is left of a gap in units of 2^parameter, in unary: all of them together are no more than the universe. */
    uint64_t most_bits = filter->entries * (parameter + 1) + (filter->quotients << filter->bits >> parameter);
    struct bits bits = {.next = *frame = malloc(most_bits / 8 + 16)};
    if (!*frame)
        return 0;
    for (struct quotient_cursor cursor = {.filter = filter}; quotient_next(&cursor, &fingerprint);) {
        uint64_t gap = fingerprint - last;
        for (uint64_t left = gap >> parameter; left > 0; left--)
            put_bits(&bits, 0, 1);
        put_bits(&bits, (gap & lowest(parameter)) << 1 | 1, parameter + 1);
        last = fingerprint;
    }
    store_frame(bits.next, bits.word);
    return (size_t)(bits.next - *frame) + (bits.used + 7) / 8;
}
