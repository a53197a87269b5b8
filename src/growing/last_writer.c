/*
 * The scalable last-writer-wins set: of each element the latest change, an addition or a removal, with its time.
 *
 *     state      a map: prefix of 60 bits -> stamp              { 0110..1: 2 * 1700000000000000 + 1, ... }
 *     contains   the stamp of the element's prefix is one of an addition
 *     add        the next stamp of an addition                   (../prefix/semantics.h: what is next, and why)
 *     remove     the next stamp of a removal, also where there is nothing
 *     merge      of each prefix the larger stamp
 *     order      no stamp of the one is larger than that of the other
 *     digest     sum of the hashes of all entries
 *
 * A state is a product of chains, as those of all kinds are: a prefix has no stamp, or one, and stamps only rise. So
 * merge is idempotent, commutative and associative, and any part of a state is one: a delta that was lost leaves no
 * gap.
 *
 * The table is that of the observed-remove filter (tagged.c), where the stamp takes the place of the dot. All prefixes
 * have the same length, so that none covers another and each is there once. With n elements that were added last, an
 * element that was never there is found with probability n 2^-60; an element that shares its prefix with another one
 * shares its fate, with the same probability. So a rate p holds for up to p 2^60 entries, and one more is refused.
 *
 * What it costs: a removal stays for ever, since an addition with an earlier time may still be on its way. There are as
 * many entries as different elements were ever added or removed. Of a million, an entry takes 16 bytes of memory, and
 * in a frame 8 if all changed within seconds, 11 if within a year.
 *
 * Clocks. The library has none: roost_filter_set_time says what time it is. Without, or where clocks stand, the changes
 * of an element are ordered by what their replicas had seen of it. A replica whose clock is ahead wins against
 * concurrent changes of others until these have seen its change: from then on theirs are later. Times end in a thousand
 * years; a change that would be later still is refused with ROOST_CLOCK, so who may write can also make a change final.
 */
#include "last_writer.h"

#include <math.h>
#include <string.h>

#include "../prefix/semantics.h"
#include "../base/hash.h"

/* Changes in place are at most so many, and a part of what the filter holds; others are made in a copy. */
#define FEW_CHANGES 1024
#define FEW_OF      16
#define LEAST_RATE  (1.0 / (1 << 20)) /* as that of observed-remove sets: growing_orcuckoo.c */

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static roost_status last_writer_resolve(roost_config *config)
{
    resolve_prefixes(config);
    return prefixes_are_resolved(config) ? ROOST_OK : ROOST_INVALID;
}

static roost_status open_with(roost_filter **opened, const roost_config *config, const roost_environment *environment)
{
    if (sizeof(struct last_writer) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    bool keeps;
    const struct shared *shared = shared_open(config, environment, 0, &keeps);
    struct last_writer *filter = shared ? memory_allocate(&environment->allocator, sizeof *filter) : NULL;
    if (!filter) {
        if (shared)
            shared_close(shared, keeps, &environment->allocator);
        return ROOST_NO_MEMORY;
    }
    filter->keeps_shared = keeps;
    filter->base = (struct roost_filter){.kind = &last_writer_kind,
                                         .config = &shared->config,
                                         .environment = {environment->allocator, &shared->environment},
                                         .journal = &no_journal};
    tagged_set_init(&filter->set);
    *opened = &filter->base;
    return ROOST_OK;
}

static roost_status last_writer_open(roost_filter **opened, const roost_config *config,
                                     const roost_environment *environment, struct bit_reader *geometry)
{
    (void)geometry;
    return open_with(opened, config, environment);
}

static void last_writer_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    (void)filter;
    (void)writer;
}

static void last_writer_close(roost_filter *base)
{
    const roost_allocator allocator = base->environment.allocator;
    tagged_set_release(&as_last_writer(base)->set, base);
    release_journal(base);
    shared_close(shared_of_filter(base), as_last_writer(base)->keeps_shared, &allocator);
    memory_release(&allocator, base);
}

/* Into an empty filter. */
static roost_status last_writer_copy_rest(roost_filter *base, roost_filter *copy)
{
    const struct last_writer *filter = as_const_last_writer(base);
    struct last_writer *twin = as_last_writer(copy);
    roost_status status = tagged_set_copy(&twin->set, copy, &filter->set);
    if (status != ROOST_OK)
        return status;
    twin->sum = filter->sum;
    twin->members = filter->members;
    twin->now = filter->now;
    return ROOST_OK;
}

static roost_status last_writer_copy_open(const roost_filter *filter, roost_filter **copy,
                                          const roost_environment *environment)
{
    return open_with(copy, filter->config, environment);
}

