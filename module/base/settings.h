/* The configuration: CONFIG GET roost.*. A new value applies from the next command on. docs/module.md lists all. */
#ifndef MODULE_BASE_SETTINGS_H
#define MODULE_BASE_SETTINGS_H

#include "server.h"

#define MOST_WINDOW INT64_C(1125899906842) /* milliseconds: the 2^50 microseconds of the library */

struct settings {
    bool bf_cf; /* whether the module registers BF.* and CF.*; only read when it is loaded */
    double bf_error_rate, window_fpr;
    long long bf_capacity, bf_expansion, bf_writers;
    int bf_kind; /* roost_kind: of scaling filters */
    long long cf_capacity, cf_bucket_size, cf_max_iterations, cf_expansion;
    long long window, counter_window, window_ahead; /* milliseconds */
    long long window_capacity;
    long long tombstone_retention; /* seconds; 0: for ever */
    size_t memory_limit;           /* bytes that one filter may take; never 0 */
};
extern struct settings settings;

/* Also reads the arguments of loadmodule: names of settings, or those of RedisBloom and valkey-bloom, and values. The
   log says why they are refused. */
int settings_register(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* Follows changes of maxmemory. Not before it is certain that the module is loaded: a server that refuses a module
   calls its functions all the same. */
int settings_watch(RedisModuleCtx *ctx);
/* The module is refused, or unloaded. */
void settings_release(void);

uint64_t settings_machine_memory(void);

#endif
