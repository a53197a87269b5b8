/*
 * Observed-remove cuckoo filter (ORCF): a cuckoo filter from which elements can be removed, at any replica, at any
 * time. observed.c has the idea: entries with dots beside a causal context. Here an entry is a fingerprint in a cuckoo
 * table, tagged with its dot, and a class is a fingerprint with its pair of buckets.
 *
 *     entry, 64 bits   | fingerprint 24 | counter 24 | index of the actor 16 |       (bits from the lowest up)
 *     entry, 32 bits   | fingerprint  8 | counter 20 | index of the actor  4 |
 *
 * In a *set* (the default) an add takes the place of the entries that this replica has seen of the element, and remove
 * drops all of them; an addition that is made elsewhere at the same time has a dot that the remove has not seen, and
 * survives: add wins. The fingerprint must then distinguish elements, since a remove takes all of its class with it:
 * with 24 bits, 2^20 elements at full load, another element is in the class of a given one with probability 4.5e-7. In
 * a *multiset* each add makes an entry, and remove_one drops one. That is the thesis's filter; two replicas that remove
 * colliding elements at the same time may then pick the wrong entries, whatever rule they follow (proofs/removal.smt2),
 * and only remove_dot is exact. remove_one picks the smallest dot that it finds in the slots: replicas that remove the
 * same element at the same time then mostly agree, and remove one too few rather than one too many.
 *
 * Capacity. The capacity of a set is a number of elements. Replicas that add the same element apart give it a dot each,
 * and all of these are entries until one of the replicas adds or removes it again. So what is held against the capacity
 * and against the promised rate is the number of *classes* that have entries, which is kept as entries come and go; the
 * table spreads over more rows where the entries need them (cuckoo_table.c). In a multiset every copy counts against
 * the capacity, as in the thesis, since each is there to stay; the rate still follows the classes.
 *
 * Where we differ from the thesis, beyond what observed.c says: in the entries actors are indexes into a table
 * (../causal/actors.h). Merge inserts by the cuckoo procedure. Entries that find no slot, and those of actors that got
 * no index, go to the stash.
 */
#include "orcuckoo.h"

#include <math.h>
#include <string.h>

#include "../cuckoo/cuckoo_size.h"
#include "orcuckoo_plain.h"

#define BATCH             32
#define FEWEST_KICKS      8
#define DEFAULT_BITS      24
#define MOST_BITS         28
#define FEWEST_SET_BITS   16
#define FEWEST_BITS       8
#define NARROW_BITS       8
#define NARROW_COUNTER    20
#define INDEX_BITS        16
#define MOST_COUNTER_BITS 32

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static bool is_width(const roost_config *config, uint32_t bits)
{
    if (config->entry_bits == 32)
        return bits == NARROW_BITS;
    return bits >= (config->multiset ? FEWEST_BITS : FEWEST_SET_BITS) && bits <= MOST_BITS;
}

static bool entries_fit(const roost_config *config)
{
    return config->entry_bits == 64 || (config->entry_bits == 32 && config->multiset);
}

/* What a frame says before its geometry; the rest is read by `read_geometry`. */
static bool orcuckoo_is_resolved(const roost_config *config)
{
    return config->layout == 0 && is_bucket_size(config->bucket_size) && config->fpr > 0 && config->fpr < 1;
}

static uint32_t default_bits(const roost_config *config, struct cuckoo_geometry geometry)
{
    if (config->entry_bits == 32)
        return NARROW_BITS;
    return config->fpr > 0 ? cuckoo_bits_for(config, geometry, DEFAULT_BITS, MOST_BITS) : DEFAULT_BITS;
}

static roost_status orcuckoo_resolve(roost_config *config)
{
    struct cuckoo_geometry geometry;
    config->entry_bits = config->entry_bits ? config->entry_bits : 64;
    if (!is_bucket_size(config->bucket_size) || !entries_fit(config) || !(config->fpr >= 0 && config->fpr < 1))
        return ROOST_INVALID;
    roost_status status = cuckoo_size(&geometry, config);
    if (status != ROOST_OK)
        return status;
    if (geometry.bits == 0)
        geometry.bits = default_bits(config, geometry);
    if (!is_width(config, geometry.bits))
        return ROOST_INVALID;
    double rate = cuckoo_rate_at_capacity(config, geometry);
    config->layout = 0;
    config->fingerprint_bits = geometry.bits;
    config->fpr = config->fpr > 0 ? config->fpr : rate;
    return rate > config->fpr ? ROOST_INVALID : ROOST_OK;
}

