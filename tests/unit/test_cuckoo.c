/* The cuckoo table and its geometry, against exact models. */
#include "calls.h"

#include <math.h>

#include "cuckoo/cuckoo_many.h"
#include "cuckoo/cuckoo_slots.h"

static struct cuckoo_geometry geometries(uint32_t number)
{
    static const uint32_t buckets[] = {1, 2, 3, 4, 5, 7, 16, 27, 64, 250, 263};
    return (struct cuckoo_geometry){
        buckets[number % COUNT_OF(buckets)], 1 + number % 32, 1u << number / 32 % 4, 0, 0, 0};
}

/* Four slots that are compared at once, beside one after the other, for every width of a fingerprint. */
static void four_slots_are_compared_as_one_by_one(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(4));
    uint32_t seen = 0; /* every answer that there is */
    for (uint32_t bits = 1; bits <= 32; bits++)
        for (int round = 0; round < 200; round++) {
            const uint32_t unused = 32 - bits, wanted = (uint32_t)random_next(&random) << unused;
            uint8_t slots[32];
            for (size_t slot = 0; slot < 4; slot++) {
                uint32_t fingerprint = random_choice(&random, 2) ? wanted >> unused : (uint32_t)random_next(&random);
                store_word(slots + 8 * slot, random_next(&random) << bits | (fingerprint & UINT32_MAX >> unused));
            }
            uint32_t found = slots_with(slots, 4, 64, unused, wanted);
            assert_int_equal(four_slots_with(slots, unused, wanted), found);
            seen |= 1u << found;
        }
    assert_int_equal(seen, 0xffff);
}

/* Both buckets lead to one class key, the key leads back to one of them, and keys are a tight range. */
static void classes_have_one_name(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 70; n++)
        for (uint32_t bits = 1; bits <= 6; bits++) {
            struct cuckoo_geometry geometry = {n, bits, 4, 0, 0, 0};
            for (uint32_t fingerprint = 1; fingerprint < 1u << bits; fingerprint++)
                for (uint32_t bucket = 0; bucket < n; bucket++) {
                    struct place place = place_in(bucket, fingerprint, geometry), other = other_place(place);
                    assert_in_range(other.bucket, 0, n - 1);
                    assert_int_equal(place_in(other.bucket, fingerprint, geometry).other, bucket);
                    uint64_t key = class_key(place, geometry);
                    assert_int_equal(class_key(other, geometry), key);
                    assert_true(key < class_universe(geometry));
                    struct place back = place_of_class(key, geometry);
                    assert_int_equal(back.fingerprint, fingerprint);
                    assert_true(back.bucket == bucket || back.bucket == other.bucket);
                }
            for (uint64_t key = 0; key < class_universe(geometry) + 300; key++) {
                uint32_t fingerprint = (uint32_t)(key & ((1u << bits) - 1));
                bool named =
                    fingerprint && key >> bits < n && class_key(place_of_class(key, geometry), geometry) == key;
                assert_int_equal(is_class_key(key, geometry), named);
                uint64_t list = key, next = 0;
                struct key_places places;
                assert_int_equal(cuckoo_keys_of_gaps(&list, &places, 1, &next, geometry), named);
            }
            /* different pairs have different names */
            for (uint32_t fingerprint = 1; fingerprint < 1u << bits; fingerprint++)
                for (uint32_t a = 0; a < n; a++)
                    for (uint32_t b = 0; b < n; b++)
                        if (class_key(place_in(a, fingerprint, geometry), geometry) ==
                            class_key(place_in(b, fingerprint, geometry), geometry))
                            assert_true(a == b || place_in(a, fingerprint, geometry).other == b);
        }
}

static void class_keys_are_uniform(void **state)
{
    (void)state;
    struct cuckoo_geometry geometry = {1001, 12, 4, 0, 0, 0};
    int counts[51] = {0};
    for (uint64_t i = 0; i < 500000; i++)
        counts[(class_key(place_of_hash(hash_for_key(i), geometry), geometry) >> 12) / 10]++;
    for (size_t i = 0; i < 50; i++)
        assert_in_range(counts[i], 9400, 10600);
}

