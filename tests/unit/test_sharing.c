/*
 * Clones of growing filters share memory until one of them changes. Whatever is done to one shows in no other, also
 * where memory runs out in the middle of it, and where each of them belongs to another thread.
 */
#include <pthread.h>

#include "growing/growing_cuckoo.h"
#include "growing/growing_orcuckoo.h"
#include "meter.h"
#include "roost/incremental.h"
#include "roost/sync.h"

enum { VARIANTS = 3 };

static roost_config variant(unsigned number)
{
    roost_config config = roost_config_default();
    config.kind = number == 0 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
    config.multiset = number == 2;
    config.scalable = true;
    return config;
}

static bool removes(const roost_filter *filter)
{
    return roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
}

/* Many segments of few entries each. */
static void cut_finely(roost_filter *filter)
{
    if (!removes(filter))
        return;
    struct tagged_set *set = &as_growing_orcuckoo(filter)->set;
    assert_ok(tagged_set_use_table(set, filter));
    set->table->target = 32;
}

static void add_keys(roost_filter *filter, uint64_t from, uint64_t count)
{
    for (uint64_t key = from; key < from + count; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
}

/* ---- beside twins that share nothing ------------------------------------------------------------------------------ */

/* The same is done to both sides: clones on one, copies by way of bytes on the other. They draw the same numbers. */
enum { FILTERS = 4, SIDES = 2, SHARING = 0, APART = 1 };

struct pool {
    struct counted_entropy entropy[SIDES];
    roost_environment environments[SIDES];
    roost_filter *filters[SIDES][FILTERS];
};

/* Segments of grow-only filters are not cut finely. */
static uint32_t keys_for(const roost_filter *filter)
{
    return removes(filter) ? 2000 : 15000;
}

static void copy_one(struct pool *pool, unsigned from, unsigned to)
{
    for (unsigned side = 0; side < SIDES; side++) {
        roost_filter *original = pool->filters[side][from];
        roost_filter *copy =
            side == SHARING ? clone_of(original) : through_bytes_in(original, &pool->environments[side]);
        cut_finely(copy);
        roost_filter_free(pool->filters[side][to]);
        pool->filters[side][to] = copy;
    }
}

static void change_one(struct pool *pool, unsigned number, struct random_source *random, uint32_t count)
{
    const struct random_source begin = *random;
    for (unsigned side = 0; side < SIDES; side++) {
        roost_filter *filter = pool->filters[side][number];
        *random = begin;
        for (uint32_t i = 0; i < count; i++) {
            roost_hash hash = hash_for_key(random_choice(random, keys_for(filter)));
            uint32_t what = random_choice(random, 8);
            if (what < 3 && removes(filter))
                assert_ok(roost_filter_remove_hash(filter, NULL, hash));
            else if (what == 3 && filter->config->multiset)
                assert_ok(roost_filter_remove_one_hash(filter, &(bool){false}, hash));
            else
                assert_ok(roost_filter_add_hash(filter, NULL, hash));
        }
    }
}

static void merge_one(struct pool *pool, unsigned from, unsigned to)
{
    for (unsigned side = 0; side < SIDES && from != to; side++)
        assert_ok(roost_filter_merge(pool->filters[side][to], NULL, pool->filters[side][from]));
}

static void sync_with(roost_filter *initiator, roost_filter *responder)
{
    roost_buffer request, reply = {0};
    roost_sync *sync;
    assert_ok(roost_sync_new(&sync, initiator, NULL, 0));
    for (;;) {
        assert_ok(roost_sync_next(sync, &request, reply.data, reply.size));
        roost_buffer_release(&reply);
        if (request.size == 0)
            break;
        assert_ok(roost_sync_reply(responder, &reply, NULL, request.data, request.size));
        roost_buffer_release(&request);
    }
    roost_sync_free(sync);
}

static void sync_two(struct pool *pool, unsigned from, unsigned to)
{
    for (unsigned side = 0; side < SIDES && from != to; side++)
        sync_with(pool->filters[side][to], pool->filters[side][from]);
}

static void assert_alike(const struct pool *pool)
{
    for (unsigned i = 0; i < FILTERS; i++) {
        assert_ok(roost_filter_check(pool->filters[SHARING][i]));
        assert_same_frame(pool->filters[SHARING][i], pool->filters[APART][i]);
    }
}

static void what_is_shared_does_not_change(void **state)
{
    struct random_source random = random_from_seed(test_seed(2611));
    (void)state;
    for (uint64_t round = 0; round < rounds_of(18); round++) {
        const roost_config config = variant(round % VARIANTS);
        struct pool pool = {.entropy = {{1, 1, false, 0}, {1, 1, false, 0}}};
        for (unsigned side = 0; side < SIDES; side++) {
            pool.environments[side] = (roost_environment){.entropy = {&pool.entropy[side], draw_counted}};
            for (unsigned i = 0; i < FILTERS; i++) {
                assert_ok(roost_filter_new(&pool.filters[side][i], &config, &pool.environments[side]));
                cut_finely(pool.filters[side][i]);
            }
        }
        change_one(&pool, 0, &random, random_choice(&random, 2 * keys_for(pool.filters[0][0])));
        for (unsigned step = 0; step < 40; step++) {
            unsigned from = random_choice(&random, FILTERS), to = random_choice(&random, FILTERS);
            uint32_t what = random_choice(&random, 8);
            if (what < 3 && from != to)
                copy_one(&pool, from, to);
            else if (what == 3)
                merge_one(&pool, from, to);
            else if (what == 4)
                sync_two(&pool, from, to);
            else
                change_one(&pool, to, &random, random_choice(&random, what == 5 ? 2000 : 20));
            assert_alike(&pool);
        }
        for (unsigned side = 0; side < SIDES; side++)
            free_all(pool.filters[side], FILTERS);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void a_clone_takes_little_memory(void **state)
{
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number++) {
        struct meter meter;
        roost_environment environment = {.allocator = allocator_of(&meter)};
        const roost_config config = variant(number);
        roost_filter *filter, *clone, *apart;
        assert_ok(roost_filter_new(&filter, &config, &environment));
        add_keys(filter, 0, 100000);
        int64_t blocks = meter.outstanding;
        assert_ok(roost_filter_clone(filter, &clone));
        printf("%lld blocks, %lld more for a clone\n", (long long)blocks, (long long)(meter.outstanding - blocks));
        assert_true(meter.outstanding - blocks < 16);
        assert_ok(roost_filter_add_hash(clone, NULL, hash_for_key(1u << 20)));
        assert_true(meter.outstanding - blocks < blocks / 16);
        apart = through_bytes(filter); /* with another allocator */
        assert_same_frame(filter, apart);
        roost_filter_free(filter);
        assert_ok(roost_filter_check(clone));
        roost_filter_free(clone);
        roost_filter_free(apart);
        assert_int_equal(meter.outstanding, 0);
    }
}

typedef roost_status filter_call(roost_filter *filter, const roost_filter *other, const roost_buffer *delta);

static roost_status add_another(roost_filter *filter, const roost_filter *other, const roost_buffer *delta)
{
    (void)other;
    (void)delta;
    return roost_filter_add_hash(filter, NULL, hash_for_key(1u << 20));
}

static roost_status add_again(roost_filter *filter, const roost_filter *other, const roost_buffer *delta)
{
    (void)other;
    (void)delta;
    return roost_filter_add_hash(filter, NULL, hash_for_key(7));
}

static roost_status remove_some(roost_filter *filter, const roost_filter *other, const roost_buffer *delta)
{
    roost_hash hashes[4];
    (void)other;
    (void)delta;
    for (uint64_t i = 0; i < 4; i++)
        hashes[i] = hash_for_key(100 * i);
    return removes(filter) ? roost_filter_remove_many_hash(filter, NULL, hashes, 4) : ROOST_OK;
}

static roost_status remove_copy(roost_filter *filter, const roost_filter *other, const roost_buffer *delta)
{
    (void)other;
    (void)delta;
    return filter->config->multiset ? roost_filter_remove_one_hash(filter, &(bool){false}, hash_for_key(9)) : ROOST_OK;
}

static roost_status merge_other(roost_filter *filter, const roost_filter *other, const roost_buffer *delta)
{
    (void)delta;
    return roost_filter_merge(filter, NULL, other);
}

static roost_status merge_changes(roost_filter *filter, const roost_filter *other, const roost_buffer *delta)
{
    (void)other;
    return roost_filter_merge_frame(filter, NULL, delta->data, delta->size);
}

/* With an allocation that fails, and all after it, for each that there is. Returns how many. */
static uint64_t try_with_failures(filter_call *call, roost_filter *filter, const roost_filter *other,
                                  const roost_buffer *delta, struct meter *meter)
{
    for (int64_t allowed = 0;; allowed++) {
        roost_filter *shared = clone_of(filter);
        struct portrait before = portrait_of(filter), shown = portrait_of(shared);
        meter->allowed = allowed;
        meter->failures = 0;
        roost_status status = call(filter, other, delta);
        meter->allowed = -1;
        assert_ok(roost_filter_check(filter));
        assert_true(status == ROOST_OK || (status == ROOST_NO_MEMORY && meter->failures > 0));
        if (status != ROOST_OK)
            assert_same_state(&before, filter);
        assert_still(&shown, shared);
        if (status == ROOST_OK && (call == merge_other || call == merge_changes)) {
            assert_ok(roost_filter_merge(shared, NULL, other));
            assert_same_frame(filter, shared);
        }
        portrait_release(&before);
        portrait_release(&shown);
        roost_filter_free(shared);
        if (meter->failures == 0)
            return (uint64_t)allowed;
    }
}

static void failures_change_nothing(void **state)
{
    static filter_call *const calls[] = {add_another, add_again, remove_some, remove_copy, merge_other, merge_changes};
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number++)
        for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
            struct meter meter;
            roost_environment environment = {.allocator = allocator_of(&meter), .journal = 10000};
            const roost_config config = variant(number);
            roost_filter *filter, *other;
            roost_cursor cursor = {0, 0};
            roost_buffer delta;
            assert_ok(roost_filter_new(&filter, &config, &environment));
            cut_finely(filter);
            add_keys(filter, 0, 800);
            other = clone_of(filter);
            cut_finely(other);
            assert_ok(roost_filter_encode_delta(other, &delta, &cursor, &cursor));
            roost_buffer_release(&delta);
            add_keys(other, 5000, 10);
            for (uint64_t key = 50; key < 60 && removes(other); key++)
                assert_ok(roost_filter_remove_hash(other, NULL, hash_for_key(key)));
            assert_ok(roost_filter_encode_delta(other, &delta, &cursor, &cursor));
            uint64_t failed = try_with_failures(calls[i], filter, other, &delta, &meter);
            printf("%llu allocations failed\n", (unsigned long long)failed);
            roost_buffer_release(&delta);
            roost_filter_free(filter);
            roost_filter_free(other);
            assert_int_equal(meter.outstanding, 0);
        }
}

