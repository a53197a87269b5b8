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
 * whether the two differ only below twice that bit. An empty slot is 0, which matches nothing. The slots of a bucket are
 * in use from the first on, so that the last one tells whether it is full.
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
 * Copies share. A copy of a table takes the segments of the original, which then count their sharers; a table that wants
 * to change a segment with others makes a copy of it first. So a copy of a filter costs a pointer for each segment, and
 * two that have a history in common have most of their memory in common. The tables may be in different threads: nobody
 * writes to a segment while it has sharers, but for their number.
 *
 * What the list of short prefixes names is not in slots, and what is in slots and covered by that list is index, since
 * nothing else can be covered. Segments with tags have no such list: their short prefixes are in the crowd of the table
 * (tagged.c), as is what finds no slot.
 */
#include "segment.h"

#include <stddef.h>
#include <string.h>

#include "crowd.h"
#include "search.h"
#include "segment_parts.h"

/* Buckets that are asked for room before a segment counts as full. */
#define MOST_ASKED 32
/* Two segments are compared bucket by bucket unless more than this part of their buckets differ. */
#define UNLIKE_OF 4
/* Places into which the prefixes of a segment are counted to list them. */
#define LIST_PLACES 8192

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static size_t bytes_of_block(const struct segment *segment, unsigned i)
{
    if (i + 1u == segment->block_count && segment->tags.width)
        return segment->last_tags;
    unsigned slot_blocks = segment->tags.width ? segment->tags.first : segment->block_count;
    return i + 1 == slot_blocks ? segment->last_slots : FULL_BLOCK;
}

/* The memory of a segment that others have, too. */
static void count_memory(struct segment *segment, void *context, memory_counter *count, bool more)
{
    if (!count)
        return;
    for (unsigned i = 0; i < segment->block_count; i++)
        count(context, segment->blocks[i], more);
    if (segment->shorts)
        count(context, segment->shorts, more);
    if (segment->spill)
        count(context, segment->spill, more);
    count(context, segment, more);
}

/* Once this table does not count as one that has the segment, another one may free it: so its memory is counted before.
   Others may leave meanwhile. */
static bool is_last_to_leave(struct segment *segment, void *context, memory_counter *count)
{
    if (!segment_is_shared(segment))
        return true;
    count_memory(segment, context, count, false);
    if (atomic_fetch_sub_explicit(&segment->sharers, 1, memory_order_acq_rel) != 0)
        return false;
    count_memory(segment, context, count, true);
    return true;
}

void segment_leave(struct segment *segment, const roost_allocator *allocator, memory_counter *count)
{
    if (segment && is_last_to_leave(segment, allocator->context, count))
        segment_free(segment, allocator);
}

void segment_free(struct segment *segment, const roost_allocator *allocator)
{
    for (unsigned i = 0; i < segment->block_count; i++)
        memory_release(allocator, segment->blocks[i]);
    memory_release(allocator, segment->shorts);
    memory_release(allocator, segment->spill);
    memory_release(allocator, segment);
}

void segment_share(struct segment *segment, const roost_allocator *allocator, memory_counter *count)
{
    count_memory(segment, allocator->context, count, true);
    atomic_fetch_add_explicit(&segment->sharers, 1, memory_order_relaxed);
}

/* Their number may change meanwhile. */
static void copy_all_but_sharers(struct segment *copy, const struct segment *segment)
{
    const size_t before = offsetof(struct segment, sharers), after = before + sizeof segment->sharers;
    memcpy(copy, segment, before);
    memcpy((char *)copy + after, (const char *)segment + after, sizeof *segment - after);
}

