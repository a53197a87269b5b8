/*
 * Windows and counters that grow, as bytes. docs/format.md is the specification.
 *
 *     state    slots { distance to the slot before, entries { prefix } }     then, in a counter, the tally
 *     delta    likewise, of what changed
 *
 * Slots come newest first, so the first one determines which others are remembered; the prefixes of a slot ascend and
 * are Rice-coded by their gaps. No slot is empty, and no prefix is in two slots: a state has one form.
 */
#include "forgetful.h"

#include <string.h>

#include "../base/sort.h"

/* ---- writing --------------------------------------------------------------------------------------------------- */

void growing_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    write_varint(writer, filter->config->window);
    write_byte(writer, (uint8_t)filter->config->past);
}

/* Prefixes by the age of their slot, ascending: those of age a begin at `begin[a]`. */
struct groups {
    uint64_t *prefixes;
    uint64_t begin[MOST_GROWING_PAST + 3];
    uint64_t newest;
};

static uint32_t ages(const struct window *window)
{
    return window->recent.reach + 1;
}

static void write_group(const struct window *window, struct bit_writer *writer, const uint64_t *prefixes,
                        uint64_t count)
{
    unsigned parameter = rice_parameter(UINT64_C(1) << window->recent.bits, count);
    write_varint(writer, count);
    for (uint64_t i = 0; i < count; i++)
        write_rice(writer, i ? prefixes[i] - prefixes[i - 1] - 1 : prefixes[0], parameter);
    write_alignment(writer);
}

static void write_groups(const struct window *window, struct bit_writer *writer, const struct groups *groups)
{
    uint64_t slots = 0, before = 0;
    for (uint32_t age = 0; age < ages(window); age++)
        slots += groups->begin[age + 1] > groups->begin[age];
    write_varint(writer, slots);
    bool first = true;
    for (uint32_t age = 0; age < ages(window); age++) {
        uint64_t count = groups->begin[age + 1] - groups->begin[age];
        if (count == 0)
            continue;
        write_varint(writer, first ? groups->newest - age : age - before);
        write_group(window, writer, groups->prefixes + groups->begin[age], count);
        before = age;
        first = false;
    }
}

/* Room for as many as there are of each age, which `begin` holds one place further on. */
static bool groups_open(struct groups *groups, const struct window *window)
{
    for (uint32_t age = 0; age < ages(window); age++)
        groups->begin[age + 1] += groups->begin[age];
    groups->newest = window->recent.newest;
    groups->prefixes = memory_allocate(&window->base.environment.allocator,
                                       (groups->begin[ages(window)] + 1) * sizeof *groups->prefixes);
    return groups->prefixes != NULL;
}

static void groups_close(struct groups *groups, const struct window *window)
{
    memory_release(&window->base.environment.allocator, groups->prefixes);
}

static bool sort_groups(struct groups *groups, const struct window *window)
{
    const roost_allocator *allocator = &window->base.environment.allocator;
    uint64_t most = 1;
    for (uint32_t age = 0; age < ages(window); age++)
        if (groups->begin[age + 1] - groups->begin[age] > most)
            most = groups->begin[age + 1] - groups->begin[age];
    uint64_t *scratch = memory_allocate(allocator, most * sizeof *scratch);
    for (uint32_t age = 0; age < ages(window) && scratch; age++)
        sort_numbers(groups->prefixes + groups->begin[age], scratch, groups->begin[age + 1] - groups->begin[age],
                     window->recent.bits);
    memory_release(allocator, scratch);
    return scratch != NULL;
}

/* The whole state. */
static bool gather(struct groups *groups, const struct window *window)
{
    const struct recent *recent = &window->recent;
    uint64_t next[MOST_GROWING_PAST + 3];
    struct recent_walk walk = {0};
    *groups = (struct groups){0};
    for (uint32_t i = 0; i <= recent->reach; i++)
        if (recent->slots[i].count)
            groups->begin[recent->newest - recent->slots[i].number + 1] = recent->slots[i].count;
    if (!groups_open(groups, window))
        return false;
    memcpy(next, groups->begin, sizeof next);
    for (uint64_t prefix, slot; recent_next(recent, &walk, &prefix, &slot);)
        groups->prefixes[next[recent->newest - slot]++] = prefix;
    if (sort_groups(groups, window))
        return true;
    groups_close(groups, window);
    return false;
}

