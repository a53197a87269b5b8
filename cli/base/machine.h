/* The machine that the program runs on. */
#ifndef CLI_BASE_MACHINE_H
#define CLI_BASE_MACHINE_H

#include <stdint.h>

/* Bytes of memory: the limit for filters, files and messages. */
uint64_t machine_memory(void);

/* Microseconds since 1970, by the system clock. */
uint64_t machine_time(void);

#endif
