/*
 * Counting cuckoo and counting Bloom filters beside an exact model: counts, merges, orders; what fails changes nothing.
 */
#include "multisets.h"

#include "base/hash.h"
#include "multiset/counting_cuckoo.h"

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* What a multiset is about: numbers (class keys, cells), each with a count, in a plain list. */
#define MOST_NUMBERS 4096

struct model {
    roost_multiset_config config;
    uint64_t numbers[MOST_NUMBERS], counts[MOST_NUMBERS];
    size_t size;
};

static uint64_t *model_count(struct model *model, uint64_t number)
{
    for (size_t i = 0; i < model->size; i++)
        if (model->numbers[i] == number)
            return &model->counts[i];
    assert_true(model->size < MOST_NUMBERS);
    model->numbers[model->size] = number;
    model->counts[model->size] = 0;
    return &model->counts[model->size++];
}

/* The numbers of an element, by the books: docs/format.md for classes, Equation 12 for cells. */
static size_t model_numbers(const struct model *model, roost_hash hash, uint64_t numbers[64])
{
    const roost_multiset_config *config = &model->config;
    if (config->kind == ROOST_COUNTING_CUCKOO) {
        struct cuckoo_geometry geometry = {
            .buckets = config->buckets, .bits = config->fingerprint_bits, .bucket_size = config->bucket_size};
        numbers[0] = class_key(place_of_hash(hash, geometry), geometry);
        return 1;
    }
    uint64_t m = config->cells, first = (uint64_t)((uint128)hash.low * m >> 64);
    uint64_t step = m > 1 ? 1 + (uint64_t)((uint128)hash.high * (m - 1) >> 64) : 0;
    size_t count = 0;
    for (uint64_t i = 0; i < config->probes; i++) {
        uint64_t cell = (uint64_t)((first + (uint128)i * step) % m);
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known |= numbers[j] == cell;
        numbers[count] = cell;
        count += !known;
    }
    return count;
}

static uint64_t model_least(struct model *model, roost_hash hash)
{
    uint64_t numbers[64], least = UINT64_MAX;
    size_t count = model_numbers(model, hash, numbers);
    for (size_t i = 0; i < count; i++) {
        uint64_t counted = *model_count(model, numbers[i]);
        least = counted < least ? counted : least;
    }
    return least;
}

static void model_change(struct model *model, roost_hash hash, int64_t copies)
{
    uint64_t numbers[64];
    size_t count = model_numbers(model, hash, numbers);
    for (size_t i = 0; i < count; i++)
        *model_count(model, numbers[i]) += (uint64_t)copies;
}

static void model_merge(struct model *model, const struct model *other)
{
    for (size_t i = 0; i < other->size; i++) {
        uint64_t *count = model_count(model, other->numbers[i]);
        *count = *count > other->counts[i] ? *count : other->counts[i];
    }
}

static roost_order model_compare(struct model *a, struct model *b)
{
    unsigned order = ROOST_EQUAL;
    for (size_t i = 0; i < a->size; i++)
        order |= a->counts[i] > *model_count(b, a->numbers[i]) ? ROOST_AFTER : 0;
    for (size_t i = 0; i < b->size; i++)
        order |= b->counts[i] > *model_count(a, b->numbers[i]) ? ROOST_BEFORE : 0;
    return order;
}

