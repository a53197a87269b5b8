/* The grow-only Bloom filter: its sizes, its error rate, its kernels. */
#include "calls.h"

#include <math.h>

#include "bloom/bloom.h"
#include "filter/configuration.h"

static double measured_rate(const roost_filter *filter, uint64_t from, uint64_t probes)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < probes; i++)
        found += roost_filter_contains_hash(filter, hash_for_key(from + i));
    return (double)found / (double)probes;
}

static void fill(roost_filter *filter, uint64_t from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(from + i)));
}

/* The formulas of the papers. */
static void classic_size_is_the_papers(void **state)
{
    (void)state;
    struct bloom_geometry geometry;
    assert_ok(bloom_size_classic(&geometry, 1 << 20, 1.0 / 32));
    assert_int_equal(geometry.probes, 5);
    assert_int_equal(geometry.bits, (uint64_t)ceil(5 * 1048576 / log(2)));
    for (int exponent = 1; exponent <= 20; exponent++) {
        assert_ok(bloom_size_classic(&geometry, 1000000, exp2(-exponent)));
        assert_int_equal(geometry.probes, exponent);
    }
}

/* The closed form against a simulation of blocks with a Poisson number of keys. */
static void blocked_rate_is_exact(void **state)
{
    (void)state;
    const uint32_t probes[] = {1, 3, 5, 6, 8, 12, 16};
    for (size_t i = 0; i < COUNT_OF(probes); i++) {
        const uint64_t blocks = 4000;
        const double keys_a_block = 30;
        roost_config config = bloom_config(ROOST_BLOCKED, 1000, 0.01);
        struct bit_writer geometry;
        bit_writer_init(&geometry, allocator_or_default((roost_allocator){0}));
        write_varint(&geometry, blocks * BLOCK_BITS);
        write_varint(&geometry, probes[i]);
        struct bit_reader reader = bit_reader_over(geometry.buffer.data, geometry.buffer.size);
        roost_environment environment = environment_or_default(NULL);
        roost_filter *filter;
        config.bucket_size = 0;
        assert_ok(bloom_kind.lifecycle.open(&filter, &config, &environment, &reader));
        fill(filter, 0, (uint64_t)(keys_a_block * blocks));
        roost_info info;
        roost_filter_get_info(filter, &info);
        double rate = bloom_blocked_rate(probes[i], keys_a_block);
        /* info knows the state itself, so it has no sampling error but that of the keys in it */
        assert_true(fabs(info.fpr_now / rate - 1) < 0.05);
        double measured = measured_rate(filter, 1u << 30, 400000);
        assert_true(fabs(measured - rate) < 5 * sqrt(rate / 400000) + 0.03 * rate);
        assert_true(fabs(info.elements / (keys_a_block * blocks) - 1) < 0.02);
        roost_filter_free(filter);
        bit_writer_release(&geometry);
    }
}

/* The two ways to the same sum, up to what rounding leaves of it. */
static void words_that_are_alike_are_summed_together(void **state)
{
    (void)state;
    for (uint32_t probes = 1; probes <= MOST_BLOCK_PROBES; probes++)
        for (double keys_a_block = 0.25; keys_a_block < 100; keys_a_block *= 1.5) {
            struct bloom_geometry geometry = {64 * BLOCK_BITS, probes};
            double rate = bloom_rate(ROOST_BLOCKED, geometry, 64 * keys_a_block);
            assert_true(fabs(rate - bloom_blocked_rate(probes, keys_a_block)) < 1e-11);
        }
}