static roost_status last_writer_clone(const roost_filter *base, roost_filter **copy)
{
    const roost_environment environment = whole_environment(base);
    roost_status status = open_with(copy, base->config, &environment);
    if (status != ROOST_OK)
        return status;
    status = last_writer_copy_rest((roost_filter *)(uintptr_t)base, *copy); /* which only reads it */
    if (status != ROOST_OK) {
        last_writer_close(*copy);
        *copy = NULL;
    }
    return status;
}

static bool last_writer_move(roost_filter *base, const struct memory_mover *mover, uint64_t place)
{
    if (place == 0)
        move_journal(base, mover);
    return tagged_set_move(&as_last_writer(base)->set, mover, place);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static uint64_t bytes_for_set(const struct last_writer *filter, const struct tagged_set *set)
{
    uint64_t limit = filter->base.environment.common->memory_limit;
    uint64_t beside = sizeof *filter + own_journal_bytes(&filter->base);
    return tagged_set_bytes_left(set, limit > beside ? limit - beside : 0);
}

static uint128 entry_hash(const struct last_writer *filter, struct prefix_entry entry)
{
    uint8_t bytes[16];
    store_word(bytes, prefix_position(entry.prefix));
    store_word(bytes + 8, entry.tag);
    return hash_to_number(hash_bytes(filter->base.config->seed, bytes, sizeof bytes));
}

uint64_t find_stamp(const struct tagged_set *set, uint64_t prefix)
{
    struct prefix_entry entry;
    return tagged_set_of_prefix(set, prefix, &entry, 1) ? entry.tag : 0;
}

/* What changes with an entry that takes the place of one with another stamp; 0: there was none. */
static void count_change(struct last_writer *filter, struct prefix_entry entry, uint64_t before)
{
    if (before)
        filter->sum -= entry_hash(filter, (struct prefix_entry){entry.prefix, before});
    filter->sum += entry_hash(filter, entry);
    filter->members += stamp_adds(entry.tag);
    filter->members -= stamp_adds(before);
}

/* Puts an entry in the place of one with another stamp. Nothing has changed if that fails; after room was reserved, and
   its place owned, it does not. */
static roost_status put_over(struct last_writer *filter, struct tagged_set *set, struct prefix_entry entry,
                             uint64_t before)
{
    const struct prefix_entry old = {entry.prefix, before};
    if (before && tagged_set_retag(set, old, entry.tag))
        return ROOST_OK;
    roost_status status = tagged_set_put(set, &filter->base, entry, bytes_for_set(filter, set));
    if (status == ROOST_OK && before)
        tagged_set_drop(set, old);
    return status;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static void last_writer_set_time(roost_filter *filter, uint64_t now)
{
    as_last_writer(filter)->now = now;
}

static uint64_t most_entries(const struct last_writer *filter)
{
    double rate = filter->base.config->fpr;
    return (uint64_t)ldexp(rate < LEAST_RATE ? rate : LEAST_RATE, STAMPED_LENGTH);
}

/* The element's next change. */
static roost_status write_change(struct last_writer *filter, uint64_t hash, bool adds, bool *was_there)
{
    struct prefix_entry entry = {prefix_of(hash, STAMPED_LENGTH), 0};
    const uint64_t before = find_stamp(&filter->set, entry.prefix);
    const uint64_t time = next_time(filter->now, before);
    if (time > MOST_TIME)
        return ROOST_CLOCK;
    if (!before && tagged_set_count(&filter->set) >= most_entries(filter))
        return ROOST_FULL;
    entry.tag = stamp_of(time, adds);
    if (!tagged_set_own(&filter->set, entry.prefix))
        return ROOST_NO_MEMORY;
    roost_status status = put_over(filter, &filter->set, entry, before);
    if (status != ROOST_OK)
        return status;
    *was_there = stamp_adds(before);
    count_change(filter, entry, before);
    note(&filter->base, prefix_position(entry.prefix), 0);
    return ROOST_OK;
}

static roost_status last_writer_add(roost_filter *base, bool *changed, size_t *done, const roost_hash *hashes,
                                    size_t count)
{
    for (*done = 0; *done < count; ++*done) {
        bool was_there;
        roost_status status = write_change(as_last_writer(base), hashes[*done].high, true, &was_there);
        if (status != ROOST_OK)
            return status;
        if (changed)
            changed[*done] = !was_there;
    }
    return ROOST_OK;
}

static roost_status last_writer_remove(roost_filter *base, bool *changed, const roost_hash *hashes, size_t count)
{
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < count && status == ROOST_OK; i++) {
        bool was_there = false;
        status = write_change(as_last_writer(base), hashes[i].high, false, &was_there);
        if (changed)
            changed[i] = was_there;
    }
    return status;
}

static void last_writer_contains(const roost_filter *base, bool *found, const roost_hash *hashes, size_t count)
{
    const struct tagged_set *set = &as_const_last_writer(base)->set;
    tagged_set_contains_many(set, found, hashes, count);
    for (size_t i = 0; i < count; i++)
        found[i] = found[i] && stamp_adds(find_stamp(set, prefix_of(hashes[i].high, STAMPED_LENGTH)));
}

/* As many as there are, and some more: there is always room. */
static uint64_t last_writer_capacity(const roost_filter *base)
{
    return UNKNOWN_CAPACITY + tagged_set_count(&as_const_last_writer(base)->set);
}

/* ---- lattice ----------------------------------------------------------------------------------------------------- */

/* Which of these entries are later than what is here, and in the first places then. */
struct join {
    struct last_writer *filter;
    struct prefix_entry *entries; /* those that are, */
    uint64_t *before;             /* and the stamps that they supersede */
    uint64_t count;
};

static void join_end(struct join *join)
{
    const roost_allocator *allocator = &join->filter->base.environment.allocator;
    memory_release(allocator, join->entries);
    memory_release(allocator, join->before);
}

static bool join_begin(struct join *join, struct last_writer *filter, uint64_t most)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    *join = (struct join){.filter = filter};
    join->entries = memory_allocate(allocator, (most + 1) * sizeof *join->entries);
    join->before = memory_allocate(allocator, (most + 1) * sizeof *join->before);
    if (join->entries && join->before)
        return true;
    join_end(join);
    return false;
}

