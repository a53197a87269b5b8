/*
 * A command about a key, sent to a region for a round, and the effect of its reply on the row.
 *
 * Every reply is used, whenever it arrives; it only counts for the round that sent the command while that round lasts.
 */
#ifndef LINK_ASK_H
#define LINK_ASK_H

#include <string.h>

#include "engine_state.h"

struct redisReply;

#define UNKNOWN_CURSOR "1-0" /* that no value ever has: a pull since it returns the state without a frame */

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

/* Called with the reply to a command, or NULL if there was none. */
typedef void taken(void *context, const struct redisReply *reply);

/* Sends a command for a round. Without memory, `take` is called with NULL. */
void ask(struct work *work, uint32_t serial, unsigned region, struct words words, taken *take, void *context);

/* Whether the reply is not an error. `other` is the region whose value was sent, or -1. Errors are handled here: as
   a failure of the round, as a conflict, as a value ahead of a clock, or as an outdated view. */
bool is_answer(struct work *work, unsigned region, int other, const struct redisReply *reply);
void refuse_nonsense(struct work *work, unsigned region);

/* Updates a view from a reply or a summary, unless a newer state is known. False if the order of the two is not
   known; then the view becomes unknown. */
bool take_view(struct row *row, unsigned region, const struct view *view, bool is_summary);
void take_reply(struct work *work, unsigned region, const struct view *view);
void forget_view(struct work *work, unsigned region);

#endif
