/*
 * The table of prefixes beside an exact model: a sorted list of prefixes, none of which covers another. Segments are
 * tiny, so that they are cut, rebuilt and nested all the time; lengths are mixed, so that prefixes cover others, end
 * before their slots begin and span segments; and keys are chosen to share their first bits.
 */
#include "meter.h"

#include <math.h>

#include "base/sort.h"
#include "filter/configuration.h"
#include "prefix/search.h"
#include "prefix/table.h"

enum { MOST = 4096 };

struct model {
    uint64_t prefixes[MOST]; /* ascending */
    uint32_t count;
};

static bool model_contains(const struct model *model, uint64_t hash)
{
    for (uint32_t i = 0; i < model->count; i++)
        if (covers_hash(model->prefixes[i], hash))
            return true;
    return false;
}

static bool model_covers(const struct model *model, uint64_t prefix)
{
    for (uint32_t i = 0; i < model->count; i++)
        if (covers_prefix(model->prefixes[i], prefix))
            return true;
    return false;
}

static void model_add(struct model *model, uint64_t prefix)
{
    uint32_t kept = 0, before = 0;
    for (uint32_t i = 0; i < model->count; i++)
        if (!covers_prefix(prefix, model->prefixes[i])) {
            before += model->prefixes[i] < prefix;
            model->prefixes[kept++] = model->prefixes[i];
        }
    memmove(model->prefixes + before + 1, model->prefixes + before, (kept - before) * sizeof *model->prefixes);
    model->prefixes[before] = prefix;
    model->count = kept + 1;
}

/* Counts the calls, and holds for what is in the model. */
struct membership {
    const struct model *model;
    uint32_t *asked, holds_for; /* asked in all; after so many it holds no longer */
};

static bool is_member(const void *context, uint64_t prefix)
{
    const struct membership *membership = context;
    uint32_t low = 0, high = membership->model->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (membership->model->prefixes[middle] < prefix)
            low = middle + 1;
        else
            high = middle;
    }
    assert_true(low < membership->model->count && membership->model->prefixes[low] == prefix);
    return ++*membership->asked <= membership->holds_for;
}

/* Every prefix is asked once, up to the first for which the test does not hold. */
static void assert_every(const struct prefix_table *table, const struct model *model)
{
    uint32_t asked = 0;
    struct membership membership = {model, &asked, model->count};
    assert_true(table_every(table, is_member, &membership));
    assert_int_equal(asked, model->count);
    if (model->count == 0)
        return;
    asked = 0;
    membership.holds_for = model->count / 2;
    assert_false(table_every(table, is_member, &membership));
    assert_int_equal(asked, model->count / 2 + 1);
}

/* The table holds what the model holds, in the same order, and says so. */
static void assert_same(const struct prefix_table *table, const struct model *model)
{
    struct table_walk walk;
    uint32_t seen = 0;
    bool more;
    assert_true(table_check(table));
    assert_int_equal(table->count, model->count);
    walk_begin(&walk, table, 0);
    for (assert_ok(walk_next(&walk, &more)); more; assert_ok(walk_next(&walk, &more)))
        for (uint64_t i = 0; i < walk.count; i++)
            assert_int_equal(walk.prefixes[i], model->prefixes[seen++]);
    walk_end(&walk);
    assert_int_equal(seen, model->count);
    assert_every(table, model);
}

/* ---- random worlds ----------------------------------------------------------------------------------------------- */

/* How the prefixes of a world are drawn. */
struct world {
    unsigned shortest, longest; /* lengths */
    unsigned shared;            /* so many first bits are the same in most of them */
    uint32_t target;            /* prefixes of a segment */
    uint32_t adds;
};

