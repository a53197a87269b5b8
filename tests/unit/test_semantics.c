/*
 * Sets with other semantics than add-wins: what holds where replicas add and remove an element at the same time.
 *
 * The model beside the filters is a row of numbers for each replica, and merge is the larger of each two. With dots
 * (remove-wins, and add-wins for comparison) there is a number for every change that was ever made: unseen, live or
 * dead. With stamps (last-writer-wins) there is one for every element. Nothing of it knows of prefixes or tables.
 */
#include "exchange.h"
#include "forged_entry.h"
#include "golden.h"
#include "meter.h"
#include "moving.h"

#include "growing/growing_orcuckoo.h"
#include "growing/last_writer.h"
#include "prefix/semantics.h"
#include "frame/frame.h"

static const roost_semantics all_semantics[] = {ROOST_ADD_WINS, ROOST_REMOVE_WINS, ROOST_LAST_WRITER_WINS};

static roost_config config_of(roost_semantics semantics)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.scalable = true;
    config.semantics = semantics;
    return config;
}

static roost_filter *filter_of(roost_semantics semantics)
{
    roost_config config = config_of(semantics);
    return new_filter(&config);
}

static bool add_at(roost_filter *filter, uint64_t key, uint64_t time)
{
    bool changed;
    roost_filter_set_time(filter, time);
    assert_ok(roost_filter_add_hash(filter, &changed, hash_for_key(key)));
    assert_true(roost_filter_contains_hash(filter, hash_for_key(key)));
    return changed;
}

static bool remove_at(roost_filter *filter, uint64_t key, uint64_t time)
{
    bool changed;
    roost_filter_set_time(filter, time);
    assert_ok(roost_filter_remove_hash(filter, &changed, hash_for_key(key)));
    assert_false(roost_filter_contains_hash(filter, hash_for_key(key)));
    return changed;
}

static bool has(const roost_filter *filter, uint64_t key)
{
    bool has = roost_filter_contains_hash(filter, hash_for_key(key));
    assert_int_equal(roost_filter_count_hash(filter, hash_for_key(key)), has);
    return has;
}

/* Both become the merge of the two. */
static void meet(roost_filter *a, roost_filter *b)
{
    merge(a, b);
    merge(b, a);
    assert_true(roost_filter_equal(a, b));
    assert_same_digest(a, b);
}

/* ---- what holds -------------------------------------------------------------------------------------------------- */

/* One replica adds and the other removes, neither having seen the other; the removal's clock is this much ahead. */
static bool outcome(roost_semantics semantics, int ahead)
{
    roost_filter *a = filter_of(semantics), *b = filter_of(semantics);
    add_at(a, 1, 1000);
    merge(b, a);
    assert_true(has(b, 1));
    assert_false(add_at(a, 1, 2000));
    assert_true(remove_at(b, 1, (uint64_t)(2000 + ahead)));
    meet(a, b);
    bool in = has(a, 1);
    remove_at(a, 1, 3000); /* from here on each change has seen all before it */
    merge(b, a);
    assert_false(has(b, 1));
    assert_true(add_at(b, 1, 10));
    meet(a, b);
    assert_true(has(a, 1));
    FREE_ALL(a, b);
    return in;
}

static void concurrent_changes_end_as_chosen(void **state)
{
    (void)state;
    for (int ahead = -5; ahead <= 5; ahead += 5) {
        assert_true(outcome(ROOST_ADD_WINS, ahead));
        assert_false(outcome(ROOST_REMOVE_WINS, ahead));
        assert_int_equal(outcome(ROOST_LAST_WRITER_WINS, ahead), ahead <= 0); /* at the same time the addition */
    }
}

/* What was never seen may be removed, for those who have. */
static void a_removal_of_what_is_not_there_is_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_semantics); i++) {
        roost_filter *a = filter_of(all_semantics[i]), *b = filter_of(all_semantics[i]);
        add_at(a, 1, 1000);
        assert_false(remove_at(b, 1, 2000));
        meet(a, b);
        assert_int_equal(has(a, 1), all_semantics[i] == ROOST_ADD_WINS);
        FREE_ALL(a, b);
    }
}

