/*
 * A tiny universe, exhausted with the real code: a few buckets, fingerprints of one to three bits, two or three
 * replicas; every add, every merge, every order, every random choice of every insertion, to a given depth.
 *
 *     exhaust [--deep | --shallow]
 *
 * A world is what all replicas hold: for each the slots of its table, its stash, and beside them the exact model, the
 * set of classes added. Worlds are deduplicated, so what is explored is the graph of reachable layouts. Each operation
 * runs on the real filter, once for each sequence of choices that it asks for, and each new layout is checked:
 * invariants, contains for every class from both buckets, digest and bytes a function of the model alone, decode,
 * order.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exhaustive.h"
#include "base/hash.h"
#include "filter/configuration.h"
#include "cuckoo/gcuckoo.h"

enum { MOST_CLASSES = 20, KICKS = 3 };

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

struct layout {
    uint32_t slots, stash, model; /* the slots' bits; sets of class numbers */
};

struct world {
    struct layout replicas[MOST_REPLICAS];
};

struct universe {
    struct cuckoo_geometry geometry;
    uint32_t classes, replicas, capacity;
    uint64_t keys[MOST_CLASSES];
    roost_filter *scratch[MOST_REPLICAS]; /* real filters into which layouts are put */
    uint64_t *frames;                     /* for each model, the checksum of its frame; 0: not seen yet */
    struct frontier worlds;
    uint64_t refused, overflowed, merged, checked, transitions;
};

static struct gcuckoo *scratch_of(const struct universe *universe, uint32_t replica)
{
    return (struct gcuckoo *)universe->scratch[replica];
}

/* All classes that this geometry has, up to a limit, spread over the key space. */
static void find_classes(struct universe *universe, uint32_t limit)
{
    uint64_t all[256];
    uint32_t count = 0;
    for (uint64_t key = 1; key < class_universe(universe->geometry); key++) {
        uint32_t fingerprint = (uint32_t)(key & ((1u << universe->geometry.bits) - 1));
        if (fingerprint && key >> universe->geometry.bits < universe->geometry.buckets &&
            class_key(place_of_class(key, universe->geometry), universe->geometry) == key)
            all[count++] = key;
    }
    limit = limit < MOST_CLASSES ? limit : MOST_CLASSES;
    universe->classes = count < limit ? count : limit;
    for (uint32_t i = 0; i < universe->classes; i++)
        universe->keys[i] = all[(uint64_t)i * count / universe->classes];
}

static void universe_open(struct universe *universe, struct cuckoo_geometry geometry, uint32_t classes,
                          uint32_t replicas, uint32_t capacity)
{
    *universe = (struct universe){.geometry = geometry, .replicas = replicas};
    find_classes(universe, classes);
    universe->capacity = capacity < universe->classes ? capacity : universe->classes;
    roost_config config = {.kind = ROOST_CUCKOO,
                           .capacity = universe->capacity,
                           .fpr = 0x1.fffffffffffffp-1, /* the largest below 1 */
                           .seed = 1,
                           .fingerprint_bits = geometry.bits,
                           .bucket_size = geometry.bucket_size};
    const roost_environment given = {.kicks = KICKS};
    const roost_environment environment = environment_or_default(&given);
    for (uint32_t i = 0; i < replicas; i++) {
        uint8_t buckets[16];
        struct bit_writer writer = bit_writer_over(buckets, sizeof buckets);
        write_varint(&writer, geometry.buckets);
        struct bit_reader reader = bit_reader_over(buckets, writer.buffer.size);
        must(gcuckoo_kind.lifecycle.open(&universe->scratch[i], &config, &environment, &reader) == ROOST_OK, "open");
    }
    universe->frames = calloc((size_t)1 << universe->classes, sizeof *universe->frames);
}

static void universe_close(struct universe *universe)
{
    for (uint32_t i = 0; i < universe->replicas; i++)
        roost_filter_free(universe->scratch[i]);
    free(universe->frames);
    frontier_close(&universe->worlds);
}

static uint32_t slot_bits(const struct universe *universe)
{
    return universe->geometry.buckets * universe->geometry.bits * universe->geometry.bucket_size;
}

