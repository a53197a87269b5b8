/*
 * The envelope of frames on any bytes, by Eva: every content of every size up to MOST_BYTES. The array ends where the
 * bytes end, so that a byte too far is an alarm.
 */
#include "../../src/frame/frame.h"

#include <__fc_builtin.h>

#define MOST_BYTES 32

static uint8_t array[MOST_BYTES];

void main(void)
{
    Frama_C_make_unknown((char *)array, sizeof array);
    //@ loop unroll MOST_BYTES + 1;
    for (size_t size = 0; size <= MOST_BYTES; size++) {
        const uint8_t *bytes = array + MOST_BYTES - size;
        struct bit_reader reader;
        enum frame_type type;
        roost_frame_is_delta(bytes, size);
        frame_open_multiset(&reader, bytes, size);
        frame_open(&reader, &type, bytes, size);
    }
}
