/* Signals that ask the program to stop, for verbs that have something to tidy up first. */
#ifndef CLI_BASE_INTERRUPT_H
#define CLI_BASE_INTERRUPT_H

#include <stdbool.h>

/* From here on SIGINT, SIGTERM and SIGHUP set a flag and wake calls that wait; those that were ignored stay so. */
void interrupt_catch(void);

/* From here on they end the program as usual: what had to be kept whole is in its place. Forgets a late one. */
void interrupt_release(void);

/* Whether one came. A call that failed with EINTR while this is false just has to be made again. */
bool interrupted(void);

/* Whether there is something to read, or the end of it; waits for so long, or for ever (-1), or until a signal comes.
 */
bool wait_for_input(int descriptor, int milliseconds);

#endif
