/*
 * Gossip over distributed Bloom filters: participants with sets of their own, which converge by meeting their
 * neighbours.
 *
 * Ramabaja, Avdullahu: "The Distributed Bloom Filter", sections 2 and 3.2. distributed_bloom.c has the filters; this
 * file has the contacts. After one contact both sides have all that the filters show:
 *
 *     sizes known (fixed m)          OFFER filter  ->  <-  ANSWER filter, elements  ->  ELEMENTS
 *     by the sets (changing m)       SIZE n  ->  <-  OFFER filter  ->  ANSWER filter, elements  ->  <-  ELEMENTS
 *
 * A filter says what its sender has; the other sends those of its elements that the filter lacks. The paper's receiver
 * subtracts the two filters and asks for elements by the bits that stand out. To answer with one's own filter, under
 * the same mapping, is the same question in fewer messages. Sizes follow the larger of the two sets, as in the paper's
 * second experiment.
 *
 *     message   type (1), sender's id (8), varint round, body, checksum (8)
 *     SIZE      varint: elements that the sender holds
 *     OFFER     a filter: varint m, k (1), bits
 *     ANSWER    a filter, then elements
 *     ELEMENTS  varint count; each: varint size, bytes
 *
 * The checksum is a hash under the seed of the pair and the round, so a message for another host, or with other
 * settings, is refused like a damaged one. A message is checked to its end before any of it is used; the reply is made
 * before elements are added, so that a failure changes nothing. A message allocates at most some sixty times its bytes,
 * except SIZE: its number is limited to a little more than one's own set, since a filter for far more than both have
 * would be a waste, and one for far fewer is only slower.
 */
#include "distributed_bloom.h"

#include <string.h>

#include "../base/element_list.h"
#include "gossip_set.h"
#include "../base/hash.h"
#include "../filter/configuration.h"

#define CHECKSUM_BYTES   8
#define BELIEVED_TIMES   16 /* one's own set, and so many more */
#define BELIEVED_MORE    (UINT64_C(1) << 20)
#define SEED_OF_STANDARD UINT64_C(0x53746e6461726421) /* of the mapping that all share */

enum gossip_type { GOSSIP_SIZE = 0xd1, GOSSIP_OFFER, GOSSIP_ANSWER, GOSSIP_ELEMENTS };

struct roost_gossip {
    roost_gossip_config config;
    roost_environment environment;
    struct gossip_set set;
};

/* ---- lifecycle and set ------------------------------------------------------------------------------------------- */

roost_gossip_config roost_gossip_config_default(void)
{
    return (roost_gossip_config){.mapping = ROOST_ROUND_MAPPING, .fpr = 0.5, .seed = ROOST_DEFAULT_SEED};
}

roost_status roost_gossip_new(roost_gossip **gossip, const roost_gossip_config *config,
                              const roost_environment *environment)
{
    *gossip = NULL;
    if (config->mapping < ROOST_ONE_MAPPING || config->mapping > ROOST_ROUND_MAPPING ||
        !(config->fpr > 0 && config->fpr < 1))
        return ROOST_INVALID;
    roost_environment complete = environment_or_default(environment);
    roost_gossip *made = memory_allocate(&complete.allocator, sizeof *made);
    if (!made)
        return ROOST_NO_MEMORY;
    *made = (roost_gossip){*config, complete, gossip_set_make(config->seed, &complete)};
    *gossip = made;
    return ROOST_OK;
}

void roost_gossip_free(roost_gossip *gossip)
{
    if (!gossip)
        return;
    const roost_allocator allocator = gossip->environment.allocator;
    gossip_set_release(&gossip->set);
    memory_release(&allocator, gossip);
}

roost_status roost_gossip_add(roost_gossip *gossip, bool *changed, const void *element, size_t size)
{
    uint64_t learnt;
    roost_status status = gossip_set_add(&gossip->set, &learnt, &(roost_bytes){element, size}, 1);
    if (changed)
        *changed = learnt > 0;
    return status;
}

bool roost_gossip_contains(const roost_gossip *gossip, const void *element, size_t size)
{
    return gossip_set_contains(&gossip->set, (roost_bytes){element, size});
}

uint64_t roost_gossip_get_cardinality(const roost_gossip *gossip)
{
    return gossip->set.count;
}

