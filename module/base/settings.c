/*
 * See settings.h.
 *
 * The default of memory-limit keeps one command from using up the memory of the machine. It is half of maxmemory. If
 * maxmemory is not set, it is a quarter of the memory of the machine, or of what its control group allows. It follows
 * maxmemory until it is set.
 */
#include "settings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "arguments.h"

#define MOST_CAPACITY (1LL << 40)
#define NAME_ROOM     64

struct settings settings;
static long long memory_limit, automatic_limit;

static struct rate_setting {
    const char *name, *otherwise;
    double *place;
    RedisModuleString *text;
} rates[] = {
    {"bf-error-rate", "0.01", &settings.bf_error_rate, NULL},
    {"window-fpr", "0.000001", &settings.window_fpr, NULL},
};

/* The limit of the control group; UINT64_MAX: none. */
static uint64_t group_memory(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");
    bool limited = file && fscanf(file, "%llu", &bytes) == 1 && bytes > 0;
    if (file)
        fclose(file);
    return limited ? bytes : UINT64_MAX;
}

/* Computed once: the calls are slow, and every filter needs the number. */
uint64_t settings_machine_memory(void)
{
    static uint64_t memory;
    if (memory)
        return memory;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    uint64_t machine = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_C(1) << 40;
    uint64_t group = group_memory();
    memory = machine < group ? machine : group;
    return memory;
}

/* ---- memory-limit ------------------------------------------------------------------------------------------------ */

/* 0: it is not set. */
static long long maxmemory(RedisModuleCtx *ctx)
{
    long long bytes = 0;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "CONFIG", "cc", "GET", "maxmemory");
    RedisModuleCallReply *value = reply && RedisModule_CallReplyType(reply) == REDISMODULE_REPLY_ARRAY
                                      ? RedisModule_CallReplyArrayElement(reply, 1)
                                      : NULL;
    RedisModuleString *text = value ? RedisModule_CreateStringFromCallReply(value) : NULL;
    if (text && RedisModule_StringToLongLong(text, &bytes) != REDISMODULE_OK)
        bytes = 0;
    if (text)
        RedisModule_FreeString(ctx, text);
    if (reply)
        RedisModule_FreeCallReply(reply);
    return bytes;
}

static long long safe_limit(RedisModuleCtx *ctx)
{
    long long most = maxmemory(ctx);
    return most > 0 ? (most + 1) / 2 : (long long)(settings_machine_memory() / 4);
}

static void use_limit(long long limit)
{
    memory_limit = limit ? limit : automatic_limit;
    settings.memory_limit = (size_t)memory_limit;
}

static void config_changed(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t kind, void *data)
{
    const RedisModuleConfigChangeV1 *change = data;
    bool automatic = memory_limit == automatic_limit;
    (void)event;
    (void)kind;
    for (uint32_t i = 0; i < change->num_changes; i++)
        if (strcmp(change->config_names[i], "maxmemory") == 0)
            automatic_limit = safe_limit(ctx);
    if (automatic)
        use_limit(0);
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
    use_limit(memory_limit);
    return REDISMODULE_OK;
}

static RedisModuleString *get_rate(const char *name, void *place)
{
    (void)name;
    return ((struct rate_setting *)place)->text;
}

static int set_rate(const char *name, RedisModuleString *text, void *place, RedisModuleString **error)
{
    struct rate_setting *setting = place;
    double rate;
    (void)name;
    if (RedisModule_StringToDouble(text, &rate) != REDISMODULE_OK || !(rate > 0 && rate < 1)) {
        *error = RedisModule_CreateString(NULL, "must be above 0 and below 1", 27);
        return REDISMODULE_ERR;
    }
    if (setting->text)
        RedisModule_FreeString(NULL, setting->text);
    setting->text = RedisModule_CreateStringFromString(NULL, text);
    *setting->place = rate;
    return REDISMODULE_OK;
}

static int get_boolean(const char *name, void *place)
{
    (void)name;
    return *(bool *)place;
}

static int set_boolean(const char *name, int on, void *place, RedisModuleString **error)
{
    (void)name;
    (void)error;
    *(bool *)place = on;
    return REDISMODULE_OK;
}

static int get_kind(const char *name, void *place)
{
    (void)name;
    return *(int *)place;
}

static int set_kind(const char *name, int kind, void *place, RedisModuleString **error)
{
    (void)name;
    (void)error;
    *(int *)place = kind;
    return REDISMODULE_OK;
}

static int register_kind(RedisModuleCtx *ctx, roost_kind otherwise)
{
    const char *words[] = {"cuckoo", "bloom"};
    const int kinds[] = {ROOST_CUCKOO, ROOST_BLOOM};
    return RedisModule_RegisterEnumConfig(ctx, "bf-kind", (int)otherwise, REDISMODULE_CONFIG_DEFAULT, words, kinds, 2,
                                          get_kind, set_kind, NULL, &settings.bf_kind);
}

