/* The hook that the counting library (src/meson.build, `counted`) calls for each basic block: see cost.h. */
#include <stdint.h>

extern uint64_t cost_work;
uint64_t cost_work;

void COUNTS_WORK(void); /* the name of the hook */
__attribute__((no_sanitize("undefined"))) void COUNTS_WORK(void)
{
    cost_work++;
}
