/* See tombstone_table.h. */
#include "tombstone_table.h"

#include <string.h>
#include <sys/random.h>

#include "module/base/key_hash.h"

#define FIXED      10 /* bytes of a record before the size */
#define LONG       1024
#define MOST_DEPTH 30

struct bucket {
    uint32_t used;
    uint8_t depth; /* bits of the hash that all its keys have in common */
    uint8_t records[];
};

struct tombstone_table {
    struct bucket **directory;
    unsigned depth;
    uint64_t seed, count;
    size_t bytes;
};

/* ---- records ----------------------------------------------------------------------------------------------------- */

static size_t bytes_of_size(size_t size)
{
    size_t bytes = 1;
    for (; size > 127; size >>= 7)
        bytes++;
    return bytes;
}

static size_t record_size(const struct tombstone *tombstone)
{
    return FIXED + bytes_of_size(tombstone->size) + tombstone->size;
}

static void write_record(uint8_t *record, const struct tombstone *tombstone)
{
    uint64_t generation = tombstone->generation - 1;
    uint32_t time = tombstone->time;
    for (int i = 0; i < 6; i++, generation >>= 8)
        *record++ = (uint8_t)generation;
    for (int i = 0; i < 4; i++, time >>= 8)
        *record++ = (uint8_t)time;
    size_t size = tombstone->size;
    for (; size > 127; size >>= 7)
        *record++ = (uint8_t)(size | 128);
    *record++ = (uint8_t)size;
    if (tombstone->size)
        memcpy(record, tombstone->key, tombstone->size);
}

/* Returns the end of the record. */
static const uint8_t *read_record(struct tombstone *tombstone, const uint8_t *record)
{
    *tombstone = (struct tombstone){0};
    for (int i = 0; i < 6; i++)
        tombstone->generation |= (uint64_t)*record++ << (8 * i);
    tombstone->generation++;
    for (int i = 0; i < 4; i++)
        tombstone->time |= (uint32_t)*record++ << (8 * i);
    for (unsigned shift = 0;; shift += 7) {
        tombstone->size |= (size_t)(*record & 127) << shift;
        if (*record++ < 128)
            break;
    }
    tombstone->key = record;
    return record + tombstone->size;
}

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

static uint64_t hash_of(const struct tombstone_table *table, const uint8_t *key, size_t size)
{
    return key_hash(table->seed, key, size);
}

static size_t place_in(unsigned depth, uint64_t hash)
{
    return depth ? (size_t)(hash >> (64 - depth)) : 0;
}

