/*
 * Grow-only cuckoo filter (GCF): a set of fingerprint classes in a cuckoo table.
 *
 * Specification 3 of the thesis "Conflict-Free Replicated Probabilistic Filter" (2024), section 3.3. Two tables that
 * hold the same fingerprints in other buckets are the same state: the order is inclusion of universes, U(S) = S and its
 * dual. Here that universe has a name for each of its members, the class key of cuckoo_geometry.h. The state is the set
 * of class keys; the table is a way to hold it, and which bucket holds what, what was kicked and what overflowed is
 * layout, which no result depends on.
 *
 *     state      { class key, ... }                          merge: union; order: inclusion
 *     digest     sum of the hashes of all class keys         each add and each merged entry adds its own
 *     bytes      count, then the sorted keys as Rice-coded gaps
 *
 * Where we differ. Merge inserts incoming entries by the cuckoo procedure instead of putting them at their own index,
 * which is equivalent under U(S) and leaves hardly any overflow. An add within the capacity never fails: should the
 * table have no room for it, it overflows like a merged one; beyond the capacity the table goes on as long as it finds
 * room and then answers ROOST_FULL.
 *
 * A merge that fails half-way must leave nothing behind, so it works on a copy of the table and swaps at its end; two
 * filters that are equal, the common case of replicas that have converged, are detected before anything is copied.
 * Comparing digests would be quicker, but not safe: anyone who knows the seed could choose keys that make them equal,
 * and a merge that trusts them would lose elements.
 *
 * Worked example: capacity 1,000 at 1 %: a class is hit with probability 2 / (buckets * (2^bits - 1)); 263 buckets of 4
 * and 10 bits make 1,000 * 2 / (263 * 1,023) = 0.74 %; nine bits would make 1.5 %.
 */
#include "gcuckoo.h"

#include <math.h>
#include <string.h>

#include "class_keys.h"
#include "cuckoo_many.h"
#include "cuckoo_plain.h"
#include "cuckoo_size.h"
#include "../filter/key_calls.h"
#include "../base/hash.h"
#include "../base/sort.h"

#define FEWEST_BITS  4
#define MOST_BITS    32
#define BATCH        32
#define FEWEST_KICKS 8

static const struct filter_calls *calls_for(const struct cuckoo_table *table);

static inline struct gcuckoo *as_gcuckoo(roost_filter *filter)
{
    return (struct gcuckoo *)filter;
}

