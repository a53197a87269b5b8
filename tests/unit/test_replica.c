/*
 * Who a replica is: actors that run out, or that somebody else uses as well, copies that are others, sleepers that are
 * the same again, and the bytes in which they sleep.
 */
#include "forge.h"

#include <unistd.h>

/* ---- counters and actors run out --------------------------------------------------------------------------------- */

static roost_environment environment_with(struct counted_entropy *entropy)
{
    return (roost_environment){.entropy = {entropy, draw_counted}};
}

static void an_exhausted_counter_means_a_fresh_actor(void **state)
{
    (void)state;
    enum { MOST = (1 << 20) - 1 };
    roost_config config = orcuckoo_config(8, 32, true, 10);
    roost_filter *filter = new_filter(&config), *other;
    roost_dot dot = add(filter, hash_for_key(0));
    uint64_t first = dot.actor;
    for (uint64_t i = 2; i <= MOST; i++) {
        dot = add(filter, hash_for_key(i % 5));
        if (i > 5)
            assert_true(removes_one(filter, hash_for_key(i % 5)));
    }
    assert_true(dot.actor == first && dot.counter == MOST);
    other = through_bytes(filter);
    for (uint64_t i = 1; i < 100; i++) {
        dot = add(filter, hash_for_key(i % 5));
        assert_true(dot.actor != first && dot.actor != 0 && dot.counter == i);
        assert_true(removes_dot(filter, hash_for_key(i % 5), dot));
    }
    assert_int_equal(info_of(filter).dots, MOST + 99);
    assert_int_equal(info_of(filter).actors, 2);
    assert_ok(roost_filter_check(filter));
    assert_ok(roost_filter_merge(other, NULL, filter));
    assert_true(roost_filter_equal(other, filter));
    FREE_ALL(filter, other);
}

/* The bytes of a replica without a journal. */
static roost_buffer replica_of_actor(uint64_t actor)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_byte(&writer, 1);
    write_fixed64(&writer, actor);
    write_fixed64(&writer, 0);
    write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
    return writer.buffer;
}

/* The last counter of each width is used, and the one after it is not. */
static void counters_end_where_their_width_ends(void **state)
{
    (void)state;
    static const struct {
        uint32_t bits, entry_bits;
        uint64_t most;
    } widths[] = {{8, 32, (1 << 20) - 1},
                  {24, 64, (1 << 24) - 1},
                  {28, 64, (1 << 20) - 1},
                  {16, 64, UINT32_MAX},
                  {8, 64, UINT32_MAX}};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        roost_config config = orcuckoo_config(widths[i].bits, widths[i].entry_bits, true, 10);
        roost_filter *like = new_filter(&config), *filter;
        struct dot_run run = {5, 1, (uint32_t)(widths[i].most - 1)};
        struct forgery forgery = {.like = like, .type = 1, .runs = &run, .run_count = 1};
        roost_buffer frame = forge(&forgery), replica = replica_of_actor(5);
        assert_ok(roost_filter_decode(&filter, frame.data, frame.size, NULL));
        assert_ok(roost_filter_restore_replica(filter, replica.data, replica.size));
        assert_int_equal(roost_filter_get_actor(filter), 5);
        roost_dot last = add(filter, hash_for_key(1)), first = add(filter, hash_for_key(2));
        assert_true(last.actor == 5 && last.counter == widths[i].most);
        assert_true(first.actor != 5 && first.counter == 1);
        assert_int_equal(info_of(filter).dots, widths[i].most + 1);
        roost_filter *back = through_bytes(filter);
        assert_true(roost_filter_equal(back, filter));
        assert_true(removes_dot(back, hash_for_key(1), last) && removes_dot(back, hash_for_key(2), first));
        assert_ok(roost_filter_check(back));
        roost_buffer_release(&frame);
        roost_buffer_release(&replica);
        FREE_ALL(like, filter, back);
    }
}

