/* A short list, so a linear search. Forgetting a peer costs its next sync a few more bytes, never an element. */
#include "peer_memories.h"

#include <stdlib.h>
#include <string.h>

static size_t find(const struct peer_memories *list, const char *name)
{
    size_t place = 0;
    while (place < list->count && strcmp(list->peers[place].name, name) != 0)
        place++;
    return place;
}

roost_bytes peer_memory_of(const struct peer_memories *list, const char *name)
{
    size_t place = find(list, name);
    return place < list->count ? list->peers[place].memory : (roost_bytes){NULL, 0};
}

static void release_peer(struct peer_memory *peer)
{
    free(peer->name);
    free((void *)peer->memory.data);
}

static bool copy_peer(struct peer_memory *peer, const char *name, roost_bytes memory)
{
    void *bytes = malloc(memory.size + 1);
    *peer = (struct peer_memory){strdup(name), {bytes, memory.size}};
    if (!peer->name || !bytes)
        return release_peer(peer), false;
    if (memory.size > 0)
        memcpy(bytes, memory.data, memory.size);
    return true;
}

bool peer_memories_remember(struct peer_memories *list, const char *name, roost_bytes memory)
{
    struct peer_memory fresh;
    if (!copy_peer(&fresh, name, memory))
        return false;
    size_t place = find(list, name);
    if (place == MOST_PEERS)
        place--;
    if (place < list->count)
        release_peer(&list->peers[place]);
    else
        list->count++;
    memmove(list->peers + 1, list->peers, place * sizeof *list->peers);
    list->peers[0] = fresh;
    return true;
}

void peer_memories_release(struct peer_memories *list)
{
    for (size_t i = 0; i < list->count; i++)
        release_peer(&list->peers[i]);
    list->count = 0;
}
