/* What the walks through a tiny universe share: laws that abort, and every sequence of random choices in turn. */
#ifndef TESTS_EXHAUSTIVE_H
#define TESTS_EXHAUSTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cuckoo/cuckoo_geometry.h"
#include "filter/kind.h"

enum { MOST_REPLICAS = 3 };

/* Operations in a row: `--deep` as many as an hour allows, `--shallow` one less than otherwise, for `make check`. */
static inline uint32_t depth_of(const char *form, uint32_t depth, uint32_t deep)
{
    return strcmp(form, "--deep") == 0 ? deep : strcmp(form, "--shallow") == 0 ? depth - 1 : depth;
}

static inline void must(bool holds, const char *law)
{
    if (!holds) {
        printf("not ok - broken: %s\n", law);
        fflush(stdout);
        abort();
    }
}

/* ---- choices: a script that runs through every sequence of answers ----------------------------------------------- */

enum { MOST_CHOICES = 64 };

struct script {
    uint32_t answers[MOST_CHOICES], bounds[MOST_CHOICES], length, position;
};

/* To be put in the place of a random source, see base/random.h. */
static inline uint32_t script_answer(void *context, uint32_t choices)
{
    struct script *script = context;
    must(script->position < MOST_CHOICES, "few choices");
    if (script->position == script->length)
        script->answers[script->length++] = 0;
    script->bounds[script->position] = choices;
    return script->answers[script->position++];
}

/* The next sequence in lexical order; false after the last. */
static inline bool script_advance(struct script *script)
{
    script->length = script->position;
    script->position = 0;
    while (script->length > 0 && script->answers[script->length - 1] + 1 == script->bounds[script->length - 1])
        script->length--;
    if (script->length == 0)
        return false;
    script->answers[script->length - 1]++;
    return true;
}

/* ---- what was seen before ---------------------------------------------------------------------------------------- */

/* A set of 64-bit hashes, none of them 0. */
struct hash_set {
    uint64_t *hashes;
    size_t count, room;
};

static inline bool hash_set_put(struct hash_set *set, uint64_t hash)
{
    size_t at = hash & (set->room - 1);
    for (; set->hashes[at]; at = (at + 1) & (set->room - 1))
        if (set->hashes[at] == hash)
            return false;
    set->hashes[at] = hash;
    set->count++;
    return true;
}

static inline void hash_set_grow(struct hash_set *set)
{
    struct hash_set larger = {.room = set->room ? 4 * set->room : 1 << 12};
    larger.hashes = calloc(larger.room, sizeof *larger.hashes);
    must(larger.hashes != NULL, "memory");
    for (size_t i = 0; i < set->room; i++)
        if (set->hashes[i])
            hash_set_put(&larger, set->hashes[i]);
    free(set->hashes);
    *set = larger;
}

/* Tells whether it is new. A collision would hide a world from us; with 2^64 hashes none is to be expected. */
static inline bool hash_set_add(struct hash_set *set, const void *bytes, size_t size)
{
    uint64_t hash = checksum_bytes(bytes, size);
    if (2 * (set->count + 1) > set->room)
        hash_set_grow(set);
    return hash_set_put(set, hash ? hash : 1);
}

/* A walk that goes depth first: whether it met a world before, with any depth left. */
static inline bool hash_set_meet(struct hash_set *set, const void *world, size_t size)
{
    uint64_t met[2] = {checksum_bytes(world, size), 0};
    return !hash_set_add(set, met, sizeof met);
}

/* The same with at least so much depth left: with more a world is worth another visit. */
static inline bool hash_set_meet_with(struct hash_set *set, const void *world, size_t size, uint32_t depth)
{
    uint64_t met[2] = {checksum_bytes(world, size), depth + 1};
    if (!hash_set_add(set, met, sizeof met))
        return true;
    while (--met[1] > 0 && hash_set_add(set, met, sizeof met))
        ;
    return false;
}

/* A walk that goes breadth first: each world once, one level after the other. Of the last level none is kept. */
struct frontier {
    struct hash_set seen;
    size_t size;     /* of a world */
    uint8_t *worlds; /* of the next level */
    size_t count, room;
    bool last; /* no level comes after the next */
};

/* Tells whether the world is new. Its first `distinct` bytes tell worlds apart. */
static inline bool frontier_visit(struct frontier *frontier, const void *world, size_t distinct)
{
    if (!hash_set_add(&frontier->seen, world, distinct))
        return false;
    if (frontier->last)
        return true;
    if (frontier->count == frontier->room) {
        frontier->room = frontier->room ? 2 * frontier->room : 1024;
        frontier->worlds = realloc(frontier->worlds, frontier->room * frontier->size);
        must(frontier->worlds != NULL, "memory");
    }
    memcpy(frontier->worlds + frontier->count++ * frontier->size, world, frontier->size);
    return true;
}

/* Calls `expand` with each world of each level, beginning with those that were visited already. */
static inline void frontier_walk(struct frontier *frontier, uint32_t depth,
                                 void (*expand)(void *context, const void *world), void *context)
{
    for (uint32_t level = 0; level < depth; level++) {
        struct frontier found = {frontier->seen, frontier->size, .last = level + 1 == depth};
        uint8_t *worlds = frontier->worlds;
        size_t count = frontier->count;
        *frontier = found;
        for (size_t i = 0; i < count; i++)
            expand(context, worlds + i * frontier->size);
        free(worlds);
    }
}

static inline void frontier_close(struct frontier *frontier)
{
    free(frontier->seen.hashes);
    free(frontier->worlds);
}

/* ---- bytes of filters -------------------------------------------------------------------------------------------- */

static inline uint64_t frame_hash(const roost_filter *filter)
{
    roost_buffer frame;
    must(roost_filter_encode(filter, &frame) == ROOST_OK, "encode");
    uint64_t hash = checksum_bytes(frame.data, frame.size);
    roost_buffer_release(&frame);
    return hash;
}

static inline roost_filter *through_bytes(const roost_filter *filter)
{
    const roost_environment environment = whole_environment(filter);
    roost_filter *decoded;
    roost_buffer frame;
    must(roost_filter_encode(filter, &frame) == ROOST_OK, "encode");
    must(roost_filter_decode(&decoded, frame.data, frame.size, &environment) == ROOST_OK, "decode");
    roost_buffer_release(&frame);
    return decoded;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* A hash that falls into this place. */
static inline roost_hash hash_into(struct place place, struct cuckoo_geometry geometry)
{
    uint64_t fingerprints = (UINT64_C(1) << geometry.bits) - 1;
    roost_hash hash = {(uint64_t)(((uint128)place.bucket << 64) / geometry.buckets) + 1,
                       (uint64_t)(((uint128)(place.fingerprint - 1) << 64) / fingerprints) + 1};
    struct place back = place_of_hash(hash, geometry);
    must(back.bucket == place.bucket && back.fingerprint == place.fingerprint, "hash into a place");
    return hash;
}

#endif
