/*
 * Actors by number and by index.
 *
 *     list               number   id                   index   in_slots
 *                        0        51f0 a3c2 ...        0       812
 *                        1        07be 11d9 ...        -       0           had index 1 once, and lost it
 *                        2        e83a 904f ...        1       4
 *     map                id -> number, a hash table
 *     number_of_index    0 -> 0, 1 -> 2
 *
 * A filter outlives most of its actors: each restart, copy and restored backup is a new one. In the first
 * implementation of the thesis an id that is too large for the entry silently loses elements. Here numbers are 32 bits
 * wide and do not run out; indexes are as wide as an entry can spare, so they go round. An index may go to another
 * actor once no entry carries it; a count of entries for each actor shows when.
 *
 * Indexes that were never assigned are assigned first, so that an actor that is idle for a while keeps its own. After
 * that the CLOCK algorithm chooses, as for pages to evict: the search starts where it stopped the last time, so idle
 * indexes are reused in turn, and no actor loses its index twice while another keeps one that it does not use. The
 * number of busy indexes is counted as well: when all are busy there is no search, which matters because then every new
 * entry needs an index.
 *
 * The map's hash is salted with the address of its array: ids come in untrusted frames, whose author could otherwise
 * choose ids that all collide.
 */
#include "actors.h"

#include <assert.h>
#include <string.h>

#include "../base/bits.h"

#define SMALLEST_ROOM  1          /* most filters have one actor */
#define MOST_ROOM      (1u << 30) /* the map has twice as much, and counts in 32 bits */
#define FEWEST_INDEXES 4

void actors_init(struct actors *actors, uint32_t indexes)
{
    *actors = (struct actors){.indexes = indexes};
}

void actors_release(struct actors *actors, const roost_allocator *allocator)
{
    memory_release(allocator, actors->list);
    memory_release(allocator, actors->map);
    memory_release(allocator, actors->number_of_index);
    actors_init(actors, actors->indexes);
}

