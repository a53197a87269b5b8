/* What two multisets tell about each other: differences that are found, and the two rounds of messages. */
#include "multisets.h"
#include "streams.h"

#include "base/hash.h"
#include "reconcile/multiset_exchange.h"

/* ---- differences ------------------------------------------------------------------------------------------------- */

enum { HOST_KEYS = 900 };

/* A host has a key or not, and some copies; the other host has another, related selection. */
static uint64_t copies_at(int host, uint64_t key, uint64_t seed)
{
    roost_hash luck = hash_for_key(seed * 1000003 + key);
    uint64_t common = 1 + luck.low % 9;
    if (key % 5 == 0)
        return (luck.high >> host & 1) ? common : 0;
    return key % 7 == 0 ? 1 + (luck.high >> (8 * host) & 15) : common;
}

struct host {
    roost_multiset *multiset;
    roost_copies elements[HOST_KEYS];
    uint64_t keys[HOST_KEYS];
    roost_finding findings[HOST_KEYS];
    size_t count;
};

static void host_open(struct host *host, int which, const roost_multiset_config *config, uint64_t seed)
{
    host->multiset = new_multiset(config, seed + (uint64_t)which);
    host->count = 0;
    for (uint64_t key = 0; key < HOST_KEYS; key++) {
        uint64_t copies = copies_at(which, key, seed);
        if (copies == 0)
            continue;
        host->elements[host->count] = (roost_copies){hash_for_key(seed << 32 | key), copies};
        host->keys[host->count] = key;
        assert_ok(roost_multiset_add_hash(host->multiset, NULL, host->elements[host->count].hash, copies));
        host->count++;
    }
}

/* How many findings of a host are not what is true; those of elements that share nothing must all be. */
static unsigned wrong_findings(const struct host *host, int which, const struct host *other, uint64_t seed, bool exact)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < host->count; i++) {
        uint64_t here = host->elements[i].count, there = copies_at(!which, host->keys[i], seed);
        uint64_t counted_here = roost_multiset_count_hash(host->multiset, host->elements[i].hash);
        uint64_t counted_there = roost_multiset_count_hash(other->multiset, host->elements[i].hash);
        roost_finding truth = {there == 0, there > here ? there - here : 0};
        bool right =
            host->findings[i].missing_there == truth.missing_there && host->findings[i].fewer_here == truth.fewer_here;
        if (exact || (counted_here == here && counted_there == there))
            assert_true(right);
        wrong += !right;
    }
    return wrong;
}

static void differences_are_found(void **state)
{
    (void)state;
    unsigned wrong[3] = {0};
    struct host *hosts = calloc(2, sizeof *hosts);
    for (uint64_t seed = 0; seed < 30; seed++)
        for (int method = ROOST_BY_QUERY; method <= ROOST_BY_DECODING; method++) {
            bool exact = seed % 3 == 0; /* fingerprints so long that nothing collides */
            roost_multiset_config config = ccf_config(exact ? 32 : 6 + seed % 4, 4, HOST_KEYS);
            for (int i = 0; i < 2; i++)
                host_open(&hosts[i], i, &config, seed);
            for (int i = 0; i < 2; i++) {
                assert_ok(roost_multiset_identify(hosts[i].multiset, hosts[i].findings, hosts[!i].multiset,
                                                  hosts[i].elements, hosts[i].count, method));
                wrong[method] += wrong_findings(&hosts[i], i, &hosts[!i], seed, exact);
            }
            for (int i = 0; i < 2; i++)
                roost_multiset_free(hosts[i].multiset);
        }
    free(hosts);
    printf("by query %u wrong (most of them sent in vain), by decoding %u\n", wrong[ROOST_BY_QUERY],
           wrong[ROOST_BY_DECODING]);
    assert_true(wrong[ROOST_BY_QUERY] > 0 && wrong[ROOST_BY_DECODING] > 0);
}

