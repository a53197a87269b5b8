/* See filter_value.h. */
#include "filter_value.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "module/base/context.h"
#include "module/base/imports.h"
#include "module/base/settings.h"
#include "timed.h"

#define INSERTED_KNOWN 1
#define CHANGES_SHIFT  8
#define WRITTEN        256       /* in the header, where earlier versions had the size of the journal */
#define MOST_READ      65536     /* the most that they wrote there */
#define MOST_CHANGES   (1 << 18) /* in the journal of a filter: 4 MB, which are copied once as it grows; */
#define PART_OF_MEMORY 8         /* and at most this part of the memory of the filter */
#define WORTH_TRYING   100000    /* elements; a smaller first table is always to be had */
#define MOST_MOVED     (1 << 13) /* entries, when a table gets more rows: each may touch a new page */
#define RANDOM_POOL    1024

/* ---- environment ------------------------------------------------------------------------------------------------- */

/* Draws many numbers at a time: a call of the kernel takes longer than the creation of a small filter. */
static bool draw_random(void *bytes, size_t size)
{
    static uint8_t pool[RANDOM_POOL];
    static size_t left;
    if (size > sizeof pool)
        return false;
    if (left < size && getrandom(pool, sizeof pool, 0) != (ssize_t)sizeof pool)
        return false;
    left = left < size ? sizeof pool : left;
    left -= size;
    memcpy(bytes, pool + left, size);
    memset(pool + left, 0, size);
    return true;
}

/* Of the filter to which an addition is being made: then a scalable Bloom filter draws for its actor. (All filters have
   the same environment, so that those with equal options can share it.) */
static uint64_t spent_identity; /* of the main thread, which makes all additions */

static bool draw(void *context, void *bytes, size_t size)
{
    (void)context;
    if (spent_identity && size == sizeof spent_identity) {
        memcpy(bytes, &spent_identity, size);
        return true;
    }
    return draw_random(bytes, size);
}

static roost_environment environment_of(struct filter_value *filter)
{
    return (roost_environment){.allocator = value_allocator(&filter->value),
                               .memory_limit = settings_machine_memory(),
                               .kicks = filter->shown.iterations > ROOST_DEFAULT_KICKS ? filter->shown.iterations : 0,
                               .entropy = {.draw = draw},
                               .journal = MOST_CHANGES,
                               .journal_part = PART_OF_MEMORY,
                               .most_moved = MOST_MOVED,
                               .count = value_count};
}

