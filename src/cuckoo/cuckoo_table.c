/*
 * The cuckoo table: buckets of 1, 2, 4 or 8 slots, each slot a fingerprint of 1 to 32 bits, packed without gaps; or,
 * with a tag above the fingerprint, a slot of 32 or 64 bits.
 *
 * Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter: Practically Better Than Bloom" (2014); Algorithm 1 of the
 * thesis "Conflict-Free Replicated Probabilistic Filter" (2024). Where a bucket is, cuckoo_geometry.h says.
 *
 *     bytes    |  bucket 0: s0 s1 s2 s3  |  bucket 1: s0 s1 s2 s3  | ... | padding, so that a wide load stays inside
 *     12 bits  |  48 bits, from bit 0    |  from bit 48            |       bucket i starts at bit i * 48
 *
 * Reading. A bucket is one load of a word, or of two when it is wider than 64 bits (eight slots of more than 16 bits:
 * two such loads). All its slots are then compared at once, in lanes of that word: with x = bucket XOR
 * fingerprint-in-every-lane, the lowest lane with a bit set in (x - ones) & ~x & tops is the lowest lane that is 0 in
 * x. A free slot is fingerprint 0 and is found in the same way. A slot is named by its first bit inside its bucket, so
 * that nothing is divided by a width.
 *
 * Inserting. A free slot in either bucket, else one of the buckets' entries must go to its other bucket. If any of them
 * finds a free slot there, that one goes (all of them are looked up at once: the loads do not depend on each other, and
 * the walk gets three times shorter); else a random one is displaced and the search goes on from its other bucket, for
 * at most `kicks` steps. Each step is written into a journal. A failed insertion walks the journal backwards and
 * restores every slot: the walk may have passed a slot twice, so only the reverse order is exact. (Undoing by replacing
 * entries, as in the first implementation of the thesis, loses innocent ones.)
 *
 * Overflow. Merge must never refuse, so the entries that find no slot go into a stash, a hash set by class. The thesis
 * lets buckets overflow at their own index, which puts 17 % of the entries there after an even split; with cuckoo
 * insertion it is at most 0.6 %.
 *
 * Layouts. The number of rows is not part of the state, and a table of a series changes it as it fills.
 *
 * It begins folded: 2^e buckets share a row, and the slot holds which of them it was. So a table that will hold a
 * million entries begins with room for a thousand, and always has at most about twice the slots that it needs; each
 * time it is full the rows double. The two buckets of a pair share their row numbers' upper bits with all pairs beside
 * them (cuckoo_geometry.h: pairs nest), so a row's other row is known without the bits that were folded away. Of the
 * two buckets' lower bits the slot keeps those of the smaller row, the same on both sides.
 *
 *     buckets 5 * 4 + 01 and 9 * 4 + 11, fingerprint 1011   ->   rows 5 and 9, fingerprint 1011 01
 *
 * After a long partition it may have to hold several times what it has slots for. It then spreads: some low bits of the
 * fingerprint become part of the row; both buckets of a pair split alike, and the slots get narrower.
 *
 *     bucket 5, fingerprint 1011 01   ->   row 5 * 4 + 01, fingerprint 1011
 *
 * In a series the upper bits of a fingerprint are never all 0, so what is left in the slot is never taken for a free
 * one. A table with tags outside a series spreads too, since replicas that add the same elements apart leave it with
 * several entries for each. There any bits may be 0, and the slot keeps them plus 1, in one bit more.
 *
 * A table of a filter that names a large capacity may hold little. Each page of the slots has a byte that says whether
 * it was ever written, and walks leave the others out: even to read a page that was never touched costs a fault.
 *
 * Without tags each class is held at most once, so the number of entries is the number of classes: the false-positive
 * rate is exactly entries times the probability of a class. With tags a class may be held many times; the owner of the
 * table defines what the tags mean (orcuckoo.c).
 */
#include "cuckoo_table.h"

#include <string.h>

#include "cuckoo_slots.h"

struct kick {
    uint32_t bucket, offset;
    uint64_t victim;
};

/* A table is given a layout in which this many of its slots are filled at most. */
#define WELL_FILLED(slots) ((slots) / 20 * 18)
/* Limits of folded tables: the fewest slots, and the bits that a tag can spare. */
#define FEWEST_FOLDED_SLOTS 2048
#define FEWEST_SPREAD_SLOTS 32
#define MOST_TAGGED_FOLD    8
#define PADDING             32
/* From these sizes on, asking for memory ahead pays: insertions overlap less by themselves than look-ups do. */
#define CACHED_FOR_LOOKUPS    ((size_t)4 << 20)
#define CACHED_FOR_INSERTIONS ((size_t)512 << 10)
#define AHEAD                 32

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static uint64_t slot_bytes(struct cuckoo_geometry geometry)
{
    return divide_up((uint64_t)geometry.buckets * (slot_width(geometry) * geometry.bucket_size), 8) + PADDING;
}

static size_t pages_of(struct cuckoo_geometry shape)
{
    return (size_t)(slot_bytes(shape) >> PAGE_SHIFT) + 1;
}

uint64_t cuckoo_table_bytes(struct cuckoo_geometry shape, uint32_t most_kicks)
{
    return slot_bytes(shape) + CACHE_LINE + (uint64_t)most_kicks * sizeof(struct kick) + pages_of(shape);
}

/* The most by which the start of a bucket is off a byte boundary. */
static uint32_t largest_shift(uint32_t bucket_bits)
{
    return bucket_bits % 8 == 0 ? 0 : 8 - (bucket_bits & -bucket_bits);
}

static enum form form_for(struct cuckoo_geometry geometry)
{
    uint32_t bucket_bits = geometry.bits * geometry.bucket_size;
    if (geometry.tag_bits)
        return slot_width(geometry) == 32 ? TAGGED_32 : geometry.bucket_size == 4 ? FOUR_TAGGED : TAGGED_64;
    if (geometry.bits == 8 && geometry.bucket_size == 4)
        return FOUR_BYTES;
    if (bucket_bits + largest_shift(bucket_bits) <= 64)
        return ONE_WORD;
    return bucket_bits <= 128 ? TWO_WORDS : TWO_HALVES;
}

/* 1 where a slot that keeps only the upper bits of a fingerprint may find them all 0. */
static uint32_t lift_for(struct cuckoo_geometry geometry, int32_t spread)
{
    return spread > 0 && geometry.extra_bits == 0;
}

