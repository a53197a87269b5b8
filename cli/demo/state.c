#include "state.h"

#include <string.h>

uint32_t demo_first_beyond_cut(const struct demo *demo)
{
    return (demo->replicas.count + 1) / 2;
}

uint32_t demo_compare_states(const struct demo *demo, struct replica_state *states)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < demo->replicas.count; i++) {
        uint32_t twin = 0;
        roost_digest_text(roost_filter_digest(demo->replicas.all[i].filter), states[i].digest);
        while (strcmp(states[twin].digest, states[i].digest) != 0)
            twin++;
        states[i].group = twin < i ? states[twin].group : groups++;
    }
    return groups;
}
