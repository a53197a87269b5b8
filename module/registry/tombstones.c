/*
 * See tombstones.h.
 *
 * The registry has the generation of keys that hold a value or were deleted lately; all others are looked up here. When
 * a holder is removed, the generation of each of its keys is what the other holders say, or 0.
 */
#include "tombstones.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "links.h"
#include "registry.h"
#include "slots.h"
#include "tombstone_table.h"

#define FORM         1  /* of the body */
#define ENTRY_BYTES  12 /* in the body, beside the key and, in form 1, the time */
#define TIME_BYTES   4
#define LONGEST_NAME ((size_t)512 << 20)

struct tombstones {
    struct value value;
    struct tombstone_table *table;
    RedisModuleString *holder; /* the key that it is at; NULL: none that we know of */
    int database;
    struct tombstones *next; /* of the same slot; without a cluster, of all */
};

static struct tombstones *by_slot[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* values are freed on any thread */
static uint64_t total;                                   /* tombstones of all holders */

uint64_t tombstones_count(void)
{
    return __atomic_load_n(&total, __ATOMIC_RELAXED);
}

/* These tombstones count from now on, or no longer. */
static void count_in(const struct tombstones *tombstones)
{
    __atomic_add_fetch(&total, tombstone_table_count(tombstones->table), __ATOMIC_RELAXED);
}

static void count_out(const struct tombstones *tombstones)
{
    __atomic_sub_fetch(&total, tombstone_table_count(tombstones->table), __ATOMIC_RELAXED);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

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
    const char *bytes = RedisModule_StringPtrLen(key, &size);
    return is_cluster() ? slot_of(bytes, size) : 0;
}

uint64_t generation_after(uint64_t generation)
{
    if (generation == 0 && !links_seen())
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
    check->all &= slot_of((const char *)tombstone->key, tombstone->size) == check->slot;
}

static void walk_all(const struct tombstones *tombstones,
                     void (*visit)(void *context, const struct tombstone *tombstone), void *context)
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

/* In a cluster a holder has tombstones of keys of its slot alone. */
static bool tombstones_fit(const struct value *value, const RedisModuleString *holder)
{
    return !is_cluster() || all_of_slot((const struct tombstones *)value, slot_of_key(holder));
}

/* Returns whether it was at a holder. */
static bool take_from_holder(struct tombstones *tombstones)
{
    pthread_mutex_lock(&lock);
    RedisModuleString *holder = tombstones->holder;
    if (holder) {
        struct tombstones **place = &by_slot[slot_of_key(holder)];
        while (*place != tombstones)
            place = &(*place)->next;
        *place = tombstones->next;
        count_out(tombstones);
        tombstones->holder = NULL;
        RedisModule_FreeString(NULL, holder);
    }
    pthread_mutex_unlock(&lock);
    return holder != NULL;
}

static void tombstones_free(struct value *value)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    take_from_holder(tombstones);
    tombstone_table_free(tombstones->table);
    RedisModule_Free(tombstones);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static uint64_t generation_in(const struct tombstones *tombstones, const void *key, size_t size)
{
    struct tombstone found;
    return tombstone_table_find(tombstones->table, &found, key, size) ? found.generation : 0;
}

static void note(struct tombstones *tombstones, const void *key, size_t size, uint64_t generation, uint64_t time)
{
    if (generation_in(tombstones, key, size) >= generation)
        return;
    links_saw_time(time);
    if (tombstones->holder)
        count_out(tombstones);
    tombstone_table_put(tombstones->table, &(struct tombstone){key, size, generation, (uint32_t)time});
    if (tombstones->holder)
        count_in(tombstones);
    count_bytes(tombstones);
}

static unsigned slot_of_bytes(const void *key, size_t size)
{
    return is_cluster() ? slot_of(key, size) : 0;
}

uint64_t tombstones_generation(int database, const void *key, size_t size)
{
    uint64_t highest = 0;
    if (!tombstones_count())
        return 0;
    for (const struct tombstones *tombstones = by_slot[slot_of_bytes(key, size)]; tombstones;
         tombstones = tombstones->next) {
        uint64_t generation = tombstones->database == database ? generation_in(tombstones, key, size) : 0;
        highest = generation > highest ? generation : highest;
    }
    return highest;
}

uint64_t tombstones_generation_of(RedisModuleCtx *ctx, RedisModuleString *key)
{
    roost_bytes bytes = argument_bytes(key);
    registry_complete(ctx);
    return tombstones_generation(RedisModule_GetSelectedDb(ctx), bytes.data, bytes.size);
}

uint64_t tombstones_time(int database, const RedisModuleString *key)
{
    struct tombstone found, highest = {0};
    roost_bytes bytes = argument_bytes(key);
    for (const struct tombstones *tombstones = by_slot[slot_of_key(key)]; tombstones; tombstones = tombstones->next)
        if (tombstones->database == database &&
            tombstone_table_find(tombstones->table, &found, bytes.data, bytes.size) &&
            found.generation > highest.generation)
            highest = found;
    return highest.time;
}

/* What the other holders of this slot and database say. */
static uint64_t generation_elsewhere(const struct tombstones *tombstones, unsigned slot, const void *key, size_t size)
{
    uint64_t highest = 0;
    for (const struct tombstones *other = by_slot[slot]; other; other = other->next) {
        uint64_t generation = other->database == tombstones->database ? generation_in(other, key, size) : 0;
        highest = generation > highest ? generation : highest;
    }
    return highest;
}

struct leaving {
    const struct tombstones *tombstones;
    unsigned slot;
};

static void leave_one(void *context, const struct tombstone *tombstone)
{
    const struct leaving *leaving = context;
    registry_lower_deleted(leaving->tombstones->database, tombstone->key, tombstone->size,
                           generation_elsewhere(leaving->tombstones, leaving->slot, tombstone->key, tombstone->size));
}

static void tombstones_leave(struct value *value)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    struct leaving leaving = {tombstones, tombstones->holder ? slot_of_key(tombstones->holder) : 0};
    if (take_from_holder(tombstones))
        walk_all(tombstones, leave_one, &leaving);
}

