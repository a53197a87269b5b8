/*
 * The scalable grow-only cuckoo filter (ScGCF): a set of hash prefixes of several lengths in one table.
 *
 * The thesis "Conflict-Free Replicated Probabilistic Filter" (2024), section 3.5, grows by further tables, and every
 * look-up asks them all. Here what distinguishes the tables, the length of their fingerprints, is a property of each
 * entry, and all entries are in one table (../prefix/table.c).
 *
 *     state      a set of prefixes, none of which covers another            { 0110100111, 10110001011100, ... }
 *     contains   some prefix of the hash is in the set
 *     add        unless it is contained: the prefix of the first length with room (budget.c); what it covers goes
 *     merge      union, without what is covered
 *     order      each prefix of the one is covered by a prefix of the other
 *     digest     sum of the hashes of all prefixes
 *     rate       sum of 2^-L over the prefixes, exactly: they are disjoint
 *
 * Merge is the union of the sets of all strings that begin with one of the prefixes; so it is idempotent, commutative
 * and associative, and the prefixes are the shortest strings of such a set: equal sets have equal prefixes.
 *
 * Merging changes nothing but by union: there are no shares of the capacity, and nothing travels beside the set.
 *
 * Worked example: 1 %, one writer, capacity unknown. The first prefixes have 25 bits, and there is room for 26,991 of
 * them: 26,991 / 2^25 = 0.080 %. At 2^20 keys those of 30 bits are in use.
 */
#include "growing_cuckoo.h"

#include <math.h>
#include <string.h>

#include "prefix_bytes.h"
#include "../filter/configuration.h"
#include "../base/hash.h"
#include "../base/sort.h"

/* Additions at once, so that their memory is on its way. */
#define BATCH 256

static inline struct growing_cuckoo *as_growing(roost_filter *filter)
{
    return (struct growing_cuckoo *)filter;
}

