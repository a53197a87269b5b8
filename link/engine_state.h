/*
 * The state that the parts of a link share, and the events by which they report to the engine.
 *
 * The engine sets `events` once. So the parts below it (engine.h draws them) include this header and each other's, but
 * never the engine's.
 */
#ifndef LINK_ENGINE_STATE_H
#define LINK_ENGINE_STATE_H

#include "client/deployment.h"
#include "client/event_loop.h"
#include "region.h"
#include "rows.h"
#include "schedule.h"
#include "settings.h"
#include "work.h"

struct engine;

struct engine_events {
    /* A region reports that it holds this: as part of a listing of all that it holds, or because it changed. False: the
       same was reported before in this listing. */
    bool (*key_reported)(struct region *region, int database, roost_bytes key, const struct view *view, bool listing);
    /* It has dropped the tombstone of this name, which all regions have had. */
    void (*tombstone_dropped)(struct region *region, int database, roost_bytes key);
    /* Everything of a region was listed: what it did not report is not known any more. */
    void (*listed)(struct region *region);
    /* A primary reports that nothing has changed. */
    void (*unchanged)(struct engine *engine);
    /* A primary came, went, has caught up or was greeted; or the region answers again. */
    void (*region_changed)(struct region *region);
    /* A command was answered that the round of this work waits for. */
    void (*command_answered)(struct work *work);
    /* The last command was answered about a name that is not worked on. */
    void (*last_command_answered)(struct work *work);
    void (*round_over)(struct work *work);
    /* A whole state is no longer under way, so that another one may be. */
    void (*whole_released)(struct engine *engine);
    /* Clocks were set: what was ahead of one may be taken now. */
    void (*clocks_set)(struct engine *engine);
};

struct engine {
    const struct engine_events *events;
    const struct link_settings *settings;
    struct event_loop *loop;
    struct secrets *secrets;
    struct rows rows;
    struct schedule schedule;
    struct region regions[MOST_REGIONS];
    unsigned count;

    struct work *works; /* of all names that are not at rest */
    size_t keys_behind, running;
    size_t resting; /* names that came to rest with nothing in them, since such were last forgotten */
    uint64_t held, wholes,
        whole_size; /* bytes of frames under way; whole states that are asked for; how big they are */
    struct work *stalled, *stalled_last;
    struct timer *pump, *tick;
    uint64_t pump_due;
    bool begun, stopping, other_databases; /* other_databases: names outside the first one were heard of */
    int status;

    uint64_t activity;  /* grows with everything that happens */
    uint64_t relist_at; /* not before */
    uint64_t relist_pause;
    bool relisting;
    uint64_t rounds, rounds_relisted;         /* that were ever over; by the time of the last listing */
    roost_digest quiet_digests[MOST_REGIONS]; /* totals that differed although everything had been listed */

    struct agreement *agreement;
    struct report *report;
    struct metrics *metrics;
    struct clocks *clocks; /* NULL as long as nobody has refused anything for its time */
};

/* ---- regions of a name ---- */

/* The regions that take part in the work on a name, and those of them that can be asked now. */
region_set regions_of(const struct engine *engine, const struct row *row);
region_set ready_regions_of(const struct engine *engine, const struct row *row);

/* ---- one region ---- */

/* A command was sent to it; it has answered one. */
void region_asked(struct region *region);
void region_answered(struct region *region);

/* It has no memory for what was sent; it has taken something. */
void region_out_of_memory(struct region *region);
void region_has_memory(struct region *region);
/* Whether it has refused something for want of memory a while ago. */
bool region_refuses_memory(const struct region *region);
/* Whether the primary of a key is close to its maxmemory: for what it does not hold others would have to leave. */
bool region_is_full_for(const struct region *region, const struct row *row);
/* Whether all of its primaries are. */
bool region_is_full(const struct region *region);

/* The sum of the digests of its primaries. */
roost_digest region_digest(const struct region *region);

#endif