/* Two removals that did not see each other need additions that saw both. */
static void an_addition_cancels_the_removals_that_it_has_seen(void **state)
{
    (void)state;
    roost_filter *a = filter_of(ROOST_REMOVE_WINS), *b = filter_of(ROOST_REMOVE_WINS);
    remove_at(a, 1, 0);
    remove_at(b, 1, 0);
    add_at(a, 1, 0);
    meet(a, b);
    assert_false(has(a, 1));
    roost_filter *c = clone_of(b);
    add_at(b, 1, 0);
    merge(c, b);
    assert_true(has(c, 1));
    assert_int_equal(entries_of(c), 1); /* nothing is left of the removals */
    FREE_ALL(a, b, c);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static void a_clock_that_is_behind_changes_what_it_has_seen(void **state)
{
    (void)state;
    roost_filter *a = filter_of(ROOST_LAST_WRITER_WINS), *b = filter_of(ROOST_LAST_WRITER_WINS);
    add_at(a, 1, 1000000);
    merge(b, a);
    assert_true(remove_at(b, 1, 5)); /* and yet it is later */
    meet(a, b);
    assert_false(has(a, 1));
    add_at(a, 2, 7); /* other elements have times of their own: one clock that is ahead does not move all */
    assert_int_equal(time_of_stamp(find_stamp(&as_last_writer(a)->set, prefix_of(hash_for_key(2).high, 60))), 7);
    remove_at(b, 2, 7); /* concurrently, and at the same time */
    meet(a, b);
    assert_true(has(a, 2));
    FREE_ALL(a, b);
}

static void without_a_clock_changes_are_ordered_by_what_they_have_seen(void **state)
{
    (void)state;
    roost_filter *filter = filter_of(ROOST_LAST_WRITER_WINS);
    for (unsigned i = 0; i < 100; i++) {
        bool changed;
        assert_ok(roost_filter_add_hash(filter, &changed, hash_for_key(1)));
        assert_true(changed && has(filter, 1));
        assert_ok(roost_filter_remove_hash(filter, &changed, hash_for_key(1)));
        assert_true(changed && !has(filter, 1));
    }
    assert_int_equal(entries_of(filter), 1);
    roost_filter_free(filter);
}

static void time_ends(void **state)
{
    (void)state;
    roost_filter *filter = filter_of(ROOST_LAST_WRITER_WINS);
    bool changed = true;
    add_at(filter, 1, MOST_TIME - 1);
    struct portrait before = portrait_of(filter);
    roost_filter_set_time(filter, MOST_TIME + 1);
    assert_int_equal(roost_filter_add_hash(filter, &changed, hash_for_key(2)), ROOST_CLOCK);
    assert_false(changed);
    roost_filter_set_time(filter, UINT64_MAX);
    assert_int_equal(roost_filter_remove_hash(filter, &changed, hash_for_key(1)), ROOST_CLOCK);
    assert_still(&before, filter);
    assert_true(remove_at(filter, 1, 0));
    assert_int_equal(find_stamp(&as_last_writer(filter)->set, prefix_of(hash_for_key(1).high, 60)),
                     stamp_of(MOST_TIME, false));
    before = portrait_of(filter);
    roost_filter_set_time(filter, 0);
    assert_int_equal(roost_filter_add_hash(filter, &changed, hash_for_key(1)), ROOST_CLOCK);
    assert_still(&before, filter);
    assert_true(add_at(filter, 2, 0)); /* others go on */
    assert_true(remove_at(filter, 2, 0));
    roost_filter *back = through_bytes(filter);
    assert_true(roost_filter_equal(filter, back));
    FREE_ALL(filter, back);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void others_are_add_wins(void **state)
{
    (void)state;
    roost_filter *filter;
    for (unsigned semantics = ROOST_REMOVE_WINS; semantics <= ROOST_LAST_WRITER_WINS + 1; semantics++) {
        roost_config configs[] = {bloom_config(ROOST_BLOCKED, 100, 0.01),
                                  cuckoo_config(12, 4, 100),
                                  orcuckoo_config(24, 64, false, 100),
                                  series_config(0, 100),
                                  series_config(2, 100),
                                  series_config(4, 100),
                                  series_config(3, 100)};
        for (size_t i = 0; i < COUNT_OF(configs); i++) {
            configs[i].semantics = (roost_semantics)semantics;
            bool may = i == COUNT_OF(configs) - 1 && semantics <= ROOST_LAST_WRITER_WINS;
            assert_int_equal(roost_filter_new(&filter, &configs[i], NULL), may ? ROOST_OK : ROOST_INVALID);
            roost_filter_free(filter);
        }
    }
}

static void calls_about_single_additions_are_unsupported(void **state)
{
    (void)state;
    for (size_t i = 1; i < COUNT_OF(all_semantics); i++) {
        roost_filter *filter = filter_of(all_semantics[i]);
        bool changed = true;
        roost_dot dot;
        add_at(filter, 1, 1);
        struct portrait before = portrait_of(filter);
        assert_int_equal(roost_filter_add_dot_hash(filter, &dot, hash_for_key(1)), ROOST_UNSUPPORTED);
        assert_int_equal(roost_filter_remove_one_hash(filter, &changed, hash_for_key(1)), ROOST_UNSUPPORTED);
        dot = (roost_dot){roost_filter_get_actor(filter), 1};
        assert_int_equal(roost_filter_remove_dot_hash(filter, &changed, hash_for_key(1), dot), ROOST_UNSUPPORTED);
        assert_still(&before, filter);
        roost_filter_free(filter);
    }
}

/* Neither states nor deltas, and the frames tell which is which. */
static void different_semantics_do_not_merge(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_semantics); i++)
        for (size_t j = 0; j < COUNT_OF(all_semantics); j++) {
            roost_filter *a = filter_of(all_semantics[i]), *b = filter_of(all_semantics[j]);
            roost_status expected = i == j ? ROOST_OK : ROOST_MISMATCH;
            roost_cursor cursor;
            roost_buffer state_frame, delta;
            roost_order order;
            assert_ok(roost_filter_get_cursor(b, &cursor));
            add_at(b, 1, 1);
            assert_ok(roost_filter_encode(b, &state_frame));
            assert_ok(roost_filter_encode_delta(b, &delta, &cursor, &cursor));
            assert_true(roost_frame_is_delta(delta.data, delta.size));
            assert_int_equal(roost_filter_compare(a, &order, b), expected);
            assert_int_equal(roost_filter_merge_frame(a, NULL, delta.data, delta.size), expected);
            assert_int_equal(roost_filter_merge_frame(a, NULL, state_frame.data, state_frame.size), expected);
            assert_int_equal(roost_filter_merge(a, NULL, b), expected);
            assert_int_equal(has(a, 1), i == j);
            roost_buffer_release(&state_frame);
            roost_buffer_release(&delta);
            FREE_ALL(a, b);
        }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static void seal(roost_buffer *frame)
{
    store_word(frame->data + frame->size - 8, checksum_bytes(frame->data, frame->size - 8));
}

static roost_status decodes(const roost_buffer *frame)
{
    roost_filter *filter;
    roost_status status = roost_filter_decode(&filter, frame->data, frame->size, NULL);
    roost_filter_free(filter);
    return status;
}

enum { VERSION_AT = 4, KIND_AT = 7 };

/* Programs that know nothing of semantics report the version. The kind has a bit of its own. */
static void frames_have_a_version_of_their_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_semantics); i++) {
        roost_filter *filter = filter_of(all_semantics[i]);
        roost_buffer frame;
        const uint8_t version = i == 0 ? 3 : 5;
        assert_ok(roost_filter_encode(filter, &frame));
        assert_int_equal(frame.data[VERSION_AT], version);
        assert_int_equal(frame.data[KIND_AT], i == 0 ? 35 : 163);
        for (uint8_t other = 0; other < 8; other++) {
            frame.data[VERSION_AT] = other;
            seal(&frame);
            assert_int_equal(decodes(&frame), other == version  ? ROOST_OK
                                              : other > version ? ROOST_UNSUPPORTED_VERSION
                                                                : ROOST_CORRUPT);
        }
        frame.data[VERSION_AT] = 5;
        for (unsigned kind = 0x80; kind < 256; kind++) { /* no other kind has this bit */
            frame.data[KIND_AT] = (uint8_t)kind;
            seal(&frame);
            assert_int_equal(decodes(&frame), i > 0 && kind == 163 ? ROOST_OK : ROOST_CORRUPT);
        }
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
}

