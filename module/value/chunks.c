/*
 * See chunks.h. Loading uses only the attempt and the position of an iterator. Older dumps have chunks of 16 MiB in the
 * first attempt; both sizes are accepted. Position 0 is header and body in one, which is what replicas are sent when a
 * key is created.
 *
 * Chunks are kept in blocks that never move, so that no chunk, small as it may be, makes the server copy all that came
 * before it, and so that a thread can read them while the key is deleted, or gets another chunk:
 *
 *     blocks   1 MiB   1 MiB   16 MiB   what is left
 *                                |
 *     staged value, and each thread that decodes it: the last one frees them
 */
#include "chunks.h"

#include <stdatomic.h>
#include <string.h>

#include "module/base/checksum.h"
#include "module/base/settings.h"

#define FIRST_POSITION 1
#define LEAST_BLOCK    ((uint64_t)1 << 20)
#define LONG_TO_DECODE ((uint64_t)256 << 10)
#define POSITION_BITS  20
#define TAG_BITS       29
#define ATTEMPT_BITS   2
#define TAGGED         ((uint64_t)1 << 52)
#define LEAST_CHUNK    ((size_t)1 << 20) /* CHUNK is a multiple of it */

/* ---- iterators --------------------------------------------------------------------------------------------------- */

/* What a slow reader makes the server hold, and what the server copies at once. */
static size_t chunk_bytes(unsigned attempt)
{
    return attempt == 0 ? LEAST_CHUNK : CHUNK;
}

size_t chunk_begin(unsigned attempt, long long position)
{
    long long whole = attempt == 0 ? position - 2 : position - 1; /* chunks before it, without the header */
    return position <= FIRST_POSITION ? 0 : HEADER_BYTES + (size_t)whole * chunk_bytes(attempt);
}

uint32_t tag_of_bits(uint32_t bits)
{
    uint32_t tag = bits & ((1U << TAG_BITS) - 1);
    return tag ? tag : 1;
}

long long iterator_of(const struct dump_place *place)
{
    uint64_t attempt = (uint64_t)place->last << ATTEMPT_BITS | place->attempt;
    uint64_t state = attempt << TAG_BITS | place->tag;
    return (long long)(TAGGED | state << POSITION_BITS | (uint64_t)place->position);
}

bool iterator_read(long long iterator, struct dump_place *place)
{
    uint64_t state = (uint64_t)iterator >> POSITION_BITS, attempt = state >> TAG_BITS;
    *place = (struct dump_place){.position = iterator & ((1LL << POSITION_BITS) - 1)};
    if ((uint64_t)iterator & TAGGED) {
        place->tag = state & ((1U << TAG_BITS) - 1);
        place->attempt = attempt & ((1U << ATTEMPT_BITS) - 1);
        place->last = attempt >> ATTEMPT_BITS & 1;
    }
    return state != 0 && (uint64_t)iterator < 2 * TAGGED && place->attempt < MOST_ATTEMPTS &&
           place->position >= FIRST_POSITION;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

struct block {
    uint8_t *bytes;
    size_t size, room;
};

struct blocks {
    atomic_uint holders;
    struct block *blocks;
    size_t count, room; /* of blocks */
    size_t size;        /* bytes in all */
    size_t memory;
};

static struct blocks *blocks_make(void)
{
    struct blocks *blocks = RedisModule_Calloc(1, sizeof *blocks);
    atomic_init(&blocks->holders, 1);
    return blocks;
}

static void blocks_leave(struct blocks *blocks)
{
    if (atomic_fetch_sub(&blocks->holders, 1) != 1)
        return;
    for (size_t i = 0; i < blocks->count; i++)
        RedisModule_Free(blocks->blocks[i].bytes);
    RedisModule_Free(blocks->blocks);
    RedisModule_Free(blocks);
}

static struct block *add_block(struct blocks *blocks, size_t room)
{
    if (!blocks->blocks || blocks->count == blocks->room) {
        blocks->room = 2 * blocks->room + 4;
        blocks->blocks = RedisModule_Realloc(blocks->blocks, blocks->room * sizeof *blocks->blocks);
    }
    struct block *block = &blocks->blocks[blocks->count++];
    *block = (struct block){RedisModule_Alloc(room), 0, room};
    blocks->memory += room;
    return block;
}

static void block_append(struct block *block, const uint8_t *bytes, size_t size)
{
    if (size)
        memcpy(block->bytes + block->size, bytes, size);
    block->size += size;
}

/* `most`: how many bytes will come in all. */
static void blocks_append(struct blocks *blocks, const uint8_t *bytes, size_t size, uint64_t most)
{
    struct block *last = blocks->count > 0 ? &blocks->blocks[blocks->count - 1] : NULL;
    size_t room = last ? last->room - last->size : 0, first = size < room ? size : room;
    if (last)
        block_append(last, bytes, first);
    if (size > first) {
        uint64_t left = most - blocks->size - first, least = left < LEAST_BLOCK ? left : LEAST_BLOCK;
        block_append(add_block(blocks, size - first > least ? size - first : (size_t)least), bytes + first,
                     size - first);
    }
    blocks->size += size;
}

/* Whether these bytes are there at this place. */
static bool blocks_have(const struct blocks *blocks, size_t at, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < blocks->count && size > 0; i++) {
        const struct block *block = &blocks->blocks[i];
        if (at >= block->size) {
            at -= block->size;
            continue;
        }
        size_t some = block->size - at < size ? block->size - at : size;
        if (memcmp(block->bytes + at, bytes, some) != 0)
            return false;
        bytes += some;
        size -= some;
        at = 0;
    }
    return size == 0;
}