static void hashes_give_legal_places(void **state)
{
    (void)state;
    const uint64_t ends[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63};
    for (uint32_t number = 0; number < 352; number++)
        for (size_t i = 0; i < COUNT_OF(ends); i++)
            for (size_t j = 0; j < COUNT_OF(ends); j++) {
                struct cuckoo_geometry geometry = geometries(number);
                struct place place = place_of_hash((roost_hash){ends[i], ends[j]}, geometry);
                assert_in_range(place.bucket, 0, geometry.buckets - 1);
                assert_in_range(place.fingerprint, 1, (UINT64_C(1) << geometry.bits) - 1);
            }
}

/* ---- the table beside an exact set of class keys ----------------------------------------------------------------- */

struct model {
    uint64_t keys[4096];
    uint32_t count;
};

static bool model_holds(const struct model *model, uint64_t key)
{
    for (uint32_t i = 0; i < model->count; i++)
        if (model->keys[i] == key)
            return true;
    return false;
}

static void assert_as_model(const struct cuckoo_table *table, const struct model *model)
{
    assert_true(cuckoo_table_check(table));
    assert_int_equal(cuckoo_table_entries(table), model->count);
    for (uint32_t i = 0; i < model->count; i++) {
        struct place place = place_of_class(model->keys[i], table->geometry);
        struct place other = other_place(place);
        assert_true(cuckoo_table_contains(table, &place));
        assert_true(cuckoo_table_contains(table, &other));
    }
}

/* Every width and bucket size, filled beyond what fits: what was taken is there, what was not changed nothing. */
static void table_keeps_what_it_took(void **state)
{
    (void)state;
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    struct random_source random = random_from_seed(test_seed(5));
    uint64_t refused = 0, present = 0, overflowed = 0;
    for (uint32_t number = 0; number < 1408; number++) {
        struct cuckoo_table table;
        struct model model = {.count = 0};
        struct cuckoo_geometry geometry = geometries(number);
        assert_true(cuckoo_table_init(&table, geometry, 40, &allocator));
        uint8_t *before = malloc(table.slots.size);
        uint32_t slots = geometry.buckets * geometry.bucket_size;
        for (uint32_t i = 0; i < slots + 40 && model.count < COUNT_OF(model.keys); i++) {
            struct place place = place_of_hash(hash_for_key(random_next(&random)), geometry);
            uint64_t key = class_key(place, geometry);
            bool was = model_holds(&model, key);
            assert_int_equal(cuckoo_table_contains(&table, &place), was);
            memcpy(before, table.slots.bytes, table.slots.size);
            enum put_result result = cuckoo_table_put(&table, &place, &random, random_choice(&random, 41));
            assert_int_equal(result == PUT_PRESENT, was);
            present += was;
            if (result == PUT_NO_ROOM) {
                assert_memory_equal(before, table.slots.bytes, table.slots.size); /* exact rollback */
                refused++;
                if (random_choice(&random, 2)) {
                    assert_true(cuckoo_table_overflow(&table, &place, &allocator));
                    overflowed++;
                    result = PUT_NEW;
                }
            }
            if (result == PUT_NEW)
                model.keys[model.count++] = key;
        }
        assert_as_model(&table, &model);
        struct cuckoo_table copy;
        assert_true(cuckoo_table_copy(&copy, &table, &allocator));
        assert_as_model(&copy, &model);
        cuckoo_table_release(&copy, &allocator);
        cuckoo_table_release(&table, &allocator);
        free(before);
    }
    printf("%llu refused, %llu present, %llu overflowed\n", (unsigned long long)refused, (unsigned long long)present,
           (unsigned long long)overflowed);
    assert_true(refused > 1000 && present > 1000 && overflowed > 500);
}

/* How full a table gets before the first refusal, whatever the number of buckets. */
static void load_is_high_for_any_size(void **state)
{
    (void)state;
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    const uint32_t buckets[] = {1000, 1024, 5000, 30011};
    for (size_t i = 0; i < COUNT_OF(buckets); i++)
        for (uint32_t bits = 8; bits <= 12; bits += 4) {
            struct cuckoo_table table;
            struct random_source random = random_from_seed(bits);
            struct cuckoo_geometry geometry = {buckets[i], bits, 4, 0, 0, 0};
            assert_true(cuckoo_table_init(&table, geometry, 500, &allocator));
            struct place place = place_of_hash(hash_for_key(0), geometry);
            for (uint64_t key = 1; cuckoo_table_put(&table, &place, &random, 500) != PUT_NO_ROOM; key++)
                place = place_of_hash(hash_for_key(key), geometry);
            double load = (double)table.filled / (4.0 * buckets[i]);
            printf("%u buckets, %u bits: load %.4f\n", buckets[i], bits, load);
            assert_true(load > 0.95);
            cuckoo_table_release(&table, &allocator);
        }
}

