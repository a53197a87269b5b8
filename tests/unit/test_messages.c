/*
 * Messages of a sync that are not what they should be: cut, flipped, forged with a right checksum, of another type,
 * from another exchange, from another version; and memory that runs out at any point of an exchange.
 *
 * What must hold. A message that an accident changed is refused, and the filter is as before. One that somebody made up
 * may say anything, since whoever has the right to sync may also add and remove; but the filter stays valid, it never
 * loses what it has seen, and neither time nor memory run away.
 */
#include "exchange.h"
#include "meter.h"

#include <time.h>

enum { MOST_STEPS = 12, COMMON = 24 };

/* ---- the course of an exchange, recorded ------------------------------------------------------------------------- */

struct course {
    struct scene scene;
    roost_buffer requests[MOST_STEPS], replies[MOST_STEPS];
    struct saved_replica responder[MOST_STEPS]; /* before each answer */
    unsigned steps;
};

static void course_open(struct course *course, uint64_t kind, enum relation relation, uint64_t size)
{
    roost_filter *a, *b;
    scene_open(&course->scene, kind, relation, size);
    scene_restore(&course->scene, &a, &b);
    roost_sync *sync = scene_begin(&course->scene, a);
    roost_buffer request, reply = {0};
    for (course->steps = 0;; course->steps++) {
        assert_ok(roost_sync_next(sync, &request, reply.data, reply.size));
        if (request.size == 0)
            break;
        assert_true(course->steps < MOST_STEPS);
        course->responder[course->steps] = save_replica(b);
        assert_ok(roost_sync_reply(b, &reply, NULL, request.data, request.size));
        course->requests[course->steps] = request;
        course->replies[course->steps] = reply;
    }
    assert_true(roost_sync_get_result(sync).equal);
    roost_sync_free(sync);
    roost_filter_free(a);
    roost_filter_free(b);
}

static void course_close(struct course *course)
{
    for (unsigned step = 0; step < course->steps; step++) {
        roost_buffer_release(&course->requests[step]);
        roost_buffer_release(&course->replies[step]);
        saved_release(&course->responder[step]);
    }
    scene_close(&course->scene);
}

/* Once more up to where the reply of a step is awaited. The same messages each time, or `asked` has the last request.
 */
static roost_sync *replay(struct course *course, unsigned step, roost_filter **a, roost_filter **b)
{
    roost_buffer request, reply = {0};
    scene_restore(&course->scene, a, b);
    roost_sync *sync = scene_begin(&course->scene, *a);
    for (unsigned i = 0;; i++) {
        assert_ok(roost_sync_next(sync, &request, reply.data, reply.size));
        roost_buffer_release(&reply);
        assert_int_equal(request.size, course->requests[i].size);
        assert_memory_equal(request.data, course->requests[i].data, request.size);
        assert_ok(roost_sync_reply(*b, &reply, NULL, request.data, request.size));
        roost_buffer_release(&request);
        if (i == step)
            break;
    }
    roost_buffer_release(&reply);
    return sync;
}

/* ---- what is done to messages ------------------------------------------------------------------------------------ */

/* As somebody would who knows the configuration. */
static void seal(const roost_filter *filter, roost_buffer *message, const roost_buffer *request)
{
    if (message->size < 9 || message->data[0] == HELLO || message->data[0] == FAILURE)
        return;
    uint64_t seed = configuration_hash(filter).high;
    uint64_t checksum = hash_bytes(seed, message->data, message->size - 8).low;
    if (request)
        checksum ^= hash_bytes(seed, request->data, request->size).low;
    store_word(message->data + message->size - 8, checksum);
}

enum damage { CUT, FLIPPED, NOISE, LENGTHENED, DAMAGES };

static void fill_with_noise(uint8_t *bytes, size_t size, struct random_source *random)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)random_next(random);
}

