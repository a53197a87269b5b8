/*
 * Long calls with an executor give what they give without: the same bytes, digest and state, for every kind, with any
 * number of threads, whatever the order of tasks. The allocator is called on the calling thread alone, and a failure
 * changes nothing. `make check-threads` runs this under ThreadSanitizer.
 */
#include <pthread.h>

#include "meter.h"
#include "pool.h"
#include "roost/shared.h"

#include "base/bitstream.h"
#include "base/hash.h"
#include "base/tasks.h"

/* As many as tables of prefixes are cut for. */
#define KEYS 100000

/* ---- executors --------------------------------------------------------------------------------------------------- */

struct backwards {
    size_t runs;
};

static void run_backwards(void *context, void (*task)(void *argument, size_t index), void *argument, size_t count)
{
    ((struct backwards *)context)->runs++;
    while (count > 0)
        task(argument, --count);
}

enum { EXECUTORS = 5 };

struct executors {
    struct pool pools[EXECUTORS];
    struct backwards backwards;
    roost_environment environments[EXECUTORS];
};

static void open_executors(struct executors *executors)
{
    static const uint32_t threads[EXECUTORS - 1] = {1, 2, 3, 7};
    *executors = (struct executors){.backwards = {0}};
    for (unsigned i = 0; i < EXECUTORS - 1; i++)
        executors->environments[i].executor = pool_open(&executors->pools[i], threads[i]);
    executors->environments[EXECUTORS - 1].executor = (roost_executor){&executors->backwards, run_backwards, 2};
}

