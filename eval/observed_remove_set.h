/* A plain observed-remove set (OR-Set) of 128-bit keys: what the observed-remove filters are compared with. */
#ifndef EVAL_OBSERVED_REMOVE_SET_H
#define EVAL_OBSERVED_REMOVE_SET_H

#include "script.h"
#include "set_frame.h"

struct dotted_member {
    set_member member;
    uint32_t actor;   /* which of the set's */
    uint32_t counter; /* the dot of its addition */
};

/* The version vector: all dots of the actor up to this one were seen. */
struct seen_actor {
    uint64_t actor;
    uint32_t counter;
};

#define MOST_SET_ACTORS 2

struct observed_remove_set {
    struct dotted_member *members; /* sorted by dot */
    size_t count;
    struct seen_actor seen[MOST_SET_ACTORS]; /* sorted */
    unsigned actors;
};

enum dotted_coding {
    DOTTED_RAW = 2,   /* by key: sixteen bytes, one for the actor, four for the counter */
    DOTTED_CODED = 3, /* by dot, as the filter's frame is: Rice-coded gaps between dots, then the keys */
};

/* What is left after the script of a replica. */
struct observed_remove_set observed_remove_set_of(const struct key *keys, const struct script *script, uint64_t actor);
/* Of two replicas, whose actors are not the same. */
struct observed_remove_set observed_remove_set_merged(const struct observed_remove_set *a,
                                                      const struct observed_remove_set *b);
void observed_remove_set_release(struct observed_remove_set *set);

struct set_frame observed_remove_set_encode(const struct observed_remove_set *set, enum dotted_coding coding);
/* Does the frame decode to exactly this set? */
bool observed_remove_set_frame_holds(struct set_frame frame, const struct observed_remove_set *set);

#endif
