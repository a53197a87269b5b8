/* The work on one name, until all regions that can be asked hold the same, or a pause is due. */
#ifndef LINK_ROUND_H
#define LINK_ROUND_H

#include "engine_state.h"

/* Begins; engine_round_over is called once when it ends. */
void round_begin(struct work *work);

/* It waits no longer for what a region does not answer, and ends; what is answered later is taken all the same. */
void round_give_up(struct work *work);

/* Frames are gone, so that others may have room. */
void rounds_resume(struct engine *engine);

/* One of the things that the round waits for has come. */
void round_answered(struct work *work);

#endif
