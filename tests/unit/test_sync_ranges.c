/*
 * Sync without cursors, for every kind: how two replicas find what differs in a tree of ranges, what they do where that
 * fails, and how many bytes it takes. test_sync.c has what becomes of messages, memories and peers.
 */
#include "exchange.h"
#include "filter/configuration.h"
#include "sync/range_members.h"

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static void sow(roost_filter *filter, uint64_t first, uint64_t count)
{
    roost_hash *hashes = malloc(count * sizeof *hashes);
    for (uint64_t i = 0; i < count; i++)
        hashes[i] = hash_for_key(first + i);
    assert_ok(roost_filter_add_many_hash(filter, NULL, NULL, hashes, count));
    free(hashes);
}

struct pair {
    roost_filter *a, *b;
};

/* Two replicas that hold the same, with room for a quarter more. */
static struct pair grown_pair(uint64_t kind, uint64_t size)
{
    roost_config config = config_for(kind, size + size / 4);
    struct pair pair = {new_filter(&config), new_filter(&config)};
    sow(pair.a, 0, size / 2);
    sow(pair.b, size / 2, size - size / 2);
    merge(pair.a, pair.b);
    merge(pair.b, pair.a);
    return pair;
}

static void pair_close(struct pair *pair)
{
    roost_filter_free(pair->a);
    roost_filter_free(pair->b);
}

/* Here and there, adds and removals in turn. */
static void scatter(struct pair *pair, uint64_t size, uint64_t changes, uint64_t salt)
{
    for (uint64_t i = 0; i < changes; i++)
        if (i % 4 < 2)
            put(i % 2 ? pair->a : pair->b, UINT64_C(1) << 40 | (salt << 32) | i);
        else
            take(i % 2 ? pair->a : pair->b, (i * 7919 + salt * 104729) % size, true);
}

struct busy {
    uint64_t next, changes;
    bool removes;
};

static void change_between(struct exchange *exchange, void *context)
{
    struct busy *busy = context;
    roost_filter *filter = *exchange->responder;
    for (uint64_t i = 0; i < 50; i++, busy->next++) {
        put(filter, busy->next);
        if (busy->removes)
            take(filter, busy->next * 7919 % 20000, true);
    }
    busy->changes++;
}

/* More differences than a step resolves, while others change the filter, also while a thread reads. */
static void jobs_resolve_in_steps(void **state)
{
    (void)state;
    const uint64_t size = 20000;
    for (unsigned i = 0; i < COUNT_OF(growing_kinds); i++) {
        struct pair pair = grown_pair(growing_kinds[i], size);
        struct busy busy = {UINT64_C(1) << 41, 0, roost_filter_get_config(pair.a)->kind == ROOST_ORCUCKOO};
        struct exchange exchange = {
            .initiator = pair.a, .responder = &pair.b, .between = change_between, .by_threads = true, .context = &busy};
        for (uint64_t key = 0; key < 3000; key++)
            if (busy.removes)
                take(pair.a, key, true);
            else
                put(pair.a, UINT64_C(1) << 40 | key);
        roost_filter *a = clone_of(pair.a), *b = clone_of(pair.b);
        memset(&tally, 0, sizeof tally);
        run_exchange(&exchange, NULL);
        assert_ok(exchange.status);
        assert_true(busy.changes > 4 && tally.replies[RESOLVE] > 0 && tally.stages[ROOST_REPLY_STEP] > 5);
        assert_true(included(a, pair.b) && included(b, pair.a));
        roost_buffer_release(&exchange.memory);
        roost_filter_free(a);
        roost_filter_free(b);
        sync_alone(pair.a, pair.b, NULL);
        for (uint64_t key = 0; key < 3000 && busy.removes; key++)
            assert_int_equal(roost_filter_count_hash(pair.b, hash_for_key(key)),
                             roost_filter_count_hash(pair.a, hash_for_key(key)));
        pair_close(&pair);
    }
}

