/*
 * Observed-remove filters: elements can be removed, at any replica, at any time.
 *
 * Specification 4 of the thesis "Conflict-Free Replicated Probabilistic Filter" (2024), section 3.4, after the
 * optimised observed-remove set. Every addition has a name of its own, a *dot*: the actor that made it and a counter.
 * An entry is a class, which is what the filter knows of an element, with the dot of its addition; beside the entries
 * stands the causal context, all dots ever seen. A dot that is in the causal context but has no entry was removed. So
 * each dot goes up a chain of three,
 *
 *     unseen  <  live (an entry, of one class)  <  dead
 *
 * and merge takes the larger of the two for every dot: an entry that the other side has seen and does not hold is
 * dropped, one that only the other side has seen is added. A removal leaves no tombstone but its dot in the causal
 * context, which is a range of counters for each actor: a billion removals cost no more than one.
 *
 *     causal context   actor 0x51..: 1 to 120, 124   actor 0x9e..: 1 to 3        (../causal/causal_context.h)
 *     digest           sum of the hashes of (class, dot) over all entries, and of the causal context's runs
 *
 * Where we differ from the thesis. Actors are random numbers of 64 bits, taken at the first own addition, one for each
 * incarnation of each object, so ids need no coordination and a restored backup cannot use a dot twice; entries name
 * them by number (../causal/actors.h). A counter that has reached its limit moves on to a fresh actor.
 *
 * Worked example: A adds x (dot A1), B gets it, B removes x: B's causal context {A1}, no entry. Meanwhile A adds x
 * again: A2 takes the place of A1. They merge: A1 is dead for both, A2 is unseen by B and live at A: x is in.
 *
 * This file has what does not depend on where entries lie: the actor of this replica, digest, replica and journal.
 * observed_bytes.c has the bytes. Where entries lie, what a class is, how elements are added and removed, and how two
 * filters merge, each kind says itself (orcuckoo.c, orcuckoo_merge.c).
 */
#include "observed.h"

#include "../base/entropy.h"
#include "../base/hash.h"

uint64_t observed_bytes_beside(const struct observed *filter)
{
    return filter->causal.room * sizeof *filter->causal.runs + actors_bytes(&filter->actors) +
           own_journal_bytes(&filter->base);
}

uint64_t observed_bytes(const struct observed *filter)
{
    return filter->store->bytes(filter) + observed_bytes_beside(filter);
}

bool has_memory_for(const struct observed *filter, uint64_t more)
{
    return observed_bytes(filter) + more <= filter->base.environment.common->memory_limit;
}

uint128 entry_hash(const struct observed *filter, struct entry entry)
{
    return hash_to_number(
        hash_of_entry(filter->base.config->seed, entry.key, filter->actors.list[entry.number].id, entry.counter));
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

void observed_release(struct observed *filter)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    causal_release(&filter->causal, allocator);
    actors_release(&filter->actors, allocator);
    release_journal(&filter->base);
}

bool observed_copy(struct observed *copy, const struct observed *filter)
{
    const roost_allocator *allocator = &copy->base.environment.allocator;
    copy->causal = (struct causal_context){0};
    copy->actors = (struct actors){0};
    detach(&copy->base);
    copy->actor = 0;
    return causal_copy(&copy->causal, &filter->causal, allocator) &&
           actors_copy(&copy->actors, &filter->actors, allocator);
}

void observed_move(struct observed *filter, const struct memory_mover *mover)
{
    filter->causal.runs = memory_moved(mover, filter->causal.runs);
    filter->actors.list = memory_moved(mover, filter->actors.list);
    filter->actors.map = memory_moved(mover, filter->actors.map);
    filter->actors.number_of_index = memory_moved(mover, filter->actors.number_of_index);
    move_journal(&filter->base, mover);
}

/* ---- actors ------------------------------------------------------------------------------------------------------ */

