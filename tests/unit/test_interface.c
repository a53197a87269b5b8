/* The public calls as their users meet them: defaults, refusals, bytes as keys, batches that stop. */
#include "check.h"

static void expect_invalid(roost_config config, roost_status expected)
{
    roost_filter *filter = (roost_filter *)&config;
    assert_int_equal(roost_filter_new(&filter, &config, NULL), expected);
    assert_null(filter);
}

static void senseless_configurations_are_refused(void **state)
{
    (void)state;
    const double rates[] = {0, 1, -0.1, 1.5, 0.0 / 0.0, 1.0 / 0.0};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        expect_invalid(bloom_config(ROOST_BLOCKED, 100, rates[i]), ROOST_INVALID);
        expect_invalid(bloom_config(ROOST_CLASSIC, 100, rates[i]), ROOST_INVALID);
        roost_config config = cuckoo_config(0, 4, 100);
        config.fpr = rates[i];
        expect_invalid(config, ROOST_INVALID);
    }
    expect_invalid(bloom_config(ROOST_BLOCKED, 0, 0.01), ROOST_INVALID);
    expect_invalid(bloom_config((roost_layout)7, 10, 0.01), ROOST_INVALID);
    expect_invalid(bloom_config(ROOST_BLOCKED, 100, 1e-300), ROOST_INVALID);
    expect_invalid(bloom_config(ROOST_CLASSIC, 100, 1e-300), ROOST_INVALID);
    expect_invalid(bloom_config(ROOST_BLOCKED, UINT64_MAX, 0.01), ROOST_TOO_LARGE);
    expect_invalid(bloom_config(ROOST_CLASSIC, UINT64_MAX, 0.01), ROOST_TOO_LARGE);
    expect_invalid(cuckoo_config(8, 4, 0), ROOST_INVALID);
    expect_invalid(cuckoo_config(3, 4, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(33, 4, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(8, 3, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(8, 16, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(8, 4, UINT64_MAX), ROOST_TOO_LARGE);
    roost_config too_few_bits = cuckoo_config(8, 4, 100);
    too_few_bits.fpr = 0.001;
    expect_invalid(too_few_bits, ROOST_INVALID);
    roost_config unknown = bloom_config(ROOST_BLOCKED, 100, 0.01);
    unknown.kind = (roost_kind)9;
    expect_invalid(unknown, ROOST_INVALID);
    roost_config too_small_rate = cuckoo_config(0, 4, 100);
    too_small_rate.fpr = 1e-12;
    expect_invalid(too_small_rate, ROOST_INVALID);
}

static void senseless_entries_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t bits, entry_bits;
        bool multiset;
    } senseless[] = {{15, 64, false}, {29, 64, false}, {8, 64, false}, {7, 64, true}, {29, 64, true}, {8, 32, false},
                     {24, 32, false}, {9, 32, true},   {7, 32, true},  {8, 16, true}, {8, 63, true},  {24, 128, false}};
    for (size_t i = 0; i < COUNT_OF(senseless); i++)
        expect_invalid(orcuckoo_config(senseless[i].bits, senseless[i].entry_bits, senseless[i].multiset, 100),
                       ROOST_INVALID);
    roost_config config = orcuckoo_config(24, 64, false, 0);
    expect_invalid(config, ROOST_INVALID);
    config = orcuckoo_config(24, 64, false, UINT64_MAX);
    expect_invalid(config, ROOST_TOO_LARGE);
    config = orcuckoo_config(24, 64, false, 100);
    config.bucket_size = 3;
    expect_invalid(config, ROOST_INVALID);
    config = orcuckoo_config(0, 32, true, 1000); /* eight bits err more than that */
    config.fpr = 0.001;
    expect_invalid(config, ROOST_INVALID);
    config = orcuckoo_config(0, 64, false, 1000);
    config.fpr = 1e-15;
    expect_invalid(config, ROOST_INVALID);
    const double rates[] = {-1, 1, 2, 0.0 / 0.0, 1.0 / 0.0};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        config = orcuckoo_config(24, 64, false, 100);
        config.fpr = rates[i];
        expect_invalid(config, ROOST_INVALID);
    }
    config = bloom_config(ROOST_BLOCKED, 100, 0.01); /* which have no copies */
    config.multiset = true;
    expect_invalid(config, ROOST_INVALID);
    config = cuckoo_config(8, 4, 100);
    config.multiset = true;
    expect_invalid(config, ROOST_INVALID);
}