static void put_layout(const struct universe *universe, uint32_t replica, struct layout layout)
{
    struct gcuckoo *filter = scratch_of(universe, replica);
    const roost_allocator *allocator = &filter->base.environment.allocator;
    uint32_t fingerprints[8];
    memset(filter->table.slots.bytes, 0, filter->table.slots.size);
    store_word(filter->table.slots.bytes, layout.slots);
    filter->table.filled = 0;
    for (uint32_t bucket = 0; bucket < universe->geometry.buckets; bucket++)
        filter->table.filled += cuckoo_table_bucket(&filter->table, bucket, fingerprints);
    stash_release(&filter->table.stash, allocator);
    filter->sum = 0;
    for (uint32_t i = 0; i < universe->classes; i++) {
        if (layout.stash >> i & 1)
            must(stash_insert(&filter->table.stash, allocator, universe->keys[i], 0), "memory");
        if (layout.model >> i & 1)
            filter->sum += hash_number(filter->base.config->seed, universe->keys[i]);
    }
}

static struct layout take_layout(const struct universe *universe, uint32_t replica, uint32_t model)
{
    const struct gcuckoo *filter = scratch_of(universe, replica);
    struct layout layout = {.slots = (uint32_t)load_word(filter->table.slots.bytes), .model = model};
    for (uint32_t i = 0; i < universe->classes; i++)
        layout.stash |= (uint32_t)stash_contains(&filter->table.stash, universe->keys[i]) << i;
    return layout;
}

/* ---- the laws, for one replica's new layout ---------------------------------------------------------------------- */

static void check_bytes(struct universe *universe, roost_filter *filter, uint32_t model)
{
    roost_buffer frame;
    must(roost_filter_encode(filter, &frame) == ROOST_OK, "encode");
    uint64_t sum = checksum_bytes(frame.data, frame.size);
    if (universe->frames[model] == 0)
        universe->frames[model] = sum;
    must(universe->frames[model] == sum, "equal models have equal bytes");
    roost_buffer_release(&frame);
}

static void check_layout(struct universe *universe, uint32_t replica, uint32_t model)
{
    roost_filter *filter = universe->scratch[replica];
    struct gcuckoo *gcuckoo = scratch_of(universe, replica);
    must(roost_filter_check(filter) == ROOST_OK, "invariants");
    must(cuckoo_table_entries(&gcuckoo->table) == (uint64_t)__builtin_popcount(model), "as many entries as classes");
    for (uint32_t i = 0; i < universe->classes; i++) {
        struct place place = place_of_class(universe->keys[i], universe->geometry), other = other_place(place);
        bool expected = model >> i & 1;
        must(cuckoo_table_contains(&gcuckoo->table, &place) == expected &&
                 cuckoo_table_contains(&gcuckoo->table, &other) == expected,
             "contains says what the model holds");
    }
    check_bytes(universe, filter, model);
    universe->checked++;
    universe->overflowed += gcuckoo->table.stash.count > 0;
}

static roost_order order_of(uint32_t a, uint32_t b)
{
    return (b & ~a ? ROOST_BEFORE : 0) | (a & ~b ? ROOST_AFTER : 0);
}

