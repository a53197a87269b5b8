/*
 * Counting cuckoo and counting Bloom filters beside an exact model: counts, merges, orders, bytes, differences; what is
 * wrong is refused, what fails changes nothing.
 */
#include "meter.h"
#include "streams.h"

#include "base/hash.h"
#include "multiset/count_code.h"
#include "multiset/counting_cuckoo.h"
#include "sync/multiset_exchange.h"

static roost_multiset_config ccf_config(uint32_t bits, uint32_t bucket_size, uint64_t capacity)
{
    roost_multiset_config config = roost_multiset_config_default();
    config.fpr = 0;
    config.fingerprint_bits = bits;
    config.bucket_size = bucket_size;
    config.capacity = capacity;
    return config;
}

static roost_multiset_config cbf_config(uint64_t cells, uint32_t probes, uint32_t counter_bits, uint64_t capacity)
{
    roost_multiset_config config = roost_multiset_config_default();
    config.kind = ROOST_COUNTING_BLOOM;
    config.fpr = 0;
    config.cells = cells;
    config.probes = probes;
    config.counter_bits = counter_bits;
    config.capacity = capacity;
    return config;
}

/* All widths, bucket sizes and kinds; tables that are too small, so that the stash is in use. */
static roost_multiset_config some_multiset_config(uint64_t number, uint64_t capacity)
{
    if (number % 4 == 3)
        return cbf_config(1 + number * 37 % 900, 1 + (uint32_t)(number % 11), 20 + (uint32_t)(number % 13), capacity);
    roost_multiset_config config = ccf_config(4 + (uint32_t)(number % 29), 1u << (number / 29 % 4), capacity);
    if (number % 2)
        config.buckets = 1 + (uint32_t)(capacity / config.bucket_size / 2);
    return config;
}

static roost_multiset *new_multiset(const roost_multiset_config *config, uint64_t luck)
{
    roost_multiset *multiset;
    roost_environment environment = {.random_seed = luck, .kicks = 1 + (uint32_t)(luck % 50)};
    assert_ok(roost_multiset_new(&multiset, config, &environment));
    return multiset;
}

static roost_buffer frame_of(const roost_multiset *multiset)
{
    roost_buffer frame;
    assert_ok(roost_multiset_encode(multiset, &frame));
    return frame;
}

static void assert_alike(const roost_multiset *a, const roost_multiset *b)
{
    roost_buffer x = frame_of(a), y = frame_of(b);
    roost_digest p = roost_multiset_digest(a), q = roost_multiset_digest(b);
    assert_same_bytes(&x, &y);
    assert_memory_equal(p.bytes, q.bytes, sizeof p.bytes);
    assert_true(roost_multiset_equal(a, b));
    roost_buffer_release(&x);
    roost_buffer_release(&y);
}

static void assert_unlike(const roost_multiset *a, const roost_multiset *b)
{
    roost_digest p = roost_multiset_digest(a), q = roost_multiset_digest(b);
    assert_memory_not_equal(p.bytes, q.bytes, sizeof p.bytes);
    assert_false(roost_multiset_equal(a, b));
}

/* ---- the model -----------------------------------------------------------------------------------------------------
 */

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
    roost_multiset_report info;
    for (size_t i = 0; i < model->size; i++) {
        entries += model->counts[i] > 0;
        sum += model->counts[i];
        largest = model->counts[i] > largest ? model->counts[i] : largest;
    }
    for (uint64_t key = 0; key < keys; key++)
        assert_int_equal(roost_multiset_count_hash(multiset, hash_for_key(key)), model_least(model, hash_for_key(key)));
    roost_multiset_info(multiset, &info);
    assert_int_equal(info.entries, entries);
    assert_int_equal(info.cardinality, sum);
    assert_int_equal(info.largest, largest);
    assert_ok(roost_multiset_check(multiset));
}

