/*
 * Reading and writing the slots of a cuckoo table. `cuckoo_table.c` has the essay: all slots of a bucket are compared
 * at once, in lanes of a word.
 */
#ifndef CUCKOO_CUCKOO_SLOTS_H
#define CUCKOO_CUCKOO_SLOTS_H

#include "cuckoo_array.h"
#include "../base/neon.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(HAS_NEON)
#include <arm_neon.h>
#endif

/* How a bucket is read; the compiler gets its own copy of the hot loops for each. */
enum form {
    FOUR_BYTES, /* four slots of eight bits: the most common table */
    ONE_WORD,   /* up to 64 bits, wherever they start */
    TWO_WORDS,  /* up to 128 bits */
    TWO_HALVES, /* two halves of up to 128 bits */
    TAGGED_32,  /* slots of 32 bits, a tag above the fingerprint */
    TAGGED_64,
    FOUR_TAGGED, /* four slots of 64 bits: the most common table with tags */
    OTHER_FORM,  /* in plain_form: none of these says it all */
    WHOLE_BYTES, /* of no table: ONE_WORD where buckets start at whole bytes, for loops that make use of it */
};

static inline bool has_whole_bytes(const struct cuckoo_table *table)
{
    return table->bucket_bits % 8 == 0;
}

static ALWAYS_INLINE bool is_tagged(enum form form)
{
    return form == TAGGED_32 || form == TAGGED_64 || form == FOUR_TAGGED;
}

static ALWAYS_INLINE uint32_t tagged_width(enum form form)
{
    return form == TAGGED_32 ? 32 : 64;
}

#define NO_SLOT    (-1)
#define PAGE_SHIFT 12
/* The state of a page of slots: 0 if it was never written. */
#define WRITTEN 1
#define COPIED  2 /* and not written since */

static inline uint64_t bucket_start(const struct cuckoo_table *table, uint32_t bucket)
{
    return (uint64_t)bucket * table->bucket_bits;
}

/* A slot of an uneven width may reach into the next page, by less than a word. */
static inline void touch(struct cuckoo_table *table, uint64_t byte)
{
    table->touched[byte >> PAGE_SHIFT] = WRITTEN;
}

static inline uint64_t slot_mask(const struct cuckoo_table *table)
{
    return ~UINT64_C(0) >> (64 - slot_width(table->shape));
}

/* A slot of 64 bits starts at a whole byte, so that no slot is wider than what is left of the word. */
static inline uint64_t slot_read(const struct cuckoo_table *table, uint32_t bucket, uint32_t offset)
{
    uint64_t bit = bucket_start(table, bucket) + offset;
    return load_word(table->slots.bytes + bit / 8) >> (bit & 7) & slot_mask(table);
}

static inline void slot_write(struct cuckoo_table *table, uint32_t bucket, uint32_t offset, uint64_t word)
{
    uint64_t bit = bucket_start(table, bucket) + offset;
    uint8_t *bytes = table->slots.bytes + bit / 8;
    uint64_t mask = slot_mask(table) << (bit & 7);
    touch(table, bit / 8);
    store_word(bytes, (load_word(bytes) & ~mask) | word << (bit & 7));
}

/* The same for slots that are words. */
static ALWAYS_INLINE void write_tagged_64(struct cuckoo_table *table, enum form form, uint32_t bucket, uint32_t offset,
                                          uint64_t word)
{
    uint64_t byte = ((form == FOUR_TAGGED ? (uint64_t)bucket * 256 : bucket_start(table, bucket)) + offset) / 8;
    touch(table, byte);
    store_word(table->slots.bytes + byte, word);
}

/* Not 0 if any lane of `bucket` equals the fingerprint; the lowest bit that is set is the top of the lowest such
   lane. */
static ALWAYS_INLINE uint64_t match_lanes(uint64_t bucket, uint32_t fingerprint, uint64_t ones, uint64_t tops)
{
    uint64_t difference = bucket ^ fingerprint * ones;
    return (difference - ones) & ~difference & tops;
}

static ALWAYS_INLINE uint128 match_wide_lanes(uint128 bucket, uint32_t fingerprint, uint128 ones, uint128 tops)
{
    uint128 difference = bucket ^ fingerprint * ones;
    return (difference - ones) & ~difference & tops;
}

