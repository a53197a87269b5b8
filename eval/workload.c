/*
 * Every filter and every schedule of one repeat works on the same keys, so that what differs between cells is the
 * schedule alone. Keys are hashed once, here: a filter takes ready hashes, and all filters of the evaluation share a
 * seed.
 */
#include "workload.h"

#include <stdlib.h>

#include "fatal.h"

uint64_t next_number(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static struct key next_key(uint64_t *state)
{
    uint64_t low = next_number(state);
    return (struct key){low, next_number(state)};
}

/* Any filter with the default seed would do. */
static roost_filter *hashing_filter(void)
{
    roost_filter *filter;
    roost_config config = roost_config_default();
    config.capacity = 1;
    must(roost_filter_new(&filter, &config, NULL), "hashing filter");
    return filter;
}

void workload_draw(struct workload *workload, uint64_t seed, size_t count, size_t fresh_count)
{
    roost_filter *filter = hashing_filter();
    uint64_t state = seed;
    *workload = (struct workload){.seed = seed, .count = count, .fresh_count = fresh_count};
    workload->keys = must_allocate(count, sizeof *workload->keys);
    workload->hashes = must_allocate(count, sizeof *workload->hashes);
    workload->fresh = must_allocate(fresh_count, sizeof *workload->fresh);
    for (size_t i = 0; i < count; i++) {
        workload->keys[i] = next_key(&state);
        workload->hashes[i] = roost_filter_hash(filter, &workload->keys[i], sizeof workload->keys[i]);
    }
    for (size_t i = 0; i < fresh_count; i++) {
        struct key key = next_key(&state);
        workload->fresh[i] = roost_filter_hash(filter, &key, sizeof key);
    }
    roost_filter_free(filter);
}

void workload_release(struct workload *workload)
{
    free(workload->keys);
    free(workload->hashes);
    free(workload->fresh);
    *workload = (struct workload){0};
}

uint64_t count_found(const roost_filter *filter, const roost_hash *hashes, size_t count)
{
    bool found[4096];
    uint64_t total = 0;
    for (size_t from = 0; from < count; from += sizeof found) {
        size_t batch = count - from < sizeof found ? count - from : sizeof found;
        roost_filter_contains_many_hash(filter, found, hashes + from, batch);
        for (size_t i = 0; i < batch; i++)
            total += found[i];
    }
    return total;
}
