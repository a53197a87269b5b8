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

/* Whether this is code that pages fetch before it runs. Then the common cases have no code of their own. */
#if defined(__wasm__)
#define SHORT_CODE 1
#else
#define SHORT_CODE 0
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

/*
 * The product of two words. WebAssembly has no instruction for all of its 128 bits, and compilers call a function that
 * returns them in memory. By halves it is five multiplications in line, fewer where the compiler sees that a word is
 * short.
 *
 *     a1 a0 times b1 b0, halves of 32 bits:    a1 b1 2^64 + (a1 b0 + a0 b1) 2^32 + a0 b0
 */
static ALWAYS_INLINE uint128 multiply_by_halves(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32); /* at most (2^32 - 1)^2 + 2^32 - 2 */
    uint64_t other = a0 * b1 + (uint32_t)middle;
    return (uint128)(a1 * b1 + (middle >> 32) + (other >> 32)) << 64 | a * b;
}

static ALWAYS_INLINE uint128 multiply_words(uint64_t a, uint64_t b)
{
#if defined(__wasm__)
    return multiply_by_halves(a, b);
#else
    return (uint128)a * b;
#endif
}

/* Maps a uniform 64-bit number to a uniform number below `range`, by a multiplication instead of a division. */
//@ assigns \nothing; ensures range > 0 ==> \result < range;
static inline uint64_t scale_to_range(uint64_t uniform, uint64_t range)
{
    return (uint64_t)(multiply_words(uniform, range) >> 64);
}

/* The two halves of a product, one folded over the other: a quick way to mix. */
//@ assigns \nothing;
static inline uint64_t multiply_and_fold(uint64_t a, uint64_t b)
{
    uint128 product = multiply_words(a, b);
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