static struct world some_world(struct random_source *random)
{
    struct world world = {.shortest = random_choice(random, 4) ? 6 + random_choice(random, 12) : 1,
                          .target = 1u << random_choice(random, 8),
                          .shared = random_choice(random, 3) ? 0 : random_choice(random, 40),
                          .adds = 1 + random_choice(random, 1500)};
    world.shortest += world.shared;
    world.longest = world.shortest + random_choice(random, MOST_LENGTH + 1 - world.shortest);
    return world;
}

static uint64_t draw_hash(struct random_source *random, const struct world *world)
{
    uint64_t hash = random_next(random);
    return world->shared && random_choice(random, 8) ? hash >> world->shared : hash;
}

static uint64_t draw_prefix(struct random_source *random, const struct world *world)
{
    unsigned length = world->shortest + random_choice(random, world->longest - world->shortest + 1);
    return prefix_of(draw_hash(random, world), length);
}

static struct prefix_table new_table(uint32_t target)
{
    struct prefix_table table;
    roost_environment environment = environment_or_default(NULL);
    table_init(&table, 7, &environment);
    table.target = target;
    return table;
}

static void add_to_both(struct prefix_table *table, struct model *model, uint64_t prefix)
{
    bool covered = model_covers(model, prefix);
    assert_int_equal(table_covers(table, prefix), covered);
    if (covered)
        return;
    assert_ok(table_add(table, prefix));
    model_add(model, prefix);
}

/* Prefixes of one length, many at once: those that need more than a slot one at a time. */
static uint64_t added_at_once;

static void add_many_to_both(struct random_source *random, struct prefix_table *table, struct model *model,
                             const struct world *world)
{
    roost_hash hashes[100];
    bool added[COUNT_OF(hashes)];
    size_t count = 1 + random_choice(random, COUNT_OF(hashes));
    unsigned length = world->shortest + random_choice(random, world->longest - world->shortest + 1);
    for (size_t i = 0; i < count; i++)
        hashes[i] = i && random_choice(random, 8) == 0 ? hashes[i - 1] : (roost_hash){0, draw_hash(random, world)};
    for (size_t at = 0; at < count; at++) {
        size_t some = table_add_many(table, added + at, hashes + at, count - at, length);
        added_at_once += some;
        for (size_t end = at + some; at < end; at++) {
            assert_int_equal(added[at], !model_contains(model, hashes[at].high));
            if (added[at])
                model_add(model, prefix_of(hashes[at].high, length));
        }
        if (at < count && !model_contains(model, hashes[at].high))
            add_to_both(table, model, prefix_of(hashes[at].high, length));
    }
}

static void assert_look_ups(struct random_source *random, const struct prefix_table *table, const struct model *model,
                            const struct world *world)
{
    roost_hash hashes[64];
    bool found[COUNT_OF(hashes)];
    for (size_t i = 0; i < COUNT_OF(hashes); i++)
        hashes[i] = (roost_hash){0, draw_hash(random, world)};
    for (const struct search_kernel *const *kernel = search_kernels; *kernel; kernel++) {
        if (!(*kernel)->head.usable())
            continue;
        search_kernel_force(*kernel);
        size_t first = random_choice(random, COUNT_OF(hashes)); /* batches of every size */
        table_contains_many(table, found, hashes, first);
        table_contains_many(table, found + first, hashes + first, COUNT_OF(hashes) - first);
        for (size_t i = 0; i < COUNT_OF(hashes); i++) {
            assert_int_equal(found[i], model_contains(model, hashes[i].high));
            assert_int_equal(table_contains(table, hashes[i].high), found[i]);
        }
    }
    search_kernel_force(NULL);
#ifdef HAS_NEON
    assert_ptr_equal(search_kernel_in_use(), &search_kernel_neon);
#endif
    for (uint32_t i = 0; i < model->count; i++) {
        assert_true(table_contains(table, first_covered(model->prefixes[i])));
        assert_true(table_contains(table, last_covered(model->prefixes[i])));
    }
}

/* ---- what kernels do beside look-ups ---- */

struct listed {
    uint64_t prefix, origin, unsure;
};

