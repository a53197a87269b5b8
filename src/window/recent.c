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
 * before they have to be swept out. Every reader compares the slot of an entry, so sweeping is never urgent.
 *
 * Words are kept in *segments* of up to 4,096 cache lines. Which one is decided by the leading bits of the mixed
 * prefix, by way of a directory (extendible hashing: Fagin, Nievergelt, Pippenger, Strong, 1979); a full segment grows,
 * and at last splits in two. So growing never touches more than half a megabyte at once, however large the table.
 * Within a segment the mixed prefix, scaled to the number of cache lines, determines the home line of an entry: it is
 * there, or in the first line after it that had room. Lines are filled from the left, and one that has room ends a
 * search. Behind the last home there is a margin for those that are pushed past it, and a line that stays empty.
 *
 *     line 0                line 1                line 2 ...            | margin       | end
 *     03 1f 0a -  -  -  -   24 21 3d 2f 22 38 3b  3e 46 -  -  -  -  -   |              |          (3e wanted line 1)
 *
 * Memory. Small tables take as much as each segment needs. From a million entries on segments are of one size and lie
 * in slabs of 8 MB and more, which can have large pages: otherwise the processor would spend its time looking up
 * addresses.
 *
 * Mixing prevents chosen prefixes, in keys or in forged frames, from filling one segment: a bijection of two
 * multiplications by numbers that each replica draws for itself. The location of entries is therefore not part of the
 * state.
 *
 * A failed call changes nothing: memory is allocated first, by growing segments and by reservations, which no query
 * sees.
 */
#include "recent.h"

#include <assert.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/random.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE           (CACHE_LINE / sizeof(uint64_t)) /* words */
#define FEWEST_LINES   2
#define MOST_LINES     4096
#define MARGIN         8  /* lines */
#define FEWEST_PLACES  32 /* of a slab: 8 MB */
#define SLABS_FROM     32 /* segments */
#define GARBAGE_SHARE  4  /* forgotten entries are swept once they are more than one in so many */
#define FEWEST_GARBAGE 64
#define WORD_BITS      64

static _Alignas(CACHE_LINE) uint64_t nothing[LINE]; /* the words of a segment that has none; never written */

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

static inline uint64_t home_of(const struct recent *recent, uint64_t mixed, const struct recent_segment *segment)
{
    return LINE * scale_to_range(mixed << (WORD_BITS - recent->bits) << segment->depth, segment->lines);
}

static size_t margin_of(uint32_t lines)
{
    return lines < MARGIN ? lines : MARGIN;
}

static size_t words_of(const struct recent_segment *segment)
{
    return LINE * (segment->lines + margin_of(segment->lines) + 1);
}

static size_t bytes_for(uint32_t lines)
{
    return CACHE_LINE * (lines + margin_of(lines) + 2); /* one more, to begin on a boundary */
}

/* Which words of a line have this prefix; how many are in use. No branches: they could not be predicted. */
#if defined(__SSE2__)
/* Four words' lower halves; a word in use has a tag there, so none of these is 0. */
static inline __m128i lower_halves(const uint64_t *words)
{
    __m128i first = _mm_load_si128((const __m128i *)words), second = _mm_load_si128((const __m128i *)words + 1);
    return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(first), _mm_castsi128_ps(second), _MM_SHUFFLE(2, 0, 2, 0)));
}

/* A bit for each of eight lanes. */
static inline unsigned which(__m128i first, __m128i second)
{
    __m128i lanes = _mm_packs_epi32(first, second);
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(lanes, _mm_setzero_si128()));
}

static inline unsigned used_of(const uint64_t *line)
{
    __m128i first = lower_halves(line), second = lower_halves(line + LINE / 2), none = _mm_setzero_si128();
    return lowest_bit(which(_mm_cmpeq_epi32(first, none), _mm_cmpeq_epi32(second, none)) | 1u << LINE);
}

