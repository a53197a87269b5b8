/*
 * A file may be anything: a terabyte of zeros, a film, a pipe. Its first 64 KiB are read and decoded as far as they go;
 * if they cannot be the beginning of a frame, the rest is not read. A regular file is decoded while it is read, so that
 * its bytes and its filter are not both in memory (../frame/frame_input.c). If that fails, and for anything else, all
 * is read into one buffer and decoded from there: that tells what is wrong.
 */
#include "contents.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../frame/frame_input.h"
#include "replica_section.h"

#define FIRST_ROOM   ((size_t)64 << 10)
#define READ_AT_ONCE ((size_t)16 << 20)

/* Of a frame, see docs/format.md. */
#define FRAME_PREFIX   6 /* magic, version, type; then comes the length of the body */
#define FRAME_CHECKSUM 8

roost_bytes contents_frame(const struct contents *contents)
{
    struct bit_reader reader = bit_reader_over(contents->data, contents->size);
    read_bytes(&reader, FRAME_PREFIX);
    uint64_t body = read_varint(&reader), left = reader_bits_left(&reader) / 8;
    bool ends = !reader.failed && left >= FRAME_CHECKSUM && body <= left - FRAME_CHECKSUM;
    return (roost_bytes){contents->data, ends ? reader.position / 8 + (size_t)body + FRAME_CHECKSUM : contents->size};
}

roost_bytes contents_section(const struct contents *contents)
{
    size_t frame = contents_frame(contents).size;
    return (roost_bytes){contents->size > frame ? contents->data + frame : NULL, contents->size - frame};
}

