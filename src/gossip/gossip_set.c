#include "gossip_set.h"

#include <string.h>

#include "../base/hash.h"

#define SMALLEST_ROOM 16
#define MOST_ELEMENTS (UINT32_MAX / 4)

struct element_block {
    struct element_block *next;
    uint8_t bytes[];
};

struct gossip_set gossip_set_make(uint64_t seed, const roost_environment *environment)
{
    return (struct gossip_set){
        .seed = seed, .memory_limit = environment->memory_limit, .allocator = environment->allocator};
}

void gossip_set_release(struct gossip_set *set)
{
    memory_release(&set->allocator, set->hashes);
    memory_release(&set->allocator, set->elements);
    memory_release(&set->allocator, set->index);
    while (set->blocks) {
        struct element_block *next = set->blocks->next;
        memory_release(&set->allocator, set->blocks);
        set->blocks = next;
    }
    *set = (struct gossip_set){0};
}

/* ---- look-up ----------------------------------------------------------------------------------------------------- */

static bool is_element(const struct gossip_set *set, uint64_t number, roost_hash hash, roost_bytes element)
{
    const roost_bytes *held = &set->elements[number];
    return set->hashes[number].low == hash.low && set->hashes[number].high == hash.high && held->size == element.size &&
           (held->size == 0 || memcmp(held->data, element.data, held->size) == 0);
}

/* Where the element is named in the index, or the free place where it would be. */
static uint64_t find_place(const struct gossip_set *set, roost_hash hash, roost_bytes element)
{
    uint64_t mask = 2 * set->room - 1, place = hash.high & mask;
    while (set->index[place] && !is_element(set, set->index[place] - 1, hash, element))
        place = (place + 1) & mask;
    return place;
}

bool gossip_set_contains(const struct gossip_set *set, roost_bytes element)
{
    roost_hash hash = hash_bytes(set->seed, element.data, element.size);
    return set->count > 0 && set->index[find_place(set, hash, element)] != 0;
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

#define BYTES_OF_ONE (sizeof(roost_hash) + sizeof(roost_bytes) + 2 * sizeof(uint32_t))

static void move_to(struct gossip_set *larger, const struct gossip_set *set)
{
    if (set->count) {
        memcpy(larger->hashes, set->hashes, set->count * sizeof *set->hashes);
        memcpy(larger->elements, set->elements, set->count * sizeof *set->elements);
    }
    for (uint64_t number = 0; number < set->count; number++) {
        uint64_t mask = 2 * larger->room - 1, place = larger->hashes[number].high & mask;
        while (larger->index[place])
            place = (place + 1) & mask;
        larger->index[place] = (uint32_t)number + 1;
    }
}

static roost_status reserve(struct gossip_set *set, uint64_t more)
{
    struct gossip_set larger = *set;
    if (more > MOST_ELEMENTS - set->count)
        return ROOST_TOO_LARGE;
    for (larger.room = set->room ? set->room : SMALLEST_ROOM; larger.room < set->count + more;)
        larger.room *= 2;
    if (larger.room == set->room)
        return ROOST_OK;
    larger.bytes += (larger.room - set->room) * BYTES_OF_ONE;
    if (larger.bytes > set->memory_limit)
        return ROOST_TOO_LARGE;
    larger.blocks = NULL;
    larger.hashes = memory_allocate(&set->allocator, larger.room * sizeof *larger.hashes);
    larger.elements = memory_allocate(&set->allocator, larger.room * sizeof *larger.elements);
    larger.index = memory_allocate(&set->allocator, 2 * larger.room * sizeof *larger.index);
    if (!larger.hashes || !larger.elements || !larger.index) {
        gossip_set_release(&larger);
        return ROOST_NO_MEMORY;
    }
    move_to(&larger, set);
    larger.blocks = set->blocks;
    set->blocks = NULL;
    gossip_set_release(set);
    *set = larger;
    return ROOST_OK;
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static uint64_t bytes_of_new(const struct gossip_set *set, const roost_bytes *elements, size_t count,
                             uint64_t *new_elements)
{
    uint64_t bytes = 0;
    *new_elements = 0;
    for (size_t i = 0; i < count; i++)
        if (!gossip_set_contains(set, elements[i])) {
            bytes += elements[i].size;
            ++*new_elements;
        }
    return bytes;
}

/* There is room in the index, and `bytes` for what is new. Returns where the free bytes go on. */
static uint8_t *take(struct gossip_set *set, uint8_t *bytes, roost_bytes element)
{
    roost_hash hash = hash_bytes(set->seed, element.data, element.size);
    uint64_t place = find_place(set, hash, element);
    if (set->index[place])
        return bytes;
    if (element.size)
        memcpy(bytes, element.data, element.size);
    set->hashes[set->count] = hash;
    set->elements[set->count] = (roost_bytes){bytes, element.size};
    set->index[place] = (uint32_t)++set->count;
    return bytes + element.size;
}

roost_status gossip_set_add(struct gossip_set *set, uint64_t *learnt, const roost_bytes *elements, size_t count)
{
    uint64_t before = set->count, new_elements, size = bytes_of_new(set, elements, count, &new_elements);
    *learnt = 0;
    if (new_elements == 0)
        return ROOST_OK;
    uint64_t block_bytes = sizeof(struct element_block) + size;
    if (block_bytes < size || set->bytes + block_bytes > set->memory_limit)
        return ROOST_TOO_LARGE;
    struct element_block *block = memory_allocate(&set->allocator, block_bytes);
    roost_status status = block ? reserve(set, new_elements) : ROOST_NO_MEMORY;
    if (status != ROOST_OK || set->bytes + block_bytes > set->memory_limit) {
        memory_release(&set->allocator, block);
        return status != ROOST_OK ? status : ROOST_TOO_LARGE;
    }
    block->next = set->blocks;
    set->blocks = block;
    set->bytes += block_bytes;
    uint8_t *bytes = block->bytes;
    for (size_t i = 0; i < count; i++)
        bytes = take(set, bytes, elements[i]);
    *learnt = set->count - before;
    return ROOST_OK;
}
