/*
 * The scalable observed-remove cuckoo filter (ScORCF): hash prefixes with dots in one table, and one causal context.
 *
 * The thesis "Conflict-Free Replicated Probabilistic Filter" (2024), section 3.5, grows by further tables, each with a
 * causal context of its own. Here what distinguishes the tables, the length of their fingerprints, is a property of
 * each entry, as in growing_cuckoo.c, and there is one causal context for all. While entries are few they are a list
 * instead of a table (tagged_set.c).
 *
 *     entry      (prefix, dot)                                   0110100111, actor 0x51.. counter 120
 *     contains   some entry's prefix covers the hash
 *     merge      for every dot the larger of unseen < live < removed, as in ../observed/orcuckoo.c
 *
 * Prefixes may cover each other: two replicas that add one element while they are of different sizes leave two prefixes
 * of it, and either may be removed without the other.
 *
 * *Adding*. The new entry gets the longest prefix that already covers the hash and whose length has room, and otherwise
 * a prefix of a length that has room (budget.c). In a set it takes the place of those entries that its own prefix
 * covers, and of no others: a shorter prefix may be there for another element, which must not be lost. *Room* is
 * counted in different prefixes that the writer sees, without the one in question. So each writer has at most as many
 * prefixes of a length as the budget allows, also where one adds again what another one removes, and the bound on the
 * rate (docs/error-bounds.md) is that of the filter without removal.
 *
 * *Removing* takes every entry whose prefix covers the hash, and so, as often as the filter errs, one of another
 * element. A set therefore keeps its prefixes long enough for one error in 2^20, whatever rate was asked for. In a
 * multiset every copy has an entry and remove_one takes one, so that elements which share a prefix lose nothing to each
 * other, but for removals of what was never added, or of all copies; one error in 2^13 is enough.
 *
 * *Remove-wins*. Where the filter was made so, a removal leaves an entry of its own, with a prefix of 60 bits, which
 * the next addition of the element supersedes; semantics.h says why that is all. What follows is written for both.
 *
 * Any length with room will do; the filter goes on with the one that it used last. When that is full it looks for the
 * shortest, but leaves out those that have become too short for the table (tagged.c), whose entries have no slots.
 *
 * Bytes: entries are in the order of their dots (../observed/observed_bytes.c). As dots are made, lengths seldom
 * change, so classes are written as runs of one length: how many (gamma), the length (6 bits), then the bits of each
 * prefix.
 */
#include "growing_orcuckoo.h"

#include <math.h>
#include <string.h>

#include "../prefix/semantics.h"
#include "../base/hash.h"
#include "../filter/configuration.h"

#define BATCH          32
#define MOST_COVERING  64
#define SHORTEST_CLASS 4
#define LENGTH_BITS    6
#define MOST_AT_ONCE   56 /* bits: bitstream.h */

/* ---- classes as bits --------------------------------------------------------------------------------------------- */

static bool is_class(const struct observed *filter, uint64_t key)
{
    (void)filter;
    return is_position(key) && highest_bit(key) >= SHORTEST_CLASS;
}

/* The bits of a prefix, the lowest first, in two parts where they are more than are written at once. */
static inline void write_prefix(struct bit_writer *writer, uint64_t bits, unsigned length)
{
    unsigned first = length <= MOST_AT_ONCE ? length : 32;
    write_bits(writer, bits & low_bits(first), first);
    if (first < length)
        write_bits(writer, bits >> first & low_bits(length - first), length - first);
}

static inline uint64_t read_prefix(struct bit_reader *reader, unsigned length)
{
    unsigned first = length <= MOST_AT_ONCE ? length : 32;
    uint64_t bits = read_bits(reader, first);
    return first < length ? bits | read_bits(reader, length - first) << first : bits;
}

static void write_run(struct bit_writer *writer, const struct members *members, uint64_t *place, uint64_t count,
                      unsigned length)
{
    write_gamma(writer, count);
    write_bits(writer, length, LENGTH_BITS);
    for (uint64_t i = 0; i < count; i++)
        write_prefix(writer, next_member(members, place).value, length);
}

static void write_classes(const struct observed *filter, struct bit_writer *writer, const struct members *members)
{
    uint64_t ahead = 0, written = 0, count = 0;
    unsigned length = 0;
    (void)filter;
    for (uint64_t i = 0; i < members->count; i++) {
        unsigned next = highest_bit(next_member(members, &ahead).value);
        if (count > 0 && next != length) {
            write_run(writer, members, &written, count, length);
            count = 0;
        }
        length = next;
        count++;
    }
    if (count > 0)
        write_run(writer, members, &written, count, length);
}

