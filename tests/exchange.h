/*
 * What tests of a sync need: exchanges that are watched at every message, replicas that sleep and wake up, and a few
 * scenes, pairs of replicas in a certain relation.
 *
 * What must hold. Left alone, a sync ends with both sides equal to the merge of what they were. What is remembered is
 * never too new: with what the journals say from the remembered places on, each side has all of the other
 * (assert_memory_is_sound, after every single message).
 */
#ifndef TESTS_EXCHANGE_H
#define TESTS_EXCHANGE_H

#include <pthread.h>

#include "check.h"

#include "base/hash.h"
#include "observed/orcuckoo.h"
#include "roost/incremental.h"
#include "sync/messages.h"
#include "sync/ranges.h"

/* Of fixed size; those that grow on top, and those of them that record removals. */
enum { KINDS = 6, ALL_KINDS = KINDS + SERIES + RECORDING };
/* Those that grow by longer prefixes: without removal, a set, a multiset. */
static const uint64_t growing_kinds[] = {KINDS + 2, KINDS + 3, KINDS + 4};

static inline roost_config config_for(uint64_t kind, uint64_t capacity)
{
    if (kind % ALL_KINDS >= KINDS + SERIES)
        return recording_config(kind % ALL_KINDS - KINDS - SERIES);
    if (kind % ALL_KINDS >= KINDS) /* several tables, where the others have room for all */
        return series_config(kind % ALL_KINDS - KINDS, capacity / 16 + 4);
    switch (kind % ALL_KINDS) {
    case 0:
        return bloom_config(ROOST_BLOCKED, capacity, 0.01);
    case 1:
        return bloom_config(ROOST_CLASSIC, capacity, 0.01);
    case 2:
        return cuckoo_config(12, 4, capacity);
    case 3:
        return orcuckoo_config(24, 64, false, capacity);
    case 4:
        return orcuckoo_config(12, 64, true, capacity);
    default:
        return orcuckoo_config(8, 32, true, capacity);
    }
}

static inline bool included(const roost_filter *a, const roost_filter *b)
{
    roost_order order = order_of(a, b);
    return order == ROOST_EQUAL || order == ROOST_BEFORE;
}

static inline void merge(roost_filter *filter, const roost_filter *other)
{
    assert_ok(roost_filter_merge(filter, NULL, other));
}

static inline roost_filter *merged(const roost_filter *a, const roost_filter *b)
{
    roost_filter *sum = clone_of(a);
    merge(sum, b);
    return sum;
}

/* Actors and incarnations come from here, so that a seed repeats a whole test. */
static inline bool draw_random(void *context, void *bytes, size_t size)
{
    struct random_source *random = context;
    uint64_t number = random_next(random);
    memcpy(bytes, &number, size < sizeof number ? size : sizeof number);
    return true;
}

static inline roost_buffer copy_of(const roost_buffer *buffer)
{
    roost_buffer copy = {.size = buffer->size, .allocator = allocator_or_default((roost_allocator){0})};
    copy.data = memory_allocate(&copy.allocator, buffer->size + 1);
    assert_non_null(copy.data);
    if (buffer->size)
        memcpy(copy.data, buffer->data, buffer->size);
    return copy;
}

static inline void put(roost_filter *filter, uint64_t key)
{
    roost_status status = roost_filter_add_hash(filter, NULL, hash_for_key(key));
    assert_true(status == ROOST_OK || status == ROOST_FULL);
}

/* As far as the kind can. */
static inline void take(roost_filter *filter, uint64_t key, bool one)
{
    roost_status status = one && roost_filter_get_config(filter)->multiset
                              ? roost_filter_remove_one_hash(filter, NULL, hash_for_key(key))
                              : roost_filter_remove_hash(filter, NULL, hash_for_key(key));
    assert_true(status == ROOST_OK || status == ROOST_UNSUPPORTED);
}

/* ---- what is remembered ------------------------------------------------------------------------------------------ */

struct cursors {
    roost_cursor peer, own;
};

static inline bool read_cursors(struct cursors *cursors, const roost_buffer *memory)
{
    struct bit_reader reader = bit_reader_over(memory->data, memory->size);
    if (memory->size == 0)
        return false;
    assert_int_equal(read_byte(&reader), 1);
    cursors->peer.incarnation = read_fixed64(&reader);
    cursors->peer.sequence = read_varint(&reader);
    cursors->own.incarnation = read_fixed64(&reader);
    cursors->own.sequence = read_varint(&reader);
    assert_false(reader.failed);
    return true;
}

