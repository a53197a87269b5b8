/*
 * Few entries in little memory.
 *
 *     none       | 0       |                                  24 bytes, which are part of the filter
 *     one        | p0 | t0 |
 *     2 to 64    | list    |  ->  | p0 t0 | p1 t1 | p2 t2 |   16 bytes each, room for 2, 4, 8, ... 64
 *     more       | table   |  ->  struct prefix_table         (tagged.c) a kilobyte and a half at least, then some six
 *                                                             bytes each
 *
 * A server may have millions of filters of a few elements each. A list has what a table has, but for what can be found
 * by reading it: numbers of prefixes by their length, and what the table knows of its segments.
 *
 * Prefixes may cover each other. Those that cover a hash are all of the form "first bits of the hash, end", so in the
 * order of numbers they are at most as far from it as the shortest of the list reaches:
 *
 *     hash        0110 1001...
 *     shortest    length 3:  what covers it is between 0110 0000... and 0111 1111...
 *
 * A binary search finds the first of these, and there is mostly one, or none.
 *
 * A list is never larger than what a walk returns at once, so that a walk over it needs no position. A table that has
 * no more than a quarter of that left becomes a list again. All of this is layout: frames and digests are the same.
 */
#include "tagged_set.h"

#include <string.h>

#define FEWEST_ROOM 2
#define WALKED_LIST 1 /* the position of a walk at the end of a list */

_Static_assert(MOST_TAGS_LISTED <= TAGGED_AT_ONCE && MOST_TAGS_LISTED < IN_TABLE, "a walk returns a list at once");

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static struct prefix_entry *list_in(struct tagged_set *set)
{
    return set->room ? set->list : &set->only;
}

static uint64_t bytes_of_list(uint64_t room)
{
    return room * sizeof(struct prefix_entry);
}