/* A folded table is one of a coarser level, whose slots hold the remaining bits. */
static struct cuckoo_geometry shape_of(struct cuckoo_geometry geometry, int32_t spread)
{
    uint32_t fewer = (uint32_t)spread - lift_for(geometry, spread);
    geometry.bits -= fewer;
    geometry.tag_bits += geometry.tag_bits ? fewer : 0;
    if (spread >= 0) {
        geometry.buckets <<= spread;
    } else {
        geometry.buckets >>= -spread;
        geometry.level -= (uint32_t)-spread;
        geometry.extra_bits += (uint32_t)-spread;
    }
    return geometry;
}

static uint64_t slots_of(struct cuckoo_geometry shape)
{
    return (uint64_t)shape.buckets * shape.bucket_size;
}

/* The layout with the fewest rows that there can be: slots have room for so many more bits, and a row of additions
   never fills it at once. */
static int32_t most_folded(struct cuckoo_geometry geometry)
{
    uint32_t room = 32 - geometry.bits;
    if (geometry.tag_bits && room > MOST_TAGGED_FOLD)
        room = MOST_TAGGED_FOLD;
    uint32_t fold = geometry.level < room ? geometry.level : room;
    while (fold > 0 && slots_of(geometry) >> fold < FEWEST_FOLDED_SLOTS)
        fold--;
    return -(int32_t)fold;
}

/* Outside series only tables with tags spread, and not the smallest, whose stash is no burden. One bit of the
   fingerprint stays. */
static int32_t most_spread(struct cuckoo_geometry geometry)
{
    bool plain = geometry.tag_bits && !geometry.extra_bits && slots_of(geometry) >= FEWEST_SPREAD_SLOTS;
    uint32_t spread = plain ? geometry.bits - 1 : geometry.extra_bits;
    while (spread > 0 && (uint64_t)geometry.buckets << spread > UINT32_MAX)
        spread--;
    return (int32_t)spread;
}

/* How many entries are better off with these rows than with more. A table outside a series was made to be filled as
   it is. */
static uint64_t room_of(struct cuckoo_geometry geometry, int32_t spread)
{
    uint64_t slots = slots_of(shape_of(geometry, spread));
    return spread == 0 && geometry.extra_bits == 0 ? slots * 31 / 32 : WELL_FILLED(slots);
}

/* The fewest rows that give room to so many, as far as there are layouts. */
static int32_t spread_for(struct cuckoo_geometry geometry, uint64_t entries)
{
    int32_t spread = most_folded(geometry), most = most_spread(geometry);
    while (spread < most && room_of(geometry, spread) < entries)
        spread++;
    return spread;
}

uint64_t cuckoo_table_first_bytes(struct cuckoo_geometry geometry, uint32_t most_kicks)
{
    return cuckoo_table_bytes(shape_of(geometry, most_folded(geometry)), most_kicks);
}

static size_t journal_room(const struct cuckoo_table *table)
{
    return ((size_t)table->most_kicks + 1) * sizeof *table->journal;
}

static void place_touched(struct cuckoo_table *table)
{
    table->touched = table->journal ? (uint8_t *)table->journal + journal_room(table) : NULL;
}

static bool init_spread(struct cuckoo_table *table, struct cuckoo_geometry geometry, int32_t spread,
                        uint32_t most_kicks, const roost_allocator *allocator)
{
    const struct cuckoo_geometry shape = shape_of(geometry, spread);
    *table = (struct cuckoo_table){.geometry = geometry,
                                   .shape = shape,
                                   .spread = spread,
                                   .lift = lift_for(geometry, spread),
                                   .most_kicks = most_kicks,
                                   .form = form_for(shape),
                                   .plain_form = OTHER_FORM,
                                   .bucket_bits = slot_width(shape) * shape.bucket_size,
                                   .bucket_bytes = slot_width(shape) * shape.bucket_size / 8,
                                   .fingerprints = (UINT64_C(1) << geometry.bits) - 1,
                                   .stash.tagged = geometry.tag_bits > 0};
    if ((geometry.level | geometry.extra_bits | (uint32_t)spread) == 0)
        table->plain_form = table->form;
    uint32_t lanes = table->form == TWO_HALVES ? shape.bucket_size / 2 : shape.bucket_size;
    for (uint32_t lane = 0; lane < lanes && shape.tag_bits == 0; lane++) {
        table->wide_ones |= (uint128)1 << (lane * shape.bits);
        table->wide_tops |= (uint128)1 << (lane * shape.bits + shape.bits - 1);
    }
    table->ones = (uint64_t)table->wide_ones;
    table->tops = (uint64_t)table->wide_tops;
    table->journal = memory_allocate(allocator, journal_room(table) + pages_of(shape));
    place_touched(table);
    if (!table->journal || !region_allocate(&table->slots, allocator, slot_bytes(shape))) {
        cuckoo_table_release(table, allocator);
        return false;
    }
    return true;
}

bool cuckoo_table_init(struct cuckoo_table *table, struct cuckoo_geometry geometry, uint32_t most_kicks,
                       const roost_allocator *allocator)
{
    return init_spread(table, geometry, most_folded(geometry), most_kicks, allocator);
}

void cuckoo_table_release(struct cuckoo_table *table, const roost_allocator *allocator)
{
    memory_release(allocator, table->journal);
    table->journal = NULL;
    region_release(&table->slots, allocator);
    stash_release(&table->stash, allocator);
}

void cuckoo_table_move(struct cuckoo_table *table, const struct memory_mover *mover)
{
    region_move(&table->slots, mover);
    table->journal = memory_moved(mover, table->journal);
    place_touched(table);
    table->stash.nodes = memory_moved(mover, table->stash.nodes);
    table->stash.by_class = memory_moved(mover, table->stash.by_class);
    table->stash.by_entry = memory_moved(mover, table->stash.by_entry);
}

void cuckoo_table_free_slots(struct cuckoo_table *table, const roost_allocator *allocator)
{
    region_release(&table->slots, allocator);
    memory_release(allocator, table->journal);
    table->journal = NULL;
    place_touched(table);
    table->shape.buckets = 0;
    table->plain_form = OTHER_FORM;
}

