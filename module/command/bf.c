/*
 * BF.*: Bloom filters as client libraries expect them. value/reserved.h says which filters of the library stand behind
 * them. Filters that earlier versions made, which are Bloom filters, work as before; filters that RedisBloom made are
 * imported parts of one (roost/imported.h), and queries, BF.CARD and BF.INFO include them.
 *
 * INFO shows the arguments, and the capacity and the number of filters that a series with these arguments would have:
 * clients compare them with the number of items.
 */
#include <math.h>

#include "module/base/arguments.h"
#include "module/base/checksum.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/job/batch.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "module/value/reserved.h"
#include "module/value/valkey_bloom.h"
#include "commands.h"
#include "dumps.h"
#include "items.h"
#include "load_chunk.h"

#define UNKNOWN_CAPACITY 16384 /* with which the library begins */
#define MOST_EXPANSION   32768
#define REFUSAL          "ERR could not create filter"
#define SEED_BYTES       32
#define EXTRA_BITS       6 /* of an item, beside those that the rate needs */

struct reserve {
    struct bf_options options;
    long long scale; /* VALIDATESCALETO, or 0 */
    bool inserts, no_create, expansion_given;
};

static bool is_ours(const struct target *target)
{
    return is_for_bf(target->filter);
}

static struct reserve defaults(void)
{
    return (struct reserve){.options = {.rate = settings.bf_error_rate,
                                        .capacity = settings.bf_capacity,
                                        .expansion = settings.bf_expansion}};
}

static roost_status create(struct target *target, const void *options)
{
    const struct reserve *reserve = options;
    roost_config config = bf_config(&reserve->options);
    return target_create(target, &config, bf_shown(&reserve->options));
}

/* ---- arguments ---------------------------------------------------------------------------------------------------
 *
 * BF.RESERVE and BF.INSERT have errors of their own for the same mistakes, which clients know. TIGHTENING, SEED and
 * VALIDATESCALETO are options of valkey-bloom. The ratio changes nothing: there is no series of filters whose rates it
 * would set. A filter with a seed merges only with filters of the same seed.
 */

/* NULL, or the error. */
static const char *read_rate(struct reserve *reserve, RedisModuleString *argument)
{
    enum rate_argument read = argument_rate(argument, &reserve->options.rate);
    if (reserve->inserts && (read == RATE_BAD || read == RATE_OUT_OF_RANGE))
        return "Bad error rate";
    return read == RATE_BAD            ? "ERR bad error rate"
           : read == RATE_OUT_OF_RANGE ? "ERR (0 < error rate range < 1)"
                                       : NULL;
}

static const char *read_capacity(struct reserve *reserve, RedisModuleString *argument)
{
    bool read = RedisModule_StringToLongLong(argument, &reserve->options.capacity) == REDISMODULE_OK;
    if (reserve->inserts && (!read || reserve->options.capacity <= 0))
        return "Bad capacity";
    return !read                                                ? "ERR bad capacity"
           : reserve->options.capacity <= 0                     ? "ERR (capacity should be larger than 0)"
           : reserve->options.capacity > MOST_RESERVED_CAPACITY ? memory_error()
                                                                : NULL;
}

static const char *read_expansion(struct reserve *reserve, RedisModuleString *argument)
{
    bool read = RedisModule_StringToLongLong(argument, &reserve->options.expansion) == REDISMODULE_OK &&
                reserve->options.expansion <= MOST_EXPANSION;
    if (!read || (reserve->inserts && reserve->options.expansion < 0))
        return reserve->inserts ? "Bad expansion" : "ERR bad expansion";
    reserve->expansion_given = reserve->options.expansion > 0;
    reserve->options.fixed |= reserve->options.expansion == 0;
    return reserve->options.expansion < 0 ? "ERR expansion should be greater or equal to 0" : NULL;
}