static void assert_like_model(const roost_multiset *multiset, struct model *model, uint64_t keys)
{
    uint64_t entries = 0, sum = 0, largest = 0;
    roost_multiset_info info;
    for (size_t i = 0; i < model->size; i++) {
        entries += model->counts[i] > 0;
        sum += model->counts[i];
        largest = model->counts[i] > largest ? model->counts[i] : largest;
    }
    for (uint64_t key = 0; key < keys; key++)
        assert_int_equal(roost_multiset_count_hash(multiset, hash_for_key(key)), model_least(model, hash_for_key(key)));
    roost_multiset_get_info(multiset, &info);
    assert_int_equal(info.entries, entries);
    assert_int_equal(info.cardinality, sum);
    assert_int_equal(info.largest, largest);
    assert_ok(roost_multiset_check(multiset));
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static uint64_t some_copies(struct random_source *random)
{
    static const uint64_t limits[] = {2, 4, 20, 300, 70000};
    return random_choice(random, (uint32_t)limits[random_choice(random, COUNT_OF(limits))]);
}

/* One random change to multiset and model alike. */
static void change_both(roost_multiset *multiset, struct model *model, struct random_source *random, uint64_t keys)
{
    roost_hash hash = hash_for_key(random_choice(random, (uint32_t)keys));
    uint64_t before = model_least(model, hash), copies = some_copies(random), count = 99;
    if (random_choice(random, 3)) {
        assert_ok(roost_multiset_add_hash(multiset, &count, hash, copies));
        model_change(model, hash, (int64_t)copies);
        assert_int_equal(count, before + copies);
    } else {
        uint64_t taken = copies < before ? copies : before;
        roost_multiset_remove_hash(multiset, &count, hash, copies);
        model_change(model, hash, -(int64_t)taken);
        assert_int_equal(count, before - taken);
    }
}

static void counts_follow_the_model(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(1));
    uint64_t overflowed = 0;
    for (uint64_t number = 0; number < 130; number++) {
        const uint64_t keys = 60 + number % 50;
        roost_multiset_config config = some_multiset_config(number, keys);
        roost_multiset *multiset = new_multiset(&config, number);
        struct model *model = calloc(1, sizeof *model);
        model->config = *roost_multiset_get_config(multiset);
        for (unsigned step = 0; step < 300; step++)
            change_both(multiset, model, &random, keys);
        assert_like_model(multiset, model, keys + 20);
        roost_multiset_info info;
        roost_multiset_get_info(multiset, &info);
        overflowed += info.overflow;
        free(model);
        roost_multiset_free(multiset);
    }
    assert_true(overflowed > 500);
}

static void keys_and_hashes_agree(void **state)
{
    (void)state;
    roost_multiset_config config = roost_multiset_config_default();
    config.capacity = 100;
    roost_multiset *multiset = new_multiset(&config, 1);
    uint64_t count;
    assert_ok(roost_multiset_add(multiset, &count, "swift", 5, 3));
    assert_int_equal(count, 3);
    assert_ok(roost_multiset_add(multiset, NULL, "", 0, 1));
    assert_ok(roost_multiset_add(multiset, &count, "swift", 5, 0));
    assert_int_equal(count, 3);
    assert_int_equal(roost_multiset_count(multiset, "swift", 5), 3);
    assert_int_equal(roost_multiset_count(multiset, "", 0), 1);
    assert_int_equal(roost_multiset_count_hash(multiset, roost_multiset_hash(multiset, "swift", 5)), 3);
    roost_multiset_remove(multiset, &count, "swift", 5, 1);
    assert_int_equal(count, 2);
    roost_multiset_remove(multiset, NULL, "swift", 5, ROOST_MOST_COPIES);
    assert_int_equal(roost_multiset_count(multiset, "swift", 5), 0);
    roost_multiset_free(multiset);
}

/* As many copies as its two buckets have slots, and far more, one by one: one class, one slot. */
static void copies_of_one_element_take_one_slot(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 8; size *= 2) {
        roost_multiset_config config = ccf_config(8, size, 100);
        roost_multiset *multiset = new_multiset(&config, size);
        roost_multiset_info info;
        for (uint64_t copies = 1; copies <= 2000; copies++) {
            assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(7), 1));
            assert_int_equal(roost_multiset_count_hash(multiset, hash_for_key(7)), copies);
            if (copies == 2 * size || copies == 2000) {
                roost_multiset_get_info(multiset, &info);
                assert_int_equal(info.entries, 1);
                assert_int_equal(info.overflow, 0);
                assert_ok(roost_multiset_check(multiset));
            }
        }
        for (uint64_t key = 100; key < 170; key++) /* and leave room for others */
            assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(key), 1));
        assert_true(roost_multiset_count_hash(multiset, hash_for_key(7)) >= 2000);
        assert_ok(roost_multiset_check(multiset));
        roost_multiset_free(multiset);
    }
}

