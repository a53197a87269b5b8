/* Frames of multisets: they come back, golden ones stay what they were, and what is wrong is refused. */
#include "golden.h"
#include "multisets.h"

#include "base/hash.h"
#include "multiset/count_code.h"
#include "multiset/counting_cuckoo.h"

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

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
        assert_same_config(roost_multiset_get_config(back), roost_multiset_get_config(multiset));
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

/* ---- golden frames ----------------------------------------------------------------------------------------------- */

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

static void golden_frames_are_read_and_written(void **state)
{
    (void)state;
    const char *name;
    for (size_t number = 0;; number++) {
        roost_multiset *multiset = golden_multiset(number, &name), *decoded;
        if (!multiset)
            break;
        roost_buffer frame = frame_of(multiset);
        assert_golden_bytes(name, &frame);
        assert_ok(roost_multiset_decode(&decoded, frame.data, frame.size, NULL));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
