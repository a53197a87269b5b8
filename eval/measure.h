/* What is measured in a run, or follows from it. */
#ifndef EVAL_MEASURE_H
#define EVAL_MEASURE_H

#include "replica_pair.h"

typedef double measure(const struct outcome *outcome);

/* Mean, smallest and largest of some repeats. */
struct spread {
    double mean, least, most;
};

struct spread spread_over(const struct outcome *outcomes, unsigned repeats, measure *quantity);

measure measured_fpr, elements, entries, overflow, overflow_share, false_negatives;
measure frame_bytes, bytes_an_element, gzip_bytes_an_element, bytes_an_entry, buckets_at_the_end;

/*
 * Cuckoo, four slots of eight bits: the rate that is due, and the two readings of 2c * alpha / 2^l. Due is the exact
 * rate of this state, or, in a multiset, the mean over all states of as many entries.
 */
measure cuckoo_expected_fpr, cuckoo_bound, cuckoo_bound_by_entries, load_by_elements, load_by_entries;

#endif
