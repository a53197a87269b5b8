/* Sets of slot numbers of an imported part: `slot_set.c` says how. */
#ifndef IMPORTED_SLOT_SET_H
#define IMPORTED_SLOT_SET_H

#include "../base/bits.h"
#include "../base/shared_block.h"

struct slot_page;

/* All zero but the seed: the empty set. Invariants: pages ascend by number; `count`, `bytes` and `sum` are those of all
   pages. */
struct slot_set {
    struct numbered_page {
        uint64_t number; /* of its slots, all bits but the lowest 16 */
        struct slot_page *page;
    } * pages;
    size_t page_count, page_room;
    uint64_t count; /* slots */
    uint64_t bytes; /* memory of the pages */
    uint64_t seed;  /* of `sum` */
    uint128 sum;    /* of a hash of each slot */
};

void slot_set_release(struct slot_set *set, const struct memory_account *account);
/* Shares pages where the accounts allow it; false, and nothing changed, without memory. */
bool slot_set_clone(struct slot_set *copy, const struct slot_set *set, const struct memory_account *account,
                    bool shares);
void slot_set_move(struct slot_set *set, const struct memory_mover *mover);

bool slot_set_has(const struct slot_set *set, uint64_t slot);
bool slot_set_includes(const struct slot_set *set, const struct slot_set *other);

/* Makes room for so many more slots in the page of this one. False without memory; the set is the same either way. */
bool slot_set_reserve(struct slot_set *set, uint64_t slot, uint32_t more, const struct memory_account *account);
/* Makes room for all slots of another set. */
bool slot_set_reserve_all(struct slot_set *set, const struct slot_set *other, const struct memory_account *account);
/* Adds a slot that is not there, in room that was reserved. */
void slot_set_put(struct slot_set *set, uint64_t slot);

/* Goes through the slots, ascending, from an empty walk on. */
struct slot_walk {
    size_t page;
    uint32_t at; /* within the page: of an array the place, of bits the slot */
    uint64_t slot;
};
bool slot_walk_next(const struct slot_set *set, struct slot_walk *walk);
/* The same, for slots that another set does not have; pages that the two share are passed over. */
bool slot_walk_next_beyond(const struct slot_set *set, struct slot_walk *walk, const struct slot_set *other);

uint64_t slot_set_memory(const struct slot_set *set);
bool slot_set_check(const struct slot_set *set);

#endif
