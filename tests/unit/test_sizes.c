/*
 * Sizes that follow from a configuration are the same on every machine, and those that frames were written with.
 *
 * The golden numbers are what gcc 12 and glibc 2.36 computed on x86-64 in floating point, before sizes came from
 * integers. Where the compiler fuses multiplications and additions, that code gave others.
 */
#include "check.h"

#include <math.h>

#include "base/binary64.h"
#include "base/logarithm.h"
#include "bloom/bloom.h"
#include "cuckoo/cuckoo_size.h"
#include "series/series_plan.h"

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

/* A double of a random exponent near 1, and any digits; often few of them, so that ties come up. */
static double random_double(uint64_t number)
{
    roost_hash hash = hash_for_key(number);
    uint64_t digits = hash.low >> 12, exponent = 1023 - 40 + hash.high % 80;
    digits &= hash.high >> 32 & 1 ? UINT64_MAX : UINT64_MAX << 26;
    return double_of_bits(exponent << 52 | digits);
}

static void integers_round_as_doubles_do(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        volatile double a = random_double(2 * i), b = random_double(2 * i + 1), product = a * b, quotient = a / b;
        struct binary64 x = binary64_of_double(a), y = binary64_of_double(b);
        assert_true(double_of_binary64(binary64_multiply(x, y)) == product);
        assert_true(double_of_binary64(binary64_divide(x, y)) == quotient);
        assert_int_equal(binary64_at_most(x, y), a <= b);
        uint64_t integer = hash_for_key(i).low >> i % 64 | 1;
        assert_true(double_of_binary64(binary64_of_integer(integer)) == (double)integer);
    }
    assert_true(double_of_binary64(binary64_of_double(0x1p-1022)) == 0x1p-1022);
    assert_true(double_of_binary64(binary64_of_double(0x1.8p-1060)) == 0);
}

static double number_of_fixed(fixed number)
{
    return ldexp((double)number, -FRACTION_BITS);
}

static void logarithms_are_right(void **state)
{
    (void)state;
    for (uint64_t i = 1; i < 20000; i++) {
        double x = (double)(hash_for_key(i).low >> 11) * 0x1p-53, small = ldexp(x, -(int)(i % 900));
        assert_true(fabs(number_of_fixed(minus_log2_of_double(bits_of_double(small))) / -log2(small) - 1) < 1e-14);
        assert_true(
            fabs(number_of_fixed(minus_log2_of_rest(fraction_of_double(bits_of_double(x)))) / (-log1p(-x) / log(2)) -
                 1) < 1e-14);
        fixed power = (fixed)(hash_for_key(i).high) << (FRACTION_BITS - 62 + i % 4);
        double expected = exp2(-number_of_fixed(power));
        assert_true(fabs(ldexp((double)power_of_half(power), -128) / expected - 1) < 1e-14);
    }
    assert_true(minus_log2_of_double(bits_of_double(0.25)) == (fixed)2 << FRACTION_BITS);
    assert_true(power_of_half((fixed)3 << FRACTION_BITS) == (fraction)1 << 125);
}

/* ---- the table of blocked rates ---------------------------------------------------------------------------------- */

/* 64ths of a bit a key, from the bits of a large filter. */
static uint64_t steps_of(double rate)
{
    struct bloom_geometry geometry;
    assert_ok(bloom_size_blocked(&geometry, UINT64_C(1) << 40, rate));
    return geometry.bits >> 34;
}

static double rate_of_row(size_t row)
{
    return double_of_bits(bloom_block_rate((uint32_t)row));
}

/* The first size that keeps a rate, to the last bit of the rate: on it, just below it, just above it. Where another
   number of probes begins, rows meet that are not neighbours: one pair or two for each of the eight beginnings. */
static void each_rate_has_the_first_size_that_keeps_it(void **state)
{
    (void)state;
    uint32_t beginnings = 0;
    for (size_t row = 1; row < BLOCK_RATES - 1; row++) {
        double rate = rate_of_row(row), before = rate_of_row(row - 1);
        struct bloom_geometry here, above;
        assert_ok(bloom_size_blocked(&here, 1000, rate));
        assert_ok(bloom_size_blocked(&above, 1000, before));
        uint64_t steps = steps_of(rate);
        if (rate >= before || here.probes != above.probes || steps == steps_of(before)) {
            beginnings++;
            continue;
        }
        assert_int_equal(steps, steps_of(before) + 1);
        assert_int_equal(steps, steps_of(nextafter(before, 0)));
        assert_int_equal(steps, steps_of(nextafter(rate, 1)));
        /* and what the table says is what such a filter errs by */
        if (row % 16 == 0)
            assert_true(fabs(bloom_blocked_rate(here.probes, 512 * 64 / (double)steps) / rate - 1) < 1e-3);
    }
    assert_in_range(beginnings, 8, 16);
    assert_int_equal(steps_of(1e-9), 5490);
}

