/*
 * See entry_index.h.
 *
 * A server may have millions of keys, so the index takes little memory for each and never stops to grow: linear
 * hashing. There are about as many buckets as entries. Each new entry adds one bucket, and moves to it those entries of
 * one other bucket that belong there. Buckets are chains through the entries, and their heads lie in chunks, so that
 * growing copies none of them.
 *
 *     buckets      0 1 2 3 | 4 5            of 4 in this round, 0 and 1 are split already: those of their entries
 *     split              ^ 2                whose hash has the next bit set are in 4 and 5
 */
#include "entry_index.h"

#include <sys/random.h>

#include "module/base/key_hash.h"

#define CHUNK_BUCKETS 1024

static struct registry_entry ***chunks;
static uint64_t buckets, entries, seed;

static uint64_t hash_of(int database, const void *key, size_t size)
{
    return key_hash(seed + (uint64_t)(unsigned)database, key, size);
}

static struct registry_entry **head_of(uint64_t bucket)
{
    return &chunks[bucket / CHUNK_BUCKETS][bucket % CHUNK_BUCKETS];
}

/* How many buckets there were when the round began: a power of two. */
static uint64_t round_size(void)
{
    return UINT64_C(1) << (63 - __builtin_clzll(buckets));
}

static struct registry_entry **bucket_of(uint64_t hash)
{
    uint64_t size = round_size(), bucket = hash & (2 * size - 1);
    return head_of(bucket < buckets ? bucket : bucket & (size - 1));
}

static void add_bucket(void)
{
    if (buckets % CHUNK_BUCKETS == 0) {
        chunks = RedisModule_Realloc(chunks, (buckets / CHUNK_BUCKETS + 1) * sizeof *chunks);
        chunks[buckets / CHUNK_BUCKETS] = RedisModule_Calloc(CHUNK_BUCKETS, sizeof **chunks);
    }
    buckets++;
}

/* Adds a bucket, and moves to it what belongs there. */
static void split_next(void)
{
    uint64_t size = round_size(), added = buckets;
    add_bucket();
    struct registry_entry **place = head_of(added & (size - 1)), **other = head_of(added);
    while (*place) {
        struct registry_entry *entry = *place;
        if (bucket_of(hash_of(entry->database, entry->key, entry->size)) != other) {
            place = &entry->next;
            continue;
        }
        *place = entry->next;
        entry->next = *other;
        *other = entry;
    }
}

struct registry_entry *entry_index_find(int database, const void *key, size_t size)
{
    if (!buckets)
        return NULL;
    struct registry_entry *entry = *bucket_of(hash_of(database, key, size));
    while (entry && (entry->size != size || entry->database != database || memcmp(entry->key, key, size) != 0))
        entry = entry->next;
    return entry;
}

static void begin(void)
{
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)(uintptr_t)&seed;
    add_bucket();
}

void entry_index_add(struct registry_entry *entry)
{
    if (!buckets)
        begin();
    if (entries++ >= buckets)
        split_next();
    struct registry_entry **head = bucket_of(hash_of(entry->database, entry->key, entry->size));
    entry->next = *head;
    *head = entry;
}

void entry_index_remove(struct registry_entry *entry)
{
    struct registry_entry **place = bucket_of(hash_of(entry->database, entry->key, entry->size));
    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
    entries--;
}

void entry_index_clear(void)
{
    for (uint64_t first = 0; first < buckets; first += CHUNK_BUCKETS)
        RedisModule_Free(chunks[first / CHUNK_BUCKETS]);
    RedisModule_Free(chunks);
    chunks = NULL;
    buckets = entries = 0;
}