/* Always in memory of its exact size, so that a sanitizer sees the smallest step beyond. `where` is a bit. */
static roost_buffer damaged(const roost_buffer *message, enum damage damage, size_t where, struct random_source *random)
{
    roost_buffer copy = {.allocator = allocator_or_default((roost_allocator){0})};
    copy.size = damage == CUT ? where / 8 : damage == LENGTHENED ? message->size + 1 + where % 16 : message->size;
    copy.data = memory_allocate(&copy.allocator, copy.size);
    size_t kept = copy.size < message->size ? copy.size : message->size;
    memcpy(copy.data, message->data, kept);
    if (damage == FLIPPED)
        copy.data[where / 8] ^= (uint8_t)(1 << where % 8);
    if (damage == NOISE) {
        size_t from = where / 8, length = 1 + random_choice(random, 12);
        fill_with_noise(copy.data + from, length < copy.size - from ? length : copy.size - from, random);
    }
    if (damage == LENGTHENED)
        fill_with_noise(copy.data + kept, copy.size - kept, random);
    return copy;
}

/* Every bit of what is short and of both ends, a bit of each byte of what is long; under sanitizers an eighth of
   those. */
static size_t next_place(size_t bit, size_t size, struct random_source *random)
{
    size_t byte = bit / 8, pace = is_brief() ? 8 : 1;
    if (size <= 40 || byte < 16 || byte + 10 > size)
        return bit + pace;
    return (byte + pace) * 8 + random_choice(random, 8);
}

/* ---- replies ----------------------------------------------------------------------------------------------------- */

static uint64_t refused, taken;

/* One bad reply: the status, and that nothing is broken. `forged`: its checksum is right. */
static void try_reply(struct course *course, unsigned step, const roost_buffer *reply, bool forged)
{
    roost_filter *a, *b;
    roost_buffer request, memory;
    roost_sync *sync = replay(course, step, &a, &b);
    roost_filter *before = clone_of(a);
    roost_status status = roost_sync_next(sync, &request, reply->data, reply->size);
    assert_ok(roost_filter_check(a));
    if (!forged) {
        assert_int_not_equal(status, ROOST_OK);
        assert_true(roost_filter_equal(before, a));
        assert_ok(roost_sync_save_memory(sync, &memory));
        assert_memory_is_sound(a, b, &memory);
        roost_buffer_release(&memory);
    }
    assert_true(included(before, a));
    assert_true(status == ROOST_OK || request.size == 0);
    if (status != ROOST_OK) { /* it is over */
        roost_buffer more;
        assert_int_equal(roost_sync_next(sync, &more, reply->data, reply->size), ROOST_INVALID);
    }
    refused += status != ROOST_OK;
    taken += status == ROOST_OK;
    roost_buffer_release(&request);
    roost_sync_free(sync);
    if (forged && status == ROOST_OK && (refused + taken) % 4 == 0) /* life goes on, whatever was said */
        sync_alone(a, b, NULL);
    roost_filter_free(before);
    roost_filter_free(a);
    roost_filter_free(b);
}

/* What is done with a spoiled message: `forged` if its seal is right. */
typedef void try_message(struct course *course, unsigned step, const roost_buffer *message, bool forged);

/* Damages a message in one place after the other; each is tried as it is and with a right seal, of a reply that to
   `request`. */
static void spoil(struct course *course, unsigned step, const roost_buffer *right, const roost_buffer *request,
                  try_message *try, enum damage damage, struct random_source *random)
{
    roost_filter *like = restore_replica(&course->scene.initiator, NULL, false);
    for (size_t bit = 0; bit < right->size * 8; bit = next_place(bit, right->size, random)) {
        if (damage != FLIPPED && bit % 8)
            continue;
        roost_buffer bad = damaged(right, damage, bit, random);
        bool same = bad.size == right->size && memcmp(bad.data, right->data, bad.size) == 0;
        if (!same)
            try(course, step, &bad, false);
        seal(like, &bad, request);
        try(course, step, &bad, true);
        roost_buffer_release(&bad);
    }
    roost_filter_free(like);
}

static void spoil_reply(struct course *course, unsigned step, enum damage damage, struct random_source *random)
{
    spoil(course, step, &course->replies[step], &course->requests[step], try_reply, damage, random);
}

