/*
 * A map from hash prefixes to slots of time: what a growing window holds.
 *
 * A window that grows remembers, of each element, the leading bits of its hash and the *latest* slot in which it came.
 * So the state is a map, prefix -> slot, whose values only rise; merge takes the larger slot of each prefix. How many
 * slots a window is cut in changes nothing about how often it errs: an element that never came is found if its prefix
 * is that of one of n entries, with probability n / 2^bits. With 60 bits that is one in 10^11 for ten million entries.
 *
 * A word an entry, and one place in memory a question:
 *
 *     63                                  tag_bits          0
 *     | mixed prefix (`bits`; above it zeros) | tag of slot |        0: empty
 *
 * The tag of slot s is s modulo M, plus 1, M = 2^tag_bits - 2; the last value marks a *reservation*, an entry that is
 * about to come. A segment states the newest and the oldest slot that it may hold, less than M apart, so a tag names
 * one slot. M is at least twice the number of slots that are remembered: forgotten entries may stay for a whole window
 * before they have to be swept out. Whoever reads an entry compares its slot, so sweeping is never urgent.
 *
 * Words are kept in *segments* of up to 4,096 homes. Which one is decided by the leading bits of the mixed prefix, by
 * way of a directory (extendible hashing: Fagin, Nievergelt, Pippenger, Strong, 1979); a full segment grows, and at last
 * splits in two. So growing never touches more than 64 kB at once, however large the table. Within a segment the mixed
 * prefix, scaled to the number of homes, says where an entry would like to be; it is there or to the right of it, and
 * all entries of a segment are in ascending order (ordered hash tables: Amble and Knuth, 1974), which ends a search in
 * vain early. Behind the last home there is a margin for those that are pushed past it; its last word stays empty.
 *
 *     homes      0     1     2     3     4     5     6     7   | margin
 *     words      03    -     21    24    29    -     5c    70  | 7e  -  -  -        segment of 8, prefixes of 8 bits
 *
 * Mixing keeps those who choose prefixes, in keys or in forged frames, from filling one segment: a bijection of two
 * multiplications by numbers that each replica draws for itself. Where entries lie is therefore no part of the state.
 *
 * A failed call changes nothing: memory is had first, by growing segments and by reservations, which nobody sees.
 */
#include "recent.h"

#include <assert.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/random.h"

#define FEWEST_HOMES   16
#define MOST_HOMES     4096
#define MARGIN         64
#define GARBAGE_SHARE  4 /* forgotten entries are swept once they are more than one in so many */
#define FEWEST_GARBAGE 64
#define WORD_BITS      64

static uint64_t nothing[1]; /* the words of a segment that has none; nobody writes here */

/* ---- words ----------------------------------------------------------------------------------------------------- */

static uint32_t bits_for_tags(uint32_t past)
{
    uint32_t bits = 2;
    while ((1u << bits) - 2 < 2 * (past + 2))
        bits++;
    return bits;
}

uint32_t recent_most_bits(uint32_t past)
{
    return WORD_BITS - bits_for_tags(past);
}

static uint64_t tag_mask(const struct recent *recent)
{
    return (UINT64_C(1) << recent->tag_bits) - 1;
}

/* M of the essay. */
static uint64_t tags(const struct recent *recent)
{
    return tag_mask(recent) - 1;
}

static uint64_t tag_of(const struct recent *recent, uint64_t slot)
{
    return slot == recent->newest ? recent->newest_tag : slot % tags(recent) + 1;
}

static bool is_reservation(const struct recent *recent, uint64_t word)
{
    return (word & tag_mask(recent)) == tag_mask(recent);
}

static uint64_t slot_of(const struct recent *recent, const struct recent_segment *segment, uint64_t word)
{
    uint64_t newest = tag_of(recent, segment->newest), tag = word & tag_mask(recent);
    return segment->newest - (newest >= tag ? newest - tag : newest + tags(recent) - tag);
}

/* ---- mixing ---------------------------------------------------------------------------------------------------- */

static uint64_t prefix_mask(const struct recent *recent)
{
    return ~UINT64_C(0) >> (WORD_BITS - recent->bits);
}

/* A shift by at least half of the bits undoes itself. */
static uint64_t fold(const struct recent *recent, uint64_t number)
{
    return number ^ number >> (recent->bits + 1) / 2;
}

