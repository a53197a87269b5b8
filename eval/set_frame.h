/* Frames for the plain sets that the filters are compared with, of the same make as the filters' own. */
#ifndef EVAL_SET_FRAME_H
#define EVAL_SET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload.h"

typedef unsigned __int128 set_member;

#define MEMBER_BITS 128

struct set_frame {
    uint8_t *bytes; /* released by free */
    size_t size;
};

bool same_frames(struct set_frame a, struct set_frame b);

static inline set_member member_of(struct key key)
{
    return (set_member)key.high << 64 | key.low;
}

/* ---- bits, the lowest of a byte first; past the end there are zeros ---------------------------------------------- */

struct bit_row {
    uint8_t *bytes;
    size_t position, end; /* in bits */
};

void put_bits(struct bit_row *row, set_member value, unsigned count);
set_member take_bits(struct bit_row *row, unsigned count);

/* The quotient is that many zeros and a one, then follow the low bits. */
void put_rice(struct bit_row *row, set_member value, unsigned parameter);
set_member take_rice(struct bit_row *row, unsigned parameter);

/* ---- the envelope ------------------------------------------------------------------------------------------------ */

/* Room for a body of that many bits, and where it starts. */
struct bit_row set_frame_begin(struct set_frame *frame, size_t most_bits);
/* Around what was written. */
void set_frame_end(struct set_frame *frame, const struct bit_row *row, unsigned form, size_t count);

/* Whether the envelope is sound, and where the body starts. */
bool set_frame_open(struct set_frame frame, struct bit_row *row, unsigned *form, size_t *count);

#endif