static void promise_is_kept_at_capacity(void **state)
{
    (void)state;
    const double rates[] = {0.5, 0.2, 0.1, 0.05, 1.0 / 32, 0.02, 0.01, 0.003, 0.001};
    const uint64_t capacities[] = {1, 2, 10, 100, 1000, 30000};
    for (size_t layout = ROOST_BLOCKED; layout <= ROOST_CLASSIC; layout++)
        for (size_t i = 0; i < COUNT_OF(rates); i++)
            for (size_t j = 0; j < COUNT_OF(capacities); j++) {
                /* the mean over many fillings, since one small filter may be unlucky */
                uint64_t fillings = 1 + 40000 / capacities[j];
                double sum = 0;
                fillings = rounds_of(fillings > 2000 ? 2000 : fillings);
                uint64_t probes = rounds_of(600000) / fillings;
                roost_config config = bloom_config((roost_layout)layout, capacities[j], rates[i]);
                for (uint64_t filling = 0; filling < fillings; filling++) {
                    roost_filter *filter = new_filter(&config);
                    fill(filter, filling << 32, capacities[j]);
                    sum += measured_rate(filter, (filling << 32) + (1u << 30), probes);
                    roost_filter_free(filter);
                }
                double rate = sum / (double)fillings;
                double noise = 4 * sqrt(rates[i] / (double)(probes * fillings)) +
                               4 * rates[i] / sqrt((double)(fillings * capacities[j]));
                if (rate > rates[i] + noise)
                    fail_msg("layout %zu capacity %llu: promised %g, measured %g", layout,
                             (unsigned long long)capacities[j], rates[i], rate);
            }
}

/* Keys whose step is short, or nearly a simple fraction of the whole: plain double hashing would have them all found.
 */
static void short_steps_are_no_false_positives(void **state)
{
    (void)state;
    roost_config config = bloom_config(ROOST_CLASSIC, 1000, 1e-6);
    roost_filter *filter = new_filter(&config);
    fill(filter, 0, 1000);
    uint64_t found = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        roost_hash hash = hash_for_key(i + (1u << 30));
        hash.high = UINT64_MAX / (1 + i % 4) + hash.high % (UINT64_MAX / 2000000);
        found += roost_filter_contains_hash(filter, hash);
    }
    assert_true(found < 10);
    roost_filter_free(filter);
}

static void info_says_when_the_promise_is_void(void **state)
{
    (void)state;
    for (size_t layout = ROOST_BLOCKED; layout <= ROOST_CLASSIC; layout++) {
        roost_config config = bloom_config((roost_layout)layout, 20000, 0.01);
        roost_filter *filter = new_filter(&config);
        roost_info info;
        roost_filter_get_info(filter, &info);
        assert_true(info.promise_holds && info.elements == 0 && !signbit(info.elements) && info.fpr_now == 0);
        fill(filter, 0, 20000);
        roost_filter_get_info(filter, &info);
        assert_true(info.promise_holds);
        assert_true(fabs(info.elements - 20000) < 400);
        fill(filter, 20000, 4000);
        roost_filter_get_info(filter, &info);
        assert_false(info.promise_holds);
        assert_true(info.fpr_now > 0.01);
        roost_filter_free(filter);
    }
}

