/*
 * Values in pieces: SCANDUMP and LOADCHUNK, ROOST.DUMP and ROOST.RESTORE.
 *
 * A dump is a header, then the body in pieces of at most PIECE bytes. Its iterator is a number that the client hands
 * back: serial * 2^POSITION_BITS + position, which dump and how far (dumps.h). Position 1 comes with the header, 2 with
 * the first piece of the body, and so on.
 *
 * A value that is loaded in pieces is a *staged* value until the last one has come: it is stored, replicated and saved
 * like any other, holds what has come so far, and turns into what it is to be at the end, if all of it is right.
 */
#ifndef MODULE_VALUE_CHUNKS_H
#define MODULE_VALUE_CHUNKS_H
#include "value.h"

#define DUMPED_CHUNK  ((size_t)1 << 20) /* of dumps: what a slow reader makes the server hold; CHUNK in older ones */
#define POSITION_BITS 20

extern const struct value_class staged_class;

/* Takes in a piece. The key was opened for writing; on success it holds the value, staged or whole. ROOST_INVALID: not
   the piece that is due here. ROOST_MISMATCH: a filter of another kind (0: any will do). ROOST_UNSUPPORTED: not at a
   key of this name. */
roost_status chunks_load(RedisModuleKey *key, long long iterator, const void *bytes, size_t size,
                         enum encoding encoding, roost_kind kind);

#endif
