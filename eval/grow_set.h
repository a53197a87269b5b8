/* A plain grow-only set (GSet) of 128-bit keys: what the filters are compared with. */
#ifndef EVAL_GROW_SET_H
#define EVAL_GROW_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "set_frame.h"

struct grow_set {
    set_member *members; /* sorted, each once */
    size_t count;
};

enum grow_set_coding {
    SET_RAW = 0,  /* sixteen bytes a member */
    SET_RICE = 1, /* Rice-coded gaps between members */
};

/* Every `stride`-th key from the `start`-th on. */
struct grow_set grow_set_of(const struct key *keys, size_t count, size_t start, size_t stride);
struct grow_set grow_set_merged(const struct grow_set *a, const struct grow_set *b);
void grow_set_release(struct grow_set *set);

/* Released by free(frame.bytes). */
struct set_frame grow_set_encode(const struct grow_set *set, enum grow_set_coding coding);
/* Does the frame decode to exactly this set? */
bool grow_set_frame_holds(struct set_frame frame, const struct grow_set *set);

#endif
