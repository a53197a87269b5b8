/*
 * The scalable filter series (SFS): a filter that grows by further tables as long as elements come.
 *
 * Specifications 5 to 8 of the thesis "Conflict-Free Replicated Probabilistic Filter" (2024), section 3.5, over any of
 * our kinds. An element is in the series if it is in any of its tables; an addition goes to the first table that has
 * room for it. series_plan.c says how large the tables are and how their error rates add up to the promised one.
 *
 *     table 0   capacity c          part of the rate 6/pi^2 / 1
 *     table 1            c * g                       6/pi^2 / 4
 *     table 2            c * g^2                     6/pi^2 / 9         ...
 *
 * State. A map from index to table; a missing table is one that has seen nothing. Merge and order are those of the
 * tables, one by one, and know nothing of lengths. The thesis keeps the tail of the longer list as it is, and an
 * element that one side had seen there, removed, and shrunk away comes back. Here each table has a causal context of
 * its own, which stays when its entries are gone: only a table that has never seen anything is missing. (A causal
 * context for each table, and not one for all: the lowest bits of an actor are the number of its table, so that the
 * union of all causal contexts is a causal context too, where one is needed.)
 *
 * Removal. An element may have entries in several tables, since replicas grow apart and meet again. The tables' classes
 * nest, so an entry of this element in one table never looks like another element's in a finer one. Remove takes its
 * entries out of all tables. remove_one takes one from the finest.
 *
 * Adding again. In a set an add of an element that is there follows the rule of all additions: its dot goes to the
 * first table that holds less than its capacity, the element's own entry there not counted. It takes the place of the
 * element's entries in that table and in all finer ones: whatever elements these stand for, the new entry stands for
 * them too. Entries in coarser tables, which are past their capacity, stay, because they may stand for other elements
 * that the new one does not cover. So an addition never hides an element.
 *
 *     table 0 (past its capacity)   x, y in one class    x, y       y is still found
 *     table 1                       -                    x          adding x again
 *
 * The promise. Cuckoo: every replica adds to a table only as long as it sees fewer elements in it than its capacity,
 * and fingerprints are long enough for `writers` times as many. Bloom: a quota in the state records which replica
 * added how much to which table, and no replica adds more than its share (../causal/quota.h); idle shares can be
 * transferred. docs/error-bounds.md.
 *
 * A failed merge leaves the series as it was: it is made on copies of the tables that change, which take their places
 * at the end. A delta is prepared in every table before it is committed in any (kind.h), so that its time follows its
 * own size and it still comes whole or not at all.
 */
#include "series.h"

#include <math.h>
#include <string.h>

#include "../filter/configuration.h"
#include "../filter/inherited.h"
#include "../cuckoo/cuckoo_size.h"
#include "../cuckoo/cuckoo_table.h"
#include "../base/entropy.h"
#include "../base/hash.h"

#define ROW 256
/* Rows of a table that an estimate reads. */
#define SAMPLED_ROWS 1024

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool plan_of(const struct series *series, uint32_t index, struct table_plan *plan)
{
    return index < MOST_TABLES && series_plan_table(plan, series->base.config, series->buckets, index);
}

static void join_series(struct series *series, roost_filter *table, uint32_t index)
{
    table->journal = series->base.journal;
    table->table = (uint8_t)index;
    table->in_series = true;
}

static roost_config table_config(const struct series *series, const struct table_plan *plan)
{
    roost_config config = series->own.config;
    config.scalable = false;
    config.capacity = plan->capacity;
    config.fpr = plan->fpr;
    config.fingerprint_bits = plan->geometry.bits;
    config.writers = config.growth = config.schedule = 0;
    return config;
}

/* With tags. */
static struct cuckoo_geometry planned_geometry(const struct series *series, const struct table_plan *plan)
{
    struct cuckoo_geometry geometry = plan->geometry;
    geometry.tag_bits = series->base.config->entry_bits ? series->base.config->entry_bits - geometry.bits : 0;
    return geometry;
}

/* The sum over all present tables. */
static uint64_t series_capacity(const roost_filter *filter)
{
    struct table_plan plan;
    uint64_t capacity = 0;
    for (uint32_t i = 0; i < as_const_series(filter)->count && plan_of(as_const_series(filter), i, &plan); i++)
        capacity += plan.capacity;
    return capacity;
}

static uint64_t series_bytes(const roost_filter *filter)
{
    const struct series *series = as_const_series(filter);
    uint64_t bytes =
        sizeof *series + series->quota.room * sizeof *series->quota.entries + own_journal_bytes(&series->base);
    for (uint32_t i = 0; i < series->count; i++)
        if (series->tables[i])
            bytes += series->table_kind->report.memory(series->tables[i]);
    return bytes;
}

static roost_status new_table(const struct series *series, uint32_t index, roost_filter **table)
{
    struct table_plan plan;
    const struct filter_kind *kind = series->table_kind;
    roost_environment environment = series->own.environment;
    uint64_t taken = series_bytes(&series->base);
    *table = NULL;
    if (!plan_of(series, index, &plan))
        return ROOST_FULL;
    if (taken >= environment.memory_limit)
        return ROOST_TOO_LARGE;
    environment.memory_limit -= taken;
    environment.random_seed += index;
    roost_config config = table_config(series, &plan);
    if (!kind->table.open) {
        roost_status status = kind->lifecycle.open(table, &config, &environment, NULL);
        return status == ROOST_INVALID ? ROOST_FULL : status; /* a rate that no array keeps: the series ends here */
    }
    return kind->table.open(table, &config, &environment, planned_geometry(series, &plan));
}

