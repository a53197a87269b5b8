/*
 * The heap of a module: malloc, calloc and free. That of wasi-libc takes 9 kB of code, a tenth of a small module; this one takes
 * one. It is for one thread, and for objects that ask for few blocks, most of them large.
 *
 * Blocks lie side by side from the end of the module's data to the end of its memory, each with its size and that of the one
 * before, so that a block that is freed joins free neighbours (boundary tags: Knuth, volume 1, 2.5). The last one is empty and
 * always in use.
 *
 *     | before | size, in use | contents ... | before | size, free | next | previous | ... | before | 0, in use |
 *      block            ^ 8 bytes             block                                          end
 *
 * Free blocks are in lists by size: four for each power of two. A search begins in the first list all of whose blocks are large
 * enough, so that it takes the first block it sees (as in TLSF: Masmano and others, 2004); before memory grows, it also looks
 * through the list below that one. Memory that was never used is zero, but blocks are recycled: calloc clears.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PAGE         65536u
#define TAGS         8u  /* bytes */
#define UNIT         16u /* sizes are multiples of it, and contents begin at multiples of it */
#define LISTS        128u
#define MOST         (UINT32_MAX - 2 * PAGE)
#define IS_USED      1u
#define LARGEST_STEP (16u << 20)

struct block {
    uint32_t before;               /* the size of the block before */
    uint32_t size;                 /* with its tags; the lowest bit: in use */
    struct block *next, *previous; /* of a free block, in its list */
};

extern unsigned char __heap_base;
static struct block *lists[LISTS];
static struct block *end; /* NULL before the first call */

static uint32_t size_of(const struct block *block)
{
    return block->size & ~IS_USED;
}

static struct block *after(const struct block *block)
{
    return (struct block *)((uintptr_t)block + size_of(block));
}

/* The list of blocks of this size: its highest bit, and the two below that. */
static uint32_t list_of(uint32_t size)
{
    uint32_t top = 31u - (uint32_t)__builtin_clz(size);
    return top * 4 + (size >> (top - 2) & 3);
}

static void enlist(struct block *block, uint32_t size)
{
    struct block **list = &lists[list_of(size)];
    block->size = size;
    after(block)->before = size;
    block->previous = NULL;
    block->next = *list;
    if (*list)
        (*list)->previous = block;
    *list = block;
}

static void delist(struct block *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        lists[list_of(block->size)] = block->next;
    if (block->next)
        block->next->previous = block->previous;
}

/* Joins a block that is in no list with its free neighbours. */
static void release(struct block *block)
{
    struct block *next = after(block), *before = (struct block *)((uintptr_t)block - block->before);
    uint32_t size = size_of(block);
    if (!(next->size & IS_USED)) {
        delist(next);
        size += next->size;
    }
    if (block->before && !(before->size & IS_USED)) {
        delist(before);
        size += before->size;
        block = before;
    }
    enlist(block, size);
}

/* The first block is 8 bytes behind a multiple of 16, and `end` as well. */
static int begin(void)
{
    uintptr_t first = (((uintptr_t)&__heap_base + UNIT - 1) & -(uintptr_t)UNIT) + TAGS;
    uint64_t memory = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
    if (first + 2 * UNIT > memory)
        return 0;
    struct block *block = (struct block *)first;
    end = (struct block *)(uintptr_t)(memory - TAGS);
    block->before = 0;
    end->size = IS_USED;
    enlist(block, (uint32_t)((uintptr_t)end - first));
    return 1;
}

/* Makes a block of this size at the end; in larger steps the more memory there is, if the host lets us. */
static int grow(uint32_t size)
{
    uint32_t pages = __builtin_wasm_memory_size(0), needed = size / PAGE + 1;
    uint32_t step = pages / 8 < LARGEST_STEP / PAGE ? pages / 8 : LARGEST_STEP / PAGE;
    uint32_t added = step > needed ? step : needed;
    if (__builtin_wasm_memory_grow(0, added) == (size_t)-1) {
        added = needed;
        if (__builtin_wasm_memory_grow(0, added) == (size_t)-1)
            return 0;
    }
    /* The memory may now end at 2^32, where no block begins. */
    struct block *block = end;
    block->size = (added * PAGE) | IS_USED;
    end = after(block);
    end->size = IS_USED;
    end->before = added * PAGE;
    release(block);
    return 1;
}

static struct block *first_of(uint32_t list, uint32_t size)
{
    for (; list < LISTS; list++)
        for (struct block *block = lists[list]; block; block = block->next)
            if (block->size >= size)
                return block;
    return NULL;
}

static struct block *find(uint32_t size)
{
    uint32_t list = list_of(size);
    struct block *block = first_of(list + 1, size);
    return block ? block : first_of(list, size);
}

static void *take(size_t bytes)
{
    if (bytes > MOST || (!end && !begin()))
        return NULL;
    uint32_t size = ((uint32_t)bytes + TAGS + UNIT - 1) & -UNIT;
    size = size < 2 * UNIT ? 2 * UNIT : size;
    struct block *block = find(size);
    if (!block && !(grow(size) && (block = find(size)) != NULL))
        return NULL;
    delist(block);
    uint32_t rest = block->size - size;
    if (rest >= 2 * UNIT) {
        block->size = size;
        after(block)->before = size;
        enlist(after(block), rest);
    }
    block->size |= IS_USED;
    return (char *)block + TAGS;
}

void *malloc(size_t bytes)
{
    return take(bytes);
}

/* By `take`: compilers make a calloc of malloc and memset, also here. */
void *calloc(size_t count, size_t bytes)
{
    size_t all;
    void *memory = __builtin_mul_overflow(count, bytes, &all) ? NULL : take(all);
    return memory ? memset(memory, 0, all) : NULL;
}

void free(void *memory)
{
    if (memory)
        release((struct block *)((uintptr_t)memory - TAGS));
}
