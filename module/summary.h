/*
 * ROOST.SUMMARY [SINCE mark] [COUNT n] [WAIT milliseconds]: one digest over all names, a mark, and what changed since
 * another one.
 *
 * The digest is the sum over all names of a hash of database, name, generation and digest of the value; so the sums of
 * the primaries of a cluster add up, and an entry that remembers its part makes a summary cost what changed. Digest and
 * cursor of a name are read at one moment: where two deployments tell equal digests at equal generations, the two
 * cursors are points at which they held the same.
 */
#ifndef MODULE_SUMMARY_H
#define MODULE_SUMMARY_H

#include "server.h"

int summary_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
