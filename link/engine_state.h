/*
 * The state that the parts of a link share, and the events by which they report to the engine. engine.c fills in
 * `events` once; so no part includes engine.h.
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
    /* A region reports a key, in a listing of all its keys or because the key changed. False: this listing has
       reported the same before. */
    bool (*key_reported)(struct region *region, int database, roost_bytes key, const struct view *view, bool listing);
    /* The region has dropped the tombstone of this key, which all regions have received. */
    void (*tombstone_dropped)(struct region *region, int database, roost_bytes key);
    /* A listing of the region is complete: keys that it did not report are unknown from now on. */
    void (*listed)(struct region *region);
    /* A primary reports that nothing has changed. */
    void (*unchanged)(struct engine *engine);
    /* A primary is up, down, has caught up or has answered HELLO; or a silent region replies again. */
    void (*region_changed)(struct region *region);
    /* A command that the round waits for was answered. */
    void (*command_answered)(struct work *work);
    /* The last outstanding command of a key without a round was answered. */
    void (*last_command_answered)(struct work *work);
    void (*round_over)(struct work *work);
    /* A whole state is no longer under way, so another one may be pulled. */
    void (*whole_released)(struct engine *engine);
    /* A region's clock was set: values that it refused may be accepted now. */
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

    struct work *works; /* of all keys that are not at rest */
    size_t keys_behind, running;
    size_t most_behind; /* keys behind, since memory was last given back */
    size_t resting;     /* keys that came to rest without a value since such keys were last forgotten */
    uint64_t held, wholes,
        whole_size; /* bytes of frames under way; whole states being pulled, and their typical size */
    struct work *stalled, *stalled_last;
    struct timer *pump, *tick;
    uint64_t pump_due;
    bool begun, stopping, other_databases; /* other_databases: keys outside of database 0 exist */
    int status;

    uint64_t activity;  /* incremented whenever something happens */
    uint64_t relist_at; /* not before */
    uint64_t relist_pause;
    bool relisting;
    uint64_t rounds, rounds_relisted;         /* finished rounds; the count at the last listing */
    roost_digest quiet_digests[MOST_REGIONS]; /* digests that differ for an explained reason */

    struct agreement *agreement;
    struct report *report;
    struct metrics *metrics;
    struct clocks *clocks; /* NULL until a region refuses a value that is ahead of its clock */
};

/* ---- regions of a key ---- */

/* The regions that can hold a key, and those of them that are ready. */
region_set regions_of(const struct engine *engine, const struct row *row);
region_set ready_regions_of(const struct engine *engine, const struct row *row);

/* ---- one region ---- */

/* Count outstanding commands; a region that does not reply for long is silent. */
void region_asked(struct region *region);
void region_answered(struct region *region);

/* The region refused a value for lack of memory, or accepted one. */
void region_out_of_memory(struct region *region);
void region_has_memory(struct region *region);
/* Whether nothing that needs memory is sent, because the region refused some lately. */
bool region_refuses_memory(const struct region *region);
/* Whether the primary that has the key is close to its maxmemory: a new key would evict others. */
bool region_is_full_for(const struct region *region, const struct row *row);
/* Whether all of its primaries are close to their maxmemory. */
bool region_is_full(const struct region *region);

/* The sum of the digests of its primaries. */
roost_digest region_digest(const struct region *region);

#endif