/* What `teller` says from the cursor on is all that `listener` lacks. */
static inline void assert_tells_all(roost_filter *teller, const roost_cursor *since, const roost_filter *listener)
{
    roost_buffer frame;
    roost_cursor next;
    roost_filter *copy = clone_of(listener);
    assert_ok(roost_filter_encode_delta(teller, &frame, &next, since));
    assert_ok(roost_filter_merge_frame(copy, NULL, frame.data, frame.size));
    assert_true(included(teller, copy));
    roost_buffer_release(&frame);
    roost_filter_free(copy);
}

static inline void assert_memory_is_sound(roost_filter *initiator, roost_filter *responder, const roost_buffer *memory)
{
    struct cursors cursors;
    if (!read_cursors(&cursors, memory) || cursors.peer.incarnation != responder->journal->incarnation)
        return;
    if (journal_knows(responder->journal, &cursors.peer))
        assert_tells_all(responder, &cursors.peer, initiator);
    if (journal_knows(initiator->journal, &cursors.own))
        assert_tells_all(initiator, &cursors.own, responder);
}

/* ---- an exchange ------------------------------------------------------------------------------------------------- */

struct exchange {
    roost_filter *initiator, **responder;         /* the latter may be replaced on the way */
    void (*interfere)(struct exchange *, void *); /* before each answer; may be NULL */
    void (*between)(struct exchange *, void *);   /* the stages of a reply job; NULL: replies are made at once */
    bool by_threads; /* jobs read on a thread, and `between` is called meanwhile: it must not replace the responder */
    void *context;
    bool misled;     /* by what it remembers: only the end counts */
    bool is_another; /* the responder is another object, maybe at the same address: set by the functions above */
    /* outcome */
    roost_status status, answered; /* the last of each */
    roost_sync_result result;
    roost_buffer memory;
    uint64_t sent, received, types; /* bits for the types of the replies */
    uint32_t rounds;
};

static struct {
    uint64_t exchanges, replies[16], failures, disturbed, replaced, ended_equal, ended_unequal;
    uint64_t stages[ROOST_REPLY_DONE]; /* of reply jobs */
} tally;

static inline void count_reply(struct exchange *exchange, const roost_buffer *reply)
{
    if (reply->size == 0)
        return;
    if (reply->data[0] < COUNT_OF(tally.replies)) {
        tally.replies[reply->data[0]]++;
        exchange->types |= UINT64_C(1) << reply->data[0];
    }
    tally.failures += reply->data[0] == FAILURE;
}

/* After every message the initiator is valid, and could remember what it knows by now. */
static inline void watch(const struct exchange *exchange, const roost_sync *sync)
{
    roost_buffer memory;
    assert_ok(roost_filter_check(exchange->initiator));
    assert_ok(roost_sync_save_memory(sync, &memory));
    if (!exchange->misled)
        assert_memory_is_sound(exchange->initiator, *exchange->responder, &memory);
    roost_buffer_release(&memory);
}

static inline void *read_on_thread(void *job)
{
    roost_reply_job_read(job);
    return NULL;
}

/* While it is read, the filter changes once more. */
static inline void read_meanwhile(struct exchange *exchange, roost_reply_job *job)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_on_thread, job), 0);
    exchange->between(exchange, exchange->context);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Pages of the copy that the job wants; the filter changes between two calls. */
static inline void copy_some(roost_reply_job *job, roost_filter *filter, roost_copy_job **copying)
{
    bool done;
    if (!*copying)
        assert_ok(roost_copy_job_new(copying, filter, NULL));
    assert_ok(roost_copy_job_step(*copying, filter, &done, 4));
    if (done) {
        roost_reply_job_take_copy(job, filter, roost_copy_job_finish(*copying));
        *copying = NULL;
    }
}

