/*
 * Multisets as bytes: the envelope of frame.c with a type of its own, so that it is not taken for a filter. The state
 * follows the configuration, in its canonical form: one state has one frame.
 */
#include "frame.h"
#include "../multiset/multiset.h"

roost_status roost_multiset_encode(const roost_multiset *multiset, roost_buffer *frame)
{
    struct bit_writer writer;
    frame_begin_empty(&writer, multiset->environment.allocator);
    multiset_write_configuration(multiset, &writer);
    return frame_end(&writer, frame, MULTISET_FRAME, multiset->kind->write_state(multiset, &writer));
}

roost_status roost_multiset_decode(roost_multiset **multiset, const void *frame, size_t size,
                                   const roost_environment *environment)
{
    struct bit_reader reader;
    roost_multiset *decoded = NULL;
    roost_environment complete = environment_or_default(environment);
    *multiset = NULL;
    roost_status status = frame_open_multiset(&reader, frame, size);
    if (status == ROOST_OK)
        status = multiset_open_configured(&decoded, &reader, &complete);
    if (status == ROOST_OK)
        status = decoded->kind->read_state(decoded, &reader);
    if (status == ROOST_OK && reader_bits_left(&reader) != 0)
        status = ROOST_CORRUPT;
    if (status == ROOST_OK)
        *multiset = decoded;
    else
        roost_multiset_free(decoded);
    return status;
}
