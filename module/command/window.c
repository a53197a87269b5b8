/*
 * Windows (elements that came lately) and counters (operations that count once).
 *
 *     ROOST.SEEN requests 4711 WINDOW 60000      0    it did not come in the last minute; now it did
 *     ROOST.SEEN requests 4711                   1    it did
 *     ROOST.INCR stock order-17 -3               [-3, 1]
 *     ROOST.INCR stock order-17 -3               [-3, 0]    the reply to the first was lost; it counted once
 *
 * A missing key is created by the first of these, with the options of the configuration. value/timed.h explains which
 * clock is used and how memory is limited. The delta of a change is replicated; a repetition that changed nothing is
 * not.
 */
#include "window.h"

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "module/value/timed.h"
#include "items.h"

#define SLICE                 64 /* additions between two deltas */
#define ERROR_OTHER           "ERR the key was made with another WINDOW"
#define ERROR_ID              "ERR the id must have from 1 to 65536 bytes"
#define ERROR_AMOUNT          "ERR value is not an integer or out of range"
#define ERROR_OVERFLOW        "ERR increment or decrement would overflow"
#define ERROR_NO_INTEGER      "ERR the sum over all replicas does not fit into 64 bits"
#define ERROR_FULL            "ERR the key is full: one more item would break its promised rate"
#define REFUSAL               "ERR these options do not go together"
#define ARGUMENTS_WITH_WINDOW 5

struct making {
    roost_kind kind;
    long long window; /* milliseconds */
};

static roost_status create(struct target *target, const void *options)
{
    const struct making *making = options;
    roost_config config = timed_config(making->kind, making->window);
    return target_create(target, &config, (struct shown){0});
}

static bool is_window(const struct target *target)
{
    return config_of(target->filter)->kind == ROOST_WINDOW;
}

static bool is_counter(const struct target *target)
{
    return config_of(target->filter)->kind == ROOST_COUNTER;
}

static bool open_to_change(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name,
                           const struct making *making)
{
    struct adding adding = {making->kind == ROOST_WINDOW ? is_window : is_counter, create, REFUSAL, making, false};
    return target_open_to_add(target, ctx, name, &adding);
}

static bool wants_memory(roost_status status)
{
    return status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE;
}

static const char *error_of(const struct target *target, roost_status status)
{
    return status == ROOST_OK         ? NULL
           : status == ROOST_CLOCK    ? timed_clock_error(target->filter->filter)
           : status == ROOST_OVERFLOW ? ERROR_OVERFLOW
           : wants_memory(status)     ? memory_error()
           : status == ROOST_FULL     ? ERROR_FULL
                                      : "ERR the system gives no random number for an actor";
}

/* Whether granted memory may be used because the limit is reached. */
static bool may_use_grant(const struct filter_value *filter, roost_status status)
{
    return wants_memory(status) && timed_grant(filter->filter) > 0;
}

/* The grant is not used as long as there is other memory. */
static void set_limit(struct filter_value *filter)
{
    uint64_t grant = timed_grant(filter->filter);
    filter->value.limit = settings.memory_limit > grant ? settings.memory_limit - grant : 1;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* If the limit is reached, one addition gets its slot from the grant; the slot has room for more. */
static roost_status see_some(struct filter_value *filter, bool *seen, size_t *done, const roost_bytes *keys,
                             size_t count, uint64_t now)
{
    size_t more = 0;
    set_limit(filter);
    roost_status status = roost_window_add_many(filter->filter, seen, done, keys, count, now);
    filter->value.limit = 0;
    if (may_use_grant(filter, status))
        status = roost_window_add_many(filter->filter, seen + *done, &more, keys + *done, 1, now);
    *done += more;
    return status;
}

/* Also replicates, notes the change in the registry, and sends the event. */
static roost_status see(struct target *target, bool *seen, size_t *done, const roost_bytes *keys, size_t count)
{
    uint64_t now = timed_now();
    bool changed = false;
    roost_status status = target_begin(target);
    *done = 0;
    while (status == ROOST_OK && *done < count) {
        size_t taken, slice = count - *done < SLICE ? count - *done : SLICE;
        status = see_some(target->filter, seen + *done, &taken, keys + *done, slice, now);
        *done += taken;
        changed |= target_replicate(target);
    }
    if (changed)
        target_changed(target, "roost.seen");
    return status;
}

/* Returns NULL or the error. If no window is given, it is that of the key. */
static const char *read_window(struct making *making, RedisModuleString **argv, int argc)
{
    if (argc < ARGUMENTS_WITH_WINDOW)
        return NULL;
    if (!argument_is(argv[3], "WINDOW"))
        return ERROR_UNKNOWN;
    return argument_number(argv[4], &making->window, 1, MOST_WINDOW) ? NULL : TIMED_WINDOW_ERROR;
}

static bool has_this_window(const struct target *target, const struct making *making, int argc)
{
    return argc < ARGUMENTS_WITH_WINDOW ||
           config_of(target->filter)->window == timed_config(ROOST_WINDOW, making->window).window;
}

int seen_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct making making = {ROOST_WINDOW, settings.window};
    bool seen = false;
    size_t done;
    if (argc != 3 && argc != ARGUMENTS_WITH_WINDOW)
        return RedisModule_WrongArity(ctx);
    const char *error = read_window(&making, argv, argc);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    if (!open_to_change(&target, ctx, argv[1], &making))
        return REDISMODULE_OK;
    roost_bytes key = argument_bytes(argv[2]);
    error =
        has_this_window(&target, &making, argc) ? error_of(&target, see(&target, &seen, &done, &key, 1)) : ERROR_OTHER;
    target_close(&target);
    return error ? RedisModule_ReplyWithError(ctx, error) : RedisModule_ReplyWithBool(ctx, seen);
}

