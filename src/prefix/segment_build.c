/*
 * How segments are made: of which size, and how they are filled.
 *
 * A segment is made anew whenever it is full, so this is what additions cost most of. Prefixes are not put one by one
 * but staged: where each belongs is computed for many at once, each goes into the emptier of its two buckets, of which
 * only a count of the slots in use has to be known, and what the buckets then hold is packed at last.
 *
 *     run       | prefix | prefix | prefix | ...            from eight parts of it in turn
 *     places    | home, other, slot | ...                   computed in vectors
 *     staged    | 8 numbers | 8 numbers | ...  and a count of each bucket
 *     packed    eight slots of w bits, w bytes
 *
 * The slots that serve look-ups of short prefixes (segment.c) are staged before all others. Few prefixes find both
 * buckets full; these displace one other before the buckets are packed, or afterwards more, as additions do. Slots or
 * tags wider than 32 bits are set one by one.
 *
 * How many prefixes a segment is made for: directory.c.
 */
#include "segment.h"

#include <string.h>

#include "segment_parts.h"

/* Of the prefixes of a segment that is made, so many may find no slot at once. */
#define MOST_LATE   1024
#define MOST_SHORTS 64
/* Of 1,024 slots so many may be in use when a segment is made, and when it is made dense; entries with tags may be
   copies, which have fewer buckets to go to. */
