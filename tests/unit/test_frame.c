/*
 * The bytes: what goes out comes back, one state has one frame, and nothing that is wrong gets in.
 *
 * tests/golden/accept holds frames that every later version must read and write byte for byte; tests/golden/reject
 * holds frames that must be refused, each named after its status. ROOST_WRITE_GOLDEN=1 writes both anew (a change there
 * is a change of the format and shows in review).
 */
#include "forge.h"

#include "cuckoo/class_keys.h"
#include "frame/frame.h"
#include "golden.h"
#include "meter.h"

static void frames_come_back(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(7));
    for (uint64_t number = 0; number < 600; number++) {
        uint64_t capacity = 1 + random_choice(&random, 2000);
        roost_config config = number % 4 ? some_config(number, capacity) : some_orcuckoo_config(number / 4, capacity);
        roost_filter *filter = new_filter(&config);
        for (uint64_t key = random_choice(&random, (uint32_t)capacity + 1); key > 0; key--)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(random_next(&random))));
        roost_filter *back = through_bytes(filter);
        assert_ok(roost_filter_check(back));
        assert_true(roost_filter_equal(filter, back));
        assert_same_frame(filter, back);
        assert_same_digest(filter, back);
        roost_filter_free(filter);
        roost_filter_free(back);
    }
}

enum { SAMPLES = 6 };

static roost_config sample_config(int kind)
{
    if (kind < 2)
        return bloom_config(kind ? ROOST_CLASSIC : ROOST_BLOCKED, 60, 0.02);
    if (kind == 2)
        return cuckoo_config(9, 4, 60);
    return kind == 3 ? orcuckoo_config(24, 64, false, 60) : orcuckoo_config(8, kind == 4 ? 64 : 32, true, 60);
}

/* Observed-remove ones have two actors, in an order that does not change, and some dead dots. */
static roost_filter *sample(int kind)
{
    roost_config config = sample_config(kind);
    static struct counted_entropy entropy;
    entropy = (struct counted_entropy){.next = 0x5151, .step = 0x123456789abcdef};
    roost_environment environment = {.entropy = {&entropy, draw_counted}};
    roost_filter *filter, *other;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    for (uint64_t key = 0; key < 45; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    other = clone_of(filter);
    for (uint64_t key = 45; key < 55; key++)
        assert_ok(roost_filter_add_hash(other, NULL, hash_for_key(key)));
    for (uint64_t key = 0; key < 55 && kind > 2; key += 4)
        assert_ok(roost_filter_remove_hash(other, NULL, hash_for_key(key)));
    assert_ok(roost_filter_merge(filter, NULL, other));
    roost_filter_free(other);
    return filter;
}

/* In memory of its exact size, so that a sanitizer sees the smallest step beyond. */
static uint8_t *exact_copy(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size + !size);
    if (size)
        memcpy(exact, bytes, size);
    return exact;
}

static void assert_refused(const uint8_t *bytes, size_t size)
{
    roost_filter *filter = (roost_filter *)&size;
    uint8_t *exact = exact_copy(bytes, size);
    assert_int_not_equal(roost_filter_decode(&filter, exact, size, NULL), ROOST_OK);
    assert_null(filter);
    free(exact);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < SAMPLES; kind++) {
        roost_filter *filter = sample(kind);
        roost_buffer frame;
        assert_ok(roost_filter_encode(filter, &frame));
        for (size_t size = 0; size < frame.size; size++)
            assert_refused(frame.data, size);
        uint8_t *longer = calloc(1, frame.size + 1);
        memcpy(longer, frame.data, frame.size);
        assert_refused(longer, frame.size + 1);
        free(longer);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
}

