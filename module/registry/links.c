/*
 * See links.h.
 *
 * The state is kept once, in `known`; the key has a copy of it, which is made whenever the state changes. When the keys
 * of two nodes come together because a slot has moved, the state is what both say: of two times, the lower one. One of
 * the two gets that state and the other one is deleted. If it stayed, it would be combined with a later state when the
 * server loads its data, and the region would seem to have missed what it had long ago.
 */
#include "links.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "module/base/checksum.h"
#include "module/base/context.h"
#include "module/base/settings.h"
#include "registry.h"
#include "slots.h"

#define BYTES_OF_REGION 32
#define KEEP_PAUSE      1000 /* milliseconds */

struct links {
    struct value value;
    struct link_state state;
};

static struct link_state known;

/* The keys that hold a record: the first is ours, others came with a slot. */
struct place {
    const struct links *links; /* only compared: it may be gone */
    RedisModuleString *key;
    int database;
    struct place *next;
};
static struct place *places;
static bool seen;
static bool unsaved;       /* the record has less than is known */
static uint64_t latest;    /* the latest time that was ever seen; 0: none */
static uint64_t latest_at; /* when that was, by a clock that cannot be set */
static bool clock_was_read;
static uint64_t last_message; /* of a link, by our clock; 0: none since the server was started */

bool links_seen(void)
{
    return seen;
}

void links_note_seen(void)
{
    seen = true;
}

