/*
 * Runs one filter through the schedules of Figure 6.1, repeat after repeat, and keeps what came out; claims and tables
 * read it there.
 *
 *     schedules   all local; 50-50, 80-20 and 99-1, each merged every so many operations
 *     repeats     other keys, other fresh keys, other random choices; the same for every cell of one repeat
 */
#include "panel.h"

#include <math.h>
#include <string.h>

static const unsigned shares[SPLITS] = {50, 80, 99};

void panel_open(struct panel *panel, const char *name, roost_config config, struct scale scale)
{
    *panel = (struct panel){.name = name, .config = config, .scale = scale};
    struct cell *cell = panel->results;
    *cell++ = (struct cell){.schedule = {ALL_LOCAL, ONLY_AT_THE_END, false}};
    for (unsigned split = 0; split < SPLITS; split++) {
        uint64_t every = scale.first_interval;
        for (unsigned i = 0; i < scale.intervals; i++, every *= 10)
            *cell++ = (struct cell){.schedule = {shares[split], every, false}};
    }
    panel->cells = (unsigned)(cell - panel->results);
    panel->results[LOCAL_CELL].schedule.is_in_table = panel->results[scale.intervals].schedule.is_in_table =
        !config.scalable && !scale.sample;
}

/* The one whose outcome depends most on the code: filled until it refuses, or 50-50, merged at the end. */
static unsigned sampled_cell(const struct panel *panel)
{
    return panel->config.scalable ? panel->scale.intervals : LOCAL_CELL;
}

void panel_run(struct panel *panel, unsigned repeat, const struct workload *workload)
{
    if (panel->scale.says_where_it_is)
        fprintf(stderr, "roost-eval: repeat %u of %u: %s\n", repeat + 1, panel->scale.repeats, panel->name);
    for (unsigned i = 0; i < panel->cells; i++) {
        struct cell *cell = &panel->results[i];
        if (panel->scale.sample && i != sampled_cell(panel))
            continue;
        cell->outcomes[repeat] = replica_pair_run(&panel->config, workload, cell->schedule);
    }
}

void split_name(char name[16], struct schedule schedule)
{
    if (schedule.first_share == ALL_LOCAL)
        strcpy(name, "all local");
    else
        snprintf(name, 16, "%u-%u", schedule.first_share % 100, 100 - schedule.first_share % 100);
}

/* ---- what came out ----------------------------------------------------------------------------------------------- */

struct spread panel_spread(const struct panel *panel, const struct cell *cell, measure *quantity)
{
    return spread_over(cell->outcomes, panel->scale.repeats, quantity);
}

struct spread panel_means(const struct panel *panel, measure *quantity)
{
    struct spread means = {0, INFINITY, -INFINITY};
    for (unsigned i = 0; i < panel->cells; i++) {
        double mean = panel_spread(panel, &panel->results[i], quantity).mean;
        means.mean += mean / panel->cells;
        means.least = fmin(means.least, mean);
        means.most = fmax(means.most, mean);
    }
    return means;
}

void write_spread(FILE *csv, struct spread spread, int digits)
{
    fprintf(csv, ",%.*f,%.*f,%.*f", digits, spread.mean, digits, spread.least, digits, spread.most);
}

void panel_write_cell(const struct panel *panel, const struct cell *cell, FILE *csv)
{
    char split[16];
    split_name(split, cell->schedule);
    fprintf(csv, "%s,%s,%llu,%u", panel->name, split, (unsigned long long)cell->schedule.sync_every,
            panel->scale.repeats);
    write_spread(csv, panel_spread(panel, cell, measured_fpr), 6);
}

void panel_write_first_repeat_header(FILE *csv)
{
    fprintf(csv, "filter,split,sync_every,elements,entries,fpr,fpr_of_state,frame_bytes,memory_bytes,digest\n");
}

void panel_write_first_repeat(const struct panel *panel, FILE *csv)
{
    for (unsigned i = 0; i < panel->cells; i++) {
        const struct cell *cell = &panel->results[i];
        const struct outcome *outcome = &cell->outcomes[0];
        char split[16], digest[33];
        if (outcome->lookups == 0) /* not part of the sample */
            continue;
        split_name(split, cell->schedule);
        roost_digest_text(outcome->digest, digest);
        fprintf(csv, "%s,%s,%llu,%llu,%llu,%.8f,%.4e,%llu,%llu,%s\n", panel->name, split,
                (unsigned long long)cell->schedule.sync_every, (unsigned long long)outcome->elements,
                (unsigned long long)outcome->info.entries, outcome->fpr, outcome->info.fpr_now,
                (unsigned long long)outcome->frame_bytes, (unsigned long long)outcome->info.bytes_memory, digest);
    }
}

void panel_write_faults(const struct panel *panel, const struct cell *cell, FILE *csv)
{
    bool agree = true;
    for (unsigned repeat = 0; repeat < panel->scale.repeats; repeat++)
        agree &= cell->outcomes[repeat].replicas_agree;
    fprintf(csv, ",%.0f,%s\n", panel_spread(panel, cell, false_negatives).most, agree ? "yes" : "no");
}
