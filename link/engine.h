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

#include "client/deployment.h"
#include "client/event_loop.h"
#include "rows.h"
#include "work.h"

struct link_settings {
    char **urls; /* passwords in them are made unreadable */
    unsigned count;
    const char *match;              /* NULL: every name */
    uint64_t interval;              /* milliseconds */
    bool once, json, quiet, refill; /* refill: what was evicted is brought back once */
    uint16_t metrics;               /* a port on loopback, or 0 */
    const char *password_file;
    struct connection_options connection;
};

/* Something that is done not before a time, and then later and later. */
struct back_off {
    uint64_t at, pause;
};

struct figures {
    uint64_t merges, seeds, deletions, syncs, errors; /* of pushes to the region, and what it refused */
    uint64_t out_of_memory;                           /* what it refused for want of memory */
};

struct region {
    struct engine *engine;
    unsigned index;
    struct deployment *deployment;
    struct listener *listeners; /* one for each primary that is up */
    struct memory *memories;    /* marks of primaries, those that are away included */
    uint32_t listing, swept;    /* the latest listing, and the last after which names that were not told were noted */
    bool up, ready;             /* there is a listener; all listeners have heard all there was when they came */
    bool spoken;                /* it was ready once, or there was trouble */
    bool silent;                /* commands are under way, and nothing has been answered for long */
    uint32_t outstanding;       /* such commands */
    uint64_t answered_at;       /* when the last one was, or the first of these was asked */
    uint64_t away_since;
    uint64_t number, dropped; /* as it calls itself; before when it has dropped tombstones (agree.c) */
    bool outdated;            /* it has missed some that others have dropped: it is not merged */
    struct complaint {
        uint32_t hash; /* of an error that was told, and when */
        uint64_t at;
    } complaints[4];
    struct {
        uint64_t since, more; /* keys that were refused and not told each */
        uint32_t told;
    } refusals;
    bool missed;             /* a key may have gone away without our hearing of it: everything is to be listed */
    bool withholds;          /* something may be withheld from it */
    struct back_off relist;  /* until it is listed */
    struct back_off release; /* until that is brought, if there is room */
    struct back_off memory;  /* until it is sent anything for which it may have no memory */
    uint64_t refusing_since; /* for want of memory; 0: it took what was sent last */
    struct figures figures;
};

struct engine {
    const struct link_settings *settings;
    struct event_loop *loop;
    struct secrets *secrets;
    struct rows rows;
    struct region regions[MOST_REGIONS];
    unsigned count;

    struct work *works; /* of all names that are not at rest */
    size_t names_behind, running;
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

/* All of it, until a signal comes or, with `once`, everything is done; the exit status. */
int link_run(const struct link_settings *settings);

/* ---- for listeners ---- */

/* A region says that it holds this: among all that it holds, or because it changed. False: that had been heard in the
   same listing. */
bool engine_hear(struct region *region, int database, roost_bytes name, const struct view *view, bool listing);
/* It has dropped the tombstone of this name, which all regions have had. */
void engine_hear_dropped(struct region *region, int database, roost_bytes name);
/* A listener came, went, or has caught up. */
void engine_region_changed(struct region *region);
/* Everything of a region was listed: what it did not tell is not known any more. */
void engine_sweep(struct region *region);
/* A listener heard that nothing changed: perhaps nothing ever will. */
void engine_check_quiet(struct engine *engine);

/* ---- for rounds ---- */

/* The regions that take part in the work on a name, and those of them that can be asked now. */
region_set engine_regions_of(const struct engine *engine, const struct row *row);
region_set engine_ready_regions(const struct engine *engine, const struct row *row);
void engine_round_over(struct work *work);
/* The last command about a name that is not worked on was answered. */
void engine_settle(struct work *work);
/* Clocks were set: what was ahead of one may be taken now. */
void engine_try_ahead(struct engine *engine);
/* A region was asked, was answered by, or has been silent for too long. */
void engine_asked(struct region *region);
void engine_answered(struct region *region);
/* It has no memory for what was sent; it has taken something. */
void engine_has_no_memory(struct region *region);
void engine_has_memory(struct region *region);
/* Whether the primary of a key is close to its maxmemory: for what it does not hold others would have to leave. */
bool engine_is_full(const struct region *region, const struct row *row);
/* Whether the region has refused something for want of memory a while ago. */
bool engine_refuses_memory(const struct region *region);

/* ---- */

/* Not at rest any more: the row has work then. False without memory. */
bool engine_disturb(struct engine *engine, struct row *row);
/* A row that is not worked on is, at this time. */
void engine_schedule(struct engine *engine, struct row *row, uint64_t due);

#endif
