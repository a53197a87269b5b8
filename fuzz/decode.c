/*
 * Attacks: decode takes any bytes without harm, and what it accepts is sound and canonical (it encodes to the very
 * bytes that it came from). The input is tried as it is, and as the body of a frame whose header and checksum are
 * right, so that the fuzzer need not guess a checksum.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/bitstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_frame(const uint8_t *frame, size_t size)
{
    roost_environment environment = {.memory_limit = 1 << 22};
    roost_filter *filter;
    if (roost_filter_decode(&filter, frame, size, &environment) != ROOST_OK) {
        if (filter)
            abort();
        return;
    }
    roost_buffer again;
    if (roost_filter_check(filter) != ROOST_OK || roost_filter_encode(filter, &again) != ROOST_OK ||
        again.size != size || memcmp(again.data, frame, size) != 0)
        abort();
    roost_buffer_release(&again);
    roost_filter_free(filter);
}

static void try_body(const uint8_t *body, size_t size)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_bytes(&writer, "Rost\1\1", 6);
    write_varint(&writer, size);
    write_bytes(&writer, body, size);
    write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
    try_frame(writer.buffer.data, writer.buffer.size);
    bit_writer_release(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_frame(data, size);
    try_body(data, size);
    return 0;
}