/* ---- counts --------------------------------------------------------------------------------------------------------
 */

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
        model->config = *roost_multiset_config_of(multiset);
        for (unsigned step = 0; step < 300; step++)
            change_both(multiset, model, &random, keys);
        assert_like_model(multiset, model, keys + 20);
        roost_multiset_report info;
        roost_multiset_info(multiset, &info);
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
        roost_multiset_report info;
        for (uint64_t copies = 1; copies <= 2000; copies++) {
            assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(7), 1));
            assert_int_equal(roost_multiset_count_hash(multiset, hash_for_key(7)), copies);
            if (copies == 2 * size || copies == 2000) {
                roost_multiset_info(multiset, &info);
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
        roost_multiset_report info;
        assert_ok(roost_multiset_add_hash(multiset, &count, hash_for_key(1), slot - 1));
        roost_multiset_info(multiset, &info);
        assert_int_equal(info.overflow, 0);
        assert_ok(roost_multiset_add_hash(multiset, &count, hash_for_key(1), 1));
        assert_int_equal(count, slot);
        roost_multiset_info(multiset, &info);
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
    roost_multiset_report info;
    roost_multiset_info(multiset, &info);
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
        roost_multiset_report info;
        roost_multiset_info(multiset, &info);
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

/* ---- laws ----------------------------------------------------------------------------------------------------------
 */

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
        three->models[i]->config = *roost_multiset_config_of(three->multisets[i]);
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
        roost_multiset_report report;
        roost_multiset_info(all, &report);
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

/* ---- bytes ---------------------------------------------------------------------------------------------------------
 */

static roost_multiset *filled_multiset(uint64_t number, uint64_t keys)
{
    roost_multiset_config config = some_multiset_config(number, keys + 1);
    roost_multiset *multiset = new_multiset(&config, number);
    for (uint64_t key = 0; key < keys; key++)
        assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(key), 1 + key * key % (1 + number * 3)));
    return multiset;
}

static void assert_same_config(const roost_multiset_config *a, const roost_multiset_config *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->capacity, b->capacity);
    assert_true(a->fpr == b->fpr);
    assert_int_equal(a->seed, b->seed);
    assert_int_equal(a->fingerprint_bits, b->fingerprint_bits);
    assert_int_equal(a->bucket_size, b->bucket_size);
    assert_int_equal(a->buckets, b->buckets);
    assert_int_equal(a->cells, b->cells);
    assert_int_equal(a->probes, b->probes);
    assert_int_equal(a->counter_bits, b->counter_bits);
}

static void frames_come_back(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 120; number++) {
        roost_multiset *multiset = filled_multiset(number, number % 7 * 30), *back;
        roost_buffer frame = frame_of(multiset);
        assert_ok(roost_multiset_decode(&back, frame.data, frame.size, NULL));
        assert_alike(multiset, back);
        assert_ok(roost_multiset_check(back));
        assert_same_config(roost_multiset_config_of(back), roost_multiset_config_of(multiset));
        roost_filter *filter;
        assert_int_equal(roost_filter_decode(&filter, frame.data, frame.size, NULL), ROOST_CORRUPT);
        roost_buffer_release(&frame);
        roost_multiset_free(multiset);
        roost_multiset_free(back);
    }
}

static void a_filter_is_no_multiset(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(8, 4, 100);
    roost_filter *filter = new_filter(&config);
    roost_buffer frame;
    roost_multiset *multiset;
    assert_ok(roost_filter_encode(filter, &frame));
    assert_int_equal(roost_multiset_decode(&multiset, frame.data, frame.size, NULL), ROOST_CORRUPT);
    assert_null(multiset);
    roost_buffer_release(&frame);
    roost_filter_free(filter);
}

/* A count of its own code: every count and parameter comes back, and costs what it is said to. */
static void counts_are_coded(void **state)
{
    (void)state;
    for (unsigned p = 0; p < COUNT_PARAMETERS; p++)
        for (unsigned shift = 0; shift < 48; shift++)
            for (int off = -1; off <= 1; off++) {
                uint64_t count = (UINT64_C(1) << shift) + (uint64_t)off;
                uint8_t bytes[40];
                struct bit_writer writer = bit_writer_over(bytes, sizeof bytes);
                struct count_costs costs = {0};
                if (count == 0)
                    continue;
                count_costs_add(&costs, count);
                write_count(&writer, count, p);
                assert_int_equal(writer.buffer.size * 8 + writer.pending_bits, costs.bits[p]);
                write_alignment(&writer);
                struct bit_reader reader = bit_reader_over(bytes, writer.buffer.size);
                assert_int_equal(read_count(&reader, p), count);
                assert_false(reader.failed);
                for (size_t size = 0; size * 8 < costs.bits[p]; size++) {
                    struct bit_reader cut = bit_reader_over(bytes, size);
                    read_count(&cut, p);
                    assert_true(cut.failed);
                }
            }
}

