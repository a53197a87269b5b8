/*
 * The table of a filter that grows: segments in the order of hashes, and a directory that finds them.
 *
 *     directory    upper   | A | B | C | D |                  a segment for each of the first 2^depth ranges of hashes
 *                  lower   |A0|A1|B0|B1|                      of those before `split`, which are cut in two by now
 *
 * Linear hashing, by the first bits instead of the last ones: as prefixes come, one segment after the other is cut in
 * two, from the lowest hashes to the highest, such that there is always one segment for every so many prefixes; then
 * `lower` becomes `upper`, and the next round begins. So nothing ever stops: an addition cuts or rebuilds one segment,
 * and the directory is never copied. The number of segments depends on that of the prefixes alone.
 *
 * A segment is rebuilt when an addition finds no slot in it, or when the prefix is longer than its slots. Rebuilding
 * makes another segment, a quarter larger, which then takes the place of the old one, so a failure leaves everything as
 * it was. directory.c says why a quarter.
 *
 * Hashes are uniform, unless keys were chosen by somebody who knows the seed. Where so many fall into one range that
 * its segment would become too large, it gets a directory of its own (`nested`), which grows with what it holds. Both
 * halves of such a range that is cut point to the same one.
 *
 * A prefix that is shorter than the depth of a segment spans several. Each of them lists it (segment.c), and the first
 * one counts it.
 */
#include "table.h"

#include <string.h>

#include "crowd.h"
#include "../base/hash.h"

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

static inline const struct segment *find(const struct prefix_table *table, uint64_t hash)
{
    return find_segment(table->root, hash);
}

void table_contains_many(const struct prefix_table *table, bool *found, const roost_hash *hashes, size_t count)
{
    if (!table->root) {
        memset(found, 0, count * sizeof *found);
        return;
    }
    if (count == 1)
        *found = search_kernel_in_use()->contains(table->root, hashes->high);
    else
        search_kernel_in_use()->contains_many(table->root, found, hashes, count);
}