static void copy_blocks(uint8_t *bytes, const struct block *blocks, size_t count)
{
    for (size_t i = 0; i < count; bytes += blocks[i++].size)
        memcpy(bytes, blocks[i].bytes, blocks[i].size);
}

/* ---- staged values ----------------------------------------------------------------------------------------------- */

struct staged {
    struct value value;
    struct blocks *blocks;  /* header and body so far */
    size_t header;          /* bytes of it */
    uint64_t whole;         /* the final size */
    long long next;         /* the expected position */
    enum redisbloom source; /* not REDISBLOOM_NONE: header and arrays of RedisBloom, and `next` is not used */
};

static struct value *staged_make(void)
{
    struct staged *staged = RedisModule_Calloc(1, sizeof *staged);
    staged->value.class = &staged_class;
    staged->value.bytes = sizeof *staged;
    staged->blocks = blocks_make();
    return &staged->value;
}

static void staged_free(struct value *value)
{
    blocks_leave(((struct staged *)value)->blocks);
    RedisModule_Free(value);
}

static void staged_append(struct staged *staged, const void *bytes, size_t size)
{
    staged->value.bytes -= staged->blocks->memory;
    blocks_append(staged->blocks, bytes, size, staged->whole);
    staged->value.bytes += staged->blocks->memory;
}

static roost_status staged_encode(struct value *value, struct value_bytes *bytes, enum encoding encoding)
{
    struct staged *staged = (struct staged *)value;
    struct header_place place = header_begin(bytes->header, value, encoding);
    header_write(&place, (uint64_t)staged->next, 8);
    header_write(&place, staged->source, 1);
    header_end(bytes->header, place, staged->blocks->size);
    bytes->body.allocator = value_allocator(value);
    bytes->body.data = value_allocate(value, staged->blocks->size);
    if (!bytes->body.data)
        return ROOST_NO_MEMORY;
    bytes->body.size = staged->blocks->size;
    copy_blocks(bytes->body.data, staged->blocks->blocks, staged->blocks->count);
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
    staged->header = HEADER_BYTES;
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
    staged->header = redisbloom_header_size(source, bytes, header);
    staged->whole = staged->header + arrays;
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
    return staged->blocks->size < staged->whole ? ROOST_OK : ROOST_CORRUPT;
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
                (next == 2 || size > HEADER_BYTES) && (size - HEADER_BYTES) % LEAST_CHUNK == 0;
    return status != ROOST_OK ? status : fits ? ROOST_OK : ROOST_CORRUPT;
}