/* A filter with some history, always the same. */
static roost_filter *golden_filter(roost_semantics semantics)
{
    static struct counted_entropy entropy;
    entropy = (struct counted_entropy){.next = UINT64_C(0xfedcba9876543210), .step = UINT64_C(0x9e3779b97f4a7c15)};
    const roost_environment environment = {.entropy = {&entropy, draw_counted}};
    const roost_config config = config_of(semantics);
    roost_filter *filters[2];
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(roost_filter_new(&filters[i], &config, &environment));
        for (uint64_t key = 0; key < 60; key++)
            add_at(filters[i], 30 * i + key, 1000000 + 1000 * key);
        for (uint64_t key = 0; key < 60; key += 4)
            remove_at(filters[i], 30 * i + key + i, 1030000 + 100 * key);
        remove_at(filters[i], 1000, 1);
    }
    assert_ok(roost_filter_merge(filters[0], NULL, filters[1]));
    roost_filter_free(filters[1]);
    return filters[0];
}

static void golden_frames_are_read_and_written(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "growing-orcuckoo-remove-wins", "growing-orcuckoo-last-writer-wins"};
    for (size_t i = 1; i < COUNT_OF(all_semantics); i++) {
        roost_filter *filter = golden_filter(all_semantics[i]), *back = through_bytes(filter);
        assert_golden_frame(names[i], filter);
        assert_true(roost_filter_equal(filter, back));
        for (uint64_t key = 0; key < 100; key++)
            assert_int_equal(has(filter, key), has(back, key));
        assert_ok(roost_filter_check(back));
        FREE_ALL(filter, back);
    }
}

