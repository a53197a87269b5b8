/*
 * Imported parts: filters that the real RedisBloom made answer as they did there; random replicas keep the laws of the
 * lattice, through merges, frames, deltas in any order, copies and incremental jobs; forged frames are refused or are
 * states; every allocation fails once.
 *
 * tests/golden/redisbloom/2.8.20.aof has the arrays, contents.json what they contain; tests/golden/valkey-bloom likewise.
 */
#include "golden.h"
#include "meter.h"

#include "base/hash.h"
#include "filter/importing.h"
#include "imported/murmur.h"
#include "roost/imported.h"

enum { ABSENT = 20000, MOST_REAL_PARTS = 4 };

/* ---- filters of RedisBloom ----------------------------------------------------------------------------------------- */

struct real {
    roost_imported_part parts[MOST_REAL_PARTS];
    size_t count;
};

struct file {
    uint8_t *bytes;
    size_t size, at;
};

static struct file read_golden_file(const char *name)
{
    FILE *stream = open_golden(name, "rb");
    struct file file = {.bytes = malloc(1 << 20)};
    file.size = fread(file.bytes, 1, 1 << 20, stream);
    fclose(stream);
    return file;
}

/* A line of an AOF, "*4" or "$12", as a number. */
static size_t next_number(struct file *file)
{
    size_t number = strtoull((const char *)file->bytes + file->at + 1, NULL, 10);
    file->at = (size_t)((const uint8_t *)memchr(file->bytes + file->at, '\n', file->size - file->at) - file->bytes) + 1;
    return number;
}

static roost_bytes next_argument(struct file *file)
{
    roost_bytes argument = {.size = next_number(file)};
    argument.data = file->bytes + file->at;
    file->at += argument.size + 2;
    return argument;
}

/* The header of a Bloom chain: items (8), links, options, growth (4 each), then 53 bytes a link. */
static void read_bloom_header(struct real *real, const uint8_t *header)
{
    real->count = load_half_word(header + 8);
    for (size_t i = 0; i < real->count; i++) {
        const uint8_t *link = header + 20 + 53 * i;
        roost_imported_part *part = &real->parts[i];
        *part = (roost_imported_part){.form = ROOST_IMPORTED_BLOOM,
                                      .places = load_word(link + 8),
                                      .items = load_word(link + 16),
                                      .width = load_half_word(link + 40),
                                      .capacity = load_word(link + 44)};
        memcpy(&part->fpr, link + 24, sizeof part->fpr);
    }
}

/* Of a cuckoo filter: items, buckets, deletions, tables (8 each), bucket size (2). */
static void read_cuckoo_header(struct real *real, const uint8_t *header)
{
    real->count = load_word(header + 24);
    for (size_t i = 0; i < real->count; i++)
        real->parts[i] = (roost_imported_part){.form = ROOST_IMPORTED_CUCKOO,
                                               .places = load_word(header + 8),
                                               .width = header[32],
                                               .deleted = i == 0 ? load_word(header + 16) : 0};
}

static struct real find_real(struct file *file, const char *key)
{
    struct real real = {.count = 0};
    size_t chunk = 0;
    for (file->at = 0; file->at < file->size;) {
        roost_bytes arguments[4] = {{0}};
        size_t count = next_number(file);
        for (size_t i = 0; i < count; i++)
            arguments[i] = next_argument(file);
        if (count != 4 || arguments[1].size != strlen(key) || memcmp(arguments[1].data, key, strlen(key)) != 0)
            continue;
        if (chunk++ == 0) {
            (key[0] == 'b' ? read_bloom_header : read_cuckoo_header)(&real, arguments[3].data);
        } else {
            real.parts[chunk - 2].bytes = arguments[3].data;
            real.parts[chunk - 2].size = arguments[3].size;
        }
    }
    assert_true(real.count > 0 && chunk == real.count + 1);
    return real;
}

static roost_config beside(bool cuckoo)
{
    roost_config config = roost_config_default();
    config.kind = cuckoo ? ROOST_ORCUCKOO : ROOST_CUCKOO;
    config.multiset = cuckoo;
    config.scalable = true;
    return config;
}

static uint64_t count_found(const roost_filter *filter, const char *name, const char *kind, uint64_t from, uint64_t to)
{
    uint64_t found = 0;
    char key[64];
    for (uint64_t i = from; i < to; i++) {
        int size = snprintf(key, sizeof key, "item:%s:%s%llu", name, kind, (unsigned long long)i);
        found += roost_filter_contains(filter, key, (size_t)size);
    }
    return found;
}

static void real_filters_answer_as_before(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint64_t present, absent_yes, items, capacity;
    } real_filters[] = {
        {"bf:default", 500, 108, 500, 700},        {"bf:reserved", 8000, 21, 7998, 10000},
        {"bf:nonscaling", 5000, 26, 5000, 5000},   {"bf:grown", 20000, 0, 20000, 21000},
        {"cf:default", 1700, 538, 1800, 3 * 1024}, {"cf:reserved", 8000, 329, 8050, 16384},
    };
    struct file file = read_golden_file("redisbloom/2.8.20.aof");
    for (size_t i = 0; i < COUNT_OF(real_filters); i++) {
        const char *key = real_filters[i].key;
        struct real real = find_real(&file, key);
        roost_config config = beside(key[0] == 'c');
        roost_filter *filter = new_filter(&config);
        roost_imported_info info;
        bool changed;
        assert_ok(roost_filter_import(filter, &changed, real.parts, real.count));
        assert_true(changed);
        assert_ok(roost_filter_import(filter, &changed, real.parts, real.count));
        assert_false(changed);
        assert_int_equal(count_found(filter, key + 3, "", 0, real_filters[i].present), real_filters[i].present);
        assert_int_equal(count_found(filter, key + 3, "absent:", 0, ABSENT), real_filters[i].absent_yes);
        roost_filter_get_imported(filter, &info);
        assert_int_equal(info.parts, real.count);
        assert_int_equal(info.items, real_filters[i].items);
        assert_int_equal(info.capacity, real_filters[i].capacity);
        assert_ok(roost_filter_check(filter));
        roost_filter_free(filter);
    }
    free(file.bytes);
}

