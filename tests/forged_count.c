/*
 * A message whose count of numbers is possible by its size, and whose numbers need 2^32 bytes, for
 * bindings/js/test/heap.test.js: of that size nothing is left where addresses have 32 bits.
 */
#include <stdlib.h>
#include <string.h>

#include "sync/ranges.h"

enum { NO_MEMORY = 0, ACCEPTED = 1, REFUSED = 2, NO_MESSAGE = 3 };

__attribute__((export_name("read_forged"))) int read_forged(void)
{
    const uint64_t count = (UINT64_C(1) << 29) - 1;
    const size_t size = (64 << 20) + 16;
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    uint8_t *message = malloc(size);
    if (!message)
        return NO_MESSAGE;
    memset(message, 0xff, size); /* each number is one more than the one before */
    struct bit_writer writer = bit_writer_over(message, 16);
    write_varint(&writer, count);
    struct bit_reader reader = bit_reader_over(message, size);
    uint64_t read;
    uint64_t *numbers = read_numbers(&reader, &read, count, &allocator);
    return reader.failed ? REFUSED : numbers ? ACCEPTED : NO_MEMORY;
}
