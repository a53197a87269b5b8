/*
 * Which keys hold values of ours, and in what order they last changed: what ROOST.SUMMARY tells.
 *
 * A list, the latest change first; noting a change moves an entry to the front. Each change has a number; a *mark* is
 * such a number together with a number that is drawn when the server starts, so that a mark of another life is known
 * for what it is. The summary digest is the sum over all keys of a hash of database, name and digest; an entry
 * remembers its part, so that a summary costs what changed.
 */
#ifndef MODULE_REGISTRY_H
#define MODULE_REGISTRY_H

#include "value.h"

/* Keyspace events, so that a key that is loaded, renamed, moved, copied or restored is known by its name. */
int registry_begin(RedisModuleCtx *ctx);
void registry_end(void);

/* The value at this key has changed. */
void registry_touch(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name);
/* The key goes away: on the main thread. Orphaned: the value is being freed, on any thread. */
void registry_leave(struct value *value);
void registry_orphan(struct value *value);

uint64_t registry_keys(void);

/* Some of what the next summary would have to do; whether there is more. */
bool registry_tidy(RedisModuleCtx *ctx, uint64_t effort);

/* ROOST.SUMMARY [SINCE mark] */
int summary_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