static void every_flipped_bit_is_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < SAMPLES; kind++) {
        roost_filter *filter = sample(kind);
        roost_buffer frame;
        assert_ok(roost_filter_encode(filter, &frame));
        for (size_t bit = 0; bit < frame.size * 8; bit++) {
            frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_refused(frame.data, frame.size);
            frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
}

/* The checksum is put right after each change, as an attacker would: what is accepted must be a sound filter that
 * encodes to the very same bytes, so no state has a second frame. */
static void forged_frames_are_refused_or_canonical(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(8));
    roost_environment environment = {.memory_limit = 1 << 24};
    int accepted = 0, refused = 0;
    for (int kind = 0; kind < SAMPLES; kind++) {
        roost_filter *filter = sample(kind);
        roost_buffer frame;
        assert_ok(roost_filter_encode(filter, &frame));
        uint8_t *forged = malloc(frame.size);
        for (int round = 0; round < (int)rounds_of(40000); round++) {
            memcpy(forged, frame.data, frame.size);
            for (uint32_t change = 1 + random_choice(&random, 3); change > 0; change--)
                forged[7 + random_choice(&random, (uint32_t)frame.size - 15)] ^=
                    (uint8_t)(1u << random_choice(&random, 8));
            store_word(forged + frame.size - 8, checksum_bytes(forged, frame.size - 8));
            roost_filter *decoded;
            if (roost_filter_decode(&decoded, forged, frame.size, &environment) != ROOST_OK) {
                refused++;
                continue;
            }
            accepted++;
            roost_buffer again;
            assert_ok(roost_filter_check(decoded));
            assert_ok(roost_filter_encode(decoded, &again));
            assert_int_equal(again.size, frame.size);
            assert_memory_equal(again.data, forged, frame.size);
            roost_buffer_release(&again);
            roost_filter_free(decoded);
        }
        free(forged);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
    printf("%d accepted, %d refused\n", accepted, refused);
    assert_true(accepted > 1000 && refused > 1000);
}

/* Every length of the length: bodies around 2^7, 2^14 and 2^21 bytes. */
static void long_frames_come_back(void **state)
{
    (void)state;
    const uint64_t bytes[] = {100, 127, 128, 16000, 16384, 17000, 2097000, 2097152, 2200000};
    for (size_t i = 0; i < COUNT_OF(bytes) - (is_brief() ? 3 : 0); i++) { /* the last three are of two megabytes */
        roost_config config = bloom_config(ROOST_CLASSIC, bytes[i] * 8 * 2 / 3, 0.5);
        roost_filter *filter = new_filter(&config);
        for (uint64_t key = 0; key < config.capacity; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        roost_filter *back = through_bytes(filter);
        assert_true(roost_filter_equal(filter, back));
        roost_filter_free(back);
        roost_filter_free(filter);
    }
}

/* A frame of a few bytes that asks for a filter of terabytes. */
static void small_frames_cannot_take_all_memory(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        roost_config config = kind ? cuckoo_config(8, 4, 1) : bloom_config(ROOST_BLOCKED, 1, 0.01);
        config.capacity = 200000000;
        roost_filter *filter = NULL;
        roost_environment limited = {.memory_limit = 1 << 20};
        assert_int_equal(roost_filter_new(&filter, &config, &limited), ROOST_TOO_LARGE);
        assert_null(filter);
        assert_ok(roost_filter_new(&filter, &config, NULL)); /* calloc: pages that nobody touches */
        roost_buffer frame;
        if (kind == 0) {
            assert_ok(roost_filter_encode(filter, &frame));
            roost_filter *decoded;
            assert_true(frame.size < 100);
            assert_int_equal(roost_filter_decode(&decoded, frame.data, frame.size, &limited), ROOST_TOO_LARGE);
            assert_null(decoded);
            roost_buffer_release(&frame);
        }
        roost_filter_free(filter);
    }
}

/* Many entries for a table of one bucket: they would all go to the stash. */
static void a_stash_counts_against_the_limit(void **state)
{
    (void)state;
    only_as_shipped();
    roost_config config = cuckoo_config(32, 4, 1);
    roost_filter *all = new_filter(&config), *one, *decoded;
    for (uint64_t key = 0; key < 20000; key++) {
        one = new_filter(&config);
        assert_ok(roost_filter_add_hash(one, NULL, hash_for_key(key)));
        assert_ok(roost_filter_merge(all, NULL, one));
        roost_filter_free(one);
    }
    roost_buffer frame;
    assert_ok(roost_filter_encode(all, &frame));
    roost_environment limited = {.memory_limit = 1 << 18};
    assert_int_equal(roost_filter_decode(&decoded, frame.data, frame.size, &limited), ROOST_TOO_LARGE);
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, NULL));
    assert_true(roost_filter_equal(decoded, all));
    roost_filter_free(decoded);
    /* and in a merge, which leaves things as they were */
    assert_ok(roost_filter_new(&one, &config, &limited));
    roost_digest before = roost_filter_digest(one), after;
    assert_int_equal(roost_filter_merge(one, NULL, all), ROOST_TOO_LARGE);
    roost_info info;
    for (uint64_t key = 0; key < 20000; key++) { /* what is accepted stays within the limit */
        roost_filter *other = new_filter(&config);
        assert_ok(roost_filter_add_hash(other, NULL, hash_for_key(key)));
        roost_status status = roost_filter_merge(one, NULL, other);
        roost_filter_free(other);
        roost_filter_get_info(one, &info);
        assert_true(info.bytes_memory <= limited.memory_limit);
        if (status != ROOST_OK)
            break;
    }
    assert_true(info.bytes_memory > limited.memory_limit / 4);
    before = roost_filter_digest(one);
    assert_int_equal(roost_filter_merge(one, NULL, all), ROOST_TOO_LARGE);
    after = roost_filter_digest(one);
    assert_memory_equal(before.bytes, after.bytes, sizeof before.bytes);
    assert_ok(roost_filter_check(one));
    roost_filter_free(one);
    roost_buffer_release(&frame);
    roost_filter_free(all);
}

