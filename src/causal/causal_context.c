/*
 * Causal contexts: sets of dots as sorted runs on one number line.
 *
 * The thesis (Specification 4) has a set H of all tags ever seen, to be stored as a version vector: the largest
 * timestamp of each replica. That is the same set only while every replica receives every tag in order, and deltas
 * come in any order. Malkhi and Terry, "Concise Version Vectors in WinFS" (2005), store the exceptions beside the
 * vector; Almeida, Shoker and Baquero, "Delta State Replicated Data Types" (2018), store the dots beyond it in a cloud
 * that is compacted into the vector as gaps close. Runs represent the same set as the cloud in less space, since late
 * dots come in ranges; and with runs for the vector too there is nothing to move from one to the other.
 *
 * The line. The position of a dot is actor * 2^64 + counter, in 128 bits: two words side by side. Counters have 32
 * bits, which leaves free points between any two actors: runs of different actors never touch, and the point past a run
 * is a position even where the run ends at the largest counter. So nothing below looks at actors and counters apart,
 * and nothing overflows.
 *
 *     actor 7                                               actor 8
 *     0  1  2  ...  120  121  122  123  124  125  126 ...   0  1  2  3  4 ...
 *     .  [============]   .    .    .   [======]   .        .  [=====]  .
 *
 * Two causal contexts. Between two consecutive borders of runs, of either causal context, all dots are in the same
 * contexts: neither, one, or both. One walk goes along the borders of both and yields the intervals that an operation
 * keeps. Borders at one point are crossed together, so an interval ends only where a dot is missing, and the result
 * needs no compaction:
 *
 *     first          [=====]     [=======]
 *     second               [=====]    [=======]
 *     crossed        |     |     |    |  |    |
 *     union          [========================]       in either
 *     intersection                    [==]            in both
 *     difference     [=====]     [====]               in the first alone
 *
 * Whether one includes the other, or they overlap, is whether the walk yields anything.
 *
 * Bytes. They are read twice: once to see that they are good and to count, once to keep. So memory is asked for once,
 * the right amount, and never for bytes that are refused.
 */
#include "causal_context.h"

#include <assert.h>
#include <string.h>

#include "../base/bits.h"

#define MOST_RUNS (SIZE_MAX / sizeof(struct dot_run))
/* So few are added faster one by one than by a walk through the whole causal context. */
#define FEW_RUNS 16

_Static_assert(sizeof(struct dot_run) == 16, "runs are compared as bytes, so they have no padding");

/* ---- the line ---------------------------------------------------------------------------------------------------- */

static inline uint128 position_of(uint64_t actor, uint64_t counter)
{
    return (uint128)actor << 64 | counter;
}

static inline uint128 run_begin(const struct dot_run *run)
{
    return position_of(run->actor, run->first);
}

/* One past the last dot. */
static inline uint128 run_end(const struct dot_run *run)
{
    return position_of(run->actor, (uint64_t)run->last + 1);
}

/*@ requires \valid_read(run) && run->first <= run->last; assigns \nothing;
    ensures \result == run->last - run->first + 1; */
static inline uint64_t run_dots(const struct dot_run *run)
{
    return (uint64_t)run->last - run->first + 1;
}

//@ requires \valid_read(run); assigns \nothing; ensures \result ==> 1 <= run->first <= run->last;
static inline bool is_run(const struct dot_run *run)
{
    return run->actor != 0 && run->first != 0 && run->first <= run->last;
}

/*
 * How many runs begin at or before a position. The search compares only what stays as it is when a run grows at its
 * end, so that adding dot after dot need not wait for the one before; and no branch depends on it, since none could be
 * foreseen.
 */