static void without_entropy_there_is_no_actor(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 10);
    struct counted_entropy none = {.fails = true}, zeros = {.next = 0};
    roost_environment environments[] = {environment_with(&none), environment_with(&zeros)};
    for (size_t i = 0; i < COUNT_OF(environments); i++) {
        roost_filter *filter, *other = new_filter(&config);
        assert_ok(roost_filter_new(&filter, &config, &environments[i]));
        add(other, hash_for_key(1));
        assert_ok(roost_filter_merge(filter, NULL, other));
        struct portrait before = portrait_of(filter);
        roost_dot dot = {7, 7};
        bool changed[3] = {true, true, true};
        size_t done = 7;
        roost_hash hashes[3] = {hash_for_key(1), hash_for_key(2), hash_for_key(3)};
        assert_int_equal(roost_filter_add_dot_hash(filter, &dot, hash_for_key(2)), ROOST_EXHAUSTED);
        assert_true(dot.actor == 0 && dot.counter == 0);
        assert_int_equal(roost_filter_add_hash(filter, changed, hash_for_key(1)), ROOST_EXHAUSTED);
        assert_false(changed[0]);
        assert_int_equal(roost_filter_add_many_hash(filter, changed, &done, hashes, 3), ROOST_EXHAUSTED);
        assert_int_equal(done, 0);
        assert_int_equal(roost_filter_get_actor(filter), 0);
        assert_still(&before, filter);
        assert_true(removes(filter, hash_for_key(1))); /* which needs no actor */
        FREE_ALL(filter, other);
    }
}

/* Numbers that were drawn before must never become an actor a second time, and the search for another one must end. */
static void entropy_that_repeats_itself(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 10);
    struct counted_entropy same = {.next = 42}, later = {.next = 42};
    roost_environment environment = environment_with(&same);
    roost_filter *filter, *copy;
    roost_dot dot;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    assert_int_equal(add(filter, hash_for_key(1)).actor, 42);
    copy = clone_of(filter);
    struct portrait before = portrait_of(copy);
    alarm(60); /* an endless loop ends here */
    assert_int_equal(roost_filter_add_dot_hash(copy, &dot, hash_for_key(2)), ROOST_EXHAUSTED);
    alarm(0);
    assert_still(&before, copy);
    assert_true(same.draws < 1000);
    later.step = 1; /* one repetition, then something new */
    same = later;
    dot = add(copy, hash_for_key(2));
    assert_true(dot.actor == 43 && dot.counter == 1);
    FREE_ALL(filter, copy);
}

/* As many actors as a filter can know, by three frames: then neither adds nor merges can bring another one. */
static void actors_run_out(void **state)
{
    (void)state;
    only_as_shipped();
    roost_config config = orcuckoo_config(24, 64, false, 1000);
    roost_filter *filter = new_filter(&config), *other = new_filter(&config);
    roost_buffer most = forge_crowd(filter, 1, 1, MOST_ACTORS - 10),
                 few = forge_crowd(filter, 2, UINT64_C(1) << 40, 11),
                 fits = forge_crowd(filter, 2, UINT64_C(1) << 41, 9),
                 too_many = forge_crowd(filter, 1, 1, MOST_ACTORS + 1);
    roost_dot dot;
    assert_ok(roost_filter_merge_frame(filter, NULL, most.data, most.size));
    assert_int_equal(info_of(filter).actors, MOST_ACTORS - 10);
    struct portrait before = portrait_of(filter);
    for (int i = 0; i < 3; i++) /* time and again: a refused frame must leave nothing behind */
        assert_int_equal(roost_filter_merge_frame(filter, NULL, few.data, few.size), ROOST_TOO_LARGE);
    assert_ok(roost_filter_merge_frame(other, NULL, few.data, few.size));
    assert_int_equal(roost_filter_merge(filter, NULL, other), ROOST_TOO_LARGE);
    assert_still(&before, filter);
    assert_ok(roost_filter_merge_frame(filter, NULL, fits.data, fits.size));
    assert_int_equal(info_of(filter).actors, MOST_ACTORS - 1);
    dot = add(filter, hash_for_key(1));
    assert_int_equal(dot.counter, 1);
    assert_int_equal(info_of(filter).actors, MOST_ACTORS);
    roost_filter *copy = clone_of(filter);
    before = portrait_of(copy);
    assert_int_equal(roost_filter_add_dot_hash(copy, &dot, hash_for_key(1)), ROOST_EXHAUSTED);
    assert_still(&before, copy);
    assert_int_equal(roost_filter_merge_frame(other, NULL, too_many.data, too_many.size), ROOST_TOO_LARGE);
    roost_buffer *frames[] = {&most, &few, &fits, &too_many};
    for (size_t i = 0; i < COUNT_OF(frames); i++)
        roost_buffer_release(frames[i]);
    FREE_ALL(filter, other, copy);
}

