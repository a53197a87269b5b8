/*
 * A radix sort: no comparison, no branch on the data.
 *
 * Many numbers are first dealt out by their highest digit, in one pass through memory, into parts that fit the first
 * cache. Each part is then sorted without leaving that cache: by its next digit alone, which leaves hardly anything to do
 * where numbers are evenly spread as hashes are; else from its lowest digit up, a stable pass for each digit. Distinct
 * numbers that are dense need neither: they are set in a bitmap, and read out of it.
 */
#include "sort.h"

#include <stdbool.h>
#include <string.h>

#include "bits.h"

#define DIGIT_BITS     8
#define MOST_DIGITS    (1u << 10)
#define CACHED_NUMBERS 4096
#define MOST_EVEN_BITS 11
#define MOST_ALIKE     12
#define MOST_PARTS     (1u << 12)

/* Stable: numbers of one digit keep their order. starts[d] is left where the numbers with digit d end. */
static void deal_out(uint64_t *to, const uint64_t *from, size_t count, unsigned shift, size_t *starts, unsigned digits)
{
    size_t start = 0;
    memset(starts, 0, digits * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        starts[from[i] >> shift & (digits - 1)]++;
    for (unsigned digit = 0; digit < digits; digit++) {
        size_t next = start + starts[digit];
        starts[digit] = start;
        start = next;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & (digits - 1)]++] = from[i];
}

/* Few numbers are not worth the counting. */
static void sort_by_insertion(uint64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t number = numbers[i];
        size_t j = i;
        for (; j > 0 && numbers[j - 1] > number; j--)
            numbers[j] = numbers[j - 1];
        numbers[j] = number;
    }
}

/* From the lowest digit up; the result is in `to`, and `from` is lost. */
static void sort_by_digits(uint64_t *to, uint64_t *from, size_t count, unsigned bits)
{
    size_t starts[1u << DIGIT_BITS];
    uint64_t *target = to;
    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
        deal_out(to, from, count, shift, starts, 1u << DIGIT_BITS);
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != target)
        memcpy(target, from, count * sizeof *target);
}

/*
 * In one pass, by a first digit of about as many values as there are numbers. Numbers that are evenly spread are then
 * next to where they belong. False, and nothing done, if more than a few share a digit.
 */
static bool sort_by_one_digit(uint64_t *to, const uint64_t *from, size_t count, unsigned bits)
{
    uint32_t starts[1u << MOST_EVEN_BITS] = {0};
    const unsigned most = highest_bit(count) + 1, wanted = most < MOST_EVEN_BITS ? most : MOST_EVEN_BITS;
    const unsigned digit_bits = wanted < bits ? wanted : bits, shift = bits - digit_bits;
    const uint64_t mask = (UINT64_C(1) << digit_bits) - 1;
    uint32_t start = 0, crowd = 0;
    for (size_t i = 0; i < count; i++)
        starts[from[i] >> shift & mask]++;
    for (uint64_t digit = 0; digit <= mask; digit++) {
        uint32_t here = starts[digit];
        crowd = here > crowd ? here : crowd;
        starts[digit] = start;
        start += here;
    }
    if (crowd > MOST_ALIKE)
        return false;
    for (size_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & mask]++] = from[i];
    sort_by_insertion(to, count);
    return true;
}

/* The result is in `to`, and `from` is lost. */
static void sort_part(uint64_t *to, uint64_t *from, size_t count, unsigned bits)
{
    if (count <= 32) {
        memcpy(to, from, count * sizeof *to);
        sort_by_insertion(to, count);
    } else if (bits <= 2 * DIGIT_BITS || count > CACHED_NUMBERS || !sort_by_one_digit(to, from, count, bits)) {
        sort_by_digits(to, from, count, bits);
    }
}

/* The width of the first digit: enough that parts fit the cache, if the numbers are evenly spread. */
static unsigned first_digit_bits(size_t count, unsigned bits)
{
    unsigned digit_bits = 1;
    while ((1u << digit_bits) < MOST_DIGITS && digit_bits < bits && count >> digit_bits > CACHED_NUMBERS / 4)
        digit_bits++;
    return digit_bits;
}

void sort_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits)
{
    if (count <= CACHED_NUMBERS || bits <= DIGIT_BITS) {
        memcpy(scratch, numbers, count * sizeof *numbers);
        sort_part(numbers, scratch, count, bits);
        return;
    }
    size_t ends[MOST_DIGITS], begin = 0;
    unsigned digit_bits = first_digit_bits(count, bits), rest = bits - digit_bits;
    deal_out(scratch, numbers, count, rest, ends, 1u << digit_bits);
    for (unsigned digit = 0; digit < 1u << digit_bits; begin = ends[digit++])
        sort_part(numbers + begin, scratch + begin, ends[digit] - begin, rest);
}

