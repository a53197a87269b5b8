/* Decodes a frame while it is read. */
#ifndef FRAME_FRAME_INPUT_H
#define FRAME_FRAME_INPUT_H

#include "roost/filter.h"

struct frame_input {
    uint8_t *bytes; /* room for the whole frame */
    size_t size;    /* of the frame */
    size_t ready;   /* how many of its bytes are there: the header and the first of the body at least */
    bool (*read)(void *context, uint8_t *bytes, size_t size); /* the next ones, exactly so many */
    void *context;
};

/*
 * Decodes a frame as roost_filter_decode does, with a complete environment. Its bytes are read where they belong: the
 * array of a Bloom filter is not in `bytes` then, and those that were decoded are zero. The last ones, the checksum,
 * are there. Any status but ROOST_OK says only that decoding failed: numbers are looked at before the checksum that
 * guards them, so that a damaged frame may fail in another way than docs/format.md says. Decode it as a whole then.
 */
roost_status frame_input_decode(roost_filter **filter, struct frame_input *input, const roost_environment *environment);

#endif