static void cut_frames_are_refused(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 24; number++) {
        roost_multiset *multiset = filled_multiset(number, 40), *decoded;
        roost_buffer frame = frame_of(multiset);
        for (size_t size = 0; size < frame.size; size++) {
            uint8_t *cut = malloc(size ? size : 1); /* so that a look beyond the end is seen */
            memcpy(cut, frame.data, size);
            roost_status status = roost_multiset_decode(&decoded, cut, size, NULL);
            assert_int_equal(status, size == 0 ? ROOST_NOT_FRAME : ROOST_TRUNCATED);
            assert_null(decoded);
            free(cut);
        }
        roost_buffer_release(&frame);
        roost_multiset_free(multiset);
    }
}

/* What a forged frame may be is another state, told in the one way in which that state is told. */
static bool is_canonical(const uint8_t *frame, size_t size)
{
    roost_multiset *decoded;
    roost_environment limited = {.memory_limit = 1 << 24};
    if (roost_multiset_decode(&decoded, frame, size, &limited) != ROOST_OK) {
        assert_null(decoded);
        return false;
    }
    roost_buffer again = frame_of(decoded);
    assert_int_equal(again.size, size);
    assert_memory_equal(again.data, frame, size);
    assert_ok(roost_multiset_check(decoded));
    roost_buffer_release(&again);
    roost_multiset_free(decoded);
    return true;
}

static void repair_checksum(uint8_t *frame, size_t size)
{
    store_word(frame + size - 8, checksum_bytes(frame, size - 8));
}

static void flipped_bits_are_refused_or_another_state(void **state)
{
    (void)state;
    unsigned accepted = 0, refused = 0;
    for (uint64_t number = 0; number < 40; number++) {
        roost_multiset *multiset = filled_multiset(number, 12);
        roost_buffer frame = frame_of(multiset);
        for (size_t bit = 0; bit < frame.size * 8; bit++) {
            uint8_t *forged = malloc(frame.size);
            memcpy(forged, frame.data, frame.size);
            forged[bit / 8] ^= (uint8_t)(1 << (bit & 7));
            assert_false(is_canonical(forged, frame.size));
            repair_checksum(forged, frame.size);
            if (is_canonical(forged, frame.size))
                accepted++;
            else
                refused++;
            free(forged);
        }
        roost_buffer_release(&frame);
        roost_multiset_free(multiset);
    }
    printf("%u accepted, %u refused\n", accepted, refused);
    assert_true(accepted > 1000 && refused > 1000);
}

static void random_bytes_behind_a_configuration(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(3));
    unsigned accepted = 0;
    for (unsigned trial = 0; trial < 20000; trial++) {
        roost_multiset_config config = some_multiset_config(random_choice(&random, 60), 10);
        roost_multiset *multiset = new_multiset(&config, trial);
        struct bit_writer writer;
        bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
        write_bytes(&writer, "Rost\1\3", 6);
        struct bit_writer body;
        bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
        multiset_write_configuration(multiset, &body);
        unsigned extra = 2 + random_choice(&random, 10);
        write_varint(&body, random_choice(&random, 6));
        for (unsigned i = 0; i < extra; i++)
            write_byte(&body, (uint8_t)random_choice(&random, i ? 256 : 3));
        write_varint(&writer, body.buffer.size);
        write_bytes(&writer, body.buffer.data, body.buffer.size);
        write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
        accepted += is_canonical(writer.buffer.data, writer.buffer.size);
        bit_writer_release(&writer);
        bit_writer_release(&body);
        roost_multiset_free(multiset);
    }
    printf("%u accepted\n", accepted);
    assert_true(accepted > 10);
}

static void a_small_frame_cannot_take_all_memory(void **state)
{
    (void)state;
    roost_environment limited = {.memory_limit = 1 << 20};
    roost_multiset_config configs[] = {ccf_config(8, 4, 100000000), cbf_config(UINT64_C(1) << 36, 2, 8, 100)};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        uint8_t bytes[64];
        struct bit_writer writer = bit_writer_over(bytes, sizeof bytes);
        struct bit_writer body;
        roost_multiset_config small = configs[i];
        small.capacity = 10;
        small.buckets = i == 0 ? 8 : 0;
        small.cells = i == 0 ? 0 : 50;
        roost_multiset *multiset = new_multiset(&small, 1), *decoded;
        multiset->config = configs[i]; /* as written, not as held */
        multiset->config.fpr = i == 0 ? 0.9 : 0;
        bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
        multiset_write_configuration(multiset, &body);
        if (i == 0) { /* the buckets are the last number */
            while (body.buffer.data[body.buffer.size - 1] != 8)
                body.buffer.size--;
            body.buffer.size--;
            write_varint(&body, 300000000);
        }
        write_bytes(&body, "\0\0", 2); /* no entries */
        write_bytes(&writer, "Rost\1\3", 6);
        write_varint(&writer, body.buffer.size);
        write_bytes(&writer, body.buffer.data, body.buffer.size);
        write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
        assert_false(writer.failed);
        assert_int_equal(roost_multiset_decode(&decoded, bytes, writer.buffer.size, &limited), ROOST_TOO_LARGE);
        assert_null(decoded);
        bit_writer_release(&body);
        multiset->config = small;
        roost_multiset_free(multiset);
    }
}

