/*
 * ROOST.CREATE: a filter with any option of roost_config. The options have the names of those of the program.
 *
 * The library decides which options go together. An option that no filter of the kind's family has is refused by name.
 * Windows and counters have defaults in the configuration.
 */
#include "create.h"

#include <stdio.h>

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "module/value/timed.h"

#define DEFAULT_FIRST_CAPACITY 10000 /* of a series of tables */

static const char *const kind_words[] = {"bloom", "cuckoo", "orcuckoo", "window", "counter", NULL};
static const roost_kind kinds[] = {ROOST_BLOOM, ROOST_CUCKOO, ROOST_ORCUCKOO, ROOST_WINDOW, ROOST_COUNTER};
static const char *const layout_words[] = {"blocked", "classic", NULL};
static const char *const schedule_words[] = {"quadratic", "halving", "gentle", NULL};
static const char *const semantics_words[] = {"add-wins", "remove-wins", "last-writer-wins", NULL};

struct creation {
    roost_config config;
    unsigned given; /* which options, by index in the table */
};

/* NULL, or the error. */
typedef const char *read_option(struct creation *creation, const RedisModuleString *value);

static const char *read_kind(struct creation *creation, const RedisModuleString *value)
{
    int kind = argument_among(value, kind_words);
    if (kind < 0)
        return "ERR KIND must be bloom, cuckoo, orcuckoo, window or counter";
    creation->config.kind = kinds[kind];
    return NULL;
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
    return schedule < 0 ? "ERR SCHEDULE must be quadratic, halving or gentle" : NULL;
}

static const char *read_semantics(struct creation *creation, const RedisModuleString *value)
{
    int semantics = argument_among(value, semantics_words);
    creation->config.semantics = semantics < 0 ? ROOST_ADD_WINS : (roost_semantics)semantics;
    return semantics < 0 ? "ERR SEMANTICS must be add-wins, remove-wins or last-writer-wins" : NULL;
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

/* 64 bits, signed or unsigned. */
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

static const char *read_window(struct creation *creation, const RedisModuleString *value)
{
    long long number;
    bool good = argument_number(value, &number, 1, MOST_WINDOW);
    creation->config.window = good ? timed_config(ROOST_WINDOW, number).window : 0;
    return good ? NULL : TIMED_WINDOW_ERROR;
}

static const char *read_past(struct creation *creation, const RedisModuleString *value)
{
    return read_small(&creation->config.past, value, 255, "ERR PAST must be from 1 to 255");
}

static const char *set_scalable(struct creation *creation, const RedisModuleString *value)
{
    (void)value;
    creation->config.scalable = true;
    return NULL;
}

static const char *set_multiset(struct creation *creation, const RedisModuleString *value)
{
    (void)value;
    creation->config.multiset = true;
    return NULL;
}

/* The kinds that have an option. */
enum family { EVERY, UNTIMED, TIMED };

enum option { KIND, CAPACITY, FPR, LAYOUT, SEED, WINDOW, PAST };
static const struct {
    const char *name;
    read_option *read;
    enum family family;
    bool alone; /* without a value */
} options[] = {
    [KIND] = {"KIND", read_kind, EVERY, false},  [CAPACITY] = {"CAPACITY", read_capacity, EVERY, false},
    [FPR] = {"FPR", read_fpr, EVERY, false},     [LAYOUT] = {"LAYOUT", read_layout, EVERY, false},
    [SEED] = {"SEED", read_seed, EVERY, false},  [WINDOW] = {"WINDOW", read_window, TIMED, false},
    [PAST] = {"PAST", read_past, TIMED, false},  {"BITS", read_bits, UNTIMED, false},
    {"BUCKET", read_bucket, UNTIMED, false},     {"ENTRY", read_entry, UNTIMED, false},
    {"WRITERS", read_writers, UNTIMED, false},   {"GROWTH", read_growth, UNTIMED, false},
    {"SCHEDULE", read_schedule, UNTIMED, false}, {"SCALABLE", set_scalable, UNTIMED, true},
    {"MULTISET", set_multiset, UNTIMED, true},   {"SEMANTICS", read_semantics, UNTIMED, false},
};
#define OPTIONS (sizeof options / sizeof *options)

static const char *read_options(struct creation *creation, RedisModuleString **argv, int argc)
{
    const char *error = NULL;
    for (int i = 2; i < argc && !error; i++) {
        size_t option = 0;
        while (option < OPTIONS && !argument_is(argv[i], options[option].name))
            option++;
        if (option == OPTIONS || (!options[option].alone && ++i == argc))
            return ERROR_UNKNOWN;
        creation->given |= 1u << option;
        error = options[option].read(creation, argv[i]);
    }
    return error;
}

static bool is_given(const struct creation *creation, enum option option)
{
    return creation->given >> option & 1;
}

/* The name of an option that was given and that the kind does not have, or NULL. */
static const char *foreign_option(const struct creation *creation, enum family family)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (creation->given >> i & 1 && options[i].family != EVERY && options[i].family != family)
            return options[i].name;
    return NULL;
}

