/*
 * CF.*: cuckoo filters as client libraries expect them. They are observed-remove filters of the library in multiset
 * mode: each addition is an entry of its own, CF.COUNT counts them, CF.DEL removes one.
 *
 * With EXPANSION 0 they have a fixed size, otherwise they grow in one table of hash prefixes (value/reserved.h).
 * Filters that RedisBloom made are imported parts of one (roost/imported.h): all commands include them, CF.DEL too.
 *
 * Differences from the arguments: BUCKETSIZE is rounded up to 1, 2, 4 or 8, EXPANSION to 2, 4 or 8; MAXITERATIONS is at
 * least that of the library. INFO shows the arguments. CF.DEL of an item that was never added removes another one with
 * a probability of 1 in 8,192 at most, in filters of fixed size, whose fingerprints have 24 bits or more, far less.
 */
#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/job/batch.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "module/value/reserved.h"
#include "commands.h"
#include "dumps.h"
#include "items.h"
#include "load_chunk.h"

#define MOST_EXPANSION   32768
#define MOST_BUCKET_SIZE 255
#define MOST_ITERATIONS  65535
#define REFUSAL          "Couldn't create filter!"

struct reserve {
    struct cf_options options;
    bool no_create;
};

static struct reserve defaults(void)
{
    return (struct reserve){.options = {.capacity = settings.cf_capacity,
                                        .bucket_size = settings.cf_bucket_size,
                                        .iterations = settings.cf_max_iterations,
                                        .expansion = settings.cf_expansion}};
}

static roost_status create(struct target *target, const void *options)
{
    const struct reserve *reserve = options;
    roost_config config = cf_config(&reserve->options);
    return target_create(target, &config, cf_shown(&reserve->options));
}

static bool is_ours(const struct target *target)
{
    return target->filter && is_for_cf(target->filter);
}

/* ---- CF.RESERVE -------------------------------------------------------------------------------------------------- */

static const char *read_capacity(struct reserve *reserve, const RedisModuleString *argument)
{
    if (!argument_number(argument, &reserve->options.capacity, 1, INT64_MAX))
        return "Bad capacity";
    return reserve->options.capacity > MOST_RESERVED_CAPACITY ? memory_error() : NULL;
}

struct option {
    long long *place, least, most;
    const char *bad, *out_of_range;
};

static const char *read_option(const struct option *option, const RedisModuleString *value)
{
    if (RedisModule_StringToLongLong(value, option->place) != REDISMODULE_OK)
        return option->bad;
    return *option->place < option->least || *option->place > option->most ? option->out_of_range : NULL;
}

static const char *read_reserve_option(struct reserve *reserve, const RedisModuleString *name,
                                       const RedisModuleString *value)
{
    static const char *const words[] = {"BUCKETSIZE", "MAXITERATIONS", "EXPANSION", NULL};
    struct option options[] = {
        {&reserve->options.bucket_size, 1, MOST_BUCKET_SIZE, "Couldn't parse BUCKETSIZE",
         "BUCKETSIZE: value must be an integer between 1 and 255, inclusive."},
        {&reserve->options.iterations, 1, MOST_ITERATIONS, "Couldn't parse MAXITERATIONS",
         "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive."},
        {&reserve->options.expansion, 0, MOST_EXPANSION, "Couldn't parse EXPANSION",
         "EXPANSION: value must be an integer between 0 and 32768, inclusive."},
    };
    int option = argument_among(name, words);
    return option < 0 ? ERROR_UNKNOWN : read_option(&options[option], value);
}

static const char *read_reserve(struct reserve *reserve, RedisModuleString **argv, int argc)
{
    const char *error = read_capacity(reserve, argv[2]);
    for (int i = 3; i < argc && !error; i += 2)
        error = read_reserve_option(reserve, argv[i], argv[i + 1]);
    if (!error && reserve->options.bucket_size * 2 > reserve->options.capacity)
        error = "Capacity must be at least (BucketSize * 2)";
    return error;
}

static int reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct reserve reserve = defaults();
    if (argc < 3 || argc % 2 == 0)
        return RedisModule_WrongArity(ctx);
    const char *error = read_reserve(&reserve, argv, argc);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (is_ours(&target)) {
        target_close(&target);
        return RedisModule_ReplyWithError(ctx, ERROR_EXISTS);
    }
    if (!target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_status status = create(&target, &reserve);
    if (status == ROOST_OK)
        target_changed(&target, "cf.reserve");
    target_close(&target);
    return status == ROOST_OK ? reply_ok(ctx) : reply_creation_error(ctx, status, REFUSAL);
}

/* ---- additions --------------------------------------------------------------------------------------------------- */