static uint64_t mix(const struct recent *recent, uint64_t prefix)
{
    uint64_t mask = prefix_mask(recent);
    uint64_t mixed = fold(recent, prefix * recent->multipliers[0] & mask);
    return fold(recent, mixed * recent->multipliers[1] & mask);
}

static uint64_t unmix(const struct recent *recent, uint64_t mixed)
{
    uint64_t mask = prefix_mask(recent);
    uint64_t number = fold(recent, mixed) * recent->inverses[1] & mask;
    return fold(recent, number) * recent->inverses[0] & mask;
}

/* Newton's iteration doubles the bits that are right, from three on. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t guess = odd;
    for (unsigned i = 0; i < 5; i++)
        guess *= 2 - odd * guess;
    return guess;
}

static void draw_multipliers(struct recent *recent, uint64_t luck)
{
    struct random_source random = random_from_seed(luck);
    for (unsigned i = 0; i < 2; i++) {
        recent->multipliers[i] = random_next(&random) | 1;
        recent->inverses[i] = inverse(recent->multipliers[i]);
    }
}

/* ---- segments -------------------------------------------------------------------------------------------------- */

static inline uint64_t mixed_of(const struct recent *recent, uint64_t word)
{
    return word >> recent->tag_bits;
}

static inline uint64_t directory_index(const struct recent *recent, uint64_t mixed)
{
    return recent->depth ? mixed >> (recent->bits - recent->depth) : 0;
}

static inline struct recent_segment *segment_of(const struct recent *recent, uint64_t mixed)
{
    return &recent->segments[recent->directory ? recent->directory[directory_index(recent, mixed)] : 0];
}

static inline uint64_t home_of(const struct recent *recent, uint64_t mixed, uint32_t depth, uint32_t room)
{
    return scale_to_range(mixed << (WORD_BITS - recent->bits) << depth, room);
}

static size_t words_of(uint32_t room)
{
    return (size_t)room + (room < MARGIN ? room : MARGIN) + 1;
}

/* Where the entry is, or would be. */
static inline uint64_t place_of(const struct recent *recent, const struct recent_segment *segment, uint64_t mixed)
{
    uint64_t at = home_of(recent, mixed, segment->depth, segment->room);
    while (segment->words[at] && mixed_of(recent, segment->words[at]) < mixed)
        at++;
    return at;
}

static inline bool is_at(const struct recent *recent, const struct recent_segment *segment, uint64_t at, uint64_t mixed)
{
    return segment->words[at] && mixed_of(recent, segment->words[at]) == mixed;
}

static void *take(struct recent *recent, size_t size, roost_status *status)
{
    uint64_t taken = recent->bytes + recent->beside;
    if (taken > recent->environment->memory_limit || size > recent->environment->memory_limit - taken) {
        *status = ROOST_TOO_LARGE;
        return NULL;
    }
    void *memory = memory_allocate(&recent->environment->allocator, size);
    *status = memory ? ROOST_OK : ROOST_NO_MEMORY;
    if (memory)
        recent->bytes += size;
    return memory;
}

static void give_back(struct recent *recent, void *memory, size_t size)
{
    if (!memory)
        return;
    memory_release(&recent->environment->allocator, memory);
    recent->bytes -= size;
}

static void release_words(struct recent *recent, struct recent_segment *segment)
{
    if (segment->room)
        give_back(recent, segment->words, words_of(segment->room) * sizeof *segment->words);
    segment->words = nothing;
    segment->room = 0;
}

/* Puts words, which ascend, into an array of zeros; false where they run out of the margin. */
static bool lay_out(const struct recent *recent, struct recent_segment *segment, const uint64_t *words, size_t size)
{
    uint64_t free = 0, end = words_of(segment->room) - 1;
    segment->count = 0;
    for (size_t i = 0; i < size; i++) {
        if (!words[i])
            continue;
        uint64_t at = home_of(recent, mixed_of(recent, words[i]), segment->depth, segment->room);
        at = at > free ? at : free;
        if (at >= end)
            return false;
        segment->words[at] = words[i];
        segment->count++;
        free = at + 1;
    }
    return true;
}

/* A twin of a segment with some of its words, in at least so many homes. */
static roost_status build(struct recent *recent, struct recent_segment *twin, uint32_t room, const uint64_t *words,
                          size_t size)
{
    roost_status status;
    for (;; room += room / 4) {
        twin->room = room;
        twin->words = take(recent, words_of(room) * sizeof *twin->words, &status);
        if (!twin->words || lay_out(recent, twin, words, size))
            return status;
        release_words(recent, twin);
    }
}

