/*
 * Every allocation fails once: for each public call, allocation number 1, 2, 3 ... is refused until a run has none to
 * refuse, once alone and once with all that follow it. After each failure the status says so, the filters are as
 * before, and all memory is given back.
 */
#include "meter.h"

enum { SCENES = 19, GROW_ONLY_SCENES = 8, GROWING_SCENES = 14, GROW_ONLY_GROWING = 16 };

/* All but the meter's own are made without failures. */
struct scene {
    struct meter meter;
    roost_config config;
    roost_environment environment;
    roost_filter *a, *b;    /* they have something in common, and something each */
    roost_filter *newcomer; /* a copy of b, which has not added anything yet */
    roost_cursor cursor;    /* in the journal of a, when it had what b has of it */
    roost_buffer frame;     /* of a */
    roost_buffer delta;     /* of a, since the cursor */
    roost_buffer hearsay;   /* the delta of somebody who heard of a's removals later than of their additions */
    roost_buffer replica;   /* of a */
    bool tolerates;         /* the call may do without some memory, and succeed */
};

static roost_config growing_config(bool multiset)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.scalable = true;
    config.multiset = multiset;
    config.capacity = 10;
    return config;
}

/* Grow-only, and with the semantics that record removals. */
static roost_config other_growing_config(uint64_t number)
{
    roost_config config = growing_config(false);
    config.kind = number == 0 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
    config.semantics = number == 1 ? ROOST_REMOVE_WINS : number == 2 ? ROOST_LAST_WRITER_WINS : ROOST_ADD_WINS;
    return config;
}

/* So small a table that adds overflow and merges fill the stash. */
static roost_config scene_config(uint64_t number, uint64_t capacity)
{
    if (number >= GROW_ONLY_GROWING)
        return other_growing_config(number - GROW_ONLY_GROWING);
    if (number >= GROWING_SCENES)
        return growing_config(number % 2);
    if (number < GROW_ONLY_SCENES)
        return number % 4 == 3 ? bloom_config(number % 8 == 3 ? ROOST_BLOCKED : ROOST_CLASSIC, capacity, 0.01)
                               : cuckoo_config(12, 1u << number % 4, capacity);
    uint64_t mode = (number - GROW_ONLY_SCENES) % 3;
    roost_config config =
        mode == 0 ? orcuckoo_config(24, 64, false, capacity) : orcuckoo_config(8, mode == 1 ? 64 : 32, true, capacity);
    config.bucket_size = number < GROW_ONLY_SCENES + 3 ? 4 : 1;
    return config;
}

