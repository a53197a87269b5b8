/*
 * ROOST.SUMMARY [SINCE mark] [COUNT n] [WAIT milliseconds]: one digest over all names, a mark, and what changed since
 * another one.
 *
 * The digest is the sum over all names of a hash of database, name, generation and digest of the value; so the sums of
 * the primaries of a cluster add up, and an entry that remembers its part makes a summary cost what changed. Digest and
 * cursor of a name are read at one moment: where two deployments tell equal digests at equal generations, the two
 * cursors are points at which they held the same.
 *
 * A mark is a change cursor (change_cursor.h): each page goes on where the one before it ended, whatever changed
 * meanwhile. Beside what changed, an answer says whether the listing that the mark belongs to has told everything that
 * there was when it began (`listed`), whether the client may have missed that a name went away (`missed`), and whether
 * the server evicts keys and is close to its maxmemory (`full`). A name that was evicted says so, in a sixth part of
 * its entry: it is lost, but whoever brings it back makes another one leave.
 */
#ifndef MODULE_COMMAND_SUMMARY_H
#define MODULE_COMMAND_SUMMARY_H
#include "module/base/server.h"

int summary_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
