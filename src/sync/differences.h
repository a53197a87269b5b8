/* What differs between the leaves of a request and a filter. `differences.c` has an example. */
#ifndef SYNC_DIFFERENCES_H
#define SYNC_DIFFERENCES_H

#include "ranges.h"

/*
 * Positions that only one of the two has. Those that change this filter are listed. Those that change the peer's are
 * only counted at first; when the message is read a second time, they are written to the reply as they are found. So
 * nothing here is longer than the message, what this filter holds, or the reply.
 */
struct differences {
    const roost_filter *filter;
    bool dots;                 /* observed-remove: what one side lacks was removed, so the lists change sides */
    struct number_list here;   /* to be resolved here, */
    uint64_t there, most;      /* and there: how many, and how many at most */
    struct bit_writer *writer; /* the second time */
    unsigned parameter;        /* of its gaps, */
    uint64_t next;             /* and where the next one begins */
};

/* None so far, and limits for a request of so many bytes. */
struct differences no_differences(const roost_filter *filter, size_t size);

/* Reads the leaves of these ranges; `summary` has what the filter holds in them. ROOST_CORRUPT, ROOST_NO_MEMORY,
   ROOST_TOO_LARGE. */
roost_status compare_leaves(struct differences *differences, const struct summary *summary, const struct ranges *ranges,
                            struct bit_reader *reader);

/* Reads them again, and writes the positions that the initiator is to resolve, as write_numbers encodes them. */
roost_status write_there(struct differences *differences, struct bit_writer *writer, const struct summary *summary,
                         const struct ranges *ranges, struct bit_reader reader);

#endif
