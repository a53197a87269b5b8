/*
 * Which keys hold filters, and in what order they last changed: what ROOST.SUMMARY lists.
 *
 * The registry is a list with the latest change first; a change moves the entry of its key to the front. Changes are
 * numbered. The number of a change and the *incarnation* of the registry make a change cursor (change_cursor.h, which
 * also shows that paging through the list always advances). The incarnation is drawn at random when the server starts
 * and whenever all keys may have changed at once (FLUSHALL, SWAPDB, a replica that loads), so a cursor of another
 * incarnation is recognised.
 *
 * A key whose value was removed stays in the list for a while, with or without a tombstone (tombstones.h), so that
 * clients who ask what changed learn of it. A client that asks too late is told that it may have missed something.
 *
 * The registry knows values only by their class. Tombstones and links are values of classes of their own, which are
 * called when such a value arrives at a key or leaves it (value.h). The events of the server come in by keyspace.h.
 */
#ifndef MODULE_REGISTRY_REGISTRY_H
#define MODULE_REGISTRY_REGISTRY_H

#include "registry_entry.h"

#define ALL_DATABASES (-1)

struct registry {
    struct registry_entry *newest, *oldest;
    struct registry_entry *stale; /* the oldest stale entry; NULL: none */
    uint64_t sequence, incarnation;
    uint64_t floor; /* the highest number of an entry that was dropped: clients below it may have missed a removal */
    uint64_t keys;  /* keys that hold a filter */
    sum128 digest;  /* the sum of all parts */
};
extern struct registry registry;

/* Sees values that are removed and freed. */
extern const struct value_observer registry_observer;

/* `deleted` returns the generation below which a key was deleted. It is a parameter because tombstones, which know it,
   use the registry. */
void registry_begin(uint64_t (*deleted)(int database, const void *key, size_t size));
void registry_end(void);
/* Forgets the keys of a database, or of all, and begins another incarnation. */
void registry_restart(int database);

/* The value is at this key now. */
void registry_arrive(RedisModuleCtx *ctx, struct value *value, RedisModuleString *key);
/* The value at this key has changed. */
void registry_touch(RedisModuleCtx *ctx, struct value *value, RedisModuleString *key);
/* The value was evicted from this key a moment ago. */
void registry_note_eviction(RedisModuleCtx *ctx, const RedisModuleString *key);

/* The generation of a key: that of its value, or if it holds none that of its deletion. */
static inline uint64_t registry_generation_of(const struct registry_entry *entry)
{
    return entry->value ? entry->value->generation : entry->deleted;
}
/* A tombstone says that the key was deleted below this generation. */
void registry_set_deleted(int database, const void *key, size_t size, uint64_t generation);
/* The tombstone is gone; the others say this (0: nothing). */
void registry_lower_deleted(int database, const void *key, size_t size, uint64_t generation);
/* The same, because all regions have had the tombstone. */
void registry_drop_tombstone(int database, const void *key, size_t size, uint64_t generation);
/* The value at this key, if there is one, is at this generation at least. */
void registry_raise(int database, const void *key, size_t size, uint64_t generation);

/* Keys may have come without an event. They are looked for by the next registry_complete(), which is called before
   every question that concerns all keys. */
void registry_set_incomplete(void);
void registry_complete(RedisModuleCtx *ctx);

/* The first entry that changed after this number; NULL: none. Fast for a few clients that page through the list at the
   same time. */
struct registry_entry *registry_after(uint64_t sequence);

/* Called at the next change. NULL: nobody waits. */
void registry_wake_at_change(void (*wake)(void));

#endif
