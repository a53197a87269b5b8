/*
 * There are three kinds of readers: a person at a terminal, who gets a status line that is overwritten, and a line for
 * each error; a log, which gets those lines alone; and a program, which gets each event as a JSON object on a line.
 *
 * An error is reported once, not each time that it occurs: its text is remembered by a hash for each region, and for
 * each key that a region refuses. Keys are bytes; in messages unprintable ones are written as \x and two digits.
 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/config_difference.h"
#include "cli/base/json.h"
#include "cli/base/machine.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/base/progress.h"

#define REPORT_AGAIN  60000 /* milliseconds */
#define LONGEST_KEY   200   /* bytes of a key that are shown */
#define MANY_ROWS     10000 /* with more rows than this, the status is computed every MANY_PAUSE milliseconds */
#define MANY_PAUSE    2000
#define KEYS_REPORTED 5 /* refused keys a minute that are listed */
#define KEY_ROOM      (4 * LONGEST_KEY + 40)

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash | 1;
}

static void printable_bytes(char text[KEY_ROOM], int database, roost_bytes key)
{
    const unsigned char *bytes = key.data;
    size_t size = key.size < LONGEST_KEY ? key.size : LONGEST_KEY;
    text += database ? sprintf(text, "(database %d) ", database) : 0;
    for (size_t i = 0; i < size; i++)
        text +=
            bytes[i] < 0x20 || bytes[i] == 0x7f ? sprintf(text, "\\x%02x", bytes[i]) : sprintf(text, "%c", bytes[i]);
    strcpy(text, size < key.size ? "..." : "");
}

static void printable_key(char text[KEY_ROOM], const struct row *row)
{
    printable_bytes(text, row->database, (roost_bytes){row->key, row->key_size});
}

static void event_begin(struct json *json, const char *event)
{
    const uint64_t milliseconds = machine_time() / 1000;
    json_begin(json);
    json_text(json, "event", event);
    json_number(json, "time", (double)milliseconds / 1000);
}

static void event_end(struct json *json)
{
    json_end(json);
    fflush(stdout);
}

static void event_region(struct json *json, const struct region *region)
{
    json_text(json, "peer", deployment_name(region->deployment));
}

static void event_row(struct json *json, const struct row *row)
{
    json_count(json, "database", (uint64_t)row->database);
    json_bytes(json, "key", (roost_bytes){row->key, row->key_size});
}

