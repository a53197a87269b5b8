/*
 * One key in a *plain* set (../cuckoo/cuckoo_plain.h): four slots of 64 bits a bucket, nothing in the stash, an actor
 * that makes its next dot, a class that is new or has one entry. Nearly every addition and removal meets that. These
 * functions do it in half the instructions, or leave it to those of orcuckoo.c, which know all cases.
 */
#ifndef OBSERVED_ORCUCKOO_PLAIN_H
#define OBSERVED_ORCUCKOO_PLAIN_H

#include "../cuckoo/cuckoo_plain.h"
#include "orcuckoo_slots.h"

static ALWAYS_INLINE struct place place_in_set(const struct orcuckoo *filter, roost_hash hash)
{
    return plain_place(&filter->table, FOUR_TAGGED, hash);
}

static ALWAYS_INLINE uint64_t key_in_set(const struct orcuckoo *filter, struct place place)
{
    return key_in_plain(&filter->table, FOUR_TAGGED, place);
}

/* The actor has the dot that comes next, and a slot may carry it. */
static ALWAYS_INLINE bool is_ready(const struct observed *observed)
{
    return !is_inherited(&observed->base) &&
           __builtin_expect(continues_run(observed) && observed->counter < observed->most_counter, 1) &&
           __builtin_expect(observed->actors.list[observed->number].index != NO_INDEX, 1);
}

/* All but the journal. */
static ALWAYS_INLINE void count_new(struct orcuckoo *filter, uint64_t key)
{
    struct observed *observed = &filter->observed;
    actors_entered_slot(&observed->actors, observed->number);
    continue_run(observed);
    add_to_sum(&observed->sum, hash_of_entry(filter->own.hash_seed.seed, key, observed->actor, observed->counter));
    filter->classes++;
}

static inline void note_new(struct orcuckoo *filter, uint64_t key)
{
    note_change(&filter->observed, CHANGE_LIVE, key, filter->observed.number, filter->observed.counter);
}

/* What a slot holds of this place with the next dot. */
static ALWAYS_INLINE uint64_t next_word(const struct orcuckoo *filter, struct place place)
{
    const struct observed *observed = &filter->observed;
    uint64_t tag = slot_tag(filter, observed->actors.list[observed->number].index, observed->counter + 1);
    return tag << filter->table.shape.bits | place.fingerprint;
}

/* PUT_NO_ROOM: both buckets are full, and what is in them stays there. PUT_PRESENT: nothing was tried. Relieving the
   table is up to the caller. */
static ALWAYS_INLINE enum put_result add_to_plain(struct orcuckoo *filter, struct place place)
{
    struct cuckoo_table *table = &filter->table;
    if (!is_plain(table, FOUR_TAGGED) || !is_ready(&filter->observed) || find_in_pair(table, FOUR_TAGGED, place))
        return PUT_PRESENT;
    uint64_t word = next_word(filter, place);
    if (__builtin_expect(!take_free_slot(table, FOUR_TAGGED, place, word), 0) &&
        cuckoo_table_displace(table, place, word, &filter->own.random) == PUT_NO_ROOM)
        return PUT_NO_ROOM;
    count_new(filter, key_in_set(filter, place));
    note_new(filter, key_in_set(filter, place));
    return PUT_NEW;
}

/* Clears the slot of the only entry of its class; all but the journal. */
static ALWAYS_INLINE struct entry clear_slot(struct orcuckoo *filter, uint64_t byte, uint64_t key)
{
    struct cuckoo_table *table = &filter->table;
    struct entry entry = entry_of_slot(filter, load_word(table->slots.bytes + byte) >> table->shape.bits, key);
    uint64_t actor = filter->observed.actors.list[entry.number].id;
    touch(table, byte);
    store_word(table->slots.bytes + byte, 0);
    table->filled--;
    filter->classes--;
    actors_left_slot(&filter->observed.actors, entry.number);
    subtract_from_sum(&filter->observed.sum, hash_of_entry(filter->own.hash_seed.seed, key, actor, entry.counter));
    return entry;
}

/* The slots of both buckets with the fingerprint of the place, four bits for each bucket; more than one where this is
   no work for a short way: several entries, or one that is found twice where both buckets are one. */
static ALWAYS_INLINE uint32_t slots_in_plain(const struct orcuckoo *filter, struct place place)
{
    return tagged_with(&filter->table, FOUR_TAGGED, place.bucket, place.fingerprint) |
           tagged_with(&filter->table, FOUR_TAGGED, place.other, place.fingerprint) << 4;
}

static ALWAYS_INLINE bool is_one_at_most(uint32_t slots)
{
    return __builtin_expect((slots & (slots - 1)) == 0, 1);
}

/* The first byte of the only one of them. */
static ALWAYS_INLINE uint64_t byte_of_slot(uint32_t slots, struct place place)
{
    uint64_t bucket = place.bucket ^ ((place.bucket ^ place.other) & -(uint32_t)(slots > 0xf)); /* without a branch */
    return bucket * 32 + (lowest_bit(slots) & 3) * 8;
}

static inline void note_removal(struct orcuckoo *filter, struct entry entry)
{
    note_change(&filter->observed, CHANGE_DEAD, entry.key, entry.number, entry.counter);
}

/* False: nothing was tried. */
static ALWAYS_INLINE bool remove_from_plain(struct orcuckoo *filter, bool *removed, struct place place)
{
    if (!is_plain(&filter->table, FOUR_TAGGED))
        return false;
    uint32_t slots = slots_in_plain(filter, place);
    if (!is_one_at_most(slots))
        return false;
    if (slots)
        note_removal(filter, clear_slot(filter, byte_of_slot(slots, place), key_in_set(filter, place)));
    *removed = slots != 0;
    return true;
}

#endif
