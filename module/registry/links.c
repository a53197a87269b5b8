/*
 * See links.h.
 *
 * What is known is here once, in `known`; the key has a copy of it, made whenever it changes. Where keys of two nodes
 * come together because a slot has moved, what both say holds: the lower of two times for what was had.
 */
#include "links.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "module/base/arguments.h"
#include "tombstones.h"
#include "registry.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "slots.h"
#include "module/key/target.h"

#define MOST_REGIONS    64
#define BYTES_OF_REGION 32

struct region {
    uint64_t number;
    uint64_t had;       /* we had all that it wrote before, by its clock */
    uint64_t confirmed; /* it had all that we wrote before, by ours */
    uint64_t named;     /* when a link last named it, in linked time */
};

struct knowledge {
    uint64_t number, dropped;
    uint64_t trusted; /* an operator says that it may be merged as it is */
    uint64_t count;
    struct region regions[MOST_REGIONS]; /* ascending */
};

struct links {
    struct value value;
    struct knowledge knowledge;
};

static struct knowledge known;
static const struct links *home; /* the value that is at our key; NULL: there is none */
static RedisModuleString *home_key;
static bool spoken;
static uint64_t latest;       /* time that was ever seen */
static uint64_t last_message; /* of a link, by our clock; 0: none since this server was started */

bool links_speak(void)
{
    return spoken;
}

void links_heard(void)
{
    spoken = true;
}

bool is_links_key(const RedisModuleString *name)
{
    return is_reserved(name, LINKS_KEY);
}

/* ---- time ----------------------------------------------------------------------------------------------------------
 */

void links_saw_time(uint64_t time)
{
    latest = time > latest ? time : latest;
}

uint64_t links_time(void)
{
    links_saw_time((uint64_t)RedisModule_Milliseconds() / 1000);
    return latest;
}

/* The clock of a server that is started, or of a replica that is promoted, may be behind the one by which this was
   written. Whatever is written from now on must not look as if it had been agreed on. */
static void saw_times_of(const struct knowledge *knowledge)
{
    links_saw_time(knowledge->dropped);
    for (size_t i = 0; i < knowledge->count; i++)
        links_saw_time(knowledge->regions[i].confirmed);
}

/* ---- regions -------------------------------------------------------------------------------------------------------
 */

static size_t place_of(const struct knowledge *knowledge, uint64_t number)
{
    size_t place = 0;
    while (place < knowledge->count && knowledge->regions[place].number < number)
        place++;
    return place;
}

static struct region *find(struct knowledge *knowledge, uint64_t number)
{
    size_t place = place_of(knowledge, number);
    return place < knowledge->count && knowledge->regions[place].number == number ? &knowledge->regions[place] : NULL;
}

static void remove_at(struct knowledge *knowledge, size_t place)
{
    knowledge->count--;
    memmove(&knowledge->regions[place], &knowledge->regions[place + 1],
            (knowledge->count - place) * sizeof *knowledge->regions);
}

static void make_room(struct knowledge *knowledge)
{
    size_t oldest = 0;
    for (size_t i = 1; i < knowledge->count; i++)
        if (knowledge->regions[i].named < knowledge->regions[oldest].named)
            oldest = i;
    if (knowledge->count == MOST_REGIONS)
        remove_at(knowledge, oldest);
}

static struct region *find_or_add(struct knowledge *knowledge, uint64_t number)
{
    struct region *found = find(knowledge, number);
    if (found)
        return found;
    make_room(knowledge);
    size_t place = place_of(knowledge, number);
    memmove(&knowledge->regions[place + 1], &knowledge->regions[place],
            (knowledge->count - place) * sizeof *knowledge->regions);
    knowledge->count++;
    knowledge->regions[place] = (struct region){.number = number};
    return &knowledge->regions[place];
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * Linked time: seconds during which links spoke to this server. Silence of a region counts only while somebody could
 * have named it. So a message moves this clock by the time since the last message, and by a quarter of the retention at
 * most: neither a server that was down or cut off for weeks, nor a clock that was set ahead, makes a region late. What
 * was reached is what the region that was named last has.
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
    uint64_t now = links_time(), most = higher((uint64_t)settings.tombstone_retention / 4, 1);
    uint64_t passed = last_message ? lower(now - last_message, most) : 0;
    last_message = now;
    return linked_time() + passed;
}