bool cuckoo_table_allocate_slots(struct cuckoo_table *table, const roost_allocator *allocator)
{
    struct cuckoo_table allocated;
    if (!init_spread(&allocated, table->geometry, most_folded(table->geometry), table->most_kicks, allocator))
        return false;
    allocated.stash = table->stash;
    *table = allocated;
    return true;
}

static bool copy_freed(struct cuckoo_table *copy, const struct cuckoo_table *table, const roost_allocator *allocator)
{
    *copy = *table;
    copy->stash = (struct stash){.tagged = table->stash.tagged};
    return stash_copy(&copy->stash, &table->stash, allocator);
}

static size_t next_touched(const struct cuckoo_table *table, size_t page)
{
    size_t pages = pages_of(table->shape);
    while (page < pages && !table->touched[page])
        page += page % 8 == 0 && pages - page >= 8 && !load_word(table->touched + page) ? 8 : 1;
    return page;
}

static void copy_page(struct cuckoo_table *copy, const struct cuckoo_table *table, size_t page)
{
    size_t begin = page << PAGE_SHIFT, left = table->slots.size - begin;
    size_t size = ((size_t)1 << PAGE_SHIFT) + sizeof(uint64_t);
    memcpy(copy->slots.bytes + begin, table->slots.bytes + begin, size < left ? size : left);
    copy->touched[page] = WRITTEN;
}

bool cuckoo_table_copy(struct cuckoo_table *copy, const struct cuckoo_table *table, const roost_allocator *allocator)
{
    if (cuckoo_table_is_freed(table))
        return copy_freed(copy, table, allocator);
    if (!init_spread(copy, table->geometry, table->spread, table->most_kicks, allocator))
        return false;
    if (!stash_copy(&copy->stash, &table->stash, allocator)) {
        cuckoo_table_release(copy, allocator);
        return false;
    }
    for (size_t page = next_touched(table, 0); page < pages_of(table->shape); page = next_touched(table, page + 1))
        copy_page(copy, table, page);
    copy->filled = table->filled;
    copy->moves = table->moves;
    return true;
}

/* ---- incremental copies ------------------------------------------------------------------------------------------ */

/* Pages of a table that was freed in between, or has another layout now, are not those that were copied. */
static bool begin_copy(struct cuckoo_table *copy, struct cuckoo_table *table, const roost_allocator *allocator)
{
    if (copy->copy_token && copy->copy_token == table->copy_token)
        return true;
    cuckoo_table_release(copy, allocator);
    if (!init_spread(copy, table->geometry, table->spread, table->most_kicks, allocator)) {
        copy->shape.buckets = 0;
        return false;
    }
    for (size_t page = next_touched(table, 0); page < pages_of(table->shape); page = next_touched(table, page + 1))
        table->touched[page] = WRITTEN;
    copy->copy_token = ++table->copy_token;
    return true;
}

bool cuckoo_table_copy_some(struct cuckoo_table *copy, struct cuckoo_table *table, uint64_t *effort, bool *clean,
                            const roost_allocator *allocator)
{
    *clean = true;
    if (cuckoo_table_is_freed(table))
        return true;
    if (!begin_copy(copy, table, allocator))
        return false;
    const uint8_t *end = table->touched + pages_of(table->shape);
    uint8_t *page = memchr(table->touched, WRITTEN, (size_t)(end - table->touched));
    for (; page && *effort > 0; page = memchr(page, WRITTEN, (size_t)(end - page)), --*effort) {
        copy_page(copy, table, (size_t)(page - table->touched));
        *page = COPIED;
    }
    *clean = !page;
    return true;
}

bool cuckoo_table_copy_rest(struct cuckoo_table *copy, struct cuckoo_table *table, const roost_allocator *allocator)
{
    if (cuckoo_table_is_freed(table)) {
        cuckoo_table_release(copy, allocator);
        return copy_freed(copy, table, allocator);
    }
    copy->filled = table->filled;
    copy->moves = table->moves;
    copy->copy_token = 0;
    table->copy_token++;
    stash_release(&copy->stash, allocator);
    return stash_copy(&copy->stash, &table->stash, allocator);
}

/* ---- look-up ----------------------------------------------------------------------------------------------------- */

static ALWAYS_INLINE struct place in_more_rows(struct place place, uint32_t spread, uint32_t lift)
{
    uint32_t low = place.fingerprint & ((1u << spread) - 1);
    return (struct place){place.bucket << spread | low, place.other << spread | low,
                          (place.fingerprint >> spread) + lift};
}

static ALWAYS_INLINE struct place in_fewer_rows(struct place place, uint32_t fold)
{
    uint32_t mask = (1u << fold) - 1, row = place.bucket >> fold, other = place.other >> fold;
    uint32_t low = place.bucket < place.other ? place.bucket : place.other; /* the smaller row's; where there is but one
                                                                              row, the smaller bucket's */
    return (struct place){row, other, place.fingerprint << fold | (low & mask)};
}

/* Where the entries of a place are in the slots. */
static ALWAYS_INLINE struct place in_slots(const struct cuckoo_table *table, struct place place)
{
    int32_t spread = table->spread;
    if (spread == 0)
        return place;
    return spread > 0 ? in_more_rows(place, (uint32_t)spread, table->lift) : in_fewer_rows(place, (uint32_t)-spread);
}

/* The row of the other bucket of an entry. */
static ALWAYS_INLINE uint32_t other_row(const struct cuckoo_table *table, uint32_t row, uint32_t fingerprint)
{
    if (table->spread <= 0)
        return other_bucket(row, fingerprint, table->shape);
    uint32_t spread = (uint32_t)table->spread, low = row & ((1u << spread) - 1);
    uint32_t whole = (fingerprint - table->lift) << spread | low;
    return other_bucket(row >> spread, whole, table->geometry) << spread | low;
}

/* Of a folded table: the lower bits of this row's bucket. Those in the slot are the smaller row's. */
static ALWAYS_INLINE uint32_t folded_away(const struct cuckoo_table *table, uint32_t row, uint32_t fingerprint)
{
    const struct cuckoo_geometry geometry = table->geometry;
    uint32_t fold = (uint32_t)-table->spread, mask = (1u << fold) - 1;
    uint32_t difference = pair_offset(fingerprint >> (fold + geometry.extra_bits), geometry.level) & mask;
    return (fingerprint & mask) ^ (other_row(table, row, fingerprint) < row ? difference : 0);
}

