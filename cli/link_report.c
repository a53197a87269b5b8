/*
 * Three readers: somebody at a terminal, who gets one line that is written over again and again, and lines for what
 * goes wrong; a log, which gets those lines alone; and a program, which gets each event as a JSON object on a line.
 *
 * The same trouble is told once, not each time that it is met: a text is remembered by its hash for each region, and
 * for each name that a region refuses. Names are bytes; in lines what cannot be printed is written as \x and two
 * digits.
 */
#include "link_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "machine.h"
#include "messages.h"
#include "numbers.h"
#include "progress.h"

#define TOLD_AGAIN   60000 /* milliseconds */
#define LONGEST_NAME 200   /* of what is shown of one, in bytes */
#define MANY_ROWS    10000 /* are counted once in so many milliseconds */
#define MANY_PAUSE   2000
#define NAME_ROOM    (4 * LONGEST_NAME + 40)

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash | 1;
}

static void printable_bytes(char text[NAME_ROOM], int database, roost_bytes name)
{
    const unsigned char *bytes = name.data;
    size_t size = name.size < LONGEST_NAME ? name.size : LONGEST_NAME;
    text += database ? sprintf(text, "(database %d) ", database) : 0;
    for (size_t i = 0; i < size; i++)
        text +=
            bytes[i] < 0x20 || bytes[i] == 0x7f ? sprintf(text, "\\x%02x", bytes[i]) : sprintf(text, "%c", bytes[i]);
    strcpy(text, size < name.size ? "..." : "");
}

static void printable_name(char text[NAME_ROOM], const struct row *row)
{
    printable_bytes(text, row->database, (roost_bytes){row->name, row->name_size});
}

static void event_begin(struct json *json, const char *event)
{
    json_begin(json);
    json_text(json, "event", event);
    json_number(json, "time", (double)(machine_time() / 1000) / 1000);
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
    json_bytes(json, "key", (roost_bytes){row->name, row->name_size});
}