static void add_keys(roost_filter *filter, uint64_t from, uint64_t count)
{
    for (uint64_t key = from; key < from + count; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
}

static bool can_remove(const struct scene *scene)
{
    return scene->config.kind == ROOST_ORCUCKOO;
}

static void ask_whole(roost_filter *filter, roost_cursor *cursor)
{
    roost_buffer frame;
    *cursor = (roost_cursor){0, 0};
    assert_ok(roost_filter_encode_delta(filter, &frame, cursor, cursor));
    roost_buffer_release(&frame);
}

/* What is heard of a by somebody who has seen nothing yet: dots that are dead, and of which class nobody says. */
static void scene_hear(struct scene *scene)
{
    roost_filter *listener;
    roost_cursor cursor;
    assert_ok(roost_filter_new(&listener, &scene->config, &scene->environment));
    ask_whole(listener, &cursor);
    assert_ok(roost_filter_merge(listener, NULL, scene->a));
    assert_ok(roost_filter_encode_delta(listener, &scene->hearsay, &cursor, &cursor));
    roost_filter_free(listener);
}

static void scene_open(struct scene *scene, uint64_t number, uint64_t more)
{
    *scene = (struct scene){.meter.allowed = -1, .config = scene_config(number, more + 200)};
    scene->environment = (roost_environment){.allocator = {&scene->meter, metered_allocate, metered_release},
                                             .random_seed = number,
                                             .kicks = 4,
                                             .journal = 10000};
    assert_ok(roost_filter_new(&scene->a, &scene->config, &scene->environment));
    assert_ok(roost_filter_new(&scene->b, &scene->config, &scene->environment));
    add_keys(scene->a, 0, 150);
    ask_whole(scene->a, &scene->cursor);
    assert_ok(roost_filter_merge(scene->b, NULL, scene->a));
    add_keys(scene->a, 100000, more);
    add_keys(scene->b, 200000, more < 120 ? more : 120);
    for (uint64_t key = 0; key < 20 && can_remove(scene); key++)
        assert_ok(roost_filter_remove_hash(scene->a, NULL, hash_for_key(key)));
    assert_ok(roost_filter_encode(scene->a, &scene->frame));
    roost_cursor cursor;
    assert_ok(roost_filter_encode_delta(scene->a, &scene->delta, &cursor, &scene->cursor));
    assert_int_equal(scene->delta.data[5], 2);
    assert_ok(roost_filter_save_replica(scene->a, &scene->replica));
    scene_hear(scene);
    assert_ok(roost_filter_clone(scene->b, &scene->newcomer));
}

static void scene_close(struct scene *scene)
{
    scene->meter.allowed = -1;
    roost_buffer_release(&scene->frame);
    roost_buffer_release(&scene->delta);
    roost_buffer_release(&scene->hearsay);
    roost_buffer_release(&scene->replica);
    FREE_ALL(scene->a, scene->b, scene->newcomer);
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

/* Compared when there is memory again. */
static void assert_equal_to_a(struct scene *scene, const roost_filter *filter)
{
    int64_t allowed = scene->meter.allowed;
    scene->meter.allowed = -1;
    assert_true(roost_filter_equal(filter, scene->a));
    assert_ok(roost_filter_check(filter));
    scene->meter.allowed = allowed;
}

static roost_status call_clone(struct scene *scene)
{
    roost_filter *copy = (roost_filter *)scene;
    roost_status status = roost_filter_clone(scene->a, &copy);
    assert_int_equal(copy == NULL, status != ROOST_OK);
    if (status == ROOST_OK)
        assert_equal_to_a(scene, copy);
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
    scene->tolerates = true; /* an entry whose actor gets no index goes to the stash */
    roost_status status = roost_filter_decode(&filter, scene->frame.data, scene->frame.size, &scene->environment);
    assert_int_equal(filter == NULL, status != ROOST_OK);
    if (status == ROOST_OK)
        assert_equal_to_a(scene, filter);
    roost_filter_free(filter);
    return status;
}

/* A journal that cannot grow forgets. */
static roost_status call_merge(struct scene *scene)
{
    roost_filter *expected;
    int64_t allowed = scene->meter.allowed;
    scene->tolerates = true;
    scene->meter.allowed = -1;
    expected = clone_of(scene->a);
    assert_ok(roost_filter_merge(expected, NULL, scene->b));
    scene->meter.allowed = allowed;
    roost_status status = roost_filter_merge(scene->a, NULL, scene->b);
    if (status == ROOST_OK)
        assert_equal_to_a(scene, expected);
    roost_filter_free(expected);
    return status;
}

static roost_status call_merge_into_another(struct scene *scene)
{
    scene->tolerates = scene->config.scalable; /* where a segment cannot be rebuilt, entries go beside it */
    return roost_filter_merge(scene->b, NULL, scene->a);
}

/* What comes out is what comes out with memory. */
static roost_status merge_frame(struct scene *scene, const roost_buffer *frame)
{
    roost_filter *part, *expected;
    scene->tolerates = true;
    roost_status status = roost_filter_merge_frame(scene->newcomer, NULL, frame->data, frame->size);
    scene->meter.allowed = -1;
    if (status == ROOST_OK) {
        assert_ok(roost_filter_decode(&part, frame->data, frame->size, NULL));
        expected = clone_of(scene->b);
        assert_ok(roost_filter_merge(expected, NULL, part));
        assert_true(roost_filter_equal(expected, scene->newcomer));
        FREE_ALL(part, expected);
    }
    return status;
}

static roost_status call_merge_delta(struct scene *scene)
{
    return merge_frame(scene, &scene->delta);
}

static roost_status call_merge_hearsay(struct scene *scene)
{
    return merge_frame(scene, &scene->hearsay);
}

static roost_status call_merge_state(struct scene *scene)
{
    return merge_frame(scene, &scene->frame);
}

static roost_status call_delta(struct scene *scene)
{
    roost_buffer frame = {(uint8_t *)scene, 77, {0}};
    roost_cursor cursor = {5, 5};
    roost_status status = roost_filter_encode_delta(scene->a, &frame, &cursor, &scene->cursor);
    assert_int_equal(frame.data == NULL, status != ROOST_OK);
    assert_int_equal(cursor.sequence == 5, status != ROOST_OK);
    roost_buffer_release(&frame);
    return status;
}

static roost_status call_delta_without(struct scene *scene)
{
    roost_buffer frame = {(uint8_t *)scene, 77, {0}};
    roost_cursor cursor = {5, 5};
    const roost_span spans[] = {{scene->cursor.sequence + 9, scene->cursor.sequence + 20},
                                {scene->cursor.sequence + 2, scene->cursor.sequence + 5}};
    roost_status status = roost_filter_encode_delta_without(scene->a, &frame, &cursor, &scene->cursor, spans, 2);
    assert_int_equal(frame.data == NULL, status != ROOST_OK);
    assert_int_equal(cursor.sequence == 5, status != ROOST_OK);
    roost_buffer_release(&frame);
    return status;
}

static roost_status call_cursor(struct scene *scene)
{
    roost_cursor cursor = {5, 5};
    roost_status status = roost_filter_get_cursor(scene->newcomer, &cursor);
    assert_int_equal(cursor.sequence == 5, status != ROOST_OK);
    return status;
}

static roost_status call_first_delta(struct scene *scene)
{
    roost_buffer frame = {(uint8_t *)scene, 77, {0}};
    roost_cursor cursor = {0, 0};
    roost_status status = roost_filter_encode_delta(scene->newcomer, &frame, &cursor, &cursor);
    assert_int_equal(frame.data == NULL, status != ROOST_OK);
    roost_buffer_release(&frame);
    return status;
}

static roost_status call_save_replica(struct scene *scene)
{
    roost_buffer bytes = {(uint8_t *)scene, 77, {0}};
    roost_status status = roost_filter_save_replica(scene->a, &bytes);
    assert_int_equal(bytes.data == NULL, status != ROOST_OK);
    roost_buffer_release(&bytes);
    return status;
}

/* Into a copy of the state that it was saved with. */
static roost_status call_restore_replica(struct scene *scene)
{
    int64_t allowed = scene->meter.allowed;
    roost_filter *saved_filter;
    scene->meter.allowed = -1;
    assert_ok(roost_filter_decode(&saved_filter, scene->frame.data, scene->frame.size, &scene->environment));
    scene->meter.allowed = allowed;
    uint64_t failures = scene->meter.failures, journal = info_of(scene->a).journal;
    scene->tolerates = true; /* what of the journal there is no memory for is forgotten */
    roost_status status = roost_filter_restore_replica(saved_filter, scene->replica.data, scene->replica.size);
    assert_int_equal(roost_filter_get_actor(saved_filter), status == ROOST_OK ? roost_filter_get_actor(scene->a) : 0);
    if (status != ROOST_OK || scene->meter.failures == failures)
        assert_int_equal(info_of(saved_filter).journal, status == ROOST_OK ? journal : 0);
    else
        assert_true(info_of(saved_filter).journal > 0 && info_of(saved_filter).journal < journal);
    assert_ok(roost_filter_check(saved_filter));
    roost_filter_free(saved_filter);
    return status;
}

/* Stops at the first add that fails; what was taken before stays, as add_many says. */
static roost_status add_one_by_one(struct scene *scene, roost_filter *filter)
{
    scene->tolerates = true;
    for (uint64_t key = 2000; key < 2010; key++) {
        roost_digest before = roost_filter_digest(filter);
        bool changed = true;
        roost_status status = roost_filter_add_hash(filter, &changed, hash_for_key(key));
        roost_digest after = roost_filter_digest(filter);
        if (status != ROOST_OK) {
            assert_memory_equal(before.bytes, after.bytes, sizeof before.bytes);
            return status;
        }
        assert_true(roost_filter_contains_hash(filter, hash_for_key(key)));
    }
    return ROOST_OK;
}

/* From nothing to a full table: actor, causal context, indexes and stash grow on the way. */
static roost_status call_add(struct scene *scene)
{
    int64_t allowed = scene->meter.allowed;
    roost_filter *filter;
    roost_status status = ROOST_OK;
    scene->tolerates = true;
    scene->meter.allowed = -1;
    assert_ok(roost_filter_new(&filter, &scene->config, &scene->environment));
    scene->meter.allowed = allowed;
    for (uint64_t key = 0; key < scene->config.capacity && status == ROOST_OK; key++) {
        roost_digest before = roost_filter_digest(filter);
        status = roost_filter_add_hash(filter, NULL, hash_for_key(key));
        roost_digest after = roost_filter_digest(filter);
        if (status != ROOST_OK)
            assert_memory_equal(before.bytes, after.bytes, sizeof before.bytes);
        assert_int_equal(roost_filter_contains_hash(filter, hash_for_key(key)), status == ROOST_OK);
    }
    assert_ok(roost_filter_check(filter));
    roost_filter_free(filter);
    return status;
}

static roost_status call_add_as_newcomer(struct scene *scene)
{
    return add_one_by_one(scene, scene->newcomer);
}

static roost_status call_add_many(struct scene *scene)
{
    roost_hash hashes[10];
    size_t done = 77;
    for (uint64_t i = 0; i < 10; i++)
        hashes[i] = hash_for_key(3000 + i);
    scene->tolerates = true;
    roost_status status = roost_filter_add_many_hash(scene->newcomer, NULL, &done, hashes, 10);
    assert_true(status == ROOST_OK ? done == 10 : done < 10);
    for (size_t i = 0; i < done; i++)
        assert_true(roost_filter_contains_hash(scene->newcomer, hashes[i]));
    return status;
}

static roost_status call_add_again(struct scene *scene)
{
    scene->tolerates = true;
    for (uint64_t key = 0; key < 5; key++) {
        roost_status status = roost_filter_add_hash(scene->newcomer, NULL, hash_for_key(key));
        if (status != ROOST_OK)
            return status;
    }
    return ROOST_OK;
}

/* Removals may not fail for lack of memory: there is nothing that they need, unless a clone shares it (test_sharing). */
static roost_status call_remove(struct scene *scene)
{
    bool changed;
    scene->tolerates = true;
    if (!can_remove(scene))
        return ROOST_OK;
    for (uint64_t key = 30; key < 60; key++) {
        if (key % 2 && scene->config.multiset)
            assert_ok(roost_filter_remove_one_hash(scene->a, &changed, hash_for_key(key)));
        else
            assert_ok(roost_filter_remove_hash(scene->a, &changed, hash_for_key(key)));
    }
    return ROOST_OK;
}

static void fail_each_allocation_with(public_call *call, bool may_change_newcomer, uint64_t more)
{
    uint64_t failures = 0;
    int64_t stride = more > 1000 ? (int64_t)stride_of(5) : 1; /* odd, for both ways to fail */
    static uint64_t calls; /* each second scene under sanitizers, the others at the next call */
    for (uint64_t number = calls++ % stride_of(2); number < SCENES; number += stride_of(2)) {
        bool done = false;
        for (int64_t allowed = 0; !done; allowed += allowed < 10 ? 1 : stride) {
            struct scene scene;
            scene_open(&scene, number, more);
            struct portrait a = portrait_of(scene.a), b = portrait_of(scene.b), newcomer = portrait_of(scene.newcomer);
            scene.meter.allowed = allowed / 2;
            scene.meter.recovers = allowed % 2;
            roost_status status = call(&scene);
            failures += scene.meter.failures;
            done = scene.meter.failures == 0;
            scene.meter.allowed = -1;
            assert_ok(roost_filter_check(scene.a));
            assert_ok(roost_filter_check(scene.b));
            assert_ok(roost_filter_check(scene.newcomer));
            if (status != ROOST_OK) {
                assert_int_equal(status, ROOST_NO_MEMORY);
                assert_false(done);
                if (info_of(scene.a).journal == a.info.journal) /* who fails half-way forgets his journal */
                    assert_still(&a, scene.a);
                else
                    assert_same_state(&a, scene.a);
                assert_still(&b, scene.b);
                if (!may_change_newcomer)
                    assert_still(&newcomer, scene.newcomer);
            } else {
                assert_true(done || scene.tolerates);
            }
            portrait_release(&a);
            portrait_release(&b);
            portrait_release(&newcomer);
            scene_close(&scene);
            assert_true(allowed < 1000);
        }
    }
    printf("%llu allocations failed\n", (unsigned long long)failures);
}

static void fail_each_allocation(public_call *call, bool may_change_newcomer)
{
    fail_each_allocation_with(call, may_change_newcomer, 100);
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

static void merge_into_another_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_merge_into_another, false);
}

static void merge_frame_of_a_state_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_merge_state, false);
}