/* The first bit of the lowest lane of `bucket` that equals the fingerprint, or NO_SLOT. */
static inline int find_lane(uint64_t bucket, uint32_t fingerprint, uint64_t ones, uint64_t tops, uint32_t bits)
{
    uint64_t zeros = match_lanes(bucket, fingerprint, ones, tops);
    return zeros ? (int)(lowest_bit(zeros) - (bits - 1)) : NO_SLOT;
}

static inline int find_wide_lane(uint128 bucket, uint32_t fingerprint, uint128 ones, uint128 tops, uint32_t bits)
{
    uint128 zeros = match_wide_lanes(bucket, fingerprint, ones, tops);
    if ((uint64_t)zeros)
        return (int)(lowest_bit((uint64_t)zeros) - (bits - 1));
    uint64_t upper = (uint64_t)(zeros >> 64);
    return upper ? (int)(64 + lowest_bit(upper) - (bits - 1)) : NO_SLOT;
}

/* Lanes past the last slot read as the next bucket's bits, but have no top bit to report. */
static inline uint64_t load_one_word(const struct cuckoo_table *table, uint64_t bit)
{
    return load_word(table->slots.bytes + bit / 8) >> (bit & 7);
}

static inline uint128 load_two_words(const struct cuckoo_table *table, uint64_t bit)
{
    return load_double_word(table->slots.bytes + bit / 8) >> (bit & 7);
}

static inline int find_in_two_words(const struct cuckoo_table *table, uint64_t bit, uint32_t fingerprint)
{
    return find_wide_lane(load_two_words(table, bit), fingerprint, table->wide_ones, table->wide_tops,
                          table->shape.bits);
}

#define EIGHT_ONES UINT64_C(0x0101010101010101)
#define EIGHT_TOPS UINT64_C(0x8080808080808080)

static inline uint32_t load_four_bytes(const struct cuckoo_table *table, uint32_t bucket)
{
    uint32_t four;
    memcpy(&four, table->slots.bytes + (size_t)bucket * 4, sizeof four);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    four = __builtin_bswap32(four);
#endif
    return four;
}

/* Forms whose buckets are loaded whole, with other bits above them; 0 for others. */
static ALWAYS_INLINE bool is_small(enum form form)
{
    return form == FOUR_BYTES || form == ONE_WORD;
}

static ALWAYS_INLINE uint64_t load_small_bucket(const struct cuckoo_table *table, enum form form, uint32_t bucket)
{
    return form == FOUR_BYTES ? load_four_bytes(table, bucket)
           : form == ONE_WORD ? load_one_word(table, bucket_start(table, bucket))
                              : 0;
}

static inline void store_four_bytes(struct cuckoo_table *table, uint32_t bucket, uint32_t four)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    four = __builtin_bswap32(four);
#endif
    memcpy(table->slots.bytes + (size_t)bucket * 4, &four, sizeof four);
}

static inline uint64_t load_pair_of_four_bytes(const struct cuckoo_table *table, struct place place)
{
    return (uint64_t)load_four_bytes(table, place.other) << 32 | load_four_bytes(table, place.bucket);
}

/* Whether a lane of two buckets of four bytes is the fingerprint. */
static ALWAYS_INLINE bool any_of_eight_bytes(const struct cuckoo_table *table, struct place place)
{
#if defined(__SSE2__) /* a third less instructions than in a word */
    int32_t wanted = (int32_t)(place.fingerprint * (uint32_t)EIGHT_ONES), first, second;
    memcpy(&first, table->slots.bytes + (size_t)place.bucket * 4, sizeof first);
    memcpy(&second, table->slots.bytes + (size_t)place.other * 4, sizeof second);
    __m128i pair = _mm_unpacklo_epi32(_mm_cvtsi32_si128(first), _mm_cvtsi32_si128(second));
    return (_mm_movemask_epi8(_mm_cmpeq_epi8(pair, _mm_set1_epi32(wanted))) & 0xff) != 0;
#else
    return match_lanes(load_pair_of_four_bytes(table, place), place.fingerprint, EIGHT_ONES, EIGHT_TOPS) != 0;
#endif
}

static inline uint64_t load_tagged(const uint8_t *bytes, uint32_t width)
{
    uint64_t word = load_word(bytes);
    return width == 64 ? word : word & UINT32_MAX;
}

/* Which of some slots of whole words have the fingerprint, their low part, shifted up by what is not part of it. */
static ALWAYS_INLINE uint32_t slots_with(const uint8_t *slots, uint32_t size, uint32_t width, uint32_t unused,
                                         uint32_t wanted)
{
    uint32_t found = 0;
    for (uint32_t slot = 0; slot < size; slot++)
        found |= (uint32_t)((uint32_t)load_tagged(slots + slot * (width / 8), width) << unused == wanted) << slot;
    return found;
}

