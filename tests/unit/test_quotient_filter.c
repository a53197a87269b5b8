/* The quotient filter that Roost's tables are measured against (bench/), beside an exact set of fingerprints. */
#include "check.h"

#include "../../bench/quotient_filter.h"

enum { QUOTIENTS = 200, MOST_FINGERPRINTS = QUOTIENTS << 9 };

/* Which fingerprints there are. */
struct set {
    uint8_t has[MOST_FINGERPRINTS];
    uint64_t entries;
};

static void assert_same(const struct quotient_filter *filter, const struct set *set)
{
    struct quotient_cursor cursor = {.filter = filter};
    uint64_t listed = 0;
    for (uint64_t fingerprint = 0; fingerprint < filter->quotients << filter->bits; fingerprint++)
        assert_int_equal(quotient_contains(filter, fingerprint), set->has[fingerprint]);
    for (uint64_t fingerprint, last = 0; quotient_next(&cursor, &fingerprint); last = fingerprint, listed++)
        assert_true(set->has[fingerprint] && (listed == 0 || fingerprint > last));
    assert_int_equal(listed, set->entries);
    assert_int_equal(filter->entries, set->entries);
}

/* Crowded: in few quotients, so that runs are long and far from their slots. */
static uint64_t drawn(struct random_source *random, const struct quotient_filter *filter, bool crowded)
{
    uint64_t hash = random_next(random);
    return quotient_fingerprint(filter, crowded ? hash >> 2 | UINT64_C(1) << 63 : hash);
}

static uint64_t fill(struct quotient_filter *filter, struct set *set, struct random_source *random, uint64_t entries,
                     bool crowded)
{
    uint64_t known = 0;
    while (set->entries < entries) {
        uint64_t fingerprint = drawn(random, filter, crowded);
        enum quotient_added added = quotient_add(filter, fingerprint);
        assert_int_equal(added, set->has[fingerprint] ? QUOTIENT_KNOWN : QUOTIENT_NEW);
        set->entries += !set->has[fingerprint];
        known += set->has[fingerprint];
        set->has[fingerprint] = 1;
    }
    return known;
}

/* All that the frame says, read bit by bit. */
static void assert_frame(const struct quotient_filter *filter, const struct set *set)
{
    uint8_t *frame;
    size_t size = quotient_encode(filter, &frame);
    uint64_t mean = set->entries ? (filter->quotients << filter->bits) / set->entries : 1, fingerprint = 0, bit = 0;
    unsigned parameter = 0;
    while (mean >> (parameter + 1))
        parameter++;
    assert_true(size > 0);
    for (uint64_t entry = 0; entry < set->entries; entry++, bit++) {
        for (; !(frame[bit / 8] >> bit % 8 & 1); bit++)
            fingerprint += UINT64_C(1) << parameter;
        for (unsigned i = 0; i < parameter; i++)
            fingerprint += (uint64_t)(frame[(bit + 1 + i) / 8] >> (bit + 1 + i) % 8 & 1) << i;
        bit += parameter;
        assert_true(fingerprint < MOST_FINGERPRINTS && set->has[fingerprint]);
    }
    assert_int_equal(size, (bit + 7) / 8);
    free(frame);
}

static void beside_a_set(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(20261117));
    static struct set set;
    for (unsigned bits = 1; bits <= 9; bits++)
        for (unsigned crowded = 0; crowded < 2; crowded++) {
            struct quotient_filter filter;
            uint64_t known = 0;
            memset(&set, 0, sizeof set);
            assert_true(quotient_new(&filter, QUOTIENTS, bits));
            assert_same(&filter, &set);
            uint64_t most =
                (QUOTIENTS << bits) / 6 < QUOTIENTS * 19 / 20 ? (QUOTIENTS << bits) / 6 : QUOTIENTS * 19 / 20;
            for (uint64_t entries = 20; entries <= most; entries += 34) {
                known += fill(&filter, &set, &random, entries, crowded);
                assert_same(&filter, &set);
                assert_frame(&filter, &set);
            }
            assert_true(known > 0 || bits > 6);
            quotient_free(&filter);
        }
}

static void merges_are_unions_and_layouts_follow_from_sets(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(20261117));
    static struct set sets[3];
    for (unsigned round = 0; round < 40; round++) {
        struct quotient_filter filters[3], before;
        memset(sets, 0, sizeof sets);
        for (unsigned i = 0; i < 3; i++)
            assert_true(quotient_new(&filters[i], QUOTIENTS, 5 + round % 4));
        for (unsigned i = 0; i < 2; i++)
            fill(&filters[i], &sets[i], &random, 20 + round * 2, round % 3 == i);
        for (uint64_t fingerprint = MOST_FINGERPRINTS; fingerprint-- > 0;)
            if (sets[0].has[fingerprint] || sets[1].has[fingerprint]) { /* the union, in another order */
                assert_int_equal(quotient_add(&filters[2], fingerprint), QUOTIENT_NEW);
                sets[2].has[fingerprint] = 1;
                sets[2].entries++;
            }
        assert_true(quotient_merge(&filters[0], &filters[1]));
        assert_same(&filters[0], &sets[2]);
        assert_memory_equal(filters[0].blocks, filters[2].blocks, filters[2].bytes);
        before = filters[2];
        assert_true(quotient_merge(&filters[2], &filters[0])); /* equals: not even copied */
        assert_ptr_equal(before.blocks, filters[2].blocks);
        for (unsigned i = 0; i < 3; i++)
            quotient_free(&filters[i]);
    }
}

static void full_changes_nothing(void **state)
{
    (void)state;
    struct quotient_filter filter, other;
    static struct set set;
    assert_true(quotient_new(&filter, QUOTIENTS, 9) && quotient_new(&other, QUOTIENTS, 9));
    memset(&set, 0, sizeof set);
    uint64_t fingerprint = (QUOTIENTS - 1) << 9, room = filter.slots - (QUOTIENTS - 1);
    for (uint64_t i = 0; i < room; i++, set.entries++) { /* all of them of the last quotient */
        assert_int_equal(quotient_add(&filter, fingerprint + i + (i > 0)), QUOTIENT_NEW);
        set.has[fingerprint + i + (i > 0)] = 1;
    }
    assert_int_equal(quotient_add(&filter, fingerprint + 1), QUOTIENT_FULL);
    assert_same(&filter, &set);
    assert_int_equal(quotient_add(&other, fingerprint + 1), QUOTIENT_NEW);
    assert_false(quotient_merge(&filter, &other));
    assert_same(&filter, &set);
    quotient_free(&filter);
    quotient_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_a_set),
        cmocka_unit_test(merges_are_unions_and_layouts_follow_from_sets),
        cmocka_unit_test(full_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
