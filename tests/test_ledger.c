/* Ledgers beside plain arrays of amounts. */
#include "check.h"

#include "causal/ledger.h"

enum { LEDGER_TABLES = 5, LEDGER_ACTORS = 6, SHARE = 40 };

/* Every amount, by table, giver and taker. */
struct amounts {
    uint64_t of[LEDGER_TABLES][LEDGER_ACTORS][LEDGER_ACTORS];
};

static uint64_t ledger_actor(uint32_t number)
{
    return UINT64_C(0x9e3779b97f4a7c15) * (number + 1); /* in no order */
}

static uint64_t amounts_left(const struct amounts *amounts, uint32_t table, uint32_t actor)
{
    uint64_t has = SHARE, gone = 0;
    for (uint32_t other = 0; other < LEDGER_ACTORS; other++) {
        gone += amounts->of[table][actor][other];
        has += other != actor ? amounts->of[table][other][actor] : 0;
    }
    return has > gone ? has - gone : 0;
}

static void assert_amounts(const struct ledger *ledger, const struct amounts *amounts)
{
    uint64_t entries = 0, all = 0, actors = 0;
    bool known[LEDGER_ACTORS] = {false};
    assert_true(ledger_check(ledger));
    for (uint32_t table = 0; table < LEDGER_TABLES; table++) {
        uint64_t spent = 0;
        for (uint32_t from = 0; from < LEDGER_ACTORS; from++) {
            uint64_t here = 0;
            size_t end, first = ledger_entries_of(ledger, table, ledger_actor(from), &end);
            for (uint32_t to = 0; to < LEDGER_ACTORS; to++)
                here += amounts->of[table][from][to] > 0;
            assert_int_equal(end - first, here);
            assert_int_equal(ledger_spent(ledger, table, ledger_actor(from)), amounts->of[table][from][from]);
            assert_int_equal(ledger_left(ledger, table, ledger_actor(from), SHARE), amounts_left(amounts, table, from));
            spent += amounts->of[table][from][from];
            entries += here;
            actors += here > 0 && !known[from];
            known[from] |= here > 0;
        }
        assert_int_equal(ledger_spent_in(ledger, table), spent);
        all += spent;
    }
    assert_int_equal(ledger_spent_at_all(ledger), all);
    assert_int_equal(ledger->count, entries);
    assert_int_equal(ledger_actors(ledger), actors);
}

struct ledger_news {
    const struct amounts *before, *after;
    uint64_t count;
};

static uint32_t ledger_number(uint64_t actor)
{
    uint32_t number = 0;
    while (ledger_actor(number) != actor)
        number++;
    return number;
}

static void count_news(void *context, const struct ledger_entry *entry)
{
    struct ledger_news *news = context;
    uint32_t from = ledger_number(entry->from), to = ledger_number(entry->to);
    assert_true(news->before->of[entry->table][from][to] < entry->amount);
    assert_int_equal(news->after->of[entry->table][from][to], entry->amount);
    news->count++;
}

static struct amounts larger_amounts(const struct amounts *a, const struct amounts *b, uint64_t *larger)
{
    struct amounts both = *a;
    uint64_t *to = &both.of[0][0][0];
    const uint64_t *from = &b->of[0][0][0];
    *larger = 0;
    for (size_t i = 0; i < sizeof both / sizeof *to; i++)
        if (to[i] < from[i]) {
            to[i] = from[i];
            ++*larger;
        }
    return both;
}

static void merge_ledgers(struct ledger *ledger, struct amounts *amounts, const struct ledger *other,
                          const struct amounts *others, const roost_allocator *allocator)
{
    uint64_t larger;
    struct amounts both = larger_amounts(amounts, others, &larger);
    struct ledger_news news = {amounts, &both, 0};
    assert_int_equal(ledger_lacks(ledger, other), larger > 0);
    assert_true(ledger_reserve(ledger, allocator, other->count));
    assert_int_equal(ledger_merge(ledger, other, count_news, &news), larger > 0);
    assert_int_equal(news.count, larger);
    *amounts = both;
    assert_amounts(ledger, amounts);
}

