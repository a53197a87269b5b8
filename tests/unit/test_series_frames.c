/*
 * Bytes of filters that grow: frames from strangers; deltas and syncs of replicas that grow; and every
 * allocation failing once. test_series.c has the laws and the promise.
 */
#include "exchange.h"
#include "forge.h"
#include "series.h"

#include <math.h>

#include "filter/configuration.h"

/* ---- frames from strangers --------------------------------------------------------------------------------------- */

/* A filter with several tables, an actor and a journal. */
static roost_filter *victim_of(const roost_config *config, roost_cursor *cursor)
{
    roost_environment environment = {.memory_limit = 1 << 22};
    roost_filter *filter;
    roost_buffer frame;
    assert_ok(roost_filter_new(&filter, config, &environment));
    *cursor = (roost_cursor){0, 0};
    assert_ok(roost_filter_encode_delta(filter, &frame, cursor, cursor));
    roost_buffer_release(&frame);
    put_many(filter, 0, 60);
    take_many(filter, 10, 5);
    return filter;
}

/* One with a single table. */
static roost_filter *fresh_victim(const roost_config *config)
{
    roost_environment environment = {.memory_limit = 1 << 22};
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, config, &environment));
    put_many(filter, 1000, 3);
    return filter;
}

/* Decoded or merged, whatever comes of it: refused without a trace, or sound. Returns what the merge said. */
static roost_status receive(roost_filter *victim, const roost_buffer *frame, roost_status *decode)
{
    uint8_t *exact = malloc(frame->size + !frame->size);
    memcpy(exact, frame->data, frame->size);
    roost_environment environment = {.memory_limit = 1 << 22};
    roost_filter *decoded, *expected = clone_of(victim);
    struct portrait before = portrait_of(victim);
    uint32_t tables = before.info.tables;
    bool changed = true;
    *decode = roost_filter_decode(&decoded, exact, frame->size, &environment);
    roost_status status = roost_filter_merge_frame(victim, &changed, exact, frame->size);
    if (status != ROOST_OK) {
        assert_false(changed);
        assert_int_equal(info_of(victim).tables, tables);
        assert_still(&before, victim);
    } else {
        assert_ok(roost_filter_check(victim));
        assert_true(included(expected, victim));
        portrait_release(&before);
    }
    if (*decode == ROOST_OK) {
        assert_ok(roost_filter_check(decoded));
        roost_filter *again = through_bytes(decoded);
        assert_same_all(again, decoded);
        roost_filter_free(again);
        if (status == ROOST_OK) {
            merge(expected, decoded);
            assert_same_all(expected, victim);
        }
    }
    FREE_ALL(decoded, expected);
    free(exact);
    return status;
}

/* A state (1) or delta (2) of these bytes, after the configuration of a filter. */
static roost_buffer frame_of(const roost_filter *like, const uint8_t *state, size_t size, uint8_t type)
{
    struct bit_writer body;
    bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
    write_configuration(like, &body);
    write_bytes(&body, state, size);
    roost_buffer frame = forge_frame(body.buffer.data, body.buffer.size, type);
    bit_writer_release(&body);
    return frame;
}

static void assert_refused(roost_filter *victim, const uint8_t *state, size_t size, uint8_t type)
{
    roost_status decoded;
    roost_buffer frame = frame_of(victim, state, size, type);
    assert_int_not_equal(receive(victim, &frame, &decoded), ROOST_OK);
    assert_int_not_equal(decoded, ROOST_OK);
    roost_buffer_release(&frame);
}

static struct bit_writer new_writer(void)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    return writer;
}

/* `first` tables missing, one there with a flag of its own, `last` missing; then an empty quota. */
static void assert_tables_refused(roost_filter *victim, uint64_t count, uint64_t first, uint8_t flag, uint64_t last)
{
    struct bit_writer writer = new_writer(), table = new_writer();
    const struct series *series = as_const_series(victim);
    assert_ok(series->table_kind->encoding.write_state(series->tables[0], &table));
    write_varint(&writer, count);
    for (uint64_t i = 0; i < first; i++)
        write_byte(&writer, 0);
    write_byte(&writer, flag);
    write_bytes(&writer, table.buffer.data, table.buffer.size);
    for (uint64_t i = 0; i < last; i++)
        write_byte(&writer, 0);
    if (victim->config->kind == ROOST_BLOOM)
        write_varint(&writer, 0);
    assert_refused(victim, writer.buffer.data, writer.buffer.size, 1);
    bit_writer_release(&writer);
    bit_writer_release(&table);
}

