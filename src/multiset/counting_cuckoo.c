/*
 * Counting cuckoo filter (CCF): a cuckoo table whose slots hold a fingerprint and how many copies there are.
 *
 * Li, Luo, Guo: "Multiset Synchronization with Counting Cuckoo Filters" (2020), section 3, Algorithms 1 to 3. The
 * table is that of all cuckoo filters (../cuckoo/cuckoo_table.h), with the count for a tag:
 *
 *     slot of 32 bits     | count: 32 - f bits | fingerprint: f bits |       f up to 24, so a count has 8 bits or more
 *     slot of 64 bits     | count: 64 - f bits | fingerprint: f bits |       f from 25 to 32
 *     stash               class key, count in a word                         what finds no slot, what does not fit one
 *
 * State. A map from fingerprint classes (cuckoo_geometry.h) to counts; an absent class counts 0. Each count is a chain,
 * merge is the larger of two, so a merge is the union of multisets and a lattice. Where a class is held is layout.
 *
 *     digest     sum of the hashes of (class key, count)
 *     bytes      entries, parameter; for each class, ascending: Rice-coded gap of its key, its count (count_code.h)
 *
 * One slot for a class is an invariant. Algorithm 1 as printed does not look whether the fingerprint is there already:
 * an element that is inserted twice, or two that collide, then hold two slots with two counts, 2w copies of one fill
 * both its buckets, and what a query answers depends on which it meets first. Here an insertion adds to the count that
 * is there. Elements of one class share a count, which is then the sum of theirs: never too small,
 * until something is removed (multiset.h says when that keeps).
 *
 * Counts do not overflow. One that its slot cannot hold moves to the stash, where it has a word; past 2^48 - 1 an add
 * answers ROOST_FULL. An add within the capacity never fails for lack of room, nor does a merge: there is the stash.
 * Beyond the capacity an add goes on while the table finds a slot, and answers ROOST_FULL when it does not (the paper's
 * False, which gives up the last victim: here nothing is lost).
 *
 * Deletion (Algorithm 2) takes all copies; `remove` takes as many as the caller passes. It frees the slot, but does
 * not move entries back from the stash: those cost a look-up, and are few.
 *
 * Worked example, capacity 1,000, f = 10: 263 buckets of four. "swift" has fingerprint 77 and buckets 12 and 201.
 * add(swift, 3): slot (12, 0) = 3 << 10 | 77. add(swift, 2): the tag becomes 5. remove(swift, 1): 4. A replica that
 * merges this one and has 7 keeps 7.
 */
#include "counting_cuckoo.h"

#include <string.h>

#include "count_code.h"
#include "../base/sort.h"
#include "../cuckoo/cuckoo_size.h"

#define FEWEST_BITS          4
#define MOST_BITS            32
#define WIDEST_IN_SHORT      24 /* fingerprints that leave eight bits for a count in 32 */
#define FEWEST_KICKS         8
#define COUNTER_BITS_PRINTED 8 /* what the paper gives a counter */

