/*
 * What small messages of a stranger may cost: cost.h has the property. Each test is an attack that was once worth it,
 * in the smallest form that shows it.
 */
#include "check.h"
#include "cost.h"
#include "filter/journal_policy.h"
#include "series/series.h"
#include "forge.h"
#include "old_series.h"
#include "reconciling.h"
#include "reconcile/exact.h"
#include "sync/messages.h"
#include "sync/ranges.h"

static void report(const char *what, const struct measured *measured, uint64_t received)
{
    print_message("%s: %llu bytes received, %llu bytes of memory, %llu blocks of work\n", what,
                  (unsigned long long)received, (unsigned long long)measured_memory(measured),
                  (unsigned long long)measured_work(measured));
}

/* ---- reconciliation --------------------------------------------------------------------------------------------- */

/* The responder of a session with so many keys, its opening taken. */
static roost_reconcile *responder_to(struct cost *cost, roost_reconcile_config config, uint64_t keys)
{
    uint64_t drawn = 1;
    roost_environment environment = {.allocator = cost_allocator(cost)};
    roost_environment initiator_environment = {.entropy = {&drawn, draw_next}};
    roost_reconcile *initiator, *responder;
    roost_buffer opening, reply;
    assert_ok(roost_reconcile_new_initiator(&initiator, &config, &initiator_environment));
    for (uint64_t key = 0; key < keys; key++)
        assert_ok(roost_reconcile_add(initiator, &key, sizeof key, 1));
    assert_ok(roost_reconcile_next(initiator, &opening, NULL, 0));
    assert_ok(roost_reconcile_new_responder(&responder, opening.data, opening.size, &environment));
    for (uint64_t key = keys / 2; key < keys + keys / 2; key++)
        assert_ok(roost_reconcile_add(responder, &key, sizeof key, 1));
    assert_ok(roost_reconcile_next(responder, &reply, opening.data, opening.size));
    roost_buffer_release(&opening);
    roost_buffer_release(&reply);
    roost_reconcile_free(initiator);
    return responder;
}

static roost_reconcile *responder_side(struct cost *cost, roost_reconcile_method method, uint64_t keys)
{
    return responder_to(cost, (roost_reconcile_config){.method = method}, keys);
}

/* Five bytes at a time, for half a million symbols each. */
static void symbols_follow_the_own_set(void **state)
{
    (void)state;
    for (uint64_t keys = 10; keys <= 10000; keys *= 10)
        for (int honest = 0; honest < 2; honest++) {
            struct cost cost = {0};
            roost_reconcile *session = responder_side(&cost, ROOST_RECONCILE_RIBLT, keys);
            struct measured measured = measure(&cost);
            uint64_t received = 0, count = 16;
            roost_status status = ROOST_OK;
            while (status == ROOST_OK && received < 374) {
                uint8_t bytes[16];
                struct bit_writer writer = bit_writer_over(bytes, sizeof bytes);
                roost_buffer reply;
                uint64_t more = count < 64 ? count / 2 : count / 5;
                write_byte(&writer, 2);
                write_varint(&writer, honest ? more : MOST_MESSAGE / 16);
                status = roost_reconcile_next(session, &reply, bytes, writer.buffer.size);
                received += writer.buffer.size;
                count += more;
                roost_buffer_release(&reply);
            }
            report("riblt", &measured, received);
            assert_int_equal(status, ROOST_PROTOCOL);
            assert_true(cost_is_fair(&measured, received, keys * sizeof(struct element)));
            roost_reconcile_free(session);
            assert_int_equal(cost.now, 0);
        }
}