static void entries_come_back_resolved(void **state)
{
    (void)state;
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.capacity = 1000;
    roost_filter *filter = new_filter(&config), *same;
    const roost_config *resolved = roost_filter_get_config(filter);
    assert_true(resolved->fingerprint_bits == 24 && resolved->entry_bits == 64 && !resolved->multiset);
    assert_true(resolved->fpr == 0.01 && resolved->bucket_size == 4);
    same = new_filter(resolved);
    assert_true(roost_filter_equal(filter, same));
    FREE_ALL(filter, same);
    config.fpr = 1e-7; /* more bits where the rate needs them */
    filter = new_filter(&config);
    assert_in_range(roost_filter_get_config(filter)->fingerprint_bits, 25, 28);
    roost_filter_free(filter);
    config = orcuckoo_config(0, 32, true, 1000);
    filter = new_filter(&config);
    assert_int_equal(roost_filter_get_config(filter)->fingerprint_bits, 8);
    roost_filter_free(filter);
}

static void configuration_comes_back_resolved(void **state)
{
    (void)state;
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.capacity = 1000;
    roost_filter *filter = new_filter(&config);
    const roost_config *resolved = roost_filter_get_config(filter);
    assert_int_equal(resolved->fingerprint_bits, 10);
    assert_int_equal(resolved->bucket_size, 4);
    assert_true(resolved->fpr == 0.01);
    roost_filter *same = new_filter(resolved);
    assert_true(roost_filter_equal(filter, same));
    roost_filter_free(same);
    roost_filter_free(filter);
}

/* Any bytes are a key, and each byte counts. */
static void keys_are_bytes(void **state)
{
    (void)state;
    static char large[10 << 20];
    memset(large, 'x', sizeof large);
    const roost_bytes keys[] = {{"", 0},    {"\0", 1},  {"\0\0", 2},          {"a", 1},
                                {"a\r", 2}, {"a\n", 2}, {large, sizeof large}};
    const roost_bytes absent[] = {{"\0\0\0", 3}, {"b", 1}, {"a\r\n", 3}, {large, sizeof large - 1}};
    for (int kind = 0; kind < 4; kind++) {
        roost_config config = kind == 3 ? orcuckoo_config(28, 64, false, 100)
                              : kind    ? bloom_config(kind == 1 ? ROOST_BLOCKED : ROOST_CLASSIC, 100, 1e-6)
                                        : cuckoo_config(32, 4, 100);
        roost_filter *filter = new_filter(&config);
        bool changed[COUNT_OF(keys)], found[COUNT_OF(keys)];
        size_t done = 0;
        assert_ok(roost_filter_add_many(filter, changed, &done, keys, COUNT_OF(keys)));
        assert_int_equal(done, COUNT_OF(keys));
        roost_filter_contains_many(filter, found, keys, COUNT_OF(keys));
        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            assert_true(changed[i] && found[i] && roost_filter_contains(filter, keys[i].data, keys[i].size));
            assert_ok(roost_filter_add(filter, changed, keys[i].data, keys[i].size));
            assert_false(changed[0]);
        }
        for (size_t i = 0; i < COUNT_OF(absent); i++)
            assert_false(roost_filter_contains(filter, absent[i].data, absent[i].size));
        assert_false(roost_filter_contains(filter, NULL, 0) != found[0]); /* NULL with no bytes is the empty key */
        roost_filter_free(filter);
    }
}

static void hash_twins_agree(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(16, 4, 2000);
    config.seed = 99;
    roost_filter *by_key = new_filter(&config), *by_hash = new_filter(&config);
    roost_bytes keys[1500];
    static char names[1500][16];
    roost_hash hashes[1500];
    for (size_t i = 0; i < 1500; i++) {
        keys[i] = (roost_bytes){names[i], (size_t)snprintf(names[i], sizeof names[i], "%zu", i)};
        hashes[i] = roost_filter_hash(by_key, keys[i].data, keys[i].size);
    }
    assert_ok(roost_filter_add_many(by_key, NULL, NULL, keys, 1500));
    assert_ok(roost_filter_add_many_hash(by_hash, NULL, NULL, hashes, 1500));
    assert_true(roost_filter_equal(by_key, by_hash));
    roost_filter_free(by_key);
    roost_filter_free(by_hash);
}

