/*
 * Kernels: hot loops that exist once for each instruction set (docs/design.md, Kernels). A part of the library that has
 * some declares a struct of functions, which begins with a `struct kernel`, lists what it has, and keeps one choice:
 *
 *     struct bloom_kernel { struct kernel head; void (*add)(...); ... };
 *     const struct bloom_kernel *const bloom_kernels[] = {&bloom_kernel_avx2, &bloom_kernel_plain, NULL};
 *     static struct kernel_choice choice = {.kernels = bloom_kernels};
 *
 * kernel_in_use(&choice) is then the first kernel of the list that this machine can run.
 */
#ifndef BASE_KERNEL_H
#define BASE_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct kernel {
    const char *name;
    bool (*usable)(void); /* whether this machine can run it */
};

/* For kernels that every machine can run that the library is built for. */
bool usable_everywhere(void);

struct kernel_choice {
    /* An array of pointers to structs of one type, each of which begins with a `struct kernel`: best first, the plain
       one last, then NULL. */
    const void *kernels;
    _Atomic(const void *) in_use; /* NULL: none is chosen yet */
};

/* Chooses the best one that this machine can run. */
const void *kernel_choose(struct kernel_choice *choice);

/* The chosen one; the first call chooses. Calls with one key pass here: this is a load and a branch. */
static inline const void *kernel_in_use(struct kernel_choice *choice)
{
    const void *kernel = atomic_load_explicit(&choice->in_use, memory_order_relaxed);
    return kernel ? kernel : kernel_choose(choice);
}

/* For tests: another one; NULL: the best one again. */
void kernel_force(struct kernel_choice *choice, const void *kernel);

#endif