static inline const struct growing_cuckoo *as_const_growing(const roost_filter *filter)
{
    return (const struct growing_cuckoo *)filter;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static roost_status growing_resolve(roost_config *config)
{
    resolve_prefixes(config);
    return !config->multiset && prefixes_are_resolved(config) ? ROOST_OK : ROOST_INVALID;
}

/* The first length with room. Other replicas may have filled some lengths and not others. */
static void find_level(struct growing_cuckoo *growing)
{
    const uint64_t *capacity = shared_of(growing)->budget.capacity;
    uint64_t counts[MOST_LENGTH + 1];
    unsigned length = 0;
    set_counts(&growing->set, counts);
    while (length <= MOST_LENGTH && counts[length] >= capacity[length])
        length++;
    growing->length = (uint8_t)length;
    if (growing->set.in_table)
        expect_lengths(growing->set.table, &shared_of(growing)->budget, length);
}

/* Whether a writer who sees this may add no more prefixes of the length that is in use. */
static bool is_level_full(const struct growing_cuckoo *growing)
{
    if (growing->length > MOST_LENGTH)
        return true;
    uint64_t capacity = shared_of(growing)->budget.capacity[growing->length];
    return set_count(&growing->set) >= capacity && set_count_of(&growing->set, growing->length) >= capacity;
}

static struct growing_cuckoo *allocate_part(const roost_config *config, const roost_environment *environment,
                                            uint8_t cut)
{
    bool keeps;
    const struct shared *shared = shared_open(config, environment, cut, &keeps);
    if (!shared)
        return NULL;
    struct growing_cuckoo *growing = memory_allocate(&environment->allocator, sizeof *growing);
    if (!growing) {
        shared_close(shared, keeps, &environment->allocator);
        return NULL;
    }
    growing->base = (struct roost_filter){.kind = &growing_cuckoo_kind,
                                          .config = &shared->config,
                                          .environment = {environment->allocator, &shared->environment},
                                          .journal = &no_journal};
    growing->keeps_shared = keeps;
    find_level(growing);
    return growing;
}

static struct growing_cuckoo *allocate(const roost_config *config, const roost_environment *environment)
{
    return allocate_part(config, environment, 0);
}

static void growing_close(roost_filter *filter)
{
    const roost_allocator allocator = filter->environment.allocator;
    set_release(&as_growing(filter)->set, filter);
    release_journal(filter);
    shared_close(shared_of(as_growing(filter)), as_growing(filter)->keeps_shared, &allocator);
    memory_release(&allocator, filter);
}

static roost_status open_any(roost_filter **filter, const roost_config *config, const roost_environment *environment)
{
    *filter = NULL;
    if (sizeof(struct growing_cuckoo) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct growing_cuckoo *growing = allocate(config, environment);
    if (!growing)
        return ROOST_NO_MEMORY;
    *filter = &growing->base;
    return ROOST_OK;
}

static roost_status growing_open(roost_filter **filter, const roost_config *config,
                                 const roost_environment *environment, struct bit_reader *geometry)
{
    roost_status status = open_any(filter, config, environment);
    if (status != ROOST_OK || geometry || as_growing(*filter)->length <= MOST_LENGTH)
        return status;
    growing_close(*filter); /* a new filter to which nothing can be added */
    *filter = NULL;
    return ROOST_INVALID;
}

roost_status growing_cuckoo_open_part(roost_filter **filter, const roost_filter *alike, uint8_t cut)
{
    roost_environment environment = whole_environment(alike);
    /* A part works while its lock is held, for which the threads of an executor may wait. */
    environment.executor = (roost_executor){0};
    struct growing_cuckoo *part = allocate_part(alike->config, &environment, cut);
    *filter = part ? &part->base : NULL;
    return part ? ROOST_OK : ROOST_NO_MEMORY;
}

roost_status growing_cuckoo_from(roost_filter **filter, const roost_filter *alike, uint64_t count, next_prefix *next,
                                 void *context)
{
    const roost_environment environment = whole_environment(alike);
    roost_status status = open_any(filter, alike->config, &environment);
    if (status == ROOST_OK && count > 0)
        status = set_build(&as_growing(*filter)->set, *filter, count, next, context);
    if (status == ROOST_OK)
        find_level(as_growing(*filter));
    else if (*filter) {
        growing_close(*filter);
        *filter = NULL;
    }
    return status;
}

static roost_status growing_clone(const roost_filter *filter, roost_filter **copy)
{
    const roost_environment environment = whole_environment(filter);
    struct growing_cuckoo *twin = allocate(filter->config, &environment);
    roost_status status = twin ? set_copy(&twin->set, &twin->base, &as_const_growing(filter)->set) : ROOST_NO_MEMORY;
    if (status == ROOST_OK) {
        twin->length = as_const_growing(filter)->length;
        *copy = &twin->base;
    } else if (twin)
        growing_close(&twin->base);
    return status;
}

static roost_status growing_copy_open(const roost_filter *filter, roost_filter **copy,
                                      const roost_environment *environment)
{
    *copy = NULL;
    return open_any(copy, filter->config, environment);
}

static roost_status growing_copy_rest(roost_filter *filter, roost_filter *copy)
{
    roost_status status = set_copy(&as_growing(copy)->set, copy, &as_growing(filter)->set);
    if (status == ROOST_OK)
        find_level(as_growing(copy));
    return status;
}

static bool growing_move(roost_filter *filter, const struct memory_mover *mover, uint64_t place)
{
    if (place == 0)
        move_journal(filter, mover);
    return set_move(&as_growing(filter)->set, mover, place);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static roost_status add_hash(struct growing_cuckoo *growing, uint64_t hash)
{
    if (is_level_full(growing)) {
        find_level(growing);
        if (growing->length > MOST_LENGTH)
            return ROOST_FULL;
    }
    if (growing->set.in_table)
        prepare_length(growing->set.table, &shared_of(growing)->budget, growing->length);
    uint64_t prefix = prefix_of(hash, growing->length);
    roost_status status = set_add(&growing->set, &growing->base, prefix);
    if (status == ROOST_OK)
        note(&growing->base, prefix_position(prefix), 0);
    return status;
}

/* Those that only take a slot, from the first on. Returns how many hashes that concerned. */
static size_t add_some(struct growing_cuckoo *growing, bool *added, const roost_hash *hashes, size_t count)
{
    if (!growing->set.in_table || growing->length > MOST_LENGTH)
        return 0;
    struct prefix_table *table = growing->set.table;
    uint64_t capacity = shared_of(growing)->budget.capacity[growing->length], held = table->counts[growing->length];
    uint64_t room = capacity > held ? capacity - held : 0;
    prepare_length(table, &shared_of(growing)->budget, growing->length);
    size_t done = table_add_many(table, added, hashes, count < room ? count : room, growing->length);
    for (size_t i = 0; i < done && journal_is_on(growing->base.journal); i++)
        if (added[i])
            note(&growing->base, prefix_position(prefix_of(hashes[i].high, growing->length)), 0);
    return done;
}

static roost_status growing_add(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes,
                                size_t count)
{
    struct growing_cuckoo *growing = as_growing(filter);
    bool added[BATCH];
    for (*done = 0; *done < count;) {
        const roost_hash *next = hashes + *done;
        size_t some = add_some(growing, added, next, count - *done < BATCH ? count - *done : BATCH);
        if (some == 0) {
            added[0] = !set_contains(&growing->set, next->high);
            roost_status status = added[0] ? add_hash(growing, next->high) : ROOST_OK;
            if (status != ROOST_OK)
                return status;
            some = 1;
        }
        if (changed)
            memcpy(changed + *done, added, some * sizeof *added);
        *done += some;
    }
    return ROOST_OK;
}

static void growing_contains(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    set_contains_many(&as_const_growing(filter)->set, found, hashes, count);
}

static bool growing_contains_one(const roost_filter *filter, roost_hash hash)
{
    return set_contains(&as_const_growing(filter)->set, hash.high);
}

/* Of all levels up to the one that is in use. */
static uint64_t growing_capacity(const roost_filter *filter)
{
    const struct budget *budget = &shared_of(as_const_growing(filter))->budget;
    uint64_t capacity = 0;
    for (unsigned length = 0; length <= MOST_LENGTH && length <= as_const_growing(filter)->length; length++)
        capacity += budget->capacity[length];
    return capacity;
}

/* ---- sets of prefixes that come from elsewhere ------------------------------------------------------------------- */

/* Of a sorted list, what none of the others covers. Returns how many. */
static uint64_t drop_covered(uint64_t *prefixes, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        while (kept > 0 && prefixes[kept - 1] != prefixes[i] && covers_prefix(prefixes[i], prefixes[kept - 1]))
            kept--;
        if (kept == 0 || !covers_prefix(prefixes[kept - 1], prefixes[i]))
            prefixes[kept++] = prefixes[i];
    }
    return kept;
}

/* Of a list, what the filter does not cover. Returns how many. */
static uint64_t drop_known(const struct growing_cuckoo *growing, uint64_t *prefixes, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (!set_covers(&growing->set, prefixes[i]))
            prefixes[kept++] = prefixes[i];
    return kept;
}

/* What changes whenever so many prefixes have come; those of the list, if the journal is on. */
static void note_added(struct growing_cuckoo *growing, bool *changed, const uint64_t *prefixes, uint64_t count)
{
    if (journal_is_on(growing->base.journal) && !journal_takes(growing->base.journal, count))
        journal_forget(growing->base.journal);
    else
        for (uint64_t i = 0; i < count && journal_is_on(growing->base.journal); i++)
            note(&growing->base, prefix_position(prefixes[i]), 0);
    find_level(growing);
    *changed |= count > 0;
}

/* Takes in a sorted list, none of which covers another or is covered: all of it, or nothing. */
static roost_status take_in(struct growing_cuckoo *growing, bool *changed, const uint64_t *prefixes, uint64_t count)
{
    roost_status status = set_add_all(&growing->set, &growing->base, prefixes, count);
    if (status == ROOST_OK)
        note_added(growing, changed, prefixes, count);
    return status;
}

/* All that a source has and the filter does not cover, in order. To be released, also after a failure. About how many
   come from the source decides how they are looked up. */
static roost_status list_new(const struct growing_cuckoo *growing, struct longer_list *list, next_prefix *next,
                             void *context, uint64_t about)
{
    const struct prefix_set *set = &growing->set;
    const bool in_order = set->in_table && about >= set->table->count / 4;
    roost_status status = ROOST_OK;
    struct cover_cursor cursor = {.at = 0};
    if (in_order)
        cover_begin(&cursor, set->table);
    for (uint64_t prefix; status == ROOST_OK && (prefix = next(context)) != 0;) {
        bool covered = false;
        if (in_order)
            status = cover_next(&cursor, prefix, &covered);
        else
            covered = set_covers(set, prefix);
        if (status == ROOST_OK && !covered && !prefixes_append(list, &prefix, 1, &growing->base.environment.allocator))
            status = ROOST_NO_MEMORY;
    }
    if (in_order)
        cover_end(&cursor);
    return status;
}

/* ---- lattice ----------------------------------------------------------------------------------------------------- */

static bool are_equal(const struct growing_cuckoo *growing, const struct growing_cuckoo *other)
{
    return set_equals(&growing->set, &other->set, growing->base.config->seed);
}

static roost_status growing_merge(roost_filter *filter, bool *changed, const roost_filter *other)
{
    struct growing_cuckoo *growing = as_growing(filter);
    struct merge_result result = {.lists = journal_is_on(filter->journal)};
    if (are_equal(growing, as_const_growing(other)))
        return ROOST_OK;
    roost_status status = set_merge(&growing->set, filter, &as_const_growing(other)->set, &result);
    if (status == ROOST_OK)
        note_added(growing, changed, result.added.prefixes, result.unseen);
    memory_release(&filter->environment.allocator, result.added.prefixes);
    return status;
}

/* Whether the other covers all. Both are walked in order, unless there is no memory for that. */
static bool is_included(const struct growing_cuckoo *growing, const struct growing_cuckoo *other)
{
    struct set_stream stream;
    struct cover_cursor cursor = {.at = 0};
    const bool in_order = other->set.in_table && set_count(&growing->set) >= other->set.table->count / 4;
    bool covered = true;
    roost_status status = ROOST_OK;
    set_stream_begin(&stream, &growing->set);
    set_stream_skip(&stream, &other->set);
    if (in_order)
        cover_begin(&cursor, other->set.table);
    for (uint64_t prefix; status == ROOST_OK && covered && (prefix = next_of_set(&stream)) != 0;)
        if (in_order)
            status = cover_next(&cursor, prefix, &covered);
        else
            covered = set_covers(&other->set, prefix);
    set_stream_end(&stream);
    if (in_order)
        cover_end(&cursor);
    if (status != ROOST_OK || stream.table.status != ROOST_OK)
        return set_covers_all(&other->set, &growing->set);
    return covered;
}

static roost_order growing_compare(const roost_filter *filter, const roost_filter *other)
{
    const struct growing_cuckoo *here = as_const_growing(filter), *there = as_const_growing(other);
    if (are_equal(here, there))
        return ROOST_EQUAL;
    return (is_included(there, here) ? 0 : ROOST_BEFORE) | (is_included(here, there) ? 0 : ROOST_AFTER);
}

static uint128 growing_digest(roost_filter *filter)
{
    return set_sum(&as_growing(filter)->set, filter->config->seed);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static void growing_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    (void)filter;
    (void)writer;
}

static struct prefix_census census_of(const struct prefix_set *set)
{
    struct prefix_census census = {.count = set_count(set)};
    uint64_t counts[MOST_LENGTH + 1];
    set_counts(set, counts);
    for (unsigned length = MOST_LENGTH + 1; length-- > 0;)
        if (counts[length]) {
            census.longest = census.longest ? census.longest : (uint8_t)length;
            census.shortest = (uint8_t)length;
        }
    return census;
}

static roost_status growing_write_state(const roost_filter *filter, struct bit_writer *writer)
{
    const struct prefix_set *set = &as_const_growing(filter)->set;
    struct set_stream stream;
    if (set->in_table && is_cut_for_tasks(&set->table->executor, set->table->count))
        return write_table(writer, census_of(set), set->table);
    set_stream_begin(&stream, set);
    roost_status status = write_prefixes(writer, census_of(set), next_of_set, &stream, &filter->environment.allocator);
    set_stream_end(&stream);
    return stream.table.status != ROOST_OK ? stream.table.status : status;
}

static bool has_census(const struct prefix_set *set, struct prefix_census census)
{
    struct prefix_census real = census_of(set);
    return real.count == census.count && real.shortest == census.shortest && real.longest == census.longest;
}

static roost_status growing_read_state(roost_filter *filter, struct bit_reader *reader)
{
    struct growing_cuckoo *growing = as_growing(filter);
    struct prefix_reader prefixes;
    prefix_reader_begin(&prefixes, reader, &filter->environment.allocator);
    roost_status status = prefixes.status;
    if (status == ROOST_OK && prefixes.census.count > 0)
        status = set_read(&growing->set, filter, &prefixes);
    if (status == ROOST_OK && !has_census(&growing->set, prefixes.census))
        status = ROOST_CORRUPT;
    prefix_reader_end(&prefixes);
    if (status != ROOST_OK)
        set_release(&growing->set, filter);
    find_level(growing);
    return status;
}

/* ---- deltas ------------------------------------------------------------------------------------------------------ */

/* A sorted list, none of which covers another. */
static roost_status write_list(const roost_filter *filter, struct bit_writer *writer, const uint64_t *prefixes,
                               uint64_t count)
{
    uint64_t ends = 0;
    for (uint64_t i = 0; i < count; i++)
        ends |= end_mark(prefixes[i]);
    struct prefix_census census = {.count = count};
    if (count > 0) {
        census.longest = (uint8_t)prefix_length(ends);
        census.shortest = (uint8_t)(63 - highest_bit(ends));
    }
    struct prefix_list list = {prefixes, count};
    return write_prefixes(writer, census, next_of_list, &list, &filter->environment.allocator);
}

static roost_status growing_write_delta(const roost_filter *filter, struct bit_writer *writer,
                                        struct selection selection)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    uint64_t most = count_selected(filter->journal, selection), count = 0;
    uint64_t *prefixes = memory_allocate(allocator, 2 * (most + 1) * sizeof *prefixes);
    if (!prefixes)
        return ROOST_NO_MEMORY;
    for (uint64_t record; next_selected(filter->journal, &selection, &record);)
        prefixes[count++] = prefix_at(journal_change(filter->journal, record)->key);
    sort_numbers(prefixes, prefixes + most + 1, count, 64);
    roost_status status = write_list(filter, writer, prefixes, drop_covered(prefixes, count));
    memory_release(allocator, prefixes);
    return status;
}

static roost_status growing_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    struct prefix_reader prefixes;
    *changed = false;
    prefix_reader_begin(&prefixes, reader, &filter->environment.allocator);
    roost_status status = prefixes.status;
    if (status == ROOST_OK && prefixes.census.count > 0) {
        struct longer_list list = {0};
        status = list_new(as_growing(filter), &list, next_of_reader, &prefixes, prefixes.census.count);
        if (status == ROOST_OK)
            status = prefixes.status;
        if (status == ROOST_OK && reader_bits_left(reader) != 0)
            status = ROOST_CORRUPT;
        if (status == ROOST_OK)
            status = take_in(as_growing(filter), changed, list.prefixes, list.count);
        memory_release(&filter->environment.allocator, list.prefixes);
    } else if (status == ROOST_OK && reader_bits_left(reader) != 0)
        status = ROOST_CORRUPT;
    prefix_reader_end(&prefixes);
    return status;
}