static uint32_t counter_bits_for(struct cuckoo_geometry geometry)
{
    if (slot_width(geometry) == 32)
        return NARROW_COUNTER;
    uint32_t bits = geometry.tag_bits - INDEX_BITS;
    return bits < MOST_COUNTER_BITS ? bits : MOST_COUNTER_BITS;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static void orcuckoo_close(roost_filter *base)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    const roost_allocator allocator = base->environment.allocator;
    cuckoo_table_release(&filter->table, &allocator);
    observed_release(&filter->observed);
    memory_release(&allocator, filter);
}

static roost_status read_geometry(struct bit_reader *frame, roost_config *config, struct cuckoo_geometry *geometry)
{
    uint8_t entry_bits = read_byte(frame), multiset = read_byte(frame);
    uint64_t buckets = read_varint(frame);
    config->entry_bits = entry_bits;
    config->multiset = multiset == 1;
    if (frame->failed || multiset > 1 || buckets == 0 || buckets > UINT32_MAX || !entries_fit(config) ||
        !is_width(config, config->fingerprint_bits))
        return ROOST_CORRUPT;
    *geometry = (struct cuckoo_geometry){
        .buckets = (uint32_t)buckets, .bits = config->fingerprint_bits, .bucket_size = config->bucket_size};
    return cuckoo_rate_at_capacity(config, *geometry) > config->fpr ? ROOST_CORRUPT : ROOST_OK;
}

static void orcuckoo_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    write_byte(writer, (uint8_t)filter->config->entry_bits);
    write_byte(writer, filter->config->multiset);
    write_varint(writer, as_const_orcuckoo(filter)->table.geometry.buckets);
}