static bool read_class(const struct observed *filter, struct class_reader *reader, uint64_t *key)
{
    if (reader->run == 0) {
        unsigned last = reader->length;
        reader->run = read_gamma(&reader->bits);
        reader->length = (unsigned)read_bits(&reader->bits, LENGTH_BITS);
        if (reader->bits.failed || reader->length == last || reader->length < SHORTEST_CLASS ||
            reader->length > MOST_LENGTH)
            return false;
    }
    reader->run--;
    *key = UINT64_C(1) << reader->length | read_prefix(&reader->bits, reader->length);
    return !reader->bits.failed && is_class(filter, *key);
}

static unsigned fewest_bits(const struct observed *filter)
{
    (void)filter;
    return SHORTEST_CLASS;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static roost_status growing_resolve(roost_config *config)
{
    struct budget budget;
    resolve_prefixes(config);
    if (!prefixes_are_resolved(config))
        return ROOST_INVALID;
    budget_of(&budget, config);
    for (unsigned length = SHORTEST_CLASS; length <= MOST_LENGTH; length++)
        if (budget.capacity[length])
            return ROOST_OK;
    return ROOST_INVALID;
}

static const struct entry_store growing_store;

static roost_status open_with(roost_filter **opened, const roost_config *config, const roost_environment *environment)
{
    if (sizeof(struct growing_orcuckoo) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    bool keeps;
    const struct shared *shared = shared_open(config, environment, 0, &keeps);
    struct growing_orcuckoo *filter = shared ? memory_allocate(&environment->allocator, sizeof *filter) : NULL;
    if (!filter) {
        if (shared)
            shared_close(shared, keeps, &environment->allocator);
        return ROOST_NO_MEMORY;
    }
    filter->keeps_shared = keeps;
    filter->observed.base = (struct roost_filter){.kind = &growing_orcuckoo_kind,
                                                  .config = &shared->config,
                                                  .environment = {environment->allocator, &shared->environment},
                                                  .journal = &no_journal};
    filter->observed.store = &growing_store;
    filter->observed.most_counter = UINT32_MAX;
    actors_init(&filter->observed.actors, 0);
    tagged_set_init(&filter->set);
    *opened = &filter->observed.base;
    return ROOST_OK;
}

static roost_status growing_open(roost_filter **opened, const roost_config *given, const roost_environment *environment,
                                 struct bit_reader *frame)
{
    roost_config config = *given;
    uint8_t multiset = frame && !config.semantics ? read_byte(frame) : config.multiset;
    if (multiset > 1 || (frame && frame->failed))
        return ROOST_CORRUPT;
    config.multiset = multiset == 1;
    return open_with(opened, &config, environment);
}

/* Sets with other semantics are no multisets. */
static void growing_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    if (!filter->config->semantics)
        write_byte(writer, filter->config->multiset);
}

static roost_status open_alike(roost_filter **opened, const struct observed *filter)
{
    const roost_environment environment = whole_environment(&filter->base);
    return open_with(opened, filter->base.config, &environment);
}

static void growing_close(roost_filter *base)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    const roost_allocator allocator = base->environment.allocator;
    tagged_set_release(&filter->set, base);
    observed_release(&filter->observed);
    shared_close(shared_of_filter(base), filter->keeps_shared, &allocator);
    memory_release(&allocator, filter);
}

/* All but what is the twin's own, and the entries. */
static bool copy_all_but_entries(struct growing_orcuckoo *twin, const struct growing_orcuckoo *filter)
{
    struct growing_orcuckoo before = *twin;
    causal_release(&twin->observed.causal, &before.observed.base.environment.allocator);
    actors_release(&twin->observed.actors, &before.observed.base.environment.allocator);
    *twin = *filter;
    twin->observed.base = before.observed.base;
    twin->set = before.set;
    twin->keeps_shared = before.keeps_shared;
    return observed_copy(&twin->observed, &filter->observed);
}

static roost_status growing_clone(const roost_filter *base, roost_filter **copy)
{
    const struct growing_orcuckoo *filter = as_const_growing_orcuckoo(base);
    roost_status status = open_alike(copy, &filter->observed);
    if (status != ROOST_OK)
        return status;
    struct growing_orcuckoo *twin = as_growing_orcuckoo(*copy);
    if (!copy_all_but_entries(twin, filter) || tagged_set_copy(&twin->set, *copy, &filter->set) != ROOST_OK) {
        growing_close(*copy);
        *copy = NULL;
        return ROOST_NO_MEMORY;
    }
    return ROOST_OK;
}