static inline struct counting_cuckoo *as_counting_cuckoo(roost_multiset *multiset)
{
    return (struct counting_cuckoo *)multiset;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* In the terms in which cuckoo_size.h knows a configuration. */
static roost_config as_filter_config(const roost_multiset_config *config)
{
    return (roost_config){.kind = ROOST_CUCKOO,
                          .capacity = config->capacity,
                          .fpr = config->fpr,
                          .fingerprint_bits = config->fingerprint_bits,
                          .bucket_size = config->bucket_size};
}

static bool is_width(uint32_t bits)
{
    return bits >= FEWEST_BITS && bits <= MOST_BITS;
}

static roost_status counting_cuckoo_resolve(roost_multiset_config *config)
{
    bool bits_given = config->fingerprint_bits != 0;
    if (!is_bucket_size(config->bucket_size) || config->cells || config->probes || config->counter_bits)
        return ROOST_INVALID;
    if (bits_given ? !is_width(config->fingerprint_bits) : !(config->fpr > 0))
        return ROOST_INVALID;
    struct cuckoo_geometry geometry;
    roost_config sized = as_filter_config(config);
    roost_status status = cuckoo_size(&geometry, &sized);
    if (status != ROOST_OK && !config->buckets)
        return status;
    geometry.buckets = config->buckets ? config->buckets : geometry.buckets;
    geometry.bits = bits_given ? config->fingerprint_bits : cuckoo_bits_for(&sized, geometry, FEWEST_BITS, MOST_BITS);
    if (geometry.bits == 0)
        return ROOST_INVALID;
    double rate = cuckoo_rate_at_capacity(&sized, geometry);
    if (config->fpr == 0)
        config->fpr = rate;
    config->fingerprint_bits = geometry.bits;
    config->buckets = geometry.buckets;
    return rate > config->fpr ? ROOST_INVALID : ROOST_OK;
}

static uint64_t own_bytes(const struct cuckoo_table *table)
{
    return cuckoo_table_bytes(table->geometry, table->most_kicks) + sizeof(struct counting_cuckoo);
}

static bool has_memory_for_overflow(const struct counting_cuckoo *filter)
{
    return own_bytes(&filter->table) + stash_bytes_with(&filter->table.stash, 1) <=
           filter->base.environment.memory_limit;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static void counting_cuckoo_close(roost_multiset *multiset)
{
    const roost_allocator allocator = multiset->environment.allocator;
    cuckoo_table_release(&as_counting_cuckoo(multiset)->table, &allocator);
    memory_release(&allocator, multiset);
}

static struct cuckoo_geometry geometry_of(const roost_multiset_config *config)
{
    uint32_t slot_bits = config->fingerprint_bits <= WIDEST_IN_SHORT ? 32 : 64;
    return (struct cuckoo_geometry){.buckets = config->buckets,
                                    .bits = config->fingerprint_bits,
                                    .bucket_size = config->bucket_size,
                                    .tag_bits = slot_bits - config->fingerprint_bits};
}

/* Ranges alone, and the rate: nothing is derived, so that frames outlive a change in how sizes are chosen. */
static roost_status read_sizes(struct bit_reader *sizes, roost_multiset_config *config)
{
    config->fingerprint_bits = read_byte(sizes);
    config->bucket_size = read_byte(sizes);
    uint64_t buckets = read_varint(sizes);
    if (sizes->failed || !is_width(config->fingerprint_bits) || !is_bucket_size(config->bucket_size) || buckets == 0 ||
        buckets > UINT32_MAX || !(config->fpr > 0 && config->fpr < 1))
        return ROOST_CORRUPT;
    config->buckets = (uint32_t)buckets;
    roost_config sized = as_filter_config(config);
    return cuckoo_rate_at_capacity(&sized, geometry_of(config)) > config->fpr ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status counting_cuckoo_open(roost_multiset **multiset, const roost_multiset_config *config,
                                         const roost_environment *environment, struct bit_reader *sizes)
{
    roost_multiset_config complete = *config;
    roost_status status = sizes ? read_sizes(sizes, &complete) : ROOST_OK;
    if (status != ROOST_OK)
        return status;
    const struct cuckoo_geometry geometry = geometry_of(&complete);
    if (cuckoo_table_bytes(geometry, environment->kicks) + sizeof(struct counting_cuckoo) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct counting_cuckoo *filter = memory_allocate(&environment->allocator, sizeof *filter);
    if (!filter)
        return ROOST_NO_MEMORY;
    multiset_init_base(&filter->base, &counting_cuckoo_kind, &complete, environment);
    if (!cuckoo_table_init(&filter->table, geometry, environment->kicks, &environment->allocator)) {
        memory_release(&environment->allocator, filter);
        return ROOST_NO_MEMORY;
    }
    *multiset = &filter->base;
    return ROOST_OK;
}

static roost_status counting_cuckoo_clone(const roost_multiset *multiset, roost_multiset **copy)
{
    const roost_allocator *allocator = &multiset->environment.allocator;
    struct counting_cuckoo *twin = memory_allocate(allocator, sizeof *twin);
    if (!twin)
        return ROOST_NO_MEMORY;
    *twin = *as_const_counting_cuckoo(multiset);
    if (!cuckoo_table_copy(&twin->table, &as_const_counting_cuckoo(multiset)->table, allocator)) {
        memory_release(allocator, twin);
        return ROOST_NO_MEMORY;
    }
    *copy = &twin->base;
    return ROOST_OK;
}

/* ---- one class --------------------------------------------------------------------------------------------------- */

/* Where a class is held: in a slot, in a node of the stash, or nowhere (count 0). */
struct holding {
    struct slot_match slot;
    uint64_t node; /* NO_NODE: in the slot, or nowhere */
    uint64_t count;
};

static inline struct holding find_class(const struct counting_cuckoo *filter, const struct place *place)
{
    const struct cuckoo_table *table = &filter->table;
    struct slot_match matches[MOST_MATCHES];
    if (cuckoo_table_matches(table, place, matches))
        return (struct holding){matches[0], NO_NODE, matches[0].tag};
    struct holding holding = {.node = NO_NODE};
    if (table->stash.count)
        holding.node = stash_find_class(&table->stash, class_key(*place, table->geometry));
    holding.count = holding.node == NO_NODE ? 0 : table->stash.nodes[holding.node].tag;
    return holding;
}

uint64_t counting_cuckoo_count(const struct counting_cuckoo *filter, const struct place *place)
{
    return find_class(filter, place).count;
}

static void drop_holding(struct counting_cuckoo *filter, const struct holding *holding)
{
    if (holding->node != NO_NODE)
        stash_remove(&filter->table.stash, holding->node);
    else if (holding->count)
        cuckoo_table_clear_slot(&filter->table, &holding->slot);
}

static roost_status into_stash(struct counting_cuckoo *filter, const struct place *place, uint64_t count)
{
    if (!has_memory_for_overflow(filter))
        return ROOST_TOO_LARGE;
    uint64_t key = class_key(*place, filter->table.geometry);
    return stash_insert(&filter->table.stash, &filter->base.environment.allocator, key, count) ? ROOST_OK
                                                                                               : ROOST_NO_MEMORY;
}

static bool fits_slot(const struct counting_cuckoo *filter, uint64_t count)
{
    return count >> filter->table.geometry.tag_bits == 0;
}

/* A class that is not held yet. Without room past the capacity it is refused, unless it must be taken. */
static roost_status place_class(struct counting_cuckoo *filter, const struct place *place, uint64_t count,
                                uint32_t *kicks, bool must_take)
{
    struct cuckoo_table *table = &filter->table;
    if (fits_slot(filter, count)) {
        if (cuckoo_table_insert(table, place, count, &filter->base.random, *kicks) == PUT_NEW) {
            *kicks = *kicks < table->most_kicks / 2 ? *kicks * 2 : table->most_kicks;
            return ROOST_OK;
        }
        /* Once the table is nearly full, each entry would spend its whole quota for nothing. */
        *kicks = *kicks > 2 * FEWEST_KICKS ? *kicks / 2 : *kicks;
    }
    if (!must_take && cuckoo_table_entries(table) >= filter->base.config.capacity)
        return ROOST_FULL;
    return into_stash(filter, place, count);
}

/* Changes the count of a class that is held; the new count is not 0. */
static roost_status recount_class(struct counting_cuckoo *filter, const struct place *place,
                                  const struct holding *holding, uint64_t count)
{
    if (holding->node != NO_NODE) { /* its index goes by the tag too: out, and in again where there is room for it */
        stash_remove(&filter->table.stash, holding->node);
        return into_stash(filter, place, count);
    }
    if (fits_slot(filter, count)) {
        cuckoo_table_retag_slot(&filter->table, &holding->slot, count);
        return ROOST_OK;
    }
    roost_status status = into_stash(filter, place, count);
    if (status == ROOST_OK)
        cuckoo_table_clear_slot(&filter->table, &holding->slot);
    return status;
}

static void reweigh(struct counting_cuckoo *filter, const struct place *place, uint64_t before, uint64_t after)
{
    const uint64_t seed = filter->base.config.seed, key = class_key(*place, filter->table.geometry);
    filter->sum += after ? count_weight(seed, key, after) : 0;
    filter->sum -= before ? count_weight(seed, key, before) : 0;
}

static roost_status set_class(struct counting_cuckoo *filter, const struct place *place, const struct holding *holding,
                              uint64_t count, uint32_t *kicks, bool must_take)
{
    roost_status status = ROOST_OK;
    if (count == 0)
        drop_holding(filter, holding);
    else if (holding->count == 0)
        status = place_class(filter, place, count, kicks, must_take);
    else
        status = recount_class(filter, place, holding, count);
    if (status == ROOST_OK)
        reweigh(filter, place, holding->count, count);
    return status;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static roost_status counting_cuckoo_add(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies)
{
    struct counting_cuckoo *filter = as_counting_cuckoo(multiset);
    struct place place = place_of_hash(hash, filter->table.geometry);
    struct holding holding = find_class(filter, &place);
    uint32_t kicks = filter->table.most_kicks;
    *count = holding.count;
    if (copies == 0)
        return ROOST_OK;
    if (copies > ROOST_MOST_COPIES - holding.count)
        return ROOST_FULL;
    roost_status status = set_class(filter, &place, &holding, holding.count + copies, &kicks, false);
    *count = holding.count + (status == ROOST_OK ? copies : 0);
    return status;
}

/* A count that gets smaller needs no memory: in the stash its own node is free for it. */
static void counting_cuckoo_remove(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies)
{
    struct counting_cuckoo *filter = as_counting_cuckoo(multiset);
    struct place place = place_of_hash(hash, filter->table.geometry);
    struct holding holding = find_class(filter, &place);
    uint32_t kicks = 0;
    *count = holding.count - (copies < holding.count ? copies : holding.count);
    if (*count < holding.count)
        (void)set_class(filter, &place, &holding, *count, &kicks, true);
}

static uint64_t counting_cuckoo_count_hash(const roost_multiset *multiset, roost_hash hash)
{
    const struct counting_cuckoo *filter = as_const_counting_cuckoo(multiset);
    struct place place = place_of_hash(hash, filter->table.geometry);
    return counting_cuckoo_count(filter, &place);
}

/* ---- walks and merges -------------------------------------------------------------------------------------------- */

static bool visit_row(const struct cuckoo_table *table, uint32_t row, class_visitor *visit, void *context)
{
    uint64_t words[8];
    cuckoo_table_words(table, row, words);
    for (uint32_t slot = 0; slot < table->shape.bucket_size; slot++) {
        struct place place = cuckoo_table_place(table, row, word_fingerprint(words[slot], table->shape));
        if (words[slot] && !visit(context, &place, word_tag(words[slot], table->shape)))
            return false;
    }
    return true;
}

bool counting_cuckoo_visit(const struct counting_cuckoo *filter, class_visitor *visit, void *context)
{
    const struct cuckoo_table *table = &filter->table;
    for (uint32_t row = cuckoo_table_next_row(table, 0); row < cuckoo_table_rows(table);
         row = cuckoo_table_next_row(table, row + 1))
        if (!visit_row(table, row, visit, context))
            return false;
    for (uint64_t node = 0; node < table->stash.used; node++) {
        uint64_t key = table->stash.nodes[node].key;
        struct place place = key ? place_of_class(key, table->geometry) : (struct place){0};
        if (key && !visit(context, &place, table->stash.nodes[node].tag))
            return false;
    }
    return true;
}

static bool has_as_many(void *context, const struct place *place, uint64_t count)
{
    return counting_cuckoo_count(context, place) >= count;
}

/* Whether the filter has at least what the other has. */
static bool covers(const struct counting_cuckoo *filter, const struct counting_cuckoo *other)
{
    return counting_cuckoo_visit(other, has_as_many, (void *)filter);
}

struct intake {
    struct counting_cuckoo *filter;
    uint32_t kicks;
    roost_status status;
};

static bool take_in(void *context, const struct place *place, uint64_t count)
{
    struct intake *intake = context;
    struct holding holding = find_class(intake->filter, place);
    if (holding.count < count)
        intake->status = set_class(intake->filter, place, &holding, count, &intake->kicks, true);
    return intake->status == ROOST_OK;
}

/* On a copy of the table, so that a merge that fails half-way leaves nothing behind. */
static roost_status counting_cuckoo_merge(roost_multiset *multiset, bool *changed, const roost_multiset *other)
{
    struct counting_cuckoo *filter = as_counting_cuckoo(multiset), before = *filter;
    const roost_allocator *allocator = &multiset->environment.allocator;
    *changed = false;
    if (covers(filter, as_const_counting_cuckoo(other)))
        return ROOST_OK;
    struct intake intake = {filter, filter->table.most_kicks, ROOST_NO_MEMORY};
    if (cuckoo_table_copy(&filter->table, &before.table, allocator)) {
        intake.status = ROOST_OK;
        counting_cuckoo_visit(as_const_counting_cuckoo(other), take_in, &intake);
        cuckoo_table_release(intake.status == ROOST_OK ? &before.table : &filter->table, allocator);
    }
    if (intake.status != ROOST_OK)
        *filter = before;
    *changed = intake.status == ROOST_OK;
    return intake.status;
}

static roost_order counting_cuckoo_compare(const roost_multiset *multiset, const roost_multiset *other)
{
    const struct counting_cuckoo *first = as_const_counting_cuckoo(multiset), *second = as_const_counting_cuckoo(other);
    return (covers(first, second) ? 0 : ROOST_BEFORE) | (covers(second, first) ? 0 : ROOST_AFTER);
}

static uint128 counting_cuckoo_digest(const roost_multiset *multiset)
{
    return as_const_counting_cuckoo(multiset)->sum;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static void counting_cuckoo_write_sizes(const roost_multiset *multiset, struct bit_writer *writer)
{
    write_byte(writer, (uint8_t)multiset->config.fingerprint_bits);
    write_byte(writer, (uint8_t)multiset->config.bucket_size);
    write_varint(writer, as_const_counting_cuckoo(multiset)->table.geometry.buckets);
}

struct gather {
    struct cuckoo_geometry geometry;
    struct sort_pair *pairs;
    uint64_t count;
    struct count_costs costs;
};

static bool gather_class(void *context, const struct place *place, uint64_t count)
{
    struct gather *gather = context;
    gather->pairs[gather->count++] = (struct sort_pair){class_key(*place, gather->geometry), count};
    count_costs_add(&gather->costs, count);
    return true;
}

static void write_classes(struct bit_writer *writer, const struct gather *gather)
{
    unsigned keys = rice_parameter(class_universe(gather->geometry), gather->count);
    unsigned counts = count_parameter(&gather->costs);
    uint64_t next = 0;
    write_byte(writer, (uint8_t)counts);
    for (uint64_t i = 0; i < gather->count; i++) {
        write_rice(writer, gather->pairs[i].key - next, keys);
        write_count(writer, gather->pairs[i].value, counts);
        next = gather->pairs[i].key + 1;
    }
    write_alignment(writer);
}

static roost_status counting_cuckoo_write_state(const roost_multiset *multiset, struct bit_writer *writer)
{
    const struct counting_cuckoo *filter = as_const_counting_cuckoo(multiset);
    const roost_allocator *allocator = &multiset->environment.allocator;
    uint64_t entries = cuckoo_table_entries(&filter->table);
    struct gather gather = {.geometry = filter->table.geometry};
    gather.pairs = memory_allocate(allocator, 2 * (entries + 1) * sizeof *gather.pairs);
    if (!gather.pairs)
        return ROOST_NO_MEMORY;
    counting_cuckoo_visit(filter, gather_class, &gather);
    sort_pairs(gather.pairs, gather.pairs + entries + 1, entries, highest_bit(class_universe(gather.geometry)) + 1);
    write_varint(writer, entries);
    write_classes(writer, &gather);
    memory_release(allocator, gather.pairs);
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static roost_status counting_cuckoo_read_state(roost_multiset *multiset, struct bit_reader *reader)
{
    struct counting_cuckoo *filter = as_counting_cuckoo(multiset);
    const struct cuckoo_geometry geometry = filter->table.geometry;
    struct intake intake = {filter, filter->table.most_kicks, ROOST_OK};
    struct count_costs costs = {0};
    uint64_t entries = read_varint(reader), next = 0;
    unsigned counts = read_byte(reader), keys = rice_parameter(class_universe(geometry), entries);
    if (reader->failed || entries > reader_bits_left(reader) || counts >= COUNT_PARAMETERS)
        return ROOST_CORRUPT;
    for (uint64_t i = 0; i < entries && intake.status == ROOST_OK; i++) {
        uint64_t gap = read_rice(reader, keys), key = next + gap, count = read_count(reader, counts);
        if (reader->failed || key < gap || !is_class_key(key, geometry))
            return ROOST_CORRUPT;
        struct place place = place_of_class(key, geometry);
        take_in(&intake, &place, count);
        count_costs_add(&costs, count);
        next = key + 1;
    }
    read_alignment(reader);
    if (intake.status != ROOST_OK)
        return intake.status;
    return reader->failed || counts != count_parameter(&costs) ? ROOST_CORRUPT : ROOST_OK;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static bool count_up(void *context, const struct place *place, uint64_t count)
{
    roost_multiset_info *info = context;
    (void)place;
    info->cardinality += count < UINT64_MAX - info->cardinality ? count : UINT64_MAX - info->cardinality;
    info->largest = info->largest > count ? info->largest : count;
    return true;
}

static void counting_cuckoo_inspect(const roost_multiset *multiset, roost_multiset_info *info)
{
    const struct counting_cuckoo *filter = as_const_counting_cuckoo(multiset);
    const struct cuckoo_geometry geometry = filter->table.geometry;
    uint64_t slots = (uint64_t)geometry.buckets * geometry.bucket_size;
    info->entries = cuckoo_table_entries(&filter->table);
    info->overflow = filter->table.stash.count;
    info->load = (double)filter->table.filled / (double)slots;
    info->fpr_now = (double)info->entries * class_probability(geometry);
    info->fpr_now = info->fpr_now < 1 ? info->fpr_now : 1;
    info->bits = slots * (geometry.bits + COUNTER_BITS_PRINTED);
    info->bytes_memory = own_bytes(&filter->table) + stash_bytes(&filter->table.stash);
    counting_cuckoo_visit(filter, count_up, info);
}

struct audit {
    const struct counting_cuckoo *filter;
    uint128 sum;
};

/* The class is held this once, and what is found for it is this entry. */
static bool audit_class(void *context, const struct place *place, uint64_t count)
{
    struct audit *audit = context;
    const struct cuckoo_table *table = &audit->filter->table;
    struct slot_match matches[MOST_MATCHES];
    uint64_t key = class_key(*place, table->geometry);
    uint64_t copies = cuckoo_table_matches(table, place, matches) + stash_copies(&table->stash, key);
    audit->sum += count_weight(audit->filter->base.config.seed, key, count);
    return copies == 1 && count >= 1 && count <= ROOST_MOST_COPIES &&
           counting_cuckoo_count(audit->filter, place) == count;
}

static bool counting_cuckoo_check(const roost_multiset *multiset)
{
    struct audit audit = {.filter = as_const_counting_cuckoo(multiset)};
    return cuckoo_table_check(&audit.filter->table) && counting_cuckoo_visit(audit.filter, audit_class, &audit) &&
           audit.sum == audit.filter->sum;
}

const struct multiset_kind counting_cuckoo_kind = {
    .code = ROOST_COUNTING_CUCKOO,
    .resolve = counting_cuckoo_resolve,
    .open = counting_cuckoo_open,
    .close = counting_cuckoo_close,
    .clone = counting_cuckoo_clone,
    .add = counting_cuckoo_add,
    .remove = counting_cuckoo_remove,
    .count = counting_cuckoo_count_hash,
    .merge = counting_cuckoo_merge,
    .compare = counting_cuckoo_compare,
    .digest = counting_cuckoo_digest,
    .write_sizes = counting_cuckoo_write_sizes,
    .write_state = counting_cuckoo_write_state,
    .read_state = counting_cuckoo_read_state,
    .identify = counting_cuckoo_identify,
    .inspect = counting_cuckoo_inspect,
    .check = counting_cuckoo_check,
};