/* Encoding in slices of the key space, which only very large tables do, must give the same bytes. The keys of the last
   one have more bits than a slice has room for in half words. */
static void slices_give_the_same_frame(void **state)
{
    (void)state;
    const uint64_t usual = class_keys_at_once;
    for (uint64_t number = 0; number < 58; number++) {
        const uint64_t capacity = number == 57 ? 50000 : 3000;
        roost_config config = cuckoo_config(4 + (uint32_t)number % 29, 1u << number % 4, capacity);
        roost_filter *filter = new_filter(&config);
        for (uint64_t key = 0; key < capacity * 14 / 15; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        roost_buffer whole, sliced;
        assert_ok(roost_filter_encode(filter, &whole));
        class_keys_at_once = 1 + number * 20;
        assert_ok(roost_filter_encode(filter, &sliced));
        class_keys_at_once = usual;
        assert_int_equal(whole.size, sliced.size);
        assert_memory_equal(whole.data, sliced.data, whole.size);
        roost_buffer_release(&whole);
        roost_buffer_release(&sliced);
        roost_filter_free(filter);
    }
}

/*
 * Slices of some parts each, of keys that are spread, and of keys that are all in one part of the key space: a slice
 * then has many times its share.
 */
static void uneven_slices_give_the_same_frame(void **state)
{
    (void)state;
    const uint64_t usual = class_keys_at_once;
    for (uint32_t number = 0; number < 6; number++) {
        const bool uneven = number % 2;
        roost_config config = cuckoo_config(8 + number / 2 * 8, 4, 60000);
        roost_filter *filter = new_filter(&config), *decoded;
        const struct cuckoo_geometry geometry = filter->kind->table.geometry(filter);
        roost_info info = {0};
        for (uint64_t key = 0; info.entries < 50000; key++) {
            const roost_hash hash = hash_for_key(key);
            if (uneven && class_key(place_of_hash(hash, geometry), geometry) >= class_universe(geometry) / 17)
                continue;
            assert_ok(roost_filter_add_hash(filter, NULL, hash));
            if (key % 64 == 0)
                roost_filter_get_info(filter, &info);
        }
        roost_buffer whole, sliced;
        assert_ok(roost_filter_encode(filter, &whole));
        class_keys_at_once = 11000;
        assert_ok(roost_filter_encode(filter, &sliced));
        class_keys_at_once = usual;
        assert_int_equal(whole.size, sliced.size);
        assert_memory_equal(whole.data, sliced.data, whole.size);
        assert_ok(roost_filter_decode(&decoded, sliced.data, sliced.size, NULL));
        assert_true(roost_filter_equal(filter, decoded));
        roost_buffer_release(&whole);
        roost_buffer_release(&sliced);
        roost_filter_free(decoded);
        roost_filter_free(filter);
    }
}

/* ---- frames that are passed on ------------------------------------------------------------------------------------ */

/* A file in memory, whose calls fail after so many. */
struct heap_file {
    uint8_t bytes[1 << 17];
    uint64_t size;
    int64_t allowed;  /* negative: all */
    uint64_t damaged; /* a place that changes before it is read; 0: none */
};

static roost_status count_call(struct heap_file *file)
{
    return file->allowed < 0 || file->allowed-- > 0 ? ROOST_OK : ROOST_SYSTEM;
}

static roost_status heap_write(void *context, const void *bytes, size_t size)
{
    struct heap_file *file = context;
    assert_true(size <= sizeof file->bytes - file->size);
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
    return count_call(file);
}

static roost_status heap_rewrite(void *context, const void *bytes, size_t size)
{
    struct heap_file *file = context;
    assert_true(size <= file->size);
    memcpy(file->bytes, bytes, size);
    return count_call(file);
}

static roost_status heap_read(void *context, uint64_t position, uint8_t *bytes, size_t size)
{
    struct heap_file *file = context;
    assert_true(position + size <= file->size);
    if (file->damaged && file->damaged >= position && file->damaged < position + size)
        file->bytes[file->damaged] ^= 4;
    memcpy(bytes, file->bytes + position, size);
    return count_call(file);
}

static roost_status pass_on(const roost_filter *filter, struct heap_file *file, int64_t allowed)
{
    const struct frame_output output = {heap_write, heap_rewrite, heap_read, file};
    uint8_t checksum[8];
    uint64_t size;
    file->size = 0;
    file->allowed = allowed;
    roost_status status = frame_pass_on(filter, &output, &size, checksum);
    if (status == ROOST_OK) {
        assert_int_equal(size, file->size);
        assert_memory_equal(checksum, file->bytes + size - 8, 8);
    }
    return status;
}

static roost_filter *filled_cuckoo(uint64_t entries, const roost_environment *environment)
{
    roost_config config = cuckoo_config(12, 4, 15000);
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, &config, environment));
    for (uint64_t key = 0; key < entries; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    return filter;
}

