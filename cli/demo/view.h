/* The demo while it runs: a table that is redrawn in place on a terminal, a line for each round elsewhere. */
#ifndef CLI_DEMO_VIEW_H
#define CLI_DEMO_VIEW_H

#include "demo.h"

struct demo_view {
    bool live;   /* draws at all times; otherwise only ends of rounds show */
    bool silent; /* shows nothing */
    bool colours, unicode;
    bool skipped;   /* the last drawing was left out */
    uint32_t lines; /* of the drawing that is on the screen */
    int64_t due;    /* nanoseconds of the clock at which the next drawing may follow */
};

/* Live only where the drawing fits on a terminal. */
void demo_view_open(struct demo_view *view, const struct demo *demo, bool silent, bool plain);
void demo_view_close(struct demo_view *view);

/* After each tick; a live view also gives the eye its time. The last one is drawn in any case. */
void demo_view_tick(struct demo_view *view, const struct demo *demo, bool last);

/* At the end of each round. */
void demo_view_round(const struct demo_view *view, const struct demo *demo);

#endif