static void merge_frame_of_a_delta_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_merge_delta, false);
}

static void merge_frame_of_hearsay_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_merge_hearsay, false);
}

static void delta_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_delta, false);
}

static void delta_without_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_delta_without, false);
}

static void cursor_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_cursor, false);
}

static void first_delta_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_first_delta, false);
}

static void save_replica_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_save_replica, false);
}

static void restore_replica_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_restore_replica, false);
}

static void add_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_add, false);
}

static void add_of_a_newcomer_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_add_as_newcomer, true);
}

static void add_many_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_add_many, true);
}

static void add_again_survives(void **state)
{
    (void)state;
    fail_each_allocation(call_add_again, true);
}

static void remove_needs_no_memory(void **state)
{
    (void)state;
    fail_each_allocation(call_remove, false);
}

/* More than is merged in place. */
static void merge_frame_of_a_large_delta_survives(void **state)
{
    (void)state;
    fail_each_allocation_with(call_merge_delta, false, 1300);
}

/* The calls without a status to fail with answer right without any memory; nearly all of them do not even ask. */
static void the_rest_needs_no_memory(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SCENES; number++) {
        struct scene scene;
        scene_open(&scene, number, 100);
        roost_filter *twin = through_bytes(scene.a), *later = clone_of(scene.a);
        assert_ok(roost_filter_merge(later, NULL, scene.b));
        scene.meter.allowed = 0;
        roost_order order;
        roost_info info;
        bool found[2];
        roost_hash hashes[2] = {hash_for_key(100), hash_for_key(5000)};
        roost_filter_contains_many_hash(scene.a, found, hashes, 2);
        assert_true(found[0] && roost_filter_contains_hash(scene.a, hashes[0]));
        assert_true(roost_filter_count_hash(scene.a, hashes[0]) >= 1);
        roost_filter_digest(scene.a);
        roost_filter_get_info(scene.a, &info);
        if (!scene.config.scalable) /* whose check lists segments */
            assert_ok(roost_filter_check(scene.a));
        roost_filter_get_actor(scene.a);
        assert_int_equal(roost_filter_remove_one_hash(scene.a, NULL, hashes[1]),
                         scene.config.multiset ? ROOST_OK : ROOST_UNSUPPORTED);
        assert_int_equal(scene.meter.failures, 0);
        assert_ok(roost_filter_compare(scene.a, &order, scene.b));
        assert_int_equal(order, ROOST_CONCURRENT);
        assert_ok(roost_filter_compare(scene.a, &order, twin));
        assert_int_equal(order, ROOST_EQUAL);
        assert_ok(roost_filter_compare(scene.a, &order, later));
        assert_int_equal(order, ROOST_BEFORE);
        assert_ok(roost_filter_compare(later, &order, scene.a));
        assert_int_equal(order, ROOST_AFTER);
        assert_false(roost_filter_equal(scene.a, scene.b));
        assert_true(roost_filter_equal(scene.a, twin));
        FREE_ALL(twin, later);
        scene_close(&scene);
    }
}

