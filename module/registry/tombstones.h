/*
 * Graves: the generations of names, kept in real keys, so that a deletion outlives what it deleted.
 *
 * A key that deployments share may be deleted in one of them while another, which has not heard of it, still holds it
 * and would bring it back. So each name has a generation, 0 at first. Deleting what a name holds *buries* it: the name
 * goes on at the next generation with nothing in it. Whoever is at a lower generation is behind, whatever he holds;
 * what is created there again is at the generation of the burial, and whoever learns of that does away with what was
 * below.
 *
 *     here: BF.ADD birds heron     (0, {heron})
 *           DEL birds              (1, nothing)        there: (0, {heron})  ->  (1, nothing)
 *           BF.ADD birds wren      (1, {wren})         there:                   (1, {wren})
 *
 * This is for regions that a link keeps in step: where none ever spoke to the server (links.h) nothing is buried, and
 * generations stay 0. Where there are links, a tombstone goes when all regions have had it for long enough: from then
 * on the name is as if never heard of.
 *
 * Generations above 0 are kept in values of a class of their own: in each database a key `roost:generations`; in a
 * cluster one for each slot that needs it, `roost:generations:{tag}:number` with a tag that falls into the slot. They
 * are saved, replicated and migrated like any key. The number is random: a slot that moves key by key may get a grave
 * at both ends, and the two must not meet under one name. Several keys may tell of one name; the highest counts.
 *
 * Access. These names are reserved: tombstones count under them alone, and nothing else of the module is kept there. A
 * user whose key patterns leave them out can therefore delete no other key by a value that he made up, whatever command
 * brings it (RESTORE, ROOST.RESTORE, COPY, MIGRATE): it is refused. In a cluster the keys of a slot speak for names of
 * that slot, and others are refused. What the server finds in its own files or hears from its primary is not refused,
 * since both were decided before, but says nothing under any other name.
 *
 * Bound. Generations end at LAST_GENERATION: at one deletion in a microsecond a name gets there in nine years. A value
 * that claims more is refused, so a name can be pushed there by whoever may write it, but not beyond. There the name is
 * merged like any other; it is just that its deletion no longer reaches other regions.
 *
 * Replicas and the AOF are told `ROOST.GENERATION name generation key time` together with the deletion, most often
 * ahead of it: the key takes the record; generation 0: it is dropped. (Redis 7.0 tells of expiry outside of a
 * transaction; should a server die in between, it holds a filter that has expired below its grave; when it goes, the
 * grave stays as it is.)
 *
 * Body: for each name, in ascending order: generation (8), time (4; in form 1 only), length of the name (4), the name.
 * The header has their number and the form; form 0, which knows no times, is read as if all were of now.
 */
#ifndef MODULE_REGISTRY_TOMBSTONES_H
#define MODULE_REGISTRY_TOMBSTONES_H

#include "module/value/value.h"

#define ALL_DATABASES   (-1)
#define TOMBSTONES_KEY  "roost:generations"
#define LAST_GENERATION (UINT64_C(1) << 48)

/* Of a name whose value of this generation is deleted. Where no link ever spoke, nobody is told of the deletion; a
   value of a higher generation was part of something, though. Beyond the last one there is none. */
uint64_t generation_after(uint64_t generation);

/* What files of earlier versions may hold, who knew another last one. */
static inline uint64_t generation_within(uint64_t generation)
{
    return generation < LAST_GENERATION ? generation : LAST_GENERATION;
}

extern const struct value_class tombstones_class;

/* The name is at this generation from now on; in the key that keeps it, and told to replicas. Raised: and so is the
   value that it holds. */
void tombstones_record(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t generation);
void tombstones_raise(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t generation);

/* What all of them take. */
size_t tombstones_bytes(void);

/* Drops what may go (links.h), some at a time, from a timer. */
void tombstones_sweep(RedisModuleCtx *ctx);

/* "base", or "base:{tag}:number". */
bool is_reserved(const RedisModuleString *name, const char *base);
/* Whether the name is one of those reserved for tombstones; or for those and what links say. */
bool is_tombstones_key(const RedisModuleString *name);
bool is_reserved_key(const RedisModuleString *name);
/* Whether a client may bring this value to a key of this name: tombstones and what links say to names reserved for
   them, in a cluster tombstones of the same slot; everything else to other names. */
bool tombstones_allow(const struct value *value, const RedisModuleString *name);

/* What a name is at, whatever it holds; 0: it was never deleted. */
uint64_t tombstones_generation(int database, const void *name, size_t size);
/* How many names there are. */
uint64_t tombstones_count(void);
/* When the name's deletion was written down here; 0: none was. */
uint64_t tombstones_time(int database, const RedisModuleString *name);

/* The graves are at this key now; they are no longer at theirs; none of this database are at any. */
void tombstones_arrive(struct value *value, RedisModuleString *key, int database);
void tombstones_leave(struct value *value);
void tombstones_leave_all(int database);
/* They come with a slot of a cluster. What was made here at their names while they were on their way belongs to the
   generations that they tell of. */
void tombstones_catch_up(struct value *value);

/* ROOST.GENERATION name generation key [time [RAISE]]: from a primary or the AOF. */
int generation_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