/* Two hosts that hold the same find nothing, however many elements share a class; Algorithm 4 as printed would. */
static void equal_hosts_find_nothing(void **state)
{
    (void)state;
    roost_multiset_config config = ccf_config(4, 4, HOST_KEYS);
    struct host *hosts = calloc(2, sizeof *hosts);
    for (int i = 0; i < 2; i++)
        host_open(&hosts[i], 0, &config, 5);
    unsigned shared = 0;
    for (int method = ROOST_BY_QUERY; method <= ROOST_BY_DECODING; method++) {
        assert_ok(roost_multiset_identify(hosts[0].multiset, hosts[0].findings, hosts[1].multiset, hosts[0].elements,
                                          hosts[0].count, method));
        for (size_t i = 0; i < hosts[0].count; i++) {
            assert_false(hosts[0].findings[i].missing_there || hosts[0].findings[i].fewer_here);
            shared +=
                roost_multiset_count_hash(hosts[1].multiset, hosts[0].elements[i].hash) != hosts[0].elements[i].count;
        }
    }
    assert_true(shared > 100);
    for (int i = 0; i < 2; i++)
        roost_multiset_free(hosts[i].multiset);
    free(hosts);
}

static void differences_of_bloom_filters_are_found(void **state)
{
    (void)state;
    struct host *hosts = calloc(2, sizeof *hosts);
    roost_multiset_config config = cbf_config(1 << 22, 2, 12, HOST_KEYS); /* so many cells that none is shared */
    for (int i = 0; i < 2; i++)
        host_open(&hosts[i], i, &config, 3);
    for (int method = ROOST_BY_QUERY; method <= ROOST_BY_DECODING; method++)
        for (int i = 0; i < 2; i++) {
            assert_ok(roost_multiset_identify(hosts[i].multiset, hosts[i].findings, hosts[!i].multiset,
                                              hosts[i].elements, hosts[i].count, method));
            for (size_t j = 0; j < hosts[i].count; j++) {
                uint64_t here = hosts[i].elements[j].count, there = copies_at(!i, hosts[i].keys[j], 3);
                assert_int_equal(hosts[i].findings[j].fewer_here, there > here ? there - here : 0);
                assert_int_equal(hosts[i].findings[j].missing_there,
                                 method == ROOST_BY_QUERY ? there == 0 : there < here);
            }
        }
    assert_int_equal(roost_multiset_identify(hosts[0].multiset, hosts[0].findings, hosts[1].multiset, NULL, 0, 3),
                     ROOST_INVALID);
    for (int i = 0; i < 2; i++)
        roost_multiset_free(hosts[i].multiset);
    free(hosts);
}

/* ---- two rounds of messages -------------------------------------------------------------------------------------- */

struct party {
    char names[HOST_KEYS][16];
    struct multiset_member members[HOST_KEYS];
    size_t count;
    uint64_t copies[HOST_KEYS]; /* by key: what there is in the end */
};

static void party_open(struct party *party, int which, uint64_t seed)
{
    party->count = 0;
    for (uint64_t key = 0; key < HOST_KEYS; key++) {
        int length = snprintf(party->names[key], sizeof party->names[key], "line %llu", (unsigned long long)key);
        party->copies[key] = copies_at(which, key, seed);
        if (party->copies[key])
            party->members[party->count++] =
                (struct multiset_member){{party->names[key], (size_t)length}, party->copies[key]};
    }
}

static void take_copies(void *context, roost_bytes element, uint64_t count)
{
    struct party *party = context;
    char text[16] = {0};
    assert_true(element.size < sizeof text);
    memcpy(text, element.data, element.size);
    uint64_t key = strtoull(text + 5, NULL, 10);
    assert_true(key < HOST_KEYS);
    if (count > party->copies[key])
        party->copies[key] = count;
}

static bool has_union(const struct party *party, uint64_t seed)
{
    for (uint64_t key = 0; key < HOST_KEYS; key++) {
        uint64_t a = copies_at(0, key, seed), b = copies_at(1, key, seed);
        if (party->copies[key] != (a > b ? a : b))
            return false;
    }
    return true;
}

