#include "stash.h"

#include <string.h>

#define SMALLEST_ROOM 8

static uint64_t entry_number(uint64_t key, uint64_t tag)
{
    return key ^ multiply_and_fold(tag, UINT64_C(0xa0761d6478bd642f));
}

/* ---- indexes ----------------------------------------------------------------------------------------------------- */

static uint64_t number_of(const struct stash *stash, const uint32_t *index, uint32_t entry)
{
    const struct stash_node *node = &stash->nodes[entry - 1];
    return index == stash->by_class ? node->key : entry_number(node->key, node->tag);
}

static void index_put(const struct stash *stash, uint32_t *index, uint64_t node)
{
    uint64_t i = stash_start(stash, number_of(stash, index, (uint32_t)node + 1));
    while (index[i])
        i = (i + 1) & (2 * stash->room - 1);
    index[i] = (uint32_t)node + 1;
}

/* Where a node is named; it must be. */
static uint64_t index_find(const struct stash *stash, const uint32_t *index, uint64_t node)
{
    uint64_t i = stash_start(stash, number_of(stash, index, (uint32_t)node + 1));
    while (index[i] != node + 1)
        i = (i + 1) & (2 * stash->room - 1);
    return i;
}

/* Closes a hole of the open addressing: entries behind it move up, unless that would put them before their home. */
static void index_remove(const struct stash *stash, uint32_t *index, uint64_t hole)
{
    uint64_t mask = 2 * stash->room - 1;
    for (uint64_t i = (hole + 1) & mask; index[i]; i = (i + 1) & mask) {
        uint64_t start = stash_start(stash, number_of(stash, index, index[i]));
        if (((i - start) & mask) >= ((i - hole) & mask)) {
            index[hole] = index[i];
            hole = i;
        }
    }
    index[hole] = 0;
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

static uint64_t room_for(const struct stash *stash, uint64_t more)
{
    uint64_t room = stash->room;
    while (stash->count + more > room)
        room = room ? room * 2 : SMALLEST_ROOM;
    return room;
}

static uint64_t bytes_for(const struct stash *stash, uint64_t room)
{
    return room * (sizeof *stash->nodes + 2 * (stash->tagged ? 2 : 1) * sizeof *stash->by_class);
}

uint64_t stash_bytes(const struct stash *stash)
{
    return bytes_for(stash, stash->room);
}

uint64_t stash_bytes_with(const struct stash *stash, uint64_t more)
{
    return bytes_for(stash, room_for(stash, more));
}

/* The address of the array is unique, and unknown to senders. */
static bool allocate(struct stash *stash, const roost_allocator *allocator, uint64_t room, bool tagged)
{
    *stash = (struct stash){.room = room, .tagged = tagged};
    stash->nodes = memory_allocate(allocator, room * sizeof *stash->nodes);
    stash->by_class = memory_allocate(allocator, 2 * room * sizeof *stash->by_class);
    stash->by_entry = tagged ? memory_allocate(allocator, 2 * room * sizeof *stash->by_entry) : NULL;
    stash->salt = multiply_and_fold((uintptr_t)stash->by_class, UINT64_C(0xd1b54a32d192ed03));
    if (stash->nodes && stash->by_class && (stash->by_entry || !tagged))
        return true;
    stash_release(stash, allocator);
    return false;
}

static bool is_head(const struct stash *stash, uint64_t node)
{
    return stash_find_class(stash, stash->nodes[node].key) == node;
}

/* The nodes keep their places, so the chains stay valid; only the indexes are rebuilt. */
static void move_to(struct stash *other, const struct stash *stash)
{
    if (stash->used)
        memcpy(other->nodes, stash->nodes, stash->used * sizeof *other->nodes);
    other->used = stash->used;
    other->count = stash->count;
    other->free = stash->free;
    for (uint64_t node = 0; node < stash->used; node++) {
        if (!stash->nodes[node].key)
            continue;
        if (is_head(stash, node))
            index_put(other, other->by_class, node);
        if (other->by_entry)
            index_put(other, other->by_entry, node);
    }
}

bool stash_reserve(struct stash *stash, const roost_allocator *allocator, uint64_t more)
{
    struct stash larger;
    uint64_t room = room_for(stash, more);
    if (room == stash->room)
        return true;
    if (room > UINT32_MAX / 2 || !allocate(&larger, allocator, room, stash->tagged))
        return false;
    move_to(&larger, stash);
    stash_release(stash, allocator);
    *stash = larger;
    return true;
}

void stash_trim(struct stash *stash, const roost_allocator *allocator)
{
    struct stash smaller;
    uint64_t room = SMALLEST_ROOM;
    while (room < stash->used)
        room *= 2;
    if (room >= stash->room || !allocate(&smaller, allocator, room, stash->tagged))
        return;
    move_to(&smaller, stash);
    stash_release(stash, allocator);
    *stash = smaller;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

uint64_t stash_copies(const struct stash *stash, uint64_t key)
{
    uint64_t head = stash_find_class(stash, key);
    return head == NO_NODE ? 0 : stash->nodes[head].previous;
}

uint64_t stash_find_entry(const struct stash *stash, uint64_t key, uint64_t tag)
{
    if (stash->count == 0)
        return NO_NODE;
    uint64_t i = stash_start(stash, entry_number(key, tag));
    for (; stash->by_entry[i]; i = (i + 1) & (2 * stash->room - 1)) {
        const struct stash_node *node = &stash->nodes[stash->by_entry[i] - 1];
        if (node->key == key && node->tag == tag)
            return stash->by_entry[i] - 1;
    }
    return NO_NODE;
}

static uint64_t take_node(struct stash *stash)
{
    if (!stash->free)
        return stash->used++;
    uint64_t node = stash->free - 1;
    stash->free = stash->nodes[node].next;
    return node;
}

/* A newcomer comes second in its chain: the head, which the index names, stays. */
static void link_node(struct stash *stash, uint64_t head, uint64_t node)
{
    struct stash_node *nodes = stash->nodes;
    if (head == NO_NODE) {
        nodes[node].previous = 1;
        index_put(stash, stash->by_class, node);
        return;
    }
    nodes[node].next = nodes[head].next;
    nodes[node].previous = (uint32_t)head + 1;
    if (nodes[node].next)
        nodes[nodes[node].next - 1].previous = (uint32_t)node + 1;
    nodes[head].next = (uint32_t)node + 1;
    nodes[head].previous++;
}

bool stash_insert(struct stash *stash, const roost_allocator *allocator, uint64_t key, uint64_t tag)
{
    if (!stash_reserve(stash, allocator, 1))
        return false;
    uint64_t head = stash_find_class(stash, key), node = take_node(stash);
    stash->nodes[node] = (struct stash_node){.key = key, .tag = tag};
    link_node(stash, head, node);
    if (stash->by_entry)
        index_put(stash, stash->by_entry, node);
    stash->count++;
    return true;
}

static void unlink_head(struct stash *stash, uint64_t head)
{
    uint64_t place = index_find(stash, stash->by_class, head);
    struct stash_node *nodes = stash->nodes;
    uint32_t next = nodes[head].next;
    if (next) {
        nodes[next - 1].previous = nodes[head].previous - 1;
        stash->by_class[place] = next;
    } else {
        index_remove(stash, stash->by_class, place);
    }
}

static void unlink_follower(struct stash *stash, uint64_t head, uint64_t node)
{
    struct stash_node *nodes = stash->nodes;
    nodes[nodes[node].previous - 1].next = nodes[node].next;
    if (nodes[node].next)
        nodes[nodes[node].next - 1].previous = nodes[node].previous;
    nodes[head].previous--;
}

void stash_remove(struct stash *stash, uint64_t node)
{
    uint64_t head = stash_find_class(stash, stash->nodes[node].key);
    if (stash->by_entry)
        index_remove(stash, stash->by_entry, index_find(stash, stash->by_entry, node));
    if (head == node)
        unlink_head(stash, node);
    else
        unlink_follower(stash, head, node);
    stash->nodes[node] = (struct stash_node){.next = stash->free};
    stash->free = (uint32_t)node + 1;
    stash->count--;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

bool stash_copy(struct stash *copy, const struct stash *stash, const roost_allocator *allocator)
{
    struct stash twin = {.tagged = stash->tagged};
    if (stash->count > 0) {
        if (!allocate(&twin, allocator, stash->room, stash->tagged))
            return false;
        memcpy(twin.nodes, stash->nodes, stash->room * sizeof *twin.nodes);
        memcpy(twin.by_class, stash->by_class, 2 * stash->room * sizeof *twin.by_class);
        if (twin.by_entry)
            memcpy(twin.by_entry, stash->by_entry, 2 * stash->room * sizeof *twin.by_entry);
        twin.used = stash->used;
        twin.count = stash->count;
        twin.free = stash->free;
        twin.salt = stash->salt;
    }
    *copy = twin;
    return true;
}

void stash_release(struct stash *stash, const roost_allocator *allocator)
{
    memory_release(allocator, stash->nodes);
    memory_release(allocator, stash->by_class);
    memory_release(allocator, stash->by_entry);
    *stash = (struct stash){.tagged = stash->tagged};
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static bool chain_is_sound(const struct stash *stash, uint64_t head)
{
    uint64_t length = 1, before = head;
    for (uint32_t next = stash->nodes[head].next; next; next = stash->nodes[next - 1].next, length++) {
        const struct stash_node *node = &stash->nodes[next - 1];
        if (node->key != stash->nodes[head].key || node->previous != before + 1 || length > stash->count)
            return false;
        before = next - 1;
    }
    return length == stash->nodes[head].previous;
}

bool stash_check(const struct stash *stash)
{
    uint64_t live = 0, chained = 0;
    for (uint64_t i = 0; i < stash->used; i++) {
        const struct stash_node *node = &stash->nodes[i];
        if (node->key == 0)
            continue;
        uint64_t head = stash_find_class(stash, node->key);
        if (head == NO_NODE || (stash->by_entry && stash_find_entry(stash, node->key, node->tag) != i))
            return false;
        if (head == i && !chain_is_sound(stash, i))
            return false;
        chained += head == i ? node->previous : 0;
        live++;
    }
    return live == stash->count && chained == stash->count;
}
