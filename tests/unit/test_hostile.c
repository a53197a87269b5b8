/*
 * Frames from strangers: each is refused whole, by decode and by a merge into a filter that holds something, with the
 * status that fits, and that filter is as it was, to the byte, state and replica. The checksums are right: it is the
 * rest that must not be believed. ROOST_WRITE_GOLDEN=1 puts the forgeries among the golden rejects.
 */
#include "forge.h"

#include <time.h>

#include "golden.h"

enum { SET, MULTISET, NARROW, GROWING, GROWING_MULTISET, MODES };
static const char *const mode_names[] = {"set", "multiset", "narrow", "growing set", "growing multiset"};

static roost_config mode_config(int mode)
{
    if (mode >= GROWING) {
        roost_config config = orcuckoo_config(0, 0, mode == GROWING_MULTISET, 60);
        config.scalable = true;
        config.fpr = 0.01;
        return config;
    }
    return mode == SET ? orcuckoo_config(24, 64, false, 60) : orcuckoo_config(8, mode == NARROW ? 32 : 64, true, 60);
}

static uint64_t most_counter_of(int mode)
{
    return mode == SET ? (1 << 24) - 1 : mode == NARROW ? (1 << 20) - 1 : UINT32_MAX;
}

/* A filter that has an actor, a journal, entries, and some of the dots that the forgeries speak of. */
static roost_filter *victim_of(const roost_config *config)
{
    roost_filter *filter = new_filter(config);
    roost_cursor cursor = {0, 0};
    roost_buffer frame;
    assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
    roost_buffer_release(&frame);
    for (uint64_t key = 0; key < 20; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    if (config->kind == ROOST_ORCUCKOO) {
        struct dot_run run = {7, 2, 3};
        uint64_t rank = 1, key = class_for(filter, hash_for_key(1));
        struct forgery known = {
            .like = filter, .type = 2, .runs = &run, .run_count = 1, .live = &rank, .live_count = 1, .keys = &key};
        frame = forge(&known);
        assert_ok(roost_filter_merge_frame(filter, NULL, frame.data, frame.size));
        roost_buffer_release(&frame);
        assert_ok(roost_filter_remove_hash(filter, NULL, hash_for_key(5)));
    }
    return filter;
}

/* Decodes and merges; both must answer the same, and refuse without a trace. Of a frame of another configuration, merging
   looks at nothing else. Returns what is wrong with the frame, or else with merging it. */
static roost_status receive(roost_filter *victim, const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size + !size); /* of its exact size, so that a sanitizer sees the smallest step beyond */
    memcpy(exact, bytes, size);
    struct portrait before = portrait_of(victim);
    roost_filter *decoded = (roost_filter *)exact, *expected = clone_of(victim);
    bool changed = true;
    roost_environment environment = {.memory_limit = 1 << 26};
    roost_status status = roost_filter_decode(&decoded, exact, size, &environment);
    roost_status merged = roost_filter_merge_frame(victim, &changed, exact, size);
    assert_int_equal(decoded == NULL, status != ROOST_OK);
    if (merged != ROOST_OK) {
        assert_false(changed);
        assert_still(&before, victim);
        assert_true(merged == status || merged == ROOST_MISMATCH);
    } else {
        assert_ok(status);
        assert_ok(roost_filter_check(decoded));
        assert_ok(roost_filter_check(victim));
        assert_ok(roost_filter_merge(expected, NULL, decoded));
        assert_true(roost_filter_equal(expected, victim));
        assert_same_frame(expected, victim);
        portrait_release(&before);
    }
    roost_filter_free(decoded);
    roost_filter_free(expected);
    free(exact);
    return status == ROOST_OK ? merged : status;
}

/* ---- a sound frame, by the second writer ------------------------------------------------------------------------- */

/* Actors 7 and 9, nine dots: 7.1 to 7.4, 7.7, 9.2, 9.3, 9.5, 9.6; four of them live, two removed ones with their
   class. */
