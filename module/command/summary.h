/*
 * ROOST.SUMMARY [SINCE cursor] [COUNT n] [WAIT milliseconds]: one digest over all keys, a change cursor, and the keys
 * that changed since another one.
 *
 * The digest is the sum over all keys of a hash of database, key, generation and digest of the value. So the sums of
 * the primaries of a cluster add up, and since each entry keeps its part, a summary costs only what changed. Digest and
 * cursor of a key are read at the same time: if two deployments return equal digests at equal generations, they held
 * the same at their cursors.
 *
 * Each page continues at the change cursor of the page before (registry/change_cursor.h; the field is called `mark`),
 * whatever changed meanwhile. A reply also says whether the listing has returned everything that existed when it began
 * (`listed`), whether the client may have missed the removal of a key (`missed`), and whether the server evicts keys
 * and is close to its maxmemory (`full`). The sixth element of an entry says that the key was evicted: it is lost, but
 * a client that brings it back evicts another one.
 */
#ifndef MODULE_COMMAND_SUMMARY_H
#define MODULE_COMMAND_SUMMARY_H

#include "module/base/server.h"

int summary_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
