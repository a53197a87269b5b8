/*
 * Windows as bytes: frames that come back or are refused, hostile ones, deltas, replicas that are saved, syncs; and every
 * allocation failing once. test_window.c has the model, the laws and the promise.
 */
#include "forge.h"
#include "golden.h"
#include "windows.h"

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

static void frames_come_back_or_are_refused(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(70));
    uint64_t accepted = 0;
    for (uint64_t number = 0; number < 12; number++) {
        roost_config config = some_window_config(ROOST_WINDOW, number);
        roost_filter *window = new_filter(&config);
        uint64_t clock = EPOCH;
        assert_frames_hold(window);
        live(window, &random, &clock, 1 + (uint32_t)number * 4);
        assert_frames_hold(window);
        accepted += count_canonical_forgeries(window, &random, 3000);
        roost_filter_free(window);
    }
    assert_true(accepted > 0);
}

/* A frame with these slots; each has the one bit 5 set, or none. */
struct forged_slot {
    uint8_t level;
    uint64_t index;
    uint32_t bits;
};

static roost_buffer forge_slots(const roost_filter *like, uint8_t type, uint64_t told, const struct forged_slot *slots,
                                size_t count)
{
    struct bit_writer body;
    bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
    write_configuration(like, &body);
    write_varint(&body, told);
    for (size_t i = 0; i < count; i++) {
        uint8_t part[64];
        struct bit_writer bits = bit_writer_over(part, sizeof part);
        write_byte(&bits, 1);
        write_varint(&bits, slots[i].bits);
        for (uint32_t bit = 0; bit < slots[i].bits; bit++)
            write_rice(&bits, 5, rice_parameter(roost_filter_get_config(like)->slot_bits, slots[i].bits));
        write_alignment(&bits);
        write_byte(&body, slots[i].level);
        write_varint(&body, slots[i].index);
        if (type == 2)
            write_varint(&body, bits.buffer.size);
        write_bytes(&body, part, bits.buffer.size);
    }
    roost_buffer frame = forge_frame_of(1, type, body.buffer.data, body.buffer.size);
    bit_writer_release(&body);
    return frame;
}

/* Decoded or merged, the frame is taken as expected; a refusal leaves the window as it was. */
static void assert_taken_as(roost_status expected, roost_filter *window, const roost_buffer *frame)
{
    roost_filter *decoded;
    struct portrait before = portrait_of(window);
    assert_int_equal(roost_filter_decode(&decoded, frame->data, frame->size, NULL), expected);
    roost_filter_free(decoded);
    assert_int_equal(roost_filter_merge_frame(window, NULL, frame->data, frame->size), expected);
    if (expected != ROOST_OK)
        assert_still(&before, window);
    else
        portrait_release(&before);
    assert_ok(roost_filter_check(window));
}