/* A job whose filter was replaced is abandoned, and the new one gets the request. */
static inline void answer_by_job(struct exchange *exchange, roost_buffer *reply, const roost_buffer *request)
{
    roost_filter *filter = *exchange->responder;
    roost_reply_job *job;
    roost_copy_job *copying = NULL;
    bool changed;
    exchange->is_another = false;
    assert_ok(roost_reply_job_new(&job, filter, &changed, request->data, request->size, NULL));
    for (roost_reply_stage stage; (stage = roost_reply_job_get_stage(job)) != ROOST_REPLY_DONE; tally.stages[stage]++) {
        exchange->between(exchange, exchange->context);
        if (exchange->is_another) {
            roost_reply_job_free(job);
            roost_copy_job_free(copying);
            exchange->answered = roost_sync_reply(*exchange->responder, reply, NULL, request->data, request->size);
            return;
        }
        if (stage == ROOST_REPLY_COPY)
            copy_some(job, filter, &copying);
        else if (stage == ROOST_REPLY_READ && exchange->by_threads)
            read_meanwhile(exchange, job);
        else if (stage == ROOST_REPLY_READ)
            roost_reply_job_read(job);
        else
            roost_reply_job_step(job, filter, &changed);
        assert_ok(roost_filter_check(filter));
    }
    exchange->answered = roost_reply_job_finish(job, reply);
}

static inline void answer_one(struct exchange *exchange, roost_buffer *reply, const roost_buffer *request)
{
    roost_filter *filter = *exchange->responder;
    if (exchange->between) {
        answer_by_job(exchange, reply, request);
        count_reply(exchange, reply);
        return;
    }
    roost_digest before = roost_filter_digest(filter);
    uint64_t next = filter->journal->next, incarnation = filter->journal->incarnation;
    bool changed;
    exchange->answered = roost_sync_reply(filter, reply, &changed, request->data, request->size);
    roost_digest after = roost_filter_digest(filter);
    if (!changed) {
        assert_memory_equal(&before, &after, sizeof before);
        assert_true(next == filter->journal->next && incarnation == filter->journal->incarnation);
    }
    assert_ok(roost_filter_check(filter));
    count_reply(exchange, reply);
}

/* To its end, or to the first failure of the initiator. */
static inline void run_exchange(struct exchange *exchange, const roost_buffer *memory)
{
    roost_sync *sync;
    roost_buffer request, reply = {0};
    assert_ok(roost_sync_new(&sync, exchange->initiator, memory ? memory->data : NULL, memory ? memory->size : 0));
    tally.exchanges++;
    for (;;) {
        exchange->status = roost_sync_next(sync, &request, reply.data, reply.size);
        exchange->received += reply.size;
        exchange->sent += request.size;
        roost_buffer_release(&reply);
        watch(exchange, sync);
        if (exchange->status != ROOST_OK || request.size == 0)
            break;
        assert_true(++exchange->rounds < 64);
        if (exchange->interfere)
            exchange->interfere(exchange, exchange->context);
        answer_one(exchange, &reply, &request);
        roost_buffer_release(&request);
    }
    assert_int_equal(request.size, 0);
    exchange->result = roost_sync_get_result(sync);
    assert_int_equal(exchange->result.sent, exchange->sent);
    assert_int_equal(exchange->result.received, exchange->received);
    assert_int_equal(exchange->result.rounds, exchange->rounds);
    assert_ok(roost_sync_save_memory(sync, &exchange->memory));
    roost_sync_free(sync);
}

/* Left alone: both become the merge of the two. `memory` (may be NULL) is used and set. */
static inline struct exchange sync_alone(roost_filter *initiator, roost_filter *responder, roost_buffer *memory)
{
    struct exchange exchange = {.initiator = initiator, .responder = &responder};
    roost_filter *expected = merged(initiator, responder);
    bool unseen = !included(responder, initiator);
    run_exchange(&exchange, memory);
    assert_ok(exchange.status);
    assert_true(exchange.result.equal);
    assert_int_equal(exchange.result.changed, unseen);
    assert_true(roost_filter_equal(initiator, expected));
    assert_true(roost_filter_equal(responder, expected));
    assert_same_frame(initiator, expected);
    assert_same_frame(responder, expected);
    assert_same_digest(initiator, responder);
    assert_memory_is_sound(initiator, responder, &exchange.memory);
    roost_filter_free(expected);
    if (memory) {
        roost_buffer_release(memory);
        *memory = exchange.memory;
        exchange.memory = (roost_buffer){0};
    }
    roost_buffer_release(&exchange.memory);
    return exchange;
}

/* ---- saved replicas --------------------------------------------------------------------------------------------- */