static inline size_t runs_begun(const struct causal_context *causal, uint128 position)
{
    size_t begun = 0, left = causal->count;
    while (left > 0) {
        size_t half = left - left / 2;
        begun += run_begin(&causal->runs[begun + half - 1]) <= position ? half : 0;
        left -= half;
    }
    return begun;
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

void causal_release(struct causal_context *causal, const roost_allocator *allocator)
{
    memory_release(allocator, causal->runs);
    *causal = (struct causal_context){0};
}

static bool move_to_room(struct causal_context *causal, const roost_allocator *allocator, size_t room)
{
    struct dot_run *runs = memory_allocate(allocator, room * sizeof *runs);
    if (!runs)
        return false;
    if (causal->count)
        memcpy(runs, causal->runs, causal->count * sizeof *runs);
    memory_release(allocator, causal->runs);
    causal->runs = runs;
    causal->room = room;
    return true;
}

bool causal_reserve(struct causal_context *causal, const roost_allocator *allocator, size_t runs)
{
    if (causal->room - causal->count >= runs)
        return true;
    if (runs > MOST_RUNS / 2 - causal->count)
        return false;
    size_t room = causal->count + runs;
    room = room > causal->room * 2 ? room : causal->room * 2;
    return move_to_room(causal, allocator, room);
}

bool causal_copy(struct causal_context *copy, const struct causal_context *causal, const roost_allocator *allocator)
{
    *copy = (struct causal_context){0};
    if (causal->count == 0)
        return true;
    if (!move_to_room(copy, allocator, causal->count))
        return false;
    memcpy(copy->runs, causal->runs, causal->count * sizeof *copy->runs);
    copy->count = causal->count;
    copy->dots = causal->dots;
    return true;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool causal_contains(const struct causal_context *causal, uint64_t actor, uint32_t counter)
{
    uint128 dot = position_of(actor, counter);
    size_t begun = runs_begun(causal, dot);
    return begun > 0 && dot < run_end(&causal->runs[begun - 1]);
}

uint32_t causal_contiguous(const struct causal_context *causal, uint64_t actor)
{
    size_t begun = runs_begun(causal, position_of(actor, 1));
    return begun > 0 && causal->runs[begun - 1].actor == actor ? causal->runs[begun - 1].last : 0;
}

uint32_t causal_largest(const struct causal_context *causal, uint64_t actor)
{
    size_t begun = runs_begun(causal, position_of(actor, UINT32_MAX));
    return begun > 0 && causal->runs[begun - 1].actor == actor ? causal->runs[begun - 1].last : 0;
}

size_t causal_run_of(const struct causal_context *causal, uint64_t actor, uint32_t counter)
{
    uint128 dot = position_of(actor, counter);
    size_t begun = runs_begun(causal, dot);
    assert(begun > 0 && dot < run_end(&causal->runs[begun - 1]));
    return begun - 1;
}

//@ requires \valid_read(runs + (0 .. count - 1)); assigns \nothing; ensures \result <= count;
static size_t actors_of_runs(const struct dot_run *runs, size_t count)
{
    size_t actors = count > 0;
    /*@ loop invariant 1 <= i && (count > 0 ==> i <= count && actors <= i) && (count == 0 ==> actors == 0);
        loop assigns i, actors; */
    for (size_t i = 1; i < count; i++)
        actors += runs[i].actor != runs[i - 1].actor;
    return actors;
}

size_t causal_actors(const struct causal_context *causal)
{
    return actors_of_runs(causal->runs, causal->count);
}

//@ requires \valid_read(causal) && \valid_read(causal->runs + (0 .. causal->count - 1)); assigns \nothing;
size_t causal_gaps(const struct causal_context *causal)
{
    size_t gaps = 0;
    //@ loop invariant i <= causal->count; loop assigns i, gaps;
    for (size_t i = 0; i < causal->count; i++)
        gaps += causal->runs[i].first != 1;
    return gaps;
}

/* ---- one more run ------------------------------------------------------------------------------------------------ */

static bool insert_run(struct causal_context *causal, const roost_allocator *allocator, size_t at, struct dot_run run)
{
    if (!causal_reserve(causal, allocator, 1))
        return false;
    if (at < causal->count)
        memmove(&causal->runs[at + 1], &causal->runs[at], (causal->count - at) * sizeof run);
    causal->runs[at] = run;
    causal->count++;
    causal->dots += run_dots(&run);
    return true;
}

static inline void extend_run(struct causal_context *causal, size_t at, uint32_t last)
{
    struct dot_run *run = &causal->runs[at];
    if (last > run->last) {
        causal->dots += last - run->last;
        run->last = last;
    }
}

/* All runs that the new one touches, from run `begin` on, become one with it. */
static void melt_runs(struct causal_context *causal, size_t begin, struct dot_run run)
{
    struct dot_run *runs = causal->runs;
    size_t end = begin;
    for (; end < causal->count && run_begin(&runs[end]) <= run_end(&run); end++)
        causal->dots -= run_dots(&runs[end]);
    run.first = run.first < runs[begin].first ? run.first : runs[begin].first;
    run.last = run.last > runs[end - 1].last ? run.last : runs[end - 1].last;
    causal->dots += run_dots(&run);
    runs[begin++] = run;
    if (begin < end)
        memmove(&runs[begin], &runs[end], (causal->count - end) * sizeof run);
    causal->count -= end - begin;
}

/* Nearly always it is an actor's next dot, or one that is known: then one run grows, or nothing changes. */
bool causal_add(struct causal_context *causal, const roost_allocator *allocator, struct dot_run run)
{
    assert(is_run(&run));
    const struct dot_run *runs = causal->runs;
    size_t next = runs_begun(causal, run_begin(&run));
    bool touches_previous = next > 0 && run_begin(&run) <= run_end(&runs[next - 1]);
    bool touches_next = next < causal->count && run_begin(&runs[next]) <= run_end(&run);
    if (!touches_previous && !touches_next)
        return insert_run(causal, allocator, next, run);
    if (touches_next)
        melt_runs(causal, touches_previous ? next - 1 : next, run);
    else
        extend_run(causal, next - 1, run.last);
    return true;
}

/* ---- the walk along two causal contexts -------------------------------------------------------------------------- */

#define END_OF_LINE (~(uint128)0)

/* Where a dot may be; an operation is the sum of those that it keeps. */
enum whereabouts { IN_NEITHER = 1 << 0, IN_SECOND_ALONE = 1 << 1, IN_FIRST_ALONE = 1 << 2, IN_BOTH = 1 << 3 };

struct side {
    const struct dot_run *runs; /* sorted by their first dots */
    size_t count, next;         /* the run to enter next */
    uint128 border;             /* where `inside` changes the next time, or END_OF_LINE */
    bool inside;
};

struct walk {
    struct side first, second;
    unsigned kept; /* whereabouts */
    bool keeping;
    uint128 begin; /* of the interval being kept */
};

static inline uint128 next_begin(const struct side *side)
{
    return side->next < side->count ? run_begin(&side->runs[side->next]) : END_OF_LINE;
}

/* Enters the next run and yields its end. In a list that is not compacted the runs after it may overlap it. */
static inline uint128 enter_run(struct side *side)
{
    uint128 end = run_end(&side->runs[side->next++]);
    while (next_begin(side) <= end) {
        uint128 other = run_end(&side->runs[side->next++]);
        end = other > end ? other : end;
    }
    return end;
}

static inline void cross_border(struct side *side)
{
    side->inside = !side->inside;
    side->border = side->inside ? enter_run(side) : next_begin(side);
}

static struct walk walk_along(const struct causal_context *first, const struct causal_context *second, unsigned kept)
{
    struct walk walk = {.first = {.runs = first->runs, .count = first->count},
                        .second = {.runs = second->runs, .count = second->count},
                        .kept = kept};
    walk.first.border = next_begin(&walk.first);
    walk.second.border = next_begin(&walk.second);
    return walk;
}

/* Crosses the next border, and all others that are at the same point; whether what follows is kept. */
static inline bool step(struct walk *walk, uint128 here)
{
    if (walk->first.border == here)
        cross_border(&walk->first);
    if (walk->second.border == here)
        cross_border(&walk->second);
    return walk->kept >> (2 * walk->first.inside + walk->second.inside) & 1;
}

/* The next interval that is kept; false at the end. It stays within one actor, as runs do. */
static bool walk_on(struct walk *walk, struct dot_run *run)
{
    for (;;) {
        uint128 here = walk->first.border < walk->second.border ? walk->first.border : walk->second.border;
        if (here == END_OF_LINE)
            return false;
        bool kept = step(walk, here);
        if (kept && !walk->keeping) {
            walk->begin = here;
        } else if (!kept && walk->keeping) {
            *run = (struct dot_run){(uint64_t)(walk->begin >> 64), (uint32_t)walk->begin, (uint32_t)(here - 1)};
            walk->keeping = false;
            return true;
        }
        walk->keeping = kept;
    }
}

/* All that the walk keeps, as a new causal context that starts with so much room and grows as it must. */
static bool collect(struct causal_context *result, struct walk walk, size_t room, const roost_allocator *allocator)
{
    struct dot_run run;
    *result = (struct causal_context){0};
    bool fits = causal_reserve(result, allocator, room);
    while (fits && walk_on(&walk, &run))
        fits = insert_run(result, allocator, result->count, run);
    if (!fits)
        causal_release(result, allocator);
    return fits;
}

bool causal_union(struct causal_context *result, const struct causal_context *first,
                  const struct causal_context *second, const roost_allocator *allocator)
{
    struct walk walk = walk_along(first, second, IN_FIRST_ALONE | IN_SECOND_ALONE | IN_BOTH);
    return collect(result, walk, first->count > second->count ? first->count : second->count, allocator);
}

bool causal_difference(struct causal_context *result, const struct causal_context *first,
                       const struct causal_context *second, const roost_allocator *allocator)
{
    return collect(result, walk_along(first, second, IN_FIRST_ALONE), 0, allocator);
}

bool causal_intersection(struct causal_context *result, const struct causal_context *first,
                         const struct causal_context *second, const roost_allocator *allocator)
{
    return collect(result, walk_along(first, second, IN_BOTH), 0, allocator);
}

bool causal_includes(const struct causal_context *causal, const struct causal_context *part)
{
    struct walk missing = walk_along(part, causal, IN_FIRST_ALONE);
    struct dot_run run;
    return part->dots <= causal->dots && !walk_on(&missing, &run);
}

bool causal_overlaps(const struct causal_context *first, const struct causal_context *second)
{
    struct walk common = walk_along(first, second, IN_BOTH);
    struct dot_run run;
    return walk_on(&common, &run);
}

/* The runs of a set are given by the set, so equal sets have equal bytes. */
bool causal_equal(const struct causal_context *first, const struct causal_context *second)
{
    return first->count == second->count && first->dots == second->dots &&
           (first->count == 0 || memcmp(first->runs, second->runs, first->count * sizeof *first->runs) == 0);
}

/* ---- many more runs ---------------------------------------------------------------------------------------------- */

#define DIGITS      256
#define NO_DIGIT    UINT32_MAX
#define FEW_TO_SORT 32 /* so few are not worth the counting */

static void sort_by_insertion(struct dot_run *runs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct dot_run run = runs[i];
        size_t j = i;
        for (; j > 0 && run_begin(&runs[j - 1]) > run_begin(&run); j--)
            runs[j] = runs[j - 1];
        runs[j] = run;
    }
}

/* The lowest bit of the digit that has the highest bit in which positions differ; NO_DIGIT where none do. */
static unsigned digit_shift(const struct dot_run *runs, size_t count)
{
    uint128 differing = 0;
    for (size_t i = 1; i < count; i++)
        differing |= run_begin(&runs[i]) ^ run_begin(&runs[0]);
    uint64_t upper = (uint64_t)(differing >> 64), lower = (uint64_t)differing;
    if ((upper | lower) == 0)
        return NO_DIGIT;
    unsigned highest = upper ? 64 + highest_bit(upper) : highest_bit(lower);
    return highest < 7 ? 0 : highest - 7;
}

static inline unsigned digit_of(const struct dot_run *run, unsigned shift)
{
    return (unsigned)(run_begin(run) >> shift) & (DIGITS - 1);
}

/* Moves each run, in place, to those of its digit; ends[d] is where the runs with digit d end. */
static void deal_out(struct dot_run *runs, size_t count, unsigned shift, size_t *ends)
{
    size_t next[DIGITS], begin = 0;
    memset(ends, 0, DIGITS * sizeof *ends);
    for (size_t i = 0; i < count; i++)
        ends[digit_of(&runs[i], shift)]++;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        next[digit] = begin;
        begin = ends[digit] += begin;
    }
    for (unsigned digit = 0; digit < DIGITS; digit++)
        while (next[digit] < ends[digit]) {
            struct dot_run run = runs[next[digit]];
            for (unsigned home; (home = digit_of(&run, shift)) != digit;) {
                struct dot_run displaced = runs[next[home]];
                runs[next[home]++] = run;
                run = displaced;
            }
            runs[next[digit]++] = run;
        }
}

