/*
 * Distributed Bloom filters and the gossip over them: mappings that hide no pair of elements for ever, sets that reach
 * equality in one process and in two, hostile messages, failing allocations.
 */
#include "meter.h"
#include "streams.h"

#include <math.h>

#include "base/hash.h"
#include "gossip/distributed_bloom.h"
#include "gossip/gossip_set.h"

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

/* The paper's: XOR, then modulo. */
static uint64_t bit_as_printed(roost_hash hash, uint64_t seed, uint64_t bits)
{
    uint8_t number[8] = {0};
    return (hash.low ^ hash_bytes(seed, number, sizeof number).low) % bits;
}

/* With m a power of two, elements that agree in their low bits collide under every seed of the paper's mapping, and
   under one in m of ours. */
static void no_pair_collides_under_every_seed(void **state)
{
    (void)state;
    enum { BITS = 2048, SEEDS = 20000, PAIRS = 40 };
    uint64_t printed = 0, ours = 0;
    for (uint64_t pair = 0; pair < PAIRS; pair++) {
        roost_hash x = hash_for_key(pair), y = {x.low ^ (UINT64_C(1) << (11 + pair)), x.high};
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct bloom_mapping mapping;
            bloom_mapping_init(&mapping, BITS, 1, pair_seed(pair, seed, 0));
            ours += bloom_mapping_bit(&mapping, x, 0) == bloom_mapping_bit(&mapping, y, 0);
            printed += bit_as_printed(x, seed, BITS) == bit_as_printed(y, seed, BITS);
        }
    }
    double expected = (double)PAIRS * SEEDS / BITS;
    printf("as printed %llu of %d, ours %llu, %.1f due\n", (unsigned long long)printed, PAIRS * SEEDS,
           (unsigned long long)ours, expected);
    assert_int_equal(printed, PAIRS * SEEDS);
    assert_true(fabs((double)ours - expected) < 5 * sqrt(expected));
}

/* The same for pairs that are alike in other ways, and for sizes that are no power of two. */
static void similar_elements_collide_by_chance_alone(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1024, 1443, 1000, 4096, 8191};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (unsigned way = 0; way < 4; way++) {
            uint64_t collisions = 0, trials = 40000;
            for (uint64_t seed = 0; seed < trials; seed++) {
                roost_hash x = hash_for_key(seed % 64), y = x;
                y.low ^= way == 0 ? UINT64_C(1) << (seed % 64) : way == 1 ? 0 : sizes[i];
                y.high ^= way == 1 ? UINT64_C(1) << (seed % 64) : way == 2 ? sizes[i] : 0;
                struct bloom_mapping mapping;
                bloom_mapping_init(&mapping, sizes[i], 1, pair_seed(3, 4, seed));
                collisions += bloom_mapping_bit(&mapping, x, 0) == bloom_mapping_bit(&mapping, y, 0);
            }
            double expected = (double)trials / (double)sizes[i];
            assert_true(fabs((double)collisions - expected) < 5 * sqrt(expected) + 3);
        }
}

