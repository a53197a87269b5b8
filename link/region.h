/* A region as the link sees it: its deployment, what its primaries report, and what it refuses. Plain data. */
#ifndef LINK_REGION_H
#define LINK_REGION_H

#include "back_off.h"
#include "replies.h"
#include "rows.h"

#define MOST_KNOWN 64

/* What a primary says of itself when it is greeted. */
struct greeting {
    char key[80];   /* for ROOST.LINK; from its summaries */
    uint64_t time;  /* by its clock, when it last told all that had changed */
    bool due;       /* it knows of links */
    bool answered;  /* since it came, or began anew; */
    bool done;      /* and it was found out whether the region may be merged */
    bool just_done; /* the last question was a greeting */
    uint64_t number, keys, dropped, retention;
    bool trusted;
    size_t count;
    struct {
        uint64_t number, had;
    } others[MOST_KNOWN];
};

/* One primary of a region that is up (listen.c). */
struct listener {
    struct listener *next;
    struct region *region;
    struct node *node;
    struct saved_cursor *saved;
    struct timer *pause;
    uint64_t asked_at, calm;  /* calm: engine->activity when it last said that nothing changed */
    uint32_t listing;         /* the one that it is in or has done */
    uint32_t failures, hasty; /* answers in a row: with trouble; that did not wait although nothing changed */
    uint32_t stalls;          /* pages of this listing that did not advance */
    uint64_t stalled_since, page, entries; /* entries asked for at a time; told in pages with more to come */
    bool caught_up, has_listed;
    bool full;                     /* close to its maxmemory */
    char sent[CHANGE_CURSOR_SIZE]; /* with the last question, asked when this was the latest listing */
    uint32_t asked_in;
    roost_digest digest, listed; /* over all names: as told last, and at the beginning of the last listing */
    uint64_t keys;
    struct greeting greeting;
};

struct counters {
    uint64_t merges, seeds, deletions, syncs, errors; /* of pushes to the region, and what it refused */
    uint64_t out_of_memory;                           /* what it refused for want of memory */
};

struct region {
    struct engine *engine;
    unsigned index;
    struct deployment *deployment;
    struct listener *listeners;         /* one for each primary that is up */
    struct saved_cursor *saved_cursors; /* marks of primaries, those that are away included */
    uint32_t listing, swept; /* the latest listing, and the last after which names that were not told were noted */
    bool up, ready;          /* there is a listener; all listeners have heard all there was when they came */
    bool spoken;             /* it was ready once, or there was trouble */
    bool silent;             /* commands are under way, and nothing has been answered for long */
    uint32_t outstanding;    /* such commands */
    uint64_t answered_at;    /* when the last one was, or the first of these was asked */
    uint64_t away_since;
    uint64_t number, dropped; /* as it calls itself; before when it has dropped tombstones (agree.c) */
    bool outdated;            /* it has missed some that others have dropped: it is not merged */
    struct complaint {
        uint32_t hash; /* of an error that was told, and when */
        uint64_t at;
    } complaints[4];
    struct {
        uint64_t since, more; /* keys that were refused and not told each */
        uint32_t reported;
    } refusals;
    bool missed;             /* a key may have gone away without our hearing of it: everything is to be listed */
    bool withholds;          /* something may be withheld from it */
    struct back_off relist;  /* until it is listed */
    struct back_off release; /* until that is brought, if there is room */
    struct back_off memory;  /* until it is sent anything for which it may have no memory */
    uint64_t refusing_since; /* for want of memory; 0: it took what was sent last */
    struct counters counters;
};

#endif
