/* See dumps.h. */
#include "dumps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/job/copying.h"
#include "module/job/key_job.h"
#include "module/value/chunks.h"

#define MOST_DUMPS   8
#define MOST_BYTES   ((size_t)64 << 20)
#define FORGET_AFTER 300000 /* milliseconds without a request for the next chunk */
#define IN_USE       10000  /* milliseconds after a chunk in which the next one is expected */
#define LARGE_FILTER ((size_t)2 << 20)

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static struct dump {
    uint32_t tag;     /* of the state; 0: there is no dump here */
    unsigned attempt; /* the latest one among its readers */
    uint8_t *bytes;
    size_t size;
    long long touched;
    uint64_t object; /* the filter that it is of, */
    roost_digest digest;
    uint64_t readers; /* that have begun and not ended */
} dumps[MOST_DUMPS];
static bool watched; /* a timer is set that ends old ones */

static void end_dump(struct dump *dump)
{
    RedisModule_Free(dump->bytes);
    *dump = (struct dump){0};
}

void forget_dumps(void)
{
    for (int i = 0; i < MOST_DUMPS; i++)
        end_dump(&dumps[i]);
}

uint64_t dumps_bytes(void)
{
    uint64_t bytes = 0;
    for (int i = 0; i < MOST_DUMPS; i++)
        bytes += dumps[i].size;
    return bytes;
}

/* Ends old dumps, and sets the timer again while there are any. */
static void watch(RedisModuleCtx *ctx, void *unused)
{
    (void)unused;
    watched = false;
    for (int i = 0; i < MOST_DUMPS; i++) {
        if (dumps[i].tag && RedisModule_Milliseconds() - dumps[i].touched >= FORGET_AFTER)
            end_dump(&dumps[i]);
        watched |= dumps[i].tag != 0;
    }
    if (watched)
        RedisModule_CreateTimer(ctx, FORGET_AFTER, watch, NULL);
}

/* Bits of the digest. (Earlier versions took others, so that their iterators do not fit.) */
static uint32_t tag_of(roost_digest digest)
{
    uint32_t bits;
    memcpy(&bits, digest.bytes + sizeof bits, sizeof bits);
    return tag_of_bits(bits);
}

/* A user may not read the dump of another key, so an iterator is looked up for its key. */
static struct dump *find_dump(uint64_t object, uint32_t tag)
{
    for (int i = 0; i < MOST_DUMPS; i++)
        if (tag > 0 && dumps[i].tag == tag && dumps[i].object == object)
            return &dumps[i];
    return NULL;
}

static struct dump *find_same(uint64_t object, roost_digest digest)
{
    struct dump *dump = find_dump(object, tag_of(digest));
    return dump && memcmp(&dump->digest, &digest, sizeof digest) == 0 ? dump : NULL;
}

static bool may_be_dropped(const struct dump *dump, unsigned attempt)
{
    return dump->tag && (dump->attempt < attempt || RedisModule_Milliseconds() - dump->touched >= IN_USE);
}

/* Of the dumps that may be dropped for one of this attempt, the one that was read longest ago. */
static struct dump *find_dropped(unsigned attempt)
{
    struct dump *oldest = NULL;
    for (int i = 0; i < MOST_DUMPS; i++)
        if (may_be_dropped(&dumps[i], attempt) && (!oldest || dumps[i].touched < oldest->touched))
            oldest = &dumps[i];
    return oldest;
}

static struct dump *free_place(void)
{
    for (int i = 0; i < MOST_DUMPS; i++)
        if (!dumps[i].tag)
            return &dumps[i];
    return NULL;
}

/* A place for this many bytes; NULL if other dumps need it. */
static struct dump *make_room(size_t size, unsigned attempt)
{
    while (!free_place() || (dumps_bytes() > 0 && dumps_bytes() + size > MOST_BYTES)) {
        struct dump *dropped = find_dropped(attempt);
        if (!dropped)
            return NULL;
        end_dump(dropped);
    }
    return free_place();
}

static struct dump dump_of(uint8_t *bytes, size_t size, uint64_t object, roost_digest digest)
{
    return (struct dump){.tag = tag_of(digest), .bytes = bytes, .size = size, .object = object, .digest = digest};
}