/* A set whose elements agree in all low bits: with the paper's mapping they are one bit for ever. */
static void elements_alike_in_low_bits_reconcile(void **state)
{
    (void)state;
    enum { COUNT = 200, BITS = 512 };
    roost_hash hashes[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        hashes[i] = (roost_hash){i << 32 | 77, 0};
    bool found[COUNT] = {false}, found_as_printed[COUNT] = {false};
    unsigned seen = 0, seen_as_printed = 0;
    for (uint64_t round = 0; round < 60; round++) { /* the first half of them is here, the rest is to be found */
        uint8_t array[BITS / 8] = {0}, printed[BITS] = {0};
        struct bloom_mapping mapping;
        bloom_mapping_init(&mapping, BITS, 1, pair_seed(1, 2, round));
        distributed_bloom_add(&mapping, array, hashes, COUNT / 2);
        for (unsigned i = 0; i < COUNT / 2; i++)
            printed[bit_as_printed(hashes[i], round, BITS)] = 1;
        for (unsigned i = COUNT / 2; i < COUNT; i++) {
            found[i] |= !distributed_bloom_contains(&mapping, array, hashes[i]);
            found_as_printed[i] |= !printed[bit_as_printed(hashes[i], round, BITS)];
        }
    }
    for (unsigned i = 0; i < COUNT; i++) {
        seen += found[i];
        seen_as_printed += found_as_printed[i];
    }
    assert_int_equal(seen, COUNT / 2);
    assert_int_equal(seen_as_printed, 0);
}

static void sizes_keep_the_rate(void **state)
{
    (void)state;
    static const double rates[] = {0.5, 0.25, 0.1, 0.01};
    uint64_t bits;
    uint32_t probes;
    bloom_mapping_size(&bits, &probes, 0.5, 1000);
    assert_int_equal(bits, 1443);
    assert_int_equal(probes, 1);
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        struct bloom_mapping mapping;
        bloom_mapping_size(&bits, &probes, rates[i], 5000);
        bloom_mapping_init(&mapping, bits, probes, 9);
        uint8_t *array = calloc(1, bloom_mapping_bytes(&mapping));
        for (uint64_t key = 0; key < 5000; key++)
            distributed_bloom_add(&mapping, array, &(roost_hash){hash_for_key(key).low, hash_for_key(key).high}, 1);
        unsigned wrong = 0;
        for (uint64_t key = 0; key < 5000; key++)
            assert_true(distributed_bloom_contains(&mapping, array, hash_for_key(key)));
        for (uint64_t key = 10000; key < 60000; key++)
            wrong += distributed_bloom_contains(&mapping, array, hash_for_key(key));
        assert_true(wrong / 50000.0 < rates[i] * 1.1 && wrong / 50000.0 > rates[i] * 0.85);
        free(array);
    }
    bloom_mapping_size(&bits, &probes, 0.5, UINT64_MAX); /* no overflow */
    assert_true(bits >= UINT64_C(1) << 60);
}

static void seeds_belong_to_pairs(void **state)
{
    (void)state;
    assert_int_equal(pair_seed(5, 9, 1), pair_seed(9, 5, 1));
    assert_int_not_equal(pair_seed(5, 9, 1), pair_seed(5, 9, 2));
    assert_int_not_equal(pair_seed(5, 9, 1), pair_seed(5, 8, 1));
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static roost_bytes text_of(uint64_t key, char text[32])
{
    return (roost_bytes){text, (size_t)snprintf(text, 32, "element %llu", (unsigned long long)key)};
}

static roost_gossip *new_gossip(uint64_t id, roost_mapping mapping, uint64_t expected)
{
    roost_gossip *gossip;
    roost_gossip_config config = roost_gossip_config_default();
    config.id = id;
    config.mapping = mapping;
    config.expected = expected;
    assert_ok(roost_gossip_new(&gossip, &config, NULL));
    return gossip;
}

static void give(roost_gossip *gossip, uint64_t key)
{
    char text[32];
    roost_bytes element = text_of(key, text);
    assert_ok(roost_gossip_add(gossip, NULL, element.data, element.size));
}

static bool has(const roost_gossip *gossip, uint64_t key)
{
    char text[32];
    roost_bytes element = text_of(key, text);
    return roost_gossip_contains(gossip, element.data, element.size);
}

static void sets_follow_the_model(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(1));
    roost_gossip *gossip = new_gossip(1, ROOST_PAIR_MAPPING, 0);
    bool there[3000] = {false};
    uint64_t count = 0;
    for (unsigned step = 0; step < 6000; step++) {
        uint64_t key = random_choice(&random, COUNT_OF(there));
        char text[32];
        roost_bytes element = text_of(key, text);
        bool changed;
        assert_ok(roost_gossip_add(gossip, &changed, element.data, element.size));
        assert_int_equal(changed, !there[key]);
        there[key] = true;
        count += changed;
        assert_int_equal(roost_gossip_get_cardinality(gossip), count);
    }
    for (uint64_t key = 0; key < COUNT_OF(there); key++)
        assert_int_equal(has(gossip, key), there[key]);
    for (uint64_t i = 0; i < count; i++) {
        roost_bytes element = roost_gossip_get_element(gossip, i);
        assert_true(roost_gossip_contains(gossip, element.data, element.size));
    }
    assert_true(count > 2000 && count < 3000);
    roost_gossip_free(gossip);
}

