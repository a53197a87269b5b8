/* The parts of the bench; each prints its lines. */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include "measure.h"

void bench_bloom_merge(const roost_config *config, uint64_t keys);
/* `share` of the slots filled in the result, half of it on each side. */
void bench_cuckoo_merge(const roost_config *config, uint64_t slots, double share, const char *what);
void bench_cuckoo_frames(const roost_config *config, uint64_t keys, const char *what);
void bench_orcuckoo_merge(const roost_config *config, uint64_t keys);

/* One key a call, and batches of bytes, beside stand-ins; and new filters. */
void bench_one_call(bool large);
/* The same calls for so many keys, once, without a report; 2 if there is no such filter. */
int bench_calls(const char *name, uint64_t count);

/* Deltas and syncs of two filters of that many keys after some changes. */
void bench_changes(const char *name, const roost_config *config, uint64_t keys, uint64_t changes);

/* Filters that grow, to 10^7 keys, `large` to 10^8; and after a partition. */
void bench_growth(bool large);
/* The same, at many sizes up to this one, as a table of its own. */
void bench_curve(FILE *table, uint64_t most);
/* One thread and two on one filter. */
void bench_threads(uint64_t keys);
/* Long calls with an executor of two threads and without. */
void bench_executors(uint64_t keys);
/* Two sets of that many keys, which differ in so many; a multiset, in the counts of so many. */
void bench_reconcile(const char *name, const roost_reconcile_config *config, uint64_t keys, uint64_t difference);
/* Ids through a window that holds so many of them. */
void bench_window(uint64_t capacity);

#endif
