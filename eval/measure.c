/* Quantities that the claims and the tables share. Loads and rates are fractions. */
#include "measure.h"

#include <math.h>

#include "thesis.h"

struct spread spread_over(const struct outcome *outcomes, unsigned repeats, measure *quantity)
{
    struct spread spread = {0, INFINITY, -INFINITY};
    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        double value = quantity(&outcomes[repeat]);
        spread.mean += value / repeats;
        spread.least = fmin(spread.least, value);
        spread.most = fmax(spread.most, value);
    }
    return spread;
}

double measured_fpr(const struct outcome *outcome)
{
    return outcome->fpr;
}

double elements(const struct outcome *outcome)
{
    return (double)outcome->elements;
}

double entries(const struct outcome *outcome)
{
    return (double)outcome->info.entries;
}

double overflow(const struct outcome *outcome)
{
    return (double)outcome->info.overflow;
}

double overflow_share(const struct outcome *outcome)
{
    return (double)outcome->info.overflow / (double)outcome->info.entries;
}

double false_negatives(const struct outcome *outcome)
{
    return (double)outcome->false_negatives;
}

double frame_bytes(const struct outcome *outcome)
{
    return (double)outcome->frame_bytes;
}

double bytes_an_element(const struct outcome *outcome)
{
    return (double)outcome->frame_bytes / (double)outcome->elements;
}

double gzip_bytes_an_element(const struct outcome *outcome)
{
    return (double)outcome->gzip_bytes / (double)outcome->elements;
}

double bytes_an_entry(const struct outcome *outcome)
{
    return (double)outcome->frame_bytes / (double)outcome->info.entries;
}

double buckets_at_the_end(const struct outcome *outcome)
{
    return outcome->info.buckets;
}

static double slots(const struct outcome *outcome)
{
    return (double)outcome->buckets * THESIS_BUCKET_SIZE;
}

double load_by_elements(const struct outcome *outcome)
{
    return (double)outcome->elements / slots(outcome);
}

double load_by_entries(const struct outcome *outcome)
{
    return (double)outcome->info.entries / slots(outcome);
}

double cuckoo_bound(const struct outcome *outcome)
{
    return 2 * THESIS_BUCKET_SIZE * load_by_elements(outcome) / (1 << THESIS_FINGERPRINT_BITS);
}

double cuckoo_bound_by_entries(const struct outcome *outcome)
{
    return 2 * THESIS_BUCKET_SIZE * load_by_entries(outcome) / (1 << THESIS_FINGERPRINT_BITS);
}

/* A class has two buckets and one of 2^l - 1 fingerprints (0 marks a free slot); a table that a merge makes larger
 * keeps its classes. Where copies are held apart, some entries are of a class that is there already. */
double cuckoo_expected_fpr(const struct outcome *outcome)
{
    double fingerprints = (1 << THESIS_FINGERPRINT_BITS) - 1;
    double chance = 2 / (outcome->buckets * fingerprints), count = (double)outcome->info.entries;
    return outcome->holds_copies ? -expm1(count * log1p(-chance)) : count * chance;
}
