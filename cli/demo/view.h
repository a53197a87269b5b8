/* The demo while it runs: a table that is redrawn in place on a terminal, a line for each round elsewhere. */
#ifndef CLI_DEMO_VIEW_H
#define CLI_DEMO_VIEW_H

#include "state.h"

struct demo_view {
    bool live;   /* redraws all the time; otherwise prints a line for each round */
    bool silent; /* shows nothing */
    bool colours, unicode;
    bool skipped;   /* the last drawing was skipped */
    uint32_t lines; /* of the drawing on the screen */
    int64_t due;    /* time of the next drawing, in nanoseconds */
};

/* Live only if standard output is a terminal that the drawing fits on. */
void demo_view_open(struct demo_view *view, const struct demo *demo, bool silent, bool plain);
void demo_view_close(struct demo_view *view);

/* Call it after each tick; a live view also waits, so that the eye can follow. The last one is always drawn. */
void demo_view_tick(struct demo_view *view, const struct demo *demo, bool last);

/* Call it at the end of each round. */
void demo_view_round(const struct demo_view *view, const struct demo *demo);

#endif