static void hostile_slots_are_refused(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_WINDOW, ROOST_CLASSIC, 3, 500, 1e-4);
    const uint64_t at = EPOCH / SECONDS(15);
    const struct {
        roost_status status;
        uint64_t told;
        struct forged_slot slots[3];
        size_t count;
    } cases[] = {
        {ROOST_OK, 1, {{0, at, 1}}, 1},
        {ROOST_OK, 2, {{0, at, 1}, {1, at * 2, 1}}, 2},
        {ROOST_OK, 2, {{0, at, 1}, {0, at + 4, 1}}, 2},
        {ROOST_CORRUPT, 2, {{0, at, 1}, {0, at + 5, 1}}, 2}, /* the first is forgotten by then */
        {ROOST_CORRUPT, 2, {{0, at + 1, 1}, {0, at, 1}}, 2}, /* out of order */
        {ROOST_CORRUPT, 2, {{1, at * 2, 1}, {0, at, 1}}, 2}, /* likewise */
        {ROOST_CORRUPT, 2, {{0, at, 1}, {0, at, 1}}, 2},     /* twice */
        {ROOST_CORRUPT, 1, {{5, at, 1}}, 1},                 /* no such level */
        {ROOST_CORRUPT, 1, {{255, at, 1}}, 1},               /* likewise */
        {ROOST_CORRUPT, 1, {{0, UINT64_MAX, 1}}, 1},         /* no such time */
        {ROOST_CORRUPT, 1, {{0, UINT64_C(1) << 55, 1}}, 1},  /* likewise */
        {ROOST_CORRUPT, 1, {{0, at, 0}}, 1},                 /* empty */
        {ROOST_CORRUPT, 2, {{0, at, 1}}, 1},                 /* fewer than told */
        {ROOST_CORRUPT, 0, {{0, at, 1}}, 1},                 /* more than told */
        {ROOST_CORRUPT, 251, {{0, at, 1}}, 1},               /* more than there can be */
        {ROOST_CORRUPT, UINT64_MAX, {{0, at, 1}}, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (uint8_t type = 1; type <= 2; type++) {
            roost_filter *window = new_filter(&config);
            assert_ok(roost_window_add(window, NULL, "x", 1, EPOCH));
            roost_buffer frame = forge_slots(window, type, cases[i].told, cases[i].slots, cases[i].count);
            assert_taken_as(cases[i].status, window, &frame);
            roost_buffer_release(&frame);
            roost_filter_free(window);
        }
}

/* Bodies of windows that grow: numbers as they are written, a prefix by its gap in 64 bits. */
static roost_buffer forge_growing(const roost_filter *like, uint8_t type, const uint64_t *numbers)
{
    struct bit_writer body;
    bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
    write_configuration(like, &body);
    uint64_t slots = *numbers++;
    write_varint(&body, slots);
    while (*numbers != UINT64_MAX) {
        uint64_t distance = *numbers++, told = *numbers++, count = *numbers++;
        write_varint(&body, distance);
        write_varint(&body, told);
        for (uint64_t i = 0; i < count; i++)
            write_rice(&body, *numbers++, rice_parameter(UINT64_C(1) << 60, told ? told : 1));
        write_alignment(&body);
    }
    roost_buffer frame = forge_frame_of(2, type, body.buffer.data, body.buffer.size);
    bit_writer_release(&body);
    return frame;
}

static void hostile_growing_windows_are_refused(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_WINDOW, GROWING, 3, 500, 1e-4);
    const uint64_t at = EPOCH / SECONDS(15), end = UINT64_MAX, largest = (UINT64_C(1) << 60) - 1;
    const struct {
        roost_status state, delta;
        uint64_t numbers[16]; /* slots { distance, entries that are told, entries { gap } } */
    } cases[] = {
        {ROOST_OK, ROOST_OK, {0, end}},
        {ROOST_OK, ROOST_OK, {1, at, 1, 1, 5, end}},
        {ROOST_OK, ROOST_OK, {1, at, 2, 2, 0, largest - 1, end}},
        {ROOST_OK, ROOST_OK, {2, at, 1, 1, 5, 4, 1, 1, 6, end}},
        {ROOST_CORRUPT, ROOST_OK, {2, at, 1, 1, 5, 4, 1, 1, 5, end}},         /* a prefix twice */
        {ROOST_CORRUPT, ROOST_CORRUPT, {2, at, 1, 1, 5, 5, 1, 1, 6, end}},    /* forgotten by then */
        {ROOST_CORRUPT, ROOST_CORRUPT, {2, at, 1, 1, 5, 0, 1, 1, 6, end}},    /* a slot twice */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, at, 0, 0, end}},                   /* empty */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, at, 2, 1, 5, end}},                /* fewer than told */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, at, 1, 2, 5, 6, end}},             /* more than told */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, at, 1, 1, largest + 1, end}},      /* no such prefix */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, at, 2, 2, 0, largest, end}},       /* likewise */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, UINT64_C(1) << 55, 1, 1, 5, end}}, /* no such time */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, end - 1, 1, 1, 5, end}},           /* likewise */
        {ROOST_CORRUPT, ROOST_CORRUPT, {2, 3, 1, 1, 5, 4, 1, 1, 6, end}},     /* before time began */
        {ROOST_CORRUPT, ROOST_CORRUPT, {6, at, 1, 1, 5, end}},                /* more slots than there can be */
        {ROOST_CORRUPT, ROOST_CORRUPT, {1, at, end - 1, 1, 5, end}},          /* more entries than bytes */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (uint8_t type = 1; type <= 2; type++) {
            roost_filter *window = new_filter(&config), *decoded;
            assert_ok(roost_window_add(window, NULL, "x", 1, EPOCH));
            roost_buffer frame = forge_growing(window, type, cases[i].numbers);
            assert_taken_as(type == 1 ? cases[i].state : cases[i].delta, window, &frame);
            frame.data[4] = 1; /* of the version that knows no such windows */
            store_word(frame.data + frame.size - 8, checksum_bytes(frame.data, frame.size - 8));
            assert_int_equal(roost_filter_decode(&decoded, frame.data, frame.size, NULL), ROOST_CORRUPT);
            roost_buffer_release(&frame);
            roost_filter_free(window);
        }
}