static bool speaks_json(const struct region *region)
{
    return region->engine->settings->json;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

struct report {
    bool shows_line, in_step, told_databases, told_writers;
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

static void event_standing(struct json *json, struct engine *engine)
{
    struct standing standing;
    report_standing(engine, &standing);
    json_count(json, "keys", standing.keys);
    json_count(json, "behind", standing.behind);
    json_count(json, "conflicts", standing.conflicts);
}

void report_stop(struct engine *engine)
{
    struct json json;
    progress_erase();
    if (engine->report && engine->settings->json) {
        event_begin(&json, "stop");
        event_standing(&json, engine);
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

void report_trouble(struct region *region, const char *text)
{
    struct json json;
    if (!speaks_json(region)) {
        if (text)
            complain_plainly("%s", text);
        return;
    }
    event_begin(&json, text ? "trouble" : "recovered");
    event_region(&json, region);
    if (text)
        json_text(&json, "text", text);
    event_end(&json);
}

void report_trouble_at(struct region *region, const char *who, const char *text)
{
    struct json json;
    uint64_t now = event_loop_now(region->engine->loop);
    uint32_t hash = hash_text(text);
    if (region->complaint == hash && now - region->complained < TOLD_AGAIN)
        return;
    region->complaint = hash;
    region->complained = now;
    if (!speaks_json(region)) {
        complain(who, "%s", text);
        return;
    }
    event_begin(&json, "trouble");
    event_region(&json, region);
    json_text(&json, "server", who);
    json_text(&json, "text", text);
    event_end(&json);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

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

void report_conflict(struct region *region, struct work *work, const char *text)
{
    struct json json;
    char name[NAME_ROOM];
    uint32_t hash = hash_text(text);
    if (work->complaints[region->index] == hash)
        return;
    work->complaints[region->index] = hash;
    if (!speaks_json(region)) {
        printable_name(name, work->row);
        complain(deployment_name(region->deployment), "key %s: %s", name, text);
        return;
    }
    event_begin(&json, "conflict");
    event_region(&json, region);
    event_row(&json, work->row);
    json_text(&json, "text", text);
    event_end(&json);
}

void report_clock(struct region *region, int database, roost_bytes name, int64_t ahead)
{
    struct json json;
    char text[NAME_ROOM];
    if (speaks_json(region)) {
        event_begin(&json, "clock");
        event_region(&json, region);
        json_integer(&json, "ahead_ms", ahead);
        json_count(&json, "database", (uint64_t)database);
        json_bytes(&json, "key", name);
        event_end(&json);
        return;
    }
    printable_bytes(text, database, name);
    complain(
        deployment_name(region->deployment),
        "its clock is %lld s %s those of others: set it right. Until then windows and counters (key %s is one) %s; "
        "an operation that is repeated in another region may count twice",
        (long long)((ahead < 0 ? -ahead : ahead) + 500) / 1000, ahead < 0 ? "behind" : "ahead of", text,
        ahead < 0 ? "leave it, but do not reach it" : "reach it, but do not leave it");
}

void report_ahead(struct region *region, struct region *refusing, int database, roost_bytes name)
{
    struct json json;
    char text[NAME_ROOM];
    if (speaks_json(region)) {
        event_begin(&json, "ahead");
        event_region(&json, region);
        json_text(&json, "refused_by", deployment_name(refusing->deployment));
        json_count(&json, "database", (uint64_t)database);
        json_bytes(&json, "key", name);
        event_end(&json);
        return;
    }
    printable_bytes(text, database, name);
    complain(deployment_name(region->deployment),
             "windows and counters (key %s is one) hold times that are ahead of the clock of %s, which takes them when "
             "its clock is there: compare the clocks of the two",
             text, deployment_name(refusing->deployment));
}

void report_writers(struct region *region, const struct row *row, int64_t writers)
{
    struct json json;
    char name[NAME_ROOM];
    struct engine *engine = region->engine;
    if (speaks_json(region)) {
        event_begin(&json, "writers");
        event_region(&json, region);
        event_row(&json, row);
        json_integer(&json, "writers", writers);
        json_count(&json, "regions", engine->count);
        event_end(&json);
    } else if (engine->report && !engine->report->told_writers) {
        printable_name(name, row);
        complain(deployment_name(region->deployment),
                 "key %s: made for %lld writer%s, and there are %u regions: its rate of false positives may not hold "
                 "(set roost.bf-writers before keys are made; others like it are not told)",
                 name, (long long)writers, writers == 1 ? "" : "s", engine->count);
        engine->report->told_writers = true;
    }
}

void report_databases(struct engine *engine)
{
    const struct region *cluster = NULL;
    struct json json;
    for (unsigned i = 0; i < engine->count && !cluster; i++)
        if (deployment_is_cluster(engine->regions[i].deployment))
            cluster = &engine->regions[i];
    if (!cluster || !engine->report || engine->report->told_databases)
        return;
    engine->report->told_databases = true;
    const char *text = "is a cluster and has database 0 alone: keys of others stay outside it";
    if (!engine->settings->json) {
        complain(deployment_name(cluster->deployment), "%s", text);
        return;
    }
    event_begin(&json, "trouble");
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
    event_standing(&json, engine);
    event_end(&json);
}

void report_left(struct engine *engine, size_t names)
{
    struct json json;
    char things[THINGS_ROOM];
    format_things(things, names, "key");
    if (!engine->settings->json) {
        complain_plainly("%s kept changing, and the regions are not equal", things);
        return;
    }
    event_begin(&json, "changing");
    json_count(&json, "keys", names);
    event_end(&json);
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static void count_value(void *context, struct row *row)
{
    struct standing *standing = ((void **)context)[0];
    const struct engine *engine = ((void **)context)[1];
    for (unsigned i = 0; i < engine->count; i++)
        if (row->views[i].known && row->views[i].value) {
            standing->keys++;
            return;
        }
}

/* A region is behind where it is not known to agree with another one. */
static void count_behind(const struct work *work, struct standing *standing)
{
    region_set all = engine_regions_of(work->engine, work->row);
    for (unsigned a = 0; a < work->regions; a++)
        for (unsigned b = 0; b < work->regions; b++)
            if (a != b && all & one_region(a) && all & one_region(b) &&
                !views_agree(&work->row->views[a], &work->row->views[b])) {
                standing->peer_behind[a]++;
                break;
            }
}

void report_standing(struct engine *engine, struct standing *standing)
{
    uint64_t now = event_loop_now(engine->loop);
    *standing = (struct standing){.behind = engine->names_behind};
    rows_each(&engine->rows, count_value, (void *[]){standing, engine});
    for (const struct work *work = engine->works; work; work = work->after) {
        bool refused = work_any_conflict(work) && work->settled;
        standing->conflicts += work_any_conflict(work);
        standing->behind -= refused;
        count_behind(work, standing);
        if (!refused && now > work->heard && now - work->heard > standing->lag)
            standing->lag = now - work->heard;
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

static void format_standing(char *text, size_t room, struct engine *engine)
{
    struct standing standing;
    char keys[THINGS_ROOM], behind[COUNT_ROOM], bytes[COUNT_ROOM];
    unsigned up = 0;
    for (unsigned i = 0; i < engine->count; i++)
        up += engine->regions[i].ready;
    report_standing(engine, &standing);
    format_things(keys, standing.keys, "key");
    format_count(behind, standing.behind);
    format_bytes(bytes, (uint64_t)engine->report->rate);
    int size = snprintf(text, room, "%u of %u regions up, %s, ", up, engine->count, keys);
    if (standing.behind)
        size +=
            snprintf(text + size, room - (size_t)size, "%s behind, lag %.1f s, ", behind, (double)standing.lag / 1000);
    else
        size += snprintf(text + size, room - (size_t)size, "in step, ");
    if (standing.conflicts)
        size +=
            snprintf(text + size, room - (size_t)size, "%llu in conflict, ", (unsigned long long)standing.conflicts);
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
    format_standing(text, sizeof text, engine);
    progress_show(text);
}
