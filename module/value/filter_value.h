/*
 * Filters as values of keys: the library's filter, and beside it what belongs to the key.
 *
 * *Shown*: what BF.RESERVE and CF.RESERVE were asked for where the filter was made a little different, so that INFO
 * tells it.
 *
 * *Inserted*: how many additions were new, for BF.CARD and for filters that may be full. A Bloom filter of fixed size
 * does not know, so it is counted here; after a merge it is estimated from the bits that are set, when somebody asks.
 *
 * *Identity*: of a scalable Bloom filter, the actor whose shares it spends (docs/error-bounds.md). It stays the same
 * through restarts and promotions, so that shares are not used up by them, and it is told to replicas of the server,
 * who repeat each addition and so spend the same shares. A copy starts without, unless the filter is for one writer
 * alone: there is but one share of each table then, and a copy, or a key that moves to another server, goes on with it.
 * Observed-remove filters have no such number: their actors name additions, and a fresh one is drawn after every load.
 *
 * *Mark*: up to where changes of a filter that replicas cannot repeat were told to them; see target.h.
 */
#ifndef MODULE_VALUE_FILTER_VALUE_H
#define MODULE_VALUE_FILTER_VALUE_H
#include "value.h"

struct shown {
    uint32_t expansion, bucket_size, iterations;
};

struct filter_value {
    struct value value;
    roost_filter *filter;
    struct shown shown;
    uint64_t inserted;
    bool inserted_known;
    uint64_t identity;
    bool spending; /* an addition is being made: entropy is asked for an actor */
    roost_cursor mark;
    uint64_t object;    /* no two have the same while the server runs */
    const void *copier; /* who copies it in steps, or NULL; merging.c */
};

extern const struct value_class filter_class;

static inline const roost_config *config_of(const struct filter_value *filter)
{
    return roost_filter_config(filter->filter);
}

static inline bool is_bloom(const struct filter_value *filter)
{
    return config_of(filter)->kind == ROOST_BLOOM;
}

/* Whether additions are paid for by shares of an actor. */
static inline bool spends_shares(const struct filter_value *filter)
{
    return is_bloom(filter) && config_of(filter)->scalable;
}

roost_status filter_value_new(struct filter_value **filter, const roost_config *config, struct shown shown);

/* From the frame of a state, within the memory limit and, of windows and counters, not ahead of the clock. */
roost_status filter_value_decode(struct filter_value **filter, const void *frame, size_t size);

/* A copy, as COPY makes it: who it was is left out. Of at most so many pages of 4 KiB; ROOST_TOO_LARGE where that is
   not enough, and where it would pass the memory limit. */
roost_status filter_value_copy(struct filter_value **copy, struct filter_value *filter, uint64_t pages);

/* The header of its bytes (value.h), for a body of any size yet. */
void filter_value_header(const struct filter_value *filter, uint8_t header[HEADER_BYTES], enum encoding encoding);

/* An empty one, of the configuration of a frame. */
roost_status filter_value_open(struct filter_value **filter, const roost_merging *merging);

/* Draws an identity if there is none; whether it did. */
bool filter_value_identify(struct filter_value *filter);

/* Adds as roost_filter_add_many does; `changed` has `count` places. */
roost_status filter_value_add(struct filter_value *filter, bool *changed, size_t *done, const roost_bytes *keys,
                              size_t count);

/* Additions that were new (Bloom), entries (others). */
uint64_t filter_value_inserted(struct filter_value *filter);

/* Of all tables together; how many there are, at least one. */
uint64_t filter_value_capacity(const struct filter_value *filter);
uint32_t filter_value_tables(const struct filter_value *filter);

/* The cursor of now; begins the journal where there is none. The mark, up to which replicas know everything, is there,
   too: between commands they know all. */
roost_status filter_value_cursor(struct filter_value *filter, roost_cursor *cursor);

#endif
