/* ROOST.CREATE: a filter with every option of roost_config, by the names that the program gives them. */
#include "create.h"

#include "arguments.h"
#include "replies.h"
#include "target.h"

#define DEFAULT_FIRST_CAPACITY 10000 /* of a scalable filter, which grows anyway */

static const char *const kind_words[] = {"bloom", "cuckoo", "orcuckoo", NULL};
static const char *const layout_words[] = {"blocked", "classic", NULL};
static const char *const schedule_words[] = {"quadratic", "halving", NULL};

struct creation {
    roost_config config;
    bool rate_given;
};

/* NULL, or the error. */
typedef const char *read_option(struct creation *creation, const RedisModuleString *value);

static const char *read_kind(struct creation *creation, const RedisModuleString *value)
{
    int kind = argument_among(value, kind_words);
    creation->config.kind = (roost_kind)(kind + 1);
    return kind < 0 ? "ERR KIND must be bloom, cuckoo or orcuckoo" : NULL;
}

static const char *read_layout(struct creation *creation, const RedisModuleString *value)
{
    int layout = argument_among(value, layout_words);
    creation->config.layout = (roost_layout)(layout + 1);
    return layout < 0 ? "ERR LAYOUT must be blocked or classic" : NULL;
}

static const char *read_schedule(struct creation *creation, const RedisModuleString *value)
{
    int schedule = argument_among(value, schedule_words);
    creation->config.schedule = (roost_schedule)(schedule + 1);
    return schedule < 0 ? "ERR SCHEDULE must be quadratic or halving" : NULL;
}

static const char *read_capacity(struct creation *creation, const RedisModuleString *value)
{
    long long number;
    bool good = argument_number(value, &number, 1, 1LL << 40);
    creation->config.capacity = good ? (uint64_t)number : 0;
    return good ? NULL : "ERR CAPACITY must be from 1 to 2^40";
}

static const char *read_fpr(struct creation *creation, const RedisModuleString *value)
{
    creation->rate_given = true;
    return argument_rate(value, &creation->config.fpr) == RATE_GOOD ? NULL : "ERR FPR must be above 0 and below 1";
}

static const char *read_small(uint32_t *place, const RedisModuleString *value, long long most, const char *error)
{
    long long number;
    bool good = argument_number(value, &number, 1, most);
    *place = good ? (uint32_t)number : 0;
    return good ? NULL : error;
}

static const char *read_bits(struct creation *creation, const RedisModuleString *value)
{
    return read_small(&creation->config.fingerprint_bits, value, 32, "ERR BITS must be from 4 to 32");
}

static const char *read_bucket(struct creation *creation, const RedisModuleString *value)
{
    return read_small(&creation->config.bucket_size, value, 8, "ERR BUCKET must be 1, 2, 4 or 8");
}

static const char *read_entry(struct creation *creation, const RedisModuleString *value)
{
    return read_small(&creation->config.entry_bits, value, 64, "ERR ENTRY must be 32 or 64");
}

static const char *read_writers(struct creation *creation, const RedisModuleString *value)
{
    return read_small(&creation->config.writers, value, 1024, "ERR WRITERS must be from 1 to 1024");
}

static const char *read_growth(struct creation *creation, const RedisModuleString *value)
{
    return read_small(&creation->config.growth, value, 8, "ERR GROWTH must be 1, 2, 4 or 8");
}

/* All 64 bits, as a number with or without a sign. */
static const char *read_seed(struct creation *creation, const RedisModuleString *value)
{
    unsigned long long number;
    long long with_sign;
    if (RedisModule_StringToULongLong(value, &number) == REDISMODULE_OK)
        creation->config.seed = number;
    else if (RedisModule_StringToLongLong(value, &with_sign) == REDISMODULE_OK)
        creation->config.seed = (uint64_t)with_sign;
    else
        return "ERR SEED must be a number of 64 bits";
    return NULL;
}

static const struct {
    const char *name;
    read_option *read;
} options[] = {
    {"KIND", read_kind},     {"CAPACITY", read_capacity}, {"FPR", read_fpr},     {"LAYOUT", read_layout},
    {"BITS", read_bits},     {"BUCKET", read_bucket},     {"ENTRY", read_entry}, {"WRITERS", read_writers},
    {"GROWTH", read_growth}, {"SCHEDULE", read_schedule}, {"SEED", read_seed},
};

static read_option *option_named(const RedisModuleString *name)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (argument_is(name, options[i].name))
            return options[i].read;
    return NULL;
}

static const char *read_options(struct creation *creation, RedisModuleString **argv, int argc)
{
    const char *error = NULL;
    for (int i = 2; i < argc && !error; i++) {
        read_option *read = option_named(argv[i]);
        if (argument_is(argv[i], "SCALABLE"))
            creation->config.scalable = true;
        else if (argument_is(argv[i], "MULTISET"))
            creation->config.multiset = true;
        else
            error = read && i + 1 < argc ? read(creation, argv[++i]) : ERROR_UNKNOWN;
    }
    return error;
}

/* Where fingerprints are given and no rate, the rate is what they give. */
static const char *complete(struct creation *creation)
{
    roost_config *config = &creation->config;
    if (config->capacity == 0 && !config->scalable)
        return "ERR CAPACITY is missing";
    if (config->capacity == 0)
        config->capacity = DEFAULT_FIRST_CAPACITY;
    if (config->entry_bits == 32 && !config->fingerprint_bits)
        config->fingerprint_bits = 8;
    if (!creation->rate_given && config->fingerprint_bits && !config->scalable)
        config->fpr = 0;
    return NULL;
}

int create_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct creation creation = {.config = roost_config_default()};
    if (argc < 2)
        return RedisModule_WrongArity(ctx);
    const char *error = read_options(&creation, argv, argc);
    if (!error)
        error = complete(&creation);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!target.missing) {
        target_close(&target);
        return RedisModule_ReplyWithError(ctx, ERROR_EXISTS);
    }
    roost_status status = target_create(&target, &creation.config, (struct shown){0});
    if (status == ROOST_OK)
        target_changed(&target, "roost.create");
    target_close(&target);
    if (status == ROOST_INVALID)
        return RedisModule_ReplyWithError(ctx, "ERR these options do not go together");
    return status == ROOST_OK ? reply_ok(ctx) : reply_status(ctx, status);
}

const char *kind_word(roost_kind kind)
{
    return kind_words[kind - 1];
}