/* A version, expansion (4), rate and tightening (8 each), a boolean, the number of filters (8); each: the size (8) of a
   version, bytes of the array (8), probes (4), seed (32) and array; items and capacity (8 each). */
static struct real read_valkey_bloom(struct file *file)
{
    struct real real = {.count = load_word(file->bytes + 22)};
    const uint8_t *at = file->bytes + 30;
    assert_true(real.count <= MOST_REAL_PARTS);
    for (size_t i = 0; i < real.count; i++) {
        size_t size = load_word(at), array = load_word(at + 9);
        assert_int_equal(size, array + 45);
        real.parts[i] = (roost_imported_part){.form = ROOST_IMPORTED_BLOOM_SIP,
                                              .places = 8 * array,
                                              .width = load_half_word(at + 17),
                                              .items = load_word(at + 8 + size),
                                              .capacity = load_word(at + 16 + size),
                                              .fpr = 0.01,
                                              .bytes = at + 53,
                                              .size = array};
        for (size_t word = 0; word < 4; word++)
            real.parts[i].seeds[word] = load_word(at + 21 + 8 * word);
        at += size + 24;
    }
    assert_ptr_equal(at, file->bytes + file->size);
    return real;
}

static void filters_of_valkey_bloom_answer_as_before(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file;
        uint64_t present, absent_yes;
    } filters[] = {{"default", "valkey-bloom/default.load", 500, 287},
                   {"fixed", "valkey-bloom/fixed.load", 3000, 18},
                   {"grown", "valkey-bloom/grown.load", 2000, 9}};
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        struct file file = read_golden_file(filters[i].file);
        struct real real = read_valkey_bloom(&file);
        roost_config config = beside(false);
        roost_filter *filter = new_filter(&config);
        assert_ok(roost_filter_import(filter, NULL, real.parts, real.count));
        assert_int_equal(count_found(filter, filters[i].name, "", 0, filters[i].present), filters[i].present);
        assert_int_equal(count_found(filter, filters[i].name, "absent:", 0, ABSENT), filters[i].absent_yes);
        assert_ok(roost_filter_check(filter));
        real.parts[0].form = ROOST_IMPORTED_BLOOM; /* which has no seeds */
        assert_int_equal(roost_filter_import(filter, NULL, real.parts, 1), ROOST_INVALID);
        roost_filter_free(filter);
        free(file.bytes);
    }
}

/* With the seed that all filters had before there were seeds, a part answers as without; with another one it does not. */
static void seeds_take_the_place_of_constants(void **state)
{
    (void)state;
    struct file file = read_golden_file("redisbloom/2.8.20.aof");
    for (int cuckoo = 0; cuckoo < 2; cuckoo++) {
        for (int other = 0; other < 2; other++) {
            struct real real = find_real(&file, cuckoo ? "cf:reserved" : "bf:reserved");
            roost_config config = beside(cuckoo);
            roost_filter *filter = new_filter(&config);
            for (size_t i = 0; i < real.count; i++) {
                real.parts[i].form = cuckoo ? ROOST_IMPORTED_CUCKOO_SEEDED : ROOST_IMPORTED_BLOOM_SEEDED;
                real.parts[i].seeds[0] = (cuckoo ? 0 : MURMUR_64) + (uint64_t)other;
            }
            assert_ok(roost_filter_import(filter, NULL, real.parts, real.count));
            uint64_t found = count_found(filter, "reserved", "", 0, 8000);
            uint64_t absent = count_found(filter, "reserved", "absent:", 0, ABSENT);
            assert_true(other ? found < 1000 : found == 8000 && absent == (cuckoo ? 329 : 21));
            roost_filter_free(filter);
        }
    }
    free(file.bytes);
}

/* 100 elements were added twice; all are deleted as often as they were added, through the part and a copy of it. */
static void copies_are_removed_one_by_one(void **state)
{
    (void)state;
    struct file file = read_golden_file("redisbloom/2.8.20.aof");
    struct real real = find_real(&file, "cf:default");
    roost_config config = beside(true);
    roost_filter *filter = new_filter(&config);
    roost_imported_info info;
    assert_ok(roost_filter_import(filter, NULL, real.parts, real.count));
    for (uint64_t i = 0; i < 1700; i++) {
        char key[64];
        size_t size = (size_t)snprintf(key, sizeof key, "item:default:%llu", (unsigned long long)i);
        for (uint64_t copies = i < 100 ? 2 : 1; copies > 0; copies--) {
            bool changed;
            assert_true(roost_filter_count(filter, key, size) >= copies);
            assert_ok(roost_filter_remove_one(filter, &changed, key, size));
            assert_true(changed);
        }
        if (i % 100 == 0)
            assert_int_equal(count_found(filter, "default", "", i + 1, 1700), 1699 - i);
    }
    roost_filter_get_imported(filter, &info);
    assert_int_equal(info.items, 0);
    assert_int_equal(info.removed, 1800);
    roost_filter_free(filter);
    free(file.bytes);
}