static roost_status growing_copy_open(const roost_filter *filter, roost_filter **copy,
                                      const roost_environment *environment)
{
    return open_with(copy, filter->config, environment);
}

static roost_status growing_copy_rest(roost_filter *filter, roost_filter *copy)
{
    struct growing_orcuckoo *twin = as_growing_orcuckoo(copy);
    if (!copy_all_but_entries(twin, as_growing_orcuckoo(filter)))
        return ROOST_NO_MEMORY;
    return tagged_set_copy(&twin->set, copy, &as_growing_orcuckoo(filter)->set);
}

static bool growing_move(roost_filter *base, const struct memory_mover *mover, uint64_t place)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    if (place == 0)
        observed_move(&filter->observed, mover);
    return tagged_set_move(&filter->set, mover, place);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static uint64_t count_entries(const struct observed *filter)
{
    return tagged_set_count(&as_const_growing_orcuckoo(&filter->base)->set);
}

static uint64_t bytes_of_entries(const struct observed *filter)
{
    return sizeof(struct growing_orcuckoo) + tagged_set_bytes(&as_const_growing_orcuckoo(&filter->base)->set);
}

static uint64_t bytes_with(const struct observed *filter, uint64_t more)
{
    return sizeof(struct growing_orcuckoo) +
           tagged_set_bytes_with(&as_const_growing_orcuckoo(&filter->base)->set, more);
}

static size_t next_entries(const struct observed *filter, struct entry_walk *walk,
                           struct entry entries[ENTRIES_AT_ONCE])
{
    struct prefix_entry prefixes[TAGGED_AT_ONCE];
    struct tagged_walk at = {walk->place, walk->node};
    uint32_t count = tagged_set_next(&as_const_growing_orcuckoo(&filter->base)->set, &at, prefixes);
    *walk = (struct entry_walk){at.hash, at.position};
    for (uint32_t i = 0; i < count; i++)
        entries[i] = entry_of_prefix(prefixes[i]);
    return count;
}

static size_t next_dots(const struct observed *filter, struct entry_walk *walk, uint64_t dots[ROOM_FOR_DOTS])
{
    _Static_assert(ROOM_FOR_DOTS >= ROOM_FOR_TAGS, "tags are dots");
    struct tagged_walk at = {walk->place, walk->node};
    uint32_t count = tagged_set_next_tags(&as_const_growing_orcuckoo(&filter->base)->set, &at, dots);
    *walk = (struct entry_walk){at.hash, at.position};
    return count;
}

uint64_t bytes_for_set(const struct growing_orcuckoo *filter)
{
    uint64_t limit = filter->observed.base.environment.common->memory_limit;
    uint64_t beside = sizeof *filter + observed_bytes_beside(&filter->observed);
    return tagged_set_bytes_left(&filter->set, limit > beside ? limit - beside : 0);
}

static void limit_table(struct growing_orcuckoo *filter)
{
    if (is_in_table(&filter->set))
        filter->set.table->most_bytes = bytes_for_set(filter);
}

static roost_status reserve(struct observed *observed, uint64_t count)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(&observed->base);
    return tagged_set_reserve(&filter->set, &observed->base, count, bytes_for_set(filter));
}

static void release_reserve(struct observed *filter)
{
    tagged_set_release_reserve(&as_growing_orcuckoo(&filter->base)->set, &filter->base);
}

/* Entries come in the order of their dots, so the longest prefixes come last: segments have room for these from the
   beginning, if as many as here were added by the rule. */
static void make_room(struct observed *observed, uint64_t entries)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(&observed->base);
    tagged_set_make_room(&filter->set, &observed->base, entries, bytes_for_set(filter));
    if (is_in_table(&filter->set))
        filter->set.table->coming = budget_length_of(budget_of_filter(filter), entries);
}

