/*
 * What INFO counts: slow paths, and what was refused. From the start of the server; CONFIG RESETSTAT resets none. Any
 * thread may count.
 */
#ifndef MODULE_BASE_COUNTERS_H
#define MODULE_BASE_COUNTERS_H

#include "server.h"

/* Ways on which one command may take long. */
enum slow_path {
    NO_SLOW_PATH,
    SLOW_BATCH,  /* many items in one command */
    SLOW_MERGE,  /* a frame, or filters of other keys */
    SLOW_READ,   /* a reply that a thread writes */
    SLOW_DUMP,   /* the snapshot of a dump */
    SLOW_DIGEST, /* digest precomputation */
    SLOW_LOAD,   /* a value from an RDB file, a primary or RESTORE */
    SLOW_PATHS
};

struct slow_path_count {
    uint64_t times, microseconds, longest;
};

void count_slow(enum slow_path path, uint64_t microseconds);
struct slow_path_count slow_path_counted(enum slow_path path);

/* How many ... */
enum counter {
    JOBS_FINISHED,
    JOBS_FAILED,      /* replied with an error */
    REFUSED_MEMORY,   /* commands and values, for want of memory or because of memory-limit */
    REFUSED_PAYLOADS, /* frames, chunks and values that are not valid */
    IMPORTED_FILTERS, /* of RedisBloom */
    COUNTERS
};

void count_one(enum counter counter);
uint64_t counted(enum counter counter);

/* Counts a refusal, if the status is one of memory or of bytes. */
void count_refusal(roost_status status);

/* Of a clock that never goes back. */
uint64_t microseconds_now(void);

#endif