/* Whatever a byte becomes: it is refused, or it is the frame of a state that has no other. */
static void damaged_frames_are_refused_or_are_another_state(void **state)
{
    (void)state;
    uint64_t refused = 0, taken = 0;
    for (size_t i = 1; i < COUNT_OF(all_semantics); i++) {
        roost_filter *filter = golden_filter(all_semantics[i]);
        roost_buffer frame, again;
        assert_ok(roost_filter_encode(filter, &frame));
        for (size_t at = KIND_AT; at < frame.size - 8; at += stride_of(3))
            for (unsigned bit = 0; bit < 8; bit++) {
                roost_filter *other;
                frame.data[at] ^= (uint8_t)(1u << bit);
                seal(&frame);
                if (roost_filter_decode(&other, frame.data, frame.size, NULL) == ROOST_OK) {
                    assert_ok(roost_filter_check(other));
                    assert_ok(roost_filter_encode(other, &again));
                    assert_same_bytes(&frame, &again);
                    roost_buffer_release(&again);
                    roost_filter_free(other);
                    taken++;
                } else
                    refused++;
                frame.data[at] ^= (uint8_t)(1u << bit);
            }
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
    assert_true(refused > 100 && taken > 100);
}

/* A list of stamps, told as a stranger may. */
struct told {
    uint64_t count, latest;
    unsigned bits;
    uint64_t numbers[3], ages[3];
    unsigned entries;
    bool dirty, longer;
};

static roost_status tells(const struct told *told, bool delta)
{
    roost_filter *filter = filter_of(ROOST_LAST_WRITER_WINS), *decoded;
    struct bit_writer writer;
    roost_buffer frame;
    frame_begin(&writer, filter);
    const unsigned parameter = rice_parameter(UINT64_C(1) << 60, told->count);
    write_varint(&writer, told->count);
    if (told->count) {
        write_varint(&writer, told->latest);
        write_byte(&writer, (uint8_t)told->bits);
    }
    for (unsigned i = 0; i < told->entries; i++) {
        write_rice(&writer, i ? told->numbers[i] - told->numbers[i - 1] - 1 : told->numbers[0], parameter);
        write_bits(&writer, told->ages[i], told->bits < 57 ? told->bits : 56);
    }
    if (told->dirty)
        write_bits(&writer, 1, 1);
    write_alignment(&writer);
    if (told->longer)
        write_byte(&writer, 0);
    assert_ok(frame_end(&writer, &frame, delta ? DELTA_FRAME : STATE_FRAME, ROOST_OK));
    roost_status status = roost_filter_merge_frame(filter, NULL, frame.data, frame.size);
    assert_int_equal(roost_filter_decode(&decoded, frame.data, frame.size, NULL), status);
    assert_ok(roost_filter_check(filter));
    assert_int_equal(entries_of(filter), status == ROOST_OK ? told->count : 0);
    roost_filter_free(decoded);
    roost_buffer_release(&frame);
    roost_filter_free(filter);
    return status;
}

static void lists_of_stamps_have_one_form(void **state)
{
    (void)state;
    const uint64_t last = (UINT64_C(1) << 60) - 1;
    const struct told good[] = {
        {.count = 0},
        {.count = 1, .latest = 2, .entries = 1},
        {.count = 1, .latest = stamp_of(MOST_TIME, true), .numbers = {last}, .entries = 1},
        {.count = 2, .latest = 100, .bits = 4, .numbers = {5, 6}, .ages = {0, 8}, .entries = 2},
        {.count = 2, .latest = 100, .bits = 7, .numbers = {0, last}, .ages = {98, 0}, .entries = 2},
    };
    const struct told bad[] = {
        {.count = 1, .latest = 0, .entries = 1},
        {.count = 1, .latest = 1, .entries = 1},                              /* time 0 */
        {.count = 1, .latest = stamp_of(MOST_TIME + 1, false), .entries = 1}, /* beyond the last */
        {.count = 1, .latest = UINT64_MAX, .entries = 1},
        {.count = 1, .latest = 100, .bits = 1, .entries = 1},              /* fewer bits would do */
        {.count = 1, .latest = 100, .bits = 4, .ages = {8}, .entries = 1}, /* the latest is none of them */
        {.count = 1, .latest = 100, .bits = 57, .entries = 1},
        {.count = 1, .latest = 100, .bits = 255, .entries = 1},
        {.count = 2, .latest = 100, .bits = 4, .numbers = {5, 6}, .ages = {0, 7}, .entries = 2},
        {.count = 2, .latest = 100, .bits = 7, .numbers = {5, 6}, .ages = {0, 99}, .entries = 2},  /* time 0 */
        {.count = 2, .latest = 100, .bits = 7, .numbers = {5, 6}, .ages = {0, 100}, .entries = 2}, /* before it */
        {.count = 2, .latest = 100, .bits = 7, .numbers = {5, 6}, .ages = {0, 101}, .entries = 2},
        {.count = 2, .latest = 100, .bits = 4, .numbers = {5, last + 1}, .ages = {0, 8}, .entries = 2},
        {.count = 3, .latest = 100, .bits = 4, .numbers = {5, last, last + 1}, .ages = {0, 8, 8}, .entries = 3},
        {.count = 2, .latest = 100, .bits = 4, .numbers = {5}, .ages = {0}, .entries = 1}, /* one is missing */
        {.count = 1, .latest = 100, .numbers = {5, 6}, .entries = 2},                      /* one more */
        {.count = UINT64_MAX, .latest = 100, .numbers = {5}, .entries = 1},
        {.count = UINT64_C(1) << 40, .latest = 100, .numbers = {5}, .entries = 1},
        {.count = 1, .latest = 100, .numbers = {5}, .entries = 1, .dirty = true},
        {.count = 1, .latest = 100, .numbers = {5}, .entries = 1, .longer = true},
        {.count = 0, .longer = true},
    };
    for (unsigned delta = 0; delta < 2; delta++) {
        for (size_t i = 0; i < COUNT_OF(good); i++)
            assert_ok(tells(&good[i], delta));
        for (size_t i = 0; i < COUNT_OF(bad); i++)
            assert_int_equal(tells(&bad[i], delta), ROOST_CORRUPT);
    }
}

/* ---- strangers --------------------------------------------------------------------------------------------------- */

/* However many dots of whatever prefixes a frame has: an addition is seen at once, and so is a removal. */
static void own_changes_are_seen_among_thousands_of_dots(void **state)
{
    (void)state;
    const uint64_t hash = hash_for_key(1).high;
    for (unsigned length = 4; length <= 60; length += 8)
        for (unsigned table = 0; table < 2; table++) {
            roost_filter *filter = filter_of(ROOST_REMOVE_WINS);
            if (table)
                assert_ok(tagged_set_use_table(&as_growing_orcuckoo(filter)->set, filter));
            for (uint32_t i = 1; i <= 300; i++) {
                forge_entry(filter, prefix_of(hash, length), 7, i);
                forge_entry(filter, prefix_of(hash, 60), 8, i);
            }
            assert_false(has(filter, 1));
            assert_true(add_at(filter, 1, 0));
            assert_ok(roost_filter_check(filter));
            assert_true(has(filter, 1));
            for (uint32_t i = 301; i <= 600; i++) {
                forge_entry(filter, prefix_of(hash, length), 7, i);
                forge_entry(filter, prefix_of(hash, 60), 8, i);
            }
            assert_false(remove_at(filter, 1, 0));
            assert_int_equal(entries_of(filter), 1);
            assert_ok(roost_filter_check(filter));
            roost_filter_free(filter);
        }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void a_filter_at_its_limit_refuses_and_stays(void **state)
{
    (void)state;
    for (size_t i = 1; i < COUNT_OF(all_semantics); i++) {
        const roost_config config = config_of(all_semantics[i]);
        const roost_environment environment = {.memory_limit = 40000};
        roost_filter *filter;
        uint64_t done = 0;
        roost_status status = ROOST_OK;
        assert_ok(roost_filter_new(&filter, &config, &environment));
        for (; status == ROOST_OK && done < 100000; done += status == ROOST_OK)
            status = done % 3 ? roost_filter_add_hash(filter, NULL, hash_for_key(done))
                              : roost_filter_remove_hash(filter, NULL, hash_for_key(done));
        assert_int_equal(status, ROOST_TOO_LARGE);
        assert_in_range(done, 500, 20000);
        assert_true(info_of(filter).bytes_memory <= 40000);
        struct portrait before = portrait_of(filter);
        for (uint64_t more = 0; more < 50; more++)
            if (roost_filter_remove_hash(filter, NULL, hash_for_key(1000000 + more)) == ROOST_OK) {
                portrait_release(&before); /* there was a slot for it */
                before = portrait_of(filter);
            }
        assert_still(&before, filter);
        for (uint64_t key = 0; key < done; key++)
            assert_int_equal(has(filter, key), key % 3 != 0);
        roost_filter_free(filter);
    }
}

/* Rates that leave room for a few entries. What has one can be changed. */
static void a_full_set_of_stamps_refuses_others(void **state)
{
    (void)state;
    roost_config config = config_of(ROOST_LAST_WRITER_WINS);
    config.fpr = 1e-17;
    roost_filter *filter = new_filter(&config);
    const uint64_t room = info_of(filter).growth_limit;
    assert_in_range(room, 5, 20);
    for (uint64_t key = 0; key < room; key++)
        add_at(filter, key, 1);
    struct portrait before = portrait_of(filter);
    assert_int_equal(roost_filter_add_hash(filter, NULL, hash_for_key(100)), ROOST_FULL);
    assert_int_equal(roost_filter_remove_hash(filter, NULL, hash_for_key(100)), ROOST_FULL);
    assert_still(&before, filter);
    assert_true(remove_at(filter, 1, 2));
    assert_true(info_of(filter).promise_holds);
    roost_filter_free(filter);
}

/* Each allocation of a call fails once, alone or with all after it: the call succeeds, or changes nothing. */
typedef roost_status attempt(roost_filter *filter, const roost_buffer *frame);

static roost_status try_add(roost_filter *filter, const roost_buffer *frame)
{
    (void)frame;
    return roost_filter_add_hash(filter, NULL, hash_for_key(77777));
}

static roost_status try_remove(roost_filter *filter, const roost_buffer *frame)
{
    (void)frame;
    return roost_filter_remove_hash(filter, NULL, hash_for_key(88888));
}

static roost_status try_remove_member(roost_filter *filter, const roost_buffer *frame)
{
    (void)frame;
    return roost_filter_remove_hash(filter, NULL, hash_for_key(2));
}

static roost_status try_merge(roost_filter *filter, const roost_buffer *frame)
{
    return roost_filter_merge_frame(filter, NULL, frame->data, frame->size);
}

/* So many elements that the filter is a list, is about to become a table, or has been one for long. */
static roost_filter *metered_filter(roost_semantics semantics, uint64_t size, const roost_allocator *allocator)
{
    const roost_config config = config_of(semantics);
    const roost_environment environment = {.allocator = *allocator};
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    for (uint64_t key = 0; key < size; key++)
        if (key % 5)
            add_at(filter, key, 1000);
        else
            remove_at(filter, key, 1000);
    return filter;
}

static roost_buffer frame_with(roost_semantics semantics, uint64_t from, uint64_t to)
{
    roost_filter *filter = filter_of(semantics);
    roost_buffer frame;
    for (uint64_t key = from; key < to; key++)
        if (key % 2)
            add_at(filter, key, 2000);
        else
            remove_at(filter, key, 2000);
    assert_ok(roost_filter_encode(filter, &frame));
    roost_filter_free(filter);
    return frame;
}

static uint64_t fail_each(roost_semantics semantics, uint64_t size, attempt *try, const roost_buffer *frame)
{
    uint64_t failures = 0;
    for (unsigned recovers = 0; recovers < 2; recovers++)
        for (int64_t allowed = 0;; allowed++) {
            struct meter meter;
            const roost_allocator allocator = allocator_of(&meter);
            roost_filter *filter = metered_filter(semantics, size, &allocator);
            roost_filter *clone = allowed % 2 ? clone_of(filter) : NULL; /* with which it shares memory */
            struct portrait before = portrait_of(filter);
            meter.allowed = allowed;
            meter.recovers = recovers;
            roost_status status = try(filter, frame);
            bool failed = meter.failures > 0;
            meter.allowed = -1;
            if (status != ROOST_OK) {
                assert_int_equal(status, ROOST_NO_MEMORY);
                assert_true(failed);
                assert_same_state(&before, filter);
            } else
                portrait_release(&before);
            assert_ok(roost_filter_check(filter));
            FREE_ALL(filter, clone);
            assert_int_equal(meter.outstanding, 0);
            failures += failed;
            if (!failed)
                break;
        }
    return failures;
}

static void failed_allocations_change_nothing(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 8, 64, 400};
    attempt *const attempts[] = {try_add, try_remove, try_remove_member};
    uint64_t failures = 0;
    for (size_t i = 1; i < COUNT_OF(all_semantics); i++) {
        roost_buffer few = frame_with(all_semantics[i], 2, 9), many = frame_with(all_semantics[i], 0, 1500);
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            for (size_t a = 0; a < COUNT_OF(attempts); a++)
                failures += fail_each(all_semantics[i], sizes[s], attempts[a], NULL);
            failures += fail_each(all_semantics[i], sizes[s], try_merge, &few);
            if (s % 2 == 0)
                failures += fail_each(all_semantics[i], sizes[s], try_merge, &many);
        }
        roost_buffer_release(&few);
        roost_buffer_release(&many);
    }
    printf("%llu failures\n", (unsigned long long)failures);
    assert_true(failures > 200);
}

