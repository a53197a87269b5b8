/*
 * Makes every kind of filter, delta, sync and reconciliation from the same keys, and prints a line for each: what it
 * is, how many bytes it has, and a hash of them. The lines are the same on every machine, whatever its byte order,
 * compiler and C library: tests/golden/transcript.txt has them, and tests/platforms.sh compares.
 *
 *     transcript [FRAME...]       with files, a line for each of them too: what its bytes mean
 *
 * A change of bytes that is meant to be one (a new version in docs/format.md, another course of a session) changes
 * lines; then: `tests/platforms.sh golden` writes the file anew.
 *
 * The hash is FNV-1a, computed here, so that the library does not vouch for itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roost.h"

static void must(roost_status status, const char *what)
{
    if (status == ROOST_OK)
        return;
    fprintf(stderr, "transcript: %s: %s\n", what, roost_status_text(status));
    exit(1);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

struct record {
    uint64_t hash, bytes, messages;
};

static struct record nothing(void)
{
    return (struct record){.hash = UINT64_C(0xcbf29ce484222325)};
}

static void note(struct record *record, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        record->hash = (record->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    record->bytes += size;
    record->messages++;
}

static void say(const char *name, const char *what, struct record record)
{
    printf("%s, %s: %" PRIu64 " bytes in %" PRIu64 ", %016" PRIx64 "\n", name, what, record.bytes, record.messages,
           record.hash);
}

/* Says what a buffer holds, and releases it. */
static void say_buffer(const char *name, const char *what, roost_buffer *buffer)
{
    struct record record = nothing();
    note(&record, buffer->data, buffer->size);
    say(name, what, record);
    roost_buffer_release(buffer);
}

static void say_digest(const char *name, roost_digest digest)
{
    char text[33];
    roost_digest_text(digest, text);
    printf("%s, digest: %s\n", name, text);
}

/* ---- numbers and keys -------------------------------------------------------------------------------------------- */

/* In place of the operating system's entropy: 1, 2, 3, ... mixed, as the bytes of a number of this machine. */
static bool draw(void *context, void *bytes, size_t size)
{
    uint64_t *drawn = context, number = ++*drawn * UINT64_C(0x9e3779b97f4a7c15);
    memset(bytes, 0, size);
    memcpy(bytes, &number, size < sizeof number ? size : sizeof number);
    return true;
}

static uint64_t drawn;

static roost_environment environment(void)
{
    return (roost_environment){.entropy = {.context = &drawn, .draw = draw}};
}

struct key {
    char text[32];
    size_t size;
};

static struct key key_of(uint64_t number)
{
    struct key key;
    key.size = (size_t)snprintf(key.text, sizeof key.text, "key %" PRIu64, number);
    return key;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

#define START (UINT64_C(1700000000) * ROOST_SECOND)

static bool is_timed(const roost_filter *filter)
{
    roost_kind kind = roost_filter_get_config(filter)->kind;
    return kind == ROOST_WINDOW || kind == ROOST_COUNTER;
}

static void add_timed(roost_filter *filter, const struct key *key, uint64_t number)
{
    uint64_t time = START + number * (ROOST_SECOND / 50);
    bool applied;
    if (roost_filter_get_config(filter)->kind == ROOST_WINDOW)
        must(roost_window_add(filter, NULL, key->text, key->size, time), "window");
    else
        must(roost_counter_increment(filter, &applied, NULL, key->text, key->size, (int64_t)(number % 7) - 2, time),
             "counter");
}

static void add(roost_filter *filter, uint64_t from, uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        struct key key = key_of(number);
        if (is_timed(filter))
            add_timed(filter, &key, number);
        else
            must(roost_filter_add(filter, NULL, key.text, key.size), "add");
    }
}

static void remove_some(roost_filter *filter, uint64_t from, uint64_t to)
{
    for (uint64_t number = from; number < to; number += 3) {
        struct key key = key_of(number);
        roost_status status = roost_filter_remove(filter, NULL, key.text, key.size);
        if (status != ROOST_UNSUPPORTED)
            must(status, "remove");
    }
}

static void say_filter(const char *name, const char *what, roost_filter *filter)
{
    roost_buffer frame;
    must(roost_filter_encode(filter, &frame), "encode");
    say_buffer(name, what, &frame);
    say_digest(name, roost_filter_digest(filter));
}

