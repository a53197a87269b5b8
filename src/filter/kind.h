/*
 * What a kind of filter provides. `filter.c` puts the public interface over this table, `../sync/frame.c` the bytes;
 * neither knows a kind by name. A new kind is one more table in `filter_kinds`.
 *
 * Each kind's own struct begins with a `struct roost_filter`.
 */
#ifndef FILTER_KIND_H
#define FILTER_KIND_H

#include "roost/filter.h"
#include "cuckoo_geometry.h"
#include "journal.h"
#include "summary.h"
#include "../base/bits.h"
#include "../base/bitstream.h"
#include "../base/random.h"
#include "../causal/causal_context.h"
#include "../causal/quota.h"

/* A delta that was read and can be taken in without fail. */
struct prepared_delta {
    bool ready;
    struct bit_reader reader;
    void *part; /* the kind's own */
};

/* What goes to a place of its own in memory may find the page missing: it takes as long as so many bytes in a row. */
#define BYTES_A_PLACE 128

/* Where the parts go that a state is cut into: each the body of a delta, and none is needed for another to be right. */
struct part_sink {
    roost_status (*take)(struct part_sink *sink, const struct bit_writer *part);
    bool removals; /* what the receiver has seen already was removed here, in part: `sweep` must follow */
};

/* How far a search for entries that another filter has seen removed has come. All zero: not begun. */
struct sweep {
    uint32_t table; /* of a series */
    uint32_t row;
    uint64_t node;  /* of the stash */
    uint64_t moves; /* of the table, when this pass began */
    uint32_t passes;
    bool disturbed; /* entries have moved meanwhile, and may have been missed */
    bool done;
};