static const char *read_tightening(RedisModuleString *argument)
{
    double ratio;
    enum rate_argument read = argument_rate(argument, &ratio);
    return read == RATE_BAD            ? "ERR bad tightening ratio"
           : read == RATE_OUT_OF_RANGE ? "ERR (0 < tightening ratio range < 1)"
                                       : NULL;
}

/* 32 bytes, of which the library takes 64 bits. */
static const char *read_seed(struct reserve *reserve, RedisModuleString *argument)
{
    roost_bytes seed = argument_bytes(argument);
    if (seed.size != SEED_BYTES)
        return "ERR invalid seed";
    reserve->options.seed = checksum(CHECKSUM_START, seed.data, seed.size) | 1;
    return NULL;
}

static const char *read_scale(struct reserve *reserve, RedisModuleString *argument)
{
    return argument_number(argument, &reserve->scale, 1, INT64_MAX) ? NULL : "ERR bad capacity";
}

enum option { CAPACITY, ERROR, EXPANSION, TIGHTENING, SEED, VALIDATESCALETO, NOCREATE, NONSCALING, ITEMS };
static const char *const option_words[] = {"CAPACITY",        "ERROR",    "EXPANSION",  "TIGHTENING", "SEED",
                                           "VALIDATESCALETO", "NOCREATE", "NONSCALING", "ITEMS",      NULL};

static bool has_value(int option)
{
    return option <= VALIDATESCALETO;
}

static const char *read_value(struct reserve *reserve, int option, RedisModuleString *value)
{
    switch (option) {
    case CAPACITY:
        return read_capacity(reserve, value);
    case ERROR:
        return read_rate(reserve, value);
    case EXPANSION:
        return read_expansion(reserve, value);
    case TIGHTENING:
        return read_tightening(value);
    case SEED:
        return read_seed(reserve, value);
    default:
        return read_scale(reserve, value);
    }
}

/* About what a filter of so many items takes. */
static double bytes_for(const struct bf_options *options, long long items)
{
    return (double)items * (EXTRA_BITS - log2(options->rate)) / 8;
}

static const char *check_options(const struct reserve *reserve)
{
    if (!reserve->inserts)
        return reserve->options.fixed && reserve->expansion_given ? "Nonscaling filters cannot expand" : NULL;
    if (reserve->scale == 0)
        return NULL;
    return reserve->options.fixed ? "ERR cannot use NONSCALING and VALIDATESCALETO options together"
           : bytes_for(&reserve->options, reserve->scale) > (double)settings.memory_limit
               ? "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"
               : NULL;
}

/* Reads options from *at to the end, or to the argument after ITEMS. `allowed` is a set of options. A last one of
   BF.INSERT that lacks its value is no error here: the items are missing, too, and that is the caller's. */
static const char *read_options(struct reserve *reserve, int *at, RedisModuleString **argv, int argc, unsigned allowed)
{
    const char *error = NULL;
    while (*at < argc && !error) {
        int option = argument_among(argv[*at], option_words);
        if (option < 0 || !(allowed >> option & 1))
            return ERROR_UNKNOWN;
        ++*at;
        if (option == ITEMS)
            break;
        if (has_value(option))
            error = *at < argc         ? read_value(reserve, option, argv[(*at)++])
                    : reserve->inserts ? NULL
                                       : "ERR no expansion";
        reserve->no_create |= option == NOCREATE;
        reserve->options.fixed |= option == NONSCALING;
    }
    return error ? error : check_options(reserve);
}

/* ---- BF.RESERVE -------------------------------------------------------------------------------------------------- */