/* Sums of a difference that there is not, as many as one message may have, in one cell. */
static roost_status hear_sums(struct cost *cost, uint64_t keys, uint64_t sums, struct measured *measured,
                              uint64_t *received)
{
    struct random_source random = random_from_seed(7);
    struct bit_writer writer;
    roost_buffer reply;
    roost_reconcile *session = responder_side(cost, ROOST_RECONCILE_AUTO, keys);
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_byte(&writer, WINDOW);
    write_varint(&writer, 1);
    write_varint(&writer, 0);
    write_varint(&writer, 1);
    write_byte(&writer, MOST_FIELD_BITS);
    write_varint(&writer, sums);
    write_varint(&writer, keys);
    for (uint64_t i = 0; i < sums; i++)
        write_bits(&writer, random_next(&random) >> 32, MOST_FIELD_BITS);
    *measured = measure(cost);
    roost_status status = roost_reconcile_next(session, &reply, writer.buffer.data, writer.buffer.size);
    *received = writer.buffer.size;
    report("sums", measured, *received);
    roost_buffer_release(&reply);
    bit_writer_release(&writer);
    roost_reconcile_free(session);
    return status;
}

static void sums_have_a_bound(void **state)
{
    (void)state;
    static const uint64_t sums[] = {MOST_SUMS, MOST_SUMS + 1, 512};
    pin_sketch_force(&pin_sketch_plain); /* which is counted */
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        struct cost cost = {0};
        struct measured measured;
        uint64_t received, keys = 20000;
        roost_status status = hear_sums(&cost, keys, sums[i], &measured, &received);
        assert_int_equal(status, sums[i] <= MOST_SUMS ? ROOST_OK : ROOST_CORRUPT);
        assert_true(cost_is_fair(&measured, received, keys * sizeof(struct element)));
    }
    pin_sketch_force(NULL);
}

/* ---- messages of the exact method, forged ------------------------------------------------------------------------ */

static struct bit_writer forge_window(uint64_t cells, uint64_t first, uint64_t count, unsigned bits, uint64_t sums)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_byte(&writer, WINDOW);
    write_varint(&writer, cells);
    write_varint(&writer, first);
    write_varint(&writer, count);
    write_byte(&writer, (uint8_t)bits);
    write_varint(&writer, sums);
    write_varint(&writer, UINT64_C(1) << (bits < 20 ? bits : 20));
    return writer;
}

/* A list of `count` hashes, with the gaps of a list that is spread evenly. */
static void forge_list(struct bit_writer *writer, uint64_t count, unsigned bits)
{
    uint64_t bound = UINT64_C(1) << bits;
    write_gamma(writer, count + 1);
    for (uint64_t i = 0; i < count; i++)
        write_rice(writer, bound / count - 1, rice_parameter(bound, count));
}

static struct bit_writer forge_more(const uint64_t *reset, uint64_t reset_count, uint64_t shown, uint64_t cells,
                                    uint64_t more)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_byte(&writer, MORE);
    write_numbers(&writer, NULL, 0, shown);
    write_numbers(&writer, NULL, 0, shown);
    write_numbers(&writer, reset, reset_count, cells);
    write_varint(&writer, more);
    write_varint(&writer, 3);
    write_varint(&writer, 1 << 16);
    return writer;
}

static roost_status hear(roost_reconcile *session, struct bit_writer *writer, uint64_t *received)
{
    roost_buffer reply;
    write_alignment(writer);
    roost_status status = roost_reconcile_next(session, &reply, writer->buffer.data, writer->buffer.size);
    *received += writer->buffer.size;
    roost_buffer_release(&reply);
    bit_writer_release(writer);
    return status;
}

static uint64_t own_of(const roost_reconcile *session)
{
    roost_reconcile_result result = roost_reconcile_get_result(session);
    return result.keys * sizeof(struct element) * (1 + result.messages);
}

