/*
 * Work that the tasks of a caller's executor do (roost_executor), and the memory that they have for it.
 *
 * A task must not call the allocator: it has task memory, which the calling thread allocated before. Nothing that is
 * made there outlives the call: the calling thread copies it to memory of the filter's own. Where task memory does not
 * suffice, as for hashes that somebody chose, the calling thread does that part again by itself.
 *
 *     calling thread     allocate task memory   run(tasks)   adopt what task 0, 1, 2 made, in order   run(tasks) ...
 *     tasks                                     0   1   2                                             3   4   5
 */
#ifndef BASE_TASKS_H
#define BASE_TASKS_H

#include "memory.h"

/* A library for machines without threads is compiled without what tasks would do. */
static inline bool is_parallel(const roost_executor *executor)
{
#ifdef ROOST_WITHOUT_THREADS
    (void)executor;
    return false;
#else
    return executor->run && executor->threads > 1;
#endif
}

/* Several times as many tasks as threads, so that these end at about the same time. */
#define TASKS_A_THREAD 4
#define MOST_AT_ONCE   1024

static inline size_t tasks_at_once(const roost_executor *executor)
{
    return executor->threads < MOST_AT_ONCE / TASKS_A_THREAD ? (size_t)executor->threads * TASKS_A_THREAD
                                                             : MOST_AT_ONCE;
}

/* Calls `work` for items from one on and before another, such that each item has its turn once: for all at once where
   the executor is not parallel, or where there are fewer than `least` for each of two tasks. */
typedef void span_work(void *context, size_t from, size_t to);
void run_in_spans(const roost_executor *executor, span_work *work, void *context, size_t count, size_t least);

/* Memory from one end to the other; what was allocated last can be released again. */
struct task_memory {
    uint8_t *bytes;
    size_t size, used, last; /* the last allocation begins there */
};
/* Whole pages, so that tasks share no line and each begins where any object can. */
#define TASK_PAGE 4096
static inline size_t task_memory_size(uint64_t bytes)
{
    return (size_t)(bytes / TASK_PAGE + 1) * TASK_PAGE;
}
/* The memory of one task, of a block that has `size` bytes for each, which are such pages. */
static inline struct task_memory task_memory_in(void *block, size_t index, size_t size)
{
    return (struct task_memory){.bytes = (uint8_t *)block + index * size, .size = size};
}
/* All of it is free again. */
static inline void task_memory_reset(struct task_memory *memory)
{
    memory->used = memory->last = 0;
}
/* Some of it, which is not zeroed; NULL without. For large arrays that are written before they are read. */
void *task_memory_take(struct task_memory *memory, size_t size);
/* An allocator of that memory, for one task. */
roost_allocator task_allocator(struct task_memory *memory);

#endif