static int reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct reserve reserve = defaults();
    int at = 4;
    if (argc < 4)
        return RedisModule_WrongArity(ctx);
    const char *error = read_rate(&reserve, argv[2]);
    if (!error)
        error = read_capacity(&reserve, argv[3]);
    if (!error)
        error = read_options(&reserve, &at, argv, argc, 1u << EXPANSION | 1u << NONSCALING);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (target.filter)
        error = is_for_bf(target.filter) ? ERROR_EXISTS : REDISMODULE_ERRORMSG_WRONGTYPE;
    else if (!target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_status status = error ? ROOST_OK : create(&target, &reserve);
    if (!error && status == ROOST_OK)
        target_changed(&target, "bf.reserve");
    target_close(&target);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    return status == ROOST_OK ? reply_ok(ctx) : reply_creation_error(ctx, status, REFUSAL);
}

/* ---- additions --------------------------------------------------------------------------------------------------- */

/* One at a time, since a filter of fixed size may become full. An element that it holds already is not added. */
static roost_status add_within_capacity(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                                        RedisModuleString **items, size_t count)
{
    struct filter_value *filter = target->filter;
    roost_status status = ROOST_OK;
    size_t taken;
    for (*done = 0; *done < count && status == ROOST_OK; *done += status == ROOST_OK) {
        const roost_bytes *key = &keys[*done];
        if (roost_filter_contains(filter->filter, key->data, key->size))
            continue;
        if (filter_value_inserted(filter) >= config_of(filter)->capacity)
            return ROOST_FULL;
        status = target_add(target, &changed[*done], &taken, key, &items[*done], 1);
    }
    return status;
}

static roost_status add(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                        RedisModuleString **items, size_t count)
{
    const roost_config *config = config_of(target->filter);
    bool roomy =
        config->scalable || target->mirrored || filter_value_inserted(target->filter) + count <= config->capacity;
    target->as_it_came &= roomy;
    roost_status status = roomy ? target_add(target, changed, done, keys, items, count)
                                : add_within_capacity(target, changed, done, keys, items, count);
    for (size_t i = 0; i < *done; i++)
        if (changed[i]) {
            target_changed(target, "bf.add");
            break;
        }
    return status;
}

static const char *add_error(const struct target *target, roost_status status)
{
    (void)target;
    return status == ROOST_FULL                                     ? ERROR_BF_FULL
           : status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE ? memory_error()
                                                                    : "ERR problem inserting into filter";
}

static bool open_to_add(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct reserve *reserve)
{
    struct adding adding = {is_ours, create, REFUSAL, reserve, reserve->no_create};
    return target_open_to_add(target, ctx, name, &adding);
}

static roost_status add_slice(struct target *target, size_t *done, struct batch_items items)
{
    bool changed[BATCH_SLICE] = {false};
    roost_bytes keys[BATCH_SLICE] = {{0}};
    batch_keys(&items, keys);
    roost_status status = add(target, changed, done, keys, items.items, items.count);
    batch_results(&items, changed, *done);
    return status;
}

static const struct batch_verb add_verb = {add_slice, batch_reply_booleans, add_error};

static int add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct reserve reserve = defaults();
    bool changed = false;
    size_t done;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!open_to_add(&target, ctx, argv[1], &reserve))
        return REDISMODULE_OK;
    roost_bytes key = argument_bytes(argv[2]);
    target.as_it_came = true;
    roost_status status = add(&target, &changed, &done, &key, argv + 2, 1);
    target_close(&target);
    return status == ROOST_OK ? RedisModule_ReplyWithBool(ctx, changed)
                              : RedisModule_ReplyWithError(ctx, add_error(&target, status));
}

static int madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct reserve reserve = defaults();
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    if (!open_to_add(&target, ctx, argv[1], &reserve))
        return REDISMODULE_OK;
    return batch_run(&target, &add_verb, argv + 2, (size_t)argc - 2);
}

/* valkey-bloom logs and replicates BF.RESERVE as a BF.INSERT that has no items. */
static int created_without_items(struct target *target)
{
    RedisModuleCtx *ctx = target->ctx;
    target_changed(target, "bf.reserve");
    target_close(target);
    return RedisModule_ReplyWithEmptyArray(ctx);
}