static void put_table(struct series *series, uint32_t index, roost_filter *table)
{
    join_series(series, table, index);
    series->tables[index] = table;
    if (index >= series->count)
        series->count = index + 1;
}

roost_status series_table(struct series *series, uint32_t index, roost_filter **table)
{
    roost_status status = ROOST_OK;
    if (!series->tables[index]) {
        status = new_table(series, index, table);
        if (status == ROOST_OK)
            put_table(series, index, *table);
    }
    *table = series->tables[index];
    return status;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static const struct filter_kind *series_kind_of(roost_kind code)
{
    return code == ROOST_BLOOM    ? &series_bloom_kind
           : code == ROOST_CUCKOO ? &series_gcuckoo_kind
                                  : &series_orcuckoo_kind;
}

static const struct filter_kind *table_kind_of(roost_kind code)
{
    return code == ROOST_BLOOM ? &bloom_kind : code == ROOST_CUCKOO ? &gcuckoo_kind : &orcuckoo_kind;
}

static roost_status series_resolve(roost_config *config)
{
    return series_resolve_plan(config);
}

/* What a frame says before its geometry. */
static bool series_is_resolved(const roost_config *config)
{
    return config->writers > 0 && config->writers <= MOST_WRITERS && config->fpr > 0 && config->fpr < 1 &&
           (config->growth == 1 || is_bucket_size(config->growth)) && config->capacity >= config->writers &&
           config->schedule >= ROOST_QUADRATIC && config->schedule <= ROOST_HALVING &&
           (config->kind == ROOST_BLOOM ? (config->layout == ROOST_BLOCKED || config->layout == ROOST_CLASSIC) &&
                                              !config->bucket_size && !config->fingerprint_bits
                                        : !config->layout && is_bucket_size(config->bucket_size) &&
                                              config->fingerprint_bits >= (config->kind == ROOST_ORCUCKOO ? 8u : 6u) &&
                                              config->fingerprint_bits <= (config->kind == ROOST_ORCUCKOO ? 28u : 32u));
}

void series_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    if (filter->config->kind == ROOST_ORCUCKOO)
        write_byte(writer, filter->config->multiset);
    if (filter->config->kind != ROOST_BLOOM)
        write_varint(writer, as_const_series(filter)->buckets);
}

static roost_status read_geometry(struct bit_reader *frame, roost_config *config, uint32_t *buckets)
{
    uint8_t multiset = config->kind == ROOST_ORCUCKOO ? read_byte(frame) : 0;
    uint64_t size = config->kind != ROOST_BLOOM ? read_varint(frame) : 1;
    config->entry_bits = config->kind == ROOST_ORCUCKOO ? 64 : 0;
    config->multiset = multiset == 1;
    *buckets = (uint32_t)size;
    return frame->failed || multiset > 1 || size == 0 || size > UINT32_MAX ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status series_open(roost_filter **filter, const roost_config *given, const roost_environment *environment,
                                struct bit_reader *frame)
{
    roost_config config = *given;
    struct cuckoo_geometry geometry = {.buckets = 1};
    struct table_plan plan;
    roost_status status = ROOST_OK;
    if (frame)
        status = read_geometry(frame, &config, &geometry.buckets);
    else if (config.kind != ROOST_BLOOM)
        status = cuckoo_size(&geometry, &config);
    if (status != ROOST_OK)
        return status;
    if (!series_plan_table(&plan, &config, geometry.buckets, 0))
        return frame ? ROOST_CORRUPT : ROOST_INVALID;
    struct series *series = memory_allocate(&environment->allocator, sizeof *series);
    if (!series)
        return ROOST_NO_MEMORY;
    init_base(&series->base, &series->own, series_kind_of(config.kind), &config, environment);
    series->table_kind = table_kind_of(config.kind);
    series->buckets = geometry.buckets;
    series->nesting = plan.geometry;
    *filter = &series->base;
    return ROOST_OK;
}

static void series_close(roost_filter *filter)
{
    struct series *series = as_series(filter);
    const roost_allocator allocator = filter->environment.allocator;
    for (uint32_t i = 0; i < series->count; i++)
        roost_filter_free(series->tables[i]);
    quota_release(&series->quota, &allocator);
    release_journal(filter);
    memory_release(&allocator, series);
}

static roost_status series_clone(const roost_filter *filter, roost_filter **copy)
{
    const struct series *series = as_const_series(filter);
    const roost_allocator *allocator = &filter->environment.allocator;
    struct series *twin = memory_allocate(allocator, sizeof *twin);
    if (!twin)
        return ROOST_NO_MEMORY;
    *twin = (struct series){.base = *filter,
                            .own = series->own,
                            .table_kind = series->table_kind,
                            .buckets = series->buckets,
                            .nesting = series->nesting};
    detach(&twin->base);
    roost_status status = quota_copy(&twin->quota, &series->quota, allocator) ? ROOST_OK : ROOST_NO_MEMORY;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++) {
        roost_filter *table = NULL;
        if (!series->tables[i])
            continue;
        status = series->table_kind->lifecycle.clone(series->tables[i], &table);
        if (status == ROOST_OK)
            put_table(twin, i, table);
    }
    if (status != ROOST_OK)
        series_close(&twin->base);
    else
        *copy = &twin->base;
    return status;
}

/* ---- incremental copies -------------------------------------------------------------------------------------------
 *
 * Table by table; one that has changed again since it was copied is gone over again. Tables come, and are never taken
 * away.
 */