static void bad_replies_do_no_harm(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(41));
    refused = taken = 0;
    for (uint64_t kind = 0; kind < KINDS; kind++)
        for (enum relation relation = 0; relation < RELATIONS; relation++) {
            struct course course;
            course_open(&course, kind, relation, COMMON);
            for (unsigned step = 0; step < course.steps; step++)
                for (enum damage damage = 0; damage < DAMAGES; damage++)
                    spoil_reply(&course, step, damage, &random);
            course_close(&course);
        }
    printf("%llu refused, %llu taken\n", (unsigned long long)refused, (unsigned long long)taken);
    assert_true(refused > 1000 && taken > 1000);
}

/* Replies that were right once, to another question. `forged`: somebody made them fit. */
static void replies_to_other_questions(void **state)
{
    (void)state;
    refused = taken = 0;
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        struct course courses[RELATIONS];
        for (enum relation relation = 0; relation < RELATIONS; relation++)
            course_open(&courses[relation], kind, relation, COMMON);
        for (enum relation now = 0; now < RELATIONS; now++)
            for (enum relation then = 0; then < RELATIONS; then++)
                for (unsigned step = 0; step < courses[now].steps; step++)
                    for (unsigned other = 0; other < courses[then].steps; other++) {
                        const roost_buffer *request = &courses[now].requests[step];
                        const roost_buffer *asked = &courses[then].requests[other];
                        if (request->size == asked->size && memcmp(request->data, asked->data, asked->size) == 0)
                            continue;
                        roost_buffer reply = copy_of(&courses[then].replies[other]);
                        try_reply(&courses[now], step, &reply, false);
                        roost_filter *like = restore_replica(&courses[now].scene.initiator, NULL, false);
                        seal(like, &reply, request);
                        roost_filter_free(like);
                        try_reply(&courses[now], step, &reply, true);
                        roost_buffer_release(&reply);
                    }
        for (enum relation relation = 0; relation < RELATIONS; relation++)
            course_close(&courses[relation]);
    }
    printf("%llu refused, %llu taken\n", (unsigned long long)refused, (unsigned long long)taken);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void assert_same_replica(const roost_buffer *before, const roost_filter *filter)
{
    roost_buffer after;
    assert_ok(roost_filter_save_replica(filter, &after));
    assert_int_equal(before->size, after.size);
    assert_true(after.size == 0 || memcmp(before->data, after.data, after.size) == 0);
    roost_buffer_release(&after);
}

static void assert_says_so(roost_filter *filter, const roost_buffer *reply, roost_status status)
{
    (void)filter;
    assert_int_equal(reply->size, 3);
    assert_int_equal(reply->data[0], FAILURE);
    assert_int_equal(reply->data[1], status);
    assert_int_equal(reply->data[2], SYNC_VERSION);
}

/* A HELLO has no checksum of its own; but whoever sent another one does not take the reply. */
static void refuses_reply_to_damaged(struct course *course, const roost_buffer *damaged_hello)
{
    roost_filter *a, *b;
    roost_buffer reply;
    roost_sync *sync = replay(course, 0, &a, &b);
    roost_filter *before = clone_of(a);
    roost_buffer request;
    (void)!roost_sync_reply(b, &reply, NULL, damaged_hello->data, damaged_hello->size);
    assert_int_not_equal(roost_sync_next(sync, &request, reply.data, reply.size), ROOST_OK);
    assert_true(roost_filter_equal(before, a));
    roost_buffer_release(&reply);
    roost_sync_free(sync);
    roost_filter_free(before);
    roost_filter_free(a);
    roost_filter_free(b);
}