static const char *add_error(const struct target *target, roost_status status)
{
    if (status == ROOST_FULL)
        return config_of(target->filter)->scalable ? ERROR_CF_EXPANSION : ERROR_CF_FULL;
    return status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE ? memory_error() : ERROR_CF_FULL;
}

static bool open_to_add(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct reserve *reserve)
{
    struct adding adding = {is_ours, create, REFUSAL, reserve, reserve->no_create};
    return target_open_to_add(target, ctx, name, &adding);
}

static bool is_in(const struct target *target, roost_bytes key)
{
    return roost_filter_contains(target->filter->filter, key.data, key.size);
}

static roost_status add_one(struct target *target, bool *added, RedisModuleString **item, bool only_new)
{
    size_t done;
    roost_bytes key = argument_bytes(*item);
    *added = false;
    if (only_new && is_in(target, key))
        return ROOST_OK;
    roost_status status = target_add(target, added, &done, &key, item, 1);
    *added = status == ROOST_OK;
    return status;
}

static int add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool only_new)
{
    struct target target;
    struct reserve reserve = defaults();
    bool added;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!open_to_add(&target, ctx, argv[1], &reserve))
        return REDISMODULE_OK;
    roost_status status = add_one(&target, &added, argv + 2, only_new);
    const char *error = status == ROOST_OK ? NULL : add_error(&target, status);
    if (added)
        target_changed(&target, "cf.add");
    target_close(&target);
    return error ? RedisModule_ReplyWithError(ctx, error) : RedisModule_ReplyWithBool(ctx, added);
}

static int add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return add(ctx, argv, argc, false);
}

static int addnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return add(ctx, argv, argc, true);
}

/* Reads options up to ITEMS; returns the index after it, or 0 with the error. Without ITEMS, and where a value is
   missing, it is that of the end. */
static int read_insert_options(struct reserve *reserve, const char **error, RedisModuleString **argv, int argc)
{
    static const char *const words[] = {"CAPACITY", "NOCREATE", "ITEMS", NULL};
    *error = NULL;
    for (int i = 2; i < argc; i++) {
        int option = argument_among(argv[i], words);
        if (option == 2)
            return i + 1;
        if (option == 0)
            *error = ++i < argc ? read_capacity(reserve, argv[i]) : NULL;
        else if (option == 1)
            reserve->no_create = true;
        else
            *error = ERROR_UNKNOWN;
        if (*error)
            return 0;
    }
    return argc;
}

/* Results: 1 added, 0 there already (INSERTNX), -1 no room. The batch continues after an item that is refused. */
static void insert_one_by_one(struct target *target, struct batch_items items, bool only_new)
{
    for (size_t i = 0; i < items.count; i++) {
        bool added;
        roost_status status = add_one(target, &added, items.items + i, only_new);
        items.results[i] = status == ROOST_OK ? added : -1;
    }
}

static roost_status insert_new_slice(struct target *target, size_t *done, struct batch_items items)
{
    insert_one_by_one(target, items, true);
    target_changed(target, "cf.insert");
    *done = items.count;
    return ROOST_OK;
}

/* All at once while there is room, which is several times as fast. */
static roost_status insert_slice(struct target *target, size_t *done, struct batch_items items)
{
    bool changed[BATCH_SLICE];
    roost_bytes keys[BATCH_SLICE] = {{0}};
    batch_keys(&items, keys);
    (void)target_add(target, changed, done, keys, items.items, items.count);
    for (size_t i = 0; i < *done; i++)
        items.results[i] = 1;
    insert_one_by_one(target, (struct batch_items){items.items + *done, items.results + *done, items.count - *done},
                      false);
    target_changed(target, "cf.insert");
    *done = items.count;
    return ROOST_OK;
}

static int reply_insert_new(RedisModuleCtx *ctx, const int *results, size_t count, roost_status status,
                            const char *error)
{
    (void)status;
    (void)error;
    RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t i = 0; i < count; i++)
        RedisModule_ReplyWithLongLong(ctx, results[i]);
    return REDISMODULE_OK;
}

static int reply_insert(RedisModuleCtx *ctx, const int *results, size_t count, roost_status status, const char *error)
{
    if (!(RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3))
        return reply_insert_new(ctx, results, count, status, error);
    RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t i = 0; i < count; i++)
        RedisModule_ReplyWithBool(ctx, results[i] == 1);
    return REDISMODULE_OK;
}

static const struct batch_verb insert_verb = {insert_slice, reply_insert, add_error};
static const struct batch_verb insert_new_verb = {insert_new_slice, reply_insert_new, add_error};

