/*
 * What a kind of filter provides: a table of functions, grouped by who calls them.
 *
 *     group         caller                                     what it is about
 *     lifecycle     ../frame/kinds.c, filter.c                 configuration, creation, copies
 *     set           filter.c                                   elements
 *     removal       filter.c                                   elements that can be removed: dots and counts
 *     lattice       filter.c                                   merge, order, digest
 *     encoding      configuration.c, ../frame/frame.c          the bytes of a state
 *     delta         ../frame/delta.c                           the bytes of what changed
 *     causal        ../sync                                    the dots that a filter has seen
 *     sync          ../sync, filter.c                          what two replicas without cursors compare
 *     replica       ../frame/replica.c                         what belongs to this very object
 *     journal       ../frame/replica.c, ../frame/delta.c       what records of the journal mean
 *     incremental   ../frame/merge_job.c, ../frame/copy_job.c     long work in slices
 *     table         series.c                                   filters that are tables of a series
 *     report        filter.c, journal_policy.c                 figures and checks
 *
 * A function that a kind does not need is NULL where its comment says so; a group that a kind does not need is missing
 * from its table. `../frame/kinds.c` lists the kinds. Each kind's own struct begins with a `struct roost_filter`.
 *
 * A function in FOR_SERVERS is called by servers and tests alone: work in slices, estimates, invariants. A build for
 * web pages (bindings/js), where every byte is downloaded, leaves it out with -DROOST_WITHOUT_SERVERS. Merges are then
 * done in one step, and roost_filter_check must not be called.
 */
#ifndef FILTER_KIND_H
#define FILTER_KIND_H

#include "roost/filter.h"
#include "journal.h"
#include "summary.h"
#include "../base/bits.h"
#include "../base/bitstream.h"
#include "../base/hash.h"
#include "../base/random.h"
#include "../causal/causal_context.h"
#include "../causal/quota.h"

/* A delta that was read and can be merged without fail. */
struct prepared_delta {
    bool ready;
    struct bit_reader reader;
    void *delta; /* the kind's own */
};

/* A write to a random address may cause a page fault: it takes as long as so many consecutive bytes. */
#define BYTES_A_PLACE 128

/* Receives the deltas that a state is cut into; they can be merged in any order. */
struct delta_sink {
    roost_status (*take)(struct delta_sink *sink, const struct bit_writer *delta);
    bool removals; /* some of what the receiver has seen already was removed here: `sweep` must follow */
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

struct cuckoo_geometry;
struct cuckoo_table;
struct nested_place;
struct imported;

#ifdef ROOST_WITHOUT_SERVERS
#define FOR_SERVERS(function) NULL
#else
#define FOR_SERVERS(function) function
#endif

/* ---- the groups -------------------------------------------------------------------------------------------------- */

struct filter_lifecycle {
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
};

struct filter_set {
    roost_status (*add)(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes, size_t count);
    void (*contains)(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count);
    /* The same of one; NULL: by that. */
    bool (*contains_one)(const roost_filter *filter, roost_hash hash);
    /* The capacity as it is now; NULL where it never grows. */
    uint64_t (*capacity)(const roost_filter *filter);
    /* What time it is, for the changes that follow; NULL where they have none. */
    void (*set_time)(roost_filter *filter, uint64_t now);
};

/* Only for kinds whose elements can be removed. */
struct filter_removal {
    roost_status (*add_dot)(roost_filter *filter, roost_dot *dot, roost_hash hash);
    roost_status (*remove)(roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count);
    roost_status (*remove_one)(roost_filter *filter, bool *changed, roost_hash hash);
    roost_status (*remove_dot)(roost_filter *filter, bool *changed, roost_hash hash, roost_dot dot);
    uint64_t (*count)(const roost_filter *filter, roost_hash hash);
};

/* Those with two filters are called with equal configuration and geometry, and never with the same filter twice. */
struct filter_lattice {
    roost_status (*merge)(roost_filter *filter, bool *changed, const roost_filter *other);
    roost_order (*compare)(const roost_filter *filter, const roost_filter *other);
    /* Whether the state is the smallest one: nothing was ever seen. Only for tables of a series, slots of a window. */
    bool (*is_bottom)(const roost_filter *filter);
    uint128 (*digest)(roost_filter *filter);
    /* Does some of the work of the next digest and subtracts it from the effort; whether there is more. NULL: there
     * never is any. */
    bool (*precompute_digest)(roost_filter *filter, uint64_t *effort);
};

/* The sizes, then the state. What write_geometry writes is read by lifecycle.open. */
struct filter_encoding {
    void (*write_geometry)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*write_state)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*read_state)(roost_filter *filter, struct bit_reader *reader);
    /* Whether write_state is worth a writer with a sink, and between how many bytes it then writes. NULL: never. */
    bool (*is_passed_on)(const roost_filter *filter, uint64_t *least, uint64_t *most);
};