static int compare_listed(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct listed));
}

/* What a kernel lists of a segment, in an order that does not depend on it. */
static uint64_t list_segment(const struct search_kernel *kernel, const struct segment *segment, struct listed *listed)
{
    static uint64_t prefixes[MOST_BUCKETS * SLOTS + DECODED_AT_ONCE], origins[COUNT_OF(prefixes)];
    struct unsure unsure;
    unsure.count = 0;
    uint64_t count = kernel->decode(segment, prefixes, origins, &unsure);
    for (uint64_t i = 0; i < count; i++)
        listed[i] = (struct listed){prefixes[i], origins[i], 0};
    for (uint64_t i = 0; i < unsure.count && unsure.count <= MOST_UNSURE; i++)
        listed[unsure.items[i]].unsure = 1;
    qsort(listed, count, sizeof *listed, compare_listed);
    assert_int_equal(kernel->decode(segment, prefixes, NULL, &unsure), count);
    return count;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
    return (one > two) - (one < two);
}

/* Positions of those with some ends are those of what is listed. */
static void assert_positions_as_listed(const struct search_kernel *kernel, const struct segment *segment,
                                       const struct listed *listed, uint64_t count)
{
    static uint64_t positions[MOST_BUCKETS * SLOTS + DECODED_AT_ONCE], expected[COUNT_OF(positions)];
    for (uint64_t ends = UINT64_MAX; ends; ends >>= 7, ends &= ~(ends >> 3)) {
        uint64_t wanted = 0;
        for (uint64_t i = 0; i < count; i++)
            if (end_mark(listed[i].prefix) & ends)
                expected[wanted++] = prefix_position(listed[i].prefix);
        assert_int_equal(kernel->decode_positions(segment, positions, ends), wanted);
        qsort(positions, wanted, sizeof *positions, compare_numbers);
        qsort(expected, wanted, sizeof *expected, compare_numbers);
        assert_memory_equal(positions, expected, wanted * sizeof *positions);
    }
}

static void assert_as_plain(const struct search_kernel *kernel, const struct segment *segment)
{
    static struct listed lists[2][MOST_BUCKETS * SLOTS];
    const unsigned width = segment->slots.width;
    uint64_t count = list_segment(kernel, segment, lists[0]);
    assert_int_equal(list_segment(&search_kernel_plain, segment, lists[1]), count);
    assert_memory_equal(lists[0], lists[1], count * sizeof *lists[0]);
    assert_positions_as_listed(kernel, segment, lists[1], count);
    for (uint32_t bucket = 0; bucket < segment->buckets; bucket++) {
        uint32_t used = kernel->used(slots_of(segment, bucket), width);
        assert_int_equal(used, search_kernel_plain.used(slots_of(segment, bucket), width));
        if (used != FULL_BUCKET)
            continue;
        struct slot_move moves[2] = {{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}};
        unsigned asked[2] = {0, 0};
        bool found = kernel->find_move(segment, bucket, &asked[0], &moves[0]);
        assert_int_equal(search_kernel_plain.find_move(segment, bucket, &asked[1], &moves[1]), found);
        assert_memory_equal(&moves[0], &moves[1], sizeof *moves);
        assert_int_equal(asked[0], asked[1]);
    }
    uint64_t prefixes[13], places[2][COUNT_OF(prefixes)];
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        prefixes[i] = segment->start | lists[0][count ? i % count : 0].prefix | i << (63 - segment->depth) >> 7;
    kernel->locate(segment, places[0], prefixes, COUNT_OF(prefixes));
    search_kernel_plain.locate(segment, places[1], prefixes, COUNT_OF(prefixes));
    if (width <= 32)
        assert_memory_equal(places[0], places[1], sizeof *places);
}

