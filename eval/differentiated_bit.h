/* The experiment on the differentiated bit of counting cuckoo filters: Equations 4, 9 and 10 of "Multiset
   Synchronization with Counting Cuckoo Filters". */
#ifndef EVAL_DIFFERENTIATED_BIT_H
#define EVAL_DIFFERENTIATED_BIT_H

#include <stdint.h>
#include <stdio.h>

#include "scale.h"

enum bit_form {
    BIT_NONE,           /* f bits */
    BIT_DIFFERENTIATED, /* f bits, and one that tells the order of the two buckets */
    BIT_LONGER,         /* f + 1 bits */
    BIT_ROOST,          /* a real filter of f bits */
    BIT_ROOST_LONGER,   /* of f + 1 */
    BIT_FORMS,
};

enum { BIT_WIDTHS = 5 };

struct bit_cell {
    unsigned bits; /* f */
    unsigned trials, with_collision;
    double collided, expected; /* elements that share the class of an earlier one; means of the trials */
    double equation;           /* chance of a collision: Equation 4 or 9 */
};

struct differentiated_bit {
    struct bit_cell cells[BIT_WIDTHS][BIT_FORMS];
};

void differentiated_bit_run(struct differentiated_bit *experiment, struct scale scale, uint64_t seed);
void differentiated_bit_claims(const struct differentiated_bit *experiment);
void differentiated_bit_write_table(const struct differentiated_bit *experiment, FILE *csv);

#endif