/* ---- random worlds beside a model -------------------------------------------------------------------------------- */

enum { REPLICAS = 3, MOST_KEYS = 400, MOST_CELLS = 4096 };
enum { UNSEEN, LIVE, DEAD };

struct row {
    uint64_t cells[MOST_CELLS];
};

struct world {
    roost_semantics semantics;
    uint64_t salt;
    uint32_t keys, cells;
    uint32_t element[MOST_CELLS]; /* of a cell */
    bool removes[MOST_CELLS];
    roost_filter *filters[REPLICAS];
    uint64_t clocks[REPLICAS];
    struct row rows[REPLICAS], backup_row;
    roost_filter *backup;
    struct row told[REPLICAS][REPLICAS];
    roost_cursor cursors[REPLICAS][REPLICAS];
    roost_buffer memories[REPLICAS][REPLICAS];
    uint64_t removed, readded, hidden, deltas, syncs;
};

static bool has_stamps(const struct world *world)
{
    return world->semantics == ROOST_LAST_WRITER_WINS;
}

static roost_hash world_key(const struct world *world, uint32_t key)
{
    return hash_for_key(world->salt * 100003 + key);
}

/* The model: what a replica holds of an element. */
static bool model_has(const struct world *world, const struct row *row, uint32_t key, bool *hidden)
{
    bool added = false, removed = false;
    if (has_stamps(world))
        return row->cells[key] & 1;
    for (uint32_t i = 0; i < world->cells; i++) {
        added |= row->cells[i] == LIVE && world->element[i] == key && !world->removes[i];
        removed |= row->cells[i] == LIVE && world->element[i] == key && world->removes[i];
    }
    if (hidden)
        *hidden = added && removed;
    return added && !removed;
}