/* Lower halves distinguish most words, and the few that are equal are compared as a whole. */
static inline unsigned match_line(const struct recent *recent, const uint64_t *line, uint64_t mixed, unsigned *used)
{
    __m128i first = lower_halves(line), second = lower_halves(line + LINE / 2), none = _mm_setzero_si128();
    __m128i mask = _mm_set1_epi32((int)~(uint32_t)tag_mask(recent));
    __m128i wanted = _mm_set1_epi32((int)(uint32_t)(mixed << recent->tag_bits));
    unsigned empty = which(_mm_cmpeq_epi32(first, none), _mm_cmpeq_epi32(second, none));
    unsigned alike = which(_mm_cmpeq_epi32(_mm_and_si128(first, mask), wanted),
                           _mm_cmpeq_epi32(_mm_and_si128(second, mask), wanted));
    *used = lowest_bit(empty | 1u << LINE);
    for (alike &= ~empty; alike; alike &= alike - 1)
        if (mixed_of(recent, line[lowest_bit(alike)]) == mixed)
            return 1u << lowest_bit(alike);
    return 0;
}
#else
static inline unsigned used_of(const uint64_t *line)
{
    unsigned used = 0;
    for (unsigned i = 0; i < LINE; i++)
        used += line[i] != 0;
    return used;
}

static inline unsigned match_line(const struct recent *recent, const uint64_t *line, uint64_t mixed, unsigned *used)
{
    unsigned found = 0;
    for (unsigned i = 0; i < LINE; i++)
        found |= (unsigned)((line[i] != 0) & (mixed_of(recent, line[i]) == mixed)) << i;
    *used = used_of(line);
    return found;
}
#endif

/* Where the entry is, or else the first free place for it. */
static inline bool look_up_from(const struct recent *recent, const struct recent_segment *segment, uint64_t line,
                                uint64_t mixed, uint64_t *at)
{
    for (;; line += LINE) {
        unsigned used, found = match_line(recent, segment->words + line, mixed, &used);
        if (found || used < LINE) {
            *at = line + (found ? lowest_bit(found) : used);
            return found != 0;
        }
    }
}