/* Every message has one sum more, and all that came are decoded again. */
static void sums_come_in_portions(void **state)
{
    (void)state;
    pin_sketch_force(&pin_sketch_plain);
    for (uint64_t portion = 0; portion < 4; portion++) {
        struct random_source random = random_from_seed(7);
        struct cost cost = {0};
        uint64_t received = 0, sums = 8;
        roost_reconcile *session = responder_side(&cost, ROOST_RECONCILE_AUTO, 10);
        struct bit_writer writer = forge_window(1, 0, 1, MOST_FIELD_BITS, sums);
        for (uint64_t i = 0; i < sums; i++)
            write_bits(&writer, random_next(&random) >> 32, MOST_FIELD_BITS);
        struct measured measured = measure(&cost);
        roost_status status = hear(session, &writer, &received);
        while (status == ROOST_OK && sums < MOST_SUMS) {
            uint64_t more = portion ? portion : sums / 4;
            writer = forge_more(NULL, 0, 0, 1, portion);
            write_bits(&writer, 0, 1);
            for (uint64_t i = 0; i < more; i++)
                write_bits(&writer, random_next(&random) >> 32, MOST_FIELD_BITS);
            status = hear(session, &writer, &received);
            sums += more;
        }
        measured.work_for_byte = WORK_FOR_BYTE_OF_SUMS;
        report("sums in portions", &measured, received);
        assert_int_equal(status, ROOST_CORRUPT);
        assert_true(cost_is_fair(&measured, received, own_of(session)));
        roost_reconcile_free(session);
        assert_int_equal(cost.now, 0);
    }
    pin_sketch_force(NULL);
}

/* Many cells begin again, while very many elements are reported of another. */
static void cells_that_begin_again_forget_together(void **state)
{
    (void)state;
    enum { CELLS = 30000, REPORTED = 20000, BITS = 16 };
    struct cost cost = {0};
    uint64_t received = 0, *reset = calloc(CELLS, sizeof *reset);
    roost_reconcile *session = responder_side(&cost, ROOST_RECONCILE_AUTO, 10);
    struct bit_writer writer = forge_window(CELLS, 0, CELLS, BITS, 0);
    forge_list(&writer, REPORTED, BITS);
    for (uint64_t i = 1; i < CELLS; i++) {
        forge_list(&writer, 0, BITS);
        reset[i - 1] = i;
    }
    struct measured measured = measure(&cost);
    assert_ok(hear(session, &writer, &received));
    assert_true(roost_reconcile_get_result(session).only_there > REPORTED - 10);
    writer = forge_more(reset, CELLS - 1, CELLS, CELLS, 0);
    for (uint64_t i = 1; i < CELLS; i++)
        write_bits(&writer, 3, 2); /* a list, and nothing in it */
    assert_ok(hear(session, &writer, &received));
    report("cells again", &measured, received);
    assert_true(roost_reconcile_get_result(session).only_there > REPORTED - 10);
    assert_true(cost_is_fair(&measured, received, own_of(session)));
    roost_reconcile_free(session);
    free(reset);
    assert_int_equal(cost.now, 0);
}

/* Of windows that follow each other, each of one cell, while so many elements are reported of the first. */
static uint64_t work_of_windows(uint64_t reported)
{
    enum { WINDOWS = 1000, BITS = 17 };
    struct cost cost = {0};
    uint64_t received = 0;
    roost_reconcile *session = responder_side(&cost, ROOST_RECONCILE_AUTO, 10);
    struct bit_writer writer = forge_window(WINDOWS + 1, 0, 1, BITS, 0);
    forge_list(&writer, reported, BITS);
    assert_ok(hear(session, &writer, &received));
    struct measured measured = measure(&cost);
    for (uint64_t i = 1; i <= WINDOWS; i++) {
        writer = forge_window(WINDOWS + 1, i, 1, BITS, 0);
        forge_list(&writer, 0, BITS);
        assert_ok(hear(session, &writer, &received));
    }
    report("windows", &measured, received);
    roost_reconcile_free(session);
    return measured_work(&measured);
}

static void windows_leave_what_was_reported_before(void **state)
{
    (void)state;
    assert_true(work_of_windows(100000) <= 2 * work_of_windows(10));
}