/* An empty segment of this shape. */
struct segment *segment_allocate_like(const struct segment *shape, const roost_allocator *allocator)
{
    size_t pointers = shape->block_count * sizeof *shape->blocks;
    struct segment *segment = memory_allocate(allocator, sizeof *segment + pointers);
    if (!segment)
        return NULL;
    copy_all_but_sharers(segment, shape);
    segment->used = segment->prefixes = segment->short_count = segment->spill_count = segment->spill_room = 0;
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
    struct segment *copy = segment_allocate_like(segment, allocator);
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
    if (copy->spill)
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

/* Empties a slot; what is in the last one takes its place. */
static void clear_slot(struct segment *segment, uint32_t bucket, unsigned index)
{
    unsigned last = highest_bit(used_in(segment, slots_of(segment, bucket)));
    set_slot(segment, bucket, index, slot_at(segment, bucket, last), tag_at(segment, bucket, last));
    set_slot(segment, bucket, last, 0, 0);
    segment->used--;
    segment->prefixes--;
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
   it is. Buckets are filled from the first slot on, so the masks of their slots are in the order of how many there
   are. */
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

bool segment_put_by_moves(struct segment *segment, struct slot_place place, uint64_t tag)
{
    bool found = put_by_moves(segment, place, pack_tag(tag, segment->number_bits));
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

uint64_t segment_count_pieces(const struct segment *segment, uint64_t prefix)
{
    uint64_t count = 0;
    for (struct offsets rest = offsets_of(segment, prefix); rest.from < rest.to; count++)
        rest.from = first_piece(rest).to;
    return count;
}

bool segment_next_piece(const struct segment *segment, uint64_t prefix, uint32_t *from, struct slot_place *place)
{
    struct offsets rest = offsets_of(segment, prefix), piece;
    for (rest.from = rest.from > *from ? rest.from : *from; rest.from < rest.to; rest.from = piece.to) {
        piece = first_piece(rest);
        if (is_unused(segment, piece))
            continue;
        uint64_t slot = index_slot(segment, piece);
        uint32_t home = piece.from >> OFFSET_BITS;
        *place = (struct slot_place){home, is_movable(segment, slot) ? way_out(segment, home, slot) : home, slot};
        *from = piece.to;
        return true;
    }
    return false;
}

/* Those that cannot move go first, when their home buckets have room, and the others later. */
bool segment_index_short(struct segment *segment, uint64_t prefix, bool movable)
{
    struct slot_place place;
    for (uint32_t from = 0; segment_next_piece(segment, prefix, &from, &place);) {
        if (is_movable(segment, place.slot) != movable || put_if_room(segment, place.home, place.slot, 0))
            continue;
        if (!movable || segment->buckets == 1)
            return false;
        if (!put_if_room(segment, place.other, place.slot | in_other_bucket(segment), 0) &&
            !put_by_moves(segment, place, 0))
            return false;
    }
    return true;
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
    if (prefix_length(prefix) >
        longest_in_slots(segment)) /* its mark is beyond the slot: as far as slots go it is a hash */
        return segment_contains(segment, prefix);
    return bucket_covers(segment, place.home, place.slot) ||
           (place.other != place.home && bucket_covers(segment, place.other, place.slot | in_other_bucket(segment)));
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
        run->count = search_kernel_in_use()->decode_tagged(segment, (struct bucket_range){0, segment->buckets},
                                                           run->prefixes, run->tags);
    else
        run->count = run->listed + decode(segment, run->prefixes + run->listed, NULL);
}

/* What serves look-ups only looks like a prefix that ends with the offset: unless such are wanted, none of these is
   decoded. */
uint64_t segment_positions(const struct segment *segment, uint64_t *positions, uint64_t ends)
{
    const unsigned bits = (unsigned)segment->depth + segment->place_bits;
    const uint64_t like_index = bits < 64 ? UINT64_C(1) << (63 - bits) : 0;
    if (segment_is_continued(segment))
        return 0;
    uint64_t listed = keep_positions(positions, gather_lists(segment, positions), ends);
    if (!segment->short_count || !(ends & like_index))
        return listed + search_kernel_in_use()->decode_positions(segment, positions + listed, ends);
    return listed + keep_positions(positions + listed, decode(segment, positions + listed, NULL), ends);
}

/* Eight numbers of one width. */
static bool are_equal(const uint8_t *bucket, const uint8_t *other, unsigned width)
{
    uint64_t difference = 0;
    if (width < 8)
        return memcmp(bucket, other, width) == 0;
    for (unsigned i = 0; i < width - 8; i += 8)
        difference |= load_word(bucket + i) ^ load_word(other + i);
    return (difference | (load_word(bucket + width - 8) ^ load_word(other + width - 8))) == 0;
}

static bool have_one_layout(const struct segment *segment, const struct segment *other)
{
    return segment->start == other->start && segment->depth == other->depth && segment->buckets == other->buckets &&
           segment->slots.width == other->slots.width && segment->tags.width == other->tags.width &&
           segment->number_bits == other->number_bits;
}

/* What is in slots of one bucket and not in the same slots of another segment, but for what serves look-ups only. */
static void gather_bucket(const struct segment *segment, const struct segment *other, uint32_t bucket,
                          struct prefix_run *run)
{
    const uint64_t inverse = inverse_of(segment), rest = low_bits(rest_bits_of(segment));
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t slot = slot_at(segment, bucket, i), tag = tag_at(segment, bucket, i);
        if ((slot & rest) == 0 || (slot == slot_at(other, bucket, i) && tag == tag_at(other, bucket, i)))
            continue;
        uint64_t prefix = prefix_in_slot(segment, inverse, bucket, slot);
        if (run->tags)
            run->tags[run->count] = unpack_tag(tag, segment->number_bits);
        else if (is_index(segment, prefix))
            continue;
        run->prefixes[run->count++] = prefix;
    }
}

static bool every_listed(const uint64_t *prefixes, uint32_t count, prefix_test *test, const void *context)
{
    for (uint32_t i = 0; i < count; i++)
        if (!test(context, prefixes[i]))
            return false;
    return true;
}

static bool every_in_bucket(const struct segment *segment, uint32_t bucket, prefix_test *test, const void *context)
{
    const uint64_t inverse = inverse_of(segment), rest = low_bits(rest_bits_of(segment));
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t slot = slot_at(segment, bucket, i);
        if ((slot & rest) == 0)
            continue;
        uint64_t prefix = prefix_in_slot(segment, inverse, bucket, slot);
        if (!is_index(segment, prefix) && !test(context, prefix))
            return false;
    }
    return true;
}

bool segment_every(const struct segment *segment, prefix_test *test, const void *context)
{
    bool holds = every_listed(segment->shorts, segment->short_count, test, context) &&
                 every_listed(segment->spill, segment->spill_count, test, context);
    for (uint32_t bucket = 0; holds && bucket < segment->buckets; bucket++)
        holds = every_in_bucket(segment, bucket, test, context);
    return holds;
}

static bool have_equal_tags(const struct segment *segment, const struct segment *other, uint32_t bucket)
{
    return !segment->tags.width || are_equal(bucket_in(segment, segment->tags, bucket),
                                             bucket_in(other, other->tags, bucket), segment->tags.width);
}

bool segment_gather_unlike(const struct segment *segment, const struct segment *other, struct prefix_run *run)
{
    const unsigned width = segment->slots.width;
    uint32_t unlike = 0, bucket = 0, most = segment->buckets / UNLIKE_OF;
    if (!have_one_layout(segment, other))
        return false;
    run->count = run->listed = gather_lists(segment, run->prefixes);
    for (unsigned block = 0; bucket < segment->buckets && unlike <= most; block++) {
        const uint8_t *slots = segment->blocks[block], *others = other->blocks[block];
        uint32_t left = segment->buckets - bucket, per_block = segment->slots.per_block;
        uint32_t end = bucket + (left < per_block ? left : per_block);
        for (; bucket < end; bucket++, slots += width, others += width)
            if (!are_equal(slots, others, width) || !have_equal_tags(segment, other, bucket)) {
                gather_bucket(segment, other, bucket, run);
                unlike++;
            }
    }
    return unlike <= most;
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
    const unsigned buckets = place.home != place.other ? 2 : 1;
    uint32_t count = 0;
    for (unsigned other = 0; other < buckets; other++) {
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
    clear_slot(segment, found.bucket, found.index);
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

#define BUCKETS_AT_ONCE (ENTRIES_OF_SEGMENT_NEXT / SLOTS)

static struct bucket_range next_buckets(const struct segment *segment, uint32_t *position)
{
    uint32_t from = *position, left = segment->buckets - from;
    *position += left < BUCKETS_AT_ONCE ? left : BUCKETS_AT_ONCE;
    return (struct bucket_range){from, *position};
}

uint32_t segment_next(const struct segment *segment, uint32_t *position, struct prefix_entry *entries)
{
    uint64_t prefixes[ENTRIES_OF_SEGMENT_NEXT + DECODED_AT_ONCE], tags[ENTRIES_OF_SEGMENT_NEXT + DECODED_AT_ONCE];
    uint64_t count = 0;
    while (count == 0 && *position < segment->buckets)
        count = search_kernel_in_use()->decode_tagged(segment, next_buckets(segment, position), prefixes, tags);
    for (uint64_t i = 0; i < count; i++)
        entries[i] = (struct prefix_entry){prefixes[i], tags[i]};
    return (uint32_t)count;
}

uint32_t segment_next_tags(const struct segment *segment, uint32_t *position, uint64_t *tags)
{
    uint64_t count = 0;
    while (count == 0 && *position < segment->buckets)
        count = search_kernel_in_use()->decode_tags(segment, next_buckets(segment, position), tags);
    return (uint32_t)count;
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

static uint32_t remove_from_bucket(struct segment *segment, uint32_t bucket, uint64_t slot, uint64_t *removed)
{
    uint32_t count = 0;
    for (unsigned i = SLOTS; i-- > 0;) { /* what takes the place of another was looked at before */
        uint64_t held = slot_at(segment, bucket, i);
        if (held && covers_prefix(slot, held)) {
            removed[count++] = prefix_in_slot(segment, inverse_of(segment), bucket, held);
            clear_slot(segment, bucket, i);
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
            if (slot && i > 0 && !slot_at(segment, bucket, i - 1))
                return false;
            if (slot && !slot_is_sound(segment, bucket, slot))
                return false;
            if (segment->tags.width && !slot != !tag_at(segment, bucket, i))
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