static void what_is_new_goes_beside(void **state)
{
    (void)state;
    struct file file = read_golden_file("redisbloom/2.8.20.aof");
    struct real bloom = find_real(&file, "bf:default"), cuckoo = find_real(&file, "cf:default");
    roost_config config = beside(false);
    roost_filter *filter = new_filter(&config);
    roost_info info;
    bool changed = true;
    assert_ok(roost_filter_import(filter, NULL, bloom.parts, bloom.count));
    assert_int_equal(roost_filter_import(filter, NULL, cuckoo.parts, cuckoo.count), ROOST_UNSUPPORTED);
    assert_ok(roost_filter_add(filter, &changed, "item:default:7", 14));
    assert_false(changed);
    assert_ok(roost_filter_add(filter, &changed, "heron", 5));
    assert_true(changed);
    assert_true(roost_filter_contains(filter, "heron", 5));
    roost_filter_get_brief_info(filter, &info);
    assert_int_equal(info.entries, 1);
    roost_filter_free(filter);
    config = beside(true);
    filter = new_filter(&config);
    assert_int_equal(roost_filter_import(filter, NULL, bloom.parts, bloom.count), ROOST_UNSUPPORTED);
    assert_ok(roost_filter_import(filter, NULL, cuckoo.parts, cuckoo.count));
    uint64_t before = roost_filter_count(filter, "item:default:7", 14);
    assert_ok(roost_filter_add(filter, &changed, "item:default:7", 14));
    assert_int_equal(roost_filter_count(filter, "item:default:7", 14), before + 1);
    assert_ok(roost_filter_remove(filter, &changed, "item:default:7", 14));
    assert_true(changed);
    assert_int_equal(roost_filter_count(filter, "item:default:7", 14), 0);
    roost_filter_free(filter);
    free(file.bytes);
}

/* Short keys have ways of their own. A part whose bits are all set has every key, so that none is new. */
static void keys_of_every_size_ask_the_parts(void **state)
{
    (void)state;
    const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, key[40] = {1};
    const roost_imported_part part = {
        .form = ROOST_IMPORTED_BLOOM, .places = 64, .width = 1, .fpr = 0.1, .bytes = ones, .size = sizeof ones};
    const roost_config configs[] = {bloom_config(ROOST_BLOCKED, 100, 0.01),
                                    bloom_config(ROOST_BLOCKED, 100, 0.1),
                                    bloom_config(ROOST_CLASSIC, 100, 0.01),
                                    cuckoo_config(8, 4, 100),
                                    cuckoo_config(12, 4, 100),
                                    cuckoo_config(20, 4, 100)};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        roost_filter *filter = new_filter(&configs[i]), *empty = new_filter(&configs[i]);
        assert_ok(roost_filter_import(filter, NULL, &part, 1));
        for (size_t size = 0; size <= sizeof key; size++) {
            bool changed = true;
            assert_true(roost_filter_contains(filter, key, size));
            assert_ok(roost_filter_add(filter, &changed, key, size));
            assert_false(changed || roost_filter_contains(empty, key, size));
        }
        assert_ok(roost_filter_merge_imported(empty, NULL, filter));
        assert_same_frame(filter, empty);
        FREE_ALL(filter, empty);
    }
}

/* ---- laws ----------------------------------------------------------------------------------------------------------- */

enum { WORLDS = 240, REPLICAS = 3, KEYS = 40, MADE_PARTS = 4, MOST_BYTES = 64 };

struct made {
    roost_imported_part part;
    uint8_t bytes[MOST_BYTES];
};

/* A small part that holds some keys: those that RedisBloom would put there. */
static void make_part(struct made *made, struct random_source *random, bool cuckoo)
{
    *made = (struct made){.part.form = cuckoo ? ROOST_IMPORTED_CUCKOO : ROOST_IMPORTED_BLOOM};
    roost_imported_part *part = &made->part;
    part->places = cuckoo ? 1u << random_choice(random, 4) : 64 + random_choice(random, 400);
    part->width = cuckoo ? 1 + random_choice(random, 4) : 1 + random_choice(random, 5);
    part->size = cuckoo ? part->places * part->width : (part->places + 63) / 64 * 8;
    part->fpr = cuckoo ? 0 : 0.1;
    part->deleted = cuckoo ? random_choice(random, 3) : 0;
    part->items = cuckoo ? 0 : random_choice(random, 10);
    part->bytes = made->bytes;
    assert_true(part->size <= MOST_BYTES);
    for (uint32_t i = 0; i < part->size; i++)
        made->bytes[i] = random_choice(random, 3) ? (uint8_t)random_next(random) : 0;
    for (uint64_t key = 0; cuckoo && key < KEYS; key++) {
        uint64_t hash = murmur_64((const uint8_t *)&key, sizeof key, 0);
        made->bytes[hash % part->places * part->width + random_choice(random, part->width)] = (uint8_t)(hash % 255 + 1);
    }
}

/* Another hash, for some: nothing about the lattice depends on it. */
static void give_seeds(struct made *made, struct random_source *random)
{
    roost_imported_part *part = &made->part;
    bool cuckoo = part->form == ROOST_IMPORTED_CUCKOO, sip = !cuckoo && random_choice(random, 2) == 0;
    if (random_choice(random, 2) == 0)
        return;
    part->form = cuckoo ? ROOST_IMPORTED_CUCKOO_SEEDED : sip ? ROOST_IMPORTED_BLOOM_SIP : ROOST_IMPORTED_BLOOM_SEEDED;
    for (size_t i = 0; i < (sip ? 4 : 1); i++)
        part->seeds[i] = random_next(random);
    if (sip)
        part->size = (part->places + 7) / 8;
}

