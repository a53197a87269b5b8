/*
 * The decoder of configurations on any bytes, by Eva: every content of every size up to MOST_BYTES. The reader's
 * functions are what their contracts say, which WP proves.
 */
#include "../../src/filter/configuration.h"

#include <__fc_builtin.h>

#define MOST_BYTES 64

static uint8_t array[MOST_BYTES];

void main(void)
{
    Frama_C_make_unknown((char *)array, sizeof array);
    //@ loop unroll MOST_BYTES + 1;
    for (size_t size = 0; size <= MOST_BYTES; size++) {
        struct bit_reader reader = bit_reader_over(array + MOST_BYTES - size, size);
        bool has_prefixes;
        read_configuration(&reader, &has_prefixes);
    }
}