static roost_status take(struct observed *filter, const struct entry *entries, size_t count)
{
    struct growing_orcuckoo *growing = as_growing_orcuckoo(&filter->base);
    struct prefix_entry prefixes[ENTRIES_AT_ONCE];
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < count; i++)
        prefixes[i] = prefix_entry_of(entries[i]);
    limit_table(growing);
    for (size_t done = 0, some; done < count && status == ROOST_OK; done += some) {
        some = tagged_set_put_entries(&growing->set, prefixes + done, count - done);
        if (some == 0) {
            status = tagged_set_put(&growing->set, &filter->base, prefixes[done], bytes_for_set(growing));
            some = status == ROOST_OK;
        }
        for (size_t i = done; i < done + some; i++)
            filter->sum += entry_hash(filter, entries[i]);
    }
    return status;
}

/* What changes whenever an entry has gone. */
static void count_out(struct observed *filter, struct entry entry)
{
    filter->sum -= entry_hash(filter, entry);
    note_change(filter, CHANGE_DEAD, entry.key, entry.number, entry.counter);
}

static bool own(struct observed *filter, uint64_t key)
{
    return tagged_set_own(&as_growing_orcuckoo(&filter->base)->set, prefix_at(key));
}

/* An element's entries are where its hash is. */
static bool own_hash(struct growing_orcuckoo *filter, uint64_t hash)
{
    return tagged_set_own(&filter->set, prefix_of(hash, MOST_LENGTH));
}

static bool drop(struct observed *filter, struct entry entry)
{
    bool dropped = tagged_set_drop(&as_growing_orcuckoo(&filter->base)->set, prefix_entry_of(entry));
    if (dropped)
        count_out(filter, entry);
    return dropped;
}

static bool holds(const struct observed *filter, struct entry entry)
{
    return tagged_set_holds(&as_const_growing_orcuckoo(&filter->base)->set, prefix_entry_of(entry));
}

_Static_assert(ENTRIES_AT_ONCE <= TAGGED_AT_ONCE, "as many at once");

static const struct entry_store growing_store = {
    .count = count_entries,
    .bytes = bytes_of_entries,
    .bytes_with = bytes_with,
    .next = next_entries,
    .next_dots = next_dots,
    .reserve = reserve,
    .release_reserve = release_reserve,
    .make_room = make_room,
    .take = take,
    .own = own,
    .drop = drop,
    .holds = holds,
    .open_alike = open_alike,
    .is_class = is_class,
    .write_classes = write_classes,
    .read_class = read_class,
    .fewest_bits = fewest_bits,
};

/* ---- members ----------------------------------------------------------------------------------------------------- */

static roost_semantics semantics_of(const struct growing_orcuckoo *filter)
{
    return filter->observed.base.config->semantics;
}

static uint64_t count_removals(const struct growing_orcuckoo *filter, const uint64_t *counts)
{
    return records_removals(semantics_of(filter)) ? counts[REMOVAL_LENGTH] : 0;
}

static bool is_removed(const struct growing_orcuckoo *filter, uint64_t hash)
{
    return records_removals(semantics_of(filter)) && tagged_set_has_prefix(&filter->set, removal_of(hash));
}

static bool contains_hash(const struct growing_orcuckoo *filter, uint64_t hash)
{
    return tagged_set_contains(&filter->set, hash) && is_member(semantics_of(filter), is_removed(filter, hash));
}

static void growing_contains(const roost_filter *base, bool *found, const roost_hash *hashes, size_t count)
{
    const struct growing_orcuckoo *filter = as_const_growing_orcuckoo(base);
    tagged_set_contains_many(&filter->set, found, hashes, count);
    if (!records_removals(semantics_of(filter)))
        return;
    for (size_t i = 0; i < count; i++)
        found[i] = found[i] && is_member(semantics_of(filter), is_removed(filter, hashes[i].high));
}

static bool growing_contains_one(const roost_filter *filter, roost_hash hash)
{
    return contains_hash(as_const_growing_orcuckoo(filter), hash.high);
}

static uint64_t growing_count(const roost_filter *base, roost_hash hash)
{
    const struct growing_orcuckoo *filter = as_const_growing_orcuckoo(base);
    return base->config->multiset ? tagged_set_count_covering(&filter->set, hash.high)
                                  : contains_hash(filter, hash.high);
}

/* ---- add --------------------------------------------------------------------------------------------------------- */

/* `counts` are those of the prefixes of each length. */
static bool has_room(const struct growing_orcuckoo *filter, const uint64_t *counts, unsigned length)
{
    return counts[length] < capacities_of(filter)[length];
}

/* The first length from this one on that has room; MOST_LENGTH + 1: none. */
static unsigned first_with_room(const struct growing_orcuckoo *filter, const uint64_t *counts, unsigned length)
{
    while (length <= MOST_LENGTH && !has_room(filter, counts, length))
        length++;
    return length;
}