#define MOST_LOAD         910
#define DENSE_LOAD        930
#define MOST_TAGGED_LOAD  850
#define DENSE_TAGGED_LOAD 870
/* And so many when as many prefixes are there as the segment was made for: nearly all that go in. */
#define FULL_LOAD 973
/* Buckets of segments that are staged; larger ones are rare. */
#define MOST_STAGED 1024

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Vectors do not unpack slots of 57 to 63 bits (search_unpacking.h), and pack_bucket packs none of 31. */
static unsigned quick_width(unsigned width)
{
    return width > 56 ? 64 : width == 31 ? 32 : width;
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

static unsigned most_load(struct segment_shape shape)
{
    if (shape.tag_width)
        return shape.dense ? DENSE_TAGGED_LOAD : MOST_TAGGED_LOAD;
    return shape.dense ? DENSE_LOAD : MOST_LOAD;
}

/* Whether there is room for so many slots in use now, and for those that are expected. */
static bool holds(const struct segment *segment, uint64_t used, uint64_t expected, struct segment_shape shape)
{
    const uint64_t slots = (uint64_t)segment->buckets * SLOTS;
    return used * 1024 <= slots * most_load(shape) && expected * 1024 <= slots * FULL_LOAD;
}

/* Of memory for so many prefixes: a size from which on it pays to look for one that holds them. */
static unsigned first_size(struct segment_shape shape, uint64_t count)
{
    uint64_t now = count * 1024 / (SLOTS * most_load(shape)) + 1;
    uint64_t later = shape.expected * 1024 / (SLOTS * FULL_LOAD) + 1, buckets = now > later ? now : later;
    unsigned position = shape.depth + highest_bit(buckets) + 1u;
    unsigned width = shape.longest + 2u > position + FEWEST_WIDTH ? shape.longest + 2u - position : FEWEST_WIDTH;
    uint64_t bytes = buckets * (width < 64 ? width : 64);
    return bytes < 1024 * MOST_BLOCKS ? rounded_size((unsigned)bytes) : 1024 * MOST_BLOCKS;
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

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

static void clear_staged(struct staged *staged, uint32_t buckets)
{
    memset(staged->slots.numbers, 0, buckets * sizeof *staged->slots.numbers);
    memset(staged->used, 0, buckets * sizeof *staged->used);
}

/* Two numbers at a time, which are never more than 64 bits with those before them that do not make a byte. Each word is
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
        word = word >> bits / 8 * 4 >> bits / 8 * 4; /* in two steps: it may be all 64 */
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
static ALWAYS_INLINE uint32_t stage(struct staged *staged, uint64_t place, uint32_t flag)
{
    uint32_t home = place & 0xffff, other = (uint32_t)place >> 16, slot = (uint32_t)(place >> 32);
    uint32_t used_home = staged->used[home], used_other = staged->used[other];
    uint32_t moves = 0u - (used_other < used_home);
    uint32_t bucket = home ^ ((home ^ other) & moves), used = used_home ^ ((used_home ^ used_other) & moves);
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

static __attribute__((noinline)) bool stage_later(struct staging *staging, uint64_t i)
{
    staging->others++;
    return come_later(staging->segment, &staging->late, staging->run, i, staging->allocator);
}

static ALWAYS_INLINE bool stage_item(struct staging *staging, uint64_t place, uint64_t i, uint32_t flag, bool has_tags)
{
    uint32_t slot = stage(&staging->staged, place, flag);
    if (__builtin_expect(slot == UINT32_MAX, 0))
        return stage_later(staging, i);
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
        else if (!stage_item(staging, packed_place(slot_place_of(staging->segment, prefix)), i, staging->flag,
                             has_tags))
            return false;
    }
    return true;
}

/* Prefixes come in the order of buckets, of which each would wait for the last to be counted: so from several parts of
   the run in turn. */
#define PARTS          8
#define PLACES_AT_ONCE 32

static ALWAYS_INLINE bool stage_quickly(struct staging *staging, uint64_t from, bool has_tags)
{
    const struct search_kernel *kernel = search_kernel_in_use();
    const uint64_t *prefixes = staging->run->prefixes, part = (staging->run->count - from) / PARTS;
    const uint32_t flag = staging->flag;
    uint64_t places[PARTS][PLACES_AT_ONCE];
    for (uint64_t done = 0, some; done < part; done += some) {
        some = part - done < PLACES_AT_ONCE ? part - done : PLACES_AT_ONCE;
        for (unsigned k = 0; k < PARTS; k++)
            kernel->locate(staging->segment, places[k], prefixes + from + k * part + done, some);
        for (uint64_t i = 0; i < some; i++)
            for (unsigned k = 0; k < PARTS; k++)
                if (!stage_item(staging, places[k][i], from + k * part + done + i, flag, has_tags))
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

/* The slots that serve look-ups of short prefixes, those first that cannot move. False where one found no room: nothing
   but the staging has changed then. */
static bool stage_index(struct staging *staging)
{
    struct segment *segment = staging->segment;
    struct slot_place place;
    uint32_t count = 0;
    for (unsigned movable = 0; movable <= 1; movable++)
        for (uint32_t i = 0; i < segment->short_count; i++)
            for (uint32_t from = 0; segment_next_piece(segment, segment->shorts[i], &from, &place);) {
                if (is_movable(segment, place.slot) != movable)
                    continue;
                if (stage(&staging->staged, packed_place(place), staging->flag) == UINT32_MAX)
                    return false;
                count++;
            }
    segment->used += count;
    return true;
}

/* Moves what is in some slot of a full bucket to the other bucket where it may lie, and says which slot that was; where
   none has room, any. */
static unsigned stage_move(struct staging *staging, uint32_t bucket)
{
    struct staged *staged = &staging->staged;
    for (unsigned i = 0; i < SLOTS; i++) {
        const uint32_t slot = staged->slots.numbers[bucket][i];
        if (!is_movable(staging->segment, slot))
            continue;
        const uint32_t to = way_out(staging->segment, bucket, slot), used = staged->used[to];
        if (used == SLOTS)
            continue;
        staged->slots.numbers[to][used] = slot ^ staging->flag;
        if (staging->tags)
            staging->tags->numbers[to][used] = staging->tags->numbers[bucket][i];
        staged->used[to] = (uint8_t)(used + 1);
        return i;
    }
    return SLOTS;
}

/* In place of what moved, if something can. */
static bool stage_by_move(struct staging *staging, uint64_t item)
{
    const struct slot_place place = slot_place_of(staging->segment, staging->run->prefixes[item]);
    for (unsigned other = 0; other < 2; other++) {
        uint32_t bucket = other ? place.other : place.home;
        unsigned i = stage_move(staging, bucket);
        if (i == SLOTS)
            continue;
        staging->staged.slots.numbers[bucket][i] = (uint32_t)place.slot | (other ? staging->flag : 0);
        if (staging->tags)
            staging->tags->numbers[bucket][i] =
                (uint32_t)pack_tag(staging->run->tags[item], staging->segment->number_bits);
        return true;
    }
    return false;
}

/* What cannot be staged so stays late. */
static void stage_late(struct staging *staging)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < staging->late.count; i++) {
        staging->late.items[left] = staging->late.items[i];
        left += !stage_by_move(staging, staging->late.items[i]);
    }
    staging->segment->used += staging->late.count - left;
    staging->segment->prefixes += staging->late.count - left;
    staging->late.count = left;
}

static ALWAYS_INLINE void fill_slot(const struct segment *segment, struct lane lane, uint32_t bucket, unsigned index,
                                    uint64_t number)
{
    packed_fill(bucket_in(segment, lane, bucket), lane.width, index, number);
}

/* Most find a slot in one of their buckets at once, whose slots are counted instead of searched. The rest then has to
   displace others. */
static bool place_all(struct segment *segment, const struct prefix_run *run, const roost_allocator *allocator)
{
    uint8_t used[MOST_BUCKETS];
    struct latecomers late = {.count = 0};
    const struct segment shape = *segment; /* which does not change with every slot that is written */
    const uint64_t flag = in_other_bucket(&shape);
    uint32_t placed = 0;
    for (uint32_t bucket = 0; bucket < shape.buckets; bucket++)
        used[bucket] = shape.used ? (uint8_t)used_slots(segment, bucket) : 0;
    for (uint64_t i = 0; i < run->count; i++) {
        const struct prefix_entry entry = entry_of(run, i);
        if (is_short(&shape, entry.prefix))
            continue;
        const struct slot_place place = slot_place_of(&shape, entry.prefix);
        const uint32_t moves = 0u - (used[place.other] < used[place.home]);
        const uint32_t bucket = place.home ^ ((place.home ^ place.other) & moves);
        if (used[bucket] == SLOTS) {
            if (!come_later(segment, &late, run, i, allocator))
                return false;
            continue;
        }
        fill_slot(segment, shape.slots, bucket, used[bucket], place.slot | (moves ? flag : 0));
        if (shape.tags.width)
            fill_slot(segment, shape.tags, bucket, used[bucket], pack_tag(entry.tag, shape.number_bits));
        used[bucket]++;
        placed++;
    }
    segment->used += placed;
    segment->prefixes += placed;
    return place_late(segment, run, &late, allocator);
}

static bool index_shorts(struct segment *segment)
{
    for (unsigned movable = 0; movable <= 1; movable++)
        for (uint32_t i = 0; i < segment->short_count; i++)
            if (!segment_index_short(segment, segment->shorts[i], movable))
                return false;
    return true;
}

static bool place_unstaged(struct segment *segment, const struct prefix_run *run, const roost_allocator *allocator)
{
    return index_shorts(segment) && place_all(segment, run, allocator);
}

/* The same for the segments that nearly all are. */
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
    clear_staged(&staging.staged, segment->buckets);
    if (segment->short_count && !stage_index(&staging))
        return place_unstaged(segment, run, allocator);
    if (!(tags ? stage_run(&staging, true) : stage_run(&staging, false)))
        return false;
    stage_late(&staging);
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

static bool place_run(struct segment *segment, const struct prefix_run *run, bool has_shorts,
                      const roost_allocator *allocator)
{
    if (segment->slots.width > 32 || segment->tags.width > 32 || segment->buckets > MOST_STAGED)
        return place_unstaged(segment, run, allocator);
    return segment->tags.width ? place_staged_tags(segment, run, has_shorts, allocator)
                               : place_staged(segment, run, has_shorts, NULL, allocator);
}

static bool fill(struct segment *segment, const struct prefix_run *run, const struct short_prefixes *shorts,
                 const roost_allocator *allocator)
{
    if (shorts->count && !part_shorts(segment, run, shorts, allocator))
        return false;
    sort_prefixes(segment->shorts, segment->short_count);
    segment->prefixes += segment->short_count;
    return place_run(segment, run, shorts->any, allocator);
}

/* Those that are short in a segment of this shape, of the first `count`. Returns how many slots they take there. */
static uint64_t find_shorts(const struct segment *shape, const uint64_t *prefixes, uint64_t count,
                            struct short_prefixes *shorts)
{
    const unsigned depth = shape->depth, place_bits = shape->place_bits;
    uint64_t slots = count;
    for (uint64_t i = 0; i < count; i++)
        if (__builtin_expect(prefixes[i] << depth << place_bits == 0, 0)) {
            slots += segment_count_pieces(shape, prefixes[i]) - 1;
            if (shorts->count < MOST_SHORTS)
                shorts->some[shorts->count] = prefixes[i];
            shorts->count++;
        }
    return slots;
}

struct segment *segment_new(struct segment_shape shape, const struct prefix_run *run, const roost_allocator *allocator)
{
    for (unsigned bytes = first_size(shape, run->count); bytes <= 1024 * MOST_BLOCKS; bytes = rounded_size(bytes + 1)) {
        struct segment planned = {.depth = shape.depth, .start = shape.start, .number_bits = shape.number_bits};
        struct short_prefixes shorts;
        shorts.count = 0;
        if (!shape_slots(&planned, shape.longest, bytes) || !holds(&planned, run->count, shape.expected, shape))
            continue;
        shorts.any = shape.shortest < shape.depth + planned.place_bits;
        uint64_t checked = shorts.any ? run->count : run->listed;
        uint64_t slots = find_shorts(&planned, run->prefixes, checked, &shorts) + run->count - checked;
        if (!shape.tag_width && !holds(&planned, slots, shape.expected + (slots - run->count), shape))
            continue;
        planned.short_count = shape.tag_width ? 0 : (uint32_t)shorts.count;
        shape_tags(&planned, shape.tag_width);
        struct segment *segment = segment_allocate_like(&planned, allocator);
        if (!segment)
            return NULL;
        if (fill(segment, run, &shorts, allocator))
            return segment;
        segment_free(segment, allocator);
    }
    return NULL;
}