/* Thousands of classes for a table of one bucket: they would all go to the stash. */
static void a_stash_counts_against_the_limit(void **state)
{
    (void)state;
    roost_multiset_config config = ccf_config(32, 4, 5000);
    config.buckets = 1;
    roost_multiset *multiset = new_multiset(&config, 1), *decoded;
    for (uint64_t key = 0; key < 5000; key++)
        assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(key), 1));
    roost_buffer frame = frame_of(multiset);
    roost_environment limited = {.memory_limit = 1 << 16};
    assert_int_equal(roost_multiset_decode(&decoded, frame.data, frame.size, &limited), ROOST_TOO_LARGE);
    assert_ok(roost_multiset_new(&decoded, &config, &limited));
    assert_ok(roost_multiset_add_hash(decoded, NULL, hash_for_key(9), 5));
    roost_buffer before = frame_of(decoded);
    assert_int_equal(roost_multiset_merge(decoded, NULL, multiset), ROOST_TOO_LARGE);
    roost_buffer after = frame_of(decoded);
    assert_same_bytes(&before, &after);
    assert_ok(roost_multiset_check(decoded));
    roost_buffer_release(&before);
    roost_buffer_release(&after);
    roost_buffer_release(&frame);
    roost_multiset_free(decoded);
    roost_multiset_free(multiset);
}

/* ---- golden frames -------------------------------------------------------------------------------------------------
 */

static roost_multiset *golden_multiset(size_t number, const char **name)
{
    static const char *const names[] = {"ccf-empty", "ccf-8-bit", "ccf-13-bit-pairs", "ccf-32-bit-large-counts",
                                        "cbf-empty", "cbf-8-bit"};
    roost_multiset_config configs[] = {ccf_config(8, 4, 1000), ccf_config(8, 4, 300),     ccf_config(13, 2, 300),
                                       ccf_config(32, 8, 100), cbf_config(500, 4, 8, 90), cbf_config(500, 4, 8, 90)};
    if (number >= COUNT_OF(names))
        return NULL;
    *name = names[number];
    roost_multiset *multiset;
    assert_ok(roost_multiset_new(&multiset, &configs[number], NULL));
    uint64_t keys = strstr(*name, "empty") ? 0 : configs[number].capacity;
    for (uint64_t i = 0; i < keys; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "key %llu", (unsigned long long)i);
        uint64_t copies = strstr(*name, "large") ? (i * i * i + 1) << (i % 20) : 1 + i % 7;
        assert_ok(roost_multiset_add(multiset, NULL, key, (size_t)length, copies));
    }
    return multiset;
}

static FILE *golden_file(const char *name, const char *mode)
{
    char path[4096];
    const char *root = getenv("ROOST_GOLDEN");
    snprintf(path, sizeof path, "%s/accept/%s.roost", root ? root : "tests/golden", name);
    FILE *file = fopen(path, mode);
    if (!file)
        fail_msg("%s: cannot be opened", path);
    return file;
}

static void golden_frames_are_read_and_written(void **state)
{
    (void)state;
    const char *name;
    for (size_t number = 0;; number++) {
        roost_multiset *multiset = golden_multiset(number, &name), *decoded;
        if (!multiset)
            break;
        roost_buffer frame = frame_of(multiset);
        if (getenv("ROOST_WRITE_GOLDEN")) {
            FILE *file = golden_file(name, "wb");
            assert_int_equal(fwrite(frame.data, 1, frame.size, file), frame.size);
            assert_int_equal(fclose(file), 0);
        }
        static uint8_t bytes[1 << 16];
        FILE *file = golden_file(name, "rb");
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        assert_int_equal(size, frame.size);
        assert_memory_equal(bytes, frame.data, size);
        assert_ok(roost_multiset_decode(&decoded, bytes, size, NULL));
        assert_alike(decoded, multiset);
        roost_buffer_release(&frame);
        roost_multiset_free(decoded);
        roost_multiset_free(multiset);
    }
}