const struct link_state *links_state(void)
{
    return &known;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/*
 * Time is counted from the latest time that was ever written, in seconds during which this process runs. The clock of
 * the machine may be set ahead or back; if it counted, a tombstone could be older than the retention a second after it
 * was written, while a link still carries the key that was deleted. So the clock is read once, when the server has
 * started, and moves the time by a quarter of the retention at most. (Without any record it is the time.)
 */
static uint64_t monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

static void set_time(uint64_t time)
{
    latest = time;
    latest_at = monotonic_seconds();
}

static uint64_t time_now(void)
{
    return latest + (latest ? monotonic_seconds() - latest_at : 0);
}

void links_saw_time(uint64_t time)
{
    if (time > time_now())
        set_time(time);
}

static uint64_t most_leap(void)
{
    return higher((uint64_t)settings.tombstone_retention / 4, 1);
}

uint64_t links_time(void)
{
    uint64_t clock = (uint64_t)RedisModule_Milliseconds() / 1000;
    if (!latest)
        set_time(clock);
    else if (!clock_was_read)
        links_saw_time(lower(clock, time_now() + most_leap()));
    clock_was_read = true;
    return time_now();
}

/* The clock of a server that is started, or of a replica that is promoted, may be behind the clock by which the state
   was written. Tombstones that are written from now on must not be older than what was agreed on. */
static void saw_times_of(const struct link_state *state)
{
    links_saw_time(state->dropped);
    for (size_t i = 0; i < state->count; i++)
        links_saw_time(state->regions[i].confirmed);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static size_t place_of(const struct link_state *state, uint64_t number)
{
    size_t place = 0;
    while (place < state->count && state->regions[place].number < number)
        place++;
    return place;
}

static struct link_region *find(struct link_state *state, uint64_t number)
{
    size_t place = place_of(state, number);
    return place < state->count && state->regions[place].number == number ? &state->regions[place] : NULL;
}

static void remove_at(struct link_state *state, size_t place)
{
    state->count--;
    memmove(&state->regions[place], &state->regions[place + 1], (state->count - place) * sizeof *state->regions);
}

static void make_room(struct link_state *state)
{
    size_t oldest = 0;
    for (size_t i = 1; i < state->count; i++)
        if (state->regions[i].named < state->regions[oldest].named)
            oldest = i;
    if (state->count == MOST_REGIONS)
        remove_at(state, oldest);
}

static struct link_region *find_or_add(struct link_state *state, uint64_t number)
{
    struct link_region *found = find(state, number);
    if (found)
        return found;
    make_room(state);
    size_t place = place_of(state, number);
    memmove(&state->regions[place + 1], &state->regions[place], (state->count - place) * sizeof *state->regions);
    state->count++;
    state->regions[place] = (struct link_region){.number = number};
    return &state->regions[place];
}

/*
 * Linked time: seconds during which links spoke to this server. The silence of a region counts only while a link could
 * have named it. So each message advances this clock by the time since the last message, but by a quarter of the
 * retention at most: a region does not become late because the server was down or cut off for weeks, or because its
 * clock was set ahead. The present linked time is that of the region that was named last.
 */
static uint64_t linked_time(void)
{
    uint64_t reached = 0;
    for (size_t i = 0; i < known.count; i++)
        reached = higher(reached, known.regions[i].named);
    return reached ? reached : links_time();
}

static uint64_t next_linked_time(void)
{
    uint64_t now = links_time(), most = most_leap();
    uint64_t passed = last_message ? lower(now - last_message, most) : 0;
    last_message = now;
    return linked_time() + passed;
}

/* Sets the first to what both say. A blank state says nothing. */
static void combine(struct link_state *one, const struct link_state *other)
{
    if (other->emptied && one->number)
        return;
    if (!one->number) {
        *one = *other;
        return;
    }
    one->emptied = false;
    one->dropped = higher(one->dropped, other->dropped);
    one->trusted &= other->trusted;
    for (size_t i = 0; i < other->count; i++) {
        const struct link_region *theirs = &other->regions[i];
        struct link_region *ours = find(one, theirs->number);
        if (!ours) {
            *find_or_add(one, theirs->number) = (struct link_region){theirs->number, 0, 0, theirs->named};
            continue;
        }
        ours->had = lower(ours->had, theirs->had);
        ours->confirmed = lower(ours->confirmed, theirs->confirmed);
        ours->named = higher(ours->named, theirs->named);
    }
}

static bool counts(const struct link_region *region)
{
    return region->named + (uint64_t)settings.tombstone_retention >= linked_time();
}

size_t links_regions(void)
{
    size_t count = 0;
    for (size_t i = 0; i < known.count; i++)
        count += counts(&known.regions[i]);
    return count;
}

uint64_t links_limit(void)
{
    uint64_t limit = UINT64_MAX, now = links_time(), retention = (uint64_t)settings.tombstone_retention;
    bool any = false;
    for (size_t i = 0; i < known.count; i++) {
        if (!counts(&known.regions[i]))
            continue;
        any = true;
        limit = lower(limit, known.regions[i].confirmed);
    }
    if (!any || !retention || now <= retention)
        return 0;
    return lower(limit, now - retention);
}

bool links_had(uint64_t region, uint64_t time)
{
    const struct link_region *found = find(&known, region);
    return found && found->had > time;
}

/* ---- the value --------------------------------------------------------------------------------------------------- */

static struct value *links_make(void)
{
    struct links *links = RedisModule_Calloc(1, sizeof *links);
    links->value.class = &links_class;
    links->value.bytes = sizeof *links;
    return &links->value;
}

static void links_free(struct value *value)
{
    RedisModule_Free(value);
}

static roost_status links_encode(struct value *value, struct value_bytes *bytes, enum encoding encoding)
{
    static const struct link_state blank;
    const struct link_state *known_there = &((const struct links *)value)->state;
    const struct link_state *state = known_there->emptied ? &blank : known_there;
    size_t size = state->count * BYTES_OF_REGION;
    bytes->body.allocator = value_allocator(value);
    bytes->body.data = value_allocate(value, size ? size : 1);
    if (!bytes->body.data)
        return ROOST_NO_MEMORY;
    bytes->body.size = size;
    struct header_place place = header_begin(bytes->header, value, encoding), body = {bytes->body.data};
    header_write(&place, state->number, 8);
    header_write(&place, state->dropped, 8);
    header_write(&place, state->trusted, 8);
    header_write(&place, state->count, 8);
    header_end(bytes->header, place, size);
    for (size_t i = 0; i < state->count; i++) {
        header_write(&body, state->regions[i].number, 8);
        header_write(&body, state->regions[i].had, 8);
        header_write(&body, state->regions[i].confirmed, 8);
        header_write(&body, state->regions[i].named, 8);
    }
    return ROOST_OK;
}

static bool is_number(uint64_t number)
{
    return number <= INT64_MAX;
}

static bool read_region(struct link_region *region, struct header_place *place, uint64_t before)
{
    region->number = header_read(place, 8);
    region->had = header_read(place, 8);
    region->confirmed = header_read(place, 8);
    region->named = header_read(place, 8);
    return region->number > before && is_number(region->number) && is_number(region->had) &&
           is_number(region->confirmed) && is_number(region->named);
}

static roost_status links_decode(struct value *value, const uint8_t *header, const void *body, size_t size,
                                 enum encoding encoding)
{
    struct link_state *state = &((struct links *)value)->state;
    struct header_place place = header_open(header), entries = {(uint8_t *)(uintptr_t)body};
    (void)encoding;
    state->number = header_read(&place, 8);
    state->dropped = header_read(&place, 8);
    state->trusted = header_read(&place, 8);
    uint64_t count = header_read(&place, 8);
    if (!is_number(state->number) || !is_number(state->dropped) || state->trusted > 1 || count > MOST_REGIONS ||
        size != count * BYTES_OF_REGION)
        return ROOST_CORRUPT;
    for (uint64_t before = 0; state->count < count; state->count++) {
        if (!read_region(&state->regions[state->count], &entries, before))
            return ROOST_CORRUPT;
        before = state->regions[state->count].number;
    }
    state->emptied = !state->number && !state->dropped && !state->trusted && !state->count;
    return ROOST_OK;
}

static void links_digest(struct value *value, uint8_t digest[16])
{
    struct value_bytes bytes = {.body = {0}};
    sum128 sum = SUM128_START;
    if (links_encode(value, &bytes, ENCODE_MIRROR) == ROOST_OK)
        sum = checksum_wide(checksum_wide(sum, bytes.header, HEADER_BYTES), bytes.body.data, bytes.body.size);
    roost_buffer_release(&bytes.body);
    sum128_bytes(sum, digest);
}

/* ---- the key ----------------------------------------------------------------------------------------------------- */

static void forget_place(const struct links *links)
{
    struct place **link = &places;
    while (*link && (*link)->links != links)
        link = &(*link)->next;
    struct place *place = *link;
    if (!place)
        return;
    *link = place->next;
    RedisModule_FreeString(NULL, place->key);
    RedisModule_Free(place);
}

static struct place *make_place(const struct links *links, const RedisModuleString *key, int database)
{
    forget_place(links);
    struct place *place = RedisModule_Alloc(sizeof *place);
    *place = (struct place){links, RedisModule_CreateStringFromString(NULL, key), database, NULL};
    return place;
}

static void put_first(const struct links *links, const RedisModuleString *key, int database)
{
    struct place *place = make_place(links, key, database);
    place->next = places;
    places = place;
}

static void put_last(const struct links *links, const RedisModuleString *key, int database)
{
    struct place *place = make_place(links, key, database), **link = &places;
    while (*link)
        link = &(*link)->next;
    *link = place;
}

/* What another node of the cluster knows. A slot that moves here does not empty the node. The record, which replicas
   have as it came, has to be stored again. */
static void combine_imported(const struct link_state *state)
{
    if (state->emptied)
        return;
    combine(&known, state);
    unsaved = true;
}

static void links_arrive(struct value *value, RedisModuleString *key, int database)
{
    const struct links *links = (const struct links *)value;
    if (!is_reserved_for(key, LINKS_KEY))
        return;
    seen = true;
    saw_times_of(&links->state);
    if (is_loading())
        combine(&known, &links->state);
    else
        combine_imported(&links->state);
    put_last(links, key, database);
}

static void links_leave(struct value *value)
{
    forget_place((const struct links *)value);
}

const struct value_class links_class = {.code = 3,
                                        .reserved = LINKS_KEY,
                                        .free = links_free,
                                        .encode = links_encode,
                                        .decode = links_decode,
                                        .digest = links_digest,
                                        .arrive = links_arrive,
                                        .leave = links_leave,
                                        .make = links_make};

void links_forget(bool all_keys)
{
    known = (struct link_state){.emptied = seen && all_keys};
    unsaved = false;
    while (places)
        forget_place(places->links);
}

static RedisModuleString *key_in_slot(unsigned slot)
{
    unsigned number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = 0;
    return RedisModule_CreateStringPrintf(NULL, LINKS_KEY ":{%u}:%08x", slot_tag(slot), number);
}

/* Our key, or one that may be created; NULL: no slot of this node stays here. */
static RedisModuleString *own_key(RedisModuleCtx *ctx)
{
    if (places)
        return RedisModule_CreateStringFromString(NULL, places->key);
    if (!is_cluster())
        return RedisModule_CreateString(NULL, LINKS_KEY, sizeof LINKS_KEY - 1);
    unsigned slot = slot_that_stays(ctx);
    return slot < SLOTS ? key_in_slot(slot) : NULL;
}

/* Without a slot, any name: the server sends the link to another node. */
RedisModuleString *links_key(RedisModuleCtx *ctx)
{
    RedisModuleString *key = own_key(ctx);
    return key ? key : key_in_slot(0);
}

/* Copies the state to the key, which is ours unless it is imported; false if the key holds something else. */
static bool copy_to_key(RedisModuleCtx *ctx, RedisModuleString *name, bool imported)
{
    RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
    struct value *value = NULL;
    if (RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY)
        RedisModule_ModuleTypeSetValue(key, value_type, value = links_make());
    else
        value = value_of_key(key);
    bool ours = value && value->class == &links_class;
    if (ours) {
        ((struct links *)value)->state = known;
        (imported ? put_last : put_first)((struct links *)value, name, RedisModule_GetSelectedDb(ctx));
        seen = true;
    }
    RedisModule_CloseKey(key);
    return ours;
}

/* Deletes the record, if it is still there. */
static void delete_at(RedisModuleCtx *ctx, const struct place *place)
{
    RedisModuleString *name = RedisModule_CreateStringFromString(NULL, place->key);
    RedisModule_SelectDb(ctx, place->database);
    RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
    bool there = key && (const struct links *)value_of_key(key) == place->links;
    forget_place(place->links);
    if (there) {
        RedisModule_DeleteKey(key);
        RedisModule_Replicate(ctx, "UNLINK", "s", name);
    }
    RedisModule_CloseKey(key);
    RedisModule_FreeString(NULL, name);
}

/* Ours has what they say. */
static void delete_others(RedisModuleCtx *ctx)
{
    while (places->next)
        delete_at(ctx, places->next);
}

/* Messages of links and the sweep of tombstones may be in another database. */
static bool copy_to_first_database(RedisModuleCtx *ctx, RedisModuleString *name, const uint8_t *bytes, size_t size,
                                   bool alone)
{
    int database = RedisModule_GetSelectedDb(ctx);
    RedisModule_SelectDb(ctx, 0);
    bool copied = copy_to_key(ctx, name, false);
    if (copied) {
        RedisModule_Replicate(ctx, "ROOST.LINK", "scb", name, "STATE", (const char *)bytes, size);
        if (alone)
            delete_others(ctx);
    }
    RedisModule_SelectDb(ctx, database);
    return copied;
}

static roost_status store(RedisModuleCtx *ctx, RedisModuleString *name, bool alone)
{
    size_t size;
    struct links record = {.value = {.class = &links_class}, .state = known};
    uint8_t *bytes = value_encode_whole(&record.value, &size, ENCODE_MIRROR);
    if (!bytes)
        return ROOST_NO_MEMORY;
    bool copied = copy_to_first_database(ctx, name, bytes, size, alone);
    unsaved &= !copied;
    RedisModule_Free(bytes);
    return copied ? ROOST_OK : ROOST_MISMATCH;
}

/* In a cluster a command must not open keys of other slots: newer servers look for them among those of its own slot.
   There the other records are deleted by the timer (keep_record). */
roost_status links_store(RedisModuleCtx *ctx, RedisModuleString *name)
{
    return store(ctx, name, !is_cluster());
}

static roost_status store_at_own_key(RedisModuleCtx *ctx)
{
    RedisModuleString *name = own_key(ctx);
    roost_status status = name ? store(ctx, name, true) : ROOST_MISMATCH;
    if (name)
        RedisModule_FreeString(NULL, name);
    return status;
}

bool links_note_dropped(RedisModuleCtx *ctx, uint64_t time)
{
    uint64_t before = known.dropped;
    if (before > time && places)
        return true;
    known.dropped = higher(before, time + 1);
    if (store_at_own_key(ctx) == ROOST_OK)
        return true;
    known.dropped = before;
    return false;
}

/* A blank record is for keys that would look old without it; a server that stays empty stays without one. */
static bool record_is_lost(void)
{
    return !places && (known.emptied ? registry.keys > 0 : known.number != 0);
}

static bool has_several(void)
{
    return places && places->next;
}

static void keep_record(RedisModuleCtx *ctx, void *unused)
{
    const char *error = NULL;
    (void)unused;
    if ((record_is_lost() || has_several() || unsaved) && may_write(ctx, &error))
        (void)store_at_own_key(ctx); /* if that is not possible now, once more later */
    links_keep(ctx);
}

void links_keep(RedisModuleCtx *ctx)
{
    RedisModule_CreateTimer(ctx, KEEP_PAUSE, keep_record, NULL);
}

/* ---- messages of links ------------------------------------------------------------------------------------------- */

void links_hello(uint64_t number)
{
    if (number && (!known.number || number < known.number)) /* two links may name the region at the same time */
        known.number = number;
}

static void take_pairs(const uint64_t *pairs, int count, uint64_t confirmed)
{
    uint64_t linked = next_linked_time();
    for (int i = 0; i + 1 < count; i += 2) {
        if (!pairs[i] || pairs[i] == known.number)
            continue;
        struct link_region *region = find_or_add(&known, pairs[i]);
        region->had = higher(region->had, pairs[i + 1]);
        region->confirmed = higher(region->confirmed, confirmed);
        region->named = linked;
    }
}

void links_agreed(uint64_t time, const uint64_t *pairs, int count)
{
    take_pairs(pairs, count, time);
    known.trusted = 0;
    known.emptied = false;
}

void links_join(const uint64_t *pairs, int count)
{
    take_pairs(pairs, count, 0);
    known.emptied = false;
}

bool links_emptied(void)
{
    return known.emptied;
}

void links_hold(const uint64_t *regions, int count)
{
    uint64_t linked = next_linked_time();
    for (int i = 0; i < count; i++)
        if (regions[i] && regions[i] != known.number)
            find_or_add(&known, regions[i])->named = linked;
}

void links_trust(void)
{
    known.trusted = 1;
}

void links_restore(const struct link_state *state)
{
    known = *state;
}

bool links_apply(RedisModuleCtx *ctx, RedisModuleString *key, const void *bytes, size_t size)
{
    struct value *value = NULL;
    bool imported = is_imported(ctx);
    bool valid = value_decode_whole(&value, bytes, size, ENCODE_MIRROR) == ROOST_OK && value->class == &links_class;
    if (valid && imported)
        combine_imported(&((const struct links *)value)->state);
    else if (valid)
        known = ((const struct links *)value)->state;
    value_free(value);
    if (!valid)
        return false;
    saw_times_of(&known);
    copy_to_key(ctx, key, imported);
    return true;
}
