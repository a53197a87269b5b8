/* What tests of windows and counters share: small configurations, random causal contexts, an allocator that fails. */
#ifndef TESTS_WINDOWS_H
#define TESTS_WINDOWS_H

#include "check.h"
#include "exchange.h"

#include "window/forgetful.h"

#define SECONDS(n) ((uint64_t)(n)*ROOST_SECOND)
/* Histories begin here, far from zero. */
#define EPOCH SECONDS(1700000000)

/* In the place of a layout: a window that grows. The others are of fixed size, and may be full. */
#define GROWING 0

static inline roost_config window_config(roost_kind kind, roost_layout layout, uint32_t past, uint64_t capacity,
                                         double fpr)
{
    roost_config config = roost_window_config_default(kind, SECONDS(60));
    config.layout = layout;
    config.scalable = layout == GROWING;
    config.past = past;
    config.capacity = capacity;
    config.fpr = fpr;
    return config;
}

/* A mixed bag: windows that grow and both layouts, many numbers of past slots, so small that slots fill up. */
static inline roost_config some_window_config(roost_kind kind, uint64_t number)
{
    static const uint32_t past[][6] = {{1, 200, 5, 40, 2, 255}, {1, 3, 9, 2, 5, 22}, {2, 5, 22, 1, 3, 9}};
    static const roost_layout layouts[] = {GROWING, ROOST_BLOCKED, ROOST_CLASSIC};
    return window_config(kind, layouts[number % 3], past[number % 3][number / 3 % 6], 20 + number % 7 * 40, 1e-4);
}

/* One step of some history: an addition or an increment, at a clock that wavers and sometimes leaps. */
static inline void step(roost_filter *filter, struct random_source *random, uint64_t *clock, uint64_t keys)
{
    bool applied;
    roost_hash hash = hash_for_key(random_choice(random, (uint32_t)keys));
    *clock += random_choice(random, 40) == 0 ? random_choice(random, 90000000) : random_choice(random, 1500000);
    uint64_t time = *clock - random_choice(random, 3000000);
    roost_status status = roost_filter_get_config(filter)->kind == ROOST_WINDOW
                              ? roost_window_add_hash(filter, NULL, hash, time)
                              : roost_counter_increment(filter, &applied, NULL, &hash, sizeof hash,
                                                        (int64_t)random_choice(random, 9) - 3, time);
    assert_true(status == ROOST_OK || (status == ROOST_FULL && !roost_filter_get_config(filter)->scalable));
}

static inline void live(roost_filter *filter, struct random_source *random, uint64_t *clock, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++)
        step(filter, random, clock, 500);
    assert_ok(roost_filter_check(filter));
}

/* ---- every kind: those of exchange.h, a window, a counter -------------------------------------------------------- */

enum { EVERY_KIND = ALL_KINDS + 2 };

static inline roost_config config_of_every_kind(uint64_t number, uint64_t capacity)
{
    uint64_t kind = number % EVERY_KIND;
    if (kind < ALL_KINDS)
        return config_for(kind, capacity);
    roost_config config = some_window_config(kind == ALL_KINDS ? ROOST_WINDOW : ROOST_COUNTER, number / EVERY_KIND);
    config.capacity = config.capacity * capacity / 200;
    return config;
}

/* Additions of these keys, in a window at times that go by slowly. */
static inline void live_on(roost_filter *filter, uint64_t first, uint64_t count)
{
    bool applied;
    for (uint64_t key = first; key < first + count; key++) {
        uint64_t time = EPOCH + key * 1000;
        roost_status status = ROOST_OK;
        if (roost_filter_get_config(filter)->kind == ROOST_WINDOW)
            status = roost_window_add_hash(filter, NULL, hash_for_key(key), time);
        else if (roost_filter_get_config(filter)->kind == ROOST_COUNTER)
            status = roost_counter_increment(filter, &applied, NULL, &key, sizeof key, 3, time);
        else
            put(filter, key);
        assert_true(status == ROOST_OK || (status == ROOST_FULL && !roost_filter_get_config(filter)->scalable));
    }
}

static inline roost_cursor cursor_of(roost_filter *filter)
{
    roost_cursor cursor;
    assert_ok(roost_filter_get_cursor(filter, &cursor));
    return cursor;
}

/* ---- memory that is refused -------------------------------------------------------------------------------------- */

struct meter {
    int64_t allowed, outstanding; /* allocations until the failure, negative: never; not yet released */
    uint64_t failures;
};

static inline void *metered_allocate(void *context, size_t size)
{
    struct meter *meter = context;
    if (meter->allowed == 0) {
        meter->failures++;
        return NULL;
    }
    meter->allowed--;
    meter->outstanding++;
    return calloc(1, size);
}

static inline void metered_release(void *context, void *memory)
{
    ((struct meter *)context)->outstanding--;
    free(memory);
}