roost_status orcuckoo_open_with(roost_filter **opened, const roost_config *config, const roost_environment *environment,
                                struct cuckoo_geometry geometry)
{
    if (cuckoo_table_first_bytes(geometry, environment->kicks) + sizeof(struct orcuckoo) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct orcuckoo *filter = memory_allocate(&environment->allocator, sizeof *filter);
    if (!filter)
        return ROOST_NO_MEMORY;
    init_base(&filter->observed.base, &filter->own, &orcuckoo_kind, config, environment);
    filter->observed.store = &orcuckoo_store;
    filter->code = orcuckoo_class_code(geometry);
    filter->counter_bits = counter_bits_for(geometry);
    filter->observed.most_counter = (uint32_t)((UINT64_C(1) << filter->counter_bits) - 1);
    uint32_t index_bits = geometry.tag_bits - filter->counter_bits;
    actors_init(&filter->observed.actors, index_bits < MOST_ACTORS_BITS ? 1u << index_bits : MOST_ACTORS);
    if (!cuckoo_table_init(&filter->table, geometry, environment->kicks, &environment->allocator)) {
        memory_release(&environment->allocator, filter);
        return ROOST_NO_MEMORY;
    }
    set_calls(&filter->observed.base, orcuckoo_calls_for(filter));
    *opened = &filter->observed.base;
    return ROOST_OK;
}

static roost_status orcuckoo_open(roost_filter **opened, const roost_config *given,
                                  const roost_environment *environment, struct bit_reader *frame)
{
    struct cuckoo_geometry geometry;
    roost_config config = *given;
    roost_status status = frame ? read_geometry(frame, &config, &geometry) : cuckoo_size(&geometry, &config);
    if (status != ROOST_OK)
        return status;
    geometry.tag_bits = config.entry_bits - geometry.bits;
    return orcuckoo_open_with(opened, &config, environment, geometry);
}

static roost_status orcuckoo_clone(const roost_filter *base, roost_filter **copy)
{
    const struct orcuckoo *filter = as_const_orcuckoo(base);
    const roost_allocator *allocator = &base->environment.allocator;
    struct orcuckoo *twin = memory_allocate(allocator, sizeof *twin);
    if (!twin)
        return ROOST_NO_MEMORY;
    *twin = *filter;
    twin->table = (struct cuckoo_table){0};
    if (!observed_copy(&twin->observed, &filter->observed) ||
        !cuckoo_table_copy(&twin->table, &filter->table, allocator)) {
        orcuckoo_close(&twin->observed.base);
        return ROOST_NO_MEMORY;
    }
    *copy = &twin->observed.base;
    return ROOST_OK;
}

static roost_status orcuckoo_copy_open(const roost_filter *filter, roost_filter **copy,
                                       const roost_environment *environment)
{
    return orcuckoo_open_with(copy, filter->config, environment, as_const_orcuckoo(filter)->table.geometry);
}

static roost_status orcuckoo_copy_some(roost_filter *filter, roost_filter *copy, uint64_t *effort, bool *clean)
{
    return cuckoo_table_copy_some(&as_orcuckoo(copy)->table, &as_orcuckoo(filter)->table, effort, clean,
                                  &copy->environment.allocator)
               ? ROOST_OK
               : ROOST_NO_MEMORY;
}

static roost_status orcuckoo_copy_rest(roost_filter *base, roost_filter *copy)
{
    struct orcuckoo *filter = as_orcuckoo(base), *twin = as_orcuckoo(copy);
    const roost_allocator *allocator = &copy->environment.allocator;
    struct roost_filter base_before = twin->observed.base;
    struct filter_own own = twin->own;
    struct cuckoo_table table = twin->table;
    causal_release(&twin->observed.causal, allocator);
    actors_release(&twin->observed.actors, allocator);
    *twin = *filter;
    twin->observed.base = base_before;
    twin->own = own;
    twin->own.random = filter->own.random;
    twin->table = table;
    return observed_copy(&twin->observed, &filter->observed) &&
                   cuckoo_table_copy_rest(&twin->table, &filter->table, allocator)
               ? ROOST_OK
               : ROOST_NO_MEMORY;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static roost_status overflow(struct orcuckoo *filter, struct entry entry)
{
    struct stash *stash = &filter->table.stash;
    const roost_environment *environment = &filter->own.environment;
    if (observed_bytes(&filter->observed) - stash_bytes(stash) + stash_bytes_with(stash, 1) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    uint64_t tag = dot_number(entry.number, entry.counter);
    return stash_insert(stash, &environment->allocator, entry.key, tag) ? ROOST_OK : ROOST_NO_MEMORY;
}

/* The index of an actor, which nearly always has one. */
static inline uint32_t index_of(struct orcuckoo *filter, uint32_t number)
{
    uint32_t index = filter->observed.actors.list[number].index;
    return index != NO_INDEX
               ? index
               : actors_index(&filter->observed.actors, number, &filter->observed.base.environment.allocator);
}

/* An entry that finds the slots freed and no memory to allocate them goes to the stash. */
static bool allocate_slots(struct orcuckoo *filter)
{
    return cuckoo_table_first_bytes(filter->table.geometry, filter->table.most_kicks) <=
               filter->observed.base.environment.common->memory_limit &&
           cuckoo_table_allocate_slots(&filter->table, &filter->observed.base.environment.allocator);
}

static struct cuckoo_geometry orcuckoo_geometry(const roost_filter *base)
{
    return as_const_orcuckoo(base)->table.geometry;
}

static void orcuckoo_free_slots(roost_filter *base)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    if (cuckoo_table_entries(&filter->table) == 0 && !cuckoo_table_is_freed(&filter->table)) {
        stash_release(&filter->table.stash, &base->environment.allocator);
        cuckoo_table_free_slots(&filter->table, &base->environment.allocator);
    }
}

/* Puts an entry into a slot, if the actor has an index and the table has room. */
static bool enter_slot(struct orcuckoo *filter, const struct place *place, struct entry entry, uint32_t kicks)
{
    uint32_t index = index_of(filter, entry.number);
    if (__builtin_expect(cuckoo_table_is_freed(&filter->table), 0) && !allocate_slots(filter))
        return false;
    if (index == NO_INDEX || cuckoo_table_insert(&filter->table, place, slot_tag(filter, index, entry.counter),
                                                 &filter->own.random, kicks) == PUT_NO_ROOM)
        return false;
    actors_entered_slot(&filter->observed.actors, entry.number);
    return true;
}

/* Moves entries of the stash to slots, as far as they find any. */
static void empty_stash(struct orcuckoo *filter)
{
    struct stash *stash = &filter->table.stash;
    for (uint64_t node = 0; node < stash->used; node++) {
        struct entry entry = entry_of_node(&stash->nodes[node]);
        struct place place = entry.key ? place_of_class(entry.key, filter->table.geometry) : (struct place){0};
        if (entry.key && enter_slot(filter, &place, entry, filter->table.most_kicks))
            stash_remove(stash, node);
    }
}

/* Without memory the table keeps its rows, which is slower but correct. */
void make_room(struct orcuckoo *filter, uint64_t entries)
{
    const roost_environment *environment = &filter->own.environment;
    int32_t before = filter->table.spread;
    if (cuckoo_table_is_freed(&filter->table) ||
        observed_bytes(&filter->observed) + cuckoo_table_bytes_for(&filter->table, entries) > environment->memory_limit)
        return;
    if (cuckoo_table_make_room(&filter->table, entries, &filter->own.random, &environment->allocator) &&
        filter->table.spread != before)
        empty_stash(filter);
}

/* Elements that several replicas added are what fills the slots. It is no use to wait until the kicks become long. */
static bool is_full_of_copies(const struct orcuckoo *filter)
{
    const struct cuckoo_table *table = &filter->table;
    return (cuckoo_table_entries(table) - filter->classes) * 16 > table->filled && cuckoo_table_is_nearly_full(table);
}

void relieve_if_overfull(struct orcuckoo *filter)
{
    const roost_environment *environment = &filter->own.environment;
    if (__builtin_expect(cuckoo_table_is_overfull(&filter->table) || is_full_of_copies(filter), 0) &&
        3 * observed_bytes(&filter->observed) <= environment->memory_limit &&
        cuckoo_table_relieve(&filter->table, &filter->own.random, &environment->allocator, environment->most_moved))
        empty_stash(filter);
}

/* The same, and whether it is the first of its class. As nearly all are, so both are found out at once. */
static bool enter_slot_of_class(struct orcuckoo *filter, const struct place *place, struct entry entry, uint32_t kicks,
                                bool *first)
{
    const uint32_t index = index_of(filter, entry.number);
    if (__builtin_expect(index == NO_INDEX || cuckoo_table_is_freed(&filter->table), 0)) {
        *first = !cuckoo_table_contains(&filter->table, place);
        return enter_slot(filter, place, entry, kicks);
    }
    enum put_result result = cuckoo_table_insert_class(&filter->table, place, slot_tag(filter, index, entry.counter),
                                                       &filter->own.random, kicks);
    *first = result != PUT_PRESENT;
    if (result != PUT_NEW)
        return result == PUT_PRESENT && enter_slot(filter, place, entry, kicks);
    actors_entered_slot(&filter->observed.actors, entry.number);
    return true;
}

/* Once the table is nearly full, a failure halves the kicks of those that follow, a success doubles them again. */
roost_status take_entry(struct orcuckoo *filter, const struct place *place, struct entry entry, uint32_t *kicks)
{
    roost_status status = ROOST_OK;
    uint32_t most = filter->table.most_kicks;
    bool first;
    if (enter_slot_of_class(filter, place, entry, *kicks, &first)) {
        *kicks = *kicks < most / 2 ? *kicks * 2 : most;
    } else {
        *kicks = *kicks > 2 * FEWEST_KICKS ? *kicks / 2 : *kicks;
        status = overflow(filter, entry);
        relieve_if_overfull(filter);
    }
    if (status == ROOST_OK) {
        filter->observed.sum += entry_hash(&filter->observed, entry);
        filter->classes += first;
    }
    return status;
}

/* The counts and sums that change whenever an entry is dropped. */
static void count_out(struct orcuckoo *filter, struct entry entry)
{
    filter->observed.sum -= entry_hash(&filter->observed, entry);
    note_change(&filter->observed, CHANGE_DEAD, entry.key, entry.number, entry.counter);
}

/* Counts the class after an entry of it was dropped without a replacement. */
static void count_class(struct orcuckoo *filter, uint64_t key)
{
    struct place place = place_of_class(key, filter->table.geometry);
    filter->classes -= !cuckoo_table_contains(&filter->table, &place);
}

static void remove_slot(struct orcuckoo *filter, const struct slot_match *match, uint64_t key)
{
    struct entry entry = entry_of_slot(filter, match->tag, key);
    cuckoo_table_clear_slot(&filter->table, match);
    actors_left_slot(&filter->observed.actors, entry.number);
    count_out(filter, entry);
}

void drop_slot(struct orcuckoo *filter, const struct slot_match *match, uint64_t key)
{
    remove_slot(filter, match, key);
    count_class(filter, key);
}

static struct entry remove_node(struct orcuckoo *filter, uint64_t node)
{
    struct entry entry = entry_of_node(&filter->table.stash.nodes[node]);
    stash_remove(&filter->table.stash, node);
    count_out(filter, entry);
    return entry;
}

void drop_node(struct orcuckoo *filter, uint64_t node)
{
    count_class(filter, remove_node(filter, node).key);
}

static bool find_in_slots(const struct orcuckoo *filter, const struct place *place, uint32_t number, uint32_t counter,
                          struct slot_match *match)
{
    uint32_t index = filter->observed.actors.list[number].index;
    return index != NO_INDEX && cuckoo_table_find_entry(&filter->table, place, slot_tag(filter, index, counter), match);
}

bool holds_entry(const struct orcuckoo *filter, const struct place *place, uint32_t number, uint32_t counter)
{
    struct slot_match match;
    return find_in_slots(filter, place, number, counter, &match) ||
           (filter->table.stash.count &&
            stash_find_entry(&filter->table.stash, class_key(*place, filter->table.geometry),
                             dot_number(number, counter)) != NO_NODE);
}

bool drop_entry(struct orcuckoo *filter, const struct place *place, struct entry entry)
{
    struct slot_match match;
    if (find_in_slots(filter, place, entry.number, entry.counter, &match)) {
        drop_slot(filter, &match, entry.key);
        return true;
    }
    uint64_t node = stash_find_entry(&filter->table.stash, entry.key, dot_number(entry.number, entry.counter));
    if (node == NO_NODE)
        return false;
    drop_node(filter, node);
    return true;
}

/* ---- add --------------------------------------------------------------------------------------------------------- */

/* What the capacity is about. */
static uint64_t elements_of(const struct orcuckoo *filter)
{
    return filter->observed.base.config->multiset ? cuckoo_table_entries(&filter->table) : filter->classes;
}

/* Past its capacity a filter goes on while its own slots have room. Slots that it got to hold the additions of others
   do not count. */
static roost_status put_new(struct orcuckoo *filter, const struct place *place, struct entry entry)
{
    bool past_capacity = elements_of(filter) >= filter->observed.base.config->capacity;
    if (past_capacity && filter->table.spread > 0)
        return ROOST_FULL;
    if (enter_slot(filter, place, entry, filter->table.most_kicks))
        return ROOST_OK;
    return past_capacity ? ROOST_FULL : overflow(filter, entry);
}

/* The newcomer has the place of an entry in a slot, in the stash, or a new one in the stash: all without a kick. */
static roost_status put_over(struct orcuckoo *filter, struct entry entry, struct slot_match *matches, uint32_t *count)
{
    struct stash *stash = &filter->table.stash;
    uint32_t index = index_of(filter, entry.number);
    uint64_t node = stash_find_class(stash, entry.key);
    uint64_t tag = index != NO_INDEX ? slot_tag(filter, index, entry.counter) : 0;
    if (*count > 0 && index != NO_INDEX && cuckoo_table_tag_fits(&filter->table, tag)) {
        const struct slot_match *match = &matches[--*count];
        struct entry old = entry_of_slot(filter, match->tag, entry.key);
        cuckoo_table_retag_slot(&filter->table, match, tag);
        actors_left_slot(&filter->observed.actors, old.number);
        actors_entered_slot(&filter->observed.actors, entry.number);
        count_out(filter, old);
    } else if (node != NO_NODE) {
        remove_node(filter, node);
        stash_insert(stash, &filter->observed.base.environment.allocator, entry.key,
                     dot_number(entry.number, entry.counter));
    } else {
        return overflow(filter, entry);
    }
    return ROOST_OK;
}

/* Drops what was seen of the class, but for the newcomer. */
static void drop_rest(struct orcuckoo *filter, struct entry entry, const struct slot_match *matches, uint32_t count)
{
    struct stash *stash = &filter->table.stash;
    while (count > 0)
        drop_slot(filter, &matches[--count], entry.key);
    uint64_t newcomer = stash_find_entry(stash, entry.key, dot_number(entry.number, entry.counter)), node;
    while ((node = stash_find_class(stash, entry.key)) != NO_NODE) {
        if (node == newcomer) {
            if (!stash->nodes[node].next)
                return;
            node = stash->nodes[node].next - 1;
        }
        drop_node(filter, node);
    }
}

static roost_status supersede(struct orcuckoo *filter, const struct place *place, struct entry entry)
{
    struct slot_match matches[MOST_MATCHES];
    uint32_t count = cuckoo_table_matches(&filter->table, place, matches);
    roost_status status = put_over(filter, entry, matches, &count);
    if (status == ROOST_OK && (count > 0 || filter->table.stash.count > 0))
        drop_rest(filter, entry, matches, count);
    return status;
}

/*
 * Adds to a set; whether the class is new to it. Nearly always the actor has an index and there are slots: then one
 * look at the two buckets tells whether the class is there, and where there is room.
 */
static roost_status add_to_set(struct orcuckoo *filter, const struct place *place, struct entry entry, bool *first)
{
    struct cuckoo_table *table = &filter->table;
    bool past_capacity = filter->classes >= filter->observed.base.config->capacity;
    uint32_t index = filter->observed.actors.list[entry.number].index;
    if (index == NO_INDEX || cuckoo_table_is_freed(table) || (past_capacity && table->spread > 0)) {
        *first = !cuckoo_table_contains(table, place);
        return *first ? put_new(filter, place, entry) : supersede(filter, place, entry);
    }
    enum put_result result = cuckoo_table_insert_class(table, place, slot_tag(filter, index, entry.counter),
                                                       &filter->own.random, table->most_kicks);
    *first = result != PUT_PRESENT;
    if (result == PUT_PRESENT)
        return supersede(filter, place, entry);
    if (result == PUT_NO_ROOM)
        return past_capacity ? ROOST_FULL : overflow(filter, entry);
    actors_entered_slot(&filter->observed.actors, entry.number);
    return ROOST_OK;
}

static roost_status add_copy(struct orcuckoo *filter, const struct place *place, struct entry entry, bool *first)
{
    *first = !cuckoo_table_contains(&filter->table, place);
    return put_new(filter, place, entry);
}

static struct entry next_entry(const struct orcuckoo *filter, const struct place *place)
{
    return (struct entry){filter->observed.number, filter->observed.counter + 1,
                          class_key(*place, filter->table.geometry)};
}

static void count_in(struct orcuckoo *filter, struct entry entry, bool first)
{
    filter->classes += first;
    count_own_dot(&filter->observed);
    filter->observed.sum += entry_hash(&filter->observed, entry);
    note_change(&filter->observed, CHANGE_LIVE, entry.key, entry.number, entry.counter);
}

static roost_status add_place(struct orcuckoo *filter, const struct place *place, bool *fresh)
{
    roost_status status = ready_actor(&filter->observed);
    if (status != ROOST_OK)
        return status;
    struct entry entry = next_entry(filter, place);
    bool first, multiset = filter->observed.base.config->multiset;
    status = multiset ? add_copy(filter, place, entry, &first) : add_to_set(filter, place, entry, &first);
    *fresh = first || multiset;
    if (status == ROOST_OK)
        count_in(filter, entry, first);
    return status;
}

roost_status add_without_room(struct orcuckoo *filter, const struct place *place)
{
    struct entry entry = next_entry(filter, place);
    roost_status status =
        filter->classes >= filter->observed.base.config->capacity ? ROOST_FULL : overflow(filter, entry);
    if (status == ROOST_OK)
        count_in(filter, entry, true);
    return status;
}

/* Adds to a set, by the short way if there is one. */
static inline roost_status add_to_any(struct orcuckoo *filter, const struct place *place, bool *fresh)
{
    enum put_result result = add_to_plain(filter, *place);
    *fresh = true;
    return result == PUT_NEW       ? ROOST_OK
           : result == PUT_PRESENT ? add_place(filter, place, fresh)
                                   : add_without_room(filter, place);
}

static size_t places_of_row(const struct orcuckoo *filter, struct place *places, const roost_hash *hashes, size_t count)
{
    size_t row = count < BATCH ? count : BATCH;
    for (size_t i = 0; i < row; i++)
        places[i] = place_of_hash(hashes[i], filter->table.geometry);
    cuckoo_table_prefetch(&filter->table, places, row);
    return row;
}

static roost_status orcuckoo_add(roost_filter *base, bool *changed, size_t *done, const roost_hash *hashes,
                                 size_t count)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    const bool multiset = base->config->multiset;
    struct place places[BATCH];
    for (*done = 0; *done < count;) {
        size_t row = places_of_row(filter, places, hashes + *done, count - *done);
        for (size_t i = 0; i < row; i++, ++*done) {
            bool fresh;
            roost_status status =
                multiset ? add_place(filter, &places[i], &fresh) : add_to_any(filter, &places[i], &fresh);
            if (status != ROOST_OK)
                return status;
            if (changed)
                changed[*done] = fresh;
        }
        relieve_if_overfull(filter);
    }
    return ROOST_OK;
}

roost_status orcuckoo_add_one(roost_filter *base, bool *changed, roost_hash hash)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    struct place place = place_of_hash(hash, filter->table.geometry);
    bool fresh = false;
    roost_status status = add_place(filter, &place, &fresh);
    if (changed)
        *changed = fresh && status == ROOST_OK;
    if (status == ROOST_OK)
        relieve_if_overfull(filter);
    return status;
}