static void impossible_tables_are_refused(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SERIES; number++) {
        if (!is_series(number))
            continue;
        roost_config config = series_config(number, 20);
        roost_cursor cursor;
        roost_filter *victim = victim_of(&config, &cursor);
        assert_tables_refused(victim, 1, 0, 2, 0);
        assert_tables_refused(victim, 2, 0, 1, 1);
        assert_tables_refused(victim, 65, 64, 1, 0);
        assert_tables_refused(victim, 64, 63, 1, 0);
        assert_tables_refused(victim, 1000000, 99, 1, 0);
        assert_tables_refused(victim, 40, 39, 1, 0);
        for (uint32_t index = 0; index < 256; index++) { /* deltas: parts that are cut, empty, or of no table */
            uint8_t cut[] = {(uint8_t)index, 5, 1}, empty[] = {(uint8_t)index, 0, 0, 0, 0};
            if (index == 0)
                continue;
            assert_refused(victim, cut, sizeof cut, 2);
            assert_refused(victim, empty, 3 + (config.kind == ROOST_BLOOM) - 1, 2);
        }
        roost_filter_free(victim);
    }
}

/* Dots of one table, told as another's: nothing but the actor gives it away where nothing is live. */
static void actors_of_other_tables_are_refused(void **state)
{
    (void)state;
    for (uint64_t number = 3; number < SERIES; number++) {
        roost_config config = series_config(number, 20);
        roost_cursor cursor = {0, 0};
        roost_filter *liar = new_series(&config), *victim = new_series(&config);
        roost_buffer frame;
        assert_ok(roost_filter_encode_delta(liar, &frame, &cursor, &cursor));
        roost_buffer_release(&frame);
        put(liar, 1);
        take_many(liar, 1, 1);
        const struct series *series = as_const_series(liar);
        struct bit_writer whole = new_writer(), part = new_writer(), delta = new_writer();
        write_varint(&whole, 2);
        write_byte(&whole, 0);
        write_byte(&whole, 1);
        assert_ok(series->table_kind->encoding.write_state(series->tables[0], &whole));
        assert_refused(victim, whole.buffer.data, whole.buffer.size, 1);
        struct causal_context seen;
        assert_ok(series->table_kind->causal.context(series->tables[0], &seen));
        assert_ok(series->table_kind->causal.write_dots(series->tables[0], &part, &seen));
        for (uint8_t told = 1; told <= 2; told++) {
            roost_status decoded;
            delta.buffer.size = 0;
            write_byte(&delta, told);
            write_varint(&delta, part.buffer.size);
            write_bytes(&delta, part.buffer.data, part.buffer.size);
            write_byte(&delta, 0);
            frame = frame_of(victim, delta.buffer.data, delta.buffer.size, 2);
            assert_int_equal(receive(victim, &frame, &decoded), told == 1 ? ROOST_OK : ROOST_CORRUPT);
            roost_buffer_release(&frame);
        }
        causal_release(&seen, &liar->environment.allocator);
        bit_writer_release(&whole);
        bit_writer_release(&part);
        bit_writer_release(&delta);
        FREE_ALL(liar, victim);
    }
}