/* Very many elements are reported of one cell, and very many of ours in it are only here: which have the same key? */
static void counts_are_looked_up(void **state)
{
    (void)state;
    enum { KEYS = 20000, BITS = 28 };
    struct cost cost = {0};
    uint64_t received = 0;
    roost_reconcile *session = responder_to(&cost, (roost_reconcile_config){.multiset = true}, KEYS);
    struct bit_writer writer = forge_window(1, 0, 1, BITS, 0);
    forge_list(&writer, KEYS, BITS);
    struct measured measured = measure(&cost);
    assert_ok(hear(session, &writer, &received));
    uint64_t reported = roost_reconcile_get_result(session).only_there;
    assert_true(reported > KEYS / 2);
    for (int again = 0; again < 2; again++) {
        bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
        write_byte(&writer, COUNTS);
        write_byte(&writer, 1);
        for (uint64_t i = 0; i < reported; i++)
            write_bits(&writer, i & 1 ? 3 : 2, 2); /* the hash of the key, and the count one */
        roost_status status = hear(session, &writer, &received);
        report("counts", &measured, received);
        assert_int_equal(status, again ? ROOST_CORRUPT : ROOST_OK);
    }
    assert_true(cost_is_fair(&measured, received, own_of(session)));
    roost_reconcile_free(session);
    assert_int_equal(cost.now, 0);
}

/* Whatever the method, a session with a memory limit stays within it, and says so when that does not do. */
static void sessions_keep_to_their_memory_limit(void **state)
{
    (void)state;
    for (int method = ROOST_RECONCILE_AUTO; method <= ROOST_RECONCILE_CCF_DECODE; method++)
        for (uint64_t limit = 4096; limit < 1 << 20; limit *= 2) {
            struct cost cost = {0};
            uint64_t drawn = 1, keys = 1000;
            roost_environment environment = {
                .allocator = cost_allocator(&cost), .memory_limit = limit, .entropy = {&drawn, draw_next}};
            roost_reconcile_config config = {.method = (roost_reconcile_method)method};
            roost_reconcile *initiator, *responder = NULL;
            roost_buffer request = {0}, reply = {0};
            roost_status status = roost_reconcile_new_initiator(&initiator, &config, &environment), other = ROOST_OK;
            for (uint64_t key = 0; status == ROOST_OK && key < keys; key++)
                status = roost_reconcile_add(initiator, &key, sizeof key, 1);
            uint64_t messages = 0;
            while (status == ROOST_OK && other == ROOST_OK) {
                status = roost_reconcile_next(initiator, &request, reply.data, reply.size);
                roost_buffer_release(&reply);
                if (status != ROOST_OK || request.size == 0)
                    break;
                if (!responder)
                    assert_ok(roost_reconcile_new_responder(&responder, request.data, request.size, NULL));
                for (uint64_t key = keys / 2; messages == 0 && key < keys + keys / 2; key++)
                    assert_ok(roost_reconcile_add(responder, &key, sizeof key, 1));
                other = roost_reconcile_next(responder, &reply, request.data, request.size);
                messages = messages > request.size ? messages : request.size;
                roost_buffer_release(&request);
                if (reply.size == 0)
                    break;
            }
            if (status != ROOST_OK && status != ROOST_TOO_LARGE)
                print_message("method %d, limit %llu: %s\n", method, (unsigned long long)limit,
                              roost_status_text(status));
            assert_true(status == ROOST_OK || status == ROOST_TOO_LARGE);
            if (status == ROOST_OK)
                assert_true(limit > keys * sizeof(struct element));
            /* and the session itself, a message, and the headers of blocks */
            assert_true(cost.most <= limit + 4096 + 3 * messages + limit / 8);
            roost_buffer_release(&request);
            roost_buffer_release(&reply);
            roost_reconcile_free(initiator);
            roost_reconcile_free(responder);
            assert_int_equal(cost.now, 0);
        }
}