static void check_order(const struct universe *universe, uint32_t a, uint32_t model_a, uint32_t b, uint32_t model_b)
{
    roost_order order = gcuckoo_kind.lattice.compare(universe->scratch[a], universe->scratch[b]);
    must(order == order_of(model_a, model_b), "compare is inclusion");
    must((scratch_of(universe, a)->sum == scratch_of(universe, b)->sum) == (model_a == model_b),
         "digests are equal where states are");
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Adds class `number` at a replica, from one of its two buckets; returns the model after it. */
static uint32_t run_add(struct universe *universe, const struct world *world, uint32_t replica, uint32_t number,
                        bool from_other)
{
    const struct layout *before = &world->replicas[replica];
    struct place place = place_of_class(universe->keys[number], universe->geometry);
    if (from_other)
        place = other_place(place);
    bool changed = false, was = before->model >> number & 1;
    roost_status status =
        roost_filter_add_hash(universe->scratch[replica], &changed, hash_into(place, universe->geometry));
    if (status == ROOST_OK) {
        must(changed == !was, "add tells whether it changed");
        return before->model | 1u << number;
    }
    struct layout after = take_layout(universe, replica, before->model);
    must(status == ROOST_FULL && !was, "only a full table refuses");
    must((uint32_t)__builtin_popcount(before->model) >= universe->capacity, "not within the capacity");
    must(memcmp(&after, before, sizeof after) == 0, "a refused add changes nothing, not even the layout");
    universe->refused++;
    return before->model;
}

static uint32_t run_merge(struct universe *universe, const struct world *world, uint32_t to, uint32_t from)
{
    bool changed;
    uint32_t model = world->replicas[to].model | world->replicas[from].model;
    must(roost_filter_merge(universe->scratch[to], &changed, universe->scratch[from]) == ROOST_OK, "merge");
    must(changed == (model != world->replicas[to].model), "merge tells whether it changed");
    struct layout source = take_layout(universe, from, world->replicas[from].model);
    must(memcmp(&source, &world->replicas[from], sizeof source) == 0, "merge leaves its source alone");
    universe->merged++;
    return model;
}

/* An operation at `replica`: numbers below 2 * classes are adds, those above merges. */
static void run_operation(struct universe *universe, const struct world *world, uint32_t replica, uint32_t operation)
{
    struct script script = {.length = 0};
    do {
        for (uint32_t i = 0; i < universe->replicas; i++)
            put_layout(universe, i, world->replicas[i]);
        scratch_of(universe, replica)->own.random.script = script_answer;
        scratch_of(universe, replica)->own.random.context = &script;
        uint32_t model = operation < 2 * universe->classes
                             ? run_add(universe, world, replica, operation / 2, operation % 2)
                             : run_merge(universe, world, replica, operation - 2 * universe->classes);
        struct world next = *world;
        next.replicas[replica] = take_layout(universe, replica, model);
        universe->transitions++;
        if (!frontier_visit(&universe->worlds, &next, sizeof next))
            continue;
        check_layout(universe, replica, model);
        for (uint32_t i = 0; i < universe->replicas; i++)
            if (i != replica) {
                check_order(universe, replica, model, i, next.replicas[i].model);
                check_order(universe, i, next.replicas[i].model, replica, model);
            }
    } while (script_advance(&script));
}

static void run_all(void *context, const void *world)
{
    struct universe *universe = context;
    for (uint32_t replica = 0; replica < universe->replicas; replica++) {
        for (uint32_t operation = 0; operation < 2 * universe->classes; operation++)
            run_operation(universe, world, replica, operation);
        for (uint32_t from = 0; from < universe->replicas; from++)
            if (from != replica)
                run_operation(universe, world, replica, 2 * universe->classes + from);
    }
}

static void explore(struct universe *universe, uint32_t depth)
{
    struct world empty = {0};
    universe->worlds.size = sizeof empty;
    frontier_visit(&universe->worlds, &empty, sizeof empty);
    frontier_walk(&universe->worlds, depth, run_all, universe);
    printf("%u buckets of %u, %u bits, %2u classes, %u replicas, depth %u: %9zu worlds, %10llu transitions, "
           "%8llu refused, %8llu with overflow\n",
           universe->geometry.buckets, universe->geometry.bucket_size, universe->geometry.bits, universe->classes,
           universe->replicas, depth, universe->worlds.seen.count, (unsigned long long)universe->transitions,
           (unsigned long long)universe->refused, (unsigned long long)universe->overflowed);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static uint64_t refused, overflowed, merged, checked;

static void run_universe(struct cuckoo_geometry geometry, uint32_t classes, uint32_t replicas, uint32_t capacity,
                         uint32_t depth)
{
    struct universe universe;
    universe_open(&universe, geometry, classes, replicas, capacity);
    must(slot_bits(&universe) <= 32, "slots fit a layout");
    explore(&universe, depth);
    refused += universe.refused;
    overflowed += universe.overflowed;
    merged += universe.merged;
    checked += universe.checked;
    universe_close(&universe);
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "";
    for (uint32_t buckets = 2; buckets <= 4; buckets += 2)
        for (uint32_t bits = 1; bits <= 3; bits++)
            for (uint32_t size = 1; size <= 2; size++) {
                struct cuckoo_geometry geometry = {buckets, bits, size, 0, 0, 0};
                for (uint32_t capacity = 1; capacity <= 4; capacity += 3) {
                    run_universe(geometry, 4, 2, capacity, depth_of(form, 6, 10));
                    run_universe(geometry, 4, 3, capacity, depth_of(form, 5, 7));
                    run_universe(geometry, MOST_CLASSES, 2, capacity, depth_of(form, 4, 6));
                }
                run_universe(geometry, MOST_CLASSES, 3, 2, depth_of(form, 4, 5));
            }
    printf("%llu layouts checked, %llu merges, %llu adds refused, %llu layouts with overflow: every law held\n",
           (unsigned long long)checked, (unsigned long long)merged, (unsigned long long)refused,
           (unsigned long long)overflowed);
    must(refused > 1000 && overflowed > 1000 && merged > 1000, "the walk did real work");
    return 0;
}
