/* Encoding and decoding of values; the memory of values. See value.h. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "module/base/checksum.h"
#include "value.h"

#define HEADER_VERSION 1
#define CHECK_AT       (HEADER_BYTES - 8)
#define BODY_SIZE_AT   (HEADER_BYTES - 16)
#define LARGE          ((size_t)1 << 20)
#define LEAST_HUGE     ((size_t)16 << 20)
#define FEW_BYTES      64
#define MOST_BODY      (UINT64_C(1) << 46)

static const uint8_t magic[4] = {'R', 'k', 'e', 'y'};

/* ---- memory ------------------------------------------------------------------------------------------------------ */

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

struct pages {
    uint8_t *begin, *end;
};

/* The whole pages of an allocation. */
static struct pages pages_in(uint8_t *memory, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGE_SIZE), begin = ((uintptr_t)memory + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
    return (struct pages){(uint8_t *)begin, (uint8_t *)end};
}

/* Returns pages to the kernel, which zeroes them. Pages that were never used cost nothing. */
static bool give_back(struct pages pages)
{
    return madvise(pages.begin, (size_t)(pages.end - pages.begin), MADV_DONTNEED) == 0;
}

static void zero_large(uint8_t *memory, size_t size)
{
    struct pages pages = pages_in(memory, size);
    if (!give_back(pages))
        memset(pages.begin, 0, (size_t)(pages.end - pages.begin));
    memset(memory, 0, (size_t)(pages.begin - memory));
    memset(pages.end, 0, (size_t)(memory + size - pages.end));
}

/*
 * Zeroed memory, or NULL. Redis 7.0 has no such call: its calloc ends the server if there is no memory, and its
 * TryAlloc does not zero. Large allocations are not zeroed byte by byte, so that creating a filter of a gigabyte is
 * instant.
 */
static void *allocate_zeroed(size_t size)
{
    if (size < LARGE)
        return newer.try_calloc ? newer.try_calloc(1, size) : RedisModule_Calloc(1, size);
    uint8_t *memory = RedisModule_TryAlloc(size);
    if (memory)
        zero_large(memory, size);
    return memory;
}

/* On a thread of its own, since the kernel is slow with many pages. The pages are returned, since the allocator may
   keep the memory. The size that the server reports may be a few bytes more than the allocation. */
static void *release_huge(void *memory)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL); /* signals are handled by the threads of the server */
    give_back(pages_in(memory, RedisModule_MallocSize(memory) - FEW_BYTES));
    RedisModule_Free(memory);
    return NULL;
}

static bool begin_release(void *memory)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, release_huge, memory) != 0)
        return false;
    pthread_detach(thread);
    return true;
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
    size_t size = RedisModule_MallocSize(memory);
    account(context, size, false);
    if (size < LEAST_HUGE || !begin_release(memory))
        RedisModule_Free(memory);
}

void value_count(void *context, void *memory, bool more)
{
    account(context, RedisModule_MallocSize(memory), more);
}

roost_allocator value_allocator(struct value *value)
{
    return (roost_allocator){.context = value, .allocate = value_allocate, .release = value_release};
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

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

struct header_place header_begin(uint8_t header[HEADER_BYTES], const struct value *value, enum encoding encoding)
{
    struct header_place place = {header};
    memset(header, 0, HEADER_BYTES);
    for (size_t i = 0; i < sizeof magic; i++)
        header_write(&place, magic[i], 1);
    header_write(&place, HEADER_VERSION, 1);
    header_write(&place, value->class->code, 1);
    header_write(&place, 0, 2);
    header_write(&place, encoding == ENCODE_MIRROR ? value->generation : 0, 8);
    return place;
}

void header_end(uint8_t header[HEADER_BYTES], struct header_place place, uint64_t body)
{
    place.next = header + BODY_SIZE_AT;
    header_write(&place, body, 8);
    header_write(&place, checksum(CHECKSUM_START, header, CHECK_AT), 8);
}

/* Where the fields of the class begin. */
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

bool header_is_ours(const void *bytes, size_t size)
{
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

bool header_body_size(const uint8_t header[HEADER_BYTES], uint64_t *size)
{
    *size = header_number(header, BODY_SIZE_AT, 8);
    return header_is_sound(header) && *size <= MOST_BODY;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

void value_free(struct value *value)
{
    if (!value)
        return;
    value_note_freed(value);
    value->class->free(value);
}

roost_status value_encode(struct value *value, struct value_bytes *bytes, enum encoding encoding)
{
    bytes->body = (roost_buffer){0};
    return value->class->encode(value, bytes, encoding);
}

roost_status value_decode(struct value **value, const uint8_t header[HEADER_BYTES], const void *body, size_t size,
                          enum encoding encoding)
{
    uint64_t expected;
    *value = NULL;
    if (!header_body_size(header, &expected))
        return ROOST_NOT_FRAME;
    const struct value_class *class = value_class_of(header[5]);
    if (!class || expected != size)
        return ROOST_CORRUPT;
    struct value *made = class->make();
    made->generation = header_number(header, 8, 8);
    if (made->generation > LAST_GENERATION && encoding != ENCODE_MIRROR) {
        value_free(made);
        return ROOST_CORRUPT;
    }
    made->generation = generation_within(made->generation);
    roost_status status = class->decode(made, header, body, size, encoding);
    if (status == ROOST_OK)
        *value = made;
    else
        value_free(made);
    return status;
}

uint8_t *value_encode_whole(struct value *value, size_t *size, enum encoding encoding)
{
    struct value_bytes bytes;
    if (value_encode(value, &bytes, encoding) != ROOST_OK)
        return NULL;
    *size = HEADER_BYTES + bytes.body.size;
    uint8_t *whole = RedisModule_Alloc(*size);
    memcpy(whole, bytes.header, HEADER_BYTES);
    if (bytes.body.size)
        memcpy(whole + HEADER_BYTES, bytes.body.data, bytes.body.size);
    roost_buffer_release(&bytes.body);
    return whole;
}

roost_status value_decode_whole(struct value **value, const void *bytes, size_t size, enum encoding encoding)
{
    *value = NULL;
    if (size < HEADER_BYTES)
        return ROOST_TRUNCATED;
    return value_decode(value, bytes, (const uint8_t *)bytes + HEADER_BYTES, size - HEADER_BYTES, encoding);
}
