/* What a file remembers of the peers that it synced with: bytes that mean something to the library alone. */
#ifndef CLI_FILE_PEER_MEMORIES_H
#define CLI_FILE_PEER_MEMORIES_H

#include "roost.h"

#define MOST_PEERS 64

struct peer_memory {
    char *name; /* an absolute path, or HOST:PATH as on the command line */
    roost_bytes memory;
};

/* The one that synced last comes first. All zero is an empty list. */
struct peer_memories {
    struct peer_memory peers[MOST_PEERS];
    size_t count;
};

/* NULL and 0 for a stranger. They stay where they are until the list changes. */
roost_bytes peer_memory_of(const struct peer_memories *list, const char *name);

/* To the front of the list; where it is full, the peer that has been silent the longest is forgotten. Answers false for
   want of memory, and then the list is as before. */
bool peer_memories_remember(struct peer_memories *list, const char *name, roost_bytes memory);

void peer_memories_release(struct peer_memories *list);

#endif
