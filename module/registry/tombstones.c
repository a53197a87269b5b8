/*
 * See graves.h.
 *
 * What the keys say together is also in the registry, at the entries of names that hold something or were deleted
 * lately; for all others it is looked up here. When a key goes away, what it told of each name is told by the others,
 * or forgotten.
 */
#include "tombstones.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "module/base/arguments.h"
#include "links.h"
#include "registry.h"
#include "module/base/replies.h"
#include "slots.h"
#include "module/job/job.h"
#include "module/key/target.h"
#include "tombstone_table.h"

#define FORM          1  /* of the body */
#define ENTRY_BYTES   12 /* beside the name, in the body, and in form 1 the time */
#define TIME_BYTES    4
#define NUMBER_DIGITS 8 /* of a key in a cluster */
#define LONGEST_NAME  ((size_t)512 << 20)

struct tombstones {
    struct value value;
    struct tombstone_table *table;
    RedisModuleString *key; /* NULL: at none that we know of */
    int database;
    struct tombstones *next; /* those of the same slot; without a cluster, all */
};

static struct tombstones *by_slot[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* values are freed on any thread */
static uint64_t total;                                   /* names of all that are at keys */

uint64_t tombstones_count(void)
{
    return __atomic_load_n(&total, __ATOMIC_RELAXED);
}

/* The names of these count from now on, or no longer. */
static void count_in(const struct tombstones *tombstones)
{
    __atomic_add_fetch(&total, tombstone_table_count(tombstones->table), __ATOMIC_RELAXED);
}

static void count_out(const struct tombstones *tombstones)
{
    __atomic_sub_fetch(&total, tombstone_table_count(tombstones->table), __ATOMIC_RELAXED);
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

static void count_bytes(struct tombstones *tombstones)
{
    tombstones->value.bytes = sizeof *tombstones + tombstone_table_bytes(tombstones->table);
}

static struct value *tombstones_make(void)
{
    struct tombstones *tombstones = RedisModule_Calloc(1, sizeof *tombstones);
    tombstones->value.class = &tombstones_class;
    tombstones->table = tombstone_table_new();
    count_bytes(tombstones);
    return &tombstones->value;
}

static unsigned slot_of_key(const RedisModuleString *key)
{
    size_t size;
    const char *name = RedisModule_StringPtrLen(key, &size);
    bool cluster = RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER;
    return cluster ? slot_of(name, size) : 0;
}

bool is_reserved(const RedisModuleString *name, const char *base)
{
    size_t size, begin = strlen(base), tag;
    const char *text = RedisModule_StringPtrLen(name, &size); /* ends in 0 */
    if (size < begin || memcmp(text, base, begin) != 0 || strlen(text) != size)
        return false;
    if (size == begin || strncmp(text + begin, ":{", 2) != 0)
        return size == begin;
    text += begin + 2;
    tag = strspn(text, "0123456789");
    return tag > 0 && strncmp(text + tag, "}:", 2) == 0 &&
           strspn(text + tag + 2, "0123456789abcdef") == NUMBER_DIGITS && text[tag + 2 + NUMBER_DIGITS] == '\0';
}

bool is_tombstones_key(const RedisModuleString *name)
{
    return is_reserved(name, TOMBSTONES_KEY);
}

bool is_reserved_key(const RedisModuleString *name)
{
    return is_tombstones_key(name) || is_links_key(name);
}

uint64_t generation_after(uint64_t generation)
{
    if (generation == 0 && !links_speak())
        return 0;
    return generation < LAST_GENERATION ? generation + 1 : LAST_GENERATION;
}

struct slot_check {
    unsigned slot;
    bool all;
};

static void check_slot(void *context, const struct tombstone *tombstone)
{
    struct slot_check *check = context;
    check->all &= slot_of((const char *)tombstone->name, tombstone->size) == check->slot;
}

static void walk_all(const struct tombstones *tombstones, void (*visit)(void *context, const struct tombstone *tombstone),
                     void *context)
{
    uint64_t place = 0;
    while (tombstone_table_walk(tombstones->table, &place, visit, context))
        continue;
}

static bool all_of_slot(const struct tombstones *tombstones, unsigned slot)
{
    struct slot_check check = {slot, true};
    walk_all(tombstones, check_slot, &check);
    return check.all;
}

bool tombstones_allow(const struct value *value, const RedisModuleString *name)
{
    bool table = value->class == &tombstones_class;
    if (table != is_tombstones_key(name) || (value->class == &links_class) != is_links_key(name))
        return false;
    if (!table)
        return true;
    bool cluster = RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER;
    return !cluster || all_of_slot((const struct tombstones *)value, slot_of_key(name));
}

/* Whether it was at one. */
static bool take_from_key(struct tombstones *tombstones)
{
    pthread_mutex_lock(&lock);
    RedisModuleString *key = tombstones->key;
    if (key) {
        struct tombstones **place = &by_slot[slot_of_key(key)];
        while (*place != tombstones)
            place = &(*place)->next;
        *place = tombstones->next;
        count_out(tombstones);
        tombstones->key = NULL;
        RedisModule_FreeString(NULL, key);
    }
    pthread_mutex_unlock(&lock);
    return key != NULL;
}

static void tombstones_free(struct value *value)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    take_from_key(tombstones);
    tombstone_table_free(tombstones->table);
    RedisModule_Free(tombstones);
}

/* ---- names ---------------------------------------------------------------------------------------------------------
 */

static uint64_t generation_in(const struct tombstones *tombstones, const void *name, size_t size)
{
    struct tombstone found;
    return tombstone_table_find(tombstones->table, &found, name, size) ? found.generation : 0;
}

static void note(struct tombstones *tombstones, const void *name, size_t size, uint64_t generation, uint64_t time)
{
    if (generation_in(tombstones, name, size) >= generation)
        return;
    links_saw_time(time);
    if (tombstones->key)
        count_out(tombstones);
    tombstone_table_put(tombstones->table, &(struct tombstone){name, size, generation, (uint32_t)time});
    if (tombstones->key)
        count_in(tombstones);
    count_bytes(tombstones);
}

static unsigned slot_of_bytes(const void *name, size_t size)
{
    bool cluster = RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER;
    return cluster ? slot_of(name, size) : 0;
}

uint64_t tombstones_generation(int database, const void *name, size_t size)
{
    uint64_t highest = 0;
    if (!tombstones_count())
        return 0;
    for (const struct tombstones *tombstones = by_slot[slot_of_bytes(name, size)]; tombstones;
         tombstones = tombstones->next) {
        uint64_t generation = tombstones->database == database ? generation_in(tombstones, name, size) : 0;
        highest = generation > highest ? generation : highest;
    }
    return highest;
}

uint64_t tombstones_time(int database, const RedisModuleString *name)
{
    struct tombstone found, highest = {0};
    roost_bytes bytes = argument_bytes(name);
    for (const struct tombstones *tombstones = by_slot[slot_of_key(name)]; tombstones; tombstones = tombstones->next)
        if (tombstones->database == database &&
            tombstone_table_find(tombstones->table, &found, bytes.data, bytes.size) &&
            found.generation > highest.generation)
            highest = found;
    return highest.time;
}

/* What others at this slot and database say. */
static uint64_t generation_elsewhere(const struct tombstones *tombstones, unsigned slot, const void *name, size_t size)
{
    uint64_t highest = 0;
    for (const struct tombstones *other = by_slot[slot]; other; other = other->next) {
        uint64_t generation = other->database == tombstones->database ? generation_in(other, name, size) : 0;
        highest = generation > highest ? generation : highest;
    }
    return highest;
}

static void arrive_one(void *context, const struct tombstone *tombstone)
{
    const struct tombstones *tombstones = context;
    registry_set_deleted(tombstones->database, tombstone->name, tombstone->size, tombstone->generation);
}

void tombstones_arrive(struct value *value, RedisModuleString *key, int database)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    tombstones_leave(value);
    if (!is_tombstones_key(key)) {
        RedisModule_Log(NULL, "warning", "tombstones at a key that is not reserved for them are ignored");
        return;
    }
    tombstones->key = RedisModule_CreateStringFromString(NULL, key);
    tombstones->database = database;
    links_heard();
    unsigned slot = slot_of_key(key);
    tombstones->next = by_slot[slot];
    by_slot[slot] = tombstones;
    count_in(tombstones);
    walk_all(tombstones, arrive_one, tombstones);
}

