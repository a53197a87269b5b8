/*
 * The library as JavaScript calls it: flat functions of numbers and addresses.
 *
 * A call returns a status, or a status and an answer: `status * 2 + answer`. Everything else that it returns is in `results`,
 * an array of doubles at one place, so that no call returns a struct: counts are exact up to 2^53, and what has 64 bits comes in
 * two halves. Bytes that a call made are in `made`, until the next call that makes some or roost_js_release. Keys, frames and
 * messages are written by JavaScript into memory that it gets from `roost_js_allocate`.
 *
 * The opening comments of the public headers say what each call does; here is only the crossing.
 */
#include <stdlib.h>
#include <string.h>

#include "roost/filter.h"
#include "roost/sync.h"
#include "roost/reconcile.h"
#include "roost/window.h"

#include "core.h"

#define EXPORT(name) __attribute__((export_name(#name))) js_##name

#define MOST_RESULTS 40
static double results[MOST_RESULTS];
static char text[40];
static roost_buffer made;

double *EXPORT(results_address)(void)
{
    return results;
}

char *EXPORT(text_address)(void)
{
    return text;
}

void *EXPORT(allocate)(size_t size)
{
    return malloc(size ? size : 1);
}

void EXPORT(release)(void *memory)
{
    free(memory);
}

const char *EXPORT(status_text)(int status)
{
    return roost_status_text((roost_status)status);
}

const char *EXPORT(version)(void)
{
    return roost_version();
}

/* ---- what calls return ------------------------------------------------------------------------------------------- */

static int with_answer(roost_status status, bool answer)
{
    return (int)status * 2 + (status == ROOST_OK && answer);
}

static int with_object(roost_status status, void *object)
{
    results[0] = (double)(uintptr_t)object;
    return (int)status;
}

/* Gets where to make bytes; those of before are released. */
static roost_buffer *fresh_buffer(void)
{
    roost_buffer_release(&made);
    return &made;
}

static int with_bytes(roost_status status)
{
    results[0] = (double)(uintptr_t)made.data;
    results[1] = (double)made.size;
    return (int)status;
}

void EXPORT(release_made)(void)
{
    roost_buffer_release(&made);
}

static void put_halves(int at, uint64_t number)
{
    results[at] = (double)(uint32_t)(number >> 32);
    results[at + 1] = (double)(uint32_t)number;
}