struct world {
    struct random_source random;
    bool cuckoo;
    struct made parts[MADE_PARTS];
    roost_filter *replicas[REPLICAS];
};

static void change(struct world *world, roost_filter *filter)
{
    uint64_t key = random_choice(&world->random, KEYS);
    bool changed;
    switch (random_choice(&world->random, 6)) {
    case 0:
        assert_ok(roost_filter_import(filter, NULL, &world->parts[random_choice(&world->random, MADE_PARTS)].part, 1));
        break;
    case 1:
        assert_ok(roost_filter_add(filter, NULL, &key, sizeof key));
        assert_true(roost_filter_contains(filter, &key, sizeof key));
        break;
    case 2:
        if (world->cuckoo) {
            assert_ok(roost_filter_remove(filter, &changed, &key, sizeof key));
            assert_false(roost_filter_contains(filter, &key, sizeof key));
        }
        break;
    default:
        if (world->cuckoo) {
            uint64_t before = roost_filter_count(filter, &key, sizeof key);
            assert_ok(roost_filter_remove_one(filter, &changed, &key, sizeof key));
            assert_int_equal(changed, before > 0);
            assert_int_equal(roost_filter_count(filter, &key, sizeof key), before - changed);
        }
    }
}

static roost_filter *merged(const roost_filter *a, const roost_filter *b)
{
    roost_filter *sum;
    assert_ok(roost_filter_clone(a, &sum));
    assert_ok(roost_filter_merge(sum, NULL, b));
    assert_ok(roost_filter_check(sum));
    return sum;
}

static void assert_same(roost_filter *a, roost_filter *b)
{
    roost_buffer left, right;
    assert_true(roost_filter_equal(a, b));
    assert_ok(roost_filter_encode(a, &left));
    assert_ok(roost_filter_encode(b, &right));
    assert_int_equal(left.size, right.size);
    assert_memory_equal(left.data, right.data, left.size);
    roost_digest first = roost_filter_digest(a), second = roost_filter_digest(b);
    assert_memory_equal(first.bytes, second.bytes, sizeof first.bytes);
    roost_buffer_release(&left);
    roost_buffer_release(&right);
}

static bool is_within(const roost_filter *a, const roost_filter *b)
{
    roost_order order;
    assert_ok(roost_filter_compare(a, &order, b));
    return order == ROOST_EQUAL || order == ROOST_BEFORE;
}

static void check_merges(struct world *world)
{
    roost_filter *a = world->replicas[0], *b = world->replicas[1], *c = world->replicas[2];
    roost_filter *ab = merged(a, b), *ba = merged(b, a), *bc = merged(b, c);
    roost_filter *left = merged(ab, c), *right = merged(a, bc), *again = merged(ab, b);
    assert_same(ab, ba);
    assert_same(left, right);
    assert_same(again, ab);
    assert_true(is_within(a, ab) && is_within(b, ab));
    assert_int_equal(is_within(a, b), roost_filter_equal(ab, b));
    roost_filter *all[] = {ab, ba, bc, left, right, again};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        roost_filter_free(all[i]);
}

static void check_bytes(const struct world *world)
{
    roost_buffer frame;
    roost_filter *decoded;
    assert_ok(roost_filter_encode(world->replicas[0], &frame));
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, NULL));
    assert_ok(roost_filter_check(decoded));
    assert_same(decoded, world->replicas[0]);
    assert_true(roost_frame_get_memory(frame.data, frame.size) > 0);
    roost_filter_free(decoded);
    roost_buffer_release(&frame);
}

/* Deltas of single changes, merged in any order and twice, make what a merge makes: also removals before their part. */
static void check_deltas(struct world *world)
{
    enum { DELTAS = 12 };
    roost_filter *from = world->replicas[1], *to, *expected;
    roost_buffer deltas[DELTAS];
    roost_cursor cursor;
    assert_ok(roost_filter_clone(from, &to));
    assert_ok(roost_filter_get_cursor(from, &cursor));
    for (size_t i = 0; i < DELTAS; i++) {
        change(world, from);
        assert_ok(roost_filter_encode_delta(from, &deltas[i], &cursor, &cursor));
    }
    expected = merged(to, from);
    for (size_t i = 0, at = random_choice(&world->random, DELTAS); i < 2 * DELTAS; i++, at = (at + 5) % DELTAS) {
        assert_ok(roost_filter_merge_frame(to, NULL, deltas[at].data, deltas[at].size));
        assert_ok(roost_filter_check(to));
    }
    assert_same(to, expected);
    for (size_t i = 0; i < DELTAS; i++)
        roost_buffer_release(&deltas[i]);
    roost_filter_free(to);
    roost_filter_free(expected);
}