/* The bytes are those of the frame in memory. Where the length could have two or three bytes, that is how it is made. */
static void frames_that_are_passed_on_are_the_same(void **state)
{
    (void)state;
    static struct heap_file file;
    const uint64_t usual = class_keys_at_once;
    int passed_on = 0, kept = 0;
    for (uint64_t entries = 200; entries < 15000; entries += is_brief() ? 1100 : 370) {
        roost_filter *filter = filled_cuckoo(entries, NULL);
        roost_buffer frame;
        assert_false(frame_is_passed_on(filter));
        assert_ok(roost_filter_encode(filter, &frame));
        class_keys_at_once = 150;
        if (frame_is_passed_on(filter)) {
            assert_ok(pass_on(filter, &file, -1));
            assert_int_equal(file.size, frame.size);
            assert_memory_equal(file.bytes, frame.data, frame.size);
            passed_on++;
        } else {
            kept++;
        }
        class_keys_at_once = usual;
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
    assert_true(passed_on > 5 && kept > 0);
}

/* Every call of the file, and every allocation. */
static void passing_on_fails_as_a_whole(void **state)
{
    (void)state;
    static struct heap_file file;
    const uint64_t usual = class_keys_at_once;
    struct meter meter;
    roost_environment environment = {.allocator = allocator_of(&meter)};
    roost_filter *filter = filled_cuckoo(3000, &environment);
    const int64_t outstanding = meter.outstanding;
    int64_t allowed = 0;
    class_keys_at_once = 900;
    assert_true(frame_is_passed_on(filter));
    for (; pass_on(filter, &file, allowed) != ROOST_OK; allowed++)
        assert_int_equal(meter.outstanding, outstanding);
    assert_true(allowed > 3);
    for (meter.allowed = allowed = 0; pass_on(filter, &file, -1) != ROOST_OK; meter.allowed = ++allowed)
        assert_int_equal(meter.outstanding, outstanding);
    assert_true(allowed > 5);
    class_keys_at_once = usual;
    roost_filter_free(filter);
    assert_int_equal(meter.outstanding, 0);
}

/* A file that is damaged before it is read again gets no checksum that fits. The header was just written. */
static void what_is_damaged_on_its_way_is_seen(void **state)
{
    (void)state;
    static struct heap_file file;
    const uint64_t usual = class_keys_at_once;
    roost_filter *filter = filled_cuckoo(3000, NULL);
    class_keys_at_once = 900;
    assert_ok(pass_on(filter, &file, -1));
    for (uint64_t at = 12, size = file.size - 8; at < size; at += 1 + size / 50) {
        file.damaged = at;
        assert_int_equal(pass_on(filter, &file, -1), ROOST_CORRUPT);
    }
    class_keys_at_once = usual;
    roost_filter_free(filter);
}

/* About 6.6 bits an entry at eight bits and a full table. */
static void sizes_are_near_the_entropy(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(8, 4, 249808);
    roost_filter *filter = new_filter(&config);
    for (uint64_t key = 0; key < config.capacity; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    roost_buffer frame;
    roost_info info;
    assert_ok(roost_filter_encode(filter, &frame));
    roost_filter_get_info(filter, &info);
    double bits = (double)frame.size * 8 / (double)info.entries;
    printf("%.3f bits an entry\n", bits);
    assert_true(bits < 6.65);
    roost_buffer_release(&frame);
    roost_filter_free(filter);
}

/* ---- golden frames ----------------------------------------------------------------------------------------------- */

struct golden {
    const char *name;
    roost_config config;
    uint64_t keys; /* "key 0", "key 1", ... */
    const char *digest;
};

static struct golden golden_frames(size_t number)
{
    struct golden frames[] = {
        {"bloom-blocked-empty", bloom_config(ROOST_BLOCKED, 1000, 0.01), 0, NULL},
        {"bloom-blocked-sparse", bloom_config(ROOST_BLOCKED, 1000, 0.01), 20, NULL},
        {"bloom-blocked-full", bloom_config(ROOST_BLOCKED, 200, 0.01), 200, NULL},
        {"bloom-blocked-five-probes", bloom_config(ROOST_BLOCKED, 200, 1.0 / 32), 200, NULL},
        {"bloom-blocked-sixteen-probes", bloom_config(ROOST_BLOCKED, 50, 1e-6), 50, NULL},
        {"bloom-classic-full", bloom_config(ROOST_CLASSIC, 200, 1.0 / 32), 200, NULL},
        {"cuckoo-empty", cuckoo_config(8, 4, 1000), 0, NULL},
        {"cuckoo-8-bit", cuckoo_config(8, 4, 300), 300, NULL},
        {"cuckoo-13-bit-pairs", cuckoo_config(13, 2, 300), 300, NULL},
        {"cuckoo-32-bit-eights", cuckoo_config(32, 8, 100), 90, NULL},
        {"cuckoo-other-seed", cuckoo_config(12, 4, 100), 100, NULL},
    };
    if (number >= COUNT_OF(frames))
        return (struct golden){0};
    if (strstr(frames[number].name, "other-seed"))
        frames[number].config.seed = UINT64_C(0xfedcba9876543210);
    return frames[number];
}

/* ---- golden frames of observed-remove filters: actors are drawn, here from a source that can be repeated --------- */

static roost_filter *golden_replica(const roost_config *config, struct counted_entropy *entropy)
{
    roost_filter *filter;
    roost_environment environment = {.entropy = {entropy, draw_counted}};
    assert_ok(roost_filter_new(&filter, config, &environment));
    return filter;
}

static roost_hash golden_key(const roost_filter *filter, uint64_t number)
{
    char key[32];
    return roost_filter_hash(filter, key, (size_t)snprintf(key, sizeof key, "key %llu", (unsigned long long)number));
}

/* Three replicas add and remove; the first one has it all, or, with gaps, the last part of each alone. */
static roost_filter *golden_removals(const roost_config *config, bool gaps)
{
    static struct counted_entropy entropy;
    entropy = (struct counted_entropy){.next = UINT64_C(0xfedcba9876543210), .step = UINT64_C(0x9e3779b97f4a7c15)};
    roost_filter *sum = golden_replica(config, &entropy);
    for (uint64_t part = 0; part < 3; part++) {
        roost_filter *replica = golden_replica(config, &entropy);
        roost_cursor cursor = {0, 0};
        roost_buffer frame;
        for (uint64_t i = 0; i < 40; i++) {
            if (gaps && i % 15 == 5) { /* what came before is left out */
                assert_ok(roost_filter_encode_delta(replica, &frame, &cursor, &cursor));
                roost_buffer_release(&frame);
            }
            add(replica, golden_key(replica, part * 20 + i));
            if (i % 3 == 2)
                assert_true(removes(replica, golden_key(replica, part * 20 + i - 1)));
            if (gaps && i % 15 == 12) {
                assert_ok(roost_filter_encode_delta(replica, &frame, &cursor, &cursor));
                assert_ok(roost_filter_merge_frame(sum, NULL, frame.data, frame.size));
                roost_buffer_release(&frame);
            }
        }
        if (!gaps)
            assert_ok(roost_filter_merge(sum, NULL, replica));
        roost_filter_free(replica);
    }
    return sum;
}

struct golden_removal {
    const char *name;
    roost_config config;
    bool empty, gaps;
};

static struct golden_removal golden_removal_frames(size_t number)
{
    struct golden_removal frames[] = {
        {"orcuckoo-empty", orcuckoo_config(24, 64, false, 1000), true, false},
        {"orcuckoo-set", orcuckoo_config(24, 64, false, 200), false, false},
        {"orcuckoo-set-pairs", orcuckoo_config(16, 64, false, 200), false, false},
        {"orcuckoo-multiset-8-bit", orcuckoo_config(8, 64, true, 200), false, false},
        {"orcuckoo-multiset-32-bit-entries", orcuckoo_config(8, 32, true, 200), false, false},
        {"orcuckoo-gaps", orcuckoo_config(24, 64, false, 200), false, true},
    };
    if (number >= COUNT_OF(frames))
        return (struct golden_removal){0};
    if (strstr(frames[number].name, "pairs"))
        frames[number].config.bucket_size = 2;
    return frames[number];
}

static roost_filter *golden_filter(const struct golden *golden)
{
    roost_filter *filter = new_filter(&golden->config);
    for (uint64_t i = 0; i < golden->keys; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "key %llu", (unsigned long long)i);
        assert_ok(roost_filter_add(filter, NULL, key, (size_t)length));
    }
    return filter;
}

static void assert_golden(const char *name, const roost_filter *filter)
{
    roost_filter *decoded;
    roost_buffer frame;
    assert_ok(roost_filter_encode(filter, &frame));
    assert_golden_bytes(name, &frame);
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, NULL));
    assert_true(roost_filter_equal(filter, decoded));
    roost_buffer_release(&frame);
    roost_filter_free(decoded);
}

