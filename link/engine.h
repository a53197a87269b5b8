/*
 * The engine of `roost link`: one thread that keeps several regions in step. Start reading here.
 *
 *     cli/link.c                      options
 *     engine.c                        the schedule: which key is worked on when, and when all is done
 *     listen.c     round.c            what each primary holds (ROOST.SUMMARY); the work on one key, in rounds
 *                  sync.c transfer.c  the steps of a round: comparisons, frames
 *     tombstone_agreement.c           which tombstones all regions have; which region is outdated
 *                  ask.c              a command about a key, and what its reply means
 *                  clock.c            whose clock is wrong
 *     report.c     metrics.c          messages, JSON events, status; the page for Prometheus
 *     engine_state.h  region.h        the state that all of these share; events to the engine
 *     schedule.c work.c rows.c        which key is due; how far regions have synced a key; what each region holds
 *     replies.c glob.c back_off.c     parsers of replies and patterns; pauses that double
 *
 * Each line includes only the lines below it. A part that has something to report to the engine or to a round calls a
 * function of `struct engine_events` (engine_state.h), which engine.c fills in.
 */
#ifndef LINK_ENGINE_H
#define LINK_ENGINE_H

#include "settings.h"

/* Runs until a signal comes or, with `once`, until all regions are equal. Returns the exit status. */
int link_run(const struct link_settings *settings);

#endif