struct sound {
    struct dot_run runs[8];
    uint64_t live[8], hinted[8], keys[16];
    struct forgery forgery;
};

static void make_sound(struct sound *sound, const roost_filter *like, uint8_t type)
{
    *sound =
        (struct sound){.runs = {{7, 1, 4}, {7, 7, 7}, {9, 2, 3}, {9, 5, 6}}, .live = {1, 4, 5, 8}, .hinted = {0, 3}};
    for (uint64_t i = 0; i < 6; i++)
        sound->keys[i] = class_for(like, hash_for_key(i));
    sound->forgery = (struct forgery){.like = like,
                                      .type = type,
                                      .runs = sound->runs,
                                      .run_count = 4,
                                      .live = sound->live,
                                      .live_count = 4,
                                      .keys = sound->keys,
                                      .hinted = sound->hinted,
                                      .hinted_count = type == 2 ? 2 : 0};
}

/* The second writer writes what the first one does, for states of all sorts. */
static void both_writers_agree(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(41));
    for (uint64_t number = 0; number < 300; number++) {
        roost_config config = some_orcuckoo_config(number, 1 + random_choice(&random, 300));
        roost_filter *filter = new_filter(&config);
        static struct dots dots;
        dots.count = 0;
        for (uint32_t part = random_choice(&random, 4); part > 0; part--) {
            roost_filter *other = clone_of(filter);
            for (uint32_t i = random_choice(&random, 60); i > 0; i--) {
                roost_hash hash = hash_for_key(random_choice(&random, 40));
                roost_dot dot;
                if (random_choice(&random, 3) == 0)
                    assert_ok(roost_filter_remove_hash(other, NULL, hash));
                else if (roost_filter_add_dot_hash(other, &dot, hash) == ROOST_OK)
                    dots_add(&dots, 0, other, hash, dot);
            }
            assert_ok(roost_filter_merge(filter, NULL, other));
            roost_filter_free(other);
        }
        dots_read(&dots, 0, filter);
        const struct causal_context *causal = &as_const_observed(filter)->causal;
        static uint64_t before[MOST_DOTS], by_rank[MOST_DOTS], live[MOST_DOTS], keys[MOST_DOTS];
        memset(by_rank, 0, sizeof by_rank);
        causal_ranks(causal, before);
        struct forgery forgery = {
            .like = filter, .type = 1, .runs = causal->runs, .run_count = causal->count, .live = live, .keys = keys};
        for (uint32_t i = 0; i < dots.count; i++)
            if (dots.standing[0][i] == LIVE)
                by_rank[causal_rank(causal, before, dots.list[i].dot.actor, (uint32_t)dots.list[i].dot.counter)] =
                    dots.list[i].key;
        for (uint64_t rank = 0; rank < causal->dots; rank++)
            if (by_rank[rank]) {
                live[forgery.live_count] = rank;
                keys[forgery.live_count++] = by_rank[rank];
            }
        roost_buffer forged = forge(&forgery), frame;
        assert_ok(roost_filter_encode(filter, &frame));
        assert_same_bytes(&forged, &frame);
        roost_buffer_release(&forged);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
}

/* What the others start from is taken. */
static void sound_forgeries_are_taken(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODES; mode++)
        for (uint8_t type = 1; type <= 2; type++) {
            roost_config config = mode_config(mode);
            roost_filter *victim = victim_of(&config);
            struct sound sound;
            make_sound(&sound, victim, type);
            roost_buffer frame = forge(&sound.forgery);
            assert_ok(receive(victim, frame.data, frame.size));
            for (uint64_t counter = 1; counter <= 9; counter++) { /* each dot as it was told, or as it was before */
                static const bool seen_of_7[] = {1, 1, 1, 1, 0, 0, 1, 0, 0}, seen_of_9[] = {0, 1, 1, 0, 1, 1, 0, 0, 0};
                const struct causal_context *causal = &as_const_observed(victim)->causal;
                assert_int_equal(causal_contains(causal, 7, (uint32_t)counter), seen_of_7[counter - 1]);
                assert_int_equal(causal_contains(causal, 9, (uint32_t)counter), seen_of_9[counter - 1]);
            }
            assert_int_equal(info_of(victim).gaps, 3);
            assert_int_equal(standing_of(victim, hash_for_key(0), (roost_dot){7, 2}), DEAD); /* was dead before */
            assert_int_equal(standing_of(victim, hash_for_key(1), (roost_dot){7, 7}), LIVE);
            assert_int_equal(standing_of(victim, hash_for_key(2), (roost_dot){9, 2}), LIVE);
            assert_int_equal(standing_of(victim, hash_for_key(3), (roost_dot){9, 6}), LIVE);
            assert_int_equal(standing_of(victim, hash_for_key(1), (roost_dot){7, 3}), DEAD); /* was live before */
            roost_buffer_release(&frame);
            roost_filter_free(victim);
        }
}