static void batches_answer_as_single_calls(void **state)
{
    (void)state;
    for (uint32_t bits = 4; bits <= 32; bits++)
        for (uint32_t size = 1; size <= 8; size *= 2) {
            /* once in cache, once larger than the limit beyond which batches look ahead */
            roost_config config = cuckoo_config(bits, size, bits == 8 || bits == 20 ? 3000000 : 500);
            roost_filter *filter = new_filter(&config);
            roost_hash hashes[1000];
            bool changed[1000], found[1000];
            for (uint64_t i = 0; i < 1000; i++)
                hashes[i] = hash_for_key(i % 400);
            size_t done;
            assert_ok(roost_filter_add_many_hash(filter, changed, &done, hashes, 450));
            assert_int_equal(done, 450);
            for (uint64_t i = 400; i < 450; i++)
                assert_false(changed[i]);
            for (uint64_t i = 0; i < 1000; i++)
                hashes[i] = hash_for_key(i);
            roost_filter_contains_many_hash(filter, found, hashes, 1000);
            for (uint64_t i = 0; i < 1000; i++) {
                assert_true(found[i] || i >= 400);
                assert_int_equal(found[i], roost_filter_contains_hash(filter, hashes[i]));
            }
            roost_filter_free(filter);
        }
}

/* Within its capacity a filter takes every element; past it, it says so and stays as it was. */
static void capacity_is_a_promise(void **state)
{
    (void)state;
    const uint64_t capacities[] = {1, 2, 3, 5, 8, 13, 50, 100, 1000, 20000};
    int full = 0;
    for (size_t i = 0; i < COUNT_OF(capacities); i++)
        for (uint32_t size = 1; size <= 8; size *= 2)
            for (uint64_t round = 0; round < 1 + 200 / capacities[i]; round++) {
                roost_config config = cuckoo_config(16, size, capacities[i]);
                roost_filter *filter = new_filter(&config);
                for (uint64_t key = 0; key < capacities[i]; key++)
                    assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(round << 32 | key)));
                roost_info info;
                roost_filter_get_info(filter, &info);
                assert_true(info.promise_holds);
                roost_status status = ROOST_OK;
                uint64_t key = capacities[i];
                roost_digest before = roost_filter_digest(filter);
                for (; key < 4 * capacities[i] + 100 && status == ROOST_OK; key++) {
                    before = roost_filter_digest(filter);
                    status = roost_filter_add_hash(filter, NULL, hash_for_key(round << 32 | key));
                }
                assert_int_equal(status, ROOST_FULL);
                roost_digest after = roost_filter_digest(filter);
                assert_memory_equal(before.bytes, after.bytes, sizeof before.bytes);
                for (uint64_t old = 0; old + 1 < key; old++)
                    assert_true(roost_filter_contains_hash(filter, hash_for_key(round << 32 | old)));
                assert_ok(roost_filter_check(filter));
                full++;
                roost_filter_free(filter);
            }
    assert_true(full > 100);
}

static void promise_is_kept(void **state)
{
    (void)state;
    const double rates[] = {0.4, 0.1, 1.0 / 32, 0.01, 0.001};
    for (size_t i = 0; i < COUNT_OF(rates); i++)
        for (uint32_t size = 1; size <= 8; size *= 2) {
            roost_config config = cuckoo_config(0, size, 20000);
            config.fpr = rates[i];
            roost_filter *filter = new_filter(&config);
            for (uint64_t key = 0; key < 20000; key++)
                assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
            uint64_t found = 0, probes = 1000000;
            for (uint64_t key = 0; key < probes; key++)
                found += roost_filter_contains_hash(filter, hash_for_key(key + (1u << 30)));
            double rate = (double)found / (double)probes;
            roost_info info;
            roost_filter_get_info(filter, &info);
            assert_true(info.promise_holds && info.fpr_now <= rates[i]);
            assert_true(fabs(rate - info.fpr_now) < 5 * sqrt(rates[i] / (double)probes));
            assert_true(fabs(info.elements - 20000) < 20000 * 0.01);
            roost_filter_free(filter);
        }
}