/* A sync with what is remembered of the last one. */
static void say_sync(const char *name, const char *what, roost_filter *initiator, roost_filter *responder,
                     roost_buffer *memory)
{
    roost_sync *sync;
    roost_buffer request, reply = {0};
    struct record record = nothing();
    must(roost_sync_new(&sync, initiator, memory->data, memory->size), "sync");
    for (;;) {
        must(roost_sync_next(sync, &request, reply.data, reply.size), "next");
        roost_buffer_release(&reply);
        if (request.size == 0)
            break;
        note(&record, request.data, request.size);
        must(roost_sync_reply(responder, &reply, NULL, request.data, request.size), "answer");
        note(&record, reply.data, reply.size);
        roost_buffer_release(&request);
    }
    roost_buffer_release(&request);
    roost_buffer_release(memory);
    must(roost_sync_save_memory(sync, memory), "memory");
    roost_sync_free(sync);
    say(name, what, record);
}

/* Two replicas that share `keys` keys and have half as many of their own; then one changes a little. */
static void filter_lines(const char *name, const roost_config *config, uint64_t keys)
{
    roost_filter *one, *other;
    roost_environment of_both = environment();
    roost_cursor cursor = {0}, next;
    roost_buffer delta, memory = {0};
    must(roost_filter_new(&one, config, &of_both), name);
    must(roost_filter_new(&other, config, &of_both), name);
    say_filter(name, "empty", one);
    add(one, 0, keys);
    must(roost_filter_encode_delta(one, &delta, &cursor, &cursor), "delta");
    roost_buffer_release(&delta);
    add(other, keys / 2, keys + keys / 2);
    remove_some(other, keys / 2, keys);
    say_filter(name, "one", one);
    say_filter(name, "other", other);
    add(one, keys, keys + 5);
    remove_some(one, 0, 10);
    must(roost_filter_encode_delta(one, &delta, &next, &cursor), "delta");
    say_buffer(name, "delta", &delta);
    say_sync(name, "first sync", one, other, &memory);
    add(one, keys + keys / 2, keys + keys / 2 + 9);
    remove_some(other, 10, 30);
    say_sync(name, "second sync", one, other, &memory);
    add(other, keys + keys / 2 + 9, keys + keys / 2 + 12);
    roost_buffer_release(&memory);
    say_sync(name, "sync without memory", one, other, &memory);
    say_filter(name, "both", one);
    if (!roost_filter_equal(one, other))
        printf("%s: not equal\n", name);
    roost_buffer_release(&memory);
    roost_filter_free(one);
    roost_filter_free(other);
}

static roost_config bloom(roost_layout layout, uint64_t capacity, double fpr, bool scalable)
{
    roost_config config = roost_config_default();
    config.layout = layout;
    config.capacity = capacity;
    config.fpr = fpr;
    config.scalable = scalable;
    return config;
}

static void bloom_lines(void)
{
    const double rates[] = {0.4, 0.2, 0.1, 0.05, 0.03, 0.015, 0.01, 1e-4, 1e-6, 2e-9};
    char name[64];
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        for (int layout = ROOST_BLOCKED; layout <= ROOST_CLASSIC; layout++) {
            /* at 2e-9 a fused multiply-add once made the difference, which shows in a large array alone */
            roost_config config = bloom((roost_layout)layout, rates[i] < 1e-8 ? 50000 : 1000, rates[i], false);
            snprintf(name, sizeof name, "bloom %s %g", layout == ROOST_BLOCKED ? "blocked" : "classic", rates[i]);
            filter_lines(name, &config, 600);
        }
}

static roost_config cuckoo(roost_kind kind, uint64_t capacity, double fpr, bool scalable)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.capacity = capacity;
    config.fpr = fpr;
    config.scalable = scalable;
    return config;
}

static void cuckoo_lines(void)
{
    roost_config config = cuckoo(ROOST_CUCKOO, 1200, 0.01, false);
    filter_lines("cuckoo 0.01", &config, 600);
    config = cuckoo(ROOST_CUCKOO, 1200, 1e-7, false);
    config.bucket_size = 8;
    filter_lines("cuckoo 1e-07", &config, 600);
    config = cuckoo(ROOST_ORCUCKOO, 4000, 0, false);
    filter_lines("orcuckoo set", &config, 600);
    config.multiset = true;
    config.fingerprint_bits = 12;
    filter_lines("orcuckoo multiset", &config, 600);
    config.fingerprint_bits = 8;
    config.entry_bits = 32;
    filter_lines("orcuckoo 32-bit entries", &config, 600);
}

