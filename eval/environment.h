/* The environment of a replica, with all that is random in it drawn from a seed: every run gives the same bytes. */
#ifndef EVAL_ENVIRONMENT_H
#define EVAL_ENVIRONMENT_H

#include "roost.h"

/* `state` is what actors are drawn from; it must outlive the filters of this environment and be another for each. */
roost_environment seeded_environment(uint64_t *state, uint64_t seed);

#endif