static void close_executors(struct executors *executors)
{
    for (unsigned i = 0; i < EXECUTORS - 1; i++)
        pool_close(&executors->pools[i]);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

enum { GROWING, BLOCKED, OTHERS, VARIANTS = 9 };

static roost_config variant(unsigned number)
{
    roost_config config = roost_config_default();
    config.capacity = 2 * KEYS;
    switch (number) {
    case GROWING: /* prefixes of several lengths */
        config.kind = ROOST_CUCKOO;
        config.scalable = true;
        config.capacity = 0;
        config.writers = 1;
        return config;
    case BLOCKED:
        return bloom_config(ROOST_BLOCKED, 10 * KEYS, 0.01);
    case OTHERS: /* prefixes of one length */
        config.kind = ROOST_CUCKOO;
        config.scalable = true;
        return config;
    case 3:
        return bloom_config(ROOST_CLASSIC, 10 * KEYS, 0.001);
    case 4:
        return cuckoo_config(12, 4, 2 * KEYS);
    case 5:
        return orcuckoo_config(24, 64, false, 2 * KEYS);
    case 6:
        config.kind = ROOST_ORCUCKOO;
        config.scalable = true;
        return config;
    case 7:
        config.scalable = true;
        config.capacity = KEYS / 2;
        return config;
    default:
        return orcuckoo_config(8, 64, true, 2 * KEYS);
    }
}

static void add_keys(roost_filter *filter, uint64_t from, uint64_t count)
{
    roost_hash hashes[256];
    for (uint64_t done = 0, some; done < count; done += some) {
        some = count - done < COUNT_OF(hashes) ? count - done : COUNT_OF(hashes);
        for (uint64_t i = 0; i < some; i++)
            hashes[i] = hash_for_key(from + done + i);
        assert_ok(roost_filter_add_many_hash(filter, NULL, NULL, hashes, some));
    }
}

static roost_filter *filled(const roost_config *config, uint64_t from, uint64_t count)
{
    roost_filter *filter = new_filter(config);
    add_keys(filter, from, count);
    return filter;
}

/* ---- the same ---------------------------------------------------------------------------------------------------- */

static void begin_journal(roost_filter *filter)
{
    roost_cursor cursor;
    assert_ok(roost_filter_get_cursor(filter, &cursor));
}

/* The copy that merges with an executor becomes what the one that does without becomes. */
static void assert_merges_alike(const roost_filter *filter, const roost_filter *other,
                                const roost_environment *environment, bool journal)
{
    roost_filter *alone = through_bytes(filter), *helped = through_bytes_in(filter, environment);
    bool changed, grew;
    if (journal) {
        begin_journal(alone);
        begin_journal(helped);
    }
    assert_ok(roost_filter_merge(alone, &changed, other));
    assert_ok(roost_filter_merge(helped, &grew, other));
    assert_int_equal(changed, grew);
    assert_int_equal(info_of(alone).journal, info_of(helped).journal);
    struct portrait before = portrait_of(alone);
    assert_same_state(&before, helped);
    assert_ok(roost_filter_merge(helped, &grew, other));
    assert_false(grew);
    FREE_ALL(alone, helped);
}

static void assert_finds_alike(const roost_filter *alone, const roost_filter *helped)
{
    static uint64_t numbers[2 * KEYS];
    static roost_bytes keys[2 * KEYS];
    static roost_hash hashes[2 * KEYS];
    static bool expected[2 * KEYS], found[2 * KEYS];
    for (uint64_t i = 0; i < COUNT_OF(numbers); i++) {
        numbers[i] = i;
        keys[i] = (roost_bytes){&numbers[i], sizeof numbers[i]};
        hashes[i] = hash_for_key(i);
    }
    roost_filter_contains_many_hash(alone, expected, hashes, COUNT_OF(hashes));
    roost_filter_contains_many_hash(helped, found, hashes, COUNT_OF(hashes));
    assert_memory_equal(expected, found, sizeof found);
    assert_true(found[0] && found[KEYS - 1]);
    roost_filter_contains_many(alone, expected, keys, COUNT_OF(keys));
    roost_filter_contains_many(helped, found, keys, COUNT_OF(keys));
    assert_memory_equal(expected, found, sizeof found);
}

static void assert_all_alike(unsigned number, const roost_environment *environment)
{
    const roost_config config = variant(number);
    roost_filter *filter = filled(&config, 0, KEYS), *half = filled(&config, KEYS / 2, KEYS);
    roost_filter *helped = through_bytes_in(filter, environment), *copy = clone_of(helped);
    struct portrait before = portrait_of(filter);
    assert_same_state(&before, helped);
    assert_same_frame(filter, copy);
    assert_finds_alike(filter, copy);
    assert_merges_alike(filter, half, environment, false);
    assert_merges_alike(filter, half, environment, true);
    FREE_ALL(filter, half, helped, copy);
}

/* Where few are new, or one of both has much more. */
static void assert_uneven_merges_alike(unsigned number, const roost_environment *environment)
{
    const roost_config config = variant(number);
    roost_filter *filter = filled(&config, 0, KEYS), *few = through_bytes(filter);
    roost_filter *empty = new_filter(&config), *small = filled(&config, KEYS, 200);
    add_keys(few, KEYS, KEYS / 100);
    assert_merges_alike(filter, few, environment, false);
    assert_merges_alike(filter, few, environment, true);
    assert_merges_alike(empty, few, environment, false);
    assert_merges_alike(small, few, environment, true);
    assert_merges_alike(filter, small, environment, false);
    FREE_ALL(filter, few, empty, small);
}

static void executors_change_no_result(void **state)
{
    struct executors executors;
    (void)state;
    open_executors(&executors);
    for (unsigned i = 0; i < EXECUTORS; i += (unsigned)stride_of(3)) {
        assert_all_alike(GROWING, &executors.environments[i]);
        assert_all_alike(BLOCKED, &executors.environments[i]);
    }
    assert_uneven_merges_alike(GROWING, &executors.environments[1]);
    assert_uneven_merges_alike(GROWING, &executors.environments[EXECUTORS - 1]);
    assert_uneven_merges_alike(BLOCKED, &executors.environments[2]);
    for (unsigned number = OTHERS; number < VARIANTS; number += (unsigned)stride_of(3)) /* with three pools in any case */
        assert_all_alike(number, &executors.environments[1 + number % 4]);
    assert_int_equal(executors.pools[0].runs, 0); /* one thread */
    for (unsigned i = 1; i < EXECUTORS - 1; i++)
        assert_true(executors.pools[i].runs > 10);
    assert_true(executors.backwards.runs > 10);
    close_executors(&executors);
}

/* ---- hashes that somebody chose ---------------------------------------------------------------------------------- */

#define CROWD 12000

/* So many prefixes are in one range of 2^-12 that the table nests there, and tasks have too little memory. */
static roost_filter *crowded(const roost_config *config, uint64_t from)
{
    roost_filter *filter = filled(config, from, KEYS);
    for (uint64_t i = 0; i < CROWD; i++) {
        roost_hash hash = hash_for_key(1000000 + from + i);
        hash.high = hash.high >> 12 | UINT64_C(0x5a3) << 52;
        assert_ok(roost_filter_add_hash(filter, NULL, hash));
    }
    return filter;
}

static void crowds_change_no_result(void **state)
{
    struct executors executors;
    const roost_config config = variant(GROWING);
    (void)state;
    open_executors(&executors);
    roost_filter *filter = crowded(&config, 0), *other = crowded(&config, CROWD / 2);
    struct portrait before = portrait_of(filter);
    roost_filter *helped = through_bytes_in(filter, &executors.environments[2]);
    assert_same_state(&before, helped);
    assert_merges_alike(filter, other, &executors.environments[2], true);
    FREE_ALL(filter, other, helped);
    close_executors(&executors);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static roost_status decode_to_digest(const roost_buffer *frame, const roost_environment *environment,
                                     roost_digest *digest)
{
    roost_filter *filter;
    roost_status status = roost_filter_decode(&filter, frame->data, frame->size, environment);
    *digest = filter ? roost_filter_digest(filter) : (roost_digest){{0}};
    assert_true((status == ROOST_OK) == (filter != NULL));
    roost_filter_free(filter);
    return status;
}

/* The checksum is right, so that what reads the numbers has to see the damage. */
static void damage_is_seen_by_tasks(void **state)
{
    struct executors executors;
    uint64_t refused = 0;
    (void)state;
    open_executors(&executors);
    const roost_config config = variant(GROWING);
    roost_filter *filter = filled(&config, 0, KEYS);
    roost_buffer frame;
    assert_ok(roost_filter_encode(filter, &frame));
    for (uint64_t i = 0; i < rounds_of(60); i++) {
        size_t bit = (size_t)(hash_for_key(i).low % (8 * (frame.size - 48))) + 8 * 32;
        roost_digest alone, helped;
        frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        store_word(frame.data + frame.size - 8, checksum_bytes(frame.data, frame.size - 8));
        roost_status status = decode_to_digest(&frame, NULL, &alone);
        assert_int_equal(status, decode_to_digest(&frame, &executors.environments[1 + i % 4], &helped));
        assert_memory_equal(alone.bytes, helped.bytes, sizeof alone.bytes);
        refused += status != ROOST_OK;
        frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refused > 0);
    roost_buffer_release(&frame);
    roost_filter_free(filter);
    close_executors(&executors);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A meter that belongs to one thread. */
struct own_meter {
    struct meter meter;
    pthread_t thread;
};

static void *allocate_here(void *context, size_t size)
{
    struct own_meter *own = context;
    if (!pthread_equal(own->thread, pthread_self()))
        abort();
    return metered_allocate(&own->meter, size);
}

static void release_here(void *context, void *memory)
{
    struct own_meter *own = context;
    if (!pthread_equal(own->thread, pthread_self()))
        abort();
    metered_release(&own->meter, memory);
}

struct memory_case {
    struct own_meter own;
    roost_environment environment;
    roost_filter *source, *half;
    roost_buffer frame;
};

static bool decode_with(struct memory_case *test)
{
    roost_filter *decoded;
    roost_status status = roost_filter_decode(&decoded, test->frame.data, test->frame.size, &test->environment);
    if (status == ROOST_OK) {
        test->own.meter.allowed = -1;
        assert_same_frame(decoded, test->source);
    } else
        assert_int_equal(status, ROOST_NO_MEMORY);
    roost_filter_free(decoded);
    return status == ROOST_OK;
}

static bool encode_with(struct memory_case *test)
{
    roost_buffer frame;
    int64_t allowed = test->own.meter.allowed;
    test->own.meter.allowed = -1;
    roost_filter *decoded = through_bytes_in(test->source, &test->environment);
    test->own.meter.allowed = allowed;
    roost_status status = roost_filter_encode(decoded, &frame);
    test->own.meter.allowed = -1;
    if (status == ROOST_OK)
        assert_same_bytes(&frame, &test->frame);
    else
        assert_int_equal(status, ROOST_NO_MEMORY);
    roost_buffer_release(&frame);
    roost_filter_free(decoded);
    return status == ROOST_OK;
}

static bool merge_with(struct memory_case *test)
{
    int64_t allowed = test->own.meter.allowed;
    test->own.meter.allowed = -1;
    roost_filter *filter = through_bytes_in(test->source, &test->environment);
    struct portrait before = portrait_of(filter);
    test->own.meter.allowed = allowed;
    roost_status status = roost_filter_merge(filter, NULL, test->half);
    test->own.meter.allowed = -1;
    if (status != ROOST_OK) {
        assert_int_equal(status, ROOST_NO_MEMORY);
        assert_same_state(&before, filter);
    } else
        portrait_release(&before);
    roost_filter_free(filter);
    return status == ROOST_OK;
}

/* Allocation n fails, for some n up to the last. Some failures cost nothing but the help of tasks. */
static void fail_somewhere(struct memory_case *test, bool (*call)(struct memory_case *test))
{
    uint64_t failed = 0, succeeded = 0;
    for (int64_t n = 0, failures = 1; failures > 0; n += n < 10 ? 1 : 11 + 10 * (int64_t)stride_of(5)) {
        int64_t outstanding = test->own.meter.outstanding;
        test->own.meter = (struct meter){.allowed = n, .recovers = n % 2, .outstanding = outstanding};
        bool done = call(test);
        failures = (int64_t)test->own.meter.failures;
        failed += !done;
        succeeded += done && failures > 0;
        assert_int_equal(test->own.meter.outstanding, outstanding);
    }
    assert_true(failed > 0 && succeeded > 0);
}

static void memory_is_the_calling_threads(void **state)
{
    struct executors executors;
    struct memory_case test = {.own.thread = pthread_self()};
    const roost_config config = variant(GROWING);
    (void)state;
    open_executors(&executors);
    test.source = filled(&config, 0, KEYS);
    test.half = filled(&config, KEYS / 2, KEYS);
    assert_ok(roost_filter_encode(test.source, &test.frame));
    test.environment = executors.environments[2];
    test.environment.allocator = (roost_allocator){&test.own, allocate_here, release_here};
    fail_somewhere(&test, decode_with);
    fail_somewhere(&test, encode_with);
    fail_somewhere(&test, merge_with);
    assert_int_equal(test.own.meter.outstanding, 0);
    FREE_ALL(test.source, test.half);
    roost_buffer_release(&test.frame);
    close_executors(&executors);
}

/* Arrays of a decoder; the segments of a table have blocks of a kilobyte. */
#define LARGE_BLOCK (32 << 10)

static void *allocate_and_count(void *context, size_t size)
{
    uint64_t *large = context;
    *large += size >= LARGE_BLOCK;
    return calloc(1, size);
}

static void release_counted(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* A task that has too little memory leaves its work to the thread that called, which takes an array for it. */
static void tasks_have_memory_enough(void **state)
{
    struct executors executors;
    const roost_config config = variant(GROWING);
    bool used = true, enough = true;
    (void)state;
    open_executors(&executors);
    for (uint64_t keys = KEYS; keys <= 4 * KEYS; keys += KEYS / 2 * stride_of(3)) {
        roost_filter *filter = filled(&config, 0, keys), *decoded;
        roost_environment environment = executors.environments[1];
        roost_buffer frame;
        uint64_t large = 0, runs = executors.pools[1].runs;
        environment.allocator = (roost_allocator){&large, allocate_and_count, release_counted};
        assert_ok(roost_filter_encode(filter, &frame));
        assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, &environment));
        used &= executors.pools[1].runs > runs;
        enough &= large <= 8; /* two batches, lists, parts and their memory */
        FREE_ALL(filter, decoded);
        roost_buffer_release(&frame);
    }
    close_executors(&executors);
    assert_true(used && enough);
}

static void limits_are_kept_by_tasks(void **state)
{
    struct executors executors;
    const roost_config config = variant(GROWING);
    (void)state;
    open_executors(&executors);
    roost_filter *filter = filled(&config, 0, KEYS), *half = filled(&config, KEYS / 2, KEYS), *decoded;
    roost_environment environment = executors.environments[1];
    roost_buffer frame;
    assert_ok(roost_filter_encode(filter, &frame));
    environment.memory_limit = info_of(filter).bytes_memory / 2;
    assert_int_equal(roost_filter_decode(&decoded, frame.data, frame.size, &environment), ROOST_TOO_LARGE);
    assert_null(decoded);
    environment.memory_limit = info_of(filter).bytes_memory * 5 / 4;
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, &environment));
    struct portrait before = portrait_of(decoded);
    assert_int_equal(roost_filter_merge(decoded, NULL, half), ROOST_TOO_LARGE);
    assert_still(&before, decoded);
    FREE_ALL(filter, half, decoded);
    roost_buffer_release(&frame);
    close_executors(&executors);
}