static void assert_kernels_agree(struct random_source *random, const struct prefix_table *table)
{
    if (!table->root)
        return;
    const struct segment *segment = find_segment(table->root, random_next(random));
    for (const struct search_kernel *const *kernel = search_kernels; *kernel; kernel++)
        if ((*kernel)->head.usable() && segment->buckets)
            assert_as_plain(*kernel, segment);
}

/* The positions of some lengths, without segments that have none of them, are those of the model. */
static void assert_positions(struct random_source *random, const struct prefix_table *table, const struct model *model)
{
    static uint64_t positions[MOST], expected[MOST];
    const uint64_t ends = random_choice(random, 2) ? UINT64_MAX : random_next(random);
    uint64_t seen = 0, wanted = 0;
    struct table_walk walk;
    for (uint32_t i = 0; i < model->count; i++)
        if (end_mark(model->prefixes[i]) & ends)
            expected[wanted++] = prefix_position(model->prefixes[i]);
    walk_begin(&walk, table, 0);
    for (const struct segment *segment; (segment = walk_segment(&walk)) != NULL;) {
        if (segment->prefixes == 0) {
            walk_pass(&walk);
            continue;
        }
        assert_ok(walk_positions(&walk, ends));
        assert_true(seen + walk.count <= wanted);
        memcpy(positions + seen, walk.prefixes, walk.count * sizeof *positions);
        seen += walk.count;
    }
    walk_end(&walk);
    assert_int_equal(seen, wanted);
    qsort(positions, seen, sizeof *positions, compare_numbers);
    qsort(expected, seen, sizeof *expected, compare_numbers);
    assert_memory_equal(positions, expected, seen * sizeof *positions);
}

/* Built at once, and copied, it is the same set. */
static void assert_copies(const struct prefix_table *table, const struct model *model)
{
    struct prefix_table built = new_table(table->target), copy = new_table(table->target);
    struct prefix_list list = {model->prefixes, model->count};
    assert_ok(table_build(&built, model->count, next_of_list, &list));
    assert_same(&built, model);
    assert_true(built.sum == table->sum);
    assert_ok(table_copy(&copy, table));
    assert_same(&copy, model);
    assert_true(copy.bytes <= table->bytes);
    table_release(&built);
    table_release(&copy);
    assert_int_equal(built.bytes + copy.bytes, 0);
}

/* A walk may leave out what another table has alike, whatever its segments are, and nothing else. */
static void assert_known(struct random_source *random, const struct prefix_table *table, const struct model *model)
{
    static uint64_t others[MOST];
    struct prefix_table known = new_table(random_choice(random, 2) ? table->target : 1u << random_choice(random, 8));
    uint32_t missing = random_choice(random, model->count + 1), count = 0;
    uint64_t prefix;
    bool found = missing == model->count;
    for (uint32_t i = 0; i < model->count; i++)
        if (i != missing)
            others[count++] = model->prefixes[i];
    struct prefix_list list = {others, count};
    assert_ok(table_build(&known, count, next_of_list, &list));
    assert_int_equal(table_equals(table, &known), missing == model->count);
    struct table_stream stream = {.at = 0};
    walk_begin(&stream.walk, table, 0);
    stream.walk.known = &known;
    while ((prefix = next_of_table(&stream)) != 0) {
        assert_true(model_covers(model, prefix));
        found |= missing < model->count && prefix == model->prefixes[missing];
    }
    walk_end(&stream.walk);
    assert_true(found);
    table_release(&known);
}