/* A seed from a log, or from a primary, is that of valkey-bloom's hash, which it logs with every filter. It has no
   meaning for ours, and would keep them from merging. */
static int insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct reserve reserve = defaults();
    int at = 2;
    if (argc < 4)
        return RedisModule_WrongArity(ctx);
    reserve.inserts = true;
    const char *error = read_options(&reserve, &at, argv, argc, ~0u);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    if (at >= argc && !is_decided_elsewhere())
        return RedisModule_WrongArity(ctx);
    if (is_decided_elsewhere())
        reserve.options.seed = 0;
    if (!open_to_add(&target, ctx, argv[1], &reserve))
        return REDISMODULE_OK;
    if (at >= argc)
        return created_without_items(&target);
    return batch_run(&target, &add_verb, argv + at, (size_t)(argc - at));
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

/* A missing key, or one that holds something else, contains nothing. */
static bool open_to_ask(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name)
{
    target_open(target, ctx, name, REDISMODULE_READ);
    return target->filter && is_for_bf(target->filter);
}

static int exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return reply_contained(ctx, argv, argc, &(struct membership_query){.takes = is_ours, .single = true});
}

static int mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return reply_contained(ctx, argv, argc, &(struct membership_query){.takes = is_ours});
}

static int card_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 2)
        return RedisModule_WrongArity(ctx);
    bool bloom = open_to_ask(&target, ctx, argv[1]);
    if (!bloom && !target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    long long inserted = bloom ? (long long)filter_value_inserted(target.filter) : 0;
    target_close(&target);
    return RedisModule_ReplyWithLongLong(ctx, inserted);
}

/* ---- BF.INFO ----------------------------------------------------------------------------------------------------- */

enum fact { FACT_CAPACITY, FACT_SIZE, FACT_FILTERS, FACT_ITEMS, FACT_EXPANSION, FACTS };
static const char *const fact_words[] = {"CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION", NULL};
static const char *const fact_names[] = {"Capacity", "Size", "Number of filters", "Number of items inserted",
                                         "Expansion rate"};

/* A filter that came as a frame has no arguments. */
static uint32_t expansion_of(const struct filter_value *filter)
{
    return filter->shown.expansion ? filter->shown.expansion : config_of(filter)->growth;
}

/* Of a table of prefixes: how long a series would be that has room for the items. */
static struct series series_for(const struct filter_value *filter, uint64_t items)
{
    if (!has_prefixes(filter))
        return (struct series){filter_value_tables(filter), filter_value_capacity(filter)};
    uint64_t named = config_of(filter)->capacity, expansion = expansion_of(filter);
    uint64_t first = named ? named : filter->shown.capacity ? filter->shown.capacity : UNKNOWN_CAPACITY;
    return series_with_room(first, expansion, items);
}

/* Imported filters of a series come first. One of fixed size shares its capacity with the filter beside it. */
static struct series series_of(struct filter_value *filter)
{
    roost_imported_info imported = imported_of(filter);
    uint64_t items = filter_value_inserted(filter) - imported.items;
    if (imported.parts == 0 || !config_of(filter)->scalable)
        return series_for(filter, items);
    struct series series = items > 0 ? series_for(filter, items) : (struct series){0, 0};
    return (struct series){imported.parts + series.filters, imported.capacity + series.capacity};
}

static void reply_fact(RedisModuleCtx *ctx, struct filter_value *filter, enum fact fact)
{
    if (fact == FACT_EXPANSION && !config_of(filter)->scalable) {
        RedisModule_ReplyWithNull(ctx);
        return;
    }
    uint64_t number = fact == FACT_CAPACITY  ? series_of(filter).capacity
                      : fact == FACT_SIZE    ? filter->value.bytes
                      : fact == FACT_FILTERS ? series_of(filter).filters
                      : fact == FACT_ITEMS   ? filter_value_inserted(filter)
                                             : expansion_of(filter);
    RedisModule_ReplyWithLongLong(ctx, (long long)number);
}