/* Keeps header and body; NULL if there is no room, and then they stay the caller's. */
static struct dump *keep_dump(RedisModuleCtx *ctx, const struct dump *made, unsigned attempt)
{
    struct dump *dump = make_room(made->size, attempt);
    if (!dump)
        return NULL;
    *dump = *made;
    if (!watched)
        RedisModule_CreateTimer(ctx, FORGET_AFTER, watch, NULL);
    watched = true;
    return dump;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static const struct dump_place the_beginning = {.position = 1};

/* Where a dump of the present state goes on: at its beginning if the iterator is of another state. */
static struct dump_place place_in(uint32_t tag, struct dump_place place)
{
    if (place.tag == tag)
        return place;
    bool first = place.tag == 0 && place.position == the_beginning.position;
    unsigned next = place.attempt + 1 < MOST_ATTEMPTS ? place.attempt + 1 : place.attempt;
    return (struct dump_place){.tag = tag, .attempt = first ? 0 : next, .position = the_beginning.position};
}

static int reply_chunk_at(RedisModuleCtx *ctx, const struct dump *dump, struct dump_place place)
{
    size_t begin = chunk_begin(place.attempt, place.position), end = chunk_begin(place.attempt, place.position + 1);
    place.last = end >= dump->size;
    end = place.last ? dump->size : end;
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, iterator_of(&place));
    return RedisModule_ReplyWithStringBuffer(ctx, (const char *)dump->bytes + begin, end - begin);
}

/* The last reader ends the dump. */
static int reply_end(RedisModuleCtx *ctx, struct dump *dump)
{
    if (dump && dump->readers <= 1)
        end_dump(dump);
    else if (dump)
        dump->readers--;
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, 0);
    return RedisModule_ReplyWithStringBuffer(ctx, "", 0);
}

static int reply_at(RedisModuleCtx *ctx, struct dump *dump, struct dump_place place)
{
    bool behind_end = chunk_begin(place.attempt, place.position) >= dump->size;
    dump->touched = RedisModule_Milliseconds();
    dump->attempt = place.attempt > dump->attempt ? place.attempt : dump->attempt;
    return behind_end ? reply_end(ctx, dump) : reply_chunk_at(ctx, dump, place);
}

static int reply_to_new_reader(RedisModuleCtx *ctx, struct dump *dump, struct dump_place place)
{
    dump->readers++;
    return reply_at(ctx, dump, place);
}

/* A chunk of bytes that are not kept. */
static int reply_unkept(RedisModuleCtx *ctx, struct dump made, struct dump_place place)
{
    made.readers = 2; /* so that the end frees nothing */
    return reply_at(ctx, &made, place);
}

/* A chunk of bytes that were just made. They are kept for the chunks that come next, if there is room. */
static int reply_fresh(RedisModuleCtx *ctx, struct dump *made, struct dump_place place)
{
    place = place_in(made->tag, place);
    bool needed = chunk_begin(place.attempt, place.position + 1) < made->size;
    struct dump *kept = find_same(made->object, made->digest);
    if (!kept && needed && (kept = keep_dump(ctx, made, place.attempt)))
        made->bytes = NULL;
    return kept ? reply_to_new_reader(ctx, kept, place) : reply_unkept(ctx, *made, place);
}

/* ---- incremental snapshots ------------------------------------------------------------------------------------------
 *
 * An incremental copy (roost/incremental.h), which a thread encodes. Also for an iterator whose snapshot is gone: if
 * the filter has not changed since, its bytes are the same. If it has, they are what the dump begins again with.
 */

struct dump_job {
    struct key_job job;
    struct dump_place place; /* which chunk of which state; the_beginning: the first one of the present state */
    struct value memory;     /* counts and limits the memory of the copy */
    struct copying copying;
    uint8_t header[HEADER_BYTES];
    pthread_t thread;
    bool begun; /* the thread */
    atomic_bool encoded;
    uint8_t *bytes; /* header and body */
    size_t size;
    roost_digest digest;
    roost_status status;
    const char *error;
};

static void *encode(void *context)
{
    struct dump_job *dump = context;
    roost_buffer body = {0};
    dump->status = roost_filter_encode(dump->copying.copy, &body);
    dump->digest = roost_filter_digest(dump->copying.copy);
    copying_free(&dump->copying);
    if (dump->status == ROOST_OK) {
        header_end(dump->header, (struct header_place){dump->header}, body.size);
        dump->size = HEADER_BYTES + body.size;
        dump->bytes = RedisModule_Alloc(dump->size);
        memcpy(dump->bytes, dump->header, HEADER_BYTES);
        memcpy(dump->bytes + HEADER_BYTES, body.data, body.size);
    }
    roost_buffer_release(&body);
    atomic_store(&dump->encoded, true);
    return NULL;
}