/* A state as many deltas: the prefixes of some segments each. */
static roost_status growing_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                                struct delta_sink *sink)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    struct set_stream stream;
    uint64_t at_once = bytes / BYTES_A_PLACE + 1, count = 1, *prefixes = memory_allocate(allocator, at_once * 8);
    roost_status status = prefixes ? ROOST_OK : ROOST_NO_MEMORY;
    (void)known;
    set_stream_begin(&stream, &as_const_growing(filter)->set);
    while (status == ROOST_OK && count > 0) {
        uint64_t prefix = 0;
        for (count = 0; count < at_once && (prefix = next_of_set(&stream)) != 0; count++)
            prefixes[count] = prefix;
        struct bit_writer writer;
        bit_writer_init(&writer, *allocator);
        status = stream.table.status;
        if (status == ROOST_OK && count > 0)
            status = write_list(filter, &writer, prefixes, count);
        if (status == ROOST_OK && count > 0)
            status = sink->take(sink, &writer);
        bit_writer_release(&writer);
    }
    set_stream_end(&stream);
    memory_release(allocator, prefixes);
    return status;
}

static bool growing_is_change(const roost_filter *filter, uint8_t table, struct change change)
{
    (void)filter;
    return table == 0 && change.tag == 0 && is_position(change.key);
}

