/* What one replica does in a workload that removes as well: adds of fresh keys, removes of keys that it holds. */
#ifndef EVAL_SCRIPT_H
#define EVAL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step {
    uint32_t key; /* in the order of the workload's keys */
    bool removes;
};

struct script {
    struct step *steps;
    size_t count;
    size_t adds; /* among them, each of another key */
};

/* `share` per cent of the operations are adds, of the keys from `first_key` on. Needs a share above 50. */
void script_draw(struct script *script, uint64_t seed, size_t first_key, size_t operations, unsigned share);
void script_release(struct script *script);

#endif
