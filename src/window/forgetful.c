/*
 * The forgetful Bloom filter (FBF): a window over time, made of Bloom filters that are dropped whole.
 *
 * "Idempotent Distributed Counters Using a Forgetful Bloom Filter" (Subramanyam, Gupta, Leslie, Wang), sections III and
 * IV. The paper keeps a future, a present and N past filters; an element goes to future and present; every t each
 * filter moves one place on, the oldest is dropped and an empty one becomes the future. An element then lives for more
 * than (N + 1) t and at most (N + 2) t.
 *
 * Where we differ. What the paper's filter i holds came in slot i, as its present, or in slot i - 1, as its future: it
 * is the union of two slots. We keep the slots themselves, each filter once:
 *
 *     time       |  slot 7  |  slot 8  |  slot 9  |  slot 10 |          now: slot 10, N = 2, W = 3 t
 *     kept          B7         B8         B9         B10                 N + 2 filters, and one write an element
 *     paper               F8 = B7|B8                 F11 = B10           oldest past ... future
 *                                    F9 = B8|B9
 *                                               F10 = B9|B10             present
 *
 * The number of filters is the same, they are half as full, and a check asks for all bits of the element in *one* slot.
 * That answers "yes" to every element that the paper's check finds and to fewer others: B_i is included in both F_i and
 * F_i+1. The paper's checks are in overlap.c, computed from the slots, for comparison.
 *
 * State. A map from (start, length) to the bits of that slot; lengths are t / 2^level. Merge is the union, slot by
 * slot. A slot is forgotten once everything in it is older than the window when the *newest slot of the state* begins:
 * newest, W and t decide, no clock does, so that merge is a join (what is forgotten by one merge would be forgotten by
 * every later one), and idle replicas that agree keep agreeing. A check at a later time passes over slots that are too
 * old by then, without dropping them.
 *
 * Time. An addition goes to the slot of its time, or, where the clock is behind, to that of the newest start: nothing
 * is ever forgotten early because some other clock is ahead of this one's past.
 *
 * Resizing (Algorithm 3). A slot has a share of the capacity and of the error rate. Once it errs by 0.9 of its part,
 * additions go one level up, to a slot of half the length, which is still empty: the filters have doubled and the
 * window is as long as ever. When a slot begins, and the one before it on this level stayed below 0.1, or under half
 * full, one level down. The paper counts filters down one by one and lets t take any value; here t must be one that
 * all replicas cut time by.
 *
 * The promise, for what one replica adds. Up to the capacity: p is convex with p(0) = 0, so slots that share elements
 * in any way, evenly or in bursts, err by at most elements / share times a slot's part. Beyond it there are more slots
 * than parts: a slot then takes no more than three quarters of what the others have left of the whole rate, so that the
 * sum never gets there, as long as there are finer levels and memory. Elements count with a high power, so even a small
 * rest is room for many. Past the finest level, or without memory, additions are refused: ROOST_FULL, ROOST_TOO_LARGE.
 * There are few levels where there are many past slots, since all slots together are at most 250: with 40 past slots,
 * one in 41 of the capacity and two levels, a burst of a tenth of the capacity is refused. What replicas add to one
 * slot apart comes together in it when they merge, and can be more than its share; `info` then reports that the
 * promise is void. Windows of this sort are read from older files, and made for comparison with the paper. Those that
 * are made by default have none of these limits: growing.c.
 *
 * Worked example: W = 60 s, N = 3: t = 15 s, levels of 15, 7.5, 3.75, 1.875 and 0.9375 s. At 12:00:20 an element goes
 * to the slot (12:00:15, 15 s). It is looked for until 12:01:30, when all of its slot is 60 s old, and dropped by the
 * first addition after that. Should that slot be full at 12:00:21, the next one goes to (12:00:15, 7.5 s), and after
 * 12:00:22.5 to (12:00:22.5, 7.5 s).
 */
#include "forgetful.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "../base/binary64.h"
#include "../base/hash.h"

#define ROW WINDOW_ROW
/* Past this size of all slots together a batch asks for memory ahead of its use. */
#define CACHED_BYTES ((uint64_t)1 << 20)
/* Fractions of a slot's part of the error rate (Algorithm 3). */
#define GROW_AT   0.9
#define SHRINK_AT 0.1
/* Of what is left of the whole rate, for one slot more; and the least part of its elements that a slot takes. */
#define LEFT_FOR_ONE 0.75
#define LEAST_SHARE  0.0625
#define BEND         1.05
/* How exactly that is turned into a number of elements: to a part in so many. */
#define PRECISION 512
/* A window that may err so often promises nothing, and is never full: the paper's, which are filled beyond any use. */
#define NO_PROMISE 0.9