static inline const struct gcuckoo *as_const_gcuckoo(const roost_filter *filter)
{
    return (const struct gcuckoo *)filter;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static bool is_width(uint32_t bits)
{
    return bits >= FEWEST_BITS && bits <= MOST_BITS;
}

static bool gcuckoo_is_resolved(const roost_config *config)
{
    return config->layout == 0 && is_bucket_size(config->bucket_size) && is_width(config->fingerprint_bits) &&
           config->fpr > 0 && config->fpr < 1;
}

static roost_status gcuckoo_resolve(roost_config *config)
{
    bool bits_given = config->fingerprint_bits != 0;
    if (!is_bucket_size(config->bucket_size))
        return ROOST_INVALID;
    if (bits_given ? !is_width(config->fingerprint_bits) : !(config->fpr > 0))
        return ROOST_INVALID;
    if (!(config->fpr >= 0 && config->fpr < 1) || config->multiset)
        return ROOST_INVALID;
    struct cuckoo_geometry geometry;
    roost_status status = cuckoo_size(&geometry, config);
    if (status != ROOST_OK)
        return status;
    config->layout = 0;
    config->entry_bits = 0;
    if (!bits_given)
        geometry.bits = cuckoo_bits_for(config, geometry, FEWEST_BITS, MOST_BITS);
    if (geometry.bits == 0)
        return ROOST_INVALID;
    double rate = cuckoo_rate_at_capacity(config, geometry);
    if (config->fpr == 0)
        config->fpr = rate;
    config->fingerprint_bits = geometry.bits;
    return rate > config->fpr ? ROOST_INVALID : ROOST_OK;
}

/* Without the stash. */
static uint64_t table_bytes(const struct cuckoo_table *table)
{
    return cuckoo_table_bytes(table->shape, table->most_kicks) + sizeof(struct gcuckoo);
}

static bool has_memory_for_overflow(const struct gcuckoo *gcuckoo, uint64_t entries)
{
    return table_bytes(&gcuckoo->table) + own_journal_bytes(&gcuckoo->base) +
               stash_bytes_with(&gcuckoo->table.stash, entries) <=
           gcuckoo->base.environment.common->memory_limit;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static void gcuckoo_close(roost_filter *filter)
{
    const roost_allocator allocator = filter->environment.allocator;
    cuckoo_table_release(&as_gcuckoo(filter)->table, &allocator);
    release_journal(filter);
    memory_release(&allocator, filter);
}

static roost_status read_geometry(struct bit_reader *frame, const roost_config *config,
                                  struct cuckoo_geometry *geometry)
{
    uint64_t buckets = read_varint(frame);
    if (frame->failed || buckets == 0 || buckets > UINT32_MAX)
        return ROOST_CORRUPT;
    *geometry = (struct cuckoo_geometry){(uint32_t)buckets, config->fingerprint_bits, config->bucket_size, 0, 0, 0};
    return cuckoo_rate_at_capacity(config, *geometry) > config->fpr ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status open_with(roost_filter **filter, const roost_config *config, const roost_environment *environment,
                              struct cuckoo_geometry geometry)
{
    if (cuckoo_table_first_bytes(geometry, environment->kicks) + sizeof(struct gcuckoo) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct gcuckoo *gcuckoo = memory_allocate(&environment->allocator, sizeof *gcuckoo);
    if (!gcuckoo)
        return ROOST_NO_MEMORY;
    init_base(&gcuckoo->base, &gcuckoo->own, &gcuckoo_kind, config, environment);
    if (!cuckoo_table_init(&gcuckoo->table, geometry, environment->kicks, &environment->allocator)) {
        memory_release(&environment->allocator, gcuckoo);
        return ROOST_NO_MEMORY;
    }
    set_calls(&gcuckoo->base, calls_for(&gcuckoo->table));
    *filter = &gcuckoo->base;
    return ROOST_OK;
}

static roost_status gcuckoo_open(roost_filter **filter, const roost_config *config,
                                 const roost_environment *environment, struct bit_reader *frame)
{
    struct cuckoo_geometry geometry;
    roost_status status = frame ? read_geometry(frame, config, &geometry) : cuckoo_size(&geometry, config);
    return status == ROOST_OK ? open_with(filter, config, environment, geometry) : status;
}

static roost_status gcuckoo_clone(const roost_filter *filter, roost_filter **copy)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    struct gcuckoo *twin = memory_allocate(allocator, sizeof *twin);
    if (!twin)
        return ROOST_NO_MEMORY;
    *twin = *as_const_gcuckoo(filter);
    detach(&twin->base);
    if (!cuckoo_table_copy(&twin->table, &as_const_gcuckoo(filter)->table, allocator)) {
        memory_release(allocator, twin);
        return ROOST_NO_MEMORY;
    }
    *copy = &twin->base;
    return ROOST_OK;
}

static roost_status gcuckoo_copy_open(const roost_filter *filter, roost_filter **copy,
                                      const roost_environment *environment)
{
    return open_with(copy, filter->config, environment, as_const_gcuckoo(filter)->table.geometry);
}

static roost_status gcuckoo_copy_some(roost_filter *filter, roost_filter *copy, uint64_t *effort, bool *clean)
{
    return cuckoo_table_copy_some(&as_gcuckoo(copy)->table, &as_gcuckoo(filter)->table, effort, clean,
                                  &copy->environment.allocator)
               ? ROOST_OK
               : ROOST_NO_MEMORY;
}

static roost_status gcuckoo_copy_rest(roost_filter *filter, roost_filter *copy)
{
    struct gcuckoo *gcuckoo = as_gcuckoo(filter), *twin = as_gcuckoo(copy);
    twin->sum = gcuckoo->sum;
    twin->own.random = gcuckoo->own.random;
    return cuckoo_table_copy_rest(&twin->table, &gcuckoo->table, &copy->environment.allocator) ? ROOST_OK
                                                                                               : ROOST_NO_MEMORY;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static void note_classes(struct gcuckoo *gcuckoo, const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        note(&gcuckoo->base, class_key(places[i], gcuckoo->table.geometry), 0);
}

/* Counts new classes into the digest: a row at a time, so that nothing but the numbers is in the way. */
static void count_classes(struct gcuckoo *gcuckoo, const struct place *places, size_t count)
{
    if (journal_is_on(gcuckoo->base.journal))
        note_classes(gcuckoo, places, count);
    const struct cuckoo_geometry geometry = gcuckoo->table.geometry;
    const uint64_t seed = gcuckoo->base.config->seed;
    uint128 sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += hash_number(seed, class_key(places[i], geometry));
    gcuckoo->sum += sum;
}

/* Without memory the table keeps its rows, which is slower but correct. */
static void make_room(struct gcuckoo *gcuckoo, uint64_t entries)
{
    struct cuckoo_table *table = &gcuckoo->table;
    const roost_environment *environment = &gcuckoo->own.environment;
    if (table_bytes(table) + cuckoo_table_bytes_for(table, entries) <= environment->memory_limit)
        (void)cuckoo_table_make_room(table, entries, &gcuckoo->own.random, &environment->allocator);
}

static void relieve_if_overfull(struct gcuckoo *gcuckoo)
{
    struct cuckoo_table *table = &gcuckoo->table;
    const roost_environment *environment = &gcuckoo->own.environment;
    if (__builtin_expect(cuckoo_table_is_overfull(table), 0) && 3 * table_bytes(table) <= environment->memory_limit)
        (void)cuckoo_table_relieve(table, &gcuckoo->own.random, &environment->allocator, environment->most_moved);
}

/* A class that found no room in the slots. */
static roost_status add_to_stash(struct gcuckoo *gcuckoo, const struct place *place)
{
    if (cuckoo_table_entries(&gcuckoo->table) >= gcuckoo->base.config->capacity)
        return ROOST_FULL;
    if (!has_memory_for_overflow(gcuckoo, 1))
        return ROOST_TOO_LARGE;
    return cuckoo_table_overflow(&gcuckoo->table, place, &gcuckoo->base.environment.allocator) ? ROOST_OK
                                                                                               : ROOST_NO_MEMORY;
}

/* Leaves the digest to the caller. */
static inline roost_status add_place(struct gcuckoo *gcuckoo, bool *grew, const struct place *place)
{
    struct cuckoo_table *table = &gcuckoo->table;
    enum put_result result = cuckoo_table_put(table, place, &gcuckoo->own.random, table->most_kicks);
    *grew = result != PUT_PRESENT;
    return result == PUT_NO_ROOM ? add_to_stash(gcuckoo, place) : ROOST_OK;
}

/* From one to BATCH adds; the new ones are gathered at the front of the row and counted together. */
static roost_status add_row(struct gcuckoo *gcuckoo, bool *changed, size_t *done, const roost_hash *hashes,
                            size_t count)
{
    struct place places[BATCH];
    roost_status status = ROOST_OK;
    size_t fresh = 0, i = 0;
    do
        places[i] = place_of_hash(hashes[i], gcuckoo->table.geometry);
    while (++i < count);
    cuckoo_table_prefetch(&gcuckoo->table, places, count);
    for (i = 0; i < count; i++) {
        bool grew;
        status = add_place(gcuckoo, &grew, &places[i]);
        if (status != ROOST_OK)
            break;
        places[fresh] = places[i];
        fresh += grew;
        if (changed)
            changed[i] = grew;
    }
    count_classes(gcuckoo, places, fresh);
    relieve_if_overfull(gcuckoo);
    *done = i;
    return status;
}

/* One add. */
static __attribute__((noinline)) roost_status gcuckoo_add_one(roost_filter *filter, bool *changed, roost_hash hash)
{
    bool grew = false;
    size_t done;
    roost_status status = add_row(as_gcuckoo(filter), &grew, &done, &hash, 1);
    if (changed)
        *changed = grew && status == ROOST_OK;
    return status;
}

static roost_status gcuckoo_add(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes,
                                size_t count)
{
    roost_status status = ROOST_OK;
    for (*done = 0; *done < count && status == ROOST_OK;) {
        size_t taken, row = count - *done < BATCH ? count - *done : BATCH;
        status = add_row(as_gcuckoo(filter), changed ? changed + *done : NULL, &taken, hashes + *done, row);
        *done += taken;
    }
    return status;
}

static void gcuckoo_contains(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    cuckoo_table_contains_many(&as_const_gcuckoo(filter)->table, found, hashes, count);
}

static bool gcuckoo_contains_one(const roost_filter *filter, roost_hash hash)
{
    return cuckoo_table_contains_hash(&as_const_gcuckoo(filter)->table, hash);
}

/* ---- elements of plain tables ------------------------------------------------------------------------------------ */

static ALWAYS_INLINE const struct hash_seed *seed_of_gcuckoo(const roost_filter *filter)
{
    return &as_const_gcuckoo(filter)->own.hash_seed;
}

static ALWAYS_INLINE bool contains_plain(const roost_filter *filter, enum form form, roost_hash hash)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    return __builtin_expect(table->stash.count == 0, 1) ? find_in_pair(table, form, plain_place(table, form, hash))
                                                        : cuckoo_table_contains_hash(table, hash);
}

/* After a new class was put: into the digest. */
static ALWAYS_INLINE roost_status count_added(struct gcuckoo *gcuckoo, bool *changed, uint64_t key)
{
    add_to_sum(&gcuckoo->sum, halves_of_number(gcuckoo->own.hash_seed.seed, key));
    if (changed)
        *changed = true;
    return ROOST_OK;
}

/* Both buckets of a new class are full. */
static __attribute__((noinline)) roost_status add_by_force(struct gcuckoo *gcuckoo, bool *changed, uint32_t bucket,
                                                           uint32_t fingerprint)
{
    struct cuckoo_table *table = &gcuckoo->table;
    const struct place place = place_in(bucket, fingerprint, table->geometry);
    roost_status status = ROOST_OK;
    if (cuckoo_table_displace(table, place, fingerprint, &gcuckoo->own.random) == PUT_NO_ROOM)
        status = add_to_stash(gcuckoo, &place);
    if (status == ROOST_OK)
        return count_added(gcuckoo, changed, class_key(place, table->geometry));
    if (changed)
        *changed = false;
    return status;
}

static ALWAYS_INLINE roost_status add_plain(roost_filter *filter, bool *changed, enum form form, roost_hash hash)
{
    struct gcuckoo *gcuckoo = as_gcuckoo(filter);
    struct cuckoo_table *table = &gcuckoo->table;
    if (__builtin_expect(table->stash.count > 0, 0) || __builtin_expect(journal_is_on(filter->journal), 0))
        return gcuckoo_add_one(filter, changed, hash);
    struct place place = plain_place(table, form, hash);
    if (find_in_pair(table, form, place)) {
        if (changed)
            *changed = false;
        return ROOST_OK;
    }
    if (__builtin_expect(!take_free_slot(table, form, place, place.fingerprint), 0))
        return add_by_force(gcuckoo, changed, place.bucket, place.fingerprint);
    return count_added(gcuckoo, changed, key_in_plain(table, form, place));
}

#define CALLS(suffix, form)                                                                                            \
    static ALWAYS_INLINE bool contains##suffix(const roost_filter *filter, roost_hash hash)                            \
    {                                                                                                                  \
        return contains_plain(filter, form, hash);                                                                     \
    }                                                                                                                  \
    static ALWAYS_INLINE roost_status add##suffix(roost_filter *filter, bool *changed, roost_hash hash)                \
    {                                                                                                                  \
        return add_plain(filter, changed, form, hash);                                                                 \
    }                                                                                                                  \
    KEY_CALLS(suffix, seed_of_gcuckoo)                                                                                 \
    static const struct filter_calls calls##suffix = {                                                                 \
        .contains = contains##suffix,                                                                                  \
        .add = add##suffix,                                                                                            \
        .remove = remove_by_batch,                                                                                     \
        .key = {KEY_CALL(contains, suffix), KEY_CALL(add, suffix), remove_any_key}};
CALLS(_of_four_bytes, FOUR_BYTES)
CALLS(_of_whole_bytes, WHOLE_BYTES)
CALLS(_of_one_word, ONE_WORD)

static const struct filter_calls calls_of_any = {
    .contains = gcuckoo_contains_one, .add = gcuckoo_add_one, .remove = remove_by_batch, .key = CALLS_FOR_ANY_KEY};

/* A table outside a series has one layout for ever. */
static const struct filter_calls *calls_for(const struct cuckoo_table *table)
{
    if (table->plain_form == ONE_WORD)
        return has_whole_bytes(table) ? &calls_of_whole_bytes : &calls_of_one_word;
    return table->plain_form == FOUR_BYTES ? &calls_of_four_bytes : &calls_of_any;
}

static void gcuckoo_contains_nested(const roost_filter *filter, bool *found, const struct nested_place *places,
                                    size_t count)
{
    cuckoo_table_contains_nested(&as_const_gcuckoo(filter)->table, found, places, count);
}

/* ---- replication ------------------------------------------------------------------------------------------------- */

/* A walk over the entries of `other`, some at a time, those of its stash last. */
struct entry_walk {
    const struct cuckoo_table *other;
    uint32_t row;         /* the next one */
    uint64_t stash_index; /* the next place of the other's stash */
    struct compared_entries entries;
};

static void compare_stash(struct entry_walk *walk, const struct cuckoo_table *table)
{
    const struct stash *stash = &walk->other->stash;
    uint32_t missing = 0, held = 0;
    for (; missing + held < MOST_ENTRIES && walk->stash_index < stash->used; walk->stash_index++) {
        struct place place = place_of_class(stash->nodes[walk->stash_index].key, table->geometry);
        bool found = cuckoo_table_contains(table, &place);
        walk->entries.missing[missing] = walk->entries.held[held] = entry_at(place.bucket, place.fingerprint);
        missing += !found;
        held += found;
    }
    walk->entries.missing_count = missing;
    walk->entries.held_count = held;
}

/* Compares the next entries with those of `table`; false if there are no more. */
static bool compare_next(struct entry_walk *walk, const struct cuckoo_table *table, bool all)
{
    if (walk->row < cuckoo_table_rows(walk->other))
        cuckoo_table_compare(table, walk->other, &walk->row, &walk->entries, all);
    else
        compare_stash(walk, table);
    return walk->entries.missing_count + walk->entries.held_count > 0 || walk->row < cuckoo_table_rows(walk->other) ||
           walk->stash_index < walk->other->stash.used;
}

/* Goes on until `table` lacks some of them; false if it lacks none. */
static bool find_missing(struct entry_walk *walk, const struct cuckoo_table *table)
{
    while (compare_next(walk, table, false))
        if (walk->entries.missing_count > 0)
            return true;
    return false;
}

/*
 * Adds an entry that must not be refused. Once the table is nearly full, each entry would spend its whole quota for
 * nothing: a failure halves the quota of those that follow, a success doubles it again.
 */
static inline roost_status take_in(struct gcuckoo *gcuckoo, bool *grew, const struct place *place, uint32_t *kicks)
{
    struct cuckoo_table *table = &gcuckoo->table;
    const roost_environment *environment = &gcuckoo->own.environment;
    enum put_result result = cuckoo_table_put(table, place, &gcuckoo->own.random, *kicks);
    *grew = result != PUT_PRESENT;
    if (result == PUT_NEW && *kicks < table->most_kicks)
        *kicks = *kicks < table->most_kicks / 2 ? *kicks * 2 : table->most_kicks;
    if (result != PUT_NO_ROOM)
        return ROOST_OK;
    *kicks = *kicks > 2 * FEWEST_KICKS ? *kicks / 2 : *kicks;
    if (!has_memory_for_overflow(gcuckoo, 1))
        return ROOST_TOO_LARGE;
    if (!cuckoo_table_overflow(table, place, &environment->allocator))
        return ROOST_NO_MEMORY;
    relieve_if_overfull(gcuckoo);
    return ROOST_OK;
}

/* Adds a batch of entries. The new ones are gathered at its front and counted together. */
static roost_status take_in_row(struct gcuckoo *gcuckoo, struct place *places, size_t count, uint32_t *kicks)
{
    roost_status status = ROOST_OK;
    size_t fresh = 0;
    for (size_t i = 0; i < count && status == ROOST_OK; i++) {
        bool grew;
        status = take_in(gcuckoo, &grew, &places[i], kicks);
        places[fresh] = places[i];
        fresh += grew && status == ROOST_OK;
    }
    count_classes(gcuckoo, places, fresh);
    return status;
}

static void note_entries(struct gcuckoo *gcuckoo, const cuckoo_entry *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct place place = place_of_entry(entries[i], gcuckoo->table.geometry);
        note_classes(gcuckoo, &place, 1);
    }
}

/* What entries add to the digest. */
static uint128 sum_entries(const struct gcuckoo *gcuckoo, const cuckoo_entry *entries, uint32_t count)
{
    const struct cuckoo_geometry geometry = gcuckoo->table.geometry;
    const uint64_t seed = gcuckoo->base.config->seed;
    uint128 sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += hash_number(seed, class_key(place_of_entry(entries[i], geometry), geometry));
    return sum;
}

/* Adds entries that are absent, and that found no free slot. */
static roost_status take_in_left(struct gcuckoo *gcuckoo, cuckoo_entry *entries, uint32_t count, uint32_t *kicks)
{
    roost_status status = ROOST_OK;
    count = cuckoo_table_move_for(&gcuckoo->table, entries, count);
    for (uint32_t i = 0; i < count && status == ROOST_OK; i++) {
        struct place place = place_of_entry(entries[i], gcuckoo->table.geometry);
        bool grew;
        status = take_in(gcuckoo, &grew, &place, kicks);
    }
    return status;
}

/*
 * Adds the entries of the walk that are missing, and all that follow. The digest gets those that are added. Where the
 * first of all entries are new for the most part, it is shorter to add the other filter's digest and to take out those
 * that were here.
 */
static roost_status take_in_all(struct gcuckoo *gcuckoo, struct entry_walk *walk, const struct gcuckoo *other,
                                bool from_first)
{
    struct compared_entries *entries = &walk->entries;
    const bool mostly_new = from_first && entries->missing_count > entries->held_count;
    uint32_t kicks = gcuckoo->table.most_kicks;
    roost_status status = ROOST_OK;
    gcuckoo->sum += mostly_new ? other->sum : 0;
    do {
        if (mostly_new)
            gcuckoo->sum -= sum_entries(gcuckoo, entries->held, entries->held_count);
        else
            gcuckoo->sum += sum_entries(gcuckoo, entries->missing, entries->missing_count);
        if (journal_is_on(gcuckoo->base.journal))
            note_entries(gcuckoo, entries->missing, entries->missing_count);
        uint32_t left = cuckoo_table_fill(&gcuckoo->table, entries->missing, entries->missing_count);
        status = take_in_left(gcuckoo, entries->missing, left, &kicks);
    } while (status == ROOST_OK && compare_next(walk, &gcuckoo->table, mostly_new));
    return status;
}

/* The journal may have overwritten old changes with ones that are now void. */
static void take_back(struct gcuckoo *gcuckoo, const struct gcuckoo *before, uint64_t next_change)
{
    struct journal journal = gcuckoo->own.journal;
    *gcuckoo = *before;
    gcuckoo->own.journal = journal;
    if (gcuckoo->base.journal->next != next_change)
        journal_forget(gcuckoo->base.journal);
}

static roost_status gcuckoo_merge(roost_filter *filter, bool *changed, const roost_filter *other)
{
    struct gcuckoo *gcuckoo = as_gcuckoo(filter), before = *gcuckoo;
    uint64_t next_change = filter->journal->next;
    const roost_allocator *allocator = &filter->environment.allocator;
    struct entry_walk walk = {.other = &as_const_gcuckoo(other)->table};
    *changed = false;
    bool from_first = compare_next(&walk, &gcuckoo->table, true) && walk.entries.missing_count > 0;
    if (!from_first && !find_missing(&walk, &gcuckoo->table))
        return ROOST_OK;
    roost_status status = ROOST_NO_MEMORY;
    if (cuckoo_table_copy(&gcuckoo->table, &before.table, allocator)) {
        make_room(gcuckoo, cuckoo_table_entries(walk.other));
        status = take_in_all(gcuckoo, &walk, as_const_gcuckoo(other), from_first);
        cuckoo_table_release(status == ROOST_OK ? &before.table : &gcuckoo->table, allocator);
    }
    if (status != ROOST_OK)
        take_back(gcuckoo, &before, next_change);
    *changed = status == ROOST_OK;
    return status;
}

static bool lacks_any(const struct gcuckoo *gcuckoo, const struct gcuckoo *other)
{
    struct entry_walk walk = {.other = &other->table};
    return find_missing(&walk, &gcuckoo->table);
}

static roost_order gcuckoo_compare(const roost_filter *filter, const roost_filter *other)
{
    const struct gcuckoo *first = as_const_gcuckoo(filter), *second = as_const_gcuckoo(other);
    if (cuckoo_table_entries(&first->table) == cuckoo_table_entries(&second->table) && first->sum != second->sum)
        return ROOST_CONCURRENT;
    return (lacks_any(first, second) ? ROOST_BEFORE : 0) | (lacks_any(second, first) ? ROOST_AFTER : 0);
}

static uint128 gcuckoo_digest(roost_filter *filter)
{
    return as_gcuckoo(filter)->sum;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static void gcuckoo_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    write_varint(writer, as_const_gcuckoo(filter)->table.geometry.buckets);
}

static roost_status gcuckoo_write_state(const roost_filter *filter, struct bit_writer *writer)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    uint64_t entries = cuckoo_table_entries(table);
    struct class_key_coder coder = class_key_coder_for(writer, table->geometry, entries);
    write_varint(writer, entries);
    if (!writer->sink)
        bit_writer_reserve(writer, (size_t)(entries * (coder.parameter + 3) / 8));
    bool written = class_keys_write_all(table, &coder);
    write_alignment(writer);
    return written && !writer->failed ? ROOST_OK : ROOST_NO_MEMORY;
}