static void join_consider(struct join *join, struct prefix_entry entry)
{
    uint64_t before = find_stamp(&join->filter->set, entry.prefix);
    if (entry.tag <= before)
        return;
    join->entries[join->count] = entry;
    join->before[join->count++] = before;
}

static roost_status put_all(struct join *join, struct tagged_set *set)
{
    roost_status status = ROOST_OK;
    for (uint64_t i = 0; i < join->count && status == ROOST_OK; i++) {
        status = tagged_set_own(set, join->entries[i].prefix) ? ROOST_OK : ROOST_NO_MEMORY;
        if (status == ROOST_OK)
            status = put_over(join->filter, set, join->entries[i], join->before[i]);
    }
    return status;
}

/* Room is reserved for all of them, so that none fails. */
static roost_status change_in_place(struct join *join)
{
    struct tagged_set *set = &join->filter->set;
    const roost_filter *owner = &join->filter->base;
    roost_status status = ROOST_OK;
    for (uint64_t i = 0; i < join->count && status == ROOST_OK; i++)
        status = tagged_set_own(set, join->entries[i].prefix) ? ROOST_OK : ROOST_NO_MEMORY;
    if (status == ROOST_OK)
        status = tagged_set_reserve(set, owner, join->count, bytes_for_set(join->filter, set));
    if (status == ROOST_OK)
        status = put_all(join, set);
    tagged_set_release_reserve(set, owner);
    return status;
}

/* In a copy, which shares what stays and takes the place of the set at the end. */
static roost_status change_copy(struct join *join)
{
    struct last_writer *filter = join->filter;
    struct tagged_set copy;
    tagged_set_init(&copy);
    roost_status status = tagged_set_copy(&copy, &filter->base, &filter->set);
    if (status == ROOST_OK) {
        tagged_set_make_room(&copy, &filter->base, join->count, bytes_for_set(filter, &copy));
        status = put_all(join, &copy);
    }
    struct tagged_set *useless = status == ROOST_OK ? &filter->set : &copy;
    tagged_set_release(useless, &filter->base);
    if (status == ROOST_OK)
        filter->set = copy;
    return status;
}

static void note_changes(struct join *join)
{
    struct last_writer *filter = join->filter;
    bool fit = !journal_is_on(filter->base.journal) || journal_takes(filter->base.journal, join->count);
    if (!fit)
        journal_forget(filter->base.journal);
    for (uint64_t i = 0; i < join->count; i++) {
        count_change(filter, join->entries[i], join->before[i]);
        if (fit)
            note(&filter->base, prefix_position(join->entries[i].prefix), 0);
    }
}

static roost_status join_commit(struct join *join, bool *changed)
{
    bool few = join->count <= FEW_CHANGES || join->count <= tagged_set_count(&join->filter->set) / FEW_OF;
    roost_status status = few ? change_in_place(join) : change_copy(join);
    *changed = status == ROOST_OK && join->count > 0;
    if (status == ROOST_OK)
        note_changes(join);
    return status;
}

roost_status join_entries(struct last_writer *filter, bool *changed, const struct prefix_entry *entries, uint64_t count)
{
    struct join join;
    *changed = false;
    if (!join_begin(&join, filter, count))
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        join_consider(&join, entries[i]);
    roost_status status = join_commit(&join, changed);
    join_end(&join);
    return status;
}

/* By the sums of the hashes of their entries, as their digests are compared. */
static bool are_equal(const struct last_writer *filter, const struct last_writer *other)
{
    return filter->sum == other->sum && tagged_set_count(&filter->set) == tagged_set_count(&other->set);
}

