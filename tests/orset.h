/*
 * An exact observed-remove set, the model that filters are held against. It knows nothing of tables or causal contexts:
 * for each dot one byte, unseen, live or dead, and merge is the larger of two bytes.
 *
 * Dots are numbered from 0 in the order in which they were made. Each belongs to a *group*: that of the elements that
 * cannot be told apart. Where every element is its own group this is the textbook's set; where a group is a class of
 * fingerprints it is what an observed-remove cuckoo filter must equal, dot for dot, without tolerance.
 */
#ifndef TESTS_ORSET_H
#define TESTS_ORSET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum dot_state { UNSEEN = 0, LIVE = 1, DEAD = 2 };

struct orset {
    const uint32_t *group;     /* of each dot; shared by all replicas */
    uint8_t *state;            /* of each dot; `room` of them, a multiple of 8 */
    uint32_t *next, *previous; /* the live dots of a group, as dot + 1; 0 ends */
    uint32_t *first, *count;   /* of each group */
    uint32_t room, groups;
    uint32_t live;    /* dots */
    uint32_t present; /* groups that have any */
};

static inline void orset_open(struct orset *set, const uint32_t *group, uint32_t room, uint32_t groups)
{
    room = (room + 7) / 8 * 8;
    *set = (struct orset){.group = group, .room = room, .groups = groups};
    set->state = calloc(room, 1);
    set->next = calloc(room, sizeof *set->next);
    set->previous = calloc(room, sizeof *set->previous);
    set->first = calloc(groups, sizeof *set->first);
    set->count = calloc(groups, sizeof *set->count);
}

static inline void orset_close(struct orset *set)
{
    free(set->state);
    free(set->next);
    free(set->previous);
    free(set->first);
    free(set->count);
}

static inline void orset_link(struct orset *set, uint32_t dot)
{
    uint32_t group = set->group[dot], head = set->first[group];
    set->next[dot] = head;
    set->previous[dot] = 0;
    if (head)
        set->previous[head - 1] = dot + 1;
    set->first[group] = dot + 1;
    set->present += set->count[group]++ == 0;
    set->live++;
}

static inline void orset_unlink(struct orset *set, uint32_t dot)
{
    uint32_t group = set->group[dot], next = set->next[dot], previous = set->previous[dot];
    if (next)
        set->previous[next - 1] = previous;
    if (previous)
        set->next[previous - 1] = next;
    else
        set->first[group] = next;
    set->present -= --set->count[group] == 0;
    set->live--;
}

/* The larger of the two; tells whether that is new. */
static inline bool orset_raise(struct orset *set, uint32_t dot, uint8_t state)
{
    uint8_t old = set->state[dot];
    if (state <= old)
        return false;
    set->state[dot] = state;
    if (old == LIVE)
        orset_unlink(set, dot);
    if (state == LIVE)
        orset_link(set, dot);
    return true;
}

/* Becomes what these bytes say. */
static inline void orset_become(struct orset *set, const uint8_t *states, uint32_t dots)
{
    memset(set->state, 0, set->room);
    memset(set->first, 0, set->groups * sizeof *set->first);
    memset(set->count, 0, set->groups * sizeof *set->count);
    set->live = set->present = 0;
    for (uint32_t dot = 0; dot < dots; dot++)
        orset_raise(set, dot, states[dot]);
}

static inline uint32_t orset_seen(const struct orset *set, uint32_t dots)
{
    uint32_t seen = 0;
    for (uint32_t dot = 0; dot < dots; dot++)
        seen += set->state[dot] != UNSEEN;
    return seen;
}

/* Whether some dot is further along in the second. */
static inline bool orset_lacks(const struct orset *set, const struct orset *other, uint32_t dots)
{
    bool lacks = false;
    for (uint32_t dot = 0; dot < dots; dot++)
        lacks |= set->state[dot] < other->state[dot];
    return lacks;
}

#endif