static inline bool look_up(const struct recent *recent, const struct recent_segment *segment, uint64_t mixed,
                           uint64_t *at)
{
    return look_up_from(recent, segment, home_of(recent, mixed, segment), mixed, at);
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

/* ---- slabs ----------------------------------------------------------------------------------------------------- */

#define LARGE_PAGE  ((size_t)2 << 20)
#define PLACE_BYTES (CACHE_LINE * (MOST_LINES + MARGIN + 1))

/* One with a free place; NULL where there is none, and no memory for another. */
static struct recent_slab *open_slab(struct recent *recent, uint32_t *number)
{
    for (*number = 0; *number < recent->slab_count; ++*number)
        if (recent->slabs[*number].region.bytes && recent->slabs[*number].used < recent->slabs[*number].places)
            return &recent->slabs[*number];
    for (*number = 0; *number < recent->slab_count && recent->slabs[*number].region.bytes;)
        ++*number;
    return NULL;
}

static bool reserve_slab(struct recent *recent)
{
    roost_status status;
    if (recent->slab_count < recent->slab_room)
        return true;
    uint32_t room = recent->slab_room ? recent->slab_room * 2 : 4;
    struct recent_slab *slabs = take(recent, room * sizeof *slabs, &status);
    if (!slabs)
        return false;
    if (recent->slab_count)
        memcpy(slabs, recent->slabs, recent->slab_count * sizeof *slabs);
    give_back(recent, recent->slabs, recent->slab_room * sizeof *slabs);
    recent->slabs = slabs;
    recent->slab_room = room;
    return true;
}

static bool make_slab(struct recent *recent, uint32_t number)
{
    struct region region;
    uint64_t places = recent->count / 4 > FEWEST_PLACES ? recent->count / 4 : FEWEST_PLACES;
    uint64_t size = divide_up(places * PLACE_BYTES, LARGE_PAGE) * LARGE_PAGE;
    uint64_t taken = recent->bytes + recent->beside + size + LARGE_PAGE;
    if (!reserve_slab(recent) || taken > recent->environment->memory_limit ||
        !region_allocate(&region, &recent->environment->allocator, (size_t)(size + LARGE_PAGE)))
        return false;
    recent->bytes += size + LARGE_PAGE;
    recent->slab_count += number == recent->slab_count;
    recent->slabs[number] = (struct recent_slab){.region = region,
                                                 .bytes = region.bytes + (-(uintptr_t)region.bytes & (LARGE_PAGE - 1)),
                                                 .places = (uint32_t)(size / PLACE_BYTES)};
    return true;
}

/* A zeroed place in a slab; NULL if there is none. */
static uint64_t *take_place(struct recent *recent, uint32_t *number)
{
    struct recent_slab *slab = open_slab(recent, number);
    if (!slab && !make_slab(recent, *number))
        return NULL;
    slab = &recent->slabs[*number];
    uint64_t *place = slab->free;
    slab->used++;
    if (!place)
        return (uint64_t *)(void *)(slab->bytes + PLACE_BYTES * slab->fresh++);
    memcpy(&slab->free, place, sizeof slab->free);
    memset(place, 0, PLACE_BYTES);
    return place;
}

static void release_place(struct recent *recent, uint32_t number, uint64_t *place)
{
    struct recent_slab *slab = &recent->slabs[number];
    memcpy(place, &slab->free, sizeof slab->free);
    slab->free = place;
    if (--slab->used > 0)
        return;
    recent->bytes -= slab->region.size;
    region_release(&slab->region, &recent->environment->allocator);
    *slab = (struct recent_slab){0};
}

/* ---- segments: their words ------------------------------------------------------------------------------------- */

static void release_words(struct recent *recent, struct recent_segment *segment)
{
    if (segment->slab)
        release_place(recent, segment->slab - 1, segment->words);
    give_back(recent, segment->block, bytes_for(segment->lines));
    segment->words = nothing;
    segment->block = NULL;
    segment->slab = segment->lines = 0;
    recent->moves++;
}

static bool take_from_slab(struct recent *recent, struct recent_segment *segment, uint32_t lines)
{
    uint32_t number;
    if (recent->count < SLABS_FROM || lines <= MOST_LINES / 2 || lines > MOST_LINES)
        return false;
    uint64_t *place = take_place(recent, &number);
    if (!place)
        return false;
    segment->words = place;
    segment->block = NULL;
    segment->slab = number + 1;
    segment->lines = MOST_LINES;
    return true;
}

static roost_status take_words(struct recent *recent, struct recent_segment *segment, uint32_t lines)
{
    roost_status status;
    if (take_from_slab(recent, segment, lines))
        return ROOST_OK;
    segment->slab = 0;
    segment->block = take(recent, bytes_for(lines), &status);
    segment->lines = segment->block ? lines : 0;
    segment->words = segment->block
                         ? (uint64_t *)(((uintptr_t)segment->block + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1))
                         : nothing;
    return status;
}

/* Whether a free place may be used: the last line stays empty. */
static inline bool is_usable(const struct recent_segment *segment, uint64_t at)
{
    return at < words_of(segment) - LINE;
}

static bool line_is_full(const struct recent_segment *segment, uint64_t line)
{
    return segment->words[line + LINE - 1] != 0;
}

/* Some words of an array, which differ: those whose bits under `mask` are `bits`. */
struct some_words {
    const uint64_t *words;
    size_t size;
    uint64_t mask, bits;
};

static bool is_among(const struct some_words *some, size_t i)
{
    return some->words[i] && (some->words[i] & some->mask) == some->bits;
}

/* Into an array of zeros; false where they run out of the margin. In which order they come decides who is where, but
   not which places are used. */
static bool lay_out(const struct recent *recent, struct recent_segment *segment, const struct some_words *some)
{
    segment->count = segment->reserved = 0;
    for (size_t i = 0; i < some->size; i++) {
        if (!is_among(some, i))
            continue;
        uint64_t line = home_of(recent, mixed_of(recent, some->words[i]), segment);
        while (line_is_full(segment, line))
            line += LINE;
        if (!is_usable(segment, line))
            return false;
        segment->words[line + used_of(segment->words + line)] = some->words[i];
        segment->count++;
        segment->reserved += is_reservation(recent, some->words[i]);
    }
    return true;
}

/* Builds a new segment from some words of another, in at least so many lines. */
static roost_status build(struct recent *recent, struct recent_segment *twin, uint32_t lines,
                          const struct some_words *some)
{
    for (;; lines += 1 + lines / 4) {
        roost_status status = take_words(recent, twin, lines);
        if (status != ROOST_OK || lay_out(recent, twin, some))
            return status;
        release_words(recent, twin);
    }
}

static roost_status resize(struct recent *recent, struct recent_segment *segment, uint32_t lines)
{
    struct recent_segment twin = *segment;
    struct some_words all = {.words = segment->words, .size = words_of(segment)};
    roost_status status = build(recent, &twin, lines, &all);
    if (status != ROOST_OK)
        return status;
    release_words(recent, segment);
    *segment = twin;
    return ROOST_OK;
}

static uint32_t most_words(const struct recent_segment *segment)
{
    return segment->lines * (uint32_t)(LINE - 1);
}

/* Lines for so many entries, and about three in ten more. */
static uint32_t lines_for(uint64_t count)
{
    return FEWEST_LINES + (uint32_t)(count * 10 / (7 * LINE));
}

static uint32_t next_lines(uint32_t lines)
{
    return lines < FEWEST_LINES     ? FEWEST_LINES
           : lines < MOST_LINES / 2 ? lines * 2
           : lines < MOST_LINES     ? lines + MOST_LINES / 5
                                    : lines + lines / 4;
}

/* ---- sweeping -------------------------------------------------------------------------------------------------- */

static void shrink(struct recent *recent, struct recent_segment *segment)
{
    if (segment->count == 0)
        release_words(recent, segment);
    else if (segment->lines > FEWEST_LINES && segment->count < segment->lines * LINE / 4)
        (void)!resize(recent, segment, lines_for(segment->count));
}

static bool is_to_go(const struct recent *recent, const struct recent_segment *segment, uint64_t word, uint64_t floor,
                     bool reservations)
{
    return is_reservation(recent, word) ? reservations : slot_of(recent, segment, word) < floor;
}

/* A word of this line goes back to a line that is closer to its home, if there is room now; the last word of the
   line takes its place. */
static bool move_back(const struct recent *recent, struct recent_segment *segment, uint64_t line, uint64_t at)
{
    uint64_t to = home_of(recent, mixed_of(recent, segment->words[at]), segment), last = line + LINE - 1;
    while (to < line && line_is_full(segment, to))
        to += LINE;
    if (to == line)
        return false;
    while (segment->words[to])
        to++;
    segment->words[to] = segment->words[at];
    while (!segment->words[last])
        last--;
    segment->words[at] = segment->words[last];
    segment->words[last] = 0;
    return true;
}

/* From the left, so that whatever is before a line is final. */
static void close_gaps(const struct recent *recent, struct recent_segment *segment)
{
    size_t size = words_of(segment);
    for (size_t line = 0; line < size; line += LINE)
        for (size_t at = line; at < line + LINE && segment->words[at];)
            at += !move_back(recent, segment, line, at);
}

/* Drops what is older than `floor`, in place. */
static void sweep(struct recent *recent, struct recent_segment *segment, uint64_t floor, bool reservations)
{
    uint32_t kept = 0;
    size_t size = words_of(segment);
    for (size_t line = 0; line < size; line += LINE) {
        uint64_t free = line;
        for (size_t i = line; i < line + LINE; i++) {
            uint64_t word = segment->words[i];
            if (!word)
                continue;
            segment->words[i] = 0;
            if (!is_to_go(recent, segment, word, floor, reservations))
                segment->words[free++] = word;
        }
        kept += (uint32_t)(free - line);
    }
    if (kept < segment->count)
        close_gaps(recent, segment);
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

void recent_compact(struct recent *recent, uint32_t segments)
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
    recent->moves++;
    return ROOST_OK;
}

/* Half of a segment that is split: the words with the next bit clear, or set. */
static roost_status build_half(struct recent *recent, struct recent_segment *half, const struct recent_segment *segment,
                               bool upper)
{
    uint64_t bit = UINT64_C(1) << (recent->bits - segment->depth - 1 + recent->tag_bits);
    struct some_words some = {segment->words, words_of(segment), bit, upper ? bit : 0};
    *half = *segment;
    half->depth++;
    return build(recent, half, lines_for(segment->count / 2), &some);
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
    struct recent_segment *segment = segment_of(recent, mixed), low, high;
    status = build_half(recent, &low, segment, false);
    if (status != ROOST_OK)
        return status;
    status = build_half(recent, &high, segment, true);
    if (status != ROOST_OK) {
        release_words(recent, &low);
        return status;
    }
    release_words(recent, segment);
    uint32_t depth = segment->depth;
    *segment = low;
    recent->segments[recent->count++] = high;
    enter_last_segment(recent, mixed, depth);
    return ROOST_OK;
}

/* No, if prefixes have no further bit, or the directory has eight places for each segment: then the segment grows
   beyond the usual size instead. */
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
    uint32_t lines = next_lines(segment->lines);
    return lines > MOST_LINES && may_split(recent, segment) ? split(recent, mixed) : resize(recent, segment, lines);
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

bool recent_find(const struct recent *recent, uint64_t prefix, uint64_t *slot)
{
    uint64_t at;
    if (recent->count == 0)
        return false;
    uint64_t mixed = mix(recent, prefix);
    const struct recent_segment *segment = segment_of(recent, mixed);
    if (!look_up(recent, segment, mixed, &at) || is_reservation(recent, segment->words[at]))
        return false;
    *slot = slot_of(recent, segment, segment->words[at]);
    return *slot >= recent_floor(recent, recent->newest);
}

void recent_prepare(const struct recent *recent, struct recent_place *places, const roost_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t prefix = recent_prefix(recent, hashes[i]);
        places[i].prefix = prefix;
        places[i].mixed = mix(recent, prefix);
        if (recent->count == 0)
            continue;
        places[i].segment = segment_of(recent, places[i].mixed);
        places[i].home = home_of(recent, places[i].mixed, places[i].segment);
        __builtin_prefetch(places[i].segment->words + places[i].home, 1);
    }
}