/* A copy with the journal writes a long delta. While it is made, others change the filter, or overrun its journal. */
static void jobs_write_long_deltas(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(growing_kinds); i++) {
        struct pair pair = grown_pair(growing_kinds[i], 20000);
        struct busy busy = {UINT64_C(1) << 41, 0, roost_filter_get_config(pair.a)->kind == ROOST_ORCUCKOO};
        struct exchange exchange = {
            .initiator = pair.a, .responder = &pair.b, .between = change_between, .by_threads = true, .context = &busy};
        roost_buffer memory = {0};
        sync_alone(pair.a, pair.b, &memory);
        for (uint64_t key = 0; key < 2400; key++)
            put(pair.b, UINT64_C(1) << 40 | key);
        roost_filter *b = clone_of(pair.b);
        memset(&tally, 0, sizeof tally);
        run_exchange(&exchange, &memory);
        assert_ok(exchange.status);
        assert_true(tally.replies[DELTA] > 0 && tally.stages[ROOST_REPLY_READ] > 0);
        assert_true(included(b, pair.a));
        roost_buffer_release(&exchange.memory);
        roost_buffer_release(&memory);
        roost_filter_free(b);
        sync_alone(pair.a, pair.b, NULL);
        pair_close(&pair);
    }
}

/* Without cursors, few changes to many, so that ranges are cut once, twice, or not at all. */
static void the_tree_finds_what_differs(void **state)
{
    (void)state;
    uint64_t size = is_brief() ? 20000 : 40000;
    memset(&tally, 0, sizeof tally);
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        struct pair pair = grown_pair(kind, size);
        for (uint64_t changes = 1; changes <= size / 10; changes = changes * 5 + 1) {
            scatter(&pair, size, changes, changes);
            sync_alone(pair.a, pair.b, NULL);
        }
        pair_close(&pair);
    }
    printf("%llu syncs, %llu times ranges, %llu times leaves\n", (unsigned long long)tally.exchanges,
           (unsigned long long)tally.replies[DIFFER], (unsigned long long)tally.replies[RESOLVE]);
    assert_true(tally.replies[DIFFER] > 3 * tally.replies[RESOLVE] / 2);
}

static void assert_same_members(const struct summary *a, const struct summary *b, uint64_t from, uint64_t to)
{
    struct member_walk one = summary_walk(a, from, to), two = summary_walk(b, from, to);
    uint64_t here, there;
    assert_int_equal(summary_digest(a, from, to), summary_digest(b, from, to));
    assert_int_equal(summary_count(a, from, to), summary_count(b, from, to));
    while (summary_next(&one, &here)) {
        assert_true(summary_next(&two, &there));
        assert_int_equal(here, there);
    }
    assert_false(summary_next(&two, &there));
}

/* Totals are what a summary of everything says of ranges that are as wide as theirs, or wider. */
static void assert_totals(const roost_filter *filter, const struct summary *all)
{
    struct range_totals totals;
    const unsigned widest = widest_shift(all->universe);
    assert_ok(total_ranges(filter, all->universe, widest, &totals));
    assert_true(totals.shift <= widest && totals.shift >= FEWEST_SHIFT);
    for (uint64_t number = 0, shift = totals.shift; shift <= widest; number = 0, shift++)
        for (; number <= all->universe >> shift; number++) {
            struct ranges one = {(unsigned)shift, &number, 1};
            uint64_t from = range_from(&one, 0), to = range_to(&one, 0, all->universe);
            assert_true(totals_have(&totals, &one));
            assert_int_equal(totals_digest(&totals, &one, 0), summary_digest(all, from, to));
            assert_int_equal(totals_count(&totals, &one, 0), summary_count(all, from, to));
        }
    assert_false(totals_have(&totals, &(struct ranges){.shift = totals.shift - 1}));
    totals_release(&totals, &filter->environment.allocator);
    assert_false(totals_have(&totals, &(struct ranges){.shift = widest}));
}