static uint64_t mixed(uint64_t number)
{
    return hash_for_key(number).low;
}

/* ---- many entries at once, beside one by one --------------------------------------------------------------------- */

/* Some entries of a pool that is not much larger than the table, so that two tables have many in common. */
static void fill_from_pool(struct cuckoo_table *table, struct random_source *random, uint32_t count,
                           const roost_allocator *allocator)
{
    uint32_t slots = table->geometry.buckets * table->geometry.bucket_size;
    for (uint32_t i = 0; i < count; i++) {
        struct place place = place_of_hash(hash_for_key(random_choice(random, 2 * slots)), table->geometry);
        if (cuckoo_table_put(table, &place, random, 10) == PUT_NO_ROOM)
            assert_true(cuckoo_table_overflow(table, &place, allocator));
    }
}

/* Compares all rows of `other`, checks each answer by a look-up, and puts what is missing into the table. */
static void take_over(struct cuckoo_table *table, const struct cuckoo_table *other, bool all,
                      const roost_allocator *allocator)
{
    struct compared_entries entries;
    uint64_t missing = 0, held = 0;
    for (uint32_t row = 0; row < cuckoo_table_rows(other);) {
        cuckoo_table_compare(table, other, &row, &entries, all);
        for (uint32_t i = 0; i < entries.missing_count + entries.held_count; i++) {
            bool is_missing = i < entries.missing_count;
            cuckoo_entry entry = is_missing ? entries.missing[i] : entries.held[i - entries.missing_count];
            struct place place = place_of_entry(entry, table->geometry);
            assert_int_equal(cuckoo_table_contains(table, &place), !is_missing);
            assert_true(cuckoo_table_contains(other, &place));
        }
        missing += entries.missing_count;
        held += entries.held_count;
        uint64_t before = cuckoo_table_entries(table);
        uint32_t left = cuckoo_table_fill(table, entries.missing, entries.missing_count);
        assert_int_equal(cuckoo_table_entries(table), before + entries.missing_count - left);
        left = cuckoo_table_move_for(table, entries.missing, left);
        assert_int_equal(cuckoo_table_entries(table), before + entries.missing_count - left);
        for (uint32_t i = 0; i < left; i++) {
            struct place place = place_of_entry(entries.missing[i], table->geometry);
            assert_true(cuckoo_table_overflow(table, &place, allocator));
        }
    }
    if (all)
        assert_int_equal(missing + held, other->filled);
}

/* The class keys of the slots that are in a range, row by row. */
static void assert_lists_keys(const struct cuckoo_table *table, struct key_range range)
{
    uint64_t keys[ENTRIES_ROOM];
    uint32_t count = 0, done = 0, next = 0;
    for (uint32_t row = 0; row < cuckoo_table_rows(table); row++) {
        uint32_t fingerprints[8], held = cuckoo_table_bucket(table, row, fingerprints);
        for (uint32_t i = 0; i < held; i++) {
            uint64_t key = class_key(cuckoo_table_place(table, row, fingerprints[i]), table->geometry);
            if (key < range.first || key - range.first >= range.count)
                continue;
            for (; done == count && next < cuckoo_table_rows(table); done = 0)
                count = cuckoo_table_keys_in(table, &next, range, keys);
            assert_true(done < count);
            assert_int_equal(keys[done++], key);
        }
    }
    assert_int_equal(done, count);
    while (next < cuckoo_table_rows(table))
        assert_int_equal(cuckoo_table_keys_in(table, &next, range, keys), 0);
}

/* By every kernel. */
static void assert_keys_are_those_of_slots(const struct cuckoo_table *table, struct random_source *random)
{
    const uint64_t universe = class_universe(table->geometry), first = scale_to_range(random_next(random), universe);
    const struct key_range some = {first, scale_to_range(random_next(random), universe - first + 1)};
    for (const struct key_kernel *const *kernel = key_kernels; *kernel; kernel++) {
        if (!(*kernel)->head.usable())
            continue;
        key_kernel_force(*kernel);
        assert_lists_keys(table, (struct key_range){0, universe});
        assert_lists_keys(table, some);
    }
    key_kernel_force(NULL);
    assert_ptr_equal(key_kernel_in_use(), key_kernels[0]->head.usable() ? key_kernels[0] : &key_kernel_plain);
}

