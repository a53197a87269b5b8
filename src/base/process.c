/*
 * A handler that runs in the child of each fork counts it. To ask the system for the number of the process would take a
 * call each time. What starts a process without running handlers (_Fork, a bare clone) is not noticed.
 */
#include "process.h"

#ifndef __wasm__
#include <pthread.h>

uint32_t process_number;

static void count_fork(void)
{
    process_number++;
}

/* Before anything can be forked. It fails where there is no memory at all. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}
#endif
