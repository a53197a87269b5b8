/* What the registry knows of one key. */
#ifndef MODULE_REGISTRY_REGISTRY_ENTRY_H
#define MODULE_REGISTRY_REGISTRY_ENTRY_H

#include "module/base/checksum.h"
#include "module/value/value.h"

/* One for each key, so it is kept small. */
struct registry_entry {
    struct registry_entry *older, *newer;
    struct registry_entry *next; /* in its bucket; entry_index.h */
    struct value *value;         /* NULL: the key holds no filter */
    uint64_t deleted;            /* everything below this generation was deleted; 0: nothing was */
    uint64_t sequence;
    int database;
    uint32_t size; /* of the key */
    sum128 part;
    bool dropped : 1; /* the tombstone was dropped, since all regions have had it */
    bool removed : 1; /* the value was removed; otherwise it is still there, or was freed without notice */
    bool evicted : 1; /* to free memory: the value is lost, but nobody deleted it */
    bool stale : 1;   /* its part of the digest is out of date; then so are those of all newer entries */
    char key[];
};

#endif
