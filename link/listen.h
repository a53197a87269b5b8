/* Hears what the primaries of a region hold, by waiting commands: nothing is asked where nothing changes. */
#ifndef LINK_LISTEN_H
#define LINK_LISTEN_H

#include "agree.h"
#include "engine.h"
#include "replies.h"

struct listener {
    struct listener *next;
    struct region *region;
    struct node *node;
    struct memory *memory;
    struct timer *pause;
    uint64_t asked_at, calm;            /* calm: engine->activity when it last said that nothing changed */
    uint32_t listing;                   /* the one that it is in or has done */
    uint32_t failures, hasty;           /* answers in a row: with trouble; that did not wait although nothing changed */
    uint32_t stalls;                    /* pages of this listing that did not advance */
    uint64_t stalled_since, page, told; /* entries asked for at a time; told in pages with more to come */
    bool caught_up, has_listed;
    bool full;               /* close to its maxmemory */
    char sent[LONGEST_MARK]; /* with the last question, asked when this was the latest listing */
    uint32_t asked_in;
    roost_digest digest, listed; /* over all names: as told last, and at the beginning of the last listing */
    uint64_t keys;
    struct greeting greeting;
};

/* A primary came, or went; listener_start gives NULL without memory. */
struct listener *listener_start(struct region *region, struct node *node);
void listener_stop(struct listener *listener);

/* Everything from the beginning, by all primaries, in a new listing. */
void region_relist(struct region *region);
void region_forget_marks(struct region *region);

/* All of its primaries are close to their maxmemory. */
bool region_is_full(const struct region *region);

/* The sum over its primaries. */
roost_digest region_digest(const struct region *region);

#endif