struct cuckoo_table;

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
    /*
     * The same in steps (../sync/copying.c), for an environment of its own; NULL where filters are small. copy_open
     * makes an empty filter. copy_some copies pages that have changed since they were copied, takes each from the
     * effort, and tells whether none is left; the filter may change between two calls. When none is left, and at the
     * same moment, copy_rest does what is short. One copy at a time.
     */
    roost_status (*copy_open)(const roost_filter *filter, roost_filter **copy, const roost_environment *environment);
    roost_status (*copy_some)(roost_filter *filter, roost_filter *copy, uint64_t *effort, bool *clean);
    roost_status (*copy_rest)(roost_filter *filter, roost_filter *copy);

    roost_status (*add)(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes, size_t count);
    void (*contains)(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count);
    /* As tables of a series whose classes nest; NULL where they do not. */
    void (*contains_nested)(const roost_filter *filter, bool *found, const struct nested_place *places, size_t count);

    /* Only where elements can be removed; NULL elsewhere. */
    roost_status (*add_dot)(roost_filter *filter, roost_dot *dot, roost_hash hash);
    roost_status (*remove)(roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count);
    roost_status (*remove_one)(roost_filter *filter, bool *changed, roost_hash hash);
    roost_status (*remove_dot)(roost_filter *filter, bool *changed, roost_hash hash, roost_dot dot);
    uint64_t (*count)(const roost_filter *filter, roost_hash hash);
    uint64_t (*actor)(const roost_filter *filter);

    /* Those with two filters are called with equal configuration and geometry, and never with the same filter twice. */
    roost_status (*merge)(roost_filter *filter, bool *changed, const roost_filter *other);
    roost_order (*compare)(const roost_filter *filter, const roost_filter *other);
    uint128 (*digest)(roost_filter *filter);
    /* Does some of what the next digest would have to, and takes it from the effort; whether there is more. NULL: there
     * never is anything. */
    bool (*precompute_digest)(roost_filter *filter, uint64_t *effort);

    /* The sizes, then the state. What was written by write_geometry is read by open. */
    void (*write_geometry)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*write_state)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*read_state)(roost_filter *filter, struct bit_reader *reader);

    /*
     * What the journal tells, in the form of a state; it knows the record to begin with. Whatever is left out, it is a
     * part of the state. Reading takes in such a part, all of it or nothing; it is all that the reader has left.
     */
    roost_status (*write_delta)(const roost_filter *filter, struct bit_writer *writer, struct selection told);
    roost_status (*merge_delta)(roost_filter *filter, bool *changed, struct bit_reader *reader);
    /*
     * The same in two steps, for tables of a series, which take in their parts together or not at all: prepare_delta
     * does all that can fail; what it prepared is then committed, or abandoned. Where the bytes are in order but call
     * for a copy of the table, `ready` stays false, and there is nothing to commit or to abandon. abandon_delta is
     * NULL where nothing is ever held.
     */
    roost_status (*prepare_delta)(roost_filter *filter, struct prepared_delta *prepared, struct bit_reader reader);
    void (*commit_delta)(roost_filter *filter, bool *changed, struct prepared_delta *prepared);
    void (*abandon_delta)(roost_filter *filter, struct prepared_delta *prepared);

    /*
     * For merges in steps (../sync/merging.c). `cut` hands out the state in parts of about so many bytes, without the
     * dots that the receiver knows (NULL: none; for kinds without dots always). `sweep` drops some of the entries that
     * `other` has seen and does not hold: it looks at `effort` rows, and goes on where it was. NULL: there is no need.
     */
    roost_status (*cut)(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                        struct part_sink *sink);
    roost_status (*sweep)(roost_filter *filter, struct sweep *sweep, const roost_filter *other, uint32_t effort);

    /* Offers its arrays to be moved (roost/incremental.h), and its journal; of a series at place 0 those of the series, then
     * those of a table at each place. Whether there is more. */
    bool (*move)(roost_filter *filter, const struct memory_mover *mover, uint64_t place);

    /* For tables of a series (series.c): a cuckoo table of this very geometry; whether nothing was ever seen; how much
     * of its capacity is in use (NULL: unknown); what memory it takes, journal included (every kind); the geometry of
     * its classes, and the table of them (cuckoo); a copy goes on with the actor of the original. NULL where there is
     * none. */
    roost_status (*open_table)(roost_filter **filter, const roost_config *config, const roost_environment *environment,
                               struct cuckoo_geometry geometry);
    bool (*is_bottom)(const roost_filter *filter);
    uint64_t (*elements)(const roost_filter *filter);
    uint64_t (*bytes)(const roost_filter *filter);
    struct cuckoo_geometry (*geometry)(const roost_filter *filter);
    const struct cuckoo_table *(*slots)(const roost_filter *filter);
    void (*take_over)(roost_filter *copy, const roost_filter *original);
    /* Gives the memory of an empty table back; what it has seen stays. NULL where nothing can be removed. */
    void (*sleep)(roost_filter *filter);
    roost_status (*transfer_shares)(roost_filter *filter, bool *changed);

    /*
     * For replicas that have lost their cursors (../sync/session.h). `space` is a causal context that both know, NULL
     * for kinds that have none. Of positions that differ, a grow-only kind takes those that it lacks, an
     * observed-remove kind drops those that the other side has lost: `settle` does that with the positions it is given,
     * all of them or none.
     */
    roost_status (*summarize)(const roost_filter *filter, struct summary *summary, const struct causal_context *space);
    roost_status (*resolve_positions)(roost_filter *filter, bool *changed, const struct causal_context *space,
                                      const uint64_t *positions, uint64_t count);
    /* Only where the capacity grows with the filter: that of now. */
    uint64_t (*capacity)(const roost_filter *filter);
    /* Only where the universe of positions grows with the filter: how far it reaches now. */
    uint64_t (*extent)(const roost_filter *filter);
    /* What positions do not tell, and that goes along with them: a quota, the last thing that the reader has. Once it
     * is read, it can be taken in without fail; whoever read it releases it. NULL: nothing. */
    void (*write_extra)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*read_extra)(roost_filter *filter, struct quota *extra, struct bit_reader *reader);
    bool (*take_extra)(roost_filter *filter, const struct quota *extra);
    /* Observed-remove kinds alone: the causal context, now and at a record of the journal; and what the filter holds
       of some dots, in the form of a state. */
    roost_status (*causal)(const roost_filter *filter, struct causal_context *copy);
    roost_status (*causal_then)(const roost_filter *filter, struct causal_context *causal, uint64_t record);
    roost_status (*write_part_of)(const roost_filter *filter, struct bit_writer *writer,
                                  const struct causal_context *dots);

    /* What the replica has beyond state and journal. NULL: nothing. */
    void (*write_replica)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*read_replica)(roost_filter *filter, struct bit_reader *reader);
    void (*forget_replica)(roost_filter *filter);
    /* For each actor its number after a decode, in an array to be released; NULL without memory. Where there is such a
     * function, the upper half of a change's tag is the number of an actor. */
    uint32_t *(*numbers_after_decode)(const roost_filter *filter, uint8_t table);
    /* The reverse: for each number after a decode the one that the actor has in this filter, or UINT32_MAX. */
    uint32_t *(*numbers_before_decode)(const roost_filter *filter, uint8_t table);
    /* Only where the parts of a filter come and go, so that their numbers in the journal mean something only here: the
     * number that the part of a record has after a decode; and the reverse, before a stored record is checked. */
    uint8_t (*table_after_decode)(const roost_filter *filter, uint64_t record);
    uint8_t (*table_before_decode)(const roost_filter *filter, uint8_t table);
    /* Whether a change that was stored could be one of this filter's. */
    bool (*is_change)(const roost_filter *filter, uint8_t table, struct change change);

    void (*info)(const roost_filter *filter, roost_info *info);
    /* The same from a sample; NULL where nothing has to be read. */
    void (*estimate)(const roost_filter *filter, roost_info *info);
    /* What of it is known without reading the filter; NULL where that is all. */
    void (*brief)(const roost_filter *filter, roost_info *info);
    roost_status (*check)(const roost_filter *filter);
};