struct leaving {
    const struct tombstones *tombstones;
    unsigned slot;
};

static void leave_one(void *context, const struct tombstone *tombstone)
{
    const struct leaving *leaving = context;
    registry_lower_deleted(leaving->tombstones->database, tombstone->name, tombstone->size,
                           generation_elsewhere(leaving->tombstones, leaving->slot, tombstone->name, tombstone->size));
}

void tombstones_leave(struct value *value)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    struct leaving leaving = {tombstones, tombstones->key ? slot_of_key(tombstones->key) : 0};
    if (take_from_key(tombstones))
        walk_all(tombstones, leave_one, &leaving);
}

static void raise_one(void *context, const struct tombstone *tombstone)
{
    const struct tombstones *tombstones = context;
    registry_raise(tombstones->database, tombstone->name, tombstone->size, tombstone->generation);
}

void tombstones_catch_up(struct value *value)
{
    if (RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER)
        walk_all((const struct tombstones *)value, raise_one, value);
}

void tombstones_leave_all(int database)
{
    for (size_t slot = 0; slot < SLOTS; slot++)
        for (struct tombstones *tombstones = by_slot[slot], *next; tombstones; tombstones = next) {
            next = tombstones->next;
            if (database == ALL_DATABASES || tombstones->database == database)
                take_from_key(tombstones);
        }
}