#define LONGEST_VARINT 10

/* Each key takes the parameter and one bit more, and zeros that make up at most the last key, in units of the
   parameter. */
static bool gcuckoo_is_passed_on(const roost_filter *filter, uint64_t *least, uint64_t *most)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    const uint64_t universe = class_universe(table->geometry), entries = cuckoo_table_entries(table);
    const unsigned parameter = rice_parameter(universe, entries);
    *least = entries * (parameter + 1) / 8;
    *most = 2 * LONGEST_VARINT + (entries * (parameter + 1) + (universe >> parameter)) / 8 + 1;
    return class_keys_are_passed_on(table);
}

static bool read_places(struct bit_reader *reader, struct cuckoo_geometry geometry, unsigned parameter, uint64_t *next,
                        struct place *places, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = read_rice(reader, parameter), key = *next + gap;
        if (reader->failed || key < gap || !is_class_key(key, geometry))
            return false;
        places[i] = place_of_class(key, geometry);
        *next = key + 1;
    }
    return true;
}

static uint128 sum_keys(uint64_t seed, const uint64_t *keys, uint32_t count)
{
    uint128 sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += hash_number(seed, keys[i]);
    return sum;
}

/* Adds classes that are absent, by their gaps. */
static roost_status take_in_gaps(struct gcuckoo *gcuckoo, uint64_t *numbers, uint32_t count, uint64_t *next,
                                 uint32_t *kicks)
{
    struct key_places places;
    if (!cuckoo_keys_of_gaps(numbers, &places, count, next, gcuckoo->table.geometry))
        return ROOST_CORRUPT;
    for (uint32_t i = 0; i < count && journal_is_on(gcuckoo->base.journal); i++)
        note(&gcuckoo->base, numbers[i], 0);
    gcuckoo->sum += sum_keys(gcuckoo->base.config->seed, numbers, count);
    uint32_t left = cuckoo_table_fill_evenly(&gcuckoo->table, &places, count);
    return take_in_left(gcuckoo, places.entries, left, kicks);
}