static void model_stamp(struct world *world, int at, uint32_t key, bool adds)
{
    struct row *row = &world->rows[at];
    uint64_t time = world->clocks[at];
    if (time <= row->cells[key] / 2)
        time = row->cells[key] / 2 + 1;
    row->cells[key] = 2 * time + adds;
}

static void model_change(struct world *world, int at, uint32_t key, bool adds)
{
    struct row *row = &world->rows[at];
    if (has_stamps(world)) {
        model_stamp(world, at, key, adds);
        return;
    }
    for (uint32_t i = 0; i < world->cells; i++)
        if (row->cells[i] == LIVE && world->element[i] == key)
            row->cells[i] = DEAD;
    if (!adds && world->semantics == ROOST_ADD_WINS)
        return;
    assert_true(world->cells < MOST_CELLS);
    world->element[world->cells] = key;
    world->removes[world->cells] = !adds;
    row->cells[world->cells++] = LIVE;
}

static void row_merge(struct row *row, const struct row *other)
{
    for (uint32_t i = 0; i < MOST_CELLS; i++)
        row->cells[i] = row->cells[i] > other->cells[i] ? row->cells[i] : other->cells[i];
}

static bool row_lacks(const struct row *row, const struct row *other)
{
    for (uint32_t i = 0; i < MOST_CELLS; i++)
        if (row->cells[i] < other->cells[i])
            return true;
    return false;
}

static roost_filter *world_filter(const struct world *world, struct random_source *random)
{
    const roost_config config = config_of(world->semantics);
    const roost_environment environment = {.journal = 100000, .entropy = {random, draw_random}};
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    return filter;
}

static void world_open(struct world *world, uint64_t number, struct random_source *random)
{
    static const uint32_t sizes[] = {2, 10, 60, MOST_KEYS};
    memset(world, 0, sizeof *world);
    world->semantics = all_semantics[number % 3];
    world->salt = random_next(random);
    world->keys = world->cells = 1 + random_choice(random, sizes[number / 3 % COUNT_OF(sizes)]);
    for (int i = 0; i < REPLICAS; i++)
        world->filters[i] = world_filter(world, random);
    world->backup = clone_of(world->filters[0]);
    if (!has_stamps(world))
        world->cells = 0;
}

static void world_close(struct world *world)
{
    for (int i = 0; i < REPLICAS; i++) {
        roost_filter_free(world->filters[i]);
        for (int j = 0; j < REPLICAS; j++)
            roost_buffer_release(&world->memories[i][j]);
    }
    roost_filter_free(world->backup);
}