static void check_jobs(struct world *world)
{
    roost_filter *a = world->replicas[0], *expected = merged(a, world->replicas[2]), *copy;
    roost_buffer frame;
    roost_merge_job *merging;
    roost_copy_job *copying;
    roost_bytes encoded;
    bool changed, done = false;
    assert_ok(roost_filter_encode(world->replicas[2], &frame));
    assert_ok(roost_merge_job_new(&merging, a, NULL));
    assert_ok(roost_merge_job_read(merging, frame.data, frame.size, 100));
    while (!done)
        assert_ok(roost_merge_job_step(merging, a, &changed, &done, &encoded));
    assert_same(a, expected);
    roost_merge_job_free(merging);
    roost_buffer_release(&frame);
    assert_ok(roost_copy_job_new(&copying, a, NULL));
    for (done = false; !done;)
        assert_ok(roost_copy_job_step(copying, a, &done, 1));
    copy = roost_copy_job_finish(copying);
    assert_same(copy, expected);
    roost_filter_free(copy);
    roost_filter_free(expected);
}

static void replicas_keep_the_laws(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1);
    for (uint64_t i = 0; i < count_of_worlds(WORLDS); i++) {
        struct world world = {.random = random_from_seed(seed + i), .cuckoo = i % 2};
        roost_config config = i % 4 < 2 ? beside(world.cuckoo) : orcuckoo_config(12, 64, true, 500);
        if (i % 4 == 2)
            config = i % 16 == 14 ? cuckoo_config(12, 4, 500)
                                  : bloom_config(i % 8 == 2 ? ROOST_BLOCKED : ROOST_CLASSIC, 500, 0.01);
        config.scalable |= i % 16 == 10; /* a series of Bloom filters */
        for (size_t part = 0; part < MADE_PARTS; part++)
            make_part(&world.parts[part], &world.random, world.cuckoo), give_seeds(&world.parts[part], &world.random);
        for (size_t replica = 0; replica < REPLICAS; replica++) {
            world.replicas[replica] = new_filter(&config);
            for (uint32_t changes = random_choice(&world.random, 30); changes > 0; changes--)
                change(&world, world.replicas[replica]);
        }
        check_merges(&world);
        check_bytes(&world);
        check_deltas(&world);
        check_jobs(&world);
        for (size_t replica = 0; replica < REPLICAS; replica++)
            roost_filter_free(world.replicas[replica]);
    }
}

/* Two replicas that remove two elements of one class at the same time lose neither of the others. */
static void concurrent_removals_lose_nothing(void **state)
{
    (void)state;
    uint8_t slots[4] = {9, 9, 9, 0};
    roost_imported_part part = {
        .form = ROOST_IMPORTED_CUCKOO, .places = 1, .width = 4, .bytes = slots, .size = sizeof slots};
    roost_config config = beside(true);
    roost_filter *a = new_filter(&config), *b;
    uint64_t key = 0;
    while (murmur_64((const uint8_t *)&key, sizeof key, 0) % 255 + 1 != 9)
        key++;
    assert_ok(roost_filter_import(a, NULL, &part, 1));
    assert_ok(roost_filter_clone(a, &b));
    assert_int_equal(roost_filter_count(a, &key, sizeof key), 3);
    assert_ok(roost_filter_remove_one(a, NULL, &key, sizeof key));
    assert_ok(roost_filter_remove_one(b, NULL, &key, sizeof key));
    assert_ok(roost_filter_merge(a, NULL, b));
    assert_int_equal(roost_filter_count(a, &key, sizeof key), 2);
    assert_ok(roost_filter_remove_one(b, NULL, &key, sizeof key));
    assert_ok(roost_filter_merge(a, NULL, b));
    assert_int_equal(roost_filter_count(a, &key, sizeof key), 1);
    roost_filter_free(a);
    roost_filter_free(b);
}

/* ---- hostile input -------------------------------------------------------------------------------------------------- */

static void sign(uint8_t *frame, size_t size)
{
    store_word(frame + size - 8, checksum_bytes(frame, size - 8));
}

static roost_buffer small_frame(bool cuckoo)
{
    struct made part;
    struct random_source random = random_from_seed(7);
    roost_config config = beside(cuckoo);
    roost_filter *filter = new_filter(&config);
    roost_buffer frame;
    for (size_t i = 0; i < 2; i++) {
        make_part(&part, &random, cuckoo);
        assert_ok(roost_filter_import(filter, NULL, &part.part, 1));
    }
    for (uint64_t key = 0; key < 12; key++) {
        assert_ok(roost_filter_add(filter, NULL, &key, sizeof key));
        if (cuckoo)
            assert_ok(roost_filter_remove(filter, NULL, &key, sizeof key));
    }
    assert_ok(roost_filter_encode(filter, &frame));
    roost_filter_free(filter);
    return frame;
}

/* Every later version must read and write these byte for byte. */
static void golden_frames_are_written(void **state)
{
    (void)state;
    for (int cuckoo = 0; cuckoo < 2; cuckoo++) {
        struct random_source random = random_from_seed(11);
        roost_config config = beside(cuckoo);
        roost_filter *filter = new_filter(&config);
        for (size_t i = 0; i < 3; i++) {
            struct made part;
            make_part(&part, &random, cuckoo);
            if (i == 2 && !cuckoo)
                part.part.form = ROOST_IMPORTED_BLOOM_32;
            assert_ok(roost_filter_import(filter, NULL, &part.part, 1));
        }
        for (uint64_t key = 0; key < 20; key++)
            assert_ok(cuckoo ? roost_filter_remove(filter, NULL, &key, sizeof key)
                             : roost_filter_add(filter, NULL, &key, sizeof key));
        assert_golden_frame(cuckoo ? "imported-cuckoo" : "imported-bloom", filter);
        roost_filter_free(filter);
    }
}

