/*
 * Two replicas of one filter that add apart and merge both ways: the setting of all experiments here.
 *
 * Operations are dealt evenly: with a share of 80, four of any five operations in a row are the first replica's. A
 * replica whose table refuses an add as full adds nothing of its own from then on, but still merges. What a replica
 * adds between two merges goes into one batch; its order is that of the workload.
 */
#include "replica_pair.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"

struct replica {
    roost_filter *filter;
    roost_hash *own;  /* elements that it added itself, then those it is about to add */
    size_t own_count; /* the former */
    size_t pending;   /* the latter */
    bool stopped;     /* an add was refused */
};

struct pair {
    struct replica first, second;
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

static struct replica replica_new(const roost_config *config, const struct workload *workload, uint64_t random_seed)
{
    roost_environment environment = {.random_seed = random_seed, .kicks = ROOST_DEFAULT_KICKS};
    struct replica replica = {.own = must_allocate(workload->count, sizeof *replica.own)};
    must(roost_filter_new(&replica.filter, config, &environment), "replica");
    return replica;
}

static void replica_free(struct replica *replica)
{
    roost_filter_free(replica->filter);
    free(replica->own);
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static struct replica *whose_turn(struct pair *pair, uint64_t operation, unsigned first_share)
{
    bool first = (operation + 1) * first_share / 100 > operation * first_share / 100;
    return first ? &pair->first : &pair->second;
}

static void add_pending(struct replica *replica)
{
    size_t done = 0;
    if (replica->pending == 0)
        return;
    roost_status status =
        roost_filter_add_many_hash(replica->filter, NULL, &done, replica->own + replica->own_count, replica->pending);
    replica->own_count += done;
    replica->pending = 0;
    replica->stopped = status == ROOST_FULL;
    if (!replica->stopped)
        must(status, "add");
}

static void synchronise(struct pair *pair)
{
    add_pending(&pair->first);
    add_pending(&pair->second);
    must(roost_filter_merge(pair->first.filter, NULL, pair->second.filter), "merge");
    must(roost_filter_merge(pair->second.filter, NULL, pair->first.filter), "merge");
}

static void follow_schedule(struct pair *pair, const struct workload *workload, struct schedule schedule)
{
    for (size_t i = 0; i < workload->count; i++) {
        struct replica *replica = whose_turn(pair, i, schedule.first_share);
        if (!replica->stopped)
            replica->own[replica->own_count + replica->pending++] = workload->hashes[i];
        if (schedule.sync_every != ONLY_AT_THE_END && (i + 1) % schedule.sync_every == 0)
            synchronise(pair);
    }
    synchronise(pair);
}

/* ---- the examination --------------------------------------------------------------------------------------------- */

static uint64_t count_found(const roost_filter *filter, const roost_hash *hashes, size_t count)
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

static uint64_t count_missing(const roost_filter *filter, const struct pair *pair)
{
    return pair->first.own_count - count_found(filter, pair->first.own, pair->first.own_count) +
           pair->second.own_count - count_found(filter, pair->second.own, pair->second.own_count);
}

static bool same_digest(roost_digest a, roost_digest b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

static void examine_frame(struct outcome *outcome, const roost_filter *filter)
{
    roost_buffer frame;
    roost_filter *decoded;
    must(roost_filter_encode(filter, &frame), "encode");
    must(roost_filter_decode(&decoded, frame.data, frame.size, NULL), "decode");
    outcome->frame_bytes = frame.size;
    outcome->frame_returns = roost_filter_equal(filter, decoded) && roost_filter_check(filter) == ROOST_OK &&
                             roost_filter_check(decoded) == ROOST_OK;
    roost_filter_free(decoded);
    roost_buffer_release(&frame);
}

static struct outcome examine(struct pair *pair, const struct workload *workload)
{
    roost_filter *filter = pair->first.filter;
    struct outcome outcome = {.added = pair->first.own_count + pair->second.own_count};
    outcome.lookups = 2 * outcome.added;
    outcome.false_negatives = count_missing(filter, pair) + count_missing(pair->second.filter, pair);
    outcome.digest = roost_filter_digest(filter);
    outcome.replicas_agree = same_digest(outcome.digest, roost_filter_digest(pair->second.filter));
    outcome.fpr = (double)count_found(filter, workload->fresh, workload->fresh_count) / (double)workload->fresh_count;
    roost_filter_info(filter, &outcome.info);
    examine_frame(&outcome, filter);
    return outcome;
}

struct outcome replica_pair_run(const roost_config *config, const struct workload *workload, struct schedule schedule)
{
    struct pair pair = {replica_new(config, workload, workload->seed ^ 1),
                        replica_new(config, workload, workload->seed ^ 2)};
    follow_schedule(&pair, workload, schedule);
    struct outcome outcome = examine(&pair, workload);
    replica_free(&pair.first);
    replica_free(&pair.second);
    return outcome;
}
