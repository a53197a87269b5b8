/* The base room: bit streams, Rice codes, varints, sorting, choices. */
#include "check.h"

#include "base/hash.h"
#include "base/hash_kernel.h"
#include "base/sort.h"

static void bits_come_back(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(1));
    for (int round = 0; round < 200; round++) {
        struct bit_writer writer;
        uint64_t values[300];
        unsigned widths[300];
        bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
        for (int i = 0; i < 300; i++) {
            widths[i] = random_choice(&random, 57);
            values[i] = random_next(&random) & ((UINT64_C(1) << widths[i]) - 1);
            write_bits(&writer, values[i], widths[i]);
        }
        write_alignment(&writer);
        struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
        for (int i = 0; i < 300; i++)
            assert_int_equal(read_bits(&reader, widths[i]), values[i]);
        read_alignment(&reader);
        assert_false(reader.failed);
        assert_int_equal(reader_bits_left(&reader), 0);
        bit_writer_release(&writer);
    }
}

/* Small, large and huge values under every parameter, the long way of write_rice included. */
static void rice_codes_come_back(void **state)
{
    (void)state;
    for (unsigned parameter = 0; parameter < 63; parameter++) {
        uint64_t quotients[] = {0, 1, 2, 47, 48, 49, 55, 56, 57, 96, 97, 1000};
        struct bit_writer writer;
        bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
        for (size_t i = 0; i < COUNT_OF(quotients); i++)
            if (quotients[i] <= UINT64_MAX >> parameter)
                for (uint64_t low = 0; low < 2; low++)
                    write_rice(&writer, quotients[i] << parameter | (low ? (UINT64_C(1) << parameter) - 1 : 0),
                               parameter);
        write_alignment(&writer);
        struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
        for (size_t i = 0; i < COUNT_OF(quotients); i++)
            if (quotients[i] <= UINT64_MAX >> parameter)
                for (uint64_t low = 0; low < 2; low++)
                    assert_int_equal(read_rice(&reader, parameter),
                                     quotients[i] << parameter | (low ? (UINT64_C(1) << parameter) - 1 : 0));
        read_alignment(&reader);
        assert_false(reader.failed);
        bit_writer_release(&writer);
    }
}

/* Lists have the bits of their codes one by one, after any bits before them, and end alike where the bits end. */
static void lists_of_rice_codes_are_codes(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(3));
    for (unsigned round = 0; round < 3000; round++) {
        uint64_t values[200], back[200];
        unsigned parameter = random_choice(&random, 60), long_codes = random_choice(&random, 100);
        size_t count = random_choice(&random, COUNT_OF(values) + 1);
        struct bit_writer one, list;
        bit_writer_init(&one, allocator_or_default((roost_allocator){0}));
        bit_writer_init(&list, allocator_or_default((roost_allocator){0}));
        unsigned before = random_choice(&random, 20);
        write_bits(&one, 5, before);
        write_bits(&list, 5, before);
        for (size_t i = 0; i < count; i++) {
            uint64_t zeros = random_choice(&random, 100) < long_codes ? random_choice(&random, 200) : 0;
            values[i] = (zeros & UINT64_MAX >> parameter) << parameter |
                        (random_next(&random) & ((UINT64_C(1) << parameter) - 1));
            write_rice(&one, values[i], parameter);
        }
        write_rice_list(&list, values, count, parameter);
        write_alignment(&one);
        write_alignment(&list);
        assert_int_equal(one.buffer.size, list.buffer.size);
        assert_memory_equal(one.buffer.data, list.buffer.data, one.buffer.size);
        size_t size =
            random_choice(&random, 2) ? list.buffer.size : random_choice(&random, (uint32_t)list.buffer.size + 1);
        struct bit_reader reader = bit_reader_over(list.buffer.data, size), slow = reader;
        read_bits(&reader, before);
        read_bits(&slow, before);
        read_rice_list(&reader, back, count, parameter);
        for (size_t i = 0; i < count; i++) {
            uint64_t value = read_rice(&slow, parameter);
            assert_true(slow.failed || (back[i] == value && value == values[i]));
        }
        assert_int_equal(reader.failed, slow.failed);
        assert_true(reader.failed || reader.position == slow.position);
        bit_writer_release(&one);
        bit_writer_release(&list);
    }
}

