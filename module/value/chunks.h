/*
 * Values in chunks: SCANDUMP and LOADCHUNK, ROOST.DUMP and ROOST.RESTORE.
 *
 * A dump is a header, then the body in chunks of at most CHUNK bytes. Its iterator is a number that the client sends
 * back: serial * 2^POSITION_BITS + position, that is which dump and how far (command/dumps.h). Position 1 is the
 * header, 2 the first chunk of the body, and so on.
 *
 * A value that is loaded in chunks is a *staged* value until the last chunk has arrived. A staged value holds the
 * chunks so far, and is stored, replicated and saved like any other. With the last chunk it is decoded, and replaced by
 * the decoded value if everything is valid; otherwise it stays without its last chunk.
 */
#ifndef MODULE_VALUE_CHUNKS_H
#define MODULE_VALUE_CHUNKS_H

#include "filter_value.h"
#include "redisbloom.h"

#define DUMPED_CHUNK  ((size_t)1 << 20) /* of dumps: what a slow reader makes the server hold; CHUNK in older ones */
#define POSITION_BITS 20

extern const struct value_class staged_class;

/* What may be loaded, and what for. */
struct chunk_terms {
    enum encoding encoding;
    filter_test *takes;     /* NULL: any value */
    enum redisbloom source; /* chunks of this kind of RedisBloom's filters are taken, too */
};

struct loading;

/*
 * Loads a chunk. The key was opened for writing; on success it holds the value, staged or complete. ROOST_INVALID: not
 * the chunk that is expected here. ROOST_MISMATCH: not a filter that is taken. ROOST_UNSUPPORTED: the value may not be
 * at a key of this name.
 *
 * `later` is NULL, or: if the chunk is the last one and the value takes long to decode, nothing has changed yet and
 * `*later` is what has to be decoded; otherwise it is NULL. The chunk must live as long as `*later`.
 */
roost_status chunks_load(RedisModuleKey *key, long long iterator, const void *bytes, size_t size,
                         const struct chunk_terms *terms, struct loading **later);

/* Decodes; any thread may call it, whatever happens to the key meanwhile. */
void loading_decode(struct loading *loading);
/* Whether the value of the key is still the one to whose chunks the last one belongs. */
bool loading_is_current(const struct loading *loading, const struct value *value);
/* Puts what was decoded in the place of that value. Errors as chunks_load. */
roost_status loading_put(struct loading *loading, RedisModuleKey *key, filter_test *takes);
void loading_free(struct loading *loading);

#endif