roost_bytes roost_gossip_get_element(const roost_gossip *gossip, uint64_t number)
{
    return gossip->set.elements[number];
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* What both ends know of a contact. */
struct contact {
    uint64_t peer, round;
};

static uint64_t mapping_seed(const roost_gossip *gossip, struct contact contact)
{
    bool by_round = gossip->config.mapping == ROOST_ROUND_MAPPING;
    if (gossip->config.mapping == ROOST_ONE_MAPPING)
        return SEED_OF_STANDARD;
    return pair_seed(gossip->config.id, contact.peer, by_round ? contact.round : 0);
}

static uint64_t gossip_checksum(const roost_gossip *gossip, struct contact contact, const uint8_t *bytes, size_t size)
{
    uint64_t seed = pair_seed(gossip->config.id, contact.peer, contact.round) ^ gossip->config.mapping;
    return hash_bytes(seed ^ rotate_left(gossip->config.seed, 1), bytes, size).low;
}

static void begin_message(struct bit_writer *writer, const roost_gossip *gossip, struct contact contact,
                          enum gossip_type type)
{
    bit_writer_init(writer, gossip->environment.allocator);
    write_byte(writer, (uint8_t)type);
    write_fixed64(writer, gossip->config.id);
    write_varint(writer, contact.round);
}

static roost_status end_message(struct bit_writer *writer, roost_buffer *message, const roost_gossip *gossip,
                                struct contact contact)
{
    bit_writer_reserve(writer, CHECKSUM_BYTES);
    if (!writer->failed)
        write_fixed64(writer, gossip_checksum(gossip, contact, writer->buffer.data, writer->buffer.size));
    roost_status status = writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
    if (status != ROOST_OK)
        bit_writer_release(writer);
    *message = writer->buffer;
    return status;
}

static roost_status size_message(const roost_gossip *gossip, roost_buffer *message, struct contact contact)
{
    struct bit_writer writer;
    begin_message(&writer, gossip, contact, GOSSIP_SIZE);
    write_varint(&writer, gossip->set.count);
    return end_message(&writer, message, gossip, contact);
}

static roost_status offer_message(const roost_gossip *gossip, roost_buffer *message, struct contact contact,
                                  uint64_t elements)
{
    struct bloom_mapping mapping;
    uint64_t bits;
    uint32_t probes;
    bloom_mapping_size(&bits, &probes, gossip->config.fpr, elements);
    if (bits / 8 > gossip->environment.memory_limit)
        return ROOST_TOO_LARGE;
    bloom_mapping_init(&mapping, bits, probes, mapping_seed(gossip, contact));
    struct bit_writer writer;
    begin_message(&writer, gossip, contact, GOSSIP_OFFER);
    write_distributed_bloom(&writer, &mapping, gossip->set.hashes, gossip->set.count);
    return end_message(&writer, message, gossip, contact);
}

/* Lists the own elements that the filter of a message lacks; returns how many. */
static uint64_t lacking(const roost_gossip *gossip, const struct bloom_mapping *mapping, const uint8_t *array,
                        struct bit_writer *writer)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < gossip->set.count; i++)
        if (!distributed_bloom_contains(mapping, array, gossip->set.hashes[i])) {
            count++;
            if (writer)
                write_element(writer, gossip->set.elements[i]);
        }
    return count;
}

static void write_lacking(const roost_gossip *gossip, struct bit_writer *writer, const struct bloom_mapping *mapping,
                          const uint8_t *array)
{
    write_varint(writer, lacking(gossip, mapping, array, NULL));
    lacking(gossip, mapping, array, writer);
}

/* The reply to an offer has the own filter and the elements that the peer's filter lacks; to an answer, only the
   latter. */
static roost_status reply_to_filter(const roost_gossip *gossip, roost_buffer *reply, struct contact contact,
                                    enum gossip_type type, const struct bloom_mapping *mapping, const uint8_t *array)
{
    struct bit_writer writer;
    begin_message(&writer, gossip, contact, type == GOSSIP_OFFER ? GOSSIP_ANSWER : GOSSIP_ELEMENTS);
    if (type == GOSSIP_OFFER)
        write_distributed_bloom(&writer, mapping, gossip->set.hashes, gossip->set.count);
    write_lacking(gossip, &writer, mapping, array);
    return end_message(&writer, reply, gossip, contact);
}