static void varints_come_back_and_are_shortest(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift < 64; shift++)
        for (uint64_t around = 0; around < 3; around++) {
            uint64_t value = (UINT64_C(1) << shift) + around - 1;
            uint8_t memory[32];
            struct bit_writer writer = bit_writer_over(memory, sizeof memory);
            write_varint(&writer, value);
            assert_false(writer.failed);
            struct bit_reader reader = bit_reader_over(memory, writer.buffer.size);
            assert_true(read_varint(&reader) == value);
            assert_int_equal(reader_bits_left(&reader), 0);
        }
    const struct {
        uint8_t bytes[11];
        size_t size;
    } refused[] = {
        {{0x80}, 1},                                                           /* ends too soon */
        {{0x80, 0x00}, 2},                                                     /* 0 in two bytes */
        {{0xff, 0x80, 0x00}, 3},                                               /* 127 in three */
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, 10},    /* 65 bits */
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0}, 11}, /* eleven bytes */
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct bit_reader reader = bit_reader_over(refused[i].bytes, refused[i].size);
        read_varint(&reader);
        assert_true(reader.failed);
    }
}

static void readers_never_pass_the_end(void **state)
{
    (void)state;
    const uint8_t zeros[9] = {0};
    for (size_t size = 0; size <= sizeof zeros; size++) {
        struct bit_reader reader = bit_reader_over(zeros, size);
        assert_int_equal(read_rice(&reader, 3), 0);
        assert_true(reader.failed);
        assert_int_equal(read_bits(&reader, 1), 0);
        assert_null(read_bytes(&reader, 1));
    }
    struct bit_reader padded = bit_reader_over("\xf1", 1);
    assert_int_equal(read_bits(&padded, 1), 1);
    read_alignment(&padded);
    assert_true(padded.failed);
}

static void a_fixed_writer_stops_at_its_room(void **state)
{
    (void)state;
    uint8_t memory[16] = {0};
    struct bit_writer writer = bit_writer_over(memory, sizeof memory);
    for (int i = 0; i < 100; i++)
        write_byte(&writer, 0xff);
    assert_true(writer.failed);
}

/* The parameter must be the best or, where two are nearly as good, cost at most half a per cent more. */
static void rice_parameter_is_best_for_geometric_gaps(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(2));
    for (unsigned step = 0; step < 12; step += (unsigned)stride_of(3)) {
        uint64_t universe = UINT64_C(1) << 40, count = universe / (3u << step);
        double costs[40] = {0};
        const int gaps = is_long() ? 100000 : 20000;
        for (int i = 0; i < gaps; i++) {
            uint64_t gap = 0;
            while (random_choice(&random, 3u << step) != 0)
                gap++;
            for (unsigned parameter = 0; parameter < 40; parameter++)
                costs[parameter] += (double)((gap >> parameter) + 1 + parameter);
        }
        double best = costs[0];
        for (unsigned parameter = 1; parameter < 40; parameter++)
            best = costs[parameter] < best ? costs[parameter] : best;
        assert_true(costs[rice_parameter(universe, count)] <= best * 1.005);
    }
    assert_int_equal(rice_parameter(1000, 0), 0);
    assert_int_equal(rice_parameter(10, 10), 0);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

enum { SORTED_NUMBERS = 20000, SHAPES = 3 };

