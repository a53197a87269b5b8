/* See chunks.h. Loading uses only the position of an iterator. Older dumps have chunks of 16 MiB; both sizes are
   accepted. Position 0 is header and body in one, which is what replicas are sent when a key is created. */
#include "chunks.h"

#include <string.h>

#include "module/base/checksum.h"
#include "module/base/settings.h"

#define FIRST_POSITION 1

/* ---- staged values ----------------------------------------------------------------------------------------------- */

struct staged {
    struct value value;
    uint8_t *bytes; /* header and body so far */
    size_t size, room;
    uint64_t whole;         /* the final size */
    long long next;         /* the expected position */
    enum redisbloom source; /* not REDISBLOOM_NONE: header and arrays of RedisBloom, and `next` is not used */
};

static struct value *staged_make(void)
{
    struct staged *staged = RedisModule_Calloc(1, sizeof *staged);
    staged->value.class = &staged_class;
    staged->value.bytes = sizeof *staged;
    return &staged->value;
}

static void staged_free(struct value *value)
{
    RedisModule_Free(((struct staged *)value)->bytes);
    RedisModule_Free(value);
}

static void staged_append(struct staged *staged, const void *bytes, size_t size)
{
    if (staged->size + size > staged->room) { /* by half, so that all chunks together are copied a few times */
        size_t room = staged->size + size + staged->size / 2;
        staged->bytes = RedisModule_Realloc(staged->bytes, room);
        staged->value.bytes += room - staged->room;
        staged->room = room;
    }
    memcpy(staged->bytes + staged->size, bytes, size);
    staged->size += size;
}

static roost_status staged_encode(struct value *value, struct value_bytes *bytes, enum encoding encoding)
{
    struct staged *staged = (struct staged *)value;
    struct header_place place = header_begin(bytes->header, value, encoding);
    header_write(&place, (uint64_t)staged->next, 8);
    header_write(&place, staged->source, 1);
    header_end(bytes->header, place, staged->size);
    bytes->body.allocator = value_allocator(value);
    bytes->body.data = value_allocate(value, staged->size);
    if (!bytes->body.data)
        return ROOST_NO_MEMORY;
    bytes->body.size = staged->size;
    memcpy(bytes->body.data, staged->bytes, staged->size);
    return ROOST_OK;
}

/* `mirrored`: a staged value may itself come in chunks, since that is how an AOF has it. */
static roost_status staged_begin(struct staged *staged, const void *bytes, size_t size, bool mirrored)
{
    uint64_t body;
    if (size < HEADER_BYTES || !header_body_size(bytes, &body) ||
        (((const uint8_t *)bytes)[5] == staged_class.code && !mirrored))
        return ROOST_NOT_FRAME;
    staged->whole = HEADER_BYTES + body;
    staged->next = 2;
    if (size > staged->whole)
        return ROOST_CORRUPT;
    staged_append(staged, bytes, size);
    return ROOST_OK;
}

/* The header of RedisBloom's chunks, and as many bytes of arrays as there are. */
static roost_status staged_begin_foreign(struct staged *staged, enum redisbloom source, const uint8_t *bytes,
                                         size_t header, size_t size)
{
    uint64_t arrays = redisbloom_array_bytes(source, bytes, header);
    if (arrays == 0 || size - redisbloom_header_size(source, bytes, header) > arrays)
        return ROOST_NOT_FRAME;
    staged->source = source;
    staged->whole = redisbloom_header_size(source, bytes, header) + arrays;
    staged_append(staged, bytes, size);
    return ROOST_OK;
}

static roost_status staged_decode_foreign(struct staged *staged, uint64_t source, const void *body, size_t size)
{
    if (source != REDISBLOOM_BLOOM && source != REDISBLOOM_CUCKOO)
        return ROOST_CORRUPT;
    size_t header = redisbloom_header_size((enum redisbloom)source, body, size);
    if (header == 0 || staged_begin_foreign(staged, (enum redisbloom)source, body, header, size) != ROOST_OK)
        return ROOST_CORRUPT;
    return staged->size < staged->whole ? ROOST_OK : ROOST_CORRUPT;
}

