/* The work on one name, until all regions that can be asked hold the same, or a pause is due. */
#ifndef CLI_LINK_ROUND_H
#define CLI_LINK_ROUND_H

#include "link_engine.h"

/* Begins; engine_round_over is called once when it ends. */
void round_begin(struct work *work);

/* It waits no longer for what a region does not answer, and ends; what is answered later is taken all the same. */
void round_give_up(struct work *work);

/* Frames are gone, so that others may have room. */
void rounds_resume(struct engine *engine);

/* What a reply or a summary says of a region, unless more is known already; false where that cannot be told, and then
   the view is not known any more. */
bool take_view(struct row *row, unsigned region, const struct view *view, bool is_summary);

#endif
