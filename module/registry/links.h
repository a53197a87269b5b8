/*
 * What a server knows about the links that speak to it: whether there are any, and what their regions agreed on.
 *
 * Tombstones (tombstones.h) are for other regions, so none is written before a link has spoken to the server. No link
 * has carried to another region what was deleted before that, so there is nothing to undo there. If another region
 * holds the same key, it has it from its own clients, and the link brings it like any other.
 *
 * A link begins with `ROOST.LINK key HELLO`. That creates the key `roost:links` (in a cluster one on each node,
 * `roost:links:{tag}:number`, in a slot of the node), a value of a class of its own, which is saved, replicated and
 * loaded like any other. Where the key is, there is a link. A server whose key was deleted, or a node that loses the
 * slot of its key, still knows what was in it and stores it again within a second (links_keep), a node in a slot that
 * it has and that is not on its way to another node. A node that gets the key of another one with a slot keeps one of
 * the two, with the state that both agree on.
 *
 * Bounded. Every region has a number, and a clock in whole seconds that never goes back. Whenever all regions of a link
 * are up and have all tombstones that any of them has listed, the link says so to each of them:
 *
 *     ROOST.LINK key AGREED 100 7 230 8 90      regions 7 and 8 have all tombstones that you wrote before 100,
 *                                               and you have all that 7 wrote before its 230, and 8 before its 90
 *
 * A tombstone from before 100 may then be dropped once it is older than the retention. While a region of a link is
 * away, no link sends AGREED. Links send HOLD with its number instead, so that it still counts. A region no longer
 * counts once links have spoken for a whole retention without naming it; time without a link does not add to that
 * (linked_time).
 *
 * Enforced. What a region dropped was written before its time `dropped`. Another region has missed nothing if it had
 * everything that was written before a later time. Both numbers are of the same clock and are kept with the data, so
 * they are right for a backup that is loaded and for a replica that is promoted. No tombstone is dropped before that is
 * recorded. A link that sees a region which has missed something does not merge it (link/tombstone_agreement.c). A
 * region without keys has nothing to undo: it JOINs, and counts as having had everything.
 *
 * Emptied. FLUSHALL takes the key along, and nothing is known then but that links had spoken. What clients create from
 * then on is new, so the region may still join. No link pushes keys before that: they would look as if they had been
 * here all along. This has to outlast a restart and a promotion: once there are keys, a blank record is stored, whose
 * numbers are all 0. It stays blank until a link says JOIN or AGREED.
 *
 * Regions do not drop a tombstone at the same moment. If one has dropped it and its clients create the key again, at
 * generation 0, another one may still have the tombstone. So a push of a higher generation says which region wrote the
 * tombstone, and when (ROOST.PUSH ... REGION number time). A region that had everything the other one wrote before a
 * later time had that tombstone, so what it holds was made after it: it takes the generation and keeps what it holds.
 *
 * Fields of the header: number of this region (8), dropped (8), 1 if it is trusted (8), number of others (8). Body: for
 * each, ascending: number, had, confirmed, named (8 each).
 */
#ifndef MODULE_REGISTRY_LINKS_H
#define MODULE_REGISTRY_LINKS_H

#include "module/value/value.h"

#define LINKS_KEY    "roost:links"
#define MOST_REGIONS 64

extern const struct value_class links_class;

struct link_region {
    uint64_t number;
    uint64_t had;       /* we had everything that it wrote before this time of its clock */
    uint64_t confirmed; /* it had everything that we wrote before this time of our clock */
    uint64_t named;     /* when a link last named it, in linked time */
};

struct link_state {
    uint64_t number, dropped;
    uint64_t trusted; /* an operator says that the region may be merged as it is */
    bool emptied;     /* all keys are gone since a link last said JOIN or AGREED; the record is blank */
    uint64_t count;
    struct link_region regions[MOST_REGIONS]; /* ascending */
};

const struct link_state *links_state(void);

/* Whether a link ever spoke to this server. There are tombstones, so one did. */
bool links_seen(void);
void links_note_seen(void);

/* The key that a link should name; to be freed. */
RedisModuleString *links_key(RedisModuleCtx *ctx);

/* The data are gone, and with them what was agreed on. */
void links_forget(bool all_keys);
/* Whether this happened to all keys since a link last said JOIN or AGREED. */
bool links_emptied(void);

/* From now on the record is stored again when it was lost. */
void links_keep(RedisModuleCtx *ctx);

/* Seconds; never goes back, nor behind any time that was ever written, and does not follow a clock that is set. */
uint64_t links_time(void);
void links_saw_time(uint64_t time);

/* Tombstones from before this time may be dropped; 0: none. */
uint64_t links_limit(void);
/* A tombstone of this time is about to be dropped. False: that cannot be recorded, so it must be kept. */
bool links_note_dropped(RedisModuleCtx *ctx, uint64_t time);
/* Whether we had everything that this region wrote up to this time. */
bool links_had(uint64_t region, uint64_t time);
/* How many regions count. */
size_t links_regions(void);

/* What links say (ROOST.LINK). A pair is the number of a region and a time of its clock. */
void links_hello(uint64_t number);
void links_agreed(uint64_t time, const uint64_t *pairs, int count);
void links_join(const uint64_t *pairs, int count);
void links_hold(const uint64_t *regions, int count);
void links_trust(void);
/* Stores the state at the key, in database 0, and replicates it. ROOST_MISMATCH: the key holds something else;
   ROOST_NO_MEMORY. Then nothing has changed. */
roost_status links_store(RedisModuleCtx *ctx, RedisModuleString *key);
/* Undoes messages: the state is as it was before them. */
void links_restore(const struct link_state *state);
/* Takes the state that a primary sent; false if it is not valid. */
bool links_apply(RedisModuleCtx *ctx, RedisModuleString *key, const void *bytes, size_t size);

#endif
