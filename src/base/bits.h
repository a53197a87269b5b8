/* Words and bytes: little-endian loads and stores at any address, the upper half of a product, counting bits. */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include <stdint.h>
#include <string.h>

typedef unsigned __int128 uint128;

/* For the bodies of hot loops: inlined however often they are used elsewhere. Without optimization that only takes the
   compiler's time. */
#if defined(__OPTIMIZE__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

//@ assigns \nothing;
static inline uint64_t to_little_endian(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

//@ requires \valid_read(bytes + (0 .. 7)); assigns \nothing;
static inline uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return to_little_endian(word);
}

//@ requires \valid(bytes + (0 .. 7)); assigns bytes[0 .. 7];
static inline void store_word(uint8_t *bytes, uint64_t word)
{
    word = to_little_endian(word);
    memcpy(bytes, &word, sizeof word);
}

//@ requires \valid_read(bytes + (0 .. 3)); assigns \nothing;
static inline uint32_t load_half_word(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

static inline uint128 load_double_word(const uint8_t *bytes)
{
    return (uint128)load_word(bytes + 8) << 64 | load_word(bytes);
}

static inline void store_double_word(uint8_t *bytes, uint128 word)
{
    store_word(bytes, (uint64_t)word);
    store_word(bytes + 8, (uint64_t)(word >> 64));
}

/* Maps a uniform 64-bit number to a uniform number below `range`, by a multiplication instead of a division. */
//@ assigns \nothing; ensures range > 0 ==> \result < range;
static inline uint64_t scale_to_range(uint64_t uniform, uint64_t range)
{
    return (uint64_t)(((uint128)uniform * range) >> 64);
}

/* The two halves of a product, one folded over the other: a quick way to mix. */
//@ assigns \nothing;
static inline uint64_t multiply_and_fold(uint64_t a, uint64_t b)
{
    uint128 product = (uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

//@ assigns \nothing;
static inline uint64_t rotate_left(uint64_t word, unsigned count)
{
    return word << (count & 63) | word >> (-count & 63);
}

/*@ requires divisor > 0; assigns \nothing;
    ensures \result * divisor >= dividend; ensures \result > 0 ==> (\result - 1) * divisor < dividend; */
static inline uint64_t divide_up(uint64_t dividend, uint64_t divisor)
{
    return dividend / divisor + (dividend % divisor != 0);
}

//@ assigns \nothing; ensures \result <= 64;
static inline unsigned count_ones(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

/* The position of the lowest bit that is set; the word must not be 0. */
//@ requires word != 0; assigns \nothing; ensures \result <= 63;
static inline unsigned lowest_bit(uint64_t word)
{
    return (unsigned)__builtin_ctzll(word);
}

/* floor(log2(word)); the word must not be 0. */
//@ requires word != 0; assigns \nothing; ensures \result <= 63;
static inline unsigned highest_bit(uint64_t word)
{
    return 63u - (unsigned)__builtin_clzll(word);
}

#endif
