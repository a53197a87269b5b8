/*
 * The table of all kinds. Frames and `roost_filter_new` find the kind of a filter here, by its code, by whether it
 * grows, and how: a kind that has a table of prefixes is made of it, and frames of the series that it had before are
 * still read. Sets in which the last writer wins have a table of stamps. A new kind is one more line.
 */
#include "kinds.h"

#include "../growing/growing_cuckoo.h"
#include "../growing/growing_orcuckoo.h"
#include "../growing/last_writer.h"
#include "../prefix/semantics.h"
#include "../window/forgetful.h"

enum form { FIXED, SERIES, PREFIXES, STAMPS, FORMS };

static const struct filter_kind *const filter_kinds[][FORMS] = {
    {&bloom_kind, &series_bloom_kind},
    {&gcuckoo_kind, &series_gcuckoo_kind, &growing_cuckoo_kind},
    {&orcuckoo_kind, &series_orcuckoo_kind, &growing_orcuckoo_kind, &last_writer_kind},
    {&window_kind, &growing_window_kind},
    {&counter_kind, &growing_counter_kind},
};

static const struct filter_kind *kind_of(roost_kind code, enum form form)
{
    for (size_t i = 0; i < sizeof filter_kinds / sizeof *filter_kinds; i++)
        if (filter_kinds[i][FIXED]->code == code)
            return filter_kinds[i][form];
    return NULL;
}

/* The kind of a new filter. */
static const struct filter_kind *kind_for(const roost_config *config)
{
    if (config->semantics == ROOST_LAST_WRITER_WINS)
        return kind_of(config->kind, STAMPS);
    const struct filter_kind *prefixes = kind_of(config->kind, PREFIXES);
    return config->scalable && prefixes ? prefixes : kind_of(config->kind, config->scalable ? SERIES : FIXED);
}

static bool has_capacity(const struct filter_kind *kind, const roost_config *config)
{
    return config->capacity > 0 || kind->has_prefixes;
}

/* The kind with the configuration that the reader is at; NULL if no filter has it. */
static const struct filter_kind *read_kind(roost_config *config, struct bit_reader *reader)
{
    bool has_prefixes;
    *config = read_configuration(reader, &has_prefixes);
    enum form form = has_prefixes ? PREFIXES : config->scalable ? SERIES : FIXED;
    const struct filter_kind *kind = kind_of(config->kind, config->semantics == ROOST_LAST_WRITER_WINS ? STAMPS : form);
    bool sound = !reader->failed && kind && has_capacity(kind, config) && semantics_fit(config) &&
                 kind->lifecycle.is_resolved(config);
    return sound ? kind : NULL;
}

roost_status open_configured(roost_filter **filter, struct bit_reader *reader, const roost_environment *environment)
{
    roost_config config;
    const struct filter_kind *kind = read_kind(&config, reader);
    return kind ? kind->lifecycle.open(filter, &config, environment, reader) : ROOST_CORRUPT;
}

bool has_configuration(struct bit_reader reader)
{
    roost_config config;
    return read_kind(&config, &reader) != NULL;
}

roost_status roost_filter_new(roost_filter **filter, const roost_config *config, const roost_environment *environment)
{
    *filter = NULL;
    roost_config resolved = *config;
    roost_environment complete = environment_or_default(environment);
    const struct filter_kind *kind = kind_for(config);
    if (!kind || !has_capacity(kind, config) || !semantics_fit(config))
        return ROOST_INVALID;
    roost_status status = kind->lifecycle.resolve(&resolved);
    return status != ROOST_OK ? status : kind->lifecycle.open(filter, &resolved, &complete, NULL);
}
