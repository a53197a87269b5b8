/*
 * A server has many small filters, and all but a few of them were made with the same options: a filter of one element
 * would take four times the memory if it had a configuration, an environment and a budget for itself, and making it
 * would take as long as computing that budget.
 *
 * So these are kept in one array of the process, as values that never change while a filter uses them, each with the
 * number of its users. An unused one stays where it is, and is found again, until its place is needed. There are PLACES
 * of them, and each may be at NEARBY places, by its hash; where all of these are in use a filter keeps one for itself.
 *
 *     hash % PLACES                   users   100,000       3       0
 *          |                                 +-------+-------+-------+
 *          +-------------------------------->| 0.01  | 0.001 | 0.02  |  ...
 *                                            +-------+-------+-------+
 *
 * Filters may be made and freed by several threads at once: a lock is held while a place is looked for.
 */
#include "shared.h"

#include <stdatomic.h>

#include "../base/binary64.h"
#include "../base/hash.h"

#define PLACES 64
#define NEARBY 8

struct shared_place {
    struct shared shared;
    uint64_t users;
    bool filled;
};

static struct shared_place places[PLACES];
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        continue;
}

static void release_lock(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static bool is_of(const struct shared *shared, const roost_config *config, const roost_environment *environment,
                  uint8_t cut)
{
    const roost_config *a = &shared->config;
    const roost_environment *b = &shared->environment;
    return shared->cut == cut && a->kind == config->kind && a->multiset == config->multiset &&
           a->semantics == config->semantics && a->capacity == config->capacity && a->fpr == config->fpr &&
           a->seed == config->seed && a->writers == config->writers && a->growth == config->growth &&
           a->schedule == config->schedule && b->random_seed == environment->random_seed &&
           b->memory_limit == environment->memory_limit && b->kicks == environment->kicks &&
           b->entropy.context == environment->entropy.context && b->entropy.draw == environment->entropy.draw &&
           b->journal == environment->journal && b->journal_part == environment->journal_part &&
           b->most_moved == environment->most_moved && b->count == environment->count &&
           b->executor.context == environment->executor.context && b->executor.run == environment->executor.run &&
           b->executor.threads == environment->executor.threads;
}

static void shared_init(struct shared *shared, const roost_config *config, const roost_environment *environment,
                        uint8_t cut)
{
    shared->config = (roost_config){.kind = config->kind,
                                    .capacity = config->capacity,
                                    .fpr = config->fpr,
                                    .seed = config->seed,
                                    .scalable = true,
                                    .multiset = config->multiset,
                                    .semantics = config->semantics,
                                    .writers = config->writers,
                                    .growth = config->growth,
                                    .schedule = config->schedule};
    shared->environment = *environment;
    shared->environment.allocator = (roost_allocator){0};
    shared->cut = cut;
    budget_of(&shared->budget, &shared->config);
    if (cut > 0)
        budget_cut(&shared->budget, cut);
}

static uint64_t hash_of(const roost_config *config)
{
    return (uint64_t)hash_number(config->seed ^ config->capacity, bits_of_double(config->fpr) + config->writers);
}

/* The place that has it, or one that is not in use; NULL: neither. */
static struct shared_place *find_place(const roost_config *config, const roost_environment *environment, uint8_t cut)
{
    struct shared_place *unused = NULL;
    uint64_t hash = hash_of(config);
    for (unsigned i = 0; i < NEARBY; i++) {
        struct shared_place *place = &places[(hash + i) % PLACES];
        if (place->filled && is_of(&place->shared, config, environment, cut))
            return place;
        if (place->users == 0 && (!unused || !place->filled))
            unused = place;
    }
    if (unused) {
        shared_init(&unused->shared, config, environment, cut);
        unused->filled = true;
    }
    return unused;
}

static const struct shared *shared_take(const roost_config *config, const roost_environment *environment, uint8_t cut)
{
    take_lock();
    struct shared_place *place = find_place(config, environment, cut);
    if (place)
        place->users++;
    release_lock();
    return place ? &place->shared : NULL;
}

static void shared_leave(const struct shared *shared)
{
    struct shared_place *place = &places[(const struct shared_place *)(const void *)shared - places];
    take_lock();
    place->users--;
    release_lock();
}

const struct shared *shared_open(const roost_config *config, const roost_environment *environment, uint8_t cut,
                                 bool *keeps)
{
    const struct shared *shared = shared_take(config, environment, cut);
    *keeps = !shared;
    if (shared)
        return shared;
    struct shared *kept = memory_allocate(&environment->allocator, sizeof *kept);
    if (kept)
        shared_init(kept, config, environment, cut);
    return kept;
}

void shared_close(const struct shared *shared, bool keeps, const roost_allocator *allocator)
{
    if (keeps)
        memory_release(allocator, (void *)(uintptr_t)shared);
    else
        shared_leave(shared);
}