/*
 * By first dot, from the highest digit down, in place: it takes no memory, so it cannot fail. Digits in which all agree
 * (most of the actor's) are skipped; the next one lies eight bits lower at least, so the recursion is 12 deep at most.
 */
static void sort_runs(struct dot_run *runs, size_t count)
{
    if (count <= FEW_TO_SORT) {
        sort_by_insertion(runs, count);
        return;
    }
    size_t ends[DIGITS], begin = 0;
    unsigned shift = digit_shift(runs, count);
    if (shift == NO_DIGIT)
        return;
    deal_out(runs, count, shift, ends);
    for (unsigned digit = 0; digit < DIGITS && shift > 0; begin = ends[digit++])
        sort_runs(runs + begin, ends[digit] - begin);
}

static bool add_one_by_one(struct causal_context *causal, const roost_allocator *allocator, const struct dot_run *runs,
                           size_t count)
{
    bool fits = causal_reserve(causal, allocator, count);
    for (size_t i = 0; i < count && fits; i++)
        causal_add(causal, allocator, runs[i]);
    return fits;
}

bool causal_add_many(struct causal_context *causal, const roost_allocator *allocator, struct dot_run *runs,
                     size_t count)
{
    if (count <= FEW_RUNS)
        return add_one_by_one(causal, allocator, runs, count);
    struct causal_context given = {.runs = runs, .count = count}, sum;
    for (size_t i = 0; i < count; i++)
        assert(is_run(&runs[i]));
    sort_runs(runs, count);
    struct walk walk = walk_along(causal, &given, IN_FIRST_ALONE | IN_SECOND_ALONE | IN_BOTH);
    if (!collect(&sum, walk, causal->count, allocator))
        return false;
    causal_release(causal, allocator);
    *causal = sum;
    return true;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

void causal_ranks(const struct causal_context *causal, uint64_t *before)
{
    uint64_t dots = 0;
    for (size_t i = 0; i < causal->count; i++) {
        before[i] = dots;
        dots += run_dots(&causal->runs[i]);
    }
    before[causal->count] = dots;
}

uint64_t causal_rank(const struct causal_context *causal, const uint64_t *before, uint64_t actor, uint32_t counter)
{
    size_t run = causal_run_of(causal, actor, counter);
    return before[run] + (counter - causal->runs[run].first);
}

/*@ requires \valid_read(causal) && rank < causal->dots && \valid_read(before + (0 .. causal->count));
    requires 0 < causal->count < SIZE_MAX && before[0] == 0 && before[causal->count] == causal->dots;
    requires \forall integer a, b; 0 <= a < b <= causal->count ==> before[a] < before[b];
    assigns \nothing; ensures \result < causal->count && before[\result] <= rank < before[\result + 1]; */
size_t causal_run_of_rank(const struct causal_context *causal, const uint64_t *before, uint64_t rank)
{
    assert(rank < causal->dots);
    size_t run = 0;
    /*@ loop invariant 1 <= left && run + left <= causal->count && before[run] <= rank < before[run + left];
        loop assigns run, left; */
    for (size_t left = causal->count; left > 1;) {
        size_t half = left / 2;
        run += before[run + half] <= rank ? half : 0;
        left -= half;
    }
    return run;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* The runs of one actor, from run `i` on; returns where the next actor's begin. */
static size_t write_actor(const struct causal_context *causal, size_t i, struct bit_writer *writer)
{
    const struct dot_run *runs = causal->runs;
    uint64_t actor = runs[i].actor;
    size_t end = runs_begun(causal, position_of(actor, UINT32_MAX));
    uint32_t last = runs[i].first == 1 ? runs[i++].last : 0;
    write_fixed64(writer, actor);
    write_varint(writer, (uint64_t)last << 1 | (i < end));
    for (; i < end; last = runs[i++].last) {
        write_varint(writer, runs[i].first - last - 2);
        write_varint(writer, (uint64_t)(runs[i].last - runs[i].first) << 1 | (i + 1 < end));
    }
    return end;
}

void causal_write(const struct causal_context *causal, struct bit_writer *writer)
{
    write_varint(writer, causal_actors(causal));
    for (size_t i = 0; i < causal->count;)
        i = write_actor(causal, i, writer);
}

/* Counts a run, and keeps it where there is room. */
/*@ requires \valid(causal) && \valid(causal->runs + (0 .. causal->room - 1)) && first <= last <= UINT32_MAX;
    requires \separated(causal, causal->runs + (0 .. causal->room - 1));
    assigns causal->count, causal->dots, causal->runs[0 .. causal->room - 1];
    ensures causal->count == (size_t)(\old(causal->count) + 1); */
static void take_run(struct causal_context *causal, uint64_t actor, uint64_t first, uint64_t last)
{
    struct dot_run run = {actor, (uint32_t)first, (uint32_t)last};
    if (causal->count < causal->room)
        causal->runs[causal->count] = run;
    causal->count++;
    causal->dots += run_dots(&run);
}

/* Whatever is added to a counter stays within the limit on its own, so that no sum of a few such numbers overflows. */
/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader) && \result <= most;
    ensures !reader->failed ==> 8 <= reader->position - \old(reader->position) <= 80; */
static uint64_t read_at_most(struct bit_reader *reader, uint64_t most)
{
    uint64_t number = read_varint(reader);
    if (number > most)
        reader->failed = true;
    return number > most ? 0 : number;
}

static void read_actor(struct causal_context *causal, struct bit_reader *reader, uint64_t actor, uint64_t most_counter)
{
    uint64_t word = read_at_most(reader, most_counter << 1 | 1), last = word >> 1;
    if (word == 0)
        reader->failed = true;
    if (last > 0)
        take_run(causal, actor, 1, last);
    while ((word & 1) && !reader->failed) {
        uint64_t first = last + 2 + read_at_most(reader, most_counter);
        word = read_at_most(reader, most_counter << 1 | 1);
        last = first + (word >> 1);
        if (last > most_counter)
            reader->failed = true;
        if (!reader->failed)
            take_run(causal, actor, first, last);
    }
}

static void read_actors(struct causal_context *causal, struct bit_reader *reader, uint64_t actors,
                        uint64_t most_counter)
{
    for (uint64_t before = 0; actors > 0 && !reader->failed; actors--) {
        uint64_t actor = read_fixed64(reader);
        if (actor <= before)
            reader->failed = true;
        else
            read_actor(causal, reader, actor, most_counter);
        before = actor;
    }
}

static enum causal_read read_runs(struct causal_context *causal, struct bit_reader *reader, uint32_t most_counter,
                                  size_t most_actors, const roost_allocator *allocator)
{
    const uint64_t least_bits_of_an_actor = 72;
    uint64_t actors = read_varint(reader);
    if (reader->failed || actors > reader_bits_left(reader) / least_bits_of_an_actor)
        return CAUSAL_CORRUPT;
    if (actors > most_actors)
        return CAUSAL_TOO_MANY;
    struct bit_reader ahead = *reader;
    struct causal_context counted = {0};
    read_actors(&counted, &ahead, actors, most_counter);
    if (ahead.failed)
        return CAUSAL_CORRUPT;
    if (counted.count > 0 && !move_to_room(causal, allocator, counted.count))
        return CAUSAL_NO_MEMORY;
    read_actors(causal, reader, actors, most_counter);
    return CAUSAL_READ;
}

enum causal_read causal_read(struct causal_context *causal, struct bit_reader *reader, uint32_t most_counter,
                             size_t most_actors, const roost_allocator *allocator)
{
    *causal = (struct causal_context){0};
    enum causal_read outcome = read_runs(causal, reader, most_counter, most_actors, allocator);
    if (outcome != CAUSAL_READ)
        reader->failed = true;
    return outcome;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

bool causal_check(const struct causal_context *causal)
{
    uint64_t dots = 0;
    uint128 end = 0;
    if (causal->count > causal->room || (causal->runs == NULL) != (causal->room == 0))
        return false;
    for (size_t i = 0; i < causal->count; i++) {
        const struct dot_run *run = &causal->runs[i];
        if (!is_run(run) || run_begin(run) <= end)
            return false;
        end = run_end(run);
        dots += run_dots(run);
    }
    return dots == causal->dots;
}