static roost_status series_copy_open(const roost_filter *filter, roost_filter **copy,
                                     const roost_environment *environment)
{
    const struct series *series = as_const_series(filter);
    struct series *twin = memory_allocate(&environment->allocator, sizeof *twin);
    *copy = NULL;
    if (!twin)
        return ROOST_NO_MEMORY;
    *twin = (struct series){.table_kind = series->table_kind, .buckets = series->buckets, .nesting = series->nesting};
    init_base(&twin->base, &twin->own, filter->kind, filter->config, environment);
    *copy = &twin->base;
    return ROOST_OK;
}

static roost_status open_copy_of_table(const struct series *series, struct series *twin, uint32_t index)
{
    roost_filter *table;
    roost_environment environment = twin->own.environment;
    environment.random_seed += index;
    roost_status status = series->table_kind->incremental.copy_open(series->tables[index], &table, &environment);
    if (status == ROOST_OK)
        put_table(twin, index, table);
    return status;
}

static roost_status series_copy_some(roost_filter *filter, roost_filter *copy, uint64_t *effort, bool *clean)
{
    struct series *series = as_series(filter), *twin = as_series(copy);
    roost_status status = ROOST_OK;
    *clean = true;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++) {
        bool clean_table = true;
        if (!series->tables[i])
            continue;
        if (!twin->tables[i])
            status = open_copy_of_table(series, twin, i);
        if (status == ROOST_OK)
            status =
                series->table_kind->incremental.copy_some(series->tables[i], twin->tables[i], effort, &clean_table);
        *clean &= clean_table;
    }
    return status;
}

static roost_status series_copy_rest(roost_filter *filter, roost_filter *copy)
{
    struct series *series = as_series(filter), *twin = as_series(copy);
    const roost_allocator *allocator = &copy->environment.allocator;
    quota_release(&twin->quota, allocator);
    roost_status status = quota_copy(&twin->quota, &series->quota, allocator) ? ROOST_OK : ROOST_NO_MEMORY;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++) {
        if (!series->tables[i])
            continue;
        status = series->table_kind->incremental.copy_rest(series->tables[i], twin->tables[i]);
        join_series(twin, twin->tables[i], i);
    }
    return status;
}

static bool series_move(roost_filter *filter, const struct memory_mover *mover, uint64_t place)
{
    struct series *series = as_series(filter);
    if (place == 0) {
        series->quota.entries = memory_moved(mover, series->quota.entries);
        move_journal(filter, mover);
        for (uint32_t i = 0; i < series->count; i++)
            if (series->tables[i])
                join_series(series, series->tables[i], i);
    } else if (place <= series->count && series->tables[place - 1]) {
        series->tables[place - 1] = moved_filter(mover, series->tables[place - 1]);
        series->table_kind->incremental.move(series->tables[place - 1], mover, 0);
    }
    return place < series->count;
}

/* ---- look-up ----------------------------------------------------------------------------------------------------- */

static bool may_hold(const struct series *series, uint32_t index)
{
    const roost_filter *table = series->tables[index];
    return table && (!series->table_kind->table.elements || series->table_kind->table.elements(table) > 0);
}

/* Keys of a row that no table asked so far holds. The places of the tables that nest are worked out once for all. */
struct search {
    const struct series *series;
    size_t count;
    uint16_t row_index[ROW];
    roost_hash hashes[ROW];
    struct nested_place places[ROW];
};

static void search_begin(struct search *search, const struct series *series, const roost_hash *hashes, size_t count)
{
    search->series = series;
    search->count = count;
    for (size_t i = 0; i < count; i++)
        search->row_index[i] = (uint16_t)i;
    if (series->table_kind->table.contains_nested) {
        struct cuckoo_geometry geometry = series->nesting;
        for (size_t i = 0; i < count; i++)
            search->places[i] = nested_place_of_hash(hashes[i], geometry);
    } else {
        memcpy(search->hashes, hashes, count * sizeof *hashes);
    }
}

static void search_table(const struct search *search, bool *here, const roost_filter *table)
{
    const struct filter_kind *kind = search->series->table_kind;
    if (kind->table.contains_nested)
        kind->table.contains_nested(table, here, search->places, search->count);
    else
        kind->set.contains(table, here, search->hashes, search->count);
}

/* Removes the keys that were found from the search. */
static void search_drop(struct search *search, const bool *here)
{
    bool nests = search->series->table_kind->table.contains_nested != NULL;
    size_t still = 0;
    for (size_t i = 0; i < search->count; i++) {
        search->row_index[still] = search->row_index[i];
        if (nests)
            search->places[still] = search->places[i];
        else
            search->hashes[still] = search->hashes[i];
        still += !here[i];
    }
    search->count = still;
}

/* The last table is the largest and gets the first look. */
static void contains_row(const struct series *series, bool *found, const roost_hash *hashes, size_t count)
{
    struct search search;
    bool here[ROW];
    memset(found, 0, count * sizeof *found);
    search_begin(&search, series, hashes, count);
    for (uint32_t index = series->count; index-- > 0 && search.count > 0;) {
        size_t hits = 0;
        if (!may_hold(series, index))
            continue;
        search_table(&search, here, series->tables[index]);
        for (size_t i = 0; i < search.count; i++)
            hits += here[i];
        for (size_t i = 0; i < search.count && hits > 0; i++)
            found[search.row_index[i]] |= here[i];
        if (hits * 8 > search.count) /* a few are cheaper asked for again than sorted out */
            search_drop(&search, here);
    }
}

static void series_contains(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    for (size_t done = 0; done < count; done += ROW)
        contains_row(as_const_series(filter), found + done, hashes + done, count - done < ROW ? count - done : ROW);
}

