/*
 * Two replicas of one filter that add independently and merge both ways: the setting of all experiments here.
 *
 * Operations are dealt evenly: with a share of 80, four of any five operations in a row are the first replica's. A
 * replica whose table refuses an add as full adds nothing of its own from then on, but still merges. What a replica
 * adds between two merges goes into one batch; its order is that of the workload. A script is followed step by step.
 *
 * Grow-only filters of fixed size merge whole states, as in the thesis. The others send each other deltas, which come
 * to the same and let a thousand merges of 2^20 entries take seconds. Series transfer the shares that they can spare,
 * as the program does.
 */
#include "replica_pair.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "fatal.h"
#include "gzip.h"

struct replica {
    roost_filter *filter;
    uint64_t entropy;
    roost_cursor sent; /* how much of it the other one has */
    roost_hash *own;   /* elements that it added itself, then those it is about to add */
    size_t own_count;  /* the former */
    size_t pending;    /* the latter */
    bool stopped;      /* an add was refused */
    roost_hash *gone;  /* elements that it removed */
    size_t gone_count;
    uint64_t idle_removes; /* of which it did not have */
};

struct pair {
    struct replica first, second;
    uint32_t buckets; /* of the table that they begin with */
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void replica_open(struct replica *replica, const roost_config *config, const struct workload *workload,
                         uint64_t random_seed)
{
    *replica = (struct replica){.own = must_allocate(workload->count, sizeof *replica->own),
                                .gone = must_allocate(workload->count, sizeof *replica->gone)};
    roost_environment environment = seeded_environment(&replica->entropy, random_seed);
    environment.journal = workload->count / 8; /* as in a filter that is made for all of them */
    must(roost_filter_new(&replica->filter, config, &environment), "replica");
}

static void replica_close(struct replica *replica)
{
    roost_filter_free(replica->filter);
    free(replica->own);
    free(replica->gone);
}

static void pair_open(struct pair *pair, const roost_config *config, const struct workload *workload)
{
    replica_open(&pair->first, config, workload, workload->seed ^ 1);
    replica_open(&pair->second, config, workload, workload->seed ^ 2);
    roost_info info;
    roost_filter_get_info(pair->first.filter, &info);
    pair->buckets = info.buckets;
}

static void pair_close(struct pair *pair)
{
    replica_close(&pair->first);
    replica_close(&pair->second);
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

bool is_first_replicas(uint64_t operation, unsigned first_share)
{
    return (operation + 1) * first_share / 100 > operation * first_share / 100;
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

static void take_in(struct replica *replica, struct replica *other)
{
    const roost_config *config = roost_filter_get_config(other->filter);
    if (config->kind != ROOST_ORCUCKOO && !config->scalable) {
        must(roost_filter_merge(replica->filter, NULL, other->filter), "merge");
        return;
    }
    roost_buffer delta;
    must(roost_filter_encode_delta(other->filter, &delta, &other->sent, &other->sent), "delta");
    must(roost_filter_merge_frame(replica->filter, NULL, delta.data, delta.size), "merge of a delta");
    roost_buffer_release(&delta);
}

static void exchange(struct pair *pair)
{
    take_in(&pair->first, &pair->second);
    take_in(&pair->second, &pair->first);
}

static void synchronise(struct pair *pair)
{
    bool first_gave, second_gave;
    add_pending(&pair->first);
    add_pending(&pair->second);
    exchange(pair);
    must(roost_filter_transfer_shares(pair->first.filter, &first_gave), "transfer");
    must(roost_filter_transfer_shares(pair->second.filter, &second_gave), "transfer");
    if (first_gave || second_gave)
        exchange(pair);
}

static void follow_schedule(struct pair *pair, const struct workload *workload, struct schedule schedule)
{
    for (size_t i = 0; i < workload->count; i++) {
        struct replica *replica = is_first_replicas(i, schedule.first_share) ? &pair->first : &pair->second;
        if (!replica->stopped)
            replica->own[replica->own_count + replica->pending++] = workload->hashes[i];
        if (schedule.sync_every != ONLY_AT_THE_END && (i + 1) % schedule.sync_every == 0)
            synchronise(pair);
    }
    synchronise(pair);
}

/* ---- the script -------------------------------------------------------------------------------------------------- */

/* One copy, where copies are held apart. */
static bool remove_hash(roost_filter *filter, roost_hash hash)
{
    bool changed;
    if (roost_filter_get_config(filter)->multiset)
        must(roost_filter_remove_one_hash(filter, &changed, hash), "remove");
    else
        must(roost_filter_remove_hash(filter, &changed, hash), "remove");
    return changed;
}

/* False when the table is full, and there is nothing but adds to come. */
static bool take_step(struct replica *replica, roost_hash hash, bool removes, bool may_refuse)
{
    if (removes) {
        replica->gone[replica->gone_count++] = hash;
        replica->idle_removes += !remove_hash(replica->filter, hash);
        return true;
    }
    roost_status status = roost_filter_add_hash(replica->filter, NULL, hash);
    if (status == ROOST_FULL && may_refuse)
        return false;
    must(status, "add");
    return true;
}

static void follow_script(struct replica *replica, const struct workload *workload, const struct script *script)
{
    bool *held = must_allocate(workload->count, sizeof *held);
    for (size_t i = 0; i < script->count; i++) {
        const struct step *step = &script->steps[i];
        if (!take_step(replica, workload->hashes[step->key], step->removes, script->adds == script->count))
            break;
        held[step->key] = !step->removes;
    }
    for (size_t i = 0; i < workload->count; i++)
        if (held[i])
            replica->own[replica->own_count++] = workload->hashes[i];
    free(held);
}

/* ---- the examination --------------------------------------------------------------------------------------------- */

static uint64_t count_missing(const roost_filter *filter, const struct pair *pair)
{
    return pair->first.own_count - count_found(filter, pair->first.own, pair->first.own_count) +
           pair->second.own_count - count_found(filter, pair->second.own, pair->second.own_count);
}

static bool same_digest(roost_digest a, roost_digest b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

static void examine_frame(struct outcome *outcome, const roost_filter *filter, bool gzips)
{
    roost_buffer frame;
    roost_filter *decoded;
    must(roost_filter_encode(filter, &frame), "encode");
    must(roost_filter_decode(&decoded, frame.data, frame.size, NULL), "decode");
    outcome->frame_bytes = frame.size;
    outcome->gzip_bytes = gzips ? gzipped_size(frame.data, frame.size) : 0;
    outcome->frame_returns = roost_filter_equal(filter, decoded) && roost_filter_check(filter) == ROOST_OK &&
                             roost_filter_check(decoded) == ROOST_OK;
    roost_filter_free(decoded);
    roost_buffer_release(&frame);
}

static struct outcome examine(struct pair *pair, const struct workload *workload, bool gzips)
{
    roost_filter *filter = pair->first.filter;
    struct outcome outcome = {.elements = pair->first.own_count + pair->second.own_count};
    outcome.lookups = 2 * outcome.elements;
    outcome.false_negatives = count_missing(filter, pair) + count_missing(pair->second.filter, pair);
    outcome.removed = pair->first.gone_count + pair->second.gone_count;
    outcome.idle_removes = pair->first.idle_removes + pair->second.idle_removes;
    outcome.still_reported = count_found(filter, pair->first.gone, pair->first.gone_count) +
                             count_found(filter, pair->second.gone, pair->second.gone_count);
    outcome.buckets = pair->buckets;
    outcome.holds_copies = roost_filter_get_config(filter)->multiset;
    outcome.digest = roost_filter_digest(filter);
    outcome.replicas_agree = same_digest(outcome.digest, roost_filter_digest(pair->second.filter));
    outcome.fpr = (double)count_found(filter, workload->fresh, workload->fresh_count) / (double)workload->fresh_count;
    roost_filter_get_info(filter, &outcome.info);
    examine_frame(&outcome, filter, gzips);
    return outcome;
}

struct outcome replica_pair_run(const roost_config *config, const struct workload *workload, struct schedule schedule)
{
    struct pair pair;
    pair_open(&pair, config, workload);
    follow_schedule(&pair, workload, schedule);
    struct outcome outcome = examine(&pair, workload, schedule.is_in_table);
    pair_close(&pair);
    return outcome;
}

struct outcome replica_pair_play(const roost_config *config, const struct workload *workload,
                                 const struct script scripts[2], bool gzips)
{
    struct pair pair;
    pair_open(&pair, config, workload);
    follow_script(&pair.first, workload, &scripts[0]);
    follow_script(&pair.second, workload, &scripts[1]);
    synchronise(&pair);
    struct outcome outcome = examine(&pair, workload, gzips);
    pair_close(&pair);
    return outcome;
}