/* ---- sync ------------------------------------------------------------------------------------------------------- */

static roost_config config_of(int number, uint64_t capacity)
{
    roost_config config = roost_config_default();
    config.capacity = capacity;
    config.kind = number % 4 < 2 ? ROOST_BLOOM : number % 4 == 2 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
    config.layout = number % 4 == 1 ? ROOST_CLASSIC : ROOST_BLOCKED;
    config.scalable = number >= 4;
    return config;
}
#define CONFIGS 8

/* Positions that are no bits are listed for a comparison, with a sum for each. */
static uint64_t own_bytes(const roost_filter *filter)
{
    roost_info info;
    roost_filter_get_info(filter, &info);
    return info.bytes_memory + (filter->config->kind == ROOST_BLOOM ? 0 : 8 * info.entries);
}

/* LEAVES about every range of that width, which say that all positions are taken, or none. */
static roost_buffer forge_leaves(roost_filter *filter, unsigned shift, bool full)
{
    struct summary summary;
    struct bit_writer writer;
    struct causal_context own = {0}, *space = tracks_dots(filter) ? &own : NULL;
    roost_buffer message;
    if (space)
        assert_ok(filter->kind->causal.context(filter, &own));
    assert_ok(filter->kind->sync.summarize(filter, &summary, space));
    uint64_t universe = summary.universe, count = (universe >> shift) + 1;
    summary_release(&summary, &filter->environment.allocator);
    count = count < 12000 ? count : 12000;
    struct ranges ranges = {shift, calloc(count, sizeof *ranges.numbers), count};
    for (uint64_t i = 0; i < count; i++)
        ranges.numbers[i] = i;
    message_begin(&writer, filter, LEAVES);
    write_varint(&writer, filter->journal->next);
    write_varint(&writer, filter->journal->next);
    write_half(&writer, space_hash(space, filter->journal->incarnation));
    if (filter->kind->sync.extent)
        write_varint(&writer, universe);
    write_ranges(&writer, &ranges, universe);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t width = range_to(&ranges, i, universe) - range_from(&ranges, i);
        write_varint(&writer, full && width <= MOST_LEAF ? width : 0);
    }
    if (filter->kind->sync.write_extra)
        filter->kind->sync.write_extra(filter, &writer);
    assert_ok(message_end(&writer, filter, &message, ROOST_OK));
    causal_release(&own, &filter->environment.allocator);
    free(ranges.numbers);
    return message;
}