roost_status roost_gossip_begin(const roost_gossip *gossip, roost_buffer *message, uint64_t peer, uint64_t round)
{
    struct contact contact = {peer, round};
    *message = (roost_buffer){0};
    return gossip->config.expected ? offer_message(gossip, message, contact, gossip->config.expected)
                                   : size_message(gossip, message, contact);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/* A message, looked through to its end. Pointers go into it. */
struct incoming {
    enum gossip_type type;
    struct contact contact;
    uint64_t size; /* that the peer states */
    struct bloom_mapping mapping;
    const uint8_t *array;
    struct bit_reader elements; /* behind their count */
    uint64_t element_count;
};

static void read_elements(struct bit_reader *reader, struct incoming *incoming)
{
    incoming->element_count = read_varint(reader);
    incoming->elements = *reader;
    if (incoming->element_count > reader_bits_left(reader) / 8)
        reader->failed = true;
    for (uint64_t i = 0; i < incoming->element_count && !reader->failed; i++)
        read_element(reader);
}

static roost_status open_message(const roost_gossip *gossip, struct incoming *incoming, const uint8_t *message,
                                 size_t size)
{
    if (size <= CHECKSUM_BYTES)
        return ROOST_CORRUPT;
    struct bit_reader reader = bit_reader_over(message, size - CHECKSUM_BYTES);
    incoming->type = read_byte(&reader);
    incoming->contact.peer = read_fixed64(&reader);
    incoming->contact.round = read_varint(&reader);
    if (reader.failed || incoming->type < GOSSIP_SIZE || incoming->type > GOSSIP_ELEMENTS ||
        gossip_checksum(gossip, incoming->contact, message, reader.size) != load_word(message + reader.size))
        return ROOST_CORRUPT;
    if (incoming->type == GOSSIP_SIZE)
        incoming->size = read_varint(&reader);
    if (incoming->type == GOSSIP_OFFER || incoming->type == GOSSIP_ANSWER)
        read_distributed_bloom(&reader, &incoming->mapping, &incoming->array, mapping_seed(gossip, incoming->contact));
    if (!reader.failed && (incoming->type == GOSSIP_ANSWER || incoming->type == GOSSIP_ELEMENTS))
        read_elements(&reader, incoming);
    return reader.failed || reader_bits_left(&reader) ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status take_elements(roost_gossip *gossip, uint64_t *learnt, const struct incoming *incoming)
{
    const roost_allocator *allocator = &gossip->environment.allocator;
    struct bit_reader reader = incoming->elements;
    if (incoming->element_count == 0)
        return ROOST_OK;
    roost_bytes *elements = memory_allocate(allocator, incoming->element_count * sizeof *elements);
    if (!elements)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < incoming->element_count; i++)
        elements[i] = read_element(&reader);
    roost_status status = gossip_set_add(&gossip->set, learnt, elements, incoming->element_count);
    memory_release(allocator, elements);
    return status;
}

/* The larger of the two sets, as far as it is believed. */
static uint64_t elements_to_size_for(const roost_gossip *gossip, uint64_t reported)
{
    uint64_t own = gossip->set.count, most = own * BELIEVED_TIMES + BELIEVED_MORE;
    uint64_t believed = reported < most ? reported : most;
    return believed > own ? believed : own;
}

static roost_status make_reply(const roost_gossip *gossip, roost_buffer *reply, const struct incoming *incoming)
{
    switch (incoming->type) {
    case GOSSIP_SIZE:
        return offer_message(gossip, reply, incoming->contact, elements_to_size_for(gossip, incoming->size));
    case GOSSIP_OFFER:
    case GOSSIP_ANSWER:
        return reply_to_filter(gossip, reply, incoming->contact, incoming->type, &incoming->mapping, incoming->array);
    default:
        return ROOST_OK;
    }
}

roost_status roost_gossip_receive(roost_gossip *gossip, roost_buffer *reply, uint64_t *learnt, const void *message,
                                  size_t size)
{
    struct incoming incoming = {0};
    uint64_t taken = 0;
    *reply = (roost_buffer){0};
    roost_status status = open_message(gossip, &incoming, message, size);
    if (status == ROOST_OK)
        status = make_reply(gossip, reply, &incoming);
    if (status == ROOST_OK)
        status = take_elements(gossip, &taken, &incoming);
    if (status != ROOST_OK)
        roost_buffer_release(reply);
    if (learnt)
        *learnt = taken;
    return status;
}