static struct place unfolded(const struct cuckoo_table *table, uint32_t row, uint32_t fingerprint)
{
    uint32_t fold = (uint32_t)-table->spread;
    return place_in(row << fold | folded_away(table, row, fingerprint), fingerprint >> fold, table->geometry);
}

struct place cuckoo_table_place(const struct cuckoo_table *table, uint32_t row, uint32_t fingerprint)
{
    if (table->spread < 0)
        return unfolded(table, row, fingerprint);
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): a spread is below 32
    uint32_t low = row & ((1u << table->spread) - 1);
    return place_in(row >> table->spread, (fingerprint - table->lift) << table->spread | low, table->geometry);
}

static __attribute__((noinline)) bool stash_holds(const struct cuckoo_table *table, struct place place)
{
    return stash_contains(&table->stash, class_key(place, table->geometry));
}

/* The slots of a key, then the stash, which is empty but for the fullest of tables. Whether the key is in its slots
   cannot be predicted: while the stash is empty there is no branch on it. */
static ALWAYS_INLINE bool holds_at(const struct cuckoo_table *table, enum form form, struct place slots,
                                   struct place place)
{
    bool found = find_in_pair(table, form, slots);
    return __builtin_expect(table->stash.count == 0, 1) ? found : found || stash_holds(table, place);
}

static ALWAYS_INLINE bool holds(const struct cuckoo_table *table, enum form form, struct place place)
{
    return holds_at(table, form, in_slots(table, place), place);
}

bool cuckoo_table_contains(const struct cuckoo_table *table, const struct place *place)
{
    if (__builtin_expect(cuckoo_table_is_freed(table), 0))
        return stash_contains(&table->stash, class_key(*place, table->geometry));
    switch (table->form) {
    case FOUR_BYTES:
        return holds(table, FOUR_BYTES, *place);
    case FOUR_TAGGED:
        return holds(table, FOUR_TAGGED, *place);
    default:
        return holds(table, (enum form)table->form, *place);
    }
}

/* Always inline: a call of a function that does nothing but prefetch is taken for one without effect, and dropped. */
static ALWAYS_INLINE void prefetch_pair(const struct cuckoo_table *table, struct place place)
{
    __builtin_prefetch(table->slots.bytes + bucket_start(table, place.bucket) / 8);
    __builtin_prefetch(table->slots.bytes + bucket_start(table, place.other) / 8);
}

void cuckoo_table_prefetch(const struct cuckoo_table *table, const struct place *places, size_t count)
{
    for (size_t i = 0; i < count && table->slots.size > CACHED_FOR_INSERTIONS; i++) /* none while freed */
        prefetch_pair(table, in_slots(table, places[i]));
}

/*
 * Keys come as hashes or, to a table of a series, as nested places that were worked out once for all its tables. Each
 * loop is compiled for one of the two: the other argument is NULL.
 */
static ALWAYS_INLINE struct place place_of_key(const struct cuckoo_table *table, enum form form,
                                               const roost_hash *hashes, const struct nested_place *nested, size_t i)
{
    return nested ? place_of_nested(&nested[i], table->geometry.level, table->geometry.extra_bits)
                  : plain_place(table, form, hashes[i]);
}

static ALWAYS_INLINE bool holds_key(const struct cuckoo_table *table, enum form form, bool nested, struct place place)
{
    return holds_at(table, form, nested ? in_slots(table, place) : place, place);
}

/* A table out of cache: the places of the next keys wait in a ring while their memory is on its way. */
static ALWAYS_INLINE void contains_ahead(const struct cuckoo_table *table, enum form form, bool *found,
                                         const roost_hash *hashes, const struct nested_place *nested, size_t count)
{
    struct place ring[AHEAD];
    for (size_t i = 0; i < AHEAD && i < count; i++) {
        ring[i] = place_of_key(table, form, hashes, nested, i);
        prefetch_pair(table, nested ? in_slots(table, ring[i]) : ring[i]);
    }
    for (size_t i = 0; i < count; i++) {
        struct place *turn = &ring[i % AHEAD], place = *turn;
        if (i + AHEAD < count) {
            *turn = place_of_key(table, form, hashes, nested, i + AHEAD);
            prefetch_pair(table, nested ? in_slots(table, *turn) : *turn);
        }
        found[i] = holds_key(table, form, nested != NULL, place);
    }
}