/* Shorter prefixes than this are short in most segments. */
static unsigned shortest_in_slots(const struct growing_orcuckoo *filter)
{
    uint64_t count = tagged_set_count(&filter->set);
    return count ? highest_bit(count) + 3 : 0;
}

/* The same, after that of the last addition. */
static unsigned length_with_room(struct growing_orcuckoo *filter, const uint64_t *counts)
{
    if (has_room(filter, counts, filter->length)) {
        if (is_in_table(&filter->set))
            prepare_length(filter->set.table, budget_of_filter(filter), filter->length);
        return filter->length;
    }
    unsigned length = first_with_room(filter, counts, shortest_in_slots(filter));
    length = length <= MOST_LENGTH ? length : first_with_room(filter, counts, 0);
    if (length <= MOST_LENGTH)
        filter->length = (uint8_t)length;
    if (length <= MOST_LENGTH && is_in_table(&filter->set))
        expect_lengths(filter->set.table, budget_of_filter(filter), length);
    return length;
}

/* The prefix of a new entry, where these entries cover its hash; 0: the filter is full. */
static uint64_t choose_prefix(struct growing_orcuckoo *filter, uint64_t hash, const struct prefix_entry *covering,
                              uint32_t count)
{
    uint64_t chosen = 0, room[MOST_LENGTH + 1];
    const uint64_t *counts = tagged_set_counts(&filter->set, room);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t prefix = covering[i].prefix;
        unsigned length = prefix_length(prefix);
        if ((!chosen || end_mark(prefix) < end_mark(chosen)) && counts[length] <= capacities_of(filter)[length])
            chosen = prefix;
    }
    if (chosen)
        return chosen;
    unsigned length = length_with_room(filter, counts);
    return length <= MOST_LENGTH ? prefix_of(hash, length) : 0;
}

/* The newcomer takes the place of an entry of the same prefix. */
static bool put_over(struct growing_orcuckoo *filter, struct prefix_entry entry, struct prefix_entry *covering,
                     uint32_t *count)
{
    for (uint32_t i = 0; i < *count; i++)
        if (covering[i].prefix == entry.prefix && tagged_set_retag(&filter->set, covering[i], entry.tag)) {
            count_out(&filter->observed, entry_of_prefix(covering[i]));
            covering[i] = covering[--*count];
            return true;
        }
    return false;
}

/* Of entries that cover a hash, drops those that the newcomer supersedes, but for itself; whether there were any. */
static bool drop_some(struct growing_orcuckoo *filter, struct prefix_entry entry, const struct prefix_entry *covering,
                      uint32_t count)
{
    bool dropped = false;
    for (uint32_t i = 0; i < count; i++)
        if (supersedes(semantics_of(filter), entry.prefix, covering[i].prefix) &&
            (covering[i].prefix != entry.prefix || covering[i].tag != entry.tag))
            dropped |= drop(&filter->observed, entry_of_prefix(covering[i]));
    return dropped;
}

/* The same of all of them, of which some are given: what has the longest prefixes, as removals have, is among these. */
static void drop_superseded(struct growing_orcuckoo *filter, struct prefix_entry entry, uint64_t hash,
                            struct prefix_entry *covering, uint32_t count)
{
    while (drop_some(filter, entry, covering, count) && count >= MOST_COVERING - 1)
        count = tagged_set_covering(&filter->set, hash, covering, MOST_COVERING);
}

static ALWAYS_INLINE void count_in(struct observed *observed, struct entry entry)
{
    count_own_dot(observed);
    observed->sum += entry_hash(observed, entry);
    note_change(observed, CHANGE_LIVE, entry.key, entry.number, entry.counter);
}

/* The next entry of this replica, of an element with this hash, which those given cover: in place of what it
   supersedes. */
static ALWAYS_INLINE roost_status put_newcomer(struct growing_orcuckoo *filter, uint64_t prefix, uint64_t hash,
                                               struct prefix_entry *covering, uint32_t count)
{
    struct observed *observed = &filter->observed;
    const bool is_set = !observed->base.config->multiset;
    const struct entry entry = {observed->number, observed->counter + 1, prefix_position(prefix)};
    roost_status status = ROOST_OK;
    if (!own_hash(filter, hash))
        return ROOST_NO_MEMORY;
    if (count == 0)
        status = tagged_set_put_first(&filter->set, &observed->base, prefix_entry_of(entry), bytes_for_set(filter));
    else if (!is_set || !put_over(filter, prefix_entry_of(entry), covering, &count))
        status = tagged_set_put(&filter->set, &observed->base, prefix_entry_of(entry), bytes_for_set(filter));
    if (status != ROOST_OK)
        return status;
    if (is_set && count > 0)
        drop_superseded(filter, prefix_entry_of(entry), hash, covering, count);
    count_in(observed, entry);
    return ROOST_OK;
}

