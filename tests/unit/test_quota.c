/* Quota beside plain arrays of amounts. */
#include "check.h"

#include "causal/quota.h"

enum { QUOTA_TABLES = 5, QUOTA_ACTORS = 6, SHARE = 40 };

/* Every amount, by table, giver and taker. */
struct amounts {
    uint64_t of[QUOTA_TABLES][QUOTA_ACTORS][QUOTA_ACTORS];
};

static uint64_t quota_actor(uint32_t number)
{
    return UINT64_C(0x9e3779b97f4a7c15) * (number + 1); /* in no order */
}

static uint64_t amounts_left(const struct amounts *amounts, uint32_t table, uint32_t actor)
{
    uint64_t has = SHARE, gone = 0;
    for (uint32_t other = 0; other < QUOTA_ACTORS; other++) {
        gone += amounts->of[table][actor][other];
        has += other != actor ? amounts->of[table][other][actor] : 0;
    }
    return has > gone ? has - gone : 0;
}

static void assert_amounts(const struct quota *quota, const struct amounts *amounts)
{
    uint64_t entries = 0, all = 0, actors = 0;
    bool known[QUOTA_ACTORS] = {false};
    assert_true(quota_check(quota));
    for (uint32_t table = 0; table < QUOTA_TABLES; table++) {
        uint64_t spent = 0;
        for (uint32_t from = 0; from < QUOTA_ACTORS; from++) {
            uint64_t here = 0;
            size_t end, first = quota_entries_of(quota, table, quota_actor(from), &end);
            for (uint32_t to = 0; to < QUOTA_ACTORS; to++)
                here += amounts->of[table][from][to] > 0;
            assert_int_equal(end - first, here);
            assert_int_equal(quota_spent(quota, table, quota_actor(from)), amounts->of[table][from][from]);
            assert_int_equal(quota_left(quota, table, quota_actor(from), SHARE), amounts_left(amounts, table, from));
            spent += amounts->of[table][from][from];
            entries += here;
            actors += here > 0 && !known[from];
            known[from] |= here > 0;
        }
        assert_int_equal(quota_spent_in(quota, table), spent);
        all += spent;
    }
    assert_int_equal(quota_spent_at_all(quota), all);
    assert_int_equal(quota->count, entries);
    assert_int_equal(quota_actors(quota), actors);
}

struct quota_unseen {
    const struct amounts *before, *after;
    uint64_t count;
};

static uint32_t quota_number(uint64_t actor)
{
    uint32_t number = 0;
    while (quota_actor(number) != actor)
        number++;
    return number;
}

