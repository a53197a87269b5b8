/*
 * A prefix table with tags, for filters whose entries carry dots.
 *
 *     entry      (prefix, tag)         the same prefix may be there with several tags; prefixes may cover each other
 *     slots      as without tags       a look-up reads nothing else
 *     tags       a lane of their own   as wide as those of the segment need (segment.h)
 *
 * Unlike the table without tags this one is changed an entry at a time, and an entry can be dropped without memory: once
 * `tagged_own` has made sure that its segment is no other table's (segment.c).
 *
 * What finds no slot goes to a crowd beside the table (crowd.h): further copies of one element than its two buckets
 * have slots, keys beyond what a segment may hold, prefixes that end before the slots of their segment begin, and
 * whatever is put while there is no memory to rebuild a segment. So what is in slots never spans two segments, and has
 * no index (segment.c): prefixes are far longer than the table needs, and short ones come from strangers, any number of
 * them, or are few. Each segment counts how many entries of the crowd have something in its range. Entries of the crowd
 * stay there until they are dropped. So a table with tags needs no nested directories, and with room in the crowd that
 * was reserved before, an entry can be put without fail.
 *
 * When a segment is cut in two, its part of the crowd is told by the bounds of their hashes, which nearly always are on
 * one side, since a crowd is one element; otherwise it is counted.
 */
#include "tagged.h"

#include <string.h>

#include "crowd.h"
#include "../base/hash.h"

/* ---- the crowd --------------------------------------------------------------------------------------------------- */

uint64_t tagged_crowd(const struct prefix_table *table)
{
    return table->crowd ? table->crowd->stash.count : 0;
}

uint64_t tagged_bytes(const struct prefix_table *table)
{
    return table->bytes + (table->crowd ? sizeof *table->crowd + stash_bytes(&table->crowd->stash) : 0);
}

/* Segments are never twice as large as what they hold, or they hold little. */
uint64_t tagged_bytes_with(const struct prefix_table *table, uint64_t more)
{
    const struct stash none = {.tagged = true};
    const struct stash *stash = table->crowd ? &table->crowd->stash : &none;
    return tagged_bytes(table) - stash_bytes(stash) + stash_bytes_with(stash, more) + sizeof *table->crowd;
}

/* What so many more in the crowd take. */
static uint64_t crowd_growth(const struct prefix_table *table, uint64_t more)
{
    return more ? tagged_bytes_with(table, more) - tagged_bytes(table) : 0;
}