struct filter_delta {
    /* The selected records of the journal, in the form of a state. Whatever is left out, the result is part of the
     * state. */
    roost_status (*write)(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
    /* Merges such a delta, all of it or nothing; it is all that the reader has left. */
    roost_status (*merge)(roost_filter *filter, bool *changed, struct bit_reader *reader);
    /*
     * The same in two phases, for tables of a series, which merge their deltas together or not at all: `prepare` does
     * all that can fail; what it prepared is then committed, or abandoned. Where the bytes are in order but call for a
     * copy of the table, `ready` stays false, and there is nothing to commit or to abandon. `abandon` is NULL where
     * nothing is ever held.
     */
    roost_status (*prepare)(roost_filter *filter, struct prepared_delta *prepared, struct bit_reader reader);
    void (*commit)(roost_filter *filter, bool *changed, struct prepared_delta *prepared);
    void (*abandon)(roost_filter *filter, struct prepared_delta *prepared);
};

/* Only for observed-remove kinds. */
struct filter_causal {
    /* A copy of the causal context, as it is now and as it was at a record of the journal. */
    roost_status (*context)(const roost_filter *filter, struct causal_context *copy);
    roost_status (*context_at)(const roost_filter *filter, struct causal_context *causal, uint64_t record);
    /* What the filter holds of some dots, in the form of a state. */
    roost_status (*write_dots)(const roost_filter *filter, struct bit_writer *writer,
                               const struct causal_context *dots);
};

/* Entries of an observed-remove filter, by what is the same in all replicas. */
struct located_entry {
    uint64_t key; /* of its class */
    roost_dot dot;
};
struct located {
    struct located_entry *list;
    uint64_t count;
};

/*
 * For replicas that have lost their cursors (../sync/initiator.c). `space` is a causal context that both have seen; it
 * is NULL for kinds that have none. A kind that syncs by whole states has none of these functions.
 */
struct position_visitor {
    void (*visit)(void *context, const uint64_t *positions, uint64_t count);
    /* Whether positions from..to-1 matter, or some of them: a kind that has its members in order leaves others out.
     * NULL: all matter. */
    bool (*wants)(const void *context, uint64_t from, uint64_t to);
    void *context;
};
struct filter_sync {
    roost_status (*summarize)(const roost_filter *filter, struct summary *summary, const struct causal_context *space);
    /* The positions of all members that are wanted, and maybe of others, in no order, some at a time; how many there
     * are in all, and below what. ROOST_NO_MEMORY. NULL: a summary is as quick. */
    roost_status (*visit_positions)(const roost_filter *filter, const struct position_visitor *visitor);
    uint64_t (*positions)(const roost_filter *filter);
    uint64_t (*universe)(const roost_filter *filter);
    /* Of positions that differ, a grow-only kind adds those that it lacks, an observed-remove kind drops those that the
     * peer has lost: all of those given, or none. */
    roost_status (*resolve_positions)(roost_filter *filter, bool *changed, const struct causal_context *space,
                                      const uint64_t *positions, uint64_t count);
    /*
     * The same in two parts, only for observed-remove kinds: `locate` finds the entries at positions, which reads all
     * of the filter, and may be asked of a copy; `drop_located` drops those of them that the filter holds: all or none.
     * The caller releases the list.
     */
    roost_status (*locate)(const roost_filter *filter, struct located *located, const struct causal_context *space,
                           const uint64_t *positions, uint64_t count);
    roost_status (*drop_located)(roost_filter *filter, bool *changed, struct located located);
    /* Only where the universe of positions grows with the filter: how far it reaches now. */
    uint64_t (*extent)(const roost_filter *filter);
    /* State that positions do not cover and that is sent beside them: a quota, the last thing that the reader has. Once
     * it is read, it can be merged without fail; the caller of read_extra releases it. NULL: there is none. */
    void (*write_extra)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*read_extra)(roost_filter *filter, struct quota *extra, struct bit_reader *reader);
    bool (*take_extra)(roost_filter *filter, const struct quota *extra);
    /* Transfers shares of the capacity that this replica does not need to those that do. NULL: there are no shares. */
    roost_status (*transfer_shares)(roost_filter *filter, bool *changed);
};