/* ---- allocators that count ---------------------------------------------------------------------------------------- */

enum { HEAD = 16, COUNTED = 5 };

/* What a filter uses, by what it allocated and what it shares. */
struct account {
    size_t bytes;
};
static _Atomic size_t held; /* of all accounts together, without what is shared twice */

static size_t size_of_block(void *memory)
{
    size_t size;
    memcpy(&size, (char *)memory - HEAD, sizeof size);
    return size;
}

static void *account_allocate(void *context, size_t size)
{
    char *block = calloc(1, size + HEAD);
    assert_non_null(block);
    memcpy(block, &size, sizeof size);
    ((struct account *)context)->bytes += size;
    held += size;
    return block + HEAD;
}

static void account_release(void *context, void *memory)
{
    ((struct account *)context)->bytes -= size_of_block(memory);
    held -= size_of_block(memory);
    free((char *)memory - HEAD);
}

static void account_count(void *context, void *memory, bool more)
{
    struct account *account = context;
    account->bytes += more ? size_of_block(memory) : -size_of_block(memory);
}

static roost_environment counting_environment(struct account *account)
{
    *account = (struct account){0};
    return (roost_environment){.allocator = {account, account_allocate, account_release}, .count = account_count};
}

static roost_filter *copied(roost_filter *filter, const roost_environment *environment)
{
    roost_copy_job *copying;
    bool done;
    assert_ok(roost_copy_job_new(&copying, filter, environment));
    assert_ok(roost_copy_job_step(copying, filter, &done, 1));
    assert_true(done);
    return roost_copy_job_finish(copying);
}