/* ---- records -------------------------------------------------------------------------------------------------------
 */

/* The graves at a key, made where it is missing; NULL where it holds something else. */
static struct tombstones *tombstones_at(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name)
{
    struct value *value = NULL;
    if (!is_tombstones_key(name))
        return NULL;
    if (RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY) {
        value = tombstones_make();
        RedisModule_ModuleTypeSetValue(key, value_type, value);
        tombstones_arrive(value, name, RedisModule_GetSelectedDb(ctx));
    } else if (RedisModule_ModuleTypeGetType(key) == value_type) {
        value = RedisModule_ModuleTypeGetValue(key);
    }
    struct tombstones *tombstones = value && value->class == &tombstones_class ? (struct tombstones *)value : NULL;
    if (tombstones && !tombstones->key) /* databases changed places, and nobody has looked since */
        tombstones_arrive(value, name, RedisModule_GetSelectedDb(ctx));
    return tombstones;
}

/* What a name is at from now on. */
struct record {
    RedisModuleString *name;
    uint64_t generation; /* 0: it is forgotten */
    uint64_t time;
    bool raise; /* and so is the value that it holds */
};

static void forget_one(struct tombstones *tombstones, const void *name, size_t size)
{
    unsigned slot = slot_of_key(tombstones->key);
    count_out(tombstones);
    tombstone_table_remove(tombstones->table, name, size);
    count_in(tombstones);
    count_bytes(tombstones);
    registry_drop_tombstone(tombstones->database, name, size, generation_elsewhere(tombstones, slot, name, size));
}

static void write_into(struct tombstones *tombstones, const struct record *record)
{
    roost_bytes name = argument_bytes(record->name);
    if (!record->generation) {
        forget_one(tombstones, name.data, name.size);
        return;
    }
    note(tombstones, name.data, name.size, record->generation, record->time);
    registry_set_deleted(tombstones->database, name.data, name.size, record->generation);
    if (record->raise)
        registry_raise(tombstones->database, name.data, name.size, record->generation);
}