static bool speaks_json(const struct region *region)
{
    return region->engine->settings->json;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

struct report {
    bool shows_line, in_step, reported_databases, reported_writers;
    uint64_t begun, line_at, line_bytes;
    double rate;
};

void report_start(struct engine *engine)
{
    struct json json;
    engine->report = calloc(1, sizeof *engine->report);
    if (!engine->report)
        return;
    engine->report->shows_line = !engine->settings->json && !engine->settings->quiet && isatty(STDERR_FILENO);
    engine->report->begun = event_loop_now(engine->loop);
    if (!engine->settings->json)
        return;
    event_begin(&json, "start");
    json_text(&json, "version", roost_version());
    json_count(&json, "peers", engine->count);
    json_count(&json, "interval_ms", engine->settings->interval);
    event_end(&json);
}

static void event_status(struct json *json, struct engine *engine)
{
    struct status status;
    report_status(engine, &status);
    json_count(json, "keys", status.keys);
    json_count(json, "behind", status.behind);
    json_count(json, "conflicts", status.conflicts);
    json_count(json, "withheld", status.withheld);
}

void report_stop(struct engine *engine)
{
    struct json json;
    progress_erase();
    report_refusals(engine, true);
    if (engine->report && engine->settings->json) {
        event_begin(&json, "stop");
        event_status(&json, engine);
        event_end(&json);
    }
    free(engine->report);
    engine->report = NULL;
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

void report_region(struct region *region, bool up)
{
    struct json json;
    if (!speaks_json(region))
        return;
    event_begin(&json, up ? "up" : "down");
    event_region(&json, region);
    if (up)
        json_bool(&json, "cluster", deployment_is_cluster(region->deployment));
    event_end(&json);
}

void report_error(struct region *region, const char *text)
{
    struct json json;
    if (!speaks_json(region)) {
        if (text)
            complain_plainly("%s", text);
        return;
    }
    event_begin(&json, text ? "error" : "recovered");
    event_region(&json, region);
    if (text)
        json_text(&json, "text", text);
    event_end(&json);
}

/* Whether the text is one of the last few that were reported within a minute; otherwise it becomes one. */
static bool was_reported_lately(struct region *region, uint32_t hash)
{
    uint64_t now = event_loop_now(region->engine->loop);
    struct complaint *place = region->complaints, *end = place + sizeof region->complaints / sizeof *place;
    for (struct complaint *complaint = place; complaint < end; complaint++) {
        if (complaint->hash == hash && now - complaint->at < REPORT_AGAIN)
            return true;
        if (complaint->at < place->at || complaint->hash == hash)
            place = complaint;
        if (complaint->hash == hash)
            break;
    }
    *place = (struct complaint){hash, now};
    return false;
}

void report_error_at(struct region *region, const char *who, const char *text)
{
    struct json json;
    if (was_reported_lately(region, hash_text(text)))
        return;
    if (!speaks_json(region)) {
        complain(who, "%s", text);
        return;
    }
    event_begin(&json, "error");
    event_region(&json, region);
    json_text(&json, "server", who);
    json_text(&json, "text", text);
    event_end(&json);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

void report_work(struct region *region, const struct row *row, const char *event, uint64_t bytes)
{
    struct json json;
    if (!speaks_json(region))
        return;
    event_begin(&json, event);
    event_region(&json, region);
    event_row(&json, row);
    json_count(&json, "bytes", bytes);
    event_end(&json);
}

static void report_rest(struct region *region)
{
    char things[THINGS_ROOM];
    format_things(things, region->refusals.more, "more key");
    if (region->refusals.more)
        complain(deployment_name(region->deployment), "%s refused for this or another reason (--json lists each)",
                 things);
    region->refusals.more = region->refusals.reported = 0;
}

/* Some a minute are reported; the others are counted. */
static bool may_report_key(struct region *region)
{
    uint64_t now = event_loop_now(region->engine->loop);
    if (region->refusals.reported == 0)
        region->refusals.since = now;
    if (region->refusals.reported < KEYS_REPORTED)
        return ++region->refusals.reported;
    region->refusals.more++;
    return false;
}

void report_refusals(struct engine *engine, bool end)
{
    uint64_t now = event_loop_now(engine->loop);
    for (unsigned i = 0; i < engine->count; i++) {
        struct region *region = &engine->regions[i];
        if (region->refusals.reported && (end || now - region->refusals.since >= REPORT_AGAIN))
            report_rest(region);
    }
}

bool report_is_new(struct region *region, struct work *work, const char *text)
{
    uint32_t hash = hash_text(text);
    bool is_new = work->of[region->index].complaint != hash;
    work->of[region->index].complaint = hash;
    return is_new;
}

void report_conflict(struct region *region, const struct row *row, const char *text)
{
    struct json json;
    char key[KEY_ROOM];
    if (!speaks_json(region)) {
        printable_key(key, row);
        if (may_report_key(region))
            complain(deployment_name(region->deployment), "key %s: %s", key, text);
        return;
    }
    event_begin(&json, "conflict");
    event_region(&json, region);
    event_row(&json, row);
    json_text(&json, "text", text);
    event_end(&json);
}

static void say_mismatch(struct region *region, const struct region *other, const struct row *row,
                         const struct difference *difference)
{
    char key[KEY_ROOM];
    const char *here = deployment_name(region->deployment), *there = deployment_name(other->deployment);
    printable_key(key, row);
    if (!may_report_key(region))
        return;
    if (difference)
        complain(here, "key %s: not merged with %s: %s %s here, %s there", key, there, difference->field,
                 difference->ours, difference->theirs);
    else
        complain(here, "key %s: not merged with %s, where it was created with other options; compare ROOST.INFO", key,
                 there);
}

void report_mismatch(struct region *region, struct region *other, const struct row *row,
                     const struct difference *difference)
{
    struct json json;
    if (!speaks_json(region)) {
        say_mismatch(region, other, row, difference);
        return;
    }
    event_begin(&json, "conflict");
    event_region(&json, region);
    event_row(&json, row);
    json_text(&json, "text", roost_status_text(ROOST_MISMATCH));
    json_text(&json, "other_peer", deployment_name(other->deployment));
    if (difference) {
        json_text(&json, "option", difference->field);
        json_text(&json, "value", difference->ours);
        json_text(&json, "other_value", difference->theirs);
    }
    event_end(&json);
}

void report_clock(struct region *region, int database, roost_bytes key, int64_t ahead)
{
    struct json json;
    char text[KEY_ROOM];
    if (speaks_json(region)) {
        event_begin(&json, "clock");
        event_region(&json, region);
        json_integer(&json, "ahead_ms", ahead);
        json_count(&json, "database", (uint64_t)database);
        json_bytes(&json, "key", key);
        event_end(&json);
        return;
    }
    printable_bytes(text, database, key);
    complain(
        deployment_name(region->deployment),
        "its clock is %lld s %s those of others: set it right. Until then windows and counters (key %s is one) %s; "
        "an operation that is repeated in another region may count twice",
        (long long)((ahead < 0 ? -ahead : ahead) + 500) / 1000, ahead < 0 ? "behind" : "ahead of", text,
        ahead < 0 ? "leave it, but do not reach it" : "reach it, but do not leave it");
}

void report_ahead(struct region *region, struct region *refusing, int database, roost_bytes key)
{
    struct json json;
    char text[KEY_ROOM];
    if (speaks_json(region)) {
        event_begin(&json, "ahead");
        event_region(&json, region);
        json_text(&json, "refused_by", deployment_name(refusing->deployment));
        json_count(&json, "database", (uint64_t)database);
        json_bytes(&json, "key", key);
        event_end(&json);
        return;
    }
    printable_bytes(text, database, key);
    complain(deployment_name(region->deployment),
             "windows and counters (key %s is one) hold times that are ahead of the clock of %s, which takes them when "
             "its clock is there: compare the clocks of the two",
             text, deployment_name(refusing->deployment));
}

void report_writers(struct region *region, const struct row *row, int64_t writers)
{
    struct json json;
    char key[KEY_ROOM];
    struct engine *engine = region->engine;
    if (speaks_json(region)) {
        event_begin(&json, "writers");
        event_region(&json, region);
        event_row(&json, row);
        json_integer(&json, "writers", writers);
        json_count(&json, "regions", engine->count);
        event_end(&json);
    } else if (engine->report && !engine->report->reported_writers) {
        printable_key(key, row);
        complain(deployment_name(region->deployment),
                 "key %s: made for %lld writer%s, but there are %u regions: its false positive rate may exceed the "
                 "promised one "
                 "(set roost.bf-writers before creating keys; more keys like it are not reported)",
                 key, (long long)writers, writers == 1 ? "" : "s", engine->count);
        engine->report->reported_writers = true;
    }
}

void report_databases(struct engine *engine)
{
    const struct region *cluster = NULL;
    struct json json;
    for (unsigned i = 0; i < engine->count && !cluster; i++)
        if (deployment_is_cluster(engine->regions[i].deployment))
            cluster = &engine->regions[i];
    if (!cluster || !engine->report || engine->report->reported_databases)
        return;
    engine->report->reported_databases = true;
    const char *text = "is a cluster, which has only database 0: keys of other databases are not sent to it";
    if (!engine->settings->json) {
        complain(deployment_name(cluster->deployment), "%s", text);
        return;
    }
    event_begin(&json, "error");
    event_region(&json, cluster);
    json_text(&json, "text", text);
    event_end(&json);
}

void report_in_step(struct engine *engine, bool in_step)
{
    struct json json;
    bool before = !engine->report || engine->report->in_step;
    if (!engine->report || engine->stopping || before == in_step)
        return;
    engine->report->in_step = in_step;
    if (!in_step || !engine->settings->json)
        return;
    event_begin(&json, "in_step");
    event_status(&json, engine);
    event_end(&json);
}

void report_left(struct engine *engine, size_t keys)
{
    struct json json;
    char things[THINGS_ROOM];
    format_things(things, keys, "key");
    if (!engine->settings->json) {
        complain_plainly("%s kept changing: the regions are not equal", things);
        return;
    }
    event_begin(&json, "changing");
    json_count(&json, "keys", keys);
    event_end(&json);
}

void report_withheld(struct region *region, uint64_t keys)
{
    struct json json;
    char things[THINGS_ROOM];
    format_things(things, keys, "key");
    if (!speaks_json(region)) {
        complain(deployment_name(region->deployment),
                 "%s of other regions not sent there: evicted, or no room within maxmemory (--refill sends them)",
                 things);
        return;
    }
    event_begin(&json, "withheld");
    event_region(&json, region);
    json_count(&json, "keys", keys);
    event_end(&json);
}

/* ---- status ------------------------------------------------------------------------------------------------------ */

static void count_row(void *context, struct row *row)
{
    struct status *status = ((void **)context)[0];
    const struct engine *engine = ((void **)context)[1];
    bool value = false;
    for (unsigned i = 0; i < engine->count; i++) {
        const struct view *view = &row->views[i];
        value |= view->known && view->value;
    }
    status->keys += value;
    for (unsigned i = 0; value && i < engine->count; i++)
        status->peers[i].withheld += row->views[i].known && row->views[i].withheld;
}

static void lag_since(struct peer_status *peer, uint64_t now, uint64_t since)
{
    if (now > since && now - since > peer->lag)
        peer->lag = now - since;
}

/* A region that is not ready, or whose listing does not advance, may have changed since then. */
static void count_region(const struct region *region, struct peer_status *peer, uint64_t now)
{
    if (!region->ready)
        lag_since(peer, now, region->away_since);
    if (region->refusing_since && !region_is_full(region) && peer->withheld) {
        lag_since(peer, now,
                  region->refusing_since); /* it does not evict, so the keys that it refuses are missing there */
        peer->behind += peer->withheld;
    }
    for (const struct listener *listener = region->listeners; listener; listener = listener->next)
        if (listener->stalls)
            lag_since(peer, now, listener->stalled_since);
}

static void count_work(struct work *work, struct status *status, uint64_t now)
{
    region_set all = regions_of(work->engine, work->row);
    for (unsigned i = 0; i < work->regions; i++)
        if (work_is_behind(work, i, all)) {
            status->peers[i].behind++;
            lag_since(&status->peers[i], now, work->of[i].behind_since ? work->of[i].behind_since : now);
        }
    status->conflicts += work_any_conflict(work);
    status->behind -= work_any_refusal(work) && work->resolved;
}

void report_status(struct engine *engine, struct status *status)
{
    uint64_t now = event_loop_now(engine->loop);
    *status = (struct status){.behind = engine->keys_behind};
    rows_each(&engine->rows, count_row, (void *[]){status, engine});
    for (struct work *work = engine->works; work; work = work->after)
        count_work(work, status, now);
    for (unsigned i = 0; i < engine->count; i++) {
        count_region(&engine->regions[i], &status->peers[i], now);
        status->withheld += status->peers[i].withheld;
        if (status->peers[i].lag > status->lag)
            status->lag = status->peers[i].lag;
    }
}

static uint64_t all_bytes(const struct engine *engine)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < engine->count; i++)
        bytes += deployment_sent(engine->regions[i].deployment) + deployment_received(engine->regions[i].deployment);
    return bytes;
}

static void update_rate(struct engine *engine)
{
    struct report *report = engine->report;
    uint64_t now = event_loop_now(engine->loop), bytes = all_bytes(engine);
    if (report->line_at && now > report->line_at) {
        double latest = (double)(bytes - report->line_bytes) * 1000 / (double)(now - report->line_at);
        report->rate += (latest - report->rate) / 4;
    }
    report->line_at = now;
    report->line_bytes = bytes;
}

static void format_status(char *text, size_t room, struct engine *engine)
{
    struct status status;
    char keys[THINGS_ROOM], behind[COUNT_ROOM], bytes[COUNT_ROOM];
    unsigned up = 0;
    for (unsigned i = 0; i < engine->count; i++)
        up += engine->regions[i].ready;
    report_status(engine, &status);
    format_things(keys, status.keys, "key");
    format_count(behind, status.behind);
    format_bytes(bytes, (uint64_t)engine->report->rate);
    int size = snprintf(text, room, "%u of %u regions up, %s, ", up, engine->count, keys);
    if (status.behind)
        size +=
            snprintf(text + size, room - (size_t)size, "%s behind, lag %.1f s, ", behind, (double)status.lag / 1000);
    else
        size += snprintf(text + size, room - (size_t)size, "in step, ");
    if (status.conflicts)
        size += snprintf(text + size, room - (size_t)size, "%llu in conflict, ", (unsigned long long)status.conflicts);
    if (status.withheld)
        size += snprintf(text + size, room - (size_t)size, "%llu withheld, ", (unsigned long long)status.withheld);
    snprintf(text + size, room - (size_t)size, "%s/s", bytes);
}

void report_status_line(struct engine *engine)
{
    char text[320];
    uint64_t now = event_loop_now(engine->loop);
    if (!engine->report || !engine->report->shows_line ||
        (engine->rows.count > MANY_ROWS && now - engine->report->line_at < MANY_PAUSE))
        return;
    update_rate(engine);
    format_status(text, sizeof text, engine);
    progress_show(text);
}

/* ---- the end of --once ------------------------------------------------------------------------------------------- */

static void print_done(const struct region *region)
{
    char sent[COUNT_ROOM], received[COUNT_ROOM];
    const struct counters *counters = &region->counters;
    const struct {
        uint64_t count;
        const char *what;
    } done[] = {{counters->seeds, "created"},
                {counters->merges, "merged"},
                {counters->syncs, "synced"},
                {counters->deletions, "deleted"}};
    format_bytes(sent, deployment_sent(region->deployment));
    format_bytes(received, deployment_received(region->deployment));
    printf("; %s: ", deployment_name(region->deployment));
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        if (done[i].count)
            printf("%llu %s, ", (unsigned long long)done[i].count, done[i].what);
    printf("%s sent, %s received", sent, received);
}

void report_once(struct engine *engine, bool equal)
{
    struct status status;
    char keys[THINGS_ROOM];
    if (engine->settings->json || engine->settings->quiet)
        return;
    report_status(engine, &status);
    progress_erase();
    format_things(keys, status.keys, "key");
    printf("%s in %u regions, %s", keys, engine->count, equal ? "all equal" : "not all equal");
    for (unsigned i = 0; i < engine->count; i++)
        print_done(&engine->regions[i]);
    putchar('\n');
}
