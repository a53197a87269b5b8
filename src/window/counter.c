/*
 * The idempotent counter: a tally of what each actor counted (a PN-counter), and a window over the ids of the
 * operations.
 *
 * Section V of the paper puts a forgetful filter in front of a counter that is partitioned over replicas. There the
 * two are merged separately, and an operation whose id arrives before its count is lost for ever once it is retried
 * where only the id is known. Here they are one state: a frame, a delta, a merge has both or neither, and a replica
 * that knows the id of an operation has counted it.
 *
 *     (actor -> added, taken)    and    (slot -> bits)           merged together, entry by entry, slot by slot
 *
 * What that promises. At one replica an operation is never counted twice while the window remembers it. At two it is
 * not once the first attempt has arrived at the second. If it has not, it counts twice: without coordination neither
 * can know of the other. An operation that was never seen is taken for a duplicate with the error rate of the window:
 * the value is too low by at most that part. A retry renews the operation in the window, so that a client which keeps
 * retrying is still recognised.
 *
 * A delta has what changed between two moments. A replica that got a later delta and not the one before has counted
 * operations, by the sums of their actor, whose ids it does not know yet; a sync leaves no such gaps.
 *
 * The actor is one incarnation of one replica, drawn at random when it first counts; see ../causal/actors.h for why
 * copies must not share one.
 */
#include "forgetful.h"

#include <assert.h>

#include "../base/entropy.h"
#include "../filter/inherited.h"

uint64_t counter_actor(const roost_filter *filter)
{
    return as_const_window(filter)->actor;
}

roost_status roost_counter_get_value(const roost_filter *filter, int64_t *value)
{
    assert(filter->config->kind == ROOST_COUNTER);
    __int128 sum = tally_value(&as_const_window(filter)->tally);
    *value = sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
    return *value == sum ? ROOST_OK : ROOST_OVERFLOW;
}

/* ---- increment ------------------------------------------------------------------------------------------------- */

/* The entry of an actor with `amount` on top; false where it does not fit. */
static bool raised_entry(const struct window *window, struct tally_entry *entry, uint64_t actor, int64_t amount)
{
    size_t place = tally_find(&window->tally, actor);
    *entry = place < window->tally.count ? window->tally.entries[place] : (struct tally_entry){.actor = actor};
    if (amount >= 0)
        entry->added += (uint64_t)amount;
    else
        entry->taken += -(uint64_t)amount;
    return entry->added <= MOST_TALLY && entry->taken <= MOST_TALLY;
}

/* An actor whose entry is used up is replaced by a fresh one. */
static roost_status prepare_entry(struct window *window, struct tally_entry *entry, int64_t amount)
{
    const roost_environment *environment = &window->own.environment;
    __int128 value = tally_value(&window->tally) + amount;
    leave_inherited(&window->base);
    uint64_t actor = window->actor;
    if (value > INT64_MAX || value < INT64_MIN || amount == INT64_MIN)
        return ROOST_OVERFLOW;
    if (!actor || !raised_entry(window, entry, actor, amount)) {
        if (!entropy_number(&environment->entropy, &actor))
            return ROOST_EXHAUSTED;
        raised_entry(window, entry, actor, amount);
    }
    return tally_reserve(&window->tally, &environment->allocator, 1) ? ROOST_OK : ROOST_NO_MEMORY;
}

static roost_status remember(struct window *window, roost_hash hash, uint64_t time)
{
    struct slot *slot;
    uint64_t room;
    bool changed;
    size_t done;
    if (window_grows(window))
        return growing_add(window, NULL, &done, &hash, 1, time);
    roost_status status = window_target(window, &slot, &room, time);
    if (status != ROOST_OK)
        return status;
    bloom_kind.set.add(slot->bits, &changed, &done, &hash, 1);
    slot->held += changed;
    return ROOST_OK;
}

static void count(struct window *window, const struct tally_entry *entry)
{
    if ((entry->added | entry->taken) == 0)
        return;
    window->actor = entry->actor;
    if (tally_take(&window->tally, entry))
        journal_note(window->base.journal, TALLY_TABLE, entry->actor, 0);
}

roost_status roost_counter_increment(roost_filter *filter, bool *applied, int64_t *value, const void *id, size_t size,
                                     int64_t amount, uint64_t time)
{
    struct tally_entry entry;
    struct window *window = as_window(filter);
    if (applied)
        *applied = false;
    if (filter->config->kind != ROOST_COUNTER)
        return ROOST_UNSUPPORTED;
    if (size == 0 || size > ROOST_COUNTER_MOST_ID)
        return ROOST_INVALID;
    roost_hash hash = roost_filter_hash(filter, id, size);
    bool duplicate = window_holds(window, hash, time);
    roost_status status = duplicate ? ROOST_OK : prepare_entry(window, &entry, amount);
    if (status == ROOST_OK)
        status = remember(window, hash, time);
    if (status != ROOST_OK)
        return status;
    if (!duplicate)
        count(window, &entry);
    if (applied)
        *applied = !duplicate;
    return value ? roost_counter_get_value(filter, value) : ROOST_OK;
}

/* ---- replica --------------------------------------------------------------------------------------------------- */

void counter_write_replica(const roost_filter *filter, struct bit_writer *writer)
{
    write_fixed64(writer, as_const_window(filter)->actor);
}

/* An actor that is not in the state was not saved with it. */
roost_status counter_read_replica(roost_filter *filter, struct bit_reader *reader)
{
    struct window *window = as_window(filter);
    uint64_t actor = read_fixed64(reader);
    if (reader->failed || (actor && tally_find(&window->tally, actor) == window->tally.count))
        return ROOST_CORRUPT;
    window->actor = actor;
    return ROOST_OK;
}