/* ---- several callers --------------------------------------------------------------------------------------------- */

struct caller {
    const roost_filter *filter;
    const roost_buffer *expected;
    bool same;
};

static void *encode_again(void *context)
{
    struct caller *caller = context;
    roost_buffer frame;
    caller->same = true;
    for (int i = 0; i < 5; i++) {
        roost_status status = roost_filter_encode(caller->filter, &frame);
        caller->same &= status == ROOST_OK && frame.size == caller->expected->size &&
                        memcmp(frame.data, caller->expected->data, frame.size) == 0;
        roost_buffer_release(&frame);
    }
    return NULL;
}

static void callers_share_an_executor(void **state)
{
    struct executors executors;
    const roost_config config = variant(GROWING);
    struct caller callers[3];
    pthread_t threads[3];
    roost_buffer frame;
    (void)state;
    open_executors(&executors);
    roost_filter *filter = filled(&config, 0, KEYS);
    roost_filter *helped = through_bytes_in(filter, &executors.environments[2]);
    assert_ok(roost_filter_encode(filter, &frame));
    for (unsigned i = 0; i < COUNT_OF(callers); i++) {
        callers[i] = (struct caller){helped, &frame, false};
        assert_int_equal(pthread_create(&threads[i], NULL, encode_again, &callers[i]), 0);
    }
    for (unsigned i = 0; i < COUNT_OF(callers); i++) {
        pthread_join(threads[i], NULL);
        assert_true(callers[i].same);
    }
    roost_buffer_release(&frame);
    FREE_ALL(filter, helped);
    close_executors(&executors);
}