static void counts_widen_and_never_wrap(void **state)
{
    (void)state;
    for (uint32_t bits = 4; bits <= 32; bits++) {
        roost_multiset_config config = ccf_config(bits, 4, 50);
        roost_multiset *multiset = new_multiset(&config, bits), *back;
        const uint64_t slot = UINT64_C(1) << ((bits <= 24 ? 32 : 64) - bits);
        uint64_t count;
        roost_multiset_info info;
        assert_ok(roost_multiset_add_hash(multiset, &count, hash_for_key(1), slot - 1));
        roost_multiset_get_info(multiset, &info);
        assert_int_equal(info.overflow, 0);
        assert_ok(roost_multiset_add_hash(multiset, &count, hash_for_key(1), 1));
        assert_int_equal(count, slot);
        roost_multiset_get_info(multiset, &info);
        assert_int_equal(info.overflow, 1); /* where it has a word */
        assert_ok(roost_multiset_check(multiset));
        assert_ok(roost_multiset_add_hash(multiset, &count, hash_for_key(1), ROOST_MOST_COPIES - slot));
        roost_buffer before = frame_of(multiset);
        assert_int_equal(roost_multiset_add_hash(multiset, &count, hash_for_key(1), 1), ROOST_FULL);
        assert_int_equal(count, ROOST_MOST_COPIES);
        assert_int_equal(roost_multiset_add_hash(multiset, &count, hash_for_key(1), UINT64_MAX), ROOST_FULL);
        assert_int_equal(roost_multiset_add_hash(multiset, &count, hash_for_key(2), ROOST_MOST_COPIES + 1), ROOST_FULL);
        roost_buffer after = frame_of(multiset);
        assert_same_bytes(&before, &after);
        assert_ok(roost_multiset_decode(&back, after.data, after.size, NULL));
        assert_int_equal(roost_multiset_count_hash(back, hash_for_key(1)), ROOST_MOST_COPIES);
        roost_buffer_release(&before);
        roost_buffer_release(&after);
        roost_multiset_free(back);
        roost_multiset_free(multiset);
    }
}

static void counters_of_bloom_do_not_wrap(void **state)
{
    (void)state;
    for (uint32_t bits = 4; bits <= 32; bits++) {
        roost_multiset_config config = cbf_config(200, 3, bits, 50);
        roost_multiset *multiset = new_multiset(&config, bits);
        const uint64_t most = (UINT64_C(1) << bits) - 1;
        assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(1), most - 1));
        roost_buffer before = frame_of(multiset);
        assert_int_equal(roost_multiset_add_hash(multiset, NULL, hash_for_key(1), 2), ROOST_FULL);
        roost_buffer after = frame_of(multiset);
        assert_same_bytes(&before, &after);
        assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(1), 1));
        assert_int_equal(roost_multiset_count_hash(multiset, hash_for_key(1)), most);
        assert_ok(roost_multiset_check(multiset));
        roost_buffer_release(&before);
        roost_buffer_release(&after);
        roost_multiset_free(multiset);
    }
}

/* Within its capacity nothing is refused, however small the table; beyond it, a refusal changes nothing. */
static void a_full_table_refuses_and_loses_nothing(void **state)
{
    (void)state;
    roost_multiset_config config = ccf_config(16, 4, 400);
    config.buckets = 64; /* 256 slots */
    roost_multiset *multiset = new_multiset(&config, 3);
    for (uint64_t key = 0; key < 400; key++)
        assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(key), key + 1));
    roost_multiset_info info;
    roost_multiset_get_info(multiset, &info);
    assert_true(info.overflow > 100);
    unsigned refused = 0;
    for (uint64_t key = 400; key < 700; key++) {
        roost_buffer before = frame_of(multiset);
        roost_status status = roost_multiset_add_hash(multiset, NULL, hash_for_key(key), 1);
        roost_buffer after = frame_of(multiset);
        if (status == ROOST_FULL)
            assert_same_bytes(&before, &after);
        else
            assert_ok(status);
        refused += status == ROOST_FULL;
        roost_buffer_release(&before);
        roost_buffer_release(&after);
    }
    assert_true(refused > 200);
    for (uint64_t key = 0; key < 400; key++)
        assert_true(roost_multiset_count_hash(multiset, hash_for_key(key)) >= key + 1);
    assert_ok(roost_multiset_check(multiset));
    roost_multiset_free(multiset);
}

