/*
 * Attacks: the two rounds in which hosts exchange multisets (reconcile/multiset_exchange.h). The first byte chooses
 * the method and the host that is attacked; then comes what the other host sends:
 *
 *     an offer that is the honest one with some bytes changed, or the rest of the input as the body of a frame; and
 *     then the elements of round two, with a right checksum.
 *
 * Whatever comes is refused whole, with nothing reported, or it reports elements that fit: counts from 1 to the
 * largest, and no more elements than there are bytes. Nothing costs more than it may (cost.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/bitstream.h"
#include "base/hash.h"
#include "multiset/multiset.h"
#include "reconcile/multiset_exchange.h"
#include "../tests/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMBERS = 12, MEMORY_LIMIT = 1 << 20 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

struct host {
    struct multiset_exchange *exchange;
    struct multiset_member members[MEMBERS];
    char names[MEMBERS][8];
};

static struct cost cost;

static void host_open(struct host *host, unsigned first, roost_identification method)
{
    roost_environment environment = {.allocator = cost_allocator(&cost), .memory_limit = MEMORY_LIMIT};
    roost_multiset_config config = roost_multiset_config_default();
    config.capacity = 2 * MEMBERS;
    for (unsigned i = 0; i < MEMBERS; i++) {
        snprintf(host->names[i], sizeof host->names[i], "%u", first + i);
        host->members[i] = (struct multiset_member){{host->names[i], strlen(host->names[i])}, 1 + (first + i) % 5};
    }
    must(multiset_exchange_open(&host->exchange, &config, host->members, MEMBERS, method, &environment) == ROOST_OK);
}

struct heard {
    uint64_t elements, bytes;
};

static void note(void *context, roost_bytes element, uint64_t count)
{
    struct heard *heard = context;
    must(count >= 1 && count <= ROOST_MOST_COPIES);
    heard->elements++;
    heard->bytes += element.size;
}

/* The honest offer with a byte changed here and there, or a frame around the bytes; always with a right checksum. */
static roost_buffer forge_offer(const roost_buffer *honest, const uint8_t *data, size_t size, bool whole)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    if (whole) {
        write_bytes(&writer, "Rost\1\3", 6);
        write_varint(&writer, size);
        write_bytes(&writer, data, size);
    } else {
        write_bytes(&writer, honest->data, honest->size - 8);
        for (size_t i = 0; i + 1 < size && i < 16; i += 2)
            writer.buffer.data[data[i] % writer.buffer.size] ^= data[i + 1];
    }
    write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
    must(!writer.failed);
    return writer.buffer;
}

static void try_round_two(struct host *host, uint64_t key, const uint8_t *data, size_t size)
{
    struct bit_writer writer;
    struct heard heard = {0};
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_byte(&writer, 0xd9);
    write_bytes(&writer, data, size);
    write_fixed64(&writer, hash_bytes(key, writer.buffer.data, writer.buffer.size).low);
    must(!writer.failed);
    struct measured measured = measure(&cost);
    roost_status status =
        multiset_exchange_finish(host->exchange, note, &heard, writer.buffer.data, writer.buffer.size);
    must(cost_is_fair(&measured, writer.buffer.size, MEMORY_LIMIT));
    must(status == ROOST_OK || heard.elements == 0);
    must(heard.elements + heard.bytes <= size);
    bit_writer_release(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    struct host here, there;
    roost_identification method = data[0] & 1 ? ROOST_BY_QUERY : ROOST_BY_DECODING;
    roost_buffer own, honest, reply;
    struct heard heard = {0};
    host_open(&here, 0, method);
    host_open(&there, data[1] % 16, method);
    must(multiset_exchange_offer(here.exchange, &own) == ROOST_OK);
    must(multiset_exchange_offer(there.exchange, &honest) == ROOST_OK);
    size_t part = (size_t)data[2] < size - 3 ? data[2] : size - 3;
    roost_buffer offer = forge_offer(&honest, data + 3, part, data[0] & 2);
    struct measured measured = measure(&cost);
    roost_status status = multiset_exchange_identify(here.exchange, &reply, note, &heard, offer.data, offer.size);
    must(cost_is_fair(&measured, offer.size, MEMORY_LIMIT));
    must(status == ROOST_OK || (heard.elements == 0 && reply.size == 0));
    must(heard.elements <= MEMBERS);
    uint64_t key = load_word(own.data + own.size - 8) ^ load_word(offer.data + offer.size - 8);
    if (status == ROOST_OK)
        try_round_two(&here, key, data + 3 + part, size - 3 - part);
    roost_buffer_release(&own);
    roost_buffer_release(&honest);
    roost_buffer_release(&offer);
    roost_buffer_release(&reply);
    multiset_exchange_close(here.exchange);
    multiset_exchange_close(there.exchange);
    must(cost.now == 0);
    return 0;
}