static int insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool only_new)
{
    struct target target;
    struct reserve reserve = defaults();
    const char *error;
    if (argc < 4)
        return RedisModule_WrongArity(ctx);
    int at = read_insert_options(&reserve, &error, argv, argc);
    if (!error && reserve.options.capacity < reserve.options.bucket_size * 2)
        error = "Capacity must be at least (BucketSize * 2)";
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    if (at >= argc)
        return RedisModule_WrongArity(ctx);
    if (!open_to_add(&target, ctx, argv[1], &reserve))
        return REDISMODULE_OK;
    return batch_run(&target, only_new ? &insert_new_verb : &insert_verb, argv + at, (size_t)(argc - at));
}

static int insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return insert(ctx, argv, argc, false);
}

static int insertnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return insert(ctx, argv, argc, true);
}

/* ---- queries and removal ----------------------------------------------------------------------------------------- */

static int exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return reply_contained(ctx, argv, argc, &(struct membership_query){.takes = is_ours, .single = true});
}

static int mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return reply_contained(ctx, argv, argc, &(struct membership_query){.takes = is_ours});
}

static int count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    roost_bytes key = argument_bytes(argv[2]);
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    uint64_t count = is_ours(&target) ? roost_filter_count(target.filter->filter, key.data, key.size) : 0;
    target_close(&target);
    return RedisModule_ReplyWithLongLong(ctx, (long long)count);
}

static int del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    bool removed = false;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!is_ours(&target))
        return target_refuse(&target, "Not found");
    roost_bytes key = argument_bytes(argv[2]);
    roost_status status = is_in(&target, key) ? target_remove(&target, &removed, &key, 1, true) : ROOST_OK;
    if (removed)
        target_changed(&target, "cf.del");
    target_close(&target);
    return status == ROOST_OK ? RedisModule_ReplyWithBool(ctx, removed) : reply_status(ctx, status);
}

/* A filter that came as a frame, or from ROOST.CREATE, has no arguments of CF.RESERVE: the usual ones that give its
   configuration are shown. That of a table which grows has no buckets. */
static struct shown shown_of(const struct filter_value *filter)
{
    if (filter->shown.bucket_size)
        return filter->shown;
    const roost_config *config = config_of(filter);
    return (struct shown){.expansion = !config->scalable     ? 0
                                       : config->growth <= 2 ? 1
                                                             : config->growth,
                          .bucket_size = config->bucket_size ? config->bucket_size : (uint32_t)settings.cf_bucket_size,
                          .iterations = (uint32_t)settings.cf_max_iterations};
}

/* Of the filter and what was imported. */
struct figures {
    uint64_t buckets, filters, items, deleted;
};

/* Buckets of the first filter, and how many filters: of a table that grows, as a series would have them. */
static struct figures tables_of(const struct filter_value *filter, const roost_info *info)
{
    const struct shown shown = shown_of(filter);
    uint64_t capacity = config_of(filter)->capacity;
    if (info->buckets > 0)
        return (struct figures){.buckets = info->buckets, .filters = filter_value_tables(filter)};
    uint64_t buckets = series_buckets(capacity ? capacity : (uint64_t)settings.cf_capacity, shown.bucket_size);
    struct series series = series_with_room(buckets * shown.bucket_size, shown.expansion, info->inserted);
    return (struct figures){.buckets = buckets, .filters = series.filters};
}

static struct figures figures_of(const struct filter_value *filter)
{
    roost_info info;
    roost_filter_get_brief_info(filter->filter, &info);
    const roost_imported_info imported = imported_of(filter);
    const struct figures own = tables_of(filter, &info);
    bool only_imported = imported.parts > 0 && info.dots == 0;
    return (struct figures){.buckets = imported.parts > 0 ? imported.buckets : own.buckets,
                            .filters = imported.parts + (only_imported ? 0 : own.filters),
                            .items = info.inserted + imported.items,
                            .deleted = info.dots - info.entries + imported.deleted + imported.removed};
}

static int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 2)
        return RedisModule_WrongArity(ctx);
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    if (!is_ours(&target))
        return target_refuse(&target, ERROR_NOT_FOUND);
    const struct filter_value *filter = target.filter;
    const struct shown shown = shown_of(filter);
    const struct figures figures = figures_of(filter);
    reply_map_begin(ctx, 8);
    reply_number_pair(ctx, "Size", (long long)filter->value.bytes);
    reply_number_pair(ctx, "Number of buckets", (long long)figures.buckets);
    reply_number_pair(ctx, "Number of filters", (long long)figures.filters);
    reply_number_pair(ctx, "Number of items inserted", (long long)figures.items);
    reply_number_pair(ctx, "Number of items deleted", (long long)figures.deleted);
    reply_number_pair(ctx, "Bucket size", shown.bucket_size);
    reply_number_pair(ctx, "Expansion rate", shown.expansion);
    reply_number_pair(ctx, "Max iterations", shown.iterations);
    target_close(&target);
    return REDISMODULE_OK;
}

/* ---- CF.DEBUG, CF.COMPACT ---------------------------------------------------------------------------------------- */

