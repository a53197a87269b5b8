/*
 * What a key holds. There are several classes of values behind one table of functions: filters (with windows and
 * counters), values that arrive in chunks and are not complete yet, tombstones, and what links agreed on. Only the file
 * of a class knows the class. The server has three data types, which differ in their names alone: `roostdata`,
 * `MBbloom--` and `MBbloomCF`.
 *
 * Bytes. Every value is encoded as two parts: a short *header* (class, generation, and what belongs to the key and not
 * to the filter) and the *body* (of a filter: its canonical frame). RDB, AOF, DUMP, SCANDUMP, COPY and the creation
 * that is sent to replicas all carry these two parts in different wrappings, so there is one encoder and one decoder.
 *
 *     "Rkey"  version(1)  class(1)  0(2)  generation(8)  fields of the class(32)  body size(8)  check(8)
 *
 * The *generation* is an epoch of the key: how often what it held was deleted (registry/tombstones.h). A copy does not
 * take it along.
 *
 * Rooms above this one. The registry has to know when a value is removed from its key, key removals when it is written
 * out, a sync session when its filter is freed. They are above this room, so they are called through tables of
 * functions (`struct value_observer`, and `arrive` and `leave` of a class), which load.c registers.
 */
#ifndef MODULE_VALUE_VALUE_H
#define MODULE_VALUE_VALUE_H

#include "module/base/server.h"

#define HEADER_BYTES    64
#define CHUNK           ((size_t)16 << 20) /* bytes of a body in one string of an RDB file, or one command of an AOF */
#define LAST_GENERATION (UINT64_C(1) << 48)

struct value;
struct registry_entry;

/* A value as bytes. The caller releases the body. */
struct value_bytes {
    uint8_t header[HEADER_BYTES];
    roost_buffer body;
};

/* What a value is encoded for. */
enum encoding {
    ENCODE_COPY,   /* another object: the identity is left out */
    ENCODE_MIRROR, /* the same object on a replica of the server, or in a file that the server itself will load */
    ENCODE_CLIENT  /* decoding: as ENCODE_COPY, and certainly by a client; the state of the server is not looked at */
};

struct value_class {
    uint8_t code;
    /* Values of this class are kept at this key, or in a cluster at `reserved:{tag}:number`, and no other values are.
       NULL: at any key that is not reserved. */
    const char *reserved;
    struct value *(*make)(void);
    void (*free)(struct value *value);
    roost_status (*encode)(struct value *value, struct value_bytes *bytes, enum encoding encoding);
    /* The value was made with the common part of the header. Decodes the rest and checks everything. */
    roost_status (*decode)(struct value *value, const uint8_t *header, const void *body, size_t size,
                           enum encoding encoding);
    void (*digest)(struct value *value, uint8_t digest[16]);

    /* The following may be NULL. */
    /* The present cursor, for deltas. NULL: regions do not share values of this class, and summaries leave them out. */
    roost_status (*cursor)(struct value *value, roost_cursor *cursor);
    /* Does part of the work of the next digest; returns whether there is more. */
    bool (*precompute_digest)(struct value *value, uint64_t effort);
    /* Another object for COPY; returns NULL if COPY is refused. Without it COPY encodes and decodes. */
    struct value *(*copy)(struct value *value);
    /* As roost_filter_defragment, for active defragmentation. */
    bool (*move)(struct value *value, roost_mover *move, void *context, uint64_t *place);
    /* The data type of the key; NULL: `value_type`. Values of any type are accepted under `value_type`. */
    RedisModuleType *(*type)(const struct value *value);
    /* Whether the contents may be kept at this key, which is reserved for the class. */
    bool (*fits)(const struct value *value, const RedisModuleString *key);
    /* The value is at this key now; it is no longer at its key. */
    void (*arrive)(struct value *value, RedisModuleString *key, int database);
    void (*leave)(struct value *value);
};