/* What is summed up and listed of some ranges, in no order, is what a summary of everything says of them. */
static void ranges_are_summed_as_summaries_are(void **state)
{
    struct random_source random = random_from_seed(31);
    (void)state;
    for (uint64_t size = 1; size <= 30000; size = size * 3 + 1) {
        bool grows = size % 2 == 0;
        roost_config config = roost_config_default();
        config.kind = ROOST_CUCKOO;
        config.scalable = grows;
        config.capacity = grows ? 50 : 2 * size + 100;
        roost_filter *filter = new_filter(&config);
        sow(filter, 0, size);
        assert_true(visits_positions(filter));
        struct summary all, some;
        assert_ok(filter->kind->sync.summarize(filter, &all, NULL));
        assert_int_equal(all.count, filter->kind->sync.positions(filter));
        assert_totals(filter, &all);
        for (unsigned shift = widest_shift(all.universe), cuts = 0; cuts < 4 && shift >= FEWEST_SHIFT;
             shift -= 3, cuts++) {
            uint64_t numbers = (all.universe >> shift) + 1, chosen[300];
            struct ranges ranges = {shift, chosen, 0};
            for (uint64_t i = 0; i < numbers && ranges.count < 300; i += numbers / 300 + random_choice(&random, 4))
                if (ranges.count == 0 || chosen[ranges.count - 1] < i)
                    chosen[ranges.count++] = i;
            uint64_t *sums = sum_ranges(filter, &ranges, all.universe, &filter->environment.allocator);
            assert_non_null(sums);
            assert_ok(summarize_ranges(filter, &ranges, all.universe, &some));
            for (uint64_t i = 0; i < ranges.count; i++) {
                uint64_t from = range_from(&ranges, i), to = range_to(&ranges, i, all.universe);
                assert_int_equal(sums[i] >> 32, summary_digest(&all, from, to));
                assert_same_members(&all, &some, from, to);
            }
            memory_release(&filter->environment.allocator, sums);
            summary_release(&some, &filter->environment.allocator);
            /* As if the filter had got what is beyond half the universe since that was agreed on. */
            uint64_t half = all.universe / 2;
            while (ranges.count > 0 && range_from(&ranges, ranges.count - 1) >= half)
                ranges.count--;
            assert_ok(summarize_ranges(filter, &ranges, half, &some));
            for (uint64_t i = 0; i < ranges.count; i++)
                assert_same_members(&all, &some, range_from(&ranges, i), range_to(&ranges, i, half));
            summary_release(&some, &filter->environment.allocator);
        }
        summary_release(&all, &filter->environment.allocator);
        roost_filter_free(filter);
    }
}

/* A set of members as a list and as bits is the same summary. */
static void lists_and_bits_are_the_same_summary(void **state)
{
    struct random_source random = random_from_seed(37);
    const roost_environment environment = environment_or_default(NULL);
    const roost_allocator *allocator = &environment.allocator;
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        uint64_t universe = random_choice(&random, round % 2 ? 70 : 5000) + 1, count = 0;
        uint64_t *positions = calloc(2 * universe + 2, sizeof *positions);
        struct summary list, bits;
        uint64_t *words = summary_of_members(&bits, universe, round, allocator);
        for (uint64_t i = 0; i < universe; i++)
            if (random_choice(&random, 3) == 0) {
                positions[count++] = i;
                words[i / 64] |= UINT64_C(1) << i % 64;
            }
        summary_sum_up(&bits);
        summary_of_positions(&list, positions, count, universe, round);
        for (uint64_t from = 0; from < universe; from += 64)
            for (uint64_t to = from; to < universe + 64; to += 1 + random_choice(&random, 97))
                assert_same_members(&list, &bits, from, to < universe ? to : universe);
        summary_release(&bits, allocator);
        free(positions);
    }
}