static void any_bytes_are_an_element(void **state)
{
    (void)state;
    roost_gossip *gossip = new_gossip(1, ROOST_PAIR_MAPPING, 0);
    bool changed;
    assert_false(roost_gossip_contains(gossip, "", 0));
    assert_ok(roost_gossip_add(gossip, &changed, NULL, 0));
    assert_true(changed);
    assert_ok(roost_gossip_add(gossip, &changed, "", 0));
    assert_false(changed);
    assert_ok(roost_gossip_add(gossip, &changed, "a\0b", 3));
    assert_ok(roost_gossip_add(gossip, &changed, "a\0c", 3));
    assert_true(changed);
    assert_int_equal(roost_gossip_get_cardinality(gossip), 3);
    assert_int_equal(roost_gossip_get_element(gossip, 0).size, 0);
    roost_gossip_free(gossip);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    roost_gossip_config bad[4];
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = roost_gossip_config_default();
    bad[0].fpr = 0;
    bad[1].fpr = 1;
    bad[2].mapping = 0;
    bad[3].mapping = 4;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        roost_gossip *gossip = (roost_gossip *)state;
        assert_int_equal(roost_gossip_new(&gossip, &bad[i], NULL), ROOST_INVALID);
        assert_null(gossip);
    }
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

/* Returns what both learnt. */
static uint64_t meet(roost_gossip *from, roost_gossip *to, uint64_t peer, uint64_t round)
{
    roost_gossip *sides[2] = {from, to};
    roost_buffer message, reply;
    uint64_t learnt = 0, more;
    assert_ok(roost_gossip_begin(from, &message, peer, round));
    for (unsigned turn = 1; message.size > 0; turn ^= 1) {
        assert_ok(roost_gossip_receive(sides[turn], &reply, &more, message.data, message.size));
        roost_buffer_release(&message);
        message = reply;
        learnt += more;
    }
    return learnt;
}

static void two_sets_become_one(void **state)
{
    (void)state;
    for (uint64_t fixed = 0; fixed < 2; fixed++)
        for (uint64_t size = 0; size <= 400; size += 100) {
            roost_gossip *a = new_gossip(10, ROOST_ROUND_MAPPING, fixed * 500);
            roost_gossip *b = new_gossip(20, ROOST_ROUND_MAPPING, fixed * 500);
            for (uint64_t key = 0; key < 400; key++) {
                if (key < size)
                    give(a, key);
                if (key >= 200)
                    give(b, key);
            }
            uint64_t expected = size <= 200 ? size + 200 : 400, round = 0, learnt = 0;
            while (roost_gossip_get_cardinality(a) < expected || roost_gossip_get_cardinality(b) < expected) {
                learnt += meet(round % 2 ? a : b, round % 2 ? b : a, round % 2 ? 20 : 10, round);
                assert_true(++round < 40);
            }
            assert_int_equal(learnt, 2 * expected - size - 200);
            assert_int_equal(roost_gossip_get_cardinality(a), expected);
            for (uint64_t i = 0; i < expected; i++) {
                roost_bytes element = roost_gossip_get_element(a, i);
                assert_true(roost_gossip_contains(b, element.data, element.size));
            }
            assert_int_equal(meet(a, b, 20, 999), 0);
            roost_gossip_free(a);
            roost_gossip_free(b);
        }
}