static void a_batch_stops_where_one_is_refused(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(16, 4, 600);
    roost_filter *filter = new_filter(&config), *one_by_one;
    roost_bytes keys[3000];
    static char names[3000][16];
    bool changed[3000];
    for (size_t i = 0; i < 3000; i++)
        keys[i] = (roost_bytes){names[i], (size_t)snprintf(names[i], sizeof names[i], "%zu", i)};
    size_t done = 0, again = 0;
    assert_int_equal(roost_filter_add_many(filter, changed, &done, keys, 3000), ROOST_FULL);
    assert_in_range(done, 600, 640);
    one_by_one = new_filter(&config);
    while (roost_filter_add(one_by_one, NULL, keys[again].data, keys[again].size) == ROOST_OK)
        again++;
    assert_int_equal(done, again);
    assert_true(roost_filter_equal(filter, one_by_one));
    roost_status status; /* what was refused may find a place the next time, by other displacements */
    do {
        changed[0] = true;
        status = roost_filter_add(filter, changed, keys[done].data, keys[done].size);
        done++;
    } while (status == ROOST_OK && done < 3000);
    assert_int_equal(status, ROOST_FULL);
    assert_false(changed[0]);
    roost_filter_free(filter);
    roost_filter_free(one_by_one);
}

static void grow_only_filters_do_not_remove(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 6; number++) {
        roost_config config = some_config(number, 100);
        roost_filter *filter = new_filter(&config);
        roost_bytes keys[2] = {{"a", 1}, {"b", 1}};
        roost_hash hashes[2] = {roost_filter_hash(filter, "a", 1), roost_filter_hash(filter, "b", 1)};
        roost_dot dot = {1, 2}, none = {1, 1};
        bool changed[2] = {true, true};
        assert_ok(roost_filter_add(filter, NULL, "a", 1));
        struct portrait before = portrait_of(filter);
        assert_int_equal(roost_filter_remove(filter, changed, "a", 1), ROOST_UNSUPPORTED);
        assert_false(changed[0]);
        assert_int_equal(roost_filter_remove_hash(filter, NULL, hashes[0]), ROOST_UNSUPPORTED);
        changed[0] = changed[1] = true;
        assert_int_equal(roost_filter_remove_many(filter, changed, keys, 2), ROOST_UNSUPPORTED);
        assert_false(changed[0]);
        changed[0] = changed[1] = true;
        assert_int_equal(roost_filter_remove_many_hash(filter, changed, hashes, 2), ROOST_UNSUPPORTED);
        assert_false(changed[0] || changed[1]);
        changed[0] = true;
        assert_int_equal(roost_filter_remove_one(filter, changed, "a", 1), ROOST_UNSUPPORTED);
        assert_false(changed[0]);
        assert_int_equal(roost_filter_remove_one_hash(filter, NULL, hashes[0]), ROOST_UNSUPPORTED);
        changed[0] = true;
        assert_int_equal(roost_filter_remove_dot(filter, changed, "a", 1, none), ROOST_UNSUPPORTED);
        assert_false(changed[0]);
        assert_int_equal(roost_filter_remove_dot_hash(filter, NULL, hashes[0], none), ROOST_UNSUPPORTED);
        assert_int_equal(roost_filter_add_dot(filter, &dot, "b", 1), ROOST_UNSUPPORTED);
        assert_true(dot.actor == 0 && dot.counter == 0);
        assert_int_equal(roost_filter_add_dot_hash(filter, &dot, hashes[1]), ROOST_UNSUPPORTED);
        assert_int_equal(roost_filter_get_actor(filter), 0);
        assert_int_equal(roost_filter_count(filter, "a", 1), 1);
        assert_int_equal(roost_filter_count_hash(filter, hashes[0]), roost_filter_contains_hash(filter, hashes[0]));
        assert_still(&before, filter);
        roost_filter_free(filter);
    }
}

