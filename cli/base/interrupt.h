/* Signals that stop the program, for verbs that have to clean up first. */
#ifndef CLI_BASE_INTERRUPT_H
#define CLI_BASE_INTERRUPT_H

#include <stdbool.h>

/* From here on SIGINT, SIGTERM and SIGHUP set a flag and interrupt system calls; signals that were ignored stay
   ignored. */
void interrupt_catch(void);

/* From here on they end the program as usual: the file is in place. Clears the flag. */
void interrupt_release(void);

/* Whether such a signal came. If not, a call that failed with EINTR has to be repeated. */
bool interrupted(void);

/* Waits until there is something to read or the end of the input, at most that long (-1: for ever), or until a
   signal comes. Returns whether there is something. */
bool wait_for_input(int descriptor, int milliseconds);

#endif