/*
 * The same for four slots of 64 bits, the most common table: their lower halves are put side by side and compared at
 * once, with instructions that every x86-64 has, or with NEON. For two buckets what was compared is put together before
 * it becomes bits, to which NEON has a long way.
 */
#if defined(HAS_NEON)
static ALWAYS_INLINE uint32x4_t four_compared(const uint8_t *slots, uint32_t unused, uint32_t wanted)
{
    uint32x4_t first = vreinterpretq_u32_u8(vld1q_u8(slots)), second = vreinterpretq_u32_u8(vld1q_u8(slots + 16));
    uint32x4_t shifted = vshlq_u32(vuzp1q_u32(first, second), vdupq_n_s32((int32_t)unused));
    return vceqq_u32(shifted, vdupq_n_u32(wanted));
}

static ALWAYS_INLINE uint32_t four_slots_with(const uint8_t *slots, uint32_t unused, uint32_t wanted)
{
    const uint32x4_t bits = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(four_compared(slots, unused, wanted), bits));
}

static ALWAYS_INLINE bool any_of_two_fours(const uint8_t *slots, const uint8_t *others, uint32_t unused,
                                           uint32_t wanted)
{
    return vmaxvq_u32(four_compared(slots, unused, wanted) | four_compared(others, unused, wanted)) != 0;
}
#elif defined(__SSE2__)
static ALWAYS_INLINE __m128 four_compared(const uint8_t *slots, uint32_t unused, uint32_t wanted)
{
    __m128 first = _mm_loadu_ps((const float *)slots), second = _mm_loadu_ps((const float *)(slots + 16));
    __m128i halves = _mm_castps_si128(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)));
    __m128i shifted = _mm_sll_epi32(halves, _mm_cvtsi32_si128((int)unused));
    return _mm_castsi128_ps(_mm_cmpeq_epi32(shifted, _mm_set1_epi32((int)wanted)));
}

static ALWAYS_INLINE uint32_t four_slots_with(const uint8_t *slots, uint32_t unused, uint32_t wanted)
{
    return (uint32_t)_mm_movemask_ps(four_compared(slots, unused, wanted));
}

static ALWAYS_INLINE bool any_of_two_fours(const uint8_t *slots, const uint8_t *others, uint32_t unused,
                                           uint32_t wanted)
{
    return _mm_movemask_ps(_mm_or_ps(four_compared(slots, unused, wanted), four_compared(others, unused, wanted))) != 0;
}
#else
static ALWAYS_INLINE uint32_t four_slots_with(const uint8_t *slots, uint32_t unused, uint32_t wanted)
{
    return slots_with(slots, 4, 64, unused, wanted);
}

static ALWAYS_INLINE bool any_of_two_fours(const uint8_t *slots, const uint8_t *others, uint32_t unused,
                                           uint32_t wanted)
{
    return (four_slots_with(slots, unused, wanted) | four_slots_with(others, unused, wanted)) != 0;
}
#endif

/* Which slots of a bucket have the fingerprint, a bit for each; all are compared, without a branch on any. */
static ALWAYS_INLINE uint32_t tagged_with(const struct cuckoo_table *table, enum form form, uint32_t bucket,
                                          uint32_t fingerprint)
{
    const uint32_t size = table->shape.bucket_size, width = tagged_width(form);
    const uint32_t unused = 32 - table->shape.bits, wanted = fingerprint << unused;
    if (form == FOUR_TAGGED)
        return four_slots_with(table->slots.bytes + (size_t)bucket * 32, unused, wanted);
    const uint8_t *slots = table->slots.bytes + (size_t)bucket * size * (width / 8);
    return size == 4 ? slots_with(slots, 4, width, unused, wanted) : slots_with(slots, size, width, unused, wanted);
}

static ALWAYS_INLINE int find_tagged(const struct cuckoo_table *table, enum form form, uint32_t bucket,
                                     uint32_t fingerprint)
{
    uint32_t found = tagged_with(table, form, bucket, fingerprint);
    return found ? (int)(lowest_bit(found) * tagged_width(form)) : NO_SLOT;
}

