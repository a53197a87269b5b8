/*
 * A radix sort: no comparison, no branch on the data.
 *
 * Many numbers are first dealt out by their highest digit, in one pass through memory, into parts that fit the first
 * cache. Each part is then sorted without leaving that cache: by its next digit alone, which leaves hardly anything to
 * do where numbers are evenly spread as hashes are; else from its lowest digit up, a stable pass for each digit.
 * Distinct numbers that are dense need neither: they are set in a bitmap, and read out of it.
 */
#include "sort.h"

#include <string.h>

#include "bits.h"

#define DIGIT_BITS     8
#define MOST_DIGITS    (1u << 10)
#define CACHED_NUMBERS 4096
/* Of numbers that are evenly spread: bits of the places to which they are counted, and of each how far it may have to
   move from there, on average. */
#define MOST_PLACE_BITS 13
#define MOST_MOVES      8
#define MOST_PARTS      (1u << 12)

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
/*@ requires \valid(numbers + (0 .. count - 1)); assigns numbers[0 .. count - 1];
    ensures \forall integer a, b; 0 <= a <= b < count ==> numbers[a] <= numbers[b]; */
static void sort_by_insertion(uint64_t *numbers, size_t count)
{
    /*@ loop invariant 1 <= i && (count > 0 ==> i <= count);
        loop invariant \forall integer a, b; 0 <= a <= b < i && b < count ==> numbers[a] <= numbers[b];
        loop assigns i, numbers[0 .. count - 1]; */
    for (size_t i = 1; i < count; i++) {
        uint64_t number = numbers[i];
        size_t j = i;
        /*@ loop invariant j <= i;
            loop invariant \forall integer a, b; 0 <= a <= b <= i && a != j && b != j ==> numbers[a] <= numbers[b];
            loop invariant \forall integer b; j < b <= i ==> number < numbers[b];
            loop assigns j, numbers[0 .. count - 1]; */
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

/*@ requires \valid(numbers + (0 .. at)); assigns numbers[0 .. at]; ensures \result <= at; */
static size_t move_back(uint64_t *numbers, size_t at)
{
    const uint64_t number = numbers[at];
    size_t moves = 0;
    //@ loop invariant at + moves == \at(at, Pre); loop assigns at, moves, numbers[0 .. \at(at, Pre)];
    for (; at > 0 && number < numbers[at - 1]; at--, moves++)
        numbers[at] = numbers[at - 1];
    numbers[at] = number;
    return moves;
}

/* Numbers that are nearly in order. The two greatest so far are carried along without a branch; what has to go back
   further than past these is rare. Gives up after many moves: false. */
/*@ requires 2 <= count <= UINT16_MAX && \valid(numbers + (0 .. count - 1)); assigns numbers[0 .. count - 1]; */
static bool settle(uint64_t *numbers, size_t count)
{
    uint64_t low = numbers[0], high = numbers[1], last = 0;
    size_t moves = 0;
    if (high < low) {
        high = numbers[0];
        low = numbers[1];
    }
    //@ loop invariant 2 <= i <= count; loop assigns i, low, high, last, moves, numbers[0 .. count - 1];
    for (size_t i = 2; i < count; i++) {
        const uint64_t next = numbers[i], middle = next < high ? next : high, least = middle < low ? middle : low;
        high = next < high ? high : next;
        low = middle < low ? low : middle;
        numbers[i - 2] = least;
        if (__builtin_expect(least >= last, 1))
            last = least;
        else if ((moves += move_back(numbers, i - 2)) > MOST_MOVES * count) {
            numbers[i - 1] = low;
            numbers[i] = high;
            return false;
        }
    }
    numbers[count - 2] = low;
    numbers[count - 1] = high;
    return true;
}

bool sort_spread_numbers(uint64_t *to, const uint64_t *from, size_t count, unsigned bits)
{
    uint16_t starts[1u << MOST_PLACE_BITS], start = 0;
    if (count < 2 || count > UINT16_MAX) {
        memcpy(to, from, count * sizeof *to);
        return count < 2;
    }
    const unsigned wanted = highest_bit(count) < MOST_PLACE_BITS ? highest_bit(count) : MOST_PLACE_BITS;
    const unsigned place_bits = wanted < bits ? wanted : bits, shift = bits - place_bits;
    const uint64_t mask = (UINT64_C(1) << place_bits) - 1;
    memset(starts, 0, (mask + 1) * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        starts[from[i] >> shift & mask]++;
    for (uint64_t place = 0; place <= mask; place++) {
        uint16_t here = starts[place];
        starts[place] = start;
        start = (uint16_t)(start + here);
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & mask]++] = from[i];
    return settle(to, count);
}

/* The result is in `to`, and `from` is lost. */
static void sort_part(uint64_t *to, uint64_t *from, size_t count, unsigned bits)
{
    if (count <= 32) {
        memcpy(to, from, count * sizeof *to);
        sort_by_insertion(to, count);
    } else if (bits <= 2 * DIGIT_BITS || count > CACHED_NUMBERS || !sort_spread_numbers(to, from, count, bits)) {
        sort_by_digits(to, from, count, bits);
    }
}

/* The width of the first digit: enough that parts fit the cache, if the numbers are evenly spread. */
//@ requires bits >= 1; assigns \nothing; ensures 1 <= \result <= bits && \result <= 10;
static unsigned first_digit_bits(size_t count, unsigned bits)
{
    unsigned digit_bits = 1;
    //@ loop invariant 1 <= digit_bits <= bits && digit_bits <= 10; loop assigns digit_bits;
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
//@ requires bits >= 1; assigns \nothing; ensures 1 <= \result <= bits && \result <= 12;
static unsigned parts_for_bitmaps(unsigned bits)
{
    unsigned digit_bits = 1;
    //@ loop invariant 1 <= digit_bits <= bits && digit_bits <= 12; loop assigns digit_bits;
    while (digit_bits < bits && bits - digit_bits > MOST_BITMAP_BITS && (1u << digit_bits) < MOST_PARTS)
        digit_bits++;
    return digit_bits;
}

void sort_distinct_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits)
{
    size_t ends[MOST_PARTS], begin = 0;
    if (count > 64 && bits <= MOST_BITMAP_BITS && count << 6 >= UINT64_C(1) << bits) {
        sort_by_bitmap(numbers, numbers, count, bits);
        return;
    }
    unsigned digit_bits = parts_for_bitmaps(bits), rest = bits - digit_bits;
    if (count <= CACHED_NUMBERS || rest > MOST_BITMAP_BITS || count >> digit_bits << 9 < UINT64_C(1) << rest) {
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

//@ requires \valid(pairs + (0 .. count - 1)); assigns pairs[0 .. count - 1];
static void sort_pairs_by_insertion(struct sort_pair *pairs, size_t count)
{
    //@ loop invariant 1 <= i; loop assigns i, pairs[0 .. count - 1];
    for (size_t i = 1; i < count; i++) {
        struct sort_pair pair = pairs[i];
        size_t j = i;
        //@ loop invariant j <= i; loop assigns j, pairs[0 .. count - 1];
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