static void lies_of_quotas_are_refused(void **state)
{
    (void)state;
    static const struct quota_entry lies[][2] = {
        {{0, 0, 5, 1}, {1, 5, 5, 1}},                   /* nobody */
        {{0, 5, 0, 1}, {1, 5, 5, 1}},                   /* to nobody */
        {{0, 5, 5, 0}, {1, 5, 5, 1}},                   /* nothing */
        {{64, 5, 5, 1}, {65, 5, 5, 1}},                 /* of no table */
        {{1, 5, 5, 1}, {0, 5, 5, 1}},                   /* not in order */
        {{0, 5, 5, 1}, {0, 5, 5, 1}},                   /* twice */
        {{0, 6, 5, 1}, {0, 5, 5, 1}},                   /* not in order */
        {{0, 5, 5, UINT64_C(1) << 48}, {1, 5, 5, 1}},   /* too much */
        {{0, 5, 5, UINT64_MAX}, {1, 5, 5, UINT64_MAX}}, /* far too much */
    };
    for (uint64_t number = 0; number < 2; number++)
        for (uint8_t type = 1; type <= 2; type++) {
            roost_config config = series_config(number, 20);
            roost_cursor cursor;
            roost_filter *victim = victim_of(&config, &cursor);
            for (size_t i = 0; i < COUNT_OF(lies) + 2; i++) {
                struct bit_writer writer = new_writer();
                write_varint(&writer, 0);
                write_varint(&writer, i < COUNT_OF(lies) ? 2 : i == COUNT_OF(lies) ? 3 : UINT64_MAX);
                for (int j = 0; j < 2; j++)
                    quota_write_entry(&writer, &lies[i < COUNT_OF(lies) ? i : 0][j]);
                assert_refused(victim, writer.buffer.data, writer.buffer.size, type);
                bit_writer_release(&writer);
            }
            roost_filter_free(victim);
        }
}

static void lies_of_configurations_are_refused(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SERIES; number++) {
        roost_config config = series_config(number, 20);
        roost_cursor cursor;
        roost_filter *victim = victim_of(&config, &cursor), *liar = clone_of(victim);
        const roost_config *own = liar->config, truth = *own;
        roost_config told;
        liar->config = &told;
        static const uint8_t nothing[] = {0, 0};
        for (int lie = 0;; lie++) {
            bool cuckoo = truth.kind != ROOST_BLOOM;
            told = truth;
            if (lie < 3)
                told.writers = lie == 0 ? 0 : lie == 1 ? 1025 : 21;
            else if (lie < 7)
                told.growth = lie == 3 ? 0 : lie == 4 ? 3 : lie == 5 ? 16 : 255;
            else if (lie < 9)
                told.schedule = lie == 7 ? 0 : 3;
            else if (lie < 13)
                told.fpr = lie == 9 ? 0 : lie == 10 ? 1 : lie == 11 ? -0.5 : (double)NAN;
            else if (lie < 15)
                told.capacity = lie == 13 ? 0 : cuckoo ? UINT64_MAX : 1;
            else if (lie < 17)
                told.layout = lie == 15 ? (cuckoo ? 1 : 0) : 3;
            else if (lie < 19)
                told.bucket_size = lie == 17 ? 3 : 16;
            else if (lie < 22)
                told.fingerprint_bits = lie == 19 ? 5 : lie == 20 ? 33 : 255;
            else
                break;
            roost_status decoded;
            roost_buffer frame = frame_of(liar, nothing, truth.kind == ROOST_BLOOM ? 2 : 1, 1);
            assert_int_not_equal(receive(victim, &frame, &decoded), ROOST_OK);
            assert_int_not_equal(decoded, ROOST_OK);
            roost_buffer_release(&frame);
        }
        for (uint32_t bits = 6; bits <= 32 && truth.kind != ROOST_BLOOM; bits++)
            for (uint32_t writers = 1; writers <= 20; writers++) { /* whatever comes of it */
                roost_status decoded;
                told = truth;
                told.fingerprint_bits = bits;
                told.writers = writers;
                roost_buffer frame = frame_of(liar, nothing, 1, 1);
                receive(victim, &frame, &decoded);
                if (decoded == ROOST_OK && removable(liar))
                    assert_true(bits <= 28);
                roost_buffer_release(&frame);
            }
        liar->config = own;
        FREE_ALL(victim, liar);
    }
}

