/*
 * A segment holds the prefixes of one range of hashes: a small cuckoo table that is rebuilt when it is full.
 *
 *     hash      | depth bits | place bits | rest ...
 *                 the range    bucket and
 *                              offset (4)
 *
 *     slot      [in the other bucket?][offset][rest of the prefix][1][0 ...]
 *
 * Buckets are in the order of hashes. A prefix is in its home bucket or in one other, at a distance that the offset
 * draws; so a look-up reads two buckets. The lowest bit of a slot that is set marks the end of the prefix, so that
 * prefixes of several lengths lie beside each other, and one comparison tells whether a slot holds a prefix of a hash:
 * whether the two differ only below twice that bit. An empty slot is 0, which matches nothing.
 *
 * Widths. A slot is as wide as the longest prefix of the segment needs; eight slots of w bits are w bytes. Slots of 26
 * to 31 bits get 32, and those of 57 to 63 bits 64, which are quicker to read.
 *
 * Prefixes that end early. A prefix that ends before offset or rest begin, because the table has grown since it was
 * made, stands for several offsets and even buckets. It is kept as it is in a list beside the buckets, and its region
 * is covered by slots that serve look-ups only:
 *
 *     region of the prefix     |      ###|########|########|#       |     of buckets with sixteen offsets each
 *     index slots                     110    -        -      0000          offset bits; without any: the whole bucket
 *
 * Such a slot has fewer offset bits (a whole bucket: none) before its mark, and can lie in the home bucket only. There
 * are never more than eight in a bucket, since each stands for two offsets at least; what stands for one offset alone
 * is like any other prefix of that length. A region that makes up a part p of all hashes takes p / 8 of the slots, so
 * the rate that a filter promised bounds the cost.
 *
 * Crowds. Keys that were chosen to share their first bits all belong to the same two buckets. What finds no slot while
 * the segment has plenty of them is spilled: it goes to a sorted list that look-ups search when the slots have nothing,
 * and that is empty unless somebody chose the keys.
 *
 * What the list of short prefixes names is not in slots, and what is in slots and covered by that list is index, since
 * nothing else can be covered. Segments with tags have no such list: their short prefixes are in the crowd of the table
 * (tagged.c), as is what finds no slot.
 */
#include "segment.h"

#include <string.h>

#include "crowd.h"
#include "search.h"
#include "slots.h"

#define FULL_BUCKET ((1u << SLOTS) - 1)
/* Buckets that are asked for room before a segment counts as full. */
#define MOST_ASKED 32
/* Of the prefixes of a segment that is made, so many may find no slot at once. */
#define MOST_LATE   1024
#define MOST_SHORTS 64
/* Of 1,024 slots so many may be in use when a segment is made, and when it is made dense. */
#define MOST_LOAD  810
#define DENSE_LOAD 930
/* Buckets of segments that are filled beside their memory, and then packed; larger ones are rare. */
#define MOST_STAGED 1024
/* Places into which the prefixes of a segment are counted to list them. */
#define LIST_PLACES 8192

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static unsigned quick_width(unsigned width)
{
    return width > 56 ? 64 : width > 25 && width < 32 ? 32 : width;
}

/* Buckets of a block, such that the words which hold the last slots, and the vectors that read them, are inside. */
static unsigned buckets_of_block(unsigned width, unsigned bytes)
{
    unsigned last = width > 32 ? 6 * width / 8 + 16 : width / 2 + 16, word = 7 * width / 8 + 8;
    last = last > width ? last : width;
    last = last > word ? last : word;
    return bytes < last ? 0 : (bytes - last) / width + 1;
}

static struct lane lane_of(unsigned width, unsigned first)
{
    unsigned per_block = width ? buckets_of_block(width, FULL_BLOCK) : 0;
    return (struct lane){(uint8_t)width, (uint8_t)per_block, (uint16_t)first,
                         per_block ? (1u << 20) / per_block + 1 : 0};
}

/* Memory of slots: blocks of full size and a last one, with what an allocator adds. */
static uint32_t buckets_in(unsigned width, unsigned bytes)
{
    unsigned blocks = (bytes - 1) / 1024, last = bytes - blocks * 1024;
    return blocks * buckets_of_block(width, FULL_BLOCK) + buckets_of_block(width, ALLOCATED(last));
}

/* Allocators have all of these sizes. */
static unsigned rounded_size(unsigned bytes)
{
    return bytes <= 512 ? divide_up(bytes, 64) * 64 : divide_up(bytes, 128) * 128;
}

/* The narrowest slots with which so many bytes hold prefixes of that length; false where they are too small. */
static bool shape_slots(struct segment *segment, unsigned longest, unsigned bytes)
{
    for (unsigned width = FEWEST_WIDTH; width <= 64; width++) {
        if (width != quick_width(width))
            continue;
        uint32_t buckets = buckets_in(width, bytes);
        if (buckets == 0 || buckets > MOST_BUCKETS)
            continue;
        unsigned position = segment->depth + highest_bit(buckets);
        if (longest + 2 > position + width)
            continue;
        segment->slots = lane_of(width, 0);
        segment->buckets = (uint16_t)buckets;
        segment->place_bits = (uint8_t)(highest_bit(buckets) + OFFSET_BITS);
        segment->place_mask = ~(UINT64_MAX >> segment->place_bits);
        segment->block_count = (uint16_t)divide_up(bytes, 1024);
        segment->last_slots = (uint16_t)ALLOCATED(bytes - (segment->block_count - 1) * 1024);
        return true;
    }
    return false;
}

/* The smallest size that buckets of this width fit in, with the words that hold the last slots. */
static unsigned last_block(unsigned width, unsigned buckets)
{
    unsigned bytes = 64;
    while (buckets_of_block(width, ALLOCATED(bytes)) < buckets)
        bytes = rounded_size(bytes + 1);
    return ALLOCATED(bytes);
}

