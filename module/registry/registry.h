/*
 * Which names hold values that deployments share, and in what order they last changed: what ROOST.SUMMARY tells.
 *
 * A list, the latest change first; noting a change moves an entry to the front. Each change has a number; a *mark* is
 * such a number together with a number that is drawn when the server starts and whenever all may have changed at once
 * (FLUSHALL, SWAPDB, a replica that loads), so that a mark of another life is known for what it is. It is a change
 * cursor (change_cursor.h, which says why paging through the list always advances).
 *
 * A name whose value went away stays in the list for a while, whether graves (graves.h) tell of it or not, so
 * that whoever asks what changed hears of it. Whoever comes too late for that is told that something may be missed.
 */
#ifndef MODULE_REGISTRY_REGISTRY_H
#define MODULE_REGISTRY_REGISTRY_H

#include "module/base/checksum.h"
#include "module/value/value.h"

struct registry_entry {
    struct registry_entry *older, *newer;
    struct value *value; /* NULL: the name holds nothing */
    RedisModuleString *name;
    int database;
    uint64_t deleted; /* the generation below which all was deleted; 0: nothing was */
    bool dropped;     /* what was deleted is forgotten, since all regions know of it */
    bool left;        /* its value went away; else it is still there, or went without a word */
    bool evicted;     /* to make room: the value is lost, and nobody asked for that */
    bool stale;       /* its part of the digest is not up to date; then so are those of all newer entries */
    uint64_t sequence;
    sum128 part;
};

struct registry {
    struct registry_entry *newest, *oldest;
    struct registry_entry *stale; /* the oldest one that is; NULL: none */
    uint64_t sequence, incarnation;
    uint64_t floor; /* the highest number of a name that was swept: who had not come so far may have missed it */
    uint64_t keys;  /* names with a value */
    sum128 digest;  /* the sum of all parts */
};
extern struct registry registry;

/* Keyspace events, so that a key that is loaded, renamed, moved, copied or restored is known by its name. */
int registry_begin(RedisModuleCtx *ctx);
void registry_end(void);

/* The value is at this key now. */
void registry_name(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name);
/* The value at this key has changed. */
void registry_touch(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name);
/* The value goes away from its key: on the main thread. Orphaned: the value is being freed, on any thread. */
void registry_leave(struct value *value);
void registry_orphan(struct value *value);

/* What a name is at: that of its value, or where it holds nothing that of its burial. */
static inline uint64_t registry_generation_of(const struct registry_entry *entry)
{
    return entry->value ? entry->value->generation : entry->deleted;
}
/* That of its burial, whatever it holds. */
uint64_t registry_generation(RedisModuleCtx *ctx, RedisModuleString *name);
/* Graves say so, or no longer say so but only this (0: nothing). */
void registry_set_deleted(int database, const void *name, size_t size, uint64_t generation);
void registry_lower_deleted(int database, const void *name, size_t size, uint64_t generation);
/* The same, and all regions know of it. */
void registry_drop_tombstone(int database, const void *name, size_t size, uint64_t generation);
/* The value at this name, if there is one, is at least at this generation. */
void registry_raise(int database, const void *name, size_t size, uint64_t generation);

/* There are no keys that it has not been told of. */
void registry_complete(RedisModuleCtx *ctx);

/* The first entry that changed after this number; NULL: none. Quick when asked again where it left off, for a few who
   ask in turn. */
struct registry_entry *registry_after(uint64_t sequence);

/* Called at the next change, once; NULL: nobody waits. */
void registry_wake_at_change(void (*wake)(void));

#endif