void contents_release(struct contents *contents, const roost_allocator *allocator)
{
    memory_release(allocator, contents->data);
    *contents = (struct contents){0};
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static roost_status reserve(struct contents *contents, size_t room, const struct contents_reading *reading)
{
    uint64_t limit = reading->environment->memory_limit;
    if (limit && room > limit)
        return file_fail(reading->failure, ROOST_TOO_LARGE, NULL);
    uint8_t *data = memory_allocate(&reading->environment->allocator, room);
    if (!data)
        return file_fail(reading->failure, ROOST_NO_MEMORY, NULL);
    if (contents->size > 0)
        memcpy(data, contents->data, contents->size);
    memory_release(&reading->environment->allocator, contents->data);
    contents->data = data;
    contents->room = room;
    return ROOST_OK;
}

/* Reads until the room is used up or the file ends, and then room is left. */
static roost_status fill(struct contents *contents, int descriptor, const struct contents_reading *reading)
{
    while (contents->size < contents->room) {
        size_t wanted = contents->room - contents->size;
        ssize_t got = read(descriptor, contents->data + contents->size, wanted < READ_AT_ONCE ? wanted : READ_AT_ONCE);
        if (got == 0)
            return ROOST_OK;
        if (got < 0 && errno != EINTR)
            return file_fail_by_errno(reading->failure, NULL);
        if (is_interrupted(reading->interrupt))
            return file_fail(reading->failure, ROOST_INTERRUPTED, NULL);
        contents->size += got > 0 ? (size_t)got : 0;
    }
    return ROOST_OK;
}

static roost_status enlarge(struct contents *contents, size_t room, int descriptor,
                            const struct contents_reading *reading)
{
    roost_status status = reserve(contents, room, reading);
    return status == ROOST_OK ? fill(contents, descriptor, reading) : status;
}

/* Whether it is worth reading on. */
static roost_status check_beginning(const struct contents *contents, const struct contents_reading *reading)
{
    roost_filter *filter;
    roost_bytes frame = contents_frame(contents);
    roost_status status = roost_filter_decode(&filter, frame.data, frame.size, reading->environment);
    roost_filter_free(filter);
    return status == ROOST_OK || status == ROOST_TRUNCATED ? ROOST_OK : file_fail(reading->failure, status, NULL);
}

/* One byte more than the file has, so that its end shows; 0 if its size says nothing. */
static size_t room_for_all(const struct stat *stat)
{
    return S_ISREG(stat->st_mode) && (uint64_t)stat->st_size < SIZE_MAX / 2 ? (size_t)stat->st_size + 1 : 0;
}

static roost_status open_contents(struct contents *contents, struct stat *stat, int descriptor,
                                  const struct contents_reading *reading)
{
    if (fstat(descriptor, stat) != 0)
        return file_fail_by_errno(reading->failure, NULL);
    if (S_ISDIR(stat->st_mode)) {
        errno = EISDIR;
        return file_fail_by_errno(reading->failure, NULL);
    }
    roost_status status = enlarge(contents, FIRST_ROOM, descriptor, reading);
    if (status == ROOST_OK && contents->size == contents->room)
        status = check_beginning(contents, reading);
    return status;
}

static roost_status read_rest(struct contents *contents, const struct stat *stat, int descriptor,
                              const struct contents_reading *reading)
{
    roost_status status = ROOST_OK;
    while (status == ROOST_OK && contents->size == contents->room) {
        size_t all = room_for_all(stat), doubled = contents->room * 2;
        status = enlarge(contents, all > contents->room ? all : doubled, descriptor, reading);
    }
    return status == ROOST_OK && contents->size == 0 ? file_fail(reading->failure, ROOST_NOT_FRAME, "empty file")
                                                     : status;
}

/* ---- decoding -------------------------------------------------------------------------------------------------- */

/* Nothing but a replica section may stand behind the frame. */
static roost_status check_section(const struct contents *contents, roost_filter **filter)
{
    roost_bytes section = contents_section(contents);
    if (section.size == 0 || is_replica_section(section))
        return ROOST_OK;
    roost_filter_free(*filter);
    *filter = NULL;
    return ROOST_CORRUPT;
}

static roost_status decode_contents(const struct contents *contents, roost_filter **filter,
                                    const roost_environment *environment)
{
    roost_bytes frame = contents_frame(contents);
    roost_status status = roost_filter_decode(filter, frame.data, frame.size, environment);
    return status == ROOST_OK ? check_section(contents, filter) : status;
}

roost_status roost_file_decode(roost_filter **filter, const void *contents, size_t size,
                               const roost_environment *environment)
{
    struct contents whole = {.data = (uint8_t *)contents, .size = size};
    return decode_contents(&whole, filter, environment);
}

/* ---- decoding while it is read --------------------------------------------------------------------------------- */

struct reading_ahead {
    int descriptor;
    const struct contents_reading *reading;
    roost_status status; /* of reading: a file that ends too soon is no failure here */
};

static bool read_exactly(void *context, uint8_t *bytes, size_t size)
{
    struct reading_ahead *ahead = context;
    struct contents piece = {.data = bytes, .room = size};
    ahead->status = fill(&piece, ahead->descriptor, ahead->reading);
    return ahead->status == ROOST_OK && piece.size == size;
}

/* Of a file whose first bytes have been read: how many its frame has, or 0 if the frame is not read as it comes. */
static size_t size_ahead(const struct contents *contents, const struct stat *stat)
{
    size_t all = room_for_all(stat);
    struct bit_reader reader = bit_reader_over(contents->data, contents->size);
    if (all <= contents->room)
        return 0;
    read_bytes(&reader, FRAME_PREFIX);
    uint64_t body = read_varint(&reader), header = reader.position / 8, most = all - 1 - FRAME_CHECKSUM;
    bool fits = !reader.failed && body <= most - header && header + body > contents->size;
    return fits ? (size_t)(header + body + FRAME_CHECKSUM) : 0;
}

/*
 * ROOST_OK without a filter: it must be read as a whole. Otherwise what is behind the frame has been read, too; the
 * frame itself has no bytes but its first and its last ones.
 */
static roost_status decode_ahead(struct contents *contents, roost_filter **filter, const struct stat *stat,
                                 int descriptor, const struct contents_reading *reading)
{
    size_t frame = size_ahead(contents, stat);
    if (frame == 0)
        return ROOST_OK;
    roost_status status = reserve(contents, room_for_all(stat), reading);
    if (status != ROOST_OK)
        return status;
    struct reading_ahead ahead = {descriptor, reading, ROOST_OK};
    struct frame_input input = {contents->data, frame, contents->size, read_exactly, &ahead};
    (void)frame_input_decode(filter, &input, reading->environment);
    if (ahead.status != ROOST_OK)
        return ahead.status;
    contents->size = frame;
    return *filter ? fill(contents, descriptor, reading) : ROOST_OK;
}

static roost_status start_over(struct contents *contents, int descriptor, const struct contents_reading *reading)
{
    contents->size = 0;
    if (lseek(descriptor, 0, SEEK_SET) != 0)
        return file_fail_by_errno(reading->failure, NULL);
    return fill(contents, descriptor, reading);
}

static roost_status decode_whole(struct contents *contents, roost_filter **filter, const struct stat *stat,
                                 int descriptor, const struct contents_reading *reading)
{
    roost_status status =
        contents->size > 0 && contents->room > FIRST_ROOM ? start_over(contents, descriptor, reading) : ROOST_OK;
    if (status == ROOST_OK)
        status = read_rest(contents, stat, descriptor, reading);
    if (status != ROOST_OK)
        return status;
    status = decode_contents(contents, filter, reading->environment);
    return status == ROOST_OK ? status : file_fail(reading->failure, status, NULL);
}

roost_status contents_load(struct contents *contents, roost_filter **filter, int descriptor,
                           const struct contents_reading *reading)
{
    struct stat stat;
    *filter = NULL;
    roost_status status = open_contents(contents, &stat, descriptor, reading);
    if (status == ROOST_OK)
        status = decode_ahead(contents, filter, &stat, descriptor, reading);
    if (status == ROOST_OK && *filter && contents->size < contents->room) {
        status = check_section(contents, filter);
        return status == ROOST_OK ? status : file_fail(reading->failure, status, NULL);
    }
    roost_filter_free(*filter); /* the file has grown meanwhile */
    *filter = NULL;
    return status == ROOST_OK ? decode_whole(contents, filter, &stat, descriptor, reading) : status;
}