/* docs/format.md computes this one by hand. */
static void the_worked_example_is_right(void **state)
{
    (void)state;
    roost_multiset_config config = ccf_config(8, 4, 1000);
    roost_multiset *multiset = new_multiset(&config, 1);
    assert_ok(roost_multiset_add(multiset, NULL, "key 0", 5, 10));
    roost_buffer frame = frame_of(multiset);
    static const uint8_t expected[] = {0x01, 0x02, 0x0a, 0xe8, 0x0e};
    assert_memory_equal(frame.data + frame.size - 8 - sizeof expected, expected, sizeof expected);
    roost_buffer_release(&frame);
    roost_multiset_free(multiset);
}

/* ---- differences ---------------------------------------------------------------------------------------------------
 */

enum { HOST_KEYS = 900 };

/* A host has a key or not, and some copies; the other host has another, related selection. */
static uint64_t copies_at(int host, uint64_t key, uint64_t seed)
{
    roost_hash luck = hash_for_key(seed * 1000003 + key);
    uint64_t common = 1 + luck.low % 9;
    if (key % 5 == 0)
        return (luck.high >> host & 1) ? common : 0;
    return key % 7 == 0 ? 1 + (luck.high >> (8 * host) & 15) : common;
}

struct host {
    roost_multiset *multiset;
    roost_copies elements[HOST_KEYS];
    uint64_t keys[HOST_KEYS];
    roost_finding findings[HOST_KEYS];
    size_t count;
};

static void host_open(struct host *host, int which, const roost_multiset_config *config, uint64_t seed)
{
    host->multiset = new_multiset(config, seed + (uint64_t)which);
    host->count = 0;
    for (uint64_t key = 0; key < HOST_KEYS; key++) {
        uint64_t copies = copies_at(which, key, seed);
        if (copies == 0)
            continue;
        host->elements[host->count] = (roost_copies){hash_for_key(seed << 32 | key), copies};
        host->keys[host->count] = key;
        assert_ok(roost_multiset_add_hash(host->multiset, NULL, host->elements[host->count].hash, copies));
        host->count++;
    }
}

/* How many findings of a host are not what is true; those of elements that share nothing must all be. */
static unsigned wrong_findings(const struct host *host, int which, const struct host *other, uint64_t seed, bool exact)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < host->count; i++) {
        uint64_t here = host->elements[i].count, there = copies_at(!which, host->keys[i], seed);
        uint64_t counted_here = roost_multiset_count_hash(host->multiset, host->elements[i].hash);
        uint64_t counted_there = roost_multiset_count_hash(other->multiset, host->elements[i].hash);
        roost_finding truth = {there == 0, there > here ? there - here : 0};
        bool right =
            host->findings[i].missing_there == truth.missing_there && host->findings[i].fewer_here == truth.fewer_here;
        if (exact || (counted_here == here && counted_there == there))
            assert_true(right);
        wrong += !right;
    }
    return wrong;
}

static void differences_are_found(void **state)
{
    (void)state;
    unsigned wrong[3] = {0};
    struct host *hosts = calloc(2, sizeof *hosts);
    for (uint64_t seed = 0; seed < 30; seed++)
        for (int method = ROOST_BY_QUERY; method <= ROOST_BY_DECODING; method++) {
            bool exact = seed % 3 == 0; /* fingerprints so long that nothing collides */
            roost_multiset_config config = ccf_config(exact ? 32 : 6 + seed % 4, 4, HOST_KEYS);
            for (int i = 0; i < 2; i++)
                host_open(&hosts[i], i, &config, seed);
            for (int i = 0; i < 2; i++) {
                assert_ok(roost_multiset_identify(hosts[i].multiset, hosts[i].findings, hosts[!i].multiset,
                                                  hosts[i].elements, hosts[i].count, method));
                wrong[method] += wrong_findings(&hosts[i], i, &hosts[!i], seed, exact);
            }
            for (int i = 0; i < 2; i++)
                roost_multiset_free(hosts[i].multiset);
        }
    free(hosts);
    printf("by query %u wrong (most of them sent in vain), by decoding %u\n", wrong[ROOST_BY_QUERY],
           wrong[ROOST_BY_DECODING]);
    assert_true(wrong[ROOST_BY_QUERY] > 0 && wrong[ROOST_BY_DECODING] > 0);
}

