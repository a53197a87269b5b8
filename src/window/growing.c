/*
 * Windows that grow: forgetful filters which keep their error rate for any number of elements, however spread over
 * time.
 *
 * A Bloom filter a slot (forgetful.c) must know in advance how much comes in each slot. A burst that belongs to one
 * slot fills that slot's filter, and the more past slots there are the smaller it is. Here a window is one table
 * (recent.c) of hash prefixes, each with the latest slot in which it came:
 *
 *     time       |  slot 7  |  slot 8  |  slot 9  |  slot 10 |          now: slot 10, N = 2, W = 3 t
 *     added        a  b        c          a          d
 *     kept       { a -> 9, b -> 7, c -> 8, d -> 10 }                     slots 7 to 10 are remembered
 *
 * An element that comes again moves to the new slot, so a window holds each element once. A question reads one place
 * in memory, whatever N is.
 *
 * State. The map, without what is no longer remembered when the newest slot of the map begins. Merge takes the later
 * slot of each prefix and then forgets by the newest slot of both; what one merge forgets every later one would, so it
 * is a join. Slots all have the length t = W / (N + 1), rounded up: nothing is resized, so nothing depends on the order
 * in which replicas met their load.
 *
 * The promise. With n entries and prefixes of b bits, an element that never came is found with probability n / 2^b, by
 * the uniformity of the hash; slots, replicas and their merges change nothing about that. b is 64 less the bits that
 * name slots: 60 for three past slots, 54 for 255. A rate p therefore holds for up to p 2^b elements in the window, at
 * one in a million and three past slots for 10^12; one more addition is refused with ROOST_FULL. A merge is never
 * refused for that reason: `info` then reports that the promise is void. `capacity` is what the user expects; more or
 * fewer elements take more or less memory, nothing else.
 *
 * Memory follows what is remembered: a word an entry, in a table that is at most 0.88 full and holds forgotten entries
 * until they are swept. In streams of distinct elements 9 to 37 bytes for each that is remembered were measured, 25 at
 * a million; up to 55 at 300,000 to 500,000, where the table moves to slabs of 8 MB (recent.c). Where the memory limit
 * is reached, or there is no memory, additions are refused (ROOST_TOO_LARGE, ROOST_NO_MEMORY) until
 * something is forgotten. What is forgotten is given back by the additions that follow, a few thousand entries at a
 * time.
 */
#include "forgetful.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "../base/entropy.h"
#include "../base/hash.h"

/* ---- elements -------------------------------------------------------------------------------------------------- */

static uint64_t slot_at(const struct window *window, uint64_t time)
{
    return window_time(window, time) / window->slot_length;
}

bool growing_holds(const struct window *window, roost_hash hash, uint64_t time)
{
    uint64_t slot;
    const struct recent *recent = &window->recent;
    return recent_find(recent, recent_prefix(recent, hash), &slot) &&
           slot >= recent_floor(recent, slot_at(window, time));
}

uint64_t growing_bytes_beside(const struct window *window)
{
    return sizeof *window + window->tally.room * sizeof *window->tally.entries + own_journal_bytes(&window->base);
}

static bool is_full_for(const struct window *window, uint64_t prefix, uint64_t slot)
{
    uint64_t before;
    const struct recent *recent = &window->recent;
    return recent->live >= window->most && recent_live_at(recent, slot) >= window->most &&
           !(recent_find(recent, prefix, &before) && before >= recent_floor(recent, slot));
}

/* What is forgotten and was not yet given back is given back before memory is found to be short. */
static roost_status add_one(struct window *window, uint64_t *before, uint64_t prefix, uint64_t prepared, uint64_t slot)
{
    struct recent *recent = &window->recent;
    if (is_full_for(window, prefix, slot))
        return ROOST_FULL;
    roost_status status = recent_add(recent, before, prefix, prepared, slot);
    if (status == ROOST_OK)
        return ROOST_OK;
    recent_compact(recent, recent->count);
    return recent_add(recent, before, prefix, prepared, slot);
}

/* Segments that a merge compacts. */
#define SEGMENTS_COMPACTED 64
/* Memory is asked for ahead of its use, for so many elements at once: the processor then looks up several of their
   addresses at a time, which takes as long as to fetch what is there. */
#define AHEAD 16

/* Elements of which we know where they belong, until a segment moves. */
struct group {
    const roost_hash *hashes;
    size_t count;
    uint64_t moves;
    struct recent_place places[AHEAD];
};

static void prepare(const struct recent *recent, struct group *group, size_t from)
{
    recent_prepare(recent, group->places + from, group->hashes + from, group->count - from);
    group->moves = recent->moves;
}