/* What the replica has beyond state and journal. NULL: nothing. */
struct filter_replica {
    uint64_t (*actor)(const roost_filter *filter);
    void (*write)(const roost_filter *filter, struct bit_writer *writer);
    roost_status (*read)(roost_filter *filter, struct bit_reader *reader);
    void (*forget)(roost_filter *filter);
};

/* Records of the journal outlive the process, while the numbers of actors and slots in them do not. */
struct filter_journal {
    /* Whether a stored change could be one of this filter's. */
    bool (*is_change)(const roost_filter *filter, uint8_t table, struct change change);
    /* For each actor its number after a decode, in an array to be released; NULL without memory. Where there is such a
     * function, the upper half of a change's tag is the number of an actor. */
    uint32_t *(*numbers_after_decode)(const roost_filter *filter, uint8_t table);
    /* The reverse: for each number after a decode the one that the actor has in this filter, or UINT32_MAX. */
    uint32_t *(*numbers_before_decode)(const roost_filter *filter, uint8_t table);
    /* Only where slots come and go, so that their numbers in the journal have a meaning only here: the number that the
     * slot of a record has after a decode; and the reverse, before a stored record is checked. */
    uint8_t (*table_after_decode)(const roost_filter *filter, uint64_t record);
    uint8_t (*table_before_decode)(const roost_filter *filter, uint8_t table);
};

struct filter_incremental {
    /*
     * A clone in slices (../frame/copy_job.c), for an environment of its own; NULL where filters are small. copy_open
     * makes an empty filter. copy_some copies pages that have changed since they were copied, subtracts each from the
     * effort, and sets *clean if none is left; the filter may change between two calls. When none is left, and at the
     * same moment, copy_rest does what is short. One copy at a time. Without copy_some all of it is short.
     */
    roost_status (*copy_open)(const roost_filter *filter, roost_filter **copy, const roost_environment *environment);
    roost_status (*copy_some)(roost_filter *filter, roost_filter *copy, uint64_t *effort, bool *clean);
    roost_status (*copy_rest)(roost_filter *filter, roost_filter *copy);
    /*
     * A merge in slices (../frame/merge_job.c). `cut` hands out the state in chunks of about so many bytes, without the
     * dots that the receiver knows (NULL: none; for kinds without dots always). `sweep` drops some of the entries that
     * `other` has seen and does not hold: it looks at `effort` rows, and goes on where it was. NULL: there is no need.
     */
    roost_status (*cut)(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                        struct delta_sink *sink);
    roost_status (*sweep)(roost_filter *filter, struct sweep *sweep, const roost_filter *other, uint32_t effort);
    /* Defragmentation (roost/incremental.h): offers the arrays and the journal to be moved. Of a series, place 0 is the
     * series itself, and each further place one table. Whether there is more. */
    bool (*move)(roost_filter *filter, const struct memory_mover *mover, uint64_t place);
};