/* One pair with one mapping never sees what it hides; with a number for the round it does. */
static void one_mapping_hides_for_ever(void **state)
{
    (void)state;
    for (int mapping = ROOST_ONE_MAPPING; mapping <= ROOST_ROUND_MAPPING; mapping++) {
        roost_gossip *a = new_gossip(1, mapping, 300), *b = new_gossip(2, mapping, 300);
        for (uint64_t key = 0; key < 300; key++)
            give(key % 2 ? a : b, key);
        for (uint64_t round = 0; round < 30; round++)
            meet(a, b, 2, round);
        if (mapping == ROOST_ROUND_MAPPING)
            assert_true(roost_gossip_get_cardinality(a) == 300 && roost_gossip_get_cardinality(b) == 300);
        else
            assert_true(roost_gossip_get_cardinality(a) < 280 && roost_gossip_get_cardinality(b) < 280);
        roost_gossip_free(a);
        roost_gossip_free(b);
    }
}

enum { NODES = 50, NEIGHBOURS = 10, ELEMENTS = 1000, OWN = 200 };

struct network {
    roost_gossip *nodes[NODES];
    unsigned neighbours[NODES][NEIGHBOURS];
    unsigned whole; /* elements that any node holds */
};

static void network_open(struct network *network, uint64_t seed, roost_mapping mapping, bool fixed)
{
    struct random_source random = random_from_seed(seed);
    bool held[ELEMENTS] = {false};
    network->whole = 0;
    for (unsigned i = 0; i < NODES; i++) {
        network->nodes[i] = new_gossip(i * i + 1, mapping, fixed ? ELEMENTS : 0);
        while (roost_gossip_get_cardinality(network->nodes[i]) < OWN) {
            uint32_t key = random_choice(&random, ELEMENTS);
            give(network->nodes[i], key);
            network->whole += !held[key];
            held[key] = true;
        }
        for (unsigned j = 0; j < NEIGHBOURS; j++)
            do
                network->neighbours[i][j] = random_choice(&random, NODES);
            while (network->neighbours[i][j] == i);
    }
}

/* Nodes that have everything after so many rounds. */
static unsigned gossip_for(struct network *network, unsigned rounds)
{
    unsigned converged = 0;
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < NODES; i++)
            for (unsigned j = 0; j < NEIGHBOURS; j++) {
                unsigned peer = network->neighbours[i][j];
                meet(network->nodes[i], network->nodes[peer], peer * peer + 1, round);
            }
    for (unsigned i = 0; i < NODES; i++) {
        converged += roost_gossip_get_cardinality(network->nodes[i]) == network->whole;
        roost_gossip_free(network->nodes[i]);
    }
    return converged;
}

static void fifty_nodes_converge(void **state)
{
    (void)state;
    uint64_t seed = test_seed(2);
    for (int fixed = 0; fixed < 2; fixed++) {
        struct network network;
        unsigned converged[4];
        for (int mapping = ROOST_ONE_MAPPING; mapping <= ROOST_ROUND_MAPPING; mapping++) {
            network_open(&network, seed, mapping, fixed);
            converged[mapping] = gossip_for(&network, 3);
        }
        printf("%s m: %u, %u, %u of 50\n", fixed ? "fixed" : "changing", converged[1], converged[2], converged[3]);
        assert_true(fixed ? converged[ROOST_ONE_MAPPING] == 0 : converged[ROOST_ONE_MAPPING] < 40);
        assert_true(converged[ROOST_PAIR_MAPPING] >= 47);
        assert_int_equal(converged[ROOST_ROUND_MAPPING], NODES);
    }
}

/* ---- two processes ----------------------------------------------------------------------------------------------- */

static bool answer_contact(roost_gossip *gossip, int stream, roost_buffer message)
{
    bool fine = true;
    while (fine && message.size > 0) { /* speak, then listen */
        fine = send_all(stream, message.data, message.size);
        roost_buffer_release(&message);
        size_t size = 0;
        uint8_t *theirs = fine ? receive_message(stream, &size) : NULL;
        fine = theirs && (size == 0 || roost_gossip_receive(gossip, &message, NULL, theirs, size) == ROOST_OK);
        free(theirs);
        if (size == 0)
            return fine;
    }
    return fine && send_all(stream, NULL, 0); /* nothing more to say */
}

