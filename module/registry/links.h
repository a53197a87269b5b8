/*
 * What a server knows of the links that speak to it: whether there are any, and what their regions agree on.
 *
 * Tombstones (graves.h) are for other regions. So none is written before a link has spoken to the server. Whatever was
 * deleted until then, no link has carried to another region: there is nothing to undo there. If another region holds a
 * key of the same name, it has it from its own clients, and the link brings it as it brings any other.
 *
 * A link begins with `ROOST.LINK key HELLO`. That makes a key `roost:links` (in a cluster one on each node,
 * `roost:links:{tag}:number`, in a slot of the node), a value of a class of its own, which is saved, replicated and
 * loaded like any other: where it is, there is a link. A node that loses the slot of its key still knows until it is
 * restarted, and is told again by the link within a minute.
 *
 * Bounded. Every region has a number, and a clock in whole seconds that never goes back. Whenever all regions of a link
 * are up and have all tombstones that any of them told of, the link says so to each of them:
 *
 *     ROOST.LINK key AGREED 100 7 230 8 90      all of yours from before 100 are known in regions 7 and 8,
 *                                               and you have all of theirs: of 7 from before its 230, of 8 its 90
 *
 * A tombstone from before 100 may then go, once it is older than the retention. While a region of a link is away nobody
 * says AGREED, and links say HOLD with its number, which is why it still counts. A region does not count any more once
 * links have spoken for a whole retention without naming it; time without a link does not add to that (linked_time).
 *
 * Enforced. What a region dropped was written before its time `dropped`. Another region has missed nothing if it had
 * all that was written before a later time. Both numbers are of the same clock, and kept with the data, so they are
 * right for a backup that is loaded, and for a replica that is promoted. A link that sees a region which has missed
 * something does not merge it (link/agree.c). A region without keys has nothing to undo: it JOINs, and counts as
 * having had all.
 *
 * Regions do not drop at the same moment. Where one has dropped a tombstone and its clients make the key anew, at
 * generation 0, another one may still have the tombstone. A push of a higher generation therefore says whose it is and
 * when it was written there (ROOST.PUSH ... REGION number time). Whoever had all that the other one wrote before a
 * later time had that tombstone, so whatever he holds was made after it: he takes the generation and keeps what he
 * holds.
 *
 * Fields of the header: number of this region (8), dropped (8), 1 if it is trusted (8), how many others (8). Body: for
 * each, ascending: number, had, confirmed, named (8 each).
 */
#ifndef MODULE_REGISTRY_LINKS_H
#define MODULE_REGISTRY_LINKS_H

#include "module/value/value.h"

#define LINKS_KEY "roost:links"

extern const struct value_class links_class;

/* Whether a link ever spoke to this server; there are tombstones, so one did. */
bool links_speak(void);
void links_heard(void);
bool is_links_key(const RedisModuleString *name);

/* The key that a link is to name; to be freed. */
RedisModuleString *links_key(RedisModuleCtx *ctx);

void links_arrive(struct value *value, const RedisModuleString *key);
void links_leave(const struct value *value);
/* All data are gone, and with them what was agreed on. */
void links_forget(void);

/* Seconds; never goes back, and never behind what was ever written. */
uint64_t links_time(void);
void links_saw_time(uint64_t time);

/* Tombstones from before this time may go; 0: none. */
uint64_t links_limit(void);
/* One of this time is about to. */
void links_drop(RedisModuleCtx *ctx, uint64_t time);
/* Whether we had all that this region wrote by this time. */
bool links_had(uint64_t region, uint64_t time);
/* How many regions count. */
size_t links_regions(void);

int link_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