/* ---- time ------------------------------------------------------------------------------------------------------ */

/* The finest level is the one where all slots that can be remembered at once still have a place in the journal. */
void window_lengths(uint64_t *slot_length, uint32_t *finest, uint64_t window, uint32_t past)
{
    uint32_t level = 0;
    while (level < MOST_LEVELS && (past + 1) * ((4u << level) - 1) + level + 2 <= MOST_SLOTS)
        level++;
    *finest = level;
    *slot_length = divide_up(divide_up(window, past + 1), UINT64_C(1) << level) << level;
}

uint64_t window_time(const struct window *window, uint64_t time)
{
    return time > newest_start(window) ? time : newest_start(window);
}

/* A time too late would make every replica forget everything; one too old belongs to nothing that is remembered. */
roost_status window_check_time(const struct window *window, uint64_t time)
{
    uint64_t newest = newest_start(window), length = promised_window(window);
    uint64_t jump = length * 4 > ROOST_WINDOW_MOST_JUMP ? length * 4 : ROOST_WINDOW_MOST_JUMP;
    bool late = window->latest ? time > window->latest : !window_is_empty(window) && time > newest + jump;
    bool old = time + length + window->slot_length <= newest;
    return time > ROOST_WINDOW_MOST_TIME || late || old ? ROOST_CLOCK : ROOST_OK;
}

void roost_window_set_latest(roost_filter *filter, uint64_t latest)
{
    assert(is_window(filter));
    as_window(filter)->latest = latest;
}

/* ---- slots ----------------------------------------------------------------------------------------------------- */

/* Where the slot is, or would be. */
static uint32_t place_of(const struct window *window, uint64_t start, uint32_t level)
{
    uint32_t place = window->count;
    while (place > 0 && (window->slots[place - 1].start > start ||
                         (window->slots[place - 1].start == start && window->slots[place - 1].level >= level)))
        place--;
    return place;
}

struct slot *window_find(const struct window *window, uint64_t start, uint32_t level)
{
    uint32_t place = place_of(window, start, level);
    const struct slot *slot = &window->slots[place];
    return place < window->count && slot->start == start && slot->level == level ? (struct slot *)slot : NULL;
}

#define WINDOW_BYTES (sizeof(struct window) + MOST_SLOTS * sizeof(struct slot))

static uint64_t window_bytes(const struct window *window)
{
    uint64_t bytes =
        WINDOW_BYTES + window->tally.room * sizeof *window->tally.entries + own_journal_bytes(&window->base);
    for (uint32_t i = 0; i < window->count; i++)
        bytes += bloom_kind.report.memory(window->slots[i].bits);
    return bytes;
}

/* The bytes of the array of a slot, with its chunk hashes. */
static uint64_t slot_bytes(const struct window *window)
{
    return window->geometry.bits / 8 + window->geometry.bits / 1024 + CHUNK_BYTES;
}

roost_status window_new_bits(const struct window *window, roost_filter **bits, size_t others)
{
    const roost_config *config = window->base.config;
    roost_environment environment = window->own.environment;
    uint64_t taken = window_bytes(window) + others * slot_bytes(window);
    *bits = NULL;
    if (taken >= environment.memory_limit)
        return ROOST_TOO_LARGE;
    environment.memory_limit -= taken;
    roost_config slot = {.kind = ROOST_BLOOM,
                         .layout = config->layout,
                         .capacity = divide_up(config->capacity, config->past + 1),
                         .fpr = slot_rate(window),
                         .seed = config->seed};
    roost_status status = bloom_open_sized(bits, &slot, &environment, window->geometry);
    if (status == ROOST_OK && slot_bytes(window) * (config->past + 2) > CACHED_BYTES)
        bloom_expect_misses(*bits);
    return status;
}

static bool place_is_taken(const struct window *window, uint8_t place)
{
    for (uint32_t i = 0; i < window->count; i++)
        if (window->slots[i].place == place)
            return true;
    return false;
}

/* Places are used again, round by round: what older records say of one is about a slot that is gone. */
static uint8_t free_place(struct window *window)
{
    uint8_t place;
    do {
        place = window->next_place;
        window->next_place = (uint8_t)((place + 1) % MOST_SLOTS);
    } while (place_is_taken(window, place));
    return place;
}

static void reset_limits(struct window *window)
{
    for (uint32_t i = 0; i < window->count; i++)
        window->slots[i].limit = 0;
}

