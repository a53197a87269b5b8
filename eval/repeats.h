/* Repeats side by side: each in a process of its own, as many at once as told. */
#ifndef EVAL_REPEATS_H
#define EVAL_REPEATS_H

#include <stddef.h>

typedef void repeat_runner(void *experiment, unsigned repeat);

/* Memory that the repeats write to and their parent reads: zeros, never NULL, kept until the program ends. */
void *must_share(size_t size);

/* Runs repeat 0, 1, ... of an experiment in shared memory; they come out as if one after the other. */
void run_repeats(repeat_runner *run, void *experiment, unsigned repeats, unsigned at_once);

#endif