static void try_request(struct course *course, unsigned step, const roost_buffer *request, bool forged)
{
    const struct saved_replica *saved = &course->responder[step];
    roost_filter *b = restore_replica(saved, &course->scene.environment, true), *before = clone_of(b);
    roost_buffer reply;
    bool changed, hello = request->size > 0 && request->data[0] == HELLO;
    roost_status status = roost_sync_reply(b, &reply, &changed, request->data, request->size);
    assert_ok(roost_filter_check(b));
    assert_true(included(before, b));
    assert_true(reply.size > 0);
    if (!forged && !hello)
        assert_int_not_equal(status, ROOST_OK);
    if (hello)
        assert_true(roost_filter_equal(before, b));
    if (hello && !forged && step == 0)
        refuses_reply_to_damaged(course, request);
    if (status != ROOST_OK) {
        assert_says_so(b, &reply, status);
        assert_false(changed);
        assert_true(roost_filter_equal(before, b));
        assert_same_replica(&saved->replica, b);
    }
    if (!changed)
        assert_same_replica(&saved->replica, b);
    refused += status != ROOST_OK;
    taken += status == ROOST_OK;
    roost_buffer_release(&reply);
    roost_filter_free(before);
    roost_filter_free(b);
}

static void spoil_request(struct course *course, unsigned step, enum damage damage, struct random_source *random)
{
    spoil(course, step, &course->requests[step], NULL, try_request, damage, random);
}

/* Filters that grow have more tables to go through: those relations that lead to all messages will do. */
static enum relation relations_for(uint64_t kind)
{
    return kind < KINDS ? RELATIONS : CURSOR_LOST + 1;
}

static void bad_requests_do_no_harm(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(42));
    refused = taken = 0;
    for (uint64_t kind = 0; kind < ALL_KINDS; kind++)
        for (enum relation relation = 0; relation < relations_for(kind); relation++) {
            struct course course;
            course_open(&course, kind, relation, COMMON);
            for (unsigned step = 0; step < course.steps; step++)
                for (enum damage damage = 0; damage < DAMAGES; damage++)
                    spoil_request(&course, step, damage, &random);
            course_close(&course);
        }
    printf("%llu refused, %llu taken\n", (unsigned long long)refused, (unsigned long long)taken);
    assert_true(refused > 1000 && taken > 1000);
}

/* ---- made by hand ------------------------------------------------------------------------------------------------ */

static void send_by_hand(roost_filter *filter, struct bit_writer *writer, roost_buffer *reply, roost_status expected)
{
    roost_buffer request;
    assert_ok(message_end(writer, filter, &request, ROOST_OK));
    assert_int_equal(roost_sync_reply(filter, reply, NULL, request.data, request.size), expected);
    assert_ok(roost_filter_check(filter));
    roost_buffer_release(&request);
}

static roost_buffer hello_by_hand(const roost_filter *filter, uint8_t version, const roost_filter *like)
{
    struct bit_writer writer;
    roost_buffer request;
    message_begin(&writer, filter, HELLO);
    write_byte(&writer, version);
    write_fixed64(&writer, configuration_hash(like).low);
    write_fixed64(&writer, 12345);
    write_varint(&writer, 0);
    if (version > SYNC_VERSION) /* who knows what they will say */
        write_bytes(&writer, "something new", 13);
    assert_ok(message_end(&writer, filter, &request, ROOST_OK));
    return request;
}

/* What the initiator makes of a reply to its hello. */
static roost_status status_of_reply(roost_filter *initiator, const void *reply, size_t size)
{
    roost_sync *sync;
    roost_buffer request;
    assert_ok(roost_sync_new(&sync, initiator, NULL, 0));
    assert_ok(roost_sync_next(sync, &request, NULL, 0));
    roost_buffer_release(&request);
    roost_status status = roost_sync_next(sync, &request, reply, size);
    assert_int_equal(request.size, 0);
    roost_sync_free(sync);
    return status;
}