static void assert_holds_slots_of(const struct cuckoo_table *table, const struct cuckoo_table *other)
{
    for (uint32_t row = 0; row < cuckoo_table_rows(other); row++) {
        uint32_t fingerprints[8], count = cuckoo_table_bucket(other, row, fingerprints);
        for (uint32_t i = 0; i < count; i++) {
            struct place place = cuckoo_table_place(other, row, fingerprints[i]);
            assert_true(cuckoo_table_contains(table, &place));
        }
    }
}

/* Every width and bucket size, from tables that are copies to tables that have nothing in common, with stashes. */
static void many_at_once_as_one_by_one(void **state)
{
    (void)state;
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    struct random_source random = random_from_seed(test_seed(11));
    for (uint32_t number = 0; number < 1408; number += is_brief() ? 3 : 1) {
        struct cuckoo_table table, other;
        struct cuckoo_geometry geometry = geometries(number);
        uint32_t slots = geometry.buckets * geometry.bucket_size;
        assert_true(cuckoo_table_init(&table, geometry, 40, &allocator));
        fill_from_pool(&table, &random, random_choice(&random, 2 * slots + 1), &allocator);
        if (number % 4 == 0)
            assert_true(cuckoo_table_copy(&other, &table, &allocator));
        else
            assert_true(cuckoo_table_init(&other, geometry, 40, &allocator));
        fill_from_pool(&other, &random, random_choice(&random, slots / (number % 4 == 0 ? 8 : 1) + 1), &allocator);
        take_over(&table, &other, number % 2 == 0, &allocator);
        assert_true(cuckoo_table_check(&table));
        assert_holds_slots_of(&table, &other);
        assert_keys_are_those_of_slots(&table, &random);
        cuckoo_table_release(&table, &allocator);
        cuckoo_table_release(&other, &allocator);
    }
}

enum { TAG_PARTS = 5, COUNTER_BITS = 20 };

/* Copies of the entries of a table, with some parts of tags changed, in whatever buckets they land; some are left out,
   some come on top. */
static void fill_with_copies(struct cuckoo_table *other, const struct cuckoo_table *table, const uint32_t *parts,
                             struct random_source *random)
{
    for (uint32_t row = 0; row < cuckoo_table_rows(table); row++) {
        uint64_t words[8];
        cuckoo_table_words(table, row, words);
        for (uint32_t slot = 0; slot < 4; slot++) {
            uint64_t tag = word_tag(words[slot], table->shape);
            if (!words[slot] || random_choice(random, 20) == 0)
                continue;
            struct place place = cuckoo_table_place(table, row, word_fingerprint(words[slot], table->shape));
            place = random_choice(random, 2) ? place : other_place(place);
            uint64_t there = (uint64_t)parts[tag >> COUNTER_BITS] << COUNTER_BITS | (tag & ((1u << COUNTER_BITS) - 1));
            (void)cuckoo_table_insert(other, &place, there, random, 40);
        }
    }
}

static void fill_with_tags(struct cuckoo_table *table, struct random_source *random)
{
    uint32_t slots = table->geometry.buckets * 4;
    for (uint32_t i = random_choice(random, slots + 1); i > 0; i--) {
        struct place place = place_of_hash(hash_for_key(random_choice(random, slots)), table->geometry);
        uint64_t tag = (uint64_t)random_choice(random, TAG_PARTS) << COUNTER_BITS | random_choice(random, 1000);
        (void)cuckoo_table_insert(table, &place, tag, random, 40);
    }
}