static uint32_t find_covering(const struct growing_orcuckoo *filter, uint64_t hash,
                              struct prefix_entry covering[MOST_COVERING])
{
    return tagged_set_contains(&filter->set, hash) ? tagged_set_covering(&filter->set, hash, covering, MOST_COVERING)
                                                   : 0;
}

static roost_status add_hash(struct growing_orcuckoo *filter, uint64_t hash, bool *fresh)
{
    struct observed *observed = &filter->observed;
    struct prefix_entry covering[MOST_COVERING];
    roost_status status = ready_actor(observed);
    if (status != ROOST_OK)
        return status;
    uint32_t count = find_covering(filter, hash, covering);
    uint64_t prefix = choose_prefix(filter, hash, covering, count);
    if (!prefix)
        return ROOST_FULL;
    *fresh = count == 0 || observed->base.config->multiset || is_removed(filter, hash);
    return put_newcomer(filter, prefix, hash, covering, count);
}

/* Those that are new and only take a slot, from the first on. Returns how many. */
static size_t add_some(struct growing_orcuckoo *filter, const roost_hash *hashes, size_t count)
{
    struct observed *observed = &filter->observed;
    unsigned length = filter->length;
    if (!is_in_table(&filter->set) || ready_actor(observed) != ROOST_OK ||
        !has_room(filter, filter->set.table->counts, length))
        return 0;
    struct prefix_table *table = filter->set.table;
    uint64_t room = capacities_of(filter)[length] - table->counts[length];
    uint64_t dots = observed->most_counter - observed->counter;
    room = room < dots ? room : dots;
    struct entry entry = {observed->number, observed->counter + 1, 0};
    table->most_bytes = bytes_for_set(filter);
    prepare_length(table, budget_of_filter(filter), length);
    size_t done = tagged_put_many(table, hashes, count < room ? count : room, length,
                                  (uint64_t)entry.number << 32 | entry.counter);
    for (size_t i = 0; i < done; i++, entry.counter++) {
        entry.key = prefix_position(prefix_of(hashes[i].high, length));
        count_in(observed, entry);
    }
    return done;
}

static roost_status growing_add(roost_filter *base, bool *changed, size_t *done, const roost_hash *hashes, size_t count)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    for (*done = 0; *done < count;) {
        size_t some = add_some(filter, hashes + *done, count - *done);
        bool fresh = true;
        if (some == 0) {
            roost_status status = add_hash(filter, hashes[*done].high, &fresh);
            if (status != ROOST_OK)
                return status;
            some = 1;
        }
        if (changed)
            memset(changed + *done, fresh, some * sizeof *changed);
        *done += some;
    }
    return ROOST_OK;
}

static roost_status growing_add_dot(roost_filter *base, roost_dot *dot, roost_hash hash)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    bool fresh;
    if (records_removals(semantics_of(filter))) /* one addition alone could not be removed */
        return ROOST_UNSUPPORTED;
    roost_status status = add_hash(filter, hash.high, &fresh);
    *dot = status == ROOST_OK ? (roost_dot){filter->observed.actor, filter->observed.counter} : (roost_dot){0, 0};
    return status;
}

/* ---- remove ------------------------------------------------------------------------------------------------------ */

static bool remove_hash(roost_filter *base, uint64_t hash)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    struct prefix_entry covering[MOST_COVERING];
    uint32_t count;
    bool removed = false;
    do { /* until that is all of them */
        count = tagged_set_covering(&filter->set, hash, covering, MOST_COVERING);
        for (uint32_t i = 0; i < count; i++)
            drop(&filter->observed, entry_of_prefix(covering[i]));
        removed |= count > 0;
    } while (count == MOST_COVERING);
    if (removed)
        tagged_set_shrink(&filter->set, base, prefix_of(hash, MOST_LENGTH));
    return removed;
}