static ALWAYS_INLINE int find_slot(const struct cuckoo_table *table, enum form form, uint32_t bucket,
                                   uint32_t fingerprint)
{
    if (is_tagged(form))
        return find_tagged(table, form, bucket, fingerprint);
    if (form == FOUR_BYTES)
        return find_lane(load_four_bytes(table, bucket), fingerprint, (uint32_t)EIGHT_ONES, (uint32_t)EIGHT_TOPS, 8);
    uint64_t bit = bucket_start(table, bucket);
    if (form == ONE_WORD) {
        return find_lane(load_one_word(table, bit), fingerprint, table->ones, table->tops, table->shape.bits);
    }
    int offset = find_in_two_words(table, bit, fingerprint);
    if (form == TWO_WORDS || offset != NO_SLOT)
        return offset;
    uint32_t half = table->shape.bits * table->shape.bucket_size / 2;
    offset = find_in_two_words(table, bit + half, fingerprint);
    return offset == NO_SLOT ? NO_SLOT : offset + (int)half;
}

/* The address of a bucket of one word, and how far the bucket is above it. */
static ALWAYS_INLINE uint8_t *bytes_of_bucket(const struct cuckoo_table *table, enum form form, uint32_t bucket,
                                              uint32_t *shift)
{
    uint64_t bit = form == WHOLE_BYTES ? 0 : bucket_start(table, bucket);
    *shift = (uint32_t)bit & 7;
    return table->slots.bytes + (form == WHOLE_BYTES ? (uint64_t)bucket * table->bucket_bytes : bit / 8);
}

static ALWAYS_INLINE uint64_t load_bucket(const struct cuckoo_table *table, enum form form, uint32_t bucket)
{
    uint32_t shift;
    const uint8_t *bytes = bytes_of_bucket(table, form, bucket, &shift);
    return load_word(bytes) >> shift;
}

static ALWAYS_INLINE uint64_t match_one_word(const struct cuckoo_table *table, enum form form, uint32_t bucket,
                                             uint32_t fingerprint)
{
    return match_lanes(load_bucket(table, form, bucket), fingerprint, table->ones, table->tops);
}

static ALWAYS_INLINE uint128 match_two_words(const struct cuckoo_table *table, uint64_t bit, uint32_t fingerprint)
{
    return match_wide_lanes(load_two_words(table, bit), fingerprint, table->wide_ones, table->wide_tops);
}

static ALWAYS_INLINE bool find_in_wide_pair(const struct cuckoo_table *table, enum form form, struct place place)
{
    uint64_t first = bucket_start(table, place.bucket), second = bucket_start(table, place.other);
    uint128 found =
        match_two_words(table, first, place.fingerprint) | match_two_words(table, second, place.fingerprint);
    if (form == TWO_HALVES) {
        uint32_t half = table->bucket_bits / 2;
        found |= match_two_words(table, first + half, place.fingerprint) |
                 match_two_words(table, second + half, place.fingerprint);
    }
    return ((uint64_t)found | (uint64_t)(found >> 64)) != 0;
}

/* Outside a series, where each class has its two buckets by itself: nothing but that is compiled in. */
static ALWAYS_INLINE struct cuckoo_geometry plain_geometry(const struct cuckoo_table *table, enum form form)
{
    struct cuckoo_geometry geometry = table->geometry;
    geometry.level = geometry.extra_bits = 0;
    geometry.bits = form == FOUR_BYTES ? 8 : geometry.bits;
    return geometry;
}

static ALWAYS_INLINE struct place plain_place(const struct cuckoo_table *table, enum form form, roost_hash hash)
{
    uint64_t fingerprints = form == FOUR_BYTES ? 255 : table->fingerprints;
    return place_in((uint32_t)scale_to_range(hash.low, table->geometry.buckets),
                    1 + (uint32_t)scale_to_range(hash.high, fingerprints), plain_geometry(table, form));
}

/*
 * A fingerprint in either of two buckets; two buckets of four bytes are compared at once. Which of the two it is cannot
 * be predicted, so what matches in both is put together before it is tested: of two tests compilers make two branches.
 */
static ALWAYS_INLINE bool find_in_pair(const struct cuckoo_table *table, enum form form, struct place place)
{
    if (form == FOUR_TAGGED) {
        const uint32_t unused = 32 - table->shape.bits;
        return any_of_two_fours(table->slots.bytes + (size_t)place.bucket * 32,
                                table->slots.bytes + (size_t)place.other * 32, unused, place.fingerprint << unused);
    }
    if (is_tagged(form))
        return (tagged_with(table, form, place.bucket, place.fingerprint) |
                tagged_with(table, form, place.other, place.fingerprint)) != 0;
    if (form == FOUR_BYTES)
        return any_of_eight_bytes(table, place);
    if (form == ONE_WORD || form == WHOLE_BYTES)
        return (match_one_word(table, form, place.bucket, place.fingerprint) |
                match_one_word(table, form, place.other, place.fingerprint)) != 0;
    return find_in_wide_pair(table, form, place);
}