static uint64_t series_count(const roost_filter *filter, roost_hash hash)
{
    const struct series *series = as_const_series(filter);
    uint64_t copies = 0;
    for (uint32_t i = 0; i < series->count; i++)
        if (may_hold(series, i))
            copies += series->table_kind->removal.count(series->tables[i], hash);
    return filter->config->multiset ? copies : copies > 0;
}

/* ---- add --------------------------------------------------------------------------------------------------------- */

/* How many additions this replica may still make to a table. */
static uint64_t room_in(const struct series *series, uint32_t index, const struct table_plan *plan)
{
    if (!series->table_kind->table.elements)
        return quota_left(&series->quota, index, series->actor, plan->share);
    uint64_t elements = series->tables[index] ? series->table_kind->table.elements(series->tables[index]) : 0;
    return elements < plan->capacity ? plan->capacity - elements : 0;
}

/* The first table with room, and how much; ROOST_FULL where there can be no further one. */
static roost_status find_room(struct series *series, roost_filter **table, uint64_t *room)
{
    struct table_plan plan;
    for (uint32_t index = series->target; plan_of(series, index, &plan); index++) {
        *room = room_in(series, index, &plan);
        if (*room == 0)
            continue;
        series->target = index;
        return series_table(series, index, table);
    }
    return ROOST_FULL;
}

/* A Bloom series has an actor from its first addition on, for its entries in the quota. */
static roost_status ready_quota(struct series *series)
{
    if (series->table_kind->table.elements)
        return ROOST_OK;
    leave_inherited(&series->base);
    if (!series->actor && !entropy_number(&series->base.environment.common->entropy, &series->actor))
        return ROOST_EXHAUSTED;
    return quota_reserve(&series->quota, &series->base.environment.allocator, 2) ? ROOST_OK : ROOST_NO_MEMORY;
}

static void spend(struct series *series, uint32_t index, uint64_t amount)
{
    if (series->table_kind->table.elements || amount == 0)
        return;
    quota_raise(&series->quota, index, series->actor, series->actor, amount);
    journal_note(series->base.journal, QUOTA_TABLE, series->actor, index);
}

/* Some of those that are not contained yet, as many as one table has room for. */
static roost_status add_some(struct series *series, bool *grew, size_t *done, const roost_hash *hashes, size_t count)
{
    roost_filter *table;
    uint64_t room;
    *done = 0;
    roost_status status = ready_quota(series);
    if (status == ROOST_OK)
        status = find_room(series, &table, &room);
    if (status != ROOST_OK)
        return status;
    status = series->table_kind->set.add(table, grew, done, hashes, count < room ? count : (size_t)room);
    uint64_t fresh = 0;
    for (size_t i = 0; i < *done; i++)
        fresh += grew[i];
    spend(series, table->table, fresh);
    return status;
}

/*
 * A row of additions to a series that only grows: what it contains already needs no second entry. Ends where a table is
 * full: what comes next goes elsewhere, and may be an element that was just added.
 */
static roost_status add_row(struct series *series, bool *changed, size_t *done, const roost_hash *hashes, size_t count)
{
    roost_hash fresh[ROW];
    bool found[ROW], grew[ROW];
    uint16_t place[ROW];
    size_t missing = 0, taken = 0;
    contains_row(series, found, hashes, count);
    for (size_t i = 0; i < count; i++) {
        fresh[missing] = hashes[i];
        place[missing] = (uint16_t)i;
        missing += !found[i];
        changed[i] = false;
    }
    roost_status status = ROOST_OK;
    if (missing > 0)
        status = add_some(series, grew, &taken, fresh, missing);
    for (size_t i = 0; i < taken; i++)
        // cppcheck-suppress uninitvar ; add_some takes at most as many as were missing
        // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): as above
        changed[place[i]] = grew[i];
    *done = taken < missing ? place[taken] : count;
    return status;
}

static roost_status series_add(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes,
                               size_t count)
{
    bool row_changed[ROW];
    roost_status status = ROOST_OK;
    for (*done = 0; *done < count && status == ROOST_OK;) {
        size_t taken, row = count - *done < ROW ? count - *done : ROW;
        status = add_row(as_series(filter), row_changed, &taken, hashes + *done, row);
        if (changed)
            memcpy(changed + *done, row_changed, taken * sizeof *changed);
        *done += taken;
    }
    return status;
}

/* ---- add and remove, where elements can be removed --------------------------------------------------------------- */

/* The finest table that holds the element, or `none`. */
static uint32_t finest_holder(const struct series *series, roost_hash hash, uint32_t none)
{
    for (uint32_t index = series->count; index-- > 0;) {
        bool found = false;
        if (may_hold(series, index))
            series->table_kind->set.contains(series->tables[index], &found, &hash, 1);
        if (found)
            return index;
    }
    return none;
}

/* Whether a table has room for an element that may be in it already. */
static bool has_room_for(const struct series *series, uint32_t index, roost_hash hash)
{
    const roost_filter *table = series->tables[index];
    uint64_t elements = series->table_kind->table.elements(table);
    bool found = false;
    if (elements == table->config->capacity)
        series->table_kind->set.contains(table, &found, &hash, 1);
    return found || elements < table->config->capacity;
}

/* As find_room, for an element that the series holds: the tables before the target may have room for this one. */
static roost_status find_room_for(struct series *series, roost_filter **table, roost_hash hash)
{
    struct table_plan plan;
    for (uint32_t index = 0; index < MOST_TABLES; index++) {
        if (series->tables[index] && !has_room_for(series, index, hash))
            continue;
        if (!series->tables[index] && !plan_of(series, index, &plan))
            return ROOST_FULL;
        return series_table(series, index, table);
    }
    return ROOST_FULL;
}