static bool gossip_side(void *context, int stream, int which)
{
    const uint64_t fixed = *(const uint64_t *)context;
    roost_gossip *gossip = new_gossip(100 + (uint64_t)which, ROOST_ROUND_MAPPING, fixed);
    bool fine = true;
    for (uint64_t key = 0; key < 900; key++)
        if (key % 3 != (uint64_t)which)
            give(gossip, key);
    for (uint64_t round = 0; fine && round < 24; round++) {
        roost_buffer message = {0};
        if (which == 0) {
            fine = roost_gossip_begin(gossip, &message, 101, round) == ROOST_OK;
        } else {
            size_t size;
            uint8_t *theirs = receive_message(stream, &size);
            fine = theirs && roost_gossip_receive(gossip, &message, NULL, theirs, size) == ROOST_OK;
            free(theirs);
        }
        fine = fine && answer_contact(gossip, stream, message);
    }
    fine = fine && roost_gossip_get_cardinality(gossip) == 900;
    for (uint64_t key = 0; key < 900 && fine; key++)
        fine = has(gossip, key);
    roost_gossip_free(gossip);
    return fine;
}

static void two_processes_gossip(void **state)
{
    (void)state;
    for (uint64_t fixed = 0; fixed <= 900; fixed += 900)
        assert_true(run_in_two_processes(gossip_side, &fixed));
}

/* ---- hostile messages -------------------------------------------------------------------------------------------- */

static uint64_t checksum_for(uint64_t id, uint64_t peer, uint64_t round, const uint8_t *bytes, size_t size)
{
    uint64_t seed = pair_seed(id, peer, round) ^ ROOST_ROUND_MAPPING ^ rotate_left(ROOST_DEFAULT_SEED, 1);
    return hash_bytes(seed, bytes, size).low;
}

/* The messages of one contact between 1 and 2, in round 5: all four types. */
static unsigned record_contact(roost_buffer messages[4], roost_gossip *a, roost_gossip *b)
{
    roost_gossip *sides[2] = {a, b};
    assert_ok(roost_gossip_begin(a, &messages[0], 2, 5));
    for (unsigned i = 0; i < 3; i++)
        assert_ok(roost_gossip_receive(sides[(i + 1) % 2], &messages[i + 1], NULL, messages[i].data, messages[i].size));
    return 4;
}

static void hostile_messages_are_refused(void **state)
{
    (void)state;
    roost_gossip *a = new_gossip(1, ROOST_ROUND_MAPPING, 0), *b = new_gossip(2, ROOST_ROUND_MAPPING, 0);
    for (uint64_t key = 0; key < 30; key++)
        give(key % 2 ? a : b, key);
    roost_buffer messages[4], reply;
    unsigned count = record_contact(messages, a, b), accepted = 0, refused = 0;
    for (unsigned i = 0; i < count; i++) {
        const roost_buffer *message = &messages[i];
        uint64_t receiver = i % 2 ? 1 : 2, sender = 3 - receiver;
        uint8_t *forged = malloc(message->size);
        for (size_t size = 0; size < message->size; size++)
            for (int repaired = 0; repaired < 2 && (size > 8 || !repaired); repaired++) {
                roost_gossip *fresh = new_gossip(receiver, ROOST_ROUND_MAPPING, 0);
                uint8_t *cut = malloc(size ? size : 1);
                memcpy(cut, message->data, size);
                if (repaired)
                    store_word(cut + size - 8, checksum_for(receiver, sender, 5, cut, size - 8));
                assert_int_equal(roost_gossip_receive(fresh, &reply, NULL, cut, size), ROOST_CORRUPT);
                assert_true(reply.size == 0 && roost_gossip_get_cardinality(fresh) == 0);
                free(cut);
                roost_gossip_free(fresh);
            }
        for (size_t bit = 0; bit < message->size * 8 - 64; bit++) {
            roost_gossip *fresh = NULL;
            roost_gossip_config config = roost_gossip_config_default();
            roost_environment limited = {.memory_limit = 1 << 20};
            config.id = receiver;
            assert_ok(roost_gossip_new(&fresh, &config, &limited));
            give(fresh, 7);
            memcpy(forged, message->data, message->size);
            forged[bit / 8] ^= (uint8_t)(1 << (bit & 7));
            assert_int_equal(roost_gossip_receive(fresh, &reply, NULL, forged, message->size), ROOST_CORRUPT);
            store_word(forged + message->size - 8, checksum_for(receiver, sender, 5, forged, message->size - 8));
            roost_status status = roost_gossip_receive(fresh, &reply, NULL, forged, message->size);
            if (status == ROOST_OK) {
                accepted++;
            } else {
                assert_true(status == ROOST_CORRUPT || status == ROOST_TOO_LARGE);
                assert_true(reply.size == 0 && roost_gossip_get_cardinality(fresh) == 1);
                refused++;
            }
            assert_true(has(fresh, 7));
            roost_buffer_release(&reply);
            roost_gossip_free(fresh);
        }
        free(forged);
    }
    printf("%u accepted, %u refused\n", accepted, refused);
    assert_true(accepted > 500 && refused > 200);
    for (unsigned i = 0; i < count; i++)
        roost_buffer_release(&messages[i]);
    roost_gossip_free(a);
    roost_gossip_free(b);
}