static bool write_down(RedisModuleCtx *ctx, RedisModuleString *place, const struct record *record)
{
    RedisModuleKey *key = RedisModule_OpenKey(ctx, place, REDISMODULE_READ | REDISMODULE_WRITE);
    struct tombstones *tombstones = tombstones_at(ctx, key, place);
    if (tombstones)
        write_into(tombstones, record);
    else
        RedisModule_Log(ctx, "warning", "%s holds no tombstones: a deletion is not remembered",
                        RedisModule_StringPtrLen(place, NULL));
    RedisModule_CloseKey(key);
    return tombstones != NULL;
}

/* The name of the key that takes the record; to be freed. */
static RedisModuleString *place_for(RedisModuleCtx *ctx, const RedisModuleString *name)
{
    if (!(RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_CLUSTER))
        return RedisModule_CreateString(NULL, TOMBSTONES_KEY, sizeof TOMBSTONES_KEY - 1);
    unsigned slot = slot_of_key(name), number = 0;
    if (by_slot[slot])
        return RedisModule_CreateStringFromString(NULL, by_slot[slot]->key);
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = 0;
    return RedisModule_CreateStringPrintf(NULL, TOMBSTONES_KEY ":{%u}:%08x", slot_tag(slot), number);
}

static void replicate(RedisModuleCtx *ctx, const struct record *record, RedisModuleString *place)
{
    if (record->raise)
        RedisModule_Replicate(ctx, "ROOST.GENERATION", "slslc", record->name, (long long)record->generation, place,
                              (long long)record->time, "RAISE");
    else
        RedisModule_Replicate(ctx, "ROOST.GENERATION", "slsl", record->name, (long long)record->generation, place,
                              (long long)record->time);
}

static void record_and_replicate(RedisModuleCtx *ctx, const struct record *record)
{
    RedisModuleString *place = place_for(ctx, record->name);
    if (write_down(ctx, place, record))
        replicate(ctx, record, place);
    RedisModule_FreeString(NULL, place);
}

void tombstones_record(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t generation)
{
    if (generation)
        record_and_replicate(ctx, &(struct record){name, generation, links_time(), false});
}

void tombstones_raise(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t generation)
{
    record_and_replicate(ctx, &(struct record){name, generation, links_time(), true});
}

int generation_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    long long generation, time = 0;
    if (argc < 4 || argc > 6)
        return RedisModule_WrongArity(ctx);
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary tells generations");
    if (!argument_number(argv[2], &generation, 0, INT64_MAX) ||
        (argc > 4 && !argument_number(argv[4], &time, 0, UINT32_MAX)))
        return RedisModule_ReplyWithError(ctx, "ERR invalid generation");
    struct record record = {argv[1], generation_within((uint64_t)generation), argc > 4 ? (uint64_t)time : links_time(),
                            argc > 5};
    write_down(ctx, argv[3], &record);
    RedisModule_ReplicateVerbatim(ctx);
    return reply_ok(ctx);
}

size_t tombstones_bytes(void)
{
    size_t bytes = 0;
    for (size_t slot = 0; slot < SLOTS; slot++)
        for (const struct tombstones *tombstones = by_slot[slot]; tombstones; tombstones = tombstones->next)
            bytes += tombstones->value.bytes;
    return bytes;
}

/* ---- dropping ------------------------------------------------------------------------------------------------------
 *
 * A walk through all tombstones of all keys, one bucket a turn of a timer. What may go is told to replicas name by
 * name, after the time below which this server has dropped any. Where a walk is under way already it will do.
 */

#define PAUSE        1  /* milliseconds between two buckets */
#define MOST_DROPPED 32 /* of one bucket */

static struct sweep {
    bool under_way, again;
    unsigned slot;
    const struct tombstones *tombstones; /* only compared: it may be gone */
    uint64_t place;
} sweep;

