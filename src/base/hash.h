/*
 * Hashing: XXH3, keyed by the seed of the filter. Keys and the parts of a state get 128 bits, checksums 64.
 *
 * XXH3 is inlined: a hash of sixteen bytes is then about three nanoseconds. It is not a cryptographic hash: anyone who
 * knows the seed can construct keys that collide, so a service that accepts untrusted keys should keep its seed secret.
 *
 * The keys of callers have functions of their own, which give the same values as hash_bytes. hash_short_key is for 4 to
 * 16 bytes, numbers and short names: some 30 instructions, in line. Compiled as a whole, XXH3 saves registers and goes
 * through a chain of comparisons before it knows that a key is short.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdbool.h>

#include "roost/types.h"
#include "bits.h"

static inline roost_hash hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, seed);
    return (roost_hash){hash.low64, hash.high64};
}

/* The seed as keys need it: what is done to it for keys of 4 to 8 bytes is done once. */
struct hash_seed {
    uint64_t seed, mixed;
};

/* Words of XXH3's default secret: the first four, 2 ^ 3, 4 ^ 5 and 6 ^ 7. */
#define XXH3_SECRET_0   UINT64_C(0xbe4ba423396cfeb8)
#define XXH3_SECRET_1   UINT64_C(0x1cad21f72c81017c)
#define XXH3_SECRET_2   UINT64_C(0xdb979083e96dd4de)
#define XXH3_SECRET_3   UINT64_C(0x1f67b3b7a4a44072)
#define XXH3_SECRET_2_3 UINT64_C(0xc4f023344dc994ac)
#define XXH3_SECRET_4_5 UINT64_C(0x59973f0033362349)
#define XXH3_SECRET_6_7 UINT64_C(0xc202797692d63d58)

static inline struct hash_seed prepare_seed(uint64_t seed)
{
    return (struct hash_seed){seed, XXH3_SECRET_2_3 + (seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32)};
}

/*
 * What XXH3 multiplies by. In memory, from where a multiplication takes it: a constant of 64 bits in the code is an
 * instruction of its own on x86-64, and four on aarch64.
 */
struct hash_multipliers {
    uint64_t low;         /* for the lower half of the hash of keys of 4 to 8 bytes */
    uint64_t eight_bytes; /* for keys of eight bytes. Between the two that multiply at the same time, which compilers
                             would otherwise take for a vector */
    uint64_t finish;
};
extern const struct hash_multipliers hash_multipliers __attribute__((visibility("hidden")));

static ALWAYS_INLINE uint64_t finish_hash(uint64_t word)
{
    word = (word ^ word >> 37) * hash_multipliers.finish;
    return word ^ word >> 32;
}

/* A key of eight bytes, a number as a rule, is one load. */
static ALWAYS_INLINE roost_hash hash_4_to_8(const struct hash_seed *seed, const uint8_t *key, size_t size)
{
    uint64_t word = size == 8 ? load_word(key) : load_half_word(key) | (uint64_t)load_half_word(key + size - 4) << 32;
    uint64_t multiplier = size == 8 ? hash_multipliers.eight_bytes : UINT64_C(0x9e3779b185ebca87) + (size << 2);
    uint128 product = multiply_words(word ^ seed->mixed, multiplier);
    uint64_t high = (uint64_t)(product >> 64) + ((uint64_t)product << 1);
    uint64_t low = (uint64_t)product ^ high >> 3;
    low = (low ^ low >> 35) * hash_multipliers.low;
    return (roost_hash){low ^ low >> 28, finish_hash(high)};
}

static ALWAYS_INLINE roost_hash hash_9_to_16(const struct hash_seed *seed, const uint8_t *key, size_t size)
{
    const uint64_t prime = UINT64_C(0xc2b2ae3d27d4eb4f);
    uint64_t first = load_word(key), last = load_word(key + size - 8);
    uint128 product = multiply_words(first ^ last ^ (XXH3_SECRET_4_5 - seed->seed), UINT64_C(0x9e3779b185ebca87));
    uint64_t low = (uint64_t)product + ((uint64_t)(size - 1) << 54);
    last ^= XXH3_SECRET_6_7 + seed->seed;
    uint64_t high = (uint64_t)(product >> 64) + last + (uint64_t)(uint32_t)last * (0x85ebca77u - 1);
    product = multiply_words(low ^ __builtin_bswap64(high), prime);
    return (roost_hash){finish_hash((uint64_t)product), finish_hash((uint64_t)(product >> 64) + high * prime)};
}

