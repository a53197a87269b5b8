/* The machine that the program runs on. */
#ifndef CLI_BASE_MACHINE_H
#define CLI_BASE_MACHINE_H

#include <stdint.h>

/* Bytes of memory: no filter, file or message may ask for more. */
uint64_t machine_memory(void);

/* Microseconds since 1970, by the clock on the wall. */
uint64_t machine_time(void);

#endif