/* More actors with live entries than indexes: the rest lives in the stash, and goes on to be added and removed. */
static void more_actors_than_indexes(void **state)
{
    (void)state;
    enum { ACTORS = 70000 };
    roost_config config = orcuckoo_config(24, 64, false, ACTORS + 10);
    roost_filter *filter = new_filter(&config), *other;
    roost_buffer crowd = forge_crowd(filter, 1, 1, ACTORS);
    assert_ok(roost_filter_merge_frame(filter, NULL, crowd.data, crowd.size));
    assert_int_equal(entries_of(filter), ACTORS);
    assert_true(info_of(filter).overflow >= ACTORS - 65536);
    other = clone_of(filter);
    struct random_source random = random_from_seed(test_seed(33));
    uint64_t entries = ACTORS;
    for (int i = 0; i < 2000; i++) { /* whose own actors have no index either, at first */
        uint64_t key = 1 + random_choice(&random, ACTORS);
        bool held = holds(filter, hash_for_key(key)), changed;
        if (i % 3 == 2) {
            assert_int_equal(removes(filter, hash_for_key(key)), held);
            entries -= held;
        } else {
            assert_ok(roost_filter_add_hash(filter, &changed, hash_for_key(key)));
            assert_int_equal(changed, !held);
            entries += !held;
        }
        assert_int_equal(holds(filter, hash_for_key(key)), i % 3 != 2);
        assert_int_equal(entries_of(filter), entries);
    }
    assert_ok(roost_filter_check(filter));
    assert_ok(roost_filter_merge(other, NULL, filter));
    assert_true(roost_filter_equal(other, filter));
    assert_ok(roost_filter_check(other));
    roost_buffer_release(&crowd);
    FREE_ALL(filter, other);
}

/* ---- identity ---------------------------------------------------------------------------------------------------- */

static roost_buffer replica_of(const roost_filter *filter)
{
    roost_buffer bytes;
    assert_ok(roost_filter_save_replica(filter, &bytes));
    return bytes;
}

static void copies_are_other_replicas(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *filter = new_filter(&config), *copy, *decoded;
    assert_int_equal(replica_of(filter).size, 0); /* nobody yet, nothing to tell */
    uint64_t actor = add(filter, hash_for_key(1)).actor;
    copy = clone_of(filter);
    decoded = through_bytes(filter);
    assert_true(roost_filter_get_actor(copy) == 0 && roost_filter_get_actor(decoded) == 0);
    assert_true(add(copy, hash_for_key(2)).actor != actor && add(decoded, hash_for_key(2)).actor != actor);
    assert_int_equal(add(filter, hash_for_key(1)).actor, actor);
    FREE_ALL(filter, copy, decoded);
}

static void a_replica_goes_on_where_it_was(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 3; number++) {
        roost_config config = some_orcuckoo_config(number, 100);
        roost_filter *filter = new_filter(&config), *back;
        roost_dot dot = {0, 0}, next;
        for (uint64_t key = 0; key < 20; key++)
            dot = add(filter, hash_for_key(key));
        roost_buffer replica = replica_of(filter);
        back = through_bytes(filter);
        assert_ok(roost_filter_restore_replica(back, replica.data, replica.size));
        assert_int_equal(roost_filter_get_actor(back), dot.actor);
        assert_ok(roost_filter_check(back));
        next = add(back, hash_for_key(50));
        assert_true(next.actor == dot.actor && next.counter == dot.counter + 1);
        assert_int_equal(roost_filter_restore_replica(back, replica.data, replica.size), ROOST_INVALID);
        assert_int_equal(roost_filter_get_actor(back), dot.actor);
        assert_ok(roost_filter_restore_replica(back, NULL, 0)); /* nothing to tell, nothing to do */
        roost_buffer_release(&replica);
        FREE_ALL(filter, back);
    }
}

