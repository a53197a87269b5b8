/*
 * The distributed Bloom filter (DBF): a Bloom filter whose mapping is another for each pair of hosts, or each time they
 * meet. `distributed_bloom.c` has the essay.
 */
#ifndef GOSSIP_DISTRIBUTED_BLOOM_H
#define GOSSIP_DISTRIBUTED_BLOOM_H

#include <stdbool.h>

#include "roost/gossip.h"
#include "../base/bits.h"
#include "../base/bitstream.h"

#define MOST_BLOOM_PROBES 64

/* How elements map to bits: `probes` keys, one for each bit of an element. */
struct bloom_mapping {
    uint64_t bits; /* m, at least 1 */
    uint32_t probes;
    roost_hash keys[MOST_BLOOM_PROBES];
};

/* m and k for so many elements at this rate. */
void bloom_mapping_size(uint64_t *bits, uint32_t *probes, double fpr, uint64_t elements);

/* The seed of what two hosts exchange in one round: the same for both of them. */
uint64_t pair_seed(uint64_t id, uint64_t other_id, uint64_t round);

void bloom_mapping_init(struct bloom_mapping *mapping, uint64_t bits, uint32_t probes, uint64_t seed);

static inline uint64_t bloom_mapping_bytes(const struct bloom_mapping *mapping)
{
    return mapping->bits / 8 + (mapping->bits % 8 != 0);
}

/* Bit number i of an element: XOR first, then mix. */
static inline uint64_t bloom_mapping_bit(const struct bloom_mapping *mapping, roost_hash hash, uint32_t i)
{
    const roost_hash key = mapping->keys[i];
    return multiply_and_fold(hash.low ^ key.low, hash.high ^ key.high) % mapping->bits;
}

/* `array` has bloom_mapping_bytes bytes, zeroed before the first element. */
void distributed_bloom_add(const struct bloom_mapping *mapping, uint8_t *array, const roost_hash *hashes, size_t count);
bool distributed_bloom_contains(const struct bloom_mapping *mapping, const uint8_t *array, roost_hash hash);

/* A filter of these elements in a message: varint m, a byte k, the bits. False where there is no memory for it. */
bool write_distributed_bloom(struct bit_writer *writer, const struct bloom_mapping *mapping, const roost_hash *hashes,
                             size_t count);
/* The reverse: sizes and, in *array, where the bits are in the message; the mapping is that of the seed. */
void read_distributed_bloom(struct bit_reader *reader, struct bloom_mapping *mapping, const uint8_t **array,
                            uint64_t seed);

#endif
