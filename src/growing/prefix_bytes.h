/*
 * Sets of prefixes as bits. `prefix_bytes.c` has the form.
 */
#ifndef GROWING_PREFIX_BYTES_H
#define GROWING_PREFIX_BYTES_H

#include "../prefix/table.h"
#include "../base/bitstream.h"

/* What is known of a set before its prefixes. */
struct prefix_census {
    uint64_t count;
    uint8_t shortest, longest; /* lengths; 0 of an empty set */
};

/* Prefixes in order, none of which covers another. ROOST_NO_MEMORY. */
roost_status write_prefixes(struct bit_writer *writer, struct prefix_census census, next_prefix *next, void *context,
                            const roost_allocator *allocator);

/* The same of a table that is large enough to be cut into tasks of its executor. */
bool is_cut_for_tasks(const roost_executor *executor, uint64_t count);
roost_status write_table(struct bit_writer *writer, struct prefix_census census, const struct prefix_table *table);

/* Reads such a set, prefix by prefix: a source for table_build. */
struct prefix_reader {
    struct bit_reader *reader;
    const roost_allocator *allocator;
    struct prefix_census census;
    uint64_t range, ranges, left; /* the next range, how many there are, and prefixes that are not yet read */
    unsigned range_bits;
    uint64_t *prefixes, *sorted; /* of the present range: as they are read, and in order */
    uint64_t at, count, room;
    bool is_batch; /* several ranges are read into memory that does not grow */
    uint64_t last; /* the last hash that is covered so far, or 0 with `begun` false */
    bool begun;
    roost_status status; /* ROOST_CORRUPT, ROOST_NO_MEMORY */
};
/* Reads the census. The status is in the reader. */
void prefix_reader_begin(struct prefix_reader *prefixes, struct bit_reader *reader, const roost_allocator *allocator);
/* 0 at the end, or where the bytes are wrong; then the status tells. At the end the padding has been read. */
uint64_t next_of_reader(void *prefix_reader);
void prefix_reader_end(struct prefix_reader *prefixes);
/* Fills an empty table with all of them, after the census was read; by tasks if the table has an executor. On failure,
   which may be ROOST_CORRUPT, it is empty. */
roost_status read_table(struct prefix_table *table, struct prefix_reader *reader);

#endif