static roost_status last_writer_merge(roost_filter *base, bool *changed, const roost_filter *other)
{
    const struct last_writer *source = as_const_last_writer(other);
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    struct join join;
    *changed = false;
    if (are_equal(as_const_last_writer(base), source))
        return ROOST_OK;
    if (!join_begin(&join, as_last_writer(base), tagged_set_count(&source->set)))
        return ROOST_NO_MEMORY;
    for (uint32_t count; (count = tagged_set_next(&source->set, &walk, entries)) > 0;)
        for (uint32_t i = 0; i < count; i++)
            join_consider(&join, entries[i]);
    roost_status status = join_commit(&join, changed);
    join_end(&join);
    return status;
}

/* Whether some stamp of the other is later. */
static bool lacks_any(const struct last_writer *filter, const struct last_writer *other)
{
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    for (uint32_t count; (count = tagged_set_next(&other->set, &walk, entries)) > 0;)
        for (uint32_t i = 0; i < count; i++)
            if (find_stamp(&filter->set, entries[i].prefix) < entries[i].tag)
                return true;
    return false;
}

static roost_order last_writer_compare(const roost_filter *base, const roost_filter *other_base)
{
    const struct last_writer *filter = as_const_last_writer(base), *other = as_const_last_writer(other_base);
    return (lacks_any(filter, other) ? ROOST_BEFORE : 0) | (lacks_any(other, filter) ? ROOST_AFTER : 0);
}

static uint128 last_writer_digest(roost_filter *filter)
{
    return as_last_writer(filter)->sum;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static uint64_t last_writer_bytes(const roost_filter *base)
{
    return sizeof(struct last_writer) + tagged_set_bytes(&as_const_last_writer(base)->set) + own_journal_bytes(base);
}

static void last_writer_info(const roost_filter *base, roost_info *info)
{
    const struct last_writer *filter = as_const_last_writer(base);
    info->entries = tagged_set_count(&filter->set);
    info->inserted = filter->members;
    info->elements = (double)filter->members;
    info->overflow = tagged_set_crowd(&filter->set);
    info->load = tagged_set_load(&filter->set);
    info->fpr_now = ldexp((double)filter->members, -STAMPED_LENGTH);
    info->promise_holds = info->fpr_now <= base->config->fpr;
    info->shortest_prefix = info->longest_prefix = info->entries ? STAMPED_LENGTH : 0;
    info->growth_limit = most_entries(filter);
    info->bytes_memory = last_writer_bytes(base);
    info->journal = journal_length(base->journal);
}

/* What the entries come to. */
static roost_status last_writer_check(const roost_filter *base)
{
    const struct last_writer *filter = as_const_last_writer(base);
    struct last_writer audit = {.base.config = base->config};
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    if (!tagged_set_check(&filter->set))
        return ROOST_CORRUPT;
    for (uint32_t count; (count = tagged_set_next(&filter->set, &walk, entries)) > 0;)
        for (uint32_t i = 0; i < count; i++) {
            if (prefix_length(entries[i].prefix) != STAMPED_LENGTH || !is_stamp(entries[i].tag) ||
                find_stamp(&filter->set, entries[i].prefix) != entries[i].tag)
                return ROOST_CORRUPT;
            count_change(&audit, entries[i], 0);
        }
    return audit.sum == filter->sum && audit.members == filter->members ? ROOST_OK : ROOST_CORRUPT;
}

const struct filter_kind last_writer_kind = {
    .code = ROOST_ORCUCKOO,
    .name = "scalable last-writer-wins",
    .has_prefixes = true,
    .lifecycle = {.resolve = last_writer_resolve,
                  .is_resolved = prefixes_are_resolved,
                  .open = last_writer_open,
                  .close = last_writer_close,
                  .clone = last_writer_clone},
    .set = {.add = last_writer_add,
            .contains = last_writer_contains,
            .capacity = last_writer_capacity,
            .set_time = last_writer_set_time},
    .removal = {.remove = last_writer_remove},
    .lattice = {.merge = last_writer_merge, .compare = last_writer_compare, .digest = last_writer_digest},
    .encoding = {.write_geometry = last_writer_write_geometry,
                 .write_state = last_writer_write_state,
                 .read_state = last_writer_read_state},
    .delta = {.write = last_writer_write_delta, .merge = last_writer_merge_delta},
    .journal = {.is_change = last_writer_is_change},
    .incremental = {.copy_open = FOR_SERVERS(last_writer_copy_open),
                    .copy_rest = FOR_SERVERS(last_writer_copy_rest),
                    .cut = FOR_SERVERS(last_writer_cut),
                    .move = FOR_SERVERS(last_writer_move)},
    .report = {.info = last_writer_info, .memory = last_writer_bytes, .check = FOR_SERVERS(last_writer_check)},
};
