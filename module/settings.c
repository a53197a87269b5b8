/* See settings.h. */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arguments.h"

#define MOST_CAPACITY (1LL << 40)

struct settings settings;
static long long memory_limit;
static RedisModuleString *error_rate;

uint64_t settings_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_C(1) << 40;
}

static long long get_number(const char *name, void *place)
{
    (void)name;
    return *(long long *)place;
}

static int set_number(const char *name, long long number, void *place, RedisModuleString **error)
{
    (void)name;
    (void)error;
    *(long long *)place = number;
    settings.memory_limit = memory_limit ? (size_t)memory_limit : (size_t)settings_machine_memory();
    return REDISMODULE_OK;
}

static RedisModuleString *get_rate(const char *name, void *place)
{
    (void)name;
    (void)place;
    return error_rate;
}

static int set_rate(const char *name, RedisModuleString *text, void *place, RedisModuleString **error)
{
    double rate;
    (void)name;
    (void)place;
    if (RedisModule_StringToDouble(text, &rate) != REDISMODULE_OK || !(rate > 0 && rate < 1)) {
        *error = RedisModule_CreateString(NULL, "must be above 0 and below 1", 27);
        return REDISMODULE_ERR;
    }
    if (error_rate)
        RedisModule_FreeString(NULL, error_rate);
    error_rate = RedisModule_CreateStringFromString(NULL, text);
    settings.bf_error_rate = rate;
    return REDISMODULE_OK;
}

static int get_switch(const char *name, void *place)
{
    (void)name;
    return *(bool *)place;
}

static int set_switch(const char *name, int on, void *place, RedisModuleString **error)
{
    (void)name;
    (void)error;
    *(bool *)place = on;
    return REDISMODULE_OK;
}

static const struct number_setting {
    const char *name;
    long long *place, otherwise, least, most;
    unsigned flags;
} numbers[] = {
    {"bf-capacity", &settings.bf_capacity, 100, 1, MOST_CAPACITY, REDISMODULE_CONFIG_DEFAULT},
    {"bf-expansion", &settings.bf_expansion, 2, 1, 32768, REDISMODULE_CONFIG_DEFAULT},
    {"bf-writers", &settings.bf_writers, 1, 1, 1024, REDISMODULE_CONFIG_DEFAULT},
    {"cf-capacity", &settings.cf_capacity, 1024, 2, MOST_CAPACITY, REDISMODULE_CONFIG_DEFAULT},
    {"cf-bucket-size", &settings.cf_bucket_size, 2, 1, 255, REDISMODULE_CONFIG_DEFAULT},
    {"cf-max-iterations", &settings.cf_max_iterations, 20, 1, 65535, REDISMODULE_CONFIG_DEFAULT},
    {"cf-expansion", &settings.cf_expansion, 1, 0, 32768, REDISMODULE_CONFIG_DEFAULT},
    {"memory-limit", &memory_limit, 0, 0, 1LL << 50, REDISMODULE_CONFIG_MEMORY},
};

int settings_register(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    bool bf_cf = !(argc == 2 && argument_is(argv[0], "bf-cf") && argument_is(argv[1], "no"));
    if (RedisModule_RegisterBoolConfig(ctx, "bf-cf", bf_cf, REDISMODULE_CONFIG_IMMUTABLE, get_switch, set_switch, NULL,
                                       &settings.bf_cf) != REDISMODULE_OK ||
        RedisModule_RegisterStringConfig(ctx, "bf-error-rate", "0.01", REDISMODULE_CONFIG_DEFAULT, get_rate, set_rate,
                                         NULL, NULL) != REDISMODULE_OK)
        return REDISMODULE_ERR;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (RedisModule_RegisterNumericConfig(ctx, numbers[i].name, numbers[i].otherwise, numbers[i].flags,
                                              numbers[i].least, numbers[i].most, get_number, set_number, NULL,
                                              numbers[i].place) != REDISMODULE_OK)
            return REDISMODULE_ERR;
    return RedisModule_LoadConfigs(ctx);
}