static const struct number_setting {
    const char *name;
    long long *place, otherwise, least, most;
    unsigned flags;
} numbers[] = {
    /* `otherwise`, the default, is below 0 if it is computed */
    {"bf-capacity", &settings.bf_capacity, 100, 1, MOST_CAPACITY, REDISMODULE_CONFIG_DEFAULT},
    {"bf-expansion", &settings.bf_expansion, 2, 1, 32768, REDISMODULE_CONFIG_DEFAULT},
    {"bf-writers", &settings.bf_writers, 4, 1, 1024, REDISMODULE_CONFIG_DEFAULT},
    {"cf-capacity", &settings.cf_capacity, 1024, 2, MOST_CAPACITY, REDISMODULE_CONFIG_DEFAULT},
    {"cf-bucket-size", &settings.cf_bucket_size, 2, 1, 255, REDISMODULE_CONFIG_DEFAULT},
    {"cf-max-iterations", &settings.cf_max_iterations, 20, 1, 65535, REDISMODULE_CONFIG_DEFAULT},
    {"cf-expansion", &settings.cf_expansion, 1, 0, 32768, REDISMODULE_CONFIG_DEFAULT},
    {"window-ms", &settings.window, 60000, 1, MOST_WINDOW, REDISMODULE_CONFIG_DEFAULT},
    {"counter-window-ms", &settings.counter_window, 3600000, 1, MOST_WINDOW, REDISMODULE_CONFIG_DEFAULT},
    {"window-ahead-ms", &settings.window_ahead, 60000, 0, MOST_WINDOW, REDISMODULE_CONFIG_DEFAULT},
    {"window-capacity", &settings.window_capacity, 100000, 1, MOST_CAPACITY, REDISMODULE_CONFIG_DEFAULT},
    {"tombstone-retention", &settings.tombstone_retention, 864000, 0, 1LL << 31, REDISMODULE_CONFIG_DEFAULT},
    {"memory-limit", &memory_limit, -1, 0, 1LL << 50, REDISMODULE_CONFIG_MEMORY},
};

/* ---- arguments of loadmodule --------------------------------------------------------------------------------------
 *
 * Pairs of a name and a value, which take the place of defaults: those of settings, and those that RedisBloom and
 * valkey-bloom have for the same things. What has no meaning here is refused with the reason, so that nobody believes
 * that it has an effect.
 */

static const struct alias {
    const char *name, *setting; /* NULL: there is no such thing */
    const char *reason;
} aliases[] = {
    {"error_rate", "bf-error-rate", NULL},
    {"initial_size", "bf-capacity", NULL},
    {"expansion", "bf-expansion", NULL},
    {"bf-initial-size", "bf-capacity", NULL},
    {"bf-expansion-factor", "bf-expansion", NULL},
    {"cf_initial_size", "cf-capacity", NULL},
    {"cf_bucket_size", "cf-bucket-size", NULL},
    {"cf_max_iterations", "cf-max-iterations", NULL},
    {"cf_expansion", "cf-expansion", NULL},
    {"cf_expansion_factor", "cf-expansion", NULL},
    {"cf-initial-size", "cf-capacity", NULL},
    {"cf-expansion-factor", "cf-expansion", NULL},
    {"bloom-fp-rate", "bf-error-rate", NULL},
    {"bloom-capacity", "bf-capacity", NULL},
    {"bloom-expansion", "bf-expansion", NULL},
    {"bloom-memory-usage-limit", "memory-limit", NULL},
    {"cf_max_expansions", NULL, "filters grow without such a limit; memory-limit bounds them"},
    {"cf-max-expansions", NULL, "filters grow without such a limit; memory-limit bounds them"},
    {"bf-hash-seed", NULL, "the seed of new filters is fixed, so that they merge; ROOST.CREATE has SEED"},
    {"bloom-tightening-ratio", NULL, "filters are not series whose rates it would set"},
    {"bloom-use-random-seed", NULL, "the seed is fixed, so that filters merge; BF.INSERT and ROOST.CREATE have SEED"},
    {"bloom-defrag-enabled", NULL, "filters are always defragmented where the server does"},
};

static bool is_setting(const char *name)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(rates[i].name, name) == 0)
            return true;
    return strcmp(name, "bf-cf") == 0 || strcmp(name, "bf-kind") == 0;
}

/* The setting that an argument is about; NULL with the reason if there is none. */
static const char *setting_of(const RedisModuleString *argument, const char **reason)
{
    static char lower[NAME_ROOM];
    const char *text = RedisModule_StringPtrLen(argument, NULL);
    text += strncasecmp(text, "roost.", 6) == 0 ? 6 : strncasecmp(text, "bf.", 3) == 0 ? 3 : 0;
    size_t size = 0;
    for (; size < NAME_ROOM - 1 && text[size]; size++)
        lower[size] = (char)tolower((unsigned char)text[size]);
    lower[size] = '\0';
    *reason = "there is no such setting: docs/module.md lists them";
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].name, lower) == 0) {
            *reason = aliases[i].reason;
            return aliases[i].setting;
        }
    return is_setting(lower) ? lower : NULL;
}