static void a_table_is_the_set_of_its_prefixes(void **state)
{
    (void)state;
    static struct model model;
    struct random_source random = random_from_seed(test_seed(1));
    for (uint64_t round = count_of_worlds(is_long() ? 1500 : 600); round > 0; round--) {
        struct world world = some_world(&random);
        struct prefix_table table = new_table(world.target);
        model.count = 0;
        search_kernel_force(random_choice(&random, 2) ? &search_kernel_plain : NULL); /* it also builds and lists */
        for (uint32_t i = 0; i < world.adds; i++) {
            if (random_choice(&random, 50) == 0)
                add_many_to_both(&random, &table, &model, &world);
            else
                add_to_both(&table, &model, draw_prefix(&random, &world));
            if (random_choice(&random, 200) == 0)
                assert_same(&table, &model);
            if (random_choice(&random, 20) == 0)
                assert_kernels_agree(&random, &table);
        }
        assert_same(&table, &model);
        assert_look_ups(&random, &table, &model, &world);
        assert_copies(&table, &model);
        assert_known(&random, &table, &model);
        assert_positions(&random, &table, &model);
        table_release(&table);
        assert_int_equal(table.bytes, 0);
    }
    printf("%llu at once\n", (unsigned long long)added_at_once);
    assert_true(added_at_once > 0);
}

/* ---- merges ------------------------------------------------------------------------------------------------------ */

/* What the second has and the first does not cover, in order; the first becomes the union. */
static uint32_t model_merge(struct model *model, const struct model *other, uint64_t *unseen)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < other->count; i++)
        if (!model_covers(model, other->prefixes[i]))
            unseen[count++] = other->prefixes[i];
    for (uint32_t i = 0; i < count; i++)
        model_add(model, unseen[i]);
    return count;
}

static void add_some_to_both(struct random_source *random, struct prefix_table *table, struct model *model,
                             const struct world *world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        add_to_both(table, model, draw_prefix(random, world));
}

/* A table apart, or a copy that went on, or one built of the same; each with a few more, or many. */
static void some_other_table(struct random_source *random, struct prefix_table *other, struct model *other_model,
                             const struct prefix_table *table, const struct model *model, struct world *world)
{
    struct prefix_list list = {model->prefixes, model->count};
    uint32_t target = random_choice(random, 2) ? world->target : 1u << random_choice(random, 8);
    unsigned kind = (unsigned)random_choice(random, 4);
    *other = new_table(target);
    *other_model = *model;
    if (kind == 0)
        other_model->count = 0;
    else if (kind == 1)
        assert_ok(table_build(other, model->count, next_of_list, &list));
    else
        assert_ok(table_copy(other, table));
    if (random_choice(random, 3) == 0) { /* shorter or longer ones than before */
        world->shortest = world->shared + 1 + random_choice(random, 20);
        world->longest = world->shortest + random_choice(random, MOST_LENGTH + 1 - world->shortest);
    }
    uint32_t more = random_choice(random, 2) ? 1 + random_choice(random, 20) : 1 + random_choice(random, world->adds);
    add_some_to_both(random, other, other_model, world, other_model->count + more < MOST / 2 ? more : 1);
}

