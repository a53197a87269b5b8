/*
 * What a link remembers of a key that is not at rest: which changes of each region every other region has.
 *
 * All of it only saves traffic: a cursor that is lost costs a sync.
 */
#ifndef LINK_WORK_H
#define LINK_WORK_H

#include "rows.h"

#define MOST_SPANS 32 /* remembered for each region */

/* "At its cursor `at`, the destination had everything that the source had at `cursor`." All zero: nothing is known. */
struct pair {
    roost_cursor cursor;
    roost_cursor at;
};

/* A range of a region's journal that this link applied there, and the regions that have the changes in it. */
struct span {
    uint64_t from, to;
    region_set known_by;
};

struct spans {
    uint64_t incarnation;
    size_t count;
    struct span list[MOST_SPANS]; /* ascending */
};

/* What is remembered of one region. */
struct of_region {
    uint64_t behind_since; /* since when it lacks changes; 0: it does not */
    uint64_t incarnation;  /* in which it has the spans that it is in the `known_by` of */
    roost_cursor lost;     /* its journal does not reach back to this cursor and earlier ones */
    uint32_t reports;      /* how often summaries mentioned the key */
    uint32_t complaint;    /* a hash of the last message about it */
    region_set conflicts;  /* regions that refuse its value, and it theirs */
    region_set ahead;      /* regions whose values are ahead of its clock */
    region_set unsynced;   /* regions that it cannot sync with for that reason: whole states are pushed instead */
    uint16_t waiting;      /* commands of the current round without a reply */
};

/* While keys are listed for the first time every key has work: it has no room for regions that there are not. */
struct work {
    struct row *row;
    struct engine *engine;
    struct work *stalled;        /* the next one that waits for memory for whole states */
    struct work *before, *after; /* all work, in no particular order */
    size_t place;                /* in the schedule; SIZE_MAX: not scheduled */
    uint64_t due;

    /* the current or last round (round.c) */
    uint64_t begun;         /* when it began */
    uint32_t serial;        /* the number of the round */
    uint32_t pending;       /* replies that the round waits for */
    uint32_t outstanding;   /* all commands without a reply, those of abandoned rounds included */
    uint32_t steps, syncs;  /* of this round */
    bool running, resolved; /* resolved: nothing was left to do when the last round ended */
    bool exchanged;         /* deltas were pulled in this round */
    bool failed;            /* a server did not reply, or cannot carry out commands now */
    bool doubtful;          /* a summary has mentioned the key since the current reply was requested */
    uint64_t level;         /* when all regions were last seen at the same generation */
    bool changed;           /* a change of the value was reported, not only its presence */
    bool verified;          /* both views were probed again because they differ although cursors say that they agree */

    uint32_t rounds, failures,
        fruitless; /* failures: failed rounds in a row; fruitless: syncs in a row that changed nothing */

    region_set full;   /* regions without memory for what they lack */
    uint32_t refusals; /* for lack of memory, in a row */
    uint64_t retry;    /* when refused commands are tried again; 0: that is decided at the end of the round */

    unsigned regions;
    struct spans *spans; /* one for each region, allocated when first needed */
    struct pair *pairs;  /* [source * regions + destination], behind the regions */
    struct of_region of[];
};

/* For a row that is at rest or new: regions whose views agree have all of each other's changes. NULL without memory. */
struct work *work_new(struct row *row, unsigned regions);
void work_free(struct work *work);

struct pair *work_pair(struct work *work, unsigned source, unsigned destination);

/* Whether the cursor of a pair is usable: both regions are still in the incarnations that it was taken in. */
bool work_knows(struct work *work, unsigned source, unsigned destination);

/* At its cursor `at`, the destination had everything that the source had at `cursor`, including what the source had
   from others. Never goes back within an incarnation. */
void work_has_until(struct work *work, unsigned source, unsigned destination, roost_cursor at, roost_cursor cursor);
/* The same for a state with this generation and digest, whichever region reported it. */
void work_has_all(struct work *work, unsigned destination, roost_cursor at, uint64_t generation, roost_digest digest);

/* The journal of the region does not reach back to this cursor: no pair has it, or an earlier one, from now on. */
void work_lost(struct work *work, unsigned source, roost_cursor cursor);

/* Regions whose views agree have all of each other's changes. */
void work_compare(struct work *work);

/* This link applied the range of the region's journal; the regions that are still in these incarnations have its
   changes (0: does not have them). */
void work_wrote(struct work *work, unsigned region, roost_cursor from, roost_cursor to,
                const uint64_t knowing[MOST_REGIONS]);

/* Moves the cursor of a pair past ranges that this link applied and the destination has; whether unseen changes
   remain. */
bool work_has_unseen(struct work *work, unsigned source, unsigned destination);

/* The ranges after a cursor whose changes all destinations have; returns their number. */
size_t work_spans(const struct work *work, unsigned source, roost_cursor since, region_set destinations,
                  struct span found[MOST_SPANS]);

/* Whether the region lacks, or may lack, something that another region of the set has. */
bool work_is_behind(struct work *work, unsigned region, region_set set);

/* ---- conflicts ---- */

bool work_conflicts(const struct work *work, unsigned a, unsigned b);
void work_conflict(struct work *work, unsigned a, unsigned b);
/* One direction: the destination refuses the source's value, which is ahead of its clock. */
void work_note_ahead(struct work *work, unsigned source, unsigned destination);
bool work_is_ahead(const struct work *work, unsigned source, unsigned destination);
bool work_any_ahead(const struct work *work);
/* Syncs between the two fail, because one of them refuses. */
void work_avoid_sync(struct work *work, unsigned a, unsigned b);

/* A conflict, or a value ahead of a clock. */
bool work_any_conflict(const struct work *work);
/* Whether the two are in conflict, or one has no memory. */
bool work_refuses(const struct work *work, unsigned a, unsigned b);
/* Whether any pair is, or any region has no memory. */
bool work_any_refusal(const struct work *work);
void work_forget_refusals(struct work *work);

/* Whether two regions whose views differ still have changes that the other may accept. */
bool work_is_unfinished(struct work *work, unsigned a, unsigned b);

#endif