static void messages_for_others_are_refused(void **state)
{
    (void)state;
    roost_gossip *a = new_gossip(1, ROOST_PAIR_MAPPING, 100), *b = new_gossip(2, ROOST_PAIR_MAPPING, 100);
    roost_gossip *other = new_gossip(3, ROOST_PAIR_MAPPING, 100), *standard = new_gossip(2, ROOST_ONE_MAPPING, 100);
    roost_buffer message, reply;
    give(a, 1);
    assert_ok(roost_gossip_begin(a, &message, 2, 0));
    assert_int_equal(roost_gossip_receive(other, &reply, NULL, message.data, message.size), ROOST_CORRUPT);
    assert_int_equal(roost_gossip_receive(standard, &reply, NULL, message.data, message.size), ROOST_CORRUPT);
    assert_ok(roost_gossip_receive(b, &reply, NULL, message.data, message.size));
    roost_buffer_release(&reply);
    assert_ok(roost_gossip_receive(b, &reply, NULL, message.data, message.size)); /* doubled: no harm */
    roost_buffer_release(&reply);
    roost_buffer_release(&message);
    roost_gossip_free(a);
    roost_gossip_free(b);
    roost_gossip_free(other);
    roost_gossip_free(standard);
}

/* A peer that says it holds 2^60 elements gets no filter for them: a small one, or none where the limit is smaller. */
static void boasts_are_not_believed(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift < 64; shift++) {
        roost_gossip *gossip = new_gossip(1, ROOST_ROUND_MAPPING, 0);
        roost_buffer reply;
        uint8_t claim[64];
        struct bit_writer writer = bit_writer_over(claim, sizeof claim);
        write_byte(&writer, 0xd1);
        write_fixed64(&writer, 2);
        write_varint(&writer, 5);
        write_varint(&writer, UINT64_C(1) << shift);
        write_fixed64(&writer, checksum_for(1, 2, 5, claim, writer.buffer.size));
        assert_ok(roost_gossip_receive(gossip, &reply, NULL, claim, writer.buffer.size));
        assert_true(reply.size < 200000);
        assert_true(shift > 20 || reply.size * 8 > UINT64_C(1) << shift); /* what may be true is believed */
        roost_buffer_release(&reply);
        roost_gossip_free(gossip);
    }
}