static void assert_ledger_bytes(const struct ledger *ledger, const struct amounts *amounts,
                                const roost_allocator *allocator)
{
    struct bit_writer writer;
    struct ledger back;
    bit_writer_init(&writer, *allocator);
    ledger_write(ledger, &writer);
    struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
    assert_int_equal(ledger_read(&back, &reader, LEDGER_TABLES, allocator), LEDGER_READ);
    assert_amounts(&back, amounts);
    ledger_release(&back, allocator);
    for (size_t cut = 0; cut < writer.buffer.size; cut++) {
        reader = bit_reader_over(writer.buffer.data, cut);
        assert_int_equal(ledger_read(&back, &reader, LEDGER_TABLES, allocator), LEDGER_CORRUPT);
    }
    bit_writer_release(&writer);
}

/* Replicas that spend, give and merge: amounts are the model's, and nobody ever overdraws. */
static void ledgers_match_the_model(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(17));
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    for (uint32_t turn = 0; turn < 60; turn++) {
        struct ledger ledgers[LEDGER_ACTORS] = {{0}};
        struct amounts amounts[LEDGER_ACTORS] = {{{{{0}}}}};
        for (uint32_t step = 0; step < 150; step++) {
            uint32_t own = random_choice(&random, LEDGER_ACTORS), other = random_choice(&random, LEDGER_ACTORS);
            uint32_t table = random_choice(&random, LEDGER_TABLES);
            uint64_t left = ledger_left(&ledgers[own], table, ledger_actor(own), SHARE);
            if (random_choice(&random, 3) == 0) {
                merge_ledgers(&ledgers[own], &amounts[own], &ledgers[other], &amounts[other], &allocator);
            } else if (left > 0) { /* to oneself: spent */
                uint64_t amount = 1 + random_choice(&random, (uint32_t)left);
                assert_true(ledger_reserve(&ledgers[own], &allocator, 1));
                ledger_raise(&ledgers[own], table, ledger_actor(own), ledger_actor(other), amount);
                amounts[own].of[table][own][other] += amount;
                assert_amounts(&ledgers[own], &amounts[own]);
            }
        }
        for (uint32_t i = 1; i < LEDGER_ACTORS; i++)
            merge_ledgers(&ledgers[0], &amounts[0], &ledgers[i], &amounts[i], &allocator);
        for (uint32_t table = 0; table < LEDGER_TABLES; table++)
            assert_true(ledger_spent_in(&ledgers[0], table) <= LEDGER_ACTORS * SHARE);
        assert_ledger_bytes(&ledgers[0], &amounts[0], &allocator);
        struct ledger copy;
        assert_true(ledger_copy(&copy, &ledgers[0], &allocator));
        assert_amounts(&copy, &amounts[0]);
        ledger_release(&copy, &allocator);
        for (uint32_t i = 0; i < LEDGER_ACTORS; i++)
            ledger_release(&ledgers[i], &allocator);
    }
}

static void ignore_entry(void *context, const struct ledger_entry *entry)
{
    (void)context;
    (void)entry;
}

/* More entries than replicas ever make, all as large as can be: read, merged, summed up to the largest number. */
static void ledgers_have_no_limit(void **state)
{
    (void)state;
    enum { ENTRIES = 200000 };
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    struct bit_writer writer;
    struct ledger ledger, odd = {0};
    bit_writer_init(&writer, allocator);
    write_varint(&writer, ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++)
        ledger_write_entry(&writer, &(struct ledger_entry){3, i + 1, i + 1, (UINT64_C(1) << 48) - 1});
    struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
    assert_int_equal(ledger_read(&ledger, &reader, 64, &allocator), LEDGER_READ);
    assert_true(ledger_spent_at_all(&ledger) == UINT64_MAX && ledger_spent_in(&ledger, 3) == UINT64_MAX);
    assert_int_equal(ledger_actors(&ledger), ENTRIES);
    assert_true(ledger_reserve(&odd, &allocator, ENTRIES));
    for (uint64_t i = 1; i <= ENTRIES; i += 2)
        ledger_raise(&odd, 3, i, i, 5);
    assert_true(ledger_reserve(&odd, &allocator, ENTRIES));
    assert_true(ledger_merge(&odd, &ledger, ignore_entry, NULL));
    assert_true(!ledger_lacks(&odd, &ledger) && !ledger_lacks(&ledger, &odd) && ledger_check(&odd));
    bit_writer_release(&writer);
    ledger_release(&ledger, &allocator);
    ledger_release(&odd, &allocator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledgers_match_the_model),
        cmocka_unit_test(ledgers_have_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