static void other_versions_and_configurations_are_told_apart(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        roost_config config = config_for(kind, 100), other_config = config_for(kind, 101);
        roost_filter *filter = new_filter(&config), *other = new_filter(&other_config), *third;
        roost_config third_config = config_for(kind + 1, 100);
        third = new_filter(&third_config);
        for (int version = 0; version < 256; version += 5) {
            roost_buffer reply, hello = hello_by_hand(filter, (uint8_t)version, filter);
            bool ours = version == SYNC_VERSION;
            assert_int_equal(roost_sync_reply(filter, &reply, NULL, hello.data, hello.size),
                             ours ? ROOST_OK : ROOST_PROTOCOL);
            if (!ours)
                assert_says_so(filter, &reply, ROOST_PROTOCOL);
            roost_buffer_release(&hello);
            roost_buffer_release(&reply);
        }
        roost_filter *strangers[] = {other, third};
        for (int i = 0; i < 2; i++) {
            struct exchange exchange = {.initiator = filter, .responder = &strangers[i]};
            run_exchange(&exchange, NULL);
            assert_int_equal(exchange.answered, ROOST_MISMATCH);
            assert_int_equal(exchange.status, ROOST_MISMATCH);
            roost_buffer_release(&exchange.memory);
        }
        /* a peer of a later version, one that speaks of a status that nobody knows, and things that are no peers */
        assert_int_equal(status_of_reply(filter, "\x58\x0c\x02", 3), ROOST_PROTOCOL);
        assert_int_equal(status_of_reply(filter, "\x58\x0c\x02 and more", 12), ROOST_PROTOCOL);
        assert_int_equal(status_of_reply(filter, "\x58\x63\x01", 3), ROOST_PROTOCOL);
        assert_int_equal(status_of_reply(filter, "\x58\x00\x01", 3), ROOST_PROTOCOL);
        assert_int_equal(status_of_reply(filter, "\x58", 1), ROOST_PROTOCOL);
        assert_int_equal(status_of_reply(filter, "\x58\x05\x01", 3), ROOST_MISMATCH);
        assert_int_equal(status_of_reply(filter, NULL, 0), ROOST_PROTOCOL);
        assert_int_equal(status_of_reply(filter, "bash: roost: command not found\n", 31), ROOST_PROTOCOL);
        assert_int_equal(status_of_reply(filter, "\x01", 1), ROOST_PROTOCOL);
        roost_buffer reply;
        assert_int_equal(roost_sync_reply(filter, &reply, NULL, NULL, 0), ROOST_PROTOCOL);
        assert_says_so(filter, &reply, ROOST_PROTOCOL);
        roost_buffer_release(&reply);
        assert_int_equal(roost_sync_reply(filter, &reply, NULL, "GET / HTTP/1.1\r\n", 16), ROOST_PROTOCOL);
        roost_buffer_release(&reply);
        roost_filter_free(filter);
        roost_filter_free(other);
        roost_filter_free(third);
    }
}

/* News that are not those that were wanted: going on as if they were would kill dots that nobody removed. */
static void changes_must_be_what_was_wanted(void **state)
{
    (void)state;
    for (uint64_t kind = 3; kind < KINDS; kind++) {
        struct course course;
        course_open(&course, kind, FIRST_MEETING, COMMON);
        assert_int_equal(course.requests[1].data[0], TRADE);
        roost_filter *like = restore_replica(&course.scene.initiator, NULL, false);
        struct bit_writer writer;
        roost_buffer reply, request;
        message_begin(&writer, like, CHANGES);
        write_byte(&writer, REPLY_UNDISTURBED);
        write_varint(&writer, 1);
        write_fixed64(&writer, 0);
        write_bytes(&writer, "\0\0\0\0", 4); /* an empty causal context, nothing live, nothing hinted, no ranks */
        assert_ok(message_end(&writer, like, &reply, ROOST_OK));
        seal(like, &reply, &course.requests[1]);
        roost_filter *a, *b;
        roost_sync *sync = replay(&course, 1, &a, &b);
        assert_int_equal(roost_sync_next(sync, &request, reply.data, reply.size), ROOST_CORRUPT);
        roost_buffer_release(&reply);
        roost_sync_free(sync);
        roost_filter_free(a);
        roost_filter_free(b);
        roost_filter_free(like);
        course_close(&course);
    }
}

/* ---- time and memory --------------------------------------------------------------------------------------------- */

struct weighed {
    uint64_t now, most;
};