/* ---- golden sizes ------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t sum, uint64_t number)
{
    return multiply_and_fold(sum ^ number, UINT64_C(0x9fb21c651e98df25)) + number;
}

static const double decimal_rates[] = {0.9,   0.5,   0.3,  0.1,  0.05, 0.03, 0.02,   0.01, 0.005,
                                       0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6,   1e-6, 3e-7,
                                       1e-7,  3e-8,  1e-8, 5e-9, 3e-9, 2e-9, 1.5e-9, 1e-9};

/* Rates in 64 parts of each power of two, which are exact in binary. */
static uint64_t sizes_of_fixed_filters(roost_layout layout)
{
    const uint64_t capacities[] = {1, 2, 10, 100, 1000, 4097, 65535, 65536, 100000, 1000000, 123456789};
    uint64_t sum = 0;
    for (int exponent = 1; exponent <= 30; exponent++)
        for (int part = 0; part < 64; part++)
            for (size_t i = 0; i < COUNT_OF(capacities); i++) {
                struct bloom_geometry geometry = {0};
                double rate = ldexp(64 + part, -exponent - 7);
                rate += rate < 0.5 ? 0 : 0x1p-12;
                roost_status status = layout == ROOST_BLOCKED ? bloom_size_blocked(&geometry, capacities[i], rate)
                                                              : bloom_size_classic(&geometry, capacities[i], rate);
                sum = mix(mix(mix(sum, (uint64_t)status), geometry.bits), geometry.probes);
            }
    return sum;
}

static void fixed_filters_have_the_sizes_of_old(void **state)
{
    (void)state;
    assert_int_equal(sizes_of_fixed_filters(ROOST_CLASSIC), UINT64_C(0x965c6c73144a2024));
    assert_int_equal(sizes_of_fixed_filters(ROOST_BLOCKED), UINT64_C(0x440a6808307d2cfd));
}

/* Rates at which a fused multiply-add made the difference: the fixed filter did not merge, and in table 9 of the series
   keys were lost. */
static void sizes_on_the_edge_are_those_of_old(void **state)
{
    (void)state;
    struct bloom_geometry geometry;
    assert_ok(bloom_size_blocked(&geometry, 1000000, 2e-9));
    assert_int_equal(geometry.bits, 79109632);
    roost_config config = {
        .kind = ROOST_BLOOM, .layout = ROOST_BLOCKED, .capacity = 1000, .fpr = 1e-6, .scalable = true};
    const uint64_t tables[] = {41472,   96768,   211968,   452096,   950272,   1981440,
                               4104192, 8462336, 17388032, 35624448, 72832512, 148608512};
    assert_ok(series_resolve_plan(&config));
    for (uint32_t i = 0; i < COUNT_OF(tables); i++) {
        struct table_plan plan;
        assert_true(series_plan_table(&plan, &config, 0, i));
        assert_ok(bloom_size_blocked(&geometry, plan.capacity, plan.fpr));
        assert_int_equal(geometry.bits, tables[i]);
    }
}

/* Every table up to 2^34 elements. */
static uint64_t sizes_of_series(roost_kind kind, roost_layout layout, roost_schedule schedule)
{
    const uint64_t capacities[] = {64, 1000, 100000, 1234567};
    uint64_t sum = 0;
    for (size_t r = 0; r < COUNT_OF(decimal_rates); r++)
        for (size_t c = 0; c < COUNT_OF(capacities); c++) {
            roost_config config = {.kind = kind,
                                   .layout = layout,
                                   .capacity = capacities[c],
                                   .fpr = decimal_rates[r],
                                   .scalable = true,
                                   .schedule = schedule,
                                   .bucket_size = 4};
            struct cuckoo_geometry first = {0};
            roost_status status = series_resolve_plan(&config);
            sum = mix(sum, (uint64_t)status);
            if (status == ROOST_OK && kind != ROOST_BLOOM)
                assert_ok(cuckoo_size(&first, &config));
            struct table_plan plan;
            for (uint32_t i = 0; status == ROOST_OK && i < 64 && series_plan_table(&plan, &config, first.buckets, i);
                 i++) {
                struct bloom_geometry geometry = {0};
                if (plan.capacity > UINT64_C(1) << 34)
                    break;
                if (kind == ROOST_BLOOM && layout == ROOST_BLOCKED)
                    sum = mix(sum, (uint64_t)bloom_size_blocked(&geometry, plan.capacity, plan.fpr));
                if (kind == ROOST_BLOOM && layout == ROOST_CLASSIC)
                    sum = mix(sum, (uint64_t)bloom_size_classic(&geometry, plan.capacity, plan.fpr));
                sum = mix(mix(mix(sum, geometry.bits), geometry.probes), plan.share);
                sum =
                    mix(mix(sum, plan.geometry.bits), (uint64_t)plan.geometry.buckets << 32 | plan.geometry.extra_bits);
            }
        }
    return sum;
}