static void arrive_one(void *context, const struct tombstone *tombstone)
{
    const struct tombstones *tombstones = context;
    registry_set_deleted(tombstones->database, tombstone->key, tombstone->size, tombstone->generation);
}

static void tombstones_arrive(struct value *value, RedisModuleString *holder, int database)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    tombstones_leave(value);
    if (!is_reserved_for(holder, TOMBSTONES_KEY)) {
        RedisModule_Log(NULL, "warning", "tombstones at a key that is not reserved for them are ignored");
        return;
    }
    tombstones->holder = RedisModule_CreateStringFromString(NULL, holder);
    tombstones->database = database;
    links_note_seen();
    unsigned slot = slot_of_key(holder);
    tombstones->next = by_slot[slot];
    by_slot[slot] = tombstones;
    count_in(tombstones);
    walk_all(tombstones, arrive_one, tombstones);
}

static void raise_one(void *context, const struct tombstone *tombstone)
{
    const struct tombstones *tombstones = context;
    registry_raise(tombstones->database, tombstone->key, tombstone->size, tombstone->generation);
}

void tombstones_catch_up(struct value *value)
{
    if (is_cluster())
        walk_all((const struct tombstones *)value, raise_one, value);
}

void tombstones_leave_all(int database)
{
    for (size_t slot = 0; slot < SLOTS; slot++)
        for (struct tombstones *tombstones = by_slot[slot], *next; tombstones; tombstones = next) {
            next = tombstones->next;
            if (database == ALL_DATABASES || tombstones->database == database)
                take_from_holder(tombstones);
        }
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* The tombstones at a holder, which is created if it is missing; NULL if the key holds something else. */
static struct tombstones *tombstones_at(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *holder)
{
    struct value *value = NULL;
    if (!is_reserved_for(holder, TOMBSTONES_KEY))
        return NULL;
    if (RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY) {
        value = tombstones_make();
        RedisModule_ModuleTypeSetValue(key, value_type, value);
        tombstones_arrive(value, holder, RedisModule_GetSelectedDb(ctx));
    } else {
        value = value_of_key(key);
    }
    struct tombstones *tombstones = value && value->class == &tombstones_class ? (struct tombstones *)value : NULL;
    if (tombstones && !tombstones->holder) /* databases were swapped, and the registry is not complete yet */
        tombstones_arrive(value, holder, RedisModule_GetSelectedDb(ctx));
    return tombstones;
}

static void drop_one(struct tombstones *tombstones, const void *key, size_t size)
{
    unsigned slot = slot_of_key(tombstones->holder);
    count_out(tombstones);
    tombstone_table_remove(tombstones->table, key, size);
    count_in(tombstones);
    count_bytes(tombstones);
    registry_drop_tombstone(tombstones->database, key, size, generation_elsewhere(tombstones, slot, key, size));
}

static void write_into(struct tombstones *tombstones, const struct tombstone_record *record)
{
    roost_bytes key = argument_bytes(record->key);
    if (!record->generation) {
        drop_one(tombstones, key.data, key.size);
        return;
    }
    note(tombstones, key.data, key.size, record->generation, record->time);
    registry_set_deleted(tombstones->database, key.data, key.size, record->generation);
    if (record->raise)
        registry_raise(tombstones->database, key.data, key.size, record->generation);
}

static bool store(RedisModuleCtx *ctx, RedisModuleString *holder, const struct tombstone_record *record)
{
    RedisModuleKey *key = RedisModule_OpenKey(ctx, holder, REDISMODULE_READ | REDISMODULE_WRITE);
    struct tombstones *tombstones = tombstones_at(ctx, key, holder);
    if (tombstones)
        write_into(tombstones, record);
    else
        RedisModule_Log(ctx, "warning", "%s holds no tombstones: a deletion is not remembered",
                        RedisModule_StringPtrLen(holder, NULL));
    RedisModule_CloseKey(key);
    return tombstones != NULL;
}

/* The holder for a tombstone of this key; to be freed. */
static RedisModuleString *holder_for(const RedisModuleString *key)
{
    if (!is_cluster())
        return RedisModule_CreateString(NULL, TOMBSTONES_KEY, sizeof TOMBSTONES_KEY - 1);
    unsigned slot = slot_of_key(key), number = 0;
    if (by_slot[slot])
        return RedisModule_CreateStringFromString(NULL, by_slot[slot]->holder);
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = 0;
    return RedisModule_CreateStringPrintf(NULL, TOMBSTONES_KEY ":{%u}:%08x", slot_tag(slot), number);
}

static void replicate(RedisModuleCtx *ctx, const struct tombstone_record *record, RedisModuleString *holder)
{
    if (record->raise)
        RedisModule_Replicate(ctx, "ROOST.GENERATION", "slslc", record->key, (long long)record->generation, holder,
                              (long long)record->time, "RAISE");
    else
        RedisModule_Replicate(ctx, "ROOST.GENERATION", "slsl", record->key, (long long)record->generation, holder,
                              (long long)record->time);
}

static void record_and_replicate(RedisModuleCtx *ctx, const struct tombstone_record *record)
{
    RedisModuleString *holder = holder_for(record->key);
    if (store(ctx, holder, record))
        replicate(ctx, record, holder);
    RedisModule_FreeString(NULL, holder);
}

void tombstones_record(RedisModuleCtx *ctx, RedisModuleString *key, uint64_t generation)
{
    if (generation)
        record_and_replicate(ctx, &(struct tombstone_record){key, generation, links_time(), false});
}

void tombstones_raise(RedisModuleCtx *ctx, RedisModuleString *key, uint64_t generation)
{
    record_and_replicate(ctx, &(struct tombstone_record){key, generation, links_time(), true});
}

void tombstones_apply(RedisModuleCtx *ctx, RedisModuleString *holder, const struct tombstone_record *record)
{
    store(ctx, holder, record);
}

size_t tombstones_bytes(void)
{
    size_t bytes = 0;
    for (size_t slot = 0; slot < SLOTS; slot++)
        for (const struct tombstones *tombstones = by_slot[slot]; tombstones; tombstones = tombstones->next)
            bytes += tombstones->value.bytes;
    return bytes;
}

/* ---- dropping -------------------------------------------------------------------------------------------------------
 *
 * A walk through all tombstones of all holders, one bucket each time a timer fires. First the time below which this
 * server has dropped tombstones is replicated, then the removal of each tombstone. If a walk is under way already,
 * another one is not started.
 */

#define PAUSE        1  /* milliseconds between two buckets */
#define MOST_DROPPED 32 /* of one bucket */

static struct sweep {
    bool under_way;
    unsigned slot;
    const struct tombstones *tombstones; /* only compared: it may be gone */
    uint64_t place;
} sweep;

struct droppable {
    uint64_t limit, latest;
    size_t count;
    RedisModuleString *keys[MOST_DROPPED];
};

static void collect(void *context, const struct tombstone *tombstone)
{
    struct droppable *droppable = context;
    if (tombstone->time >= droppable->limit || droppable->count == MOST_DROPPED)
        return;
    droppable->latest = tombstone->time > droppable->latest ? tombstone->time : droppable->latest;
    droppable->keys[droppable->count++] = RedisModule_CreateString(NULL, (const char *)tombstone->key, tombstone->size);
}

/* False: other regions would not learn of it, so they are kept. */
static bool drop_all(RedisModuleCtx *ctx, struct tombstones *tombstones, struct droppable *droppable)
{
    bool noted = droppable->count == 0 || links_note_dropped(ctx, droppable->latest);
    RedisModule_SelectDb(ctx, tombstones->database);
    for (size_t i = 0; i < droppable->count; i++) {
        struct tombstone_record record = {droppable->keys[i], 0, 0, false};
        if (noted) {
            write_into(tombstones, &record);
            replicate(ctx, &record, tombstones->holder);
        }
        RedisModule_FreeString(NULL, droppable->keys[i]);
    }
    return noted;
}

/* The next holder: of the same slot, or the first of the next slot that has any. */
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

/* Returns whether there is more to look at. */
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
    if (!drop_all(ctx, tombstones, &droppable))
        return false; /* the next message of a link begins again */
    if (full)
        return true; /* the same bucket again */
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

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* In ascending order, as they are encoded. */
struct ordered {
    struct tombstone *all;
    size_t count, bytes;
};

static void collect_ordered(void *context, const struct tombstone *tombstone)
{
    struct ordered *ordered = context;
    ordered->all[ordered->count++] = *tombstone;
    ordered->bytes += ENTRY_BYTES + TIME_BYTES + tombstone->size;
}

static int compare_keys(const void *one, const void *other)
{
    const struct tombstone *a = one, *b = other;
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->key, b->key, size) : 0;
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
        memcpy(place.next, tombstone->key, tombstone->size);
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
    walk_all(tombstones, collect_ordered, &ordered);
    qsort(ordered.all, ordered.count, sizeof *ordered.all, compare_keys);
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

/* Returns the size of the entry, or 0 if it is not valid. */
static size_t read_entry(struct tombstone *entry, const uint8_t *bytes, size_t left, uint64_t form)
{
    struct header_place place = {(uint8_t *)(uintptr_t)bytes};
    size_t fixed = ENTRY_BYTES + (form ? TIME_BYTES : 0);
    if (left < fixed)
        return 0;
    entry->generation = header_read(&place, 8);
    entry->time = form ? (uint32_t)header_read(&place, TIME_BYTES) : (uint32_t)links_time();
    entry->size = (size_t)header_read(&place, 4);
    entry->key = place.next;
    bool good = entry->generation > 0 && entry->size <= LONGEST_NAME && entry->size <= left - fixed;
    return good ? fixed + entry->size : 0;
}

/* Keys are unique and in order, so that what is decoded would be encoded to the same bytes. Only a file of the server
   itself may have generations beyond the last. */
static roost_status tombstones_take_in(struct value *value, const uint8_t *header, const void *body, size_t size,
                                       enum encoding encoding)
{
    struct tombstones *tombstones = (struct tombstones *)value;
    struct header_place place = header_open(header);
    struct tombstone entry, before = {0};
    uint64_t count = 0, expected = header_read(&place, 8), form = header_read(&place, 8);
    if (form > FORM)
        return ROOST_UNSUPPORTED_VERSION;
    for (size_t done = 0, length; done < size; done += length, count++, before = entry) {
        length = read_entry(&entry, (const uint8_t *)body + done, size - done, form);
        if (!length || (count > 0 && compare_keys(&before, &entry) >= 0) ||
            (entry.generation > LAST_GENERATION && encoding != ENCODE_MIRROR))
            return ROOST_CORRUPT;
        note(tombstones, entry.key, entry.size, generation_within(entry.generation), entry.time);
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
                                             .reserved = TOMBSTONES_KEY,
                                             .free = tombstones_free,
                                             .encode = tombstones_tell,
                                             .decode = tombstones_take_in,
                                             .digest = tombstones_digest,
                                             .fits = tombstones_fit,
                                             .arrive = tombstones_arrive,
                                             .leave = tombstones_leave,
                                             .make = tombstones_make};