static roost_status orcuckoo_add_dot(roost_filter *base, roost_dot *dot, roost_hash hash)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    struct place place = place_of_hash(hash, filter->table.geometry);
    bool fresh;
    roost_status status = add_place(filter, &place, &fresh);
    relieve_if_overfull(filter);
    *dot = status == ROOST_OK ? (roost_dot){filter->observed.actor, filter->observed.counter} : (roost_dot){0, 0};
    return status;
}

/* ---- remove and look up ------------------------------------------------------------------------------------------ */

/* Removals make room in the slots: each one gives an entry of the stash the chance to take it. */
static void draw_from_stash(struct orcuckoo *filter)
{
    struct stash *stash = &filter->table.stash;
    uint64_t node = filter->hand++ % stash->used;
    struct entry entry = entry_of_node(&stash->nodes[node]);
    if (!entry.key)
        return;
    struct place place = place_of_class(entry.key, filter->table.geometry);
    if (enter_slot(filter, &place, entry, 0)) {
        stash_remove(stash, node);
        filter->table.moves++;
    }
}

static bool remove_place(struct orcuckoo *filter, const struct place *place)
{
    struct slot_match matches[MOST_MATCHES];
    struct stash *stash = &filter->table.stash;
    uint64_t before = cuckoo_table_entries(&filter->table), node;
    uint32_t count = cuckoo_table_matches(&filter->table, place, matches);
    if (count == 0 && stash->count == 0)
        return false;
    uint64_t key = class_key(*place, filter->table.geometry);
    for (uint32_t i = 0; i < count; i++)
        remove_slot(filter, &matches[i], key);
    while ((node = stash_find_class(stash, key)) != NO_NODE)
        remove_node(filter, node);
    bool removed = cuckoo_table_entries(&filter->table) < before;
    filter->classes -= removed;
    if (stash->count > 0)
        draw_from_stash(filter);
    return removed;
}