/* Once the copy is complete. */
static roost_status begin_thread(struct dump_job *dump, struct filter_value *filter)
{
    filter_value_header(filter, dump->header, ENCODE_COPY);
    dump->begun = pthread_create(&dump->thread, NULL, encode, dump) == 0;
    return dump->begun ? ROOST_OK : ROOST_NO_MEMORY;
}

static enum progress copy_step(RedisModuleCtx *ctx, struct dump_job *dump)
{
    struct target target;
    enum progress progress = ALL_DONE;
    if (!key_job_open(ctx, &dump->job, &target, REDISMODULE_READ))
        dump->error = "STALE the key has changed while it was read";
    else
        progress = copy_some(&dump->copying, target.filter, &dump->memory, &dump->status);
    if (progress == ALL_DONE && !dump->error && dump->status == ROOST_OK)
        dump->status = begin_thread(dump, target.filter);
    target_close(&target);
    return dump->begun ? NOTHING_TO_DO_NOW : progress;
}

/* One at a time, so that the server holds one copy at most. */
static const struct dump_job *at_work;

static enum progress dump_step(RedisModuleCtx *ctx, struct job *job)
{
    struct dump_job *dump = (struct dump_job *)job;
    if (at_work && at_work != dump)
        return NOTHING_TO_DO_NOW;
    at_work = dump;
    if (!dump->begun)
        return copy_step(ctx, dump);
    if (!atomic_load(&dump->encoded))
        return NOTHING_TO_DO_NOW;
    pthread_join(dump->thread, NULL);
    return ALL_DONE;
}

static int reply_dump(RedisModuleCtx *ctx, struct job *job)
{
    struct dump_job *dump = (struct dump_job *)job;
    if (dump->error)
        return job_reply_error(ctx, dump->error);
    if (dump->status != ROOST_OK)
        return job_reply_status(ctx, dump->status);
    struct dump made = dump_of(dump->bytes, dump->size, dump->job.object, dump->digest);
    int status = reply_fresh(ctx, &made, dump->place);
    dump->bytes = made.bytes;
    return status;
}

static void free_dump(struct job *job)
{
    struct dump_job *dump = (struct dump_job *)job;
    key_job_release(&dump->job);
    at_work = at_work == dump ? NULL : at_work;
    copying_end(&dump->copying);
    copying_free(&dump->copying);
    RedisModule_Free(dump->bytes);
    RedisModule_Free(dump);
}

static const struct job_class dump_class = {dump_step, reply_dump, free_dump, SLOW_DUMP};

static int make_incrementally(struct target *target, struct dump_place place)
{
    struct dump_job *dump = RedisModule_Calloc(1, sizeof *dump);
    *dump = (struct dump_job){.job.job.class = &dump_class, .place = place};
    return key_job_begin(&dump->job, target);
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* What a dump of the present state has; without bytes if there is no memory. */
static struct dump encode_now(struct filter_value *filter)
{
    size_t size = 0;
    uint8_t *bytes = value_encode_whole(&filter->value, &size, ENCODE_COPY);
    return dump_of(bytes, size, filter->object, roost_filter_digest(filter->filter));
}

static bool is_small(const struct filter_value *filter)
{
    return filter->value.bytes <= LARGE_FILTER;
}

static int refuse(struct target *target, const char *error)
{
    target_close(target);
    return RedisModule_ReplyWithError(target->ctx, error);
}

static int make_at_once(struct target *target, struct dump_place place)
{
    struct dump made = encode_now(target->filter);
    if (!made.bytes)
        return refuse(target, ERROR_MEMORY);
    target_close(target);
    int status = reply_fresh(target->ctx, &made, place);
    RedisModule_Free(made.bytes);
    return status;
}

static int make(struct target *target, struct dump_place place)
{
    return is_small(target->filter) || !can_wait(target->ctx) ? make_at_once(target, place)
                                                              : make_incrementally(target, place);
}

static int begin(struct target *target)
{
    struct filter_value *filter = target->filter;
    struct dump *dump = is_small(filter) ? find_same(filter->object, roost_filter_digest(filter->filter)) : NULL;
    if (!dump)
        return make(target, the_beginning);
    target_close(target);
    return reply_to_new_reader(target->ctx, dump, place_in(dump->tag, the_beginning));
}

int reply_chunk(struct target *target, long long iterator, const char *error)
{
    struct dump_place place;
    if (iterator == 0)
        return begin(target);
    if (!iterator_read(iterator, &place))
        return refuse(target, error);
    struct dump *dump = find_dump(target->filter->object, place.tag);
    place.position++;
    if (!dump && !place.last)
        return make(target, place);
    target_close(target);
    return place.last ? reply_end(target->ctx, dump) : reply_at(target->ctx, dump, place);
}
