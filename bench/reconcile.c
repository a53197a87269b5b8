/*
 * Reconciling two sets of a million keys, by the size of the difference: bytes of all messages, and the time that both
 * sides spend between the first message and the last, what is added before the first included.
 */
#include "parts.h"

#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Half of the difference is on each side; in a multiset all keys are on both, and that many have another count. */
static void add_keys(roost_reconcile *session, uint64_t base, uint64_t keys, uint64_t difference, bool there)
{
    bool multiset = roost_reconcile_get_config(session)->multiset;
    uint64_t from = base + (there && !multiset ? difference / 2 : 0);
    for (uint64_t key = from; key < from + keys; key++)
        must(roost_reconcile_add_hash(session, hash_of(key), 1 + (there && multiset && key - base < difference)),
             "add");
}

static double time_session(const roost_reconcile_config *config, uint64_t base, uint64_t keys, uint64_t difference,
                           roost_reconcile_result *result)
{
    roost_reconcile *asking, *answering;
    roost_buffer request, reply = {0};
    double begin = cpu_seconds();
    must(roost_reconcile_new_initiator(&asking, config, NULL), "reconcile");
    add_keys(asking, base, keys, difference, false);
    must(roost_reconcile_next(asking, &request, NULL, 0), "reconcile");
    must(roost_reconcile_new_responder(&answering, request.data, request.size, NULL), "reconcile");
    add_keys(answering, base, keys, difference, true);
    while (request.size > 0) {
        must(roost_reconcile_next(answering, &reply, request.data, request.size), "reconcile");
        roost_buffer_release(&request);
        if (reply.size > 0)
            must(roost_reconcile_next(asking, &request, reply.data, reply.size), "reconcile");
        roost_buffer_release(&reply);
    }
    double spent = cpu_seconds() - begin;
    *result = roost_reconcile_get_result(asking);
    uint64_t expected = config->multiset ? difference : difference / 2;
    if (!roost_reconcile_is_done(asking) || !roost_reconcile_is_done(answering) || result->only_here != expected ||
        result->only_there != expected)
        must(ROOST_CORRUPT, "the difference is another");
    roost_reconcile_free(asking);
    roost_reconcile_free(answering);
    return spent;
}

void bench_reconcile(const char *name, const roost_reconcile_config *config, uint64_t keys, uint64_t difference)
{
    double times[MOST_ROUNDS], bytes[MOST_ROUNDS], messages[MOST_ROUNDS];
    for (int round = 0; round < rounds; round++) {
        roost_reconcile_result result;
        double spent = time_session(config, (uint64_t)round << 40, keys, difference, &result);
        times[round] = spent / (double)(2 * keys) * 1e9;
        bytes[round] = (double)(result.sent + result.received);
        messages[round] = result.messages;
    }
    report_plain(name, difference, "bytes both ways", median(bytes, rounds), "B");
    report_plain(name, difference, "messages", median(messages, rounds), "messages");
    report_times(name, difference, "cpu an element of a side", times, 0);
}
