/*
 * A cuckoo hash table of fingerprints, apart from any replication. Without tags each class is held at most once, in one
 * of its two buckets or in the overflow stash; with tags a class may have many entries, each with a tag of its own.
 * `cuckoo_table.c` has the essay.
 */
#ifndef CUCKOO_CUCKOO_TABLE_H
#define CUCKOO_CUCKOO_TABLE_H

#include "cuckoo_array.h"
#include "../base/random.h"

enum put_result { PUT_NEW, PUT_PRESENT, PUT_NO_ROOM };

/* The bytes that a table of this geometry takes initially, and one of this shape, without a stash. */
uint64_t cuckoo_table_first_bytes(struct cuckoo_geometry geometry, uint32_t most_kicks);
uint64_t cuckoo_table_bytes(struct cuckoo_geometry shape, uint32_t most_kicks);

/* False when there is no memory. */
bool cuckoo_table_init(struct cuckoo_table *table, struct cuckoo_geometry geometry, uint32_t most_kicks,
                       const roost_allocator *allocator);
void cuckoo_table_move(struct cuckoo_table *table, const struct memory_mover *mover);
void cuckoo_table_release(struct cuckoo_table *table, const roost_allocator *allocator);
bool cuckoo_table_copy(struct cuckoo_table *copy, const struct cuckoo_table *table, const roost_allocator *allocator);
/*
 * An incremental copy (kind.h) into a table that was made by init with this allocator: at most so many pages. False
 * without memory. The second function is for the moment when the first one has left the copy clean.
 */
bool cuckoo_table_copy_some(struct cuckoo_table *copy, struct cuckoo_table *table, uint64_t *effort, bool *clean,
                            const roost_allocator *allocator);
bool cuckoo_table_copy_rest(struct cuckoo_table *copy, struct cuckoo_table *table, const roost_allocator *allocator);

/*
 * Layouts. A table of a series begins folded, with few rows, and unfolds as it fills; one that holds more than it was
 * made for spreads over more rows than it has buckets. Classes do not change. A table without tags outside a series has
 * one layout for ever. The four functions return whether the table is so full that it should have more rows; return
 * whether it is full but for the slots that only kicks find, and could have more rows; give it the next layout; and
 * give it the rows that so many entries need. `most_moved`, unless it is 0: a folded table that would have to move more
 * entries than that the next time gets all its rows now. The last two return false and change nothing if there is no
 * memory.
 */
static inline bool cuckoo_table_is_overfull(const struct cuckoo_table *table);
bool cuckoo_table_is_nearly_full(const struct cuckoo_table *table);
bool cuckoo_table_relieve(struct cuckoo_table *table, struct random_source *random, const roost_allocator *allocator,
                          uint64_t most_moved);
bool cuckoo_table_make_room(struct cuckoo_table *table, uint64_t entries, struct random_source *random,
                            const roost_allocator *allocator);
/* It is asked after every addition, and hardly ever needs a second look. */
#define STASHED_IN_PASSING 8
bool cuckoo_table_needs_rows(const struct cuckoo_table *table);
static inline bool cuckoo_table_is_overfull(const struct cuckoo_table *table)
{
    return __builtin_expect(table->stash.count > STASHED_IN_PASSING || table->spread < 0, 0) &&
           cuckoo_table_needs_rows(table);
}
/* The bytes of slots and journal with the rows that so many entries need. */
uint64_t cuckoo_table_bytes_for(const struct cuckoo_table *table, uint64_t entries);

/*
 * An empty table can free its slots: it has no rows until they are allocated again. A freed table holds nothing; it
 * can be queried and walked, but not inserted into. Allocating fails when there is no memory.
 */
void cuckoo_table_free_slots(struct cuckoo_table *table, const roost_allocator *allocator);
bool cuckoo_table_allocate_slots(struct cuckoo_table *table, const roost_allocator *allocator);
static inline bool cuckoo_table_is_freed(const struct cuckoo_table *table)
{
    return table->shape.buckets == 0;
}

/* The rows of slots; the place of an entry that is found in one. */
static inline uint32_t cuckoo_table_rows(const struct cuckoo_table *table)
{
    return table->shape.buckets;
}
/* The first row from this one on that may hold entries; past the last one: none. Pages that were never written are not
   read either: walks cost what a table holds and not what it has room for. */
uint32_t cuckoo_table_next_row(const struct cuckoo_table *table, uint32_t row);
struct place cuckoo_table_place(const struct cuckoo_table *table, uint32_t row, uint32_t fingerprint);

/* Places go by pointer: in registers three small numbers would be packed and unpacked at each call. */
bool cuckoo_table_contains(const struct cuckoo_table *table, const struct place *place);
bool cuckoo_table_contains_hash(const struct cuckoo_table *table, roost_hash hash);
void cuckoo_table_contains_many(const struct cuckoo_table *table, bool *found, const roost_hash *hashes, size_t count);
/* The same for keys whose places are known for all tables of a series, of which this is one. */
void cuckoo_table_contains_nested(const struct cuckoo_table *table, bool *found, const struct nested_place *places,
                                  size_t count);