static void *weigh_allocate(void *context, size_t size)
{
    struct weighed *weighed = context;
    uint64_t *block = calloc(1, size + 16);
    if (!block)
        return NULL;
    *block = size;
    weighed->now += size;
    weighed->most = weighed->now > weighed->most ? weighed->now : weighed->most;
    return block + 2;
}

static void weigh_release(void *context, void *memory)
{
    struct weighed *weighed = context;
    uint64_t *block = (uint64_t *)memory - 2;
    weighed->now -= *block;
    free(block);
}

/* Runs of the same actor or actors: all dead. */
static void push_runs(roost_filter *filter, uint64_t count, uint64_t first, uint64_t step, uint32_t length)
{
    struct bit_writer writer;
    roost_buffer reply;
    uint64_t last = 0;
    message_begin(&writer, filter, PUSH);
    assert_ok(begin_journal(filter));
    write_half(&writer, half_incarnation(filter->journal->incarnation));
    write_varint(&writer, 0);
    write_fixed64(&writer, 0);
    write_varint(&writer, 1);
    write_fixed64(&writer, 5);
    write_varint(&writer, 1);
    for (uint64_t i = 0; i < count; i++) {
        write_varint(&writer, first + i * step - last - 2);
        write_varint(&writer, (uint64_t)(length - 1) << 1 | (i + 1 < count));
        last = first + i * step + length - 1;
    }
    write_bytes(&writer, "\0\0\0", 3);
    send_by_hand(filter, &writer, &reply, ROOST_OK);
    roost_buffer_release(&reply);
}

/* What LEAVES begins with, for the space of now. */
static uint64_t begin_leaves(roost_filter *filter, struct bit_writer *writer, unsigned shift)
{
    struct summary summary;
    struct causal_context own = {0}, *space = tracks_dots(filter) ? &own : NULL;
    if (space)
        assert_ok(filter->kind->causal.context(filter, &own));
    assert_ok(filter->kind->sync.summarize(filter, &summary, space));
    uint64_t universe = summary.universe, count = (universe >> shift) + 1;
    summary_release(&summary, &filter->environment.allocator);
    struct ranges ranges = {shift, calloc(count, sizeof *ranges.numbers), count};
    for (uint64_t i = 0; i < count; i++)
        ranges.numbers[i] = i;
    message_begin(writer, filter, LEAVES);
    write_varint(writer, filter->journal->next);
    write_varint(writer, filter->journal->next);
    write_half(writer, space_hash(space, filter->journal->incarnation));
    causal_release(&own, &filter->environment.allocator);
    write_ranges(writer, &ranges, universe);
    free(ranges.numbers);
    return universe;
}

/* Leaves that say "all of it" in a few bytes each, or nothing, or one leaf for everything. */
static void a_few_bytes_do_not_fill_the_memory(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < KINDS; kind++)
        for (int full = 0; full < 3; full++) {
            struct weighed weighed = {0};
            roost_config config = config_for(kind, 20000);
            roost_environment environment = {.allocator = {&weighed, weigh_allocate, weigh_release}};
            roost_filter *filter;
            roost_info info;
            roost_buffer reply, hello;
            assert_ok(roost_filter_new(&filter, &config, &environment));
            put_many(filter, 0, 20000);
            hello = hello_by_hand(filter, SYNC_VERSION, filter);
            assert_ok(roost_sync_reply(filter, &reply, NULL, hello.data, hello.size));
            roost_buffer_release(&hello);
            roost_buffer_release(&reply);
            if (kind == 3)
                push_runs(filter, 1, 2, 1, 1u << 23);
            roost_filter_get_info(filter, &info);
            uint64_t before = weighed.now;
            weighed.most = weighed.now;
            struct bit_writer writer;
            unsigned shift = full < 2 ? 16 : 56;
            uint64_t universe = begin_leaves(filter, &writer, shift);
            for (uint64_t from = 0; from >> shift <= universe >> shift; from += UINT64_C(1) << shift) {
                uint64_t width = universe - from < 1u << 16 ? universe - from : 1u << 16;
                write_varint(&writer, full == 1 ? width : 0);
            }
            roost_buffer request;
            assert_ok(message_end(&writer, filter, &request, ROOST_OK));
            roost_status status = roost_sync_reply(filter, &reply, NULL, request.data, request.size);
            printf("kind %d, %zu bytes: %s, %llu bytes in reply, filter %llu, at most %llu more\n", (int)kind,
                   request.size, roost_status_text(status), (unsigned long long)reply.size,
                   (unsigned long long)info.bytes_memory, (unsigned long long)(weighed.most - before));
            assert_true(weighed.most - before <= (4 << 20) + 256 * request.size + 4 * info.bytes_memory);
            roost_buffer_release(&request);
            roost_buffer_release(&reply);
            assert_ok(roost_filter_check(filter));
            roost_filter_free(filter);
            assert_int_equal(weighed.now, 0);
        }
}