/* ---- sync without cursors ---------------------------------------------------------------------------------------- */

static uint64_t growing_extent(const roost_filter *filter)
{
    return UINT64_C(2) << census_of(&as_const_growing(filter)->set).longest;
}

static roost_status growing_visit_positions(const roost_filter *filter, const struct position_visitor *visitor)
{
    return set_visit_positions(&as_const_growing(filter)->set, visitor);
}

struct position_list {
    uint64_t *positions, count;
};

static void list_positions(void *context, const uint64_t *positions, uint64_t count)
{
    struct position_list *list = context;
    memcpy(list->positions + list->count, positions, count * sizeof *positions);
    list->count += count;
}

/* All at once. A sync takes some ranges at a time (../sync/range_members.c), which are to be like this. */
static roost_status growing_summarize(const roost_filter *filter, struct summary *summary,
                                      const struct causal_context *space)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    const struct prefix_set *set = &as_const_growing(filter)->set;
    struct position_list list = {memory_allocate(allocator, (2 * set_count(set) + 1) * sizeof(uint64_t)), 0};
    (void)space;
    if (!list.positions)
        return ROOST_NO_MEMORY;
    roost_status status = set_visit_positions(set, &(struct position_visitor){list_positions, NULL, &list});
    if (status == ROOST_OK)
        summary_of_positions(summary, list.positions, list.count, growing_extent(filter), filter->config->seed);
    else
        memory_release(allocator, list.positions);
    return status;
}

