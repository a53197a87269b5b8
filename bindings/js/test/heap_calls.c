/*
 * Random calls of the heap (../wasm/heap.c), for heap.test.js: blocks of all sizes are filled, compared when they are
 * freed, and must be aligned, and zero where calloc made them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 512, DAMAGED = -1, UNALIGNED = -2, NOT_ZERO = -3 };

static struct {
    uint8_t *bytes;
    uint32_t size;
    uint8_t filled;
} blocks[BLOCKS];
static uint32_t state;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

static int is_all(const uint8_t *bytes, uint32_t size, uint8_t wanted)
{
    uint32_t same = 0;
    while (same < size && bytes[same] == wanted)
        same++;
    return same == size;
}

static int fill(uint32_t at, uint32_t most)
{
    int cleared = draw() % 2;
    uint32_t size = draw() % (draw() % 8 ? 200 : most);
    uint8_t *bytes = cleared ? calloc(1, size) : malloc(size);
    if (!bytes)
        return 1;
    if ((uintptr_t)bytes % 16)
        return UNALIGNED;
    if (cleared && !is_all(bytes, size, 0))
        return NOT_ZERO;
    blocks[at].bytes = bytes, blocks[at].size = size, blocks[at].filled = (uint8_t)draw();
    memset(bytes, blocks[at].filled, size);
    return 0;
}

static int empty(uint32_t at)
{
    int intact = is_all(blocks[at].bytes, blocks[at].size, blocks[at].filled);
    free(blocks[at].bytes);
    blocks[at].bytes = NULL;
    return intact ? 0 : DAMAGED;
}

/* How many were refused, or what is wrong. */
__attribute__((export_name("call"))) int call(uint32_t seed, int times, uint32_t most)
{
    int refused = 0;
    state = seed;
    for (int i = 0; i < times; i++) {
        uint32_t at = draw() % BLOCKS;
        int result = blocks[at].bytes ? empty(at) : fill(at, most);
        if (result < 0)
            return result;
        refused += result;
    }
    return refused;
}

/* Frees all; how many were damaged. */
__attribute__((export_name("end"))) int end_all(void)
{
    int damaged = 0;
    for (uint32_t at = 0; at < BLOCKS; at++)
        damaged += blocks[at].bytes && empty(at) != 0;
    return damaged;
}

__attribute__((export_name("has_room"))) int has_room(uint32_t size)
{
    void *memory = malloc(size);
    free(memory);
    return memory != NULL;
}

__attribute__((export_name("has_room_for"))) int has_room_for(uint32_t count, uint32_t size)
{
    void *memory = calloc(count, size);
    free(memory);
    return memory != NULL;
}
