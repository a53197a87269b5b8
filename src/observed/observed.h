/*
 * What all observed-remove filters have in common: entries that carry dots, a causal context, actors. The kinds differ
 * in where entries lie and what a class is (`entry_store`): orcuckoo.c has fingerprints in a cuckoo table. `observed.c`
 * has the essay. The struct of a kind begins with a `struct observed`.
 */
#ifndef OBSERVED_OBSERVED_H
#define OBSERVED_OBSERVED_H

#include "../filter/inherited.h"
#include "../base/hash.h"
#include "../base/sort.h"
#include "../causal/actors.h"
#include "../causal/causal_context.h"

/* An addition that is not removed: its dot, by the number of its actor, and its class, which is not 0. */
struct entry {
    uint32_t number, counter;
    uint64_t key;
};

#define ENTRIES_AT_ONCE 64
#define ROOM_FOR_DOTS   (ENTRIES_AT_ONCE + 4)

/* A dot as one number. */
static inline uint64_t dot_number(uint32_t number, uint32_t counter)
{
    return (uint64_t)number << 32 | counter;
}

/* How far a walk over all entries has come. All zero: not begun. */
struct entry_walk {
    uint64_t place, node;
};

/* Ranks with their classes, ascending: in a row, or, where most ranks are taken, each class at the place of its rank.
 */
struct members {
    const struct sort_pair *row; /* NULL: */
    const uint64_t *by_rank;     /* 0 for those that are none */
    uint64_t count;
};

/* The next one; `place` is 0 at first. There must be one. */
static inline struct sort_pair next_member(const struct members *members, uint64_t *place)
{
    if (members->row)
        return members->row[(*place)++];
    while (!members->by_rank[*place])
        ++*place;
    struct sort_pair member = {*place, members->by_rank[*place]};
    ++*place;
    return member;
}

/* A list of classes that is being read. All zero but for `bits`: not begun. `run` is 0 at its end. */
struct class_reader {
    struct bit_reader bits;
    uint64_t run; /* so many more have the length of the last one (prefixes) */
    unsigned length;
};

struct observed;

/* Where entries lie. */
struct entry_store {
    uint64_t (*count)(const struct observed *filter);
    /* Bytes of memory, of the struct and all that holds entries; with so many more entries at most. */
    uint64_t (*bytes)(const struct observed *filter);
    uint64_t (*bytes_with)(const struct observed *filter, uint64_t more);
    /* Some entries, in no order; 0 at the end. Nothing may change in between, but that entries which were returned by
       the last call are dropped. */
    size_t (*next)(const struct observed *filter, struct entry_walk *walk, struct entry entries[ENTRIES_AT_ONCE]);
    /* The dots of those that `next` would return, in the same order: quicker where few of the entries matter. */
    size_t (*next_dots)(const struct observed *filter, struct entry_walk *walk, uint64_t dots[ROOM_FOR_DOTS]);
    /* Room for so many more entries, whatever becomes of them, so that as many that are taken cannot fail;
       ROOST_NO_MEMORY, ROOST_TOO_LARGE. `release_reserve` after them, or instead; it may come where there is none. */
    roost_status (*reserve)(struct observed *filter, uint64_t count);
    void (*release_reserve)(struct observed *filter);
    /* So many entries are about to come: as far as memory goes. */
    void (*make_room)(struct observed *filter, uint64_t entries);
    /* Takes in entries (at most ENTRIES_AT_ONCE) whose dots are new and whose actors have numbers; causal context and
       journal are left to the caller, the sum of hashes is not. On failure some may have been taken. */
    roost_status (*take)(struct observed *filter, const struct entry *entries, size_t count);
    /* From now on entries of this class can be dropped without fail, and with a reserve be taken; false without memory.
       NULL where they always can. */
    bool (*own)(struct observed *filter, uint64_t key);
    /* Drops this very entry, if it is there; the journal notes it. */
    bool (*drop)(struct observed *filter, struct entry entry);
    bool (*holds)(const struct observed *filter, struct entry entry);
    /* An empty filter of the same configuration and geometry. */
    roost_status (*open_alike)(roost_filter **opened, const struct observed *filter);

    /* Classes as bits, a list in the order of their ranks (observed_bytes.c). Reading fails where the bits end, and at
       what is no class. */
    bool (*is_class)(const struct observed *filter, uint64_t key);
    void (*write_classes)(const struct observed *filter, struct bit_writer *writer, const struct members *members);
    bool (*read_class)(const struct observed *filter, struct class_reader *reader, uint64_t *key);
    /* What one takes at least; not 0. */
    unsigned (*fewest_bits)(const struct observed *filter);
};