static void series_lines(void)
{
    roost_config config = bloom(ROOST_BLOCKED, 100, 0.01, true);
    filter_lines("series bloom blocked", &config, 3000);
    config.schedule = ROOST_HALVING;
    filter_lines("series bloom blocked halving", &config, 3000);
    config = bloom(ROOST_CLASSIC, 100, 1e-6, true);
    filter_lines("series bloom classic", &config, 3000);
    config = cuckoo(ROOST_CUCKOO, 100, 0.001, true);
    filter_lines("series cuckoo", &config, 3000);
    config.schedule = ROOST_HALVING;
    config.growth = 2;
    filter_lines("series cuckoo halving", &config, 3000);
    config = cuckoo(ROOST_ORCUCKOO, 100, 0.001, true);
    filter_lines("series orcuckoo", &config, 3000);
    config.multiset = true;
    filter_lines("series orcuckoo multiset", &config, 3000);
}

/* The tables of a series in which a fused multiply-add once made the difference: 128,000 keys, ten tables. */
static void large_series_lines(void)
{
    roost_config config = bloom(ROOST_BLOCKED, 1000, 1e-6, true);
    roost_environment own = environment();
    roost_filter *filter;
    must(roost_filter_new(&filter, &config, &own), "large series");
    add(filter, 0, 128000);
    say_filter("series bloom blocked 1e-06, 128000 keys", "one", filter);
    roost_filter_free(filter);
}

static void window_lines(void)
{
    roost_config config = roost_window_config_default(ROOST_WINDOW, 60 * ROOST_SECOND);
    config.capacity = 2000;
    filter_lines("window", &config, 2000);
    config.layout = ROOST_CLASSIC;
    config.fpr = 0.001;
    config.past = 7;
    filter_lines("window classic", &config, 2000);
    config = roost_window_config_default(ROOST_COUNTER, 60 * ROOST_SECOND);
    config.capacity = 2000;
    filter_lines("counter", &config, 2000);
}

/* ---- multisets --------------------------------------------------------------------------------------------------- */

static void multiset_lines(const char *name, roost_multiset_config config)
{
    roost_multiset *one, *other;
    roost_environment of_both = environment();
    config.capacity = 1000;
    must(roost_multiset_new(&one, &config, &of_both), name);
    must(roost_multiset_new(&other, &config, &of_both), name);
    for (uint64_t number = 0; number < 900; number++) {
        struct key key = key_of(number);
        must(roost_multiset_add(number % 3 ? one : other, NULL, key.text, key.size, 1 + number % 11), "copies");
        must(roost_multiset_add(one, NULL, key.text, key.size, 1 + number % 5), "copies");
        if (number % 10 == 0)
            roost_multiset_remove(one, NULL, key.text, key.size, 2);
    }
    must(roost_multiset_merge(other, NULL, one), "merge");
    for (int i = 0; i < 2; i++) {
        roost_buffer frame;
        must(roost_multiset_encode(i ? other : one, &frame), "encode");
        say_buffer(name, i ? "merged" : "one", &frame);
        say_digest(name, roost_multiset_digest(i ? other : one));
    }
    roost_multiset_free(one);
    roost_multiset_free(other);
}

static void all_multiset_lines(void)
{
    roost_multiset_config config = roost_multiset_config_default();
    multiset_lines("counting cuckoo 0.01", config);
    config.fpr = 1e-6;
    multiset_lines("counting cuckoo 1e-06", config);
    config.kind = ROOST_COUNTING_BLOOM;
    config.bucket_size = 0;
    multiset_lines("counting bloom 1e-06", config);
    config.fpr = 0.03;
    multiset_lines("counting bloom 0.03", config);
    config.fpr = 0;
    config.cells = 9000;
    multiset_lines("counting bloom 9000 cells", config);
}

/* ---- gossip and reconciliation ----------------------------------------------------------------------------------- */

static void gossip_lines(double fpr)
{
    roost_gossip *side[2];
    char name[64];
    snprintf(name, sizeof name, "gossip %g", fpr);
    for (uint64_t i = 0; i < 2; i++) {
        roost_gossip_config config = roost_gossip_config_default();
        roost_environment own = environment();
        config.id = 17 + i;
        config.fpr = fpr;
        must(roost_gossip_new(&side[i], &config, &own), name);
        for (uint64_t number = 0; number < 700; number++) {
            struct key key = key_of(number + 100 * i);
            must(roost_gossip_add(side[i], NULL, key.text, key.size), "element");
        }
    }
    struct record record = nothing();
    for (uint64_t round = 1; round <= 3; round++) {
        roost_buffer message, reply;
        must(roost_gossip_begin(side[0], &message, 18, round), "begin");
        for (int turn = 1; message.size; turn ^= 1) {
            note(&record, message.data, message.size);
            must(roost_gossip_receive(side[turn], &reply, NULL, message.data, message.size), "receive");
            roost_buffer_release(&message);
            message = reply;
        }
        roost_buffer_release(&message);
    }
    say(name, "messages", record);
    roost_gossip_free(side[0]);
    roost_gossip_free(side[1]);
}

