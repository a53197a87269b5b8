/*
 * Two replicas of 2^20 elements each sync, change apart, and sync again.
 *
 *     changes     10, then 1,000, then 100,000, dealt to both replicas in turn; half of them adds of new elements, half
 *                 removes of random old ones, or all adds where the filter only grows
 *     by cursor   the asking replica has what roost_sync_save_memory gave it the last time, the other one its journal
 *     lost        the same states as clones, which have no journal, and no memory
 *     equal       at once again
 *     past        dots of additions that were removed long ago are known to both sides, but they lie between the others
 *                 and have to be told from them: half of all dots is the worst case
 *
 * The filters are made for a quarter more elements, so that a growing one has room.
 */
#include "sync_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "environment.h"
#include "fatal.h"
#include "workload.h"

static const char *const kind_names[SYNC_KINDS] = {"orcuckoo", "orcuckoo with a past", "bloom", "cuckoo"};
static const char *const course_names[SYNC_COURSES] = {"by cursor", "cursors lost", "already equal",
                                                       "already equal and lost"};
static const size_t amounts[SYNC_AMOUNTS] = {10, 1000, 100000};

/* Bytes in both directions. One add sets about seven bits of a Bloom filter, so that changes take more there: its
   limits are not those that were asked for, but what it takes with some room, to catch a loss. */
static const uint64_t limits[SYNC_COURSES][SYNC_AMOUNTS] = {
    [SYNC_BY_CURSOR] = {200, 10000, 700000},
    [SYNC_LOST] = {4000, 120000, 2500000},
    [SYNC_EQUAL] = {100, 100, 100},
    [SYNC_EQUAL_LOST] = {100, 100, 100},
};
static const uint64_t bloom_limits[SYNC_COURSES][SYNC_AMOUNTS] = {
    [SYNC_BY_CURSOR] = {400, 20000, 1000000},
    [SYNC_LOST] = {8000, 240000, 2500000},
    [SYNC_EQUAL] = {100, 100, 100},
    [SYNC_EQUAL_LOST] = {100, 100, 100},
};

struct party {
    roost_filter *filter;
    uint64_t entropy;
};

struct meeting {
    enum sync_kind kind;
    struct party asking, answering;
    roost_buffer memory; /* of the asking one about the other */
    const struct workload *workload;
    size_t next;     /* of the workload's keys: the first that was not added yet */
    uint32_t *there; /* which are there after the first sync and are to be removed, in random order */
    size_t removed;  /* how many of these were */
    uint64_t luck;
};

/* ---- one sync ---------------------------------------------------------------------------------------------------- */

static uint64_t on_a_pipe(size_t size)
{
    uint64_t bytes = size + 1;
    for (size_t length = size; length > 127; length >>= 7)
        bytes++;
    return bytes;
}

static bool same_digest(roost_filter *a, roost_filter *b)
{
    roost_digest x = roost_filter_digest(a), y = roost_filter_digest(b);
    return memcmp(x.bytes, y.bytes, sizeof x.bytes) == 0;
}

static void talk(struct traffic *traffic, roost_sync *sync, roost_filter *answering)
{
    roost_buffer request, reply = {0};
    for (;;) {
        must(roost_sync_next(sync, &request, reply.data, reply.size), "sync");
        roost_buffer_release(&reply);
        if (request.size == 0)
            break;
        must(roost_sync_reply(answering, &reply, NULL, request.data, request.size), "answer");
        traffic->sent += on_a_pipe(request.size);
        traffic->received += on_a_pipe(reply.size);
        traffic->rounds++;
        roost_buffer_release(&request);
    }
    roost_buffer_release(&request);
}

/* `memory` is what the initiator remembers, and afterwards what it has learnt; NULL for one that forgets. */
static struct traffic synchronise(roost_filter *asking, roost_filter *answering, roost_buffer *memory)
{
    struct traffic traffic = {0};
    roost_sync *sync;
    must(roost_sync_new(&sync, asking, memory ? memory->data : NULL, memory ? memory->size : 0), "sync");
    talk(&traffic, sync, answering);
    traffic.agree = roost_sync_get_result(sync).equal && same_digest(asking, answering);
    if (memory) {
        roost_buffer_release(memory);
        must(roost_sync_save_memory(sync, memory), "memory of a sync");
    }
    roost_sync_free(sync);
    return traffic;
}

