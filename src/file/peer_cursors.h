/* The cursors that a file keeps, one for each peer that it synced with: bytes of roost_sync_save_memory. */
#ifndef FILE_PEER_CURSORS_H
#define FILE_PEER_CURSORS_H

#include "../base/memory.h"
#include "roost/file.h"

struct peer_cursor {
    char *name;
    roost_bytes cursor;
};

/* The peer that synced last comes first. Empty with nothing but an allocator. */
struct peer_cursors {
    roost_allocator allocator;
    struct peer_cursor peers[ROOST_FILE_MOST_PEERS];
    size_t count;
};

/* NULL and 0 for an unknown peer. The bytes stay where they are until the list changes. */
roost_bytes peer_cursors_get(const struct peer_cursors *list, const char *name);

/* Moves the peer to the front of the list; if the list is full, drops the last one. `name` need not end with a NUL.
   ROOST_NO_MEMORY: the list is as before. */
roost_status peer_cursors_set(struct peer_cursors *list, const char *name, size_t name_size, roost_bytes cursor);

/* Empties the list. */
void peer_cursors_clear(struct peer_cursors *list);

#endif