uint64_t actors_bytes(const struct actors *actors)
{
    return actors->room * (uint64_t)sizeof *actors->list + actors->map_room * (uint64_t)sizeof *actors->map +
           actors->given_room * (uint64_t)sizeof *actors->number_of_index;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Where the map has the actor, or else the free place where it would be. */
static uint32_t place_in_map(const struct actors *actors, uint64_t id)
{
    uint32_t mask = actors->map_room - 1;
    uint32_t i = (uint32_t)multiply_and_fold(id ^ actors->salt, UINT64_C(0x9e3779b97f4a7c15)) & mask;
    while (actors->map[i] && actors->list[actors->map[i] - 1].id != id)
        i = (i + 1) & mask;
    return i;
}

uint32_t actors_find(const struct actors *actors, uint64_t id)
{
    if (actors->count == 0)
        return NO_ACTOR;
    uint32_t number_and_one = actors->map[place_in_map(actors, id)];
    return number_and_one ? number_and_one - 1 : NO_ACTOR;
}

/* Gives `laid_out` a list and a map of its own, with what is in the other's. */
static bool lay_out(struct actors *laid_out, const struct actors *actors, uint32_t room,
                    const roost_allocator *allocator)
{
    struct actor *list = memory_allocate(allocator, room * sizeof *list);
    uint32_t *map = list ? memory_allocate(allocator, 2 * (size_t)room * sizeof *map) : NULL;
    if (!map) {
        memory_release(allocator, list);
        return false;
    }
    if (actors->count)
        memcpy(list, actors->list, actors->count * sizeof *list);
    laid_out->list = list;
    laid_out->room = room;
    laid_out->map = map;
    laid_out->map_room = 2 * room;
    laid_out->salt = multiply_and_fold((uintptr_t)map, UINT64_C(0xd1b54a32d192ed03));
    for (uint32_t number = 0; number < actors->count; number++)
        map[place_in_map(laid_out, list[number].id)] = number + 1;
    return true;
}

static bool grow(struct actors *actors, const roost_allocator *allocator)
{
    struct actors larger = *actors;
    if (actors->room >= MOST_ROOM ||
        !lay_out(&larger, actors, actors->room ? actors->room * 2 : SMALLEST_ROOM, allocator))
        return false;
    memory_release(allocator, actors->list);
    memory_release(allocator, actors->map);
    *actors = larger;
    return true;
}

uint32_t actors_number(struct actors *actors, uint64_t id, const roost_allocator *allocator)
{
    assert(id != 0);
    uint32_t number = actors_find(actors, id);
    if (number != NO_ACTOR)
        return number;
    if (actors->count == actors->room && !grow(actors, allocator))
        return NO_ACTOR;
    number = actors->count++;
    actors->list[number] = (struct actor){.id = id, .index = NO_INDEX};
    actors->map[place_in_map(actors, id)] = number + 1;
    return number;
}

/* ---- indexes ----------------------------------------------------------------------------------------------------- */

static bool reserve_indexes(struct actors *actors, uint32_t room, const roost_allocator *allocator)
{
    if (room <= actors->given_room)
        return true;
    uint32_t *numbers = memory_allocate(allocator, room * sizeof *numbers);
    if (!numbers)
        return false;
    if (actors->given)
        memcpy(numbers, actors->number_of_index, actors->given * sizeof *numbers);
    memory_release(allocator, actors->number_of_index);
    actors->number_of_index = numbers;
    actors->given_room = room;
    return true;
}

/* One that was never assigned. */
static uint32_t new_index(struct actors *actors, const roost_allocator *allocator)
{
    uint32_t room = actors->given_room;
    if (actors->given == room)
        room = room == 0 ? FEWEST_INDEXES : room > actors->indexes / 2 ? actors->indexes : room * 2;
    return reserve_indexes(actors, room, allocator) ? actors->given++ : NO_INDEX;
}

/* The index of an actor without entries in slots; the actor loses it. */
static uint32_t idle_index(struct actors *actors)
{
    for (uint32_t looked_at = 0; looked_at < actors->given; looked_at++) {
        uint32_t index = actors->hand;
        struct actor *owner = &actors->list[actors->number_of_index[index]];
        actors->hand = index + 1 < actors->given ? index + 1 : 0;
        if (owner->in_slots == 0) {
            owner->index = NO_INDEX;
            return index;
        }
    }
    return NO_INDEX;
}

uint32_t actors_index(struct actors *actors, uint32_t number, const roost_allocator *allocator)
{
    struct actor *actor = &actors->list[number];
    if (actor->index != NO_INDEX || actors->busy == actors->indexes)
        return actor->index;
    uint32_t index = actors->given < actors->indexes ? new_index(actors, allocator) : idle_index(actors);
    if (index != NO_INDEX)
        actors->number_of_index[index] = number;
    return actor->index = index;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

bool actors_copy(struct actors *copy, const struct actors *actors, const roost_allocator *allocator)
{
    actors_init(copy, actors->indexes);
    if (actors->count == 0)
        return true;
    if (!lay_out(copy, actors, actors->room, allocator))
        return false;
    if (!reserve_indexes(copy, actors->given_room, allocator)) {
        actors_release(copy, allocator);
        return false;
    }
    if (actors->given)
        memcpy(copy->number_of_index, actors->number_of_index, actors->given * sizeof *copy->number_of_index);
    copy->count = actors->count;
    copy->given = actors->given;
    copy->hand = actors->hand;
    copy->busy = actors->busy;
    return true;
}

static bool actor_is_sound(const struct actors *actors, uint32_t number)
{
    const struct actor *actor = &actors->list[number];
    if (actor->id == 0 || actors_find(actors, actor->id) != number)
        return false;
    if (actor->index == NO_INDEX)
        return actor->in_slots == 0;
    return actor->index < actors->given && actors->number_of_index[actor->index] == number;
}

static bool sizes_are_sound(const struct actors *actors)
{
    return actors->count <= actors->room && actors->map_room == 2 * actors->room &&
           (actors->map_room & (actors->map_room - 1)) == 0 && actors->given <= actors->given_room &&
           actors->given <= actors->indexes && actors->hand <= (actors->given ? actors->given - 1 : 0);
}

bool actors_check(const struct actors *actors)
{
    uint32_t mapped = 0, busy = 0;
    if (!sizes_are_sound(actors))
        return false;
    for (uint32_t number = 0; number < actors->count; number++) {
        if (!actor_is_sound(actors, number))
            return false;
        busy += actors->list[number].in_slots > 0;
    }
    for (uint32_t index = 0; index < actors->given; index++)
        if (actors->number_of_index[index] >= actors->count ||
            actors->list[actors->number_of_index[index]].index != index)
            return false;
    for (uint32_t i = 0; i < actors->map_room; i++)
        mapped += actors->map[i] != 0;
    return mapped == actors->count && busy == actors->busy;
}
