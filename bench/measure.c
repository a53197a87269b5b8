/* The clock, the keys and the lines of the table: what every part of the bench needs. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int rounds = 5;
FILE *csv;

/* Of this process alone: one thread, and the turns of others on a shared machine do not count. */
double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

roost_hash hash_of(uint64_t key)
{
    return (roost_hash){mix(key), mix(key ^ UINT64_C(0x5bf03635f0935ca7))};
}

void must(roost_status status, const char *what)
{
    if (status != ROOST_OK) {
        fprintf(stderr, "roost-bench: %s: %s\n", what, roost_status_text(status));
        exit(2);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* best: the best round, which other tenants of the machine disturbed least; 0 stands for none. */
static void report(const char *what, uint64_t keys, const char *figure, double value, const char *unit, double best,
                   double limit)
{
    char extremes[64] = "";
    if (best > 0)
        snprintf(extremes, sizeof extremes, "best %7.2f", best);
    if (limit > 0)
        snprintf(extremes + 12, sizeof extremes - 12, "   limit %6.2f, %3.0f %%", limit, 100 * limit / value);
    printf("%-24s %10llu  %-20s %9.2f %-9s %s\n", what, (unsigned long long)keys, figure, value, unit, extremes);
    fflush(stdout);
    if (csv)
        fprintf(csv, "%s,%llu,%s,%.3f,%s,%.3f,%.3f\n", what, (unsigned long long)keys, figure, value, unit, best,
                limit);
}

void report_times(const char *what, uint64_t keys, const char *figure, double *times, double limit)
{
    double middle = median(times, rounds); /* which sorts them */
    report(what, keys, figure, middle, "ns", times[0], limit);
}

void report_spans(const char *what, uint64_t keys, const char *figure, double *times, const char *unit)
{
    double middle = median(times, rounds);
    report(what, keys, figure, middle, unit, times[0], 0);
}

void report_plain(const char *what, uint64_t keys, const char *figure, double value, const char *unit)
{
    report(what, keys, figure, value, unit, 0, 0);
}

roost_filter *make(const roost_config *config)
{
    roost_filter *filter;
    must(roost_filter_new(&filter, config, NULL), "new");
    return filter;
}

roost_filter *from_frame(const roost_filter *filter, const roost_environment *environment)
{
    roost_buffer frame;
    roost_filter *decoded;
    must(roost_filter_encode(filter, &frame), "encode");
    must(roost_filter_decode(&decoded, frame.data, frame.size, environment), "decode");
    roost_buffer_release(&frame);
    return decoded;
}

void fill_hashes(roost_hash *hashes, uint64_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_of(from + i);
}

double timed_adds(roost_filter *filter, uint64_t from, uint64_t count)
{
    static roost_hash hashes[CHUNK];
    double spent = 0;
    for (uint64_t done = 0; done < count;) {
        size_t some = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        fill_hashes(hashes, from + done, some);
        double begin = seconds();
        must(roost_filter_add_many_hash(filter, NULL, NULL, hashes, some), "add");
        spent += seconds() - begin;
        done += some;
    }
    return spent;
}

double timed_lookups(const roost_filter *filter, uint64_t from, uint64_t step, uint64_t count, uint64_t *found_count)
{
    static roost_hash hashes[CHUNK];
    static bool found[CHUNK];
    double spent = 0;
    *found_count = 0;
    for (uint64_t done = 0; done < count;) {
        size_t some = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        for (size_t i = 0; i < some; i++)
            hashes[i] = hash_of(from + (done + i) * step);
        double begin = seconds();
        roost_filter_contains_many_hash(filter, found, hashes, some);
        spent += seconds() - begin;
        for (size_t i = 0; i < some; i++)
            *found_count += found[i];
        done += some;
    }
    return spent;
}

double timed_removes(roost_filter *filter, uint64_t from, uint64_t count)
{
    static roost_hash hashes[CHUNK];
    double spent = 0;
    for (uint64_t done = 0; done < count;) {
        size_t some = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        fill_hashes(hashes, from + done, some);
        double begin = seconds();
        must(roost_filter_remove_many_hash(filter, NULL, hashes, some), "remove");
        spent += seconds() - begin;
        done += some;
    }
    return spent;
}

/* A permutation of 20 bits. */
static uint64_t scattered(uint64_t i)
{
    i = i * 0x9e3779b1 & 0xfffff;
    i ^= i >> 11;
    return i * 0x85ebca6b & 0xfffff;
}

void remove_scattered(roost_filter *filter, uint64_t base, uint64_t from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        must(roost_filter_remove_hash(filter, NULL, hash_of(base + scattered(from + i))), "remove");
}

uint64_t *lines_array(size_t bytes)
{
    uint64_t *memory = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1));
    if (!memory)
        must(ROOST_NO_MEMORY, "array");
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 1, bytes);
    return memory;
}