static roost_status staged_decode(struct value *value, const uint8_t *header, const void *body, size_t size,
                                  enum encoding encoding)
{
    struct staged *staged = (struct staged *)value;
    struct header_place place = header_open(header);
    uint64_t next = header_read(&place, 8), source = header_read(&place, 1);
    (void)encoding;
    if (source != REDISBLOOM_NONE)
        return staged_decode_foreign(staged, source, body, size);
    roost_status status = staged_begin(staged, body, size, false);
    staged->next = (long long)next;
    bool fits = size < staged->whole && next >= 2 && next <= (1 << POSITION_BITS) &&
                (next == 2) == (size == HEADER_BYTES) && (size - HEADER_BYTES) % DUMPED_CHUNK == 0;
    return status != ROOST_OK ? status : fits ? ROOST_OK : ROOST_CORRUPT;
}

static void staged_digest(struct value *value, uint8_t digest[16])
{
    const struct staged *staged = (const struct staged *)value;
    sum128_bytes(checksum_wide(SUM128_START, staged->bytes, staged->size), digest);
}

static RedisModuleType *staged_type(const struct value *value)
{
    const struct staged *staged = (const struct staged *)value;
    return staged->source == REDISBLOOM_BLOOM    ? bloom_type
           : staged->source == REDISBLOOM_CUCKOO ? cuckoo_type
                                                 : value_type;
}

const struct value_class staged_class = {.code = 255,
                                         .free = staged_free,
                                         .encode = staged_encode,
                                         .decode = staged_decode,
                                         .digest = staged_digest,
                                         .type = staged_type,
                                         .make = staged_make};

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static bool is_taken(const struct value *value, filter_test *takes)
{
    return !takes || (value->class == &filter_class && takes((const struct filter_value *)value));
}

/* Whether the value may be at this key, before the body has arrived. */
static bool may_begin(const uint8_t *header, const RedisModuleKey *key)
{
    const RedisModuleString *name = RedisModule_GetKeyNameFromModuleKey((RedisModuleKey *)(uintptr_t)key);
    return value_class_may_be_at(value_class_of(header[5]), name);
}

static roost_status decode_staged(struct value **whole, enum redisbloom source, const uint8_t *bytes, size_t size,
                                  enum encoding encoding)
{
    struct filter_value *filter = NULL;
    if (source == REDISBLOOM_NONE)
        return value_decode_whole(whole, bytes, size, encoding);
    *whole = NULL;
    roost_status status = redisbloom_decode(&filter, source, bytes, size);
    if (status == ROOST_OK)
        *whole = &filter->value;
    return status;
}

/* Decodes a complete value. If it is not valid, the key stays as it was. */
static roost_status finish(RedisModuleKey *key, enum redisbloom source, const uint8_t *bytes, size_t size,
                           enum encoding encoding, filter_test *takes)
{
    struct value *whole;
    roost_status status = decode_staged(&whole, source, bytes, size, encoding);
    if (status == ROOST_OK && !is_taken(whole, takes))
        status = ROOST_MISMATCH;
    if (status == ROOST_OK && encoding == ENCODE_COPY &&
        !value_may_be_at(whole, RedisModule_GetKeyNameFromModuleKey(key)))
        status = ROOST_UNSUPPORTED;
    if (status == ROOST_OK)
        value_put(key, whole);
    else
        value_free(whole);
    return status;
}

static roost_status take_first(RedisModuleKey *key, const void *bytes, size_t size, enum encoding encoding,
                               filter_test *takes)
{
    struct staged *staged = (struct staged *)staged_make();
    roost_status status =
        size == HEADER_BYTES ? staged_begin(staged, bytes, size, encoding == ENCODE_MIRROR) : ROOST_NOT_FRAME;
    if (status == ROOST_OK && encoding == ENCODE_COPY && staged->whole > settings.memory_limit)
        status = ROOST_TOO_LARGE;
    if (status == ROOST_OK && encoding == ENCODE_COPY && !may_begin(bytes, key))
        status = ROOST_UNSUPPORTED;
    if (status == ROOST_OK && staged->whole == HEADER_BYTES)
        status = finish(key, REDISBLOOM_NONE, bytes, size, encoding, takes);
    else if (status == ROOST_OK) {
        value_put(key, &staged->value);
        return ROOST_OK;
    }
    staged_free(&staged->value);
    return status;
}

