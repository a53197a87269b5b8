/*
 * Values as the server sees them: the data type and its methods. Each is a few lines over header and body (value.h).
 *
 * RDB, version 1: the header as one string, then the body in strings of CHUNK bytes, the last one shorter; the header
 * has the size. If anything is wrong with them, loading returns NULL, and the server decides what to do with its file.
 * Under the names of RedisBloom's and valkey-bloom's types the same has version 512; versions below are theirs
 * (redisbloom.h, valkey_bloom.h).
 *
 * Identity (docs/module.md). A value that the server loads from its own file, or a replica from its primary, is the
 * same object as before: it is encoded as a mirror. RESTORE and MIGRATE bring a copy. The server uses one callback for
 * both, so the identity of a mirror is tied to the database and name of its key, and is only restored while the server
 * loads.
 */
#include "data_types.h"

#include <string.h>

#include "module/base/checksum.h"
#include "module/base/context.h"
#include "module/base/counters.h"
#include "redisbloom.h"
#include "valkey_bloom.h"

#define ENCODING_VERSION 1
#define OWN_VERSION      512 /* of the types that others have, too; their own versions are small numbers */
#define LAST_FOREIGN     511
#define BYTES_AN_EFFORT  65536 /* of freeing; from 64 of these on the server frees in the background */

RedisModuleType *value_type, *bloom_type, *cuckoo_type;
static RedisModuleType *valkey_bloom_type; /* NULL: another module has it, and loads its filters */

/* ---- RDB --------------------------------------------------------------------------------------------------------- */

/* A value that is loaded under another name than it was saved under is a copy. */
static uint64_t name_check(RedisModuleIO *io)
{
    const RedisModuleString *name = RedisModule_GetKeyNameFromIO(io);
    int database = RedisModule_GetDbIdFromIO(io);
    size_t size = 0;
    const char *bytes = name ? RedisModule_StringPtrLen(name, &size) : NULL;
    return checksum(checksum(CHECKSUM_START, &database, sizeof database), bytes, size);
}

static void rdb_save(RedisModuleIO *io, void *value)
{
    struct value_bytes bytes;
    if (value_encode(value, &bytes, ENCODE_MIRROR) != ROOST_OK) {
        RedisModule_LogIOError(io, "warning", "no memory to save a filter");
        return;
    }
    value_note_saved(value);
    RedisModule_SaveUnsigned(io, name_check(io));
    RedisModule_SaveStringBuffer(io, (const char *)bytes.header, HEADER_BYTES);
    for (size_t done = 0; done < bytes.body.size; done += CHUNK) {
        size_t left = bytes.body.size - done;
        RedisModule_SaveStringBuffer(io, (const char *)bytes.body.data + done, left < CHUNK ? left : CHUNK);
    }
    roost_buffer_release(&bytes.body);
}

/* The next string, if it has just this size. */
static char *load_exactly(RedisModuleIO *io, size_t wanted)
{
    size_t size = 0;
    char *bytes = RedisModule_LoadStringBuffer(io, &size);
    if (bytes && (RedisModule_IsIOError(io) || size != wanted)) {
        RedisModule_Free(bytes);
        return NULL;
    }
    // cppcheck-suppress returnDanglingLifetime ; the server allocated it
    return bytes;
}

/* Allocates memory as chunks arrive, whatever size the header claims. */
static uint8_t *load_body(RedisModuleIO *io, uint64_t size)
{
    uint8_t *body = RedisModule_Alloc(size > 0 && size < CHUNK ? size : 1);
    for (uint64_t done = 0; done < size;) {
        size_t wanted = size - done < CHUNK ? (size_t)(size - done) : CHUNK;
        char *chunk = load_exactly(io, wanted);
        if (!chunk) {
            RedisModule_Free(body);
            return NULL;
        }
        body = RedisModule_Realloc(body, done + wanted);
        memcpy(body + done, chunk, wanted);
        RedisModule_Free(chunk);
        done += wanted;
    }
    return body;
}

/* Clients may not bring every value to every key. */
static bool is_allowed(const struct value *value, RedisModuleIO *io)
{
    const RedisModuleString *name = RedisModule_GetKeyNameFromIO(io);
    return is_decided_elsewhere() || !name || value_may_be_at(value, name);
}

static struct value *allowed_or_freed(struct value *value, RedisModuleIO *io)
{
    if (!value || is_allowed(value, io))
        return value;
    RedisModule_LogIOError(io, "warning", "a value is refused: keys roost:generations and roost:links are reserved");
    value_free(value);
    return NULL;
}