static void shape_tags(struct segment *segment, unsigned width)
{
    segment->tags = lane_of(quick_width(width), segment->block_count);
    if (segment->tags.width == 0)
        return;
    unsigned blocks = divide_up(segment->buckets, segment->tags.per_block);
    segment->last_tags =
        (uint16_t)last_block(segment->tags.width, segment->buckets - (blocks - 1) * segment->tags.per_block);
    segment->block_count += (uint16_t)blocks;
}

static size_t bytes_of_block(const struct segment *segment, unsigned i)
{
    if (i + 1u == segment->block_count && segment->tags.width)
        return segment->last_tags;
    unsigned slot_blocks = segment->tags.width ? segment->tags.first : segment->block_count;
    return i + 1 == slot_blocks ? segment->last_slots : FULL_BLOCK;
}

static bool holds(const struct segment *segment, uint64_t entries, bool dense)
{
    return entries * 1024 <= (uint64_t)segment->buckets * SLOTS * (dense ? DENSE_LOAD : MOST_LOAD);
}

/* Of memory for so many prefixes: a size from which on it pays to look for one that holds them. */
static unsigned first_size(struct segment_shape shape, uint64_t count)
{
    uint64_t buckets = count * 1024 / (SLOTS * (shape.dense ? DENSE_LOAD : MOST_LOAD)) + 1;
    unsigned position = shape.depth + highest_bit(buckets) + 1u;
    unsigned width = shape.longest + 2u > position + FEWEST_WIDTH ? shape.longest + 2u - position : FEWEST_WIDTH;
    uint64_t bytes = buckets * (width < 64 ? width : 64);
    return bytes < 1024 * MOST_BLOCKS ? rounded_size((unsigned)bytes) : 1024 * MOST_BLOCKS;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void segment_free(struct segment *segment, const roost_allocator *allocator)
{
    if (!segment)
        return;
    for (unsigned i = 0; i < segment->block_count; i++)
        memory_release(allocator, segment->blocks[i]);
    memory_release(allocator, segment->shorts);
    memory_release(allocator, segment->spill);
    memory_release(allocator, segment);
}

/* An empty segment of this shape. */
static struct segment *allocate_like(const struct segment *shape, const roost_allocator *allocator)
{
    size_t pointers = shape->block_count * sizeof *shape->blocks;
    struct segment *segment = memory_allocate(allocator, sizeof *segment + pointers);
    if (!segment)
        return NULL;
    *segment = *shape;
    segment->used = segment->prefixes = segment->short_count = segment->spill_count = segment->spill_room = 0;
    segment->copied_by = 0;
    segment->short_room = shape->short_count;
    segment->shorts = NULL;
    segment->spill = NULL;
    segment->crowd = NULL;
    bool complete = true;
    for (unsigned i = 0; i < shape->block_count; i++) {
        segment->blocks[i] = memory_allocate(allocator, bytes_of_block(shape, i));
        complete &= segment->blocks[i] != NULL;
    }
    if (shape->short_count)
        segment->shorts = memory_allocate(allocator, shape->short_count * sizeof *segment->shorts);
    if (complete && (!shape->short_count || segment->shorts))
        return segment;
    segment_free(segment, allocator);
    return NULL;
}

static size_t spilled_bytes(const struct segment *segment, uint32_t count)
{
    return count * (segment->tags.width ? sizeof *segment->pending : sizeof *segment->spill);
}

static bool reserve_spill(struct segment *segment, uint32_t room, const roost_allocator *allocator)
{
    if (room <= segment->spill_room)
        return true;
    void *spill = memory_allocate(allocator, spilled_bytes(segment, room));
    if (!spill)
        return false;
    if (segment->spill_count)
        memcpy(spill, segment->spill, spilled_bytes(segment, segment->spill_count));
    memory_release(allocator, segment->spill);
    segment->spill = spill;
    segment->spill_room = room;
    return true;
}

struct segment *segment_copy(const struct segment *segment, const roost_allocator *allocator)
{
    struct segment *copy = allocate_like(segment, allocator);
    if (!copy)
        return NULL;
    for (unsigned i = 0; i < segment->block_count; i++)
        memcpy(copy->blocks[i], segment->blocks[i], bytes_of_block(segment, i));
    if (!segment->tags.width && !reserve_spill(copy, segment->spill_count, allocator)) {
        segment_free(copy, allocator);
        return NULL;
    }
    if (segment->short_count)
        memcpy(copy->shorts, segment->shorts, segment->short_count * sizeof *copy->shorts);
    if (segment->spill)
        memcpy(copy->spill, segment->spill, spilled_bytes(segment, segment->spill_count));
    copy->used = segment->used;
    copy->prefixes = segment->prefixes;
    copy->short_count = segment->short_count;
    copy->spill_count = segment->spill_count;
    return copy;
}

uint64_t segment_bytes(const struct segment *segment)
{
    uint64_t blocks = (uint64_t)segment->block_count * FULL_BLOCK - (FULL_BLOCK - segment->last_slots);
    blocks -= segment->tags.width ? FULL_BLOCK - segment->last_tags : 0;
    return sizeof *segment + segment->block_count * sizeof *segment->blocks + blocks +
           segment->short_room * sizeof *segment->shorts + spilled_bytes(segment, segment->spill_room);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static inline uint64_t slot_at(const struct segment *segment, uint32_t bucket, unsigned index)
{
    return packed_get(slots_of(segment, bucket), segment->slots.width, index);
}

/* As it is packed. */
static inline uint64_t tag_at(const struct segment *segment, uint32_t bucket, unsigned index)
{
    return segment->tags.width ? packed_get(bucket_in(segment, segment->tags, bucket), segment->tags.width, index) : 0;
}

/* `slots` are those of the bucket. */
static inline void set_slot_in(struct segment *segment, uint8_t *slots, uint32_t bucket, unsigned index, uint64_t slot,
                               uint64_t tag)
{
    packed_set(slots, segment->slots.width, index, slot);
    if (segment->tags.width)
        packed_set(bucket_in(segment, segment->tags, bucket), segment->tags.width, index, tag);
}

static inline void set_slot(struct segment *segment, uint32_t bucket, unsigned index, uint64_t slot, uint64_t tag)
{
    set_slot_in(segment, slots_of(segment, bucket), bucket, index, slot, tag);
}

static inline uint32_t used_in(const struct segment *segment, const uint8_t *slots)
{
    return search_kernel_in_use()->used(slots, segment->slots.width);
}

static bool put_if_room(struct segment *segment, uint32_t bucket, uint64_t slot, uint64_t tag)
{
    uint8_t *slots = slots_of(segment, bucket);
    uint32_t used = used_in(segment, slots);
    if (used == FULL_BUCKET)
        return false;
    set_slot_in(segment, slots, bucket, lowest_bit(~used), slot, tag);
    segment->used++;
    return true;
}

/* Moves what is in one slot, or would be, to a free one of the other bucket where it may lie. */
static void move_slot(struct segment *segment, struct slot_position from, struct slot_position to)
{
    uint64_t slot = slot_at(segment, from.bucket, from.index) ^ in_other_bucket(segment);
    set_slot(segment, to.bucket, to.index, slot, tag_at(segment, from.bucket, from.index));
}

/*
 * Frees a slot in a full bucket. At first one move is tried for each of its slots: there are eight buckets to which one
 * may go, so that all of them are seldom full. Then two moves: of what is in these buckets, and then to where that was.
 * Nothing moves before it is known that this helps.
 */
static bool free_by_one(struct segment *segment, uint32_t bucket, unsigned *asked, struct slot_position *freed)
{
    struct slot_move move;
    if (!search_kernel_in_use()->find_move(segment, bucket, asked, &move))
        return false;
    move_slot(segment, move.from, move.to);
    *freed = move.from;
    return true;
}

static bool free_by_two(struct segment *segment, uint32_t bucket, unsigned *asked, struct slot_position *freed)
{
    for (unsigned i = 0; i < SLOTS && *asked < MOST_ASKED; i++) {
        uint64_t slot = slot_at(segment, bucket, i);
        uint32_t other = is_movable(segment, slot) ? way_out(segment, bucket, slot) : bucket;
        struct slot_position between;
        if (other == bucket || !free_by_one(segment, other, asked, &between))
            continue;
        *freed = (struct slot_position){bucket, i};
        move_slot(segment, *freed, between);
        return true;
    }
    return false;
}

/* Puts something that belongs to either of two full buckets. */
static bool put_by_moves(struct segment *segment, struct slot_place place, uint64_t tag)
{
    struct slot_position freed;
    unsigned asked = 0;
    if (place.home == place.other) /* a single bucket */
        return false;
    if (!free_by_one(segment, place.home, &asked, &freed) && !free_by_one(segment, place.other, &asked, &freed) &&
        !free_by_two(segment, place.home, &asked, &freed) && !free_by_two(segment, place.other, &asked, &freed))
        return false;
    uint64_t flag = freed.bucket == place.home ? 0 : in_other_bucket(segment);
    set_slot(segment, freed.bucket, freed.index, place.slot | flag, tag);
    segment->used++;
    return true;
}

/* Into the emptier of two buckets, so that both seldom are full; by masks, as no branch could tell in advance which one
   it is. Buckets are filled from the first slot on, so the masks of their slots are in the order of how many there are,
   but for those that lost some. */
static bool find_slot(struct segment *segment, struct prefix_entry entry)
{
    struct slot_place place = slot_place_of(segment, entry.prefix); /* its mark becomes that of the slot */
    const uint64_t flag = in_other_bucket(segment), tag = pack_tag(entry.tag, segment->number_bits);
    uint32_t used_home = used_in(segment, slots_of(segment, place.home));
    uint32_t used_other = used_in(segment, slots_of(segment, place.other));
    uint32_t moves = 0u - (used_other < used_home), used = used_home ^ ((used_home ^ used_other) & moves);
    if (__builtin_expect(used != FULL_BUCKET, 1)) {
        uint32_t bucket = place.home ^ ((place.home ^ place.other) & moves);
        set_slot(segment, bucket, lowest_bit(~used), place.slot | (flag & (0 - (uint64_t)(moves & 1))), tag);
        segment->used++;
        return true;
    }
    return put_by_moves(segment, place, tag);
}

bool segment_put(struct segment *segment, struct prefix_entry entry)
{
    bool found = find_slot(segment, entry);
    segment->prefixes += found;
    return found;
}

/* ---- prefixes that end early ------------------------------------------------------------------------------------- */

/* The offsets of all buckets in a row: from `from` to `to` - 1 belong to a prefix. */
struct offsets {
    uint32_t from, to;
};

static uint32_t scaled(const struct segment *segment, uint64_t first)
{
    return (uint32_t)(first * segment->buckets >> (segment->place_bits - OFFSET_BITS));
}

static struct offsets offsets_of(const struct segment *segment, uint64_t prefix)
{
    unsigned length = prefix_length(prefix), bits = segment->place_bits;
    if (length <= segment->depth)
        return (struct offsets){0, (uint32_t)segment->buckets << OFFSET_BITS};
    uint64_t first = first_covered(prefix) << segment->depth >> (64 - bits);
    uint64_t width = UINT64_C(1) << (bits - (length - segment->depth));
    return (struct offsets){scaled(segment, first), scaled(segment, first + width)};
}

/* The largest power of two of offsets that begin here and belong together: at most a bucket. */
static struct offsets first_piece(struct offsets offsets)
{
    uint32_t size = 1u << OFFSET_BITS;
    while (offsets.from % size != 0 || size > offsets.to - offsets.from)
        size /= 2;
    return (struct offsets){offsets.from, offsets.from + size};
}

/* Where the number of buckets is no power of two, some offsets belong to no hash. A slot for one of them alone would be
   taken for another prefix. */
static bool is_unused(const struct segment *segment, struct offsets piece)
{
    return piece.to - piece.from == 1 &&
           scaled(segment, first_bits(segment, inverse_of(segment), piece.from)) != piece.from;
}

static uint64_t index_slot(const struct segment *segment, struct offsets piece)
{
    uint64_t offset = piece.from & ((1u << OFFSET_BITS) - 1), size = piece.to - piece.from;
    uint64_t mark = size << rest_bits_of(segment);
    return offset << rest_bits_of(segment) | mark / 2;
}

static uint64_t count_pieces(const struct segment *segment, uint64_t prefix)
{
    uint64_t count = 0;
    for (struct offsets rest = offsets_of(segment, prefix); rest.from < rest.to; count++)
        rest.from = first_piece(rest).to;
    return count;
}

/* Those that cannot move go first, when their home buckets have room, and the others later. */
static bool index_short(struct segment *segment, uint64_t prefix, bool movable)
{
    struct offsets rest = offsets_of(segment, prefix), piece;
    for (; rest.from < rest.to; rest.from = piece.to) {
        piece = first_piece(rest);
        if (is_unused(segment, piece))
            continue;
        uint64_t slot = index_slot(segment, piece);
        uint32_t home = piece.from >> OFFSET_BITS;
        if (is_movable(segment, slot) != movable || put_if_room(segment, home, slot, 0))
            continue;
        if (!movable || segment->buckets == 1)
            return false;
        uint32_t other = way_out(segment, home, slot);
        if (!put_if_room(segment, other, slot | in_other_bucket(segment), 0) &&
            !put_by_moves(segment, (struct slot_place){home, other, slot}, 0))
            return false;
    }
    return true;
}

/* Whether its mark is before the rest. */
static inline bool is_short(const struct segment *segment, uint64_t prefix)
{
    return prefix << segment->depth << segment->place_bits == 0;
}

/* Of a sorted list: the first that is not below a prefix or hash. */
static uint32_t first_not_below(const uint64_t *prefixes, uint32_t count, uint64_t number)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (prefixes[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of prefixes that do not cover each other, what covers a number is one of its two neighbours. */
static bool list_covers_prefix(const uint64_t *prefixes, uint32_t count, uint64_t prefix)
{
    uint32_t next = first_not_below(prefixes, count, prefix);
    return (next < count && covers_prefix(prefixes[next], prefix)) ||
           (next > 0 && covers_prefix(prefixes[next - 1], prefix));
}

/* The same of the short ones. */
static bool is_covered_by_short(const struct segment *segment, uint64_t prefix)
{
    return list_covers_prefix(segment->shorts, segment->short_count, prefix);
}

bool spill_contains(const struct segment *segment, uint64_t hash)
{
    if (segment->crowd)
        return hash >= segment->crowd_low && hash <= segment->crowd_high && crowd_contains(segment->crowd, hash);
    uint32_t next = first_not_below(segment->spill, segment->spill_count, hash);
    return (next < segment->spill_count && covers_hash(segment->spill[next], hash)) ||
           (next > 0 && covers_hash(segment->spill[next - 1], hash));
}

bool segment_spill(struct segment *segment, struct prefix_entry entry, const roost_allocator *allocator)
{
    uint32_t count = segment->spill_count;
    if (count == segment->spill_room && !reserve_spill(segment, 2 * count + 8, allocator))
        return false;
    if (segment->tags.width) {
        segment->pending[segment->spill_count++] = entry;
        return true;
    }
    uint32_t next = first_not_below(segment->spill, count, entry.prefix);
    memmove(segment->spill + next + 1, segment->spill + next, (count - next) * sizeof *segment->spill);
    segment->spill[next] = entry.prefix;
    segment->spill_count++;
    segment->prefixes++;
    return true;
}

static bool bucket_covers(const struct segment *segment, uint32_t bucket, uint64_t slot)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t held = slot_at(segment, bucket, i);
        if (held && covers_prefix(held, slot))
            return true;
    }
    return false;
}

bool segment_covers(const struct segment *segment, uint64_t prefix)
{
    if (is_short(segment, prefix))
        return is_covered_by_short(segment, prefix);
    if (list_covers_prefix(segment->spill, segment->spill_count, prefix))
        return true;
    struct slot_place place = slot_place_of(segment, prefix);
    unsigned longest = segment->depth + segment->place_bits + rest_bits_of(segment) - 1u;
    if (prefix_length(prefix) > longest) /* its mark is beyond the slot: as far as slots go it is a hash */
        return segment_contains(segment, prefix);
    return bucket_covers(segment, place.home, place.slot) ||
           (place.other != place.home && bucket_covers(segment, place.other, place.slot | in_other_bucket(segment)));
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Shell's sort: nearly always of a handful, and never much slower than it must be. */
static void sort_prefixes(uint64_t *prefixes, uint32_t count)
{
    uint32_t gap = 1;
    while (gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (uint32_t i = gap; i < count; i++) {
            uint64_t prefix = prefixes[i];
            uint32_t j = i;
            for (; j >= gap && prefix < prefixes[j - gap]; j -= gap)
                prefixes[j] = prefixes[j - gap];
            prefixes[j] = prefix;
        }
}

static inline struct prefix_entry entry_of(const struct prefix_run *run, uint64_t i)
{
    return (struct prefix_entry){run->prefixes[i], run->tags ? run->tags[i] : 0};
}

/* How many slots of a bucket are in use, for as long as only one after the other was filled. */
static unsigned used_slots(const struct segment *segment, uint32_t bucket)
{
    return lowest_bit(~used_in(segment, slots_of(segment, bucket)));
}

/* Short prefixes of those that a segment is made for. */
struct short_prefixes {
    bool any;                          /* of those that do not come from a list may be short */
    uint64_t count, some[MOST_SHORTS]; /* all, if they are so few */
};

/* What found no slot at once. */
struct latecomers {
    uint32_t count, items[MOST_LATE];
};

/* They have to displace others; where there is room and this fails, they met a crowd. */
static bool place_late(struct segment *segment, const struct prefix_run *run, const struct latecomers *late,
                       const roost_allocator *allocator)
{
    for (uint32_t i = 0; i < late->count; i++) {
        struct prefix_entry entry = entry_of(run, late->items[i]);
        if (!segment_put(segment, entry) && !(segment_is_roomy(segment) && segment_spill(segment, entry, allocator)))
            return false;
    }
    return true;
}

static bool come_later(struct segment *segment, struct latecomers *late, const struct prefix_run *run, uint64_t i,
                       const roost_allocator *allocator)
{
    if (late->count == MOST_LATE) /* that many are a crowd */
        return segment_spill(segment, entry_of(run, i), allocator);
    late->items[late->count++] = (uint32_t)i;
    return true;
}

/* Slots and tags of up to 32 bits that are not packed yet. */
struct staged_buckets {
    uint32_t numbers[MOST_STAGED][SLOTS];
};

struct staged {
    struct staged_buckets slots;
    uint8_t used[MOST_STAGED];
};

static void stage_buckets(struct staged *staged, const struct segment *segment)
{
    memset(staged->slots.numbers, 0, segment->buckets * sizeof *staged->slots.numbers);
    memset(staged->used, 0, segment->buckets * sizeof *staged->used);
    for (uint32_t bucket = 0; bucket < segment->buckets && segment->used; bucket++) {
        staged->used[bucket] = (uint8_t)used_slots(segment, bucket);
        for (unsigned i = 0; i < staged->used[bucket]; i++)
            staged->slots.numbers[bucket][i] = (uint32_t)slot_at(segment, bucket, i);
    }
}

/* Two numbers at a time, which are never more than 50 bits with those before them that do not make a byte. Each word is
   written with zeros beyond what is known, so in order. */
static inline void pack_bucket(uint8_t *bucket, const uint32_t *numbers, unsigned width)
{
    uint64_t word = 0;
    unsigned bits = 0;
    for (unsigned i = 0; i < SLOTS; i += 2) {
        word |= ((uint64_t)numbers[i + 1] << width | numbers[i]) << bits;
        store_word(bucket, word);
        bits += 2 * width;
        bucket += bits / 8;
        word = word >> (bits & 56);
        bits &= 7;
    }
}

static inline void write_bucket(uint8_t *bucket, const uint32_t *numbers)
{
    for (unsigned i = 0; i < SLOTS; i += 2)
        store_word(bucket + 4 * i, (uint64_t)numbers[i + 1] << 32 | numbers[i]);
}

static void pack_staged(struct segment *segment, struct lane lane, const struct staged_buckets *buckets)
{
    uint32_t bucket = 0;
    for (unsigned block = lane.first; bucket < segment->buckets; block++) {
        uint8_t *bytes = segment->blocks[block];
        uint32_t end = bucket + lane.per_block < segment->buckets ? bucket + lane.per_block : segment->buckets;
        for (; bucket < end; bucket++, bytes += lane.width)
            if (lane.width == 32)
                write_bucket(bytes, buckets->numbers[bucket]);
            else
                pack_bucket(bytes, buckets->numbers[bucket], lane.width);
    }
}

/* Puts one into the emptier of its buckets, by masks: which one it is, no branch could tell in advance. Returns where;
   beyond all slots where both are full. */
static inline uint32_t stage(struct staged *staged, uint64_t place, uint32_t flag)
{
    uint32_t home = place & 0xffff, other = place >> 16 & 0xffff, slot = (uint32_t)(place >> 32);
    uint32_t moves = 0u - (staged->used[other] < staged->used[home]);
    uint32_t bucket = home ^ ((home ^ other) & moves), used = staged->used[bucket];
    if (__builtin_expect(used == SLOTS, 0))
        return UINT32_MAX;
    staged->slots.numbers[bucket][used] = slot | (flag & moves);
    staged->used[bucket] = (uint8_t)(used + 1);
    return bucket * SLOTS + used;
}

/* A segment that is filled beside its memory. */
struct staging {
    struct segment *segment;
    const struct prefix_run *run;
    const roost_allocator *allocator;
    bool has_shorts; /* among those that do not come from a list */
    uint32_t flag;   /* of slots in the other bucket */
    uint32_t others; /* that are not in slots */
    struct latecomers late;
    struct staged_buckets *tags; /* NULL: there are none */
    struct staged staged;
};

static ALWAYS_INLINE bool stage_item(struct staging *staging, uint64_t place, uint64_t i, bool has_tags)
{
    uint32_t slot = stage(&staging->staged, place, staging->flag);
    if (__builtin_expect(slot == UINT32_MAX, 0)) {
        staging->others++;
        return come_later(staging->segment, &staging->late, staging->run, i, staging->allocator);
    }
    if (has_tags)
        staging->tags->numbers[slot / SLOTS][slot % SLOTS] =
            (uint32_t)pack_tag(staging->run->tags[i], staging->segment->number_bits);
    return true;
}

/* Those of a part of the run that are not short. */
static ALWAYS_INLINE bool stage_carefully(struct staging *staging, uint64_t from, uint64_t to, bool has_tags)
{
    for (uint64_t i = from; i < to; i++) {
        uint64_t prefix = staging->run->prefixes[i];
        if (is_short(staging->segment, prefix))
            staging->others++;
        else if (!stage_item(staging, packed_place(slot_place_of(staging->segment, prefix)), i, has_tags))
            return false;
    }
    return true;
}

/* Prefixes come in the order of buckets, of which each would wait for the last to be counted: so from several parts of
   the run in turn. */
#define PARTS          4
#define PLACES_AT_ONCE 32

static ALWAYS_INLINE bool stage_quickly(struct staging *staging, uint64_t from, bool has_tags)
{
    const struct search_kernel *kernel = search_kernel_in_use();
    const uint64_t *prefixes = staging->run->prefixes, part = (staging->run->count - from) / PARTS;
    uint64_t places[PARTS][PLACES_AT_ONCE];
    for (uint64_t done = 0, some; done < part; done += some) {
        some = part - done < PLACES_AT_ONCE ? part - done : PLACES_AT_ONCE;
        for (unsigned k = 0; k < PARTS; k++)
            kernel->locate(staging->segment, places[k], prefixes + from + k * part + done, some);
        for (uint64_t i = 0; i < some; i++)
            for (unsigned k = 0; k < PARTS; k++)
                if (!stage_item(staging, places[k][i], from + k * part + done + i, has_tags))
                    return false;
    }
    return stage_carefully(staging, from + PARTS * part, staging->run->count, has_tags);
}

static ALWAYS_INLINE bool stage_run(struct staging *staging, bool has_tags)
{
    uint64_t count = staging->run->count, careful = staging->has_shorts ? count : staging->run->listed;
    if (!stage_carefully(staging, 0, careful, has_tags) || !stage_quickly(staging, careful, has_tags))
        return false;
    staging->segment->used += (uint32_t)count - staging->others;
    staging->segment->prefixes += (uint32_t)count - staging->others;
    return true;
}

/* The same as place_all, for the segments that nearly all are. */
static bool place_staged(struct segment *segment, const struct prefix_run *run, bool has_shorts,
                         struct staged_buckets *tags, const roost_allocator *allocator)
{
    struct staging staging;
    staging.segment = segment;
    staging.run = run;
    staging.allocator = allocator;
    staging.has_shorts = has_shorts;
    staging.flag = (uint32_t)in_other_bucket(segment);
    staging.others = staging.late.count = 0;
    staging.tags = tags;
    stage_buckets(&staging.staged, segment);
    if (!(tags ? stage_run(&staging, true) : stage_run(&staging, false)))
        return false;
    pack_staged(segment, segment->slots, &staging.staged.slots);
    if (tags)
        pack_staged(segment, segment->tags, tags);
    return place_late(segment, run, &staging.late, allocator);
}

static bool place_staged_tags(struct segment *segment, const struct prefix_run *run, bool has_shorts,
                              const roost_allocator *allocator)
{
    struct staged_buckets tags;
    memset(tags.numbers, 0, segment->buckets * sizeof *tags.numbers);
    return place_staged(segment, run, has_shorts, &tags, allocator);
}

/* Most find a slot in one of their buckets at once, whose slots are counted instead of searched. The rest then has to
   displace others. */
static bool place_all(struct segment *segment, const struct prefix_run *run, const roost_allocator *allocator)
{
    uint8_t used[MOST_BUCKETS];
    struct latecomers late = {.count = 0};
    const uint64_t flag = in_other_bucket(segment);
    for (uint32_t bucket = 0; bucket < segment->buckets; bucket++)
        used[bucket] = segment->used ? (uint8_t)used_slots(segment, bucket) : 0;
    for (uint64_t i = 0; i < run->count; i++) {
        struct prefix_entry entry = entry_of(run, i);
        if (is_short(segment, entry.prefix))
            continue;
        struct slot_place place = slot_place_of(segment, entry.prefix);
        bool at_home = used[place.home] <= used[place.other];
        uint32_t bucket = at_home ? place.home : place.other;
        if (used[bucket] == SLOTS) {
            if (!come_later(segment, &late, run, i, allocator))
                return false;
            continue;
        }
        set_slot(segment, bucket, used[bucket]++, at_home ? place.slot : place.slot | flag,
                 pack_tag(entry.tag, segment->number_bits));
        segment->used++;
        segment->prefixes++;
    }
    return place_late(segment, run, &late, allocator);
}

/* ---- the same with short prefixes ---- */

/* The short ones go on a list, or with tags to those that found no slot. */
static bool part_shorts(struct segment *segment, const struct prefix_run *run, const struct short_prefixes *shorts,
                        const roost_allocator *allocator)
{
    if (!run->tags && shorts->count <= MOST_SHORTS) {
        memcpy(segment->shorts, shorts->some, shorts->count * sizeof *shorts->some);
        segment->short_count = (uint32_t)shorts->count;
        return true;
    }
    for (uint64_t i = 0; i < run->count; i++) {
        if (!is_short(segment, run->prefixes[i]))
            continue;
        if (!run->tags)
            segment->shorts[segment->short_count++] = run->prefixes[i];
        else if (!segment_spill(segment, entry_of(run, i), allocator))
            return false;
    }
    return true;
}

static bool index_shorts(struct segment *segment)
{
    segment->prefixes += segment->short_count;
    sort_prefixes(segment->shorts, segment->short_count);
    for (unsigned movable = 0; movable <= 1; movable++)
        for (uint32_t i = 0; i < segment->short_count; i++)
            if (!index_short(segment, segment->shorts[i], movable))
                return false;
    return true;
}

static bool place_run(struct segment *segment, const struct prefix_run *run, bool has_shorts,
                      const roost_allocator *allocator)
{
    if (segment->slots.width > 32 || segment->tags.width > 32 || segment->buckets > MOST_STAGED)
        return place_all(segment, run, allocator);
    return segment->tags.width ? place_staged_tags(segment, run, has_shorts, allocator)
                               : place_staged(segment, run, has_shorts, NULL, allocator);
}

static bool fill(struct segment *segment, const struct prefix_run *run, const struct short_prefixes *shorts,
                 const roost_allocator *allocator)
{
    return (shorts->count == 0 || (part_shorts(segment, run, shorts, allocator) && index_shorts(segment))) &&
           place_run(segment, run, shorts->any, allocator);
}

/* Those that are short in a segment of this shape, of the first `count`. Returns how many slots they take there. */
static uint64_t find_shorts(const struct segment *shape, const uint64_t *prefixes, uint64_t count,
                            struct short_prefixes *shorts)
{
    const unsigned depth = shape->depth, place_bits = shape->place_bits;
    uint64_t slots = count;
    for (uint64_t i = 0; i < count; i++)
        if (__builtin_expect(prefixes[i] << depth << place_bits == 0, 0)) {
            slots += count_pieces(shape, prefixes[i]) - 1;
            if (shorts->count < MOST_SHORTS)
                shorts->some[shorts->count] = prefixes[i];
            shorts->count++;
        }
    return slots;
}

struct segment *segment_new(struct segment_shape shape, const struct prefix_run *run, const roost_allocator *allocator)
{
    uint64_t count = run->count > shape.expected ? run->count : shape.expected;
    for (unsigned bytes = first_size(shape, count); bytes <= 1024 * MOST_BLOCKS; bytes = rounded_size(bytes + 1)) {
        struct segment planned = {.depth = shape.depth, .start = shape.start, .number_bits = shape.number_bits};
        struct short_prefixes shorts;
        shorts.count = 0;
        if (!shape_slots(&planned, shape.longest, bytes) || !holds(&planned, count, shape.dense))
            continue;
        shorts.any = shape.shortest < shape.depth + planned.place_bits;
        uint64_t checked = shorts.any ? run->count : run->listed;
        uint64_t slots = find_shorts(&planned, run->prefixes, checked, &shorts) + run->count - checked;
        if (!shape.tag_width && !holds(&planned, slots, shape.dense))
            continue;
        planned.short_count = shape.tag_width ? 0 : (uint32_t)shorts.count;
        shape_tags(&planned, shape.tag_width);
        struct segment *segment = allocate_like(&planned, allocator);
        if (!segment)
            return NULL;
        if (fill(segment, run, &shorts, allocator))
            return segment;
        segment_free(segment, allocator);
    }
    return NULL;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* Whether what ends with the offset is covered by a short prefix: then it serves look-ups only. */
static bool is_index(const struct segment *segment, uint64_t prefix)
{
    return prefix << segment->depth << segment->place_bits == UINT64_C(1) << 63 && is_covered_by_short(segment, prefix);
}

static uint64_t drop_index(const struct segment *segment, uint64_t *prefixes, uint64_t *origins, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        prefixes[kept] = prefixes[i];
        if (origins)
            origins[kept] = origins[i];
        kept += !is_index(segment, prefixes[i]);
    }
    return kept;
}

/* The same of a few: the last takes the place of what goes. */
static uint64_t drop_unsure(const struct segment *segment, uint64_t *prefixes, uint64_t *origins, uint64_t count,
                            const struct unsure *unsure)
{
    if (unsure->count > MOST_UNSURE)
        return drop_index(segment, prefixes, origins, count);
    for (uint64_t i = unsure->count; i-- > 0;) {
        uint32_t item = unsure->items[i];
        if (!is_index(segment, prefixes[item]))
            continue;
        prefixes[item] = prefixes[--count];
        if (origins)
            origins[item] = origins[count];
    }
    return count;
}

/* What the slots hold, and unless that is NULL where. */
static uint64_t decode(const struct segment *segment, uint64_t *prefixes, uint64_t *origins)
{
    struct unsure unsure;
    unsure.count = 0;
    uint64_t count = search_kernel_in_use()->decode(segment, prefixes, origins, &unsure);
    return segment->short_count ? drop_unsure(segment, prefixes, origins, count, &unsure) : count;
}

/* What is in lists beside the slots. */
static uint64_t gather_lists(const struct segment *segment, uint64_t *prefixes)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < segment->short_count; i++)
        prefixes[count++] = segment->shorts[i];
    for (uint32_t i = 0; i < segment->spill_count && !segment->tags.width; i++)
        prefixes[count++] = segment->spill[i];
    return count;
}

void segment_gather(const struct segment *segment, struct prefix_run *run)
{
    run->listed = gather_lists(segment, run->prefixes);
    if (run->tags)
        run->count = search_kernel_in_use()->decode_tagged(segment, run->prefixes, run->tags);
    else
        run->count = run->listed + decode(segment, run->prefixes + run->listed, NULL);
}

/* Bucket and offset of a prefix in a list, as decoding has them. */
static uint32_t listed_home(const struct segment *segment, uint64_t prefix)
{
    uint64_t first = begins_here(segment, prefix) ? first_covered(prefix) : segment->start;
    return scaled(segment, first << segment->depth >> (64 - segment->place_bits));
}

static void sort_nearly_sorted(uint64_t *prefixes, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        uint64_t prefix = prefixes[i], j = i;
        for (; j > 0 && prefix < prefixes[j - 1]; j--)
            prefixes[j] = prefixes[j - 1];
        prefixes[j] = prefix;
    }
}

/* Counted into the buckets and offsets that are home, which are in order and nearly always more than there are
   prefixes; then few are left to sort. */
uint64_t segment_list(const struct segment *segment, uint64_t *prefixes, uint64_t *scratch)
{
    uint32_t next[LIST_PLACES], places = (uint32_t)segment->buckets << OFFSET_BITS, shift = 0, total = 0;
    uint64_t *found = scratch, *origins = scratch + segment_room(segment);
    uint64_t listed = gather_lists(segment, found), count = listed + decode(segment, found + listed, origins + listed);
    for (uint64_t i = 0; i < listed; i++)
        origins[i] = listed_home(segment, found[i]);
    while ((places - 1) >> shift >= LIST_PLACES || places >> shift > 2 * count)
        shift++;
    places = ((places - 1) >> shift) + 1;
    memset(next, 0, places * sizeof *next);
    for (uint64_t i = 0; i < count; i++)
        next[origin_home(origins[i]) >> shift]++;
    for (uint32_t place = 0; place < places; place++) {
        uint32_t here = next[place];
        next[place] = total;
        total += here;
    }
    for (uint64_t i = 0; i < count; i++)
        prefixes[next[origin_home(origins[i]) >> shift]++] = found[i];
    sort_nearly_sorted(prefixes, count);
    return count;
}

/* ---- with tags --------------------------------------------------------------------------------------------------- */

uint32_t segment_covering(const struct segment *segment, uint64_t hash, struct prefix_entry *entries, uint32_t most)
{
    const struct slot_place place = slot_place_of(segment, hash);
    const uint64_t inverse = inverse_of(segment);
    const unsigned width = segment->slots.width;
    uint32_t count = 0;
    for (unsigned other = 0; other <= (place.home != place.other); other++) {
        uint32_t bucket = other ? place.other : place.home;
        uint64_t slot = place.slot | (other ? in_other_bucket(segment) : 0);
        uint32_t matches = bucket_matches(slots_of(segment, bucket), width, slot);
        for (; matches && count < most; matches &= matches - 1) {
            unsigned i = lowest_bit(matches);
            uint64_t tag = tag_at(segment, bucket, i);
            if (tag)
                entries[count++] =
                    (struct prefix_entry){prefix_in_slot(segment, inverse, bucket, slot_at(segment, bucket, i)),
                                          unpack_tag(tag, segment->number_bits)};
        }
    }
    return count;
}

/* Of one bucket: what holds this in its slot, and this tag, or with 0 any. */
static bool find_in_bucket(const struct segment *segment, uint32_t bucket, uint64_t slot, uint64_t wanted,
                           struct slot_position *found)
{
    const uint8_t *slots = slots_of(segment, bucket);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (packed_get(slots, segment->slots.width, i) != slot)
            continue;
        uint64_t tag = tag_at(segment, bucket, i);
        *found = (struct slot_position){bucket, i};
        if (tag && (!wanted || tag == wanted))
            return true;
    }
    return false;
}

