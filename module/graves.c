/*
 * See graves.h.
 *
 * What the keys say together is in the registry, at each name's entry; a look-up never opens a grave. When one goes
 * away, what it told of each name is told by the others, or forgotten.
 */
#include "graves.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "arguments.h"
#include "registry.h"
#include "replies.h"
#include "slots.h"
#include "target.h"

#define NAME_AT        12 /* of an entry in the body */
#define NUMBER_DIGITS  8  /* of a key in a cluster */
#define BYTES_OF_ENTRY 64 /* about what one takes beside its name */
#define LONGEST_NAME   ((size_t)512 << 20)

struct graves {
    struct value value;
    RedisModuleDict *generations; /* by name; a generation is kept as a pointer's number */
    RedisModuleString *key;       /* NULL: at none that we know of */
    int database;
    struct graves *next; /* those of the same slot; without a cluster, all */
};

static struct graves *by_slot[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* values are freed on any thread */

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

static struct value *graves_make(void)
{
    struct graves *graves = RedisModule_Calloc(1, sizeof *graves);
    graves->value.class = &graves_class;
    graves->value.bytes = sizeof *graves;
    graves->generations = RedisModule_CreateDict(NULL);
    return &graves->value;
}

static unsigned slot_of_key(const RedisModuleString *key)
{
    size_t size;
    const char *name = RedisModule_StringPtrLen(key, &size);
    bool cluster = RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER;
    return cluster ? slot_of(name, size) : 0;
}

/* "roost:generations", or "roost:generations:{tag}:number". */
bool graves_is_place(const RedisModuleString *name)
{
    static const char beginning[] = GRAVES_NAME ":{";
    size_t size, base = sizeof GRAVES_NAME - 1, tag;
    const char *text = RedisModule_StringPtrLen(name, &size); /* ends in 0 */
    if (size == base)
        return memcmp(text, GRAVES_NAME, base) == 0;
    if (size < sizeof beginning || strncmp(text, beginning, sizeof beginning - 1) != 0 || strlen(text) != size)
        return false;
    text += sizeof beginning - 1;
    tag = strspn(text, "0123456789");
    return tag > 0 && strncmp(text + tag, "}:", 2) == 0 &&
           strspn(text + tag + 2, "0123456789abcdef") == NUMBER_DIGITS && text[tag + 2 + NUMBER_DIGITS] == '\0';
}

static bool all_of_slot(const struct graves *graves, unsigned slot)
{
    bool all = true;
    void *name;
    size_t size;
    RedisModuleDictIter *iterator = RedisModule_DictIteratorStartC(graves->generations, "^", NULL, 0);
    while (all && (name = RedisModule_DictNextC(iterator, &size, NULL)))
        all = slot_of(name, size) == slot;
    RedisModule_DictIteratorStop(iterator);
    return all;
}

bool graves_allow(const struct value *value, const RedisModuleString *name)
{
    bool tombstones = value->class == &graves_class, place = graves_is_place(name);
    if (tombstones != place || !tombstones)
        return tombstones == place;
    bool cluster = RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER;
    return !cluster || all_of_slot((const struct graves *)value, slot_of_key(name));
}

/* Whether it was at one. */
static bool take_from_key(struct graves *graves)
{
    pthread_mutex_lock(&lock);
    RedisModuleString *key = graves->key;
    if (key) {
        struct graves **place = &by_slot[slot_of_key(key)];
        while (*place != graves)
            place = &(*place)->next;
        *place = graves->next;
        graves->key = NULL;
        RedisModule_FreeString(NULL, key);
    }
    pthread_mutex_unlock(&lock);
    return key != NULL;
}

static void graves_free(struct value *value)
{
    struct graves *graves = (struct graves *)value;
    take_from_key(graves);
    RedisModule_FreeDict(NULL, graves->generations);
    RedisModule_Free(graves);
}

/* ---- names ---------------------------------------------------------------------------------------------------------
 */

static uint64_t generation_in(const struct graves *graves, const void *name, size_t size)
{
    return (uintptr_t)RedisModule_DictGetC(graves->generations, (void *)(uintptr_t)name, size, NULL);
}

static void note(struct graves *graves, const void *name, size_t size, uint64_t generation)
{
    uint64_t before = generation_in(graves, name, size);
    if (before >= generation)
        return;
    if (before == 0)
        graves->value.bytes += size + BYTES_OF_ENTRY;
    RedisModule_DictReplaceC(graves->generations, (void *)(uintptr_t)name, size, (void *)(uintptr_t)generation);
}

/* What others at this slot and database say. */
static uint64_t generation_elsewhere(const struct graves *graves, unsigned slot, const void *name, size_t size)
{
    uint64_t highest = 0;
    for (const struct graves *other = by_slot[slot]; other; other = other->next) {
        uint64_t generation = other->database == graves->database ? generation_in(other, name, size) : 0;
        highest = generation > highest ? generation : highest;
    }
    return highest;
}

void graves_arrive(struct value *value, RedisModuleString *key, int database)
{
    struct graves *graves = (struct graves *)value;
    graves_leave(value);
    if (!graves_is_place(key)) {
        RedisModule_Log(NULL, "warning", "tombstones at a key that is not reserved for them are ignored");
        return;
    }
    graves->key = RedisModule_CreateStringFromString(NULL, key);
    graves->database = database;
    unsigned slot = slot_of_key(key);
    graves->next = by_slot[slot];
    by_slot[slot] = graves;
    RedisModuleDictIter *iterator = RedisModule_DictIteratorStartC(graves->generations, "^", NULL, 0);
    void *name, *generation;
    size_t size;
    while ((name = RedisModule_DictNextC(iterator, &size, &generation)))
        registry_bury(database, name, size, (uintptr_t)generation);
    RedisModule_DictIteratorStop(iterator);
}

void graves_leave(struct value *value)
{
    struct graves *graves = (struct graves *)value;
    unsigned slot = graves->key ? slot_of_key(graves->key) : 0;
    if (!take_from_key(graves))
        return;
    RedisModuleDictIter *iterator = RedisModule_DictIteratorStartC(graves->generations, "^", NULL, 0);
    void *name;
    size_t size;
    while ((name = RedisModule_DictNextC(iterator, &size, NULL)))
        registry_exhume(graves->database, name, size, generation_elsewhere(graves, slot, name, size));
    RedisModule_DictIteratorStop(iterator);
}

void graves_catch_up(struct value *value)
{
    const struct graves *graves = (const struct graves *)value;
    void *name, *generation;
    size_t size;
    if (!(RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER))
        return;
    RedisModuleDictIter *iterator = RedisModule_DictIteratorStartC(graves->generations, "^", NULL, 0);
    while ((name = RedisModule_DictNextC(iterator, &size, &generation)))
        registry_raise(graves->database, name, size, (uintptr_t)generation);
    RedisModule_DictIteratorStop(iterator);
}

void graves_leave_all(int database)
{
    for (size_t slot = 0; slot < SLOTS; slot++)
        for (struct graves *graves = by_slot[slot], *next; graves; graves = next) {
            next = graves->next;
            if (database == ALL_DATABASES || graves->database == database)
                take_from_key(graves);
        }
}

/* ---- records -------------------------------------------------------------------------------------------------------
 */

/* The graves at a key, made where it is missing; NULL where it holds something else. */
static struct graves *graves_at(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name)
{
    struct value *value = NULL;
    if (!graves_is_place(name))
        return NULL;
    if (RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY) {
        value = graves_make();
        RedisModule_ModuleTypeSetValue(key, value_type, value);
        graves_arrive(value, name, RedisModule_GetSelectedDb(ctx));
    } else if (RedisModule_ModuleTypeGetType(key) == value_type) {
        value = RedisModule_ModuleTypeGetValue(key);
    }
    struct graves *graves = value && value->class == &graves_class ? (struct graves *)value : NULL;
    if (graves && !graves->key) /* databases changed places, and nobody has looked since */
        graves_arrive(value, name, RedisModule_GetSelectedDb(ctx));
    return graves;
}

static bool write_down(RedisModuleCtx *ctx, RedisModuleString *place, RedisModuleString *name, uint64_t generation)
{
    RedisModuleKey *key = RedisModule_OpenKey(ctx, place, REDISMODULE_READ | REDISMODULE_WRITE);
    struct graves *graves = graves_at(ctx, key, place);
    roost_bytes bytes = argument_bytes(name);
    if (graves) {
        note(graves, bytes.data, bytes.size, generation);
        registry_bury(graves->database, bytes.data, bytes.size, generation);
    } else {
        RedisModule_Log(ctx, "warning", "%s holds no tombstones: a deletion is not remembered",
                        RedisModule_StringPtrLen(place, NULL));
    }
    RedisModule_CloseKey(key);
    return graves != NULL;
}

/* The name of the key that takes the record; to be freed. */
static RedisModuleString *place_for(RedisModuleCtx *ctx, const RedisModuleString *name)
{
    if (!(RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_CLUSTER))
        return RedisModule_CreateString(NULL, GRAVES_NAME, sizeof GRAVES_NAME - 1);
    unsigned slot = slot_of_key(name), number = 0;
    if (by_slot[slot])
        return RedisModule_CreateStringFromString(NULL, by_slot[slot]->key);
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = 0;
    return RedisModule_CreateStringPrintf(NULL, GRAVES_NAME ":{%u}:%08x", slot_tag(slot), number);
}

void graves_record(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t generation)
{
    RedisModuleString *place = place_for(ctx, name);
    if (write_down(ctx, place, name, generation))
        RedisModule_Replicate(ctx, "ROOST.GENERATION", "sls", name, (long long)generation, place);
    RedisModule_FreeString(NULL, place);
}

int generation_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    long long generation;
    if (argc != 4)
        return RedisModule_WrongArity(ctx);
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary tells generations");
    if (!argument_number(argv[2], &generation, 1, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "ERR invalid generation");
    write_down(ctx, argv[3], argv[1], generation_within((uint64_t)generation));
    RedisModule_ReplicateVerbatim(ctx);
    return reply_ok(ctx);
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------
 */

static size_t body_size(const struct graves *graves)
{
    size_t sum = 0, size;
    RedisModuleDictIter *iterator = RedisModule_DictIteratorStartC(graves->generations, "^", NULL, 0);
    while (RedisModule_DictNextC(iterator, &size, NULL))
        sum += NAME_AT + size;
    RedisModule_DictIteratorStop(iterator);
    return sum;
}

static void write_body(const struct graves *graves, uint8_t *body)
{
    void *name, *generation;
    size_t size;
    RedisModuleDictIter *iterator = RedisModule_DictIteratorStartC(graves->generations, "^", NULL, 0);
    while ((name = RedisModule_DictNextC(iterator, &size, &generation))) {
        struct header_place place = {body};
        header_write(&place, (uintptr_t)generation, 8);
        header_write(&place, size, 4);
        memcpy(body + NAME_AT, name, size);
        body += NAME_AT + size;
    }
    RedisModule_DictIteratorStop(iterator);
}

static roost_status graves_tell(struct value *value, struct value_bytes *bytes, enum telling telling)
{
    const struct graves *graves = (const struct graves *)value;
    size_t size = body_size(graves);
    bytes->body.allocator = value_allocator(value);
    bytes->body.data = value_allocate(value, size ? size : 1);
    if (!bytes->body.data)
        return ROOST_NO_MEMORY;
    bytes->body.size = size;
    write_body(graves, bytes->body.data);
    struct header_place place = header_begin(bytes->header, value, telling);
    header_write(&place, RedisModule_DictSize(graves->generations), 8);
    header_end(bytes->header, place, size);
    return ROOST_OK;
}

struct entry {
    uint64_t generation;
    const uint8_t *name;
    size_t size;
};

/* The next entry; false if it is none. */
static bool read_entry(struct entry *entry, const uint8_t *bytes, size_t left)
{
    struct header_place place = {(uint8_t *)(uintptr_t)bytes};
    if (left < NAME_AT)
        return false;
    entry->generation = header_read(&place, 8);
    entry->size = (size_t)header_read(&place, 4);
    entry->name = bytes + NAME_AT;
    return entry->generation > 0 && entry->size <= LONGEST_NAME && entry->size <= left - NAME_AT;
}

static bool comes_before(const struct entry *a, const struct entry *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->name, b->name, size) : 0;
    return order < 0 || (order == 0 && a->size < b->size);
}

/* Names come once, and in order: what was read would be written just so. Only a file of the server's own may tell of
   generations beyond the last. */
static roost_status graves_take_in(struct value *value, const uint8_t *header, const void *body, size_t size,
                                   enum telling telling)
{
    struct graves *graves = (struct graves *)value;
    struct header_place place = header_open(header);
    struct entry entry, before;
    uint64_t count = 0;
    for (size_t done = 0; done < size; done += NAME_AT + entry.size, count++, before = entry) {
        if (!read_entry(&entry, (const uint8_t *)body + done, size - done) ||
            (count > 0 && !comes_before(&before, &entry)) ||
            (entry.generation > LAST_GENERATION && telling == TELL_COPY))
            return ROOST_CORRUPT;
        note(graves, entry.name, entry.size, generation_within(entry.generation));
    }
    return header_read(&place, 8) == count ? ROOST_OK : ROOST_CORRUPT;
}

static void graves_digest(struct value *value, uint8_t digest[16])
{
    struct value_bytes bytes = {.body = {0}};
    sum128 sum = SUM128_START;
    if (graves_tell(value, &bytes, TELL_MIRROR) == ROOST_OK)
        sum = checksum_wide(sum, bytes.body.data, bytes.body.size);
    roost_buffer_release(&bytes.body);
    sum128_bytes(sum, digest);
}

const struct value_class graves_class = {.code = 2,
                                         .name = "graves",
                                         .free = graves_free,
                                         .tell = graves_tell,
                                         .take_in = graves_take_in,
                                         .digest = graves_digest,
                                         .make = graves_make};
