/*
 * Why a value left its name, and what follows from it.
 *
 *     deleted, expired, renamed or moved away, replaced by something else      the name is buried (graves.h)
 *     evicted                                                                  lost: others may bring it back
 *     MIGRATE, a slot of a cluster that goes to another node                   moved: nothing was deleted
 *     FLUSHALL, FLUSHDB                                                        lost, and the graves with it
 *     whatever a replica or the AOF repeats                                    decided elsewhere, and told
 *
 * The server tells the type that a value goes (`unlink`), and after that, if at all, modules why (keyspace events). So
 * a departure is remembered for the moment between the two.
 */
#ifndef MODULE_REGISTRY_KEY_REMOVALS_H
#define MODULE_REGISTRY_KEY_REMOVALS_H

#include "module/value/value.h"

int key_removals_begin(RedisModuleCtx *ctx);
void key_removals_end(void);

/* The value is about to leave this name. */
void key_removals_note(struct value *value, const RedisModuleString *name, int database);
/* The event is about this name; the context is in its database. */
void key_removals_explain(RedisModuleCtx *ctx, const char *event, RedisModuleString *name);
/* The name is about to get another filter: what was overwritten before, within the same transaction, is buried now. */
void key_removals_resolve(RedisModuleCtx *ctx, RedisModuleString *name);
/* Whoever made it leave knows why. */
void key_removals_forget(const RedisModuleString *name, int database);
/* The value is being written out for another server, or a file. */
void key_removals_note_copy(struct value *value);

#endif
