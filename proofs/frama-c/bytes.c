/*
 * What WP takes for granted because it has no view of words as bytes, run by Eva: loads and stores, the end of a reader,
 * the room of a writer. Arrays end where the bytes of the reader or writer end, so that a byte too far is an alarm.
 */
#include "../../src/base/bitstream.h"

#include <__fc_builtin.h>

#define MOST_BYTES   10
#define MOST_WRITTEN 12

static uint8_t array[MOST_BYTES];

static void words(void)
{
    uint8_t bytes[8];
    Frama_C_make_unknown((char *)bytes, sizeof bytes);
    load_word(bytes);
    load_half_word(bytes + Frama_C_unsigned_int_interval(0, 4));
    store_word(bytes, Frama_C_unsigned_long_interval(0, UINT64_MAX));
}

/* Every position of a reader of `size` bytes, up to its end. */
static void windows(size_t size)
{
    struct bit_reader reader = bit_reader_over(array + MOST_BYTES - size, size);
    //@ loop unroll MOST_BYTES * 8 + 1;
    for (size_t position = 0; position <= size * 8; position++) {
        reader.position = position;
        reader_next_window(&reader);
        //@ assert reader.position == position && !reader.failed;
    }
}

static struct bit_writer writer_in(size_t room, size_t used)
{
    struct bit_writer writer = bit_writer_over(array + MOST_BYTES - room, room);
    writer.buffer.size = used;
    return writer;
}

/* So many bytes, or as many as there are in no array. */
static void bytes_into(size_t room, size_t used, size_t size)
{
    uint8_t bytes[MOST_WRITTEN] = {0};
    struct bit_writer reserving = writer_in(room, used), writing = writer_in(room, used);
    bit_writer_reserve(&reserving, size);
    //@ assert reserving.buffer.size == used && reserving.room == room;
    if (size <= MOST_WRITTEN)
        write_bytes(&writing, bytes, size);
}

static void rooms(size_t room)
{
    //@ loop unroll MOST_BYTES + 1;
    for (size_t used = 0; used <= room; used++) {
        struct bit_writer writer = writer_in(room, used);
        write_fixed64(&writer, Frama_C_unsigned_long_interval(0, UINT64_MAX));
        //@ loop unroll MOST_WRITTEN + 1;
        for (size_t size = 0; size <= MOST_WRITTEN; size++)
            bytes_into(room, used, size);
        bytes_into(room, used, Frama_C_unsigned_long_interval(MOST_WRITTEN + 1, SIZE_MAX / 4));
    }
}

void main(void)
{
    Frama_C_make_unknown((char *)array, sizeof array);
    words();
    //@ loop unroll MOST_BYTES + 1;
    for (size_t size = 0; size <= MOST_BYTES; size++) {
        windows(size);
        rooms(size);
    }
}