/*
 * Into the emptier of the two buckets, which leaves fewer pairs that are both full. Which one it is cannot be
 * predicted, so there is no branch on it. Buckets of tables without tags fill from the front: of two such, the emptier
 * is the smaller number, or as full as the other. Of four bytes the last one tells whether they are full.
 */
struct four_bytes {
    uint32_t bucket, slots;
};

static ALWAYS_INLINE struct four_bytes emptier_four_bytes(const struct cuckoo_table *table, uint32_t bucket,
                                                          uint32_t other)
{
    uint32_t slots = load_four_bytes(table, bucket), other_slots = load_four_bytes(table, other);
    bool second = other_slots < slots;
    return (struct four_bytes){second ? other : bucket, second ? other_slots : slots};
}

/* Writes a fingerprint behind the last one; 0 changes nothing. All of the bucket is written: the next load of it would
   wait for a single byte. */
static ALWAYS_INLINE void append_byte(struct cuckoo_table *table, struct four_bytes four, uint32_t fingerprint)
{
    uint32_t behind_last = highest_bit((uint64_t)(four.slots << 8 | 0xff)) & 24;
    store_four_bytes(table, four.bucket, four.slots | fingerprint << behind_last);
    touch(table, (uint64_t)four.bucket * 4);
}

static ALWAYS_INLINE bool take_byte(struct cuckoo_table *table, struct place place)
{
    struct four_bytes four = emptier_four_bytes(table, place.bucket, place.other);
    bool full = four.slots >> 24 != 0;
    if (!full)
        append_byte(table, four, place.fingerprint);
    return !full;
}

static ALWAYS_INLINE bool take_lane(struct cuckoo_table *table, enum form form, struct place place)
{
    const uint64_t mask = table->tops | (table->tops - table->ones);
    uint64_t first = load_bucket(table, form, place.bucket) & mask;
    uint64_t second = load_bucket(table, form, place.other) & mask;
    uint32_t bucket = second < first ? place.other : place.bucket, shift;
    uint64_t free = match_lanes(second < first ? second : first, 0, table->ones, table->tops);
    if (!free)
        return false;
    uint8_t *bytes = bytes_of_bucket(table, form, bucket, &shift);
    uint32_t offset = lowest_bit(free) - (table->shape.bits - 1);
    store_word(bytes, load_word(bytes) | (uint64_t)place.fingerprint << offset << shift);
    touch(table, (uint64_t)(bytes - table->slots.bytes));
    return true;
}

/* The emptier is the one whose first free slot comes first. */
static ALWAYS_INLINE bool take_slot(struct cuckoo_table *table, enum form form, struct place place, uint64_t word)
{
    uint32_t first, second; /* offsets; those that stand for none are larger than all others */
    if (is_tagged(form)) {
        uint32_t free = tagged_with(table, form, place.bucket, 0);
        uint32_t other_free = tagged_with(table, form, place.other, 0);
        if (!(free | other_free))
            return false;
        first = lowest_bit(free | 1u << 31) * tagged_width(form);
        second = lowest_bit(other_free | 1u << 31) * tagged_width(form);
    } else {
        first = (uint32_t)find_slot(table, form, place.bucket, 0);
        second = (uint32_t)find_slot(table, form, place.other, 0);
        if ((first & second) == (uint32_t)NO_SLOT)
            return false;
    }
    uint32_t take_second = -(uint32_t)(second < first);
    uint32_t bucket = place.bucket ^ ((place.bucket ^ place.other) & take_second);
    uint32_t offset = first ^ ((first ^ second) & take_second);
    if (is_tagged(form) && tagged_width(form) == 64)
        write_tagged_64(table, form, bucket, offset, word);
    else
        slot_write(table, bucket, offset, word);
    return true;
}

static ALWAYS_INLINE bool take_free_slot(struct cuckoo_table *table, enum form form, struct place place, uint64_t word)
{
    bool took = form == FOUR_BYTES                        ? take_byte(table, place)
                : form == ONE_WORD || form == WHOLE_BYTES ? take_lane(table, form, place)
                                                          : take_slot(table, form, place, word);
    if (__builtin_expect(took, 1))
        table->filled++;
    return took;
}

#endif
