/* What exact reconciliation computes with: finite fields, and sketches of power sums beside sets of elements. */
#include "check.h"

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/field.h"
#include "base/neon.h"
#include "reconciling.h"
#include "reconcile/exact.h"
#include "reconcile/pin_sketch.h"

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static uint64_t multiply_bit_by_bit(const struct field *field, uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (; b; b >>= 1) {
        product ^= b & 1 ? a : 0;
        a <<= 1;
        if (a >> field->bits & 1)
            a ^= field->terms | UINT64_C(1) << field->bits;
    }
    return product;
}

static void multiplication_is_that_of_polynomials(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(1));
    for (unsigned bits = FEWEST_FIELD_BITS; bits <= MOST_FIELD_BITS; bits++) {
        struct field field = field_of_bits(bits);
        for (int i = 0; i < 2000; i++) {
            uint64_t a = random_next(&random) & field.mask, b = random_next(&random) & field.mask;
            assert_int_equal(field_multiply_plainly(&field, a, b), multiply_bit_by_bit(&field, a, b));
        }
        assert_int_equal(field_multiply_plainly(&field, field.mask, field.mask),
                         multiply_bit_by_bit(&field, field.mask, field.mask));
    }
    struct field small = field_of_bits(8);
    assert_int_equal(field_multiply_plainly(&small, 0x53, 0xca), 1);
}

/* x^(2^k) modulo the polynomial. */
static uint64_t frobenius_power(const struct field *field, unsigned k)
{
    uint64_t power = 2;
    for (unsigned i = 0; i < k; i++)
        power = multiply_bit_by_bit(field, power, power);
    return power;
}

static uint64_t polynomial_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        while (a && highest_bit(a) >= highest_bit(b))
            a ^= b << (highest_bit(a) - highest_bit(b));
        uint64_t swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* Rabin's: x^(2^b) = x, and x^(2^(b/q)) - x has no factor in common with the polynomial, for each prime q of b. */
static void no_polynomial_has_factors(void **state)
{
    (void)state;
    for (unsigned bits = FEWEST_FIELD_BITS; bits <= MOST_FIELD_BITS; bits++) {
        struct field field = field_of_bits(bits);
        assert_int_equal(frobenius_power(&field, bits), 2);
        for (unsigned prime = 2; prime <= bits; prime++) {
            bool is_prime = bits % prime == 0;
            for (unsigned divisor = 2; divisor < prime; divisor++)
                is_prime &= prime % divisor != 0;
            if (is_prime)
                assert_int_equal(
                    polynomial_gcd(field.terms | UINT64_C(1) << bits, frobenius_power(&field, bits / prime) ^ 2), 1);
        }
    }
}

/* ---- sketches --------------------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Different ones, none of them 0. */
static size_t some_elements(struct random_source *random, uint64_t *elements, size_t count, uint64_t mask)
{
    size_t made = 0;
    while (made < count) {
        uint64_t element = random_next(random) & mask;
        bool fresh = element != 0;
        for (size_t i = 0; i < made; i++)
            fresh &= elements[i] != element;
        if (fresh)
            elements[made++] = element;
    }
    return made;
}

static void any_difference_up_to_the_sums_is_decoded(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(2));
    static uint64_t elements[64], found[64], scratch[64 * 64];
    for (const struct pin_sketch_kernel *const *kernel = pin_sketch_kernels; *kernel; kernel++) {
        for (unsigned bits = FEWEST_FIELD_BITS; bits <= MOST_FIELD_BITS && (*kernel)->head.usable(); bits++) {
            struct field field = field_of_bits(bits);
            for (size_t sums = 1; sums <= 40; sums += 3) {
                size_t count = some_elements(&random, elements, random_choice(&random, (uint32_t)sums + 1), field.mask);
                uint64_t sketch[64] = {0};
                size_t decoded;
                assert_true(pin_sketch_scratch(bits, sums) <= COUNT_OF(scratch));
                (*kernel)->add(&field, sketch, sums, elements, count);
                assert_true((*kernel)->decode(&field, found, &decoded, sketch, sums, scratch));
                assert_int_equal(decoded, count);
                qsort(elements, count, sizeof *elements, compare_numbers);
                qsort(found, count, sizeof *found, compare_numbers);
                assert_memory_equal(found, elements, count * sizeof *found);
            }
        }
    }
}