/* Where half of the dots are dead a leaf is a bit a dot, and a wide range is worth cutting. */
static void dots_are_found_two_cuts_down(void **state)
{
    (void)state;
    enum { SIZE = 150000 };
    roost_config config = config_for(3, SIZE);
    struct pair pair = {new_filter(&config), new_filter(&config)};
    sow(pair.a, 0, SIZE);
    for (uint64_t key = 0; key < SIZE; key++)
        if (hash_for_key(key).low & 1)
            take(pair.a, key, false);
    merge(pair.b, pair.a);
    for (uint64_t key = 0; key < SIZE; key += SIZE / 20)
        take(key % 2 ? pair.a : pair.b, key, false);
    struct exchange exchange = sync_alone(pair.a, pair.b, NULL);
    assert_int_equal(exchange.types, 1u << LOST | 1u << DIFFER | 1u << RESOLVE);
    assert_int_equal(exchange.rounds, 4);
    pair_close(&pair);
}

/* As long as the journal is long enough, the causal context is sent once: the other side can tell what it was. */
static void the_causal_is_sent_once(void **state)
{
    (void)state;
    for (uint64_t kind = 3; kind < KINDS; kind++) {
        struct pair pair = grown_pair(kind, 500);
        put_many(pair.a, 10000, 50);
        take_many(pair.a, 10010, 20); /* they are told, and dead */
        put_many(pair.b, 20000, 50);
        take_many(pair.b, 20010, 20);
        take_many(pair.a, 30, 5);
        take_many(pair.b, 300, 5);
        memset(&tally, 0, sizeof tally);
        struct exchange exchange = sync_alone(pair.a, pair.b, NULL);
        assert_int_equal(exchange.types, 1u << LOST | 1u << CHANGES | 1u << DIFFER | 1u << RESOLVE);
        assert_int_equal(tally.replies[LOST], 1);
        pair_close(&pair);
    }
}

struct busy_peer {
    struct pair *pair;
    uint64_t size, next;
};

static void keep_busy(struct exchange *exchange, void *context)
{
    struct busy_peer *busy = context;
    (void)exchange;
    for (int i = 0; i < 3; i++) {
        put(busy->pair->b, UINT64_C(1) << 50 | busy->next++);
        take(busy->pair->b, busy->next++ * 31 % busy->size, true);
    }
}

/* The responder changes before every single answer, in the middle of the tree too. */
static void the_tree_stands_a_busy_peer(void **state)
{
    (void)state;
    enum { SIZE = 20000 };
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        struct pair pair = grown_pair(kind, SIZE);
        struct busy_peer busy = {&pair, SIZE, 0};
        scatter(&pair, SIZE, 200, kind);
        roost_filter *a = clone_of(pair.a), *b = clone_of(pair.b);
        struct exchange exchange = {
            .initiator = pair.a, .responder = &pair.b, .interfere = keep_busy, .context = &busy};
        run_exchange(&exchange, NULL);
        assert_ok(exchange.status);
        assert_false(exchange.result.equal);
        assert_true(exchange.types >> RESOLVE & 1);
        assert_true(included(a, pair.b) && included(b, pair.a));
        /* and what is remembered is good for a sync by cursors */
        struct exchange again = sync_alone(pair.a, pair.b, &exchange.memory);
        assert_int_equal(again.types, 1u << DELTA | 1u << DONE);
        roost_buffer_release(&exchange.memory);
        roost_filter_free(a);
        roost_filter_free(b);
        pair_close(&pair);
    }
}