static uint64_t growing_positions(const roost_filter *filter)
{
    return set_count(&as_const_growing(filter)->set);
}

static roost_status growing_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                              const uint64_t *positions, uint64_t count)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    (void)space;
    for (uint64_t i = 0; i < count; i++)
        if (!is_position(positions[i]))
            return ROOST_CORRUPT;
    uint64_t *prefixes = memory_allocate(allocator, 2 * (count + 1) * sizeof *prefixes);
    if (!prefixes)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        prefixes[i] = prefix_at(positions[i]);
    sort_numbers(prefixes, prefixes + count + 1, count, 64);
    count = drop_known(as_growing(filter), prefixes, drop_covered(prefixes, count));
    roost_status status = take_in(as_growing(filter), changed, prefixes, count);
    memory_release(allocator, prefixes);
    return status;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static uint64_t growing_bytes(const roost_filter *filter)
{
    return sizeof(struct growing_cuckoo) + set_bytes(&as_const_growing(filter)->set) + own_journal_bytes(filter);
}

/*
 * An element that is covered already leaves no prefix. While prefixes of length L come, each element leaves one with
 * the probability that it is not covered, so that the part of hashes that is not falls by the factor 1 - 2^-L with each
 * element. The lengths come one after the other.
 */
static double estimate_elements(const uint64_t counts[MOST_LENGTH + 1])
{
    double free = 1, elements = 0;
    for (unsigned length = 0; length <= MOST_LENGTH; length++) {
        if (counts[length] == 0)
            continue;
        double part = ldexp((double)counts[length], -(int)length);
        if (part < free)
            elements += log1p(-part / free) / log1p(-ldexp(1, -(int)length));
        else
            elements += (double)counts[length];
        free -= part;
    }
    return elements;
}