static void assert_merged(const struct merge_result *result, const uint64_t *unseen, uint32_t count)
{
    assert_int_equal(result->unseen, count);
    if (!result->lists)
        return;
    assert_int_equal(result->added.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(result->added.prefixes[i], unseen[i]);
}

/* A merge is the union of the sorted lists without what is covered, whether few are new or many, and whatever the
   segments of the two tables are. A refused allocation leaves the table as it was. */
static void a_merge_is_the_union_of_both(void **state)
{
    (void)state;
    static struct model model, other_model;
    static uint64_t unseen[MOST];
    struct random_source random = random_from_seed(test_seed(4));
    uint64_t refused = 0, few = 0, many = 0;
    for (uint64_t round = count_of_worlds(is_long() ? 4000 : 600); round > 0; round--) {
        struct world world = some_world(&random);
        struct meter meter;
        struct prefix_table table = new_table(world.target), other;
        world.adds = 1 + world.adds / 2;
        table.allocator = allocator_of(&meter);
        model.count = 0;
        search_kernel_force(random_choice(&random, 2) ? &search_kernel_plain : NULL);
        add_some_to_both(&random, &table, &model, &world, random_choice(&random, 8) ? world.adds : 1);
        some_other_table(&random, &other, &other_model, &table, &model, &world);
        add_some_to_both(&random, &table, &model, &world, random_choice(&random, 20));
        struct merge_result result = {.lists = random_choice(&random, 2)};
        roost_status status = ROOST_NO_MEMORY;
        for (long allowed = random_choice(&random, 3) ? -1 : 0; status != ROOST_OK; allowed += 1 + allowed / 4) {
            meter.allowed = allowed;
            meter.recovers = random_choice(&random, 2);
            status = table_merge(&table, &other, &result);
            meter.allowed = -1;
            if (status == ROOST_OK)
                break;
            assert_int_equal(status, ROOST_NO_MEMORY);
            memory_release(&table.allocator, result.added.prefixes);
            result = (struct merge_result){.lists = result.lists};
            refused++;
            if (random_choice(&random, 4) == 0)
                assert_same(&table, &model);
        }
        uint32_t count = model_merge(&model, &other_model, unseen);
        few += count > 0 && count < model.count / 8;
        many += count > model.count / 2;
        assert_merged(&result, unseen, count);
        memory_release(&table.allocator, result.added.prefixes);
        assert_same(&table, &model);
        assert_same(&other, &other_model);
        table_release(&other);
        table_release(&table);
        assert_int_equal(table.bytes, 0);
        assert_int_equal(meter.outstanding, 0);
    }
    printf("%llu merges of few, %llu of many, %llu refused\n", (unsigned long long)few, (unsigned long long)many,
           (unsigned long long)refused);
    assert_true(few > 0 && many > 0 && refused > 0);
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

static void a_refused_allocation_leaves_the_set_as_it_was(void **state)
{
    (void)state;
    static struct model model;
    struct random_source random = random_from_seed(test_seed(2));
    for (uint64_t round = count_of_worlds(60); round > 0; round--) {
        struct world world = some_world(&random);
        struct meter meter;
        struct prefix_table table = new_table(world.target);
        table.allocator = allocator_of(&meter);
        model.count = 0;
        for (uint32_t i = 0; i < world.adds; i++) {
            uint64_t prefix = draw_prefix(&random, &world);
            if (model_covers(&model, prefix))
                continue;
            meter.allowed = random_choice(&random, 12);
            meter.recovers = random_choice(&random, 2);
            roost_status status = table_add(&table, prefix);
            meter.allowed = -1;
            if (status != ROOST_OK) {
                assert_int_equal(status, ROOST_NO_MEMORY);
                if (random_choice(&random, 8) == 0)
                    assert_same(&table, &model);
                assert_ok(table_add(&table, prefix));
            }
            model_add(&model, prefix);
        }
        assert_same(&table, &model);
        table_release(&table);
        assert_int_equal(meter.outstanding, 0);
    }
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

/* What is found of hashes that were never added is the part of all hashes that the prefixes cover, also after memory
   was used before. */
static void the_rate_is_what_the_prefixes_cover(void **state)
{
    (void)state;
    only_as_shipped();
    struct random_source random = random_from_seed(test_seed(3));
    for (unsigned round = 0; round < 3; round++) {
        struct prefix_table table = new_table(SEGMENT_TARGET);
        double rate = 0;
        uint64_t found = 0, asked = 1000000;
        for (uint32_t i = 0; i < 100000; i++) {
            uint64_t prefix = prefix_of(random_next(&random), 20 + i / 10000);
            if (!table_covers(&table, prefix))
                assert_ok(table_add(&table, prefix));
        }
        for (unsigned length = 0; length <= MOST_LENGTH; length++)
            rate += (double)table.counts[length] / (double)(UINT64_C(1) << length);
        for (uint64_t i = 0; i < asked; i++)
            found += table_contains(&table, random_next(&random));
        double expected = rate * (double)asked;
        assert_true((double)found > expected - 5 * sqrt(expected) && (double)found < expected + 5 * sqrt(expected));
        table_release(&table);
    }
}

/* The fullest segment, which no crowd has grown beyond its double. */
static uint32_t fullest(const struct prefix_table *table)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < segments_of(table->root); i++) {
        node child = *child_at(table->root, i);
        assert_false(is_nested(child));
        most = segment_of(child)->prefixes > most ? segment_of(child)->prefixes : most;
    }
    return most;
}

/* A state that comes in chunks, in the order of hashes: no chunk has to build anew what the chunks before it built. */
static void what_comes_in_order_crowds_no_segment(void **state)
{
    enum { ALL = 60000, CHUNK = 33, LENGTH = 30 };
    struct random_source random = random_from_seed(test_seed(2016));
    struct prefix_table table = new_table(256);
    uint64_t *prefixes = calloc(2 * ALL, sizeof *prefixes), count = 1;
    uint32_t most = 0;
    (void)state;
    for (uint64_t i = 0; i < ALL; i++)
        prefixes[i] = prefix_of(random_next(&random), LENGTH);
    sort_numbers(prefixes, prefixes + ALL, ALL, 64);
    for (uint64_t i = 1; i < ALL; i++)
        if (prefixes[i] != prefixes[count - 1])
            prefixes[count++] = prefixes[i];
    for (uint64_t done = 0, some; done < count; done += some) {
        some = count - done < CHUNK ? count - done : CHUNK;
        assert_ok(table_add_all(&table, prefixes + done, some));
        most = done >= ALL / 10 && fullest(&table) > most ? fullest(&table) : most;
    }
    printf("%llu segments for %llu prefixes, %u in the fullest\n", (unsigned long long)segments_of(table.root),
           (unsigned long long)table.count, most);
    assert_true(table_check(&table) && table.count == count);
    assert_true(most <= 3 * 256);
    for (uint64_t i = 0; i < count; i++)
        assert_true(table_contains(&table, first_covered(prefixes[i])));
    table_release(&table);
    free(prefixes);
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

static uint64_t allocated_bytes;

static void *allocate_counted(void *context, size_t size)
{
    (void)context;
    allocated_bytes += size;
    return calloc(1, size);
}

static void release_counted(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* Segments are full enough at any time, and are not made anew more often than that takes: the memory that all of them
   ever had, with what they are made of, tells how often. */
static void segments_grow_in_few_steps(void **state)
{
    (void)state;
    enum { ALL = 1 << 17, LENGTH = 44 };
    struct random_source random = {.state = 11};
    roost_environment environment = environment_or_default(NULL);
    environment.allocator = (roost_allocator){.allocate = allocate_counted, .release = release_counted};
    struct prefix_table table;
    table_init(&table, 7, &environment);
    double least = 1, sum = 0;
    unsigned looks = 0;
    allocated_bytes = 0;
    for (uint64_t i = 0; i < ALL; i++) {
        assert_ok(table_add(&table, prefix_of(random_next(&random), LENGTH)));
        if (i < ALL / 8 || i % 1024)
            continue;
        double load = table_load(&table);
        least = load < least ? load : least;
        sum += load;
        looks++;
    }
    const double mean = sum / looks, bytes = (double)allocated_bytes / ALL;
    printf("%.3f of the slots in use on average, %.3f at least; %.0f bytes allocated a prefix\n", mean, least, bytes);
    assert_true(SHORT_CODE ? mean > 0.78 && least > 0.74 : mean > 0.83 && least > 0.8); /* WebAssembly: larger steps */
    assert_true(bytes < 100);
    assert_true(table_check(&table) && table.count == ALL);
    table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_the_set_of_its_prefixes),
        cmocka_unit_test(a_merge_is_the_union_of_both),
        cmocka_unit_test(a_refused_allocation_leaves_the_set_as_it_was),
        cmocka_unit_test(the_rate_is_what_the_prefixes_cover),
        cmocka_unit_test(what_comes_in_order_crowds_no_segment),
        cmocka_unit_test(segments_grow_in_few_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