static inline roost_environment metered_environment(struct meter *meter)
{
    meter->allowed = -1;
    return (roost_environment){.allocator = {meter, metered_allocate, metered_release}, .journal = 4000};
}

static inline bool is_growing_window(const roost_filter *filter)
{
    return is_window(filter) && window_grows(as_const_window(filter));
}

typedef roost_status metered_call(roost_filter *filter, void *context);

/* Calls until no allocation fails; after each failure the filter is as it was. */
static inline void survive(roost_filter *filter, struct meter *meter, metered_call *call, void *context)
{
    uint64_t failed = 0;
    for (int64_t allowed = 0;; allowed++) {
        assert_true(allowed < 1000);
        struct portrait before = portrait_of(filter);
        int64_t outstanding = meter->outstanding;
        meter->allowed = allowed;
        uint64_t failures = meter->failures;
        roost_status status = call(filter, context);
        meter->allowed = -1;
        if (status == ROOST_OK) {
            portrait_release(&before);
            assert_true(meter->failures == failures || journal_is_on(filter->journal)); /* that can do with less */
            break;
        }
        assert_int_equal(status, ROOST_NO_MEMORY);
        if (!is_growing_window(filter)) /* where things lie is not state: it may have made room already */
            assert_int_equal(meter->outstanding, outstanding);
        assert_still(&before, filter);
        failed++;
    }
    assert_true(failed > 0 || is_growing_window(filter)); /* which may have room */
    assert_ok(roost_filter_check(filter));
}

/* ---- laws ------------------------------------------------------------------------------------------------------ */

static inline void assert_laws(roost_filter *a, roost_filter *b, roost_filter *c)
{
    roost_filter *ab = merged(a, b), *ba = merged(b, a), *bc = merged(b, c);
    roost_filter *left = merged(ab, c), *right = merged(a, bc), *again = merged(ab, b);
    assert_same_frame(ab, ba);
    assert_same_digest(ab, ba);
    assert_true(roost_filter_equal(ab, ba));
    assert_same_frame(left, right);
    assert_same_digest(left, right);
    assert_same_frame(again, ab);
    assert_true(included(a, ab) && included(b, ab) && included(ab, left));
    assert_int_equal(order_of(a, b) == ROOST_BEFORE || order_of(a, b) == ROOST_EQUAL, roost_filter_equal(ab, b));
    assert_int_equal(order_of(b, a) == ROOST_AFTER, order_of(a, b) == ROOST_BEFORE);
    assert_ok(roost_filter_check(left));
    FREE_ALL(ab, ba, bc, left, right, again);
}

/* Frames come back as they were, and every truncated or flipped one is refused. */
static inline void assert_frames_hold(roost_filter *filter)
{
    roost_buffer frame;
    roost_filter *decoded = through_bytes(filter);
    assert_true(roost_filter_equal(filter, decoded));
    assert_same_frame(filter, decoded);
    assert_same_digest(filter, decoded);
    assert_ok(roost_filter_check(decoded));
    roost_filter_free(decoded);
    assert_ok(roost_filter_encode(filter, &frame));
    for (size_t size = 0; size < frame.size; size++) {
        assert_int_not_equal(roost_filter_decode(&decoded, frame.data, size, NULL), ROOST_OK);
        assert_null(decoded);
    }
    for (size_t bit = 0; bit < frame.size * 8; bit += 3) {
        frame.data[bit / 8] ^= 1u << bit % 8;
        assert_int_not_equal(roost_filter_decode(&decoded, frame.data, frame.size, NULL), ROOST_OK);
        frame.data[bit / 8] ^= 1u << bit % 8;
    }
    roost_buffer_release(&frame);
}

/* Any single byte changed under a checksum that is right: refused, or a state that is sound and has this very frame. */
static inline uint64_t count_canonical_forgeries(const roost_filter *filter, struct random_source *random, size_t most)
{
    roost_buffer frame;
    uint64_t accepted = 0;
    assert_ok(roost_filter_encode(filter, &frame));
    for (size_t i = 0; i < most; i++) {
        roost_filter *decoded;
        roost_buffer forged = copy_of(&frame);
        size_t byte = 7 + random_choice(random, (uint32_t)frame.size - 15);
        forged.data[byte] ^= (uint8_t)(1 + random_choice(random, 255));
        store_word(forged.data + forged.size - 8, checksum_bytes(forged.data, forged.size - 8));
        roost_environment environment = {.memory_limit = 64 << 20};
        if (roost_filter_decode(&decoded, forged.data, forged.size, &environment) == ROOST_OK) {
            roost_buffer again;
            assert_ok(roost_filter_check(decoded));
            assert_ok(roost_filter_encode(decoded, &again));
            assert_same_bytes(&again, &forged);
            roost_buffer_release(&again);
            roost_filter_free(decoded);
            accepted++;
        }
        roost_buffer_release(&forged);
    }
    roost_buffer_release(&frame);
    return accepted;
}

#endif