struct slot *window_put(struct window *window, uint64_t start, uint32_t level, roost_filter *bits)
{
    uint8_t number = free_place(window);
    uint32_t place = place_of(window, start, level);
    struct slot *slot = &window->slots[place];
    assert(window->count < MOST_SLOTS);
    memmove(slot + 1, slot, (window->count - place) * sizeof *slot);
    window->count++;
    *slot = (struct slot){start, level, number, window->base.journal->next, 0, true, 0, bits};
    reset_limits(window);
    bits->journal = window->base.journal;
    bits->table = number;
    bits->in_series = true;
    return slot;
}

void window_forget(struct window *window, uint64_t newest)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < window->count; i++) {
        if (is_remembered(window, &window->slots[i], newest))
            window->slots[kept++] = window->slots[i];
        else
            bloom_kind.lifecycle.close(window->slots[i].bits);
    }
    window->count = kept;
    reset_limits(window);
}

/* How many slots of the coarsest level are still to come while those that are remembered at this time stay. */
static size_t coarse_slots_to_come(const struct window *window, uint64_t newest)
{
    size_t missing = window->base.config->past + 2;
    for (uint32_t i = 0; i < window->count; i++)
        missing -= window->slots[i].level == 0 && is_remembered(window, &window->slots[i], newest);
    return missing;
}

/*
 * The memory of a new slot is allocated first; what it makes the window forget is freed afterwards, and does not
 * count. Finer slots are optional: they leave room for all the coarse ones.
 */
static roost_status begin_slot(struct window *window, struct slot **slot, uint64_t start, uint32_t level)
{
    roost_filter *bits;
    uint64_t newest = start > newest_start(window) ? start : newest_start(window);
    uint64_t limit = window->own.environment.memory_limit;
    for (uint32_t i = 0; i < window->count; i++)
        if (!is_remembered(window, &window->slots[i], newest))
            window->own.environment.memory_limit += bloom_kind.report.memory(window->slots[i].bits);
    roost_status status = window_new_bits(window, &bits, level > 0 ? coarse_slots_to_come(window, newest) : 0);
    window->own.environment.memory_limit = limit;
    if (status != ROOST_OK)
        return status;
    window_forget(window, newest);
    *slot = window_put(window, start, level, bits);
    return ROOST_OK;
}

/* ---- resizing -------------------------------------------------------------------------------------------------- */