roost_status number_actors(struct observed *filter, const struct causal_context *causal)
{
    for (size_t i = 0; i < causal->count; i++) {
        if (i > 0 && causal->runs[i].actor == causal->runs[i - 1].actor)
            continue;
        if (actors_find(&filter->actors, causal->runs[i].actor) == NO_ACTOR && filter->actors.count >= MOST_ACTORS)
            return ROOST_TOO_LARGE;
        if (actors_number(&filter->actors, causal->runs[i].actor, &filter->base.environment.allocator) == NO_ACTOR)
            return ROOST_NO_MEMORY;
    }
    return ROOST_OK;
}

void note_runs(struct observed *filter, const struct causal_context *unseen)
{
    for (size_t i = 0; i < unseen->count && journal_is_on(filter->base.journal); i++) {
        const struct dot_run *run = &unseen->runs[i];
        note_change(filter, CHANGE_RUN, run->last, actors_find(&filter->actors, run->actor), run->first);
    }
}

void leave_shared_actor(struct observed *filter)
{
    if (filter->actor && causal_largest(&filter->causal, filter->actor) > filter->counter)
        filter->actor = 0;
}

/* In a series the lowest bits of an actor are the number of its table, so that the dots of all tables differ. A
   source that keeps repeating itself is broken. */
static bool draw_actor(const struct observed *filter, uint64_t *actor)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        if (!entropy_number(&filter->base.environment.common->entropy, actor))
            return false;
        if (filter->base.in_series)
            *actor = *actor << TABLE_BITS | filter->base.table;
        if (*actor && actors_find(&filter->actors, *actor) == NO_ACTOR)
            return true;
    }
    return false;
}

static roost_status take_fresh_actor(struct observed *filter)
{
    uint64_t actor;
    if (filter->actors.count >= MOST_ACTORS || !draw_actor(filter, &actor))
        return ROOST_EXHAUSTED;
    uint32_t number = actors_number(&filter->actors, actor, &filter->base.environment.allocator);
    if (number == NO_ACTOR)
        return ROOST_NO_MEMORY;
    filter->actor = actor;
    filter->number = number;
    filter->counter = 0;
    return ROOST_OK;
}

/* Whether the next dot only makes the last run of the actor longer. */
static bool extends_own_run(const struct observed *filter)
{
    const struct dot_run *runs = filter->causal.runs;
    return filter->run < filter->causal.count && runs[filter->run].actor == filter->actor &&
           runs[filter->run].last == filter->counter;
}

/* Arrays start with few bytes and double when they are full. A causal context without a free place is asked for one
   with each dot: most filters of one element never need it, and larger ones try to get it, now and then. */
#define FIRST_SPARE 16
roost_status prepare_actor(struct observed *filter, bool fresh)
{
    const bool must = fresh || !extends_own_run(filter);
    const bool may = filter->counter >= FIRST_SPARE && (filter->counter & (filter->counter - 1)) == 0;
    uint64_t more = fresh ? actors_bytes(&filter->actors) + 256 : 0;
    if (!must && !may)
        return ROOST_OK;
    if (filter->causal.count == filter->causal.room)
        more += (filter->causal.room + 4) * sizeof *filter->causal.runs;
    if (!has_memory_for(filter, more))
        return must ? ROOST_TOO_LARGE : ROOST_OK;
    roost_status status = fresh ? take_fresh_actor(filter) : ROOST_OK;
    if (status == ROOST_OK && !causal_reserve(&filter->causal, &filter->base.environment.allocator, 1) && must)
        status = ROOST_NO_MEMORY;
    return status;
}

/* ---- digest and replica ------------------------------------------------------------------------------------------ */