/* ---- parts of all sorts ------------------------------------------------------------------------------------------ */

enum { ACTORS = 3, COUNTERS = 12, VICTIM = 0, PART = 1 };

/* All dots of three actors, known to the model and unseen by everybody. */
static void list_dots(struct dots *dots, const roost_filter *filter)
{
    dots->count = 0;
    for (uint64_t actor = 1; actor <= ACTORS; actor++)
        for (uint64_t counter = 1; counter <= COUNTERS; counter++)
            dots_add(dots, PART, filter, hash_for_key(actor * 100 + counter), (roost_dot){actor * 1000, counter});
}

/* A part that speaks of some of the dots, by chance, and tells the classes of some of the dead ones. */
static roost_buffer forge_some(struct dots *dots, const roost_filter *like, uint8_t type, struct random_source *random)
{
    struct dot_run runs[ACTORS * COUNTERS];
    uint64_t live[ACTORS * COUNTERS], hinted[ACTORS * COUNTERS], keys[ACTORS * COUNTERS],
        hinted_keys[ACTORS * COUNTERS];
    struct forgery part = {.like = like, .type = type, .runs = runs, .live = live, .hinted = hinted, .keys = keys};
    uint32_t told = 1 + random_choice(random, 8), alive = random_choice(random, 9), hints = random_choice(random, 9);
    for (uint32_t i = 0; i < dots->count; i++) {
        const roost_dot dot = dots->list[i].dot;
        bool is_told = random_choice(random, 8) < told;
        dots->standing[PART][i] = !is_told ? UNSEEN : random_choice(random, 8) < alive ? LIVE : DEAD;
        if (!is_told)
            continue;
        struct dot_run *last = part.run_count ? &runs[part.run_count - 1] : NULL;
        if (last && last->actor == dot.actor && last->last + 1 == dot.counter)
            last->last++;
        else
            runs[part.run_count++] = (struct dot_run){dot.actor, (uint32_t)dot.counter, (uint32_t)dot.counter};
    }
    uint64_t rank = 0, others = 0;
    for (uint32_t i = 0; i < dots->count; i++) {
        if (dots->standing[PART][i] == LIVE) {
            live[part.live_count] = rank;
            keys[part.live_count++] = dots->list[i].key;
        } else if (dots->standing[PART][i] == DEAD) {
            if (type == 2 && random_choice(random, 8) < hints) {
                hinted[part.hinted_count] = others;
                hinted_keys[part.hinted_count++] = dots->list[i].key;
            }
            others++;
        }
        rank += dots->standing[PART][i] != UNSEEN;
    }
    memcpy(keys + part.live_count, hinted_keys, part.hinted_count * sizeof *keys);
    return forge(&part);
}