/* A table is no larger than the frame that fills it calls for, however the prefixes are chosen. */
static void chosen_prefixes_do_no_harm(void **state)
{
    (void)state;
    enum { CHOSEN = 20000 };
    roost_config config = window_config(ROOST_WINDOW, GROWING, 3, 500, 1e-4);
    roost_filter *window = new_filter(&config), *decoded;
    static uint64_t numbers[CHOSEN + 5];
    numbers[0] = 1, numbers[1] = EPOCH / SECONDS(15), numbers[2] = numbers[3] = CHOSEN;
    numbers[CHOSEN + 4] = UINT64_MAX; /* one after the other */
    roost_buffer frame = forge_growing(window, 1, numbers);
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, NULL));
    assert_ok(roost_filter_check(decoded));
    assert_int_equal(info_of(decoded).entries, CHOSEN);
    assert_true(info_of(decoded).bytes_memory < CHOSEN * 20 + 10000);
    roost_buffer_release(&frame);
    FREE_ALL(window, decoded);
}

/* Slots are few bytes and much memory: the limit counts all of them. */
static void small_frames_cannot_take_all_memory(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_WINDOW, ROOST_CLASSIC, 3, 10000000, 1e-4);
    roost_filter *window = new_filter(&config), *decoded;
    struct forged_slot slots[5];
    for (uint64_t i = 0; i < COUNT_OF(slots); i++)
        slots[i] = (struct forged_slot){0, EPOCH / SECONDS(15) + i, 1};
    roost_environment environment = {.memory_limit = 24 << 20};
    for (uint8_t type = 1; type <= 2; type++) {
        roost_buffer frame = forge_slots(window, type, COUNT_OF(slots), slots, COUNT_OF(slots));
        assert_int_equal(roost_filter_decode(&decoded, frame.data, frame.size, &environment), ROOST_TOO_LARGE);
        roost_buffer_release(&frame);
    }
    roost_filter_free(window);
}

static void golden_windows_are_written(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_WINDOW, ROOST_CLASSIC, 3, 100, 1e-3);
    roost_filter *window = new_filter(&config);
    assert_golden_frame("window-empty", window);
    for (uint64_t i = 0; i < 60; i++)
        assert_ok(roost_window_add_hash(window, NULL, hash_for_key(i), EPOCH + SECONDS(i) / 2));
    assert_golden_frame("window", window);
    roost_filter_free(window);
    config.layout = ROOST_BLOCKED;
    window = new_filter(&config);
    for (uint64_t i = 0; i < 90; i++)
        assert_ok(roost_window_add_hash(window, NULL, hash_for_key(i), EPOCH));
    assert_golden_frame("window-burst", window);
    roost_filter_free(window);
    config = window_config(ROOST_WINDOW, GROWING, 3, 100, 1e-3);
    window = new_filter(&config);
    assert_golden_frame("growing-window-empty", window);
    for (uint64_t i = 0; i < 90; i++)
        assert_ok(roost_window_add_hash(window, NULL, hash_for_key(i % 60), EPOCH + SECONDS(i) / 2));
    assert_golden_frame("growing-window", window);
    roost_filter_free(window);
}