static void the_memory_limit_holds(void **state)
{
    (void)state;
    roost_gossip *gossip, *rich = new_gossip(2, ROOST_ROUND_MAPPING, 5000);
    roost_gossip_config config = roost_gossip_config_default();
    roost_environment limited = {.memory_limit = 40000};
    roost_buffer message, reply, more;
    config.id = 1;
    assert_ok(roost_gossip_new(&gossip, &config, &limited));
    give(gossip, 1);
    uint8_t claim[64];
    struct bit_writer writer = bit_writer_over(claim, sizeof claim);
    write_byte(&writer, 0xd1);
    write_fixed64(&writer, 2);
    write_varint(&writer, 5);
    write_varint(&writer, UINT64_C(1) << 60);
    write_fixed64(&writer, checksum_for(1, 2, 5, claim, writer.buffer.size));
    assert_int_equal(roost_gossip_receive(gossip, &reply, NULL, claim, writer.buffer.size), ROOST_TOO_LARGE);
    for (uint64_t key = 0; key < 5000; key++)
        give(rich, key);
    assert_ok(roost_gossip_begin(rich, &message, 1, 5));
    assert_ok(roost_gossip_receive(gossip, &reply, NULL, message.data, message.size));
    roost_buffer_release(&message);
    assert_ok(roost_gossip_receive(rich, &message, NULL, reply.data, reply.size));
    roost_buffer_release(&reply);
    assert_true(message.size > 40000);
    assert_int_equal(roost_gossip_receive(gossip, &more, NULL, message.data, message.size), ROOST_TOO_LARGE);
    assert_int_equal(roost_gossip_get_cardinality(gossip), 1);
    assert_true(has(gossip, 1));
    roost_buffer_release(&message);
    roost_gossip_free(gossip);
    roost_gossip_free(rich);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static void every_allocation_may_fail(void **state)
{
    (void)state;
    roost_gossip *a = new_gossip(1, ROOST_ROUND_MAPPING, 0), *b = new_gossip(2, ROOST_ROUND_MAPPING, 0);
    for (uint64_t key = 0; key < 60; key++)
        give(key % 2 ? a : b, key);
    roost_buffer messages[4], reply;
    unsigned count = record_contact(messages, a, b);
    struct meter meter = {.allowed = -1};
    roost_environment environment = {.allocator = {&meter, metered_allocate, metered_release}};
    for (unsigned i = 0; i <= count; i++)
        for (int recovers = 0; recovers < 2; recovers++) {
            roost_status status = ROOST_NO_MEMORY;
            roost_gossip *gossip;
            for (int64_t allowed = 0; status != ROOST_OK; allowed++) {
                roost_gossip_config config = roost_gossip_config_default();
                config.id = i % 2 ? 1 : 2;
                meter.allowed = i == count ? allowed : -1;
                meter.recovers = recovers;
                status = roost_gossip_new(&gossip, &config, &environment);
                assert_int_equal(gossip == NULL, status != ROOST_OK);
                if (i == count) {
                    if (status == ROOST_OK)
                        status = roost_gossip_add(gossip, NULL, "swift", 5);
                    meter.allowed = -1;
                    assert_true(!gossip || roost_gossip_get_cardinality(gossip) == (status == ROOST_OK));
                } else {
                    give(gossip, 1000);
                    meter.allowed = allowed;
                    status = roost_gossip_receive(gossip, &reply, NULL, messages[i].data, messages[i].size);
                    meter.allowed = -1;
                    assert_true(status == ROOST_OK || (reply.size == 0 && roost_gossip_get_cardinality(gossip) == 1));
                    assert_true(has(gossip, 1000));
                    roost_buffer_release(&reply);
                }
                roost_gossip_free(gossip);
                assert_int_equal(meter.outstanding, 0);
            }
        }
    assert_true(meter.failures > 20);
    for (unsigned i = 0; i < count; i++)
        roost_buffer_release(&messages[i]);
    roost_gossip_free(a);
    roost_gossip_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pair_collides_under_every_seed),
        cmocka_unit_test(similar_elements_collide_by_chance_alone),
        cmocka_unit_test(elements_alike_in_low_bits_reconcile),
        cmocka_unit_test(sizes_keep_the_rate),
        cmocka_unit_test(seeds_belong_to_pairs),
        cmocka_unit_test(sets_follow_the_model),
        cmocka_unit_test(any_bytes_are_an_element),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(two_sets_become_one),
        cmocka_unit_test(one_mapping_hides_for_ever),
        cmocka_unit_test(fifty_nodes_converge),
        cmocka_unit_test(two_processes_gossip),
        cmocka_unit_test(hostile_messages_are_refused),
        cmocka_unit_test(messages_for_others_are_refused),
        cmocka_unit_test(boasts_are_not_believed),
        cmocka_unit_test(the_memory_limit_holds),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
