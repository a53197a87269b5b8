/*
 * Clocks of regions. Windows and counters hold times, and a region refuses values that are too far ahead of its own
 * clock. This part finds out and reports which clock is wrong, and by how much.
 */
#ifndef LINK_CLOCK_H
#define LINK_CLOCK_H

#include "engine_state.h"

/* The destination refused the source's value of the key, which is ahead of its clock. */
void clock_refused(struct work *work, unsigned source, unsigned destination);

/* Whether a comparison of clocks is under way. */
bool clocks_are_compared(const struct engine *engine);

/* Reports what is known, and ends. */
void clocks_release(struct engine *engine);

#endif