/* A frame of a few bytes may be of a filter of any size, so its configuration is compared before one is made: options, and
   what follows from them, since a frame may say anything. Some of these scenes have the same options but for that. */
static void merge_frame_of_another_configuration_needs_no_memory(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SCENES; number++) {
        struct scene scene, other;
        scene_open(&scene, number, 10);
        scene_open(&other, (number + 1) % SCENES, 10);
        scene.meter.allowed = 0;
        assert_int_equal(roost_filter_merge_frame(scene.a, NULL, other.frame.data, other.frame.size), ROOST_MISMATCH);
        assert_int_equal(roost_filter_merge_frame(scene.a, NULL, other.delta.data, other.delta.size), ROOST_MISMATCH);
        assert_int_equal(scene.meter.failures, 0);
        scene_close(&other);
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
        cmocka_unit_test(merge_into_another_survives),
        cmocka_unit_test(merge_frame_of_a_state_survives),
        cmocka_unit_test(merge_frame_of_a_delta_survives),
        cmocka_unit_test(merge_frame_of_hearsay_survives),
        cmocka_unit_test(delta_survives),
        cmocka_unit_test(delta_without_survives),
        cmocka_unit_test(cursor_survives),
        cmocka_unit_test(first_delta_survives),
        cmocka_unit_test(save_replica_survives),
        cmocka_unit_test(restore_replica_survives),
        cmocka_unit_test(add_survives),
        cmocka_unit_test(add_of_a_newcomer_survives),
        cmocka_unit_test(add_many_survives),
        cmocka_unit_test(add_again_survives),
        cmocka_unit_test(remove_needs_no_memory),
        cmocka_unit_test(merge_frame_of_a_large_delta_survives),
        cmocka_unit_test(the_rest_needs_no_memory),
        cmocka_unit_test(merge_frame_of_another_configuration_needs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
