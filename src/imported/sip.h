/*
 * SipHash-1-3, as the filters of valkey-bloom use it: one round for a word, three at the end (Aumasson and Bernstein,
 * "SipHash: a fast short-input PRF", 2012, which has the rounds and suggests 2 and 4). The message is the length of the
 * key as a word, then the key. It is here to query imported filters, and nothing else uses it.
 *
 *     message   | length 8 | key ... | rest of it, zeros, length of the message mod 256 |
 */
#ifndef IMPORTED_SIP_H
#define IMPORTED_SIP_H

#include <stddef.h>
#include <stdint.h>

#include "../base/bits.h"

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline void sip_round(struct sip *sip)
{
    sip->v0 += sip->v1;
    sip->v2 += sip->v3;
    sip->v1 = rotate_left(sip->v1, 13) ^ sip->v0;
    sip->v3 = rotate_left(sip->v3, 16) ^ sip->v2;
    sip->v0 = rotate_left(sip->v0, 32) + sip->v3;
    sip->v2 += sip->v1;
    sip->v1 = rotate_left(sip->v1, 17) ^ sip->v2;
    sip->v3 = rotate_left(sip->v3, 21) ^ sip->v0;
    sip->v2 = rotate_left(sip->v2, 32);
}

static inline void sip_word(struct sip *sip, uint64_t word)
{
    sip->v3 ^= word;
    sip_round(sip);
    sip->v0 ^= word;
}

/* Under a key of two words. */
static inline uint64_t sip_13(const uint8_t *key, size_t size, const uint64_t secret[2])
{
    struct sip sip = {secret[0] ^ UINT64_C(0x736f6d6570736575), secret[1] ^ UINT64_C(0x646f72616e646f6d),
                      secret[0] ^ UINT64_C(0x6c7967656e657261), secret[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t rest = (uint64_t)(size + 8) << 56;
    sip_word(&sip, size);
    for (; size >= 8; key += 8, size -= 8)
        sip_word(&sip, load_word(key));
    for (size_t i = 0; i < size; i++)
        rest |= (uint64_t)key[i] << (8 * i);
    sip_word(&sip, rest);
    sip.v2 ^= 0xff;
    for (unsigned i = 0; i < 3; i++)
        sip_round(&sip);
    return sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
}

#endif