/* Few live or most, some of the dead told or all: each dot comes to stand as it should, in one part after another. */
static void parts_of_all_sorts_are_read_right(void **state)
{
    (void)state;
    static struct dots dots;
    struct random_source random = random_from_seed(test_seed(47));
    for (int round = 0; round < (is_brief() ? 1000 : 3000); round++) {
        roost_config config = mode_config(round % MODES);
        roost_filter *victim = new_filter(&config);
        list_dots(&dots, victim);
        memset(dots.standing[VICTIM], UNSEEN, sizeof dots.standing[VICTIM]);
        for (int parts = 0; parts < 4; parts++) {
            roost_buffer frame = forge_some(&dots, victim, random_choice(&random, 4) ? 2 : 1, &random);
            assert_ok(receive(victim, frame.data, frame.size));
            dots_merge(&dots, VICTIM, PART);
            dots_agree(&dots, VICTIM, victim);
            roost_buffer_release(&frame);
        }
        roost_filter_free(victim);
    }
}

/* ---- lies -------------------------------------------------------------------------------------------------------- */

/* The other name of a class: the larger of its two. There may be none. */
static bool larger_name(const roost_filter *filter, uint64_t key, uint64_t *name)
{
    struct cuckoo_geometry geometry = as_const_orcuckoo(filter)->table.geometry;
    struct place place = place_of_class(key, geometry);
    uint64_t sum = ((uint64_t)place.bucket + place.other) % geometry.buckets;
    uint64_t middle = sum / 2 + sum % 2;
    uint64_t u = (place.bucket + geometry.buckets - middle) % geometry.buckets;
    uint64_t v = (place.other + geometry.buckets - middle) % geometry.buckets;
    *name = (u > v ? u : v) << geometry.bits | place.fingerprint;
    return u != v && *name >> geometry.bits < geometry.buckets / 2 + 1;
}

