/*
 * How the eight slots of a bucket are brought to lanes of vectors, for the vector kernels.
 *
 * Eight slots of w bits lie in w bytes. Slots 0 to 3 are read from the first byte on, 4 to 7 from byte w / 2 on; a
 * shuffle brings the four bytes in which a slot begins to its lane of 32 bits, a shift its first bit to the lowest
 * place. Slots wider than 25 bits may end in a fifth byte: another shuffle brings that one to the lane, and a shift to
 * the left its bits to their place. Slots wider than 32 bits are read two at a time, from bytes w / 4, w / 2 and 3 w / 4
 * on, into lanes of 64 bits; there are none of 57 to 63 bits.
 */
#ifndef PREFIX_SEARCH_UNPACKING_H
#define PREFIX_SEARCH_UNPACKING_H

#include <stdint.h>

#include "../base/bits.h"
#include "../base/neon.h"

#define WIDEST       64
#define NARROW_WIDTH 32
#define FOUR_BYTES   25 /* slots of so many bits lie within four bytes, wherever they begin */

/* As the instructions take it: those of NEON shift to the left. */
#ifdef HAS_NEON
#define SHIFT_RIGHT(bits) (-(bits))
#else
#define SHIFT_RIGHT(bits) (bits)
#endif
#define NO_BYTE 0x80

/* How the slots of one width are unpacked. */
struct unpacking {
    uint8_t bytes[32];
    int32_t shifts[8]; /* SHIFT_RIGHT */
    uint32_t mask[8];
    uint32_t flag[8]; /* of a slot in the other bucket */
};

/* And how the last bits come to slots of more than 25. */
struct fifth_byte {
    uint8_t bytes[32];
    int32_t shifts[8]; /* to the left; 32 where a slot begins with a byte, and has no fifth one */
};

/* The first bit of slot i, from where its half is read. */
#define FIRST_BIT(w, i)  ((i) < 4 ? (i) * (w) : ((i)-4) * (w) + 4 * (w) % 8)
#define FIRST_BYTE(w, i) (FIRST_BIT(w, i) / 8)
#define LANE(w, i)       FIRST_BYTE(w, i), FIRST_BYTE(w, i) + 1, FIRST_BYTE(w, i) + 2, FIRST_BYTE(w, i) + 3
#define SHIFT(w, i)      SHIFT_RIGHT(FIRST_BIT(w, i) % 8)
#define EIGHT(number)                                                                                                  \
    {                                                                                                                  \
        number, number, number, number, number, number, number, number                                                 \
    }
#define ROW_OF(w)                                                                                                      \
    {                                                                                                                  \
        {LANE(w, 0), LANE(w, 1), LANE(w, 2), LANE(w, 3), LANE(w, 4), LANE(w, 5), LANE(w, 6), LANE(w, 7)},              \
            {SHIFT(w, 0), SHIFT(w, 1), SHIFT(w, 2), SHIFT(w, 3), SHIFT(w, 4), SHIFT(w, 5), SHIFT(w, 6), SHIFT(w, 7)},  \
            EIGHT((uint32_t)((UINT64_C(1) << (w)) - 1)), EIGHT((uint32_t)(UINT64_C(1) << (w) >> 1))                    \
    }

/* By width. */
static const struct unpacking unpackings[NARROW_WIDTH + 1] __attribute__((aligned(32))) = {
    ROW_OF(0),  ROW_OF(1),  ROW_OF(2),  ROW_OF(3),  ROW_OF(4),  ROW_OF(5),  ROW_OF(6),  ROW_OF(7),  ROW_OF(8),
    ROW_OF(9),  ROW_OF(10), ROW_OF(11), ROW_OF(12), ROW_OF(13), ROW_OF(14), ROW_OF(15), ROW_OF(16), ROW_OF(17),
    ROW_OF(18), ROW_OF(19), ROW_OF(20), ROW_OF(21), ROW_OF(22), ROW_OF(23), ROW_OF(24), ROW_OF(25), ROW_OF(26),
    ROW_OF(27), ROW_OF(28), ROW_OF(29), ROW_OF(30), ROW_OF(31), ROW_OF(32)};

