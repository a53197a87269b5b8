/*
 * A filter of a gigabyte need not be in memory twice while its file is read. The reader of the frame has a source
 * (../base/bitstream.h): what is decoded bit by bit is read into the room for the frame, a block at a time; the array
 * of a Bloom filter is read into the filter. The checksum is taken on the way, in blocks that are still in the cache.
 *
 *     file    | header | configuration | array                                     | checksum |
 *     room    | ############################ |           nothing is ever stored here | ######## |
 *     filter                           |########################################|
 *
 * Room that nothing is stored in costs no memory: the allocator hands out zeroed pages that are not there until they
 * are touched. Bytes that were decoded are given back in the same way.
 *
 * Nothing is trusted before the checksum has been compared, at the very end: until then the filter is not handed out.
 * Decoders check each number anyway, since anyone can compute a checksum.
 */
#define _GNU_SOURCE
#include "frame_input.h"

#include <stdint.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "frame.h"
#include "../base/hash.h"

#define CHECKSUM_BYTES    8
#define FETCHED_AT_ONCE   ((size_t)256 << 10)
#define FORGOTTEN_AT_ONCE ((size_t)1 << 20)

struct input_source {
    struct byte_source source;
    struct frame_input *input;
    size_t forgotten;
    struct checksum_stream checksum;
};

static bool read_guarded(struct input_source *source, uint8_t *bytes, size_t size)
{
    if (!source->input->read(source->input->context, bytes, size))
        return false;
    checksum_add(&source->checksum, bytes, size);
    source->source.ready += size;
    return true;
}

/* Some more than is needed, but nothing of the checksum, which does not guard itself. */
static bool fetch(struct byte_source *source, size_t end)
{
    struct input_source *from = (struct input_source *)source;
    size_t guarded = from->input->size - CHECKSUM_BYTES;
    if (end <= source->ready)
        return true;
    size_t most = end > source->ready + FETCHED_AT_ONCE ? end : source->ready + FETCHED_AT_ONCE;
    most = most < guarded ? most : guarded;
    return end <= guarded && read_guarded(from, from->input->bytes + source->ready, most - source->ready);
}

static bool fetch_into(struct byte_source *source, void *bytes, size_t size)
{
    uint8_t *next = bytes;
    for (size_t some; size > 0; size -= some, next += some) {
        some = size < FETCHED_AT_ONCE ? size : FETCHED_AT_ONCE;
        if (!read_guarded((struct input_source *)source, next, some))
            return false;
    }
    return true;
}

/* Whole pages, which read as zeros from then on. */
static void give_back(uint8_t *begin, uint8_t *end)
{
#if defined(__linux__)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)begin + page - 1) & ~(page - 1), to = (uintptr_t)end & ~(page - 1);
    if (from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
#else
    (void)begin;
    (void)end;
#endif
}

static void forget(struct byte_source *source, size_t end)
{
    struct input_source *from = (struct input_source *)source;
    if (end - from->forgotten < FORGOTTEN_AT_ONCE)
        return;
    give_back(from->input->bytes + from->forgotten, from->input->bytes + end);
    from->forgotten = end;
}

/* The frame has been decoded and ends here: what is left is its checksum. */
static bool is_sound(struct input_source *source)
{
    struct frame_input *input = source->input;
    uint8_t *checksum = input->bytes + input->size - CHECKSUM_BYTES;
    return source->source.ready == input->size - CHECKSUM_BYTES &&
           input->read(input->context, checksum, CHECKSUM_BYTES) &&
           load_word(checksum) == checksum_end(&source->checksum);
}

roost_status frame_input_decode(roost_filter **filter, struct frame_input *input, const roost_environment *environment)
{
    struct input_source source = {.source = {fetch, fetch_into, forget, input->ready}, .input = input};
    struct bit_reader reader = bit_reader_over(input->bytes, input->size);
    enum frame_type type;
    *filter = NULL;
    reader.ready = input->ready;
    reader.source = &source.source;
    checksum_begin(&source.checksum);
    checksum_add(&source.checksum, input->bytes, input->ready);
    roost_status status = frame_open_unchecked(&reader, &type);
    if (status == ROOST_OK)
        status = frame_read_filter(filter, &reader, type, environment);
    if (status != ROOST_OK || is_sound(&source))
        return status;
    roost_filter_free(*filter);
    *filter = NULL;
    return ROOST_CORRUPT;
}