/* For kinds that are tables of a series (../series/series.c). NULL where a kind has no such thing. */
struct filter_table {
    /* A cuckoo table of this very geometry. */
    roost_status (*open)(roost_filter **filter, const roost_config *config, const roost_environment *environment,
                         struct cuckoo_geometry geometry);
    /* Only where the classes of tables nest. */
    void (*contains_nested)(const roost_filter *filter, bool *found, const struct nested_place *places, size_t count);
    /* How much of the capacity is in use. */
    uint64_t (*elements)(const roost_filter *filter);
    /* The geometry of the classes, and the table of them (cuckoo). */
    struct cuckoo_geometry (*geometry)(const roost_filter *filter);
    const struct cuckoo_table *(*slots)(const roost_filter *filter);
    /* A copy goes on with the actor of the original. */
    void (*take_over)(roost_filter *copy, const roost_filter *original);
    /* Frees the slots of an empty table; its causal context stays, and the next entry allocates slots again. */
    void (*free_slots)(roost_filter *filter);
};

struct filter_report {
    void (*info)(const roost_filter *filter, roost_info *info);
    /* The same from a sample; NULL where nothing has to be read. */
    void (*estimate)(const roost_filter *filter, roost_info *info);
    /* What of it is known without reading the filter; NULL where that is all. */
    void (*brief)(const roost_filter *filter, roost_info *info);
    /* Bytes of memory, journal included. */
    uint64_t (*memory)(const roost_filter *filter);
    /* Proves the invariants; ROOST_CORRUPT. */
    roost_status (*check)(const roost_filter *filter);
};

struct filter_kind {
    roost_kind code;
    const char *name;
    /* Its state is a set of hash prefixes (../growing): it grows, needs no capacity, and its frames say so. */
    bool has_prefixes;
    struct filter_lifecycle lifecycle;
    struct filter_set set;
    struct filter_removal removal;
    struct filter_lattice lattice;
    struct filter_encoding encoding;
    struct filter_delta delta;
    struct filter_causal causal;
    struct filter_sync sync;
    struct filter_replica replica;
    struct filter_journal journal;
    struct filter_incremental incremental;
    struct filter_table table;
    struct filter_report report;
};

/* ---- the calls that are made most --------------------------------------------------------------------------------
 *
 * One key at a time, and keys as bytes. A filter gets its table when it is made, by its kind, its sizes and what this
 * machine can do, so that the interface is one jump away from the code that does the work.
 *
 * Those for one key as bytes have the hash in line where the kind is called most (key_calls.h), and leave what is not a
 * short key to filter.c. A filter has them in itself, so that imported parts cost other filters nothing: while there
 * are any, all keys go to filter.c (choose_key_calls).
 */

/* One key as bytes. */
struct key_calls {
    bool (*contains)(const roost_filter *filter, const void *key, size_t size);
    roost_status (*add)(roost_filter *filter, bool *changed, const void *key, size_t size);
    roost_status (*remove)(roost_filter *filter, bool *changed, const void *key, size_t size);
};

struct filter_calls {
    bool (*contains)(const roost_filter *filter, roost_hash hash);
    /* `changed` may be NULL. */
    roost_status (*add)(roost_filter *filter, bool *changed, roost_hash hash);
    roost_status (*remove)(roost_filter *filter, bool *changed, roost_hash hash);
    /* While there are no imported parts. */
    struct key_calls key;
};

/* Of a table: keys as bytes by the calls for a hash. */
#define CALLS_FOR_ANY_KEY                                                                                              \
    {                                                                                                                  \
        contains_any_key, add_any_key, remove_any_key                                                                  \
    }