/* Universes of 0, 1, and around the powers of two at which ranges get wider. */
static void sizes_around_the_borders(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,    1,    2,    63,   64,    65,    127,   128,   129,   1023,  1024,
                                     1025, 4095, 4096, 4097, 16319, 16320, 16383, 16384, 16385, 32767, 32768};
    for (uint64_t kind = 2; kind < KINDS; kind++)
        for (size_t i = 0; i < COUNT_OF(sizes); i += stride_of(5)) {
            roost_config config = config_for(kind, sizes[i] + 10);
            struct pair pair = {new_filter(&config), new_filter(&config)};
            if (sizes[i])
                sow(pair.a, 0, sizes[i]);
            merge(pair.b, pair.a);
            /* the first and the last dot, and one in the middle */
            take(pair.a, 0, true);
            take(pair.b, sizes[i] - 1, true);
            take(pair.b, sizes[i] / 2, true);
            if (i % 2)
                put(pair.b, 1000000);
            sync_alone(i % 3 ? pair.a : pair.b, i % 3 ? pair.b : pair.a, NULL);
            pair_close(&pair);
        }
}

/* All that one has lost the other has, and the other way round: no two ranges agree. */
static void nothing_in_common(void **state)
{
    (void)state;
    enum { SIZE = 6000 };
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        struct pair pair = grown_pair(kind, SIZE);
        for (uint64_t key = 0; key < SIZE; key++)
            take(key % 2 ? pair.a : pair.b, key, true);
        sync_alone(pair.a, pair.b, NULL);
        pair_close(&pair);
        roost_config config = config_for(kind, SIZE);
        pair = (struct pair){new_filter(&config), new_filter(&config)};
        sow(pair.a, 0, SIZE / 2);
        sow(pair.b, SIZE / 2, SIZE / 2);
        sync_alone(pair.a, pair.b, NULL);
        pair_close(&pair);
    }
}

static void copies_by_the_thousand(void **state)
{
    (void)state;
    for (uint64_t kind = 4; kind < KINDS; kind++) {
        roost_config config = config_for(kind, 20000);
        struct pair pair = {new_filter(&config), new_filter(&config)};
        roost_buffer memory = {0};
        for (int i = 0; i < 3000; i++) {
            put(pair.a, 7);
            put(pair.b, i % 3 ? 7 : 8);
        }
        sync_alone(pair.a, pair.b, &memory);
        for (int i = 0; i < 1000; i++) {
            take(pair.a, 7, true);
            take(pair.b, 7 + i % 2, true);
        }
        sync_alone(pair.a, pair.b, NULL);
        take(pair.a, 7, false);
        put(pair.b, 7);
        sync_alone(pair.b, pair.a, NULL);
        sync_alone(pair.a, pair.b, &memory);
        roost_buffer_release(&memory);
        pair_close(&pair);
    }
}

/* Dots that came in pieces: a causal context of thousands of runs on each side, with other gaps. */
static void contexts_full_of_holes(void **state)
{
    (void)state;
    for (uint64_t kind = 3; kind < KINDS; kind++) {
        roost_config config = config_for(kind, 20000);
        struct pair pair = {new_filter(&config), new_filter(&config)};
        roost_filter *source = new_filter(&config);
        roost_cursor cursor = {0, 0};
        roost_buffer frame;
        assert_ok(roost_filter_encode_delta(source, &frame, &cursor, &cursor));
        roost_buffer_release(&frame);
        for (uint64_t i = 0; i < 4000; i++) {
            put(source, i);
            if (i % 5 == 0)
                take(source, i / 2, true);
            assert_ok(roost_filter_encode_delta(source, &frame, &cursor, &cursor));
            if (i % 3 != 0)
                assert_ok(roost_filter_merge_frame(pair.a, NULL, frame.data, frame.size));
            if (i % 7 < 4)
                assert_ok(roost_filter_merge_frame(pair.b, NULL, frame.data, frame.size));
            roost_buffer_release(&frame);
        }
        roost_info info;
        roost_filter_get_info(pair.a, &info);
        assert_true(info.gaps > 1000);
        sync_alone(pair.a, pair.b, NULL);
        take_many(pair.a, 500, 40);
        take_many(pair.b, 520, 40);
        sync_alone(pair.a, pair.b, NULL);
        sync_alone(source, pair.b, NULL);
        pair_close(&pair);
        roost_filter_free(source);
    }
}