/* An old replica section with a state in which others have told later dots of that actor. */
static void a_restored_actor_never_uses_a_dot_twice(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *filter = new_filter(&config), *backup, *peer, *back;
    for (uint64_t key = 0; key < 10; key++)
        add(filter, hash_for_key(key));
    roost_buffer replica = replica_of(filter);
    backup = clone_of(filter);
    for (uint64_t key = 10; key < 15; key++)
        add(filter, hash_for_key(key));
    peer = clone_of(filter); /* has seen dots 1 to 15 */

    back = clone_of(peer); /* restored into the later state: goes on behind it */
    assert_ok(roost_filter_restore_replica(back, replica.data, replica.size));
    roost_dot dot = add(back, hash_for_key(77));
    assert_true(standing_of(peer, hash_for_key(77), dot) == UNSEEN);
    assert_ok(roost_filter_merge(peer, NULL, back));
    assert_true(holds(peer, hash_for_key(77)));
    roost_filter_free(back);

    back = clone_of(backup); /* into the old one, and then it hears of the rest: has a double, and leaves the actor */
    assert_ok(roost_filter_restore_replica(back, replica.data, replica.size));
    assert_ok(roost_filter_merge(back, NULL, filter));
    assert_int_equal(roost_filter_get_actor(back), 0);
    dot = add(back, hash_for_key(78));
    assert_true(dot.actor != roost_filter_get_actor(filter) && dot.counter == 1);
    roost_filter_free(back);

    roost_buffer frame; /* the same through bytes, by a delta in place */
    assert_ok(roost_filter_encode(filter, &frame));
    back = clone_of(backup);
    assert_ok(roost_filter_restore_replica(back, replica.data, replica.size));
    struct dot_run run = {roost_filter_get_actor(filter), 11, 12};
    struct forgery unseen = {.like = filter, .type = 2, .runs = &run, .run_count = 1};
    roost_buffer delta = forge(&unseen);
    assert_ok(roost_filter_merge_frame(back, NULL, delta.data, delta.size));
    assert_int_equal(roost_filter_get_actor(back), 0);
    roost_buffer_release(&frame);
    roost_buffer_release(&delta);
    roost_buffer_release(&replica);
    FREE_ALL(filter, backup, peer, back);
}

/* Its own dots have a gap: the state is not the one that it was saved with. Refused, and then it is nobody. */
static void a_replica_whose_dots_are_missing_is_refused(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *filter = new_filter(&config), *decoded;
    struct dot_run runs[] = {{5, 1, 3}, {5, 7, 9}};
    struct forgery forgery = {.like = filter, .type = 1, .runs = runs, .run_count = 2};
    roost_buffer frame = forge(&forgery), replica = replica_of_actor(5);
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, NULL));
    assert_int_equal(roost_filter_restore_replica(decoded, replica.data, replica.size), ROOST_CORRUPT);
    assert_int_equal(roost_filter_get_actor(decoded), 0);
    assert_true(add(decoded, hash_for_key(1)).actor != 5);
    roost_buffer_release(&frame);
    roost_buffer_release(&replica);
    FREE_ALL(filter, decoded);
}

/* A merge, and a frame, that bring dots of my own actor that I never made. */
static void a_shared_actor_is_left(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    struct counted_entropy same = {.next = 42}, twin_same = {.next = 42};
    roost_environment environment = environment_with(&same), twin_environment = environment_with(&twin_same);
    roost_filter *filter, *twin;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    assert_ok(roost_filter_new(&twin, &config, &twin_environment));
    assert_true(add(filter, hash_for_key(1)).actor == 42 && add(twin, hash_for_key(1)).actor == 42);
    add(twin, hash_for_key(2));
    assert_ok(roost_filter_merge(filter, NULL, twin));
    assert_int_equal(roost_filter_get_actor(filter), 0);
    same.next = 43;
    assert_int_equal(add(filter, hash_for_key(3)).actor, 43);
    assert_ok(roost_filter_check(filter));
    assert_true(holds(filter, hash_for_key(2)) && holds(filter, hash_for_key(3)));
    FREE_ALL(filter, twin);
}