/* By `set.contains` and `set.add`: what a filter has unless its kind has better ones (filter.c). */
extern const struct filter_calls calls_by_batch;
roost_status remove_by_batch(roost_filter *filter, bool *changed, roost_hash hash);
/* Keys of any size, imported parts included: by the calls for a hash. */
bool contains_any_key(const roost_filter *filter, const void *key, size_t size);
roost_status add_any_key(roost_filter *filter, bool *changed, const void *key, size_t size);
roost_status remove_any_key(roost_filter *filter, bool *changed, const void *key, size_t size);

/* ---- what all filters have --------------------------------------------------------------------------------------- */

/* A series has at most so many tables. */
#define TABLE_BITS  6
#define MOST_TABLES (1u << TABLE_BITS)

/* What a filter lives in. The allocator is its own; the rest may be common to many filters. */
struct filter_environment {
    roost_allocator allocator;
    const roost_environment *common; /* complete: no default left open. Its allocator is not used */
};

struct roost_filter {
    const struct filter_kind *kind;
    const roost_config *config; /* resolved */
    struct filter_environment environment;
    struct journal *journal; /* never part of the state: the own one, or that of the series in which this is a table */
    uint8_t table;           /* which one; 0 outside series */
    bool in_series;
    uint8_t own_at;            /* where its struct filter_own is, in words; 0: it is slim and has none */
    uint32_t process;          /* in which its actor and its journal began (inherited.h) */
    struct imported *imported; /* NULL: none (importing.h). State, beside that of the kind */
};

/*
 * What most filters have for themselves, as a member of the structs of their kinds. A filter of a slim kind, of which
 * servers hold many small ones, shares configuration and environment with others (../growing/shared.h), and allocates a
 * journal when that begins.
 */
struct filter_own {
    struct key_calls key; /* first: what is called most is found with the fewest instructions */
    const struct filter_calls *calls;
    struct hash_seed hash_seed; /* of the configuration */
    roost_config config;
    roost_environment environment;
    struct random_source random; /* never part of the state */
    struct journal journal;      /* nor this */
};

static inline bool is_slim(const struct roost_filter *filter)
{
    return filter->own_at == 0;
}

/* NULL of a slim kind. */
static ALWAYS_INLINE const struct filter_own *const_own_part(const struct roost_filter *filter)
{
    return is_slim(filter)
               ? NULL
               : (const struct filter_own *)(const void *)((const uint64_t *)(const void *)filter + filter->own_at);
}

static inline struct filter_own *own_part(struct roost_filter *filter)
{
    return (struct filter_own *)(uintptr_t)const_own_part(filter);
}

/* A slim filter has no calls of its own, and prepares its seed each time. */
static ALWAYS_INLINE const struct filter_calls *calls_of(const struct roost_filter *filter)
{
    const struct filter_own *own = const_own_part(filter);
    return __builtin_expect(!own, 0) ? &calls_by_batch : own->calls;
}

static ALWAYS_INLINE struct hash_seed hash_seed_of(const struct roost_filter *filter)
{
    const struct filter_own *own = const_own_part(filter);
    return __builtin_expect(!own, 0) ? prepare_seed(filter->config->seed) : own->hash_seed;
}

/* After `calls` or the imported parts have changed. */
static inline void choose_key_calls(struct roost_filter *filter)
{
    struct filter_own *own = own_part(filter);
    if (own)
        own->key = filter->imported ? (struct key_calls)CALLS_FOR_ANY_KEY : own->calls->key;
}

static inline void set_calls(struct roost_filter *filter, const struct filter_calls *calls)
{
    own_part(filter)->calls = calls;
    choose_key_calls(filter);
}

/* The journal of a slim filter that has none. Nothing is ever written to it. */
extern struct journal no_journal;

