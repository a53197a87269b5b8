/*
 * A server that refuses a frame because it is ahead of its clock cannot know which of the two clocks is wrong. The link
 * asks all regions for the time (TIME, at the primary that has the key) and takes the median:
 *
 *     two regions     of the two and the clock of this machine
 *     more            of the regions
 *
 *     Amsterdam 12:00:00   Tokyo 12:05:00   this machine 12:00:01      Tokyo is 299 s ahead of the median
 *
 * The result is reported once for each region, and again when its clock is off by another amount, not for each key. If
 * TIME is not answered, for instance because the user has no right to it, or if all clocks agree by then, the report
 * says which region refuses which.
 *
 * While values are refused, clocks are compared every few seconds, which costs one short command a region. When a clock
 * was set, everything that was refused is retried at once. The passing of time changes no difference between clocks, so
 * values ahead of a clock are otherwise retried after the pause of all conflicts.
 */
#include "clock.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "cli/base/machine.h"

#define COMPARE_EVERY 5000 /* milliseconds */
#define WRONG_BY      1000 /* at least, for a clock to be called wrong */
#define SAME_BY       2000 /* at most, between two measurements of a clock that was not set */

struct clock {
    bool known;
    int64_t ahead;                /* of this machine, in milliseconds */
    bool reported;                /* it was reported as wrong */
    int64_t reported_ahead;       /* by so much, compared with the others */
    region_set refused_by;        /* regions that refused its values since the last comparison */
    region_set refusals_reported; /* regions of which that was reported without knowing whose clock is wrong */
    bool has_before;
    int64_t before; /* `ahead` when refused values were last retried */
};

struct clocks {
    struct engine *engine;
    struct clock regions[MOST_REGIONS];
    unsigned asked; /* outstanding replies */
    bool released;  /* to be freed with the last reply */
    struct timer *timer;
    bool refused; /* a value was refused since the last comparison */
    char *key;    /* of one refused value */
    size_t key_size;
    int database;
};

struct question {
    struct clocks *clocks;
    unsigned region;
    uint64_t asked_at; /* by the wall clock */
};

static void clocks_free(struct clocks *clocks)
{
    free(clocks->key);
    free(clocks);
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return one < other ? -1 : one > other;
}

/* How far the median is ahead of this machine. */
static int64_t right_time(const struct clocks *clocks)
{
    int64_t ahead[MOST_REGIONS + 1];
    size_t count = 0;
    for (unsigned i = 0; i < clocks->engine->count; i++)
        if (clocks->regions[i].known)
            ahead[count++] = clocks->regions[i].ahead;
    if (count < 3)
        ahead[count++] = 0;
    qsort(ahead, count, sizeof *ahead, compare_numbers);
    return ahead[(count - 1) / 2];
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

static roost_bytes key_of(const struct clocks *clocks)
{
    return (roost_bytes){clocks->key, clocks->key_size};
}

static void report_wrong(struct clocks *clocks, unsigned region, int64_t ahead)
{
    struct clock *clock = &clocks->regions[region];
    int64_t tolerance = distance(ahead, 0) / 10 > SAME_BY ? distance(ahead, 0) / 10 : SAME_BY;
    if (clock->reported && distance(clock->reported_ahead, ahead) <= tolerance)
        return;
    clock->reported = true;
    clock->reported_ahead = ahead;
    report_clock(&clocks->engine->regions[region], clocks->database, key_of(clocks), ahead);
}

static void report_refused(struct clocks *clocks, unsigned source, unsigned destination)
{
    struct clock *clock = &clocks->regions[source];
    if (clock->refusals_reported & one_region(destination))
        return;
    clock->refusals_reported |= one_region(destination);
    report_ahead(&clocks->engine->regions[source], &clocks->engine->regions[destination], clocks->database,
                 key_of(clocks));
}

/* Reports the clock of the two that is further from the median, if one is. */
static void judge(struct clocks *clocks, unsigned source, unsigned destination)
{
    const struct clock *one = &clocks->regions[source], *other = &clocks->regions[destination];
    int64_t right = right_time(clocks);
    int64_t source_off = distance(one->ahead, right), destination_off = distance(other->ahead, right);
    bool source_is_wrong = source_off >= destination_off;
    if (!one->known || !other->known || (source_is_wrong ? source_off : destination_off) < WRONG_BY ||
        one->ahead - other->ahead < WRONG_BY)
        report_refused(clocks, source, destination);
    else if (source_is_wrong)
        report_wrong(clocks, source, one->ahead - right);
    else
        report_wrong(clocks, destination, other->ahead - right);
}

static void judge_all(struct clocks *clocks)
{
    for (unsigned source = 0; clocks->refused && source < clocks->engine->count; source++)
        for (unsigned destination = 0; destination < clocks->engine->count; destination++)
            if (clocks->regions[source].refused_by & one_region(destination))
                judge(clocks, source, destination);
    for (unsigned i = 0; i < clocks->engine->count; i++)
        clocks->regions[i].refused_by = 0;
    clocks->refused = false;
}

/* A clock that is right again may be reported again later. */
static void forget_the_right(struct clocks *clocks)
{
    int64_t right = right_time(clocks);
    for (unsigned i = 0; i < clocks->engine->count; i++) {
        struct clock *clock = &clocks->regions[i];
        if (clock->known && distance(clock->ahead, right) < WRONG_BY)
            clock->reported = false;
    }
}

/* ---- clocks that were set ---------------------------------------------------------------------------------------- */

/* Compared with each other, so that setting this machine's own clock has no effect. */
static bool was_any_set(struct clocks *clocks)
{
    const struct clock *first = NULL;
    for (unsigned i = 0; i < clocks->engine->count; i++) {
        const struct clock *clock = &clocks->regions[i];
        if (!clock->known || !clock->has_before)
            continue;
        if (first && distance(clock->ahead - clock->before, first->ahead - first->before) > SAME_BY)
            return true;
        first = first ? first : clock;
    }
    return false;
}

static void note_clocks(struct clocks *clocks, bool all)
{
    for (unsigned i = 0; i < clocks->engine->count; i++) {
        struct clock *clock = &clocks->regions[i];
        if (clock->known && (all || !clock->has_before)) {
            clock->before = clock->ahead;
            clock->has_before = true;
        }
    }
}

static bool anything_is_refused(const struct engine *engine)
{
    for (const struct work *work = engine->works; work; work = work->after)
        if (work_any_ahead(work))
            return true;
    return false;
}

/* ---- the question ------------------------------------------------------------------------------------------------ */

static void compare_clocks(struct clocks *clocks);

static void compare_again(void *context)
{
    struct clocks *clocks = context;
    clocks->timer = NULL;
    if (clocks->refused || anything_is_refused(clocks->engine))
        compare_clocks(clocks);
}

static void compared(struct clocks *clocks)
{
    bool set = was_any_set(clocks);
    forget_the_right(clocks);
    judge_all(clocks);
    note_clocks(clocks, set);
    if (set)
        clocks->engine->events->clocks_set(clocks->engine);
    if (!clocks->timer)
        clocks->timer = timer_add(clocks->engine->loop, COMPARE_EVERY, compare_again, clocks);
}

/* [seconds, microseconds], each as a text */
static bool read_time(int64_t *milliseconds, const redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING || reply->element[1]->type != REDIS_REPLY_STRING)
        return false;
    long long seconds = strtoll(reply->element[0]->str, NULL, 10), rest = strtoll(reply->element[1]->str, NULL, 10);
    if (seconds < 0 || seconds > INT64_MAX / 2000 || rest < 0 || rest > 999999)
        return false;
    *milliseconds = seconds * 1000 + rest / 1000;
    return true;
}