static ALWAYS_INLINE bool is_short_key(size_t size)
{
    return size - 4 <= 12;
}

static ALWAYS_INLINE roost_hash hash_short_key(const struct hash_seed *seed, const void *key, size_t size)
{
    if (!SHORT_CODE && size == 8)
        return hash_4_to_8(seed, key, 8);
    return size <= 8 ? hash_4_to_8(seed, key, size) : hash_9_to_16(seed, key, size);
}

/*
 * The hash of three words, as of their 24 bytes: what an entry that can be removed weighs in a digest. For WebAssembly,
 * where XXH3 itself is a function that is not inlined.
 */
static ALWAYS_INLINE roost_hash hash_three_words(uint64_t seed, uint64_t first, uint64_t second, uint64_t third)
{
    const uint64_t prime = UINT64_C(0x9e3779b185ebca87), size = 24;
    uint64_t low = multiply_and_fold(first ^ (XXH3_SECRET_0 + seed), second ^ (XXH3_SECRET_1 - seed)) + size * prime;
    uint64_t high = multiply_and_fold(second ^ (XXH3_SECRET_2 + seed), third ^ (XXH3_SECRET_3 - seed));
    low ^= second + third;
    high ^= first + second;
    uint64_t both = low * prime + high * UINT64_C(0x85ebca77c2b2ae63) + (size - seed) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (roost_hash){finish_hash(low + high), 0 - finish_hash(both)};
}

/* Keys of any size: out of line. */
roost_hash hash_any_key(const struct hash_seed *seed, const void *key, size_t size);

/* For loops: a key of eight bytes in line, all others by a call, so that the loop stays short. */
static ALWAYS_INLINE roost_hash hash_key(const struct hash_seed *seed, const void *key, size_t size)
{
    return !SHORT_CODE && __builtin_expect(size == 8, 1) ? hash_short_key(seed, key, 8) : hash_any_key(seed, key, size);
}

static inline uint128 hash_to_number(roost_hash hash)
{
    return (uint128)hash.high << 64 | hash.low;
}

/*
 * The hash of one number: what a single entry weighs in an additive digest. It is paid on every add, so it is three
 * multiplications instead of XXH3's dozen: the number is mixed once, then folded under two keys for the two halves.
 */
struct number_mixers {
    uint64_t low_key, mixer, high_key, low, unused, high; /* what is used at the same time is not side by side */
};
extern const struct number_mixers number_mixers __attribute__((visibility("hidden"))); /* as hash_multipliers */

static ALWAYS_INLINE roost_hash halves_of_number(uint64_t seed, uint64_t number)
{
    uint64_t mixed = (number ^ seed) * number_mixers.mixer;
    mixed ^= mixed >> 32;
    return (roost_hash){multiply_and_fold(mixed ^ number_mixers.low_key, number_mixers.low),
                        multiply_and_fold(mixed ^ number_mixers.high_key, number_mixers.high)};
}

static inline uint128 hash_number(uint64_t seed, uint64_t number)
{
    return hash_to_number(halves_of_number(seed, number));
}

/* Adds a hash to a sum of hashes, and subtracts it. For calls with one key: for a sum of 128 bits at once gcc saves
   registers that it does not use. */
static ALWAYS_INLINE void add_to_sum(uint128 *sum, roost_hash hash)
{
    uint64_t low = (uint64_t)*sum, high = (uint64_t)(*sum >> 64);
    bool carry = __builtin_add_overflow(low, hash.low, &low);
    *sum = (uint128)(high + hash.high + carry) << 64 | low;
}

static ALWAYS_INLINE void subtract_from_sum(uint128 *sum, roost_hash hash)
{
    uint64_t low = (uint64_t)*sum, high = (uint64_t)(*sum >> 64);
    bool borrow = __builtin_sub_overflow(low, hash.low, &low);
    *sum = (uint128)(high - hash.high - borrow) << 64 | low;
}

static inline uint64_t checksum_bytes(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

/* The same of bytes that come in pieces. */
struct checksum_stream {
    XXH3_state_t state;
};

static inline void checksum_begin(struct checksum_stream *stream)
{
    XXH3_64bits_reset(&stream->state);
}

static inline void checksum_add(struct checksum_stream *stream, const void *bytes, size_t size)
{
    XXH3_64bits_update(&stream->state, bytes, size);
}

static inline uint64_t checksum_end(const struct checksum_stream *stream)
{
    return XXH3_64bits_digest(&stream->state);
}

#endif
