/* Inside the observed-remove cuckoo filter: what its files share. `orcuckoo.c` has the essay. */
#ifndef FILTER_ORCUCKOO_H
#define FILTER_ORCUCKOO_H

#include "cuckoo_table.h"
#include "kind.h"
#include "../causal/actors.h"
#include "../causal/causal_context.h"

/* An addition that is not removed: its dot, by the number of its actor, and its class. */
struct entry {
    uint32_t number, counter;
    uint64_t key;
};

/*
 * Invariants (orcuckoo_check): the dot of every entry is in the causal context, and no two entries share one; `sum` is
 * the sum of their hashes, `classes` the number of classes that have any; the actors of the causal context are the
 * actors of the list. `actor` is 0, or its dots are 1 to `counter`, and no other replica makes any.
 */
struct orcuckoo {
    struct roost_filter base;
    struct cuckoo_table table;
    struct causal_context causal;
    struct actors actors;
    uint128 sum;
    uint64_t classes; /* a class that replicas added apart has several entries, and counts once */
    uint32_t counter_bits;
    uint64_t actor;
    uint32_t number, counter; /* of that actor */
    size_t run;               /* where the causal context had its last run: a hint */
    uint64_t hand;            /* the next of the stash to be offered a slot */
};

#define MOST_ACTORS_BITS 18
#define MOST_ACTORS      (1u << MOST_ACTORS_BITS)

static inline struct orcuckoo *as_orcuckoo(roost_filter *filter)
{
    return (struct orcuckoo *)filter;
}

static inline const struct orcuckoo *as_const_orcuckoo(const roost_filter *filter)
{
    return (const struct orcuckoo *)filter;
}

static inline uint32_t most_counter(const struct orcuckoo *filter)
{
    return (uint32_t)((UINT64_C(1) << filter->counter_bits) - 1);
}

/* ---- tags: in a slot the actor's index above the counter, in the stash its number above 32 bits of counter ------- */

static inline uint64_t slot_tag(const struct orcuckoo *filter, uint32_t index, uint32_t counter)
{
    return (uint64_t)index << filter->counter_bits | counter;
}

static inline uint64_t stash_tag(uint32_t number, uint32_t counter)
{
    return (uint64_t)number << 32 | counter;
}

static inline uint32_t slot_tag_index(const struct orcuckoo *filter, uint64_t tag)
{
    return (uint32_t)(tag >> filter->counter_bits);
}

static inline uint32_t slot_tag_counter(const struct orcuckoo *filter, uint64_t tag)
{
    return (uint32_t)(tag & most_counter(filter));
}

static inline struct entry entry_of_slot(const struct orcuckoo *filter, uint64_t tag, uint64_t key)
{
    return (struct entry){filter->actors.number_of_index[slot_tag_index(filter, tag)], slot_tag_counter(filter, tag),
                          key};
}

static inline struct entry entry_of_node(const struct stash_node *node)
{
    return (struct entry){(uint32_t)(node->tag >> 32), (uint32_t)node->tag, node->key};
}

/* What an entry weighs in the digest. */
uint128 entry_hash(const struct orcuckoo *filter, struct entry entry);

/* ---- changes: what the journal notes ----------------------------------------------------------------------------- */

enum change_kind {
    CHANGE_LIVE = 0, /* an addition was seen: class key, number and counter */
    CHANGE_DEAD = 1, /* and removed */
    CHANGE_RUN = 2,  /* additions made elsewhere: the last counter, number and first counter; those that are not noted
                        live in the same breath had been removed before they came */
};
#define CHANGE_KIND_SHIFT 62

static inline enum change_kind change_kind_of(struct change change)
{
    return (enum change_kind)(change.key >> CHANGE_KIND_SHIFT);
}

static inline uint64_t change_key(struct change change)
{
    return change.key & ((UINT64_C(1) << CHANGE_KIND_SHIFT) - 1);
}

static inline void note_change(struct orcuckoo *filter, enum change_kind kind, uint64_t key, uint32_t number,
                               uint32_t counter)
{
    note(&filter->base, (uint64_t)kind << CHANGE_KIND_SHIFT | key, stash_tag(number, counter));
}

/* ---- entries: orcuckoo.c ----------------------------------------------------------------------------------------- */

/* Room for so many more entries, whatever becomes of them, so that as many take_entry cannot fail. */
roost_status reserve_entries(struct orcuckoo *filter, uint64_t count);
/* More rows, as far as memory goes: for so many entries, or because those there are have become too few. */
void make_room(struct orcuckoo *filter, uint64_t entries);
void relieve_if_overfull(struct orcuckoo *filter);