int mseen_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct making making = {ROOST_WINDOW, settings.window};
    size_t done;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    if (!open_to_change(&target, ctx, argv[1], &making))
        return REDISMODULE_OK;
    size_t count = (size_t)argc - 2;
    bool *seen = pool_booleans(ctx, count);
    const char *error = error_of(&target, see(&target, seen, &done, argument_keys(ctx, argv + 2, count), count));
    target_close(&target);
    return reply_booleans_until(ctx, seen, done, error);
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

static roost_status count_some(struct filter_value *filter, bool *applied, roost_bytes id, long long amount,
                               uint64_t now)
{
    set_limit(filter);
    roost_status status = roost_counter_increment(filter->filter, applied, NULL, id.data, id.size, amount, now);
    filter->value.limit = 0;
    if (may_use_grant(filter, status))
        status = roost_counter_increment(filter->filter, applied, NULL, id.data, id.size, amount, now);
    return status;
}

/* A repetition changes the window, too: the id is remembered from now on. The clock is read before target_begin bounds
   the times that are accepted by it, so that our own time is never later. */
static roost_status count(struct target *target, bool *applied, roost_bytes id, long long amount)
{
    uint64_t now = timed_now();
    roost_status status = target_begin(target);
    if (status == ROOST_OK)
        status = count_some(target->filter, applied, id, amount, now);
    if (status == ROOST_OK && target_replicate(target))
        target_changed(target, "roost.incr");
    return status;
}

static int reply_value(RedisModuleCtx *ctx, const roost_filter *counter)
{
    int64_t value;
    roost_status status = roost_counter_get_value(counter, &value);
    return status == ROOST_OK ? RedisModule_ReplyWithLongLong(ctx, value)
                              : RedisModule_ReplyWithError(ctx, ERROR_NO_INTEGER);
}

int incr_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct making making = {ROOST_COUNTER, settings.counter_window};
    bool applied = false;
    long long amount;
    if (argc != 4)
        return RedisModule_WrongArity(ctx);
    roost_bytes id = argument_bytes(argv[2]);
    if (id.size == 0 || id.size > ROOST_COUNTER_MOST_ID)
        return RedisModule_ReplyWithError(ctx, ERROR_ID);
    if (!argument_number(argv[3], &amount, INT64_MIN + 1, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, ERROR_AMOUNT);
    if (!open_to_change(&target, ctx, argv[1], &making))
        return REDISMODULE_OK;
    const char *error = error_of(&target, count(&target, &applied, id, amount));
    if (error) {
        RedisModule_ReplyWithError(ctx, error);
    } else {
        RedisModule_ReplyWithArray(ctx, 2);
        reply_value(ctx, target.filter->filter);
        RedisModule_ReplyWithBool(ctx, applied);
    }
    target_close(&target);
    return REDISMODULE_OK;
}

int get_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 2)
        return RedisModule_WrongArity(ctx);
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    if (!target.missing && !(target.filter && is_counter(&target)))
        return target_refuse(&target, ERROR_NOT_FOUND);
    if (target.missing)
        RedisModule_ReplyWithNull(ctx);
    else
        reply_value(ctx, target.filter->filter);
    target_close(&target);
    return REDISMODULE_OK;
}