/* The numbers of actors in the journal are those of the object that reads it, whatever order it met them in. */
static void a_journal_is_restored_with_its_actors(void **state)
{
    (void)state;
    enum { ACTORS = 12 };
    roost_config config = orcuckoo_config(24, 64, false, 1000);
    roost_filter *filter = new_filter(&config), *part, *whole, *saved_filters[2];
    roost_cursor begin = {0, 0};
    roost_buffer frame, replica;
    assert_ok(roost_filter_encode_delta(filter, &frame, &begin, &begin));
    roost_buffer_release(&frame);
    for (uint64_t i = 0; i < ACTORS; i++) { /* actors are random, so they come in an order that is not theirs */
        roost_filter *other = clone_of(filter);
        for (uint64_t key = 0; key <= i; key++)
            add(other, hash_for_key(100 * i + key));
        assert_ok(roost_filter_merge(filter, NULL, other));
        roost_filter_free(other);
    }
    replica = replica_of(filter);
    saved_filters[0] = through_bytes(filter);
    saved_filters[1] = clone_of(filter);
    for (int i = 0; i < 2; i++) {
        roost_cursor cursor = begin;
        assert_ok(roost_filter_restore_replica(saved_filters[i], replica.data, replica.size));
        assert_ok(roost_filter_encode_delta(saved_filters[i], &frame, &cursor, &cursor));
        assert_int_equal(frame.data[5], 2);
        assert_ok(roost_filter_decode(&part, frame.data, frame.size, NULL));
        whole = through_bytes(filter);
        assert_true(roost_filter_equal(part, whole));
        roost_buffer_release(&frame);
        FREE_ALL(part, whole);
    }
    roost_buffer_release(&replica);
    FREE_ALL(filter, saved_filters[0], saved_filters[1]);
}

/* Every bit of a replica section flipped, and every cut, with the checksum put right or not: refused, or taken
   whole. */
static void replica_bytes_are_checked(void **state)
{
    (void)state;
    roost_config configs[] = {orcuckoo_config(24, 64, false, 40), cuckoo_config(12, 4, 40),
                              bloom_config(ROOST_BLOCKED, 40, 0.01)};
    uint64_t refused = 0, taken = 0;
    for (size_t kind = 0; kind < COUNT_OF(configs); kind++) {
        roost_filter *filter = new_filter(&configs[kind]), *back;
        roost_cursor cursor = {0, 0}, begin;
        roost_buffer frame;
        assert_ok(roost_filter_encode_delta(filter, &frame, &begin, &cursor));
        roost_buffer_release(&frame);
        for (uint64_t key = 0; key < 10; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        roost_filter_remove_hash(filter, NULL, hash_for_key(3));
        roost_buffer replica = replica_of(filter);
        for (size_t bit = 0; bit < 2 * replica.size * 8 + 2 * replica.size; bit++) {
            size_t size = replica.size;
            bool mended = bit & 1;
            uint8_t *bytes = malloc(size);
            memcpy(bytes, replica.data, size);
            if (bit / 2 < size * 8)
                bytes[bit / 16] ^= (uint8_t)(1u << bit / 2 % 8);
            else
                size = bit / 2 - replica.size * 8;
            if (mended && size >= 8)
                store_word(bytes + size - 8, checksum_bytes(bytes, size - 8));
            uint8_t *exact = malloc(size + !size);
            memcpy(exact, bytes, size);
            back = through_bytes(filter);
            roost_status status = roost_filter_restore_replica(back, exact, size);
            if (status != ROOST_OK) {
                refused++;
                assert_true(status == ROOST_CORRUPT || status == ROOST_TRUNCATED ||
                            status == ROOST_UNSUPPORTED_VERSION);
                assert_int_equal(roost_filter_get_actor(back), 0);
                assert_int_equal(replica_of(back).size, 0);
            } else if (size > 0) {
                assert_true(mended);
                taken++;
            }
            cursor = begin;
            assert_ok(roost_filter_encode_delta(back, &frame, &cursor, &cursor)); /* right or not, it can be asked */
            roost_buffer_release(&frame);
            assert_ok(roost_filter_check(back));
            roost_filter_free(back);
            free(bytes);
            free(exact);
        }
        roost_buffer_release(&replica);
        roost_filter_free(filter);
    }
    printf("%llu refused, %llu taken\n", (unsigned long long)refused, (unsigned long long)taken);
    assert_true(refused > taken && taken > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exhausted_counter_means_a_fresh_actor),
        cmocka_unit_test(counters_end_where_their_width_ends),
        cmocka_unit_test(without_entropy_there_is_no_actor),
        cmocka_unit_test(entropy_that_repeats_itself),
        cmocka_unit_test(actors_run_out),
        cmocka_unit_test(more_actors_than_indexes),
        cmocka_unit_test(copies_are_other_replicas),
        cmocka_unit_test(a_replica_goes_on_where_it_was),
        cmocka_unit_test(a_restored_actor_never_uses_a_dot_twice),
        cmocka_unit_test(a_replica_whose_dots_are_missing_is_refused),
        cmocka_unit_test(a_shared_actor_is_left),
        cmocka_unit_test(a_journal_is_restored_with_its_actors),
        cmocka_unit_test(replica_bytes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
