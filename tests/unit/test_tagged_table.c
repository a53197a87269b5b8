/*
 * The table of prefixes with tags beside an exact model, a list of entries. Segments are tiny, lengths are mixed, keys
 * share their first bits, and elements have many copies, so that entries crowd, end before their slots begin, span
 * segments and cover each other.
 */
#include "meter.h"

#include "filter/configuration.h"
#include "prefix/search.h"
#include "prefix/tagged.h"

enum { MOST = 4096 };

struct model {
    struct prefix_entry entries[MOST];
    uint32_t count;
};

static uint32_t model_find(const struct model *model, struct prefix_entry entry)
{
    uint32_t i = 0;
    while (i < model->count && (model->entries[i].prefix != entry.prefix || model->entries[i].tag != entry.tag))
        i++;
    return i;
}

static uint64_t model_covering(const struct model *model, uint64_t hash)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < model->count; i++)
        count += covers_hash(model->entries[i].prefix, hash);
    return count;
}

/* Tags alone come in the order of the entries, whichever kernel reads them. */
static void assert_same_tags(const struct prefix_table *table)
{
    struct prefix_entry entries[TAGGED_AT_ONCE];
    uint64_t tags[ROOM_FOR_TAGS];
    for (const struct search_kernel *const *kernel = search_kernels; *kernel; kernel++) {
        struct tagged_walk walk = {0}, twin = {0};
        if (!(*kernel)->head.usable())
            continue;
        search_kernel_force(*kernel);
        for (uint32_t count; (count = tagged_next(table, &walk, entries)) > 0;) {
            assert_int_equal(tagged_next_tags(table, &twin, tags), count);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(tags[i], entries[i].tag);
        }
        assert_int_equal(tagged_next_tags(table, &twin, tags), 0);
    }
    search_kernel_force(NULL);
}

static void assert_same(const struct prefix_table *table, const struct model *model)
{
    static bool seen[MOST];
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    uint32_t total = 0;
    assert_true(tagged_check(table));
    assert_int_equal(table->count, model->count);
    memset(seen, 0, sizeof seen);
    for (uint32_t count; (count = tagged_next(table, &walk, entries)) > 0; total += count)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t at = model_find(model, entries[i]);
            assert_true(at < model->count && !seen[at]);
            seen[at] = true;
        }
    assert_int_equal(total, model->count);
    assert_same_tags(table);
}

/* How the entries of a world are drawn. */
struct world {
    unsigned shortest, longest; /* lengths */
    unsigned shared;            /* so many first bits are the same in most of them */
    uint32_t target;            /* prefixes of a segment */
    uint32_t steps, keys;
    uint32_t actors, removals; /* of eight steps */
    unsigned counter_bits;
};

static struct world some_world(struct random_source *random)
{
    struct world world = {.shortest = random_choice(random, 4) ? 6 + random_choice(random, 12) : 1,
                          .target = 1u << random_choice(random, 8),
                          .shared = random_choice(random, 3) ? 0 : random_choice(random, 40),
                          .steps = 1 + random_choice(random, 1500),
                          .keys = 1 + random_choice(random, random_choice(random, 2) ? 2000 : 20),
                          .actors = 1 + random_choice(random, random_choice(random, 2) ? 2 : 4000),
                          .removals = random_choice(random, 6),
                          .counter_bits = 1 + random_choice(random, 32)};
    world.shortest += world.shared;
    world.longest = world.shortest + random_choice(random, MOST_LENGTH + 1 - world.shortest);
    return world;
}

static uint64_t hash_of_key(const struct world *world, uint64_t key)
{
    struct random_source source = random_from_seed(key);
    uint64_t hash = random_next(&source);
    return world->shared && key % 8 ? hash >> world->shared : hash;
}

static struct prefix_entry draw_entry(struct random_source *random, const struct world *world)
{
    unsigned length = world->shortest + random_choice(random, world->longest - world->shortest + 1);
    uint64_t counter = random_next(random) >> (64 - world->counter_bits);
    return (struct prefix_entry){prefix_of(hash_of_key(world, random_choice(random, world->keys)), length),
                                 (uint64_t)random_choice(random, world->actors) << 32 | (counter ? counter : 1)};
}

static struct prefix_table new_table(uint32_t target)
{
    struct prefix_table table;
    roost_environment environment = environment_or_default(NULL);
    tagged_init(&table, 7, &environment);
    table.target = target;
    return table;
}