/* Bytes of a causal context, by hand. */
static size_t raw_causal(uint8_t bytes[64], const uint64_t *numbers, size_t count)
{
    struct bit_writer writer = bit_writer_over(bytes, 64);
    write_varint(&writer, numbers[0]);
    write_fixed64(&writer, numbers[1]);
    for (size_t i = 2; i < count; i++)
        write_varint(&writer, numbers[i]);
    assert_false(writer.failed);
    return writer.buffer.size;
}
#define RAW_HISTORY(bytes, ...)                                                                                        \
    raw_causal(bytes, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Makes lie number `number` out of a sound frame and names it; NULL when there are no more, "" when it does not
   apply. */
static const char *tell_lie(struct sound *sound, int number, uint8_t bytes[64])
{
    struct forgery *lie = &sound->forgery;
    const bool delta = lie->type == 2, has_prefixes = lie->like->kind->has_prefixes;
    const uint64_t most = as_const_observed(lie->like)->most_counter;
    switch (number) {
    case 0:
        lie->more_live = 6;
        return "live-above-dots";
    case 1:
        lie->more_live = INT64_MIN;
        return "live-2-to-the-63";
    case 2:
        lie->more_live = 1;
        return "live-one-more";
    case 3:
        lie->more_live = -1;
        return "live-one-fewer";
    case 4:
        lie->more_hinted = 6;
        return "hinted-above-dead";
    case 5:
        lie->more_hinted = -1;
        return delta ? "hinted-one-fewer" : "hinted-2-to-the-64";
    case 6:
        lie->more_hinted = 1;
        return "hinted-one-more";
    case 7:
        lie->more_positions = -1;
        return "positions-told-shorter";
    case 8:
        lie->more_positions = 1;
        return "positions-told-longer";
    case 9:
        lie->more_positions = 1000000;
        return "positions-beyond-the-end";
    case 10:
        lie->extra_positions = 1;
        return "positions-longer";
    case 11:
        lie->dirty_positions = true;
        return "positions-padding";
    case 12:
        sound->live[3] = 9;
        return "rank-out-of-range";
    case 13:
        sound->hinted[1] = 5;
        return delta ? "hinted-rank-out-of-range" : "";
    case 14:
        if (has_prefixes)
            return "";
        sound->keys[0] &= ~((UINT64_C(1) << as_const_orcuckoo(lie->like)->table.geometry.bits) - 1);
        return "fingerprint-0";
    case 15:
        for (uint64_t key = 0; key < 100 && !has_prefixes; key++)
            if (larger_name(lie->like, class_for(lie->like, hash_for_key(key)), &sound->keys[2]))
                return "larger-name-of-a-class";
        return "";
    case 16:
        if (has_prefixes)
            return "";
        sound->keys[5] &= ~((UINT64_C(1) << as_const_orcuckoo(lie->like)->table.geometry.bits) - 1);
        return delta ? "hinted-fingerprint-0" : "";
    case 17:
        sound->runs[0].actor = sound->runs[1].actor = 0;
        return "actor-0";
    case 18:
        sound->runs[0].actor = sound->runs[1].actor = 10;
        return "actors-unsorted";
    case 19:
        lie->causal = bytes;
        lie->causal_size = RAW_HISTORY(bytes, 2, 7, 4 << 1 | 1, 1, 3 << 1);
        memcpy(bytes + lie->causal_size, "\7\0\0\0\0\0\0\0\2", 9);
        lie->causal_size += 9;
        return "actor-twice";
    case 20:
        lie->more_actors = 1;
        return "actors-one-more";
    case 21:
        lie->more_actors = -1;
        return "actors-one-fewer";
    case 22:
        lie->more_actors = 1000000;
        return "actors-a-million-told";
    case 23:
        lie->causal = bytes;
        lie->causal_size = RAW_HISTORY(bytes, 1, 7, (most + 1) << 1);
        return "counter-above-limit";
    case 24:
        lie->causal = bytes;
        lie->causal_size = RAW_HISTORY(bytes, 1, 7, 4 << 1 | 1, 1, (most - 5) << 1);
        return "counter-of-a-run-above-limit";
    case 25:
        lie->causal = bytes;
        lie->causal_size = RAW_HISTORY(bytes, 1, 7, 4 << 1 | 1, most, 4 << 1);
        return "gap-above-limit";
    case 26:
        lie->causal = bytes;
        lie->causal_size = RAW_HISTORY(bytes, 1, 7, 4 << 1 | 1, UINT64_MAX, 4 << 1);
        return "run-that-touches";
    case 27:
        lie->causal = bytes;
        lie->causal_size = RAW_HISTORY(bytes, 1, 7, 0);
        return "actor-without-dots";
    case 28:
        lie->causal = bytes;
        lie->causal_size = RAW_HISTORY(bytes, 1, 7, 8 << 1 | 1);
        return "more-runs-told";
    case 29:
        lie->extra_classes = 1;
        return "trailing-byte";
    case 30:
        lie->dirty_classes = true;
        return "classes-padding";
    case 31:
        lie->hinted_count = 2;
        return delta ? "" : "hints-in-a-state";
    case 32:
        lie->causal = bytes;
        bytes[0] = 0x80 | 1, bytes[1] = 0; /* 1, in two bytes */
        memcpy(bytes + 2, "\7\0\0\0\0\0\0\0\22", 9);
        lie->causal_size = 11;
        return "varint-not-the-shortest";
    case 33:
        lie->type = 3;
        return "type-3";
    case 34:
        sound->keys[0] = 1 << 3;
        return has_prefixes ? "prefix-too-short" : "";
    case 35:
        sound->keys[3] = UINT64_C(1) << (MOST_LENGTH + 1);
        return has_prefixes ? "prefix-too-long" : "";
    case 36:
        lie->most_run = 1;
        return has_prefixes ? "prefix-runs-of-one-length" : "";
    case 37:
        lie->more_run = 1;
        return has_prefixes ? "prefix-run-beyond-the-entries" : "";
    case 38:
        lie->more_run = UINT64_C(1) << 60;
        return has_prefixes ? "prefix-run-far-beyond" : "";
    default:
        return NULL;
    }
}

/* One golden file for each lie: told by a state where it can be, else by a delta. */
static void refuse_golden(roost_filter *victim, const char *name, const roost_buffer *frame)
{
    uint8_t bytes[4096];
    char file[128];
    snprintf(file, sizeof file, "orcuckoo-%s", name);
    size_t size = renew_golden("reject", file, frame, bytes, sizeof bytes);
    assert_int_equal(receive(victim, bytes, size), ROOST_CORRUPT);
}

static void lies_are_refused(void **state)
{
    (void)state;
    int refused = 0;
    for (int mode = 0; mode < MODES; mode++)
        for (uint8_t type = 1; type <= 2; type++) {
            roost_config config = mode_config(mode);
            roost_filter *victim = victim_of(&config);
            struct sound sound;
            uint8_t bytes[64];
            const char *name;
            for (int number = 0; make_sound(&sound, victim, type), (name = tell_lie(&sound, number, bytes)); number++) {
                if (!*name)
                    continue;
                roost_buffer frame = forge(&sound.forgery);
                roost_status status = receive(victim, frame.data, frame.size);
                if (status != ROOST_CORRUPT)
                    fail_msg("%s, type %d, %s: %s", mode_names[mode], type, name, roost_status_text(status));
                if (mode == SET && (type == 1 || strncmp(name, "hinted", 6) == 0))
                    refuse_golden(victim, name, &frame);
                roost_buffer_release(&frame);
                refused++;
            }
            roost_filter_free(victim);
        }
    printf("%d lies refused\n", refused);
    assert_true(refused > 180);
}

/* The largest counter of each width is a counter, also in a frame. */
static void counters_at_their_limit_are_taken(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODES; mode++) {
        roost_config config = mode_config(mode);
        roost_filter *victim = victim_of(&config);
        uint32_t most = (uint32_t)most_counter_of(mode);
        assert_int_equal(most, as_const_observed(victim)->most_counter);
        struct dot_run runs[] = {{5, 1, most}, {6, 1, 1}, {6, most, most}, {UINT64_MAX, 1, most}};
        uint64_t dots = 2 * (uint64_t)most + 2, live[] = {0, most, most + UINT64_C(1), dots - 1}, keys[4];
        for (uint64_t i = 0; i < 4; i++)
            keys[i] = class_for(victim, hash_for_key(i));
        for (uint8_t type = 1; type <= 2; type++) {
            struct forgery forgery = {.like = victim,
                                      .type = type,
                                      .runs = runs,
                                      .run_count = 4,
                                      .live = live,
                                      .live_count = 4,
                                      .keys = keys};
            roost_buffer frame = forge(&forgery);
            assert_ok(receive(victim, frame.data, frame.size));
            roost_buffer_release(&frame);
        }
        assert_int_equal(standing_of(victim, hash_for_key(2), (roost_dot){6, most}), LIVE);
        assert_int_equal(standing_of(victim, hash_for_key(3), (roost_dot){UINT64_MAX, most}), LIVE);
        roost_filter_free(victim);
    }
}