static roost_status resize(struct recent *recent, struct recent_segment *segment, uint32_t room)
{
    struct recent_segment twin = *segment;
    roost_status status = build(recent, &twin, room, segment->words, words_of(segment->room));
    if (status != ROOST_OK)
        return status;
    release_words(recent, segment);
    *segment = twin;
    return ROOST_OK;
}

static uint32_t most_words(const struct recent_segment *segment)
{
    return segment->room - segment->room / 8;
}

/* Homes for so many entries, and about three in ten more. */
static uint32_t room_for(uint64_t count)
{
    uint64_t room = (count * 10 / 7 + FEWEST_HOMES) / FEWEST_HOMES * FEWEST_HOMES;
    return (uint32_t)room;
}

static uint32_t next_room(uint32_t room)
{
    return room < FEWEST_HOMES    ? FEWEST_HOMES
           : room < MOST_HOMES / 2 ? room * 2
           : room < MOST_HOMES     ? room + MOST_HOMES / 5
                                   : room + room / 4;
}

/* ---- sweeping -------------------------------------------------------------------------------------------------- */

static void shrink(struct recent *recent, struct recent_segment *segment)
{
    if (segment->count == 0)
        release_words(recent, segment);
    else if (segment->room > FEWEST_HOMES && segment->count < segment->room / 4)
        (void)!resize(recent, segment, room_for(segment->count));
}

/* Drops what is older than `floor`; everything moves to the left, if at all, so it is done in place. */
static void sweep(struct recent *recent, struct recent_segment *segment, uint64_t floor, bool reservations)
{
    uint64_t free = 0;
    uint32_t kept = 0;
    size_t size = words_of(segment->room);
    for (size_t i = 0; i < size; i++) {
        uint64_t word = segment->words[i];
        if (!word)
            continue;
        segment->words[i] = 0;
        if (is_reservation(recent, word) ? reservations : slot_of(recent, segment, word) < floor)
            continue;
        uint64_t at = home_of(recent, mixed_of(recent, word), segment->depth, segment->room);
        at = at > free ? at : free;
        segment->words[at] = word;
        free = at + 1;
        kept++;
    }
    recent->words -= segment->count - kept;
    segment->count = kept;
    if (reservations)
        segment->reserved = 0;
    if (segment->oldest < floor)
        segment->oldest = floor;
    if (segment->newest < floor)
        segment->newest = floor;
}

static bool has_forgotten(const struct recent *recent, const struct recent_segment *segment)
{
    return segment->count > 0 && segment->oldest < recent_floor(recent, recent->newest);
}

void recent_tidy(struct recent *recent, uint32_t segments)
{
    uint64_t enough = recent->live + recent->live / GARBAGE_SHARE + FEWEST_GARBAGE;
    for (; segments > 0 && recent->words > enough; segments--) {
        struct recent_segment *segment = &recent->segments[recent->next];
        recent->next = (recent->next + 1) % recent->count;
        if (!has_forgotten(recent, segment) || segment->reserved)
            continue;
        sweep(recent, segment, recent_floor(recent, recent->newest), false);
        shrink(recent, segment);
    }
}

/* ---- growing --------------------------------------------------------------------------------------------------- */

static roost_status double_directory(struct recent *recent)
{
    roost_status status;
    size_t size = (size_t)1 << recent->depth;
    uint32_t *directory = take(recent, 2 * size * sizeof *directory, &status);
    if (!directory)
        return status;
    for (size_t i = 0; i < size; i++)
        directory[2 * i] = directory[2 * i + 1] = recent->directory ? recent->directory[i] : 0;
    if (recent->directory)
        give_back(recent, recent->directory, size * sizeof *directory);
    recent->directory = directory;
    recent->depth++;
    return ROOST_OK;
}

static roost_status reserve_segment(struct recent *recent)
{
    roost_status status;
    if (recent->count < recent->room)
        return ROOST_OK;
    uint32_t room = recent->room ? recent->room * 2 : 1;
    struct recent_segment *segments = take(recent, room * sizeof *segments, &status);
    if (!segments)
        return status;
    if (recent->count)
        memcpy(segments, recent->segments, recent->count * sizeof *segments);
    give_back(recent, recent->segments, recent->room * sizeof *segments);
    recent->segments = segments;
    recent->room = room;
    return ROOST_OK;
}