static struct value *load_own(RedisModuleIO *io)
{
    uint64_t begun = microseconds_now();
    struct value *value = NULL;
    uint64_t size;
    uint64_t check = RedisModule_LoadUnsigned(io);
    bool mirror = is_loading() && check == name_check(io);
    char *header = RedisModule_IsIOError(io) ? NULL : load_exactly(io, HEADER_BYTES);
    uint8_t *body = header && header_body_size((const uint8_t *)header, &size) ? load_body(io, size) : NULL;
    roost_status status = ROOST_CORRUPT;
    if (body)
        status = value_decode(&value, (const uint8_t *)header, body, size, mirror ? ENCODE_MIRROR : ENCODE_COPY);
    if (value && check != name_check(io))
        value->generation = 0; /* it belongs to another key */
    count_refusal(status);
    if (status != ROOST_OK)
        RedisModule_LogIOError(io, "warning", "a filter cannot be loaded: %s", roost_status_text(status));
    RedisModule_Free(header);
    RedisModule_Free(body);
    count_slow(SLOW_LOAD, microseconds_now() - begun);
    return allowed_or_freed(value, io);
}

static void *rdb_load(RedisModuleIO *io, int version)
{
    return version == ENCODING_VERSION ? load_own(io) : NULL;
}

/* A value of another type under this name would be served by no command. */
static struct value *of_type_or_freed(struct value *value, const RedisModuleType *type)
{
    if (!value || type_for(value) == type)
        return value;
    value_free(value);
    return NULL;
}

static struct value *loaded(struct filter_value *filter, roost_status status, uint64_t begun, RedisModuleIO *io)
{
    count_refusal(status);
    count_slow(SLOW_LOAD, microseconds_now() - begun);
    return status == ROOST_OK ? allowed_or_freed(&filter->value, io) : NULL;
}

static struct value *load_redisbloom(RedisModuleIO *io, enum redisbloom kind, int version)
{
    struct filter_value *filter;
    uint64_t begun = microseconds_now();
    roost_status status = redisbloom_load(&filter, kind, io, version);
    return loaded(filter, status, begun, io);
}

static struct value *load_valkey_bloom(RedisModuleIO *io, int version)
{
    struct filter_value *filter;
    uint64_t begun = microseconds_now();
    roost_status status = valkey_bloom_load(&filter, io, version);
    return loaded(filter, status, begun, io);
}

static void *rdb_load_bloom(RedisModuleIO *io, int version)
{
    return version <= LAST_FOREIGN  ? load_redisbloom(io, REDISBLOOM_BLOOM, version)
           : version == OWN_VERSION ? of_type_or_freed(load_own(io), bloom_type)
                                    : NULL;
}

static void *rdb_load_cuckoo(RedisModuleIO *io, int version)
{
    return version <= LAST_FOREIGN  ? load_redisbloom(io, REDISBLOOM_CUCKOO, version)
           : version == OWN_VERSION ? of_type_or_freed(load_own(io), cuckoo_type)
                                    : NULL;
}

/* They keep this name until they are replaced as a whole: a value has the type under which it was loaded. */
static void *rdb_load_valkey_bloom(RedisModuleIO *io, int version)
{
    return version <= LAST_FOREIGN  ? load_valkey_bloom(io, version)
           : version == OWN_VERSION ? of_type_or_freed(load_own(io), bloom_type)
                                    : NULL;
}

/* ---- AOF --------------------------------------------------------------------------------------------------------- */

static void aof_rewrite(RedisModuleIO *io, RedisModuleString *key, void *value)
{
    struct value_bytes bytes;
    if (value_encode(value, &bytes, ENCODE_MIRROR) != ROOST_OK) {
        RedisModule_LogIOError(io, "warning", "no memory to rewrite a filter");
        return;
    }
    RedisModule_EmitAOF(io, "ROOST.RESTORE", "slb", key, 1LL, (const char *)bytes.header, (size_t)HEADER_BYTES);
    long long position = 2;
    for (size_t done = 0; done < bytes.body.size; done += CHUNK, position++) {
        size_t left = bytes.body.size - done;
        RedisModule_EmitAOF(io, "ROOST.RESTORE", "slb", key, position, (const char *)bytes.body.data + done,
                            left < CHUNK ? left : (size_t)CHUNK);
    }
    roost_buffer_release(&bytes.body);
}

/* ---- other methods ----------------------------------------------------------------------------------------------- */

static size_t memory_usage(const void *value)
{
    return ((const struct value *)value)->bytes;
}

static size_t free_effort(RedisModuleString *key, const void *value)
{
    (void)key;
    return 1 + ((const struct value *)value)->bytes / BYTES_AN_EFFORT;
}

/* On the main thread, before another thread may free the value. FLUSHALL does not call this. */
static void unlink_value(RedisModuleKeyOptCtx *context, const void *value)
{
    value_note_unlinked((struct value *)(uintptr_t)value, RedisModule_GetKeyNameFromOptCtx(context),
                        RedisModule_GetDbIdFromOptCtx(context));
}

static void *copy_value(RedisModuleString *from, RedisModuleString *to, const void *value)
{
    (void)from;
    struct value *copy = NULL, *copied = (struct value *)(uintptr_t)value;
    struct value_bytes bytes;
    if (!value_may_be_at(value, to))
        return NULL;
    if (copied->class->copy)
        return copied->class->copy(copied);
    if (value_encode(copied, &bytes, ENCODE_COPY) != ROOST_OK)
        return NULL;
    if (value_decode(&copy, bytes.header, bytes.body.data, bytes.body.size, ENCODE_COPY) != ROOST_OK)
        copy = NULL;
    roost_buffer_release(&bytes.body);
    return copy;
}