roost_environment environment_for_job(struct value *memory)
{
    return (roost_environment){
        .allocator = value_allocator(memory), .memory_limit = settings_machine_memory(), .count = value_count};
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static struct value *filter_make(void)
{
    static uint64_t objects;
    struct filter_value *filter = RedisModule_Calloc(1, sizeof *filter);
    filter->object = __atomic_add_fetch(&objects, 1, __ATOMIC_RELAXED);
    filter->value.class = &filter_class;
    filter->value.bytes = RedisModule_MallocSize(filter);
    return &filter->value;
}

const struct filter_extra no_extra;

struct filter_extra *filter_value_extra(struct filter_value *filter)
{
    if (!filter->extra) {
        filter->extra = RedisModule_Calloc(1, sizeof *filter->extra);
        filter->value.bytes += RedisModule_MallocSize(filter->extra);
    }
    return filter->extra;
}

static void filter_free(struct value *value)
{
    struct filter_value *filter = (struct filter_value *)value;
    roost_filter_free(filter->filter);
    RedisModule_Free(filter->extra);
    RedisModule_Free(filter);
}

/* A scalable filter allocates its first table with the first addition. To refuse a size that is too large now, a filter
   of fixed size is created for a moment. */
static roost_status can_grow(const roost_config *config, const roost_environment *environment)
{
    roost_filter *table = NULL;
    roost_config fixed = *config;
    fixed.scalable = false;
    fixed.writers = fixed.growth = fixed.schedule = 0;
    if (!config->scalable || config->window ||
        config->capacity < WORTH_TRYING) /* a window begins with very little memory */
        return ROOST_OK;
    roost_status status = roost_filter_new(&table, &fixed, environment);
    roost_filter_free(table);
    return status == ROOST_INVALID ? ROOST_OK : status;
}

/* A window allocates memory later, and must get it then. */
static roost_status check_grant(const struct filter_value *filter)
{
    return timed_grant(filter->filter) > settings.memory_limit ? ROOST_TOO_LARGE : ROOST_OK;
}

roost_status filter_value_new(struct filter_value **filter, const roost_config *config, struct shown shown)
{
    struct filter_value *made = (struct filter_value *)filter_make();
    made->shown = shown;
    made->inserted_known = true;
    made->value.limit = settings.memory_limit;
    roost_environment environment = environment_of(made);
    roost_config sized = *config;
    timed_recall_sizes(&sized);
    roost_status status = can_grow(config, &environment);
    if (status == ROOST_OK)
        status = roost_filter_new(&made->filter, &sized, &environment);
    if (status == ROOST_OK) {
        timed_note_sizes(config_of(made));
        status = check_grant(made);
    }
    made->value.limit = 0;
    if (status != ROOST_OK) {
        filter_free(&made->value);
        made = NULL;
    }
    *filter = made;
    return status;
}

/* What a primary, or a file of the server, has is not refused. */
static bool has_no_limit(enum encoding encoding)
{
    return encoding == ENCODE_MIRROR || (encoding == ENCODE_COPY && (is_decided_elsewhere() || is_importing()));
}

roost_status filter_value_import(struct filter_value **filter, const roost_config *config, struct shown shown,
                                 const roost_imported_part *parts, size_t count, enum encoding encoding)
{
    struct filter_value *made = (struct filter_value *)filter_make();
    made->shown = shown;
    made->inserted_known = true;
    made->value.limit = has_no_limit(encoding) ? 0 : settings.memory_limit;
    roost_environment environment = environment_of(made);
    roost_status status = roost_filter_new(&made->filter, config, &environment);
    if (status == ROOST_OK)
        status = roost_filter_import(made->filter, NULL, parts, count);
    made->value.limit = 0;
    if (status != ROOST_OK)
        filter_free(&made->value);
    *filter = status == ROOST_OK ? made : NULL;
    return status;
}

/* Without a filter, which will be decoded from a frame. */
static struct filter_value *make_for_frame(roost_environment *environment)
{
    struct filter_value *made = (struct filter_value *)filter_make();
    made->value.limit = settings.memory_limit;
    *environment = environment_of(made);
    return made;
}

static roost_status made_or_freed(struct filter_value **filter, struct filter_value *made, roost_status status)
{
    made->value.limit = 0;
    if (status == ROOST_OK)
        status = timed_is_ahead(made->filter) ? ROOST_CLOCK : check_grant(made);
    if (status != ROOST_OK)
        filter_free(&made->value);
    *filter = status == ROOST_OK ? made : NULL;
    return status;
}

roost_status filter_value_decode(struct filter_value **filter, const void *frame, size_t size)
{
    roost_environment environment;
    struct filter_value *made = make_for_frame(&environment);
    return made_or_freed(filter, made, roost_filter_decode(&made->filter, frame, size, &environment));
}

roost_status filter_value_open(struct filter_value **filter, const roost_merge_job *merging)
{
    roost_environment environment;
    struct filter_value *made = make_for_frame(&environment);
    return made_or_freed(filter, made, roost_merge_job_new_filter(merging, &made->filter, &environment));
}

bool filter_value_identify(struct filter_value *filter)
{
    uint64_t identity = 0;
    if (!spends_shares(filter) || extra_of(filter)->identity)
        return false;
    while (identity == 0)
        if (!draw_random(&identity, sizeof identity))
            return false;
    filter_value_extra(filter)->identity = identity;
    return true;
}

roost_status filter_value_add(struct filter_value *filter, bool *changed, size_t *done, const roost_bytes *keys,
                              size_t count)
{
    spent_identity = spends_shares(filter) ? extra_of(filter)->identity : 0;
    roost_status status = roost_filter_add_many(filter->filter, changed, done, keys, count);
    spent_identity = 0;
    for (size_t i = 0; i < *done; i++)
        filter->inserted += changed[i];
    return status;
}

static roost_info brief_of(const struct filter_value *filter)
{
    roost_info info;
    roost_filter_get_brief_info(filter->filter, &info);
    return info;
}

uint64_t filter_value_inserted(struct filter_value *filter)
{
    roost_info info;
    uint64_t imported = imported_of(filter).items;
    if (!is_bloom(filter) || spends_shares(filter))
        return brief_of(filter).inserted + imported;
    if (!filter->inserted_known) {
        roost_filter_estimate_info(filter->filter, &info);
        filter->inserted = (uint64_t)llround(info.elements - (double)imported);
        filter->inserted_known = true;
    }
    return filter->inserted + imported;
}

uint32_t filter_value_tables(const struct filter_value *filter)
{
    uint32_t tables = brief_of(filter).tables;
    return tables ? tables : 1;
}

uint64_t filter_value_capacity(const struct filter_value *filter)
{
    const roost_config *config = config_of(filter);
    uint64_t capacity = 0, table = config->capacity;
    for (uint32_t i = filter_value_tables(filter); i > 0; i--, table *= config->growth)
        capacity += table;
    return capacity;
}

/* ---- journal ----------------------------------------------------------------------------------------------------- */

roost_status filter_value_cursor(struct filter_value *filter, roost_cursor *cursor)
{
    roost_status status = roost_filter_get_cursor(filter->filter, cursor);
    if (status == ROOST_OK || filter->extra)
        filter_value_extra(filter)->replicated = status == ROOST_OK ? *cursor : (roost_cursor){0, 0};
    return status;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Whether the identity is part of the encoding. */
static bool encodes_identity(const struct filter_value *filter, enum encoding encoding)
{
    return spends_shares(filter) && (encoding == ENCODE_MIRROR || config_of(filter)->writers == 1);
}

void filter_value_header(const struct filter_value *filter, uint8_t header[HEADER_BYTES], enum encoding encoding)
{
    struct header_place place = header_begin(header, &filter->value, encoding);
    header_write(&place, filter->shown.expansion, 4);
    header_write(&place, filter->shown.bucket_size, 4);
    header_write(&place, filter->shown.iterations, 4);
    header_write(&place, WRITTEN << CHANGES_SHIFT | (filter->inserted_known ? INSERTED_KNOWN : 0), 4);
    header_write(&place, filter->inserted, 8);
    header_write(&place, encodes_identity(filter, encoding) ? extra_of(filter)->identity : 0, 8);
    header_end(header, place, 0);
}

static roost_status filter_encode(struct value *value, struct value_bytes *bytes, enum encoding encoding)
{
    struct filter_value *filter = (struct filter_value *)value;
    roost_status status = roost_filter_encode(filter->filter, &bytes->body);
    filter_value_header(filter, bytes->header, encoding);
    header_end(bytes->header, (struct header_place){bytes->header}, bytes->body.size);
    return status;
}

static bool read_fields(struct filter_value *filter, const uint8_t *header)
{
    struct header_place place = header_open(header);
    filter->shown.expansion = (uint32_t)header_read(&place, 4);
    filter->shown.bucket_size = (uint32_t)header_read(&place, 4);
    filter->shown.iterations = (uint32_t)header_read(&place, 4);
    uint64_t flags = header_read(&place, 4);
    filter->inserted = header_read(&place, 8);
    uint64_t identity = header_read(&place, 8);
    if (identity)
        filter_value_extra(filter)->identity = identity;
    filter->inserted_known = flags & INSERTED_KNOWN;
    uint64_t written = flags >> CHANGES_SHIFT;
    return (flags & ((1 << CHANGES_SHIFT) - 1)) <= INSERTED_KNOWN && written >= WRITTEN && written <= MOST_READ;
}

static roost_status filter_decode(struct value *value, const uint8_t *header, const void *body, size_t size,
                                  enum encoding encoding)
{
    struct filter_value *filter = (struct filter_value *)value;
    if (!read_fields(filter, header))
        return ROOST_CORRUPT;
    /* the server replicates COPY and RESTORE itself; no limit applies to the copies on replicas and in the AOF */
    bool decided = has_no_limit(encoding);
    value->limit = decided ? 0 : settings.memory_limit;
    roost_environment environment = environment_of(filter);
    roost_status status = roost_filter_decode(&filter->filter, body, size, &environment);
    value->limit = 0;
    if (status == ROOST_OK && !decided)
        status = check_grant(filter);
    if (status == ROOST_OK && !encodes_identity(filter, encoding) && filter->extra)
        filter->extra->identity = 0;
    return status;
}

/* Copies memory, without encoding. */
roost_status filter_value_copy(struct filter_value **copy, struct filter_value *filter, uint64_t pages)
{
    struct filter_value *made = (struct filter_value *)filter_make();
    roost_copy_job *copying = NULL;
    bool decided = has_no_limit(ENCODE_COPY), done = false;
    made->shown = filter->shown;
    made->inserted = filter->inserted;
    made->inserted_known = filter->inserted_known;
    if (encodes_identity(filter, ENCODE_COPY))
        filter_value_extra(made)->identity = extra_of(filter)->identity;
    made->value.limit = decided ? 0 : settings.memory_limit;
    roost_environment environment = environment_of(made);
    roost_status status = roost_copy_job_new(&copying, filter->filter, &environment);
    if (status == ROOST_OK)
        status = roost_copy_job_step(copying, filter->filter, &done, decided ? UINT64_MAX >> 1 : pages);
    if (status == ROOST_OK && done)
        made->filter = roost_copy_job_finish(copying);
    else
        roost_copy_job_free(copying);
    bool beyond = made->value.limit && made->value.bytes > made->value.limit; /* by what it shares with the original */
    made->value.limit = 0;
    if (status == ROOST_OK)
        status = !done || beyond ? ROOST_TOO_LARGE : decided ? ROOST_OK : check_grant(made);
    if (status != ROOST_OK)
        filter_free(&made->value);
    *copy = status == ROOST_OK ? made : NULL;
    return status;
}

/* The most that COPY copies: a few milliseconds. */
#define MOST_PAGES 1024

static struct value *filter_copy(struct value *value)
{
    struct filter_value *copy;
    roost_status status = filter_value_copy(&copy, (struct filter_value *)value, MOST_PAGES);
    if (status == ROOST_TOO_LARGE)
        RedisModule_Log(NULL, "warning",
                        "COPY of a filter of %zu bytes is refused: it would hold the server, or pass "
                        "roost.memory-limit. ROOST.MERGESTORE destination source does it while others are served",
                        value->bytes);
    return status == ROOST_OK ? &copy->value : NULL;
}

static void filter_digest(struct value *value, uint8_t digest[16])
{
    memcpy(digest, roost_filter_digest(((struct filter_value *)value)->filter).bytes, 16);
}

static roost_status filter_cursor(struct value *value, roost_cursor *cursor)
{
    return filter_value_cursor((struct filter_value *)value, cursor);
}

static bool filter_move(struct value *value, roost_mover *move, void *context, uint64_t *place)
{
    struct filter_value *filter = (struct filter_value *)value;
    return roost_filter_defragment(&filter->filter, place, move, context);
}

/* TYPE tells which commands serve a key. */
static RedisModuleType *filter_type(const struct value *value)
{
    const struct filter_value *filter = (const struct filter_value *)value;
    return is_for_bf(filter) ? bloom_type : is_for_cf(filter) ? cuckoo_type : value_type;
}

static bool filter_precompute_digest(struct value *value, uint64_t effort)
{
    return roost_filter_precompute_digest(((struct filter_value *)value)->filter, effort);
}

const struct value_class filter_class = {.code = 1,
                                         .free = filter_free,
                                         .encode = filter_encode,
                                         .decode = filter_decode,
                                         .digest = filter_digest,
                                         .cursor = filter_cursor,
                                         .precompute_digest = filter_precompute_digest,
                                         .move = filter_move,
                                         .copy = filter_copy,
                                         .type = filter_type,
                                         .make = filter_make};