static void broken_frames_are_refused(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(6));
    for (uint64_t number = 0; number < SERIES; number++)
        for (int delta = 0; delta < 2; delta++) {
            roost_config config = series_config(number, 12);
            roost_cursor cursor;
            roost_filter *teller = victim_of(&config, &cursor), *victim = fresh_victim(&config);
            roost_buffer frame, forged;
            roost_status decoded;
            uint8_t bytes[CONFIGURATION_ROOM];
            if (delta)
                assert_ok(roost_filter_encode_delta(teller, &frame, &cursor, &cursor));
            else
                assert_ok(roost_filter_encode(teller, &frame));
            assert_int_equal(frame.data[5], delta ? 2 : 1);
            size_t start = 6, configuration = configuration_bytes(teller, bytes);
            while (frame.data[start++] & 0x80) {
            }
            size_t from = start + configuration, size = frame.size - 8 - from;
            const uint8_t *body = frame.data + from;
            for (size_t cut = 0; cut < size; cut += 1 + size / rounds_of(200)) {
                forged = frame_of(teller, body, cut, delta ? 2 : 1);
                assert_int_not_equal(receive(victim, &forged, &decoded), ROOST_OK);
                assert_int_not_equal(decoded, ROOST_OK);
                roost_buffer_release(&forged);
            }
            uint8_t *flipped = malloc(size);
            for (uint32_t i = 0; i < rounds_of(400); i++) {
                memcpy(flipped, body, size);
                for (uint32_t j = 1 + random_choice(&random, 3); j > 0; j--)
                    flipped[random_choice(&random, i % 2 ? (uint32_t)size : 24)] ^=
                        (uint8_t)(1u << random_choice(&random, 8));
                forged = frame_of(teller, flipped, size, delta ? 2 : 1);
                roost_filter *one = fresh_victim(&config);
                receive(one, &forged, &decoded);
                roost_filter_free(one);
                roost_buffer_release(&forged);
            }
            free(flipped);
            roost_buffer_release(&frame);
            FREE_ALL(teller, victim);
        }
}

/* ---- deltas, syncs, sleep ---------------------------------------------------------------------------------------- */

static void replicas_that_grow_keep_in_touch(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(7));
    for (uint64_t number = 0; number < 3 * SERIES; number++) {
        roost_environment environment = {.entropy = {&random, draw_random}, .journal = number < SERIES ? 20000 : 200};
        roost_config config = series_config(number, 50);
        roost_filter *a, *b, *c;
        roost_buffer memory = {0}, frame;
        roost_cursor cursor = {0, 0};
        assert_ok(roost_filter_new(&a, &config, &environment));
        assert_ok(roost_filter_new(&b, &config, &environment));
        assert_ok(roost_filter_new(&c, &config, &environment));
        uint64_t next = 0;
        for (uint32_t round = 0; round < 12; round++) {
            for (uint32_t i = random_choice(&random, 120); i > 0; i--)
                put(random_choice(&random, 2) ? a : b, next++);
            for (uint32_t i = random_choice(&random, 60); i > 0 && next; i--)
                take(random_choice(&random, 2) ? a : b, random_choice(&random, (uint32_t)next), round % 2);
            if (random_choice(&random, 3) == 0)
                roost_buffer_release(&memory);
            if (random_choice(&random, 2)) { /* sleeps, and goes on as the same */
                struct saved_replica saved = save_replica(a);
                uint64_t actor = roost_filter_get_actor(a);
                roost_filter_free(a);
                a = restore_replica(&saved, &environment, true);
                assert_int_equal(roost_filter_get_actor(a), actor);
                assert_ok(roost_filter_check(a));
                saved_release(&saved);
            }
            struct exchange exchange = {.initiator = a,
                                        .responder = &b}; /* it may lend: the outcome can be more than the merge */
            roost_filter *least = merged(a, b);
            run_exchange(&exchange, &memory);
            assert_ok(exchange.status);
            assert_true(included(least, a) && included(least, b));
            if (config.kind != ROOST_BLOOM)
                assert_same_all(a, b);
            roost_filter_free(least);
            roost_buffer_release(&memory);
            memory = exchange.memory;
            bool lost = random_choice(&random, 4) == 0;
            roost_cursor later;
            assert_ok(roost_filter_encode_delta(a, &frame, &later, &cursor));
            if (!lost) {
                assert_ok(roost_filter_merge_frame(c, NULL, frame.data, frame.size));
                assert_ok(roost_filter_merge_frame(c, NULL, frame.data, frame.size));
                cursor = later;
                assert_true(included(a, c));
            }
            roost_buffer_release(&frame);
        }
        merge(a, b);
        merge(a, c);
        merge(c, a);
        assert_same_all(a, c);
        assert_ok(roost_filter_check(b));
        assert_ok(roost_filter_check(c));
        roost_buffer_release(&memory);
        FREE_ALL(a, b, c);
    }
}

