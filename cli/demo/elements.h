/* The elements of a run and what happened to each of them: the exact model that the filters are compared with. */
#ifndef CLI_DEMO_ELEMENTS_H
#define CLI_DEMO_ELEMENTS_H

#include "roost.h"

enum fate { NOT_ADDED, ADDED, REMOVED, ADDED_AGAIN };
#define FATES 4

/* An element: the index-th of the replica that adds it first. */
struct element {
    uint32_t owner;
    uint64_t index;
};

struct elements {
    uint64_t seed, total;
    uint32_t owners;
    uint64_t room;          /* places in `fates` for each owner */
    uint8_t *fates;         /* index: owner * room + index */
    uint64_t added;         /* at least once */
    uint64_t counts[FATES]; /* elements by fate; those that are not added yet are not counted */
};

/* Returns false without memory. */
bool elements_open(struct elements *elements, uint64_t total, uint32_t owners, uint64_t seed);
void elements_close(struct elements *elements);

/* How many elements this owner has. */
uint64_t elements_of(const struct elements *elements, uint32_t owner);

/* Adds the elements from `first` to before `end` of an owner. */
roost_status elements_add(struct elements *elements, roost_filter *filter, uint32_t owner, uint64_t first,
                          uint64_t end);

/* Removes an element that the filter has seen. */
roost_status element_remove(struct elements *elements, roost_filter *filter, struct element element);

/* Adds an element that was removed somewhere else. */
roost_status element_add_again(struct elements *elements, roost_filter *filter, struct element element);

/* Elements that must be there. */
uint64_t elements_alive(const struct elements *elements);

/* How many elements of a fate the filter reports; looks up each of them. */
uint64_t elements_found(const struct elements *elements, const roost_filter *filter, enum fate fate);

/* False positives among `keys` keys that were never added. */
uint64_t elements_found_false(const struct elements *elements, const roost_filter *filter, uint64_t keys);

#endif