/* Runs that lie between those that are there: each would move all behind it. By the square this takes minutes. */
static void many_runs_take_no_square(void **state)
{
    (void)state;
    enum { RUNS = 1 << 19 };
    roost_config config = config_for(3, 1000);
    roost_filter *filter = new_filter(&config);
    push_runs(filter, RUNS, 4, 4, 1);
    push_runs(filter, RUNS, 2, 4, 1);
    roost_info info;
    roost_filter_get_info(filter, &info);
    assert_int_equal(info.dots, 2 * RUNS);
    assert_int_equal(info.gaps, 2 * RUNS);
    roost_filter_free(filter);
}

/* ---- memory that runs out ---------------------------------------------------------------------------------------- */

static uint64_t failed_and_changed; /* answers for which there was no memory once the request was merged */

static roost_status reply_by_job(roost_filter *filter, roost_buffer *reply, bool *changed, const roost_buffer *request)
{
    const roost_environment environment = {.allocator = filter->environment.allocator};
    roost_reply_job *job;
    roost_status status = roost_reply_job_new(&job, filter, changed, request->data, request->size, &environment);
    *reply = (roost_buffer){0};
    if (status != ROOST_OK)
        return status;
    for (roost_reply_stage stage; (stage = roost_reply_job_get_stage(job)) != ROOST_REPLY_DONE;) {
        bool more = false;
        roost_filter *copy;
        if (stage == ROOST_REPLY_COPY && (status = roost_filter_clone(filter, &copy)) != ROOST_OK) {
            roost_reply_job_free(job);
            return status;
        }
        if (stage == ROOST_REPLY_COPY)
            roost_reply_job_take_copy(job, filter, copy);
        else if (stage == ROOST_REPLY_READ)
            roost_reply_job_read(job);
        else
            roost_reply_job_step(job, filter, &more);
        *changed |= more;
    }
    return roost_reply_job_finish(job, reply);
}

/* An answer that may fail; what changed nevertheless must be told. */
static void answer_or_fail(roost_filter *filter, roost_buffer *reply, const roost_buffer *request, bool by_job)
{
    roost_digest before = roost_filter_digest(filter);
    bool changed;
    roost_status status = by_job ? reply_by_job(filter, reply, &changed, request)
                                 : roost_sync_reply(filter, reply, &changed, request->data, request->size);
    roost_digest after = roost_filter_digest(filter);
    assert_true(status == ROOST_OK || status == ROOST_NO_MEMORY);
    bool same = memcmp(&before, &after, sizeof before) == 0;
    assert_true(changed || same);
    failed_and_changed += status != ROOST_OK && !same;
    assert_ok(roost_filter_check(filter));
}

