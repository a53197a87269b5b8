/* A short list, so a linear search. A dropped cursor costs the next sync with that peer a few more bytes, nothing
   else. */
#include "peer_cursors.h"

#include <string.h>

static size_t find(const struct peer_cursors *list, const char *name)
{
    size_t place = 0;
    while (place < list->count && strcmp(list->peers[place].name, name) != 0)
        place++;
    return place;
}

roost_bytes peer_cursors_get(const struct peer_cursors *list, const char *name)
{
    size_t place = find(list, name);
    return place < list->count ? list->peers[place].cursor : (roost_bytes){NULL, 0};
}

static void release_peer(const struct peer_cursors *list, struct peer_cursor *peer)
{
    memory_release(&list->allocator, peer->name);
    memory_release(&list->allocator, (void *)peer->cursor.data);
}

/* What the allocator hands out is zeroed, so that the copy of a name ends with a NUL. */
static void *copy_bytes(const struct peer_cursors *list, const void *bytes, size_t size)
{
    void *copy = memory_allocate(&list->allocator, size + 1);
    if (copy && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

roost_status peer_cursors_set(struct peer_cursors *list, const char *name, size_t name_size, roost_bytes cursor)
{
    struct peer_cursor fresh = {.name = copy_bytes(list, name, name_size),
                                .cursor = {copy_bytes(list, cursor.data, cursor.size), cursor.size}};
    if (!fresh.name || !fresh.cursor.data)
        return release_peer(list, &fresh), ROOST_NO_MEMORY;
    size_t place = find(list, fresh.name);
    if (place == ROOST_FILE_MOST_PEERS)
        place--;
    if (place < list->count)
        release_peer(list, &list->peers[place]);
    else
        list->count++;
    memmove(list->peers + 1, list->peers, place * sizeof *list->peers);
    list->peers[0] = fresh;
    return ROOST_OK;
}

void peer_cursors_clear(struct peer_cursors *list)
{
    for (size_t i = 0; i < list->count; i++)
        release_peer(list, &list->peers[i]);
    list->count = 0;
}