/* Called about values of all classes. Each function may be NULL. */
struct value_observer {
    /* The value is removed from its key: on the main thread, before another thread may free it. */
    void (*unlinked)(struct value *value, const RedisModuleString *key, int database);
    /* The value was written out, for another server or a file. */
    void (*saved)(struct value *value);
    /* The value is about to be freed, on any thread. */
    void (*freed)(struct value *value);
    /* Whether the observer holds pointers into the value, so that its memory must not be moved. */
    bool (*pins)(const struct value *value);
};

struct value {
    const struct value_class *class;
    uint64_t generation;
    size_t bytes;                 /* all that was allocated for it */
    struct registry_entry *entry; /* NULL: not in the registry yet */
    uint64_t written_out;         /* number of the command that last wrote it out; registry/key_removals.h */
    size_t limit; /* 0, or allocations beyond this many bytes are refused: only while a client's own change is made */
};

/* The data types. `bloom_type` and `cuckoo_type` have the names of RedisBloom's types, MBbloom-- and MBbloomCF, which
   tools look for and under which its files are loaded; they hold the filters that BF.* and CF.* serve. Without these
   commands (bf-cf no) both are `value_type`, since another module may have the names. */
extern RedisModuleType *value_type, *bloom_type, *cuckoo_type;
bool is_value_type(const RedisModuleType *type);
RedisModuleType *type_for(const struct value *value);
/* Brings a value to a key that was opened for writing, in the place of what is there; the key keeps its time to
   live. */
void value_put(RedisModuleKey *key, struct value *value);

/* Both lists end with NULL and stay the caller's. Before data_types_create. */
void value_register(const struct value_class *const *classes, const struct value_observer *const *observers);

/* The value of a key; NULL: it holds none of ours. */
struct value *value_of_key(RedisModuleKey *key);
struct value *value_at(RedisModuleCtx *ctx, RedisModuleString *key);

void value_free(struct value *value);
roost_status value_encode(struct value *value, struct value_bytes *bytes, enum encoding encoding);
roost_status value_decode(struct value **value, const uint8_t header[HEADER_BYTES], const void *body, size_t size,
                          enum encoding encoding);

/* The size of the body that belongs to a header; false if the header is not valid. */
/* Whether the bytes begin as a header does; nothing else is checked. */
bool header_is_ours(const void *bytes, size_t size);
bool header_body_size(const uint8_t header[HEADER_BYTES], uint64_t *size);

/* Header and body in one. NULL without memory; release with RedisModule_Free. */
uint8_t *value_encode_whole(struct value *value, size_t *size, enum encoding encoding);
roost_status value_decode_whole(struct value **value, const void *bytes, size_t size, enum encoding encoding);

/* Files of earlier versions may hold generations above the last one. */
static inline uint64_t generation_within(uint64_t generation)
{
    return generation < LAST_GENERATION ? generation : LAST_GENERATION;
}

/* ---- reserved keys ----------------------------------------------------------------------------------------------- */

/* The key is "base", or "base:{tag}:number". */
bool is_reserved_for(const RedisModuleString *key, const char *base);
/* The key is reserved for any class. */
bool is_reserved_key(const RedisModuleString *key);
/* Whether a client may bring the value, or any value of the class, to this key. */
bool value_may_be_at(const struct value *value, const RedisModuleString *key);
bool value_class_may_be_at(const struct value_class *class, const RedisModuleString *key);

/* ---- for classes and for this room ------------------------------------------------------------------------------- */

/* Memory of the server, counted in value->bytes. */
roost_allocator value_allocator(struct value *value);
void *value_allocate(void *context, size_t size);
void value_release(void *context, void *memory);
/* For environments with this allocator: values share memory with copies and snapshots, and each counts all that it
   uses. */
void value_count(void *context, void *memory, bool more);
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

/* NULL: there is no such class. */
const struct value_class *value_class_of(uint8_t code);

/* Call the observers. */
void value_note_unlinked(struct value *value, const RedisModuleString *key, int database);
void value_note_saved(struct value *value);
void value_note_freed(struct value *value);
bool value_is_pinned(const struct value *value);

#endif