/* The whole environment of a filter. */
static inline roost_environment whole_environment(const struct roost_filter *filter)
{
    roost_environment environment = *filter->environment.common;
    environment.allocator = filter->environment.allocator;
    return environment;
}

static inline struct memory_account account_in(const roost_environment *environment)
{
    return (struct memory_account){environment->allocator, environment->count};
}

static inline struct memory_account account_of(const struct roost_filter *filter)
{
    return (struct memory_account){filter->environment.allocator, filter->environment.common->count};
}

/* After a filter was copied byte by byte: it is independent of the other and of any series, with an empty journal. */
static inline void detach(struct roost_filter *filter)
{
    struct filter_own *own = own_part(filter);
    if (own) {
        own->journal = (struct journal){0};
        filter->config = &own->config;
        filter->environment.common = &own->environment;
    }
    filter->journal = own ? &own->journal : &no_journal;
    filter->table = 0;
    filter->in_series = false;
    filter->imported = NULL;
    choose_key_calls(filter);
}

/* The struct itself; what is its own goes with it. */
static inline struct roost_filter *moved_filter(const struct memory_mover *mover, struct roost_filter *filter)
{
    struct filter_own *own = own_part(filter);
    bool has_journal = own && filter->journal == &own->journal;
    filter = memory_moved(mover, filter);
    own = own_part(filter);
    if (own) {
        filter->config = &own->config;
        filter->environment.common = &own->environment;
    }
    if (has_journal)
        filter->journal = &own->journal;
    if (has_journal || (is_slim(filter) && filter->journal != &no_journal))
        filter->journal->owner = filter;
    return filter;
}

/* Of a filter with this part. */
static inline void init_base(struct roost_filter *filter, struct filter_own *own, const struct filter_kind *kind,
                             const roost_config *config, const roost_environment *environment)
{
    *filter = (struct roost_filter){
        .kind = kind,
        .environment.allocator = environment->allocator,
        .own_at = (uint8_t)((const uint64_t *)(const void *)own - (const uint64_t *)(const void *)filter)};
    *own = (struct filter_own){.calls = &calls_by_batch,
                               .hash_seed = prepare_seed(config->seed),
                               .config = *config,
                               .environment = *environment,
                               .random = random_from_seed(environment->random_seed)};
    detach(filter);
}

/* Releases the journal of a filter that is not a table of a series; it may begin again. */
void release_journal(struct roost_filter *filter);
/* Where the memory of a filter moves. */
void move_journal(struct roost_filter *filter, const struct memory_mover *mover);

/* Bytes of a journal of the filter's own. */
static inline uint64_t own_journal_bytes(const struct roost_filter *filter)
{
    return filter->in_series ? 0
                             : journal_bytes(filter->journal) +
                                   (is_slim(filter) && filter->journal != &no_journal ? sizeof(struct journal) : 0);
}

static inline void note(struct roost_filter *filter, uint64_t key, uint64_t tag)
{
    journal_note(filter->journal, filter->table, key, tag);
}

/* Whether the filter is of an observed-remove kind, which has a causal context. */
static inline bool tracks_dots(const struct roost_filter *filter)
{
    return filter->kind->causal.context != NULL;
}

/* Whether records of the journal name a table or slot of the filter. */
static inline bool has_tables(const struct roost_filter *filter)
{
    return filter->config->scalable || filter->kind->journal.table_after_decode != NULL;
}

/* Whether a record of the journal is about this filter. */
static inline bool is_noted_here(const struct roost_filter *filter, uint64_t record)
{
    uint8_t table = journal_table(filter->journal, record);
    return filter->in_series ? table == filter->table : table != IMPORTED_TABLE;
}

extern const struct filter_kind bloom_kind, gcuckoo_kind, orcuckoo_kind;
extern const struct filter_kind series_bloom_kind, series_gcuckoo_kind, series_orcuckoo_kind;

#endif