static void golden_frames_are_read_and_written(void **state)
{
    (void)state;
    struct golden golden;
    for (size_t number = 0; (golden = golden_frames(number)).name; number++) {
        roost_filter *filter = golden_filter(&golden);
        assert_golden(golden.name, filter);
        roost_filter_free(filter);
    }
}

static void golden_removals_are_read_and_written(void **state)
{
    (void)state;
    struct golden_removal golden;
    for (size_t number = 0; (golden = golden_removal_frames(number)).name; number++) {
        roost_filter *filter = golden.empty ? new_filter(&golden.config) : golden_removals(&golden.config, golden.gaps);
        assert_int_equal(info_of(filter).gaps > 0, golden.gaps);
        assert_golden(golden.name, filter);
        roost_filter_free(filter);
    }
}

/* Two replicas fill tables apart, one of them takes back a third of what it can, and they meet. */
static roost_filter *golden_series(const roost_config *config)
{
    static struct counted_entropy entropy;
    entropy = (struct counted_entropy){.next = UINT64_C(0xfedcba9876543210), .step = UINT64_C(0x9e3779b97f4a7c15)};
    roost_filter *a = golden_replica(config, &entropy), *b = golden_replica(config, &entropy);
    for (uint64_t i = 0; i < 120; i++) {
        assert_ok(roost_filter_add_hash(a, NULL, golden_key(a, i)));
        assert_ok(roost_filter_add_hash(b, NULL, golden_key(b, 90 + i)));
        if (config->kind == ROOST_ORCUCKOO && i % 3 == 2)
            assert_true(removes(b, golden_key(b, 90 + i - 1)));
    }
    assert_ok(roost_filter_merge(a, NULL, b));
    roost_filter_free(b);
    return a;
}