/* Two hosts that hold the same find nothing, however many elements share a class; Algorithm 4 as printed would. */
static void equal_hosts_find_nothing(void **state)
{
    (void)state;
    roost_multiset_config config = ccf_config(4, 4, HOST_KEYS);
    struct host *hosts = calloc(2, sizeof *hosts);
    for (int i = 0; i < 2; i++)
        host_open(&hosts[i], 0, &config, 5);
    unsigned shared = 0;
    for (int method = ROOST_BY_QUERY; method <= ROOST_BY_DECODING; method++) {
        assert_ok(roost_multiset_identify(hosts[0].multiset, hosts[0].findings, hosts[1].multiset, hosts[0].elements,
                                          hosts[0].count, method));
        for (size_t i = 0; i < hosts[0].count; i++) {
            assert_false(hosts[0].findings[i].missing_there || hosts[0].findings[i].fewer_here);
            shared +=
                roost_multiset_count_hash(hosts[1].multiset, hosts[0].elements[i].hash) != hosts[0].elements[i].count;
        }
    }
    assert_true(shared > 100);
    for (int i = 0; i < 2; i++)
        roost_multiset_free(hosts[i].multiset);
    free(hosts);
}

static void differences_of_bloom_filters_are_found(void **state)
{
    (void)state;
    struct host *hosts = calloc(2, sizeof *hosts);
    roost_multiset_config config = cbf_config(1 << 22, 2, 12, HOST_KEYS); /* so many cells that none is shared */
    for (int i = 0; i < 2; i++)
        host_open(&hosts[i], i, &config, 3);
    for (int method = ROOST_BY_QUERY; method <= ROOST_BY_DECODING; method++)
        for (int i = 0; i < 2; i++) {
            assert_ok(roost_multiset_identify(hosts[i].multiset, hosts[i].findings, hosts[!i].multiset,
                                              hosts[i].elements, hosts[i].count, method));
            for (size_t j = 0; j < hosts[i].count; j++) {
                uint64_t here = hosts[i].elements[j].count, there = copies_at(!i, hosts[i].keys[j], 3);
                assert_int_equal(hosts[i].findings[j].fewer_here, there > here ? there - here : 0);
                assert_int_equal(hosts[i].findings[j].missing_there,
                                 method == ROOST_BY_QUERY ? there == 0 : there < here);
            }
        }
    assert_int_equal(roost_multiset_identify(hosts[0].multiset, hosts[0].findings, hosts[1].multiset, NULL, 0, 3),
                     ROOST_INVALID);
    for (int i = 0; i < 2; i++)
        roost_multiset_free(hosts[i].multiset);
    free(hosts);
}

/* ---- two rounds of messages ----------------------------------------------------------------------------------------
 */

struct party {
    char names[HOST_KEYS][16];
    struct multiset_member members[HOST_KEYS];
    size_t count;
    uint64_t copies[HOST_KEYS]; /* by key: what there is in the end */
};

static void party_open(struct party *party, int which, uint64_t seed)
{
    party->count = 0;
    for (uint64_t key = 0; key < HOST_KEYS; key++) {
        int length = snprintf(party->names[key], sizeof party->names[key], "line %llu", (unsigned long long)key);
        party->copies[key] = copies_at(which, key, seed);
        if (party->copies[key])
            party->members[party->count++] =
                (struct multiset_member){{party->names[key], (size_t)length}, party->copies[key]};
    }
}

static void take_copies(void *context, roost_bytes element, uint64_t count)
{
    struct party *party = context;
    char text[16] = {0};
    assert_true(element.size < sizeof text);
    memcpy(text, element.data, element.size);
    uint64_t key = strtoull(text + 5, NULL, 10);
    assert_true(key < HOST_KEYS);
    if (count > party->copies[key])
        party->copies[key] = count;
}

static bool has_union(const struct party *party, uint64_t seed)
{
    for (uint64_t key = 0; key < HOST_KEYS; key++) {
        uint64_t a = copies_at(0, key, seed), b = copies_at(1, key, seed);
        if (party->copies[key] != (a > b ? a : b))
            return false;
    }
    return true;
}