static void a_million_actors_are_too_many(void **state)
{
    (void)state;
    for (int mode = SET; mode <= GROWING; mode += GROWING - SET) {
        roost_config config = mode_config(mode);
        roost_filter *victim = victim_of(&config);
        for (uint8_t type = 1; type <= 2; type++) {
            roost_buffer frame = forge_crowd(victim, type, 1000, 1000000);
            assert_int_equal(receive(victim, frame.data, frame.size), ROOST_TOO_LARGE);
            roost_buffer_release(&frame);
        }
        roost_filter_free(victim);
    }
}

/* Every other counter, and then those between: gaps without end, which must not cost more than their bytes. */
static void many_gaps_take_no_longer_than_their_bytes(void **state)
{
    (void)state;
    enum { RUNS = 200000 };
    roost_config config = mode_config(SET);
    roost_filter *victim = victim_of(&config);
    struct dot_run *runs = calloc(RUNS, sizeof *runs);
    clock_t begin = clock();
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < RUNS; i++)
            runs[i] = (struct dot_run){5, 2 + 2 * i + turn, 2 + 2 * i + turn};
        struct forgery gaps = {.like = victim, .type = 2, .runs = runs, .run_count = RUNS};
        roost_buffer frame = forge(&gaps);
        bool changed = false;
        assert_ok(roost_filter_merge_frame(victim, &changed, frame.data, frame.size));
        assert_true(changed);
        assert_int_equal(info_of(victim).gaps, turn ? 2 : RUNS + 1);
        roost_buffer_release(&frame);
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("%.2f s\n", seconds);
    assert_true(seconds < 60); /* of this processor; measured: less than one */
    assert_ok(roost_filter_check(victim));
    free(runs);
    roost_filter_free(victim);
}