/* Whoever does not want to know passes NULL; the empty key is a key; what is not there is not removed. */
static void removals_take_what_they_are_given(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 3; number++) {
        roost_config config = some_orcuckoo_config(number, 100);
        config.fingerprint_bits = config.entry_bits == 32 ? 8 : 28;
        roost_filter *filter = new_filter(&config);
        roost_dot dot, empty;
        bool changed = true;
        assert_ok(roost_filter_add_dot(filter, &empty, "", 0));
        assert_ok(roost_filter_add_dot(filter, &dot, "a", 1));
        assert_true(dot.actor == empty.actor && dot.counter == 2 && empty.counter == 1);
        assert_true(roost_filter_contains(filter, NULL, 0));
        assert_int_equal(roost_filter_count(filter, NULL, 0), 1);
        assert_ok(roost_filter_remove_dot(filter, NULL, "a", 1, empty)); /* which is not the one of this element */
        assert_ok(roost_filter_remove(filter, NULL, "nobody added this one", 21));
        assert_true(roost_filter_contains(filter, "a", 1) && roost_filter_contains(filter, "", 0));
        assert_ok(roost_filter_remove(filter, NULL, NULL, 0));
        assert_false(roost_filter_contains(filter, "", 0));
        assert_ok(roost_filter_remove(filter, &changed, "", 0));
        assert_false(changed);
        assert_ok(roost_filter_remove_dot(filter, &changed, "a", 1, dot));
        assert_true(changed);
        assert_ok(roost_filter_add(filter, NULL, "a", 1));
        assert_int_equal(roost_filter_remove_one(filter, NULL, "a", 1), config.multiset ? ROOST_OK : ROOST_UNSUPPORTED);
        assert_int_equal(roost_filter_contains(filter, "a", 1), !config.multiset);
        assert_ok(roost_filter_remove_many(filter, NULL, NULL, 0));
        assert_ok(roost_filter_remove_many_hash(filter, NULL, NULL, 0));
        assert_ok(roost_filter_merge(filter, NULL, filter));
        roost_filter_free(filter);
    }
}

/* By key and by hash, one by one and many at once: the same. */
static void removal_twins_agree(void **state)
{
    (void)state;
    enum { KEYS = 1500 };
    static char names[KEYS][16];
    static roost_bytes keys[KEYS];
    static roost_hash hashes[KEYS];
    static bool changed[4][KEYS];
    roost_config config = orcuckoo_config(24, 64, false, 2000);
    roost_filter *filters[4];
    filters[0] = new_filter(&config);
    for (size_t i = 0; i < KEYS; i++) {
        keys[i] = (roost_bytes){names[i], (size_t)snprintf(names[i], sizeof names[i], "%zu", i)};
        hashes[i] = roost_filter_hash(filters[0], keys[i].data, keys[i].size);
        if (i % 3)
            assert_ok(roost_filter_add(filters[0], NULL, keys[i].data, keys[i].size));
    }
    for (int i = 1; i < 4; i++)
        filters[i] = clone_of(filters[0]);
    memset(changed, 1, sizeof changed);
    assert_ok(roost_filter_remove_many(filters[0], changed[0], keys, KEYS));
    assert_ok(roost_filter_remove_many_hash(filters[1], changed[1], hashes, KEYS));
    for (size_t i = 0; i < KEYS; i++) {
        assert_ok(roost_filter_remove(filters[2], &changed[2][i], keys[i].data, keys[i].size));
        assert_ok(roost_filter_remove_hash(filters[3], &changed[3][i], hashes[i]));
        assert_int_equal(changed[0][i], i % 3 != 0);
    }
    for (int i = 1; i < 4; i++) {
        assert_memory_equal(changed[0], changed[i], sizeof changed[0]);
        assert_true(roost_filter_equal(filters[0], filters[i]));
    }
    assert_int_equal(entries_of(filters[0]), 0);
    free_all(filters, 4);
}

/* The cursor to go on with may stand where the last one stood; where it does not, the last one stays as it is. */
static void cursors_may_share_their_place(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 6; number++) {
        roost_config config = number < 3 ? some_orcuckoo_config(number, 100) : some_config(number, 100);
        roost_filter *filter = new_filter(&config), *part;
        roost_cursor first = {0, 0}, next = {7, 7}, shared;
        roost_buffer whole, one, two;
        assert_ok(roost_filter_encode_delta(filter, &whole, &next, &first));
        assert_true(first.incarnation == 0 && first.sequence == 0);
        assert_true(next.incarnation != 0 && next.sequence != 7);
        assert_ok(roost_filter_add(filter, NULL, "a", 1));
        shared = next;
        assert_ok(roost_filter_encode_delta(filter, &one, &first, &next));
        assert_ok(roost_filter_encode_delta(filter, &two, &shared, &shared));
        assert_same_bytes(&one, &two);
        assert_true(shared.incarnation == first.incarnation && shared.sequence == first.sequence);
        assert_true(shared.sequence > next.sequence);
        assert_ok(roost_filter_decode(&part, one.data, one.size, NULL));
        assert_true(roost_filter_contains(part, "a", 1));
        bool changed = true;
        assert_ok(roost_filter_merge_frame(filter, &changed, one.data, one.size)); /* its own */
        assert_false(changed);
        assert_ok(roost_filter_merge_frame(filter, NULL, whole.data, whole.size));
        roost_buffer_release(&whole);
        roost_buffer_release(&one);
        roost_buffer_release(&two);
        FREE_ALL(filter, part);
    }
}

