/* The experiment on partitions: ten replicas of a series fill up on their own, and then all meet. */
#ifndef EVAL_HEAL_H
#define EVAL_HEAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "roost.h"
#include "scale.h"

#define HEAL_KINDS 3
#define HEAL_SIZES 5 /* of one doubling, so that every point of a growth step is near one of them */

enum heal_split {
    HEAL_BALANCED,
    HEAL_ONE_BUSY, /* 99 of 100 elements at one replica, the rest dealt to the others */
    HEAL_SPLITS,
};

enum heal_course {
    HEAL_APART,   /* no replica merges another before the partition heals */
    HEAL_MEETING, /* all meet now and then, and transfer the shares that they can spare */
    HEAL_COURSES,
};

struct healed {
    size_t elements;
    uint64_t missing;  /* of the elements, after the heal */
    bool agree;        /* all ten replicas have one digest */
    double fpr;        /* measured on fresh keys */
    uint64_t standard; /* bytes in memory of one filter of fixed size that has room for all */
    roost_info before; /* of the replica with the most tables */
    roost_info info;
};

struct heal {
    struct healed runs[HEAL_KINDS][HEAL_SPLITS][HEAL_COURSES][HEAL_SIZES];
};

void heal_run(struct heal *experiment, struct scale scale, uint64_t seed);
void heal_claims(const struct heal *experiment);
void heal_write_table(const struct heal *experiment, FILE *csv);

#endif