/* One side of the two rounds over a stream; whether it has the union then. The first speaks first. */
static bool run_side(int stream, int which, uint64_t seed, roost_identification method)
{
    struct party *party = calloc(1, sizeof *party);
    struct multiset_exchange *exchange = NULL;
    roost_multiset_config config = ccf_config(32, 4, HOST_KEYS);
    roost_buffer offer = {0}, elements = {0};
    uint8_t *theirs = NULL, *sent = NULL;
    size_t size;
    party_open(party, which, seed);
    bool fine = multiset_exchange_open(&exchange, &config, party->members, party->count, method, NULL) == ROOST_OK &&
                multiset_exchange_offer(exchange, &offer) == ROOST_OK;
    fine = fine && (which || send_all(stream, offer.data, offer.size)) && (theirs = receive_message(stream, &size));
    fine = fine && (!which || send_all(stream, offer.data, offer.size)) &&
           multiset_exchange_identify(exchange, &elements, take_copies, party, theirs, size) == ROOST_OK;
    fine = fine && (which || send_all(stream, elements.data, elements.size)) && (sent = receive_message(stream, &size));
    fine = fine && (!which || send_all(stream, elements.data, elements.size)) &&
           multiset_exchange_finish(exchange, take_copies, party, sent, size) == ROOST_OK && has_union(party, seed);
    multiset_exchange_close(exchange);
    roost_buffer_release(&offer);
    roost_buffer_release(&elements);
    free(theirs);
    free(sent);
    free(party);
    return fine;
}

struct exchange_plan {
    uint64_t seed;
    roost_identification method;
};

static bool run_planned(void *context, int stream, int which)
{
    const struct exchange_plan *plan = context;
    return run_side(stream, which, plan->seed, plan->method);
}

static void two_processes_get_the_union(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct exchange_plan plan = {seed, seed % 2 ? ROOST_BY_QUERY : ROOST_BY_DECODING};
        assert_true(run_in_two_processes(run_planned, &plan));
    }
}

struct duet {
    struct party parties[2];
    struct multiset_exchange *exchanges[2];
    roost_buffer offers[2], elements[2];
};

static struct duet *duet_open(uint64_t seed, const roost_environment *environment)
{
    struct duet *duet = calloc(1, sizeof *duet);
    roost_multiset_config config = ccf_config(12, 4, HOST_KEYS);
    for (int i = 0; i < 2; i++) {
        struct party *party = &duet->parties[i];
        party_open(party, i, seed);
        assert_ok(multiset_exchange_open(&duet->exchanges[i], &config, party->members, party->count, ROOST_BY_QUERY,
                                         i ? environment : NULL));
        assert_ok(multiset_exchange_offer(duet->exchanges[i], &duet->offers[i]));
    }
    return duet;
}

static void duet_close(struct duet *duet)
{
    for (int i = 0; i < 2; i++) {
        multiset_exchange_close(duet->exchanges[i]);
        roost_buffer_release(&duet->offers[i]);
        roost_buffer_release(&duet->elements[i]);
    }
    free(duet);
}

static void count_call(void *context, roost_bytes element, uint64_t count)
{
    (void)element;
    ++*(unsigned *)context;
    assert_true(count > 0 && count <= ROOST_MOST_COPIES);
}