/* All kernels give the same bits and the same answers for every number of probes, batch or not, prefetching or not. */
static void kernels_agree(void **state)
{
    (void)state;
    enum { KEYS = 3000, BLOCKS = 64 };
    static roost_hash hashes[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        hashes[i] = hash_for_key(i);
    int compared = 0;
    for (uint32_t probes = 1; probes <= MOST_BLOCK_PROBES; probes++)
        for (const struct bloom_kernel *const *kernel = bloom_kernels; *kernel != &bloom_kernel_plain; kernel++) {
            if (!(*kernel)->head.usable())
                continue;
            static _Alignas(64) uint64_t words[2][BLOCKS * BLOCK_WORDS];
            static bool changed[2][KEYS], found[2][KEYS];
            uint8_t stale[2] = {0};
            memset(words, 0, sizeof words);
            for (int side = 0; side < 2; side++) {
                const struct bloom_kernel *used = side ? &bloom_kernel_plain : *kernel;
                struct bloom_blocks blocks = {words[side], BLOCKS, probes, &stale[side], probes % 2};
                used->add(&blocks, changed[side], hashes, KEYS / 2);
                used->contains(&blocks, found[side], hashes, KEYS);
            }
            assert_memory_equal(words[0], words[1], sizeof *words);
            assert_memory_equal(changed[0], changed[1], KEYS / 2);
            assert_memory_equal(found[0], found[1], KEYS);
            assert_int_equal(stale[0], stale[1]);
            static _Alignas(64) uint64_t sums[2][BLOCKS * BLOCK_WORDS];
            for (int side = 0; side < 2; side++) {
                const struct bloom_kernel *used = side ? &bloom_kernel_plain : *kernel;
                memset(sums[side], 0x11, sizeof sums[side]);
                assert_true(used->merge(sums[side], words[0], COUNT_OF(sums[0]) - 3));
                assert_false(used->merge(sums[side], words[0], COUNT_OF(sums[0]) - 3));
            }
            assert_memory_equal(sums[0], sums[1], sizeof *sums);
            assert_int_equal((*kernel)->count(words[0], COUNT_OF(words[0]) - 3),
                             bloom_kernel_plain.count(words[0], COUNT_OF(words[0]) - 3));
            for (size_t i = 0; i < KEYS / 2; i++)
                assert_true(found[0][i]);
            compared++;
        }
    printf("%d comparisons with the plain kernel, best here: %s\n", compared, bloom_kernel_in_use()->head.name);
#ifdef HAS_NEON
    assert_ptr_equal(bloom_kernel_in_use(), &bloom_kernel_neon);
    assert_true(compared > 0);
#endif
    for (const struct bloom_kernel *const *kernel = bloom_kernels; *kernel; kernel++) {
        bloom_kernel_force(*kernel);
        assert_ptr_equal(bloom_kernel_in_use(), *kernel);
    }
    bloom_kernel_force(NULL);
    assert_true(bloom_kernel_in_use()->head.usable());
}

/* A merge says that it changed something wherever the one bit is that is new, in runs of any length. */
static void merges_see_every_bit(void **state)
{
    (void)state;
    enum { WORDS = 21 };
    for (const struct bloom_kernel *const *kernel = bloom_kernels; *kernel; kernel++)
        for (uint32_t bit = 0; bit < WORDS * 64 && (*kernel)->head.usable(); bit++) {
            uint64_t words[WORDS + 1] = {0}, other[WORDS + 1] = {0};
            const size_t count = bit / 64 + 1 + bit % (WORDS - bit / 64);
            other[bit / 64] = UINT64_C(1) << bit % 64;
            other[count] = UINT64_MAX; /* behind the end */
            assert_false((*kernel)->merge(words, other, bit / 64));
            assert_true((*kernel)->merge(words, other, count));
            assert_false((*kernel)->merge(words, other, count));
            assert_int_equal(words[bit / 64], other[bit / 64]);
            assert_int_equal(words[count], 0);
            assert_int_equal((*kernel)->count(words, count), 1);
        }
}

/* With every kernel that this machine has, and every number of probes; in cache, and as if out of it. */
static void ways_to_call_agree(void **state)
{
    (void)state;
    const double rates[] = {0.4, 0.2, 0.1, 0.05, 0.03, 0.015, 0.01, 0.0001, 1e-6};
    for (const struct bloom_kernel *const *kernel = bloom_kernels; *kernel; kernel++) {
        if (!(*kernel)->head.usable())
            continue;
        bloom_kernel_force(*kernel);
        for (size_t i = 0; i < COUNT_OF(rates); i++) {
            roost_config config = bloom_config(ROOST_BLOCKED, 1000, rates[i]);
            assert_ways_to_call_agree(&config, NULL);
            assert_ways_to_call_agree(&config, bloom_expect_misses);
        }
    }
    bloom_kernel_force(NULL);
    roost_config config = bloom_config(ROOST_CLASSIC, 1000, 0.01);
    assert_ways_to_call_agree(&config, NULL);
}

/* Batches that are shorter than the ring, as long, and a little longer. */
static void batches_of_every_length(void **state)
{
    (void)state;
    const roost_bytes *keys = keys_of_all_sizes();
    for (int out_of_cache = 0; out_of_cache < 2; out_of_cache++)
        for (size_t count = 0; count < 150; count++) {
            roost_config config = bloom_config(ROOST_BLOCKED, 1000, 0.01);
            roost_filter *filter = new_filter(&config), *twin = new_filter(&config);
            bool changed[150], found[150], expected;
            size_t done;
            if (out_of_cache)
                bloom_expect_misses(filter);
            assert_ok(roost_filter_add_many(filter, count % 2 ? changed : NULL, &done, keys, count));
            assert_int_equal(done, count);
            for (size_t i = 0; i < count; i++) {
                assert_ok(roost_filter_add(twin, &expected, keys[i].data, keys[i].size));
                assert_true(count % 2 == 0 || changed[i] == expected);
            }
            assert_same_frame(filter, twin);
            roost_filter_contains_many(filter, found, keys + 75, count);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(found[i], roost_filter_contains(twin, keys[75 + i].data, keys[75 + i].size));
            FREE_ALL(filter, twin);
        }
}

/* The plain kernel against the pattern as docs/format.md words it, bit by bit. */
static void pattern_is_the_documented_one(void **state)
{
    (void)state;
    for (uint32_t probes = 1; probes <= MOST_BLOCK_PROBES; probes++)
        for (uint64_t key = 0; key < 50; key++) {
            _Alignas(64) uint64_t words[BLOCK_WORDS] = {0}, expected[BLOCK_WORDS] = {0};
            uint8_t stale = 0;
            struct bloom_blocks blocks = {words, 1, probes, &stale, false};
            roost_hash hash = hash_for_key(key);
            bloom_kernel_plain.add(&blocks, NULL, &hash, 1);
            for (uint32_t probe = 0; probe < probes; probe++) {
                uint64_t word = block_round_word(hash, probe / 8);
                uint32_t lane = probes - probe / 8 * 8 >= 8 ? probe % 8 : (uint32_t)((word >> 61) + probe % 8) % 8;
                expected[lane] |= UINT64_C(1) << (word >> 6 * lane) % 64;
            }
            assert_memory_equal(words, expected, sizeof words);
            assert_int_equal(stale, 1);
        }
}

static void sparse_filters_encode_short(void **state)
{
    (void)state;
    roost_config config = bloom_config(ROOST_BLOCKED, 1000000, 0.01);
    roost_filter *filter = new_filter(&config);
    roost_buffer frame;
    assert_ok(roost_filter_encode(filter, &frame));
    assert_true(frame.size < 50);
    roost_buffer_release(&frame);
    fill(filter, 0, 100);
    assert_ok(roost_filter_encode(filter, &frame));
    assert_true(frame.size < 100 * 8 * 16 / 8 + 100);
    roost_buffer_release(&frame);
    roost_filter_free(filter);
}

/* What the positions take as Rice codes, gap by gap, beside the words as they are. */
static bool is_shorter_as_positions(const roost_filter *filter, uint64_t bits)
{
    uint64_t set = 0, next = 0, sum = 0;
    for (uint64_t position = 0; position < bits; position++)
        set += bloom_has_bit(filter, position);
    unsigned parameter = rice_parameter(bits, set);
    for (uint64_t position = 0; position < bits; position++)
        if (bloom_has_bit(filter, position)) {
            sum += ((position - next) >> parameter) + 1 + parameter;
            next = position + 1;
        }
    return divide_up(sum, 8) + 9 < divide_up(bits, 8);
}

/* At every fill, and one key at a time around the fill where the other form becomes the shorter one. */
static void the_shorter_form_is_chosen(void **state)
{
    (void)state;
    uint64_t forms[2] = {0}, changes = 0, worlds = 0;
    for (int world = 0; world < 60; world += (int)stride_of(3), worlds++) {
        const double rates[] = {0.3, 0.1, 0.01, 1e-4};
        roost_config config =
            bloom_config(world % 2 ? ROOST_BLOCKED : ROOST_CLASSIC, 20 + (uint64_t)world * 20, rates[world % 4]);
        roost_filter *filter = new_filter(&config);
        uint64_t bits = info_of(filter).bits;
        uint8_t before = 1;
        for (uint64_t key = 0; key <= config.capacity; key++) {
            struct bit_writer writer;
            bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
            assert_ok(bloom_kind.encoding.write_state(filter, &writer));
            uint8_t form = writer.buffer.data[0];
            assert_int_equal(form, is_shorter_as_positions(filter, bits));
            bit_writer_release(&writer);
            forms[form]++;
            changes += form != before;
            before = form;
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key + (uint64_t)world * 10000)));
            if (key > 60 && key % 8 != 0)
                continue;
            roost_filter *twin = through_bytes(filter);
            roost_filter_free(twin);
        }
        roost_filter_free(filter);
    }
    assert_true(forms[0] > 1000 && forms[1] > 1000 && changes >= worlds * 11 / 12);
}