/* What both say. Whoever knows nothing has nothing to say. */
static void bring_together(struct knowledge *one, const struct knowledge *other)
{
    if (!one->number) {
        *one = *other;
        return;
    }
    one->dropped = higher(one->dropped, other->dropped);
    one->trusted &= other->trusted;
    for (size_t i = 0; i < other->count; i++) {
        const struct region *theirs = &other->regions[i];
        struct region *ours = find(one, theirs->number);
        if (!ours) {
            *find_or_add(one, theirs->number) = (struct region){theirs->number, 0, 0, theirs->named};
            continue;
        }
        ours->had = lower(ours->had, theirs->had);
        ours->confirmed = lower(ours->confirmed, theirs->confirmed);
        ours->named = higher(ours->named, theirs->named);
    }
}

static bool counts(const struct region *region)
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
    const struct region *found = find(&known, region);
    return found && found->had > time;
}

/* ---- the value -----------------------------------------------------------------------------------------------------
 */

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
    const struct knowledge *knowledge = &((const struct links *)value)->knowledge;
    size_t size = knowledge->count * BYTES_OF_REGION;
    bytes->body.allocator = value_allocator(value);
    bytes->body.data = value_allocate(value, size ? size : 1);
    if (!bytes->body.data)
        return ROOST_NO_MEMORY;
    bytes->body.size = size;
    struct header_place place = header_begin(bytes->header, value, encoding), body = {bytes->body.data};
    header_write(&place, knowledge->number, 8);
    header_write(&place, knowledge->dropped, 8);
    header_write(&place, knowledge->trusted, 8);
    header_write(&place, knowledge->count, 8);
    header_end(bytes->header, place, size);
    for (size_t i = 0; i < knowledge->count; i++) {
        header_write(&body, knowledge->regions[i].number, 8);
        header_write(&body, knowledge->regions[i].had, 8);
        header_write(&body, knowledge->regions[i].confirmed, 8);
        header_write(&body, knowledge->regions[i].named, 8);
    }
    return ROOST_OK;
}

static bool is_number(uint64_t number)
{
    return number <= INT64_MAX;
}

static bool read_region(struct region *region, struct header_place *place, uint64_t before)
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
    struct knowledge *knowledge = &((struct links *)value)->knowledge;
    struct header_place place = header_open(header), entries = {(uint8_t *)(uintptr_t)body};
    (void)encoding;
    knowledge->number = header_read(&place, 8);
    knowledge->dropped = header_read(&place, 8);
    knowledge->trusted = header_read(&place, 8);
    uint64_t count = header_read(&place, 8);
    if (!is_number(knowledge->number) || !is_number(knowledge->dropped) || knowledge->trusted > 1 ||
        count > MOST_REGIONS || size != count * BYTES_OF_REGION)
        return ROOST_CORRUPT;
    for (uint64_t before = 0; knowledge->count < count; knowledge->count++) {
        if (!read_region(&knowledge->regions[knowledge->count], &entries, before))
            return ROOST_CORRUPT;
        before = knowledge->regions[knowledge->count].number;
    }
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

const struct value_class links_class = {.code = 3,
                                        .name = "links",
                                        .free = links_free,
                                        .encode = links_encode,
                                        .decode = links_decode,
                                        .digest = links_digest,
                                        .make = links_make};

/* ---- the key -------------------------------------------------------------------------------------------------------
 */

static void move_home(const struct links *links, const RedisModuleString *key)
{
    if (home_key)
        RedisModule_FreeString(NULL, home_key);
    home_key = key ? RedisModule_CreateStringFromString(NULL, key) : NULL;
    home = links;
}