/* Evenly spread, in one corner, or around eight places. */
static uint64_t number_of_shape(struct random_source *random, int shape, unsigned bits, unsigned corner_bits)
{
    uint64_t all = UINT64_MAX >> (64 - bits), corner = UINT64_MAX >> (64 - corner_bits);
    return random_next(random) & (shape == 0 ? all : shape == 1 ? corner : (corner | ~(all >> 3)) & all);
}

static void sorts_like_qsort(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(3));
    static uint64_t numbers[SORTED_NUMBERS + 1], expected[SORTED_NUMBERS], scratch[SORTED_NUMBERS];
    for (unsigned round = 0; round < 64 * SHAPES; round++) {
        unsigned bits = round / SHAPES + 1, corner_bits = 1 + random_choice(&random, bits);
        size_t count = bits % 3 == 0 ? SORTED_NUMBERS : bits % 3 == 1 ? 1000 : random_choice(&random, 100);
        for (size_t i = 0; i < count; i++)
            expected[i] = numbers[i] = number_of_shape(&random, round % SHAPES, bits, corner_bits);
        sort_numbers(numbers, scratch, count, bits);
        qsort(expected, count, sizeof *expected, by_value);
        assert_memory_equal(numbers, expected, count * sizeof *numbers);
    }
}

/* Numbers that are evenly spread are sorted in one pass. Others are so as well or refused, and then all there. */
static void sorts_spread_numbers(void **state)
{
    static uint64_t numbers[70000], sorted[COUNT_OF(numbers)], scratch[COUNT_OF(numbers)];
    struct random_source random = random_from_seed(23);
    uint32_t refused = 0;
    (void)state;
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t count = round < 280 ? random_choice(&random, 5000) : random_choice(&random, COUNT_OF(numbers));
        unsigned bits = 1 + random_choice(&random, 64), crowded = round % 4 == 3 ? random_choice(&random, bits) : 0;
        uint64_t above = bits < 64 ? random_next(&random) << bits : 0;
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = above | random_next(&random) >> (64 - bits) >> (i % 7 ? crowded : 0);
        bool done = sort_spread_numbers(sorted, numbers, count, bits);
        refused += !done;
        assert_true(done || crowded || count > UINT16_MAX);
        if (!done)
            sort_numbers(sorted, scratch, count, 64);
        qsort(numbers, count, sizeof *numbers, by_value);
        assert_memory_equal(sorted, numbers, count * sizeof *numbers);
    }
    assert_true(refused > 10 && refused < 100);
}

/* The same numbers without doubles, in disorder, from dense ones to scattered ones. */
static void sorts_distinct_numbers(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(13));
    static uint64_t numbers[SORTED_NUMBERS + 1], expected[SORTED_NUMBERS], scratch[SORTED_NUMBERS];
    for (unsigned round = 0; round < 64 * SHAPES; round++) {
        unsigned bits = round / SHAPES + 1, corner_bits = 1 + random_choice(&random, bits);
        size_t count = 0, all = round % 2 ? SORTED_NUMBERS : random_choice(&random, 300);
        for (size_t i = 0; i < all; i++)
            numbers[i] = number_of_shape(&random, round % SHAPES, bits, corner_bits);
        qsort(numbers, all, sizeof *numbers, by_value);
        for (size_t i = 0; i < all; i++)
            if (count == 0 || expected[count - 1] != numbers[i])
                expected[count++] = numbers[i];
        for (size_t i = 0; i < count; i++) {
            size_t j = random_choice(&random, (uint32_t)i + 1);
            numbers[i] = numbers[j];
            numbers[j] = expected[i];
        }
        sort_distinct_numbers(numbers, scratch, count, bits);
        assert_memory_equal(numbers, expected, count * sizeof *numbers);
    }
}