static void hostile_rounds_are_refused(void **state)
{
    (void)state;
    struct duet *duet = duet_open(4, NULL);
    struct multiset_exchange *here = duet->exchanges[0], *there = duet->exchanges[1];
    roost_buffer offer = duet->offers[1], message;
    unsigned calls = 0;
    assert_int_equal(multiset_exchange_finish(here, count_call, &calls, offer.data, offer.size), ROOST_INVALID);
    for (size_t size = 0; size < offer.size; size += 1 + size / 40) {
        assert_int_not_equal(multiset_exchange_identify(here, &message, count_call, &calls, offer.data, size),
                             ROOST_OK);
        assert_int_equal(message.size, 0);
    }
    roost_multiset_config other = ccf_config(13, 4, HOST_KEYS);
    roost_multiset *stranger = new_multiset(&other, 1);
    roost_buffer strange = frame_of(stranger);
    assert_int_equal(multiset_exchange_identify(here, &message, count_call, &calls, strange.data, strange.size),
                     ROOST_MISMATCH);
    assert_int_equal(calls, 0);
    roost_buffer_release(&strange);
    roost_multiset_free(stranger);
    /* after all that it still works, once */
    assert_ok(multiset_exchange_identify(here, &duet->elements[0], count_call, &calls, offer.data, offer.size));
    assert_true(calls > 10);
    assert_int_equal(multiset_exchange_identify(here, &message, count_call, &calls, offer.data, offer.size),
                     ROOST_INVALID);
    assert_ok(multiset_exchange_identify(there, &duet->elements[1], count_call, &calls, duet->offers[0].data,
                                         duet->offers[0].size));
    roost_buffer second = duet->elements[1];
    uint64_t key = load_word(offer.data + offer.size - 8) ^ load_word(duet->offers[0].data + duet->offers[0].size - 8);
    uint8_t *forged = malloc(second.size);
    unsigned accepted = 0, refused = 0;
    calls = 0;
    for (size_t size = 0; size < second.size; size++) /* each cut, as it is and with a checksum that is right */
        for (int repaired = 0; repaired < 2 && (size >= 8 || !repaired); repaired++) {
            memcpy(forged, second.data, size);
            if (repaired)
                store_word(forged + size - 8, hash_bytes(key, forged, size - 8).low);
            assert_int_equal(multiset_exchange_finish(here, count_call, &calls, forged, size), ROOST_CORRUPT);
        }
    assert_int_equal(calls, 0);
    for (size_t bit = 0; bit < second.size * 8 - 64; bit++) {
        memcpy(forged, second.data, second.size);
        forged[bit / 8] ^= (uint8_t)(1 << (bit & 7));
        assert_int_equal(multiset_exchange_finish(here, count_call, &calls, forged, second.size), ROOST_CORRUPT);
        store_word(forged + second.size - 8, hash_bytes(key, forged, second.size - 8).low);
        unsigned before = calls;
        if (multiset_exchange_finish(here, count_call, &calls, forged, second.size) == ROOST_OK) {
            accepted++;
        } else {
            refused++;
            assert_int_equal(calls, before);
        }
    }
    assert_true(accepted > 100 && refused > 100);
    assert_ok(multiset_exchange_finish(here, take_copies, &duet->parties[0], second.data, second.size));
    free(forged);
    duet_close(duet);
}

static void an_exchange_survives_failures(void **state)
{
    (void)state;
    struct meter meter = {.allowed = -1};
    roost_environment environment = {.allocator = {&meter, metered_allocate, metered_release}};
    struct duet *duet = duet_open(6, &environment);
    roost_multiset_config config = ccf_config(12, 4, HOST_KEYS);
    struct multiset_exchange *exchange;
    roost_status status = ROOST_NO_MEMORY;
    for (int64_t allowed = 0; status != ROOST_OK; allowed++) {
        int64_t outstanding = meter.outstanding;
        meter.allowed = allowed;
        status = multiset_exchange_open(&exchange, &config, duet->parties[1].members, duet->parties[1].count,
                                        ROOST_BY_DECODING, &environment);
        meter.allowed = -1;
        assert_int_equal(exchange == NULL, status != ROOST_OK);
        multiset_exchange_close(exchange);
        assert_int_equal(meter.outstanding, outstanding);
    }
    status = ROOST_NO_MEMORY;
    for (int64_t allowed = 0; status != ROOST_OK; allowed++) {
        unsigned calls = 0;
        meter.allowed = allowed;
        status = multiset_exchange_identify(duet->exchanges[1], &duet->elements[1], count_call, &calls,
                                            duet->offers[0].data, duet->offers[0].size);
        meter.allowed = -1;
        assert_int_equal(calls > 0, status == ROOST_OK);
    }
    assert_true(meter.failures > 8);
    duet_close(duet);
    assert_int_equal(meter.outstanding, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test(equal_hosts_find_nothing),
        cmocka_unit_test(differences_of_bloom_filters_are_found),
        cmocka_unit_test(two_processes_get_the_union),
        cmocka_unit_test(hostile_rounds_are_refused),
        cmocka_unit_test(an_exchange_survives_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