/* The first whose prefix is this number, or a larger one. */
static unsigned find_number(const struct tagged_set *set, uint64_t number)
{
    const struct prefix_entry *list = entries_listed(set);
    unsigned from = 0, to = set->listed;
    while (from < to) {
        unsigned middle = (from + to) / 2;
        if (list[middle].prefix < number)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Where this very entry is; `listed` if it is not there. */
static unsigned find_entry(const struct tagged_set *set, struct prefix_entry entry)
{
    const struct prefix_entry *list = entries_listed(set);
    for (unsigned i = find_number(set, entry.prefix); i < set->listed && list[i].prefix == entry.prefix; i++)
        if (list[i].tag == entry.tag)
            return i;
    return set->listed;
}

/* The next that covers a hash, from this place on; `listed` at the end. */
static unsigned next_covering(const struct tagged_set *set, uint64_t hash, unsigned place)
{
    const struct prefix_entry *list = entries_listed(set);
    const uint64_t last = last_covered(prefix_of(hash, set->shortest));
    while (place < set->listed && !covers_hash(list[place].prefix, hash))
        place = list[place].prefix <= last ? place + 1 : set->listed;
    return place;
}

static unsigned first_covering(const struct tagged_set *set, uint64_t hash)
{
    return next_covering(set, hash, find_number(set, first_covered(prefix_of(hash, set->shortest))));
}

/* Another number of places, which are enough. False, and nothing changed, without memory. */
static bool change_room(struct tagged_set *set, const roost_filter *owner, uint64_t room)
{
    const roost_allocator *allocator = &owner->environment.allocator;
    struct prefix_entry *old = set->room ? set->list : NULL, *list = NULL, only = {0, 0};
    if (room == set->room)
        return true;
    if (room) {
        list = memory_allocate(allocator, bytes_of_list(room));
        if (!list)
            return false;
        memcpy(list, entries_listed(set), bytes_of_list(set->listed));
        set->list = list;
    } else {
        only = set->listed ? *old : only;
        set->only = only;
    }
    set->room = (uint8_t)room;
    memory_release(allocator, old);
    return true;
}

/* As many places as so many entries need, if there are fewer. */
static roost_status make_places(struct tagged_set *set, const roost_filter *owner, uint64_t count, uint64_t most_bytes)
{
    uint64_t room = room_of_list(count, FEWEST_ROOM);
    if (room <= set->room)
        return ROOST_OK;
    if (bytes_of_list(room) > most_bytes)
        return ROOST_TOO_LARGE;
    return change_room(set, owner, room) ? ROOST_OK : ROOST_NO_MEMORY;
}

/* Where there is a place. */
static void insert(struct tagged_set *set, struct prefix_entry entry)
{
    struct prefix_entry *place = list_in(set) + find_number(set, entry.prefix);
    unsigned length = prefix_length(entry.prefix);
    memmove(place + 1, place, bytes_of_list((uint64_t)(list_in(set) + set->listed - place)));
    *place = entry;
    set->shortest = set->listed && set->shortest < length ? set->shortest : (uint8_t)length;
    set->listed++;
}

static bool drop_listed(struct tagged_set *set, struct prefix_entry entry)
{
    unsigned place = find_entry(set, entry);
    if (place == set->listed)
        return false;
    set->listed--;
    struct prefix_entry *list = list_in(set);
    memmove(list + place, list + place + 1, bytes_of_list(set->listed - place));
    return true;
}

/* Whether the i-th is the first of its prefix. */
static bool is_first(const struct prefix_entry *list, unsigned i)
{
    return i == 0 || list[i - 1].prefix != list[i].prefix;
}

/* ---- from lists to tables ---------------------------------------------------------------------------------------- */

struct prefix_table *tagged_set_new_table(const struct tagged_set *set, const roost_filter *owner)
{
    struct prefix_table *table = new_table_of(owner, tagged_init);
    if (table && is_in_table(set))
        table->target = set->table->target;
    return table;
}

void tagged_set_put_table(struct tagged_set *set, const roost_filter *owner, struct prefix_table *table)
{
    tagged_set_release(set, owner);
    set->table = table;
    set->listed = IN_TABLE;
}

/* Fills an empty table with what is on the list. */
static roost_status fill_table(struct prefix_table *table, const struct tagged_set *set)
{
    uint64_t prefixes[MOST_TAGS_LISTED], tags[MOST_TAGS_LISTED];
    struct prefix_run run = {prefixes, tags, set->listed, 0};
    for (unsigned i = 0; i < set->listed; i++) {
        prefixes[i] = entries_listed(set)[i].prefix;
        tags[i] = entries_listed(set)[i].tag;
    }
    table->root = new_directory(table, 0, 1);
    if (!table->root)
        return ROOST_NO_MEMORY;
    roost_status status = tagged_build_child(table, 0, 0, &run);
    for (uint64_t i = run.count; i < set->listed && status == ROOST_OK; i++)
        status = tagged_put(table, entries_listed(set)[i]);
    return status;
}

/* A table takes the place of the list, with room that was reserved for so many more, and with one more unless its
   prefix is 0. */
static roost_status become_table(struct tagged_set *set, const roost_filter *owner, struct prefix_entry entry,
                                 uint64_t reserved, uint64_t most_bytes)
{
    struct prefix_table *table = most_bytes > sizeof *table ? tagged_set_new_table(set, owner) : NULL;
    if (!table)
        return most_bytes > sizeof *table ? ROOST_NO_MEMORY : ROOST_TOO_LARGE;
    table->most_bytes = most_bytes - sizeof *table;
    roost_status status = set->listed ? fill_table(table, set) : ROOST_OK;
    if (status == ROOST_OK && entry.prefix)
        status = tagged_put(table, entry);
    if (status == ROOST_OK)
        status = tagged_reserve(table, reserved);
    if (status == ROOST_OK && sizeof *table + tagged_bytes(table) > most_bytes)
        status = ROOST_TOO_LARGE; /* with the crowd */
    if (status == ROOST_OK)
        tagged_set_put_table(set, owner, table);
    else
        free_table_of(owner, table);
    return status;
}

/* And back. Without memory it remains a table. */
static void become_list(struct tagged_set *set, const roost_filter *owner)
{
    struct tagged_set list = {.most = set->most};
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    if (make_places(&list, owner, set->table->count, UINT64_MAX) != ROOST_OK)
        return;
    for (uint32_t count; (count = tagged_next(set->table, &walk, entries)) > 0;)
        for (uint32_t i = 0; i < count; i++)
            insert(&list, entries[i]);
    tagged_set_release(set, owner);
    *set = list;
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

void tagged_set_init(struct tagged_set *set)
{
    *set = (struct tagged_set){.most = MOST_TAGS_LISTED};
}

void tagged_set_release(struct tagged_set *set, const roost_filter *owner)
{
    if (is_in_table(set))
        free_table_of(owner, set->table);
    else if (set->room)
        memory_release(&owner->environment.allocator, set->list);
    *set = (struct tagged_set){.most = set->most};
}

const uint64_t *count_listed(const struct tagged_set *set, uint64_t counts[MOST_LENGTH + 1])
{
    const struct prefix_entry *list = entries_listed(set);
    memset(counts, 0, (MOST_LENGTH + 1) * sizeof *counts);
    for (unsigned i = 0; i < set->listed; i++)
        counts[prefix_length(list[i].prefix)] += is_first(list, i);
    return counts;
}

bool list_contains(const struct tagged_set *set, uint64_t hash)
{
    return first_covering(set, hash) < set->listed;
}

void list_contains_many(const struct tagged_set *set, bool *found, const roost_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        found[i] = list_contains(set, hashes[i].high);
}

bool tagged_set_holds(const struct tagged_set *set, struct prefix_entry entry)
{
    return is_in_table(set) ? tagged_holds(set->table, entry) : find_entry(set, entry) < set->listed;
}

uint32_t tagged_set_covering(const struct tagged_set *set, uint64_t hash, struct prefix_entry *entries, uint32_t most)
{
    uint32_t count = 0;
    if (is_in_table(set))
        return tagged_covering(set->table, hash, entries, most);
    for (unsigned i = first_covering(set, hash); i < set->listed && count < most; i = next_covering(set, hash, i + 1))
        entries[count++] = entries_listed(set)[i];
    return count;
}

uint32_t tagged_set_of_prefix(const struct tagged_set *set, uint64_t prefix, struct prefix_entry *entries,
                              uint32_t most)
{
    const struct prefix_entry *list = entries_listed(set);
    uint32_t count = 0;
    if (is_in_table(set))
        return tagged_of_prefix(set->table, prefix, entries, most);
    for (unsigned i = find_number(set, prefix); i < set->listed && list[i].prefix == prefix && count < most; i++)
        entries[count++] = list[i];
    return count;
}

bool tagged_set_has_prefix(const struct tagged_set *set, uint64_t prefix)
{
    if (is_in_table(set))
        return tagged_has_prefix(set->table, prefix);
    unsigned place = find_number(set, prefix);
    return place < set->listed && entries_listed(set)[place].prefix == prefix;
}

void tagged_set_fetch(const struct tagged_set *set, uint64_t hash)
{
    if (is_in_table(set))
        tagged_fetch(set->table, hash);
}

uint64_t tagged_set_count_covering(const struct tagged_set *set, uint64_t hash)
{
    struct prefix_entry entries[MOST_TAGS_LISTED];
    return is_in_table(set) ? tagged_count_covering(set->table, hash)
                            : tagged_set_covering(set, hash, entries, MOST_TAGS_LISTED);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

size_t tagged_set_put_entries(struct tagged_set *set, const struct prefix_entry *entries, size_t count)
{
    return is_in_table(set) ? tagged_put_entries(set->table, entries, count) : 0;
}

static roost_status put_listed(struct tagged_set *set, const roost_filter *owner, struct prefix_entry entry,
                               uint64_t most_bytes)
{
    if (set->listed >= set->most)
        return become_table(set, owner, entry, 0, most_bytes);
    roost_status status = make_places(set, owner, set->listed + 1u, most_bytes);
    if (status == ROOST_OK)
        insert(set, entry);
    return status;
}

roost_status tagged_set_put(struct tagged_set *set, const roost_filter *owner, struct prefix_entry entry,
                            uint64_t most_bytes)
{
    if (!is_in_table(set))
        return put_listed(set, owner, entry, most_bytes);
    set->table->most_bytes = most_bytes;
    return tagged_put(set->table, entry);
}

roost_status tagged_set_put_first(struct tagged_set *set, const roost_filter *owner, struct prefix_entry entry,
                                  uint64_t most_bytes)
{
    if (!is_in_table(set))
        return put_listed(set, owner, entry, most_bytes);
    set->table->most_bytes = most_bytes;
    return tagged_put_first(set->table, entry);
}

bool tagged_set_drop(struct tagged_set *set, struct prefix_entry entry)
{
    return is_in_table(set) ? tagged_drop(set->table, entry) : drop_listed(set, entry);
}

bool tagged_set_retag(struct tagged_set *set, struct prefix_entry entry, uint64_t tag)
{
    if (is_in_table(set))
        return tagged_retag(set->table, entry, tag);
    unsigned place = find_entry(set, entry);
    if (place < set->listed)
        list_in(set)[place].tag = tag;
    return place < set->listed;
}

roost_status tagged_set_reserve(struct tagged_set *set, const roost_filter *owner, uint64_t count, uint64_t most_bytes)
{
    const struct prefix_entry none = {0, 0};
    if (count == 0)
        return ROOST_OK;
    if (!is_in_table(set))
        return set->listed + count <= set->most ? make_places(set, owner, set->listed + count, most_bytes)
                                                : become_table(set, owner, none, count, most_bytes);
    set->table->most_bytes = most_bytes;
    return tagged_reserve(set->table, count);
}

void tagged_set_release_reserve(struct tagged_set *set, const roost_filter *owner)
{
    if (is_in_table(set))
        tagged_release_reserve(set->table);
    tagged_set_settle(set, owner);
}

void tagged_set_make_room(struct tagged_set *set, const roost_filter *owner, uint64_t entries, uint64_t most_bytes)
{
    const struct prefix_entry none = {0, 0};
    if (!is_in_table(set) && set->listed + entries > set->most)
        (void)become_table(set, owner, none, 0, most_bytes);
    if (is_in_table(set))
        tagged_make_room(set->table, entries);
}

/* Entries that come and go at the bound of two sizes do not allocate each time. */
static void shrink_list(struct tagged_set *set, const roost_filter *owner)
{
    uint64_t room = room_of_list(set->listed, FEWEST_ROOM);
    if (room == 0 || room < set->room / 2u)
        (void)change_room(set, owner, room);
}

void tagged_set_settle(struct tagged_set *set, const roost_filter *owner)
{
    if (!is_in_table(set))
        shrink_list(set, owner);
    else if (set->most && set->table->count <= set->most / 4u && !set->table->reserved)
        become_list(set, owner);
}

void tagged_set_shrink(struct tagged_set *set, const roost_filter *owner, uint64_t prefix)
{
    if (is_in_table(set))
        tagged_shrink(set->table, prefix);
    tagged_set_settle(set, owner);
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

/* Whether the walk comes to a list for the first time. */
static bool begins_list(const struct tagged_set *set, struct tagged_walk *walk)
{
    bool begins = set->listed > 0 && walk->position != WALKED_LIST;
    walk->position = WALKED_LIST;
    return begins;
}

uint32_t tagged_set_next(const struct tagged_set *set, struct tagged_walk *walk,
                         struct prefix_entry entries[TAGGED_AT_ONCE])
{
    if (is_in_table(set))
        return tagged_next(set->table, walk, entries);
    if (!begins_list(set, walk))
        return 0;
    memcpy(entries, entries_listed(set), bytes_of_list(set->listed));
    return set->listed;
}

uint32_t tagged_set_next_tags(const struct tagged_set *set, struct tagged_walk *walk, uint64_t tags[ROOM_FOR_TAGS])
{
    if (is_in_table(set))
        return tagged_next_tags(set->table, walk, tags);
    if (!begins_list(set, walk))
        return 0;
    for (unsigned i = 0; i < set->listed; i++)
        tags[i] = entries_listed(set)[i].tag;
    return set->listed;
}

/* Whether a shorter prefix of the list covers this one. */
static bool is_covered(const struct tagged_set *set, uint64_t prefix)
{
    const struct prefix_entry *list = entries_listed(set);
    for (unsigned i = 0; i < set->listed; i++)
        if (list[i].prefix != prefix && covers_prefix(list[i].prefix, prefix))
            return true;
    return false;
}

uint64_t tagged_set_elements(const struct tagged_set *set)
{
    const struct prefix_entry *list = entries_listed(set);
    uint64_t elements = 0;
    if (is_in_table(set))
        return tagged_elements(set->table);
    for (unsigned i = 0; i < set->listed; i++)
        elements += is_first(list, i) && !is_covered(set, list[i].prefix);
    return elements;
}

/* ---- copies and moves -------------------------------------------------------------------------------------------- */

roost_status tagged_set_use_table(struct tagged_set *set, const roost_filter *owner)
{
    const struct prefix_entry none = {0, 0};
    roost_status status = ROOST_OK;
    if (!is_in_table(set))
        status = become_table(set, owner, none, 0, owner->environment.common->memory_limit);
    set->most = status == ROOST_OK ? 0 : set->most;
    return status;
}

static roost_status copy_list(struct tagged_set *copy, const roost_filter *owner, const struct tagged_set *set)
{
    copy->listed = 0;
    if (!change_room(copy, owner, room_of_list(set->listed, FEWEST_ROOM)))
        return ROOST_NO_MEMORY;
    memcpy(list_in(copy), entries_listed(set), bytes_of_list(set->listed));
    copy->listed = set->listed;
    copy->shortest = set->shortest;
    return ROOST_OK;
}

roost_status tagged_set_copy(struct tagged_set *copy, const roost_filter *owner, const struct tagged_set *set)
{
    copy->most = set->most;
    if (!is_in_table(set))
        return copy_list(copy, owner, set);
    struct prefix_table *table = new_table_of(owner, tagged_init);
    if (!table)
        return ROOST_NO_MEMORY;
    tagged_set_put_table(copy, owner, table);
    return table_copy(table, set->table);
}

bool tagged_set_move(struct tagged_set *set, const struct memory_mover *mover, uint64_t place)
{
    if (!is_in_table(set)) {
        if (set->room)
            set->list = memory_moved(mover, set->list);
        return false;
    }
    if (place == 0)
        set->table = memory_moved(mover, set->table);
    return table_move(set->table, mover, place);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

uint64_t tagged_set_bytes(const struct tagged_set *set)
{
    return is_in_table(set) ? sizeof *set->table + tagged_bytes(set->table) : bytes_of_list(set->room);
}

uint64_t tagged_set_bytes_left(const struct tagged_set *set, uint64_t limit)
{
    const struct prefix_table *table = is_in_table(set) ? set->table : NULL;
    uint64_t rest = table ? sizeof *table : 0;
    rest += table && table->crowd ? tagged_bytes(table) - table->bytes : 0;
    return limit > rest ? limit - rest : 0;
}

uint64_t tagged_set_bytes_with(const struct tagged_set *set, uint64_t more)
{
    const struct prefix_table none = {.count = 0};
    if (is_in_table(set))
        return sizeof *set->table + tagged_bytes_with(set->table, more);
    if (set->listed + more > set->most)
        return sizeof none + tagged_bytes_with(&none, set->listed + more);
    uint64_t room = room_of_list(set->listed + more, FEWEST_ROOM);
    return bytes_of_list(room > set->room ? room : set->room);
}

uint64_t tagged_set_crowd(const struct tagged_set *set)
{
    return is_in_table(set) ? tagged_crowd(set->table) : 0;
}

double tagged_set_load(const struct tagged_set *set)
{
    if (is_in_table(set))
        return table_load(set->table);
    return (double)set->listed / (set->room ? set->room : 1);
}

bool tagged_set_check(const struct tagged_set *set)
{
    const struct prefix_entry *list = entries_listed(set);
    if (is_in_table(set))
        return tagged_check(set->table);
    for (unsigned i = 0; i < set->listed; i++)
        if (prefix_length(list[i].prefix) < set->shortest || (i > 0 && list[i - 1].prefix > list[i].prefix))
            return false;
    return set->listed <= (set->room ? set->room : 1) && set->listed <= set->most;
}