/* Each counts all that it uses, as if it shared nothing, whoever frees what they shared. */
static void contexts_count_what_they_use(void **state)
{
    const uint32_t keys = is_long() ? 60000 : 20000;
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number++) {
        struct random_source random = random_from_seed(test_seed(1117 + number));
        const roost_config config = variant(number);
        struct account accounts[COUNTED];
        roost_environment environments[COUNTED];
        roost_filter *filters[COUNTED] = {0};
        for (unsigned i = 0; i < COUNTED; i++)
            environments[i] = counting_environment(&accounts[i]);
        assert_ok(roost_filter_new(&filters[0], &config, &environments[0]));
        add_keys(filters[0], 0, keys);
        filters[1] = copied(filters[0], &environments[1]);
        assert_true(accounts[1].bytes > accounts[0].bytes - accounts[0].bytes / 50);
        assert_true(accounts[1].bytes < accounts[0].bytes + accounts[0].bytes / 50);
        assert_true(held < accounts[0].bytes + accounts[0].bytes / 20);
        for (unsigned i = 0; i < keys / 200; i++) {
            unsigned from = random_choice(&random, COUNTED), to = random_choice(&random, COUNTED);
            if (filters[to] && random_choice(&random, 4) == 0) {
                roost_filter_free(filters[to]);
                filters[to] = NULL;
                assert_int_equal(accounts[to].bytes, 0);
            } else if (filters[from] && !filters[to]) {
                filters[to] = copied(filters[from], &environments[to]);
            } else if (filters[to]) {
                add_keys(filters[to], keys + 50 * i, 50);
                for (uint64_t key = 0; key < 10 && removes(filters[to]); key++)
                    assert_ok(roost_filter_remove_hash(filters[to], NULL, hash_for_key(random_choice(&random, keys))));
                assert_ok(roost_filter_check(filters[to]));
            }
        }
        for (unsigned i = 0; i < COUNTED; i++) {
            roost_filter_free(filters[i]);
            assert_int_equal(accounts[i].bytes, 0);
        }
        assert_int_equal(held, 0);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, COMMON = 12000, EACH = 2000 };