/* ---- in steps ---------------------------------------------------------------------------------------------------- */

static roost_filter *large_filter(roost_layout layout, bool scalable, double fill)
{
    roost_config config = bloom_config(layout, 2000000, 0.01);
    config.scalable = scalable;
    config.writers = scalable;
    roost_filter *filter = new_filter(&config);
    for (uint64_t key = 0; key < (uint64_t)(fill * 2000000); key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    return filter;
}

/* What is left to do shrinks by the effort, and the digest is that of one who did all at once. */
static void a_digest_can_be_prepared(void **state)
{
    (void)state;
    for (int scalable = 0; scalable < 2; scalable++) {
        roost_filter *filter = large_filter(ROOST_BLOCKED, scalable, 0.04), *twin = through_bytes(filter);
        uint64_t steps = 0;
        while (roost_filter_precompute_digest(filter, 100)) {
            steps++;
            if (steps == 5)
                for (uint64_t key = 0; key < 50; key++) {
                    assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(1000000000 + key)));
                    assert_ok(roost_filter_add_hash(twin, NULL, hash_for_key(1000000000 + key)));
                }
        }
        assert_in_range(steps, 6, 7); /* 620 chunks, and up to 50 of them twice */
        assert_false(roost_filter_precompute_digest(filter, 1));
        assert_ok(roost_filter_check(filter));
        if (!scalable)
            assert_same_digest(filter, twin);
        roost_filter *again = through_bytes(filter);
        assert_same_digest(filter, again);
        FREE_ALL(filter, twin, again);
    }
}

