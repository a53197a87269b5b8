/*
 * Dumps: SCANDUMP and ROOST.DUMP, a filter in chunks (value/chunks.h).
 *
 * An iterator names the state that is dumped, by bits of its digest, and the position in its bytes. Equal states have
 * equal bytes, so as long as the filter does not change the server needs to remember nothing: any number of dumps can
 * be read at the same time, from any position, also after a restart. A position behind the end replies with an empty
 * chunk. That holds for filters of any size; a large one is encoded again by an incremental job.
 *
 * Snapshots keep the bytes of a state, so that chunks fit together whatever is added meanwhile, and so that they are
 * encoded once. The first call takes one; of a large filter that is an incremental job. There is a limit for all of
 * them together: MOST_BYTES, or a single one if that is larger. Clients that read the same filter in the same state
 * share a snapshot. An idle snapshot is dropped when another one needs the room. If all are in use, a dump goes on
 * without one.
 *
 * If the filter has changed and there is no snapshot of the state that an iterator names, the dump begins again by
 * itself: the reply is the first chunk of the present state, and it says so to whoever loads it (value/chunks.h). The
 * client goes on as if nothing had happened, and what it loads is a state that the filter had after the dump began.
 *
 *     iterator sent    0        a:1        (a changes to b, the snapshot of a is dropped)   a:2              b:1
 *     reply            a:1      a:2                                                         b:1, all of b    0
 *     chunk loaded     header   1st MiB                                                     replaces both
 *
 * Such dumps come to an end. A further attempt has chunks of 16 MiB, the first of which begins with the header, so a
 * filter whose bytes fit into that is dumped by the very call that begins again. And an attempt drops the snapshots of
 * earlier attempts, also if they are in use, while the snapshots of the last one are not dropped while they are in use.
 * So of those dumps that compete for room, one always comes to its end, provided that its client asks for the next
 * chunk within IN_USE milliseconds. (Larger chunks would help slower clients, but the server copies a chunk at once.)
 *
 * Why not chunks of the present state, whatever it is, that are merged where they are loaded? For a hash range of each
 * kind of filter that would work: the result lies between the state at the first chunk and that at the last one, also
 * with removals if the causal context is that of the first chunk. But it would be a state that no replica ever had, in
 * an encoding of its own for each kind and for imported parts, and a snapshot gives more: the filter as it was.
 *
 * A reply has one chunk, so a slow reader makes the server hold one.
 */
#ifndef MODULE_COMMAND_DUMPS_H
#define MODULE_COMMAND_DUMPS_H

#include "module/key/target.h"

/* Replies [next iterator, chunk], or the error if the number is no iterator. Closes the target. */
int reply_chunk(struct target *target, long long iterator, const char *error);

void forget_dumps(void);

/* For INFO: how many bytes the snapshots take. */
uint64_t dumps_bytes(void);

#endif
