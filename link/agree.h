/*
 * What regions agree on, so that tombstones need not be kept for ever; and which regions may be merged at all.
 */
#ifndef LINK_AGREE_H
#define LINK_AGREE_H

#include "rows.h"

struct engine;
struct listener;
struct redisReply;

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

/* The answer to a greeting; false if it is none. */
bool agree_take_greeting(struct listener *listener, const struct redisReply *reply);
/* Now and then: all regions have all tombstones, or some region is away. */
void agree_tick(struct engine *engine);
void agree_end(struct engine *engine);

#endif
