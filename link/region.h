/* A region as the link sees it: its deployment, what its primaries report, and what it refuses. Plain data. */
#ifndef LINK_REGION_H
#define LINK_REGION_H

#include "back_off.h"
#include "replies.h"
#include "rows.h"

#define MOST_KNOWN 64

/* What a primary replies to ROOST.LINK HELLO. */
struct greeting {
    char key[80];   /* the key for ROOST.LINK, from its summaries */
    uint64_t time;  /* by its clock, when it last had reported all changes */
    bool due;       /* it supports ROOST.LINK */
    bool replied;   /* whatever its number was */
    bool answered;  /* with its number, since it is up, or restarted */
    bool done;      /* and it is decided whether the region may be merged */
    bool just_done; /* the last command was HELLO */
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
    uint64_t asked_at, calm;  /* calm: engine->activity when it last reported "no change" */
    uint32_t listing;         /* the listing that it is in or has completed */
    uint32_t failures, hasty; /* replies in a row: errors; replies that did not wait although nothing changed */
    uint32_t stalls;          /* pages of this listing without progress */
    uint64_t stalled_since, page, entries; /* entries a page; entries received in pages with more to come */
    bool caught_up, has_listed;
    bool full;                     /* close to its maxmemory */
    char sent[CHANGE_CURSOR_SIZE]; /* with the last command, sent in the listing asked_in */
    uint32_t asked_in;
    roost_digest digest, listed; /* over all keys: the latest, and the one at the beginning of the last listing */
    uint64_t keys;
    struct greeting greeting;
};

struct counters {
    uint64_t merges, seeds, deletions, syncs, errors; /* pushes to the region; errors that it replied */
    uint64_t out_of_memory;                           /* errors for lack of memory */
};

struct region {
    struct engine *engine;
    unsigned index;
    struct deployment *deployment;
    struct listener *listeners;         /* one for each primary that is up */
    struct saved_cursor *saved_cursors; /* of all primaries, also those that are down */
    uint32_t listing, swept;            /* the latest listing, and the last complete one */
    bool up, ready; /* up: a primary is; ready: all primaries have reported all that they held when they came up */
    bool spoken;    /* it was ready once, or an error was reported */
    bool silent;    /* commands are outstanding and none was answered for long */
    uint32_t outstanding; /* commands without a reply */
    uint64_t answered_at; /* when the last one was answered, or the first of these was sent */
    uint64_t away_since;
    uint64_t number, dropped; /* its number; the time before which it has dropped tombstones (tombstone_agreement.c) */
    bool outdated;            /* it missed tombstones that others have dropped: it is not merged */
    struct complaint {
        uint32_t hash; /* of an error that was reported, and when */
        uint64_t at;
    } complaints[4];
    struct {
        uint64_t since, more; /* refused keys that were not reported one by one */
        uint32_t reported;
    } refusals;
    bool missed;             /* changes may have been missed: all keys have to be listed */
    bool withholds;          /* values may be withheld from it */
    struct back_off relist;  /* of listings */
    struct back_off release; /* of releases of withheld values */
    struct back_off memory;  /* of commands that need memory */
    uint64_t refusing_since; /* for lack of memory; 0: it accepted the last value */
    struct counters counters;
};

#endif