static roost_status take_next(RedisModuleKey *key, struct staged *staged, const void *bytes, size_t size,
                              enum encoding encoding, filter_test *takes)
{
    uint64_t left = staged->whole - staged->size;
    if (size == left ? size > CHUNK : size > left || (size != CHUNK && size != DUMPED_CHUNK))
        return ROOST_CORRUPT;
    if (staged->next == 1 << POSITION_BITS)
        return ROOST_TOO_LARGE;
    if (size < left) {
        staged_append(staged, bytes, size);
        staged->next++;
        return ROOST_OK;
    }
    size_t before = staged->size;
    staged_append(staged, bytes, size);
    roost_status status = finish(key, REDISBLOOM_NONE, staged->bytes, staged->size, encoding, takes);
    if (status != ROOST_OK)
        staged->size = before;
    return status;
}

/* ---- chunks of RedisBloom ---------------------------------------------------------------------------------------- */

static roost_status take_foreign_header(RedisModuleKey *key, enum redisbloom source, const void *bytes, size_t size,
                                        enum encoding encoding)
{
    struct staged *staged = (struct staged *)staged_make();
    size_t header = redisbloom_header_size(source, bytes, size);
    roost_status status = header == 0 ? ROOST_NOT_FRAME : ROOST_OK;
    if (status == ROOST_OK && redisbloom_array_bytes(source, bytes, size) == 0)
        status = ROOST_NOT_FRAME;
    if (status == ROOST_OK)
        status = staged_begin_foreign(staged, source, bytes, header, header);
    if (status == ROOST_OK && encoding == ENCODE_COPY && staged->whole > settings.memory_limit)
        status = ROOST_TOO_LARGE;
    if (status == ROOST_OK && encoding == ENCODE_COPY &&
        !value_class_may_be_at(&filter_class, RedisModule_GetKeyNameFromModuleKey(key)))
        status = ROOST_UNSUPPORTED;
    if (status == ROOST_OK)
        value_put(key, &staged->value);
    else
        staged_free(&staged->value);
    return status;
}

/* The iterator is the offset in the arrays behind the chunk, plus one. A chunk that has come already may come again. */
static roost_status take_foreign_chunk(RedisModuleKey *key, struct staged *staged, long long iterator,
                                       const void *bytes, size_t size, enum encoding encoding, filter_test *takes)
{
    size_t header = redisbloom_header_size(staged->source, staged->bytes, staged->size);
    uint64_t end = (uint64_t)iterator - 1 + header;
    if (size == 0 || end > staged->whole || size > end - header)
        return ROOST_CORRUPT;
    size_t begin = (size_t)(end - size);
    if (end <= staged->size)
        return memcmp(staged->bytes + begin, bytes, size) == 0 ? ROOST_OK : ROOST_INVALID;
    if (begin != staged->size)
        return ROOST_INVALID;
    staged_append(staged, bytes, size);
    if (staged->size < staged->whole)
        return ROOST_OK;
    roost_status status = finish(key, staged->source, staged->bytes, staged->size, encoding, takes);
    if (status != ROOST_OK)
        staged->size = begin;
    return status;
}

roost_status chunks_load(RedisModuleKey *key, long long iterator, const void *bytes, size_t size,
                         enum encoding encoding, filter_test *takes, enum redisbloom source)
{
    long long position = iterator & ((1LL << POSITION_BITS) - 1);
    bool empty = RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY;
    struct value *value = empty ? NULL : RedisModule_ModuleTypeGetValue(key);
    if (iterator == 0)
        return empty ? finish(key, REDISBLOOM_NONE, bytes, size, encoding, takes) : ROOST_INVALID;
    struct staged *staged = value && value->class == &staged_class ? (struct staged *)value : NULL;
    if (staged && staged->source != REDISBLOOM_NONE)
        return source == staged->source && iterator > FIRST_POSITION
                   ? take_foreign_chunk(key, staged, iterator, bytes, size, encoding, takes)
                   : ROOST_INVALID;
    if (source != REDISBLOOM_NONE && iterator == FIRST_POSITION && !header_is_ours(bytes, size))
        return empty ? take_foreign_header(key, source, bytes, size, encoding) : ROOST_INVALID;
    if (position == FIRST_POSITION)
        return empty ? take_first(key, bytes, size, encoding, takes) : ROOST_INVALID;
    if (!staged || staged->next != position)
        return ROOST_INVALID;
    return take_next(key, staged, bytes, size, encoding, takes);
}
