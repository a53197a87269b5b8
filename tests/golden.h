/*
 * Golden files: frames that every later version must read and write byte for byte (accept), or refuse (reject). They
 * are in the folder that ROOST_GOLDEN names. With ROOST_WRITE_GOLDEN set, tests write them anew first.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "check.h"

/* By its path in the folder. */
static inline FILE *open_golden(const char *name, const char *mode)
{
    char path[4096];
    const char *root = getenv("ROOST_GOLDEN");
    snprintf(path, sizeof path, "%s/%s", root ? root : "tests/golden", name);
    FILE *file = fopen(path, mode);
    if (!file)
        fail_msg("%s: cannot be opened", path);
    return file;
}

static inline FILE *open_golden_frame(const char *folder, const char *name, const char *mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.roost", folder, name);
    return open_golden(path, mode);
}

static inline bool writing_golden(void)
{
    return getenv("ROOST_WRITE_GOLDEN") != NULL;
}

static inline void write_golden(const char *folder, const char *name, const uint8_t *bytes, size_t size)
{
    FILE *file = open_golden_frame(folder, name, "wb");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline size_t read_golden(const char *folder, const char *name, uint8_t *bytes, size_t room)
{
    FILE *file = open_golden_frame(folder, name, "rb");
    size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

/* What the file holds, after the frame was written to it if golden files are written. */
static inline size_t renew_golden(const char *folder, const char *name, const roost_buffer *frame, uint8_t *bytes,
                                  size_t room)
{
    if (writing_golden())
        write_golden(folder, name, frame->data, frame->size);
    return read_golden(folder, name, bytes, room);
}

static inline void assert_golden_bytes(const char *name, const roost_buffer *frame)
{
    static uint8_t bytes[1 << 16];
    size_t size = renew_golden("accept", name, frame, bytes, sizeof bytes);
    assert_int_equal(size, frame->size);
    assert_memory_equal(bytes, frame->data, size);
}

static inline void assert_golden_frame(const char *name, const roost_filter *filter)
{
    roost_buffer frame;
    assert_ok(roost_filter_encode(filter, &frame));
    assert_golden_bytes(name, &frame);
    roost_buffer_release(&frame);
}

#endif