/*
 * Invariants (observed_is_sound): the dot of every entry is in the causal context, and no two entries share one; `sum`
 * is the sum of their hashes; the actors of the causal context are the actors of the list. `actor` is 0, or its dots
 * are 1 to `counter`, and no other replica makes any.
 */
struct observed {
    struct roost_filter base;
    const struct entry_store *store;
    struct causal_context causal;
    struct actors actors;
    uint64_t actor;
    uint128 sum;
    uint32_t number, counter; /* of that actor */
    uint32_t most_counter;
    uint32_t run; /* where the causal context had its last run: a hint */
};

#define MOST_ACTORS_BITS 18
#define MOST_ACTORS      (1u << MOST_ACTORS_BITS)

static inline struct observed *as_observed(roost_filter *filter)
{
    return (struct observed *)filter;
}

static inline const struct observed *as_const_observed(const roost_filter *filter)
{
    return (const struct observed *)filter;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* What an entry weighs in the digest. */
uint128 entry_hash(const struct observed *filter, struct entry entry);

static ALWAYS_INLINE roost_hash hash_of_entry(uint64_t seed, uint64_t key, uint64_t actor, uint32_t counter)
{
    uint8_t bytes[24];
    if (SHORT_CODE) /* elsewhere XXH3 is inlined */
        return hash_three_words(seed, key, actor, counter);
    store_word(bytes, key);
    store_word(bytes + 8, actor);
    store_word(bytes + 16, counter);
    return hash_bytes(seed, bytes, sizeof bytes);
}

typedef void entry_visitor(void *context, struct entry entry);
static inline __attribute__((always_inline)) void visit_entries(const struct observed *filter, entry_visitor *visit,
                                                                void *context)
{
    struct entry entries[ENTRIES_AT_ONCE];
    struct entry_walk walk = {0};
    for (size_t count; (count = filter->store->next(filter, &walk, entries)) > 0;)
        for (size_t i = 0; i < count; i++)
            visit(context, entries[i]);
}

/* Makes what is to be changed there the filter's own, where it is shared with clones. False: no memory. */
static inline bool own_class(struct observed *filter, uint64_t key)
{
    return !filter->store->own || filter->store->own(filter, key);
}

/* ---- changes: what the journal notes ----------------------------------------------------------------------------- */

enum change_kind {
    CHANGE_LIVE = 0, /* an addition was seen: class key, number and counter */
    CHANGE_DEAD = 1, /* and removed */
    CHANGE_RUN = 2,  /* additions made elsewhere: the last counter, number and first counter; those that are not noted
                        live in the same breath had been removed before they came */
};
#define CHANGE_KIND_SHIFT 62 /* classes are smaller */

static inline enum change_kind change_kind_of(struct change change)
{
    return (enum change_kind)(change.key >> CHANGE_KIND_SHIFT);
}

static inline uint64_t change_key(struct change change)
{
    return change.key & ((UINT64_C(1) << CHANGE_KIND_SHIFT) - 1);
}

static inline void note_change(struct observed *filter, enum change_kind kind, uint64_t key, uint32_t number,
                               uint32_t counter)
{
    note(&filter->base, (uint64_t)kind << CHANGE_KIND_SHIFT | key, dot_number(number, counter));
}

/* Notes dots that are new here; those that are not noted live beside it were removed before they came. */
void note_runs(struct observed *filter, const struct causal_context *unseen);

/* The dots of a change. */
static inline struct dot_run run_of_change(const struct observed *filter, struct change change)
{
    uint32_t first = (uint32_t)change.tag;
    uint32_t last = change_kind_of(change) == CHANGE_RUN ? (uint32_t)change_key(change) : first;
    return (struct dot_run){filter->actors.list[change.tag >> 32].id, first, last};
}

/* ---- actors ------------------------------------------------------------------------------------------------------ */

/* Every actor of the causal context gets a number; ROOST_TOO_LARGE past MOST_ACTORS. */
roost_status number_actors(struct observed *filter, const struct causal_context *causal);

/* If others have seen dots of this actor that it never made, two replicas use the actor: the next addition takes a
   new one. */
void leave_shared_actor(struct observed *filter);

/* What ready_actor seldom has to do. */
roost_status prepare_actor(struct observed *filter, bool fresh);

/* Ensures that there is an actor that can make one more dot, and room for the dot in the causal context. */
static inline roost_status ready_actor(struct observed *filter)
{
    leave_inherited(&filter->base);
    bool fresh = filter->actor == 0 || filter->counter >= filter->most_counter;
    if (__builtin_expect(fresh || filter->causal.count == filter->causal.room, 0))
        return prepare_actor(filter, fresh);
    return ROOST_OK;
}

/* Whether the next dot follows the run of the one before, and that is where it was the last time, as nearly always. */
static ALWAYS_INLINE bool continues_run(const struct observed *filter)
{
    const struct causal_context *causal = &filter->causal;
    return filter->run < causal->count && causal->runs[filter->run].actor == filter->actor &&
           causal->runs[filter->run].last == filter->counter;
}

static ALWAYS_INLINE void continue_run(struct observed *filter)
{
    filter->causal.runs[filter->run].last = ++filter->counter;
    filter->causal.dots++;
}

/* The next dot is seen. */
static inline void count_own_dot(struct observed *filter)
{
    struct causal_context *causal = &filter->causal;
    if (continues_run(filter)) {
        continue_run(filter);
        return;
    }
    uint32_t counter = ++filter->counter;
    causal_add(causal, &filter->base.environment.allocator, (struct dot_run){filter->actor, counter, counter});
    filter->run = (uint32_t)causal_run_of(causal, filter->actor, counter);
}

/* ---- for a kind's own functions ---------------------------------------------------------------------------------- */

uint64_t observed_bytes(const struct observed *filter);
/* Those that are neither of the struct nor of what holds entries. */
uint64_t observed_bytes_beside(const struct observed *filter);
/* Whether it may take so many more bytes. */
bool has_memory_for(const struct observed *filter, uint64_t more);

/* All but the entries: of a filter that is closed; of a copy that was assigned from the filter, which gets lists of its
   own, no journal and no actor (false without memory, and it can be closed); of a filter whose memory is moved. */
void observed_release(struct observed *filter);
bool observed_copy(struct observed *copy, const struct observed *filter);
void observed_move(struct observed *filter, const struct memory_mover *mover);

/* Counts of entries, bytes, actors and dots; the rest is left to the kind. */
void observed_info(const struct observed *filter, roost_info *info);
bool observed_is_sound(const struct observed *filter);

/* ---- for tables of kinds: observed.c ----------------------------------------------------------------------------- */

uint128 observed_digest(roost_filter *filter);
bool observed_is_bottom(const roost_filter *filter);
uint64_t observed_actor(const roost_filter *filter);
void observed_write_replica(const roost_filter *filter, struct bit_writer *writer);
roost_status observed_read_replica(roost_filter *filter, struct bit_reader *reader);
void observed_forget_replica(roost_filter *filter);
void observed_take_over(roost_filter *copy, const roost_filter *original);
uint32_t *observed_numbers_after_decode(const roost_filter *filter, uint8_t table);
uint32_t *observed_numbers_before_decode(const roost_filter *filter, uint8_t table);
bool observed_is_change(const roost_filter *filter, uint8_t table, struct change change);
roost_status observed_causal(const roost_filter *filter, struct causal_context *copy);
roost_status observed_causal_at(const roost_filter *filter, struct causal_context *causal, uint64_t record);
uint64_t observed_bytes_of(const roost_filter *filter);

/* ---- the same: observed_bytes.c ---------------------------------------------------------------------------------- */

roost_status observed_write_state(const roost_filter *filter, struct bit_writer *writer);
roost_status observed_read_state(roost_filter *filter, struct bit_reader *reader);
roost_status observed_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
roost_status observed_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader);
roost_status observed_prepare_delta(roost_filter *filter, struct prepared_delta *prepared, struct bit_reader reader);
void observed_commit_delta(roost_filter *filter, bool *changed, struct prepared_delta *prepared);
void observed_abandon_delta(roost_filter *filter, struct prepared_delta *prepared);
roost_status observed_write_dots(const roost_filter *filter, struct bit_writer *writer,
                                 const struct causal_context *dots);
roost_status observed_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                          struct delta_sink *sink);
roost_status observed_summarize(const roost_filter *filter, struct summary *summary,
                                const struct causal_context *space);
roost_status observed_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                        const uint64_t *positions, uint64_t count);
roost_status observed_locate(const roost_filter *filter, struct located *located, const struct causal_context *space,
                             const uint64_t *positions, uint64_t count);
roost_status observed_drop_located(roost_filter *filter, bool *changed, struct located located);

#endif