static void count_unseen(void *context, const struct quota_entry *entry)
{
    struct quota_unseen *unseen = context;
    uint32_t from = quota_number(entry->from), to = quota_number(entry->to);
    assert_true(unseen->before->of[entry->table][from][to] < entry->amount);
    assert_int_equal(unseen->after->of[entry->table][from][to], entry->amount);
    unseen->count++;
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

static void merge_quotas(struct quota *quota, struct amounts *amounts, const struct quota *other,
                         const struct amounts *others, const roost_allocator *allocator)
{
    uint64_t larger;
    struct amounts both = larger_amounts(amounts, others, &larger);
    struct quota_unseen unseen = {amounts, &both, 0};
    assert_int_equal(quota_lacks(quota, other), larger > 0);
    assert_true(quota_reserve(quota, allocator, other->count));
    assert_int_equal(quota_merge(quota, other, count_unseen, &unseen), larger > 0);
    assert_int_equal(unseen.count, larger);
    *amounts = both;
    assert_amounts(quota, amounts);
}

static void assert_quota_bytes(const struct quota *quota, const struct amounts *amounts,
                               const roost_allocator *allocator)
{
    struct bit_writer writer;
    struct quota back;
    bit_writer_init(&writer, *allocator);
    quota_write(quota, &writer);
    struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
    assert_int_equal(quota_read(&back, &reader, QUOTA_TABLES, allocator), QUOTA_READ);
    assert_amounts(&back, amounts);
    quota_release(&back, allocator);
    for (size_t cut = 0; cut < writer.buffer.size; cut++) {
        reader = bit_reader_over(writer.buffer.data, cut);
        assert_int_equal(quota_read(&back, &reader, QUOTA_TABLES, allocator), QUOTA_CORRUPT);
    }
    bit_writer_release(&writer);
}

/* Replicas that spend, give and merge: amounts are the model's, and nobody ever overdraws. */
static void quotas_match_the_model(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(17));
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    for (uint32_t turn = 0; turn < 60; turn++) {
        struct quota quotas[QUOTA_ACTORS] = {{0}};
        struct amounts amounts[QUOTA_ACTORS] = {{{{{0}}}}};
        for (uint32_t step = 0; step < 150; step++) {
            uint32_t own = random_choice(&random, QUOTA_ACTORS), other = random_choice(&random, QUOTA_ACTORS);
            uint32_t table = random_choice(&random, QUOTA_TABLES);
            uint64_t left = quota_left(&quotas[own], table, quota_actor(own), SHARE);
            if (random_choice(&random, 3) == 0) {
                merge_quotas(&quotas[own], &amounts[own], &quotas[other], &amounts[other], &allocator);
            } else if (left > 0) { /* to oneself: spent */
                uint64_t amount = 1 + random_choice(&random, (uint32_t)left);
                assert_true(quota_reserve(&quotas[own], &allocator, 1));
                quota_raise(&quotas[own], table, quota_actor(own), quota_actor(other), amount);
                amounts[own].of[table][own][other] += amount;
                assert_amounts(&quotas[own], &amounts[own]);
            }
        }
        for (uint32_t i = 1; i < QUOTA_ACTORS; i++)
            merge_quotas(&quotas[0], &amounts[0], &quotas[i], &amounts[i], &allocator);
        for (uint32_t table = 0; table < QUOTA_TABLES; table++)
            assert_true(quota_spent_in(&quotas[0], table) <= QUOTA_ACTORS * SHARE);
        assert_quota_bytes(&quotas[0], &amounts[0], &allocator);
        struct quota copy;
        assert_true(quota_copy(&copy, &quotas[0], &allocator));
        assert_amounts(&copy, &amounts[0]);
        quota_release(&copy, &allocator);
        for (uint32_t i = 0; i < QUOTA_ACTORS; i++)
            quota_release(&quotas[i], &allocator);
    }
}

static void ignore_entry(void *context, const struct quota_entry *entry)
{
    (void)context;
    (void)entry;
}

/* More entries than replicas ever make, all as large as can be: read, merged, summed up to the largest number. */
static void quotas_have_no_limit(void **state)
{
    (void)state;
    enum { ENTRIES = 200000 };
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    struct bit_writer writer;
    struct quota quota, odd = {0};
    bit_writer_init(&writer, allocator);
    write_varint(&writer, ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++)
        quota_write_entry(&writer, &(struct quota_entry){3, i + 1, i + 1, (UINT64_C(1) << 48) - 1});
    struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
    assert_int_equal(quota_read(&quota, &reader, 64, &allocator), QUOTA_READ);
    assert_true(quota_spent_at_all(&quota) == UINT64_MAX && quota_spent_in(&quota, 3) == UINT64_MAX);
    assert_int_equal(quota_actors(&quota), ENTRIES);
    assert_true(quota_reserve(&odd, &allocator, ENTRIES));
    for (uint64_t i = 1; i <= ENTRIES; i += 2)
        quota_raise(&odd, 3, i, i, 5);
    assert_true(quota_reserve(&odd, &allocator, ENTRIES));
    assert_true(quota_merge(&odd, &quota, ignore_entry, NULL));
    assert_true(!quota_lacks(&odd, &quota) && !quota_lacks(&quota, &odd) && quota_check(&odd));
    bit_writer_release(&writer);
    quota_release(&quota, &allocator);
    quota_release(&odd, &allocator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_match_the_model),
        cmocka_unit_test(quotas_have_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