static void staged_digest(struct value *value, uint8_t digest[16])
{
    const struct blocks *blocks = ((const struct staged *)value)->blocks;
    uint8_t *bytes = RedisModule_Alloc(blocks->size);
    copy_blocks(bytes, blocks->blocks, blocks->count);
    sum128_bytes(checksum_wide(SUM128_START, bytes, blocks->size), digest);
    RedisModule_Free(bytes);
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

static roost_status decode_whole(struct value **whole, enum redisbloom source, const uint8_t *bytes, size_t size,
                                 enum encoding encoding)
{
    struct filter_value *filter = NULL;
    if (source == REDISBLOOM_NONE)
        return value_decode_whole(whole, bytes, size, encoding);
    *whole = NULL;
    roost_status status = redisbloom_decode(&filter, source, bytes, size, encoding);
    if (status == ROOST_OK)
        *whole = &filter->value;
    return status;
}

/* A value that was decoded. If it may not be there, the key stays as it was. */
static roost_status put_decoded(RedisModuleKey *key, struct value *whole, enum encoding encoding, filter_test *takes)
{
    roost_status status = is_taken(whole, takes) ? ROOST_OK : ROOST_MISMATCH;
    if (status == ROOST_OK && encoding != ENCODE_MIRROR &&
        !value_may_be_at(whole, RedisModule_GetKeyNameFromModuleKey(key)))
        status = ROOST_UNSUPPORTED;
    if (status == ROOST_OK)
        value_put(key, whole);
    else
        value_free(whole);
    return status;
}

static roost_status finish(RedisModuleKey *key, const uint8_t *bytes, size_t size, const struct chunk_terms *terms)
{
    struct value *whole;
    roost_status status = decode_whole(&whole, REDISBLOOM_NONE, bytes, size, terms->encoding);
    return status == ROOST_OK ? put_decoded(key, whole, terms->encoding, terms->takes) : status;
}

static roost_status finish_foreign(RedisModuleKey *key, const uint8_t *bytes, size_t size,
                                   const struct chunk_terms *terms)
{
    struct filter_value *filter;
    roost_status status = terms->whole(&filter, bytes, size, terms->encoding);
    return status == ROOST_OK ? put_decoded(key, &filter->value, terms->encoding, terms->takes) : status;
}

/* ---- the last chunk ---------------------------------------------------------------------------------------------- */

struct loading {
    struct blocks *blocks;
    struct block *first;     /* as they were: a copy, without the last chunk */
    struct blocks *replaced; /* what the key holds: the same, blocks of an earlier attempt, or NULL for nothing */
    size_t size_replaced;    /* of them, so that another chunk that comes meanwhile is seen */
    size_t count, size;
    roost_bytes last;
    enum redisbloom source;
    enum encoding encoding;
    struct value *whole;
    roost_status status;
};

static struct blocks *hold(struct blocks *blocks)
{
    if (blocks)
        atomic_fetch_add(&blocks->holders, 1);
    return blocks;
}

/* `replaced`: what the key holds, which is `staged` unless the last chunk is the first one of its attempt, too. */
static struct loading *loading_make(struct staged *staged, const struct staged *replaced, roost_bytes last,
                                    enum encoding encoding)
{
    struct loading *loading = RedisModule_Calloc(1, sizeof *loading);
    struct blocks *blocks = hold(staged->blocks);
    *loading = (struct loading){.blocks = blocks,
                                .first = RedisModule_Alloc((blocks->count + 1) * sizeof *loading->first),
                                .replaced = hold(replaced ? replaced->blocks : NULL),
                                .size_replaced = replaced ? replaced->blocks->size : 0,
                                .count = blocks->count,
                                .size = blocks->size,
                                .last = last,
                                .source = staged->source,
                                .encoding = encoding};
    if (blocks->count > 0)
        memcpy(loading->first, blocks->blocks, blocks->count * sizeof *loading->first);
    return loading;
}

void loading_decode(struct loading *loading)
{
    uint8_t *bytes = RedisModule_Alloc(loading->size + loading->last.size);
    copy_blocks(bytes, loading->first, loading->count);
    if (loading->last.size)
        memcpy(bytes + loading->size, loading->last.data, loading->last.size);
    loading->status =
        decode_whole(&loading->whole, loading->source, bytes, loading->size + loading->last.size, loading->encoding);
    RedisModule_Free(bytes);
}

bool loading_is_current(const struct loading *loading, const struct value *value)
{
    if (!value || value->class != &staged_class)
        return !value && !loading->replaced;
    return ((const struct staged *)value)->blocks == loading->replaced &&
           loading->replaced->size == loading->size_replaced;
}

roost_status loading_put(struct loading *loading, RedisModuleKey *key, filter_test *takes)
{
    struct value *whole = loading->whole;
    loading->whole = NULL;
    return loading->status == ROOST_OK ? put_decoded(key, whole, loading->encoding, takes) : loading->status;
}

void loading_free(struct loading *loading)
{
    blocks_leave(loading->blocks);
    if (loading->replaced)
        blocks_leave(loading->replaced);
    RedisModule_Free(loading->first);
    if (loading->whole)
        value_free(loading->whole);
    RedisModule_Free(loading);
}

static bool is_filter(const struct staged *staged)
{
    return staged->source != REDISBLOOM_NONE || value_class_of(staged->blocks->blocks[0].bytes[5]) == &filter_class;
}

/* At once, or later by the caller who asks for that. */
static roost_status take_last(RedisModuleKey *key, struct staged *staged, const struct staged *replaced,
                              roost_bytes last, const struct chunk_terms *terms, struct loading **later)
{
    struct loading *loading = loading_make(staged, replaced, last, terms->encoding);
    if (later && staged->whole > LONG_TO_DECODE && is_filter(staged)) {
        loading->encoding = ENCODE_CLIENT;
        *later = loading;
        return ROOST_OK;
    }
    loading_decode(loading);
    roost_status status = loading_put(loading, key, terms->takes);
    loading_free(loading);
    return status;
}

/* Whether a chunk of the body is as long as chunks of this attempt are. */
static bool has_length(const struct staged *staged, size_t size, unsigned attempt)
{
    size_t most = chunk_bytes(attempt);
    uint64_t left = staged->whole - staged->blocks->size;
    if (attempt == 0)
        most = size > most || size == left ? CHUNK : most;
    return size == left ? size <= most : size == most && size < left;
}

/* A staged value of a header alone. */
static roost_status begin(struct staged *staged, const RedisModuleKey *key, const void *header, size_t size,
                          const struct chunk_terms *terms)
{
    bool mirrored = terms->encoding == ENCODE_MIRROR;
    roost_status status = size == HEADER_BYTES ? staged_begin(staged, header, size, mirrored) : ROOST_NOT_FRAME;
    if (status == ROOST_OK && !mirrored && staged->whole > settings.memory_limit)
        status = ROOST_TOO_LARGE;
    if (status == ROOST_OK && !mirrored && !may_begin(header, key))
        status = ROOST_UNSUPPORTED;
    return status;
}

static roost_status take_first(RedisModuleKey *key, const void *bytes, size_t size, const struct chunk_terms *terms)
{
    struct staged *staged = (struct staged *)staged_make();
    roost_status status = begin(staged, key, bytes, size, terms);
    if (status == ROOST_OK && staged->whole == HEADER_BYTES)
        status = finish(key, bytes, size, terms);
    else if (status == ROOST_OK) {
        value_put(key, &staged->value);
        return ROOST_OK;
    }
    staged_free(&staged->value);
    return status;
}

/* The first chunk of a further attempt, which takes the place of `replaced`, if it is not NULL. */
static roost_status take_first_again(RedisModuleKey *key, const struct staged *replaced, unsigned attempt,
                                     roost_bytes chunk, const struct chunk_terms *terms, struct loading **later)
{
    struct staged *staged = (struct staged *)staged_make();
    size_t header = chunk.size < HEADER_BYTES ? chunk.size : HEADER_BYTES;
    const roost_bytes body = {(const uint8_t *)chunk.data + header, chunk.size - header};
    roost_status status = begin(staged, key, chunk.data, header, terms);
    if (status == ROOST_OK && !has_length(staged, body.size, attempt))
        status = ROOST_CORRUPT;
    if (status == ROOST_OK && body.size < staged->whole - HEADER_BYTES) {
        staged_append(staged, body.data, body.size);
        value_put(key, &staged->value);
        return ROOST_OK;
    }
    if (status == ROOST_OK)
        status = take_last(key, staged, replaced, body, terms, later);
    staged_free(&staged->value);
    return status;
}

static roost_status take_next(RedisModuleKey *key, struct staged *staged, unsigned attempt, roost_bytes chunk,
                              const struct chunk_terms *terms, struct loading **later)
{
    if (!has_length(staged, chunk.size, attempt))
        return ROOST_CORRUPT;
    if (staged->next == 1 << POSITION_BITS)
        return ROOST_TOO_LARGE;
    if (chunk.size == staged->whole - staged->blocks->size)
        return take_last(key, staged, staged, chunk, terms, later);
    staged_append(staged, chunk.data, chunk.size);
    staged->next++;
    return ROOST_OK;
}

/* ---- chunks of RedisBloom ---------------------------------------------------------------------------------------- */

static roost_status take_foreign_header(RedisModuleKey *key, const void *bytes, size_t size,
                                        const struct chunk_terms *terms)
{
    struct staged *staged = (struct staged *)staged_make();
    bool mirrored = terms->encoding == ENCODE_MIRROR;
    size_t header = redisbloom_header_size(terms->source, bytes, size);
    roost_status status = header == 0 ? ROOST_NOT_FRAME : ROOST_OK;
    if (status == ROOST_OK && redisbloom_array_bytes(terms->source, bytes, size) == 0)
        status = ROOST_NOT_FRAME;
    if (status == ROOST_OK)
        status = staged_begin_foreign(staged, terms->source, bytes, header, header);
    if (status == ROOST_OK && !mirrored && staged->whole > settings.memory_limit)
        status = ROOST_TOO_LARGE;
    if (status == ROOST_OK && !mirrored &&
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
                                       const void *bytes, size_t size, const struct chunk_terms *terms,
                                       struct loading **later)
{
    uint64_t end = (uint64_t)iterator - 1 + staged->header;
    if (size == 0 || end > staged->whole || size > end - staged->header)
        return ROOST_CORRUPT;
    size_t begin = (size_t)(end - size);
    if (end <= staged->blocks->size)
        return blocks_have(staged->blocks, begin, bytes, size) ? ROOST_OK : ROOST_INVALID;
    if (begin != staged->blocks->size)
        return ROOST_INVALID;
    if (end == staged->whole)
        return take_last(key, staged, staged, (roost_bytes){bytes, size}, terms, later);
    staged_append(staged, bytes, size);
    return ROOST_OK;
}

roost_status chunks_load(RedisModuleKey *key, long long iterator, const void *bytes, size_t size,
                         const struct chunk_terms *terms, struct loading **later)
{
    struct dump_place place;
    bool is_iterator = iterator_read(iterator, &place);
    bool empty = RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY;
    struct value *value = empty ? NULL : RedisModule_ModuleTypeGetValue(key);
    if (later)
        *later = NULL;
    if (iterator == 0 && empty)
        return terms->whole && !header_is_ours(bytes, size) ? finish_foreign(key, bytes, size, terms)
                                                            : finish(key, bytes, size, terms);
    if (iterator == 0)
        return ROOST_INVALID;
    struct staged *staged = value && value->class == &staged_class ? (struct staged *)value : NULL;
    if (staged && staged->source != REDISBLOOM_NONE)
        return terms->source == staged->source && iterator > FIRST_POSITION
                   ? take_foreign_chunk(key, staged, iterator, bytes, size, terms, later)
                   : ROOST_INVALID;
    if (terms->source != REDISBLOOM_NONE && iterator == FIRST_POSITION && !header_is_ours(bytes, size))
        return empty ? take_foreign_header(key, bytes, size, terms) : ROOST_INVALID;
    if (is_iterator && place.position == FIRST_POSITION && place.attempt > 0)
        return empty || staged ? take_first_again(key, staged, place.attempt, (roost_bytes){bytes, size}, terms, later)
                               : ROOST_INVALID;
    if (place.position == FIRST_POSITION)
        return empty ? take_first(key, bytes, size, terms) : ROOST_INVALID;
    if (!staged || staged->next != place.position)
        return ROOST_INVALID;
    return take_next(key, staged, is_iterator ? place.attempt : 0, (roost_bytes){bytes, size}, terms, later);
}
