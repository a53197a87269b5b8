/* Header and body of a value, written and read; the memory that values take. See value.h. */
#include "value.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checksum.h"

#define HEADER_VERSION 1
#define CHECK_AT       (HEADER_BYTES - 8)
#define BODY_SIZE_AT   (HEADER_BYTES - 16)
#define LARGE          ((size_t)1 << 20)
#define MOST_BODY      (UINT64_C(1) << 46)

static const uint8_t magic[4] = {'R', 'k', 'e', 'y'};

/* ---- memory --------------------------------------------------------------------------------------------------------
 */

static uint64_t all_bytes;

static void account(struct value *value, size_t size, bool taken)
{
    value->bytes = taken ? value->bytes + size : value->bytes - size;
    if (taken)
        __atomic_add_fetch(&all_bytes, size, __ATOMIC_RELAXED);
    else
        __atomic_sub_fetch(&all_bytes, size, __ATOMIC_RELAXED);
}

uint64_t values_bytes(void)
{
    return __atomic_load_n(&all_bytes, __ATOMIC_RELAXED);
}

/*
 * Zeroed memory, or NULL. Redis 7.0 has no such call: its calloc ends the server where there is none, its gentle malloc
 * does not zero. Whole pages of a large piece are zeroed by giving them back to the kernel, which costs nothing where
 * they were never used: a filter of a gigabyte is made in no time.
 */
static void *allocate_zeroed(size_t size)
{
    if (newer.try_calloc)
        return newer.try_calloc(1, size);
    if (size < LARGE)
        return RedisModule_Calloc(1, size);
    uint8_t *memory = RedisModule_TryAlloc(size);
    if (!memory)
        return NULL;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGE_SIZE), begin = ((uintptr_t)memory + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
    if (madvise((void *)begin, end - begin, MADV_DONTNEED) != 0) {
        memset(memory, 0, size);
        return memory;
    }
    memset(memory, 0, begin - (uintptr_t)memory);
    memset((void *)end, 0, (uintptr_t)memory + size - end);
    return memory;
}

void *value_allocate(void *context, size_t size)
{
    struct value *value = context;
    if (value->limit && (size > value->limit || value->bytes > value->limit - size))
        return NULL;
    void *memory = allocate_zeroed(size);
    if (memory)
        account(value, RedisModule_MallocSize(memory), true);
    return memory;
}

void value_release(void *context, void *memory)
{
    account(context, RedisModule_MallocSize(memory), false);
    RedisModule_Free(memory);
}

roost_allocator value_allocator(struct value *value)
{
    return (roost_allocator){.context = value, .allocate = value_allocate, .release = value_release};
}

/* ---- header --------------------------------------------------------------------------------------------------------
 */

void header_write(struct header_place *place, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, number >>= 8)
        *place->next++ = (uint8_t)number;
}

uint64_t header_read(struct header_place *place, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)*place->next++ << (8 * i);
    return number;
}

struct header_place header_begin(uint8_t header[HEADER_BYTES], const struct value *value, enum telling telling)
{
    struct header_place place = {header};
    memset(header, 0, HEADER_BYTES);
    for (size_t i = 0; i < sizeof magic; i++)
        header_write(&place, magic[i], 1);
    header_write(&place, HEADER_VERSION, 1);
    header_write(&place, value->class->code, 1);
    header_write(&place, 0, 2);
    header_write(&place, telling == TELL_MIRROR ? value->generation : 0, 8);
    return place;
}

void header_end(uint8_t header[HEADER_BYTES], struct header_place place, uint64_t body)
{
    place.next = header + BODY_SIZE_AT;
    header_write(&place, body, 8);
    header_write(&place, checksum(CHECKSUM_START, header, CHECK_AT), 8);
}

/* Where a class's own fields begin. */
struct header_place header_open(const uint8_t header[HEADER_BYTES])
{
    return (struct header_place){(uint8_t *)(uintptr_t)header + 16};
}

static uint64_t header_number(const uint8_t header[HEADER_BYTES], size_t at, unsigned bytes)
{
    struct header_place place = {(uint8_t *)(uintptr_t)header + at};
    return header_read(&place, bytes);
}

static bool header_is_sound(const uint8_t header[HEADER_BYTES])
{
    return memcmp(header, magic, sizeof magic) == 0 && header[4] == HEADER_VERSION &&
           header_number(header, 6, 2) == 0 &&
           header_number(header, CHECK_AT, 8) == checksum(CHECKSUM_START, header, CHECK_AT);
}

bool header_body_size(const uint8_t header[HEADER_BYTES], uint64_t *size)
{
    *size = header_number(header, BODY_SIZE_AT, 8);
    return header_is_sound(header) && *size <= MOST_BODY;
}

/* ---- values --------------------------------------------------------------------------------------------------------
 */

static const struct value_class *class_of(uint8_t code)
{
    for (size_t i = 0; value_classes[i]; i++)
        if (value_classes[i]->code == code)
            return value_classes[i];
    return NULL;
}

void value_free(struct value *value)
{
    if (value)
        value->class->free(value);
}

roost_status value_tell(struct value *value, struct value_bytes *bytes, enum telling telling)
{
    bytes->body = (roost_buffer){0};
    return value->class->tell(value, bytes, telling);
}

roost_status value_take_in(struct value **value, const uint8_t header[HEADER_BYTES], const void *body, size_t size,
                           enum telling telling)
{
    uint64_t expected;
    *value = NULL;
    if (!header_body_size(header, &expected))
        return ROOST_NOT_FRAME;
    const struct value_class *class = class_of(header[5]);
    if (!class || expected != size)
        return ROOST_CORRUPT;
    struct value *made = class->make();
    made->generation = header_number(header, 8, 8);
    if (made->generation > INT64_MAX) {
        value_free(made);
        return ROOST_CORRUPT;
    }
    roost_status status = class->take_in(made, header, body, size, telling);
    if (status == ROOST_OK)
        *value = made;
    else
        value_free(made);
    return status;
}

uint8_t *value_tell_whole(struct value *value, size_t *size, enum telling telling)
{
    struct value_bytes bytes;
    if (value_tell(value, &bytes, telling) != ROOST_OK)
        return NULL;
    *size = HEADER_BYTES + bytes.body.size;
    uint8_t *whole = RedisModule_Alloc(*size);
    memcpy(whole, bytes.header, HEADER_BYTES);
    if (bytes.body.size)
        memcpy(whole + HEADER_BYTES, bytes.body.data, bytes.body.size);
    roost_buffer_release(&bytes.body);
    return whole;
}

roost_status value_take_in_whole(struct value **value, const void *bytes, size_t size, enum telling telling)
{
    *value = NULL;
    if (size < HEADER_BYTES)
        return ROOST_TRUNCATED;
    return value_take_in(value, bytes, (const uint8_t *)bytes + HEADER_BYTES, size - HEADER_BYTES, telling);
}
