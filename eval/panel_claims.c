/* What is to hold of every filter in every cell: each as one line that holds or fails. */
#include <stdarg.h>

#include "claim.h"
#include "panel.h"

void claim_about(const struct panel *panel, const char *what, bool holds, const char *format, ...)
{
    char name[96], detail[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    snprintf(name, sizeof name, "%s %s", panel->name, what);
    claim(name, holds, "%s", detail);
}

unsigned panel_count(const struct panel *panel, outcome_test *test)
{
    unsigned count = 0;
    for (unsigned i = 0; i < panel->cells; i++)
        for (unsigned repeat = 0; repeat < panel->scale.repeats; repeat++)
            count += test(panel, &panel->results[i].outcomes[repeat]);
    return count;
}

bool any_outcome(const struct panel *panel, const struct outcome *outcome)
{
    (void)panel, (void)outcome;
    return true;
}

bool took_all(const struct panel *panel, const struct outcome *outcome)
{
    return outcome->elements == panel->scale.keys;
}

static bool agrees(const struct panel *panel, const struct outcome *outcome)
{
    (void)panel;
    return outcome->replicas_agree;
}

static bool frame_returns(const struct panel *panel, const struct outcome *outcome)
{
    (void)panel;
    return outcome->frame_returns;
}

void claim_of_all(const struct panel *panel, const char *what, outcome_test *test)
{
    unsigned runs = panel_count(panel, any_outcome), right = panel_count(panel, test);
    claim_about(panel, what, right == runs, "in %u of %u runs", right, runs);
}

static void claim_no_false_negatives(const struct panel *panel)
{
    uint64_t lookups = 0, missing = 0;
    for (unsigned i = 0; i < panel->cells; i++)
        for (unsigned repeat = 0; repeat < panel->scale.repeats; repeat++) {
            lookups += panel->results[i].outcomes[repeat].lookups;
            missing += panel->results[i].outcomes[repeat].false_negatives;
        }
    claim_about(panel, "no false negatives", missing == 0 && lookups > 0, "%llu in %llu look-ups of added keys",
                (unsigned long long)missing, (unsigned long long)lookups);
}

void claim_replication(const struct panel *panel)
{
    claim_no_false_negatives(panel);
    claim_of_all(panel, "replicas end with equal digests", agrees);
    claim_of_all(panel, "frame decodes to an equal filter", frame_returns);
}
