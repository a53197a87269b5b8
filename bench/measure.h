/* The clock, the keys and the lines of the table: what every part of the bench needs. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "roost.h"

#define CHUNK       65536
#define MOST_ROUNDS 25

extern int rounds;
extern FILE *csv; /* or NULL */

double seconds(void);
void must(roost_status status, const char *what);

/* Sorts the values. */
double median(double *values, int count);

/* `times` are one a round, in `unit`, smaller is better; limit: what the machine allows for the same accesses, in the
   same unit, 0 stands for none. */
void report_times(const char *what, uint64_t keys, const char *figure, double *times, double limit);
void report_spans(const char *what, uint64_t keys, const char *figure, double *times, const char *unit);
void report_plain(const char *what, uint64_t keys, const char *figure, double value, const char *unit);

uint64_t mix(uint64_t x);
roost_hash hash_of(uint64_t key);
void fill_hashes(roost_hash *hashes, uint64_t from, size_t count);

roost_filter *make(const roost_config *config);
/* The same state as it comes from a frame: its entries lie elsewhere, and no digest was taken of it. */
roost_filter *from_frame(const roost_filter *filter, const roost_environment *environment);

/* Seconds spent inside the filter, hashes being made outside the clock. */
double timed_adds(roost_filter *filter, uint64_t from, uint64_t count);
double timed_lookups(const roost_filter *filter, uint64_t from, uint64_t step, uint64_t count, uint64_t *found_count);
double timed_removes(roost_filter *filter, uint64_t from, uint64_t count);

/* Of the 2^20 keys from `base` on some in random order, each once: the `from`-th of this order and those behind it. */
void remove_scattered(roost_filter *filter, uint64_t base, uint64_t from, uint64_t count);

/* In huge pages where there are any; released by free. */
uint64_t *lines_array(size_t bytes);

#endif
