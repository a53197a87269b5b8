/* Inside the scalable filter series. `series.c` has the essay. */
#ifndef SERIES_SERIES_H
#define SERIES_SERIES_H

#include "../filter/kind.h"
#include "series_plan.h"
#include "../causal/quota.h"

/*
 * Invariants (series_check): tables are sound and have the geometry of their plan; a table that is missing is bottom.
 * The quota is a Bloom series' own.
 */
struct series {
    struct roost_filter base;
    struct filter_own own;
    const struct filter_kind *table_kind;
    uint32_t buckets;               /* of the first table (cuckoo) */
    struct cuckoo_geometry nesting; /* of the first table (cuckoo): what all have in common */
    roost_filter *tables[MOST_TABLES];
    uint32_t count;     /* tables beyond are missing */
    uint32_t target;    /* additions went to this table the last time: those before it have no room */
    struct quota quota; /* Bloom: who added how much to which table */
    uint64_t actor;     /* Bloom: of this replica, or 0 */
};

static inline struct series *as_series(roost_filter *filter)
{
    return (struct series *)filter;
}

static inline const struct series *as_const_series(const roost_filter *filter)
{
    return (const struct series *)filter;
}

/* Changes of the quota are noted as changes of this table: key is the actor, tag the table. */
#define QUOTA_TABLE 0xff

/* The table, which is made if it is missing. */
roost_status series_table(struct series *series, uint32_t index, roost_filter **table);
/* A copy that can take the place of a table: it goes on with its actor, and what changes in it is noted. */
roost_status series_copy_table(struct series *series, uint32_t index, roost_filter **copy);
/* Takes the place of the table, which may be missing. */
void series_replace_table(struct series *series, uint32_t index, roost_filter *table);
/* After changes: room may have come back in any table, and the last ones may be empty. Their causal contexts stay. */
void series_shrink(struct series *series);
/* Merges another quota, records what changed in the journal, and returns whether anything did; room must have been
   reserved. */
bool series_take_quota(struct series *series, const struct quota *other);

/* ---- bytes and deltas: series_bytes.c ---------------------------------------------------------------------------- */

void series_write_geometry(const roost_filter *filter, struct bit_writer *writer);
roost_status series_write_state(const roost_filter *filter, struct bit_writer *writer);
roost_status series_read_state(roost_filter *filter, struct bit_reader *reader);
roost_status series_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
roost_status series_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader);
roost_status series_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                        struct delta_sink *sink);
roost_status series_sweep(roost_filter *filter, struct sweep *sweep, const roost_filter *other, uint32_t effort);
roost_status series_summarize(const roost_filter *filter, struct summary *summary, const struct causal_context *space);
roost_status series_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                      const uint64_t *positions, uint64_t count);
uint64_t series_extent(const roost_filter *filter);
void series_write_extra(const roost_filter *filter, struct bit_writer *writer);
roost_status series_read_extra(roost_filter *filter, struct quota *extra, struct bit_reader *reader);
bool series_take_extra(roost_filter *filter, const struct quota *extra);
roost_status series_causal(const roost_filter *filter, struct causal_context *copy);
roost_status series_causal_at(const roost_filter *filter, struct causal_context *causal, uint64_t record);
roost_status series_write_dots(const roost_filter *filter, struct bit_writer *writer,
                               const struct causal_context *dots);
void series_write_replica(const roost_filter *filter, struct bit_writer *writer);
roost_status series_read_replica(roost_filter *filter, struct bit_reader *reader);
void series_forget_replica(roost_filter *filter);
uint32_t *series_numbers_after_decode(const roost_filter *filter, uint8_t table);
uint32_t *series_numbers_before_decode(const roost_filter *filter, uint8_t table);
bool series_is_change(const roost_filter *filter, uint8_t table, struct change change);

#endif