/* At every size and wherever it begins, the short way for keys gives what XXH3 itself gives. */
static void keys_hash_as_xxh3_does(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(9));
    uint8_t bytes[320];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_next(&random);
    for (int round = 0; round < 200; round++) {
        uint64_t seed = round == 0 ? 0 : round == 1 ? ROOST_DEFAULT_SEED : random_next(&random);
        struct hash_seed prepared = prepare_seed(seed);
        for (size_t size = 0; size <= 300; size++) {
            const uint8_t *key = bytes + (size_t)round % (sizeof bytes - size);
            roost_hash hash = hash_key(&prepared, key, size);
            XXH128_hash_t expected = XXH3_128bits_withSeed(key, size, seed);
            assert_int_equal(hash.low, expected.low64);
            assert_int_equal(hash.high, expected.high64);
            hash = hash_any_key(&prepared, key, size);
            assert_true(hash.low == expected.low64 && hash.high == expected.high64);
            if (!is_short_key(size))
                continue;
            hash = hash_short_key(&prepared, key, size);
            assert_true(hash.low == expected.low64 && hash.high == expected.high64);
        }
    }
}

static void three_words_hash_as_xxh3_does(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(11));
    for (int round = 0; round < 2000; round++) {
        uint64_t seed = round == 0 ? 0 : round == 1 ? ROOST_DEFAULT_SEED : random_next(&random), words[3];
        uint8_t bytes[sizeof words];
        for (int i = 0; i < 3; i++) {
            words[i] = random_choice(&random, 8) ? random_next(&random) : UINT64_MAX;
            store_word(bytes + 8 * i, words[i]);
        }
        XXH128_hash_t expected = XXH3_128bits_withSeed(bytes, sizeof bytes, seed);
        roost_hash hash = hash_three_words(seed, words[0], words[1], words[2]);
        assert_true(hash.low == expected.low64 && hash.high == expected.high64);
    }
}

/* Batches of every length, all keys of eight bytes or one of them not; words that carry as far as can be. */
static void batches_hash_as_xxh3_does(void **state)
{
    (void)state;
    enum { MOST = 40 };
    const uint64_t hard[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, UINT64_MAX - UINT32_MAX, UINT64_MAX / 3};
    struct random_source random = random_from_seed(test_seed(10));
    uint8_t bytes[MOST * 8 + 17];
    int compared = 0;
    for (const struct hash_kernel *const *kernel = hash_kernels; *kernel; kernel++)
        for (size_t count = 0; count <= MOST && (*kernel)->head.usable(); count++)
            for (size_t other = 0; other <= count; other++) { /* which key has another size; `count`: none */
                const struct hash_seed seed = prepare_seed(other % 2 ? ROOST_DEFAULT_SEED : random_next(&random));
                roost_bytes keys[MOST];
                roost_hash hashes[MOST + 1];
                for (size_t i = 0; i < sizeof bytes; i++)
                    bytes[i] = (uint8_t)random_next(&random);
                for (size_t i = 0; i < count; i++) {
                    keys[i] = (roost_bytes){bytes + i * 8 + other % 8, i == other ? count % 17 : 8};
                    if (random_choice(&random, 2))
                        store_word(bytes + i * 8 + other % 8,
                                   seed.mixed ^ hard[random_choice(&random, COUNT_OF(hard))]);
                }
                hashes[count] = (roost_hash){1, 2};
                (*kernel)->hash(&seed, hashes, keys, count);
                for (size_t i = 0; i < count; i++, compared++) {
                    XXH128_hash_t expected = XXH3_128bits_withSeed(keys[i].data, keys[i].size, seed.seed);
                    assert_int_equal(hashes[i].low, expected.low64);
                    assert_int_equal(hashes[i].high, expected.high64);
                }
                assert_true(hashes[count].low == 1 && hashes[count].high == 2);
            }
    assert_true(compared > 20000);
    for (const struct hash_kernel *const *kernel = hash_kernels; *kernel; kernel++) {
        hash_kernel_force(*kernel);
        assert_ptr_equal(hash_kernel_in_use(), *kernel);
    }
    hash_kernel_force(NULL);
    assert_true(hash_kernel_in_use()->head.usable());
}