struct arguments {
    RedisModuleString **argv;
    int argc;
};

/* The value that the arguments give a setting; NULL: none. */
static RedisModuleString *given(const struct arguments *arguments, const char *setting)
{
    const char *reason, *name;
    for (int i = arguments->argc - 2; i >= 0; i -= 2)
        if ((name = setting_of(arguments->argv[i], &reason)) && strcmp(name, setting) == 0)
            return arguments->argv[i + 1];
    return NULL;
}

static bool refuse(RedisModuleCtx *ctx, const RedisModuleString *argument, const char *reason)
{
    RedisModule_Log(ctx, "warning", "cannot load: the argument %s of loadmodule: %s",
                    RedisModule_StringPtrLen(argument, NULL), reason);
    return false;
}

static const char *value_error(const char *setting, const RedisModuleString *value)
{
    double rate;
    long long number;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, setting) == 0)
            return argument_number(value, &number, numbers[i].least, numbers[i].most) ? NULL
                                                                                      : "its value is out of range";
    if (strcmp(setting, "bf-cf") == 0)
        return argument_is(value, "yes") || argument_is(value, "no") ? NULL : "its value must be yes or no";
    if (strcmp(setting, "bf-kind") == 0)
        return argument_is(value, "cuckoo") || argument_is(value, "bloom") ? NULL : "its value must be cuckoo or bloom";
    return RedisModule_StringToDouble(value, &rate) == REDISMODULE_OK && rate > 0 && rate < 1
               ? NULL
               : "its value must be above 0 and below 1";
}

static bool check_arguments(RedisModuleCtx *ctx, const struct arguments *arguments)
{
    for (int i = 0; i < arguments->argc; i += 2) {
        const char *reason, *setting = setting_of(arguments->argv[i], &reason);
        if (!setting)
            return refuse(ctx, arguments->argv[i], reason);
        if (i + 1 == arguments->argc)
            return refuse(ctx, arguments->argv[i], "its value is missing");
        const char *error = value_error(setting, arguments->argv[i + 1]);
        if (error)
            return refuse(ctx, arguments->argv[i], error);
    }
    return true;
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static int register_number(RedisModuleCtx *ctx, const struct arguments *arguments, const struct number_setting *number)
{
    const RedisModuleString *value = given(arguments, number->name);
    long long otherwise = number->otherwise < 0 ? automatic_limit : number->otherwise;
    if (value)
        (void)argument_number(value, &otherwise, number->least, number->most);
    return RedisModule_RegisterNumericConfig(ctx, number->name, otherwise, number->flags, number->least, number->most,
                                             get_number, set_number, NULL, number->place);
}

static int register_rate(RedisModuleCtx *ctx, const struct arguments *arguments, struct rate_setting *rate)
{
    const RedisModuleString *value = given(arguments, rate->name);
    return RedisModule_RegisterStringConfig(ctx, rate->name,
                                            value ? RedisModule_StringPtrLen(value, NULL) : rate->otherwise,
                                            REDISMODULE_CONFIG_DEFAULT, get_rate, set_rate, NULL, rate);
}

int settings_register(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    const struct arguments arguments = {argv, argc};
    if (!check_arguments(ctx, &arguments))
        return REDISMODULE_ERR;
    const RedisModuleString *bf_cf = given(&arguments, "bf-cf"), *kind = given(&arguments, "bf-kind");
    if (RedisModule_RegisterBoolConfig(ctx, "bf-cf", !bf_cf || argument_is(bf_cf, "yes"), REDISMODULE_CONFIG_IMMUTABLE,
                                       get_boolean, set_boolean, NULL, &settings.bf_cf) != REDISMODULE_OK ||
        register_kind(ctx, kind && argument_is(kind, "bloom") ? ROOST_BLOOM : ROOST_CUCKOO) != REDISMODULE_OK)
        return REDISMODULE_ERR;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (register_rate(ctx, &arguments, &rates[i]) != REDISMODULE_OK)
            return REDISMODULE_ERR;
    automatic_limit = safe_limit(ctx);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (register_number(ctx, &arguments, &numbers[i]) != REDISMODULE_OK)
            return REDISMODULE_ERR;
    return RedisModule_LoadConfigs(ctx);
}

int settings_watch(RedisModuleCtx *ctx)
{
    return RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_Config, config_changed);
}

void settings_release(void)
{
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        if (rates[i].text)
            RedisModule_FreeString(NULL, rates[i].text);
        rates[i].text = NULL;
    }
}