static void promises_are_kept(void **state)
{
    (void)state;
    static const double rates[] = {0.3, 0.05, 0.01, 0.001};
    for (size_t i = 0; i < 2 * COUNT_OF(rates); i++) {
        roost_multiset_config config = roost_multiset_config_default();
        config.kind = i % 2 ? ROOST_COUNTING_BLOOM : ROOST_COUNTING_CUCKOO;
        config.capacity = 4000;
        config.fpr = rates[i / 2];
        roost_multiset *multiset = new_multiset(&config, i);
        for (uint64_t key = 0; key < 4000; key++)
            assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(key), 1 + key % 5));
        uint64_t wrong = 0;
        for (uint64_t key = 100000; key < 200000; key++)
            wrong += roost_multiset_count_hash(multiset, hash_for_key(key)) > 0;
        double rate = (double)wrong / 100000;
        roost_multiset_info info;
        roost_multiset_get_info(multiset, &info);
        printf("%s %.4f: %.5f measured, %.5f due\n", i % 2 ? "cbf" : "ccf", rates[i / 2], rate, info.fpr_now);
        assert_true(rate < rates[i / 2] * 1.1 + 0.0003 && info.fpr_now < rates[i / 2] * 1.05);
        roost_multiset_free(multiset);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    roost_multiset_config good = ccf_config(8, 4, 100), bloom = cbf_config(100, 3, 8, 100), bad[13];
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = i < 8 ? good : bloom;
    bad[0].capacity = 0;
    bad[1].fingerprint_bits = 3;
    bad[2].fingerprint_bits = 33;
    bad[3].bucket_size = 3;
    bad[4].fpr = 1e-9; /* eight bits cannot keep that */
    bad[5].cells = 10;
    bad[6].kind = 3;
    bad[7].fpr = 1;
    bad[8].probes = 65;
    bad[9].counter_bits = 3;
    bad[10].counter_bits = 33;
    bad[11].fpr = 0.1; /* and cells */
    bad[12].fingerprint_bits = 8;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        roost_multiset *multiset = (roost_multiset *)state;
        assert_int_equal(roost_multiset_new(&multiset, &bad[i], NULL), ROOST_INVALID);
        assert_null(multiset);
    }
    roost_environment limited = {.memory_limit = 1 << 16};
    roost_multiset *multiset;
    good.capacity = bloom.cells = 1 << 24;
    assert_int_equal(roost_multiset_new(&multiset, &good, &limited), ROOST_TOO_LARGE);
    assert_int_equal(roost_multiset_new(&multiset, &bloom, &limited), ROOST_TOO_LARGE);
}

/* ---- laws -------------------------------------------------------------------------------------------------------- */

enum { LAW_KEYS = 70 };

struct case_of_three {
    roost_multiset *multisets[3];
    struct model *models[3];
};

static void three_open(struct case_of_three *three, uint64_t number, struct random_source *random)
{
    roost_multiset_config config = some_multiset_config(number, LAW_KEYS);
    for (int i = 0; i < 3; i++) {
        three->multisets[i] = new_multiset(&config, number * 3 + (uint64_t)i);
        three->models[i] = calloc(1, sizeof **three->models);
        three->models[i]->config = *roost_multiset_get_config(three->multisets[i]);
        unsigned steps = random_choice(random, 80);
        for (unsigned step = 0; step < steps; step++)
            change_both(three->multisets[i], three->models[i], random, LAW_KEYS);
    }
    if (random_choice(random, 3) == 0) { /* often comparable */
        assert_ok(roost_multiset_merge(three->multisets[0], NULL, three->multisets[1]));
        model_merge(three->models[0], three->models[1]);
    }
}

static void three_close(struct case_of_three *three)
{
    for (int i = 0; i < 3; i++) {
        roost_multiset_free(three->multisets[i]);
        free(three->models[i]);
    }
}

static roost_multiset *merged(const roost_multiset *a, const roost_multiset *b)
{
    roost_multiset *copy;
    roost_order order;
    bool changed;
    assert_ok(roost_multiset_clone(a, &copy));
    assert_ok(roost_multiset_compare(a, &order, b));
    assert_ok(roost_multiset_merge(copy, &changed, b));
    assert_int_equal(changed, order == ROOST_BEFORE || order == ROOST_CONCURRENT);
    assert_ok(roost_multiset_check(copy));
    return copy;
}