static roost_status orcuckoo_remove(roost_filter *base, bool *changed, const roost_hash *hashes, size_t count)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    struct place places[BATCH];
    for (size_t done = 0; done < count;) {
        size_t row = places_of_row(filter, places, hashes + done, count - done);
        for (size_t i = 0; i < row; i++, done++) {
            bool found;
            if (!remove_from_plain(filter, &found, places[i]))
                found = remove_place(filter, &places[i]);
            if (changed)
                changed[done] = found;
        }
    }
    return ROOST_OK;
}

roost_status orcuckoo_remove_key(roost_filter *base, bool *changed, roost_hash hash)
{
    struct place place = place_of_hash(hash, as_orcuckoo(base)->table.geometry);
    bool found = remove_place(as_orcuckoo(base), &place);
    if (changed)
        *changed = found;
    return ROOST_OK;
}

static bool is_before(const struct orcuckoo *filter, struct entry first, struct entry second)
{
    uint64_t actor = filter->observed.actors.list[first.number].id,
             other = filter->observed.actors.list[second.number].id;
    return actor != other ? actor < other : first.counter < second.counter;
}

static roost_status orcuckoo_remove_one(roost_filter *base, bool *changed, roost_hash hash)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    struct slot_match matches[MOST_MATCHES];
    if (!base->config->multiset)
        return ROOST_UNSUPPORTED;
    struct place place = place_of_hash(hash, filter->table.geometry);
    uint64_t key = class_key(place, filter->table.geometry);
    uint32_t count = cuckoo_table_matches(&filter->table, &place, matches), smallest = 0;
    for (uint32_t i = 1; i < count; i++)
        if (is_before(filter, entry_of_slot(filter, matches[i].tag, key),
                      entry_of_slot(filter, matches[smallest].tag, key)))
            smallest = i;
    uint64_t node = count ? NO_NODE : stash_find_class(&filter->table.stash, key);
    *changed = count > 0 || node != NO_NODE;
    if (count > 0)
        drop_slot(filter, &matches[smallest], key);
    else if (node != NO_NODE)
        drop_node(filter, node);
    return ROOST_OK;
}

