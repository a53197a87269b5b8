/*
 * The distributed Bloom filter: Ramabaja, Avdullahu: "The Distributed Bloom Filter", sections 2.1 to 2.3.
 *
 * Hosts find out what they lack by sending each other Bloom filters. An element that the filter takes for one that is
 * there stays behind, and with the same mapping everywhere it stays behind for ever. So each pair of hosts has a
 * mapping of its own: what one peer's filter hides, another's shows, and filters may err half the time, which makes
 * them tiny. With the number of the round in the seed, even one pair gets another mapping each time, and everything
 * arrives in the end.
 *
 *     seed          hash of (own id XOR the other's id, round)          the same at both ends
 *     keys          h_1 .. h_k, hashes of the seed                      once for each filter
 *     bit i of x    mix(H(x) XOR h_i) mod m                             H(x), 128 bits, is computed once for ever
 *
 * Where we differ. The paper takes (H XOR h_i) mod m. With m a power of two this looks at the low bits of H alone:
 * elements that agree in those collide under every seed and never reconcile; and for any m the XOR keeps elements close
 * together that are close in H. Here the two halves of H XOR h_i are multiplied and the product folded, so that each
 * bit of H counts, and two elements share a bit under about one seed in m, whatever they are.
 *
 * Sizes: k = log2(1 / rate), rounded, m = -k n / ln(1 - rate^(1/k)): at 50 % one bit for an element, 1.44 bits of
 * filter for each. A message states m and k, so that hosts need not compute the same ones.
 *
 * Worked example, m = 8, k = 1: x and y share bit 5 under the seed of the pair (A, B). A has x, B has y: each filter
 * shows the other nothing. Under the seed of (A, C) x has bit 2 and y bit 7: C, which has y from B, gives it to A.
 */
#include "distributed_bloom.h"

#include <string.h>

#include "../base/hash.h"
#include "../bloom/bloom_size.h"

void bloom_mapping_size(uint64_t *bits, uint32_t *probes, double fpr, uint64_t elements)
{
    uint32_t nearest = bloom_nearest_probes(fpr);
    *probes = nearest < MOST_BLOOM_PROBES ? nearest : MOST_BLOOM_PROBES;
    uint64_t exact = bloom_bits_for(elements ? elements : 1, *probes, fpr), most = UINT64_C(1) << 62;
    *bits = exact < most ? exact : most;
}

uint64_t pair_seed(uint64_t id, uint64_t other_id, uint64_t round)
{
    uint8_t bytes[16];
    store_word(bytes, id ^ other_id);
    store_word(bytes + 8, round);
    return hash_bytes(0, bytes, sizeof bytes).low;
}

void bloom_mapping_init(struct bloom_mapping *mapping, uint64_t bits, uint32_t probes, uint64_t seed)
{
    mapping->bits = bits;
    mapping->probes = probes;
    for (uint32_t i = 0; i < probes; i++) {
        uint8_t number[8];
        store_word(number, i);
        mapping->keys[i] = hash_bytes(seed, number, sizeof number);
    }
}

void distributed_bloom_add(const struct bloom_mapping *mapping, uint8_t *array, const roost_hash *hashes, size_t count)
{
    for (size_t element = 0; element < count; element++)
        for (uint32_t i = 0; i < mapping->probes; i++) {
            uint64_t bit = bloom_mapping_bit(mapping, hashes[element], i);
            array[bit / 8] |= (uint8_t)(1 << (bit & 7));
        }
}

bool distributed_bloom_contains(const struct bloom_mapping *mapping, const uint8_t *array, roost_hash hash)
{
    for (uint32_t i = 0; i < mapping->probes; i++) {
        uint64_t bit = bloom_mapping_bit(mapping, hash, i);
        if (!(array[bit / 8] >> (bit & 7) & 1))
            return false;
    }
    return true;
}

bool write_distributed_bloom(struct bit_writer *writer, const struct bloom_mapping *mapping, const roost_hash *hashes,
                             size_t count)
{
    uint64_t bytes = bloom_mapping_bytes(mapping);
    write_varint(writer, mapping->bits);
    write_byte(writer, (uint8_t)mapping->probes);
    bit_writer_reserve(writer, bytes);
    if (writer->failed)
        return false;
    uint8_t *array = writer->buffer.data + writer->buffer.size;
    memset(array, 0, bytes);
    distributed_bloom_add(mapping, array, hashes, count);
    writer->buffer.size += bytes;
    return true;
}

/* Bits behind the last one must be 0, so that one filter has one form. */
void read_distributed_bloom(struct bit_reader *reader, struct bloom_mapping *mapping, const uint8_t **array,
                            uint64_t seed)
{
    uint64_t bits = read_varint(reader);
    uint32_t probes = read_byte(reader);
    if (reader->failed || bits == 0 || bits > reader_bits_left(reader) || probes == 0 || probes > MOST_BLOOM_PROBES) {
        reader->failed = true;
        return;
    }
    bloom_mapping_init(mapping, bits, probes, seed);
    *array = read_bytes(reader, bloom_mapping_bytes(mapping));
    if (*array && bits % 8 && (*array)[bits / 8] >> bits % 8)
        reader->failed = true;
}