static struct traffic synchronise_clones(const struct meeting *meeting)
{
    roost_filter *asking, *answering;
    must(roost_filter_clone(meeting->asking.filter, &asking), "clone");
    must(roost_filter_clone(meeting->answering.filter, &answering), "clone");
    struct traffic traffic = synchronise(asking, answering, NULL);
    roost_filter_free(asking);
    roost_filter_free(answering);
    return traffic;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void change(struct meeting *meeting, size_t changes)
{
    bool removes = meeting->kind == SYNC_ORCUCKOO || meeting->kind == SYNC_WITH_PAST;
    size_t adds = removes ? changes / 2 : changes;
    for (size_t i = 0; i < changes; i++) {
        roost_filter *filter = i % 2 ? meeting->answering.filter : meeting->asking.filter;
        const roost_hash *hashes = meeting->workload->hashes;
        if (i < adds)
            must(roost_filter_add_hash(filter, NULL, hashes[meeting->next++]), "add");
        else
            must(roost_filter_remove_hash(filter, NULL, hashes[meeting->there[meeting->removed++]]), "remove");
    }
}

/* Adds elements until there are as many as wanted; of those with a past, a coin removes every other one at once. */
static void populate(struct meeting *meeting, size_t elements)
{
    roost_filter *filter = meeting->asking.filter;
    const roost_hash *hashes = meeting->workload->hashes;
    for (size_t count = 0; count < elements; meeting->next++) {
        must(roost_filter_add_hash(filter, NULL, hashes[meeting->next]), "add");
        if (meeting->kind == SYNC_WITH_PAST && next_number(&meeting->luck) >> 63)
            must(roost_filter_remove_hash(filter, NULL, hashes[meeting->next]), "remove");
        else
            meeting->there[count++] = (uint32_t)meeting->next;
    }
    for (size_t i = elements; i > 1; i--) {
        size_t other = (size_t)((unsigned __int128)next_number(&meeting->luck) * i >> 64);
        uint32_t number = meeting->there[i - 1];
        meeting->there[i - 1] = meeting->there[other];
        meeting->there[other] = number;
    }
}

/* ---- one kind ---------------------------------------------------------------------------------------------------- */

static void party_open(struct party *party, enum sync_kind kind, size_t elements, uint64_t seed)
{
    static const roost_kind kinds[SYNC_KINDS] = {ROOST_ORCUCKOO, ROOST_ORCUCKOO, ROOST_BLOOM, ROOST_CUCKOO};
    roost_config config = roost_config_default();
    roost_environment environment = seeded_environment(&party->entropy, seed);
    config.kind = kinds[kind];
    config.capacity = elements + elements / 4;
    must(roost_filter_new(&party->filter, &config, &environment), "replica");
}

static uint64_t frame_size(const roost_filter *filter)
{
    roost_buffer frame;
    must(roost_filter_encode(filter, &frame), "encode");
    uint64_t size = frame.size;
    roost_buffer_release(&frame);
    return size;
}

/* The clones first, for the others are equal after their sync. */
static void run_amount(struct sync_bytes *experiment, struct meeting *meeting, unsigned amount)
{
    struct traffic *runs = experiment->runs[meeting->kind][amount];
    roost_filter *asking = meeting->asking.filter, *answering = meeting->answering.filter;
    change(meeting, amounts[amount]);
    runs[SYNC_LOST] = synchronise_clones(meeting);
    runs[SYNC_BY_CURSOR] = synchronise(asking, answering, &meeting->memory);
    runs[SYNC_EQUAL] = synchronise(asking, answering, &meeting->memory);
    runs[SYNC_EQUAL_LOST] = synchronise_clones(meeting);
}

static void run_kind(struct sync_bytes *experiment, enum sync_kind kind, const struct workload *workload)
{
    struct meeting meeting = {.kind = kind, .workload = workload, .luck = workload->seed};
    party_open(&meeting.asking, kind, experiment->elements, workload->seed ^ 5);
    party_open(&meeting.answering, kind, experiment->elements, workload->seed ^ 6);
    meeting.there = must_allocate(experiment->elements, sizeof *meeting.there);
    populate(&meeting, experiment->elements);
    experiment->frame[kind] = frame_size(meeting.asking.filter);
    experiment->first[kind] = synchronise(meeting.asking.filter, meeting.answering.filter, &meeting.memory);
    for (unsigned amount = 0; amount < experiment->amounts; amount++)
        run_amount(experiment, &meeting, amount);
    roost_filter_free(meeting.asking.filter);
    roost_filter_free(meeting.answering.filter);
    roost_buffer_release(&meeting.memory);
    free(meeting.there);
}

void sync_bytes_run(struct sync_bytes *experiment, struct scale scale, uint64_t seed)
{
    struct workload workload;
    size_t most = 2 * scale.operations + scale.operations / 16; /* a fair coin needs no more */
    *experiment = (struct sync_bytes){.elements = scale.operations, .amounts = scale.sample ? 1 : SYNC_AMOUNTS};
    for (unsigned amount = 0; amount < SYNC_AMOUNTS; amount++)
        most += amounts[amount];
    workload_draw(&workload, seed, most, 0);
    for (int kind = 0; kind < SYNC_KINDS; kind++) {
        if (scale.sample && kind != SYNC_ORCUCKOO && kind != SYNC_CUCKOO)
            continue;
        if (scale.says_where_it_is)
            fprintf(stderr, "roost-eval: syncs: %s\n", kind_names[kind]);
        run_kind(experiment, kind, &workload);
    }
    workload_release(&workload);
}

/* ---- claims and table -------------------------------------------------------------------------------------------- */

static uint64_t limit(enum sync_kind kind, enum sync_course course, unsigned amount)
{
    return kind == SYNC_BLOOM ? bloom_limits[course][amount] : limits[course][amount];
}

static void claim_run(const struct sync_bytes *experiment, enum sync_kind kind, unsigned amount,
                      enum sync_course course)
{
    char name[96];
    const struct traffic *traffic = &experiment->runs[kind][amount][course];
    uint64_t bytes = traffic->sent + traffic->received, most = limit(kind, course, amount);
    snprintf(name, sizeof name, "sync of %s after %zu changes, %s", kind_names[kind], amounts[amount],
             course_names[course]);
    claim(name, traffic->agree && bytes <= most, "%llu bytes in %u rounds, at most %llu; the replicas %s",
          (unsigned long long)bytes, traffic->rounds, (unsigned long long)most, traffic->agree ? "agree" : "differ");
}

void sync_bytes_claims(const struct sync_bytes *experiment)
{
    for (int kind = 0; kind < SYNC_KINDS; kind++)
        for (int course = 0; course < SYNC_COURSES; course++)
            for (unsigned amount = 0; amount < SYNC_AMOUNTS; amount++)
                claim_run(experiment, kind, amount, course);
}

static void write_row(FILE *csv, const char *kind, size_t changes, const char *course, const struct traffic *traffic,
                      uint64_t most)
{
    fprintf(csv, "%s,%zu,%s,%llu,%llu,%llu,%u,", kind, changes, course,
            (unsigned long long)(traffic->sent + traffic->received), (unsigned long long)traffic->sent,
            (unsigned long long)traffic->received, traffic->rounds);
    if (most)
        fprintf(csv, "%llu", (unsigned long long)most);
    fprintf(csv, "\n");
}

void sync_bytes_write_table(const struct sync_bytes *experiment, FILE *csv)
{
    fprintf(csv, "filter,changes,course,bytes,sent,received,rounds,at_most\n");
    for (int kind = 0; kind < SYNC_KINDS; kind++) {
        if (experiment->frame[kind] == 0) /* not part of the sample */
            continue;
        write_row(csv, kind_names[kind], experiment->elements, "into an empty replica", &experiment->first[kind], 0);
        for (int course = 0; course < SYNC_COURSES; course++)
            for (unsigned amount = 0; amount < experiment->amounts; amount++)
                write_row(csv, kind_names[kind], amounts[amount], course_names[course],
                          &experiment->runs[kind][amount][course], limit(kind, course, amount));
        fprintf(csv, "%s,%zu,whole state as a frame,%llu,,,,\n", kind_names[kind], experiment->elements,
                (unsigned long long)experiment->frame[kind]);
    }
}