static void merge_is_a_union(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(2));
    unsigned orders[4] = {0};
    for (uint64_t number = 0; number < 150; number++) {
        struct case_of_three three;
        three_open(&three, number, &random);
        roost_multiset *a = three.multisets[0], *b = three.multisets[1], *c = three.multisets[2];
        roost_order order;
        assert_ok(roost_multiset_compare(a, &order, b));
        assert_int_equal(order, model_compare(three.models[0], three.models[1]));
        orders[order]++;
        roost_multiset *ab = merged(a, b), *ba = merged(b, a), *bc = merged(b, c);
        roost_multiset *left = merged(ab, c), *right = merged(a, bc), *again = merged(ab, b), *self = merged(a, a);
        assert_alike(ab, ba);
        assert_alike(left, right);
        assert_alike(again, ab);
        assert_alike(self, a);
        assert_ok(roost_multiset_compare(a, &order, ab));
        assert_true(order == ROOST_EQUAL || order == ROOST_BEFORE);
        model_merge(three.models[0], three.models[1]);
        assert_like_model(ab, three.models[0], LAW_KEYS);
        roost_multiset *all[] = {ab, ba, bc, left, right, again, self};
        for (size_t i = 0; i < COUNT_OF(all); i++)
            roost_multiset_free(all[i]);
        three_close(&three);
    }
    assert_true(orders[ROOST_EQUAL] > 0 && orders[ROOST_BEFORE] + orders[ROOST_AFTER] > 20 &&
                orders[ROOST_CONCURRENT] > 20);
}

/* Several times what the table has slots for, and its capacity: all of it is taken in, and comes back from a frame. */
static void merge_never_refuses(void **state)
{
    (void)state;
    for (uint32_t bits = 12; bits <= 32; bits += 10) {
        roost_multiset_config config = ccf_config(bits, 4, 100);
        roost_multiset *all = new_multiset(&config, 1), *back;
        for (uint64_t part = 0; part < 6; part++) {
            roost_multiset *other = new_multiset(&config, part);
            for (uint64_t key = 0; key < 100; key++)
                assert_ok(roost_multiset_add_hash(other, NULL, hash_for_key(part * 100 + key), 1 + key));
            bool changed;
            assert_ok(roost_multiset_merge(all, &changed, other));
            assert_true(changed);
            assert_ok(roost_multiset_check(all));
            roost_multiset_free(other);
        }
        for (uint64_t key = 0; key < 600; key++)
            assert_true(roost_multiset_count_hash(all, hash_for_key(key)) >= 1 + key % 100);
        roost_multiset_info report;
        roost_multiset_get_info(all, &report);
        assert_true(report.entries > 550 && report.overflow > 400);
        roost_buffer frame = frame_of(all);
        assert_ok(roost_multiset_decode(&back, frame.data, frame.size, NULL));
        assert_alike(all, back);
        roost_buffer_release(&frame);
        roost_multiset_free(back);
        roost_multiset_free(all);
    }
}

/* Every add moves up in the order, every removal down; equal elements in another order and layout are equal states. */
static void history_does_not_show(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 60; number++) {
        roost_multiset_config config = some_multiset_config(number, 120);
        roost_multiset *one = new_multiset(&config, 1), *two = new_multiset(&config, 77), *before;
        roost_order order;
        for (uint64_t key = 0; key < 50; key++) {
            assert_ok(roost_multiset_clone(one, &before));
            assert_ok(roost_multiset_add_hash(one, NULL, hash_for_key(key), 1 + key));
            assert_ok(roost_multiset_compare(before, &order, one));
            assert_int_equal(order, ROOST_BEFORE);
            assert_unlike(before, one);
            roost_multiset_free(before);
        }
        for (uint64_t key = 50; key-- > 0;) {
            assert_ok(roost_multiset_add_hash(two, NULL, hash_for_key(key), 3 + key));
            assert_ok(roost_multiset_add_hash(two, NULL, hash_for_key(key + 1000), 2));
        }
        for (uint64_t key = 50; key-- > 0;) {
            roost_multiset_remove_hash(two, NULL, hash_for_key(key + 1000), 2);
            roost_multiset_remove_hash(two, NULL, hash_for_key(key), 2);
        }
        assert_alike(one, two);
        assert_ok(roost_multiset_check(two));
        for (uint64_t key = 0; key < 50; key++)
            roost_multiset_remove_hash(one, NULL, hash_for_key(key), 1 + key);
        roost_multiset *empty = new_multiset(&config, 5);
        assert_alike(one, empty);
        roost_multiset_free(one);
        roost_multiset_free(two);
        roost_multiset_free(empty);
    }
}