/* Whether there may be so many more in the crowd. What it takes already is not among the bytes that have a limit. */
static bool crowd_may_grow(const struct prefix_table *table, uint64_t more)
{
    return table->bytes + crowd_growth(table, more) <= table->most_bytes;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void extend_bounds(struct segment *segment, uint64_t prefix)
{
    uint64_t first = larger(first_covered(prefix), segment->start);
    uint64_t last = smaller(last_covered(prefix), range_end(segment->start, segment->depth));
    segment->crowd_low = segment->spill_count ? smaller(segment->crowd_low, first) : first;
    segment->crowd_high = segment->spill_count ? larger(segment->crowd_high, last) : last;
}

/* One entry of the crowd more, or fewer, in every segment in which it has something. */
static void count_in_crowd(struct prefix_table *table, uint64_t prefix, bool joins)
{
    for (uint64_t hash = first_covered(prefix);;) {
        struct segment *segment = find_segment(table->root, hash);
        if (joins)
            extend_bounds(segment, prefix);
        segment->spill_count += joins ? 1u : -1u;
        segment->crowd = segment->spill_count ? table->crowd : NULL;
        uint64_t end = range_end(segment->start, segment->depth);
        if (end >= last_covered(prefix))
            return;
        hash = end + 1;
    }
}

static bool join_crowd(struct prefix_table *table, struct prefix_entry entry)
{
    if (!crowd_open(&table->crowd, &table->allocator) ||
        !stash_insert(&table->crowd->stash, &table->allocator, entry.prefix, entry.tag))
        return false;
    table->crowd->lengths |= UINT64_C(1) << prefix_length(entry.prefix);
    count_in_crowd(table, entry.prefix, true);
    return true;
}

/* How many entries of the crowd have something in the range of a segment. */
static uint32_t count_crowd_of(const struct prefix_table *table, const struct segment *segment)
{
    const struct stash *stash = &table->crowd->stash;
    uint64_t end = range_end(segment->start, segment->depth);
    uint32_t count = 0;
    for (uint64_t i = 0; i < stash->used; i++)
        count += stash->nodes[i].key && first_covered(stash->nodes[i].key) <= end &&
                 last_covered(stash->nodes[i].key) >= segment->start;
    return count;
}

static void inherit_crowd(const struct prefix_table *table, const struct segment *old, struct segment *heir)
{
    uint64_t end = range_end(heir->start, heir->depth);
    bool all = old->crowd_low >= heir->start && old->crowd_high <= end;
    bool none = old->crowd_low > end || old->crowd_high < heir->start;
    heir->spill_count = none ? 0 : all ? old->spill_count : count_crowd_of(table, heir);
    heir->crowd = heir->spill_count ? table->crowd : NULL;
    heir->crowd_low = larger(old->crowd_low, heir->start);
    heir->crowd_high = smaller(old->crowd_high, end);
}

/* Entries of which a segment says that they are still to join the crowd. */
static uint64_t pending_of(const node *segments, unsigned count)
{
    uint64_t pending = 0;
    for (unsigned i = 0; i < count; i++)
        pending += segment_of(segments[i])->spill_count;
    return pending;
}

static void settle(struct prefix_table *table, struct segment *segment, const struct segment *old)
{
    struct stash *stash = table->crowd ? &table->crowd->stash : NULL;
    struct prefix_entry *pending = segment->pending;
    uint32_t count = segment->spill_count;
    table->bytes -= segment_bytes(segment);
    segment->pending = NULL;
    segment->spill_count = segment->spill_room = 0;
    if (old->crowd)
        inherit_crowd(table, old, segment);
    for (uint32_t i = 0; i < count; i++) { /* which were in slots, or would have been: none spans another segment */
        stash_insert(stash, &table->allocator, pending[i].prefix, pending[i].tag);
        table->crowd->lengths |= UINT64_C(1) << prefix_length(pending[i].prefix);
        extend_bounds(segment, pending[i].prefix);
        segment->spill_count++;
        segment->crowd = table->crowd;
    }
    memory_release(&table->allocator, pending);
    table->bytes += segment_bytes(segment);
}

static bool take_crowd(struct prefix_table *table, const struct segment *old, const node *successors, unsigned count)
{
    uint64_t pending = pending_of(successors, count);
    if (pending && (!crowd_open(&table->crowd, &table->allocator) ||
                    !stash_reserve(&table->crowd->stash, &table->allocator, pending + table->reserved)))
        return false;
    for (unsigned i = 0; i < count; i++)
        settle(table, segment_of(successors[i]), old);
    return true;
}

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

bool tagged_holds(const struct prefix_table *table, struct prefix_entry entry)
{
    if (!table->root)
        return false;
    const struct segment *segment = find_segment(table->root, first_covered(entry.prefix));
    return segment_holds(segment, entry) ||
           (segment->crowd && stash_find_entry(&segment->crowd->stash, entry.prefix, entry.tag) != NO_NODE);
}

static bool has_prefix(const struct segment *segment, uint64_t prefix)
{
    return segment_holds(segment, (struct prefix_entry){prefix, 0}) ||
           (segment->crowd && stash_contains(&segment->crowd->stash, prefix));
}

/* Of those in the crowd, which have a prefix. */
static uint32_t crowd_of_prefix(const struct crowd *crowd, uint64_t prefix, struct prefix_entry *entries, uint32_t most)
{
    uint32_t count = 0;
    uint64_t at = stash_find_class(&crowd->stash, prefix);
    while (at != NO_NODE && count < most) {
        const struct stash_node *held = &crowd->stash.nodes[at];
        entries[count++] = (struct prefix_entry){held->key, held->tag};
        at = held->next ? held->next - 1 : NO_NODE;
    }
    return count;
}

/* And which cover a hash. */
static uint32_t crowd_covering(const struct crowd *crowd, uint64_t hash, struct prefix_entry *entries, uint32_t most)
{
    uint32_t count = 0;
    for (unsigned length = 64; count < most && next_length(crowd, &length);)
        count += crowd_of_prefix(crowd, prefix_of(hash, length), entries + count, most - count);
    return count;
}

uint32_t tagged_covering(const struct prefix_table *table, uint64_t hash, struct prefix_entry *entries, uint32_t most)
{
    if (!table->root)
        return 0;
    const struct segment *segment = find_segment(table->root, hash);
    uint32_t count = segment_covering(segment, hash, entries, most);
    if (segment->crowd)
        count += crowd_covering(segment->crowd, hash, entries + count, most - count);
    return count;
}

uint32_t tagged_of_prefix(const struct prefix_table *table, uint64_t prefix, struct prefix_entry *entries,
                          uint32_t most)
{
    struct prefix_entry covering[TAGGED_AT_ONCE];
    uint32_t kept = 0;
    if (!table->root)
        return 0;
    const struct segment *segment = find_segment(table->root, first_covered(prefix));
    uint32_t count = segment_covering(segment, first_covered(prefix), covering, TAGGED_AT_ONCE);
    for (uint32_t i = 0; i < count && kept < most; i++)
        if (covering[i].prefix == prefix)
            entries[kept++] = covering[i];
    return segment->crowd ? kept + crowd_of_prefix(segment->crowd, prefix, entries + kept, most - kept) : kept;
}

bool tagged_has_prefix(const struct prefix_table *table, uint64_t prefix)
{
    return table->root && has_prefix(find_segment(table->root, first_covered(prefix)), prefix);
}

static void fetch_bucket(const struct segment *segment, struct lane lane, uint32_t bucket)
{
    const uint8_t *bytes = bucket_in(segment, lane, bucket);
    __builtin_prefetch(bytes);
    __builtin_prefetch(bytes + lane.width - 1);
}

void tagged_fetch(const struct prefix_table *table, uint64_t hash)
{
    if (!table->root)
        return;
    const struct segment *segment = find_segment(table->root, hash);
    const struct slot_place place = slot_place_of(segment, hash);
    fetch_bucket(segment, segment->slots, place.home);
    fetch_bucket(segment, segment->slots, place.other);
    fetch_bucket(segment, segment->tags, place.home);
    fetch_bucket(segment, segment->tags, place.other);
}

uint64_t tagged_count_covering(const struct prefix_table *table, uint64_t hash)
{
    struct prefix_entry entries[TAGGED_AT_ONCE];
    if (!table->root)
        return 0;
    const struct segment *segment = find_segment(table->root, hash);
    uint64_t count = segment_covering(segment, hash, entries, TAGGED_AT_ONCE);
    if (segment->crowd)
        for (unsigned length = 64; next_length(segment->crowd, &length);)
            count += stash_copies(&segment->crowd->stash, prefix_of(hash, length));
    return count;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

void tagged_init(struct prefix_table *table, uint64_t seed, const roost_environment *environment)
{
    table_init(table, seed, environment);
    table->tagged = true;
    table->take_crowd = take_crowd;
}

static void count_entry(struct prefix_table *table, uint64_t prefix, bool first)
{
    unsigned length = prefix_length(prefix);
    table->count++;
    table->counts[length] += first;
    table->longest = length > table->longest ? (uint8_t)length : table->longest;
}

/* All entries of a segment, and one more unless its prefix is 0, in a successor. */
static node successor_of(struct prefix_table *table, const struct segment *old, struct prefix_entry entry)
{
    struct prefix_run run;
    if (!allocate_run(table, &run, segment_room(old) + 1))
        return 0;
    segment_gather(old, &run);
    if (entry.prefix) {
        run.prefixes[run.count] = entry.prefix;
        run.tags[run.count++] = entry.tag;
    }
    node successor = new_segment(table, old->start, old->depth, &run, 0);
    memory_release(&table->allocator, run.prefixes);
    return successor;
}

static void take_place(struct prefix_table *table, struct segment *old, node successor)
{
    struct directory *directory = owner_of(table, old->start);
    directory->count += segment_of(successor)->prefixes - (uint64_t)old->prefixes;
    *place_of(directory, old->start) = successor;
    free_segment(table, old);
}

/* Rebuilds one segment with an entry that begins and ends in it. */
static bool rebuild_one(struct prefix_table *table, struct segment *old, struct prefix_entry entry)
{
    node successor = successor_of(table, old, entry);
    if (!successor)
        return false;
    uint64_t bytes = table->bytes - segment_bytes(old) + crowd_growth(table, pending_of(&successor, 1));
    if (bytes > table->most_bytes || !take_crowd(table, old, &successor, 1)) {
        free_segment(table, segment_of(successor));
        return false;
    }
    take_place(table, old, successor);
    return true;
}

/* Into the segment as it is, or a larger one. */
static bool put_in_segment(struct prefix_table *table, struct segment *segment, struct prefix_entry entry)
{
    unsigned length = prefix_length(entry.prefix);
    if (length < (unsigned)segment->depth + segment->place_bits)
        return false; /* what is short joins the crowd */
    if (segment_takes(segment, length) && segment_takes_tag(segment, entry.tag)) {
        if (segment_put(segment, entry)) {
            owner_of(table, segment->start)->count++;
            return true;
        }
        if (segment_is_roomy(segment))
            return false; /* it met a crowd */
    }
    if (segment_most(segment) >= (uint64_t)MOST_IN_SEGMENT * table->target)
        return false;
    return rebuild_one(table, segment, entry);
}

bool tagged_own(struct prefix_table *table, uint64_t prefix)
{
    return !table->root || own_segments(table, first_covered(prefix), last_covered(prefix));
}

static roost_status put(struct prefix_table *table, struct prefix_entry entry, bool is_first)
{
    if (!tagged_own(table, entry.prefix))
        return ROOST_NO_MEMORY;
    struct segment *segment = find_segment(table->root, first_covered(entry.prefix));
    bool first = is_first || !has_prefix(segment, entry.prefix);
    if (!put_in_segment(table, segment, entry)) {
        if (!table->reserved && !crowd_may_grow(table, 1))
            return ROOST_TOO_LARGE;
        if (!join_crowd(table, entry))
            return ROOST_NO_MEMORY;
    }
    count_entry(table, entry.prefix, first);
    table->reserved -= table->reserved > 0;
    grow_directory(table, owner_of(table, first_covered(entry.prefix)));
    return ROOST_OK;
}

roost_status tagged_put(struct prefix_table *table, struct prefix_entry entry)
{
    roost_status status = table->root ? ROOST_OK : table_begin(table, 1);
    return status == ROOST_OK ? put(table, entry, false) : status;
}

roost_status tagged_put_first(struct prefix_table *table, struct prefix_entry entry)
{
    roost_status status = table->root ? ROOST_OK : table_begin(table, 1);
    return status == ROOST_OK ? put(table, entry, true) : status;
}

size_t tagged_put_many(struct prefix_table *table, const roost_hash *hashes, size_t count, unsigned length,
                       uint64_t tag)
{
    bool added[TAGGED_AT_ONCE];
    struct put_many put = {.length = length, .tag = tag};
    return put_in_slots(table, &put, added, hashes, count < TAGGED_AT_ONCE ? count : TAGGED_AT_ONCE);
}

size_t tagged_put_entries(struct prefix_table *table, const struct prefix_entry *entries, size_t count)
{
    bool added[TAGGED_AT_ONCE];
    roost_hash hashes[TAGGED_AT_ONCE];
    struct put_many put = {.entries = entries};
    for (size_t i = 0; i < count; i++)
        hashes[i] = (roost_hash){0, first_covered(entries[i].prefix)};
    return put_in_slots(table, &put, added, hashes, count);
}

static bool drop_from_segment(struct prefix_table *table, struct prefix_entry entry)
{
    struct segment *segment = find_segment(table->root, first_covered(entry.prefix));
    if (!segment_drop(segment, entry))
        return false;
    owner_of(table, segment->start)->count--;
    return true;
}

static bool leave_crowd(struct prefix_table *table, struct prefix_entry entry)
{
    if (!table->crowd)
        return false;
    struct stash *stash = &table->crowd->stash;
    uint64_t found = stash_find_entry(stash, entry.prefix, entry.tag);
    if (found == NO_NODE)
        return false;
    stash_remove(stash, found);
    count_in_crowd(table, entry.prefix, false);
    if (stash->count == 0)
        table->crowd->lengths = 0;
    return true;
}

bool tagged_drop(struct prefix_table *table, struct prefix_entry entry)
{
    if (!table->root || (!drop_from_segment(table, entry) && !leave_crowd(table, entry)))
        return false;
    const struct segment *segment = find_segment(table->root, first_covered(entry.prefix));
    table->count--;
    table->expected = 0; /* they came, or some did not */
    table->counts[prefix_length(entry.prefix)] -= !has_prefix(segment, entry.prefix);
    return true;
}

bool tagged_retag(struct prefix_table *table, struct prefix_entry entry, uint64_t tag)
{
    struct segment *segment = find_segment(table->root, first_covered(entry.prefix));
    return segment_retag(segment, entry, tag);
}

/* A segment is rebuilt when three quarters of it are free, and it is not small anyway. */
#define FEWEST_BUCKETS 8
void tagged_shrink(struct prefix_table *table, uint64_t prefix)
{
    if (!table->root)
        return;
    if (table->count == 0) {
        table_release(table);
        return;
    }
    if (table->crowd && table->crowd->stash.count == 0 && !table->reserved)
        crowd_free(&table->crowd, &table->allocator);
    struct segment *segment = find_segment(table->root, first_covered(prefix));
    if (segment->buckets > FEWEST_BUCKETS && segment->used < (uint32_t)segment->buckets * SLOTS / 4)
        rebuild_one(table, segment, (struct prefix_entry){0});
}

/* ---- reserves ---------------------------------------------------------------------------------------------------- */

roost_status tagged_reserve(struct prefix_table *table, uint64_t count)
{
    if (count == 0) /* removals are taken at the limit of memory, too */
        return ROOST_OK;
    if (!crowd_may_grow(table, count))
        return ROOST_TOO_LARGE;
    if (!table->root && table_begin(table, 1) != ROOST_OK)
        return ROOST_NO_MEMORY;
    if (!crowd_open(&table->crowd, &table->allocator) || !stash_reserve(&table->crowd->stash, &table->allocator, count))
        return ROOST_NO_MEMORY;
    table->reserved = count;
    return ROOST_OK;
}

void tagged_release_reserve(struct prefix_table *table)
{
    table->reserved = 0;
    if (table->crowd && table->crowd->stash.count == 0)
        crowd_free(&table->crowd, &table->allocator);
    else if (table->crowd)
        stash_trim(&table->crowd->stash, &table->allocator);
}

void tagged_make_room(struct prefix_table *table, uint64_t entries)
{
    uint64_t segments = entries / table->target;
    table->expected = entries < table->most_bytes / 16 ? entries : 0; /* where memory is short, step by step */
    if (!table->root && segments > 1 && segments * 512 < table->most_bytes)
        (void)table_begin(table, segments);
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static void count_run(struct prefix_table *table, const struct prefix_run *run)
{
    uint64_t last = 0, ends = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        table->counts[prefix_length(run->prefixes[i])] += run->prefixes[i] != last;
        last = run->prefixes[i];
        ends |= end_mark(last);
    }
    unsigned longest = ends ? prefix_length(ends) : 0;
    table->count += run->count;
    table->longest = longest > table->longest ? (uint8_t)longest : table->longest;
}

roost_status tagged_build_child(struct prefix_table *table, uint64_t i, uint64_t start, struct prefix_run *run)
{
    const uint64_t most = (uint64_t)MOST_IN_SEGMENT * table->target;
    const struct segment none = {.crowd = NULL};
    run->count = run->count < most ? run->count : most;
    node child = new_segment(table, start, depth_of_child(table->root, i), run, 0);
    *child_at(table->root, i) = child;
    if (!child || !take_crowd(table, &none, &child, 1))
        return ROOST_NO_MEMORY;
    count_run(table, run);
    table->root->count += segment_of(child)->prefixes;
    return table->bytes > table->most_bytes ? ROOST_TOO_LARGE : ROOST_OK;
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

static uint32_t next_in_crowd(const struct prefix_table *table, struct tagged_walk *walk, struct prefix_entry *entries)
{
    uint32_t count = 0;
    if (!table->crowd)
        return 0;
    const struct stash *stash = &table->crowd->stash;
    for (uint64_t i; (i = walk->position & ~TAGGED_IN_CROWD) < stash->used && count < TAGGED_AT_ONCE; walk->position++)
        if (stash->nodes[i].key)
            entries[count++] = (struct prefix_entry){stash->nodes[i].key, stash->nodes[i].tag};
    return count;
}

/* Where the walk is in a segment, NULL where none is left; and after it was there: on, unless something was found. */
static const struct segment *segment_of_walk(const struct prefix_table *table, const struct tagged_walk *walk,
                                             uint32_t *position)
{
    *position = (uint32_t)walk->position;
    return table->root && !(walk->position & TAGGED_IN_CROWD) ? find_segment(table->root, walk->hash) : NULL;
}

static void walk_on(struct tagged_walk *walk, const struct segment *segment, uint32_t position, uint32_t count)
{
    walk->position = position;
    if (count)
        return;
    walk->hash = range_end(segment->start, segment->depth) + 1;
    walk->position = walk->hash ? 0 : TAGGED_IN_CROWD;
}

uint32_t tagged_next(const struct prefix_table *table, struct tagged_walk *walk,
                     struct prefix_entry entries[TAGGED_AT_ONCE])
{
    const struct segment *segment;
    uint32_t position, count = 0;
    while (count == 0 && (segment = segment_of_walk(table, walk, &position)) != NULL) {
        count = segment_next(segment, &position, entries);
        walk_on(walk, segment, position, count);
    }
    return count || !table->root ? count : next_in_crowd(table, walk, entries);
}

uint32_t tagged_next_tags(const struct prefix_table *table, struct tagged_walk *walk, uint64_t tags[ROOM_FOR_TAGS])
{
    const struct segment *segment;
    struct prefix_entry entries[TAGGED_AT_ONCE];
    uint32_t position, count = 0;
    while (count == 0 && (segment = segment_of_walk(table, walk, &position)) != NULL) {
        count = segment_next_tags(segment, &position, tags);
        walk_on(walk, segment, position, count);
    }
    if (count || !table->root)
        return count;
    count = next_in_crowd(table, walk, entries);
    for (uint32_t i = 0; i < count; i++)
        tags[i] = entries[i].tag;
    return count;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* True for one entry of each prefix: the first that is found in its segment, or else the head of its chain in the
   crowd. */
static bool stands_for_prefix(const struct prefix_table *table, struct prefix_entry entry)
{
    const struct segment *segment = find_segment(table->root, first_covered(entry.prefix));
    struct prefix_entry others[TAGGED_AT_ONCE];
    uint32_t count = segment_covering(segment, first_covered(entry.prefix), others, TAGGED_AT_ONCE);
    for (uint32_t i = 0; i < count; i++)
        if (others[i].prefix == entry.prefix)
            return segment_holds(segment, entry) && others[i].tag == entry.tag;
    if (!segment->crowd)
        return false;
    uint64_t head = stash_find_class(&segment->crowd->stash, entry.prefix);
    return head != NO_NODE && segment->crowd->stash.nodes[head].tag == entry.tag;
}

/* Whether a shorter prefix covers this one. */
static bool is_covered(const struct prefix_table *table, uint64_t prefix)
{
    const struct segment *segment = find_segment(table->root, first_covered(prefix));
    struct prefix_entry others[TAGGED_AT_ONCE];
    uint32_t count = segment_covering(segment, first_covered(prefix), others, TAGGED_AT_ONCE);
    for (uint32_t i = 0; i < count; i++)
        if (end_mark(others[i].prefix) > end_mark(prefix))
            return true;
    if (segment->crowd)
        for (unsigned length = prefix_length(prefix); next_length(segment->crowd, &length);)
            if (stash_contains(&segment->crowd->stash, prefix_of(prefix, length)))
                return true;
    return false;
}

uint64_t tagged_elements(const struct prefix_table *table)
{
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    uint64_t elements = 0;
    for (uint32_t some; (some = tagged_next(table, &walk, entries)) > 0;)
        for (uint32_t i = 0; i < some; i++)
            elements += stands_for_prefix(table, entries[i]) && !is_covered(table, entries[i].prefix);
    return elements;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

static bool crowd_is_sound(const struct prefix_table *table)
{
    uint64_t start = 0;
    if (table->crowd && !stash_check(&table->crowd->stash))
        return false;
    do {
        const struct segment *segment = find_segment(table->root, start);
        if (segment->spill_count != (table->crowd ? count_crowd_of(table, segment) : 0) ||
            (segment->crowd && segment->crowd != table->crowd))
            return false;
        start = range_end(segment->start, segment->depth) + 1;
    } while (start);
    return true;
}

bool tagged_check(const struct prefix_table *table)
{
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    uint64_t count = 0, counts[MOST_LENGTH + 1] = {0};
    if (!table->root)
        return table->count == 0 && !tagged_crowd(table);
    if (!directory_is_sound(table) || !crowd_is_sound(table))
        return false;
    for (uint32_t some; (some = tagged_next(table, &walk, entries)) > 0; count += some)
        for (uint32_t i = 0; i < some; i++)
            counts[prefix_length(entries[i].prefix)] += stands_for_prefix(table, entries[i]);
    return count == table->count && memcmp(counts, table->counts, sizeof counts) == 0;
}