/* ---- deltas, replicas, sync ------------------------------------------------------------------------------------ */

/* So many slots come and go that their numbers in the journal are used again and again. */
static void deltas_tell_what_changed(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(71));
    for (uint64_t number = 0; number < 24; number++) {
        roost_config config = some_window_config(number % 2 ? ROOST_WINDOW : ROOST_COUNTER, number / 2);
        roost_environment environment = {.journal = 100000};
        roost_filter *a, *b = new_filter(&config), *slow = new_filter(&config);
        assert_ok(roost_filter_new(&a, &config, &environment));
        roost_cursor cursor = {0}, old = {0};
        uint64_t clock = EPOCH, deltas = 0;
        for (uint32_t round = 0; round < 150; round++) {
            roost_buffer frame;
            live(a, &random, &clock, random_choice(&random, 12));
            clock += random_choice(&random, 30000000);
            assert_copy_says_the_same(a, &cursor);
            assert_copy_says_the_same(a, &old);
            assert_ok(roost_filter_encode_delta(a, &frame, &cursor, &cursor));
            deltas += frame.data[5] == 2;
            assert_ok(roost_filter_merge_frame(b, NULL, frame.data, frame.size));
            assert_ok(roost_filter_merge_frame(b, NULL, frame.data, frame.size));
            assert_same_frame(a, b);
            assert_same_digest(a, b);
            roost_buffer_release(&frame);
            if (round % 40 == 0) {
                assert_ok(roost_filter_encode_delta(a, &frame, &old, &old));
                assert_ok(roost_filter_merge_frame(slow, NULL, frame.data, frame.size));
                assert_same_frame(a, slow);
                roost_buffer_release(&frame);
            }
        }
        assert_true(deltas > 140);
        FREE_ALL(a, b, slow);
    }
}

static void a_replica_that_slept_goes_on(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(72));
    for (uint64_t number = 0; number < 24; number++) {
        roost_config config = some_window_config(number % 2 ? ROOST_WINDOW : ROOST_COUNTER, number / 2);
        roost_environment environment = {.journal = 20000};
        roost_filter *a, *b = new_filter(&config);
        assert_ok(roost_filter_new(&a, &config, &environment));
        roost_cursor cursor = {0};
        uint64_t clock = EPOCH;
        for (uint32_t round = 0; round < 40; round++) {
            roost_buffer frame;
            live(a, &random, &clock, random_choice(&random, 20));
            if (round % 3 == 0) {
                struct saved_replica saved = save_replica(a);
                uint64_t actor = roost_filter_get_actor(a);
                roost_filter_free(a);
                a = restore_replica(&saved, &environment, true);
                assert_int_equal(roost_filter_get_actor(a), actor);
                saved_release(&saved);
            }
            live(a, &random, &clock, random_choice(&random, 5));
            assert_ok(roost_filter_encode_delta(a, &frame, &cursor, &cursor));
            assert_int_equal(frame.data[5], round == 0 ? 1 : 2);
            assert_ok(roost_filter_merge_frame(b, NULL, frame.data, frame.size));
            assert_same_frame(a, b);
            roost_buffer_release(&frame);
        }
        FREE_ALL(a, b);
    }
}

