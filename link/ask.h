/*
 * A command about a name, asked of a region in the name of a round, and what its reply means to the row.
 *
 * Whatever is answered is taken, whenever it comes; it counts for the round that asked, as long as that goes on.
 */
#ifndef LINK_ASK_H
#define LINK_ASK_H

#include <string.h>

#include "engine_state.h"

struct redisReply;

#define UNKNOWN_CURSOR "1-0" /* that no value ever gave: a pull since it tells what is there, and brings nothing */

static inline struct region *region_of(const struct work *work, unsigned region)
{
    return &work->engine->regions[region];
}

static inline struct view *view_of(const struct work *work, unsigned region)
{
    return &work->row->views[region];
}

static inline bool has(region_set set, unsigned region)
{
    return set & one_region(region);
}

static inline roost_bytes text_word(const char *text)
{
    return (roost_bytes){text, strlen(text)};
}

static inline roost_bytes key_word(const struct work *work)
{
    return (roost_bytes){work->row->key, work->row->key_size};
}

/* What comes of a command; its reply is NULL where there is none. */
typedef void taken(void *context, const struct redisReply *reply);

/* Asks, in the name of a round. Without memory it is as if nothing were answered. */
void ask(struct work *work, uint32_t serial, unsigned region, struct words words, taken *take, void *context);

/* Whether there is a reply that is none of the errors; `other` is the region from which it came, or -1. Errors are
   dealt with: as trouble, as a conflict, as something that is ahead of a clock, or as a view that is not known any
   more.
 */
bool is_answer(struct work *work, unsigned region, int other, const struct redisReply *reply);
void refuse_nonsense(struct work *work, unsigned region);

/* What a reply or a summary says of a region, unless more is known already; false where that cannot be told, and then
   the view is not known any more. */
bool take_view(struct row *row, unsigned region, const struct view *view, bool is_summary);
void take_reply(struct work *work, unsigned region, const struct view *view);
void forget_view(struct work *work, unsigned region);

#endif