static void growing_info(const roost_filter *filter, roost_info *info)
{
    const struct prefix_set *set = &as_const_growing(filter)->set;
    uint64_t counts[MOST_LENGTH + 1];
    set_counts(set, counts);
    for (unsigned length = 0; length <= MOST_LENGTH; length++) {
        info->fpr_now += counts[length] ? ldexp((double)counts[length], -(int)length) : 0;
        info->growth_limit += shared_of(as_const_growing(filter))->budget.capacity[length];
    }
    info->entries = set_count(set);
    info->shortest_prefix = census_of(set).shortest;
    info->longest_prefix = census_of(set).longest;
    info->elements = estimate_elements(counts);
    info->load = set_load(set);
    info->promise_holds = info->fpr_now <= filter->config->fpr;
    info->bytes_memory = growing_bytes(filter);
    info->journal = journal_length(filter->journal);
}

static roost_status growing_check(const roost_filter *filter)
{
    return set_check(&as_const_growing(filter)->set) ? ROOST_OK : ROOST_CORRUPT;
}

const struct filter_kind growing_cuckoo_kind = {
    .code = ROOST_CUCKOO,
    .name = "scalable cuckoo",
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
    .lattice = {.merge = growing_merge, .compare = growing_compare, .digest = growing_digest},
    .encoding = {.write_geometry = growing_write_geometry,
                 .write_state = growing_write_state,
                 .read_state = growing_read_state},
    .delta = {.write = growing_write_delta, .merge = growing_merge_delta},
    .sync = {.summarize = growing_summarize,
             .visit_positions = growing_visit_positions,
             .positions = growing_positions,
             .universe = growing_extent,
             .resolve_positions = growing_resolve_positions,
             .extent = growing_extent},
    .journal = {.is_change = growing_is_change},
    .incremental = {.copy_open = FOR_SERVERS(growing_copy_open),
                    .copy_rest = FOR_SERVERS(growing_copy_rest),
                    .cut = FOR_SERVERS(growing_cut),
                    .move = FOR_SERVERS(growing_move)},
    .report = {.info = growing_info, .memory = growing_bytes, .check = FOR_SERVERS(growing_check)},
};