/* A filter with some keys and a journal. */
static roost_filter *filled(int number, struct cost *cost)
{
    bool bloom = number % 4 < 2;
    roost_config config = config_of(number, bloom ? 1000000 : 50000);
    roost_environment environment = {.allocator = cost_allocator(cost)};
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    for (uint64_t key = 0; key < (bloom ? 100000 : 30000); key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    return filter;
}

static void answer_leaves(roost_filter *filter, struct cost *cost, unsigned shift, bool full)
{
    roost_buffer reply, message = forge_leaves(filter, shift, full);
    uint64_t own = own_bytes(filter), size = message.size;
    struct measured measured = measure(cost);
    roost_status status = roost_sync_reply(filter, &reply, NULL, message.data, message.size);
    if (full && shift == 16)
        report(filter->config->scalable ? "leaves, growing" : "leaves", &measured, size);
    assert_ok(status);
    assert_true(cost_is_fair(&measured, size, own));
    assert_true(measured_memory(&measured) <= (4 << 20) + 256 * size + 4 * own);
    assert_true(reply.size <= own + 8 * size + (1 << 18));
    assert_ok(roost_filter_check(filter));
    roost_buffer_release(&reply);
    roost_buffer_release(&message);
}

static void leaves_follow_the_own_filter(void **state)
{
    (void)state;
    static const unsigned shifts[] = {6, 12, 16, 30, 56};
    for (int number = 0; number < CONFIGS; number++) {
        struct cost cost = {0};
        roost_filter *filter = filled(number, &cost), *victim;
        for (size_t i = 0; i < COUNT_OF(shifts) * 2; i++) {
            assert_ok(roost_filter_clone(filter, &victim));
            assert_ok(begin_journal(victim));
            answer_leaves(victim, &cost, shifts[i / 2], i % 2);
            roost_filter_free(victim);
        }
        roost_filter_free(filter);
        assert_int_equal(cost.now, 0);
    }
}

/* ---- frames of filters that grow -------------------------------------------------------------------------------- */

/* A frame with one element in table `index` and nothing before it. */
static bool forge_late_table(roost_buffer *frame, const roost_config *config, uint32_t index)
{
    struct bit_writer body;
    roost_filter *filter, *table;
    bool grew;
    size_t done;
    roost_hash hash = hash_for_key(1);
    if (config->kind == ROOST_CUCKOO) /* it has no series of tables */
        return false;
    assert_ok(old_series_new(&filter, config, NULL));
    struct series *series = as_series(filter);
    roost_status status = series_table(series, index, &table);
    if (status == ROOST_OK) {
        bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
        assert_ok(series->table_kind->set.add(table, &grew, &done, &hash, 1));
        write_configuration(filter, &body);
        write_varint(&body, index + 1);
        for (uint32_t i = 0; i < index; i++)
            write_byte(&body, 0);
        write_byte(&body, 1);
        assert_ok(series->table_kind->encoding.write_state(table, &body));
        if (config->kind == ROOST_BLOOM)
            write_varint(&body, 0);
        *frame = forge_frame(body.buffer.data, body.buffer.size, 1);
        bit_writer_release(&body);
    }
    roost_filter_free(filter);
    return status == ROOST_OK;
}

/* A table is as large as its number says, and that number is the stranger's: what holds is the memory limit. */
static void late_tables_keep_to_the_memory_limit(void **state)
{
    (void)state;
    enum { LIMIT = 4 << 20 };
    int refused = 0, taken = 0;
    for (int number = 4; number < CONFIGS; number++)
        for (uint32_t index = 0; index < 12; index++) {
            struct cost cost = {0};
            roost_config config = config_of(number, 1000);
            roost_environment environment = {.allocator = cost_allocator(&cost), .memory_limit = LIMIT};
            roost_filter *filter, *own;
            roost_buffer frame;
            if (!forge_late_table(&frame, &config, index))
                continue;
            roost_status status = roost_filter_decode(&filter, frame.data, frame.size, &environment);
            assert_true(status == ROOST_OK || status == ROOST_TOO_LARGE);
            assert_true(cost.most <= LIMIT + 4096);
            refused += status != ROOST_OK;
            taken += status == ROOST_OK;
            roost_filter_free(filter);
            assert_ok(old_series_new(&own, &config, &environment));
            assert_int_equal(roost_filter_merge_frame(own, NULL, frame.data, frame.size), status);
            assert_true(cost.most <= 2 * LIMIT + 8192); /* what was decoded, and what it is merged into */
            assert_ok(roost_filter_check(own));
            roost_filter_free(own);
            roost_buffer_release(&frame);
            assert_int_equal(cost.now, 0);
        }
    print_message("%d refused, %d taken\n", refused, taken);
    assert_true(refused > 4 && taken > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_follow_the_own_set),
        cmocka_unit_test(sums_have_a_bound),
        cmocka_unit_test(sums_come_in_portions),
        cmocka_unit_test(cells_that_begin_again_forget_together),
        cmocka_unit_test(windows_leave_what_was_reported_before),
        cmocka_unit_test(counts_are_looked_up),
        cmocka_unit_test(sessions_keep_to_their_memory_limit),
        cmocka_unit_test(leaves_follow_the_own_filter),
        cmocka_unit_test(late_tables_keep_to_the_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
