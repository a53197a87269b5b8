/* See info.h. */
#include "info.h"

#include <stdio.h>

#include "module/base/arguments.h"
#include "module/base/counters.h"
#include "module/base/imports.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/job/job.h"
#include "module/key/target.h"
#include "module/registry/links.h"
#include "module/registry/registry.h"
#include "module/registry/tombstones.h"
#include "module/value/timed.h"
#include "create.h"
#include "dumps.h"

/* ---- ROOST.INFO -------------------------------------------------------------------------------------------------- */

static void reply_double_pair(RedisModuleCtx *ctx, const char *name, double number)
{
    reply_name(ctx, name);
    RedisModule_ReplyWithDouble(ctx, number);
}

static void reply_boolean_pair(RedisModuleCtx *ctx, const char *name, bool on)
{
    reply_name(ctx, name);
    RedisModule_ReplyWithBool(ctx, on);
}

#define CONFIG_PAIRS 14
static void reply_config(RedisModuleCtx *ctx, const roost_config *config)
{
    reply_text_pair(ctx, "kind", kind_word(config->kind));
    reply_boolean_pair(ctx, "scalable", config->scalable);
    reply_boolean_pair(ctx, "multiset", config->multiset);
    reply_number_pair(ctx, "capacity", (long long)config->capacity);
    reply_double_pair(ctx, "fpr_promised", config->fpr);
    reply_number_pair(ctx, "seed", (long long)config->seed);
    reply_number_pair(ctx, "writers", config->writers);
    reply_number_pair(ctx, "growth", config->growth);
    reply_number_pair(ctx, "fingerprint_bits", config->fingerprint_bits);
    reply_number_pair(ctx, "bucket_size", config->bucket_size);
    reply_number_pair(ctx, "entry_bits", config->entry_bits);
    reply_text_pair(ctx, "layout", layout_word(config->layout));
    reply_text_pair(ctx, "schedule", schedule_word(config->schedule));
    reply_text_pair(ctx, "semantics", semantics_word(config->semantics));
}

#define STATE_PAIRS 5
static void reply_state(RedisModuleCtx *ctx, struct filter_value *filter)
{
    roost_info info;
    roost_filter_get_brief_info(filter->filter, &info);
    reply_number_pair(ctx, "inserted", (long long)filter_value_inserted(filter));
    reply_number_pair(ctx, "tables", filter_value_tables(filter));
    reply_number_pair(ctx, "buckets", info.buckets);
    reply_number_pair(ctx, "actors", (long long)info.actors);
    reply_number_pair(ctx, "dots", (long long)info.dots);
}

static void reply_seconds_pair(RedisModuleCtx *ctx, const char *name, uint64_t microseconds)
{
    reply_double_pair(ctx, name, (double)microseconds / (double)ROOST_SECOND);
}

/* The names are those of `roost info --json`. */
#define WINDOW_PAIRS 7
static void reply_window(RedisModuleCtx *ctx, const struct filter_value *filter)
{
    roost_window_info info;
    roost_window_get_info(filter->filter, &info);
    reply_seconds_pair(ctx, "window_seconds", info.window);
    reply_seconds_pair(ctx, "slot_seconds", info.slot);
    reply_seconds_pair(ctx, "shortest_slot_seconds", info.shortest_slot);
    reply_number_pair(ctx, "past", config_of(filter)->past);
    reply_number_pair(ctx, "slots", info.slots);
    reply_seconds_pair(ctx, "oldest", info.oldest);
    reply_seconds_pair(ctx, "newest", info.newest);
}

#define COUNTER_PAIRS 2
static void reply_counter(RedisModuleCtx *ctx, const struct filter_value *filter)
{
    roost_info info;
    int64_t value;
    roost_filter_get_brief_info(filter->filter, &info);
    reply_name(ctx, "value");
    if (roost_counter_get_value(filter->filter, &value) == ROOST_OK)
        RedisModule_ReplyWithLongLong(ctx, value);
    else
        RedisModule_ReplyWithNull(ctx);
    reply_number_pair(ctx, "actors", (long long)info.actors);
}

#define IMPORTED_PAIRS 6
static void reply_imported(RedisModuleCtx *ctx, const struct filter_value *filter)
{
    roost_imported_info info = imported_of(filter);
    reply_number_pair(ctx, "imported_parts", (long long)info.parts);
    reply_number_pair(ctx, "imported_items", (long long)info.items);
    reply_number_pair(ctx, "imported_removed", (long long)info.removed);
    reply_number_pair(ctx, "imported_capacity", (long long)info.capacity);
    reply_number_pair(ctx, "imported_bytes", (long long)info.bytes);
    reply_double_pair(ctx, "imported_fpr", info.fpr);
}

#define OBJECT_PAIRS 4
static void reply_object(RedisModuleCtx *ctx, const struct filter_value *filter)
{
    roost_info info;
    char actor[20];
    roost_filter_get_brief_info(filter->filter, &info);
    snprintf(actor, sizeof actor, "%016llx", (unsigned long long)roost_filter_get_actor(filter->filter));
    reply_number_pair(ctx, "journal", (long long)info.journal);
    reply_number_pair(ctx, "bytes_memory", (long long)filter->value.bytes);
    reply_number_pair(ctx, "generation", (long long)filter->value.generation);
    reply_text_pair(ctx, "actor", actor);
}