/* ---- last resorts ------------------------------------------------------------------------------------------------ */

/* Two sets of ranks below 20 whose sums agree in the bits that make a range's digest. */
static void find_collision(const roost_filter *filter, uint32_t *first, uint32_t *second)
{
    enum { RANKS = 20, BITS = 20 };
    uint32_t *seen = calloc(1u << BITS, sizeof *seen);
    for (uint32_t set = 1; set < 1u << RANKS; set++) {
        uint64_t sum = 0;
        for (uint32_t rank = 0; rank < RANKS; rank++)
            if (set >> rank & 1)
                sum += (uint64_t)hash_number(filter->config->seed, rank);
        uint32_t digest = (uint32_t)(sum >> 32), *place = &seen[digest & ((1u << BITS) - 1)];
        uint64_t other = 0;
        for (uint32_t rank = 0; *place && rank < RANKS; rank++)
            if (*place >> rank & 1)
                other += (uint64_t)hash_number(filter->config->seed, rank);
        if (*place && (uint32_t)(other >> 32) == digest) {
            *first = *place;
            *second = set;
            free(seen);
            return;
        }
        *place = set;
    }
    fail();
}

/* A range whose short digest is the same though it is another: alone, and beside others that are seen to differ. */
static void colliding_ranges_are_mended(void **state)
{
    (void)state;
    for (uint64_t kind = 3; kind < KINDS; kind += stride_of(2))
        for (uint64_t size = 20; size < 400; size += 300) {
            roost_config config = config_for(kind, 1000);
            struct pair pair = {new_filter(&config), new_filter(&config)};
            uint32_t first = 0, second = 0;
            put_many(pair.a, 0, size); /* key and rank are the same */
            take_many(pair.a, 20, 44); /* nothing else in the first range */
            merge(pair.b, pair.a);
            find_collision(pair.a, &first, &second);
            for (uint64_t rank = 0; rank < 20; rank++) {
                if (!(first >> rank & 1))
                    take(pair.a, rank, true);
                if (!(second >> rank & 1))
                    take(pair.b, rank, true);
            }
            if (size > 20)
                take(pair.a, size - 1, true);
            struct exchange exchange = sync_alone(pair.a, pair.b, NULL);
            assert_true(exchange.types >> WHOLE & 1);
            assert_int_equal(exchange.types >> RESOLVE & 1, size > 20);
            pair_close(&pair);
        }
}

/* More differs than lists of positions are worth. */
static void too_many_differences_are_sent_as_a_state(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < 2; kind++) {
        roost_config config = config_for(kind, 100000);
        roost_environment environment = {.journal = 16}; /* its room counts as memory of the filter */
        struct pair pair;
        assert_ok(roost_filter_new(&pair.a, &config, &environment));
        assert_ok(roost_filter_new(&pair.b, &config, &environment));
        sow(pair.a, 0, 130000);
        sow(pair.b, 200000, 130000);
        struct exchange exchange = sync_alone(pair.a, pair.b, NULL);
        assert_true(exchange.types >> DIFFER & exchange.types >> WHOLE & 1);
        pair_close(&pair);
    }
}

static void overrun(struct exchange *exchange, void *context)
{
    uint64_t *next = context;
    for (int i = 0; i < 8; i++)
        put(*exchange->responder, ++*next);
}