/* Words from this one on have the bit after the first `depth` set. */
static size_t middle_of(const struct recent *recent, const struct recent_segment *segment)
{
    size_t middle = 0, size = words_of(segment->room);
    uint64_t bit = UINT64_C(1) << (recent->bits - segment->depth - 1);
    while (middle < size && !(segment->words[middle] && mixed_of(recent, segment->words[middle]) & bit))
        middle++;
    return middle;
}

static uint32_t count_reservations(const struct recent *recent, const struct recent_segment *segment)
{
    uint32_t count = 0;
    for (size_t i = 0; segment->reserved && i < words_of(segment->room); i++)
        count += segment->words[i] && is_reservation(recent, segment->words[i]);
    return count;
}

/* The upper half of what the directory says of a segment goes to the last one. */
static void enter_last_segment(struct recent *recent, uint64_t mixed, uint32_t depth)
{
    uint64_t entries = UINT64_C(1) << (recent->depth - depth);
    uint64_t first = directory_index(recent, mixed) & ~(entries - 1);
    for (uint64_t i = entries / 2; i < entries; i++)
        recent->directory[first + i] = recent->count - 1;
}

/* The one that this entry is in. */
static roost_status split(struct recent *recent, uint64_t mixed)
{
    roost_status status = reserve_segment(recent);
    if (status == ROOST_OK && segment_of(recent, mixed)->depth == recent->depth)
        status = double_directory(recent);
    if (status != ROOST_OK)
        return status;
    struct recent_segment *segment = segment_of(recent, mixed), low = *segment, high = *segment;
    size_t middle = middle_of(recent, segment), size = words_of(segment->room);
    low.depth = high.depth = segment->depth + 1;
    uint32_t room = room_for(segment->count / 2);
    status = build(recent, &low, room, segment->words, middle);
    if (status != ROOST_OK)
        return status;
    status = build(recent, &high, room, segment->words + middle, size - middle);
    if (status != ROOST_OK) {
        release_words(recent, &low);
        return status;
    }
    low.reserved = count_reservations(recent, &low);
    high.reserved = count_reservations(recent, &high);
    release_words(recent, segment);
    uint32_t depth = segment->depth;
    *segment = low;
    recent->segments[recent->count++] = high;
    enter_last_segment(recent, mixed, depth);
    return ROOST_OK;
}

/* With luck that runs out, or prefixes of few bits, a segment becomes larger than most instead. */
static bool may_split(const struct recent *recent, const struct recent_segment *segment)
{
    return segment->depth < recent->bits - 1 &&
           (segment->depth < recent->depth || (UINT64_C(1) << recent->depth) <= UINT64_C(8) * recent->count);
}

static roost_status first_segment(struct recent *recent)
{
    roost_status status = reserve_segment(recent);
    if (status == ROOST_OK && recent->count == 0)
        recent->segments[recent->count++] = (struct recent_segment){.words = nothing};
    return status;
}