void links_arrive(struct value *value, const RedisModuleString *key)
{
    const struct links *links = (const struct links *)value;
    if (!is_links_key(key))
        return;
    spoken = true;
    saw_times_of(&links->knowledge);
    bring_together(&known, &links->knowledge);
    move_home(links, key);
}

void links_leave(const struct value *value)
{
    if (home == (const struct links *)value)
        move_home(NULL, NULL);
}

void links_forget(void)
{
    known = (struct knowledge){0};
    move_home(NULL, NULL);
}

RedisModuleString *links_key(RedisModuleCtx *ctx)
{
    unsigned number = 0;
    if (home_key)
        return RedisModule_CreateStringFromString(NULL, home_key);
    if (!(RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_CLUSTER))
        return RedisModule_CreateString(NULL, LINKS_KEY, sizeof LINKS_KEY - 1);
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = 0;
    return RedisModule_CreateStringPrintf(NULL, LINKS_KEY ":{%u}:%08x", slot_tag(slot_of_ours(ctx)), number);
}

/* A copy of what is known goes to the key; false if that holds something else. */
static bool keep(RedisModuleCtx *ctx, RedisModuleString *name)
{
    RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
    struct value *value = NULL;
    if (RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY)
        RedisModule_ModuleTypeSetValue(key, value_type, value = links_make());
    else if (RedisModule_ModuleTypeGetType(key) == value_type)
        value = RedisModule_ModuleTypeGetValue(key);
    bool ours = value && value->class == &links_class;
    if (ours) {
        ((struct links *)value)->knowledge = known;
        move_home((struct links *)value, name);
        spoken = true;
    }
    RedisModule_CloseKey(key);
    return ours;
}

static bool store_and_replicate(RedisModuleCtx *ctx, RedisModuleString *name)
{
    size_t size;
    if (!keep(ctx, name))
        return false;
    uint8_t *bytes = value_encode_whole((struct value *)(uintptr_t)&home->value, &size, ENCODE_MIRROR);
    RedisModule_Replicate(ctx, "ROOST.LINK", "scb", name, "STATE", (const char *)bytes, size);
    RedisModule_Free(bytes);
    return true;
}

void links_drop(RedisModuleCtx *ctx, uint64_t time)
{
    if (known.dropped > time || !home_key)
        return;
    known.dropped = time + 1;
    RedisModuleString *name = links_key(ctx);
    store_and_replicate(ctx, name);
    RedisModule_FreeString(NULL, name);
}

/* ---- ROOST.LINK ----------------------------------------------------------------------------------------------------
 */

#define ERROR_PLACE "ERR not a key for ROOST.LINK: ROOST.SUMMARY tells which is"

static int reply_known(RedisModuleCtx *ctx)
{
    RedisModule_ReplyWithArray(ctx, 7);
    RedisModule_ReplyWithLongLong(ctx, (long long)known.number);
    RedisModule_ReplyWithLongLong(ctx, (long long)links_time());
    RedisModule_ReplyWithLongLong(ctx, (long long)registry.keys);
    RedisModule_ReplyWithLongLong(ctx, (long long)known.dropped);
    RedisModule_ReplyWithLongLong(ctx, settings.tombstone_retention);
    RedisModule_ReplyWithLongLong(ctx, (long long)known.trusted);
    RedisModule_ReplyWithArray(ctx, 2 * (long)known.count);
    for (size_t i = 0; i < known.count; i++) {
        RedisModule_ReplyWithLongLong(ctx, (long long)known.regions[i].number);
        RedisModule_ReplyWithLongLong(ctx, (long long)known.regions[i].had);
    }
    return REDISMODULE_OK;
}

/* Numbers that are not negative, into the pool of the command; NULL if one is something else. */
static uint64_t *read_numbers(RedisModuleCtx *ctx, RedisModuleString **argv, int count)
{
    uint64_t *numbers = RedisModule_PoolAlloc(ctx, sizeof *numbers * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        long long number;
        if (!argument_number(argv[i], &number, 0, INT64_MAX))
            return NULL;
        numbers[i] = (uint64_t)number;
    }
    return numbers;
}