static void golden_frames_with_seeds_are_written(void **state)
{
    (void)state;
    for (int cuckoo = 0; cuckoo < 2; cuckoo++) {
        struct random_source random = random_from_seed(12);
        roost_config config = beside(cuckoo);
        roost_filter *filter = new_filter(&config);
        for (size_t i = 0; i < 4; i++) {
            struct made part;
            make_part(&part, &random, cuckoo);
            give_seeds(&part, &random);
            assert_ok(roost_filter_import(filter, NULL, &part.part, 1));
        }
        for (uint64_t key = 0; key < 20; key++)
            assert_ok(cuckoo ? roost_filter_remove(filter, NULL, &key, sizeof key)
                             : roost_filter_add(filter, NULL, &key, sizeof key));
        assert_golden_frame(cuckoo ? "imported-cuckoo-seeds" : "imported-bloom-seeds", filter);
        roost_filter_free(filter);
    }
}

/* What is accepted is a state: sound, and the only bytes of it. */
static bool accepts(const uint8_t *bytes, size_t size)
{
    roost_filter *filter;
    roost_buffer again;
    if (roost_filter_decode(&filter, bytes, size, NULL) != ROOST_OK)
        return false;
    assert_ok(roost_filter_check(filter));
    assert_ok(roost_filter_encode(filter, &again));
    assert_int_equal(again.size, size);
    assert_memory_equal(again.data, bytes, size);
    roost_buffer_release(&again);
    roost_filter_free(filter);
    return true;
}

static void forged_frames_are_refused_or_states(void **state)
{
    (void)state;
    for (int cuckoo = 0; cuckoo < 2; cuckoo++) {
        roost_buffer frame = small_frame(cuckoo);
        uint8_t *copy = malloc(frame.size);
        uint64_t accepted = 0;
        assert_true(accepts(frame.data, frame.size));
        for (size_t bit = 0; bit < 8 * (frame.size - 8); bit++) {
            memcpy(copy, frame.data, frame.size);
            copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
            sign(copy, frame.size);
            accepted += accepts(copy, frame.size);
        }
        assert_true(accepted > 0 && accepted < 8 * frame.size);
        for (size_t size = 0; size < frame.size; size++) {
            uint8_t *cut = malloc(size + 1);
            memcpy(cut, frame.data, size);
            if (size >= 8)
                sign(cut, size);
            assert_false(accepts(cut, size));
            free(cut);
        }
        free(copy);
        roost_buffer_release(&frame);
    }
}

