/* The work on one key, until all regions that are ready hold the same value or a pause is due. */
#ifndef LINK_ROUND_H
#define LINK_ROUND_H

#include "engine_state.h"

/* Begins a round; events->round_over is called once when it ends. */
void round_begin(struct work *work);

/* Ends the round without waiting for outstanding replies, which are used when they come. */
void round_give_up(struct work *work);

/* Continues rounds that waited for memory for whole states. */
void rounds_resume(struct engine *engine);

/* A reply that the round waits for was processed. */
void round_answered(struct work *work);

#endif