static bool remove_from(struct series *series, uint32_t index, roost_hash hash)
{
    bool removed = false;
    if (may_hold(series, index))
        series->table_kind->removal.remove(series->tables[index], &removed, &hash, 1);
    return removed;
}

void series_shrink(struct series *series)
{
    series->target = 0;
    for (uint32_t i = series->count; i-- > 1 && series->table_kind->table.free_slots;) {
        if (series->tables[i] && series->table_kind->table.elements(series->tables[i]) > 0)
            return;
        if (series->tables[i])
            series->table_kind->table.free_slots(series->tables[i]);
    }
}

/* In a set the element's entries in finer tables go: the new one stands for all that they stand for. */
static roost_status add_removable(struct series *series, roost_dot *dot, bool *fresh, roost_hash hash)
{
    uint64_t room;
    roost_filter *table = NULL;
    roost_status status;
    uint32_t holder = series->base.config->multiset ? MOST_TABLES : finest_holder(series, hash, MOST_TABLES);
    *fresh = holder == MOST_TABLES;
    status = *fresh ? find_room(series, &table, &room) : find_room_for(series, &table, hash);
    if (status == ROOST_OK)
        status = series->table_kind->removal.add_dot(table, dot, hash);
    if (status != ROOST_OK || *fresh)
        return status;
    for (uint32_t index = holder; index > table->table; index--)
        if (remove_from(series, index, hash))
            series_shrink(series);
    return status;
}

/* A run of elements that the series does not hold: all into the first table with room, as many as that takes. */
static roost_status add_run(struct series *series, bool *fresh, size_t *done, bool *filled, const roost_hash *hashes,
                            size_t count)
{
    roost_filter *table;
    uint64_t room;
    *done = 0;
    roost_status status = find_room(series, &table, &room);
    if (status != ROOST_OK)
        return status;
    status = series->table_kind->set.add(table, fresh, done, hashes, count < room ? count : (size_t)room);
    *filled = *done == room;
    return status;
}

/*
 * As many as can be added before the row has to be looked up again: where a table is full in the middle of a run, what
 * comes next goes elsewhere, and may be an element that was just added.
 */
static roost_status add_removable_row(struct series *series, bool *changed, size_t *done, const roost_hash *hashes,
                                      size_t count)
{
    bool found[ROW] = {false}, fresh[ROW], filled = false;
    roost_status status = ROOST_OK;
    if (!series->base.config->multiset)
        contains_row(series, found, hashes, count);
    for (*done = 0; *done < count && status == ROOST_OK && !filled;) {
        size_t run = 0, taken = 0;
        while (*done + run < count && !found[*done + run])
            run++;
        if (run) {
            status = add_run(series, fresh, &taken, &filled, hashes + *done, run);
        } else {
            roost_dot dot;
            status = add_removable(series, &dot, fresh, hashes[*done]);
            taken = status == ROOST_OK;
        }
        if (changed)
            memcpy(changed + *done, fresh, taken * sizeof *changed);
        *done += taken;
    }
    return status;
}

static roost_status series_add_removable(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes,
                                         size_t count)
{
    roost_status status = ROOST_OK;
    for (*done = 0; *done < count && status == ROOST_OK;) {
        size_t taken, row = count - *done < ROW ? count - *done : ROW;
        status = add_removable_row(as_series(filter), changed ? changed + *done : NULL, &taken, hashes + *done, row);
        *done += taken;
    }
    return status;
}

static roost_status series_add_dot(roost_filter *filter, roost_dot *dot, roost_hash hash)
{
    bool fresh;
    return add_removable(as_series(filter), dot, &fresh, hash);
}

static roost_status series_remove(roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count)
{
    struct series *series = as_series(filter);
    for (size_t i = 0; i < count; i++) {
        bool removed = false;
        for (uint32_t index = 0; index < series->count; index++)
            removed |= remove_from(series, index, hashes[i]);
        if (changed)
            changed[i] = removed;
    }
    series_shrink(series);
    return ROOST_OK;
}

static roost_status series_remove_one(roost_filter *filter, bool *changed, roost_hash hash)
{
    struct series *series = as_series(filter);
    if (!filter->config->multiset)
        return ROOST_UNSUPPORTED;
    uint32_t holder = finest_holder(series, hash, MOST_TABLES);
    roost_status status = holder == MOST_TABLES
                              ? ROOST_OK
                              : series->table_kind->removal.remove_one(series->tables[holder], changed, hash);
    series_shrink(series);
    return status;
}

static roost_status series_remove_dot(roost_filter *filter, bool *changed, roost_hash hash, roost_dot dot)
{
    struct series *series = as_series(filter);
    roost_filter *table = series->tables[dot.actor & (MOST_TABLES - 1)];
    roost_status status = table ? series->table_kind->removal.remove_dot(table, changed, hash, dot) : ROOST_OK;
    series_shrink(series);
    return status;
}

static uint64_t series_actor(const roost_filter *filter)
{
    const struct series *series = as_const_series(filter);
    for (uint32_t i = 0; i < series->count && series->table_kind->replica.actor; i++)
        if (series->tables[i] && series->table_kind->replica.actor(series->tables[i]))
            return series->table_kind->replica.actor(series->tables[i]);
    return series->actor;
}

/* ---- merge and compare ------------------------------------------------------------------------------------------- */