static struct bucket **bucket_of(const struct tombstone_table *table, uint64_t hash)
{
    return &table->directory[place_in(table->depth, hash)];
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static struct bucket *new_bucket(struct tombstone_table *table, unsigned depth, size_t used)
{
    struct bucket *bucket = RedisModule_Alloc(sizeof *bucket + used);
    *bucket = (struct bucket){.used = 0, .depth = (uint8_t)depth};
    table->bytes += RedisModule_MallocSize(bucket);
    return bucket;
}

static void free_bucket(struct tombstone_table *table, struct bucket *bucket)
{
    table->bytes -= RedisModule_MallocSize(bucket);
    RedisModule_Free(bucket);
}

static struct bucket *resize(struct tombstone_table *table, struct bucket *bucket, size_t used)
{
    table->bytes -= RedisModule_MallocSize(bucket);
    bucket = RedisModule_Realloc(bucket, sizeof *bucket + used);
    table->bytes += RedisModule_MallocSize(bucket);
    return bucket;
}

/* Sets all places of the directory that lead to the bucket of this depth that the hash is in. */
static void point(struct tombstone_table *table, uint64_t hash, unsigned depth, struct bucket *bucket)
{
    size_t count = (size_t)1 << (table->depth - depth);
    size_t first = place_in(depth, hash) * count;
    for (size_t i = 0; i < count; i++)
        table->directory[first + i] = bucket;
}

struct tombstone_table *tombstone_table_new(void)
{
    struct tombstone_table *table = RedisModule_Calloc(1, sizeof *table);
    if (getrandom(&table->seed, sizeof table->seed, 0) != sizeof table->seed)
        table->seed = (uint64_t)(uintptr_t)table;
    table->directory = RedisModule_Alloc(sizeof *table->directory);
    table->bytes = RedisModule_MallocSize(table) + RedisModule_MallocSize(table->directory);
    table->directory[0] = new_bucket(table, 0, 0);
    return table;
}

/* The bucket at a place, and the place after its last one. */
static struct bucket *bucket_at(const struct tombstone_table *table, size_t place, size_t *after)
{
    struct bucket *bucket = table->directory[place];
    size_t count = (size_t)1 << (table->depth - bucket->depth);
    *after = (place / count + 1) * count;
    return bucket;
}

void tombstone_table_free(struct tombstone_table *table)
{
    size_t places = (size_t)1 << table->depth;
    for (size_t place = 0, after; place < places; place = after)
        RedisModule_Free(bucket_at(table, place, &after));
    RedisModule_Free(table->directory);
    RedisModule_Free(table);
}

uint64_t tombstone_table_count(const struct tombstone_table *table)
{
    return table->count;
}

size_t tombstone_table_bytes(const struct tombstone_table *table)
{
    return table->bytes;
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

static void double_directory(struct tombstone_table *table)
{
    size_t places = (size_t)1 << table->depth;
    table->bytes -= RedisModule_MallocSize(table->directory);
    struct bucket **twice = RedisModule_Realloc(table->directory, 2 * places * sizeof *twice);
    for (size_t place = places; place-- > 0;)
        twice[2 * place] = twice[2 * place + 1] = twice[place];
    table->directory = twice;
    table->depth++;
    table->bytes += RedisModule_MallocSize(twice);
}

/* Returns the bucket, which may have moved. */
static struct bucket *append(struct tombstone_table *table, struct bucket *bucket, const struct tombstone *tombstone)
{
    size_t size = record_size(tombstone);
    bucket = resize(table, bucket, bucket->used + size);
    write_record(bucket->records + bucket->used, tombstone);
    bucket->used += (uint32_t)size;
    return bucket;
}

static void split(struct tombstone_table *table, uint64_t hash)
{
    struct bucket *old = *bucket_of(table, hash);
    unsigned depth = old->depth + 1u;
    if (depth > table->depth)
        double_directory(table);
    struct bucket *halves[2] = {new_bucket(table, depth, 0), new_bucket(table, depth, 0)};
    struct tombstone tombstone;
    for (const uint8_t *at = old->records, *end = at + old->used; at < end;) {
        at = read_record(&tombstone, at);
        uint64_t other = hash_of(table, tombstone.key, tombstone.size);
        struct bucket **half = &halves[other >> (64 - depth) & 1];
        *half = append(table, *half, &tombstone);
    }
    uint64_t last_bit = UINT64_C(1) << (64 - depth);
    point(table, hash & ~last_bit, depth, halves[0]);
    point(table, hash | last_bit, depth, halves[1]);
    free_bucket(table, old);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static const uint8_t *find_in(const struct bucket *bucket, struct tombstone *found, const void *key, size_t size)
{
    for (const uint8_t *at = bucket->records, *end = at + bucket->used, *next; at < end; at = next) {
        next = read_record(found, at);
        if (found->size == size && (size == 0 || memcmp(found->key, key, size) == 0))
            return at;
    }
    return NULL;
}

bool tombstone_table_find(const struct tombstone_table *table, struct tombstone *found, const void *key, size_t size)
{
    return find_in(*bucket_of(table, hash_of(table, key, size)), found, key, size);
}

void tombstone_table_put(struct tombstone_table *table, const struct tombstone *tombstone)
{
    struct tombstone found;
    uint64_t hash = hash_of(table, tombstone->key, tombstone->size);
    struct bucket *bucket = *bucket_of(table, hash);
    const uint8_t *record = find_in(bucket, &found, tombstone->key, tombstone->size);
    if (record) { /* the key and its size stay as they are */
        uint8_t fixed[FIXED + 1];
        write_record(fixed, &(struct tombstone){.generation = tombstone->generation, .time = tombstone->time});
        memcpy((uint8_t *)(uintptr_t)record, fixed, FIXED);
        return;
    }
    bucket = append(table, bucket, tombstone);
    point(table, hash, bucket->depth, bucket);
    table->count++;
    if (bucket->used > LONG && bucket->used > record_size(tombstone) && bucket->depth < MOST_DEPTH)
        split(table, hash);
}

void tombstone_table_remove(struct tombstone_table *table, const void *key, size_t size)
{
    struct tombstone found;
    uint64_t hash = hash_of(table, key, size);
    struct bucket *bucket = *bucket_of(table, hash);
    uint8_t *record = (uint8_t *)(uintptr_t)find_in(bucket, &found, key, size);
    if (!record)
        return;
    size_t length = record_size(&found), begin = (size_t)(record - bucket->records);
    memmove(record, record + length, bucket->used - begin - length);
    bucket->used -= (uint32_t)length;
    bucket = resize(table, bucket, bucket->used);
    point(table, hash, bucket->depth, bucket);
    table->count--;
}

bool tombstone_table_walk(const struct tombstone_table *table, uint64_t *place,
                          void (*visit)(void *context, const struct tombstone *tombstone), void *context)
{
    size_t after;
    struct tombstone tombstone;
    const struct bucket *bucket = bucket_at(table, place_in(table->depth, *place), &after);
    for (const uint8_t *at = bucket->records, *end = at + bucket->used; at < end;) {
        at = read_record(&tombstone, at);
        visit(context, &tombstone);
    }
    *place = table->depth ? (uint64_t)after << (64 - table->depth) : 0;
    return after < (size_t)1 << table->depth;
}