struct worker {
    pthread_t thread;
    roost_filter *filter;
    uint64_t first;
    bool failed;
};

/* No assertion in here: they are not for threads. */
static void *work(void *context)
{
    struct worker *worker = context;
    roost_filter *passing = NULL;
    for (uint64_t i = 0; i < EACH && !worker->failed; i++) {
        roost_hash added = hash_for_key(worker->first + i), old = hash_for_key(i * 7 % COMMON);
        worker->failed |= roost_filter_add_hash(worker->filter, NULL, added) != ROOST_OK;
        if (removes(worker->filter) && i % 4 == 0)
            worker->failed |= roost_filter_remove_hash(worker->filter, NULL, old) != ROOST_OK;
        else
            worker->failed |= i < 100 && !roost_filter_contains_hash(worker->filter, hash_for_key(COMMON - 1 - i));
        if (i % 500 == 0) {
            roost_filter_free(passing);
            worker->failed |= roost_filter_clone(worker->filter, &passing) != ROOST_OK;
        }
    }
    worker->failed |= roost_filter_check(passing) != ROOST_OK;
    roost_filter_free(passing);
    return NULL;
}

static void threads_have_clones_of_their_own(void **state)
{
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number++) {
        const roost_config config = variant(number);
        roost_filter *filter = new_filter(&config);
        struct worker workers[THREADS];
        add_keys(filter, 0, COMMON);
        struct portrait before = portrait_of(filter);
        for (uint64_t i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.filter = clone_of(filter), .first = COMMON * (i + 1)};
            add_keys(workers[i].filter, workers[i].first, 1); /* numbers of actors are drawn in this thread */
            assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
            assert_false(workers[i].failed);
            assert_ok(roost_filter_check(workers[i].filter));
            for (uint64_t key = 0; key < EACH; key++)
                assert_true(roost_filter_contains_hash(workers[i].filter, hash_for_key(workers[i].first + key)));
            roost_filter_free(workers[i].filter);
        }
        assert_still(&before, filter);
        portrait_release(&before);
        roost_filter_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shared_does_not_change), cmocka_unit_test(a_clone_takes_little_memory),
        cmocka_unit_test(failures_change_nothing), cmocka_unit_test(contexts_count_what_they_use),
        cmocka_unit_test(threads_have_clones_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