/* The slot that holds an entry which is not short; with tag 0 any of its prefix. */
static bool find_entry(const struct segment *segment, struct prefix_entry entry, struct slot_position *found)
{
    if (!segment_takes(segment, prefix_length(entry.prefix)) || (entry.tag && !segment_takes_tag(segment, entry.tag)))
        return false;
    const struct slot_place place = slot_place_of(segment, entry.prefix);
    const uint64_t wanted = pack_tag(entry.tag, segment->number_bits);
    return find_in_bucket(segment, place.home, place.slot, wanted, found) ||
           (place.home != place.other &&
            find_in_bucket(segment, place.other, place.slot | in_other_bucket(segment), wanted, found));
}

bool segment_holds(const struct segment *segment, struct prefix_entry entry)
{
    struct slot_position found;
    return find_entry(segment, entry, &found);
}

bool segment_drop(struct segment *segment, struct prefix_entry entry)
{
    struct slot_position found;
    if (!find_entry(segment, entry, &found))
        return false;
    set_slot(segment, found.bucket, found.index, 0, 0);
    segment->used--;
    segment->prefixes--;
    return true;
}

bool segment_retag(struct segment *segment, struct prefix_entry entry, uint64_t tag)
{
    struct slot_position found;
    if (!segment_takes_tag(segment, tag) || !find_entry(segment, entry, &found))
        return false;
    packed_set(bucket_in(segment, segment->tags, found.bucket), segment->tags.width, found.index,
               pack_tag(tag, segment->number_bits));
    return true;
}