static void reply_named_fact(RedisModuleCtx *ctx, struct filter_value *filter, enum fact fact)
{
    reply_name(ctx, fact_names[fact]);
    reply_fact(ctx, filter, fact);
}

/* In RESP2 a single field has no name. */
static void reply_single_fact(RedisModuleCtx *ctx, struct filter_value *filter, enum fact fact)
{
    if (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3) {
        RedisModule_ReplyWithMap(ctx, 1);
        reply_named_fact(ctx, filter, fact);
    } else {
        RedisModule_ReplyWithArray(ctx, 1);
        reply_fact(ctx, filter, fact);
    }
}

static int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 2 && argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!open_to_ask(&target, ctx, argv[1]))
        return target_refuse(&target, ERROR_NOT_FOUND);
    int single = argc == 3 ? argument_among(argv[2], fact_words) : FACTS;
    if (single < 0) {
        RedisModule_ReplyWithError(ctx, "Invalid information value");
    } else if (single < FACTS) {
        reply_single_fact(ctx, target.filter, (enum fact)single);
    } else {
        reply_map_begin(ctx, FACTS);
        for (int fact = 0; fact < FACTS; fact++)
            reply_named_fact(ctx, target.filter, (enum fact)fact);
    }
    target_close(&target);
    return REDISMODULE_OK;
}

/* ---- BF.DEBUG -----------------------------------------------------------------------------------------------------
 *
 * A line for each filter of a series: those that were imported, and ours, which is one whatever it has grown to.
 */

static void reply_imported_part(RedisModuleCtx *ctx, const roost_imported_part *part)
{
    RedisModuleString *line = RedisModule_CreateStringPrintf(
        ctx, "bytes:%zu bits:%llu hashes:%u hashwidth:%d capacity:%llu size:%llu ratio:%g", part->size,
        (unsigned long long)part->places, part->width, part->form == ROOST_IMPORTED_BLOOM_32 ? 32 : 64,
        (unsigned long long)part->capacity, (unsigned long long)part->items, part->fpr);
    RedisModule_ReplyWithString(ctx, line);
    RedisModule_FreeString(ctx, line);
}

/* Figures of the state, not of the memory that it happens to take: clients compare the line before and after a dump. */
static void reply_own_part(RedisModuleCtx *ctx, struct filter_value *filter, uint64_t items)
{
    roost_info info;
    roost_filter_get_brief_info(filter->filter, &info);
    uint64_t bits = info.bits ? info.bits : info.entries * info.longest_prefix;
    RedisModuleString *line = RedisModule_CreateStringPrintf(
        ctx, "bytes:%llu bits:%llu hashes:%u hashwidth:128 capacity:%llu size:%llu ratio:%g",
        (unsigned long long)(bits + 7) / 8, (unsigned long long)bits, info.probes ? info.probes : 1,
        (unsigned long long)series_for(filter, items).capacity, (unsigned long long)items, config_of(filter)->fpr);
    RedisModule_ReplyWithString(ctx, line);
    RedisModule_FreeString(ctx, line);
}

static int debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    roost_imported_part part;
    if (argc != 2)
        return RedisModule_WrongArity(ctx);
    if (!open_to_ask(&target, ctx, argv[1]))
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_imported_info imported = imported_of(target.filter);
    uint64_t items = filter_value_inserted(target.filter);
    RedisModule_ReplyWithArray(ctx, (long)imported.parts + 2);
    RedisModuleString *line = RedisModule_CreateStringPrintf(ctx, "size:%llu", (unsigned long long)items);
    RedisModule_ReplyWithString(ctx, line);
    RedisModule_FreeString(ctx, line);
    for (size_t i = 0; roost_filter_get_imported_part(target.filter->filter, &part, i); i++)
        reply_imported_part(ctx, &part);
    reply_own_part(ctx, target.filter, items - imported.items);
    target_close(&target);
    return REDISMODULE_OK;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static int scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    long long iterator;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &iterator, 0, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "Second argument must be numeric");
    if (!open_to_ask(&target, ctx, argv[1]))
        return target_refuse(&target, ERROR_NOT_FOUND);
    return reply_chunk(&target, iterator, "Invalid position");
}