uint128 observed_digest(roost_filter *base)
{
    const struct observed *filter = as_observed(base);
    uint128 sum = filter->sum;
    for (size_t i = 0; i < filter->causal.count; i++) {
        const struct dot_run *run = &filter->causal.runs[i];
        uint8_t bytes[16];
        store_word(bytes, run->actor);
        store_word(bytes + 8, (uint64_t)run->last << 32 | run->first);
        sum += hash_to_number(hash_bytes(~base->config->seed, bytes, sizeof bytes));
    }
    return sum;
}

/* 0 for an actor whose first addition was refused: it has no dots. */
uint64_t observed_actor(const roost_filter *filter)
{
    return as_const_observed(filter)->counter ? as_const_observed(filter)->actor : 0;
}

void observed_write_replica(const roost_filter *filter, struct bit_writer *writer)
{
    write_fixed64(writer, observed_actor(filter));
}

/* The actor's own dots must be all there: it goes on counting where they end. */
roost_status observed_read_replica(roost_filter *base, struct bit_reader *reader)
{
    struct observed *filter = as_observed(base);
    uint64_t actor = read_fixed64(reader);
    uint32_t number = actor ? actors_find(&filter->actors, actor) : NO_ACTOR;
    if (reader->failed)
        return ROOST_CORRUPT;
    if (number == NO_ACTOR) /* it never made a dot, so another one is as good */
        return ROOST_OK;
    if (causal_contiguous(&filter->causal, actor) != causal_largest(&filter->causal, actor))
        return ROOST_CORRUPT;
    filter->actor = actor;
    filter->number = number;
    filter->counter = causal_largest(&filter->causal, actor);
    return ROOST_OK;
}

void observed_forget_replica(roost_filter *filter)
{
    as_observed(filter)->actor = 0;
}

bool observed_is_bottom(const roost_filter *filter)
{
    return as_const_observed(filter)->causal.dots == 0;
}

/* Numbers are the same in a copy. */
void observed_take_over(roost_filter *copy, const roost_filter *original)
{
    copy->process = original->process;
    as_observed(copy)->actor = as_const_observed(original)->actor;
    as_observed(copy)->number = as_const_observed(original)->number;
    as_observed(copy)->counter = as_const_observed(original)->counter;
}

/* ---- journal and causal context ---------------------------------------------------------------------------------- */

/* A decode numbers actors in their order in the causal context. Those that are not in it have no changes. */
uint32_t *observed_numbers_after_decode(const roost_filter *base, uint8_t table)
{
    (void)table;
    const struct observed *filter = as_const_observed(base);
    const struct dot_run *runs = filter->causal.runs;
    uint32_t order = 0, *numbers = memory_allocate(&base->environment.allocator,
                                                   ((size_t)filter->actors.count + 1) * sizeof *numbers);
    for (size_t i = 0; numbers && i < filter->causal.count; i++)
        if (i == 0 || runs[i].actor != runs[i - 1].actor)
            numbers[actors_find(&filter->actors, runs[i].actor)] = order++;
    return numbers;
}

/* As many as there are actors in the list; those that are not in the causal context come last, without a number. */
uint32_t *observed_numbers_before_decode(const roost_filter *base, uint8_t table)
{
    (void)table;
    const struct observed *filter = as_const_observed(base);
    const struct dot_run *runs = filter->causal.runs;
    size_t order = 0, count = (size_t)filter->actors.count + 1;
    uint32_t *numbers = memory_allocate(&base->environment.allocator, count * sizeof *numbers);
    for (size_t i = 0; numbers && i < filter->causal.count; i++)
        if (i == 0 || runs[i].actor != runs[i - 1].actor)
            numbers[order++] = actors_find(&filter->actors, runs[i].actor);
    for (; numbers && order < count; order++)
        numbers[order] = NO_ACTOR;
    return numbers;
}

bool observed_is_change(const roost_filter *base, uint8_t table, struct change change)
{
    (void)table;
    const struct observed *filter = as_const_observed(base);
    uint32_t counter = (uint32_t)change.tag;
    if (change.tag >> 32 >= filter->actors.count || counter == 0 || counter > filter->most_counter)
        return false;
    if (change_kind_of(change) == CHANGE_RUN)
        return change_key(change) >= counter && change_key(change) <= filter->most_counter;
    return change_kind_of(change) <= CHANGE_DEAD && filter->store->is_class(filter, change_key(change));
}

