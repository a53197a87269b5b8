/* Inside the observed-remove cuckoo filter: what its files share. `orcuckoo.c` has the essay. */
#ifndef OBSERVED_ORCUCKOO_H
#define OBSERVED_ORCUCKOO_H

#include "orcuckoo_slots.h"

/* ---- the filter and its entries: orcuckoo.c ---------------------------------------------------------------------- */

/* A new filter with such a table. */
roost_status orcuckoo_open_with(roost_filter **opened, const roost_config *config, const roost_environment *environment,
                                struct cuckoo_geometry geometry);

/* More rows, as far as memory goes: for so many entries, or because those there are have become too few. */
void make_room(struct orcuckoo *filter, uint64_t entries);
void relieve_if_overfull(struct orcuckoo *filter);

/* Takes in an entry whose dot is new; causal context and journal are left to the caller. It fails only for lack of
   memory, and not at all if it was reserved. `kicks` adapts itself from one to the next. */
roost_status take_entry(struct orcuckoo *filter, const struct place *place, struct entry entry, uint32_t *kicks);

/* Drops an entry that is known to be in that slot, or in that node of the stash; the journal notes it. */
void drop_slot(struct orcuckoo *filter, const struct slot_match *match, uint64_t key);
void drop_node(struct orcuckoo *filter, uint64_t node);

/* Whether this very entry is there; drops it if it is. */
bool holds_entry(const struct orcuckoo *filter, const struct place *place, uint32_t number, uint32_t counter);
bool drop_entry(struct orcuckoo *filter, const struct place *place, struct entry entry);

/* ---- one key: orcuckoo.c; the calls themselves: orcuckoo_calls.c ------------------------------------------------- */

/* For all cases; the calls of plain sets leave to these what is not common. */
roost_status orcuckoo_add_one(roost_filter *filter, bool *changed, roost_hash hash);
roost_status orcuckoo_remove_key(roost_filter *filter, bool *changed, roost_hash hash);

/* Adds a class that is new to a set and has found both of its buckets full. */
roost_status add_without_room(struct orcuckoo *filter, const struct place *place);

const struct filter_calls *orcuckoo_calls_for(const struct orcuckoo *filter);

/* ---- the store: orcuckoo_entries.c ------------------------------------------------------------------------------- */

extern const struct entry_store orcuckoo_store;

struct class_code orcuckoo_class_code(struct cuckoo_geometry geometry);

/* ---- merge: orcuckoo_merge.c ------------------------------------------------------------------------------------- */

roost_status orcuckoo_merge(roost_filter *filter, bool *changed, const roost_filter *other);
roost_order orcuckoo_compare(const roost_filter *filter, const roost_filter *other);

roost_status orcuckoo_sweep(roost_filter *filter, struct sweep *sweep, const roost_filter *other, uint32_t effort);

#endif