/* A frame of another configuration, a state or a delta. */
static void foreign_frames_do_not_fit(void **state)
{
    (void)state;
    roost_config configs[] = {orcuckoo_config(24, 64, false, 100),
                              orcuckoo_config(24, 64, false, 101),
                              orcuckoo_config(24, 64, true, 100),
                              cuckoo_config(12, 4, 100),
                              cuckoo_config(12, 4, 101),
                              bloom_config(ROOST_BLOCKED, 100, 0.01),
                              bloom_config(ROOST_BLOCKED, 10000, 0.01)};
    roost_filter *filters[COUNT_OF(configs)];
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        filters[i] = new_filter(&configs[i]);
        assert_ok(roost_filter_add(filters[i], NULL, "a", 1));
    }
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        roost_cursor cursor = {0, 0};
        roost_buffer whole, part;
        assert_ok(roost_filter_encode_delta(filters[i], &whole, &cursor, &cursor));
        assert_ok(roost_filter_encode_delta(filters[i], &part, &cursor, &cursor));
        for (size_t j = 0; j < COUNT_OF(configs); j++) {
            struct portrait before = portrait_of(filters[j]);
            bool changed = true;
            assert_int_equal(roost_filter_merge_frame(filters[j], &changed, whole.data, whole.size),
                             i == j ? ROOST_OK : ROOST_MISMATCH);
            assert_false(changed);
            assert_int_equal(roost_filter_merge_frame(filters[j], NULL, part.data, part.size),
                             i == j ? ROOST_OK : ROOST_MISMATCH);
            assert_still(&before, filters[j]);
        }
        roost_buffer_release(&whole);
        roost_buffer_release(&part);
    }
    free_all(filters, COUNT_OF(filters));
}

/* Whoever has nothing to tell has no bytes; a replica is restored into one that is nobody yet. */
static void replicas_of_every_kind(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 9; number++) {
        roost_config config = number < 3 ? some_orcuckoo_config(number, 100) : some_config(number, 100);
        roost_filter *filter = new_filter(&config), *copy;
        roost_cursor cursor = {0, 0};
        roost_buffer replica = {(uint8_t *)filter, 9, {0}}, frame;
        assert_ok(roost_filter_save_replica(filter, &replica));
        assert_true(replica.data == NULL && replica.size == 0);
        assert_ok(roost_filter_restore_replica(filter, NULL, 0));
        assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
        roost_buffer_release(&frame);
        assert_ok(roost_filter_add(filter, NULL, "a", 1));
        assert_ok(roost_filter_save_replica(filter, &replica));
        assert_int_equal(roost_filter_restore_replica(filter, replica.data, replica.size), ROOST_INVALID);
        copy = through_bytes(filter);
        for (size_t size = 1; size < replica.size; size++)
            assert_int_not_equal(roost_filter_restore_replica(copy, replica.data, size), ROOST_OK);
        assert_ok(roost_filter_restore_replica(copy, replica.data, replica.size));
        assert_ok(roost_filter_encode_delta(copy, &frame, &cursor, &cursor));
        assert_int_equal(frame.data[5], 2); /* it goes on where the other was */
        roost_buffer_release(&frame);
        roost_buffer_release(&replica);
        FREE_ALL(filter, copy);
    }
}

static void digest_is_thirty_two_digits(void **state)
{
    (void)state;
    roost_digest digest = {{0x00, 0x1f, 0xa0, [15] = 0xff}};
    char text[33];
    roost_digest_text(digest, text);
    assert_string_equal(text, "001fa0000000000000000000000000ff");
}

/* The seed keys the hash: the same elements under another seed are another state. */
static void seeds_separate(void **state)
{
    (void)state;
    roost_config config = bloom_config(ROOST_BLOCKED, 1000, 0.01);
    roost_filter *a = new_filter(&config);
    config.seed = 7;
    roost_filter *b = new_filter(&config);
    roost_hash x = roost_filter_hash(a, "key", 3), y = roost_filter_hash(b, "key", 3);
    assert_true(x.low != y.low && x.high != y.high);
    roost_filter_free(a);
    roost_filter_free(b);
}

