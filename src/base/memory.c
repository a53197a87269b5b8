#include "memory.h"

#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define HUGE_PAGE ((size_t)2 << 20)

static void *default_allocate(void *context, size_t size)
{
    (void)context;
    return calloc(1, size);
}

static void default_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

roost_allocator allocator_or_default(roost_allocator allocator)
{
    if (!allocator.allocate || !allocator.release)
        return (roost_allocator){NULL, default_allocate, default_release};
    return allocator;
}

void *memory_allocate_scratch(const roost_allocator *allocator, size_t size)
{
    return allocator->allocate == default_allocate ? malloc(size) : memory_allocate(allocator, size);
}

/* Only whole huge pages inside the region are requested; a kernel without them refuses, which does no harm. */
static void request_huge_pages(uint8_t *bytes, size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    uintptr_t begin = ((uintptr_t)bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)bytes + size) & ~(HUGE_PAGE - 1);
    if (size >= 2 * HUGE_PAGE && begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)bytes;
    (void)size;
#endif
}

void *memory_allocate_large(const roost_allocator *allocator, size_t size)
{
    void *memory = memory_allocate(allocator, size);
    if (memory)
        request_huge_pages(memory, size);
    return memory;
}

bool region_allocate(struct region *region, const roost_allocator *allocator, size_t size)
{
    *region = (struct region){0};
    if (size > SIZE_MAX - CACHE_LINE)
        return false;
    uint8_t *block = memory_allocate(allocator, size + CACHE_LINE);
    if (!block)
        return false;
    uint8_t *aligned = block + (-(uintptr_t)block & (CACHE_LINE - 1));
    request_huge_pages(aligned, size);
    *region = (struct region){aligned, size, block};
    return true;
}

void region_release(struct region *region, const roost_allocator *allocator)
{
    memory_release(allocator, region->block);
    *region = (struct region){0};
}

/* The bytes begin at a boundary of cache lines, which may be farther from the beginning of the new block. */
void region_move(struct region *region, const struct memory_mover *mover)
{
    size_t before = (size_t)(region->bytes - (uint8_t *)region->block);
    uint8_t *block = memory_moved(mover, region->block);
    if (block == region->block)
        return;
    uint8_t *aligned = block + (-(uintptr_t)block & (CACHE_LINE - 1));
    memmove(aligned, block + before, region->size);
    region->block = block;
    region->bytes = aligned;
}

void roost_buffer_release(roost_buffer *buffer)
{
    if (buffer->data)
        memory_release(&buffer->allocator, buffer->data);
    buffer->data = NULL;
    buffer->size = 0;
}