/* The slots whose entries the other table lacks, each by a look-up. */
static void assert_differing(const struct cuckoo_table *table, const struct cuckoo_table *other, const uint32_t *parts)
{
    uint64_t added[TAG_PARTS], expected = 0, sum = 0;
    struct tag_translation translation = {added, COUNTER_BITS + table->shape.bits, true};
    for (uint64_t part = 0; part < TAG_PARTS; part++) {
        added[part] = (parts[part] - part) << translation.shift;
        translation.is_identity &= parts[part] == part;
    }
    for (uint32_t row = 0; row < cuckoo_table_rows(table); row++) {
        uint64_t words[8];
        struct slot_match match;
        cuckoo_table_words(table, row, words);
        for (uint32_t slot = 0; slot < 4; slot++) {
            struct place place = cuckoo_table_place(table, row, word_fingerprint(words[slot], table->shape));
            uint64_t tag =
                word_tag(words[slot] + added[word_tag(words[slot], table->shape) >> COUNTER_BITS], table->shape);
            if (words[slot] && !cuckoo_table_find_entry(other, &place, tag, &match))
                expected += mixed(row * 4 + slot);
        }
    }
    for (uint32_t row = 0, found = 1; found;) {
        struct slot_match slots[ENTRIES_ROOM];
        found = cuckoo_table_differing(table, other, &row, UINT32_MAX, &translation, slots);
        for (uint32_t i = 0; i < found; i++)
            sum += mixed(slots[i].bucket * 4 + slots[i].offset / 64);
    }
    assert_int_equal(sum, expected);
}

static void tagged_tables_are_compared(void **state)
{
    (void)state;
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    struct random_source random = random_from_seed(test_seed(19));
    for (uint32_t round = 0; round < 600; round++) {
        struct cuckoo_geometry geometry = geometries(round);
        geometry.bits = 24;
        geometry.bucket_size = 4;
        geometry.tag_bits = 40;
        struct cuckoo_table table, other;
        uint32_t parts[TAG_PARTS];
        for (uint32_t i = 0; i < TAG_PARTS; i++) /* rotated, or as they are */
            parts[i] = (i + (round % 3 ? 0 : 1 + round % 4)) % TAG_PARTS;
        assert_true(cuckoo_table_init(&table, geometry, 40, &allocator));
        fill_with_tags(&table, &random);
        if (round % 2) {
            assert_true(cuckoo_table_copy(&other, &table, &allocator));
        } else {
            assert_true(cuckoo_table_init(&other, geometry, 40, &allocator));
            fill_with_copies(&other, &table, parts, &random);
        }
        assert_true(cuckoo_tables_are_alike(&table, &other));
        assert_differing(&table, &other, parts);
        fill_with_tags(&other, &random);
        assert_differing(&table, &other, parts);
        cuckoo_table_release(&table, &allocator);
        cuckoo_table_release(&other, &allocator);
    }
}

/* A list of gaps is one of keys exactly if each number it leads to is a key; wrong ones are small, large and huge. */
static void lists_of_keys_are_checked(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(17));
    uint32_t refused = 0;
    for (uint32_t number = 0; number < 1408; number++) {
        struct cuckoo_geometry geometry = geometries(number);
        uint64_t gaps[MOST_ENTRIES], numbers[MOST_ENTRIES], universe = class_universe(geometry), next = 0,
                                                            list_next = 0;
        uint32_t count = 1 + random_choice(&random, MOST_ENTRIES), wrong = random_choice(&random, 2 * count);
        bool valid = true;
        struct key_places places;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t key = next;
            while (key < universe && (!is_class_key(key, geometry) || random_choice(&random, 3) == 0))
                key++;
            uint64_t chosen = number % 2 ? random_next(&random) >> random_choice(&random, 64) : -(uint64_t)1 - i;
            gaps[i] = numbers[i] = i == wrong ? chosen : key - next;
            valid &= next + gaps[i] >= gaps[i] && is_class_key(next + gaps[i], geometry);
            next += gaps[i] + 1;
        }
        assert_int_equal(cuckoo_keys_of_gaps(numbers, &places, count, &list_next, geometry), valid);
        refused += !valid;
        uint64_t from = 0;
        for (uint32_t i = 0; i < count && valid; i++) {
            struct place place = place_of_class(from + gaps[i], geometry);
            assert_int_equal(numbers[i], from + gaps[i]);
            assert_int_equal(places.entries[i], entry_at(place.bucket, place.fingerprint));
            assert_int_equal(places.others[i], place.other);
            from += gaps[i] + 1;
        }
        assert_true(!valid || list_next == from);
    }
    assert_in_range(refused, 100, 1300);
}