static roost_status orcuckoo_remove_dot(roost_filter *base, bool *changed, roost_hash hash, roost_dot dot)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    struct place place = place_of_hash(hash, filter->table.geometry);
    uint32_t number = actors_find(&filter->observed.actors, dot.actor);
    if (number == NO_ACTOR || dot.counter == 0 || dot.counter > filter->observed.most_counter)
        return ROOST_OK;
    struct entry entry = {number, (uint32_t)dot.counter, class_key(place, filter->table.geometry)};
    *changed = drop_entry(filter, &place, entry);
    return ROOST_OK;
}

static void orcuckoo_contains(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    cuckoo_table_contains_many(&as_const_orcuckoo(filter)->table, found, hashes, count);
}

static void orcuckoo_contains_nested(const roost_filter *filter, bool *found, const struct nested_place *places,
                                     size_t count)
{
    cuckoo_table_contains_nested(&as_const_orcuckoo(filter)->table, found, places, count);
}

static uint64_t orcuckoo_count(const roost_filter *base, roost_hash hash)
{
    const struct cuckoo_table *table = &as_const_orcuckoo(base)->table;
    struct slot_match matches[MOST_MATCHES];
    struct place place = place_of_hash(hash, table->geometry);
    uint64_t copies =
        cuckoo_table_matches(table, &place, matches) + stash_copies(&table->stash, class_key(place, table->geometry));
    return base->config->multiset ? copies : copies > 0;
}