/* Calls that hold locks do not wait for the threads of an executor, which may wait for the locks. */
static void locks_do_not_wait_for_tasks(void **state)
{
    struct backwards counted = {0};
    const roost_environment environment = {.executor = {&counted, run_backwards, 2}};
    const roost_config config = variant(GROWING);
    roost_filter *filter = new_filter(&config), *copy;
    roost_shared *shared;
    bool changed;
    (void)state;
    for (uint64_t i = 0; i < 2 * KEYS; i++) { /* all of which are in the range of one lock */
        roost_hash hash = hash_for_key(i);
        hash.high = hash.high >> 9 | UINT64_C(0x53) << 55;
        assert_ok(roost_filter_add_hash(filter, NULL, hash));
    }
    assert_ok(roost_shared_new(&shared, &config, &environment));
    assert_ok(roost_shared_merge(shared, &changed, filter));
    assert_true(changed);
    assert_int_equal(counted.runs, 0);
    assert_ok(roost_shared_snapshot(shared, &copy));
    assert_same_frame(filter, copy);
    assert_true(counted.runs > 0);
    roost_shared_free(shared);
    FREE_ALL(filter, copy);
}

/* ---- what tasks are made of -------------------------------------------------------------------------------------- */

static void count_items(void *context, size_t from, size_t to)
{
    unsigned char *seen = context;
    for (size_t i = from; i < to; i++)
        seen[i]++;
}