static void golden_series_are_read_and_written(void **state)
{
    (void)state;
    static const char *const names[SERIES] = {"series-bloom-blocked", "series-bloom-classic", "growing-cuckoo",
                                              "growing-orcuckoo-set", "growing-orcuckoo-multiset"};
    for (size_t i = 0; i < SERIES; i++) {
        roost_config config = series_config(i, 20);
        config.writers = config.growth = 2;
        roost_filter *filter = golden_series(&config);
        assert_true(info_of(filter).tables > 2 || filter->kind->has_prefixes);
        assert_golden(names[i], filter);
        roost_filter_free(filter);
    }
}

/* Cuckoo filters that grow were series once: what was written then is read, and goes on as it was. */
static void assert_old_series_is_read(const char *name, uint64_t keys)
{
    static uint8_t bytes[1 << 16];
    size_t size = read_golden("accept", name, bytes, sizeof bytes);
    roost_filter *filter;
    roost_buffer frame;
    assert_ok(roost_filter_decode(&filter, bytes, size, NULL));
    assert_ok(roost_filter_check(filter));
    for (uint64_t i = 0; i < keys; i++)
        assert_true(roost_filter_contains_hash(filter, golden_key(filter, i)));
    assert_ok(roost_filter_encode(filter, &frame));
    assert_int_equal(size, frame.size);
    assert_memory_equal(bytes, frame.data, size);
    roost_buffer_release(&frame);
    for (uint64_t i = keys; i < 2000; i++)
        assert_ok(roost_filter_add_hash(filter, NULL, golden_key(filter, i)));
    for (uint64_t i = 0; i < 2000; i++)
        assert_true(roost_filter_contains_hash(filter, golden_key(filter, i)));
    roost_filter_free(filter);
}

