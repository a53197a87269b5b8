/* See imports.h. The numbers are those of redismodule.h of Redis 8.4 and of valkeymodule.h of Valkey 9.0. */
#include "imports.h"

struct kind_of_server {
    RedisModuleEvent event;
    uint64_t started, failed, completed;
};
static const struct kind_of_server valkey = {{19, 1}, 0, 2, 4}, redis = {{18, 1}, 0, 1, 2};
static const struct kind_of_server *kind;
static unsigned imports;

static void on_move(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t moment, void *data)
{
    (void)ctx, (void)event, (void)data;
    if (moment == kind->started)
        imports++;
    else if ((moment == kind->failed || moment == kind->completed) && imports)
        imports--;
}

/* Each of the two uses the number of the other for something else. */
void imports_watch(RedisModuleCtx *ctx)
{
    bool moves_in_redis = RedisModule_GetKeyspaceNotificationFlagsAll() & NOTIFY_KEY_TRIMMED;
    kind = newer.command_filter_client ? &valkey : moves_in_redis ? &redis : NULL;
    imports = 0;
    if (kind)
        (void)RedisModule_SubscribeToServerEvent(ctx, kind->event, on_move);
}

unsigned slot_imports(void)
{
    return imports;
}

bool is_importing(void)
{
    return imports > 0;
}