/* Each is given the arguments behind the word; NULL, or the error. */
static const char *hello(const uint64_t *numbers, int count)
{
    if (count != 1)
        return ERROR_UNKNOWN;
    if (numbers[0] && (!known.number || numbers[0] < known.number)) /* of two links that name it at once */
        known.number = numbers[0];
    return NULL;
}

static void take_pairs(const uint64_t *numbers, int count, uint64_t confirmed)
{
    uint64_t linked = next_linked_time();
    for (int i = 0; i + 1 < count; i += 2) {
        if (!numbers[i] || numbers[i] == known.number)
            continue;
        struct region *region = find_or_add(&known, numbers[i]);
        region->had = higher(region->had, numbers[i + 1]);
        region->confirmed = higher(region->confirmed, confirmed);
        region->named = linked;
    }
}

static const char *join(const uint64_t *numbers, int count)
{
    if (count % 2)
        return ERROR_UNKNOWN;
    if (registry.keys)
        return "ERR there are keys already";
    take_pairs(numbers, count, 0);
    return NULL;
}

static const char *agreed(const uint64_t *numbers, int count)
{
    if (count % 2 == 0)
        return ERROR_UNKNOWN;
    if (numbers[0] > links_time())
        return "ERR the time is not of this server";
    take_pairs(numbers + 1, count - 1, numbers[0]);
    known.trusted = 0;
    return NULL;
}

static const char *hold(const uint64_t *numbers, int count)
{
    uint64_t linked = next_linked_time();
    for (int i = 0; i < count; i++)
        if (numbers[i] && numbers[i] != known.number)
            find_or_add(&known, numbers[i])->named = linked;
    return NULL;
}

static const char *trust(const uint64_t *numbers, int count)
{
    (void)numbers;
    if (count)
        return ERROR_UNKNOWN;
    known.trusted = 1;
    return NULL;
}

static const struct subcommand {
    const char *word;
    const char *(*act)(const uint64_t *numbers, int count);
} subcommands[] = {{"HELLO", hello}, {"JOIN", join}, {"AGREED", agreed}, {"HOLD", hold}, {"TRUST", trust}};

static int take_state(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct value *value = NULL;
    roost_bytes bytes = argc == 4 ? argument_bytes(argv[3]) : (roost_bytes){NULL, 0};
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary tells states");
    if (value_decode_whole(&value, bytes.data, bytes.size, ENCODE_MIRROR) != ROOST_OK || value->class != &links_class) {
        value_free(value);
        return RedisModule_ReplyWithError(ctx, ERROR_BAD_DATA);
    }
    known = ((const struct links *)value)->knowledge;
    saw_times_of(&known);
    value_free(value);
    keep(ctx, argv[1]);
    RedisModule_ReplicateVerbatim(ctx);
    return reply_ok(ctx);
}

int link_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    const struct subcommand *found = NULL;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    if (!is_links_key(argv[1]))
        return RedisModule_ReplyWithError(ctx, ERROR_PLACE);
    if (argument_is(argv[2], "STATE"))
        return take_state(ctx, argv, argc);
    registry_complete(ctx);
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        if (argument_is(argv[2], subcommands[i].word))
            found = &subcommands[i];
    const uint64_t *numbers = read_numbers(ctx, argv + 3, argc - 3);
    struct knowledge before = known;
    const char *error = found && numbers ? found->act(numbers, argc - 3) : ERROR_UNKNOWN;
    if (!error && !store_and_replicate(ctx, argv[1]))
        error = REDISMODULE_ERRORMSG_WRONGTYPE;
    if (error) {
        known = before;
        return RedisModule_ReplyWithError(ctx, error);
    }
    tombstones_sweep(ctx);
    return reply_known(ctx);
}