static void step_change(struct world *world, int at, bool adds, struct random_source *random)
{
    uint32_t key = random_choice(random, world->keys);
    bool changed, hidden = false, was = model_has(world, &world->rows[at], key, &hidden);
    roost_filter *filter = world->filters[at], *before = clone_of(filter);
    roost_hash hash = world_key(world, key);
    if (random_choice(random, 3) == 0)
        world->clocks[at] += random_choice(random, 5);
    roost_filter_set_time(filter, world->clocks[at]);
    if (adds)
        assert_ok(roost_filter_add_hash(filter, &changed, hash));
    else
        assert_ok(roost_filter_remove_hash(filter, &changed, hash));
    assert_int_equal(changed, adds ? !was : was);
    model_change(world, at, key, adds);
    assert_int_equal(model_has(world, &world->rows[at], key, NULL), adds); /* own changes are visible */
    assert_int_equal(roost_filter_contains_hash(filter, hash), adds);
    assert_true(included(before, filter)); /* and inflate */
    world->removed += !adds && was;
    world->readded += adds && hidden;
    roost_filter_free(before);
}

static void step_merge(struct world *world, int to, int from, struct random_source *random)
{
    bool changed, expected = row_lacks(&world->rows[to], &world->rows[from]);
    roost_filter *source = world->filters[from];
    roost_order order;
    roost_buffer frame;
    assert_ok(roost_filter_compare(world->filters[to], &order, source));
    assert_int_equal(order, (expected ? ROOST_BEFORE : 0) |
                                (row_lacks(&world->rows[from], &world->rows[to]) ? ROOST_AFTER : 0));
    if (random_choice(random, 2))
        assert_ok(roost_filter_merge(world->filters[to], &changed, source));
    else {
        assert_ok(roost_filter_encode(source, &frame));
        assert_ok(roost_filter_merge_frame(world->filters[to], &changed, frame.data, frame.size));
        roost_buffer_release(&frame);
    }
    assert_int_equal(changed, expected);
    row_merge(&world->rows[to], &world->rows[from]);
}

/* What changed since the last one, which may be lost: then the next one comes without it. */
static void step_delta(struct world *world, int to, int from, bool lost)
{
    struct row delta = {{0}}, *told = &world->told[from][to];
    roost_cursor *cursor = &world->cursors[from][to];
    roost_buffer frame;
    bool changed;
    for (uint32_t i = 0; i < MOST_CELLS; i++)
        delta.cells[i] = told->cells[i] != world->rows[from].cells[i] ? world->rows[from].cells[i] : 0;
    assert_ok(roost_filter_encode_delta(world->filters[from], &frame, cursor, cursor));
    *told = world->rows[from];
    if (!lost) {
        assert_ok(roost_filter_merge_frame(world->filters[to], &changed, frame.data, frame.size));
        assert_int_equal(changed, row_lacks(&world->rows[to], &delta));
        row_merge(&world->rows[to], &delta);
        world->deltas++;
    }
    roost_buffer_release(&frame);
}

/* With cursors, or as if they were lost. */
static void step_sync(struct world *world, int to, int from, bool forgets)
{
    sync_alone(world->filters[to], world->filters[from], forgets ? NULL : &world->memories[to][from]);
    row_merge(&world->rows[to], &world->rows[from]);
    world->rows[from] = world->rows[to];
    world->syncs++;
}

static void step_reincarnate(struct world *world, int at, struct random_source *random)
{
    const bool old = random_choice(random, 3) == 0;
    roost_filter *source = old ? world->backup : world->filters[at];
    const roost_environment environment = whole_environment(source);
    roost_filter *next = random_choice(random, 2) ? clone_of(source) : through_bytes_in(source, &environment);
    assert_true(roost_filter_equal(next, source));
    roost_filter_free(world->filters[at]);
    world->filters[at] = next;
    if (old)
        world->rows[at] = world->backup_row;
    else {
        roost_filter_free(world->backup);
        world->backup = clone_of(next);
        world->backup_row = world->rows[at];
    }
    for (int to = 0; to < REPLICAS; to++) {
        memset(&world->told[at][to], 0, sizeof world->told[at][to]); /* its cursors are lost: the whole state comes */
        roost_buffer_release(&world->memories[at][to]);
    }
}

static void step_any(struct world *world, struct random_source *random)
{
    int at = (int)random_choice(random, REPLICAS),
        other = (at + 1 + (int)random_choice(random, REPLICAS - 1)) % REPLICAS;
    uint32_t choice = random_choice(random, 40);
    if (choice < 16)
        step_change(world, at, true, random);
    else if (choice < 28)
        step_change(world, at, false, random);
    else if (choice < 32)
        step_merge(world, at, other, random);
    else if (choice < 36)
        step_delta(world, at, other, choice == 35);
    else if (choice < 39)
        step_sync(world, at, other, choice == 38);
    else
        step_reincarnate(world, at, random);
}