/* Halves that are all ones carry the most; short words leave products out. */
static void products_by_halves_are_products(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(3));
    const uint64_t edges[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX - UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        for (size_t j = 0; j < COUNT_OF(edges); j++)
            assert_true(multiply_by_halves(edges[i], edges[j]) == (uint128)edges[i] * edges[j]);
    for (int round = 0; round < 100000; round++) {
        uint64_t a = random_next(&random) >> random_choice(&random, 64), b = random_next(&random);
        assert_true(multiply_by_halves(a, b) == (uint128)a * b);
        assert_true(multiply_by_halves(a, (uint32_t)b) == (uint128)a * (uint32_t)b);
    }
}

static void choices_are_even(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(4));
    int counts[8] = {0};
    for (int i = 0; i < 80000; i++)
        counts[random_choice(&random, 8)]++;
    for (int i = 0; i < 8; i++)
        assert_in_range(counts[i], 9500, 10500);
}

/* Bindings and messages between machines have these numbers. */
static void statuses_keep_their_numbers(void **state)
{
    (void)state;
    const roost_status pinned[] = {ROOST_OK,          ROOST_INVALID,   ROOST_NO_MEMORY,
                                   ROOST_TOO_LARGE,   ROOST_FULL,      ROOST_MISMATCH,
                                   ROOST_UNSUPPORTED, ROOST_NOT_FRAME, ROOST_UNSUPPORTED_VERSION,
                                   ROOST_TRUNCATED,   ROOST_CORRUPT,   ROOST_EXHAUSTED,
                                   ROOST_PROTOCOL,    ROOST_CLOCK,     ROOST_OVERFLOW,
                                   ROOST_SYSTEM,      ROOST_BUSY,      ROOST_INTERRUPTED};
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
        assert_int_equal(pinned[i], i);
}

static void every_status_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int status = ROOST_OK; status <= ROOST_INTERRUPTED; status++) {
        assert_string_not_equal(roost_status_text((roost_status)status), "unknown status");
        for (int other = ROOST_OK; other < status; other++)
            assert_string_not_equal(roost_status_text((roost_status)status), roost_status_text((roost_status)other));
    }
    assert_string_equal(roost_status_text((roost_status)(ROOST_INTERRUPTED + 1)), "unknown status");
    assert_string_equal(roost_status_text((roost_status)1000), "unknown status");
    assert_string_equal(roost_status_text((roost_status)-1), "unknown status");
}

static void the_library_has_the_version_of_its_headers(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", ROOST_VERSION_MAJOR, ROOST_VERSION_MINOR, ROOST_VERSION_PATCH);
    assert_string_equal(roost_version(), text);
    assert_int_equal(ROOST_VERSION_NUMBER,
                     ROOST_VERSION_MAJOR * 10000 + ROOST_VERSION_MINOR * 100 + ROOST_VERSION_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_come_back),
        cmocka_unit_test(rice_codes_come_back),
        cmocka_unit_test(lists_of_rice_codes_are_codes),
        cmocka_unit_test(varints_come_back_and_are_shortest),
        cmocka_unit_test(readers_never_pass_the_end),
        cmocka_unit_test(a_fixed_writer_stops_at_its_room),
        cmocka_unit_test(rice_parameter_is_best_for_geometric_gaps),
        cmocka_unit_test(sorts_like_qsort),
        cmocka_unit_test(sorts_spread_numbers),
        cmocka_unit_test(sorts_distinct_numbers),
        cmocka_unit_test(keys_hash_as_xxh3_does),
        cmocka_unit_test(three_words_hash_as_xxh3_does),
        cmocka_unit_test(batches_hash_as_xxh3_does),
        cmocka_unit_test(products_by_halves_are_products),
        cmocka_unit_test(choices_are_even),
        cmocka_unit_test(statuses_keep_their_numbers),
        cmocka_unit_test(every_status_has_a_text_of_its_own),
        cmocka_unit_test(the_library_has_the_version_of_its_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
