/*
 * What replication costs a processor, by how much has changed: deltas made and taken in, and whole syncs.
 *
 * Two replicas are equal, one of them changes: half adds, half removes where the filter can, else adds alone. Its delta
 * is made and merged. Then both change, and sync: by what the initiator remembers, and as clones, with nothing
 * remembered.
 */
#include "parts.h"

struct pair {
    roost_filter *first, *second;
    uint64_t base, removed, next; /* first key; how many were removed; first that was not added yet */
};

static void change(struct pair *pair, roost_filter *filter, uint64_t changes)
{
    uint64_t removes = roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO ? changes / 2 : 0;
    remove_scattered(filter, pair->base, pair->removed, removes);
    pair->removed += removes;
    timed_adds(filter, pair->next, changes - removes);
    pair->next += changes - removes;
}

struct costs {
    double build[MOST_ROUNDS], apply[MOST_ROUNDS]; /* ns a change */
    double cursor[MOST_ROUNDS], lost[MOST_ROUNDS]; /* ms a sync */
    double delta, sync_cursor, sync_lost;          /* bytes a change */
};

/* ---- deltas ------------------------------------------------------------------------------------------------------ */

static void time_delta(struct costs *costs, int round, struct pair *pair, uint64_t changes)
{
    roost_cursor cursor = {0};
    roost_buffer frame;
    must(roost_filter_encode_delta(pair->first, &frame, &cursor, &cursor), "delta");
    roost_buffer_release(&frame);
    change(pair, pair->first, changes);
    double begin = seconds();
    must(roost_filter_encode_delta(pair->first, &frame, &cursor, &cursor), "delta");
    double middle = seconds();
    must(roost_filter_merge_frame(pair->second, NULL, frame.data, frame.size), "merge of a delta");
    costs->apply[round] = (seconds() - middle) / (double)changes * 1e9;
    costs->build[round] = (middle - begin) / (double)changes * 1e9;
    costs->delta = (double)frame.size / (double)changes;
    roost_buffer_release(&frame);
    if (!roost_filter_equal(pair->first, pair->second))
        must(ROOST_CORRUPT, "the delta was not all");
}

/* ---- syncs ------------------------------------------------------------------------------------------------------- */

static double synchronise(roost_filter *asking, roost_filter *answering, roost_buffer *memory, double *bytes)
{
    double begin = seconds();
    roost_sync *sync;
    roost_buffer request, reply = {0};
    must(roost_sync_new(&sync, asking, memory->data, memory->size), "sync");
    for (;;) {
        must(roost_sync_next(sync, &request, reply.data, reply.size), "sync");
        roost_buffer_release(&reply);
        if (request.size == 0)
            break;
        must(roost_sync_reply(answering, &reply, NULL, request.data, request.size), "answer");
        roost_buffer_release(&request);
    }
    roost_buffer_release(&request);
    roost_buffer_release(memory);
    must(roost_sync_save_memory(sync, memory), "memory of a sync");
    double spent = seconds() - begin;
    roost_sync_result result = roost_sync_get_result(sync);
    if (!result.equal)
        must(ROOST_CORRUPT, "the sync was not all");
    *bytes = (double)(result.sent + result.received);
    roost_sync_free(sync);
    return spent * 1e3;
}

static double synchronise_clones(const struct pair *pair, double *bytes)
{
    roost_filter *asking, *answering;
    roost_buffer memory = {0};
    must(roost_filter_clone(pair->first, &asking), "clone");
    must(roost_filter_clone(pair->second, &answering), "clone");
    double time = synchronise(asking, answering, &memory, bytes);
    roost_buffer_release(&memory);
    roost_filter_free(asking);
    roost_filter_free(answering);
    return time;
}

static void time_syncs(struct costs *costs, int round, struct pair *pair, uint64_t changes)
{
    roost_buffer memory = {0};
    double bytes;
    synchronise(pair->first, pair->second, &memory, &bytes);
    change(pair, pair->first, changes / 2);
    change(pair, pair->second, changes / 2);
    costs->lost[round] = synchronise_clones(pair, &bytes);
    costs->sync_lost = bytes / (double)changes;
    costs->cursor[round] = synchronise(pair->first, pair->second, &memory, &bytes);
    costs->sync_cursor = bytes / (double)changes;
    roost_buffer_release(&memory);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

void bench_changes(const char *name, const roost_config *config, uint64_t keys, uint64_t changes)
{
    struct costs costs = {0};
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40;
        struct pair pair = {.first = make(config), .base = base, .next = base + keys};
        timed_adds(pair.first, base, keys);
        must(roost_filter_clone(pair.first, &pair.second), "clone");
        time_delta(&costs, round, &pair, changes);
        time_syncs(&costs, round, &pair, changes);
        roost_filter_free(pair.first);
        roost_filter_free(pair.second);
    }
    report_times(name, changes, "delta a change", costs.build, 0);
    report_times(name, changes, "merge it a change", costs.apply, 0);
    report_plain(name, changes, "delta size", costs.delta, "B/change");
    report_spans(name, changes, "sync by cursor", costs.cursor, "ms");
    report_plain(name, changes, "sync by cursor size", costs.sync_cursor, "B/change");
    report_spans(name, changes, "sync lost", costs.lost, "ms");
    report_plain(name, changes, "sync lost size", costs.sync_lost, "B/change");
}