static void take_time(void *context, const redisReply *reply, const char *error)
{
    struct question question = *(struct question *)context;
    struct clocks *clocks = question.clocks;
    struct clock *clock = &clocks->regions[question.region];
    int64_t there, before = (int64_t)(question.asked_at / 1000), now = (int64_t)(machine_time() / 1000);
    (void)error;
    free(context);
    clocks->asked--;
    if (clocks->released) {
        if (clocks->asked == 0)
            clocks_free(clocks);
        return;
    }
    clock->known = read_time(&there, reply);
    if (clock->known)
        clock->ahead = there - (before + (now - before) / 2);
    if (clocks->asked == 0)
        compared(clocks);
}

static void ask_time(struct clocks *clocks, unsigned region)
{
    static const roost_bytes words[] = {{"TIME", 4}};
    struct question *question = malloc(sizeof *question);
    clocks->regions[region].known = false;
    if (!question)
        return;
    *question = (struct question){clocks, region, machine_time()};
    clocks->asked++;
    deployment_ask(clocks->engine->regions[region].deployment, 0, key_of(clocks), (struct words){words, 1}, take_time,
                   question);
}

/* A reply may come before all commands are sent. */
static void compare_clocks(struct clocks *clocks)
{
    if (clocks->asked)
        return;
    clocks->asked++;
    for (unsigned i = 0; i < clocks->engine->count; i++) {
        if (clocks->engine->regions[i].ready)
            ask_time(clocks, i);
        else
            clocks->regions[i].known = false;
    }
    if (--clocks->asked == 0)
        compared(clocks);
}

/* A copy, since the row may be removed. */
static bool keep_key(struct clocks *clocks, const struct row *row)
{
    char *key = malloc(row->key_size + 1);
    if (!key)
        return false;
    memcpy(key, row->key, row->key_size);
    free(clocks->key);
    clocks->key = key;
    clocks->key_size = row->key_size;
    clocks->database = row->database;
    return true;
}

void clock_refused(struct work *work, unsigned source, unsigned destination)
{
    struct engine *engine = work->engine;
    struct clocks *clocks = engine->clocks;
    if (!clocks && !(clocks = engine->clocks = calloc(1, sizeof *clocks)))
        return;
    clocks->engine = engine;
    if (!clocks->refused && !clocks->asked && !keep_key(clocks, work->row))
        return;
    clocks->regions[source].refused_by |= one_region(destination);
    clocks->refused = true;
    if (!clocks->timer && !engine->stopping)
        compare_clocks(clocks);
}

bool clocks_are_compared(const struct engine *engine)
{
    return engine->clocks && engine->clocks->asked > 0;
}

void clocks_release(struct engine *engine)
{
    struct clocks *clocks = engine->clocks;
    if (!clocks)
        return;
    judge_all(clocks);
    timer_remove(clocks->timer);
    engine->clocks = NULL;
    clocks->released = true;
    if (clocks->asked == 0)
        clocks_free(clocks);
}