/* The choices inside a cuckoo table never show: other random seeds, other quotas, same bytes. */
static void environment_is_not_state(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(9, 4, 1000);
    roost_environment environments[] = {{.random_seed = 1}, {.random_seed = 2, .kicks = 50}, {.kicks = 100000}};
    roost_filter *filters[3];
    for (size_t i = 0; i < 3; i++) {
        assert_ok(roost_filter_new(&filters[i], &config, &environments[i]));
        for (uint64_t key = 0; key < 1000; key++)
            assert_ok(roost_filter_add_hash(filters[i], NULL, hash_for_key(key)));
    }
    assert_same_frame(filters[0], filters[1]);
    assert_same_frame(filters[0], filters[2]);
    for (size_t i = 0; i < 3; i++)
        roost_filter_free(filters[i]);
}

/* Brief says what info says, or nothing. */
static void brief_is_a_part_of_info(void **state)
{
    (void)state;
    for (int kind = ROOST_BLOOM; kind <= ROOST_ORCUCKOO; kind++)
        for (int scalable = 0; scalable <= 1; scalable++) {
            roost_config config = roost_config_default();
            config.kind = kind;
            config.capacity = 500;
            config.scalable = scalable;
            roost_filter *filter = new_filter(&config);
            for (uint64_t key = 0; key < 450; key++)
                assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
            roost_info info, brief;
            roost_filter_get_info(filter, &info);
            roost_filter_get_brief_info(filter, &brief);
            assert_true(brief.tables == info.tables && brief.bytes_memory == info.bytes_memory);
            assert_true(brief.bits == info.bits && brief.probes == info.probes && brief.buckets == info.buckets);
            assert_true(brief.actors == info.actors && brief.dots == info.dots && brief.journal == info.journal);
            if (kind == ROOST_BLOOM)
                assert_true(brief.entries == 0 && brief.inserted == (scalable ? info.inserted : 0));
            else
                assert_memory_equal(&brief, &info, sizeof info);
            roost_filter_free(filter);
        }
}

static void brief_of_a_window_is_a_part_of_info(void **state)
{
    (void)state;
    for (int number = 0; number < 4; number++) {
        roost_kind kind = number % 2 ? ROOST_COUNTER : ROOST_WINDOW;
        roost_config config = roost_window_config_default(kind, ROOST_SECOND);
        config.capacity = 500;
        config.scalable = number < 2; /* all is known at once */
        roost_filter *filter = new_filter(&config);
        bool counted;
        for (uint64_t time = 1; time <= 450; time++)
            if (kind == ROOST_WINDOW)
                assert_ok(roost_window_add_hash(filter, NULL, hash_for_key(time), time));
            else
                assert_ok(roost_counter_increment(filter, &counted, NULL, &time, sizeof time, 1, time));
        roost_info info, brief;
        roost_filter_get_info(filter, &info);
        roost_filter_get_brief_info(filter, &brief);
        assert_true(brief.tables == info.tables && brief.tables > 0 && brief.bytes_memory == info.bytes_memory);
        assert_true(brief.bits == info.bits && brief.probes == info.probes && brief.journal == info.journal);
        assert_true(brief.actors == info.actors && brief.actors == (kind == ROOST_COUNTER));
        assert_true(brief.entries == (config.scalable ? info.entries : 0) && info.entries > 0 && info.promise_holds);
        roost_filter_free(filter);
    }
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    roost_buffer empty = {0};
    roost_filter_free(NULL);
    roost_buffer_release(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(senseless_configurations_are_refused),
        cmocka_unit_test(configuration_comes_back_resolved),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(hash_twins_agree),
        cmocka_unit_test(a_batch_stops_where_one_is_refused),
        cmocka_unit_test(grow_only_filters_do_not_remove),
        cmocka_unit_test(senseless_entries_are_refused),
        cmocka_unit_test(entries_come_back_resolved),
        cmocka_unit_test(removals_take_what_they_are_given),
        cmocka_unit_test(removal_twins_agree),
        cmocka_unit_test(cursors_may_share_their_place),
        cmocka_unit_test(foreign_frames_do_not_fit),
        cmocka_unit_test(replicas_of_every_kind),
        cmocka_unit_test(digest_is_thirty_two_digits),
        cmocka_unit_test(seeds_separate),
        cmocka_unit_test(environment_is_not_state),
        cmocka_unit_test(brief_is_a_part_of_info),
        cmocka_unit_test(brief_of_a_window_is_a_part_of_info),
        cmocka_unit_test(freeing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
