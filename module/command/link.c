/*
 * ROOST.LINK key HELLO number
 * ROOST.LINK key AGREED time [number time ...]
 * ROOST.LINK key JOIN number time ...
 * ROOST.LINK key HOLD number ...
 * ROOST.LINK key TRUST
 * ROOST.LINK key STATE bytes                    from a primary or the AOF
 *
 * registry/links.h explains what they mean. All but STATE reply with the state of the region.
 */
#include "link.h"

#include "module/base/access.h"
#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/registry/links.h"
#include "module/registry/registry.h"
#include "module/registry/tombstones.h"

#define ERROR_NO_ROOM "ERR no memory to record what links agreed on"
#define ERROR_PLACE   "ERR not a key for ROOST.LINK: ROOST.SUMMARY tells which is"

static int reply_state(RedisModuleCtx *ctx)
{
    const struct link_state *state = links_state();
    RedisModule_ReplyWithArray(ctx, 7);
    RedisModule_ReplyWithLongLong(ctx, (long long)state->number);
    RedisModule_ReplyWithLongLong(ctx, (long long)links_time());
    RedisModule_ReplyWithLongLong(ctx, links_emptied() ? 0 : (long long)registry.keys); /* that may be outdated */
    RedisModule_ReplyWithLongLong(ctx, (long long)state->dropped);
    RedisModule_ReplyWithLongLong(ctx, settings.tombstone_retention);
    RedisModule_ReplyWithLongLong(ctx, (long long)state->trusted);
    RedisModule_ReplyWithArray(ctx, 2 * (long)state->count);
    for (size_t i = 0; i < state->count; i++) {
        RedisModule_ReplyWithLongLong(ctx, (long long)state->regions[i].number);
        RedisModule_ReplyWithLongLong(ctx, (long long)state->regions[i].had);
    }
    return REDISMODULE_OK;
}

/* Numbers that are not negative, from the pool of the command; NULL if one of the arguments is something else. */
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

/* Each gets the arguments after the word, and returns NULL or the error. */
static const char *hello(const uint64_t *numbers, int count)
{
    if (count != 1)
        return ERROR_UNKNOWN;
    links_hello(numbers[0]);
    return NULL;
}

static const char *join(const uint64_t *numbers, int count)
{
    if (count % 2)
        return ERROR_UNKNOWN;
    if (!registry.keys || links_emptied()) /* or a client made a filter since HELLO, and the reply says so */
        links_join(numbers, count);
    return NULL;
}

static const char *agreed(const uint64_t *numbers, int count)
{
    if (count % 2 == 0)
        return ERROR_UNKNOWN;
    if (numbers[0] > links_time())
        return "ERR the time is not of this server";
    links_agreed(numbers[0], numbers + 1, count - 1);
    return NULL;
}

static const char *hold(const uint64_t *numbers, int count)
{
    links_hold(numbers, count);
    return NULL;
}

static const char *trust(const uint64_t *numbers, int count)
{
    (void)numbers;
    if (count)
        return ERROR_UNKNOWN;
    links_trust();
    return NULL;
}

static const struct subcommand {
    const char *word;
    const char *(*act)(const uint64_t *numbers, int count);
} subcommands[] = {{"HELLO", hello}, {"JOIN", join}, {"AGREED", agreed}, {"HOLD", hold}, {"TRUST", trust}};

static int apply_state(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    roost_bytes bytes = argc == 4 ? argument_bytes(argv[3]) : (roost_bytes){NULL, 0};
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary tells states");
    if (!links_apply(ctx, argv[1], bytes.data, bytes.size))
        return RedisModule_ReplyWithError(ctx, ERROR_BAD_DATA);
    RedisModule_ReplicateVerbatim(ctx);
    return reply_ok(ctx);
}

int link_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    const struct subcommand *found = NULL;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    if (!is_reserved_for(argv[1], LINKS_KEY))
        return RedisModule_ReplyWithError(ctx, ERROR_PLACE);
    if (argument_is(argv[2], "STATE"))
        return apply_state(ctx, argv, argc);
    if (!may_use_all_databases(ctx, argv, argc))
        return RedisModule_ReplyWithError(ctx, ERROR_DATABASES);
    registry_complete(ctx);
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        if (argument_is(argv[2], subcommands[i].word))
            found = &subcommands[i];
    const uint64_t *numbers = read_numbers(ctx, argv + 3, argc - 3);
    struct link_state before = *links_state();
    const char *error = found && numbers ? found->act(numbers, argc - 3) : ERROR_UNKNOWN;
    roost_status stored = error ? ROOST_OK : links_store(ctx, argv[1]);
    if (stored != ROOST_OK)
        error = stored == ROOST_MISMATCH ? REDISMODULE_ERRORMSG_WRONGTYPE : ERROR_NO_ROOM;
    if (error) {
        links_restore(&before);
        return RedisModule_ReplyWithError(ctx, error);
    }
    tombstones_sweep(ctx);
    return reply_state(ctx);
}