uint32_t segment_next(const struct segment *segment, uint32_t *position, struct prefix_entry *entries)
{
    const uint64_t inverse = inverse_of(segment);
    uint32_t count = 0;
    for (; *position < segment->buckets && count <= 64 - SLOTS; ++*position)
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t slot = slot_at(segment, *position, i), tag = slot ? tag_at(segment, *position, i) : 0;
            if (tag)
                entries[count++] = (struct prefix_entry){prefix_in_slot(segment, inverse, *position, slot),
                                                         unpack_tag(tag, segment->number_bits)};
        }
    return count;
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

static uint32_t remove_from_bucket(struct segment *segment, uint32_t bucket, uint64_t slot, uint64_t *removed)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t held = slot_at(segment, bucket, i);
        if (held && covers_prefix(slot, held)) {
            removed[count++] = prefix_in_slot(segment, inverse_of(segment), bucket, held);
            set_slot(segment, bucket, i, 0, 0);
            segment->used--;
            segment->prefixes--;
        }
    }
    return count;
}

uint32_t segment_remove_covered(struct segment *segment, uint64_t prefix, uint64_t *removed)
{
    struct slot_place place = slot_place_of(segment, prefix);
    uint32_t count = remove_from_bucket(segment, place.home, place.slot, removed);
    if (place.other != place.home)
        count += remove_from_bucket(segment, place.other, place.slot | in_other_bucket(segment), removed + count);
    return count;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

static bool is_sorted(const uint64_t *prefixes, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (prefixes[i - 1] >= prefixes[i])
            return false;
    return true;
}

/* Every hash of a short prefix is found. */
static bool is_indexed(const struct segment *segment, uint64_t prefix)
{
    unsigned bits = segment->depth + segment->place_bits;
    uint64_t first = first_covered(prefix) > segment->start ? first_covered(prefix) : segment->start;
    uint64_t range_end = segment->depth ? segment->start | UINT64_MAX >> segment->depth : UINT64_MAX;
    uint64_t last = last_covered(prefix) < range_end ? last_covered(prefix) : range_end;
    for (uint64_t hash = first;; hash += UINT64_C(1) << (64 - bits)) {
        if (!segment_contains(segment, hash))
            return false;
        if (last - hash < UINT64_C(1) << (64 - bits))
            return true;
    }
}

static bool slot_is_sound(const struct segment *segment, uint32_t bucket, uint64_t slot)
{
    if (!is_movable(segment, slot))
        return !(slot & in_other_bucket(segment)) && segment->short_count > 0;
    uint64_t prefix = prefix_in_slot(segment, inverse_of(segment), bucket, slot);
    struct slot_place place = slot_place_of(segment, prefix);
    bool other = (slot & in_other_bucket(segment)) != 0;
    return !is_short(segment, prefix) && (other ? place.other : place.home) == bucket &&
           (place.slot | (other ? in_other_bucket(segment) : 0)) == slot;
}

bool segment_check(const struct segment *segment)
{
    uint32_t used = 0;
    for (uint32_t bucket = 0; bucket < segment->buckets; bucket++)
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t slot = slot_at(segment, bucket, i);
            used += slot != 0;
            if (slot && !slot_is_sound(segment, bucket, slot))
                return false;
        }
    for (uint32_t i = 0; i < segment->short_count; i++)
        if (!is_short(segment, segment->shorts[i]) || !is_indexed(segment, segment->shorts[i]))
            return false;
    if (used != segment->used || !is_sorted(segment->shorts, segment->short_count))
        return false;
    return segment->tags.width
               ? !segment->spill && !segment->short_count && !segment->crowd == !segment->spill_count
               : is_sorted(segment->spill, segment->spill_count) && segment->spill_count <= segment->spill_room;
}