roost_status observed_causal(const roost_filter *filter, struct causal_context *copy)
{
    bool copied = causal_copy(copy, &as_const_observed(filter)->causal, &filter->environment.allocator);
    return copied ? ROOST_OK : ROOST_NO_MEMORY;
}

/* The causal context less the dots that entered since. A removal notes its dot too, but that one had entered before. */
roost_status observed_causal_at(const roost_filter *base, struct causal_context *causal, uint64_t record)
{
    const struct observed *filter = as_const_observed(base);
    const roost_allocator *allocator = &base->environment.allocator;
    uint64_t count = 0;
    struct dot_run *runs = memory_allocate(allocator, (base->journal->next - record + 1) * sizeof *runs);
    struct causal_context entered = {0};
    for (uint64_t i = record; runs && i < base->journal->next; i++) {
        struct change change = *journal_change(base->journal, i);
        if (change_kind_of(change) != CHANGE_DEAD && is_noted_here(base, i))
            runs[count++] = run_of_change(filter, change);
    }
    bool made = runs && causal_add_many(&entered, allocator, runs, count) &&
                causal_difference(causal, &filter->causal, &entered, allocator);
    causal_release(&entered, allocator);
    memory_release(allocator, runs);
    return made ? ROOST_OK : ROOST_NO_MEMORY;
}

/* ---- report and check -------------------------------------------------------------------------------------------- */

uint64_t observed_bytes_of(const roost_filter *filter)
{
    return observed_bytes(as_const_observed(filter));
}

void observed_info(const struct observed *filter, roost_info *info)
{
    info->entries = filter->store->count(filter);
    info->bytes_memory = observed_bytes(filter);
    info->actors = causal_actors(&filter->causal);
    info->dots = filter->causal.dots;
    info->gaps = causal_gaps(&filter->causal);
    info->journal = journal_length(filter->base.journal);
}

struct audit {
    const struct observed *filter;
    uint128 sum;
    uint64_t unseen;
};

static void audit_entry(void *context, struct entry entry)
{
    struct audit *audit = context;
    audit->sum += entry_hash(audit->filter, entry);
    audit->unseen +=
        !causal_contains(&audit->filter->causal, audit->filter->actors.list[entry.number].id, entry.counter);
}

/* Dots are read alone as they are with their entries. */
static bool dots_are_sound(const struct observed *filter)
{
    struct entry entries[ENTRIES_AT_ONCE];
    uint64_t dots[ROOM_FOR_DOTS];
    struct entry_walk walk = {0}, twin = {0};
    for (size_t count; (count = filter->store->next(filter, &walk, entries)) > 0;) {
        if (filter->store->next_dots(filter, &twin, dots) != count)
            return false;
        for (size_t i = 0; i < count; i++)
            if (dots[i] != dot_number(entries[i].number, entries[i].counter))
                return false;
    }
    return filter->store->next_dots(filter, &twin, dots) == 0;
}

bool observed_is_sound(const struct observed *filter)
{
    struct audit audit = {.filter = filter};
    if (!causal_check(&filter->causal) || !actors_check(&filter->actors))
        return false;
    visit_entries(filter, audit_entry, &audit);
    if (audit.unseen || audit.sum != filter->sum || !dots_are_sound(filter))
        return false;
    for (size_t i = 0; i < filter->causal.count; i++)
        if (actors_find(&filter->actors, filter->causal.runs[i].actor) == NO_ACTOR)
            return false;
    return !filter->actor || (filter->actors.list[filter->number].id == filter->actor &&
                              causal_largest(&filter->causal, filter->actor) == filter->counter);
}