/* `count` keys here, as many there, of which `differing` are others. */
static void add_keys(roost_reconcile *session, bool there, uint64_t count, uint64_t differing)
{
    for (uint64_t i = 0; i < count; i++) {
        bool other = there && i < differing;
        struct key key = key_of(other ? i + 10 * count : i);
        uint64_t copies = roost_reconcile_get_config(session)->multiset ? 1 + (i + (there && i % 50 == 0)) % 4 : 1;
        must(roost_reconcile_add(session, key.text, key.size, copies), "key");
    }
}

static void reconcile_lines(const char *name, roost_reconcile_config config, uint64_t count, uint64_t differing)
{
    roost_reconcile *side[2] = {NULL, NULL};
    roost_environment own = environment();
    roost_buffer message, reply;
    struct record record = nothing();
    char what[64];
    must(roost_reconcile_new_initiator(&side[0], &config, &own), name);
    add_keys(side[0], false, count, differing);
    must(roost_reconcile_next(side[0], &message, NULL, 0), "opening");
    must(roost_reconcile_new_responder(&side[1], message.data, message.size, &own), name);
    add_keys(side[1], true, count, differing);
    for (int turn = 1; message.size; turn ^= 1) {
        note(&record, message.data, message.size);
        must(roost_reconcile_next(side[turn], &reply, message.data, message.size), "message");
        roost_buffer_release(&message);
        message = reply;
    }
    roost_buffer_release(&message);
    roost_reconcile_result result = roost_reconcile_get_result(side[0]);
    snprintf(what, sizeof what, "%" PRIu64 " of %" PRIu64 ", found %" PRIu64 " and %" PRIu64, differing, count,
             (uint64_t)result.only_here, (uint64_t)result.only_there);
    say(name, what, record);
    roost_reconcile_free(side[0]);
    roost_reconcile_free(side[1]);
}

static void all_reconcile_lines(void)
{
    const struct {
        const char *name;
        roost_reconcile_config config;
    } methods[] = {{"reconcile auto", {ROOST_RECONCILE_AUTO, false}},
                   {"reconcile auto multiset", {ROOST_RECONCILE_AUTO, true}},
                   {"reconcile riblt", {ROOST_RECONCILE_RIBLT, false}},
                   {"reconcile dbf", {ROOST_RECONCILE_DBF, false}},
                   {"reconcile ccf-query", {ROOST_RECONCILE_CCF_QUERY, false}},
                   {"reconcile ccf-decode", {ROOST_RECONCILE_CCF_DECODE, true}}};
    const uint64_t differing[] = {0, 1, 7, 60, 500, 2900};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for (size_t j = 0; j < sizeof differing / sizeof *differing; j++)
            reconcile_lines(methods[i].name, methods[i].config, 3000, differing[j]);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void frame_line(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    roost_filter *filter;
    roost_multiset *multiset;
    roost_buffer frame = {0};
    if (file)
        fclose(file);
    if (roost_filter_decode(&filter, bytes, size, NULL) == ROOST_OK) {
        say_digest(name, roost_filter_digest(filter));
        must(roost_filter_encode(filter, &frame), name);
        roost_filter_free(filter);
    } else if (roost_multiset_decode(&multiset, bytes, size, NULL) == ROOST_OK) {
        say_digest(name, roost_multiset_digest(multiset));
        must(roost_multiset_encode(multiset, &frame), name);
        roost_multiset_free(multiset);
    }
    say_buffer(name, "encoded again", &frame);
}

/* Each part draws numbers of its own, so that a change of one part leaves the lines of others alone. */
static void part(void (*lines)(void))
{
    drawn = 0;
    lines();
}

static void all_gossip_lines(void)
{
    gossip_lines(0.5);
    gossip_lines(0.03);
}

int main(int count, char **arguments)
{
    part(bloom_lines);
    part(cuckoo_lines);
    part(series_lines);
    part(large_series_lines);
    part(window_lines);
    part(all_multiset_lines);
    part(all_gossip_lines);
    part(all_reconcile_lines);
    for (int i = 1; i < count; i++)
        frame_line(arguments[i]);
    return 0;
}