/* ---- report ----------------------------------------------------------------------------------------------------- */

static uint64_t orcuckoo_elements(const roost_filter *filter)
{
    return elements_of(as_const_orcuckoo(filter));
}

static const struct cuckoo_table *orcuckoo_slots(const roost_filter *filter)
{
    return &as_const_orcuckoo(filter)->table;
}

static bool orcuckoo_move(roost_filter *base, const struct memory_mover *mover, uint64_t place)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    (void)place;
    cuckoo_table_move(&filter->table, mover);
    observed_move(&filter->observed, mover);
    return false;
}

static void orcuckoo_info(const roost_filter *base, roost_info *info)
{
    const struct orcuckoo *filter = as_const_orcuckoo(base);
    const struct cuckoo_table *table = &filter->table;
    observed_info(&filter->observed, info);
    info->overflow = table->stash.count;
    info->load = cuckoo_table_load(table);
    info->fpr_now = fmin((double)filter->classes * class_probability(table->geometry), 1);
    info->inserted = elements_of(filter);
    info->elements = (double)info->inserted;
    info->promise_holds = info->fpr_now <= base->config->fpr;
    info->buckets = cuckoo_table_rows(table);
}

/* True for one entry of each class: the first of its slots, or else the first of its chain in the stash. */
static bool stands_for_class(const struct orcuckoo *filter, struct entry entry)
{
    struct slot_match matches[MOST_MATCHES];
    struct place place = place_of_class(entry.key, filter->table.geometry);
    uint32_t count = cuckoo_table_matches(&filter->table, &place, matches);
    struct entry first =
        count ? entry_of_slot(filter, matches[0].tag, entry.key)
              : entry_of_node(&filter->table.stash.nodes[stash_find_class(&filter->table.stash, entry.key)]);
    return first.number == entry.number && first.counter == entry.counter;
}

