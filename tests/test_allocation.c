/*
 * Every allocation fails once: for each public call, allocation number 1, 2, 3 ... is refused until a run has none to
 * refuse, once alone and once with all that follow it. After each failure the status says so, the filters are as
 * before, and all memory is given back.
 */
#include "check.h"

struct meter {
    int64_t allowed;     /* allocations until the failure; negative: never */
    bool recovers;       /* only that one fails, not those after it */
    int64_t outstanding; /* not yet released */
    uint64_t failures;
};

static void *metered_allocate(void *context, size_t size)
{
    struct meter *meter = context;
    if (meter->allowed == 0) {
        meter->failures++;
        meter->allowed = meter->recovers ? -1 : 0;
        return NULL;
    }
    meter->allowed--;
    meter->outstanding++;
    return calloc(1, size);
}

static void metered_release(void *context, void *memory)
{
    struct meter *meter = context;
    assert_non_null(memory);
    meter->outstanding--;
    free(memory);
}

struct scene {
    struct meter meter;
    roost_config config;
    roost_environment environment;
    roost_filter *a, *b; /* made without failures */
    roost_buffer frame;  /* of a */
};

/* So small a table that adds overflow and merges fill the stash. */
static void scene_open(struct scene *scene, uint64_t number)
{
    *scene = (struct scene){.meter.allowed = -1};
    scene->config = number % 4 == 3 ? bloom_config(number % 8 == 3 ? ROOST_BLOCKED : ROOST_CLASSIC, 300, 0.01)
                                    : cuckoo_config(12, 1u << number % 4, 300);
    scene->environment = (roost_environment){
        .allocator = {&scene->meter, metered_allocate, metered_release}, .random_seed = number, .kicks = 4};
    assert_ok(roost_filter_new(&scene->a, &scene->config, &scene->environment));
    assert_ok(roost_filter_new(&scene->b, &scene->config, &scene->environment));
    for (uint64_t key = 0; key < 280; key++) {
        assert_ok(roost_filter_add_hash(scene->a, NULL, hash_for_key(key)));
        assert_ok(roost_filter_add_hash(scene->b, NULL, hash_for_key(key + 1000)));
    }
    assert_ok(roost_filter_encode(scene->a, &scene->frame));
}

static void scene_close(struct scene *scene)
{
    scene->meter.allowed = -1;
    roost_buffer_release(&scene->frame);
    roost_filter_free(scene->a);
    roost_filter_free(scene->b);
    assert_int_equal(scene->meter.outstanding, 0);
}

typedef roost_status public_call(struct scene *scene);

static roost_status call_new(struct scene *scene)
{
    roost_filter *filter = (roost_filter *)scene;
    roost_status status = roost_filter_new(&filter, &scene->config, &scene->environment);
    assert_int_equal(filter == NULL, status != ROOST_OK);
    roost_filter_free(filter);
    return status;
}

static roost_status call_clone(struct scene *scene)
{
    roost_filter *copy = (roost_filter *)scene;
    roost_status status = roost_filter_clone(scene->a, &copy);
    assert_int_equal(copy == NULL, status != ROOST_OK);
    if (status == ROOST_OK)
        assert_true(roost_filter_equal(copy, scene->a));
    roost_filter_free(copy);
    return status;
}

static roost_status call_encode(struct scene *scene)
{
    roost_buffer frame = {(uint8_t *)scene, 77, {0}};
    roost_status status = roost_filter_encode(scene->a, &frame);
    assert_int_equal(frame.data == NULL, status != ROOST_OK);
    roost_buffer_release(&frame);
    return status;
}

static roost_status call_decode(struct scene *scene)
{
    roost_filter *filter = (roost_filter *)scene;
    roost_status status = roost_filter_decode(&filter, scene->frame.data, scene->frame.size, &scene->environment);
    assert_int_equal(filter == NULL, status != ROOST_OK);
    if (status == ROOST_OK)
        assert_true(roost_filter_equal(filter, scene->a));
    roost_filter_free(filter);
    return status;
}

static roost_status call_merge(struct scene *scene)
{
    return roost_filter_merge(scene->a, NULL, scene->b);
}

/* Stops at the first add that fails; what was taken before stays, as add_many says. */
static roost_status call_add(struct scene *scene)
{
    for (uint64_t key = 2000; key < 2020; key++) {
        roost_digest before = roost_filter_digest(scene->b);
        bool changed = true;
        roost_status status = roost_filter_add_hash(scene->b, &changed, hash_for_key(key));
        roost_digest after = roost_filter_digest(scene->b);
        if (status != ROOST_OK) {
            assert_memory_equal(before.bytes, after.bytes, sizeof before.bytes);
            return status;
        }
        assert_true(roost_filter_contains_hash(scene->b, hash_for_key(key)));
    }
    return ROOST_OK;
}

static void fail_each_allocation(public_call *call, bool may_change_b)
{
    uint64_t failures = 0;
    for (uint64_t number = 0; number < 8; number++) {
        roost_status status = ROOST_NO_MEMORY;
        for (int64_t allowed = 0; status != ROOST_OK; allowed++) {
            struct scene scene;
            scene_open(&scene, number);
            roost_filter *a = clone_of(scene.a), *b = clone_of(scene.b);
            scene.meter.allowed = allowed / 2;
            scene.meter.recovers = allowed % 2;
            status = call(&scene);
            failures += scene.meter.failures;
            scene.meter.allowed = -1;
            if (status != ROOST_OK) {
                assert_int_equal(status, ROOST_NO_MEMORY);
                assert_true(scene.meter.failures > 0);
                assert_true(roost_filter_equal(a, scene.a));
                assert_same_digest(a, scene.a);
                assert_true(may_change_b || roost_filter_equal(b, scene.b));
            }
            assert_ok(roost_filter_check(scene.a));
            assert_ok(roost_filter_check(scene.b));
            roost_filter_free(a);
            roost_filter_free(b);
            scene_close(&scene);
            assert_true(allowed < 1000);
        }
    }
    printf("%llu allocations failed\n", (unsigned long long)failures);
    assert_true(failures > 0);
}

static void new_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_new, false);
}

static void clone_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_clone, false);
}

static void encode_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_encode, false);
}

static void decode_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_decode, false);
}

static void merge_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_merge, false);
}

static void add_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_add, true);
}

/* The calls without a status to fail with must not allocate at all. */
static void the_rest_allocates_nothing(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 8; number++) {
        struct scene scene;
        scene_open(&scene, number);
        scene.meter.allowed = 0;
        roost_order order;
        roost_info info;
        bool found[2];
        roost_hash hashes[2] = {hash_for_key(1), hash_for_key(5000)};
        roost_filter_contains_many_hash(scene.a, found, hashes, 2);
        assert_true(found[0] && roost_filter_contains_hash(scene.a, hashes[0]));
        assert_ok(roost_filter_compare(scene.a, &order, scene.b));
        assert_int_equal(order, ROOST_CONCURRENT);
        assert_false(roost_filter_equal(scene.a, scene.b));
        roost_filter_digest(scene.a);
        roost_filter_info(scene.a, &info);
        assert_ok(roost_filter_check(scene.a));
        assert_int_equal(roost_filter_remove_hash(scene.a, NULL, hashes[0]), ROOST_UNSUPPORTED);
        assert_int_equal(scene.meter.failures, 0);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_survives),
        cmocka_unit_test(clone_survives),
        cmocka_unit_test(encode_survives),
        cmocka_unit_test(decode_survives),
        cmocka_unit_test(merge_survives),
        cmocka_unit_test(add_survives),
        cmocka_unit_test(the_rest_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