static roost_filter *filter_of_keys(const roost_config *config, uint64_t from, uint64_t to)
{
    roost_filter *filter = new_filter(config);
    for (uint64_t key = from; key < to; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    return filter;
}

/* From nothing in common to all, with and without a journal: a merge gives the bytes and the digest of a filter to which
   all was added, and its delta is what was new. */
static void merging_is_adding(void **state)
{
    (void)state;
    const uint64_t keys = 3000;
    for (uint32_t size = 1; size <= 8; size *= 2)
        for (uint32_t bits = 4; bits <= 32; bits += is_brief() ? 4 : 1)
            for (uint64_t common = 0; common <= keys; common += keys / 4) {
                roost_config config = cuckoo_config(bits, size, 2 * keys);
                roost_filter *a = filter_of_keys(&config, 0, keys), *delta;
                roost_filter *b = filter_of_keys(&config, keys - common, 2 * keys - common);
                roost_filter *expected = filter_of_keys(&config, 0, 2 * keys - common), *journaled = clone_of(a);
                roost_cursor from, to;
                roost_buffer bytes;
                bool changed;
                assert_ok(roost_filter_get_cursor(journaled, &from));
                assert_ok(roost_filter_merge(a, &changed, b));
                assert_int_equal(changed, common < keys);
                assert_ok(roost_filter_merge(journaled, NULL, b));
                assert_ok(roost_filter_check(a));
                assert_ok(roost_filter_check(journaled));
                assert_same_frame(a, expected);
                assert_same_digest(a, expected);
                assert_same_frame(journaled, expected);
                delta = filter_of_keys(&config, 0, keys);
                assert_ok(roost_filter_encode_delta(journaled, &bytes, &to, &from));
                assert_ok(roost_filter_merge_frame(delta, NULL, bytes.data, bytes.size));
                assert_same_frame(delta, expected);
                roost_buffer_release(&bytes);
                roost_filter *all[] = {a, b, expected, journaled, delta};
                free_all(all, COUNT_OF(all));
            }
}

/* Two halves filled apart: after the merge hardly anything overflows. */
static void merge_leaves_little_overflow(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(8, 4, 100000);
    roost_filter *a = new_filter(&config), *b = new_filter(&config);
    for (uint64_t key = 0; key < 50000; key++) {
        assert_ok(roost_filter_add_hash(a, NULL, hash_for_key(key)));
        assert_ok(roost_filter_add_hash(b, NULL, hash_for_key(key + 50000)));
    }
    bool changed;
    assert_ok(roost_filter_merge(a, &changed, b));
    assert_true(changed);
    roost_info info;
    roost_filter_get_info(a, &info);
    printf("%llu of %llu overflowed\n", (unsigned long long)info.overflow, (unsigned long long)info.entries);
    assert_true(info.overflow < info.entries / 200);
    roost_filter_free(a);
    roost_filter_free(b);
}

/* How far the classes of a stash are from where they should be, on average. */
static double stash_distance(const struct stash *stash)
{
    uint64_t sum = 0, mask = 2 * stash->room - 1;
    for (uint64_t i = 0; i <= mask; i++)
        if (stash->by_class[i])
            sum += (i - stash_start(stash, stash->nodes[stash->by_class[i] - 1].key)) & mask;
    return (double)sum / (double)stash->count;
}

/* One stash poured into another in the order of its index, and keys that a stranger chose to collide: no long runs. */
static void stashes_do_not_cluster(void **state)
{
    (void)state;
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    struct stash first = {0}, second = {0}, chosen = {0};
    for (uint64_t key = 1; key <= 50000; key++)
        assert_true(stash_insert(&first, &allocator, hash_for_key(key).low | 1, 0));
    for (uint64_t i = 0; i < 2 * first.room; i++)
        if (first.by_class[i]) {
            assert_true(stash_insert(&second, &allocator, first.nodes[first.by_class[i] - 1].key, 0));
            if (second.count % 10000 == 1)
                assert_true(stash_distance(&second) < 5);
        }
    for (uint64_t x = 1; x <= 5000; x++) /* the inverse of the multiplier: without a salt all start at 0 */
        assert_true(stash_insert(&chosen, &allocator, x * UINT64_C(0xf1de83e19937733d), 0));
    printf("mean distances %.2f, %.2f, %.2f\n", stash_distance(&first), stash_distance(&second),
           stash_distance(&chosen));
    assert_true(stash_distance(&first) < 2 && stash_distance(&second) < 2 && stash_distance(&chosen) < 5);
    stash_release(&first, &allocator);
    stash_release(&second, &allocator);
    stash_release(&chosen, &allocator);
}

/* Random insertions and removals beside a plain table of what should be there. */
static void stashes_shadow_a_model(void **state)
{
    (void)state;
    enum { KEYS = 40, TAGS = 25 };
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    struct random_source random = random_from_seed(test_seed(7));
    struct stash stash = {.tagged = true};
    bool model[KEYS + 1][TAGS] = {{0}};
    uint64_t most = 0, removed = 0;
    for (uint32_t step = 0; step < 200000; step++) {
        uint64_t key = 1 + random_choice(&random, KEYS), tag = random_choice(&random, TAGS);
        bool growing = step / 5000 % 2 == 0, add = random_choice(&random, 4) < (growing ? 3u : 1u);
        uint64_t node = stash_find_entry(&stash, key, tag);
        assert_int_equal(node != NO_NODE, model[key][tag]);
        if (add && node == NO_NODE)
            assert_true(stash_insert(&stash, &allocator, key, tag));
        else if (!add && node != NO_NODE)
            stash_remove(&stash, node), removed++;
        model[key][tag] = add;
        uint64_t copies = 0;
        for (uint64_t i = 0; i < TAGS; i++)
            copies += model[key][i];
        assert_int_equal(stash_copies(&stash, key), copies);
        assert_int_equal(stash_contains(&stash, key), copies > 0);
        most = stash.count > most ? stash.count : most;
        if (step % 1000 == 0)
            assert_true(stash_check(&stash));
    }
    assert_true(most > KEYS * TAGS / 2 && removed > 10000);
    stash_release(&stash, &allocator);
}

/* Ten full replicas: far more than the table has slots. Nothing may be lost and nothing refused. */
static void merge_never_refuses(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(12, 4, 2000);
    roost_filter *all = new_filter(&config);
    for (uint64_t replica = 0; replica < 10; replica++) {
        roost_filter *one = new_filter(&config);
        for (uint64_t key = 0; key < 2000; key++)
            assert_ok(roost_filter_add_hash(one, NULL, hash_for_key(replica << 32 | key)));
        assert_ok(roost_filter_merge(all, NULL, one));
        roost_filter_free(one);
    }
    for (uint64_t replica = 0; replica < 10; replica++)
        for (uint64_t key = 0; key < 2000; key++)
            assert_true(roost_filter_contains_hash(all, hash_for_key(replica << 32 | key)));
    roost_info info;
    roost_filter_get_info(all, &info);
    assert_false(info.promise_holds);
    assert_true(info.overflow > 10000);
    assert_ok(roost_filter_check(all));
    roost_filter *copy = through_bytes(all);
    assert_true(roost_filter_equal(all, copy));
    assert_same_frame(all, copy);
    roost_filter_free(copy);
    roost_filter_free(all);
}

/* Every width and bucket size, so every way to read a bucket; half as many slots as keys, so that some adds are refused
   and others overflow. */
static void ways_to_call_agree(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 8; size *= 2)
        for (uint32_t bits = 4; bits <= 32; bits += is_brief() ? 7 : 1) {
            roost_config config = cuckoo_config(bits, size, 1000);
            assert_ways_to_call_agree(&config, NULL);
            config.capacity = 300;
            assert_ways_to_call_agree(&config, NULL);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_slots_are_compared_as_one_by_one),
        cmocka_unit_test(classes_have_one_name),
        cmocka_unit_test(class_keys_are_uniform),
        cmocka_unit_test(hashes_give_legal_places),
        cmocka_unit_test(table_keeps_what_it_took),
        cmocka_unit_test(load_is_high_for_any_size),
        cmocka_unit_test(batches_answer_as_single_calls),
        cmocka_unit_test(capacity_is_a_promise),
        cmocka_unit_test(promise_is_kept),
        cmocka_unit_test(merge_leaves_little_overflow),
        cmocka_unit_test(stashes_do_not_cluster),
        cmocka_unit_test(stashes_shadow_a_model),
        cmocka_unit_test(merge_never_refuses),
        cmocka_unit_test(ways_to_call_agree),
        cmocka_unit_test(many_at_once_as_one_by_one),
        cmocka_unit_test(merging_is_adding),
        cmocka_unit_test(lists_of_keys_are_checked),
        cmocka_unit_test(tagged_tables_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