static void damaged_replicas_are_refused(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(73));
    roost_config config = some_window_config(ROOST_COUNTER, 2);
    roost_filter *a = new_filter(&config);
    roost_cursor cursor = {0};
    roost_buffer frame;
    uint64_t clock = EPOCH, refused = 0;
    assert_ok(roost_filter_encode_delta(a, &frame, &cursor, &cursor));
    roost_buffer_release(&frame);
    live(a, &random, &clock, 60);
    struct saved_replica saved = save_replica(a);
    for (size_t byte = 0; byte < saved.replica.size - 8; byte++) {
        roost_buffer forged = copy_of(&saved.replica);
        roost_filter *restored = restore_replica(&saved, NULL, false);
        forged.data[byte] ^= (uint8_t)(1 + random_choice(&random, 255));
        store_word(forged.data + forged.size - 8, checksum_bytes(forged.data, forged.size - 8));
        roost_status status = roost_filter_restore_replica(restored, forged.data, forged.size);
        assert_same_frame(restored, a);
        if (status != ROOST_OK)
            assert_true(roost_filter_get_actor(restored) == 0 && !journal_is_on(restored->journal));
        else /* whatever it tells, it can be told */
            assert_ok(roost_filter_encode_delta(
                restored, &frame, &cursor, &(roost_cursor){restored->journal->incarnation, restored->journal->oldest}));
        if (status == ROOST_OK)
            roost_buffer_release(&frame);
        refused += status != ROOST_OK;
        roost_filter_free(restored);
        roost_buffer_release(&forged);
    }
    assert_true(refused > 5);
    saved_release(&saved);
    roost_filter_free(a);
}

static void syncs_make_equal(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(74));
    uint64_t by_cursor = 0, whole = 0;
    for (uint64_t number = 0; number < 24; number++) {
        roost_config config = some_window_config(number % 2 ? ROOST_WINDOW : ROOST_COUNTER, number / 2);
        roost_filter *a = new_filter(&config), *b = new_filter(&config);
        roost_buffer memory = {0};
        uint64_t clock = EPOCH;
        for (uint32_t round = 0; round < 12; round++) {
            uint64_t other = clock;
            live(a, &random, &clock, random_choice(&random, 30));
            live(b, &random, &other, random_choice(&random, 30));
            clock = other > clock ? other : clock;
            if (round % 5 == 4)
                roost_buffer_release(&memory);
            struct exchange exchange = sync_alone(a, b, &memory);
            by_cursor += exchange.types >> DELTA & 1;
            whole += exchange.types >> WHOLE & 1;
        }
        roost_buffer_release(&memory);
        FREE_ALL(a, b);
    }
    assert_true(by_cursor > 100 && whole > 24);
}

/* Ten changes in a window of ten thousand. */
static void the_bytes_of_a_sync_follow_the_change(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_COUNTER, ROOST_BLOCKED, 3, 10000, 1e-6);
    roost_filter *a = new_filter(&config), *b = new_filter(&config);
    roost_buffer memory = {0};
    bool applied;
    for (uint64_t i = 0; i < 10000; i++)
        assert_ok(roost_counter_increment(a, &applied, NULL, &i, sizeof i, 1, EPOCH + i * 6000));
    struct exchange first = sync_alone(a, b, &memory);
    for (uint64_t i = 10000; i < 10010; i++)
        assert_ok(roost_counter_increment(i % 2 ? a : b, &applied, NULL, &i, sizeof i, 1, EPOCH + i * 6000));
    struct exchange then = sync_alone(a, b, &memory);
    print_message("first %llu bytes, then %llu\n", (unsigned long long)(first.sent + first.received),
                  (unsigned long long)(then.sent + then.received));
    assert_true(then.sent + then.received < 800);
    roost_buffer_release(&memory);
    FREE_ALL(a, b);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

struct peer_and_frame {
    roost_filter *other;
    roost_buffer frame;
    const roost_environment *environment;
    uint64_t time;
    roost_cursor cursor;
};

static roost_status call_merge(roost_filter *filter, void *context)
{
    return roost_filter_merge(filter, NULL, ((struct peer_and_frame *)context)->other);
}

static roost_status call_merge_frame(roost_filter *filter, void *context)
{
    struct peer_and_frame *peer = context;
    return roost_filter_merge_frame(filter, NULL, peer->frame.data, peer->frame.size);
}

static roost_status call_add(roost_filter *filter, void *context)
{
    bool flag;
    uint64_t time = ((struct peer_and_frame *)context)->time;
    return roost_filter_get_config(filter)->kind == ROOST_WINDOW
               ? roost_window_add(filter, &flag, "late", 4, time)
               : roost_counter_increment(filter, &flag, NULL, "late", 4, -7, time);
}