/* More room where this entry goes. What is forgotten makes room first, if it is much. */
static roost_status grow(struct recent *recent, uint64_t mixed)
{
    struct recent_segment *segment = segment_of(recent, mixed);
    if (has_forgotten(recent, segment)) {
        sweep(recent, segment, recent_floor(recent, recent->newest), false);
        if (segment->count < most_words(segment) - most_words(segment) / 4)
            return ROOST_OK;
    }
    uint32_t room = next_room(segment->room);
    return room > MOST_HOMES && may_split(recent, segment) ? split(recent, mixed) : resize(recent, segment, room);
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

bool recent_find(const struct recent *recent, uint64_t prefix, uint64_t *slot)
{
    if (recent->count == 0)
        return false;
    uint64_t mixed = mix(recent, prefix);
    const struct recent_segment *segment = segment_of(recent, mixed);
    uint64_t at = place_of(recent, segment, mixed);
    if (!is_at(recent, segment, at, mixed) || is_reservation(recent, segment->words[at]))
        return false;
    *slot = slot_of(recent, segment, segment->words[at]);
    return *slot >= recent_floor(recent, recent->newest);
}

void recent_prefetch(const struct recent *recent, uint64_t prefix)
{
    if (recent->count == 0)
        return;
    uint64_t mixed = mix(recent, prefix);
    const struct recent_segment *segment = segment_of(recent, mixed);
    const uint64_t *home = segment->words + home_of(recent, mixed, segment->depth, segment->room);
    __builtin_prefetch(home, 1);
    __builtin_prefetch(home + CACHE_LINE / sizeof *home, 1);
}

/* A word where there is none of its prefix, if there is room. */
static bool insert(struct recent *recent, struct recent_segment *segment, uint64_t at, uint64_t word)
{
    uint64_t free = at, end = words_of(segment->room) - 1;
    if (segment->count >= most_words(segment))
        return false;
    while (segment->words[free])
        free++;
    if (free >= end)
        return false;
    memmove(segment->words + at + 1, segment->words + at, (free - at) * sizeof *segment->words);
    segment->words[at] = word;
    segment->count++;
    recent->words++;
    return true;
}

/* An entry that may be swept out before it is raised becomes a reservation; nobody sees either. */
static void keep_forgotten(const struct recent *recent, struct recent_segment *segment, uint64_t at)
{
    uint64_t *word = &segment->words[at];
    if (is_reservation(recent, *word) || slot_of(recent, segment, *word) >= recent_floor(recent, recent->newest))
        return;
    *word |= tag_mask(recent);
    segment->reserved++;
}

static roost_status reserve(struct recent *recent, uint64_t mixed)
{
    roost_status status = recent->count ? ROOST_OK : first_segment(recent);
    while (status == ROOST_OK) {
        struct recent_segment *segment = segment_of(recent, mixed);
        uint64_t at = place_of(recent, segment, mixed);
        if (is_at(recent, segment, at, mixed)) {
            keep_forgotten(recent, segment, at);
            return ROOST_OK;
        }
        if (insert(recent, segment, at, mixed << recent->tag_bits | tag_mask(recent))) {
            segment->reserved++;
            return ROOST_OK;
        }
        status = grow(recent, mixed);
    }
    return status;
}

roost_status recent_reserve(struct recent *recent, uint64_t prefix)
{
    return reserve(recent, mix(recent, prefix));
}

void recent_abandon(struct recent *recent)
{
    for (uint32_t i = 0; i < recent->count; i++)
        if (recent->segments[i].reserved)
            sweep(recent, &recent->segments[i], recent_floor(recent, recent->newest), true);
}

static struct recent_slot *tally_of(const struct recent *recent, uint64_t slot)
{
    return &recent->slots[slot == recent->newest ? recent->newest_place : slot % (recent->reach + 1)];
}

static void count_in(struct recent *recent, uint64_t prefix, uint64_t slot)
{
    struct recent_slot *tally = tally_of(recent, slot);
    tally->count++;
    tally->sum += hash_number(recent->seed, prefix);
    recent->live++;
}

static void count_out(struct recent *recent, uint64_t prefix, uint64_t slot)
{
    struct recent_slot *tally = tally_of(recent, slot);
    tally->count--;
    tally->sum -= hash_number(recent->seed, prefix);
    recent->live--;
}

void recent_advance(struct recent *recent, uint64_t newest)
{
    uint64_t slots = (uint64_t)recent->reach + 1, first = newest >= slots ? newest - slots + 1 : 0;
    if (!recent_is_empty(recent) && recent->newest >= newest)
        return;
    for (uint64_t i = first; i <= newest; i++)
        if (tally_of(recent, i)->number != i || recent_is_empty(recent)) {
            recent->live -= tally_of(recent, i)->count;
            *tally_of(recent, i) = (struct recent_slot){.number = i};
        }
    recent->newest_tag = newest % tags(recent) + 1;
    recent->newest_place = (uint32_t)(newest % slots);
    recent->newest = newest;
}

/* So that its range includes this slot, and stays short of all tags. */
static void stretch_to(struct recent *recent, struct recent_segment *segment, uint64_t slot)
{
    if (segment->count == segment->reserved)
        segment->newest = segment->oldest = slot;
    uint64_t newest = slot > segment->newest ? slot : segment->newest;
    uint64_t oldest = slot < segment->oldest ? slot : segment->oldest;
    if (newest - oldest >= tags(recent)) {
        sweep(recent, segment, recent_floor(recent, recent->newest), false);
        newest = slot > segment->newest ? slot : segment->newest;
        oldest = slot < segment->oldest ? slot : segment->oldest;
    }
    segment->newest = newest;
    segment->oldest = oldest;
}

/* An entry that was there when it was reserved can have been swept out since; its room is still free. */
static uint64_t place_to_raise(struct recent *recent, struct recent_segment *segment, uint64_t mixed)
{
    uint64_t at = place_of(recent, segment, mixed);
    if (is_at(recent, segment, at, mixed))
        return at;
    bool inserted = insert(recent, segment, at, mixed << recent->tag_bits | tag_mask(recent));
    assert(inserted);
    segment->reserved += inserted;
    return at;
}

bool recent_raise(struct recent *recent, uint64_t prefix, uint64_t slot)
{
    uint64_t mixed = mix(recent, prefix), floor = recent_floor(recent, recent->newest);
    struct recent_segment *segment = segment_of(recent, mixed);
    uint64_t at = place_to_raise(recent, segment, mixed);
    assert(slot >= floor && slot <= recent->newest);
    bool reserved = is_reservation(recent, segment->words[at]);
    uint64_t before = reserved ? 0 : slot_of(recent, segment, segment->words[at]);
    bool remembered = !reserved && before >= floor;
    if (remembered && before >= slot)
        return false;
    segment->words[at] |= tag_mask(recent); /* so that it is not swept out */
    segment->reserved += !reserved;
    stretch_to(recent, segment, slot);
    segment->words[place_of(recent, segment, mixed)] = mixed << recent->tag_bits | tag_of(recent, slot);
    segment->reserved--;
    if (remembered)
        count_out(recent, prefix, before);
    count_in(recent, prefix, slot);
    return true;
}

/* One that is not there goes straight to its place, where the segment has room and reaches as far as this slot. */
static bool add_at_once(struct recent *recent, struct recent_segment *segment, uint64_t at, uint64_t mixed,
                        uint64_t slot)
{
    if (segment->count > 0 && slot - segment->oldest >= tags(recent))
        return false;
    if (!insert(recent, segment, at, mixed << recent->tag_bits | tag_of(recent, slot)))
        return false;
    if (segment->count == 1)
        segment->oldest = slot;
    segment->newest = slot;
    return true;
}

/* All of its memory is there: nothing fails from here on. */
static void commit_one(struct recent *recent, uint64_t prefix, uint64_t slot)
{
    recent_advance(recent, slot);
    recent_raise(recent, prefix, slot);
}

roost_status recent_add(struct recent *recent, uint64_t *before, uint64_t prefix, uint64_t slot)
{
    assert(recent_is_empty(recent) || slot >= recent->newest);
    *before = UINT64_MAX;
    roost_status status = recent->count ? ROOST_OK : first_segment(recent);
    if (status != ROOST_OK)
        return status;
    uint64_t mixed = mix(recent, prefix);
    struct recent_segment *segment = segment_of(recent, mixed);
    uint64_t at = place_of(recent, segment, mixed);
    if (is_at(recent, segment, at, mixed)) {
        uint64_t last = slot_of(recent, segment, segment->words[at]);
        if (last >= recent_floor(recent, recent->newest))
            *before = last;
        if (last != slot)
            commit_one(recent, prefix, slot);
    } else if (add_at_once(recent, segment, at, mixed, slot)) {
        recent_advance(recent, slot);
        count_in(recent, prefix, slot);
    } else {
        status = reserve(recent, mixed);
        if (status == ROOST_OK)
            commit_one(recent, prefix, slot);
    }
    return status;
}

bool recent_next(const struct recent *recent, struct recent_walk *walk, uint64_t *prefix, uint64_t *slot)
{
    for (; walk->segment < recent->count; walk->segment++, walk->at = 0) {
        const struct recent_segment *segment = &recent->segments[walk->segment];
        for (size_t size = words_of(segment->room); walk->at < size;) {
            uint64_t word = segment->words[walk->at++];
            if (!word || is_reservation(recent, word))
                continue;
            *slot = slot_of(recent, segment, word);
            *prefix = unmix(recent, mixed_of(recent, word));
            if (*slot >= recent_floor(recent, recent->newest))
                return true;
        }
    }
    return false;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

roost_status recent_open(struct recent *recent, const roost_environment *environment, uint64_t seed, uint32_t past,
                         uint32_t bits, uint64_t luck)
{
    roost_status status;
    *recent = (struct recent){.environment = environment,
                              .seed = seed,
                              .bits = bits,
                              .tag_bits = bits_for_tags(past),
                              .reach = past + 1};
    recent->newest_tag = 1;
    draw_multipliers(recent, luck);
    recent->slots = take(recent, (recent->reach + 1) * sizeof *recent->slots, &status);
    return status;
}

void recent_close(struct recent *recent)
{
    for (uint32_t i = 0; i < recent->count; i++)
        release_words(recent, &recent->segments[i]);
    give_back(recent, recent->directory, sizeof *recent->directory << recent->depth);
    give_back(recent, recent->segments, recent->room * sizeof *recent->segments);
    give_back(recent, recent->slots, (recent->reach + 1) * sizeof *recent->slots);
    recent->count = 0;
}

static roost_status copy_entries(struct recent *copy, const struct recent *recent)
{
    struct recent_walk walk = {0};
    roost_status status = ROOST_OK;
    for (uint64_t prefix, slot; status == ROOST_OK && recent_next(recent, &walk, &prefix, &slot);)
        status = recent_reserve(copy, prefix);
    return status;
}

roost_status recent_copy(struct recent *copy, const struct recent *recent)
{
    struct recent_walk walk = {0};
    if (recent_is_empty(recent))
        return ROOST_OK;
    roost_status status = copy_entries(copy, recent);
    if (status != ROOST_OK)
        return status;
    recent_advance(copy, recent->newest);
    for (uint64_t prefix, slot; recent_next(recent, &walk, &prefix, &slot);)
        recent_raise(copy, prefix, slot);
    return ROOST_OK;
}

/* ---- report ---------------------------------------------------------------------------------------------------- */

uint128 recent_digest(const struct recent *recent)
{
    uint128 sum = 0;
    for (uint32_t i = 0; i <= recent->reach && !recent_is_empty(recent); i++) {
        uint8_t bytes[32];
        const struct recent_slot *slot = &recent->slots[i];
        if (slot->count == 0)
            continue;
        store_double_word(bytes, slot->sum);
        store_word(bytes + 16, slot->number);
        store_word(bytes + 24, slot->count);
        sum += hash_to_number(hash_bytes(recent->seed, bytes, sizeof bytes));
    }
    return sum;
}

/* Entries ascend, each at its home or to the right of it without a gap; counts and range are right. */
static bool segment_is_sound(const struct recent *recent, uint32_t number)
{
    const struct recent_segment *segment = &recent->segments[number];
    uint64_t free = 0, last = 0;
    uint32_t count = 0, reserved = 0;
    size_t size = words_of(segment->room);
    for (size_t i = 0; i < size; i++) {
        uint64_t word = segment->words[i], mixed = mixed_of(recent, word);
        if (!word)
            continue;
        uint64_t home = home_of(recent, mixed, segment->depth, segment->room);
        if ((count && mixed <= last) || i != (home > free ? home : free) || segment_of(recent, mixed) != segment)
            return false;
        last = mixed;
        free = i + 1;
        count++;
        reserved += is_reservation(recent, word);
        if (!is_reservation(recent, word) && slot_of(recent, segment, word) < segment->oldest)
            return false;
    }
    return segment->words[size - 1] == 0 && count == segment->count && reserved == 0 && segment->reserved == 0;
}

/* What the slots say must be what the entries do, and the newest slot is not empty. */
static bool slots_are_sound(const struct recent *recent)
{
    struct recent_walk walk = {0};
    uint64_t prefix, slot, live = 0, newest = 0, counted = 0;
    uint128 sum = 0, told = 0;
    for (; recent_next(recent, &walk, &prefix, &slot); live++) {
        newest = slot > newest ? slot : newest;
        sum += hash_number(recent->seed, prefix) * (uint128)(2 * slot + 1);
        if (tally_of(recent, slot)->number != slot)
            return false;
    }
    for (uint32_t i = 0; i <= recent->reach && live; i++) {
        told += recent->slots[i].sum * (uint128)(2 * recent->slots[i].number + 1);
        counted += recent->slots[i].count;
    }
    return live == recent->live && (live == 0 || (newest == recent->newest && counted == live)) && sum == told;
}

bool recent_check(const struct recent *recent)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < recent->count; i++) {
        if (!segment_is_sound(recent, i))
            return false;
        words += recent->segments[i].count;
    }
    return words == recent->words && slots_are_sound(recent);
}