/* The removal gets an entry in place of all that it has seen of the element. */
static roost_status record_removal(roost_filter *base, uint64_t hash, bool *removed)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    struct prefix_entry covering[MOST_COVERING];
    const bool was_there = contains_hash(filter, hash);
    roost_status status = ready_actor(&filter->observed);
    if (status == ROOST_OK)
        status = put_newcomer(filter, removal_of(hash), hash, covering, find_covering(filter, hash, covering));
    if (status != ROOST_OK)
        return status;
    *removed = was_there;
    tagged_set_shrink(&filter->set, base, removal_of(hash));
    return ROOST_OK;
}

static roost_status record_removals(roost_filter *base, bool *changed, const roost_hash *hashes, size_t count)
{
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < count && status == ROOST_OK; i++) {
        bool removed;
        status = record_removal(base, hashes[i].high, changed ? &changed[i] : &removed);
    }
    return status;
}

/* Removals before the one whose memory is asked for. */
#define FETCHED_AHEAD 8

static roost_status growing_remove(roost_filter *base, bool *changed, const roost_hash *hashes, size_t count)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    if (records_removals(semantics_of(filter)))
        return record_removals(base, changed, hashes, count);
    for (size_t i = 0; i < count; i++)
        if (!own_hash(filter, hashes[i].high))
            return ROOST_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (i + FETCHED_AHEAD < count)
            tagged_set_fetch(&filter->set, hashes[i + FETCHED_AHEAD].high);
        bool removed = remove_hash(base, hashes[i].high);
        if (changed)
            changed[i] = removed;
    }
    return ROOST_OK;
}

/* The one with the longer prefix, which is less likely to be another element's; then that with the smaller dot, so that
   replicas which remove one at the same time mostly choose the same. */
static bool goes_first(const struct observed *filter, struct prefix_entry one, struct prefix_entry other)
{
    struct entry first = entry_of_prefix(one), second = entry_of_prefix(other);
    uint64_t actor = filter->actors.list[first.number].id, other_actor = filter->actors.list[second.number].id;
    if (one.prefix != other.prefix)
        return end_mark(one.prefix) < end_mark(other.prefix);
    return actor != other_actor ? actor < other_actor : first.counter < second.counter;
}

static roost_status growing_remove_one(roost_filter *base, bool *changed, roost_hash hash)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    struct prefix_entry covering[MOST_COVERING];
    if (!base->config->multiset)
        return ROOST_UNSUPPORTED;
    if (!own_hash(filter, hash.high))
        return ROOST_NO_MEMORY;
    uint32_t count = tagged_set_covering(&filter->set, hash.high, covering, MOST_COVERING), chosen = 0;
    for (uint32_t i = 1; i < count; i++)
        if (goes_first(&filter->observed, covering[i], covering[chosen]))
            chosen = i;
    *changed = count > 0;
    if (count > 0) {
        drop(&filter->observed, entry_of_prefix(covering[chosen]));
        tagged_set_shrink(&filter->set, base, covering[chosen].prefix);
    }
    return ROOST_OK;
}

static roost_status growing_remove_dot(roost_filter *base, bool *changed, roost_hash hash, roost_dot dot)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    uint64_t room[MOST_LENGTH + 1];
    uint32_t number = actors_find(&filter->observed.actors, dot.actor);
    if (records_removals(semantics_of(filter)))
        return ROOST_UNSUPPORTED;
    if (number == NO_ACTOR || dot.counter == 0 || dot.counter > UINT32_MAX)
        return ROOST_OK;
    if (!own_hash(filter, hash.high))
        return ROOST_NO_MEMORY;
    const uint64_t *counts = tagged_set_counts(&filter->set, room);
    for (unsigned length = SHORTEST_CLASS; length <= MOST_LENGTH && !*changed; length++) {
        uint64_t prefix = prefix_of(hash.high, length);
        if (counts[length] == 0)
            continue;
        *changed = drop(&filter->observed, (struct entry){number, (uint32_t)dot.counter, prefix_position(prefix)});
        if (*changed)
            tagged_set_shrink(&filter->set, base, prefix);
    }
    return ROOST_OK;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

/* Of all levels up to the one that is in use. */
static uint64_t growing_capacity(const roost_filter *base)
{
    const struct growing_orcuckoo *filter = as_const_growing_orcuckoo(base);
    uint64_t capacity = 0, room[MOST_LENGTH + 1];
    unsigned longest = first_with_room(filter, tagged_set_counts(&filter->set, room), 0);
    longest = filter->length > longest ? filter->length : longest;
    for (unsigned length = 0; length <= MOST_LENGTH && length <= longest; length++)
        capacity += capacities_of(filter)[length];
    return capacity;
}