/* The keys of a state ascend, so that no class comes twice, and the filter is empty: all of them are new. */
static roost_status gcuckoo_read_state(roost_filter *filter, struct bit_reader *reader)
{
    struct gcuckoo *gcuckoo = as_gcuckoo(filter);
    uint64_t universe = class_universe(gcuckoo->table.geometry), count = read_varint(reader), next = 0;
    if (reader->failed || count > reader_bits_left(reader))
        return ROOST_CORRUPT;
    unsigned parameter = rice_parameter(universe, count);
    uint32_t kicks = gcuckoo->table.most_kicks;
    uint64_t most = reader_bits_left(reader) / (parameter + 1); /* whatever the frame says, it has no more than this */
    make_room(gcuckoo, count < most ? count : most);
    for (uint64_t left = count; left > 0;) {
        uint64_t numbers[MOST_ENTRIES];
        uint32_t some = left < MOST_ENTRIES ? (uint32_t)left : MOST_ENTRIES;
        read_rice_list(reader, numbers, some, parameter);
        roost_status status = reader->failed ? ROOST_CORRUPT : take_in_gaps(gcuckoo, numbers, some, &next, &kicks);
        if (status != ROOST_OK)
            return status;
        left -= some;
        reader_forget(reader);
    }
    read_alignment(reader);
    return reader->failed ? ROOST_CORRUPT : ROOST_OK;
}

