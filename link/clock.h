/*
 * Clocks of regions. Windows and counters hold times, and a region does not take in what is too far ahead of its own
 * clock. Which clock is wrong, and by how much, is found out and told.
 */
#ifndef LINK_CLOCK_H
#define LINK_CLOCK_H

#include "engine_state.h"

/* The destination did not take what the source holds of the name, since it is ahead of its clock. */
void clock_refused(struct work *work, unsigned source, unsigned destination);

/* Whether clocks are being compared: a verdict is about to come. */
bool clocks_are_compared(const struct engine *engine);

/* The end; what is known by then is told. */
void clocks_release(struct engine *engine);

#endif