static void old_series_of_cuckoo_tables_are_read(void **state)
{
    (void)state;
    assert_old_series_is_read("series-cuckoo", 210);
    assert_old_series_is_read("series-orcuckoo-set", 90); /* some of the others were removed */
    assert_old_series_is_read("series-orcuckoo-multiset", 90);
}

/* Deltas have no one form, so they are only read: from the first golden state to the second. */
static void golden_deltas_are_read(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    static const char *const names[] = {"delta-bloom-blocked", "delta-bloom-classic",  "delta-cuckoo",
                                        "delta-orcuckoo",      "delta-orcuckoo-8-bit", "delta-orcuckoo-32-bit-entries"};
    for (int kind = 0; kind < SAMPLES; kind++) {
        roost_filter *filter = sample(kind), *before = clone_of(filter), *decoded;
        roost_cursor cursor = {0, 0};
        roost_buffer frame;
        assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
        roost_buffer_release(&frame);
        for (uint64_t key = 100; key < 104; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        for (uint64_t key = 97; key < 103 && kind > 2; key += 2) /* one is removed as soon as it came */
            assert_ok(roost_filter_remove_hash(filter, NULL, hash_for_key(key < 100 ? key - 96 : key)));
        assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
        size_t size = renew_golden("accept", names[kind], &frame, bytes, sizeof bytes);
        assert_int_equal(bytes[5], 2);
        assert_ok(roost_filter_merge_frame(before, NULL, bytes, size));
        assert_true(roost_filter_equal(before, filter));
        assert_ok(roost_filter_decode(&decoded, bytes, size, NULL));
        assert_ok(roost_filter_check(decoded));
        roost_buffer_release(&frame);
        FREE_ALL(filter, before, decoded);
    }
}

/* What is wrong with a golden frame to refuse: bytes put over a good one, the checksum put right unless it is the
 * point. */
static const struct {
    const char *name;
    roost_status status;
    int kind;  /* of sample() */
    size_t at; /* where the byte goes; from the end if `from_end` */
    uint8_t byte;
    bool from_end, keep_checksum;
    size_t cut; /* bytes off the end */
} rejected[] = {
    {"not-frame-magic", ROOST_NOT_FRAME, 0, 0, 'r', false, true, 0},
    {"version-2", ROOST_UNSUPPORTED_VERSION, 0, 4, 2, false, false, 0},
    {"version-0", ROOST_CORRUPT, 0, 4, 0, false, false, 0},
    {"type-9", ROOST_CORRUPT, 0, 5, 9, false, false, 0},
    {"checksum", ROOST_CORRUPT, 1, 1, 0x55, true, true, 0},
    {"truncated", ROOST_TRUNCATED, 2, 0, 'R', false, true, 5},
    {"kind-unknown", ROOST_CORRUPT, 0, 7, 77, false, false, 0},
    {"kind-swapped", ROOST_CORRUPT, 0, 7, 2, false, false, 0},
    {"layout-unknown", ROOST_CORRUPT, 1, 8, 3, false, false, 0},
    {"capacity-zero", ROOST_CORRUPT, 2, 9, 0, false, false, 0},
    {"fpr-nan", ROOST_CORRUPT, 0, 17, 0x7f, false, false, 0},
    {"cuckoo-bits-33", ROOST_CORRUPT, 2, 19, 33, false, false, 0},
    {"cuckoo-bucket-3", ROOST_CORRUPT, 2, 20, 3, false, false, 0},
    {"cuckoo-entries-more", ROOST_CORRUPT, 2, 22, 0x7f, false, false, 0},
    {"cuckoo-entries-fewer", ROOST_CORRUPT, 2, 22, 0x03, false, false, 0},
    {"bloom-form-unknown", ROOST_CORRUPT, 1, 24, 2, false, false, 0},
};

static void write_rejected(size_t i)
{
    roost_filter *filter = sample(rejected[i].kind);
    roost_buffer frame;
    assert_ok(roost_filter_encode(filter, &frame));
    frame.data[rejected[i].from_end ? frame.size - 1 - rejected[i].at : rejected[i].at] = rejected[i].byte;
    if (!rejected[i].keep_checksum)
        store_word(frame.data + frame.size - 8, checksum_bytes(frame.data, frame.size - 8));
    write_golden("reject", rejected[i].name, frame.data, frame.size - rejected[i].cut);
    roost_buffer_release(&frame);
    roost_filter_free(filter);
}

static void golden_rejects_are_refused(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    for (size_t i = 0; i < COUNT_OF(rejected); i++) {
        if (writing_golden())
            write_rejected(i);
        size_t size = read_golden("reject", rejected[i].name, bytes, sizeof bytes);
        roost_filter *filter;
        roost_status status = roost_filter_decode(&filter, bytes, size, NULL);
        if (status != rejected[i].status)
            fail_msg("%s: %s", rejected[i].name, roost_status_text(status));
        assert_null(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(forged_frames_are_refused_or_canonical),
        cmocka_unit_test(long_frames_come_back),
        cmocka_unit_test(small_frames_cannot_take_all_memory),
        cmocka_unit_test(a_stash_counts_against_the_limit),
        cmocka_unit_test(slices_give_the_same_frame),
        cmocka_unit_test(uneven_slices_give_the_same_frame),
        cmocka_unit_test(frames_that_are_passed_on_are_the_same),
        cmocka_unit_test(passing_on_fails_as_a_whole),
        cmocka_unit_test(what_is_damaged_on_its_way_is_seen),
        cmocka_unit_test(sizes_are_near_the_entropy),
        cmocka_unit_test(golden_frames_are_read_and_written),
        cmocka_unit_test(golden_removals_are_read_and_written),
        cmocka_unit_test(golden_series_are_read_and_written),
        cmocka_unit_test(old_series_of_cuckoo_tables_are_read),
        cmocka_unit_test(golden_deltas_are_read),
        cmocka_unit_test(golden_rejects_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