/* ---- deltas ------------------------------------------------------------------------------------------------------ */

static uint64_t drop_doubles(uint64_t *numbers, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (kept == 0 || numbers[kept - 1] != numbers[i])
            numbers[kept++] = numbers[i];
    return kept;
}

static roost_status gcuckoo_write_delta(const roost_filter *filter, struct bit_writer *writer,
                                        struct selection selection)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    uint64_t most = count_selected(filter->journal, selection), count = 0;
    uint64_t *keys = memory_allocate(&filter->environment.allocator, 2 * (most + 1) * sizeof *keys);
    if (!keys)
        return ROOST_NO_MEMORY;
    for (uint64_t record; next_selected(filter->journal, &selection, &record);)
        if (is_noted_here(filter, record))
            keys[count++] = journal_change(filter->journal, record)->key;
    sort_numbers(keys, keys + most + 1, count, class_key_bits(table->geometry));
    count = drop_doubles(keys, count);
    struct class_key_coder coder = class_key_coder_for(writer, table->geometry, count);
    write_varint(writer, count);
    class_keys_write(&coder, keys, count);
    write_alignment(writer);
    memory_release(&filter->environment.allocator, keys);
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

/* The keys of a delta, from the first on; false when the bytes are wrong. */
struct key_reader {
    struct bit_reader reader;
    struct cuckoo_geometry geometry;
    unsigned parameter;
    uint64_t left, next;
};

