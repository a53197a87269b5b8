/* Small values that all parts of the library share: bytes, hashes, buffers, allocators, entropy. */
#ifndef ROOST_TYPES_H
#define ROOST_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A key: any bytes. The empty key is a key. */
typedef struct roost_bytes {
    const void *data;
    size_t size;
} roost_bytes;

/* The 128-bit hash of a key under the seed of one filter; see roost_filter_hash. */
typedef struct roost_hash {
    uint64_t low, high;
} roost_hash;

/* `allocate` returns zeroed memory aligned for any object, or NULL. */
typedef struct roost_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory);
} roost_allocator;

/*
 * Fills `size` bytes with numbers that nobody else draws, and answers whether it could. Actors are made of them: two
 * replicas that drew the same would lose each other's elements.
 */
typedef struct roost_entropy {
    void *context;
    bool (*draw)(void *context, void *bytes, size_t size);
} roost_entropy;

typedef struct roost_buffer {
    uint8_t *data;
    size_t size;
    roost_allocator allocator;
} roost_buffer;

/* Frees the bytes and empties the buffer; an empty one is fine. */
ROOST_API void roost_buffer_release(roost_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