roost_status growing_write_state(const roost_filter *filter, struct bit_writer *writer)
{
    const struct window *window = as_const_window(filter);
    struct groups groups;
    if (!gather(&groups, window))
        return ROOST_NO_MEMORY;
    write_groups(window, writer, &groups);
    groups_close(&groups, window);
    if (is_counter(window))
        tally_write(&window->tally, writer);
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

/* Which prefixes the records are about, each once, ascending; how many. */
static uint64_t list_changed(const struct window *window, uint64_t *list, uint64_t *scratch, struct selection selection)
{
    const struct journal *journal = window->base.journal;
    uint64_t count = 0, kept = 0;
    for (uint64_t record; next_selected(journal, &selection, &record);)
        if (journal_table(journal, record) == ENTRY_TABLE)
            list[count++] = journal_change(journal, record)->key;
    sort_numbers(list, scratch, (size_t)count, window->recent.bits);
    for (uint64_t i = 0; i < count; i++)
        if (i == 0 || list[i] != list[i - 1])
            list[kept++] = list[i];
    return kept;
}

/* Groups the prefixes that are still remembered by age; they ascend, so the groups do. */
static bool group_changed(struct groups *groups, const struct window *window, const uint64_t *list, uint64_t count)
{
    uint64_t slot, next[MOST_GROWING_PAST + 3];
    const struct recent *recent = &window->recent;
    *groups = (struct groups){0};
    for (uint64_t i = 0; i < count; i++)
        if (recent_find(recent, list[i], &slot))
            groups->begin[recent->newest - slot + 1]++;
    if (!groups_open(groups, window))
        return false;
    memcpy(next, groups->begin, sizeof next);
    for (uint64_t i = 0; i < count; i++)
        if (recent_find(recent, list[i], &slot))
            groups->prefixes[next[recent->newest - slot]++] = list[i];
    return true;
}

roost_status growing_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection)
{
    const struct window *window = as_const_window(filter);
    const roost_allocator *allocator = &filter->environment.allocator;
    uint64_t records = count_selected(filter->journal, selection) + 1;
    uint64_t *list = memory_allocate(allocator, 2 * records * sizeof *list);
    struct groups groups;
    bool grouped = list && group_changed(&groups, window, list, list_changed(window, list, list + records, selection));
    memory_release(allocator, list);
    if (!grouped)
        return ROOST_NO_MEMORY;
    write_groups(window, writer, &groups);
    groups_close(&groups, window);
    roost_status status = is_counter(window) ? window_write_changed_tally(window, writer, selection) : ROOST_OK;
    return status == ROOST_OK && writer->failed ? ROOST_NO_MEMORY : status;
}

/* ---- a state as many deltas -------------------------------------------------------------------------------------- */

static roost_status hand_out(const struct window *window, uint64_t slot, const uint64_t *prefixes, uint64_t count,
                             struct delta_sink *sink)
{
    struct bit_writer delta;
    bit_writer_init(&delta, window->base.environment.allocator);
    write_varint(&delta, 1);
    write_varint(&delta, slot);
    write_group(window, &delta, prefixes, count);
    roost_status status = delta.failed ? ROOST_NO_MEMORY : sink->take(sink, &delta);
    bit_writer_release(&delta);
    return status;
}