static struct key_reader read_keys(struct bit_reader reader, struct cuckoo_geometry geometry)
{
    uint64_t count = read_varint(&reader);
    reader.failed |= count > reader_bits_left(&reader);
    return (struct key_reader){reader, geometry, rice_parameter(class_universe(geometry), count), count, 0};
}

static bool next_places(struct key_reader *keys, struct place *places, uint64_t *count)
{
    *count = keys->left < BATCH ? keys->left : BATCH;
    keys->left -= *count;
    return !keys->reader.failed &&
           read_places(&keys->reader, keys->geometry, keys->parameter, &keys->next, places, *count);
}

static bool keys_are_sound(struct key_reader keys)
{
    struct place places[BATCH];
    uint64_t count;
    while (keys.left > 0)
        if (!next_places(&keys, places, &count))
            return false;
    read_alignment(&keys.reader);
    return !keys.reader.failed && reader_bits_left(&keys.reader) == 0;
}

/* By way of a filter that holds the delta: for deltas so large that reserving room for all of it would be a waste. */
static roost_status merge_by_filter(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    roost_filter *other;
    roost_status status =
        open_with(&other, filter->config, &own_part(filter)->environment, as_gcuckoo(filter)->table.geometry);
    if (status != ROOST_OK)
        return status;
    status = gcuckoo_read_state(other, reader);
    if (status == ROOST_OK)
        status = gcuckoo_merge(filter, changed, other);
    gcuckoo_close(other);
    return status;
}

static roost_status reserve_overflow(struct gcuckoo *gcuckoo, uint64_t count)
{
    const roost_environment *environment = &gcuckoo->own.environment;
    struct stash *stash = &gcuckoo->table.stash;
    if (!has_memory_for_overflow(gcuckoo, count))
        return ROOST_TOO_LARGE;
    gcuckoo->table.holds_reserve = stash_reserve(stash, &environment->allocator, count);
    return gcuckoo->table.holds_reserve ? ROOST_OK : ROOST_NO_MEMORY;
}

static void release_reserve(struct gcuckoo *gcuckoo)
{
    gcuckoo->table.holds_reserve = false;
    relieve_if_overfull(gcuckoo);
    if (gcuckoo->table.stash.count == 0)
        stash_release(&gcuckoo->table.stash, &gcuckoo->base.environment.allocator);
}