/* A word at the place that look_up found for it, if there is room. */
static inline bool insert(struct recent *recent, struct recent_segment *segment, uint64_t at, uint64_t word)
{
    if (segment->count >= most_words(segment) || !is_usable(segment, at))
        return false;
    segment->words[at] = word;
    segment->count++;
    recent->words++;
    return true;
}

/* An entry that may be swept out before it is raised becomes a reservation; queries see neither. */
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
        uint64_t at;
        if (look_up(recent, segment, mixed, &at)) {
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

uint64_t recent_live_at(const struct recent *recent, uint64_t slot)
{
    uint64_t live = 0;
    for (uint32_t i = 0; i <= recent->reach; i++)
        if (recent->slots[i].number >= recent_floor(recent, slot))
            live += recent->slots[i].count;
    return live;
}

/* So that its range includes this slot, and stays short of all tags. */
static void widen_to(struct recent *recent, struct recent_segment *segment, uint64_t slot)
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
    uint64_t at;
    if (look_up(recent, segment, mixed, &at))
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
    widen_to(recent, segment, slot);
    look_up(recent, segment, mixed, &at);
    segment->words[at] = mixed << recent->tag_bits | tag_of(recent, slot);
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

size_t recent_add_at_once(struct recent *recent, uint64_t *before, const struct recent_place *places, size_t count,
                          uint64_t slot)
{
    size_t done = 0;
    uint64_t added = 0, tag = recent->newest_tag;
    uint128 sum = 0;
    if (recent_is_empty(recent) || recent->newest != slot)
        return 0;
    for (; done < count; done++) {
        const struct recent_place *place = &places[done];
        struct recent_segment *segment = place->segment;
        uint64_t at;
        if (segment->newest != slot)
            break;
        if (look_up_from(recent, segment, place->home, place->mixed, &at)) {
            if ((segment->words[at] & tag_mask(recent)) != tag)
                break;
            before[done] = slot;
            continue;
        }
        if (segment->count >= most_words(segment) || !is_usable(segment, at))
            break;
        segment->words[at] = place->mixed << recent->tag_bits | tag;
        segment->count++;
        before[done] = UINT64_MAX;
        added++;
        sum += hash_number(recent->seed, place->prefix);
    }
    struct recent_slot *tally = &recent->slots[recent->newest_place];
    tally->count += added;
    tally->sum += sum;
    recent->words += added;
    recent->live += added;
    return done;
}

/* Whether something in a segment is forgotten when this slot begins. */
static bool will_forget(const struct recent *recent, const struct recent_segment *segment, uint64_t slot)
{
    uint64_t floor = recent_floor(recent, slot);
    if (segment->oldest >= floor)
        return false;
    for (size_t i = 0; i < words_of(segment); i++)
        if (segment->words[i] && slot_of(recent, segment, segment->words[i]) < floor)
            return true;
    return false;
}

/* The first of a new slot takes the room of what is forgotten by it, so that it needs no memory. */
static bool add_by_forgetting(struct recent *recent, struct recent_segment *segment, uint64_t at, uint64_t mixed,
                              uint64_t slot)
{
    if (slot <= recent->newest || !is_usable(segment, at) || !will_forget(recent, segment, slot))
        return false;
    sweep(recent, segment, recent_floor(recent, slot), false);
    look_up(recent, segment, mixed, &at);
    return add_at_once(recent, segment, at, mixed, slot);
}

/* All of its memory is there: nothing fails from here on. */
static void commit_one(struct recent *recent, uint64_t prefix, uint64_t slot)
{
    recent_advance(recent, slot);
    recent_raise(recent, prefix, slot);
}

roost_status recent_add(struct recent *recent, uint64_t *before, uint64_t prefix, uint64_t mixed, uint64_t slot)
{
    assert(recent_is_empty(recent) || slot >= recent->newest);
    *before = UINT64_MAX;
    roost_status status = recent->count ? ROOST_OK : first_segment(recent);
    if (status != ROOST_OK)
        return status;
    struct recent_segment *segment = segment_of(recent, mixed);
    uint64_t at;
    if (look_up(recent, segment, mixed, &at)) {
        uint64_t last = slot_of(recent, segment, segment->words[at]);
        if (last >= recent_floor(recent, recent->newest))
            *before = last;
        if (last != slot)
            commit_one(recent, prefix, slot);
    } else if (add_at_once(recent, segment, at, mixed, slot) || add_by_forgetting(recent, segment, at, mixed, slot)) {
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
        for (size_t size = words_of(segment); walk->at < size;) {
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

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

roost_status recent_open(struct recent *recent, const roost_environment *environment, uint64_t seed, uint32_t past,
                         uint32_t bits, uint64_t luck)
{
    roost_status status;
    *recent = (struct recent){
        .environment = environment, .seed = seed, .bits = bits, .tag_bits = bits_for_tags(past), .reach = past + 1};
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
    give_back(recent, recent->slabs, recent->slab_room * sizeof *recent->slabs);
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

/* Each entry is found where it is, in a line without gaps; counts and range are right. */
static bool segment_is_sound(const struct recent *recent, uint32_t number)
{
    const struct recent_segment *segment = &recent->segments[number];
    uint64_t at;
    uint32_t count = 0;
    size_t size = words_of(segment);
    for (size_t i = 0; i < size; i++) {
        uint64_t word = segment->words[i], mixed = mixed_of(recent, word);
        if (!word)
            continue;
        if (!look_up(recent, segment, mixed, &at) || at != i || (i % LINE && !segment->words[i - 1]) ||
            segment_of(recent, mixed) != segment || is_reservation(recent, word) ||
            slot_of(recent, segment, word) < segment->oldest)
            return false;
        count++;
    }
    return segment->words[size - 1] == 0 && count == segment->count && segment->reserved == 0;
}

/* The counts and sums of the slots are those of the entries, and the newest slot is not empty. */
static bool slots_are_sound(const struct recent *recent)
{
    struct recent_walk walk = {0};
    uint64_t prefix, slot, live = 0, newest = 0, counted = 0;
    uint128 sum = 0, expected = 0;
    for (; recent_next(recent, &walk, &prefix, &slot); live++) {
        newest = slot > newest ? slot : newest;
        sum += hash_number(recent->seed, prefix) * (uint128)(2 * slot + 1);
        if (tally_of(recent, slot)->number != slot)
            return false;
    }
    for (uint32_t i = 0; i <= recent->reach && live; i++) {
        expected += recent->slots[i].sum * (uint128)(2 * recent->slots[i].number + 1);
        counted += recent->slots[i].count;
    }
    return live == recent->live && (live == 0 || (newest == recent->newest && counted == live)) && sum == expected;
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