/* A Bloom series goes on with its share, a copy gets one of its own. */
static void replicas_are_restored_as_the_same(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SERIES; number++) {
        roost_config config = series_config(number, 50);
        roost_filter *a = new_filter(&config);
        put_many(a, 0, 500);
        struct saved_replica saved = save_replica(a);
        roost_filter *same = restore_replica(&saved, NULL, true), *copy = restore_replica(&saved, NULL, false),
                     *clone = clone_of(a);
        assert_int_equal(roost_filter_get_actor(same), roost_filter_get_actor(a));
        assert_int_equal(roost_filter_get_actor(copy), 0);
        assert_int_equal(roost_filter_get_actor(clone), 0);
        for (size_t cut = 1; cut < saved.replica.size; cut++) {
            roost_filter *half = restore_replica(&saved, NULL, false);
            assert_int_not_equal(roost_filter_restore_replica(half, saved.replica.data, cut), ROOST_OK);
            assert_int_equal(roost_filter_get_actor(half), 0);
            assert_ok(roost_filter_check(half));
            roost_filter_free(half);
        }
        put_many(same, 500, 500);
        put_many(copy, 1000, 500);
        put_many(clone, 1500, 500);
        merge(same, copy);
        merge(same, clone);
        for (uint64_t key = 0; key < 2000; key++)
            assert_true(roost_filter_contains_hash(same, hash_for_key(key)));
        assert_within_plan(same);
        saved_release(&saved);
        FREE_ALL(a, same, copy, clone);
    }
}