struct droppable {
    uint64_t limit, latest;
    size_t count;
    RedisModuleString *names[MOST_DROPPED];
};

static void collect(void *context, const struct tombstone *tombstone)
{
    struct droppable *droppable = context;
    if (tombstone->time >= droppable->limit || droppable->count == MOST_DROPPED)
        return;
    droppable->latest = tombstone->time > droppable->latest ? tombstone->time : droppable->latest;
    droppable->names[droppable->count++] =
        RedisModule_CreateString(NULL, (const char *)tombstone->name, tombstone->size);
}

static void drop_all(RedisModuleCtx *ctx, struct tombstones *tombstones, struct droppable *droppable)
{
    RedisModule_SelectDb(ctx, tombstones->database);
    if (droppable->count)
        links_drop(ctx, droppable->latest);
    for (size_t i = 0; i < droppable->count; i++) {
        struct record record = {droppable->names[i], 0, 0, false};
        write_into(tombstones, &record);
        replicate(ctx, &record, tombstones->key);
        RedisModule_FreeString(NULL, droppable->names[i]);
    }
}

/* Those of which it is the turn: the next of their slot, or the first of the next slot that has any. */
static struct tombstones *next_tombstones(void)
{
    struct tombstones *tombstones = by_slot[sweep.slot];
    while (tombstones && tombstones != sweep.tombstones)
        tombstones = tombstones->next;
    if (tombstones)
        return tombstones;
    tombstones = sweep.tombstones ? NULL : by_slot[sweep.slot];
    while (!tombstones && ++sweep.slot < SLOTS)
        tombstones = by_slot[sweep.slot];
    sweep.place = 0;
    return tombstones;
}

/* Whether there is more to look at. */
static bool sweep_bucket(RedisModuleCtx *ctx)
{
    struct droppable droppable = {.limit = links_limit()};
    struct tombstones *tombstones = next_tombstones();
    if (!tombstones || !droppable.limit)
        return false;
    uint64_t place = sweep.place;
    sweep.tombstones = tombstones;
    bool more = tombstone_table_walk(tombstones->table, &place, collect, &droppable);
    bool full = droppable.count == MOST_DROPPED;
    drop_all(ctx, tombstones, &droppable);
    if (full)
        return true; /* the same bucket once more */
    sweep.place = place;
    if (more)
        return true;
    sweep.tombstones = tombstones->next;
    sweep.place = 0;
    if (!tombstones->next)
        sweep.slot++;
    return sweep.slot < SLOTS;
}

static void sweep_on(RedisModuleCtx *ctx, void *unused)
{
    const char *error = NULL;
    (void)unused;
    if (may_write(ctx, &error) ? sweep_bucket(ctx) : !error) {
        RedisModule_CreateTimer(ctx, PAUSE, sweep_on, NULL);
        return;
    }
    sweep = (struct sweep){0};
}

