/*
 * Filters as values of keys: a filter of the library, and what belongs to the key.
 *
 * *Shown*: the arguments of BF.RESERVE and CF.RESERVE, for INFO. The filter itself may have rounded values.
 *
 * *Inserted*: how many additions were new, for BF.CARD and for filters that may be full. A Bloom filter of fixed size
 * does not know this, so it is counted here. After a merge it is estimated from the bits that are set, when it is asked
 * for.
 *
 * *Identity*: of a scalable Bloom filter, the actor whose shares it spends (docs/error-bounds.md). It stays the same
 * through restarts and promotions, so that these do not use up shares. Replicas of the server have it, too: they repeat
 * each addition and so spend the same shares. A copy starts without an identity, unless the filter is for one writer
 * alone: then each table has one share, and a copy, or a key that moves to another server, continues with it.
 * Observed-remove filters have no such number: their actors name additions, and a new one is drawn after every load.
 *
 * *Replicated*: the cursor up to which changes were sent to replicas; see key/changes.h.
 */
#ifndef MODULE_VALUE_FILTER_VALUE_H
#define MODULE_VALUE_FILTER_VALUE_H

#include "value.h"

struct shown {
    uint32_t expansion;
    union {
        uint32_t bucket_size; /* CF.* */
        uint32_t capacity;    /* BF.*: one so small that the filter takes it as unknown; 0: the filter has it */
    };
    uint32_t iterations;
};

/* What few filters need. */
struct filter_extra {
    uint64_t identity;
    roost_cursor replicated;
};

/* Small: servers have many of them. */
struct filter_value {
    struct value value;
    roost_filter *filter;
    struct filter_extra *extra; /* NULL: all zero */
    uint64_t object;            /* a number that no other filter has while the server runs */
    uint64_t inserted;
    struct shown shown;
    bool inserted_known;
};

extern const struct value_class filter_class;

typedef bool filter_test(const struct filter_value *filter);

/* To read, and to change; the second allocates it. */
extern const struct filter_extra no_extra;
static inline const struct filter_extra *extra_of(const struct filter_value *filter)
{
    return filter->extra ? filter->extra : &no_extra;
}
struct filter_extra *filter_value_extra(struct filter_value *filter);

static inline const roost_config *config_of(const struct filter_value *filter)
{
    return roost_filter_get_config(filter->filter);
}

static inline bool is_bloom(const struct filter_value *filter)
{
    return config_of(filter)->kind == ROOST_BLOOM;
}

static inline bool is_orcuckoo(const struct filter_value *filter)
{
    return config_of(filter)->kind == ROOST_ORCUCKOO;
}

/* Whether it is one table of hash prefixes. Only series of tables, which earlier versions made, have buckets of a
   size. */
static inline bool has_prefixes(const struct filter_value *filter)
{
    const roost_config *config = config_of(filter);
    return config->kind == ROOST_CUCKOO && config->scalable && config->bucket_size == 0;
}

/* Whether BF.* takes the filter. */
static inline bool is_for_bf(const struct filter_value *filter)
{
    return is_bloom(filter) || has_prefixes(filter);
}

/* Whether CF.* takes the filter. */
static inline bool is_for_cf(const struct filter_value *filter)
{
    return is_orcuckoo(filter) && config_of(filter)->multiset;
}

static inline roost_imported_info imported_of(const struct filter_value *filter)
{
    roost_imported_info info;
    roost_filter_get_imported(filter->filter, &info);
    return info;
}

/* Whether additions spend shares of an actor. */
static inline bool spends_shares(const struct filter_value *filter)
{
    return is_bloom(filter) && config_of(filter)->scalable;
}

roost_status filter_value_new(struct filter_value **filter, const roost_config *config, struct shown shown);

/* With parts of another program's filters (roost/imported.h). */
roost_status filter_value_import(struct filter_value **filter, const roost_config *config, struct shown shown,
                                 const roost_imported_part *parts, size_t count, enum encoding encoding);

/* From the frame of a state. Within the memory limit; windows and counters must not be ahead of the clock. */
roost_status filter_value_decode(struct filter_value **filter, const void *frame, size_t size);

/* For filters that a job has for itself, and their copies of filters of keys. `memory` counts and limits their
   memory. */
roost_environment environment_for_job(struct value *memory);

/* A copy, as COPY makes it: without the identity. ROOST_TOO_LARGE if the filter has more than this many pages of 4 KiB,
   or would pass the memory limit. */
roost_status filter_value_copy(struct filter_value **copy, struct filter_value *filter, uint64_t pages);

/* The header (value.h), without the size of the body. */
void filter_value_header(const struct filter_value *filter, uint8_t header[HEADER_BYTES], enum encoding encoding);

/* An empty filter with the configuration of a frame. */
roost_status filter_value_open(struct filter_value **filter, const roost_merge_job *merging);

/* Draws an identity if there is none; returns whether it did. */
bool filter_value_identify(struct filter_value *filter);

/* As roost_filter_add_many; `changed` has `count` places. */
roost_status filter_value_add(struct filter_value *filter, bool *changed, size_t *done, const roost_bytes *keys,
                              size_t count);

/* Additions that were new (Bloom); entries (others). Those of imported parts count. */
uint64_t filter_value_inserted(struct filter_value *filter);

/* Of all tables together; the number of tables, at least one. */
uint64_t filter_value_capacity(const struct filter_value *filter);
uint32_t filter_value_tables(const struct filter_value *filter);

/* The present cursor; starts the journal if there is none. Between commands replicas have everything, so
   `replicated` is set to it. */
roost_status filter_value_cursor(struct filter_value *filter, roost_cursor *cursor);

static inline bool is_same_cursor(roost_cursor a, roost_cursor b)
{
    return a.incarnation == b.incarnation && a.sequence == b.sequence;
}

#endif