static ALWAYS_INLINE void contains_loop(const struct cuckoo_table *table, enum form form, bool *found,
                                        const roost_hash *hashes, const struct nested_place *nested, size_t count)
{
    if (table->slots.size > CACHED_FOR_LOOKUPS) {
        contains_ahead(table, form, found, hashes, nested, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        found[i] = holds_key(table, form, nested != NULL, place_of_key(table, form, hashes, nested, i));
}

/* A function for each of the common forms, so that the compiler finds registers for each alone. */
#define CONTAINS(name, form, key_type, hashes, nested)                                                                 \
    static __attribute__((noinline)) void name(const struct cuckoo_table *table, bool *found, const key_type *keys,    \
                                               size_t count)                                                           \
    {                                                                                                                  \
        contains_loop(table, form, found, hashes, nested, count);                                                      \
    }
CONTAINS(contains_four_bytes, FOUR_BYTES, roost_hash, keys, NULL)
CONTAINS(contains_one_word, ONE_WORD, roost_hash, keys, NULL)
CONTAINS(contains_whole_bytes, WHOLE_BYTES, roost_hash, keys, NULL)
CONTAINS(contains_tagged, FOUR_TAGGED, roost_hash, keys, NULL)
CONTAINS(contains_any, (enum form)table->form, roost_hash, keys, NULL)
CONTAINS(nested_one_word, ONE_WORD, struct nested_place, NULL, keys)
CONTAINS(nested_two_words, TWO_WORDS, struct nested_place, NULL, keys)
CONTAINS(nested_tagged, FOUR_TAGGED, struct nested_place, NULL, keys)
CONTAINS(nested_any, (enum form)table->form, struct nested_place, NULL, keys)

static void contains_plain(const struct cuckoo_table *table, bool *found, const roost_hash *hashes, size_t count)
{
    switch (table->form) {
    case FOUR_BYTES:
        contains_four_bytes(table, found, hashes, count);
        break;
    case ONE_WORD:
        (has_whole_bytes(table) ? contains_whole_bytes : contains_one_word)(table, found, hashes, count);
        break;
    case FOUR_TAGGED:
        contains_tagged(table, found, hashes, count);
        break;
    default:
        contains_any(table, found, hashes, count);
    }
}

static void contains_freed(const struct cuckoo_table *table, bool *found, const struct nested_place *places,
                           size_t count)
{
    for (size_t i = 0; i < count; i++)
        found[i] = stash_holds(table, place_of_nested(&places[i], table->geometry.level, table->geometry.extra_bits));
}

void cuckoo_table_contains_nested(const struct cuckoo_table *table, bool *found, const struct nested_place *places,
                                  size_t count)
{
    if (cuckoo_table_is_freed(table))
        contains_freed(table, found, places, count);
    else if (table->form == ONE_WORD)
        nested_one_word(table, found, places, count);
    else if (table->form == TWO_WORDS)
        nested_two_words(table, found, places, count);
    else if (table->form == FOUR_TAGGED)
        nested_tagged(table, found, places, count);
    else
        nested_any(table, found, places, count);
}

void cuckoo_table_contains_many(const struct cuckoo_table *table, bool *found, const roost_hash *hashes, size_t count)
{
    struct nested_place places[AHEAD * 2];
    if (table->plain_form != OTHER_FORM) {
        contains_plain(table, found, hashes, count);
        return;
    }
    for (size_t done = 0; done < count; done += AHEAD * 2) {
        size_t some = count - done < AHEAD * 2 ? count - done : AHEAD * 2;
        for (size_t i = 0; i < some; i++)
            places[i] = nested_place_of_hash(hashes[done + i], table->geometry);
        cuckoo_table_contains_nested(table, found + done, places, some);
    }
}

bool cuckoo_table_contains_hash(const struct cuckoo_table *table, roost_hash hash)
{
    bool found;
    cuckoo_table_contains_many(table, &found, &hash, 1);
    return found;
}

/* ---- insertion --------------------------------------------------------------------------------------------------- */

static void undo_kicks(struct cuckoo_table *table, uint32_t steps)
{
    while (steps-- > 0) {
        const struct kick *kick = &table->journal[steps];
        slot_write(table, kick->bucket, kick->offset, kick->victim);
    }
}

/* Buckets of tables without tags fill from the front: one that is not full has its last slot free. */
static ALWAYS_INLINE bool has_free_slot(const struct cuckoo_table *table, enum form form, uint32_t bucket)
{
    if (form == FOUR_BYTES)
        return load_four_bytes(table, bucket) >> 24 == 0;
    if (form == ONE_WORD)
        return match_one_word(table, ONE_WORD, bucket, 0) != 0;
    return find_slot(table, form, bucket, 0) != NO_SLOT;
}

/* Where an entry of a full bucket could go. `plain` is known to the compiler: outside a series there is less to do. */
static ALWAYS_INLINE uint32_t row_to_go(const struct cuckoo_table *table, bool plain, uint32_t row, uint64_t word)
{
    uint32_t fingerprint = word_fingerprint(word, table->shape);
    if (plain)
        return subtract_modulo(pair_sum(fingerprint, table->geometry.buckets), row, table->geometry.buckets);
    return other_row(table, row, fingerprint);
}

/* Which entries of a full bucket could go to a free slot, a bit for each: the loads are independent and wait for memory
   together, and there is no branch on any. */
static ALWAYS_INLINE uint32_t find_movers(const struct cuckoo_table *table, enum form form, bool plain, uint32_t bucket)
{
    const uint32_t size = form == FOUR_BYTES ? 4 : table->shape.bucket_size;
    const uint32_t width = form == FOUR_BYTES ? 8 : slot_width(table->shape);
    const uint64_t mask = form == FOUR_BYTES ? 0xff : slot_mask(table);
    const uint64_t all = load_small_bucket(table, form, bucket);
    uint32_t movable = 0;
#pragma GCC unroll 4
    for (uint32_t slot = 0; slot < size; slot++) {
        uint64_t word = is_small(form) ? all >> slot * width & mask : slot_read(table, bucket, slot * width);
        movable |= (uint32_t)has_free_slot(table, form, row_to_go(table, plain, bucket, word)) << slot;
    }
    return movable;
}

/* An entry that has somewhere to go goes there and leaves its slot to the newcomer. */
static ALWAYS_INLINE bool move_slot(struct cuckoo_table *table, enum form form, bool plain, uint32_t bucket,
                                    uint32_t slot, uint64_t newcomer)
{
    uint32_t offset = slot * slot_width(table->shape);
    uint64_t word = slot_read(table, bucket, offset);
    uint32_t to = row_to_go(table, plain, bucket, word);
    int free = find_slot(table, form, to, 0);
    if (free == NO_SLOT)
        return false;
    slot_write(table, to, (uint32_t)free, word);
    slot_write(table, bucket, offset, newcomer);
    table->filled++;
    return true;
}

static ALWAYS_INLINE bool move_one(struct cuckoo_table *table, enum form form, bool plain, uint32_t bucket,
                                   uint64_t newcomer)
{
    uint32_t movable = find_movers(table, form, plain, bucket);
    return movable && move_slot(table, form, plain, bucket, lowest_bit(movable), newcomer);
}

/* The movers of all buckets are found first, so that their memory is waited for together. When their turn comes, what
   is in a slot may be another entry, and another one may have taken the free slot: then the next step is up to put. */
static ALWAYS_INLINE uint32_t move_for(struct cuckoo_table *table, enum form form, bool second, cuckoo_entry *entries,
                                       uint32_t count)
{
    uint8_t movable[ENTRIES_ROOM];
    uint32_t buckets[ENTRIES_ROOM], left = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = (uint32_t)(entries[i] >> 32);
        buckets[i] = second ? row_to_go(table, true, first, (uint32_t)entries[i]) : first;
        movable[i] = (uint8_t)find_movers(table, form, true, buckets[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!movable[i] || !move_slot(table, form, true, buckets[i], lowest_bit(movable[i]), (uint32_t)entries[i]))
            entries[left++] = entries[i];
    table->moves += count - left;
    return left;
}

uint32_t cuckoo_table_move_for(struct cuckoo_table *table, cuckoo_entry *entries, uint32_t count)
{
    if (table->plain_form == FOUR_BYTES)
        return move_for(table, FOUR_BYTES, true, entries, move_for(table, FOUR_BYTES, false, entries, count));
    if (table->plain_form == ONE_WORD)
        return move_for(table, ONE_WORD, true, entries, move_for(table, ONE_WORD, false, entries, count));
    return count;
}

/* Both buckets of the place are full. The first step looks at the entries of both, later ones at one bucket each. */
static ALWAYS_INLINE bool displace(struct cuckoo_table *table, enum form form, bool plain, struct place place,
                                   uint64_t word, struct random_source *random, uint32_t kicks)
{
    uint32_t bucket = place.other;
    kicks = kicks < table->most_kicks ? kicks : table->most_kicks;
    if (kicks > 0 && move_one(table, form, plain, place.bucket, word))
        return true;
    for (uint32_t step = 0; step < kicks; step++) {
        if (move_one(table, form, plain, bucket, word))
            return true;
        uint32_t offset = random_choice(random, table->shape.bucket_size) * slot_width(table->shape);
        uint64_t victim = slot_read(table, bucket, offset);
        slot_write(table, bucket, offset, word);
        table->journal[step] = (struct kick){bucket, offset, victim};
        word = victim;
        bucket = row_to_go(table, plain, bucket, victim);
    }
    undo_kicks(table, kicks);
    return false;
}

/* Out of line, so that the common insertion into a free slot stays small and saves no registers. */
static __attribute__((noinline)) enum put_result put_by_force(struct cuckoo_table *table, const struct place *place,
                                                              uint64_t word, struct random_source *random,
                                                              uint32_t kicks)
{
    bool placed;
    if (table->plain_form == FOUR_BYTES)
        placed = displace(table, FOUR_BYTES, true, *place, word, random, kicks);
    else if (table->plain_form == ONE_WORD)
        placed = displace(table, ONE_WORD, true, *place, word, random, kicks);
    else if (table->plain_form == FOUR_TAGGED)
        placed = displace(table, FOUR_TAGGED, true, *place, word, random, kicks);
    else
        placed = displace(table, (enum form)table->form, false, *place, word, random, kicks);
    table->moves += placed;
    return placed ? PUT_NEW : PUT_NO_ROOM;
}

static ALWAYS_INLINE enum put_result put(struct cuckoo_table *table, enum form form, const struct place *place,
                                         struct random_source *random, uint32_t kicks)
{
    struct place slots = in_slots(table, *place);
    if (holds_at(table, form, slots, *place))
        return PUT_PRESENT;
    if (take_free_slot(table, form, slots, slots.fingerprint))
        return PUT_NEW;
    return put_by_force(table, &slots, slots.fingerprint, random, kicks);
}

/* A function for each of the common forms, so that the compiler finds registers for each alone. */
static __attribute__((noinline)) enum put_result put_four_bytes(struct cuckoo_table *table, const struct place *place,
                                                                struct random_source *random, uint32_t kicks)
{
    return put(table, FOUR_BYTES, place, random, kicks);
}

static __attribute__((noinline)) enum put_result put_one_word(struct cuckoo_table *table, const struct place *place,
                                                              struct random_source *random, uint32_t kicks)
{
    return put(table, ONE_WORD, place, random, kicks);
}

static __attribute__((noinline)) enum put_result put_wide(struct cuckoo_table *table, const struct place *place,
                                                          struct random_source *random, uint32_t kicks)
{
    return put(table, (enum form)table->form, place, random, kicks);
}

enum put_result cuckoo_table_put(struct cuckoo_table *table, const struct place *place, struct random_source *random,
                                 uint32_t kicks)
{
    switch (table->form) {
    case FOUR_BYTES:
        return put_four_bytes(table, place, random, kicks);
    case ONE_WORD:
        return put_one_word(table, place, random, kicks);
    default:
        return put_wide(table, place, random, kicks);
    }
}

bool cuckoo_table_overflow(struct cuckoo_table *table, const struct place *place, const roost_allocator *allocator)
{
    return stash_insert(&table->stash, allocator, class_key(*place, table->geometry), 0);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

/* Both buckets are full of one class: displacing its entries would only swap them. */
static bool is_crowded(const struct cuckoo_table *table, const struct place *place)
{
    enum form form = (enum form)table->form;
    uint32_t all = (1u << table->shape.bucket_size) - 1;
    return tagged_with(table, form, place->bucket, place->fingerprint) == all &&
           tagged_with(table, form, place->other, place->fingerprint) == all;
}

static __attribute__((noinline)) enum put_result insert_by_force(struct cuckoo_table *table, const struct place *slots,
                                                                 uint64_t word, struct random_source *random,
                                                                 uint32_t kicks)
{
    return is_crowded(table, slots) ? PUT_NO_ROOM : put_by_force(table, slots, word, random, kicks);
}

enum put_result cuckoo_table_displace(struct cuckoo_table *table, struct place slots, uint64_t word,
                                      struct random_source *random)
{
    return table->shape.tag_bits ? insert_by_force(table, &slots, word, random, table->most_kicks)
                                 : put_by_force(table, &slots, word, random, table->most_kicks);
}

static ALWAYS_INLINE enum put_result insert(struct cuckoo_table *table, enum form form, struct place slots,
                                            uint64_t tag, struct random_source *random, uint32_t kicks)
{
    if (!cuckoo_table_tag_fits(table, tag))
        return PUT_NO_ROOM;
    uint64_t word = tag << table->shape.bits | slots.fingerprint;
    return take_free_slot(table, form, slots, word) ? PUT_NEW : insert_by_force(table, &slots, word, random, kicks);
}

enum put_result cuckoo_table_insert(struct cuckoo_table *table, const struct place *place, uint64_t tag,
                                    struct random_source *random, uint32_t kicks)
{
    struct place slots = in_slots(table, *place);
    if (table->form == FOUR_TAGGED)
        return insert(table, FOUR_TAGGED, slots, tag, random, kicks);
    return insert(table, (enum form)table->form, slots, tag, random, kicks);
}

enum put_result cuckoo_table_insert_class(struct cuckoo_table *table, const struct place *place, uint64_t tag,
                                          struct random_source *random, uint32_t kicks)
{
    if (table->form != FOUR_TAGGED)
        return cuckoo_table_contains(table, place) ? PUT_PRESENT
                                                   : cuckoo_table_insert(table, place, tag, random, kicks);
    struct place slots = in_slots(table, *place);
    return holds_at(table, FOUR_TAGGED, slots, *place) ? PUT_PRESENT
                                                       : insert(table, FOUR_TAGGED, slots, tag, random, kicks);
}

static ALWAYS_INLINE uint32_t bucket_matches(const struct cuckoo_table *table, enum form form, uint32_t bucket,
                                             uint32_t fingerprint, struct slot_match *matches)
{
    uint32_t found = 0, width = tagged_width(form);
    for (uint32_t slots = tagged_with(table, form, bucket, fingerprint); slots; slots &= slots - 1) {
        uint32_t offset = lowest_bit(slots) * width;
        const uint8_t *bytes = table->slots.bytes + (bucket_start(table, bucket) + offset) / 8;
        matches[found++] = (struct slot_match){bucket, offset, load_tagged(bytes, width) >> table->shape.bits};
    }
    return found;
}

static ALWAYS_INLINE uint32_t pair_matches(const struct cuckoo_table *table, enum form form, const struct place *place,
                                           struct slot_match *matches)
{
    uint32_t found = bucket_matches(table, form, place->bucket, place->fingerprint, matches);
    if (place->bucket != place->other)
        found += bucket_matches(table, form, place->other, place->fingerprint, matches + found);
    return found;
}

uint32_t cuckoo_table_matches(const struct cuckoo_table *table, const struct place *place,
                              struct slot_match matches[MOST_MATCHES])
{
    if (__builtin_expect(cuckoo_table_is_freed(table), 0))
        return 0;
    struct place slots = in_slots(table, *place);
    return table->form == FOUR_TAGGED ? pair_matches(table, FOUR_TAGGED, &slots, matches)
                                      : pair_matches(table, (enum form)table->form, &slots, matches);
}

static ALWAYS_INLINE int find_word(const struct cuckoo_table *table, uint32_t width, uint32_t bucket, uint64_t wanted)
{
    const uint32_t size = table->shape.bucket_size;
    const uint8_t *slots = table->slots.bytes + (size_t)bucket * size * (width / 8);
    for (uint32_t slot = 0; slot < size; slot++)
        if (load_tagged(slots + slot * (width / 8), width) == wanted)
            return (int)(slot * width);
    return NO_SLOT;
}

bool cuckoo_table_find_entry(const struct cuckoo_table *table, const struct place *place, uint64_t tag,
                             struct slot_match *match)
{
    if (__builtin_expect(cuckoo_table_is_freed(table) || !cuckoo_table_tag_fits(table, tag), 0))
        return false;
    struct place slots = in_slots(table, *place);
    uint64_t word = tag << table->shape.bits | slots.fingerprint;
    uint32_t width = slot_width(table->shape), bucket = slots.bucket;
    int offset = find_word(table, width, bucket, word);
    if (offset == NO_SLOT) {
        bucket = slots.other;
        offset = find_word(table, width, bucket, word);
    }
    *match = (struct slot_match){bucket, (uint32_t)offset, tag};
    return offset != NO_SLOT;
}

void cuckoo_table_clear_slot(struct cuckoo_table *table, const struct slot_match *match)
{
    slot_write(table, match->bucket, match->offset, 0);
    table->filled--;
}

void cuckoo_table_retag_slot(struct cuckoo_table *table, const struct slot_match *match, uint64_t tag)
{
    uint64_t fingerprint = word_fingerprint(slot_read(table, match->bucket, match->offset), table->shape);
    slot_write(table, match->bucket, match->offset, tag << table->shape.bits | fingerprint);
}

void cuckoo_table_words(const struct cuckoo_table *table, uint32_t bucket, uint64_t words[8])
{
    for (uint32_t slot = 0; slot < table->shape.bucket_size; slot++)
        words[slot] = slot_read(table, bucket, slot * slot_width(table->shape));
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

uint32_t cuckoo_table_next_row(const struct cuckoo_table *table, uint32_t row)
{
    const uint64_t width = (uint64_t)slot_width(table->shape) * table->shape.bucket_size;
    while (row < cuckoo_table_rows(table)) {
        size_t first = (size_t)(row * width >> (PAGE_SHIFT + 3));
        size_t last = (size_t)(((row + 1) * width - 1) >> (PAGE_SHIFT + 3));
        if (table->touched[first] || table->touched[last])
            return row;
        uint64_t next = (uint64_t)next_touched(table, last) << (PAGE_SHIFT + 3); /* a bit of the row to go on with */
        // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a bucket has one slot or more, a slot some bits
        row = next / width < cuckoo_table_rows(table) ? (uint32_t)(next / width) : cuckoo_table_rows(table);
    }
    return row;
}

uint32_t cuckoo_table_bucket(const struct cuckoo_table *table, uint32_t bucket, uint32_t fingerprints[8])
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < table->shape.bucket_size; slot++) {
        uint64_t word = slot_read(table, bucket, slot * slot_width(table->shape));
        fingerprints[count] = word_fingerprint(word, table->shape);
        count += fingerprints[count] != 0;
    }
    return count;
}

/* ---- other layouts ----------------------------------------------------------------------------------------------- */

/*
 * A folded table has a next layout that it was made for, and gets it before insertions become slow. Spreading is for
 * what a stash of some size shows to be needed. A stash that is full of copies of few classes calls for neither.
 */
bool cuckoo_table_needs_rows(const struct cuckoo_table *table)
{
    uint64_t slots = slots_of(table->shape), stashed = table->stash.count;
    bool overflows = stashed > STASHED_IN_PASSING && stashed > slots / 16 && table->filled > slots / 2;
    bool overfull = overflows || (table->spread < 0 && table->filled > slots / 32 * 29);
    return overfull && !table->holds_reserve && table->spread < most_spread(table->geometry);
}

bool cuckoo_table_is_nearly_full(const struct cuckoo_table *table)
{
    return table->filled > slots_of(table->shape) * 29 / 32 && !table->holds_reserve &&
           table->spread < most_spread(table->geometry);
}

uint64_t cuckoo_table_bytes_for(const struct cuckoo_table *table, uint64_t entries)
{
    return cuckoo_table_bytes(shape_of(table->geometry, spread_for(table->geometry, entries)), table->most_kicks);
}

/* Where an entry of this row goes in a layout with more rows; `other` is not filled in. From one folded layout to the
   next the smaller row stays the smaller, and the slot keeps fewer of its bits. */
static struct place moved(const struct cuckoo_table *to, const struct cuckoo_table *table, uint32_t row,
                          uint32_t fingerprint)
{
    if (table->spread >= 0 || to->spread > 0)
        return in_slots(to, cuckoo_table_place(table, row, fingerprint));
    uint32_t fold = (uint32_t)-table->spread, less = (uint32_t)-to->spread, low = folded_away(table, row, fingerprint);
    uint32_t kept = fingerprint & ((1u << less) - 1);
    return (struct place){.bucket = row << (fold - less) | low >> less,
                          .fingerprint = fingerprint >> fold << less | kept};
}

/* In one pass, without a kick: what shares a row goes to rows that nothing else goes to, so there is room for all. */
static void move_slots(struct cuckoo_table *to, const struct cuckoo_table *table)
{
    for (uint32_t row = cuckoo_table_next_row(table, 0); row < cuckoo_table_rows(table);
         row = cuckoo_table_next_row(table, row + 1)) {
        uint64_t words[8];
        cuckoo_table_words(table, row, words);
        for (uint32_t slot = 0; slot < table->shape.bucket_size; slot++) {
            if (!words[slot])
                continue;
            struct place place = moved(to, table, row, word_fingerprint(words[slot], table->shape));
            uint64_t word = word_tag(words[slot], table->shape) << to->shape.bits | place.fingerprint;
            slot_write(to, place.bucket, (uint32_t)find_slot(to, (enum form)to->form, place.bucket, 0), word);
        }
    }
    to->filled = table->filled;
}

/* Entries of the stash stay there where there are tags: what stands in a slot is not what stands in the stash. */
static bool move_stash(struct cuckoo_table *to, const struct cuckoo_table *table, struct random_source *random,
                       const roost_allocator *allocator)
{
    for (uint64_t node = 0; node < table->stash.used; node++) {
        uint64_t key = table->stash.nodes[node].key, tag = table->stash.nodes[node].tag;
        if (!key)
            continue;
        struct place place = place_of_class(key, table->geometry);
        if (!table->stash.tagged && cuckoo_table_put(to, &place, random, to->most_kicks) != PUT_NO_ROOM)
            continue;
        if (!stash_insert(&to->stash, allocator, key, tag))
            return false;
    }
    return true;
}

static bool lay_out(struct cuckoo_table *table, int32_t spread, struct random_source *random,
                    const roost_allocator *allocator)
{
    struct cuckoo_table wider;
    if (!init_spread(&wider, table->geometry, spread, table->most_kicks, allocator))
        return false;
    move_slots(&wider, table);
    if (!move_stash(&wider, table, random, allocator)) {
        cuckoo_table_release(&wider, allocator);
        return false;
    }
    wider.moves = table->moves + 1;
    cuckoo_table_release(table, allocator);
    *table = wider;
    return true;
}

bool cuckoo_table_make_room(struct cuckoo_table *table, uint64_t entries, struct random_source *random,
                            const roost_allocator *allocator)
{
    int32_t spread = spread_for(table->geometry, entries);
    return spread <= table->spread || lay_out(table, spread, random, allocator);
}

bool cuckoo_table_relieve(struct cuckoo_table *table, struct random_source *random, const roost_allocator *allocator,
                          uint64_t most_moved)
{
    int32_t spread = spread_for(table->geometry, cuckoo_table_entries(table));
    spread = spread > table->spread ? spread : table->spread + 1;
    if (most_moved && spread < 0 && slots_of(shape_of(table->geometry, spread)) > most_moved)
        spread = 0;
    return lay_out(table, spread, random, allocator);
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

/* Is this entry of a row the only one of its class? */
static bool held_once(const struct cuckoo_table *table, struct place place)
{
    uint64_t copies = stash_copies(&table->stash, class_key(place, table->geometry));
    struct place slots = in_slots(table, place);
    for (int side = 0; side < (slots.bucket == slots.other ? 1 : 2); side++) {
        uint32_t fingerprints[8], count = cuckoo_table_bucket(table, side ? slots.other : slots.bucket, fingerprints);
        for (uint32_t i = 0; i < count; i++)
            copies += fingerprints[i] == slots.fingerprint;
    }
    return copies == 1;
}

/* Whether free slots come after all others. */
static bool fills_from_front(const struct cuckoo_table *table, uint32_t row)
{
    uint64_t words[8];
    uint32_t filled = 0;
    cuckoo_table_words(table, row, words);
    while (filled < table->shape.bucket_size && words[filled])
        filled++;
    for (uint32_t slot = filled; slot < table->shape.bucket_size; slot++)
        if (words[slot])
            return false;
    return true;
}

static bool padding_is_zero(const struct cuckoo_table *table)
{
    uint64_t end = bucket_start(table, table->shape.buckets);
    for (uint64_t bit = end; bit < table->slots.size * 8; bit++)
        if (table->slots.bytes[bit / 8] >> (bit & 7) & 1)
            return false;
    return true;
}

static bool stash_is_sound(const struct cuckoo_table *table)
{
    for (uint64_t i = 0; i < table->stash.used; i++) {
        uint64_t key = table->stash.nodes[i].key;
        if (!key)
            continue;
        struct place place = place_of_class(key, table->geometry);
        if (class_key(place, table->geometry) != key)
            return false;
        if (table->geometry.tag_bits == 0 && !cuckoo_table_is_freed(table) &&
            find_in_pair(table, (enum form)table->form, in_slots(table, place)))
            return false;
    }
    return stash_check(&table->stash);
}

bool cuckoo_table_check(const struct cuckoo_table *table)
{
    uint64_t filled = 0;
    if (cuckoo_table_is_freed(table))
        return table->filled == 0 && !table->slots.bytes && stash_is_sound(table);
    for (uint32_t row = 0; row < cuckoo_table_rows(table); row++) {
        uint32_t fingerprints[8], count = cuckoo_table_bucket(table, row, fingerprints);
        filled += count;
        if (count && cuckoo_table_next_row(table, row) != row)
            return false;
        if (table->geometry.tag_bits == 0 && !fills_from_front(table, row))
            return false;
        for (uint32_t i = 0; i < count; i++)
            if (table->geometry.tag_bits == 0 && !held_once(table, cuckoo_table_place(table, row, fingerprints[i])))
                return false;
    }
    return filled == table->filled && stash_is_sound(table) && padding_is_zero(table);
}
