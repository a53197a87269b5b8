#include "tasks.h"

#include <string.h>

#include "bits.h"

/* ---- spans ------------------------------------------------------------------------------------------------------- */

struct spans {
    span_work *work;
    void *context;
    size_t count, tasks;
};

/* Without a product that may be too large. */
static size_t span_start(const struct spans *spans, size_t index)
{
    size_t rest = spans->count % spans->tasks;
    return spans->count / spans->tasks * index + (index < rest ? index : rest);
}

static void run_span(void *argument, size_t index)
{
    const struct spans *spans = argument;
    spans->work(spans->context, span_start(spans, index), span_start(spans, index + 1));
}

void run_in_spans(const roost_executor *executor, span_work *work, void *context, size_t count, size_t least)
{
    struct spans spans = {work, context, count, is_parallel(executor) ? tasks_at_once(executor) : 1};
    spans.tasks = spans.tasks < count / least ? spans.tasks : count / least;
    if (spans.tasks < 2)
        work(context, 0, count);
    else
        executor->run(executor->context, run_span, &spans, spans.tasks);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Of any object, as the contract of allocators says. */
#define ALIGNMENT 16

void *task_memory_take(struct task_memory *memory, size_t size)
{
    size_t left = memory->size - memory->used, rounded = divide_up(size, ALIGNMENT) * ALIGNMENT;
    if (size > left)
        return NULL;
    memory->last = memory->used;
    memory->used += rounded < left ? rounded : left;
    return memory->bytes + memory->last;
}

static void *allocate(void *context, size_t size)
{
    void *bytes = task_memory_take(context, size);
    return bytes ? memset(bytes, 0, size) : NULL;
}

static void release(void *context, void *bytes)
{
    struct task_memory *memory = context;
    if (bytes == memory->bytes + memory->last)
        memory->used = memory->last;
}

roost_allocator task_allocator(struct task_memory *memory)
{
    return (roost_allocator){memory, allocate, release};
}