/* ---- defragmentation ------------------------------------------------------------------------------------------------
 *
 * Active defragmentation. Everything that a filter has allocated may move, except for the value itself, which others
 * point to. Large arrays are offered, too; the allocator of the server leaves them in place, since they have pages of
 * their own.
 */

static void *move_allocation(void *context, void *memory)
{
    return RedisModule_DefragAlloc(context, memory);
}

static int defrag_value(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **place_of_value)
{
    struct value *value = *place_of_value;
    unsigned long cursor = 0;
    (void)key;
    if (!value->class->move || value_is_pinned(value))
        return 0;
    if (RedisModule_DefragCursorGet(ctx, &cursor) != REDISMODULE_OK)
        cursor = 0;
    uint64_t place = cursor;
    bool more = true;
    while (more && !(place > cursor && RedisModule_DefragShouldStop(ctx)))
        more = value->class->move(value, move_allocation, ctx, &place);
    if (more && RedisModule_DefragCursorSet(ctx, place) == REDISMODULE_OK)
        return 1;
    while (more) /* a small value, which has no cursor */
        more = value->class->move(value, move_allocation, ctx, &place);
    return 0;
}

static void digest_value(RedisModuleDigest *digest, void *value)
{
    uint8_t bytes[16];
    ((struct value *)value)->class->digest(value, bytes);
    RedisModule_DigestAddStringBuffer(digest, (const char *)bytes, sizeof bytes);
    RedisModule_DigestEndSequence(digest);
}

static void free_value(void *value)
{
    value_free(value);
}

struct value *value_of_key(RedisModuleKey *key)
{
    return is_value_type(RedisModule_ModuleTypeGetType(key)) ? RedisModule_ModuleTypeGetValue(key) : NULL;
}

struct value *value_at(RedisModuleCtx *ctx, RedisModuleString *name)
{
    RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_OPEN_KEY_NOTOUCH);
    struct value *value = key ? value_of_key(key) : NULL;
    RedisModule_CloseKey(key);
    return value;
}

bool is_value_type(const RedisModuleType *type)
{
    return type && (type == value_type || type == bloom_type || type == cuckoo_type || type == valkey_bloom_type);
}

RedisModuleType *type_for(const struct value *value)
{
    return value->class->type ? value->class->type(value) : value_type;
}

/* A chunked value may turn out to be of another type than it began with. */
static void put_typed(RedisModuleKey *key, struct value *value)
{
    mstime_t left = RedisModule_GetExpire(key);
    RedisModule_ModuleTypeSetValue(key, type_for(value), value);
    if (left != REDISMODULE_NO_EXPIRE)
        RedisModule_SetExpire(key, left);
}

void value_put(RedisModuleKey *key, struct value *value)
{
    void *old = NULL;
    RedisModuleType *type = type_for(value);
    if (RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY)
        RedisModule_ModuleTypeSetValue(key, type, value);
    else if (RedisModule_ModuleTypeGetType(key) != type)
        put_typed(key, value);
    else if (RedisModule_ModuleTypeReplaceValue(key, type, value, &old) == REDISMODULE_OK)
        value_free(old);
}

static RedisModuleType *create_type(RedisModuleCtx *ctx, const char *name, int version, RedisModuleTypeLoadFunc load)
{
    RedisModuleTypeMethods methods = {
        .version = REDISMODULE_TYPE_METHOD_VERSION,
        .rdb_load = load,
        .rdb_save = rdb_save,
        .aof_rewrite = aof_rewrite,
        .mem_usage = memory_usage,
        .digest = digest_value,
        .free = free_value,
        .free_effort = free_effort,
        .unlink2 = unlink_value,
        .copy = copy_value,
        .defrag = defrag_value,
    };
    // cppcheck-suppress danglingLifetime ; the server copies the methods
    RedisModuleType *type = RedisModule_CreateDataType(ctx, name, version, &methods);
    // cppcheck-suppress returnDanglingLifetime ; as above
    return type;
}

const char *data_types_create(RedisModuleCtx *ctx, bool bf_cf)
{
    value_type = create_type(ctx, "roostdata", ENCODING_VERSION, rdb_load);
    bloom_type = bf_cf ? create_type(ctx, "MBbloom--", OWN_VERSION, rdb_load_bloom) : value_type;
    cuckoo_type = bf_cf ? create_type(ctx, "MBbloomCF", OWN_VERSION, rdb_load_cuckoo) : value_type;
    valkey_bloom_type = bf_cf ? create_type(ctx, "bloomfltr", OWN_VERSION, rdb_load_valkey_bloom) : NULL;
    return !value_type ? "roostdata" : !bloom_type ? "MBbloom--" : !cuckoo_type ? "MBbloomCF" : NULL;
}
