/*
 * The table of all kinds. Frames and `roost_filter_new` find the kind of a filter here, by its code and by whether it
 * grows. A new kind is one more line.
 */
#include "kinds.h"

#include "../window/forgetful.h"

static const struct filter_kind *const filter_kinds[][2] = {{&bloom_kind, &series_bloom_kind},
                                                            {&gcuckoo_kind, &series_gcuckoo_kind},
                                                            {&orcuckoo_kind, &series_orcuckoo_kind},
                                                            {&window_kind, &growing_window_kind},
                                                            {&counter_kind, &growing_counter_kind}};

static const struct filter_kind *kind_of(roost_kind code, bool scalable)
{
    for (size_t i = 0; i < sizeof filter_kinds / sizeof *filter_kinds; i++)
        if (filter_kinds[i][0]->code == code)
            return filter_kinds[i][scalable];
    return NULL;
}

static roost_status resolve(roost_config *config)
{
    const struct filter_kind *kind = kind_of(config->kind, config->scalable);
    return !kind || config->capacity == 0 ? ROOST_INVALID : kind->lifecycle.resolve(config);
}

roost_status open_configured(roost_filter **filter, struct bit_reader *reader, const roost_environment *environment)
{
    roost_config config = read_configuration(reader);
    const struct filter_kind *kind = kind_of(config.kind, config.scalable);
    if (reader->failed || !kind || config.capacity == 0 || !kind->lifecycle.is_resolved(&config))
        return ROOST_CORRUPT;
    return kind->lifecycle.open(filter, &config, environment, reader);
}

roost_status roost_filter_new(roost_filter **filter, const roost_config *config, const roost_environment *environment)
{
    *filter = NULL;
    roost_config resolved = *config;
    roost_environment complete = environment_or_default(environment);
    roost_status status = resolve(&resolved);
    return status != ROOST_OK
               ? status
               : kind_of(resolved.kind, resolved.scalable)->lifecycle.open(filter, &resolved, &complete, NULL);
}