/* Reserves room for all of it in the stash, so that nothing can fail half-way. */
static roost_status gcuckoo_prepare_delta(roost_filter *filter, struct prepared_delta *prepared,
                                          struct bit_reader reader)
{
    struct gcuckoo *gcuckoo = as_gcuckoo(filter);
    struct key_reader keys = read_keys(reader, gcuckoo->table.geometry);
    *prepared = (struct prepared_delta){.reader = reader};
    if (!keys_are_sound(keys))
        return ROOST_CORRUPT;
    if (keys.left > 1024 + cuckoo_table_entries(&gcuckoo->table) / 16)
        return ROOST_OK;
    roost_status status = reserve_overflow(gcuckoo, keys.left);
    prepared->ready = status == ROOST_OK;
    return status;
}

static void gcuckoo_commit_delta(roost_filter *filter, bool *changed, struct prepared_delta *prepared)
{
    struct gcuckoo *gcuckoo = as_gcuckoo(filter);
    struct key_reader keys = read_keys(prepared->reader, gcuckoo->table.geometry);
    uint64_t entries = cuckoo_table_entries(&gcuckoo->table), count;
    uint32_t kicks = gcuckoo->table.most_kicks;
    while (keys.left > 0) {
        struct place places[BATCH];
        next_places(&keys, places, &count);
        roost_status status = take_in_row(gcuckoo, places, count, &kicks);
        (void)status; /* reserved */
    }
    release_reserve(gcuckoo);
    *changed |= cuckoo_table_entries(&gcuckoo->table) > entries;
}

static void gcuckoo_abandon_delta(roost_filter *filter, struct prepared_delta *prepared)
{
    (void)prepared;
    release_reserve(as_gcuckoo(filter));
}

static roost_status gcuckoo_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    struct prepared_delta prepared;
    *changed = false;
    roost_status status = gcuckoo_prepare_delta(filter, &prepared, *reader);
    if (status != ROOST_OK)
        return status;
    if (!prepared.ready)
        return merge_by_filter(filter, changed, reader);
    gcuckoo_commit_delta(filter, changed, &prepared);
    return ROOST_OK;
}

static bool gcuckoo_move(roost_filter *filter, const struct memory_mover *mover, uint64_t place)
{
    (void)place;
    cuckoo_table_move(&as_gcuckoo(filter)->table, mover);
    move_journal(filter, mover);
    return false;
}

/* ---- a state as many deltas -------------------------------------------------------------------------------------- */

/* Those of one slice of the key space, sorted, go out a few at a time. */
static roost_status cut_keys(const struct gcuckoo *gcuckoo, const uint64_t *keys, uint64_t count, uint64_t at_once,
                             struct delta_sink *sink)
{
    roost_status status = ROOST_OK;
    for (uint64_t done = 0, some; done < count && status == ROOST_OK; done += some) {
        struct bit_writer writer;
        some = count - done < at_once ? count - done : at_once;
        bit_writer_init(&writer, gcuckoo->base.environment.allocator);
        struct class_key_coder coder = class_key_coder_for(&writer, gcuckoo->table.geometry, some);
        write_varint(&writer, some);
        class_keys_write(&coder, keys + done, some);
        write_alignment(&writer);
        status = writer.failed ? ROOST_NO_MEMORY : sink->take(sink, &writer);
        bit_writer_release(&writer);
    }
    return status;
}

static roost_status gcuckoo_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                                struct delta_sink *sink)
{
    const struct gcuckoo *gcuckoo = as_const_gcuckoo(filter);
    const roost_allocator *allocator = &filter->environment.allocator;
    uint64_t count = cuckoo_table_entries(&gcuckoo->table), at_once = bytes / BYTES_A_PLACE + 1;
    uint64_t *keys = memory_allocate(allocator, 2 * (count + ENTRIES_ROOM) * sizeof *keys);
    (void)known;
    if (!keys)
        return ROOST_NO_MEMORY;
    class_keys_list(&gcuckoo->table, keys);
    sort_distinct_numbers(keys, keys + count + ENTRIES_ROOM, count, class_key_bits(gcuckoo->table.geometry));
    roost_status status = cut_keys(gcuckoo, keys, count, at_once, sink);
    memory_release(allocator, keys);
    return status;
}

static roost_status gcuckoo_summarize(const roost_filter *filter, struct summary *summary,
                                      const struct causal_context *space)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    uint64_t count = cuckoo_table_entries(table);
    (void)space;
    uint64_t *keys = memory_allocate(&filter->environment.allocator, (2 * count + ENTRIES_ROOM) * sizeof *keys);
    if (!keys)
        return ROOST_NO_MEMORY;
    class_keys_list(table, keys);
    summary_of_positions(summary, keys, count, class_universe(table->geometry), filter->config->seed);
    return ROOST_OK;
}

static roost_status gcuckoo_visit_positions(const roost_filter *filter, const struct position_visitor *visitor)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    uint64_t count = cuckoo_table_entries(table);
    uint64_t *keys = memory_allocate(&filter->environment.allocator, (count + ENTRIES_ROOM) * sizeof *keys);
    if (!keys)
        return ROOST_NO_MEMORY;
    class_keys_list(table, keys);
    visitor->visit(visitor->context, keys, count);
    memory_release(&filter->environment.allocator, keys);
    return ROOST_OK;
}

static uint64_t gcuckoo_positions(const roost_filter *filter)
{
    return cuckoo_table_entries(&as_const_gcuckoo(filter)->table);
}

static uint64_t gcuckoo_universe(const roost_filter *filter)
{
    return class_universe(as_const_gcuckoo(filter)->table.geometry);
}