static void open_group(const struct recent *recent, struct group *group, const roost_hash *hashes, size_t count)
{
    group->hashes = hashes;
    group->count = count < AHEAD ? count : AHEAD;
    prepare(recent, group, 0);
}

static roost_status add_group(struct window *window, uint64_t *before, size_t *done, struct group *group, uint64_t slot)
{
    struct recent *recent = &window->recent;
    bool has_room = recent->live + group->count <= window->most;
    for (*done = 0; *done < group->count; ++*done) {
        struct recent_place *next = group->places + *done;
        if (group->moves != recent->moves)
            prepare(recent, group, *done);
        if (has_room)
            *done += recent_add_at_once(recent, before + *done, next, group->count - *done, slot);
        if (*done == group->count)
            break;
        next = group->places + *done;
        roost_status status = add_one(window, before + *done, next->prefix, next->mixed, slot);
        if (status != ROOST_OK)
            return status;
    }
    return ROOST_OK;
}

/* While one group is added, what the next one needs is on its way. */
static roost_status add_row(struct window *window, bool *seen, size_t *done, const roost_hash *hashes, size_t count,
                            uint64_t slot)
{
    struct recent *recent = &window->recent;
    struct group groups[2];
    uint64_t floor = recent_floor(recent, slot), before[AHEAD];
    roost_status status = ROOST_OK;
    open_group(recent, &groups[0], hashes, count);
    for (*done = 0; *done < count && status == ROOST_OK;) {
        struct group *group = &groups[*done / AHEAD % 2], *next = &groups[(*done / AHEAD + 1) % 2];
        size_t taken, ahead = *done + group->count;
        open_group(recent, next, hashes + ahead, count - ahead);
        status = add_group(window, before, &taken, group, slot);
        for (size_t i = 0; i < taken; i++, ++*done) {
            seen[*done] = before[i] != UINT64_MAX && before[i] >= floor;
            if (before[i] != slot)
                journal_note(window->base.journal, ENTRY_TABLE, group->places[i].prefix, 0);
        }
    }
    if (status == ROOST_OK)
        recent_compact(recent, (uint32_t)count);
    return status;
}

roost_status growing_add(struct window *window, bool *seen, size_t *done, const roost_hash *hashes, size_t count,
                         uint64_t time)
{
    bool unasked[WINDOW_ROW];
    roost_status status = window_check_time(window, time);
    uint64_t slot = slot_at(window, time);
    *done = 0;
    window->recent.beside = growing_bytes_beside(window);
    while (*done < count && status == ROOST_OK) {
        size_t taken, some = count - *done < WINDOW_ROW ? count - *done : WINDOW_ROW;
        status = add_row(window, seen ? seen + *done : unasked, &taken, hashes + *done, some, slot);
        *done += taken;
    }
    return status;
}

