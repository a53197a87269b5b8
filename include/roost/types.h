/* Small values that all parts of the library share: bytes, hashes, buffers, allocators, entropy, executors. */
#ifndef ROOST_TYPES_H
#define ROOST_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that another object owns. A key is any bytes; the empty key is a key. */
typedef struct roost_bytes {
    const void *data; /* may be NULL where `size` is 0 */
    size_t size;      /* in bytes */
} roost_bytes;

/* The 128-bit hash of a key under the seed of one filter; see roost_filter_hash. */
typedef struct roost_hash {
    uint64_t low;  /* the low 64 bits */
    uint64_t high; /* the high 64 bits */
} roost_hash;

/*
 * Where an object gets its memory. All zero stands for calloc and free. The functions are called on the thread that
 * calls the library, for one object at a time.
 */
typedef struct roost_allocator {
    void *context;                                 /* passed to both functions */
    void *(*allocate)(void *context, size_t size); /* returns zeroed memory aligned for any object, or NULL */
    void (*release)(void *context, void *memory);  /* frees what `allocate` returned; `memory` is never NULL */
} roost_allocator;

/*
 * Where an object gets its random numbers. All zero stands for the operating system. Actors are made of them: two
 * replicas that draw the same numbers lose each other's elements. So a source of your own must not draw in a forked child
 * what it draws in the parent.
 */
typedef struct roost_entropy {
    void *context;                                         /* passed to `draw` */
    bool (*draw)(void *context, void *bytes, size_t size); /* fills `size` bytes at random; false: it could not */
} roost_entropy;

/*
 * What runs the tasks of a long call at the same time: a thread pool of the caller's. All zero stands for none, and
 * then each call does everything itself. The library starts no threads.
 *
 * `run` calls task(argument, index) once for each index below `count`, in any order, on any threads, the calling one
 * included, and returns after all of them have returned; what they wrote is visible to its caller then, as it is after
 * a thread was joined or a mutex was taken. Tasks do not wait for each other: running them one after the other is
 * right, too. A task takes about a millisecond. It calls no allocator, no entropy and no executor: those are called on the
 * thread that calls the library. (That of roost_file_set_interrupt may be called by a task.)
 *
 * Threads that call the library at the same time, for several filters or for functions that take a const one, call
 * `run` at the same time.
 */
typedef struct roost_executor {
    void *context; /* passed to `run` */
    /* Runs all tasks, as described above. */
    void (*run)(void *context, void (*task)(void *argument, size_t index), void *argument, size_t count);
    uint32_t threads; /* how many tasks run at the same time; with 0 or 1 `run` is never called */
} roost_executor;

/* Bytes that a call has made. The caller releases them with roost_buffer_release. */
typedef struct roost_buffer {
    uint8_t *data;             /* NULL where the buffer is empty */
    size_t size;               /* in bytes */
    roost_allocator allocator; /* the one that `data` came from */
} roost_buffer;

/* Frees the bytes of a buffer and empties it. An empty buffer is fine. */
ROOST_API void roost_buffer_release(roost_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
