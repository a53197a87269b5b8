/* The members of a cuckoo table. `cuckoo_table.h` has the functions, `cuckoo_slots.h` the access to single slots. */
#ifndef CUCKOO_CUCKOO_ARRAY_H
#define CUCKOO_CUCKOO_ARRAY_H

#include "cuckoo_geometry.h"
#include "stash.h"
#include "../base/memory.h"

struct kick;

/*
 * Invariants (cuckoo_table_check): `filled` counts the slots that are not 0; without tags no class is held twice, in
 * slots and stash together, and buckets fill from the front; the bits behind the last slot are 0.
 */
struct cuckoo_table {
    struct cuckoo_geometry geometry; /* of the classes */
    struct cuckoo_geometry shape;    /* of the slots: the same, unless the table is folded or has spread */
    int32_t spread;                  /* fingerprint bits in the row number; below 0: bucket bits in the slot */
    uint32_t lift;                   /* added to what the slot keeps of a fingerprint: 1 where that could be 0 */
    struct region slots;
    uint64_t filled;
    bool holds_reserve; /* room in the stash is counted on: the layout stays until it is used */
    struct stash stash;
    struct kick *journal; /* what the insertion under way displaced */
    uint8_t *touched;     /* a byte for each page of the slots, not 0 where any was ever written; behind the journal */
    uint64_t copy_token;  /* the same in both while one is an incremental copy of the other */
    uint64_t moves;       /* grows whenever entries move to other slots, so that an incremental walk may miss them */
    uint32_t most_kicks;
    int form;              /* which way of reading a bucket fits */
    int plain_form;        /* the same where classes and slots have one geometry, outside series; else OTHER_FORM */
    uint32_t bucket_bits;  /* of the slots of a bucket */
    uint32_t bucket_bytes; /* the same in bytes, where they are whole ones */
    uint64_t fingerprints; /* how many there are in the geometry of classes; for a table outside a series */
    uint64_t ones, tops;   /* 1, and the top bit, of each lane of a bucket of up to 64 bits */
    uint128 wide_ones, wide_tops; /* the same for wider ones */
};

#endif
