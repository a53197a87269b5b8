/*
 * Values in pieces: SCANDUMP and LOADCHUNK, ROOST.DUMP and ROOST.RESTORE.
 *
 * A dump is a header, then the body in pieces of at most PIECE bytes. Its iterator is a number that the client hands
 * back: which dump, and how far. The first call takes a snapshot, so that pieces fit together whatever is added
 * meanwhile; a few snapshots are kept, the oldest goes when another is needed.
 *
 * A value that is loaded in pieces is a *staged* value until the last one has come: it is stored, replicated and saved
 * like any other, holds what has come so far, and turns into what it is to be at the end, if all of it is right.
 */
#ifndef MODULE_PIECES_H
#define MODULE_PIECES_H

#include "value.h"

#define PIECE ((size_t)16 << 20)

extern const struct value_class staged_class;

/* [next iterator, piece] of the value at this key. An iterator that leads nowhere, or was given for another key: the
   error. */
int reply_piece(RedisModuleCtx *ctx, const RedisModuleString *name, struct value *value, long long iterator,
                const char *error);

/* Takes in a piece. The key was opened for writing; on success it holds the value, staged or whole. ROOST_INVALID: not
   the piece that is due here. ROOST_MISMATCH: a filter of another kind (0: any will do). ROOST_UNSUPPORTED: not at a
   key of this name. */
roost_status take_piece(RedisModuleKey *key, long long iterator, const void *bytes, size_t size, enum telling telling,
                        roost_kind kind);

void forget_dumps(void);

#endif
