/*
 * The actors of one filter, by short numbers.
 *
 * Entries of a table have no room for 64-bit actors. Inside one filter every known actor has a *number*, assigned in
 * order of arrival and never reused; and those with entries in table slots have an *index*, a few bits wide, that the
 * entries carry. An index whose actor has no entry in a slot any more is given to the next one that needs one. Where
 * all are in use, the actor gets none, and its entries stay out of the slots. Neither is part of the state: other
 * replicas have other numbers and indexes for the same actors.
 */
#ifndef CAUSAL_ACTORS_H
#define CAUSAL_ACTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/memory.h"

#define NO_ACTOR UINT32_MAX /* no number */
#define NO_INDEX UINT32_MAX

struct actor {
    uint64_t id;
    uint32_t index;    /* or NO_INDEX */
    uint32_t in_slots; /* entries that carry the index */
};

/* Invariants (actors_check): ids differ and are not 0; the map finds each; index and number_of_index agree; an actor
   with entries in slots has an index; `busy` counts those actors. All zero, apart from `indexes`, is empty. */
struct actors {
    struct actor *list; /* by number */
    uint32_t count, room;
    uint32_t *map; /* open addressing by id: number + 1, 0 is free; a power of two, at least twice the count */
    uint32_t map_room;
    uint64_t salt;             /* of the map's hash: another for each array */
    uint32_t *number_of_index; /* indexes that were ever given, `given` of them */
    uint32_t given, given_room;
    uint32_t indexes; /* how many there may be */
    uint32_t hand;    /* where the search for an idle index goes on */
    uint32_t busy;    /* actors with entries in slots: indexes that cannot be given to another */
};

void actors_init(struct actors *actors, uint32_t indexes);
void actors_release(struct actors *actors, const roost_allocator *allocator);
/* False, and an empty copy, when there is no memory. */
bool actors_copy(struct actors *copy, const struct actors *actors, const roost_allocator *allocator);
uint64_t actors_bytes(const struct actors *actors);

/* The number of an actor, or NO_ACTOR. */
uint32_t actors_find(const struct actors *actors, uint64_t id);
/* The same; one that is new, and not 0, gets the next number. NO_ACTOR, and nothing changed, if there is no memory. */
uint32_t actors_number(struct actors *actors, uint64_t id, const roost_allocator *allocator);

/*
 * The index of an actor, given now if it has none: a new one, or one that lies idle. NO_INDEX when all are in use;
 * also when there is no memory, which only costs the entry its slot. The caller that puts an entry into a slot counts
 * it before the next call of actors_index: an index that no entry carries may be reassigned.
 */
uint32_t actors_index(struct actors *actors, uint32_t number, const roost_allocator *allocator);
static inline void actors_entered_slot(struct actors *actors, uint32_t number)
{
    actors->busy += actors->list[number].in_slots++ == 0;
}
static inline void actors_left_slot(struct actors *actors, uint32_t number)
{
    actors->busy -= --actors->list[number].in_slots == 0;
}

bool actors_check(const struct actors *actors);

#endif