/* A part that claims to be larger than its frame costs nothing. */
static void sizes_are_checked_before_memory_is_taken(void **state)
{
    (void)state;
    struct meter meter;
    roost_environment environment = {.allocator = allocator_of(&meter)};
    roost_buffer frame = small_frame(false);
    roost_filter *filter;
    for (size_t at = 0; at + 9 < frame.size - 8; at++) {
        uint8_t saved[9];
        memcpy(saved, frame.data + at, sizeof saved);
        memset(frame.data + at, 0xff, sizeof saved - 1);
        frame.data[at + 8] = 0x7f;
        sign(frame.data, frame.size);
        if (roost_filter_decode(&filter, frame.data, frame.size, &environment) == ROOST_OK)
            roost_filter_free(filter);
        memcpy(frame.data + at, saved, sizeof saved);
    }
    assert_int_equal(meter.outstanding, 0);
    assert_true(meter.largest < (1 << 16));
    roost_buffer_release(&frame);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

typedef roost_status attempt(roost_filter *filter, roost_filter *other, const roost_buffer *frames);

static roost_status attempt_merge(roost_filter *filter, roost_filter *other, const roost_buffer *frames)
{
    (void)frames;
    return roost_filter_merge(filter, NULL, other);
}

static roost_status attempt_frame(roost_filter *filter, roost_filter *other, const roost_buffer *frames)
{
    (void)other;
    return roost_filter_merge_frame(filter, NULL, frames[0].data, frames[0].size);
}

static roost_status attempt_delta(roost_filter *filter, roost_filter *other, const roost_buffer *frames)
{
    (void)other;
    return roost_filter_merge_frame(filter, NULL, frames[1].data, frames[1].size);
}

static roost_status attempt_remove(roost_filter *filter, roost_filter *other, const roost_buffer *frames)
{
    uint64_t key = 3;
    (void)other, (void)frames;
    return roost_filter_remove_one(filter, NULL, &key, sizeof key);
}

static roost_status attempt_encode(roost_filter *filter, roost_filter *other, const roost_buffer *frames)
{
    roost_buffer frame;
    (void)other, (void)frames;
    roost_status status = roost_filter_encode(filter, &frame);
    roost_buffer_release(&frame);
    return status;
}

static roost_status attempt_clone(roost_filter *filter, roost_filter *other, const roost_buffer *frames)
{
    roost_filter *copy;
    (void)other, (void)frames;
    roost_status status = roost_filter_clone(filter, &copy);
    roost_filter_free(copy);
    return status;
}

static void a_failed_call_changes_nothing(void **state)
{
    (void)state;
    static attempt *const attempts[] = {attempt_merge,  attempt_frame,  attempt_delta,
                                        attempt_remove, attempt_encode, attempt_clone};
    struct made parts[2];
    struct random_source random = random_from_seed(3);
    for (size_t i = 0; i < 2; i++)
        make_part(&parts[i], &random, true);
    for (size_t i = 0; i < COUNT_OF(attempts); i++) {
        bool failed = true;
        for (int64_t allowed = 0; failed; allowed++) {
            struct meter meter;
            roost_environment environment = {.allocator = allocator_of(&meter)};
            roost_config config = beside(true);
            roost_filter *filter, *other, *before;
            roost_buffer frames[2];
            roost_cursor cursor;
            assert_ok(roost_filter_new(&filter, &config, &environment));
            assert_ok(roost_filter_import(filter, NULL, &parts[0].part, 1));
            assert_ok(roost_filter_clone(filter, &other));
            assert_ok(roost_filter_get_cursor(other, &cursor));
            assert_ok(roost_filter_import(other, NULL, &parts[1].part, 1));
            for (uint64_t key = 0; key < 9; key++)
                assert_ok(roost_filter_remove(other, NULL, &key, sizeof key));
            assert_ok(roost_filter_encode(other, &frames[0]));
            assert_ok(roost_filter_encode_delta(other, &frames[1], &cursor, &cursor));
            assert_ok(roost_filter_clone(filter, &before));
            int64_t outstanding = meter.outstanding;
            meter.allowed = allowed;
            roost_status status = attempts[i](filter, other, frames);
            meter.allowed = -1;
            failed = status != ROOST_OK;
            if (failed) {
                assert_int_equal(status, ROOST_NO_MEMORY);
                assert_true(meter.outstanding <= outstanding + 1); /* room in a set of slots may be larger */
                assert_same(filter, before);
            }
            assert_ok(roost_filter_check(filter));
            roost_buffer_release(&frames[0]);
            roost_buffer_release(&frames[1]);
            roost_filter_free(filter);
            roost_filter_free(other);
            roost_filter_free(before);
            assert_int_equal(meter.outstanding, 0);
        }
    }
}

/* ---- sets of slots -------------------------------------------------------------------------------------------------- */

/* Slots of a universe that has dense pages, sparse ones and far ones, beside a plain array. */
enum { UNIVERSE = 40000, MODELS = 4, SET_STEPS = 400 };

static uint64_t slot_of(uint32_t element)
{
    return element < UNIVERSE / 2 ? element : (uint64_t)element * element * 977;
}

struct modelled_set {
    struct slot_set set;
    bool has[UNIVERSE];
};

static void put_slots(struct modelled_set *model, uint32_t first, uint32_t count, const struct memory_account *account)
{
    for (uint32_t i = first; i < first + count && i < UNIVERSE; i++)
        if (!model->has[i]) {
            assert_true(slot_set_reserve(&model->set, slot_of(i), 1, account));
            slot_set_put(&model->set, slot_of(i));
            model->has[i] = true;
        }
}

static void join_sets(struct modelled_set *model, const struct modelled_set *other,
                      const struct memory_account *account)
{
    struct slot_walk walk = {0};
    assert_true(slot_set_reserve_all(&model->set, &other->set, account));
    while (slot_walk_next_beyond(&other->set, &walk, &model->set))
        slot_set_put(&model->set, walk.slot);
    for (uint32_t i = 0; i < UNIVERSE; i++)
        model->has[i] |= other->has[i];
}

static void check_set(const struct modelled_set *model)
{
    struct slot_walk walk = {0};
    assert_true(slot_set_check(&model->set));
    for (uint32_t i = 0; i < UNIVERSE; i++) {
        assert_int_equal(slot_set_has(&model->set, slot_of(i)), model->has[i]);
        if (model->has[i]) {
            assert_true(slot_walk_next(&model->set, &walk));
            assert_int_equal(walk.slot, slot_of(i));
        }
    }
    assert_false(slot_walk_next(&model->set, &walk));
}

static void check_inclusion(const struct modelled_set *model, const struct modelled_set *other)
{
    bool included = true;
    for (uint32_t i = 0; i < UNIVERSE; i++)
        included &= model->has[i] || !other->has[i];
    assert_int_equal(slot_set_includes(&model->set, &other->set), included);
}

static void slot_sets_are_sets(void **state)
{
    (void)state;
    static struct modelled_set models[MODELS];
    struct random_source random = random_from_seed(29);
    struct meter meter;
    const struct memory_account account = {allocator_of(&meter), NULL};
    for (uint32_t step = 0; step < SET_STEPS; step++) {
        struct modelled_set *model = &models[random_choice(&random, MODELS)];
        const struct modelled_set *other = &models[random_choice(&random, MODELS)];
        uint32_t first = random_choice(&random, UNIVERSE);
        switch (random_choice(&random, 8)) {
        case 0:
            if (model == other)
                break;
            slot_set_release(&model->set, &account);
            assert_true(slot_set_clone(&model->set, &other->set, &account, random_choice(&random, 3) > 0));
            memcpy(model->has, other->has, sizeof model->has);
            break;
        case 1:
            join_sets(model, other, &account);
            break;
        case 2:
            put_slots(model, first, random_choice(&random, 3000), &account);
            break;
        default:
            put_slots(model, first, 1 + random_choice(&random, 3), &account);
        }
        check_inclusion(model, other);
        if (step % 8 == 0)
            check_set(model);
    }
    for (size_t i = 0; i < MODELS; i++) {
        check_set(&models[i]);
        slot_set_release(&models[i].set, &account);
    }
    assert_int_equal(meter.outstanding, 0);
}

/* ---- what copies share ---------------------------------------------------------------------------------------------- */

static roost_filter *filter_with_large_part(const roost_environment *environment, roost_imported_part *part)
{
    uint8_t *bytes = calloc(1, part->size);
    roost_config config = beside(true);
    roost_filter *filter;
    for (uint64_t key = 0; key < 200000; key++) {
        uint64_t hash = murmur_64((const uint8_t *)&key, sizeof key, 0);
        bytes[hash % part->places * part->width + key % part->width] = (uint8_t)(hash % 255 + 1);
    }
    part->bytes = bytes;
    assert_ok(roost_filter_new(&filter, &config, environment));
    assert_ok(roost_filter_import(filter, NULL, part, 1));
    free(bytes);
    for (uint64_t key = 0; key < 100000; key++)
        assert_ok(roost_filter_remove_one(filter, NULL, &key, sizeof key));
    return filter;
}

static void merge_by_job(roost_filter *filter, roost_filter *source, const roost_environment *environment)
{
    roost_merge_job *merging;
    roost_bytes encoded;
    bool changed, done = false;
    assert_ok(roost_filter_merge_imported(filter, &changed, source));
    assert_true(changed);
    assert_ok(roost_merge_job_new(&merging, filter, environment));
    assert_ok(roost_merge_job_read_filter(merging, source, 4096));
    while (!done)
        assert_ok(roost_merge_job_step(merging, filter, &changed, &done, &encoded));
    roost_merge_job_free(merging);
}

/* Neither a copy, nor a merge into a filter without the part, takes memory for it, nor does a later change. */
static void large_parts_are_shared(void **state)
{
    (void)state;
    enum { SMALL = 1 << 15 };
    roost_imported_part part = {.form = ROOST_IMPORTED_CUCKOO, .places = 1u << 18, .width = 4, .size = (size_t)4 << 18};
    struct meter meter;
    roost_environment environment = {.allocator = allocator_of(&meter)};
    roost_filter *filter = filter_with_large_part(&environment, &part), *copy, *empty, *merged_by_job;
    roost_config config = beside(true);
    const uint64_t key = 150000;
    roost_digest before = roost_filter_digest(filter);
    assert_ok(roost_filter_new(&empty, &config, &environment));
    assert_ok(roost_filter_new(&merged_by_job, &config, &environment));
    meter.largest = 0;
    assert_ok(roost_filter_clone(filter, &copy));
    assert_ok(roost_filter_merge(empty, NULL, filter));
    assert_ok(roost_filter_remove(copy, NULL, &key, sizeof key));
    assert_true(meter.largest < SMALL);
    assert_true(roost_filter_contains(filter, &key, sizeof key));
    assert_false(roost_filter_contains(copy, &key, sizeof key));
    roost_digest after = roost_filter_digest(filter), there = roost_filter_digest(empty);
    assert_memory_equal(&before, &after, sizeof before);
    assert_memory_equal(&before, &there, sizeof before);
    merge_by_job(merged_by_job, copy, &environment);
    roost_filter_free(filter); /* the last that has a block frees it */
    assert_ok(roost_filter_merge(empty, NULL, merged_by_job));
    assert_false(roost_filter_contains(empty, &key, sizeof key));
    assert_ok(roost_filter_check(empty));
    assert_ok(roost_filter_check(merged_by_job));
    roost_filter_free(merged_by_job);
    roost_filter_free(empty);
    assert_int_equal(meter.outstanding, 0);
}

static void *move_memory(void *context, void *memory)
{
    (void)context;
    size_t size = *((size_t *)memory - 1);
    size_t *elsewhere = malloc(sizeof(size_t) * 2 + size);
    memcpy(elsewhere, (uint8_t *)memory - sizeof(size_t) * 2, sizeof(size_t) * 2 + size);
    free((size_t *)memory - 2);
    return elsewhere + 2;
}

static void *sized_allocate(void *context, size_t size)
{
    (void)context;
    size_t *memory = calloc(1, sizeof(size_t) * 2 + size);
    memory[1] = size;
    return memory + 2;
}

static void sized_release(void *context, void *memory)
{
    (void)context;
    free((size_t *)memory - 2);
}

static void parts_can_be_moved(void **state)
{
    (void)state;
    roost_environment environment = {.allocator = {NULL, sized_allocate, sized_release}};
    roost_buffer frame = small_frame(true), again;
    roost_filter *filter;
    uint64_t place = 0;
    assert_ok(roost_filter_decode(&filter, frame.data, frame.size, &environment));
    while (roost_filter_defragment(&filter, &place, move_memory, NULL))
        continue;
    assert_ok(roost_filter_check(filter));
    assert_ok(roost_filter_encode(filter, &again));
    assert_int_equal(again.size, frame.size);
    assert_memory_equal(again.data, frame.data, frame.size);
    roost_buffer_release(&again);
    roost_buffer_release(&frame);
    roost_filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_filters_answer_as_before),
        cmocka_unit_test(filters_of_valkey_bloom_answer_as_before),
        cmocka_unit_test(seeds_take_the_place_of_constants),
        cmocka_unit_test(copies_are_removed_one_by_one),
        cmocka_unit_test(what_is_new_goes_beside),
        cmocka_unit_test(keys_of_every_size_ask_the_parts),
        cmocka_unit_test(replicas_keep_the_laws),
        cmocka_unit_test(concurrent_removals_lose_nothing),
        cmocka_unit_test(golden_frames_are_written),
        cmocka_unit_test(golden_frames_with_seeds_are_written),
        cmocka_unit_test(forged_frames_are_refused_or_states),
        cmocka_unit_test(sizes_are_checked_before_memory_is_taken),
        cmocka_unit_test(a_failed_call_changes_nothing),
        cmocka_unit_test(slot_sets_are_sets),
        cmocka_unit_test(large_parts_are_shared),
        cmocka_unit_test(parts_can_be_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
