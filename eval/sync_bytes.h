/* The experiment on syncs: how many bytes two replicas exchange until they agree, by how much has changed. */
#ifndef EVAL_SYNC_BYTES_H
#define EVAL_SYNC_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "scale.h"

#define SYNC_AMOUNTS 3 /* of changes */

enum sync_kind {
    SYNC_ORCUCKOO,  /* half of the changes are removes */
    SYNC_WITH_PAST, /* the same, after as many other elements were added and removed */
    SYNC_BLOOM,     /* all are adds */
    SYNC_CUCKOO,
    SYNC_KINDS,
};

enum sync_course {
    SYNC_BY_CURSOR, /* the initiator remembers its peer */
    SYNC_LOST,      /* both cursors are lost: causal contexts and digest tree */
    SYNC_EQUAL,     /* nothing has changed since, and the initiator remembers */
    SYNC_EQUAL_LOST,
    SYNC_COURSES,
};

/* Bytes of messages, each with its length before it as on a pipe. */
struct traffic {
    uint64_t sent, received;
    uint32_t rounds;
    bool agree; /* the replicas have equal digests, and the session says so */
};

struct sync_bytes {
    size_t elements;
    unsigned amounts;                 /* of changes: all, or the first in a sample */
    struct traffic first[SYNC_KINDS]; /* into an empty replica */
    uint64_t frame[SYNC_KINDS];       /* bytes of the whole state */
    struct traffic runs[SYNC_KINDS][SYNC_AMOUNTS][SYNC_COURSES];
};

void sync_bytes_run(struct sync_bytes *experiment, struct scale scale, uint64_t seed);
void sync_bytes_claims(const struct sync_bytes *experiment);
void sync_bytes_write_table(const struct sync_bytes *experiment, FILE *csv);

#endif