struct class_count {
    const struct orcuckoo *filter;
    uint64_t classes;
};

static void count_entry(void *context, struct entry entry)
{
    struct class_count *count = context;
    count->classes += stands_for_class(count->filter, entry);
}

static uint64_t slots_of_actors(const struct actors *actors)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < actors->count; i++)
        sum += actors->list[i].in_slots;
    return sum;
}

static roost_status orcuckoo_check(const roost_filter *base)
{
    const struct orcuckoo *filter = as_const_orcuckoo(base);
    struct class_count count = {.filter = filter};
    if (!cuckoo_table_check(&filter->table) || !observed_is_sound(&filter->observed))
        return ROOST_CORRUPT;
    visit_entries(&filter->observed, count_entry, &count);
    bool counted =
        count.classes == filter->classes && slots_of_actors(&filter->observed.actors) == filter->table.filled;
    return counted ? ROOST_OK : ROOST_CORRUPT;
}

const struct filter_kind orcuckoo_kind = {
    .code = ROOST_ORCUCKOO,
    .name = "orcuckoo",
    .lifecycle = {.resolve = orcuckoo_resolve,
                  .is_resolved = orcuckoo_is_resolved,
                  .open = orcuckoo_open,
                  .close = orcuckoo_close,
                  .clone = orcuckoo_clone},
    .set = {.add = orcuckoo_add, .contains = orcuckoo_contains},
    .removal = {.add_dot = orcuckoo_add_dot,
                .remove = orcuckoo_remove,
                .remove_one = orcuckoo_remove_one,
                .remove_dot = orcuckoo_remove_dot,
                .count = orcuckoo_count},
    .lattice = {.merge = orcuckoo_merge,
                .compare = orcuckoo_compare,
                .is_bottom = observed_is_bottom,
                .digest = observed_digest},
    .encoding = {.write_geometry = orcuckoo_write_geometry,
                 .write_state = observed_write_state,
                 .read_state = observed_read_state},
    .delta = {.write = observed_write_delta,
              .merge = observed_merge_delta,
              .prepare = observed_prepare_delta,
              .commit = observed_commit_delta,
              .abandon = observed_abandon_delta},
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
    .incremental = {.copy_open = FOR_SERVERS(orcuckoo_copy_open),
                    .copy_some = FOR_SERVERS(orcuckoo_copy_some),
                    .copy_rest = FOR_SERVERS(orcuckoo_copy_rest),
                    .cut = FOR_SERVERS(observed_cut),
                    .sweep = FOR_SERVERS(orcuckoo_sweep),
                    .move = FOR_SERVERS(orcuckoo_move)},
    .table = {.open = orcuckoo_open_with,
              .contains_nested = orcuckoo_contains_nested,
              .elements = orcuckoo_elements,
              .geometry = orcuckoo_geometry,
              .slots = orcuckoo_slots,
              .take_over = observed_take_over,
              .free_slots = orcuckoo_free_slots},
    .report = {.info = orcuckoo_info, .memory = observed_bytes_of, .check = FOR_SERVERS(orcuckoo_check)},
};
