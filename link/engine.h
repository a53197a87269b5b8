/*
 * The engine of `roost link`: several regions are kept in step by one thread that waits for what they tell.
 *
 *     engine.c     regions, rows and the schedule: what is worked on when, and when all is done
 *     listen.c     ROOST.SUMMARY: what each primary says it holds
 *     round.c      the work on one name: probe, seed, exchange, sync
 *     ask.c        a command to a region;  transfer.c  frames;  sync.c  comparisons
 *     work.c       who has told whom how much;  clock.c  whose clock is wrong
 *     report.c     lines, events and figures;  metrics.c  the figures for Prometheus
 */
#ifndef LINK_ENGINE_H
#define LINK_ENGINE_H

#include "settings.h"

/* All of it, until a signal comes or, with `once`, everything is done; the exit status. */
int link_run(const struct link_settings *settings);

#endif