static const char *complete_timed(struct creation *creation)
{
    struct creation asked = *creation;
    if (!is_given(&asked, WINDOW))
        return "ERR WINDOW is missing";
    roost_config *config = &creation->config;
    *config = timed_config(asked.config.kind, 0);
    config->window = asked.config.window;
    config->layout = asked.config.layout;
    config->seed = asked.config.seed;
    config->past = is_given(&asked, PAST) ? asked.config.past : config->past;
    config->capacity = is_given(&asked, CAPACITY) ? asked.config.capacity : config->capacity;
    config->fpr = is_given(&asked, FPR) ? asked.config.fpr : config->fpr;
    return NULL;
}

/* Without a capacity a filter grows. What grows is a cuckoo filter, unless another kind is asked for, or a layout,
   which only Bloom filters have. If the size of fingerprints is given and no rate, it determines the rate. */
static const char *complete_untimed(struct creation *creation)
{
    roost_config *config = &creation->config;
    config->scalable |= config->capacity == 0;
    if (config->scalable && !is_given(creation, KIND) && !is_given(creation, LAYOUT))
        config->kind = ROOST_CUCKOO;
    if (config->capacity == 0 && config->kind == ROOST_BLOOM) /* others need none */
        config->capacity = DEFAULT_FIRST_CAPACITY;
    if (config->semantics && (config->kind != ROOST_ORCUCKOO || !config->scalable || config->multiset))
        return "ERR SEMANTICS other than add-wins are for KIND orcuckoo, SCALABLE or without CAPACITY, and not for "
               "MULTISET";
    if (config->entry_bits == 32 && !config->fingerprint_bits)
        config->fingerprint_bits = 8;
    if (!is_given(creation, FPR) && config->fingerprint_bits && !config->scalable)
        config->fpr = 0;
    return NULL;
}

/* NULL, or the error, which may be written to `text`. */
static const char *complete(struct creation *creation, char *text, size_t room)
{
    bool timed = creation->config.kind == ROOST_WINDOW || creation->config.kind == ROOST_COUNTER;
    const char *foreign = foreign_option(creation, timed ? TIMED : UNTIMED);
    if (!foreign)
        return timed ? complete_timed(creation) : complete_untimed(creation);
    snprintf(text, room, "ERR %s is not for filters of KIND %s", foreign, kind_word(creation->config.kind));
    return text;
}

static bool is_power_up_to_8(uint32_t number)
{
    return number == 1 || number == 2 || number == 4 || number == 8;
}

/* Which option a configuration that the library refuses has wrong, as far as that is one. */
static const char *refusal(const roost_config *config)
{
    const bool cuckoo = config->kind == ROOST_CUCKOO, orcuckoo = config->kind == ROOST_ORCUCKOO;
    const uint32_t bits = config->fingerprint_bits, entry = config->entry_bits;
    const struct {
        bool wrong;
        const char *text;
    } rules[] = {
        {config->multiset && !orcuckoo, "ERR MULTISET is for KIND orcuckoo"},
        {(cuckoo || orcuckoo) && !is_power_up_to_8(config->bucket_size), "ERR BUCKET must be 1, 2, 4 or 8"},
        {config->growth && !is_power_up_to_8(config->growth), "ERR GROWTH must be 1, 2, 4 or 8"},
        {config->schedule == ROOST_GENTLE && !cuckoo && !orcuckoo,
         "ERR SCHEDULE gentle is for KIND cuckoo and orcuckoo"},
        {entry && entry != 32 && entry != 64, "ERR ENTRY must be 32 or 64"},
        {orcuckoo && entry == 32 && !config->multiset, "ERR ENTRY 32 is for MULTISET"},
        {bits && !cuckoo && !orcuckoo, "ERR BITS is for KIND cuckoo and orcuckoo"},
        {cuckoo && bits && bits < 4, "ERR BITS must be from 4 to 32"},
        {orcuckoo && entry == 32 && bits != 8, "ERR BITS must be 8 with ENTRY 32"},
        {orcuckoo && bits && (bits < (config->multiset ? 8 : 16) || bits > 28),
         "ERR BITS must be from 16 to 28 for KIND orcuckoo, from 8 with MULTISET"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong)
            return rules[i].text;
    return "ERR these options do not go together";
}

int create_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct creation creation = {.config = roost_config_default()};
    char text[80];
    if (argc < 2)
        return RedisModule_WrongArity(ctx);
    const char *error = read_options(&creation, argv, argc);
    if (!error)
        error = complete(&creation, text, sizeof text);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!target.missing) {
        target_close(&target);
        return RedisModule_ReplyWithError(ctx, target.reserved ? ERROR_RESERVED : ERROR_EXISTS);
    }
    roost_status status = target_create(&target, &creation.config, (struct shown){0});
    if (status == ROOST_OK)
        target_changed(&target, "roost.create");
    target_close(&target);
    if (status == ROOST_INVALID)
        return RedisModule_ReplyWithError(ctx, refusal(&creation.config));
    return status == ROOST_OK ? reply_ok(ctx) : reply_status(ctx, status);
}

const char *layout_word(roost_layout layout)
{
    return layout == ROOST_BLOCKED || layout == ROOST_CLASSIC ? layout_words[layout - 1] : "none";
}

const char *schedule_word(roost_schedule schedule)
{
    return schedule >= ROOST_QUADRATIC && schedule <= ROOST_GENTLE ? schedule_words[schedule - 1] : "none";
}

const char *semantics_word(roost_semantics semantics)
{
    return semantics_words[semantics];
}

const char *kind_word(roost_kind kind)
{
    size_t i = 0;
    while (kinds[i] != kind)
        i++;
    return kind_words[i];
}