/* A series has at most so many tables. */
#define TABLE_BITS  6
#define MOST_TABLES (1u << TABLE_BITS)

struct roost_filter {
    const struct filter_kind *kind;
    roost_config config;           /* resolved */
    roost_environment environment; /* complete: no default left open */
    struct random_source random;   /* never part of the state */
    struct journal own_journal;    /* nor this */
    struct journal *journal;       /* the own one, or that of the series in which this is a table */
    uint8_t table;                 /* which one; 0 outside series */
    bool in_series;
};

/* A filter of its own, with an empty journal. */
static inline void detach_journal(struct roost_filter *filter)
{
    filter->own_journal = (struct journal){0};
    filter->journal = &filter->own_journal;
    filter->table = 0;
    filter->in_series = false;
}

/* The struct itself; its journal goes with it. */
static inline struct roost_filter *moved_filter(const struct memory_mover *mover, struct roost_filter *filter)
{
    bool own = filter->journal == &filter->own_journal;
    filter = memory_moved(mover, filter);
    if (own)
        filter->journal = &filter->own_journal;
    return filter;
}

static inline void init_base(struct roost_filter *filter, const struct filter_kind *kind, const roost_config *config,
                             const roost_environment *environment)
{
    *filter = (struct roost_filter){.kind = kind,
                                    .config = *config,
                                    .environment = *environment,
                                    .random = random_from_seed(environment->random_seed)};
    detach_journal(filter);
}

static inline void note(struct roost_filter *filter, uint64_t key, uint64_t tag)
{
    journal_note(filter->journal, filter->table, key, tag);
}

/* Whether records of the journal tell which part of the filter they are about. */
static inline bool has_tables(const struct roost_filter *filter)
{
    return filter->config.scalable || filter->kind->table_after_decode != NULL;
}

/* Whether a record of the journal is about this filter. */
static inline bool is_noted_here(const struct roost_filter *filter, uint64_t record)
{
    return !filter->in_series || journal_table(filter->journal, record) == filter->table;
}

extern const struct filter_kind bloom_kind, gcuckoo_kind, orcuckoo_kind;
extern const struct filter_kind series_bloom_kind, series_gcuckoo_kind, series_orcuckoo_kind;

#endif
