/* Which process this is: another number in a process that was forked than in its parent. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdint.h>

#ifdef __wasm__ /* nothing forks */
#define process_number 0u
#else
/* 0, and one more with each fork on the way to this process. Only the thread that forked exists when it changes. */
extern uint32_t process_number;
#endif

#endif
