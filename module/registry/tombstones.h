/*
 * Tombstones: the generations of deleted keys, kept in keys of the module, so that a deletion outlives what it deleted.
 *
 * A key that regions share may be deleted in one region while another, which has not heard of the deletion, still holds
 * it and would bring it back. So each key has a *generation number*, an epoch of the key, which is 0 at first. Deleting
 * what a key holds moves the key to the next generation, where it holds nothing. A higher generation wins over a lower
 * one, whatever the two hold. What is created at a deleted key has the generation of the deletion, and a region that
 * learns of it discards what it holds below that generation.
 *
 *     here: BF.ADD birds heron     (0, {heron})
 *           DEL birds              (1, nothing)        there: (0, {heron})  ->  (1, nothing)
 *           BF.ADD birds wren      (1, {wren})         there:                   (1, {wren})
 *
 * Tombstones are for regions that a link keeps in step. If no link ever spoke to the server (links.h), deletions leave
 * none, and generations stay 0. If there are links, a tombstone is dropped when all regions have had it for long
 * enough; from then on the key is as if it had never existed.
 *
 * Generations above 0 are kept in values of a class of their own: in each database at the key `roost:generations`, in a
 * cluster at one key for each slot that needs it, `roost:generations:{tag}:number` with a tag that hashes to the slot.
 * Here such a key is called a *holder*. Holders are saved, replicated and migrated like any key. The number is random:
 * while a slot moves key by key, both nodes may make a holder for it, and the two must not meet under one name. Several
 * holders may have a tombstone of one key; the highest generation counts.
 *
 * Access. The names of holders are reserved: tombstones count under them alone, and the module keeps nothing else
 * there. So users whose key patterns leave them out cannot delete another key with a value that they made up, whatever
 * command brings it (RESTORE, ROOST.RESTORE, COPY, MIGRATE): it is refused. In a cluster a holder may only have
 * tombstones of keys of its slot. What the server finds in its own files or receives from its primary is not refused,
 * but has no effect under any other name.
 *
 * Bound. Generations end at LAST_GENERATION: with one deletion per microsecond a key gets there in nine years. A value
 * that claims more is refused. A user who may write a key can push it to the last generation, but not beyond. There the
 * key is merged like any other, but its deletion no longer reaches other regions.
 *
 * Replicas and the AOF are sent `ROOST.GENERATION key generation holder time` together with the deletion, usually ahead
 * of it: the holder takes the record. Generation 0 drops the tombstone. (Redis 7.0 replicates expiry outside of a
 * transaction. If a server dies in between, it holds an expired filter below its tombstone; when the filter goes, the
 * tombstone stays as it is.)
 *
 * Body: for each key, in ascending order: generation (8), time (4; in form 1 only), length of the key (4), the key. The
 * header has their number and the form. Form 0, which has no times, is read as if all were written now.
 */
#ifndef MODULE_REGISTRY_TOMBSTONES_H
#define MODULE_REGISTRY_TOMBSTONES_H

#include "module/value/value.h"

#define TOMBSTONES_KEY "roost:generations"

extern const struct value_class tombstones_class;

/* The generation that a key moves to when its value of this generation is deleted. Without a link it stays 0; a
   value of a higher generation had links once. The last generation has no next one. */
uint64_t generation_after(uint64_t generation);

/* Writes down that the key is at this generation, and replicates it. Raised: the value that the key holds is, too. */
void tombstones_record(RedisModuleCtx *ctx, RedisModuleString *key, uint64_t generation);
void tombstones_raise(RedisModuleCtx *ctx, RedisModuleString *key, uint64_t generation);

/* What ROOST.GENERATION carries. */
struct tombstone_record {
    RedisModuleString *key;
    uint64_t generation; /* 0: the tombstone is dropped */
    uint64_t time;
    bool raise; /* the value that the key holds is at this generation, too */
};
/* A record from a primary or the AOF. */
void tombstones_apply(RedisModuleCtx *ctx, RedisModuleString *holder, const struct tombstone_record *record);

/* The generation below which a key was deleted, whatever it holds; 0: it never was. The second form completes the
   registry before. */
uint64_t tombstones_generation(int database, const void *key, size_t size);
uint64_t tombstones_generation_of(RedisModuleCtx *ctx, RedisModuleString *key);
/* When the deletion of the key was written down here; 0: never. */
uint64_t tombstones_time(int database, const RedisModuleString *key);
/* How many tombstones there are, and how many bytes they take. */
uint64_t tombstones_count(void);
size_t tombstones_bytes(void);

/* Starts to drop the tombstones that are no longer needed (links.h), a bucket at a time from a timer. */
void tombstones_sweep(RedisModuleCtx *ctx);

/* All holders of a database, or of all databases, are gone. */
void tombstones_leave_all(int database);
/* The holder came with a slot of a cluster. Values that clients made at its keys while it was on its way take the
   generations of the tombstones. */
void tombstones_catch_up(struct value *value);

#endif
