/*
 * The prefixes of one filter: a sorted list while they are few, a table from then on. `prefix_set.c` has the essay.
 */
#ifndef GROWING_PREFIX_SET_H
#define GROWING_PREFIX_SET_H

#include "../prefix/table.h"
#include "../filter/kind.h"

#define MOST_LISTED 128

struct prefix_set {
    union {
        uint64_t only;              /* the one prefix of a list of one */
        uint64_t *list;             /* sorted, none of which covers another; a list of none has no memory */
        struct prefix_table *table; /* which has been there ever since they were too many for a list */
    };
    uint8_t listed;
    bool in_table;
};

/* All zero: the empty set. `owner` is the filter that has the set, for allocator, memory limit and seed. */
void set_release(struct prefix_set *set, const roost_filter *owner); /* it is empty then */

bool set_list_contains(const struct prefix_set *set, uint64_t hash); /* of one that is a list */
static inline bool set_contains(const struct prefix_set *set, uint64_t hash)
{
    return __builtin_expect(set->in_table, 1) ? table_contains(set->table, hash) : set_list_contains(set, hash);
}
void set_contains_many(const struct prefix_set *set, bool *found, const roost_hash *hashes, size_t count);
/* Whether some prefix covers this one. */
bool set_covers(const struct prefix_set *set, uint64_t prefix);
/* Whether it covers all prefixes of the other one. Slower than a walk in order, and needs no memory. */
bool set_covers_all(const struct prefix_set *set, const struct prefix_set *other);

/* As table_add, table_add_all and table_build. */
roost_status set_add(struct prefix_set *set, const roost_filter *owner, uint64_t prefix);
roost_status set_add_all(struct prefix_set *set, const roost_filter *owner, const uint64_t *prefixes, uint64_t count);
roost_status set_build(struct prefix_set *set, const roost_filter *owner, uint64_t count, next_prefix *next,
                       void *context);

/* As read_table, into an empty set. */
struct prefix_reader;
roost_status set_read(struct prefix_set *set, const roost_filter *owner, struct prefix_reader *reader);

/* As table_merge. */
roost_status set_merge(struct prefix_set *set, const roost_filter *owner, const struct prefix_set *other,
                       struct merge_result *result);

/* As if there were too many for a list; for tests. */
roost_status set_use_table(struct prefix_set *set, const roost_filter *owner);

/* How many there are; of one length; of each. */
static inline uint64_t set_count(const struct prefix_set *set)
{
    return set->in_table ? set->table->count : set->listed;
}
uint64_t set_count_of(const struct prefix_set *set, unsigned length);
void set_counts(const struct prefix_set *set, uint64_t counts[MOST_LENGTH + 1]);
/* The sum of the hashes of all. */
uint128 set_sum(const struct prefix_set *set, uint64_t seed);
bool set_equals(const struct prefix_set *set, const struct prefix_set *other, uint64_t seed);

/* All of them in order. */
struct set_stream {
    struct prefix_list list;
    struct table_stream table; /* its status is that of both */
    bool in_table;
};
void set_stream_begin(struct set_stream *stream, const struct prefix_set *set);
/* What a set with the same seed has exactly alike may be left out. */
void set_stream_skip(struct set_stream *stream, const struct prefix_set *known);
uint64_t next_of_set(void *stream);
void set_stream_end(struct set_stream *stream);

/* The positions that are wanted, and maybe others, in no order. ROOST_NO_MEMORY. */
roost_status set_visit_positions(const struct prefix_set *set, const struct position_visitor *visitor);

/* Into an empty set, of another owner. */
roost_status set_copy(struct prefix_set *copy, const roost_filter *owner, const struct prefix_set *set);
bool set_move(struct prefix_set *set, const struct memory_mover *mover, uint64_t place);

uint64_t set_bytes(const struct prefix_set *set);
double set_load(const struct prefix_set *set);
bool set_check(const struct prefix_set *set);

#endif