static void drop_from_both(struct prefix_table *table, struct model *model, uint32_t at)
{
    struct prefix_entry entry = model->entries[at];
    model->entries[at] = model->entries[--model->count];
    assert_true(tagged_drop(table, entry));
    assert_false(tagged_holds(table, entry));
    assert_false(tagged_drop(table, entry));
    tagged_shrink(table, entry.prefix);
}

static void assert_look_ups(struct random_source *random, const struct prefix_table *table, const struct model *model,
                            const struct world *world)
{
    struct prefix_entry entries[2 * TAGGED_AT_ONCE];
    for (unsigned i = 0; i < 64; i++) {
        uint64_t hash = hash_of_key(world, random_choice(random, 2 * world->keys));
        uint64_t expected = model_covering(model, hash);
        for (const struct search_kernel *const *kernel = search_kernels; *kernel; kernel++) {
            if (!(*kernel)->head.usable())
                continue;
            search_kernel_force(*kernel);
            assert_int_equal(table_contains(table, hash), expected > 0);
        }
        search_kernel_force(NULL);
        assert_int_equal(tagged_count_covering(table, hash), expected);
        uint32_t count = tagged_covering(table, hash, entries, 2 * TAGGED_AT_ONCE);
        assert_int_equal(count, expected < 2 * TAGGED_AT_ONCE ? expected : 2 * TAGGED_AT_ONCE);
        for (uint32_t j = 0; j < count; j++)
            assert_true(covers_hash(entries[j].prefix, hash) && model_find(model, entries[j]) < model->count);
    }
    for (uint32_t i = 0; i < model->count; i++) {
        assert_true(tagged_holds(table, model->entries[i]));
        assert_true(table_contains(table, first_covered(model->entries[i].prefix)));
        assert_true(table_contains(table, last_covered(model->entries[i].prefix)));
    }
}

static void put_into_both(struct random_source *random, struct prefix_table *table, struct model *model,
                          const struct world *world)
{
    struct prefix_entry entry = draw_entry(random, world);
    if (model_find(model, entry) < model->count) {
        assert_true(tagged_holds(table, entry));
        return;
    }
    assert_ok(tagged_put(table, entry));
    model->entries[model->count++] = entry;
}

/* What was put in batches, by hashes and by entries. */
static uint64_t hashes_at_once, entries_at_once;

/* Several at once, from one tag on, until one is covered or needs more than a slot. */
static void put_many_into_both(struct random_source *random, struct prefix_table *table, struct model *model,
                               const struct world *world)
{
    roost_hash hashes[40];
    struct prefix_entry entry = draw_entry(random, world);
    unsigned length = prefix_length(entry.prefix);
    uint32_t count = 1 + random_choice(random, COUNT_OF(hashes));
    entry.tag = (entry.tag & ~(uint64_t)UINT16_MAX) | (model->count + 1); /* none of these tags is in the model */
    if ((uint32_t)entry.tag > UINT32_MAX - 2 * COUNT_OF(hashes) || world->counter_bits < 20)
        return;
    for (uint32_t i = 0; i < count; i++)
        hashes[i] = (roost_hash){0, hash_of_key(world, random_choice(random, 4 * world->keys))};
    size_t put = tagged_put_many(table, hashes, count, length, entry.tag);
    assert_in_range(put, 0, count);
    hashes_at_once += put;
    for (size_t i = 0; i < put; i++, entry.tag++) {
        assert_int_equal(model_covering(model, hashes[i].high), 0);
        entry.prefix = prefix_of(hashes[i].high, length);
        model->entries[model->count++] = entry;
    }
}

static void put_entries_into_both(struct random_source *random, struct prefix_table *table, struct model *model,
                                  const struct world *world)
{
    struct prefix_entry entries[TAGGED_AT_ONCE];
    uint32_t count = 0, wanted = 1 + random_choice(random, TAGGED_AT_ONCE);
    for (uint32_t i = 0; i < wanted; i++) {
        entries[count] = draw_entry(random, world);
        bool known = model_find(model, entries[count]) < model->count;
        for (uint32_t j = 0; j < count; j++)
            known |= entries[j].prefix == entries[count].prefix && entries[j].tag == entries[count].tag;
        count += !known;
    }
    size_t put = tagged_put_entries(table, entries, count);
    assert_in_range(put, 0, count);
    entries_at_once += put;
    for (size_t i = 0; i < put; i++) {
        assert_int_equal(model_covering(model, first_covered(entries[i].prefix)), 0);
        model->entries[model->count++] = entries[i];
    }
}