/* The journal follows the growth, what it knew stays known, and the limit of memory is kept. */
static void journals_grow_along(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SERIES; number++) {
        roost_config config = series_config(number, 1000);
        roost_environment limited = {.memory_limit = 40000};
        roost_cursor start, cursor;
        roost_buffer frame;
        roost_filter *filter = new_filter(&config), *peer = new_filter(&config), *small;
        assert_ok(roost_filter_get_cursor(filter, &start));
        put_many(filter, 0, 3000);
        put_many(peer, 0, is_brief() ? 45000 : 100000);
        uint64_t most = filter->journal->room;
        merge(filter, peer);
        assert_ok(roost_filter_get_cursor(filter, &cursor));
        put_many(filter, 200000, 5000);
        assert_true(filter->journal->room > most && filter->journal->room >= 5000);
        assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
        assert_int_equal(frame.data[5], 2);
        roost_filter *follower = clone_of(peer);
        assert_ok(roost_filter_merge_frame(follower, NULL, frame.data, frame.size));
        for (uint64_t key = 200000; key < 200000 + 5000; key++)
            assert_true(holds(follower, hash_for_key(key)));
        roost_buffer_release(&frame);
        assert_ok(roost_filter_new(&small, &config, &limited));
        assert_ok(roost_filter_get_cursor(small, &cursor));
        for (uint64_t key = 0; key < 4000 && roost_filter_add_hash(small, NULL, hash_for_key(key)) == ROOST_OK; key++)
            assert_true(info_of(small).bytes_memory <= limited.memory_limit);
        assert_true(small->journal->room > 100);
        FREE_ALL(filter, peer, small, follower);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct meter {
    int64_t allowed, outstanding;
};

static void *metered_allocate(void *context, size_t size)
{
    struct meter *meter = context;
    if (meter->allowed == 0)
        return NULL;
    meter->allowed--;
    meter->outstanding++;
    return calloc(1, size);
}

static void metered_release(void *context, void *memory)
{
    ((struct meter *)context)->outstanding--;
    free(memory);
}

/* The last is a delta so large that tables take it in by way of copies. */
enum call {
    ADD,
    ADD_MANY,
    MERGE,
    MERGE_STATE,
    ENCODE,
    DECODE,
    CLONE,
    LEND,
    ASK_DELTA,
    MERGE_DELTA,
    MERGE_LARGE,
    CALLS
};

static roost_status call(enum call which, roost_filter *a, roost_filter *b, const roost_buffer *frame,
                         const roost_buffer *delta, roost_cursor *cursor)
{
    roost_filter *made = NULL;
    roost_buffer out = {0};
    roost_hash hashes[30];
    roost_status status = ROOST_OK;
    size_t done;
    for (uint64_t i = 0; i < 30; i++)
        hashes[i] = hash_for_key(5000 + i);
    switch (which) {
    case ADD:
        status = roost_filter_add_hash(a, NULL, hashes[0]);
        break;
    case ADD_MANY:
        status = roost_filter_add_many_hash(a, NULL, &done, hashes, 1);
        break;
    case MERGE:
        status = roost_filter_merge(a, NULL, b);
        break;
    case MERGE_STATE:
        status = roost_filter_merge_frame(a, NULL, frame->data, frame->size);
        break;
    case ENCODE:
        status = roost_filter_encode(a, &out);
        break;
    case DECODE:
        status = roost_filter_decode(&made, frame->data, frame->size, (roost_environment[]){whole_environment(a)});
        break;
    case CLONE:
        status = roost_filter_clone(a, &made);
        break;
    case LEND:
        status = roost_filter_transfer_shares(a, NULL);
        break;
    case ASK_DELTA:
        status = roost_filter_encode_delta(a, &out, cursor, cursor);
        break;
    default:
        status = roost_filter_merge_frame(a, NULL, delta->data, delta->size);
        break;
    }
    assert_true(status == ROOST_OK || (!made && !out.data));
    roost_buffer_release(&out);
    roost_filter_free(made);
    return status;
}

/* The filters are made anew for each failure; actors are foreseen. */
static bool survives(uint64_t number, enum call which, int64_t allowed)
{
    struct meter meter = {-1, 0};
    struct counted_entropy entropy = {1000, 1, false, 0};
    roost_environment environment = {.allocator = {&meter, metered_allocate, metered_release},
                                     .entropy = {&entropy, draw_counted}};
    roost_config config = series_config(number, 20);
    roost_filter *a, *b;
    roost_buffer frame, delta;
    roost_cursor cursor = {0, 0}, own = {0, 0};
    assert_ok(roost_filter_new(&a, &config, &environment));
    assert_ok(roost_filter_new(&b, &config, &environment));
    assert_ok(roost_filter_encode_delta(b, &frame, &cursor, &cursor));
    roost_buffer_release(&frame);
    assert_ok(roost_filter_encode_delta(a, &frame, &own, &own));
    roost_buffer_release(&frame);
    put_many(a, 0, config.kind == ROOST_BLOOM ? 5 : 20); /* to the brim */
    put_many(b, 100, which == MERGE_LARGE ? 2500 : 70);
    take_many(b, 100, 5);
    if (which == LEND)
        merge(a, b);
    assert_ok(roost_filter_encode(b, &frame));
    assert_ok(roost_filter_encode_delta(b, &delta, &cursor, &cursor));
    struct portrait before = portrait_of(a);
    meter.allowed = allowed;
    roost_status status = call(which, a, b, &frame, &delta, &own);
    meter.allowed = -1;
    assert_true(status == ROOST_OK || status == ROOST_NO_MEMORY);
    if (status != ROOST_OK)
        assert_same_state(&before, a);
    else
        portrait_release(&before);
    assert_ok(roost_filter_check(a));
    assert_ok(call(which, a, b, &frame, &delta, &own)); /* once more, and it goes */
    assert_ok(roost_filter_check(a));
    roost_buffer_release(&frame);
    roost_buffer_release(&delta);
    FREE_ALL(a, b);
    assert_int_equal(meter.outstanding, 0);
    return status == ROOST_OK;
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SERIES; number++)
        for (int which = 0; which < CALLS; which++) /* three in a row are fine: some calls can do without */
            for (int64_t allowed = 0, fine = 0; fine < 3; allowed += allowed < 8 ? 1 : (int64_t)stride_of(7))
                fine = survives(number, (enum call)which, allowed) ? fine + 1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_tables_are_refused),     cmocka_unit_test(actors_of_other_tables_are_refused),
        cmocka_unit_test(lies_of_quotas_are_refused),        cmocka_unit_test(lies_of_configurations_are_refused),
        cmocka_unit_test(broken_frames_are_refused),         cmocka_unit_test(replicas_that_grow_keep_in_touch),
        cmocka_unit_test(replicas_are_restored_as_the_same), cmocka_unit_test(journals_grow_along),
        cmocka_unit_test(survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
