/* See ask.h. */
#include "ask.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "cli/base/config_difference.h"
#include "client/reply_fields.h"
#include "clock.h"
#include "replies.h"
#include "report.h"

/* ---- views ------------------------------------------------------------------------------------------------------- */

bool take_view(struct row *row, unsigned region, const struct view *view, bool is_summary)
{
    struct view *old = &row->views[region];
    bool same_incarnation = old->known && old->cursor.incarnation == view->cursor.incarnation;
    bool older = same_incarnation && (view->value ? view->cursor.sequence < old->cursor.sequence
                                                  : view->generation < old->generation && !is_summary);
    if (older)
        return true;
    if (!is_summary && !same_incarnation && row->work->doubtful) {
        old->known = false; /* it is not known which of the two is newer */
        return false;
    }
    struct view after = view_after(old, view);
    after.listing = old->listing;
    *old = after;
    return true;
}

void take_reply(struct work *work, unsigned region, const struct view *view)
{
    take_view(work->row, region, view, false);
    view_of(work, region)->listing = region_of(work, region)->listing;
}

void forget_view(struct work *work, unsigned region)
{
    view_of(work, region)->known = false;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* A command under way, and the round that sent it. */
struct ticket {
    struct work *work;
    unsigned region;
    uint32_t serial, reports; /* reports: how often summaries had mentioned the key */
    taken *take;
    void *context;
};

static void ticket_back(struct ticket ticket)
{
    struct work *work = ticket.work;
    work->outstanding--;
    if (ticket.serial == work->serial) {
        work->of[ticket.region].waiting--;
        work->engine->events->command_answered(work);
    } else if (!work->running && work->outstanding == 0) {
        work->engine->events->last_command_answered(work);
    }
}

static void answered_ticket(void *context, const redisReply *reply, const char *error)
{
    struct ticket ticket = *(struct ticket *)context;
    (void)error; /* the deployment reports it */
    free(context);
    region_answered(region_of(ticket.work, ticket.region));
    ticket.work->doubtful = ticket.reports != ticket.work->of[ticket.region].reports;
    ticket.take(ticket.context, reply);
    ticket_back(ticket);
}

void ask(struct work *work, uint32_t serial, unsigned region, struct words words, taken *take, void *context)
{
    struct ticket *ticket = malloc(sizeof *ticket);
    if (!ticket) {
        take(context, NULL);
        return;
    }
    *ticket = (struct ticket){work, region, serial, work->of[region].reports, take, context};
    work->outstanding++;
    if (serial == work->serial) {
        work->pending++;
        work->of[region].waiting++;
    }
    region_asked(region_of(work, region));
    deployment_ask(region_of(work, region)->deployment, work->row->database, key_word(work), words, answered_ticket,
                   ticket);
}

/* ---- conflicts --------------------------------------------------------------------------------------------------- */

/* Two regions refuse each other's values of a key: both are asked for its configuration, one after the other. */
struct comparison {
    struct work *work;
    uint32_t serial;
    unsigned region, other;
    roost_config config; /* of the first that was asked */
};

static void ask_for_config(struct comparison *comparison, unsigned region, taken *take)
{
    struct work *work = comparison->work;
    roost_bytes words[] = {text_word("ROOST.INFO"), key_word(work)};
    ask(work, comparison->serial, region, (struct words){words, 2}, take, comparison);
}

/* Whether a server replied with a configuration. Otherwise it is too old, or this user may not ask for it. */
static bool take_config(roost_config *config, const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && read_config(config, reply);
}

static void take_their_config(void *context, const redisReply *reply)
{
    struct comparison comparison = *(struct comparison *)context;
    roost_config theirs;
    struct difference difference;
    free(context);
    bool found = take_config(&theirs, reply) && config_difference(&difference, &comparison.config, &theirs);
    report_mismatch(region_of(comparison.work, comparison.region), region_of(comparison.work, comparison.other),
                    comparison.work->row, found ? &difference : NULL);
}

static void take_our_config(void *context, const redisReply *reply)
{
    struct comparison *comparison = context;
    if (take_config(&comparison->config, reply))
        ask_for_config(comparison, comparison->other, take_their_config);
    else
        take_their_config(comparison, NULL);
}

/* Reports in which option the two differ. */
static void compare_configs(struct work *work, unsigned region, unsigned other)
{
    struct comparison *comparison = malloc(sizeof *comparison);
    if (!comparison) {
        report_mismatch(region_of(work, region), region_of(work, other), work->row, NULL);
        return;
    }
    *comparison = (struct comparison){.work = work, .serial = work->serial, .region = region, .other = other};
    ask_for_config(comparison, region, take_our_config);
}

/* Between a region and all others. */
static void conflict_with_all(struct work *work, unsigned region)
{
    region_set all = regions_of(work->engine, work->row);
    for (unsigned other = 0; other < work->regions; other++)
        if (other != region && has(all, other))
            work_conflict(work, region, other);
}

static void refuse(struct work *work, unsigned region, int other, const char *text)
{
    if (other >= 0 && is_clock_error(text)) {
        work_note_ahead(work, (unsigned)other, region);
        region_of(work, region)->counters.errors++;
        clock_refused(work, (unsigned)other, region);
        return;
    }
    bool known_already = other >= 0 && work_conflicts(work, region, (unsigned)other);
    bool with_one = other >= 0 && is_configuration_error(text);
    if (with_one)
        work_conflict(work, region, (unsigned)other);
    else
        conflict_with_all(work, region);
    region_of(work, region)->counters.errors++;
    if (known_already || !report_is_new(region_of(work, region), work, text))
        return;
    if (with_one)
        compare_configs(work, region, (unsigned)other);
    else
        report_conflict(region_of(work, region), work->row, text);
}

static bool is_at_top(const struct work *work, unsigned region)
{
    for (unsigned other = 0; other < work->regions; other++)
        if (view_of(work, other)->known && view_of(work, other)->generation > view_of(work, region)->generation)
            return false;
    return true;
}

/* A key that the region lacks is withheld from it. A key that it holds takes no part in rounds until there may be
   room. */
static void refuse_for_memory(struct work *work, unsigned region, const char *text)
{
    struct view *view = view_of(work, region);
    struct region *to = region_of(work, region);
    region_out_of_memory(to);
    report_error_at(to, deployment_name(to->deployment), text);
    if (view->known && !view->value && is_at_top(work, region)) {
        view->withheld = true;
        view->digest = (roost_digest){0}; /* until the round fills it in */
    } else {
        work->full |= one_region(region);
    }
}

bool is_answer(struct work *work, unsigned region, int other, const redisReply *reply)
{
    if (!reply) {
        work->failed = true;
    } else if (reply->type != REDIS_REPLY_ERROR) {
        return true;
    } else if (is_outdated_error(reply->str)) {
        forget_view(work, region);
    } else if (is_memory_error(reply->str)) {
        refuse_for_memory(work, region, reply->str);
    } else if (is_passing_error(reply->str)) {
        work->failed = true;
        region_of(work, region)->counters.errors++;
        report_error_at(region_of(work, region), deployment_name(region_of(work, region)->deployment), reply->str);
    } else {
        refuse(work, region, other, reply->str);
    }
    return false;
}

void refuse_nonsense(struct work *work, unsigned region)
{
    refuse(work, region, -1, "the server's reply is invalid");
}
