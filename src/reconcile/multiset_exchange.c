/*
 * The two rounds of section 4.1 of Li, Luo, Guo: "Multiset Synchronization with Counting Cuckoo Filters" (2020).
 *
 *     round 1   each host sends its counting cuckoo filter, a frame
 *               each finds d_E, its elements that the other lacks, and d_M, its elements of which the other has more
 *               (../multiset/identify.c), and makes the copies that it lacks of the latter
 *     round 2   each sends its d_E, elements and counts:
 *
 *               type (1), varint elements; each: varint count, varint size, bytes; checksum (8)
 *
 * Afterwards both have the union, up to the collisions of fingerprints. The receiver of an element takes the larger of
 * the two counts, so that an element that was sent in vain does no harm. The checksum of round two is a hash under the
 * checksums of both frames of round one: what was sent in another exchange is refused.
 */
#include "multiset_exchange.h"

#include "../base/element_list.h"
#include "../base/hash.h"
#include "../multiset/multiset.h"

#define CHECKSUM_BYTES 8
#define ROUND_TWO      0xd9

struct multiset_exchange {
    roost_multiset *filter; /* of the members */
    const struct multiset_member *members;
    roost_copies *copies; /* the same, with their hashes */
    roost_finding *findings;
    size_t count;
    roost_identification method;
    uint64_t own_checksum, key; /* of one's own offer; of the checksum of round two */
    bool offered, identified;
    roost_allocator allocator;
};

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

void multiset_exchange_close(struct multiset_exchange *exchange)
{
    if (!exchange)
        return;
    const roost_allocator allocator = exchange->allocator;
    roost_multiset_free(exchange->filter);
    memory_release(&allocator, exchange->copies);
    memory_release(&allocator, exchange->findings);
    memory_release(&allocator, exchange);
}

static roost_status add_members(struct multiset_exchange *exchange)
{
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < exchange->count && status == ROOST_OK; i++) {
        roost_bytes element = exchange->members[i].element;
        exchange->copies[i].hash = roost_multiset_hash(exchange->filter, element.data, element.size);
        exchange->copies[i].count = exchange->members[i].count;
        status = roost_multiset_add_hash(exchange->filter, NULL, exchange->copies[i].hash, exchange->copies[i].count);
    }
    return status;
}

static roost_status fill(struct multiset_exchange *exchange, const roost_multiset_config *config,
                         const roost_environment *environment)
{
    roost_status status = roost_multiset_new(&exchange->filter, config, environment);
    if (status != ROOST_OK)
        return status;
    exchange->copies = memory_allocate(&exchange->allocator, (exchange->count + 1) * sizeof *exchange->copies);
    exchange->findings = memory_allocate(&exchange->allocator, (exchange->count + 1) * sizeof *exchange->findings);
    return exchange->copies && exchange->findings ? add_members(exchange) : ROOST_NO_MEMORY;
}

roost_status multiset_exchange_open(struct multiset_exchange **exchange, const roost_multiset_config *config,
                                    const struct multiset_member *members, size_t count, roost_identification method,
                                    const roost_environment *environment)
{
    const roost_allocator allocator = allocator_or_default(environment ? environment->allocator : (roost_allocator){0});
    *exchange = NULL;
    if (config->kind != ROOST_COUNTING_CUCKOO || (method != ROOST_BY_QUERY && method != ROOST_BY_DECODING))
        return ROOST_INVALID;
    struct multiset_exchange *made = memory_allocate(&allocator, sizeof *made);
    if (!made)
        return ROOST_NO_MEMORY;
    *made = (struct multiset_exchange){.members = members, .count = count, .method = method, .allocator = allocator};
    roost_status status = fill(made, config, environment);
    if (status == ROOST_OK)
        *exchange = made;
    else
        multiset_exchange_close(made);
    return status;
}

/* ---- round one --------------------------------------------------------------------------------------------------- */

static uint64_t checksum_of_frame(const uint8_t *frame, size_t size)
{
    return load_word(frame + size - CHECKSUM_BYTES);
}