static void retag_in_both(struct random_source *random, struct prefix_table *table, struct model *model,
                          const struct world *world)
{
    uint32_t at = random_choice(random, model->count);
    struct prefix_entry other = {model->entries[at].prefix, draw_entry(random, world).tag};
    if (model_find(model, other) < model->count)
        return;
    if (tagged_retag(table, model->entries[at], other.tag))
        model->entries[at] = other;
}

static void step(struct random_source *random, struct prefix_table *table, struct model *model,
                 const struct world *world)
{
    if (model->count && random_choice(random, 8) < world->removals)
        drop_from_both(table, model, random_choice(random, model->count));
    else if (model->count && random_choice(random, 8) == 0)
        retag_in_both(random, table, model, world);
    else if (random_choice(random, 8) == 0)
        put_many_into_both(random, table, model, world);
    else if (random_choice(random, 8) == 0)
        put_entries_into_both(random, table, model, world);
    else
        put_into_both(random, table, model, world);
}

static void a_table_is_the_set_of_its_entries(void **state)
{
    (void)state;
    static struct model model;
    struct random_source random = random_from_seed(test_seed(1));
    for (uint64_t round = count_of_worlds(100); round > 0; round--) {
        struct world world = some_world(&random);
        struct prefix_table table = new_table(world.target), copy = new_table(world.target);
        model.count = 0;
        search_kernel_force(random_choice(&random, 2) ? &search_kernel_plain : NULL); /* it also puts and lists */
        if (random_choice(&random, 3) == 0) { /* large segments, and tags of few bits */
            table.target = copy.target = SEGMENT_TARGET;
            if (random_choice(&random, 2))
                world.actors = 1, world.counter_bits = 2;
            tagged_make_room(&table, random_choice(&random, 4000));
        }
        for (uint32_t i = 0; i < world.steps && model.count < MOST - TAGGED_AT_ONCE; i++) {
            step(&random, &table, &model, &world);
            if (random_choice(&random, 200) == 0)
                assert_same(&table, &model);
        }
        assert_same(&table, &model);
        assert_look_ups(&random, &table, &model, &world);
        assert_ok(table_copy(&copy, &table));
        table_release(&table);
        assert_int_equal(table.bytes, 0);
        assert_same(&copy, &model);
        assert_look_ups(&random, &copy, &model, &world);
        while (model.count)
            drop_from_both(&copy, &model, random_choice(&random, model.count));
        assert_int_equal(tagged_bytes(&copy), 0);
    }
    printf("%llu and %llu at once\n", (unsigned long long)hashes_at_once, (unsigned long long)entries_at_once);
    assert_true(hashes_at_once > 0 && entries_at_once > 0);
}

/* Many are on their way to a table that has a single segment. */
static void what_is_expected_need_not_fit_into_one_segment(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(3));
    struct prefix_table table = new_table(SEGMENT_TARGET);
    for (uint64_t i = 1; i <= 20000; i++) {
        if (i == 100)
            tagged_make_room(&table, 100000);
        assert_ok(tagged_put(&table, (struct prefix_entry){prefix_of(random_next(&random), 36 + (i & 7)), i}));
    }
    assert_int_equal(tagged_crowd(&table), 0);
    assert_true(tagged_bytes(&table) < 20000 * 32);
    table_release(&table);
}

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
        for (uint32_t i = 0; i < world.steps; i++) {
            struct prefix_entry entry = draw_entry(&random, &world);
            if (model_find(&model, entry) < model.count)
                continue;
            bool reserved = random_choice(&random, 8) == 0;
            if (reserved)
                assert_ok(tagged_reserve(&table, 1));
            meter.allowed = random_choice(&random, 12);
            meter.recovers = random_choice(&random, 2);
            roost_status status = tagged_put(&table, entry);
            meter.allowed = -1;
            if (reserved) {
                assert_ok(status);
                tagged_release_reserve(&table);
            }
            if (status != ROOST_OK) {
                assert_int_equal(status, ROOST_NO_MEMORY);
                if (random_choice(&random, 8) == 0)
                    assert_same(&table, &model);
                assert_ok(tagged_put(&table, entry));
            }
            model.entries[model.count++] = entry;
        }
        assert_same(&table, &model);
        assert_look_ups(&random, &table, &model, &world);
        table_release(&table);
        assert_int_equal(meter.outstanding, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_the_set_of_its_entries),
        cmocka_unit_test(a_refused_allocation_leaves_the_set_as_it_was),
        cmocka_unit_test(what_is_expected_need_not_fit_into_one_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
