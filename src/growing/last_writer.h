/* The scalable last-writer-wins set: a map from hash prefixes to stamps. `last_writer.c` has the essay. */
#ifndef GROWING_LAST_WRITER_H
#define GROWING_LAST_WRITER_H

#include "shared.h"
#include "tagged_set.h"
#include "../base/sort.h"

/*
 * Invariants (roost_filter_check): every entry of the set has a prefix of STAMPED_LENGTH bits, which no other has, and
 * a stamp for its tag; `members` counts those that add, and `sum` is the sum of the hashes of all.
 */
struct last_writer {
    struct roost_filter base;
    struct tagged_set set;
    uint128 sum;
    uint64_t members;
    uint64_t now;      /* what the caller said last; never part of the state */
    bool keeps_shared; /* for itself alone: shared.h */
};

static inline struct last_writer *as_last_writer(roost_filter *filter)
{
    return (struct last_writer *)filter;
}

static inline const struct last_writer *as_const_last_writer(const roost_filter *filter)
{
    return (const struct last_writer *)filter;
}

/* The stamp of a prefix; 0: there is none. */
uint64_t find_stamp(const struct tagged_set *set, uint64_t prefix);

/* Of each entry, whose prefixes differ, the later of the two stamps, all of it or nothing: ROOST_NO_MEMORY,
   ROOST_TOO_LARGE. */
roost_status join_entries(struct last_writer *filter, bool *changed, const struct prefix_entry *entries,
                          uint64_t count);

/* ---- last_writer_bytes.c ----------------------------------------------------------------------------------------- */

roost_status last_writer_write_state(const roost_filter *filter, struct bit_writer *writer);
roost_status last_writer_read_state(roost_filter *filter, struct bit_reader *reader);
roost_status last_writer_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
roost_status last_writer_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader);
roost_status last_writer_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                             struct delta_sink *sink);
bool last_writer_is_change(const roost_filter *filter, uint8_t table, struct change change);

extern const struct filter_kind last_writer_kind;

#endif
