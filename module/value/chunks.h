/*
 * Values in chunks: SCANDUMP and LOADCHUNK, ROOST.DUMP and ROOST.RESTORE.
 *
 * A dump is a header, then the body, in chunks. Its iterator is a number below 2^53 that the client sends back:
 *
 *     bit 52   bit 51   bits 49 to 50   bits 20 to 48   bits 0 to 19
 *     1        last     attempt         tag             position
 *
 * In iterators of earlier versions bit 52 is 0, and all bits from 20 on are the tag of a first attempt. The tag names
 * the state that is dumped (command/dumps.h). In the first attempt, position 1 is the header, 2 the first chunk of the
 * body, and so on, in chunks of 1 MiB. If the state is gone before its dump has ended, the dump begins again with
 * another state, as a further attempt: position 1 is then the header together with the first chunk, and chunks have 16
 * MiB. The last chunk of a dump is marked.
 *
 * A value that is loaded in chunks is a *staged* value until the last chunk has arrived. A staged value holds the
 * chunks so far, and is stored, replicated and saved like any other. With the last chunk it is decoded, and replaced by
 * the decoded value if everything is valid; otherwise it stays without its last chunk. The first chunk of a further
 * attempt takes the place of the chunks that came before it. So a client loads what it got, in the order in which it
 * got it, and need not know of attempts.
 */
#ifndef MODULE_VALUE_CHUNKS_H
#define MODULE_VALUE_CHUNKS_H

#include "filter_value.h"
#include "redisbloom.h"

#define MOST_ATTEMPTS 3

extern const struct value_class staged_class;

/* What an iterator says. */
struct dump_place {
    uint32_t tag; /* 0: of an earlier version */
    unsigned attempt;
    long long position;
    bool last; /* this chunk */
};

long long iterator_of(const struct dump_place *place);
/* Whether the number is the iterator of a dump. */
bool iterator_read(long long iterator, struct dump_place *place);
/* The last 29 bits; never 0. */
uint32_t tag_of_bits(uint32_t bits);

/* Where the chunk at this position begins; the next one begins where it ends. */
size_t chunk_begin(unsigned attempt, long long position);

/* Another program's filter, from bytes that have all of it. */
typedef roost_status foreign_decoder(struct filter_value **filter, const uint8_t *bytes, size_t size,
                                     enum encoding encoding);

/* What may be loaded, and what for. */
struct chunk_terms {
    enum encoding encoding;
    filter_test *takes;     /* NULL: any value */
    enum redisbloom source; /* chunks of this kind of RedisBloom's filters are taken, too */
    foreign_decoder *whole; /* NULL, or what is not ours at position 0 is decoded by it */
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