/* Every number of sums, and of elements from none to more than a few vectors, the same more than once among them. */
static void kernels_make_the_same_sums(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(5));
    for (const struct pin_sketch_kernel *const *kernel = pin_sketch_kernels; *kernel; kernel++)
        for (unsigned bits = FEWEST_FIELD_BITS; bits <= MOST_FIELD_BITS && (*kernel)->head.usable(); bits++)
            for (size_t sums = bits % stride_of(4); sums <= MOST_SUMS; sums += stride_of(4)) {
                struct field field = field_of_bits(bits);
                uint64_t elements[150], sketch[MOST_SUMS], plain[MOST_SUMS];
                size_t count = random_choice(&random, COUNT_OF(elements) + 1);
                for (size_t i = 0; i < count; i++)
                    elements[i] = i % 5 == 4 ? elements[i - 4] : 1 + random_choice(&random, (uint32_t)field.mask);
                for (size_t i = 0; i < sums; i++)
                    sketch[i] = plain[i] = random_next(&random) & field.mask;
                (*kernel)->add(&field, sketch, sums, elements, count);
                pin_sketch_plain.add(&field, plain, sums, elements, count);
                assert_memory_equal(sketch, plain, sums * sizeof *plain);
            }
}

/* What this machine has is used: on ARM, what the system says that the processor has. */
static void the_best_kernel_is_used(void **state)
{
    (void)state;
    const struct pin_sketch_kernel *best = pin_sketch_in_use();
    assert_true(best->head.usable());
    for (size_t i = 0; pin_sketch_kernels[i] != best; i++)
        assert_false(pin_sketch_kernels[i]->head.usable());
#if defined(HAS_NEON) && defined(__linux__)
    assert_ptr_equal(pin_sketch_kernels[0], &pin_sketch_pmull);
    assert_int_equal(pin_sketch_pmull.head.usable(), getauxval(AT_HWCAP) >> 4 & 1);
#endif
    printf("best here: %s\n", best->head.name);
}

static int compare_elements(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    return x->high != y->high ? (x->high > y->high ? 1 : -1) : (x->low > y->low) - (x->low < y->low);
}

/* Hashes that are evenly spread, that share their upper bits, that are few, and that have one `high`. */
static roost_hash hash_of_shape(struct random_source *random, int shape)
{
    roost_hash hash = {random_next(random), random_next(random)};
    if (shape == 1)
        hash.high = hash.high >> 20 | UINT64_C(0x123) << 44;
    if (shape == 2)
        hash = hash_for_key(hash.low % 300);
    if (shape == 3)
        hash.high = 7;
    return hash;
}

static void elements_are_sorted_and_united(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(7));
    const roost_environment environment = {.allocator = allocator_or_default((roost_allocator){0})};
    const size_t counts[] = {0, 1, 30, 4095, 4096, 20000};
    for (size_t round = 0; round < 4 * COUNT_OF(counts); round++) {
        size_t count = counts[round / 4], kept = 0;
        struct element *expected = calloc(count + 1, sizeof *expected);
        struct element_set set;
        element_set_init(&set, false, &environment);
        for (size_t i = 0; i < count; i++) {
            roost_hash hash = hash_of_shape(&random, (int)round % 4);
            expected[i] = (struct element){.high = hash.high, .low = hash.low};
            assert_ok(element_set_add(&set, hash, 1));
        }
        qsort(expected, count, sizeof *expected, compare_elements);
        for (size_t i = 0; i < count; i++)
            if (kept == 0 || compare_elements(&expected[kept - 1], &expected[i]) != 0)
                expected[kept++] = expected[i];
        assert_ok(element_set_seal(&set));
        assert_int_equal(set.count, kept);
        for (size_t i = 0; i < kept; i++)
            assert_int_equal(compare_elements(&set.elements[i], &expected[i]), 0);
        element_set_release(&set);
        free(expected);
    }
}

/* What comes out of sums of more elements, if anything, has just these sums. */
static void too_many_are_seen_or_look_like_others(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(3));
    uint64_t elements[32], found[32], scratch[64 * 16];
    size_t refused = 0, mistaken = 0;
    for (int i = 0; i < 3000; i++) {
        struct field field = field_of_bits(8 + (unsigned)i % 25);
        size_t sums = 1 + random_choice(&random, 8), decoded;
        size_t count = some_elements(&random, elements, sums + 1 + random_choice(&random, 8), field.mask);
        uint64_t sketch[8] = {0}, again[8] = {0};
        pin_sketch_in_use()->add(&field, sketch, sums, elements, count);
        if (!pin_sketch_in_use()->decode(&field, found, &decoded, sketch, sums, scratch)) {
            refused++;
            continue;
        }
        mistaken++;
        assert_in_range(decoded, 0, sums);
        pin_sketch_in_use()->add(&field, again, sums, found, decoded);
        assert_memory_equal(again, sketch, sums * sizeof *again);
    }
    assert_true(refused > 2000 && mistaken > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplication_is_that_of_polynomials),
        cmocka_unit_test(no_polynomial_has_factors),
        cmocka_unit_test(any_difference_up_to_the_sums_is_decoded),
        cmocka_unit_test(kernels_make_the_same_sums),
        cmocka_unit_test(the_best_kernel_is_used),
        cmocka_unit_test(elements_are_sorted_and_united),
        cmocka_unit_test(too_many_are_seen_or_look_like_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