/* Takes in an entry whose dot is new; causal context and journal are left to the caller. It fails only for lack of
   memory, and not at all if it was reserved. `kicks` adapts itself from one to the next. */
roost_status take_entry(struct orcuckoo *filter, const struct place *place, struct entry entry, uint32_t *kicks);

/* Drops this very entry, if it is there; the journal notes it. */
bool drop_entry(struct orcuckoo *filter, const struct place *place, struct entry entry);
/* The same where it is known to be in that slot, or in that node of the stash. */
void drop_slot(struct orcuckoo *filter, const struct slot_match *match, uint64_t key);
void drop_node(struct orcuckoo *filter, uint64_t node);

/* Whether this very entry is there. */
bool holds_entry(const struct orcuckoo *filter, const struct place *place, uint32_t number, uint32_t counter);

typedef void entry_visitor(void *context, struct entry entry);
static inline __attribute__((always_inline)) void visit_entries(const struct orcuckoo *filter, entry_visitor *visit,
                                                                void *context)
{
    const struct cuckoo_table *table = &filter->table;
    for (uint32_t row = cuckoo_table_next_row(table, 0); row < cuckoo_table_rows(table);
         row = cuckoo_table_next_row(table, row + 1)) {
        uint64_t words[8];
        cuckoo_table_words(table, row, words);
        for (uint32_t slot = 0; slot < table->shape.bucket_size; slot++) {
            if (!words[slot])
                continue;
            struct place place = cuckoo_table_place(table, row, word_fingerprint(words[slot], table->shape));
            visit(context,
                  entry_of_slot(filter, word_tag(words[slot], table->shape), class_key(place, table->geometry)));
        }
    }
    for (uint64_t node = 0; node < filter->table.stash.used; node++)
        if (filter->table.stash.nodes[node].key)
            visit(context, entry_of_node(&filter->table.stash.nodes[node]));
}

/* If others have seen dots of this actor that it never made, two replicas use the actor: the next addition takes a
   new one. */
void leave_shared_actor(struct orcuckoo *filter);

uint64_t orcuckoo_bytes(const struct orcuckoo *filter);
/* Whether it may take so many more bytes. */
bool has_memory_for(const struct orcuckoo *filter, uint64_t more);

/* An empty filter of the same configuration and geometry. */
roost_status open_alike(roost_filter **opened, const struct orcuckoo *filter);

/* ---- merge: orcuckoo_merge.c ------------------------------------------------------------------------------------- */

roost_status orcuckoo_merge(roost_filter *filter, bool *changed, const roost_filter *other);
roost_order orcuckoo_compare(const roost_filter *filter, const roost_filter *other);

roost_status orcuckoo_sweep(roost_filter *filter, struct sweep *sweep, const roost_filter *other, uint32_t effort);

/* Every actor of the causal context gets a number; ROOST_TOO_LARGE past MOST_ACTORS. */
roost_status number_actors(struct orcuckoo *filter, const struct causal_context *causal);
/* Notes dots that are new here; those that are not noted live beside it were removed before they came. */
void note_runs(struct orcuckoo *filter, const struct causal_context *unseen);

/* ---- bytes: orcuckoo_bytes.c ------------------------------------------------------------------------------------- */

roost_status orcuckoo_write_state(const roost_filter *filter, struct bit_writer *writer);
roost_status orcuckoo_read_state(roost_filter *filter, struct bit_reader *reader);
roost_status orcuckoo_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
roost_status orcuckoo_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader);
roost_status orcuckoo_write_dots(const roost_filter *filter, struct bit_writer *writer,
                                 const struct causal_context *dots);
roost_status orcuckoo_prepare_delta(roost_filter *filter, struct prepared_delta *prepared, struct bit_reader reader);
void orcuckoo_commit_delta(roost_filter *filter, bool *changed, struct prepared_delta *prepared);
void orcuckoo_abandon_delta(roost_filter *filter, struct prepared_delta *prepared);
roost_status orcuckoo_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                          struct delta_sink *sink);
roost_status orcuckoo_causal(const roost_filter *filter, struct causal_context *copy);
roost_status orcuckoo_causal_at(const roost_filter *filter, struct causal_context *causal, uint64_t record);
roost_status orcuckoo_summarize(const roost_filter *filter, struct summary *summary,
                                const struct causal_context *space);
roost_status orcuckoo_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                        const uint64_t *positions, uint64_t count);

#endif