static roost_status call_clone(roost_filter *filter, void *context)
{
    roost_filter *copy;
    (void)context;
    roost_status status = roost_filter_clone(filter, &copy);
    roost_filter_free(copy);
    return status;
}

static roost_status call_decode(roost_filter *filter, void *context)
{
    struct peer_and_frame *peer = context;
    roost_filter *decoded;
    (void)filter;
    roost_status status = roost_filter_decode(&decoded, peer->frame.data, peer->frame.size, peer->environment);
    roost_filter_free(decoded);
    return status;
}

static roost_status call_delta(roost_filter *filter, void *context)
{
    roost_buffer frame;
    roost_cursor next;
    roost_status status = roost_filter_encode_delta(filter, &frame, &next, &((struct peer_and_frame *)context)->cursor);
    roost_buffer_release(&frame);
    return status;
}

static roost_status call_save(roost_filter *filter, void *context)
{
    roost_buffer bytes;
    (void)context;
    roost_status status = roost_filter_save_replica(filter, &bytes);
    roost_buffer_release(&bytes);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 8; number++) {
        struct meter meter = {0};
        roost_environment environment = metered_environment(&meter);
        roost_config config = some_window_config(number % 2 ? ROOST_WINDOW : ROOST_COUNTER, number);
        struct random_source random = random_from_seed(75 + number);
        struct peer_and_frame peer = {.environment = &environment};
        roost_filter *a, *b;
        uint64_t clock = EPOCH, other = EPOCH + SECONDS(20);
        assert_ok(roost_filter_new(&a, &config, &environment));
        assert_ok(roost_filter_new(&b, &config, &environment));
        roost_cursor cursor = {0};
        assert_ok(roost_filter_encode_delta(b, &peer.frame, &cursor, &cursor));
        roost_buffer_release(&peer.frame);
        live(a, &random, &clock, 60);
        assert_ok(roost_filter_encode_delta(a, &peer.frame, &peer.cursor, &peer.cursor));
        roost_buffer_release(&peer.frame);
        live(a, &random, &clock, 20);
        live(b, &random, &other, 60);
        peer.other = b;
        peer.time = (clock > other ? clock : other) + SECONDS(31);
        survive(a, &meter, call_clone, &peer);
        survive(a, &meter, call_delta, &peer);
        survive(a, &meter, call_save, &peer);
        roost_filter *listener;
        assert_ok(roost_filter_new(&listener, &config, &environment));
        assert_ok(roost_filter_encode(b, &peer.frame));
        survive(a, &meter, call_decode, &peer);
        survive(a, &meter, call_merge_frame, &peer);
        roost_buffer_release(&peer.frame);
        assert_ok(roost_filter_encode_delta(b, &peer.frame, &cursor, &cursor));
        assert_int_equal(peer.frame.data[5], 2);
        survive(listener, &meter, call_merge_frame, &peer);
        roost_buffer_release(&peer.frame);
        roost_filter_free(listener);
        survive(a, &meter, call_add, &peer);
        roost_filter *third;
        assert_ok(roost_filter_new(&third, &config, &environment));
        survive(third, &meter, call_merge, &peer);
        FREE_ALL(a, b, third);
        assert_int_equal(meter.outstanding, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back_or_are_refused),
        cmocka_unit_test(hostile_slots_are_refused),
        cmocka_unit_test(hostile_growing_windows_are_refused),
        cmocka_unit_test(chosen_prefixes_do_no_harm),
        cmocka_unit_test(small_frames_cannot_take_all_memory),
        cmocka_unit_test(golden_windows_are_written),
        cmocka_unit_test(deltas_tell_what_changed),
        cmocka_unit_test(a_replica_that_slept_goes_on),
        cmocka_unit_test(damaged_replicas_are_refused),
        cmocka_unit_test(syncs_make_equal),
        cmocka_unit_test(the_bytes_of_a_sync_follow_the_change),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