static void tables_of_series_have_the_sizes_of_old(void **state)
{
    (void)state;
    assert_int_equal(sizes_of_series(ROOST_CUCKOO, 0, ROOST_QUADRATIC), UINT64_C(0xce382b1465eb5b5d));
    assert_int_equal(sizes_of_series(ROOST_CUCKOO, 0, ROOST_HALVING), UINT64_C(0xc7942f3ca4fc19f1));
    assert_int_equal(sizes_of_series(ROOST_ORCUCKOO, 0, ROOST_QUADRATIC), UINT64_C(0x87e3eba3c26d0811));
    assert_int_equal(sizes_of_series(ROOST_ORCUCKOO, 0, ROOST_HALVING), UINT64_C(0x90cfbbdbbbc65062));
    assert_int_equal(sizes_of_series(ROOST_BLOOM, ROOST_CLASSIC, ROOST_QUADRATIC), UINT64_C(0x0b9a347afde3ff4b));
    assert_int_equal(sizes_of_series(ROOST_BLOOM, ROOST_CLASSIC, ROOST_HALVING), UINT64_C(0x00b091871ba4a2e1));
    assert_int_equal(sizes_of_series(ROOST_BLOOM, ROOST_BLOCKED, ROOST_QUADRATIC), UINT64_C(0x29acc808016c211f));
    assert_int_equal(sizes_of_series(ROOST_BLOOM, ROOST_BLOCKED, ROOST_HALVING), UINT64_C(0x3400952f44cfbfe3));
}

/* ---- what is out of reach ---------------------------------------------------------------------------------------- */

static void rates_and_capacities_out_of_reach_are_refused(void **state)
{
    (void)state;
    struct bloom_geometry geometry;
    const double rates[] = {0, -0.5, 1, 2, 0x1p-1074, 1e-300, NAN, INFINITY};
    for (size_t i = 0; i < COUNT_OF(rates); i++)
        assert_int_equal(bloom_size_blocked(&geometry, 1000, rates[i]), ROOST_INVALID);
    assert_int_equal(bloom_size_blocked(&geometry, 1000, nextafter(1e-9, 0)), ROOST_INVALID);
    assert_int_equal(bloom_size_blocked(&geometry, UINT64_C(1) << 47, 0.01), ROOST_TOO_LARGE);
    assert_int_equal(bloom_size_classic(&geometry, 1000, 0x1p-65), ROOST_INVALID);
    assert_int_equal(bloom_size_classic(&geometry, 1000, 0x1p-1074), ROOST_INVALID);
    assert_int_equal(bloom_size_classic(&geometry, 1000, 0), ROOST_INVALID);
    assert_int_equal(bloom_size_classic(&geometry, UINT64_C(1) << 55, 0.01), ROOST_TOO_LARGE);
    assert_int_equal(bloom_size_classic(&geometry, UINT64_MAX, 0.01), ROOST_TOO_LARGE);
    assert_ok(bloom_size_classic(&geometry, 1, nextafter(1, 0)));
    assert_int_equal(bloom_bits_for(1, 1, 1e-300), UINT64_MAX);
}

/* A table's part of the least double is 0. */
static void a_series_whose_first_part_is_no_rate_is_refused(void **state)
{
    (void)state;
    const roost_layout layouts[] = {ROOST_CLASSIC, ROOST_BLOCKED};
    for (size_t i = 0; i < COUNT_OF(layouts); i++) {
        roost_config config = {
            .kind = ROOST_BLOOM, .layout = layouts[i], .capacity = 1000, .fpr = 0x1p-1074, .scalable = true};
        assert_int_equal(series_resolve_plan(&config), ROOST_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_round_as_doubles_do),
        cmocka_unit_test(logarithms_are_right),
        cmocka_unit_test(each_rate_has_the_first_size_that_keeps_it),
        cmocka_unit_test(fixed_filters_have_the_sizes_of_old),
        cmocka_unit_test(sizes_on_the_edge_are_those_of_old),
        cmocka_unit_test(tables_of_series_have_the_sizes_of_old),
        cmocka_unit_test(rates_and_capacities_out_of_reach_are_refused),
        cmocka_unit_test(a_series_whose_first_part_is_no_rate_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
