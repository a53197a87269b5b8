/*
 * What a link remembers of a name that is not at rest: how far each region has told each other one.
 *
 * All of it is worth bytes and nothing else: a cursor that is lost costs a sync.
 */
#ifndef LINK_WORK_H
#define LINK_WORK_H

#include "rows.h"

#define MOST_SPANS 32 /* remembered of one journal */

/* "The destination had, at that point of its own, all that the source had at the cursor." All zero: nothing is known.
 */
struct pair {
    roost_cursor cursor;
    roost_cursor at;
};

/* A part of the journal of a region that we wrote there ourselves, and which regions have what is in it. */
struct span {
    uint64_t from, to;
    region_set known_by;
};

struct spans {
    uint64_t incarnation;
    size_t count;
    struct span list[MOST_SPANS]; /* ascending */
};

struct work {
    struct row *row;
    struct engine *engine;
    struct work *stalled;        /* the next that waits for room */
    struct work *before, *after; /* all work, in no order */
    size_t place;                /* in the schedule; SIZE_MAX: in none */
    uint64_t due;

    /* the round that is under way, or was the last (round.c) */
    uint64_t begun;                 /* when it began */
    uint32_t serial;                /* of the round */
    uint32_t pending;               /* what it waits for */
    uint16_t waiting[MOST_REGIONS]; /* the commands among that, by region */
    uint32_t outstanding;   /* commands that are not answered yet, those of rounds that were given up included */
    uint32_t steps, syncs;  /* of this round */
    bool running, resolved; /* settled: there was nothing left to do when the last round ended */
    bool exchanged;         /* deltas were asked for in this round */
    bool failed;            /* a server did not answer, or not now */
    uint32_t reports[MOST_REGIONS]; /* how often summaries spoke of it */
    bool doubtful;                  /* the reply at hand: one did since it was asked for */
    uint64_t level;                 /* when all regions were last seen at the same generation */
    bool changed;                   /* a value was heard to have changed, not only to be there */
    bool verified;                  /* a difference that cursors deny was seen by asking both sides again */

    uint32_t rounds, failures, fruitless; /* the last two in a row: with trouble; with syncs that changed nothing */
    uint64_t behind_since[MOST_REGIONS];  /* since when the region lacks what another one has; 0: it does not */

    region_set conflicts[MOST_REGIONS]; /* who does not take from whom, both ways */
    region_set ahead[MOST_REGIONS];     /* by destination: sources whose times are ahead of its clock, one way */
    region_set unsynced[MOST_REGIONS];  /* who cannot sync for that reason: each pushes what it has to the other */
    region_set full;                    /* those that have no memory for what they lack */
    uint32_t refusals;                  /* for want of memory, in a row */
    uint64_t retry;                     /* when all that is tried again */
    uint32_t complaints[MOST_REGIONS];  /* a hash of what was said last of each */

    unsigned regions;
    struct spans *spans;                 /* one of each region, made when first needed */
    uint64_t incarnations[MOST_REGIONS]; /* of the regions of whose knowledge spans speak */
    struct pair pairs[];                 /* [source * regions + destination] */
};

/* From a row that is at rest, or new: those that agree have told each other all. NULL without memory. */
struct work *work_new(struct row *row, unsigned regions);
void work_free(struct work *work);

struct pair *work_pair(struct work *work, unsigned source, unsigned destination);

/* Whether the cursor is of use: both ends are still in the lives that it speaks of. */
bool work_knows(struct work *work, unsigned source, unsigned destination);

/* The destination had, at a point of its own, all that the source had at the cursor; and so it had all that the source
   itself had by then of others. Never goes back within a life. */
void work_has_until(struct work *work, unsigned source, unsigned destination, roost_cursor at, roost_cursor cursor);
/* The same of the state of this generation and digest: of whoever is known to have held it. */
void work_has_all(struct work *work, unsigned destination, roost_cursor at, uint64_t generation, roost_digest digest);

/* All whose views agree have told each other all. */
void work_compare(struct work *work);

/* We wrote that part of the journal of a region; what is in it is known by those regions that are in these lives (0:
   does not know it). */
void work_wrote(struct work *work, unsigned region, roost_cursor from, roost_cursor to,
                const uint64_t knowing[MOST_REGIONS]);

/* Moves the cursor of a pair over what the destination knows because we told it; whether there is more to tell. */
bool work_has_unseen(struct work *work, unsigned source, unsigned destination);

/* The spans behind a cursor that all of the destinations know; answers how many. */
size_t work_spans(const struct work *work, unsigned source, roost_cursor since, region_set destinations,
                  struct span found[MOST_SPANS]);

/* Whether it is known, or may be, that the region lacks something that one of the others in the set has. */
bool work_is_behind(struct work *work, unsigned region, region_set set);

/* ---- conflicts ---- */

bool work_conflicts(const struct work *work, unsigned a, unsigned b);
void work_conflict(struct work *work, unsigned a, unsigned b);
/* One way: the destination does not take what the source has, since it is ahead of its clock. */
void work_note_ahead(struct work *work, unsigned source, unsigned destination);
bool work_is_ahead(const struct work *work, unsigned source, unsigned destination);
bool work_any_ahead(const struct work *work);
/* A sync between the two fails, whichever of them it is that refuses. */
void work_avoid_sync(struct work *work, unsigned a, unsigned b);

/* Of either kind. */
bool work_any_conflict(const struct work *work);
/* One of the two has a conflict with the other, or no memory. */
bool work_refuses(const struct work *work, unsigned a, unsigned b);
/* Any does. */
bool work_any_refusal(const struct work *work);
void work_forget_refusals(struct work *work);

/* Whether two whose views do not agree still have something to tell each other, as far as they may. */
bool work_is_unfinished(struct work *work, unsigned a, unsigned b);

#endif