roost_status multiset_exchange_offer(struct multiset_exchange *exchange, roost_buffer *message)
{
    roost_status status = roost_multiset_encode(exchange->filter, message);
    if (status == ROOST_OK)
        exchange->own_checksum = checksum_of_frame(message->data, message->size);
    exchange->offered |= status == ROOST_OK;
    return status;
}

/* ---- round two --------------------------------------------------------------------------------------------------- */

static uint64_t count_missing(const struct multiset_exchange *exchange)
{
    uint64_t count = 0;
    for (size_t i = 0; i < exchange->count; i++)
        count += exchange->findings[i].missing_there;
    return count;
}

static roost_status elements_message(const struct multiset_exchange *exchange, roost_buffer *message, uint64_t key)
{
    struct bit_writer writer;
    bit_writer_init(&writer, exchange->allocator);
    write_byte(&writer, ROUND_TWO);
    write_varint(&writer, count_missing(exchange));
    for (size_t i = 0; i < exchange->count; i++)
        if (exchange->findings[i].missing_there) {
            write_varint(&writer, exchange->members[i].count);
            write_element(&writer, exchange->members[i].element);
        }
    bit_writer_reserve(&writer, CHECKSUM_BYTES);
    if (!writer.failed)
        write_fixed64(&writer, hash_bytes(key, writer.buffer.data, writer.buffer.size).low);
    if (writer.failed)
        bit_writer_release(&writer);
    *message = writer.buffer;
    return writer.failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static void report_copies(const struct multiset_exchange *exchange, multiset_lack *lack, void *context)
{
    for (size_t i = 0; i < exchange->count; i++)
        if (exchange->findings[i].fewer_here) {
            uint64_t count = exchange->members[i].count + exchange->findings[i].fewer_here;
            lack(context, exchange->members[i].element, count < ROOST_MOST_COPIES ? count : ROOST_MOST_COPIES);
        }
}

roost_status multiset_exchange_identify(struct multiset_exchange *exchange, roost_buffer *message, multiset_lack *lack,
                                        void *context, const void *offer, size_t size)
{
    roost_multiset *theirs = NULL;
    *message = (roost_buffer){0};
    if (!exchange->offered || exchange->identified)
        return ROOST_INVALID;
    roost_status status = roost_multiset_decode(&theirs, offer, size, &exchange->filter->environment);
    if (status == ROOST_OK)
        status = roost_multiset_identify(exchange->filter, exchange->findings, theirs, exchange->copies,
                                         exchange->count, exchange->method);
    roost_multiset_free(theirs);
    if (status != ROOST_OK)
        return status;
    uint64_t key = exchange->own_checksum ^ checksum_of_frame(offer, size);
    status = elements_message(exchange, message, key);
    if (status != ROOST_OK)
        return status;
    exchange->key = key;
    exchange->identified = true;
    report_copies(exchange, lack, context);
    return ROOST_OK;
}

/* Reads all elements; reports them if there is a callback. */
static bool read_members(struct bit_reader reader, multiset_lack *lack, void *context)
{
    bool typed = read_byte(&reader) == ROUND_TWO;
    uint64_t elements = read_varint(&reader);
    for (uint64_t i = 0; i < elements && !reader.failed; i++) {
        uint64_t count = read_varint(&reader);
        roost_bytes element = read_element(&reader);
        if (count == 0 || count > ROOST_MOST_COPIES)
            return false;
        if (lack)
            lack(context, element, count);
    }
    return typed && !reader.failed && reader_bits_left(&reader) == 0;
}

roost_status multiset_exchange_finish(struct multiset_exchange *exchange, multiset_lack *lack, void *context,
                                      const void *message, size_t size)
{
    if (!exchange->identified)
        return ROOST_INVALID;
    if (size < CHECKSUM_BYTES)
        return ROOST_CORRUPT;
    struct bit_reader reader = bit_reader_over(message, size - CHECKSUM_BYTES);
    uint64_t checksum = load_word((const uint8_t *)message + reader.size);
    if (hash_bytes(exchange->key, message, reader.size).low != checksum || !read_members(reader, NULL, NULL))
        return ROOST_CORRUPT;
    read_members(reader, lack, context);
    return ROOST_OK;
}