static void other_configurations_do_not_mix(void **state)
{
    (void)state;
    roost_multiset_config configs[] = {ccf_config(8, 4, 100), ccf_config(9, 4, 100),   ccf_config(8, 2, 100),
                                       ccf_config(8, 4, 101), cbf_config(99, 3, 8, 9), cbf_config(98, 3, 8, 9),
                                       ccf_config(8, 4, 100)};
    configs[6].seed++;
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        for (size_t j = 0; j < COUNT_OF(configs); j++) {
            roost_multiset *a = new_multiset(&configs[i], 1), *b = new_multiset(&configs[j], 2);
            roost_order order;
            roost_finding finding;
            roost_status expected = i == j ? ROOST_OK : ROOST_MISMATCH;
            assert_int_equal(roost_multiset_merge(a, NULL, b), expected);
            assert_int_equal(roost_multiset_compare(a, &order, b), expected);
            assert_int_equal(order, i == j ? ROOST_EQUAL : ROOST_CONCURRENT);
            assert_int_equal(roost_multiset_identify(a, &finding, b, NULL, 0, ROOST_BY_QUERY), expected);
            assert_int_equal(roost_multiset_equal(a, b), i == j);
            roost_multiset_free(a);
            roost_multiset_free(b);
        }
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

typedef roost_status metered_call(roost_multiset *multiset, const roost_multiset *other,
                                  const roost_environment *environment);

static roost_status call_new(roost_multiset *multiset, const roost_multiset *other,
                             const roost_environment *environment)
{
    roost_multiset *made;
    roost_multiset_config config = *roost_multiset_get_config(other);
    roost_status status = roost_multiset_new(&made, &config, environment);
    assert_int_equal(made == NULL, status != ROOST_OK);
    (void)multiset;
    roost_multiset_free(made);
    return status;
}

static roost_status call_clone(roost_multiset *multiset, const roost_multiset *other,
                               const roost_environment *environment)
{
    roost_multiset *copy;
    roost_status status = roost_multiset_clone(multiset, &copy);
    (void)other;
    (void)environment;
    assert_int_equal(copy == NULL, status != ROOST_OK);
    roost_multiset_free(copy);
    return status;
}

static roost_status call_encode(roost_multiset *multiset, const roost_multiset *other,
                                const roost_environment *environment)
{
    roost_buffer frame;
    (void)other;
    (void)environment;
    roost_status status = roost_multiset_encode(multiset, &frame);
    assert_int_equal(frame.size == 0, status != ROOST_OK);
    roost_buffer_release(&frame);
    return status;
}

static roost_status call_decode(roost_multiset *multiset, const roost_multiset *other,
                                const roost_environment *environment)
{
    roost_buffer frame = frame_of(other); /* of another allocator */
    roost_multiset *made;
    (void)multiset;
    roost_status status = roost_multiset_decode(&made, frame.data, frame.size, environment);
    assert_int_equal(made == NULL, status != ROOST_OK);
    roost_buffer_release(&frame);
    roost_multiset_free(made);
    return status;
}

static roost_status call_merge(roost_multiset *multiset, const roost_multiset *other,
                               const roost_environment *environment)
{
    roost_multiset *copy = NULL;
    (void)environment;
    roost_status status = roost_multiset_clone(multiset, &copy);
    bool changed = false;
    if (status == ROOST_OK) {
        status = roost_multiset_merge(copy, &changed, other);
        assert_int_equal(changed, status == ROOST_OK);
        assert_ok(roost_multiset_check(copy));
        assert_int_equal(roost_multiset_equal(copy, multiset), !changed);
    }
    roost_multiset_free(copy);
    return status;
}

static roost_status call_add(roost_multiset *multiset, const roost_multiset *other,
                             const roost_environment *environment)
{
    roost_multiset *copy = NULL;
    (void)environment;
    (void)other;
    roost_status status = roost_multiset_clone(multiset, &copy);
    for (uint64_t key = 3000; key < 3040 && status == ROOST_OK; key++) {
        roost_digest before = roost_multiset_digest(copy);
        status = roost_multiset_add_hash(copy, NULL, hash_for_key(key % 3 ? key : key - 3000), UINT64_C(1) << 30);
        roost_digest after = roost_multiset_digest(copy);
        assert_int_equal(memcmp(before.bytes, after.bytes, sizeof before.bytes) == 0, status != ROOST_OK);
        assert_ok(roost_multiset_check(copy));
    }
    roost_multiset_free(copy);
    return status;
}

static roost_status call_identify(roost_multiset *multiset, const roost_multiset *other,
                                  const roost_environment *environment)
{
    roost_finding finding;
    roost_copies element = {hash_for_key(1), 2};
    (void)environment;
    return roost_multiset_identify(multiset, &finding, other, &element, 1, ROOST_BY_DECODING);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static metered_call *const calls[] = {call_new,   call_clone, call_encode,  call_decode,
                                          call_merge, call_add,   call_identify};
    uint64_t failures = 0;
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        for (int kind = 0; kind < 2; kind++) {
            struct meter meter = {.allowed = -1};
            roost_environment environment = {.allocator = {&meter, metered_allocate, metered_release}, .kicks = 2};
            roost_multiset_config config = kind ? cbf_config(300, 3, 32, 400) : ccf_config(16, 4, 400);
            config.buckets = kind ? 0 : 40;
            roost_multiset *multiset, *other = new_multiset(&config, 1);
            assert_ok(roost_multiset_new(&multiset, &config, &environment));
            for (uint64_t key = 0; key < 250; key++) {
                assert_ok(roost_multiset_add_hash(key % 2 ? multiset : other, NULL, hash_for_key(key), key + 1));
                assert_ok(roost_multiset_add_hash(other, NULL, hash_for_key(key / 2), 1));
            }
            roost_digest before = roost_multiset_digest(multiset);
            for (int recovers = 0; recovers < 2; recovers++) {
                roost_status status = ROOST_NO_MEMORY;
                for (int64_t allowed = 0; status != ROOST_OK; allowed++) {
                    int64_t outstanding = meter.outstanding;
                    meter.allowed = allowed;
                    meter.recovers = recovers;
                    uint64_t failed = meter.failures;
                    status = calls[i](multiset, other, &environment);
                    meter.allowed = -1;
                    assert_int_equal(status, meter.failures > failed ? ROOST_NO_MEMORY : ROOST_OK);
                    assert_int_equal(meter.outstanding, outstanding);
                    assert_ok(roost_multiset_check(multiset));
                    roost_digest after = roost_multiset_digest(multiset);
                    assert_memory_equal(before.bytes, after.bytes, sizeof before.bytes);
                }
            }
            failures += meter.failures;
            roost_multiset_free(multiset);
            roost_multiset_free(other);
            assert_int_equal(meter.outstanding, 0);
        }
    printf("%llu failures\n", (unsigned long long)failures);
    assert_true(failures > 60);
}

/* What multiset.h says of removals: safe for one owner who takes out what went in, and not after a merge. */
static void removals_can_make_counts_too_small(void **state)
{
    (void)state;
    roost_multiset_config config = roost_multiset_config_default();
    config.capacity = 10;
    config.fpr = 0;
    config.fingerprint_bits = 4;
    roost_multiset *a = new_multiset(&config, 1), *b = new_multiset(&config, 2), *alone = new_multiset(&config, 3);
    uint64_t x = 0, y = 1;
    assert_ok(roost_multiset_add(a, NULL, &x, sizeof x, 3));
    while (roost_multiset_count(a, &y, sizeof y) == 0)
        y++; /* falls into the same place */
    assert_ok(roost_multiset_add(alone, NULL, &x, sizeof x, 3));
    assert_ok(roost_multiset_add(alone, NULL, &y, sizeof y, 5));
    roost_multiset_remove(alone, NULL, &y, sizeof y, 5);
    assert_int_equal(roost_multiset_count(alone, &x, sizeof x), 3);
    assert_ok(roost_multiset_add(b, NULL, &y, sizeof y, 5));
    assert_ok(roost_multiset_merge(a, NULL, b));
    assert_int_equal(roost_multiset_count(a, &x, sizeof x), 5);
    roost_multiset_remove(a, NULL, &y, sizeof y, 5);
    assert_int_equal(roost_multiset_count(a, &x, sizeof x), 0); /* and x is in three times */
    roost_multiset_free(a);
    roost_multiset_free(b);
    roost_multiset_free(alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_the_model),
        cmocka_unit_test(removals_can_make_counts_too_small),
        cmocka_unit_test(keys_and_hashes_agree),
        cmocka_unit_test(copies_of_one_element_take_one_slot),
        cmocka_unit_test(counts_widen_and_never_wrap),
        cmocka_unit_test(counters_of_bloom_do_not_wrap),
        cmocka_unit_test(a_full_table_refuses_and_loses_nothing),
        cmocka_unit_test(promises_are_kept),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(merge_is_a_union),
        cmocka_unit_test(merge_never_refuses),
        cmocka_unit_test(history_does_not_show),
        cmocka_unit_test(other_configurations_do_not_mix),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