/* The journal forgets what LOST said before each single answer. */
static void a_peer_that_always_forgets_gets_the_state(void **state)
{
    (void)state;
    for (uint64_t kind = 3; kind < KINDS; kind++) {
        roost_config config = config_for(kind, 2000);
        roost_environment environment = {.journal = 4};
        struct pair pair;
        uint64_t next = 1000000;
        assert_ok(roost_filter_new(&pair.a, &config, &environment));
        assert_ok(roost_filter_new(&pair.b, &config, &environment));
        put_many(pair.a, 0, 100);
        merge(pair.b, pair.a);
        take_many(pair.a, 0, 10);
        struct exchange exchange = {.initiator = pair.a, .responder = &pair.b, .interfere = overrun, .context = &next};
        run_exchange(&exchange, NULL);
        assert_ok(exchange.status);
        assert_true(exchange.types >> WHOLE & 1);
        assert_true(roost_filter_equal(pair.a, pair.b));
        roost_buffer_release(&exchange.memory);
        pair_close(&pair);
    }
}

/* Whatever place in the journal a delta starts from, it says nothing that is not so. */
static void no_place_in_a_journal_is_wrong(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        roost_config config = config_for(kind, 2000);
        struct pair pair = {new_filter(&config), new_filter(&config)};
        roost_cursor cursor = {0, 0};
        roost_buffer frame;
        assert_ok(roost_filter_encode_delta(pair.a, &frame, &cursor, &cursor));
        roost_buffer_release(&frame);
        put_many(pair.a, 0, 20);
        put_many(pair.b, 50, 30);
        take_many(pair.b, 60, 5);
        merge(pair.a, pair.b);
        take_many(pair.a, 10, 45);
        put_many(pair.a, 15, 40);
        put_many(pair.b, 100, 10);
        assert_ok(roost_filter_encode(pair.b, &frame));
        assert_ok(roost_filter_merge_frame(pair.a, NULL, frame.data, frame.size));
        roost_buffer_release(&frame);
        for (cursor.sequence = 1; cursor.sequence <= pair.a->journal->next; cursor.sequence++) {
            roost_filter *empty = new_filter(&config);
            roost_cursor next;
            assert_ok(roost_filter_encode_delta(pair.a, &frame, &next, &cursor));
            assert_ok(roost_filter_merge_frame(empty, NULL, frame.data, frame.size));
            assert_true(included(empty, pair.a));
            roost_buffer_release(&frame);
            roost_filter_free(empty);
        }
        pair_close(&pair);
    }
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static uint64_t bytes_of(struct exchange exchange)
{
    return exchange.sent + exchange.received;
}

static void assert_bytes(const char *what, uint64_t bytes, uint64_t most)
{
    printf("%s: %llu bytes, at most %llu\n", what, (unsigned long long)bytes, (unsigned long long)most);
    assert_true(bytes <= most);
}

/* The budget of 2^20 elements, for a sixteenth of them. */
static void bytes_follow_the_change(void **state)
{
    (void)state;
    only_as_shipped();
    enum { SIZE = 1 << 16 };
    struct pair pair = grown_pair(3, SIZE);
    roost_buffer memory = {0};
    sync_alone(pair.a, pair.b, &memory);
    assert_bytes("equal, with cursors", bytes_of(sync_alone(pair.a, pair.b, &memory)), 100);
    assert_bytes("equal, without", bytes_of(sync_alone(pair.a, pair.b, NULL)), 100);
    scatter(&pair, SIZE, 10, 1);
    assert_bytes("10 changes by cursor", bytes_of(sync_alone(pair.a, pair.b, &memory)), 200);
    scatter(&pair, SIZE, 1000, 2);
    assert_bytes("1000 changes by cursor", bytes_of(sync_alone(pair.a, pair.b, &memory)), 10000);
    scatter(&pair, SIZE, 10, 3);
    assert_bytes("10 changes, cursor lost", bytes_of(sync_alone(pair.a, pair.b, NULL)), 4000);
    scatter(&pair, SIZE, 1000, 4);
    assert_bytes("1000 changes, cursor lost", bytes_of(sync_alone(pair.a, pair.b, NULL)), 50000);
    roost_buffer_release(&memory);
    pair_close(&pair);
}