static void spans_are_whole(void **state)
{
    struct executors executors;
    (void)state;
    open_executors(&executors);
    for (size_t count = 0; count < 300; count++)
        for (unsigned i = 0; i < EXECUTORS; i++) {
            unsigned char seen[300] = {0};
            run_in_spans(&executors.environments[i].executor, count_items, seen, count, 1 + count % 7);
            for (size_t item = 0; item < COUNT_OF(seen); item++)
                assert_int_equal(seen[item], item < count);
        }
    close_executors(&executors);
}

static void written_bits_are_joined(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 20; before++)
        for (unsigned count = 0; count < 200; count++) {
            struct bit_writer whole, part, joined;
            const roost_allocator allocator = allocator_or_default((roost_allocator){0});
            bit_writer_init(&whole, allocator);
            bit_writer_init(&part, allocator);
            bit_writer_init(&joined, allocator);
            for (unsigned i = 0; i < before + count; i++) {
                uint64_t bits = hash_for_key(i).low;
                write_bits(&whole, bits, 1 + i % 5);
                write_bits(i < before ? &joined : &part, bits, 1 + i % 5);
            }
            write_written(&joined, &part);
            write_alignment(&whole);
            write_alignment(&joined);
            assert_same_bytes(&whole.buffer, &joined.buffer);
            bit_writer_release(&whole);
            bit_writer_release(&part);
            bit_writer_release(&joined);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_whole),
        cmocka_unit_test(written_bits_are_joined),
        cmocka_unit_test(executors_change_no_result),
        cmocka_unit_test(crowds_change_no_result),
        cmocka_unit_test(damage_is_seen_by_tasks),
        cmocka_unit_test(memory_is_the_calling_threads),
        cmocka_unit_test(tasks_have_memory_enough),
        cmocka_unit_test(limits_are_kept_by_tasks),
        cmocka_unit_test(callers_share_an_executor),
        cmocka_unit_test(locks_do_not_wait_for_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