/* Kinds of entries that there are not. */
static void senseless_entries_are_refused(void **state)
{
    (void)state;
    roost_config config = mode_config(MULTISET);
    roost_filter *victim = victim_of(&config);
    struct sound sound;
    make_sound(&sound, victim, 1);
    roost_buffer frame = forge(&sound.forgery);
    size_t body = 7, bits = body + 2 + 1 + 8 + 1; /* kind, layout, capacity, rate, seed */
    assert_int_equal(frame.data[bits], 8);
    assert_int_equal(frame.data[bits + 2], 64);
    assert_int_equal(frame.data[bits + 3], 1);
    static const struct {
        uint8_t bits, bucket_size, entry_bits, multiset;
    } senseless[] = {{8, 4, 64, 2},  {8, 4, 48, 1},  {8, 4, 0, 1},   {8, 4, 32, 0},     {8, 4, 64, 0}, {12, 4, 32, 1},
                     {7, 4, 64, 1},  {29, 4, 64, 1}, {15, 4, 64, 0}, {29, 4, 64, 0},    {0, 4, 64, 1}, {8, 3, 64, 1},
                     {8, 16, 64, 1}, {8, 0, 64, 1},  {64, 4, 64, 1}, {255, 4, 255, 255}};
    for (size_t i = 0; i < COUNT_OF(senseless); i++) {
        memcpy(frame.data + bits, &senseless[i], 4);
        store_word(frame.data + frame.size - 8, checksum_bytes(frame.data, frame.size - 8));
        assert_int_equal(receive(victim, frame.data, frame.size), ROOST_CORRUPT);
    }
    roost_buffer_release(&frame);
    roost_filter_free(victim);
}

/* ---- cut and flipped --------------------------------------------------------------------------------------------- */

/* A state and a delta of each kind. */
static roost_buffer some_frame(const roost_config *config, bool delta)
{
    roost_filter *filter = new_filter(config), *other;
    roost_cursor cursor = {0, 0};
    roost_buffer frame;
    for (uint64_t key = 10; key < 30; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
    roost_buffer_release(&frame);
    other = new_filter(config);
    for (uint64_t key = 30; key < 36; key++)
        assert_ok(roost_filter_add_hash(other, NULL, hash_for_key(key)));
    if (config->kind == ROOST_ORCUCKOO)
        for (uint64_t key = 20; key < 33; key += 2)
            assert_ok(roost_filter_remove_hash(key < 30 ? filter : other, NULL, hash_for_key(key)));
    assert_ok(roost_filter_merge(filter, NULL, other));
    if (delta)
        assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
    else
        assert_ok(roost_filter_encode(filter, &frame));
    assert_int_equal(frame.data[5], delta ? 2 : 1);
    FREE_ALL(filter, other);
    return frame;
}

static roost_config kind_config(int kind)
{
    if (kind < MODES)
        return mode_config(kind);
    if (kind == MODES)
        return cuckoo_config(9, 4, 60);
    return bloom_config(kind == MODES + 1 ? ROOST_BLOCKED : ROOST_CLASSIC, 60, 0.02);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < MODES + 3; kind++)
        for (int delta = 0; delta < 2; delta++) {
            roost_config config = kind_config(kind);
            roost_filter *victim = victim_of(&config);
            roost_buffer frame = some_frame(&config, delta);
            for (size_t size = 0; size < frame.size; size++) {
                roost_status status = receive(victim, frame.data, size);
                assert_int_equal(status, size == 0 ? ROOST_NOT_FRAME : ROOST_TRUNCATED);
            }
            for (size_t size = 0; size + 15 < frame.size; size++) { /* with a header and a checksum that fit */
                roost_buffer cut = forge_frame(frame.data + 7, size, frame.data[5]);
                assert_int_equal(receive(victim, cut.data, cut.size), ROOST_CORRUPT);
                roost_buffer_release(&cut);
            }
            roost_buffer longer = forge_frame(frame.data + 7, frame.size - 14, frame.data[5]);
            assert_int_equal(receive(victim, longer.data, longer.size), ROOST_CORRUPT);
            roost_buffer_release(&longer);
            roost_buffer_release(&frame);
            roost_filter_free(victim);
        }
}