static void growing_contains(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    const struct recent *recent = &as_const_window(filter)->recent;
    struct recent_place places[AHEAD];
    uint64_t slot;
    for (size_t done = 0; done < count; done += AHEAD) {
        size_t end = count - done < AHEAD ? count : done + AHEAD;
        recent_prepare(recent, places, hashes + done, end - done);
        for (size_t i = done; i < end; i++)
            found[i] = recent_find(recent, recent_prefix(recent, hashes[i]), &slot);
    }
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static bool is_sound_shape(const roost_config *config)
{
    return config->fpr > 0 && config->fpr < 1 && window_is_sound_time(config, MOST_GROWING_PAST) &&
           config->fingerprint_bits >= FEWEST_PREFIX_BITS && config->fingerprint_bits <= recent_most_bits(config->past);
}

/* How many entries keep the rate. */
static uint64_t most_entries(const roost_config *config)
{
    double most = floor(ldexp(config->fpr, (int)config->fingerprint_bits));
    return most < 1 ? 0 : (uint64_t)most;
}

static roost_status growing_resolve(roost_config *config)
{
    if (config->past == 0)
        config->past = DEFAULT_PAST;
    if (config->past > MOST_GROWING_PAST || config->multiset || config->slot_bits || config->slot_probes)
        return ROOST_INVALID;
    if (config->fingerprint_bits == 0)
        config->fingerprint_bits = recent_most_bits(config->past);
    config->layout = 0;
    config->bucket_size = config->entry_bits = 0;
    config->writers = config->growth = 0;
    config->schedule = 0;
    return is_sound_shape(config) && most_entries(config) >= config->capacity ? ROOST_OK : ROOST_INVALID;
}

/* Window and past slots follow, so their part is checked by `open`. */
static bool growing_is_resolved(const roost_config *config)
{
    return config->fpr > 0 && config->fpr < 1 && config->layout == 0 && config->bucket_size == 0 &&
           config->writers == 0 && config->growth == 0 && config->schedule == 0;
}

static bool read_geometry(struct bit_reader *frame, roost_config *config)
{
    config->window = read_varint(frame);
    config->past = read_byte(frame);
    return !frame->failed && is_sound_shape(config);
}

static roost_status growing_open(roost_filter **filter, const roost_config *given, const roost_environment *environment,
                                 struct bit_reader *frame)
{
    uint64_t luck;
    roost_config config = *given;
    if (frame && !read_geometry(frame, &config))
        return ROOST_CORRUPT;
    if (sizeof(struct window) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct window *window = memory_allocate(&environment->allocator, sizeof *window);
    if (!window)
        return ROOST_NO_MEMORY;
    init_base(&window->base, &window->own, config.kind == ROOST_COUNTER ? &growing_counter_kind : &growing_window_kind,
              &config, environment);
    window->slot_length = divide_up(config.window, config.past + 1);
    window->most = most_entries(&config);
    if (!entropy_number(&environment->entropy, &luck))
        luck = random_next(&window->own.random);
    roost_status status =
        recent_open(&window->recent, &window->own.environment, config.seed, config.past, config.fingerprint_bits, luck);
    if (status == ROOST_OK)
        *filter = &window->base;
    else
        memory_release(&environment->allocator, window);
    return status;
}

static void growing_close(roost_filter *filter)
{
    struct window *window = as_window(filter);
    const roost_allocator allocator = filter->environment.allocator;
    recent_close(&window->recent);
    tally_release(&window->tally, &allocator);
    release_journal(filter);
    memory_release(&allocator, window);
}

static roost_status growing_clone(const roost_filter *filter, roost_filter **copy)
{
    const struct window *window = as_const_window(filter);
    roost_filter *made;
    roost_status status = growing_open(&made, filter->config, &const_own_part(filter)->environment, NULL);
    if (status != ROOST_OK)
        return status;
    struct window *twin = as_window(made);
    twin->latest = window->latest;
    if (!tally_copy(&twin->tally, &window->tally, &filter->environment.allocator))
        status = ROOST_NO_MEMORY;
    twin->recent.beside = growing_bytes_beside(twin);
    if (status == ROOST_OK)
        status = recent_copy(&twin->recent, &window->recent);
    if (status == ROOST_OK)
        *copy = made;
    else
        growing_close(made);
    return status;
}

/* ---- replication ----------------------------------------------------------------------------------------------- */

/* Whether an entry is newer than ours, and remembered. */
static bool is_unseen(const struct window *window, uint64_t prefix, uint64_t slot, uint64_t newest)
{
    uint64_t mine;
    return slot >= recent_floor(&window->recent, newest) &&
           !(recent_find(&window->recent, prefix, &mine) && mine >= slot);
}

static roost_status reserve_all(struct window *window, struct incoming incoming, uint64_t newest)
{
    roost_status status = ROOST_OK;
    window->recent.beside = growing_bytes_beside(window);
    for (uint64_t prefix, slot; status == ROOST_OK && incoming_next(&incoming, &prefix, &slot);)
        if (is_unseen(window, prefix, slot, newest))
            status = recent_reserve(&window->recent, prefix);
    return status;
}

static bool raise_all(struct window *window, struct incoming incoming, uint64_t newest)
{
    bool changed = false;
    for (uint64_t prefix, slot; incoming_next(&incoming, &prefix, &slot);)
        if (is_unseen(window, prefix, slot, newest) && recent_raise(&window->recent, prefix, slot)) {
            journal_note(window->base.journal, ENTRY_TABLE, prefix, 0);
            changed = true;
        }
    return changed;
}

roost_status growing_take(struct window *window, bool *changed, const struct incoming *incoming, uint64_t newest,
                          const struct tally *tally)
{
    bool any = incoming->table ? !recent_is_empty(incoming->table) : incoming->slots > 0;
    if (any && window->latest && newest * window->slot_length > window->latest)
        return ROOST_CLOCK;
    if (!recent_is_empty(&window->recent) && window->recent.newest > newest)
        newest = window->recent.newest;
    roost_status status = any ? reserve_all(window, *incoming, newest) : ROOST_OK;
    if (status != ROOST_OK) { /* what is forgotten already may make room */
        recent_abandon(&window->recent);
        recent_compact(&window->recent, window->recent.count);
        status = reserve_all(window, *incoming, newest);
    }
    if (status == ROOST_OK && !tally_reserve(&window->tally, &window->base.environment.allocator, tally->count))
        status = ROOST_NO_MEMORY;
    if (status != ROOST_OK) {
        recent_abandon(&window->recent);
        return status;
    }
    if (any) {
        recent_advance(&window->recent, newest);
        *changed |= raise_all(window, *incoming, newest);
        recent_compact(&window->recent, SEGMENTS_COMPACTED);
    }
    *changed |= window_take_tally(window, tally);
    return ROOST_OK;
}

static roost_status growing_merge(roost_filter *filter, bool *changed, const roost_filter *source)
{
    const struct window *other = as_const_window(source);
    struct incoming incoming = {.table = &other->recent};
    return growing_take(as_window(filter), changed, &incoming, other->recent.newest, &other->tally);
}

/* Whether a merge of `other` would change `window`. */
static bool lacks(const struct window *window, const struct window *other)
{
    struct recent_walk walk = {0};
    uint64_t newest = recent_is_empty(&window->recent) ? 0 : window->recent.newest;
    for (uint64_t prefix, slot; recent_next(&other->recent, &walk, &prefix, &slot);)
        if (is_unseen(window, prefix, slot, newest))
            return true;
    return tally_lacks(&window->tally, &other->tally);
}

static roost_order growing_compare(const roost_filter *filter, const roost_filter *other)
{
    const struct window *first = as_const_window(filter), *second = as_const_window(other);
    return (lacks(first, second) ? ROOST_BEFORE : 0) | (lacks(second, first) ? ROOST_AFTER : 0);
}

static uint128 growing_digest(roost_filter *filter)
{
    struct window *window = as_window(filter);
    return tally_digest(&window->tally, filter->config->seed) + recent_digest(&window->recent);
}

/* ---- report ---------------------------------------------------------------------------------------------------- */

static uint64_t growing_bytes(const roost_filter *filter)
{
    return growing_bytes_beside(as_const_window(filter)) + as_const_window(filter)->recent.bytes;
}

static void growing_info(const roost_filter *filter, roost_info *info)
{
    const struct window *window = as_const_window(filter);
    uint64_t homes = 0;
    info->tables = 0;
    for (uint32_t i = 0; i < window->recent.count; i++)
        homes += window->recent.segments[i].lines * (uint64_t)(CACHE_LINE / 8);
    for (uint32_t i = 0; i <= window->recent.reach; i++)
        info->tables += window->recent.slots[i].count > 0;
    info->elements = (double)window->recent.live;
    info->entries = window->recent.live;
    info->fpr_now = fmin(1, ldexp((double)window->recent.live, -(int)window->recent.bits));
    info->promise_holds = window->recent.live <= window->most;
    info->load = homes ? (double)window->recent.live / (double)homes : 0;
    info->bytes_memory = growing_bytes(filter);
    info->journal = journal_length(filter->journal);
    info->actors = window->tally.count;
    info->growth_limit = window->most;
}

static roost_status growing_check(const roost_filter *filter)
{
    const struct window *window = as_const_window(filter);
    bool sound =
        recent_check(&window->recent) && tally_check(&window->tally) && newest_start(window) <= ROOST_WINDOW_MOST_TIME;
    return sound && (is_counter(window) || (window->tally.count == 0 && window->actor == 0)) ? ROOST_OK : ROOST_CORRUPT;
}

#define COMMON_PARTS                                                                                                   \
    .lifecycle = {.resolve = growing_resolve,                                                                          \
                  .is_resolved = growing_is_resolved,                                                                  \
                  .open = growing_open,                                                                                \
                  .close = growing_close,                                                                              \
                  .clone = growing_clone},                                                                             \
    .set = {.add = window_add, .contains = growing_contains},                                                          \
    .lattice = {.merge = growing_merge, .compare = growing_compare, .digest = growing_digest},                         \
    .encoding = {.write_geometry = growing_write_geometry,                                                             \
                 .write_state = growing_write_state,                                                                   \
                 .read_state = growing_read_state},                                                                    \
    .delta = {.write = growing_write_delta, .merge = growing_merge_delta},                                             \
    .journal = {.is_change = growing_is_change},                                                                       \
    .report = {.info = growing_info, .memory = growing_bytes, .check = FOR_SERVERS(growing_check)}

/* A counter is not cut for incremental merges: the counts and the ids of operations are merged together. */
const struct filter_kind growing_window_kind = {
    .code = ROOST_WINDOW,
    .name = "window",
    COMMON_PARTS,
    .incremental.cut = FOR_SERVERS(growing_cut),
};

const struct filter_kind growing_counter_kind = {
    .code = ROOST_COUNTER,
    .name = "counter",
    COMMON_PARTS,
    .replica.actor = counter_actor,
    .replica.write = counter_write_replica,
    .replica.read = counter_read_replica,
    .replica.forget = window_forget_replica,
};