/* ---- distinct numbers -------------------------------------------------------------------------------------------- */

/* Parts of numbers that differ in so many bits are sorted by a bitmap of them all, which fits the first cache. */
#define MOST_BITMAP_BITS   17
#define MOST_BITS_A_NUMBER 512

/*
 * Puts the positions of the bits that are set, plus `base`, into `to`, and one number more; returns the end. So many at
 * a time are written whether there are as many or not, and the end moves or stays: how many a word has, the processor
 * cannot guess.
 */
static ALWAYS_INLINE uint64_t *list_bits(uint64_t *to, uint64_t word, uint64_t base, int at_a_time)
{
    do
        for (int i = 0; i < at_a_time; i++) {
            *to = base + lowest_bit(word | UINT64_C(1) << 63);
            to += word != 0;
            word &= word - 1;
        }
    while (__builtin_expect(word != 0, 0));
    return to;
}

static ALWAYS_INLINE void list_bitmap(uint64_t *to, const uint64_t *bitmap, size_t words, uint64_t base, int at_a_time)
{
    for (size_t i = 0; i < words; i++)
        to = list_bits(to, bitmap[i], base + i * 64, at_a_time);
}

/* Of a part: numbers that are alike but for their lowest bits. One more is written, behind the last. */
static void sort_by_bitmap(uint64_t *to, const uint64_t *from, size_t count, unsigned bits)
{
    uint64_t bitmap[(1u << MOST_BITMAP_BITS) / 64], base = from[0] >> bits << bits, mask = (UINT64_C(1) << bits) - 1;
    size_t words = divide_up(mask + 1, 64);
    memset(bitmap, 0, words * sizeof *bitmap);
    for (size_t i = 0; i < count; i++)
        bitmap[(from[i] & mask) / 64] |= UINT64_C(1) << (from[i] & 63);
    if (count > words)
        list_bitmap(to, bitmap, words, base, 4);
    else if (count > words / 4)
        list_bitmap(to, bitmap, words, base, 2);
    else
        list_bitmap(to, bitmap, words, base, 1);
}

/* As many parts as make their bitmaps small, if that leaves enough numbers in each. */
static unsigned parts_for_bitmaps(unsigned bits)
{
    unsigned digit_bits = 1;
    while (digit_bits < bits && bits - digit_bits > MOST_BITMAP_BITS && (1u << digit_bits) < MOST_PARTS)
        digit_bits++;
    return digit_bits;
}

void sort_distinct_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits)
{
    size_t ends[MOST_PARTS], begin = 0;
    unsigned digit_bits = parts_for_bitmaps(bits), rest = bits - digit_bits;
    if (count <= 64 || rest > MOST_BITMAP_BITS || count >> digit_bits << 9 < UINT64_C(1) << rest) {
        sort_numbers(numbers, scratch, count, bits);
        return;
    }
    deal_out(scratch, numbers, count, rest, ends, 1u << digit_bits);
    for (unsigned digit = 0; digit < 1u << digit_bits; begin = ends[digit++])
        if (ends[digit] > begin)
            sort_by_bitmap(numbers + begin, scratch + begin, ends[digit] - begin, rest);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

#define PAIR_DIGIT_BITS 11

static void deal_out_pairs(struct sort_pair *to, const struct sort_pair *from, size_t count, unsigned shift)
{
    size_t starts[1u << PAIR_DIGIT_BITS] = {0}, start = 0;
    const uint64_t mask = (1u << PAIR_DIGIT_BITS) - 1;
    for (size_t i = 0; i < count; i++)
        starts[from[i].key >> shift & mask]++;
    for (size_t digit = 0; digit <= mask; digit++) {
        size_t next = start + starts[digit];
        starts[digit] = start;
        start = next;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].key >> shift & mask]++] = from[i];
}

static void sort_pairs_by_insertion(struct sort_pair *pairs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct sort_pair pair = pairs[i];
        size_t j = i;
        for (; j > 0 && pairs[j - 1].key > pair.key; j--)
            pairs[j] = pairs[j - 1];
        pairs[j] = pair;
    }
}

void sort_pairs(struct sort_pair *pairs, struct sort_pair *scratch, size_t count, unsigned bits)
{
    if (count <= 64) {
        sort_pairs_by_insertion(pairs, count);
        return;
    }
    struct sort_pair *from = pairs, *to = scratch;
    for (unsigned shift = 0; shift < bits; shift += PAIR_DIGIT_BITS) {
        deal_out_pairs(to, from, count, shift);
        struct sort_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs)
        memcpy(pairs, from, count * sizeof *pairs);
}