/* Without reading the entries: an element counts as often as it has different prefixes. */
static void growing_brief(const roost_filter *base, roost_info *info)
{
    const struct growing_orcuckoo *filter = as_const_growing_orcuckoo(base);
    uint64_t classes = 0, room[MOST_LENGTH + 1];
    const uint64_t *counts = tagged_set_counts(&filter->set, room);
    observed_info(&filter->observed, info);
    for (unsigned length = 0; length <= longest_addition(semantics_of(filter)); length++) {
        info->fpr_now += ldexp((double)counts[length], -(int)length);
        info->growth_limit += capacities_of(filter)[length];
        classes += counts[length];
        if (counts[length] > 0) {
            info->shortest_prefix = info->shortest_prefix ? info->shortest_prefix : length;
            info->longest_prefix = length;
        }
    }
    info->fpr_now = fmin(info->fpr_now, 1);
    info->overflow = tagged_set_crowd(&filter->set);
    info->inserted = base->config->multiset ? tagged_set_count(&filter->set) : classes;
    info->elements = (double)info->inserted;
    info->load = tagged_set_load(&filter->set);
    info->promise_holds = info->fpr_now <= base->config->fpr;
}

/* A removal counts as an element where no addition covers it, and hides one where an addition does. */
static void growing_info(const roost_filter *base, roost_info *info)
{
    const struct growing_orcuckoo *filter = as_const_growing_orcuckoo(base);
    uint64_t room[MOST_LENGTH + 1];
    growing_brief(base, info);
    if (base->config->multiset)
        return;
    uint64_t removals = count_removals(filter, tagged_set_counts(&filter->set, room));
    uint64_t elements = tagged_set_elements(&filter->set);
    info->elements = (double)(info->inserted = elements > removals ? elements - removals : 0);
}

static roost_status growing_check(const roost_filter *base)
{
    const struct growing_orcuckoo *filter = as_const_growing_orcuckoo(base);
    return tagged_set_check(&filter->set) && observed_is_sound(&filter->observed) ? ROOST_OK : ROOST_CORRUPT;
}

const struct filter_kind growing_orcuckoo_kind = {
    .code = ROOST_ORCUCKOO,
    .name = "scalable orcuckoo",
    .has_prefixes = true,
    .lifecycle = {.resolve = growing_resolve,
                  .is_resolved = prefixes_are_resolved,
                  .open = growing_open,
                  .close = growing_close,
                  .clone = growing_clone},
    .set = {.add = growing_add,
            .contains = growing_contains,
            .contains_one = growing_contains_one,
            .capacity = growing_capacity},
    .removal = {.add_dot = growing_add_dot,
                .remove = growing_remove,
                .remove_one = growing_remove_one,
                .remove_dot = growing_remove_dot,
                .count = growing_count},
    .lattice = {.merge = growing_orcuckoo_merge,
                .compare = growing_orcuckoo_compare,
                .is_bottom = observed_is_bottom,
                .digest = observed_digest},
    .encoding = {.write_geometry = growing_write_geometry,
                 .write_state = observed_write_state,
                 .read_state = observed_read_state},
    .delta = {.write = observed_write_delta, .merge = observed_merge_delta},
    .causal = {.context = observed_causal, .context_at = observed_causal_at, .write_dots = observed_write_dots},
    .sync = {.summarize = observed_summarize,
             .resolve_positions = observed_resolve_positions,
             .locate = observed_locate,
             .drop_located = observed_drop_located},
    .replica = {.actor = observed_actor,
                .write = observed_write_replica,
                .read = observed_read_replica,
                .forget = observed_forget_replica},
    .journal = {.is_change = observed_is_change,
                .numbers_after_decode = observed_numbers_after_decode,
                .numbers_before_decode = observed_numbers_before_decode},
    .incremental = {.copy_open = FOR_SERVERS(growing_copy_open),
                    .copy_rest = FOR_SERVERS(growing_copy_rest),
                    .cut = FOR_SERVERS(observed_cut),
                    .sweep = FOR_SERVERS(growing_orcuckoo_sweep),
                    .move = FOR_SERVERS(growing_move)},
    .report = {.info = growing_info,
               .brief = FOR_SERVERS(growing_brief),
               .memory = observed_bytes_of,
               .check = FOR_SERVERS(growing_check)},
};