/* Every look-up; laws; equal rows are equal states, and others are not. */
static void assert_world(struct world *world)
{
    for (int i = 0; i < REPLICAS; i++) {
        roost_filter *back = through_bytes(world->filters[i]);
        uint64_t members = 0;
        assert_ok(roost_filter_check(world->filters[i]));
        assert_ok(roost_filter_check(back));
        assert_same_frame(back, world->filters[i]);
        assert_same_digest(back, world->filters[i]);
        for (uint32_t key = 0; key < world->keys; key++) {
            bool hidden = false, in = model_has(world, &world->rows[i], key, &hidden);
            assert_int_equal(roost_filter_contains_hash(world->filters[i], world_key(world, key)), in);
            assert_int_equal(roost_filter_contains_hash(back, world_key(world, key)), in);
            members += in;
            world->hidden += hidden;
        }
        assert_int_equal((uint64_t)info_of(world->filters[i]).elements, members);
        for (int j = 0; j < REPLICAS; j++)
            assert_int_equal(roost_filter_equal(world->filters[i], world->filters[j]),
                             memcmp(&world->rows[i], &world->rows[j], sizeof world->rows[i]) == 0);
        roost_filter_free(back);
    }
    roost_filter *a = world->filters[0], *b = world->filters[1], *c = world->filters[2];
    roost_filter *aa = merged(a, a), *ab = merged(a, b), *ba = merged(b, a), *bc = merged(b, c);
    roost_filter *ab_c = merged(ab, c), *a_bc = merged(a, bc);
    assert_same_frame(aa, a);
    assert_same_frame(ab, ba);
    assert_same_frame(ab_c, a_bc);
    assert_same_digest(ab_c, a_bc);
    assert_int_equal(included(a, b), roost_filter_equal(ab, b));
    FREE_ALL(aa, ab, ba, bc, ab_c, a_bc);
}

static void random_worlds_are_what_the_model_says(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(18));
    static struct world world;
    uint64_t worlds = count_of_worlds(240), removed = 0, readded = 0, hidden = 0, deltas = 0, syncs = 0;
    for (uint64_t number = 0; number < worlds; number++) {
        world_open(&world, number, &random);
        for (uint32_t step = random_choice(&random, 500); step > 0; step--)
            step_any(&world, &random);
        assert_world(&world);
        removed += world.removed;
        readded += world.readded;
        hidden += world.hidden;
        deltas += world.deltas;
        syncs += world.syncs;
        world_close(&world);
    }
    printf("%llu worlds: %llu removals, %llu additions over removals, %llu hidden, %llu deltas, %llu syncs\n",
           (unsigned long long)worlds, (unsigned long long)removed, (unsigned long long)readded,
           (unsigned long long)hidden, (unsigned long long)deltas, (unsigned long long)syncs);
    assert_true(removed > 5 * worlds && readded > worlds / 8 && hidden > worlds / 8 && deltas > 5 * worlds &&
                syncs > 5 * worlds);
}

/* ---- large ------------------------------------------------------------------------------------------------------- */

/* Past all lists and into many segments, through merges in one step and in slices, copies and moves. */
static void large_filters_keep_every_change(void **state)
{
    (void)state;
    enum { N = 30000 };
    for (size_t i = 1; i < COUNT_OF(all_semantics); i++) {
        roost_filter *a = filter_of(all_semantics[i]), *b = filter_of(all_semantics[i]);
        for (uint64_t key = 0; key < N; key++)
            add_at(a, key, 1000 + key);
        roost_filter *c = clone_of(a);
        for (uint64_t key = 0; key < N; key += 3)
            assert_true(remove_at(a, key, 1000000));
        for (uint64_t key = N; key < 2 * N; key++)
            add_at(b, key, 1000000);
        merge(b, c);
        merge(b, a);
        merge(a, b);
        assert_true(roost_filter_equal(a, b));
        for (uint64_t place = 0; roost_filter_defragment(&a, &place, move_always, NULL);)
            continue;
        roost_filter *back = through_bytes(a);
        for (uint64_t key = 0; key < 2 * N; key++)
            assert_true(has(a, key) == (key >= N || key % 3 != 0) && has(back, key) == has(a, key) &&
                        has(c, key) == (key < N));
        assert_int_equal((uint64_t)info_of(a).elements, 2 * N - N / 3);
        assert_int_equal(info_of(a).entries, 2 * N);
        assert_true(info_of(a).promise_holds);
        assert_ok(roost_filter_check(a));
        assert_ok(roost_filter_check(c));
        for (uint64_t key = 0; key < N; key += 3)
            assert_true(add_at(b, key, 2000000));
        assert_int_equal(info_of(b).entries, 2 * N);
        printf("semantics %zu: %.1f bytes an entry in memory\n", i, (double)info_of(a).bytes_memory / (2 * N));
        FREE_ALL(a, b, c, back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concurrent_changes_end_as_chosen),
        cmocka_unit_test(a_removal_of_what_is_not_there_is_recorded),
        cmocka_unit_test(an_addition_cancels_the_removals_that_it_has_seen),
        cmocka_unit_test(a_clock_that_is_behind_changes_what_it_has_seen),
        cmocka_unit_test(without_a_clock_changes_are_ordered_by_what_they_have_seen),
        cmocka_unit_test(time_ends),
        cmocka_unit_test(others_are_add_wins),
        cmocka_unit_test(calls_about_single_additions_are_unsupported),
        cmocka_unit_test(different_semantics_do_not_merge),
        cmocka_unit_test(frames_have_a_version_of_their_own),
        cmocka_unit_test(golden_frames_are_read_and_written),
        cmocka_unit_test(damaged_frames_are_refused_or_are_another_state),
        cmocka_unit_test(lists_of_stamps_have_one_form),
        cmocka_unit_test(own_changes_are_seen_among_thousands_of_dots),
        cmocka_unit_test(a_filter_at_its_limit_refuses_and_stays),
        cmocka_unit_test(a_full_set_of_stamps_refuses_others),
        cmocka_unit_test(failed_allocations_change_nothing),
        cmocka_unit_test(random_worlds_are_what_the_model_says),
        cmocka_unit_test(large_filters_keep_every_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
