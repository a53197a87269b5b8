/* The envelope of a frame. `frame.c` draws it. */
#ifndef FRAME_FRAME_H
#define FRAME_FRAME_H

#include "../filter/configuration.h"
#include "../filter/importing.h"

enum frame_type {
    STATE_FRAME = 1,
    DELTA_FRAME = 2, /* a part of a state */
    MULTISET_FRAME = 3,
};

/* A writer that has left room for the header and holds the configuration; the body goes in next. `frame_begin` is for
   bodies about the filter alone; the others put imported parts in front: all, one, or what the records say. */
void frame_begin(struct bit_writer *writer, const roost_filter *filter);
void frame_begin_state(struct bit_writer *writer, const roost_filter *filter);
void frame_begin_part(struct bit_writer *writer, const roost_filter *filter, size_t part);
roost_status frame_begin_delta(struct bit_writer *writer, const roost_filter *filter, struct selection selection);

/* One that holds nothing yet; the configuration goes in next. */
void frame_begin_empty(struct bit_writer *writer, roost_allocator allocator);

/* The frame, or nothing and the status: ROOST_NO_MEMORY where the writer failed. */
roost_status frame_end(struct bit_writer *writer, roost_buffer *frame, enum frame_type type, roost_status status);

/*
 * The frame of a state without a copy of long arrays, for files: it refers to those of the filter, which must not
 * change meanwhile. Release the buffer; its last bytes are the checksum of the whole frame.
 */
struct frame_pieces {
    roost_buffer buffer;
    struct lent_list lent;
};
roost_status frame_encode_pieces(const roost_filter *filter, struct frame_pieces *pieces);
size_t frame_pieces_size(const struct frame_pieces *pieces);

/* All bytes in their order, by several calls; ends with the first status that is not ROOST_OK. */
typedef roost_status frame_writer(void *context, const void *bytes, size_t size);
roost_status frame_pieces_write(const struct frame_pieces *pieces, frame_writer *write, void *context);

/*
 * The frame of a state that is written while it is encoded, so that it is never whole in memory: frame_output.c. The
 * functions are those of a file that is empty at first.
 */
struct frame_output {
    frame_writer *write;                                                                 /* at its end */
    frame_writer *rewrite;                                                               /* its first bytes */
    roost_status (*read)(void *context, uint64_t position, uint8_t *bytes, size_t size); /* exactly so many */
    void *context;
};
/* Whether it is worth it. */
bool frame_is_passed_on(const roost_filter *filter);
/* Of such a filter. `checksum` is what the frame ends with. */
roost_status frame_pass_on(const roost_filter *filter, const struct frame_output *output, uint64_t *size,
                           uint8_t checksum[8]);

/* The header before a body of that length, of which at least the first byte is there; returns its size. */
#define LARGEST_HEADER (4 + 2 + 10)
size_t frame_write_header(uint8_t header[LARGEST_HEADER + 8], enum frame_type type, const uint8_t *body, size_t size,
                          uint64_t length);

/* From the magic to the checksum; `reader` then has the configuration and the body, and nothing else. */
roost_status frame_open(struct bit_reader *reader, enum frame_type *type, const uint8_t *frame, size_t size);
/* The same of a reader at the first byte, without the checksum: for bytes that have not all come yet. */
roost_status frame_open_unchecked(struct bit_reader *reader, enum frame_type *type);
/* The filter, from where frame_open left the reader. */
roost_status frame_read_filter(roost_filter **filter, struct bit_reader *reader, enum frame_type type,
                               const roost_environment *environment);
/* The imported parts that come before the configuration; NULL if there are none. Without a place for them, skips them. */
roost_status frame_read_imported(struct imported **imported, struct bit_reader *reader,
                                 const struct memory_account *account);
/* The same for a multiset, which has none. */
roost_status frame_open_multiset(struct bit_reader *reader, const uint8_t *frame, size_t size);

#endif