static void assert_near(double is, double should, double part)
{
    assert_true(is >= should * (1 - part) && is <= should * (1 + part));
}

static void estimates_are_near(void **state)
{
    (void)state;
    static const double fills[] = {0.3, 1.05};
    for (size_t i = 0; i < 2 * COUNT_OF(fills); i += stride_of(3)) {
        roost_filter *filter = large_filter(i % 2 ? ROOST_BLOCKED : ROOST_CLASSIC, i == 2, fills[i / 2]);
        roost_info info = info_of(filter), estimate;
        roost_filter_estimate_info(filter, &estimate);
        assert_true(estimate.entries != info.entries);
        assert_near(estimate.elements, info.elements, 0.01);
        assert_near((double)estimate.entries, (double)info.entries, 0.01);
        assert_near(estimate.load, info.load, 0.01);
        assert_near(estimate.fpr_now, info.fpr_now, 0.05);
        assert_int_equal(estimate.promise_holds, info.promise_holds);
        assert_int_equal(estimate.bytes_memory, info.bytes_memory);
        roost_filter_free(filter);
    }
    roost_config config = bloom_config(ROOST_BLOCKED, 1000, 0.01);
    roost_filter *small = new_filter(&config);
    roost_info info = info_of(small), estimate;
    roost_filter_estimate_info(small, &estimate);
    assert_memory_equal(&info, &estimate, sizeof info);
    roost_filter_free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classic_size_is_the_papers),
        cmocka_unit_test(blocked_rate_is_exact),
        cmocka_unit_test(words_that_are_alike_are_summed_together),
        cmocka_unit_test(promise_is_kept_at_capacity),
        cmocka_unit_test(short_steps_are_no_false_positives),
        cmocka_unit_test(info_says_when_the_promise_is_void),
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(merges_see_every_bit),
        cmocka_unit_test(ways_to_call_agree),
        cmocka_unit_test(batches_of_every_length),
        cmocka_unit_test(pattern_is_the_documented_one),
        cmocka_unit_test(sparse_filters_encode_short),
        cmocka_unit_test(the_shorter_form_is_chosen),
        cmocka_unit_test(a_digest_can_be_prepared),
        cmocka_unit_test(estimates_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
