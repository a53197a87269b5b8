/*
 * What a key holds. One data type of the server, `roostdata`, with several classes of values behind one table of
 * functions: filters (windows and counters among them), values that arrive in pieces and are not whole yet, and graves,
 * which keep the generations of names. Nothing outside a class's own file needs to know it.
 *
 * Bytes. Every value can be told in two parts: a short *header* (class, generation, and what is the key's and not the
 * filter's) and the *body* (a filter: its canonical frame). RDB, AOF, DUMP, SCANDUMP, COPY and the creation that
 * replicas are told of all are these two parts in one wrapping or another, so there is one writer and one reader.
 *
 *     "Rkey"  version(1)  class(1)  0(2)  generation(8)  fields of the class(32)  body size(8)  check(8)
 *
 * The *generation* is the name's: how often what it held was deleted (graves.h). A copy has none of its own.
 */
#ifndef MODULE_VALUE_VALUE_H
#define MODULE_VALUE_VALUE_H

#include "module/base/server.h"

#define HEADER_BYTES 64

struct value;
struct registry_entry;

/* A value as bytes. The body belongs to whoever asked for it. */
struct value_bytes {
    uint8_t header[HEADER_BYTES];
    roost_buffer body;
};

/* How a value is told and taken in. */
enum encoding {
    ENCODE_COPY,  /* to become another object: who it was is left out */
    ENCODE_MIRROR /* to a mirror of this very object: a replica of the server, a file that the server itself will load */
};

struct value_class {
    uint8_t code;
    const char *name;
    void (*free)(struct value *value);
    roost_status (*encode)(struct value *value, struct value_bytes *bytes, enum encoding encoding);
    /* The value was made with the header's common part; takes in the rest, and checks everything. */
    roost_status (*decode)(struct value *value, const uint8_t *header, const void *body, size_t size,
                           enum encoding encoding);
    void (*digest)(struct value *value, uint8_t digest[16]);
    /* A cursor of now, for deltas. NULL: no state that deployments share, and none that summaries tell of. */
    roost_status (*cursor)(struct value *value, roost_cursor *cursor);
    /* Some of what the next digest would have to do; whether there is more. NULL: there is nothing. */
    bool (*precompute_digest)(struct value *value, uint64_t effort);
    struct value *(*make)(void);
    /* Another object for COPY, or NULL: it cannot be had. Where there is no such function it is told and taken in. */
    struct value *(*copy)(struct value *value);
    /* As roost_filter_move. NULL: it stays where it is. */
    bool (*move)(struct value *value, roost_mover *move, void *context, uint64_t *place);
};

struct value {
    const struct value_class *class;
    uint64_t generation;
    size_t bytes;                 /* all that was allocated for it */
    struct registry_entry *entry; /* NULL: not in the registry yet */
    uint64_t written_out;         /* under which command this last happened; departures.h */
    size_t limit; /* 0, or beyond how many bytes an allocation is refused: only while a client's own change is made */
};

extern RedisModuleType *value_type;
extern const struct value_class *const value_classes[];

/* Registers the data type. */
int value_type_create(RedisModuleCtx *ctx);

void value_free(struct value *value);
roost_status value_encode(struct value *value, struct value_bytes *bytes, enum encoding encoding);
roost_status value_decode(struct value **value, const uint8_t header[HEADER_BYTES], const void *body, size_t size,
                          enum encoding encoding);

/* How long the body is that belongs to a header; false if it is none of ours. */
bool header_body_size(const uint8_t header[HEADER_BYTES], uint64_t *size);

/* Header and body in one. NULL without memory; to be released with RedisModule_Free. */
uint8_t *value_encode_whole(struct value *value, size_t *size, enum encoding encoding);
roost_status value_decode_whole(struct value **value, const void *bytes, size_t size, enum encoding encoding);

/* ---- for classes ----------------------------------------------------------------------------------------------- */

/* Memory of the server, counted in value->bytes. */
roost_allocator value_allocator(struct value *value);
void *value_allocate(void *context, size_t size);
void value_release(void *context, void *memory);
/* Of all values together. */
uint64_t values_bytes(void);

/* Fields of a header, in order. */
struct header_place {
    uint8_t *next;
};
struct header_place header_begin(uint8_t header[HEADER_BYTES], const struct value *value, enum encoding encoding);
void header_end(uint8_t header[HEADER_BYTES], struct header_place place, uint64_t body);
void header_write(struct header_place *place, uint64_t number, unsigned bytes);
struct header_place header_open(const uint8_t header[HEADER_BYTES]);
uint64_t header_read(struct header_place *place, unsigned bytes);

#endif
