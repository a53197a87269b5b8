/*
 * A file may be anything: a terabyte of zeros, a film, a pipe. Its first 64 KiB are read and decoded as far as they go;
 * if they cannot be the beginning of a frame, the rest is not read. A regular file is then read in one piece, anything
 * else into a buffer that doubles.
 */
#include "contents.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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

roost_status contents_read(struct contents *contents, int descriptor, const struct contents_reading *reading)
{
    struct stat stat;
    if (fstat(descriptor, &stat) != 0)
        return file_fail_by_errno(reading->failure, NULL);
    if (S_ISDIR(stat.st_mode)) {
        errno = EISDIR;
        return file_fail_by_errno(reading->failure, NULL);
    }
    roost_status status = enlarge(contents, FIRST_ROOM, descriptor, reading);
    if (status == ROOST_OK && contents->size == contents->room)
        status = check_beginning(contents, reading);
    while (status == ROOST_OK && contents->size == contents->room) {
        size_t all = room_for_all(&stat), doubled = contents->room * 2;
        status = enlarge(contents, all > contents->room ? all : doubled, descriptor, reading);
    }
    return status == ROOST_OK && contents->size == 0 ? file_fail(reading->failure, ROOST_NOT_FRAME, "empty file")
                                                     : status;
}

/* ---- decoding -------------------------------------------------------------------------------------------------- */

roost_status contents_decode(const struct contents *contents, roost_filter **filter,
                             const roost_environment *environment)
{
    roost_bytes frame = contents_frame(contents), section = contents_section(contents);
    roost_status status = roost_filter_decode(filter, frame.data, frame.size, environment);
    if (status != ROOST_OK || section.size == 0 || is_replica_section(section))
        return status;
    roost_filter_free(*filter);
    *filter = NULL;
    return ROOST_CORRUPT;
}

roost_status roost_file_decode(roost_filter **filter, const void *contents, size_t size,
                               const roost_environment *environment)
{
    struct contents whole = {.data = (uint8_t *)contents, .size = size};
    return contents_decode(&whole, filter, environment);
}