/* The newest slot goes last: until then nothing is forgotten that an earlier delta adds. */
roost_status growing_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                         struct delta_sink *sink)
{
    (void)known;
    const struct window *window = as_const_window(filter);
    struct groups groups;
    uint64_t most = bytes / BYTES_A_PLACE + 1; /* each entry goes to a place of its own */
    roost_status status = gather(&groups, window) ? ROOST_OK : ROOST_NO_MEMORY;
    if (status != ROOST_OK)
        return status;
    for (uint32_t age = ages(window); age-- > 0;)
        for (uint64_t i = groups.begin[age]; i < groups.begin[age + 1] && status == ROOST_OK; i += most) {
            uint64_t count = groups.begin[age + 1] - i < most ? groups.begin[age + 1] - i : most;
            status = hand_out(window, groups.newest - age, groups.prefixes + i, count, sink);
        }
    groups_close(&groups, window);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* On to the next slot. */
static void read_slot(struct incoming *incoming)
{
    uint64_t number = read_varint(&incoming->reader);
    incoming->slot = incoming->first ? number : incoming->slot - number;
    incoming->entries = read_varint(&incoming->reader);
    incoming->parameter = rice_parameter(UINT64_C(1) << incoming->bits, incoming->entries ? incoming->entries : 1);
    incoming->prefix = UINT64_MAX; /* one less than the least */
    incoming->first = false;
    incoming->slots--;
}

bool incoming_next(struct incoming *incoming, uint64_t *prefix, uint64_t *slot)
{
    if (incoming->table)
        return recent_next(incoming->table, &incoming->walk, prefix, slot);
    if (incoming->entries == 0 && incoming->slots == 0)
        return false;
    if (incoming->entries == 0)
        read_slot(incoming);
    incoming->prefix += read_rice(&incoming->reader, incoming->parameter) + 1;
    incoming->entries--;
    *prefix = incoming->prefix;
    *slot = incoming->slot;
    if (incoming->entries == 0)
        read_alignment(&incoming->reader);
    return true;
}

static struct incoming incoming_from(const struct window *window, struct bit_reader reader)
{
    struct incoming incoming = {.bits = window->recent.bits, .first = true};
    incoming.slots = read_varint(&reader);
    incoming.reader = reader;
    return incoming;
}

/* Whether the slot is remembered beside the newest, and has no more entries than there are bytes. */
static bool slot_is_sound(const struct window *window, struct incoming *incoming, uint64_t newest)
{
    struct bit_reader peek = incoming->reader;
    uint64_t number = read_varint(&peek), entries = read_varint(&peek);
    uint64_t most = ROOST_WINDOW_MOST_TIME / window->slot_length;
    bool sound = incoming->first ? number <= most
                                 : number >= 1 && number <= incoming->slot &&
                                       newest - (incoming->slot - number) <= window->recent.reach;
    return !peek.failed && sound && entries >= 1 && entries <= reader_bits_left(&peek);
}

/* Goes through all of it; false where it is not what a writer writes. *newest is the first slot. */
static bool incoming_is_sound(const struct window *window, struct incoming *incoming, uint64_t *newest)
{
    uint64_t limit = (UINT64_C(1) << window->recent.bits) - 1;
    bool sound = !incoming->reader.failed && incoming->slots <= ages(window);
    while (sound && (incoming->slots > 0 || incoming->entries > 0)) {
        if (incoming->entries == 0) {
            bool first = incoming->first;
            if (!slot_is_sound(window, incoming, *newest))
                return false;
            read_slot(incoming);
            *newest = first ? incoming->slot : *newest;
        }
        uint64_t gap = read_rice(&incoming->reader, incoming->parameter);
        sound = !incoming->reader.failed && gap <= limit - (incoming->prefix + 1);
        if (!sound || incoming->prefix == limit)
            return false;
        incoming->prefix += gap + 1;
        if (--incoming->entries == 0)
            read_alignment(&incoming->reader);
    }
    return sound && !incoming->reader.failed;
}

/* Nothing comes twice, unlike in a delta, which is no canonical form. */
static roost_status take_state(struct window *window, struct incoming incoming, uint64_t newest)
{
    uint64_t there;
    roost_status status = ROOST_OK;
    window->recent.beside = growing_bytes_beside(window);
    if (incoming.slots > 0)
        recent_advance(&window->recent, newest);
    for (uint64_t prefix, slot; status == ROOST_OK && incoming_next(&incoming, &prefix, &slot);) {
        status = recent_find(&window->recent, prefix, &there) ? ROOST_CORRUPT : recent_reserve(&window->recent, prefix);
        if (status == ROOST_OK)
            recent_raise(&window->recent, prefix, slot);
    }
    return status;
}

roost_status growing_read_state(roost_filter *filter, struct bit_reader *reader)
{
    struct window *window = as_window(filter);
    struct incoming incoming = incoming_from(window, *reader), whole = incoming;
    uint64_t newest = 0;
    if (!incoming_is_sound(window, &incoming, &newest))
        return ROOST_CORRUPT;
    *reader = incoming.reader;
    roost_status status = take_state(window, whole, newest);
    if (status == ROOST_OK && is_counter(window))
        status = window_status_of_tally(tally_read(&window->tally, reader, &filter->environment.allocator));
    return status;
}

roost_status growing_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    struct window *window = as_window(filter);
    struct incoming incoming = incoming_from(window, *reader), whole = incoming;
    struct tally tally = {0};
    uint64_t newest = 0;
    *changed = false;
    if (!incoming_is_sound(window, &incoming, &newest))
        return ROOST_CORRUPT;
    *reader = incoming.reader;
    roost_status status = ROOST_OK;
    if (is_counter(window))
        status = window_status_of_tally(tally_read(&tally, reader, &filter->environment.allocator));
    if (status == ROOST_OK && reader_bits_left(reader) != 0)
        status = ROOST_CORRUPT;
    if (status == ROOST_OK)
        status = growing_take(window, changed, &whole, newest, &tally);
    tally_release(&tally, &filter->environment.allocator);
    return status;
}

/* ---- replica --------------------------------------------------------------------------------------------------- */

bool growing_is_change(const roost_filter *filter, uint8_t table, struct change change)
{
    const struct window *window = as_const_window(filter);
    if (table == TALLY_TABLE)
        return change.tag == 0 && tally_find(&window->tally, change.key) < window->tally.count;
    return table == ENTRY_TABLE && change.tag == 0 && change.key >> window->recent.bits == 0;
}