void tombstones_sweep(RedisModuleCtx *ctx)
{
    if (sweep.under_way || !links_limit())
        return;
    sweep = (struct sweep){.under_way = true};
    RedisModule_CreateTimer(ctx, PAUSE, sweep_on, NULL);
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------
 */

/* In ascending order, as bytes are written. */
struct ordered {
    struct tombstone *all;
    size_t count, bytes;
};

static void take_note(void *context, const struct tombstone *tombstone)
{
    struct ordered *ordered = context;
    ordered->all[ordered->count++] = *tombstone;
    ordered->bytes += ENTRY_BYTES + TIME_BYTES + tombstone->size;
}

static int compare_names(const void *one, const void *other)
{
    const struct tombstone *a = one, *b = other;
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->name, b->name, size) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static void write_body(const struct ordered *ordered, uint8_t *body)
{
    for (size_t i = 0; i < ordered->count; i++) {
        const struct tombstone *tombstone = &ordered->all[i];
        struct header_place place = {body};
        header_write(&place, tombstone->generation, 8);
        header_write(&place, tombstone->time, TIME_BYTES);
        header_write(&place, tombstone->size, 4);
        memcpy(place.next, tombstone->name, tombstone->size);
        body = place.next + tombstone->size;
    }
}

static roost_status tombstones_tell(struct value *value, struct value_bytes *bytes, enum encoding encoding)
{
    const struct tombstones *tombstones = (const struct tombstones *)value;
    uint64_t count = tombstone_table_count(tombstones->table);
    struct ordered ordered = {.all = RedisModule_TryAlloc((count + 1) * sizeof(struct tombstone))};
    if (!ordered.all)
        return ROOST_NO_MEMORY;
    walk_all(tombstones, take_note, &ordered);
    qsort(ordered.all, ordered.count, sizeof *ordered.all, compare_names);
    bytes->body.allocator = value_allocator(value);
    bytes->body.data = value_allocate(value, ordered.bytes ? ordered.bytes : 1);
    bytes->body.size = bytes->body.data ? ordered.bytes : 0;
    if (bytes->body.data)
        write_body(&ordered, bytes->body.data);
    RedisModule_Free(ordered.all);
    struct header_place place = header_begin(bytes->header, value, encoding);
    header_write(&place, count, 8);
    header_write(&place, FORM, 8);
    header_end(bytes->header, place, bytes->body.size);
    return bytes->body.data ? ROOST_OK : ROOST_NO_MEMORY;
}

/* The next entry: its size, or 0 if it is none. */
static size_t read_entry(struct tombstone *entry, const uint8_t *bytes, size_t left, uint64_t form)
{
    struct header_place place = {(uint8_t *)(uintptr_t)bytes};
    size_t fixed = ENTRY_BYTES + (form ? TIME_BYTES : 0);
    if (left < fixed)
        return 0;
    entry->generation = header_read(&place, 8);
    entry->time = form ? (uint32_t)header_read(&place, TIME_BYTES) : (uint32_t)links_time();
    entry->size = (size_t)header_read(&place, 4);
    entry->name = place.next;
    bool good = entry->generation > 0 && entry->size <= LONGEST_NAME && entry->size <= left - fixed;
    return good ? fixed + entry->size : 0;
}

/* Names come once, and in order: what was read would be written just so. Only a file of the server's own may tell of
   generations beyond the last. */
static roost_status tombstones_take_in(struct value *value, const uint8_t *header, const void *body, size_t size,
                                       enum encoding encoding)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    struct header_place place = header_open(header);
    struct tombstone entry, before = {0};
    uint64_t count = 0, expected = header_read(&place, 8), form = header_read(&place, 8);
    if (form > FORM)
        return ROOST_VERSION;
    for (size_t done = 0, length; done < size; done += length, count++, before = entry) {
        length = read_entry(&entry, (const uint8_t *)body + done, size - done, form);
        if (!length || (count > 0 && compare_names(&before, &entry) >= 0) ||
            (entry.generation > LAST_GENERATION && encoding == ENCODE_COPY))
            return ROOST_CORRUPT;
        note(tombstones, entry.name, entry.size, generation_within(entry.generation), entry.time);
    }
    return expected == count ? ROOST_OK : ROOST_CORRUPT;
}

static void tombstones_digest(struct value *value, uint8_t digest[16])
{
    struct value_bytes bytes = {.body = {0}};
    sum128 sum = SUM128_START;
    if (tombstones_tell(value, &bytes, ENCODE_MIRROR) == ROOST_OK)
        sum = checksum_wide(sum, bytes.body.data, bytes.body.size);
    roost_buffer_release(&bytes.body);
    sum128_bytes(sum, digest);
}

const struct value_class tombstones_class = {.code = 2,
                                             .name = "graves",
                                             .free = tombstones_free,
                                             .encode = tombstones_tell,
                                             .decode = tombstones_take_in,
                                             .digest = tombstones_digest,
                                             .make = tombstones_make};
