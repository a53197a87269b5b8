/* Inside the observed-remove cuckoo filter: what its files share. `orcuckoo.c` has the essay. */
#ifndef OBSERVED_ORCUCKOO_H
#define OBSERVED_ORCUCKOO_H

#include "../cuckoo/cuckoo_table.h"
#include "observed.h"

/* A class as bits: the pair of its buckets in truncated binary, where numbers below `short_ones` take `bits` and the
   others one bit more, and the fingerprint. */
struct class_code {
    uint32_t fingerprint_bits;
    uint32_t bits;
    uint64_t short_ones;
};

/* Invariants (orcuckoo_check): those of the parts; `classes` is the number of classes that have entries. */
struct orcuckoo {
    struct observed observed;
    struct filter_own own;
    struct cuckoo_table table;
    uint64_t classes; /* a class that replicas added apart has several entries, and counts once */
    uint32_t counter_bits;
    uint32_t kicks; /* for the next entry that comes from elsewhere: they adapt themselves from one to the next */
    uint64_t hand;  /* the next of the stash to be offered a slot */
    struct class_code code;
};

static inline struct orcuckoo *as_orcuckoo(roost_filter *filter)
{
    return (struct orcuckoo *)filter;
}

static inline const struct orcuckoo *as_const_orcuckoo(const roost_filter *filter)
{
    return (const struct orcuckoo *)filter;
}

/* ---- tags: in a slot the actor's index above the counter, in the stash its number above 32 bits of counter ------- */

static inline uint64_t slot_tag(const struct orcuckoo *filter, uint32_t index, uint32_t counter)
{
    return (uint64_t)index << filter->counter_bits | counter;
}

static inline uint32_t slot_tag_index(const struct orcuckoo *filter, uint64_t tag)
{
    return (uint32_t)(tag >> filter->counter_bits);
}

static inline uint32_t slot_tag_counter(const struct orcuckoo *filter, uint64_t tag)
{
    return (uint32_t)(tag & filter->observed.most_counter);
}

static inline struct entry entry_of_slot(const struct orcuckoo *filter, uint64_t tag, uint64_t key)
{
    return (struct entry){filter->observed.actors.number_of_index[slot_tag_index(filter, tag)],
                          slot_tag_counter(filter, tag), key};
}

static inline struct entry entry_of_node(const struct stash_node *node)
{
    return (struct entry){(uint32_t)(node->tag >> 32), (uint32_t)node->tag, node->key};
}

/* ---- entries: orcuckoo.c ----------------------------------------------------------------------------------------- */

/* More rows, as far as memory goes: for so many entries, or because those there are have become too few. */
void make_room(struct orcuckoo *filter, uint64_t entries);
void relieve_if_overfull(struct orcuckoo *filter);

/* Takes in an entry whose dot is new; causal context and journal are left to the caller. It fails only for lack of
   memory, and not at all if it was reserved. `kicks` adapts itself from one to the next. */
roost_status take_entry(struct orcuckoo *filter, const struct place *place, struct entry entry, uint32_t *kicks);

/* Drops an entry that is known to be in that slot, or in that node of the stash; the journal notes it. */
void drop_slot(struct orcuckoo *filter, const struct slot_match *match, uint64_t key);
void drop_node(struct orcuckoo *filter, uint64_t node);

/* Whether this very entry is there. */
bool holds_entry(const struct orcuckoo *filter, const struct place *place, uint32_t number, uint32_t counter);

/* ---- for the table of the store: orcuckoo_entries.c --------------------------------------------------------------- */

struct class_code orcuckoo_class_code(struct cuckoo_geometry geometry);
void orcuckoo_write_classes(const struct observed *observed, struct bit_writer *writer, const struct members *members);
bool orcuckoo_read_class(const struct observed *observed, struct class_reader *reader, uint64_t *key);
unsigned orcuckoo_fewest_class_bits(const struct observed *observed);
size_t orcuckoo_next_entries(const struct observed *observed, struct entry_walk *walk,
                             struct entry entries[ENTRIES_AT_ONCE]);
size_t orcuckoo_next_dots(const struct observed *observed, struct entry_walk *walk, uint64_t dots[ROOM_FOR_DOTS]);

/* ---- merge: orcuckoo_merge.c ------------------------------------------------------------------------------------- */

roost_status orcuckoo_merge(roost_filter *filter, bool *changed, const roost_filter *other);
roost_order orcuckoo_compare(const roost_filter *filter, const roost_filter *other);

roost_status orcuckoo_sweep(roost_filter *filter, struct sweep *sweep, const roost_filter *other, uint32_t effort);

#endif