static bool is_missing(const struct series *series, uint32_t index)
{
    return !series->tables[index] || series->table_kind->lattice.is_bottom(series->tables[index]);
}

/* Whether `other` has seen anything that this series has not. */
static bool lacks_in_table(const struct series *series, const struct series *other, uint32_t index)
{
    if (is_missing(other, index))
        return false;
    return is_missing(series, index) ||
           (series->table_kind->lattice.compare(series->tables[index], other->tables[index]) & ROOST_BEFORE);
}

roost_status series_copy_table(struct series *series, uint32_t index, roost_filter **copy)
{
    const roost_filter *old = series->tables[index];
    roost_status status = old ? series->table_kind->lifecycle.clone(old, copy) : new_table(series, index, copy);
    if (status != ROOST_OK)
        return status;
    join_series(series, *copy, index);
    if (old && series->table_kind->table.take_over)
        series->table_kind->table.take_over(*copy, old);
    return ROOST_OK;
}

/* A new table with the merge of both; the old one stays as it is. */
static roost_status merged_table(struct series *series, const struct series *other, uint32_t index,
                                 roost_filter **merged)
{
    bool changed;
    roost_status status = series_copy_table(series, index, merged);
    return status == ROOST_OK ? series->table_kind->lattice.merge(*merged, &changed, other->tables[index]) : status;
}

void series_replace_table(struct series *series, uint32_t index, roost_filter *table)
{
    roost_filter_free(series->tables[index]);
    put_table(series, index, table);
}

static void note_entry(void *context, const struct quota_entry *entry)
{
    struct series *series = context;
    journal_note(series->base.journal, QUOTA_TABLE, entry->from, entry->table);
}

bool series_take_quota(struct series *series, const struct quota *other)
{
    return quota_merge(&series->quota, other, note_entry, series);
}

static roost_status merge_quota(struct series *series, bool *changed, const struct series *other)
{
    if (!quota_lacks(&series->quota, &other->quota))
        return ROOST_OK;
    if (!quota_reserve(&series->quota, &series->base.environment.allocator, other->quota.count))
        return ROOST_NO_MEMORY;
    *changed |= series_take_quota(series, &other->quota);
    return ROOST_OK;
}

static roost_status series_merge(roost_filter *filter, bool *changed, const roost_filter *other_filter)
{
    struct series *series = as_series(filter);
    const struct series *other = as_const_series(other_filter);
    roost_filter *fresh[MOST_TABLES] = {NULL};
    uint64_t next_change = filter->journal->next;
    roost_status status = ROOST_OK;
    *changed = false;
    for (uint32_t i = 0; i < other->count && status == ROOST_OK; i++)
        if (lacks_in_table(series, other, i))
            status = merged_table(series, other, i, &fresh[i]);
    if (status == ROOST_OK)
        status = merge_quota(series, changed, other);
    for (uint32_t i = 0; i < MOST_TABLES; i++) {
        if (fresh[i] && status == ROOST_OK) {
            series_replace_table(series, i, fresh[i]);
            *changed = true;
        } else {
            roost_filter_free(fresh[i]);
        }
    }
    if (status != ROOST_OK && filter->journal->next != next_change)
        journal_forget(filter->journal);
    series_shrink(series);
    return status;
}

static bool lacks_any(const struct series *series, const struct series *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        if (lacks_in_table(series, other, i))
            return true;
    return quota_lacks(&series->quota, &other->quota);
}

static roost_order series_compare(const roost_filter *filter, const roost_filter *other)
{
    const struct series *first = as_const_series(filter), *second = as_const_series(other);
    return (lacks_any(first, second) ? ROOST_BEFORE : 0) | (lacks_any(second, first) ? ROOST_AFTER : 0);
}

static uint128 hash_of_sum(uint64_t seed, uint32_t index, uint128 sum)
{
    uint8_t bytes[24];
    store_double_word(bytes, sum);
    store_word(bytes + 16, index);
    return hash_to_number(hash_bytes(seed, bytes, sizeof bytes));
}

static uint128 series_digest(roost_filter *filter)
{
    struct series *series = as_series(filter);
    uint128 digest = 0;
    for (uint32_t i = 0; i < series->count; i++)
        if (!is_missing(series, i))
            digest += hash_of_sum(filter->config->seed, i, series->table_kind->lattice.digest(series->tables[i]));
    for (size_t i = 0; i < series->quota.count; i++) {
        const struct quota_entry *entry = &series->quota.entries[i];
        uint128 amount = (uint128)entry->amount << 64 | entry->from;
        digest += hash_of_sum(filter->config->seed + entry->to, MOST_TABLES + entry->table, amount);
    }
    return digest;
}

static bool series_precompute_digest(roost_filter *filter, uint64_t *effort)
{
    const struct series *series = as_series(filter);
    bool more = false;
    for (uint32_t i = 0; i < series->count && series->table_kind->lattice.precompute_digest; i++)
        more |= series->tables[i] && series->table_kind->lattice.precompute_digest(series->tables[i], effort);
    return more;
}

/* ---- transfer of shares ------------------------------------------------------------------------------------------ */

/*
 * The actor that has used two thirds or more of what it has of this table, and went on farthest beyond; 0: none. Not
 * all, since it would have begun another table before the transfer arrives; and more than the giver keeps (half), so
 * that two replicas do not transfer to each other for ever.
 */