/* Displaces at most `kicks` entries; when that is not enough, every one of them is back where it was. */
enum put_result cuckoo_table_put(struct cuckoo_table *table, const struct place *place, struct random_source *random,
                                 uint32_t kicks);

/* Puts a word into one of its two rows, which are full, and displaces others: PUT_NEW or PUT_NO_ROOM. */
enum put_result cuckoo_table_displace(struct cuckoo_table *table, struct place slots, uint64_t word,
                                      struct random_source *random);

/* A bucket above a fingerprint. One number, and not a struct of two: it is stored and loaded whole. */
typedef uint64_t cuckoo_entry;

static ALWAYS_INLINE cuckoo_entry entry_at(uint32_t bucket, uint32_t fingerprint)
{
    return (uint64_t)bucket << 32 | fingerprint;
}

static ALWAYS_INLINE struct place place_of_entry(cuckoo_entry entry, struct cuckoo_geometry geometry)
{
    return place_in((uint32_t)(entry >> 32), (uint32_t)entry, geometry);
}

/* How many are worked on together. Lists from whole rows end with the row that reaches this, and four more may be
   written than are counted. */
#define MOST_ENTRIES 256
#define ROWS_AT_ONCE 8
#define ENTRIES_ROOM (MOST_ENTRIES + ROWS_AT_ONCE * 8 + 4)

/*
 * Puts up to ENTRIES_ROOM entries, which must be absent, each into a full bucket of its own, from which an entry goes
 * to a free slot of its other bucket: the first step of put, for many at once. Those left are moved to the front;
 * returns how many they are.
 */
uint32_t cuckoo_table_move_for(struct cuckoo_table *table, cuckoo_entry *entries, uint32_t count);

/* Puts a class into the stash; it must be absent. False, and nothing changed, when there is no memory. */
bool cuckoo_table_overflow(struct cuckoo_table *table, const struct place *place, const roost_allocator *allocator);

/* ---- tables with tags -------------------------------------------------------------------------------------------- */

/* One slot that holds an entry of some class. */
struct slot_match {
    uint32_t bucket, offset; /* the offset in bits */
    uint64_t tag;
};
#define MOST_MATCHES 16

/* Whether slots have room for this tag: where they hold bits of the bucket as well, the largest do not fit. */
static inline bool cuckoo_table_tag_fits(const struct cuckoo_table *table, uint64_t tag)
{
    return tag >> table->shape.tag_bits == 0;
}

/* As put, without looking whether the class is there: PUT_NEW or PUT_NO_ROOM. */
enum put_result cuckoo_table_insert(struct cuckoo_table *table, const struct place *place, uint64_t tag,
                                    struct random_source *random, uint32_t kicks);

/* The same where the class is absent; PUT_PRESENT where it is not. */
enum put_result cuckoo_table_insert_class(struct cuckoo_table *table, const struct place *place, uint64_t tag,
                                          struct random_source *random, uint32_t kicks);

/* The slots that hold the class; its entries in the stash come on top. */
uint32_t cuckoo_table_matches(const struct cuckoo_table *table, const struct place *place,
                              struct slot_match matches[MOST_MATCHES]);
/* The slot that holds this very entry. */
bool cuckoo_table_find_entry(const struct cuckoo_table *table, const struct place *place, uint64_t tag,
                             struct slot_match *match);
void cuckoo_table_clear_slot(struct cuckoo_table *table, const struct slot_match *match);
void cuckoo_table_retag_slot(struct cuckoo_table *table, const struct slot_match *match, uint64_t tag);

/* All slots of a row as they are, free ones (0) included: a tag above a fingerprint, by the table's shape. */
void cuckoo_table_words(const struct cuckoo_table *table, uint32_t row, uint64_t words[8]);
static inline uint64_t word_tag(uint64_t word, struct cuckoo_geometry shape)
{
    return word >> shape.bits;
}
static inline uint32_t word_fingerprint(uint64_t word, struct cuckoo_geometry shape)
{
    return (uint32_t)(word & ((UINT64_C(1) << shape.bits) - 1));
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* Asks for the memory of places that entries will soon be put into; nothing to do while the table fits the caches. */
void cuckoo_table_prefetch(const struct cuckoo_table *table, const struct place *places, size_t count);

static inline uint64_t cuckoo_table_entries(const struct cuckoo_table *table)
{
    return table->filled + table->stash.count;
}

/* Entries for each slot; above 1 where many overflowed. */
static inline double cuckoo_table_load(const struct cuckoo_table *table)
{
    uint64_t slots = (uint64_t)table->shape.buckets * table->shape.bucket_size;
    return slots ? (double)cuckoo_table_entries(table) / (double)slots : 0;
}

/* The fingerprints of one row, free slots left out; returns how many. */
uint32_t cuckoo_table_bucket(const struct cuckoo_table *table, uint32_t row, uint32_t fingerprints[8]);

bool cuckoo_table_check(const struct cuckoo_table *table);

#endif