#define FIFTH_LANE(w, i)  FIRST_BYTE(w, i) + 4 < 16 ? FIRST_BYTE(w, i) + 4 : NO_BYTE, NO_BYTE, NO_BYTE, NO_BYTE
#define FIFTH_SHIFT(w, i) (32 - FIRST_BIT(w, i) % 8)
#define FIFTH_ROW(w)                                                                                                   \
    {                                                                                                                  \
        {FIFTH_LANE(w, 0), FIFTH_LANE(w, 1), FIFTH_LANE(w, 2), FIFTH_LANE(w, 3),                                       \
         FIFTH_LANE(w, 4), FIFTH_LANE(w, 5), FIFTH_LANE(w, 6), FIFTH_LANE(w, 7)},                                      \
        {                                                                                                              \
            FIFTH_SHIFT(w, 0), FIFTH_SHIFT(w, 1), FIFTH_SHIFT(w, 2), FIFTH_SHIFT(w, 3), FIFTH_SHIFT(w, 4),             \
                FIFTH_SHIFT(w, 5), FIFTH_SHIFT(w, 6), FIFTH_SHIFT(w, 7)                                                \
        }                                                                                                              \
    }

/* By width, from 26 on. */
static const struct fifth_byte fifth_bytes[NARROW_WIDTH - FOUR_BYTES] __attribute__((aligned(32))) = {
    FIFTH_ROW(26), FIFTH_ROW(27), FIFTH_ROW(28), FIFTH_ROW(29), FIFTH_ROW(30), FIFTH_ROW(31), FIFTH_ROW(32)};

/* Division by the number of buckets, of numbers below 2^29: times the inverse, then a shift; exact (Granlund and
   Montgomery 1994). */
struct divisor {
    uint64_t inverse; /* 31 bits at most */
    unsigned shift;
};

static inline struct divisor divisor_of(uint32_t buckets)
{
    unsigned bits = buckets > 1 ? highest_bit(buckets - 1) + 1 : 0;
    return (struct divisor){(UINT64_C(1) << (29 + bits)) / buckets + 1, 29 + bits};
}

/* ---- wide slots ---- */

/* How two slots of one width are unpacked, from the byte in which the first begins. */
struct wide_unpacking {
    uint8_t bytes[4][16];
    int64_t shifts[8];
};

#define WIDE_BIT(w, i)  ((i) * (w)-2 * ((i) / 2) * (w) / 8 * 8)
#define WIDE_BYTE(w, i) (WIDE_BIT(w, i) / 8)
#define WIDE_LANE(w, i)                                                                                                \
    WIDE_BYTE(w, i), WIDE_BYTE(w, i) + 1, WIDE_BYTE(w, i) + 2, WIDE_BYTE(w, i) + 3, WIDE_BYTE(w, i) + 4,               \
        WIDE_BYTE(w, i) + 5, WIDE_BYTE(w, i) + 6, WIDE_BYTE(w, i) + 7
#define WIDE_SHIFT(w, i) SHIFT_RIGHT(WIDE_BIT(w, i) % 8)
#define WIDE_ROW(w)                                                                                                    \
    {                                                                                                                  \
        {{WIDE_LANE(w, 0), WIDE_LANE(w, 1)},                                                                           \
         {WIDE_LANE(w, 2), WIDE_LANE(w, 3)},                                                                           \
         {WIDE_LANE(w, 4), WIDE_LANE(w, 5)},                                                                           \
         {WIDE_LANE(w, 6), WIDE_LANE(w, 7)}},                                                                          \
        {                                                                                                              \
            WIDE_SHIFT(w, 0), WIDE_SHIFT(w, 1), WIDE_SHIFT(w, 2), WIDE_SHIFT(w, 3), WIDE_SHIFT(w, 4),                  \
                WIDE_SHIFT(w, 5), WIDE_SHIFT(w, 6), WIDE_SHIFT(w, 7)                                                   \
        }                                                                                                              \
    }

/* By width, from 33 on. */
static const struct wide_unpacking wide_unpackings[WIDEST - NARROW_WIDTH] __attribute__((aligned(32))) = {
    WIDE_ROW(33), WIDE_ROW(34), WIDE_ROW(35), WIDE_ROW(36), WIDE_ROW(37),
    WIDE_ROW(38), WIDE_ROW(39), WIDE_ROW(40), WIDE_ROW(41), WIDE_ROW(42),
    WIDE_ROW(43), WIDE_ROW(44), WIDE_ROW(45), WIDE_ROW(46), WIDE_ROW(47),
    WIDE_ROW(48), WIDE_ROW(49), WIDE_ROW(50), WIDE_ROW(51), WIDE_ROW(52),
    WIDE_ROW(53), WIDE_ROW(54), WIDE_ROW(55), WIDE_ROW(56), [WIDEST - NARROW_WIDTH - 1] = WIDE_ROW(64)};

#endif