static uint64_t neediest(const struct series *series, uint32_t index, const struct table_plan *plan)
{
    uint64_t needy = 0, most = 0;
    for (size_t i = 0; i < series->quota.count; i++) {
        const struct quota_entry *entry = &series->quota.entries[i];
        if (entry->from != entry->to || entry->table != index || entry->from == series->actor)
            continue;
        uint64_t beyond = 1;
        for (uint32_t later = index + 1; later < MOST_TABLES; later++)
            beyond += quota_spent(&series->quota, later, entry->from);
        uint64_t left = quota_left(&series->quota, index, entry->from, plan->share);
        if (left <= entry->amount / 2 && beyond > most) {
            needy = entry->from;
            most = beyond;
        }
    }
    return needy;
}

/* The giver keeps as much as it has used so far, for further additions. */
static uint64_t idle_part(const struct series *series, uint32_t index, const struct table_plan *plan)
{
    uint64_t left = quota_left(&series->quota, index, series->actor, plan->share);
    uint64_t spent = quota_spent(&series->quota, index, series->actor);
    return left > spent ? left - spent : 0;
}

static roost_status series_transfer_shares(roost_filter *filter, bool *gave)
{
    struct series *series = as_series(filter);
    struct table_plan plan;
    leave_inherited(filter);
    if (series->table_kind->table.elements ||
        !series->actor) /* a replica that never added has no share: mirrors must not use them up */
        return ROOST_OK;
    for (uint32_t i = 0; i < series->count && plan_of(series, i, &plan); i++) {
        uint64_t needy = neediest(series, i, &plan);
        if (!needy)
            continue;
        roost_status status = ready_quota(series);
        if (status != ROOST_OK)
            return status;
        uint64_t idle = idle_part(series, i, &plan);
        if (idle == 0)
            continue;
        quota_raise(&series->quota, i, series->actor, needy, idle);
        journal_note(filter->journal, QUOTA_TABLE, series->actor, i);
        *gave = true;
    }
    return ROOST_OK;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void add_table_info(roost_info *info, const roost_info *table)
{
    info->elements += table->elements;
    info->entries += table->entries;
    info->overflow += table->overflow;
    info->bits += table->bits;
    info->probes = table->probes;
    info->buckets += table->buckets;
    info->actors = info->actors > table->actors ? info->actors : table->actors;
    info->dots += table->dots;
    info->inserted += table->inserted;
    info->gaps += table->gaps;
    info->tables++;
}

/* The same element in a table that is not finer: its classes begin with those. */
static struct place coarser(struct place place, struct cuckoo_geometry fine, struct cuckoo_geometry coarse)
{
    uint32_t levels = fine.level - coarse.level;
    return (struct place){place.bucket >> levels, place.other >> levels,
                          place.fingerprint >> (fine.extra_bits - coarse.extra_bits)};
}

/* What an entry of a table adds to the number of elements that a coarser one holds as well: a class with several
   entries counts once. */
static double held_before(const struct series *series, uint32_t index, struct place place)
{
    const struct cuckoo_table *table = series->table_kind->table.slots(series->tables[index]);
    struct slot_match matches[MOST_MATCHES];
    for (uint32_t i = 0; i < index; i++) {
        const struct cuckoo_table *other =
            series->tables[i] ? series->table_kind->table.slots(series->tables[i]) : NULL;
        struct place before = other ? coarser(place, table->geometry, other->geometry) : place;
        if (!other || !cuckoo_table_contains(other, &before))
            continue;
        if (table->geometry.tag_bits == 0)
            return 1;
        uint64_t copies = stash_copies(&table->stash, class_key(place, table->geometry));
        return 1 / (double)(copies + cuckoo_table_matches(table, &place, matches));
    }
    return 0;
}

/* How many elements of a table a coarser one holds too, from every `stride`-th row. */
static double held_twice(const struct series *series, uint32_t index, uint32_t stride)
{
    const struct cuckoo_table *table = series->table_kind->table.slots(series->tables[index]);
    double held = 0, stashed = 0;
    for (uint32_t row = 0; row < cuckoo_table_rows(table); row += stride) {
        uint32_t fingerprints[8], count = cuckoo_table_bucket(table, row, fingerprints);
        for (uint32_t i = 0; i < count; i++)
            held += held_before(series, index, cuckoo_table_place(table, row, fingerprints[i]));
    }
    for (uint64_t node = 0; node < table->stash.used; node += stride)
        if (table->stash.nodes[node].key)
            stashed += held_before(series, index, place_of_class(table->stash.nodes[node].key, table->geometry));
    return (held + stashed) * stride;
}

/* Replicas that grew apart put one element in different tables, which each report it. In a multiset these are copies.
 */
static void count_once(const struct series *series, roost_info *info, uint32_t most_rows)
{
    if (!series->table_kind->table.slots || series->base.config->multiset)
        return;
    for (uint32_t i = 1; i < series->count; i++)
        if (may_hold(series, i)) {
            uint32_t rows = cuckoo_table_rows(series->table_kind->table.slots(series->tables[i]));
            info->elements -= held_twice(series, i, rows / most_rows + 1);
        }
    info->elements = info->elements > 0 ? info->elements : 0;
}

typedef void table_report(const roost_filter *table, roost_info *info);

static void report(const roost_filter *filter, roost_info *info, table_report *report_table)
{
    const struct series *series = as_const_series(filter);
    double right = 1, slots = 0;
    info->tables = 0;
    for (uint32_t i = 0; i < series->count; i++) {
        roost_info table = {0};
        if (!series->tables[i])
            continue;
        report_table(series->tables[i], &table);
        add_table_info(info, &table);
        right *= 1 - table.fpr_now;
        slots += table.load > 0 ? (double)table.entries / table.load : 0;
    }
    info->fpr_now = 1 - right;
    info->load = slots > 0 ? (double)info->entries / slots : 0;
    info->promise_holds = info->fpr_now <= filter->config->fpr;
    info->bytes_memory = series_bytes(filter);
    info->growth_limit = series_most_elements(filter->config, series->buckets);
    info->journal = journal_length(filter->journal);
    if (filter->config->kind == ROOST_BLOOM) {
        info->inserted = quota_spent_at_all(&series->quota);
        info->elements = (double)info->inserted;
        info->actors = quota_actors(&series->quota);
    }
}

static void series_info(const roost_filter *filter, roost_info *info)
{
    report(filter, info, as_const_series(filter)->table_kind->report.info);
    count_once(as_const_series(filter), info, UINT32_MAX);
}

static void series_estimate(const roost_filter *filter, roost_info *info)
{
    const struct filter_kind *kind = as_const_series(filter)->table_kind;
    report(filter, info, kind->report.estimate ? kind->report.estimate : kind->report.info);
    count_once(as_const_series(filter), info, SAMPLED_ROWS);
}

static void series_brief(const roost_filter *filter, roost_info *info)
{
    const struct filter_kind *kind = as_const_series(filter)->table_kind;
    report(filter, info, kind->report.brief ? kind->report.brief : kind->report.info);
}

static bool follows_plan(const struct series *series, uint32_t index)
{
    struct table_plan plan;
    const roost_filter *table = series->tables[index];
    if (!plan_of(series, index, &plan) || table->config->capacity != plan.capacity || table->config->fpr != plan.fpr)
        return false;
    if (!series->table_kind->table.geometry)
        return true;
    struct cuckoo_geometry real = series->table_kind->table.geometry(table), planned = planned_geometry(series, &plan);
    return memcmp(&real, &planned, sizeof real) == 0;
}

static bool belongs(const struct series *series, uint32_t index)
{
    const roost_filter *table = series->tables[index];
    return index < series->count && table->journal == series->base.journal && table->table == index &&
           table->in_series && follows_plan(series, index);
}

static roost_status series_check(const roost_filter *filter)
{
    const struct series *series = as_const_series(filter);
    roost_status status = quota_check(&series->quota) ? ROOST_OK : ROOST_CORRUPT;
    for (uint32_t i = 0; i < MOST_TABLES && status == ROOST_OK; i++) {
        if (!series->tables[i])
            continue;
        status = belongs(series, i) ? series->table_kind->report.check(series->tables[i]) : ROOST_CORRUPT;
    }
    return status;
}

#define COMMON                                                                                                         \
    .lifecycle = {.resolve = series_resolve,                                                                           \
                  .is_resolved = series_is_resolved,                                                                   \
                  .open = series_open,                                                                                 \
                  .close = series_close,                                                                               \
                  .clone = series_clone},                                                                              \
    .set.contains = series_contains, .set.capacity = series_capacity,                                                  \
    .lattice = {.merge = series_merge,                                                                                 \
                .compare = series_compare,                                                                             \
                .digest = series_digest,                                                                               \
                .precompute_digest = series_precompute_digest},                                                        \
    .encoding = {.write_geometry = series_write_geometry,                                                              \
                 .write_state = series_write_state,                                                                    \
                 .read_state = series_read_state},                                                                     \
    .delta = {.write = series_write_delta, .merge = series_merge_delta}, .sync.summarize = series_summarize,           \
    .sync.resolve_positions = series_resolve_positions,                                                                \
    .replica = {.actor = series_actor,                                                                                 \
                .write = series_write_replica,                                                                         \
                .read = series_read_replica,                                                                           \
                .forget = series_forget_replica},                                                                      \
    .journal.is_change = series_is_change, .incremental.copy_open = FOR_SERVERS(series_copy_open),                     \
    .incremental.copy_some = FOR_SERVERS(series_copy_some), .incremental.copy_rest = FOR_SERVERS(series_copy_rest),    \
    .incremental.cut = FOR_SERVERS(series_cut), .incremental.move = FOR_SERVERS(series_move),                          \
    .report = {.info = series_info,                                                                                    \
               .estimate = FOR_SERVERS(series_estimate),                                                               \
               .brief = FOR_SERVERS(series_brief),                                                                     \
               .memory = series_bytes,                                                                                 \
               .check = FOR_SERVERS(series_check)}

const struct filter_kind series_bloom_kind = {
    .code = ROOST_BLOOM,
    .name = "scalable bloom",
    COMMON,
    .set.add = series_add,
    .sync.extent = series_extent,
    .sync.write_extra = series_write_extra,
    .sync.read_extra = series_read_extra,
    .sync.take_extra = series_take_extra,
    .sync.transfer_shares = series_transfer_shares,
};

const struct filter_kind series_gcuckoo_kind = {
    .code = ROOST_CUCKOO,
    .name = "scalable cuckoo",
    COMMON,
    .set.add = series_add,
    .sync.extent = series_extent,
};

const struct filter_kind series_orcuckoo_kind = {
    .code = ROOST_ORCUCKOO,
    .name = "scalable orcuckoo",
    COMMON,
    .set.add = series_add_removable,
    .removal.add_dot = series_add_dot,
    .removal.remove = series_remove,
    .removal.remove_one = series_remove_one,
    .removal.remove_dot = series_remove_dot,
    .removal.count = series_count,
    .causal.context = series_causal,
    .causal.context_at = series_causal_at,
    .causal.write_dots = series_write_dots,
    .journal.numbers_after_decode = series_numbers_after_decode,
    .journal.numbers_before_decode = series_numbers_before_decode,
    .incremental.sweep = FOR_SERVERS(series_sweep),
};