#define FULL_PAIRS 6
static void reply_full(RedisModuleCtx *ctx, struct filter_value *filter)
{
    roost_info info;
    roost_filter_estimate_info(filter->filter, &info);
    reply_double_pair(ctx, "elements", info.elements);
    reply_number_pair(ctx, "entries", (long long)info.entries);
    reply_number_pair(ctx, "overflow", (long long)info.overflow);
    reply_double_pair(ctx, "load", info.load);
    reply_double_pair(ctx, "fpr_now", info.fpr_now);
    reply_boolean_pair(ctx, "promise_holds", info.promise_holds);
}

int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    bool full = argc == 3 && argument_is(argv[2], "FULL");
    if (argc != 2 && !full)
        return argc == 3 ? RedisModule_ReplyWithError(ctx, ERROR_UNKNOWN) : RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ))
        return REDISMODULE_OK;
    bool timed = is_timed(target.filter->filter), counter = config_of(target.filter)->kind == ROOST_COUNTER;
    bool imported = imported_of(target.filter).parts > 0;
    reply_map_begin(ctx, CONFIG_PAIRS + OBJECT_PAIRS + (timed ? WINDOW_PAIRS : STATE_PAIRS) +
                             (counter ? COUNTER_PAIRS : 0) + (imported ? IMPORTED_PAIRS : 0) + (full ? FULL_PAIRS : 0));
    reply_config(ctx, config_of(target.filter));
    if (timed)
        reply_window(ctx, target.filter);
    else
        reply_state(ctx, target.filter);
    if (counter)
        reply_counter(ctx, target.filter);
    reply_object(ctx, target.filter);
    if (imported)
        reply_imported(ctx, target.filter);
    if (full)
        reply_full(ctx, target.filter);
    target_close(&target);
    return REDISMODULE_OK;
}

/* ---- INFO roost -------------------------------------------------------------------------------------------------- */

static void report_slow_paths(RedisModuleInfoCtx *info)
{
    static const char *const names[SLOW_PATHS] = {
        [SLOW_BATCH] = "batches", [SLOW_MERGE] = "merges",   [SLOW_READ] = "thread_replies",
        [SLOW_DUMP] = "dumps",    [SLOW_DIGEST] = "digests", [SLOW_LOAD] = "loads",
    };
    char name[64];
    for (int path = NO_SLOW_PATH + 1; path < SLOW_PATHS; path++) {
        struct slow_path_count count = slow_path_counted((enum slow_path)path);
        RedisModule_InfoAddFieldULongLong(info, names[path], count.times);
        snprintf(name, sizeof name, "%s_usec", names[path]);
        RedisModule_InfoAddFieldULongLong(info, name, count.microseconds);
        snprintf(name, sizeof name, "%s_longest_usec", names[path]);
        RedisModule_InfoAddFieldULongLong(info, name, count.longest);
    }
}

static void report(RedisModuleInfoCtx *info, int for_crash_report)
{
    (void)for_crash_report;
    RedisModule_InfoAddSection(info, "");
    RedisModule_InfoAddFieldCString(info, "version", roost_version());
    RedisModule_InfoAddFieldULongLong(info, "keys", registry.keys);
    RedisModule_InfoAddFieldULongLong(info, "tombstones", tombstones_count());
    RedisModule_InfoAddFieldULongLong(info, "bytes_tombstones", tombstones_bytes());
    RedisModule_InfoAddFieldULongLong(info, "linked", links_seen());
    RedisModule_InfoAddFieldULongLong(info, "linked_regions", links_regions());
    RedisModule_InfoAddFieldULongLong(info, "bytes_memory", values_bytes());
    RedisModule_InfoAddFieldULongLong(info, "memory_limit", settings.memory_limit);
    RedisModule_InfoAddFieldULongLong(info, "dumps_bytes", dumps_bytes());
    RedisModule_InfoAddFieldULongLong(info, "longest_slice_usec", longest_slice());
    RedisModule_InfoAddFieldULongLong(info, "jobs_running", jobs_running());
    RedisModule_InfoAddFieldULongLong(info, "jobs_finished", counted(JOBS_FINISHED));
    RedisModule_InfoAddFieldULongLong(info, "jobs_failed", counted(JOBS_FAILED));
    RedisModule_InfoAddFieldULongLong(info, "refused_memory", counted(REFUSED_MEMORY));
    RedisModule_InfoAddFieldULongLong(info, "refused_payloads", counted(REFUSED_PAYLOADS));
    RedisModule_InfoAddFieldULongLong(info, "imported_filters", counted(IMPORTED_FILTERS));
    RedisModule_InfoAddFieldULongLong(info, "slot_imports", slot_imports());
    report_slow_paths(info);
}

int report_register(RedisModuleCtx *ctx)
{
    return RedisModule_RegisterInfoFunc(ctx, report);
}