static int debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 2)
        return RedisModule_WrongArity(ctx);
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    if (!is_ours(&target))
        return target_refuse(&target, ERROR_NOT_FOUND);
    const struct figures figures = figures_of(target.filter);
    const struct shown shown = shown_of(target.filter);
    RedisModuleString *line = RedisModule_CreateStringPrintf(
        ctx, "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%llu max_iterations:%u expansion:%u",
        shown.bucket_size, (unsigned long long)figures.buckets, (unsigned long long)figures.items,
        (unsigned long long)figures.deleted, (unsigned long long)figures.filters, shown.iterations, shown.expansion);
    target_close(&target);
    RedisModule_ReplyWithString(ctx, line);
    RedisModule_FreeString(ctx, line);
    return REDISMODULE_OK;
}

/* One table has nothing to be compacted, and imported parts never change. */
static int compact_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 2)
        return RedisModule_WrongArity(ctx);
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    bool ours = is_ours(&target);
    target_close(&target);
    return ours ? reply_ok(ctx) : RedisModule_ReplyWithError(ctx, "Cuckoo filter was not found");
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* Clients expect null for an empty filter. */
static int reply_nothing(RedisModuleCtx *ctx)
{
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, 0);
    return RedisModule_ReplyWithNull(ctx);
}

static int scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    roost_info info;
    long long iterator;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &iterator, 0, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "Invalid position");
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    if (!is_ours(&target))
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_filter_get_brief_info(target.filter->filter, &info);
    if (info.entries > 0 || imported_of(target.filter).parts > 0 || iterator != 0)
        return reply_chunk(&target, iterator, "Invalid position");
    target_close(&target);
    return reply_nothing(ctx);
}

static int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return load_chunk(ctx, argv, argc,
                      &(struct load_errors){.number = "Invalid position",
                                            .position = "Invalid position",
                                            .data = "Couldn't load chunk!",
                                            .event = "cf.loadchunk",
                                            .takes = is_orcuckoo,
                                            .source = REDISBLOOM_CUCKOO});
}

const struct command cf_commands[] = {
    {"cf.reserve", reserve_command, "write deny-oom fast", ONE_KEY, -3, "Creates an empty cuckoo filter", "O(1)",
     "key capacity:i [BUCKETSIZE bucketsize:i] [MAXITERATIONS maxiterations:i] [EXPANSION expansion:i]"},
    {"cf.add", add_command, "write deny-oom fast", ONE_KEY, 3, "Adds a copy of an item", "O(1)", "key item"},
    {"cf.addnx", addnx_command, "write deny-oom fast", ONE_KEY, 3, "Adds an item if it is not (probably) in the filter",
     "O(1)", "key item"},
    {"cf.insert", insert_command, "write deny-oom", ONE_KEY, -4,
     "Adds items; creates the filter with the given options if it does not exist", "O(n), n items",
     "key [CAPACITY capacity:i] [NOCREATE] ITEMS item..."},
    {"cf.insertnx", insertnx_command, "write deny-oom", ONE_KEY, -4, "Adds the items that are not in the filter",
     "O(n), n items", "key [CAPACITY capacity:i] [NOCREATE] ITEMS item..."},
    {"cf.exists", exists_command, "readonly fast", ONE_KEY, 3, "Checks whether an item is (probably) in the filter",
     "O(1)", "key item"},
    {"cf.mexists", mexists_command, "readonly", ONE_KEY, -3,
     "Checks whether several items are (probably) in the filter", "O(n), n items", "key item..."},
    {"cf.del", del_command, "write fast", ONE_KEY, 3, "Removes one copy of an item", "O(1)", "key item"},
    {"cf.count", count_command, "readonly fast", ONE_KEY, 3, "Returns how many copies of an item are in the filter",
     "O(1)", "key item"},
    {"cf.info", info_command, "readonly fast", ONE_KEY, 2, "Returns sizes and number of items of a filter", "O(1)",
     "key"},
    {"cf.scandump", scandump_command, "readonly", ONE_KEY, 3, "Returns the filter in chunks, for CF.LOADCHUNK",
     "O(n), n bytes of the filter", "key iterator:i"},
    {"cf.loadchunk", loadchunk_command, "write deny-oom", ONE_KEY, 4, "Loads a chunk that CF.SCANDUMP returned",
     "O(n), n bytes of the filter", "key iterator:i data"},
    {"cf.compact", compact_command, "readonly fast", ONE_KEY, 2, "Does nothing, since there is nothing to be compacted",
     "O(1)", "key"},
    {"cf.debug", debug_command, "readonly fast", ONE_KEY, 2, "Returns sizes and number of items of a filter", "O(1)",
     "key"},
    {NULL, NULL, NULL, NO_KEY, 0, NULL, NULL, NULL},
};