/* One side of the two rounds over a stream; whether it has the union then. The first speaks first. */
static bool run_side(int stream, int which, uint64_t seed, roost_identification method)
{
    struct party *party = calloc(1, sizeof *party);
    struct multiset_exchange *exchange = NULL;
    roost_multiset_config config = ccf_config(32, 4, HOST_KEYS);
    roost_buffer offer = {0}, elements = {0};
    uint8_t *theirs = NULL, *sent = NULL;
    size_t size;
    party_open(party, which, seed);
    bool fine = multiset_exchange_open(&exchange, &config, party->members, party->count, method, NULL) == ROOST_OK &&
                multiset_exchange_offer(exchange, &offer) == ROOST_OK;
    fine = fine && (which || send_all(stream, offer.data, offer.size)) && (theirs = receive_message(stream, &size));
    fine = fine && (!which || send_all(stream, offer.data, offer.size)) &&
           multiset_exchange_identify(exchange, &elements, take_copies, party, theirs, size) == ROOST_OK;
    fine = fine && (which || send_all(stream, elements.data, elements.size)) && (sent = receive_message(stream, &size));
    fine = fine && (!which || send_all(stream, elements.data, elements.size)) &&
           multiset_exchange_finish(exchange, take_copies, party, sent, size) == ROOST_OK && has_union(party, seed);
    multiset_exchange_close(exchange);
    roost_buffer_release(&offer);
    roost_buffer_release(&elements);
    free(theirs);
    free(sent);
    free(party);
    return fine;
}

struct exchange_plan {
    uint64_t seed;
    roost_identification method;
};

static bool run_planned(void *context, int stream, int which)
{
    const struct exchange_plan *plan = context;
    return run_side(stream, which, plan->seed, plan->method);
}

static void two_processes_get_the_union(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct exchange_plan plan = {seed, seed % 2 ? ROOST_BY_QUERY : ROOST_BY_DECODING};
        assert_true(run_in_two_processes(run_planned, &plan));
    }
}

struct duet {
    struct party parties[2];
    struct multiset_exchange *exchanges[2];
    roost_buffer offers[2], elements[2];
};

static struct duet *duet_open(uint64_t seed, const roost_environment *environment)
{
    struct duet *duet = calloc(1, sizeof *duet);
    roost_multiset_config config = ccf_config(12, 4, HOST_KEYS);
    for (int i = 0; i < 2; i++) {
        struct party *party = &duet->parties[i];
        party_open(party, i, seed);
        assert_ok(multiset_exchange_open(&duet->exchanges[i], &config, party->members, party->count, ROOST_BY_QUERY,
                                         i ? environment : NULL));
        assert_ok(multiset_exchange_offer(duet->exchanges[i], &duet->offers[i]));
    }
    return duet;
}

static void duet_close(struct duet *duet)
{
    for (int i = 0; i < 2; i++) {
        multiset_exchange_close(duet->exchanges[i]);
        roost_buffer_release(&duet->offers[i]);
        roost_buffer_release(&duet->elements[i]);
    }
    free(duet);
}

static void count_call(void *context, roost_bytes element, uint64_t count)
{
    (void)element;
    ++*(unsigned *)context;
    assert_true(count > 0 && count <= ROOST_MOST_COPIES);
}

