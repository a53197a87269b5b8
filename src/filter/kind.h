/*
 * What a kind of filter provides. `filter.c` puts the public interface over this table, `../sync/frame.c` the bytes;
 * neither knows a kind by name. A new kind is one more table in `filter_kinds`.
 *
 * Each kind's own struct begins with a `struct roost_filter`.
 */
#ifndef FILTER_KIND_H
#define FILTER_KIND_H

#include "roost/filter.h"
#include "../base/bits.h"
#include "../base/bitstream.h"
#include "../base/random.h"

struct filter_kind {
    roost_kind code;
    const char *name;

    /* Fills in what the configuration leaves open and checks the rest; ROOST_INVALID. */
    roost_status (*resolve)(roost_config *config);
    /* Whether a configuration that a frame carries could have come from `resolve`: ranges only, nothing is derived, so
     * that frames outlive a change in how sizes are chosen. */
    bool (*is_resolved)(const roost_config *config);
    /* An empty filter; the configuration is resolved, the environment complete. `geometry` is NULL, or where a frame
     * states the sizes that `resolve` would otherwise derive. */
    roost_status (*open)(roost_filter **filter, const roost_config *config, const roost_environment *environment,
                         struct bit_reader *geometry);
    void (*close)(roost_filter *filter);
    roost_status (*clone)(const roost_filter *filter, roost_filter **copy);

    roost_status (*add)(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes, size_t count);
    void (*contains)(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count);

    /* Those with two filters are called with equal configuration and geometry, and never with the same filter twice. */
    roost_status (*merge)(roost_filter *filter, bool *changed, const roost_filter *other);
    roost_order (*compare)(const roost_filter *filter, const roost_filter *other);
    uint128 (*digest)(roost_filter *filter);

    /* The sizes, then the state. What was written by write_geometry is read by open. */
    void (*write_geometry)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*write_state)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*read_state)(roost_filter *filter, struct bit_reader *reader);

    void (*info)(const roost_filter *filter, roost_info *info);
    roost_status (*check)(const roost_filter *filter);
};

struct roost_filter {
    const struct filter_kind *kind;
    roost_config config;           /* resolved */
    roost_environment environment; /* complete: no default left open */
    struct random_source random;   /* never part of the state */
};

extern const struct filter_kind bloom_kind, gcuckoo_kind;

/* NULL for a code that is none. */
const struct filter_kind *filter_kind_of(roost_kind code);

/* Defaults filled in; NULL means all of them. */
roost_environment environment_or_default(const roost_environment *environment);

/* The configuration as bytes: what frames carry, what merge compares, what the digest covers. */
void write_configuration(const roost_filter *filter, struct bit_writer *writer);
roost_status open_configured(roost_filter **filter, struct bit_reader *reader, const roost_environment *environment);

bool same_configuration(const roost_filter *filter, const roost_filter *other);

#endif