static uint64_t of_halves(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* Times and capacities are whole numbers below 2^53, which JavaScript has checked. */
static uint64_t whole(double number)
{
    return number > 0 ? (uint64_t)number : 0;
}

/* ---- life ---------------------------------------------------------------------------------------------------------- */

int EXPORT(filter_new)(int kind, int layout, double capacity, double fpr, uint32_t seed_high, uint32_t seed_low,
                       uint32_t bits, uint32_t bucket, uint32_t entry, int multiset, int scalable, uint32_t writers,
                       uint32_t growth, int schedule, int semantics)
{
    roost_filter *filter;
    roost_config config = roost_config_default();
    config.kind = (roost_kind)kind;
    config.layout = layout ? (roost_layout)layout : config.layout;
    config.capacity = whole(capacity);
    config.fpr = fpr;
    config.seed = of_halves(seed_high, seed_low);
    config.fingerprint_bits = bits;
    config.bucket_size = bucket ? bucket : config.bucket_size;
    config.entry_bits = entry;
    config.multiset = multiset;
    config.scalable = scalable;
    config.writers = writers;
    config.growth = growth;
    config.schedule = (roost_schedule)schedule;
    config.semantics = (roost_semantics)semantics;
#ifdef ROOST_JS_CORE
    if (config.kind == ROOST_BLOOM && config.layout == ROOST_BLOCKED && !core_has_rate(config.fpr))
        return (int)ROOST_UNSUPPORTED;
#endif
    return with_object(roost_filter_new(&filter, &config, NULL), filter);
}

#ifndef ROOST_JS_CORE
int EXPORT(window_new)(int kind, double window, double capacity, double fpr, uint32_t past, uint32_t seed_high,
                       uint32_t seed_low)
{
    roost_filter *filter;
    roost_config config = roost_window_config_default((roost_kind)kind, whole(window));
    config.capacity = whole(capacity);
    config.fpr = fpr > 0 ? fpr : config.fpr;
    config.past = past ? past : config.past;
    config.seed = of_halves(seed_high, seed_low);
    return with_object(roost_filter_new(&filter, &config, NULL), filter);
}
#endif

void EXPORT(filter_free)(roost_filter *filter)
{
    roost_filter_free(filter);
}

int EXPORT(filter_clone)(const roost_filter *filter)
{
    roost_filter *copy;
    roost_status status = roost_filter_clone(filter, &copy);
    return with_object(status, copy);
}

int EXPORT(filter_kind)(const roost_filter *filter)
{
    return (int)roost_filter_get_config(filter)->kind;
}

#ifndef ROOST_JS_CORE
/* Whether changes have a time, and what it is for those that follow. */
int EXPORT(filter_has_time)(const roost_filter *filter)
{
    return roost_filter_get_config(filter)->semantics == ROOST_LAST_WRITER_WINS;
}

void EXPORT(filter_set_time)(roost_filter *filter, double time)
{
    roost_filter_set_time(filter, whole(time));
}
#endif

/* ---- elements ------------------------------------------------------------------------------------------------------ */

int EXPORT(filter_add)(roost_filter *filter, const void *key, size_t size)
{
    bool changed = false;
    roost_status status = roost_filter_add(filter, &changed, key, size);
    return with_answer(status, changed);
}

int EXPORT(filter_contains)(const roost_filter *filter, const void *key, size_t size)
{
    return roost_filter_contains(filter, key, size);
}

#ifndef ROOST_JS_WITHOUT_REMOVAL
int EXPORT(filter_remove)(roost_filter *filter, const void *key, size_t size)
{
    bool changed = false;
    roost_status status = roost_filter_remove(filter, &changed, key, size);
    return with_answer(status, changed);
}

int EXPORT(filter_remove_one)(roost_filter *filter, const void *key, size_t size)
{
    bool changed = false;
    roost_status status = roost_filter_remove_one(filter, &changed, key, size);
    return with_answer(status, changed);
}
#endif

double EXPORT(filter_count)(const roost_filter *filter, const void *key, size_t size)
{
    return (double)roost_filter_count(filter, key, size);
}

static double ones(const bool *flags, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += flags[i];
    return (double)sum;
}

int EXPORT(filter_add_many)(roost_filter *filter, const roost_bytes *keys, bool *changed, size_t count)
{
    size_t done = 0;
    roost_status status = roost_filter_add_many(filter, changed, &done, keys, count);
    results[0] = (double)done;
    results[1] = ones(changed, done);
    return (int)status;
}

void EXPORT(filter_contains_many)(const roost_filter *filter, const roost_bytes *keys, bool *found, size_t count)
{
    roost_filter_contains_many(filter, found, keys, count);
}

#ifndef ROOST_JS_WITHOUT_REMOVAL
int EXPORT(filter_remove_many)(roost_filter *filter, const roost_bytes *keys, bool *changed, size_t count)
{
    memset(changed, 0, count);
    roost_status status = roost_filter_remove_many(filter, changed, keys, count);
    results[0] = status == ROOST_OK ? (double)count : 0;
    results[1] = ones(changed, count);
    return (int)status;
}
#endif

/* ---- replication --------------------------------------------------------------------------------------------------- */

int EXPORT(filter_merge)(roost_filter *filter, const roost_filter *other)
{
    bool changed = false;
    roost_status status = roost_filter_merge(filter, &changed, other);
    return with_answer(status, changed);
}

int EXPORT(filter_merge_frame)(roost_filter *filter, const void *frame, size_t size)
{
    bool changed = false;
    roost_status status = roost_filter_merge_frame(filter, &changed, frame, size);
    return with_answer(status, changed);
}

int EXPORT(filter_compare)(const roost_filter *filter, const roost_filter *other)
{
    roost_order order = ROOST_CONCURRENT;
    roost_status status = roost_filter_compare(filter, &order, other);
    results[0] = (double)order;
    return (int)status;
}

int EXPORT(filter_equal)(const roost_filter *filter, const roost_filter *other)
{
    return roost_filter_equal(filter, other);
}

void EXPORT(filter_digest)(roost_filter *filter)
{
    roost_digest_text(roost_filter_digest(filter), text);
}

int EXPORT(filter_encode)(const roost_filter *filter)
{
    return with_bytes(roost_filter_encode(filter, fresh_buffer()));
}

/* `limit`: in bytes; 0 for that of the library. */
int EXPORT(filter_decode)(const void *frame, size_t size, size_t limit)
{
    roost_filter *filter;
    const roost_environment environment = {.memory_limit = limit};
    roost_status status = roost_filter_decode(&filter, frame, size, &environment);
    return with_object(status, filter);
}

/* A cursor is 16 bytes: at `text` when it comes out. */
int EXPORT(filter_delta)(roost_filter *filter, const void *since)
{
    roost_cursor cursor = {0}, next = {0};
    if (since)
        memcpy(&cursor, since, sizeof cursor);
    roost_status status = roost_filter_encode_delta(filter, fresh_buffer(), &next, &cursor);
    memcpy(text, &next, sizeof next);
    return with_bytes(status);
}

int EXPORT(filter_cursor)(roost_filter *filter)
{
    roost_cursor cursor = {0};
    roost_status status = roost_filter_get_cursor(filter, &cursor);
    memcpy(text, &cursor, sizeof cursor);
    return (int)status;
}

int EXPORT(filter_save_replica)(const roost_filter *filter)
{
    return with_bytes(roost_filter_save_replica(filter, fresh_buffer()));
}

int EXPORT(filter_restore_replica)(roost_filter *filter, const void *bytes, size_t size)
{
    return (int)roost_filter_restore_replica(filter, bytes, size);
}

/* ---- info ---------------------------------------------------------------------------------------------------------- */

/* The order of the results is that of `infoNames` in ../src/load.js. */
int EXPORT(filter_info)(const roost_filter *filter)
{
    roost_info info;
    const roost_config *config = roost_filter_get_config(filter);
    roost_filter_get_info(filter, &info);
    int at = 0;
    results[at++] = (double)config->capacity;
    results[at++] = info.elements;
    results[at++] = (double)info.entries;
    results[at++] = (double)info.overflow;
    results[at++] = info.load;
    results[at++] = config->fpr;
    results[at++] = info.fpr_now;
    results[at++] = (double)info.bytes_memory;
    results[at++] = (double)info.bits;
    results[at++] = info.probes;
    results[at++] = config->fingerprint_bits;
    results[at++] = config->bucket_size;
    results[at++] = info.buckets;
    results[at++] = config->entry_bits;
    results[at++] = info.tables;
    results[at++] = config->writers;
    results[at++] = config->growth;
    results[at++] = (double)info.inserted;
    results[at++] = (double)info.growth_limit;
    results[at++] = info.shortest_prefix;
    results[at++] = info.longest_prefix;
    results[at++] = (double)info.actors;
    results[at++] = (double)info.dots;
    results[at++] = (double)info.gaps;
    results[at++] = (double)info.journal;
    results[at++] = (double)config->window;
    results[at++] = config->past;
    results[at++] = config->kind;
    results[at++] = config->layout;
    results[at++] = config->schedule;
    results[at++] = config->scalable;
    results[at++] = config->multiset;
    results[at++] = config->semantics;
    results[at++] = info.promise_holds;
    put_halves(at, config->seed);
    put_halves(at + 2, roost_filter_get_actor(filter));
    return at + 4;
}

/* ---- windows and counters ------------------------------------------------------------------------------------------ */

#ifndef ROOST_JS_CORE
int EXPORT(window_add)(roost_filter *window, const void *key, size_t size, double time)
{
    bool seen = false;
    roost_status status = roost_window_add(window, &seen, key, size, whole(time));
    return with_answer(status, seen);
}

int EXPORT(window_contains)(const roost_filter *window, const void *key, size_t size, double time)
{
    return roost_window_contains(window, key, size, whole(time));
}

int EXPORT(window_add_many)(roost_filter *window, const roost_bytes *keys, bool *seen, size_t count, double time)
{
    size_t done = 0;
    roost_status status = roost_window_add_many(window, seen, &done, keys, count, whole(time));
    results[0] = (double)done;
    results[1] = (double)done - ones(seen, done);
    return (int)status;
}

void EXPORT(window_set_latest)(roost_filter *window, double latest)
{
    roost_window_set_latest(window, whole(latest));
}

void EXPORT(window_info)(const roost_filter *window)
{
    roost_window_info info;
    roost_window_get_info(window, &info);
    results[0] = (double)info.window;
    results[1] = (double)info.slot;
    results[2] = (double)info.shortest_slot;
    results[3] = info.slots;
    results[4] = (double)info.oldest;
    results[5] = (double)info.newest;
}

int EXPORT(counter_increment)(roost_filter *counter, const void *id, size_t size, uint32_t high, uint32_t low,
                              double time)
{
    bool applied = false;
    int64_t value = 0;
    roost_status status =
        roost_counter_increment(counter, &applied, &value, id, size, (int64_t)of_halves(high, low), whole(time));
    put_halves(0, (uint64_t)value);
    return with_answer(status, applied);
}

int EXPORT(counter_value)(const roost_filter *counter)
{
    int64_t value = 0;
    roost_status status = roost_counter_get_value(counter, &value);
    put_halves(0, (uint64_t)value);
    return (int)status;
}
#endif

/* ---- sync ---------------------------------------------------------------------------------------------------------- */

int EXPORT(sync_new)(roost_filter *filter, const void *memory, size_t size)
{
    roost_sync *sync;
    roost_status status = roost_sync_new(&sync, filter, memory, size);
    return with_object(status, sync);
}

void EXPORT(sync_free)(roost_sync *sync)
{
    roost_sync_free(sync);
}

int EXPORT(sync_next)(roost_sync *sync, const void *reply, size_t size)
{
    return with_bytes(roost_sync_next(sync, fresh_buffer(), reply, size));
}

void EXPORT(sync_result)(const roost_sync *sync)
{
    roost_sync_result result = roost_sync_get_result(sync);
    results[0] = result.equal;
    results[1] = result.changed;
    results[2] = result.rounds;
    results[3] = (double)result.sent;
    results[4] = (double)result.received;
}

int EXPORT(sync_memory)(const roost_sync *sync)
{
    return with_bytes(roost_sync_save_memory(sync, fresh_buffer()));
}

int EXPORT(sync_reply)(roost_filter *filter, const void *request, size_t size)
{
    bool changed = false;
    roost_status status = roost_sync_reply(filter, fresh_buffer(), &changed, request, size);
    results[2] = changed;
    return with_bytes(status);
}

/* ---- reconcile ----------------------------------------------------------------------------------------------------- */

#ifndef ROOST_JS_CORE
int EXPORT(reconcile_new)(int method, int multiset)
{
    roost_reconcile *session;
    roost_reconcile_config config = {(roost_reconcile_method)method, multiset};
    roost_status status = roost_reconcile_new_initiator(&session, &config, NULL);
    return with_object(status, session);
}

int EXPORT(reconcile_respond)(const void *message, size_t size)
{
    roost_reconcile *session;
    roost_status status = roost_reconcile_new_responder(&session, message, size, NULL);
    return with_object(status, session);
}

void EXPORT(reconcile_free)(roost_reconcile *session)
{
    roost_reconcile_free(session);
}

int EXPORT(reconcile_add)(roost_reconcile *session, const void *key, size_t size)
{
    return (int)roost_reconcile_add(session, key, size, 1);
}

int EXPORT(reconcile_add_many)(roost_reconcile *session, const roost_bytes *keys, size_t count)
{
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < count && status == ROOST_OK; i++)
        status = roost_reconcile_add(session, keys[i].data, keys[i].size, 1);
    return (int)status;
}

int EXPORT(reconcile_next)(roost_reconcile *session, const void *message, size_t size)
{
    return with_bytes(roost_reconcile_next(session, fresh_buffer(), message, size));
}

int EXPORT(reconcile_is_done)(const roost_reconcile *session)
{
    return roost_reconcile_is_done(session);
}

void EXPORT(reconcile_result)(const roost_reconcile *session)
{
    roost_reconcile_result result = roost_reconcile_get_result(session);
    results[0] = (double)result.keys;
    results[1] = (double)result.only_here;
    results[2] = (double)result.only_there;
    results[3] = (double)result.changed;
    results[4] = result.messages;
    results[5] = (double)result.sent;
    results[6] = (double)result.received;
    results[7] = result.exact;
    results[8] = result.complete;
}

/* Writes three 64-bit numbers for each of `only_here`; JavaScript has made room for them. */
void EXPORT(reconcile_differences)(const roost_reconcile *session, roost_difference *differences)
{
    roost_reconcile_get_differences(session, differences);
}
#endif