static void every_flipped_bit_is_refused_or_harmless(void **state)
{
    (void)state;
    uint64_t refused = 0, taken = 0;
    for (int kind = 0; kind < MODES + 3; kind++)
        for (int delta = 0; delta < 2; delta++) {
            roost_config config = kind_config(kind);
            roost_buffer frame = some_frame(&config, delta);
            roost_filter *fresh = victim_of(&config), *victim = clone_of(fresh);
            for (size_t bit = 0; bit < frame.size * 8; bit++) {
                frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
                assert_int_not_equal(receive(victim, frame.data, frame.size), ROOST_OK);
                uint64_t checksum = load_word(frame.data + frame.size - 8);
                store_word(frame.data + frame.size - 8, checksum_bytes(frame.data, frame.size - 8));
                if (receive(victim, frame.data, frame.size) == ROOST_OK) {
                    taken++;
                    roost_filter_free(victim);
                    victim = clone_of(fresh);
                } else {
                    refused++;
                }
                store_word(frame.data + frame.size - 8, checksum);
                frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
            roost_buffer_release(&frame);
            FREE_ALL(fresh, victim);
        }
    printf("%llu refused, %llu taken\n", (unsigned long long)refused, (unsigned long long)taken);
    assert_true(refused > 2000 && taken > 1000);
}

/* Many random changes at once, with the right checksum, into a filter that stays and grows. */
static void random_forgeries_do_no_harm(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(43));
    uint64_t refused = 0, taken = 0;
    for (int kind = 0; kind < MODES + 3; kind++)
        for (int delta = 0; delta < 2; delta++) {
            roost_config config = kind_config(kind);
            roost_buffer frame = some_frame(&config, delta);
            roost_filter *victim = victim_of(&config);
            uint8_t *forged = malloc(frame.size);
            for (int round = 0; round < (int)rounds_of(1500); round++) {
                memcpy(forged, frame.data, frame.size);
                for (uint32_t change = 1 + random_choice(&random, 4); change > 0; change--) {
                    size_t at = 28 + random_choice(&random, (uint32_t)frame.size - 36);
                    forged[at] ^= (uint8_t)(1u << random_choice(&random, 8));
                }
                store_word(forged + frame.size - 8, checksum_bytes(forged, frame.size - 8));
                bool ok = receive(victim, forged, frame.size) == ROOST_OK;
                taken += ok;
                refused += !ok;
                if (info_of(victim).actors > 200 || info_of(victim).entries > 400) {
                    roost_filter_free(victim);
                    victim = victim_of(&config);
                }
            }
            free(forged);
            roost_buffer_release(&frame);
            roost_filter_free(victim);
        }
    printf("%llu refused, %llu taken\n", (unsigned long long)refused, (unsigned long long)taken);
    assert_true(refused > 500 && taken > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_writers_agree),
        cmocka_unit_test(sound_forgeries_are_taken),
        cmocka_unit_test(parts_of_all_sorts_are_read_right),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(counters_at_their_limit_are_taken),
        cmocka_unit_test(a_million_actors_are_too_many),
        cmocka_unit_test(many_gaps_take_no_longer_than_their_bytes),
        cmocka_unit_test(senseless_entries_are_refused),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused_or_harmless),
        cmocka_unit_test(random_forgeries_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