struct saved_replica {
    roost_buffer frame, replica;
};

static inline struct saved_replica save_replica(const roost_filter *filter)
{
    struct saved_replica saved;
    assert_ok(roost_filter_encode(filter, &saved.frame));
    assert_ok(roost_filter_save_replica(filter, &saved.replica));
    return saved;
}

static inline roost_filter *restore_replica(const struct saved_replica *saved, const roost_environment *environment,
                                            bool as_the_same)
{
    roost_filter *filter;
    assert_ok(roost_filter_decode(&filter, saved->frame.data, saved->frame.size, environment));
    if (as_the_same)
        assert_ok(roost_filter_restore_replica(filter, saved->replica.data, saved->replica.size));
    return filter;
}

static inline void saved_release(struct saved_replica *saved)
{
    roost_buffer_release(&saved->frame);
    roost_buffer_release(&saved->replica);
}

/* ---- scenes: two replicas, saved, in a certain relation --------------------------------------------------------- */

enum relation {
    FIRST_MEETING, /* never heard of each other */
    BY_CURSOR,     /* met before, and remember it */
    CURSOR_LOST,   /* met before */
    REMOVED_ONLY,  /* met before; since then nothing was added */
    JOURNAL_SHORT, /* met before; what one tells overruns the journal of the other */
    NEARLY_EMPTY,  /* the one that asks */
    NEARLY_FULL,   /* the one that asks; the other one is nearly empty */
    RELATIONS
};

struct scene {
    struct saved_replica initiator, responder;
    roost_buffer memory;
    roost_environment environment;
    struct random_source entropy;
};

static inline void put_many(roost_filter *filter, uint64_t first, uint64_t count)
{
    while (count-- > 0)
        put(filter, first++);
}

static inline void take_many(roost_filter *filter, uint64_t first, uint64_t count)
{
    while (count-- > 0)
        take(filter, first++, false);
}

/* `size` is the number of common elements, about. Not to be moved: the environment points into it. */
static inline void scene_open(struct scene *scene, uint64_t kind, enum relation relation, uint64_t size)
{
    roost_config config = config_for(kind, size * 3);
    bool have_met = relation != FIRST_MEETING && relation != NEARLY_EMPTY && relation != NEARLY_FULL;
    *scene = (struct scene){.entropy = random_from_seed(kind * 100 + relation)};
    scene->environment = (roost_environment){
        .kicks = 30, .entropy = {&scene->entropy, draw_random}, .journal = relation == JOURNAL_SHORT ? 4 : 0};
    roost_filter *a, *b;
    assert_ok(roost_filter_new(&a, &config, &scene->environment));
    assert_ok(roost_filter_new(&b, &config, &scene->environment));
    if (have_met) {
        put_many(a, 0, size / 2);
        put_many(b, size / 2, size / 2);
        sync_alone(a, b, &scene->memory);
    }
    if (relation != REMOVED_ONLY) {
        put_many(a, 1000000, relation == NEARLY_EMPTY ? 1 : relation == NEARLY_FULL ? size : 1 + size / 8);
        put_many(b, 2000000, relation == NEARLY_FULL ? 1 : relation == NEARLY_EMPTY ? size : 1 + size / 8);
    }
    take_many(a, size / 4, 1 + size / 16);
    take_many(b, size * 3 / 4, 1 + size / 16);
    if (relation != BY_CURSOR)
        roost_buffer_release(&scene->memory);
    scene->initiator = save_replica(a);
    scene->responder = save_replica(b);
    roost_filter_free(a);
    roost_filter_free(b);
}

static inline void scene_close(struct scene *scene)
{
    saved_release(&scene->initiator);
    saved_release(&scene->responder);
    roost_buffer_release(&scene->memory);
}

/* As they were; what is drawn from now on is the same each time. */
static inline void scene_restore(struct scene *scene, roost_filter **initiator, roost_filter **responder)
{
    scene->entropy = random_from_seed(UINT64_C(0x123456789));
    *initiator = restore_replica(&scene->initiator, &scene->environment, true);
    *responder = restore_replica(&scene->responder, &scene->environment, true);
}

static inline roost_sync *scene_begin(const struct scene *scene, roost_filter *initiator)
{
    roost_sync *sync;
    assert_ok(roost_sync_new(&sync, initiator, scene->memory.data, scene->memory.size));
    return sync;
}

#endif