/* As far as it goes; whether it came to its end. */
static bool exchange_or_fail(const struct scene *scene, roost_filter *a, roost_filter *b, roost_buffer *memory,
                             bool by_jobs)
{
    roost_sync *sync;
    roost_buffer request = {0}, reply = {0};
    roost_status status = roost_sync_new(&sync, a, scene->memory.data, scene->memory.size);
    if (status != ROOST_OK) {
        assert_int_equal(status, ROOST_NO_MEMORY);
        assert_null(sync);
        return false;
    }
    for (;;) {
        const struct meter *meter = a->environment.allocator.context;
        bool lost = reply.size > 0 && reply.data[0] == LOST;
        uint64_t failures = meter->failures;
        status = roost_sync_next(sync, &request, reply.data, reply.size);
        /* Nothing of the reply to a lost cursor can be done without. */
        assert_true(!lost || meter->failures == failures || status == ROOST_NO_MEMORY);
        roost_buffer_release(&reply);
        assert_ok(roost_filter_check(a));
        if (status != ROOST_OK || request.size == 0)
            break;
        answer_or_fail(b, &reply, &request, by_jobs);
        roost_buffer_release(&request);
    }
    assert_int_equal(request.size, 0);
    assert_true(status == ROOST_OK || status == ROOST_NO_MEMORY || status == ROOST_PROTOCOL);
    if (roost_sync_save_memory(sync, memory) != ROOST_OK)
        assert_null(memory->data);
    roost_sync_free(sync);
    return status == ROOST_OK;
}

/* Whether an allocation was refused at all. */
static bool fail_one(struct scene *scene, bool responder, int64_t allowed, bool recovers, bool by_jobs)
{
    struct meter meters[2] = {{.allowed = -1}, {.allowed = -1}};
    roost_environment environments[2] = {scene->environment, scene->environment};
    roost_filter *filters[2], *before[2];
    roost_buffer memory = {0};
    scene->entropy = random_from_seed(99);
    for (int i = 0; i < 2; i++) {
        environments[i].allocator = (roost_allocator){&meters[i], metered_allocate, metered_release};
        filters[i] = restore_replica(i ? &scene->responder : &scene->initiator, &environments[i], true);
        before[i] = clone_of(filters[i]);
    }
    roost_filter *expected = merged(before[0], before[1]);
    meters[responder].allowed = allowed;
    meters[responder].recovers = recovers;
    bool ended = exchange_or_fail(scene, filters[0], filters[1], &memory, by_jobs);
    meters[responder].allowed = -1;
    bool failed = meters[responder].failures > 0;
    assert_true(ended || failed);
    for (int i = 0; i < 2; i++)
        assert_true(included(before[i], filters[i]) && included(filters[i], expected));
    assert_memory_is_sound(filters[0], filters[1], &memory);
    sync_alone(filters[0], filters[1], &memory);
    assert_true(roost_filter_equal(filters[0], expected));
    roost_buffer_release(&memory);
    roost_filter_free(expected);
    for (int i = 0; i < 2; i++) {
        roost_filter_free(before[i]);
        roost_filter_free(filters[i]);
    }
    assert_int_equal(meters[0].outstanding, 0);
    assert_int_equal(meters[1].outstanding, 0);
    return failed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    uint64_t count = 0;
    for (uint64_t kind = 0; kind < ALL_KINDS; kind++)
        for (enum relation relation = 0; relation < relations_for(kind); relation++) {
            struct scene scene;
            scene_open(&scene, kind, relation, COMMON);
            for (int way = 0; way < 4; way++)
                for (int64_t allowed = 0; fail_one(&scene, way & 1, allowed, way & 2, false); allowed++)
                    count++;
            for (int64_t allowed = 0; fail_one(&scene, true, allowed, true, true); allowed++)
                count++;
            scene_close(&scene);
        }
    printf("%llu allocations failed, %llu of them after the merge\n", (unsigned long long)count,
           (unsigned long long)failed_and_changed);
    assert_true(count > 2000 && failed_and_changed > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_replies_do_no_harm),
        cmocka_unit_test(replies_to_other_questions),
        cmocka_unit_test(bad_requests_do_no_harm),
        cmocka_unit_test(other_versions_and_configurations_are_told_apart),
        cmocka_unit_test(changes_must_be_what_was_wanted),
        cmocka_unit_test(a_few_bytes_do_not_fill_the_memory),
        cmocka_unit_test(many_runs_take_no_square),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