static roost_status gcuckoo_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                              const uint64_t *positions, uint64_t count)
{
    struct gcuckoo *gcuckoo = as_gcuckoo(filter);
    uint64_t entries = cuckoo_table_entries(&gcuckoo->table);
    (void)space;
    for (uint64_t i = 0; i < count; i++)
        if (!is_class_key(positions[i], gcuckoo->table.geometry))
            return ROOST_CORRUPT;
    roost_status status = reserve_overflow(gcuckoo, count);
    uint32_t kicks = gcuckoo->table.most_kicks;
    for (uint64_t done = 0; done < count && status == ROOST_OK;) {
        struct place places[BATCH];
        uint64_t row = count - done < BATCH ? count - done : BATCH;
        for (uint64_t i = 0; i < row; i++)
            places[i] = place_of_class(positions[done + i], gcuckoo->table.geometry);
        status = take_in_row(gcuckoo, places, row, &kicks);
        done += row;
    }
    release_reserve(gcuckoo);
    *changed |= cuckoo_table_entries(&gcuckoo->table) > entries;
    return status;
}

static uint64_t gcuckoo_bytes(const roost_filter *filter)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    return table_bytes(table) + stash_bytes(&table->stash) + own_journal_bytes(filter);
}

static struct cuckoo_geometry gcuckoo_geometry(const roost_filter *filter)
{
    return as_const_gcuckoo(filter)->table.geometry;
}

static uint64_t gcuckoo_entries(const roost_filter *filter)
{
    return cuckoo_table_entries(&as_const_gcuckoo(filter)->table);
}

static const struct cuckoo_table *gcuckoo_slots(const roost_filter *filter)
{
    return &as_const_gcuckoo(filter)->table;
}

static bool gcuckoo_is_bottom(const roost_filter *filter)
{
    return gcuckoo_entries(filter) == 0;
}

static bool gcuckoo_is_change(const roost_filter *filter, uint8_t table, struct change change)
{
    (void)table;
    return change.tag == 0 && is_class_key(change.key, as_const_gcuckoo(filter)->table.geometry);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void gcuckoo_info(const roost_filter *filter, roost_info *info)
{
    const struct cuckoo_table *table = &as_const_gcuckoo(filter)->table;
    double probability = class_probability(table->geometry);
    info->entries = cuckoo_table_entries(table);
    info->overflow = table->stash.count;
    info->load = cuckoo_table_load(table);
    info->fpr_now = (double)info->entries * probability;
    info->fpr_now = info->fpr_now < 1 ? info->fpr_now : 1;
    /* An element that fell into a class that was taken left no trace of its own. */
    info->elements = info->fpr_now < 1 ? -log1p(-info->fpr_now) / probability : (double)info->entries;
    info->promise_holds = info->fpr_now <= filter->config->fpr;
    info->buckets = cuckoo_table_rows(table);
    info->bytes_memory = gcuckoo_bytes(filter);
    info->journal = journal_length(filter->journal);
}

static uint128 sum_table(const struct gcuckoo *gcuckoo)
{
    const struct cuckoo_table *table = &gcuckoo->table;
    const uint64_t seed = gcuckoo->base.config->seed;
    uint64_t keys[ENTRIES_ROOM];
    uint128 sum = 0;
    for (uint32_t row = 0; row < cuckoo_table_rows(table);) {
        uint32_t count = cuckoo_table_keys(table, &row, keys);
        sum += sum_keys(seed, keys, count);
    }
    for (uint64_t i = 0; i < table->stash.used; i++)
        sum += hash_number(seed, table->stash.nodes[i].key);
    return sum;
}

static roost_status gcuckoo_check(const roost_filter *filter)
{
    const struct gcuckoo *gcuckoo = as_const_gcuckoo(filter);
    return cuckoo_table_check(&gcuckoo->table) && sum_table(gcuckoo) == gcuckoo->sum ? ROOST_OK : ROOST_CORRUPT;
}

const struct filter_kind gcuckoo_kind = {
    .code = ROOST_CUCKOO,
    .name = "cuckoo",
    .lifecycle = {.resolve = gcuckoo_resolve,
                  .is_resolved = gcuckoo_is_resolved,
                  .open = gcuckoo_open,
                  .close = gcuckoo_close,
                  .clone = gcuckoo_clone},
    .set = {.add = gcuckoo_add, .contains = gcuckoo_contains},
    .lattice = {.merge = gcuckoo_merge,
                .compare = gcuckoo_compare,
                .is_bottom = gcuckoo_is_bottom,
                .digest = gcuckoo_digest},
    .encoding = {.write_geometry = gcuckoo_write_geometry,
                 .write_state = gcuckoo_write_state,
                 .read_state = gcuckoo_read_state,
                 .is_passed_on = gcuckoo_is_passed_on},
    .delta = {.write = gcuckoo_write_delta,
              .merge = gcuckoo_merge_delta,
              .prepare = gcuckoo_prepare_delta,
              .commit = gcuckoo_commit_delta,
              .abandon = gcuckoo_abandon_delta},
    .sync = {.summarize = gcuckoo_summarize,
             .visit_positions = gcuckoo_visit_positions,
             .positions = gcuckoo_positions,
             .universe = gcuckoo_universe,
             .resolve_positions = gcuckoo_resolve_positions},
    .journal = {.is_change = gcuckoo_is_change},
    .incremental = {.copy_open = FOR_SERVERS(gcuckoo_copy_open),
                    .copy_some = FOR_SERVERS(gcuckoo_copy_some),
                    .copy_rest = FOR_SERVERS(gcuckoo_copy_rest),
                    .cut = FOR_SERVERS(gcuckoo_cut),
                    .move = FOR_SERVERS(gcuckoo_move)},
    .table = {.open = open_with,
              .contains_nested = gcuckoo_contains_nested,
              .elements = gcuckoo_entries,
              .geometry = gcuckoo_geometry,
              .slots = gcuckoo_slots},
    .report = {.info = gcuckoo_info, .memory = gcuckoo_bytes, .check = FOR_SERVERS(gcuckoo_check)},
};