bool table_covers(const struct prefix_table *table, uint64_t prefix)
{
    return table->root && segment_covers(find(table, first_covered(prefix)), prefix);
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static void count_out(struct prefix_table *table, uint64_t prefix)
{
    table->count--;
    table->counts[prefix_length(prefix)]--;
    table->sum -= hash_number(table->seed, prefix);
}

static bool spill(struct prefix_table *table, struct segment *segment, uint64_t prefix)
{
    uint64_t bytes = segment_bytes(segment);
    bool done = segment_is_roomy(segment) && segment_most(segment) < (uint64_t)MOST_IN_SEGMENT * table->target &&
                segment_spill(segment, (struct prefix_entry){prefix, 0}, &table->allocator);
    table->bytes += segment_bytes(segment) - bytes;
    return done;
}

/* Into the segment as it is. */
static bool put_in_place(struct prefix_table *table, struct directory *directory, struct segment *segment,
                         uint64_t prefix)
{
    uint64_t removed[2 * SLOTS];
    uint32_t count = 0;
    if (prefix_length(prefix) < table->longest) {
        if (segment->spill_count) /* some of these may be covered */
            return false;
        count = segment_remove_covered(segment, prefix, removed);
    }
    if (!segment_put(segment, (struct prefix_entry){prefix, 0}) && !spill(table, segment, prefix))
        return false; /* then nothing was removed, or there would be room */
    for (uint32_t i = 0; i < count; i++) {
        segment->sum -= hash_number(table->seed, removed[i]);
        count_out(table, removed[i]);
    }
    uint128 hash = hash_number(table->seed, prefix);
    segment->sum += hash;
    directory->count += 1 - (uint64_t)count;
    table_count_in(table, prefix, hash);
    return true;
}

/*
 * Where a segment cannot take a prefix as it is, and where the prefix spans several segments, each gets a successor.
 * All of these are made before the first takes its place.
 */
struct successor {
    struct directory *directory;
    node *place, child;
};

struct replacement {
    struct successor *successors;
    uint64_t count, room;
    uint64_t gone, gone_of[MOST_LENGTH + 1]; /* prefixes that the new one covers, */
    uint128 gone_sum;                        /* and the sum of their hashes */
    bool is_last_resort;                     /* segments as they are do not take what is new */
};

static void note_gone(const struct prefix_table *table, struct replacement *replacement, uint64_t prefix)
{
    replacement->gone++;
    replacement->gone_of[prefix_length(prefix)]++;
    replacement->gone_sum += hash_number(table->seed, prefix);
}

static struct successor *next_successor(struct prefix_table *table, struct replacement *replacement)
{
    if (replacement->count == replacement->room) {
        uint64_t room = replacement->room ? 2 * replacement->room : 1;
        struct successor *more = memory_allocate(&table->allocator, room * sizeof *more);
        if (!more)
            return NULL;
        if (replacement->count)
            memcpy(more, replacement->successors, replacement->count * sizeof *more);
        memory_release(&table->allocator, replacement->successors);
        replacement->successors = more;
        replacement->room = room;
    }
    return &replacement->successors[replacement->count];
}

/* The union of two lists in order, without what is covered. Returns how many there are. */
static uint64_t merge_lists(const struct prefix_table *table, struct replacement *replacement,
                            const struct segment *old, uint64_t *merged, const uint64_t *held, uint64_t held_count,
                            const uint64_t *prefixes, uint64_t count)
{
    uint64_t i = 0, j = 0, total = 0;
    while (i < held_count || j < count) {
        if (j < count && i < held_count && covers_prefix(prefixes[j], held[i])) {
            if (begins_here(old, held[i]))
                note_gone(table, replacement, held[i]);
            i++;
        } else if (j == count || (i < held_count && held[i] < prefixes[j]))
            merged[total++] = held[i++];
        else
            merged[total++] = prefixes[j++];
    }
    return total;
}

/* By a copy that gets the few that are new, if it takes them; it has noted nothing if it does not. */
static node extended_copy(struct prefix_table *table, struct replacement *replacement, const struct segment *old,
                          const uint64_t *prefixes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (!segment_takes(old, prefix_length(prefixes[i])) || !begins_here(old, prefixes[i]))
            return 0;
    if (old->spill_count || count > old->used / 4)
        return 0;
    struct segment *copy = segment_copy(old, &table->allocator);
    uint64_t removed[2 * SLOTS];
    const struct replacement before = *replacement;
    for (uint64_t i = 0; copy && i < count; i++) {
        bool may_cover = prefix_length(prefixes[i]) < table->longest;
        uint32_t gone = may_cover ? segment_remove_covered(copy, prefixes[i], removed) : 0;
        for (uint32_t j = 0; j < gone; j++) {
            note_gone(table, replacement, removed[j]);
            copy->sum -= hash_number(table->seed, removed[j]);
        }
        copy->sum += hash_number(table->seed, prefixes[i]);
        if (segment_put(copy, (struct prefix_entry){prefixes[i], 0}))
            continue;
        *replacement = before;
        segment_free(copy, &table->allocator);
        return 0;
    }
    if (copy)
        table->bytes += segment_bytes(copy);
    return (node)copy;
}

static node rebuilt(struct prefix_table *table, struct replacement *replacement, const struct segment *old,
                    const uint64_t *prefixes, uint64_t count)
{
    uint64_t room = segment_room(old);
    uint64_t *merged = memory_allocate(&table->allocator, (3 * room + count) * sizeof *merged);
    if (!merged)
        return 0;
    uint64_t *held = merged + count, listed = segment_list(old, held, held + room);
    listed = merge_lists(table, replacement, old, merged, held, listed, prefixes, count);
    node child = new_child(table, old->start, old->depth, &(struct prefix_run){merged, NULL, listed, 0},
                           sum_of(table, old->start, merged, listed));
    memory_release(&table->allocator, merged);
    return child;
}

/* The same for one prefix that begins here and covers nothing, without sorting: a segment that only has to grow. */
static node grown(struct prefix_table *table, const struct segment *old, uint64_t prefix)
{
    struct prefix_run run;
    if (segment_most(old) >= (uint64_t)MOST_IN_SEGMENT * table->target ||
        !allocate_run(table, &run, segment_room(old) + 1))
        return 0;
    segment_gather(old, &run);
    run.prefixes[run.count++] = prefix;
    node child = new_segment(table, old->start, old->depth, &run, old->sum + hash_number(table->seed, prefix));
    memory_release(&table->allocator, run.prefixes);
    return child;
}

/* Of the segment with this hash, for prefixes in order that have something there. */
static roost_status make_successor(struct prefix_table *table, struct replacement *replacement, uint64_t hash,
                                   const uint64_t *prefixes, uint64_t count)
{
    struct successor *successor = next_successor(table, replacement);
    if (!successor)
        return ROOST_NO_MEMORY;
    successor->directory = owner_of(table, hash);
    successor->place = place_of(successor->directory, hash);
    const struct segment *old = segment_of(*successor->place);
    bool covers_none = prefix_length(*prefixes) >= table->longest && prefix_length(*prefixes) >= old->depth;
    successor->child = replacement->is_last_resort ? 0 : extended_copy(table, replacement, old, prefixes, count);
    if (!successor->child && count == 1 && covers_none)
        successor->child = grown(table, old, *prefixes);
    if (!successor->child)
        successor->child = rebuilt(table, replacement, old, prefixes, count);
    if (!successor->child)
        return ROOST_NO_MEMORY;
    replacement->count++;
    return table->bytes > table->most_bytes ? ROOST_TOO_LARGE : ROOST_OK;
}

static void free_child(struct prefix_table *table, node child)
{
    if (is_nested(child))
        free_directory(table, nested_of(child));
    else
        free_segment(table, segment_of(child));
}

static void take_places(struct prefix_table *table, const struct replacement *replacement)
{
    for (uint64_t i = 0; i < replacement->count; i++) {
        const struct successor *successor = &replacement->successors[i];
        successor->directory->count += is_nested(successor->child) ? 0 : segment_of(successor->child)->prefixes;
        successor->directory->count -= segment_of(*successor->place)->prefixes;
        free_segment(table, segment_of(*successor->place));
        *successor->place = successor->child;
    }
    table->count -= replacement->gone;
    for (unsigned length = 0; length <= MOST_LENGTH; length++)
        table->counts[length] -= replacement->gone_of[length];
    table->sum -= replacement->gone_sum;
}

/* How many of the prefixes, from the first on, have something in the range that ends here. */
static uint64_t count_until(const uint64_t *prefixes, uint64_t count, uint64_t end)
{
    uint64_t some = 0;
    while (some < count && first_covered(prefixes[some]) <= end)
        some++;
    return some;
}

/* A successor for every segment in which one of the prefixes has something. */
static roost_status make_successors(struct prefix_table *table, struct replacement *replacement,
                                    const uint64_t *prefixes, uint64_t count)
{
    roost_status status = ROOST_OK;
    uint64_t hash = 0;
    for (uint64_t done = 0; done < count && status == ROOST_OK;) {
        hash = first_covered(prefixes[done]) > hash ? first_covered(prefixes[done]) : hash;
        const struct segment *segment = find(table, hash);
        uint64_t end = range_end(segment->start, segment->depth);
        uint64_t some = count_until(prefixes + done, count - done, end);
        status = make_successor(table, replacement, hash, prefixes + done, some);
        done += some;
        if (last_covered(prefixes[done - 1]) > end)
            done--; /* it goes on in the next segment */
        hash = end + 1;
    }
    return status;
}

static roost_status add_by_replacement(struct prefix_table *table, const uint64_t *prefixes, uint64_t count,
                                       bool is_last_resort)
{
    struct replacement replacement = {.is_last_resort = is_last_resort};
    roost_status status = make_successors(table, &replacement, prefixes, count);
    if (status == ROOST_OK) {
        take_places(table, &replacement);
        for (uint64_t i = 0; i < count; i++)
            table_count_in(table, prefixes[i], hash_number(table->seed, prefixes[i]));
    } else
        for (uint64_t i = 0; i < replacement.count; i++)
            free_child(table, replacement.successors[i].child);
    memory_release(&table->allocator, replacement.successors);
    return status;
}

roost_status table_begin(struct prefix_table *table, uint64_t segments)
{
    struct directory *root = new_directory(table, 0, segments);
    uint64_t none = 0; /* not even 0 may be added to a null pointer */
    if (!root)
        return ROOST_NO_MEMORY;
    if (fill_directory(table, root, 0, &(struct prefix_run){.prefixes = &none})) {
        table->root = root;
        return ROOST_OK;
    }
    free_directory(table, root);
    return ROOST_NO_MEMORY;
}

roost_status table_add(struct prefix_table *table, uint64_t prefix)
{
    roost_status status = table->root ? ROOST_OK : table_begin(table, 1);
    if (status != ROOST_OK)
        return status;
    struct directory *directory = owner_of(table, first_covered(prefix));
    struct segment *segment = segment_of(*place_of(directory, first_covered(prefix)));
    bool is_shared = segment_is_shared(segment);
    if (is_shared || !segment_takes(segment, prefix_length(prefix)) || !put_in_place(table, directory, segment, prefix))
        status = add_by_replacement(table, &prefix, 1, !is_shared);
    if (status == ROOST_OK)
        grow_directory(table, directory);
    return status;
}

/* Prefixes that lie close together mostly are a part of many, which come in order, a part at a time (a state in
   chunks). They would crowd one segment after the other, which would be built anew for each part. So the table is cut
   for as many as there are if all hashes have as many: a few segments a time, as much work as the prefixes are. */
#define FEWEST_CLOSE 16
#define WORK_OF_ONE  8  /* a prefix that is added */
#define WORK_OF_CUT  32 /* beside the prefixes of the segment */

/* How many segments there will be, if they are: a quarter fewer, since what few prefixes tell is often too much. */
static uint64_t segments_for(const struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    uint64_t span = last_covered(prefixes[count - 1]) - first_covered(prefixes[0]);
    return UINT64_MAX / (span / count + 1) / table->target / 4 * 3;
}

static bool are_close(const struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    return table->root && count >= FEWEST_CLOSE && segments_for(table, prefixes, count) > segments_of(table->root);
}

static void cut_for(struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    struct directory *root = table->root;
    uint64_t segments = segments_for(table, prefixes, count), work = 0;
    while (segments_of(root) < segments && work <= WORK_OF_ONE * count) {
        node next = root->upper[root->split];
        work += WORK_OF_CUT + (is_nested(next) ? 0 : segment_of(next)->prefixes);
        if (!cut_directory(table, root))
            return;
    }
}

roost_status table_add_all(struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    if (count == 0)
        return ROOST_OK;
    bool close = are_close(table, prefixes, count);
    if (close)
        cut_for(table, prefixes, count);
    if (!table->root || (count > table->count / 2 && !close))
        return table_rebuild_with(table, prefixes, count);
    if (count == 1)
        return table_add(table, *prefixes);
    roost_status status = add_by_replacement(table, prefixes, count, false);
    for (uint64_t before = 0; status == ROOST_OK && before != segments_of(table->root);) {
        before = segments_of(table->root);
        grow_directory(table, table->root);
    }
    return status;
}

static inline void count_length(struct prefix_table *table, unsigned length, uint64_t count)
{
    table->counts[length] += count;
    table->longest = length > table->longest ? (uint8_t)length : table->longest;
}

/* Until one segment has to be cut. */
size_t put_in_slots(struct prefix_table *table, struct put_many *put, bool *added, const roost_hash *hashes,
                    size_t count)
{
    struct directory *root = table->root;
    uint64_t most = root ? segments_of(root) * table->target : 0;
    if (!root || root->count > most)
        return 0;
    count = count <= most - root->count ? count : most - root->count + 1;
    put->tagged = table->tagged;
    size_t done = search_kernel_in_use()->put_many(root, put, added, hashes, count);
    table->count += put->count;
    for (uint64_t i = 0; i < put->count && put->entries; i++)
        count_length(table, prefix_length(put->entries[i].prefix), 1);
    if (put->count && !put->entries)
        count_length(table, put->length, put->count);
    root->count += put->count;
    if (put->count)
        grow_directory(table, root);
    return done;
}

/* Shorter prefixes than there are may cover some of these. */
size_t table_add_many(struct prefix_table *table, bool *added, const roost_hash *hashes, size_t count, unsigned length)
{
    struct put_many put = {.seed = table->seed, .length = length};
    size_t done = length < table->longest ? 0 : put_in_slots(table, &put, added, hashes, count);
    table->sum += put.sum;
    return done;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

void table_init(struct prefix_table *table, uint64_t seed, const roost_environment *environment)
{
    *table = (struct prefix_table){.seed = seed,
                                   .most_bytes = environment->memory_limit,
                                   .target = SEGMENT_TARGET,
                                   .allocator = environment->allocator,
                                   .count_shared = environment->count,
                                   .executor = environment->executor};
}

void table_release(struct prefix_table *table)
{
    if (table->root)
        free_directory(table, table->root);
    crowd_free(&table->crowd, &table->allocator);
    *table = (struct prefix_table){.seed = table->seed,
                                   .most_bytes = table->most_bytes,
                                   .target = table->target,
                                   .tagged = table->tagged,
                                   .take_crowd = table->take_crowd,
                                   .allocator = table->allocator,
                                   .count_shared = table->count_shared,
                                   .executor = table->executor};
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void count_slots(const struct directory *directory, uint64_t *used, uint64_t *slots)
{
    node last = 0;
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        node child = *child_at(directory, i);
        if (!is_nested(child)) {
            *used += segment_of(child)->used;
            *slots += (uint64_t)segment_of(child)->buckets * SLOTS;
        } else if (child != last)
            count_slots(nested_of(child), used, slots);
        last = child;
    }
}

double table_load(const struct prefix_table *table)
{
    uint64_t used = 0, slots = 0;
    if (table->root)
        count_slots(table->root, &used, &slots);
    return slots ? (double)used / (double)slots : 0;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

bool table_check(const struct prefix_table *table)
{
    bool sound = true, more = true;
    struct table_walk walk;
    uint64_t counts[MOST_LENGTH + 1] = {0}, count = 0;
    uint128 sum = 0;
    if (!directory_is_sound(table))
        return false;
    walk_begin(&walk, table, 0);
    roost_status status = ROOST_OK;
    while (sound && (status = walk_next(&walk, &more)) == ROOST_OK && more)
        for (uint64_t i = 0; i < walk.count; i++) {
            sum += hash_number(table->seed, walk.prefixes[i]);
            counts[prefix_length(walk.prefixes[i])]++;
            count++;
        }
    walk_end(&walk);
    if (status != ROOST_OK) /* no memory to look further */
        return sound;
    return sound && count == table->count && sum == table->sum && memcmp(counts, table->counts, sizeof counts) == 0;
}
