/* The threads of the program: how many, and the executor that they are for the library (roost_executor). */
#ifndef CLI_BASE_THREADS_H
#define CLI_BASE_THREADS_H

#include <pthread.h>

#include "roost.h"

#define MOST_THREADS 64

/* How many that makes: as many as are wanted, or with 0 one for each processor, up to 8. */
uint64_t thread_count(uint64_t wanted);

/* Starts threads that get no signals, as many as the system allows. Returns how many. */
size_t start_quietly(pthread_t *threads, size_t wanted, void *(*begin)(void *context), void *context);

/* How many threads the executor has; with 0, and by default, one for each processor. Before the first filter. */
void set_executor_threads(uint64_t wanted);
/* The executor of all filters of the program. Its threads are started by the first long call and stay. */
roost_executor program_executor(void);

#endif
