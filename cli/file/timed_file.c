/*
 * The first command that changes a window or counter creates it, so that a retry loop in a script needs no set-up. Its
 * configuration never changes: other values of the options are refused later.
 */
#include "timed_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/kinds.h"
#include "cli/base/machine.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"

#define DEFAULT_FILE_CAPACITY 100000

roost_config timed_config(const struct timed_settings *settings, roost_kind kind, uint64_t capacity)
{
    roost_config config = roost_window_config_default(kind, settings->window);
    config.capacity = settings->capacity ? settings->capacity : capacity;
    config.fpr = settings->fpr > 0 ? settings->fpr : config.fpr;
    config.past = settings->past ? (uint32_t)settings->past : config.past;
    config.seed = settings->seed.given ? settings->seed.seed : config.seed;
    return config;
}

uint64_t timed_now(const struct timed_settings *settings)
{
    return settings->time ? settings->time : machine_time();
}

static bool make(struct filter_file *file, const struct timed_settings *settings, roost_kind kind)
{
    if (!settings->window)
        return complain(file->name, "%s; --window TIME creates it", strerror(ENOENT));
    roost_config config = timed_config(settings, kind, DEFAULT_FILE_CAPACITY);
    roost_environment environment = filter_environment();
    roost_filter *filter;
    roost_status status = roost_filter_new(&filter, &config, &environment);
    if (status == ROOST_INVALID)
        return complain(file->name, "cannot be created: --fpr or --window is out of range");
    return status == ROOST_OK ? filter_file_put(file, file->name, filter) : complain_of_status(file->name, status);
}

static bool differs(const struct filter_file *file, const char *option, const char *value)
{
    return complain(option, "%s was created with %s; leave the option out", file->name, value);
}

static bool differs_in_count(const struct filter_file *file, const char *option, uint64_t given, uint64_t present)
{
    char value[COUNT_ROOM];
    snprintf(value, sizeof value, "%llu", (unsigned long long)present);
    return given && given != present && !differs(file, option, value);
}

static const char *verbs_of(roost_kind kind)
{
    return kind == ROOST_WINDOW ? "roost window" : kind == ROOST_COUNTER ? "roost counter" : "roost add and roost check";
}

bool timed_file_fits(const struct filter_file *file, const struct timed_settings *settings, roost_kind kind)
{
    const roost_config *config = roost_filter_get_config(file->filter);
    if (config->kind != kind)
        return complain(file->name, "not a %s, its kind is %s; use %s", kind_name(kind), kind_name(config->kind),
                        verbs_of(config->kind));
    char window[COUNT_ROOM], rate[NUMBER_ROOM], seed[COUNT_ROOM];
    format_exact_duration(window, config->window);
    format_shortest(rate, config->fpr);
    snprintf(seed, sizeof seed, "0x%llx", (unsigned long long)config->seed);
    if (settings->window && settings->window != config->window)
        return differs(file, "--window", window);
    if (differs_in_count(file, "--capacity", settings->capacity, config->capacity) ||
        differs_in_count(file, "--past", settings->past, config->past))
        return false;
    if (settings->fpr > 0 && settings->fpr != config->fpr)
        return differs(file, "--fpr", rate);
    return !(settings->seed.given && settings->seed.seed != config->seed) || differs(file, "--seed", seed);
}

bool timed_file_open(struct filter_file *file, const char *name, const struct timed_settings *settings, roost_kind kind)
{
    if (!filter_file_lock(file, name))
        return false;
    if (!filter_file_exists(file) ? !make(file, settings, kind)
                                  : !filter_file_refresh(file) || !timed_file_fits(file, settings, kind))
        return false;
    if (!settings->resume) /* the clock of this machine may be wrong, too */
        roost_window_set_latest(file->filter, 0);
    return true;
}
