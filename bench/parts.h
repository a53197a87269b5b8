/* The parts of the bench; each prints its lines. */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include "measure.h"

void bench_bloom_merge(const roost_config *config, uint64_t keys);
/* `share` of the slots filled in the result, half of it on each side. */
void bench_cuckoo_merge(const roost_config *config, uint64_t slots, double share, const char *what);
void bench_orcuckoo_merge(const roost_config *config, uint64_t keys);

/* Deltas and syncs of two filters of that many keys after some changes. */
void bench_changes(const char *name, const roost_config *config, uint64_t keys, uint64_t changes);

/* Ids through a window that holds so many of them. */
void bench_window(uint64_t capacity);

#endif
