/*
 * See copying.h.
 *
 * The library copies what was written since the last pass, so two jobs that copied one filter at the same time would
 * make each other begin again. A list of those at work tells which filters are being copied. It names filters by the
 * number of their object: a filter may be renamed while it is copied, so that its job does not find it any more.
 */
#include "copying.h"

#define PAGES_A_STEP 64

static struct copying *at_work;

static bool is_copied_by_another(const struct filter_value *filter)
{
    for (const struct copying *other = at_work; other; other = other->next)
        if (other->object == filter->object)
            return true;
    return false;
}

static roost_status begin(struct copying *copying, const struct filter_value *filter, struct value *memory)
{
    roost_environment environment = environment_for_job(memory);
    roost_status status = roost_copy_job_new(&copying->job, filter->filter, &environment);
    if (status != ROOST_OK)
        return status;
    copying->object = filter->object;
    copying->next = at_work;
    at_work = copying;
    return ROOST_OK;
}

void copying_end(struct copying *copying)
{
    for (struct copying **place = &at_work; *place; place = &(*place)->next)
        if (*place == copying) {
            *place = copying->next;
            break;
        }
    copying->object = 0;
}

void copying_free(struct copying *copying)
{
    roost_copy_job_free(copying->job);
    roost_filter_free(copying->copy);
    copying->job = NULL;
    copying->copy = NULL;
}

enum progress copy_some(struct copying *copying, struct filter_value *filter, struct value *memory,
                        roost_status *status)
{
    bool done = false;
    if (!copying->job && is_copied_by_another(filter))
        return NOTHING_TO_DO_NOW;
    *status = copying->job ? ROOST_OK : begin(copying, filter, memory);
    if (*status == ROOST_OK)
        *status = roost_copy_job_step(copying->job, filter->filter, &done, PAGES_A_STEP);
    if (*status == ROOST_OK && !done)
        return MORE_TO_DO;
    copying_end(copying);
    if (done && *status == ROOST_OK) {
        copying->copy = roost_copy_job_finish(copying->job);
        copying->job = NULL;
    }
    return ALL_DONE;
}