/* The most elements with which a slot errs by no more than this. */
static uint64_t elements_at(const struct window *window, double rate)
{
    roost_layout layout = window->base.config->layout;
    uint64_t low = 1, high = 2;
    while (high < window->geometry.bits && bloom_rate(layout, window->geometry, (double)high) <= rate) {
        low = high;
        high *= 2;
    }
    while (high - low > 1 + low / PRECISION) {
        uint64_t middle = low + (high - low) / 2;
        if (bloom_rate(layout, window->geometry, (double)middle) <= rate)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void find_thresholds(struct window *window)
{
    if (window->full_at)
        return;
    window->full_at = elements_at(window, GROW_AT * slot_rate(window));
    double half = bloom_rate(window->base.config->layout, window->geometry, (double)window->full_at / 2);
    window->slope = fmax(1, fmin(window->geometry.probes, log2(GROW_AT * slot_rate(window) / half)));
    window->idle_at = (uint64_t)((double)window->full_at * fmin(0.5, pow(SHRINK_AT / GROW_AT, 1 / window->slope)));
}

static uint64_t held_by(struct slot *slot)
{
    if (!slot->held_is_known) {
        slot->held = (uint64_t)llround(bloom_elements(slot->bits));
        slot->held_is_known = true;
    }
    return slot->held;
}

/* What a slot errs by, or a little more: by a power between the two points that were computed and below, where the true
 * curve bends by a few per cent. It is rarely more than full. */
static double rate_of(const struct window *window, struct slot *slot)
{
    double held = (double)held_by(slot), full = (double)window->full_at;
    return held > full ? bloom_rate(window->base.config->layout, window->geometry, held)
                       : BEND * GROW_AT * slot_rate(window) * pow(held / full, window->slope);
}

/* The elements for the slot's part of the rate, or for three quarters of what the others leave, but never almost
   none. */
static uint64_t limit_of(const struct window *window, struct slot *slot)
{
    double left = window->base.config->fpr, share = GROW_AT * slot_rate(window);
    for (uint32_t i = 0; i < window->count; i++)
        if (&window->slots[i] != slot)
            left -= rate_of(window, (struct slot *)&window->slots[i]);
    double usable = left > 0 ? pow(fmin(1, LEFT_FOR_ONE * left / share), 1 / window->slope) : 0;
    return (uint64_t)ceil((double)window->full_at * fmax(usable, LEAST_SHARE));
}

static uint64_t start_at(const struct window *window, uint64_t time, uint32_t level)
{
    return time - time % level_length(window, level);
}

/* Whether the slot before this one, on its level, was nearly empty. */
static bool was_idle(const struct window *window, uint64_t start, uint32_t level)
{
    uint64_t length = level_length(window, level);
    struct slot *before = start >= length ? window_find(window, start - length, level) : NULL;
    return !before || held_by(before) <= window->idle_at;
}

static bool has_room(const struct window *window, struct slot *slot)
{
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): window_target has a slot wherever it has ROOST_OK
    if (slot->limit == 0)
        slot->limit = limit_of(window, slot);
    return held_by(slot) < slot->limit;
}

/* A slot that covers this time and has room, if no better one can be allocated. */
static struct slot *any_slot_at(const struct window *window, uint64_t time)
{
    for (uint32_t level = window->finest + 1; level-- > 0;) {
        struct slot *slot = window_find(window, start_at(window, time, level), level);
        if (slot && has_room(window, slot))
            return slot;
    }
    return NULL;
}

/* No memory for the slot that would be best: any other that covers this time, or a new one of the coarsest level. */
static roost_status use_coarser_slot(struct window *window, struct slot **slot, uint64_t time, roost_status status)
{
    uint64_t coarsest = start_at(window, time, 0);
    *slot = any_slot_at(window, time);
    if (!*slot && window->level > 0 && !window_find(window, coarsest, 0))
        status = begin_slot(window, slot, coarsest, 0);
    window->level = *slot ? (*slot)->level : 0;
    return *slot ? ROOST_OK : status;
}

/* Past the finest level: one of the coarser ones may have been left out. The level, or this one where all are full. */
static uint32_t level_with_room(const struct window *window, uint64_t time)
{
    for (uint32_t level = window->finest; level-- > 0;) {
        struct slot *slot = window_find(window, start_at(window, time, level), level);
        if (!slot || has_room(window, slot))
            return level;
    }
    return window->finest;
}

/* Algorithm 3: the slot in hand, a finer one where it is full, a coarser one where the last was not needed. */
static roost_status choose_slot(struct window *window, struct slot **slot, uint64_t time)
{
    for (bool lowered = false;;) {
        uint64_t start = start_at(window, time, window->level);
        *slot = window_find(window, start, window->level);
        if (*slot && has_room(window, *slot))
            return ROOST_OK;
        if (*slot && window->level < window->finest) {
            window->level++;
        } else if (*slot) {
            window->level = level_with_room(window, time);
            if (window->level == window->finest)
                return window->base.config->fpr < NO_PROMISE ? ROOST_FULL : ROOST_OK;
            lowered = true;
        } else if (window->level > 0 && !lowered && was_idle(window, start, window->level)) {
            window->level--;
            lowered = true;
        } else {
            return begin_slot(window, slot, start, window->level);
        }
    }
}

roost_status window_target(struct window *window, struct slot **slot, uint64_t *room, uint64_t time)
{
    roost_status status = window_check_time(window, time);
    if (status != ROOST_OK)
        return status;
    find_thresholds(window);
    time = window_time(window, time);
    status = choose_slot(window, slot, time);
    if (status != ROOST_OK && status != ROOST_FULL)
        status = use_coarser_slot(window, slot, time, status);
    if (status != ROOST_OK)
        return status;
    *room = has_room(window, *slot) ? (*slot)->limit - (*slot)->held : 1;
    return ROOST_OK;
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* In any slot that is remembered at this time, other than one. */
static void look_for(const struct window *window, bool *found, const roost_hash *hashes, size_t count, uint64_t time,
                     const struct slot *except)
{
    bool here[ROW];
    assert(count <= ROW);
    memset(found, 0, count * sizeof *found);
    for (uint32_t i = window->count; i-- > 0;) {
        const struct slot *slot = &window->slots[i];
        if (slot == except || !is_remembered(window, slot, time))
            continue;
        bloom_kind.set.contains(slot->bits, here, hashes, count);
        for (size_t j = 0; j < count; j++)
            found[j] |= here[j];
    }
}

bool window_holds(const struct window *window, roost_hash hash, uint64_t time)
{
    bool found;
    if (window_grows(window))
        return growing_holds(window, hash, time);
    look_for(window, &found, &hash, 1, window_time(window, time), NULL);
    return found;
}

static void take_row(struct window *window, struct slot *slot, bool *seen, const roost_hash *hashes, size_t count,
                     uint64_t time)
{
    bool changed[ROW];
    size_t done;
    look_for(window, seen, hashes, count, window_time(window, time), slot);
    bloom_kind.set.add(slot->bits, changed, &done, hashes, count);
    for (size_t i = 0; i < count; i++) {
        seen[i] |= !changed[i];
        slot->held += changed[i];
    }
}

static roost_status fixed_add(struct window *window, bool *seen, size_t *done, const roost_hash *hashes, size_t count,
                              uint64_t time)
{
    bool unasked[ROW];
    roost_status status = ROOST_OK;
    for (*done = 0; *done < count && status == ROOST_OK;) {
        struct slot *slot;
        uint64_t room;
        size_t some = count - *done < ROW ? count - *done : ROW;
        status = window_target(window, &slot, &room, time);
        if (status == ROOST_OK) {
            some = room < some ? (size_t)room : some;
            take_row(window, slot, seen ? seen + *done : unasked, hashes + *done, some, time);
            *done += some;
        }
    }
    return status;
}

roost_status roost_window_add_many_hash(roost_filter *filter, bool *seen, size_t *done, const roost_hash *hashes,
                                        size_t count, uint64_t time)
{
    size_t taken = 0;
    struct window *window = as_window(filter);
    roost_status status = filter->config->kind != ROOST_WINDOW ? ROOST_UNSUPPORTED
                          : window_grows(window)               ? growing_add(window, seen, &taken, hashes, count, time)
                                                               : fixed_add(window, seen, &taken, hashes, count, time);
    if (done)
        *done = taken;
    return status;
}

roost_status roost_window_add_many(roost_filter *filter, bool *seen, size_t *done, const roost_bytes *keys,
                                   size_t count, uint64_t time)
{
    roost_hash hashes[ROW];
    size_t total = 0;
    roost_status status = filter->config->kind == ROOST_WINDOW ? ROOST_OK : ROOST_UNSUPPORTED;
    while (total < count && status == ROOST_OK) {
        size_t taken, some = count - total < ROW ? count - total : ROW;
        for (size_t i = 0; i < some; i++)
            hashes[i] = roost_filter_hash(filter, keys[total + i].data, keys[total + i].size);
        status = roost_window_add_many_hash(filter, seen ? seen + total : NULL, &taken, hashes, some, time);
        total += taken;
    }
    if (done)
        *done = total;
    return status;
}

roost_status roost_window_add_hash(roost_filter *filter, bool *seen, roost_hash hash, uint64_t time)
{
    bool was_there = false;
    roost_status status = roost_window_add_many_hash(filter, &was_there, NULL, &hash, 1, time);
    if (seen)
        *seen = was_there;
    return status;
}

roost_status roost_window_add(roost_filter *filter, bool *seen, const void *key, size_t size, uint64_t time)
{
    return roost_window_add_hash(filter, seen, roost_filter_hash(filter, key, size), time);
}

bool roost_window_contains_hash(const roost_filter *filter, roost_hash hash, uint64_t time)
{
    assert(is_window(filter));
    return window_holds(as_const_window(filter), hash, time);
}

bool roost_window_contains(const roost_filter *filter, const void *key, size_t size, uint64_t time)
{
    return roost_window_contains_hash(filter, roost_filter_hash(filter, key, size), time);
}

roost_status window_add(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes, size_t count)
{
    (void)filter;
    (void)hashes;
    if (changed)
        memset(changed, 0, count * sizeof *changed);
    *done = 0;
    return ROOST_UNSUPPORTED;
}

static void window_contains(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    const struct window *window = as_const_window(filter);
    for (size_t done = 0; done < count; done += ROW)
        look_for(window, found + done, hashes + done, count - done < ROW ? count - done : ROW, newest_start(window),
                 NULL);
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

roost_config roost_window_config_default(roost_kind kind, uint64_t window)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.fpr = 1e-6;
    config.bucket_size = 0;
    config.scalable = true;
    config.window = window;
    config.past = DEFAULT_PAST;
    return config;
}

static roost_status choose_sizes(roost_config *config)
{
    struct bloom_geometry geometry = {config->slot_bits, config->slot_probes};
    uint64_t share = divide_up(config->capacity, config->past + 1);
    double rate = double_of_binary64(
        binary64_divide(binary64_multiply(binary64_of_double(GROW_AT), binary64_of_double(config->fpr)),
                        binary64_of_integer(config->past + 2)));
    share += divide_up(share, PRECISION / 2); /* so that a share, and what rounding takes, fits in before it grows */
    roost_status status = ROOST_OK;
    if (config->slot_bits == 0 && config->slot_probes == 0)
        status = config->layout == ROOST_BLOCKED ? bloom_size_blocked(&geometry, share, rate)
                                                 : bloom_size_classic(&geometry, share, rate);
    if (status == ROOST_OK && !bloom_is_sound_geometry(config->layout, geometry.bits, geometry.probes))
        status = ROOST_INVALID;
    config->slot_bits = geometry.bits;
    config->slot_probes = geometry.probes;
    return status;
}

bool window_is_sound_time(const roost_config *config, uint32_t most_past)
{
    return config->window > 0 && config->window <= MOST_WINDOW && config->past > 0 && config->past <= most_past;
}

static bool is_sound_rest(const roost_config *config)
{
    return (config->layout == ROOST_BLOCKED || config->layout == ROOST_CLASSIC) && config->fpr > 0 && config->fpr < 1 &&
           config->fingerprint_bits == 0;
}

static roost_status window_resolve(roost_config *config)
{
    if (config->past == 0)
        config->past = DEFAULT_PAST;
    if (!is_sound_rest(config) || config->multiset || !window_is_sound_time(config, MOST_PAST))
        return ROOST_INVALID;
    config->bucket_size = 0;
    config->entry_bits = 0;
    return choose_sizes(config);
}

static bool window_is_resolved(const roost_config *config)
{
    return is_sound_rest(config) && config->bucket_size == 0;
}

static bool read_geometry(struct bit_reader *frame, roost_config *config)
{
    config->window = read_varint(frame);
    config->past = read_byte(frame);
    config->slot_bits = read_varint(frame);
    uint64_t probes = read_varint(frame);
    config->slot_probes = probes <= MOST_PROBES ? (uint32_t)probes : 0;
    return !frame->failed && window_is_sound_time(config, MOST_PAST) &&
           bloom_is_sound_geometry(config->layout, config->slot_bits, config->slot_probes);
}

static roost_status window_open(roost_filter **filter, const roost_config *given, const roost_environment *environment,
                                struct bit_reader *frame)
{
    roost_config config = *given;
    if (frame && !read_geometry(frame, &config))
        return ROOST_CORRUPT;
    if (WINDOW_BYTES + config.slot_bits / 8 > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct window *window = memory_allocate(&environment->allocator, WINDOW_BYTES);
    if (!window)
        return ROOST_NO_MEMORY;
    init_base(&window->base, &window->own, config.kind == ROOST_COUNTER ? &counter_kind : &window_kind, &config,
              environment);
    window->geometry = (struct bloom_geometry){config.slot_bits, config.slot_probes};
    window_lengths(&window->slot_length, &window->finest, config.window, config.past);
    *filter = &window->base;
    return ROOST_OK;
}

static void window_close(roost_filter *filter)
{
    struct window *window = as_window(filter);
    const roost_allocator allocator = filter->environment.allocator;
    for (uint32_t i = 0; i < window->count; i++)
        bloom_kind.lifecycle.close(window->slots[i].bits);
    tally_release(&window->tally, &allocator);
    release_journal(filter);
    memory_release(&allocator, window);
}

/* Places are given in the order of slots, as after a decode. */
static roost_status window_clone(const roost_filter *filter, roost_filter **copy)
{
    const struct window *window = as_const_window(filter);
    roost_filter *made;
    roost_status status = window_open(&made, filter->config, &window->own.environment, NULL);
    if (status != ROOST_OK)
        return status;
    struct window *twin = as_window(made);
    twin->latest = window->latest;
    if (!tally_copy(&twin->tally, &window->tally, &filter->environment.allocator))
        status = ROOST_NO_MEMORY;
    for (uint32_t i = 0; i < window->count && status == ROOST_OK; i++) {
        roost_filter *bits;
        const struct slot *slot = &window->slots[i];
        status = bloom_kind.lifecycle.clone(slot->bits, &bits);
        if (status == ROOST_OK) {
            struct slot *put = window_put(twin, slot->start, slot->level, bits);
            put->held = slot->held;
            put->held_is_known = slot->held_is_known;
        }
    }
    if (status == ROOST_OK)
        *copy = made;
    else
        window_close(made);
    return status;
}

/* ---- replication ----------------------------------------------------------------------------------------------- */

roost_status window_stage(const struct window *window, struct window_unseen *unseen, uint64_t start, uint32_t level)
{
    struct staged_slot staged = {start, level, NULL};
    if (window_find(window, start, level))
        return ROOST_OK;
    roost_status status = window_new_bits(window, &staged.bits, unseen->count);
    if (status == ROOST_OK)
        unseen->slots[unseen->count++] = staged;
    return status;
}

void window_unstage(struct window_unseen *unseen)
{
    while (unseen->count > 0)
        bloom_kind.lifecycle.close(unseen->slots[--unseen->count].bits);
}

void window_commit(struct window *window, struct window_unseen *unseen)
{
    window_forget(window, unseen->newest);
    for (size_t i = 0; i < unseen->count; i++)
        window_put(window, unseen->slots[i].start, unseen->slots[i].level, unseen->slots[i].bits);
    unseen->count = 0;
}

/* An entry of our own actor that is ahead of ours was made by another replica with the same actor: we leave the
   actor to it. */
bool window_take_tally(struct window *window, const struct tally *tally)
{
    bool changed = false;
    for (size_t i = 0; i < tally->count; i++) {
        if (!tally_take(&window->tally, &tally->entries[i]))
            continue;
        journal_note(window->base.journal, TALLY_TABLE, tally->entries[i].actor, 0);
        changed = true;
        if (tally->entries[i].actor == window->actor)
            window->actor = 0;
    }
    return changed;
}

static roost_status stage_others(struct window *window, struct window_unseen *unseen, const struct window *other)
{
    roost_status status = ROOST_OK;
    uint64_t mine = newest_start(window), theirs = newest_start(other);
    unseen->newest = mine > theirs ? mine : theirs;
    if (window->latest && theirs > window->latest)
        return ROOST_CLOCK;
    for (uint32_t i = 0; i < other->count && status == ROOST_OK; i++)
        if (is_remembered(other, &other->slots[i], unseen->newest))
            status = window_stage(window, unseen, other->slots[i].start, other->slots[i].level);
    if (status == ROOST_OK && !tally_reserve(&window->tally, &window->base.environment.allocator, other->tally.count))
        status = ROOST_NO_MEMORY;
    return status;
}

static roost_status window_merge(roost_filter *filter, bool *changed, const roost_filter *source)
{
    struct window *window = as_window(filter);
    const struct window *other = as_const_window(source);
    struct window_unseen unseen = {.count = 0};
    roost_status status = stage_others(window, &unseen, other);
    if (status != ROOST_OK) {
        window_unstage(&unseen);
        return status;
    }
    window_commit(window, &unseen);
    for (uint32_t i = 0; i < other->count; i++) {
        struct slot *slot = window_find(window, other->slots[i].start, other->slots[i].level);
        bool grew = false;
        if (slot)
            bloom_kind.lattice.merge(slot->bits, &grew, other->slots[i].bits);
        if (grew)
            slot->held_is_known = false;
        *changed |= grew;
    }
    *changed |= window_take_tally(window, &other->tally);
    return ROOST_OK;
}

/* Whether a merge of `other` would change `window`. */
static bool lacks(const struct window *window, const struct window *other)
{
    for (uint32_t i = 0; i < other->count; i++) {
        const struct slot *theirs = &other->slots[i];
        if (!is_remembered(window, theirs, newest_start(window)))
            continue;
        const struct slot *mine = window_find(window, theirs->start, theirs->level);
        if (!mine || (bloom_kind.lattice.compare(mine->bits, theirs->bits) & ROOST_BEFORE))
            return true;
    }
    return tally_lacks(&window->tally, &other->tally);
}

static roost_order window_compare(const roost_filter *filter, const roost_filter *other)
{
    const struct window *first = as_const_window(filter), *second = as_const_window(other);
    return (lacks(first, second) ? ROOST_BEFORE : 0) | (lacks(second, first) ? ROOST_AFTER : 0);
}

static uint128 window_digest(roost_filter *filter)
{
    struct window *window = as_window(filter);
    uint128 sum = tally_digest(&window->tally, filter->config->seed);
    for (uint32_t i = 0; i < window->count; i++) {
        const struct slot *slot = &window->slots[i];
        uint8_t bytes[32];
        store_double_word(bytes, bloom_kind.lattice.digest(slot->bits));
        store_word(bytes + 16, slot->start);
        store_word(bytes + 24, slot->level);
        sum += hash_to_number(hash_bytes(filter->config->seed, bytes, sizeof bytes));
    }
    return sum;
}

/* ---- report ---------------------------------------------------------------------------------------------------- */

static void window_brief(const roost_filter *filter, roost_info *info)
{
    const struct window *window = as_const_window(filter);
    info->bits = window->geometry.bits;
    info->probes = window->geometry.probes;
    info->bytes_memory = window_bytes(window);
    info->journal = journal_length(filter->journal);
    info->actors = window->tally.count;
    info->tables = window->count;
}

static void window_info(const roost_filter *filter, roost_info *info)
{
    const struct window *window = as_const_window(filter);
    double right = 1;
    window_brief(filter, info);
    for (uint32_t i = 0; i < window->count; i++) {
        roost_info slot = {0};
        bloom_kind.report.info(window->slots[i].bits, &slot);
        info->elements += slot.elements;
        info->entries += slot.entries;
        right *= 1 - slot.fpr_now;
    }
    info->fpr_now = 1 - right;
    info->promise_holds = info->fpr_now <= filter->config->fpr;
    info->load = window->count ? (double)info->entries / (double)(window->count * window->geometry.bits) : 0;
}

static void add_growing_slots(const struct window *window, roost_window_info *info)
{
    const struct recent *recent = &window->recent;
    uint64_t oldest = recent->newest;
    for (uint32_t i = 0; i <= recent->reach; i++) {
        info->slots += recent->slots[i].count > 0;
        if (recent->slots[i].count > 0 && recent->slots[i].number < oldest)
            oldest = recent->slots[i].number;
    }
    info->oldest = info->slots ? oldest * window->slot_length : 0;
}

void roost_window_get_info(const roost_filter *filter, roost_window_info *info)
{
    assert(is_window(filter));
    const struct window *window = as_const_window(filter);
    *info = (roost_window_info){.window = promised_window(window),
                                .slot = window->slot_length,
                                .shortest_slot = window->slot_length,
                                .newest = newest_start(window)};
    if (window_grows(window)) {
        add_growing_slots(window, info);
        return;
    }
    info->slots = window->count;
    info->oldest = window->count ? window->slots[0].start : 0;
    for (uint32_t i = 0; i < window->count; i++)
        if (level_length(window, window->slots[i].level) < info->shortest_slot)
            info->shortest_slot = level_length(window, window->slots[i].level);
}

static bool slot_is_sound(const struct window *window, uint32_t i)
{
    const struct slot *slot = &window->slots[i], *before = slot - 1;
    bool sorted =
        i == 0 || before->start < slot->start || (before->start == slot->start && before->level < slot->level);
    return sorted && slot->level <= window->finest && slot->start % level_length(window, slot->level) == 0 &&
           slot->start <= ROOST_WINDOW_MOST_TIME && is_remembered(window, slot, newest_start(window)) &&
           !bloom_kind.lattice.is_bottom(slot->bits) && bloom_kind.report.check(slot->bits) == ROOST_OK &&
           slot->bits->journal == window->base.journal && slot->bits->table == slot->place;
}

static roost_status window_check(const roost_filter *filter)
{
    const struct window *window = as_const_window(filter);
    bool taken[UINT8_MAX + 1] = {false}, sound = tally_check(&window->tally);
    for (uint32_t i = 0; i < window->count && sound; i++) {
        sound = slot_is_sound(window, i) && window->slots[i].place < MOST_SLOTS && !taken[window->slots[i].place];
        taken[window->slots[i].place] = true;
    }
    return sound && (is_counter(window) || (window->tally.count == 0 && window->actor == 0)) ? ROOST_OK : ROOST_CORRUPT;
}

static uint64_t window_kind_bytes(const roost_filter *filter)
{
    return window_bytes(as_const_window(filter));
}

#define COMMON_PARTS                                                                                                   \
    .lifecycle = {.resolve = window_resolve,                                                                           \
                  .is_resolved = window_is_resolved,                                                                   \
                  .open = window_open,                                                                                 \
                  .close = window_close,                                                                               \
                  .clone = window_clone},                                                                              \
    .set = {.add = window_add, .contains = window_contains},                                                           \
    .lattice = {.merge = window_merge, .compare = window_compare, .digest = window_digest},                            \
    .encoding = {.write_geometry = window_write_geometry,                                                              \
                 .write_state = window_write_state,                                                                    \
                 .read_state = window_read_state},                                                                     \
    .delta = {.write = window_write_delta, .merge = window_merge_delta}, .journal.is_change = window_is_change,        \
    .journal.table_after_decode = window_table_after_decode,                                                           \
    .journal.table_before_decode = window_table_before_decode, .replica.forget = window_forget_replica,                \
    .report = {.info = window_info,                                                                                    \
               .brief = FOR_SERVERS(window_brief),                                                                     \
               .memory = window_kind_bytes,                                                                            \
               .check = FOR_SERVERS(window_check)}

const struct filter_kind window_kind = {
    .code = ROOST_WINDOW,
    .name = "window",
    COMMON_PARTS,
};

const struct filter_kind counter_kind = {
    .code = ROOST_COUNTER,
    .name = "counter",
    COMMON_PARTS,
    .replica.actor = counter_actor,
    .replica.write = counter_write_replica,
    .replica.read = counter_read_replica,
};