/* Whoever has nothing gets everything for what everything takes; whichever of the two asks. */
static void one_element_and_none(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < ALL_KINDS; kind++)
        for (int asks = 0; asks < 2; asks++) {
            roost_config config = config_for(kind, 100);
            struct pair pair = {new_filter(&config), new_filter(&config)};
            put(pair.a, 7);
            sync_alone(asks ? pair.a : pair.b, asks ? pair.b : pair.a, NULL);
            pair_close(&pair);
        }
}

static void an_empty_replica_gets_all_for_the_price_of_all(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < KINDS; kind++)
        for (int asks = 0; asks < 2; asks++) {
            roost_config config = config_for(kind, 20000);
            struct pair pair = {new_filter(&config), new_filter(&config)};
            sow(pair.a, 0, 16000);
            take_many(pair.a, 300, 1000);
            uint64_t all = encoded_size(pair.a);
            struct exchange exchange = sync_alone(asks ? pair.a : pair.b, asks ? pair.b : pair.a, NULL);
            assert_bytes(asks ? "the full one asks" : "the empty one asks", bytes_of(exchange), all + all / 20 + 100);
            pair_close(&pair);
        }
}

/* Each of very many incarnations leaves an element behind. */
static void thousands_of_actors(void **state)
{
    (void)state;
    enum { ACTORS = 5000 };
    roost_config config = config_for(3, 2 * ACTORS);
    struct pair pair = {new_filter(&config), new_filter(&config)};
    roost_buffer memory = {0};
    for (uint64_t i = 0; i < ACTORS; i++) {
        put(pair.a, i);
        if (i % 50 == 0) { /* a filter without actor takes one; its copy will take another */
            roost_filter *copy = clone_of(pair.a);
            roost_filter_free(pair.a);
            pair.a = copy;
        } else {
            as_observed(pair.a)->actor = 0;
        }
    }
    roost_info info;
    roost_filter_get_info(pair.a, &info);
    assert_int_equal(info.actors, ACTORS);
    uint64_t all = encoded_size(pair.a);
    assert_bytes("to an empty one", bytes_of(sync_alone(pair.b, pair.a, &memory)), all + all / 20 + 12 * ACTORS);
    roost_buffer_release(&memory);
    sync_alone(pair.a, pair.b, &memory);
    scatter(&pair, ACTORS, 10, 5);
    assert_bytes("10 changes by cursor", bytes_of(sync_alone(pair.a, pair.b, &memory)), 250);
    scatter(&pair, ACTORS, 10, 6);
    assert_bytes("10 changes, cursor lost", bytes_of(sync_alone(pair.a, pair.b, NULL)), 12 * ACTORS);
    roost_buffer_release(&memory);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_resolve_in_steps),
        cmocka_unit_test(jobs_write_long_deltas),
        cmocka_unit_test(the_tree_finds_what_differs),
        cmocka_unit_test(ranges_are_summed_as_summaries_are),
        cmocka_unit_test(lists_and_bits_are_the_same_summary),
        cmocka_unit_test(dots_are_found_two_cuts_down),
        cmocka_unit_test(the_causal_is_sent_once),
        cmocka_unit_test(the_tree_stands_a_busy_peer),
        cmocka_unit_test(sizes_around_the_borders),
        cmocka_unit_test(nothing_in_common),
        cmocka_unit_test(copies_by_the_thousand),
        cmocka_unit_test(contexts_full_of_holes),
        cmocka_unit_test(colliding_ranges_are_mended),
        cmocka_unit_test(too_many_differences_are_sent_as_a_state),
        cmocka_unit_test(a_peer_that_always_forgets_gets_the_state),
        cmocka_unit_test(no_place_in_a_journal_is_wrong),
        cmocka_unit_test(bytes_follow_the_change),
        cmocka_unit_test(one_element_and_none),
        cmocka_unit_test(an_empty_replica_gets_all_for_the_price_of_all),
        cmocka_unit_test(thousands_of_actors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