static int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return load_chunk(ctx, argv, argc,
                      &(struct load_errors){.number = "Second argument must be numeric",
                                            .position = ERROR_BAD_DATA,
                                            .data = ERROR_BAD_DATA,
                                            .event = "bf.loadchunk",
                                            .takes = is_for_bf,
                                            .source = REDISBLOOM_BLOOM});
}

/* valkey-bloom writes its filters with this command to its AOF. A dump of ours may be given as one, too. */
static int load_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    RedisModuleString *iterator = RedisModule_CreateString(ctx, "0", 1);
    RedisModuleString *arguments[] = {argv[0], argv[1], iterator, argv[2]};
    int status = load_chunk(ctx, arguments, 4,
                            &(struct load_errors){.number = ERROR_BAD_DATA,
                                                  .position = ERROR_EXISTS,
                                                  .data = ERROR_BAD_DATA,
                                                  .event = "bf.load",
                                                  .takes = is_for_bf,
                                                  .whole = valkey_bloom_decode});
    RedisModule_FreeString(ctx, iterator);
    return status;
}

const struct command bf_commands[] = {
    {"bf.reserve", reserve_command, "write deny-oom fast", ONE_KEY, -4, "Creates an empty filter", "O(1)",
     "key error:d capacity:i [EXPANSION expansion:i] [NONSCALING]"},
    {"bf.add", add_command, "write deny-oom fast", ONE_KEY, 3, "Adds an item; creates the filter if it does not exist",
     "O(1)", "key item"},
    {"bf.madd", madd_command, "write deny-oom", ONE_KEY, -3, "Adds several items", "O(n), n items", "key item..."},
    {"bf.insert", insert_command, "write deny-oom", ONE_KEY, -4,
     "Adds items; creates the filter with the given options if it does not exist", "O(n), n items",
     "key [CAPACITY capacity:i] [ERROR error:d] [EXPANSION expansion:i] [NOCREATE] [NONSCALING] [TIGHTENING ratio:d] "
     "[SEED seed] [VALIDATESCALETO capacity:i] ITEMS item..."},
    {"bf.exists", exists_command, "readonly fast", ONE_KEY, 3, "Checks whether an item is (probably) in the filter",
     "O(1)", "key item"},
    {"bf.mexists", mexists_command, "readonly", ONE_KEY, -3,
     "Checks whether several items are (probably) in the filter", "O(n), n items", "key item..."},
    {"bf.card", card_command, "readonly fast", ONE_KEY, 2, "Returns how many new items were added", "O(1)", "key"},
    {"bf.info", info_command, "readonly fast", ONE_KEY, -2, "Returns capacity, size and number of items of a filter",
     "O(1)", "key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION]"},
    {"bf.scandump", scandump_command, "readonly", ONE_KEY, 3, "Returns the filter in chunks, for BF.LOADCHUNK",
     "O(n), n bytes of the filter", "key iterator:i"},
    {"bf.loadchunk", loadchunk_command, "write deny-oom", ONE_KEY, 4, "Loads a chunk that BF.SCANDUMP returned",
     "O(n), n bytes of the filter", "key iterator:i data"},
    {"bf.load", load_command, "write deny-oom", ONE_KEY, 3,
     "Loads a whole filter that ROOST.DUMP returned, or an AOF of valkey-bloom has", "O(n), n bytes of the filter",
     "key data"},
    {"bf.debug", debug_command, "readonly fast", ONE_KEY, 2, "Returns figures about each part of a filter", "O(1)",
     "key"},
    {NULL, NULL, NULL, NO_KEY, 0, NULL, NULL, NULL},
};
