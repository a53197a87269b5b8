/* What the demo has shown, in figures. */
#ifndef CLI_DEMO_REPORT_H
#define CLI_DEMO_REPORT_H

#include "demo.h"

struct demo_figures {
    uint64_t missing;    /* elements that a replica should hold and does not, over all replicas */
    uint64_t look_ups;   /* made to find that out */
    uint64_t fresh_keys; /* that nobody added */
    uint64_t false_positives;
    uint32_t groups; /* of replicas that agree: 1 is what we want */
    struct demo_state states[MOST_REPLICAS];
};

/* Asks every replica for every element, and one for keys that nobody added. */
void demo_measure(struct demo_figures *figures, const struct demo *demo);

void demo_print_figures(const struct demo_figures *figures, const struct demo *demo);
void demo_print_json(const struct demo_figures *figures, const struct demo *demo);

#endif
