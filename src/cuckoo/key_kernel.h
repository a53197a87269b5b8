/*
 * Class keys out of the rows of a cuckoo table: the hot loop of encoders, one kernel for each instruction set.
 * `key_kernel.c` lists the kernels; `cuckoo_many.c` has the plain one.
 */
#ifndef CUCKOO_KEY_KERNEL_H
#define CUCKOO_KEY_KERNEL_H

#include "cuckoo_array.h"
#include "../base/kernel.h"

/* Class keys from `first` on, `count` of them. */
struct key_range {
    uint64_t first, count;
};

/* One implementation. All list the same keys in the same order. */
struct key_kernel {
    struct kernel head;
    /* In how many slices a large table is encoded at most: each is a walk more, and memory less. */
    uint32_t most_slices;
    /* The keys of the rows from `from` to `to` - 1 that are in the range; four more may be written. For tables whose
       rows are buckets of four slots, all of them in one word. Returns how many. */
    uint32_t (*list)(const struct cuckoo_table *table, uint32_t from, uint32_t to, struct key_range range,
                     uint64_t *keys);
};

extern const struct key_kernel key_kernel_plain;
#if defined(__x86_64__)
extern const struct key_kernel key_kernel_avx2;
#endif

/* All kernels of this build, best first, the plain one last; NULL ends the list. */
extern const struct key_kernel *const key_kernels[];

/* The best one that this machine can run; tests may force another (NULL: back to the best). */
const struct key_kernel *key_kernel_in_use(void);
void key_kernel_force(const struct key_kernel *kernel);

#endif