static void hostile_rounds_are_refused(void **state)
{
    (void)state;
    struct duet *duet = duet_open(4, NULL);
    struct multiset_exchange *here = duet->exchanges[0], *there = duet->exchanges[1];
    roost_buffer offer = duet->offers[1], message;
    unsigned calls = 0;
    assert_int_equal(multiset_exchange_finish(here, count_call, &calls, offer.data, offer.size), ROOST_INVALID);
    for (size_t size = 0; size < offer.size; size += 1 + size / 40) {
        assert_int_not_equal(multiset_exchange_identify(here, &message, count_call, &calls, offer.data, size),
                             ROOST_OK);
        assert_int_equal(message.size, 0);
    }
    roost_multiset_config other = ccf_config(13, 4, HOST_KEYS);
    roost_multiset *stranger = new_multiset(&other, 1);
    roost_buffer strange = frame_of(stranger);
    assert_int_equal(multiset_exchange_identify(here, &message, count_call, &calls, strange.data, strange.size),
                     ROOST_MISMATCH);
    assert_int_equal(calls, 0);
    roost_buffer_release(&strange);
    roost_multiset_free(stranger);
    /* after all that it still works, once */
    assert_ok(multiset_exchange_identify(here, &duet->elements[0], count_call, &calls, offer.data, offer.size));
    assert_true(calls > 10);
    assert_int_equal(multiset_exchange_identify(here, &message, count_call, &calls, offer.data, offer.size),
                     ROOST_INVALID);
    assert_ok(multiset_exchange_identify(there, &duet->elements[1], count_call, &calls, duet->offers[0].data,
                                         duet->offers[0].size));
    roost_buffer second = duet->elements[1];
    uint64_t key = load_word(offer.data + offer.size - 8) ^ load_word(duet->offers[0].data + duet->offers[0].size - 8);
    uint8_t *forged = malloc(second.size);
    unsigned accepted = 0, refused = 0;
    calls = 0;
    for (size_t size = 0; size < second.size; size++) /* each cut, as it is and with a checksum that is right */
        for (int repaired = 0; repaired < 2 && (size >= 8 || !repaired); repaired++) {
            memcpy(forged, second.data, size);
            if (repaired)
                store_word(forged + size - 8, hash_bytes(key, forged, size - 8).low);
            assert_int_equal(multiset_exchange_finish(here, count_call, &calls, forged, size), ROOST_CORRUPT);
        }
    assert_int_equal(calls, 0);
    for (size_t bit = 0; bit < second.size * 8 - 64; bit++) {
        memcpy(forged, second.data, second.size);
        forged[bit / 8] ^= (uint8_t)(1 << (bit & 7));
        assert_int_equal(multiset_exchange_finish(here, count_call, &calls, forged, second.size), ROOST_CORRUPT);
        store_word(forged + second.size - 8, hash_bytes(key, forged, second.size - 8).low);
        unsigned before = calls;
        if (multiset_exchange_finish(here, count_call, &calls, forged, second.size) == ROOST_OK) {
            accepted++;
        } else {
            refused++;
            assert_int_equal(calls, before);
        }
    }
    assert_true(accepted > 100 && refused > 100);
    assert_ok(multiset_exchange_finish(here, take_copies, &duet->parties[0], second.data, second.size));
    free(forged);
    duet_close(duet);
}

/* ---- failing allocations -------------------------------------------------------------------------------------------
 */

typedef roost_status metered_call(roost_multiset *multiset, const roost_multiset *other,
                                  const roost_environment *environment);

static roost_status call_new(roost_multiset *multiset, const roost_multiset *other,
                             const roost_environment *environment)
{
    roost_multiset *made;
    roost_multiset_config config = *roost_multiset_config_of(other);
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

static void an_exchange_survives_failures(void **state)
{
    (void)state;
    struct meter meter = {.allowed = -1};
    roost_environment environment = {.allocator = {&meter, metered_allocate, metered_release}};
    struct duet *duet = duet_open(6, &environment);
    roost_multiset_config config = ccf_config(12, 4, HOST_KEYS);
    struct multiset_exchange *exchange;
    roost_status status = ROOST_NO_MEMORY;
    for (int64_t allowed = 0; status != ROOST_OK; allowed++) {
        int64_t outstanding = meter.outstanding;
        meter.allowed = allowed;
        status = multiset_exchange_open(&exchange, &config, duet->parties[1].members, duet->parties[1].count,
                                        ROOST_BY_DECODING, &environment);
        meter.allowed = -1;
        assert_int_equal(exchange == NULL, status != ROOST_OK);
        multiset_exchange_close(exchange);
        assert_int_equal(meter.outstanding, outstanding);
    }
    status = ROOST_NO_MEMORY;
    for (int64_t allowed = 0; status != ROOST_OK; allowed++) {
        unsigned calls = 0;
        meter.allowed = allowed;
        status = multiset_exchange_identify(duet->exchanges[1], &duet->elements[1], count_call, &calls,
                                            duet->offers[0].data, duet->offers[0].size);
        meter.allowed = -1;
        assert_int_equal(calls > 0, status == ROOST_OK);
    }
    assert_true(meter.failures > 8);
    duet_close(duet);
    assert_int_equal(meter.outstanding, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_the_model),
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
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(a_filter_is_no_multiset),
        cmocka_unit_test(counts_are_coded),
        cmocka_unit_test(cut_frames_are_refused),
        cmocka_unit_test(flipped_bits_are_refused_or_another_state),
        cmocka_unit_test(random_bytes_behind_a_configuration),
        cmocka_unit_test(a_small_frame_cannot_take_all_memory),
        cmocka_unit_test(a_stash_counts_against_the_limit),
        cmocka_unit_test(golden_frames_are_read_and_written),
        cmocka_unit_test(the_worked_example_is_right),
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test(equal_hosts_find_nothing),
        cmocka_unit_test(differences_of_bloom_filters_are_found),
        cmocka_unit_test(two_processes_get_the_union),
        cmocka_unit_test(hostile_rounds_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(an_exchange_survives_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
