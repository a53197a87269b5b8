#include "quota.h"

#include <string.h>

#define FEWEST_BYTES 18 /* of an entry */

//@ requires \valid_read(first) && \valid_read(second); assigns \nothing; ensures -1 <= \result <= 1;
static int compare_entries(const struct quota_entry *first, const struct quota_entry *second)
{
    if (first->table != second->table)
        return first->table < second->table ? -1 : 1;
    if (first->from != second->from)
        return first->from < second->from ? -1 : 1;
    return first->to == second->to ? 0 : first->to < second->to ? -1 : 1;
}

/* Where the entry is, or would be. */
/*@ requires \valid_read(quota) && \valid_read(wanted) && \valid_read(quota->entries + (0 .. quota->count - 1));
    assigns \nothing; ensures \result <= quota->count; */
static size_t find(const struct quota *quota, const struct quota_entry *wanted)
{
    size_t below = 0, left = quota->count;
    //@ loop invariant below + left <= quota->count; loop assigns below, left;
    while (left > 0) {
        size_t half = left - left / 2;
        below += half * (compare_entries(&quota->entries[below + half - 1], wanted) < 0);
        left -= half;
    }
    return below;
}

/*@ requires \valid_read(quota) && \valid_read(wanted) && \valid_read(quota->entries + (0 .. quota->count - 1));
    assigns \nothing; ensures \result ==> i < quota->count; */
static bool is_at(const struct quota *quota, size_t i, const struct quota_entry *wanted)
{
    return i < quota->count && compare_entries(&quota->entries[i], wanted) == 0;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

void quota_release(struct quota *quota, const roost_allocator *allocator)
{
    memory_release(allocator, quota->entries);
    *quota = (struct quota){0};
}

bool quota_reserve(struct quota *quota, const roost_allocator *allocator, size_t entries)
{
    if (quota->room - quota->count >= entries)
        return true;
    size_t room = quota->count * 2 + entries;
    struct quota_entry *larger = memory_allocate(allocator, room * sizeof *larger);
    if (!larger)
        return false;
    if (quota->count)
        memcpy(larger, quota->entries, quota->count * sizeof *larger);
    memory_release(allocator, quota->entries);
    quota->entries = larger;
    quota->room = room;
    return true;
}

bool quota_copy(struct quota *copy, const struct quota *quota, const roost_allocator *allocator)
{
    *copy = (struct quota){0};
    if (!quota_reserve(copy, allocator, quota->count))
        return false;
    if (quota->count)
        memcpy(copy->entries, quota->entries, quota->count * sizeof *copy->entries);
    copy->count = quota->count;
    return true;
}

/* Sums saturate instead of overflowing: only forged states have such amounts. */
//@ assigns \nothing; ensures \result == \min(UINT64_MAX, sum + amount);
static uint64_t add_capped(uint64_t sum, uint64_t amount)
{
    return amount < UINT64_MAX - sum ? sum + amount : UINT64_MAX;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

uint64_t quota_left(const struct quota *quota, uint32_t table, uint64_t actor, uint64_t share)
{
    uint64_t received = share, gone = 0;
    for (size_t i = find(quota, &(struct quota_entry){.table = table});
         i < quota->count && quota->entries[i].table == table; i++) {
        const struct quota_entry *entry = &quota->entries[i];
        if (entry->from == actor)
            gone = add_capped(gone, entry->amount);
        else if (entry->to == actor)
            received = add_capped(received, entry->amount);
    }
    return received > gone ? received - gone : 0;
}

uint64_t quota_spent(const struct quota *quota, uint32_t table, uint64_t actor)
{
    struct quota_entry wanted = {.table = table, .from = actor, .to = actor};
    size_t i = find(quota, &wanted);
    return is_at(quota, i, &wanted) ? quota->entries[i].amount : 0;
}

uint64_t quota_spent_in(const struct quota *quota, uint32_t table)
{
    uint64_t spent = 0;
    for (size_t i = find(quota, &(struct quota_entry){.table = table});
         i < quota->count && quota->entries[i].table == table; i++)
        spent = add_capped(spent, quota->entries[i].from == quota->entries[i].to ? quota->entries[i].amount : 0);
    return spent;
}

//@ requires \valid_read(quota) && \valid_read(quota->entries + (0 .. quota->count - 1)); assigns \nothing;
uint64_t quota_spent_at_all(const struct quota *quota)
{
    uint64_t spent = 0;
    //@ loop invariant i <= quota->count; loop assigns i, spent;
    for (size_t i = 0; i < quota->count; i++)
        spent = add_capped(spent, quota->entries[i].from == quota->entries[i].to ? quota->entries[i].amount : 0);
    return spent;
}

size_t quota_entries_of(const struct quota *quota, uint32_t table, uint64_t from, size_t *end)
{
    size_t first = find(quota, &(struct quota_entry){.table = table, .from = from});
    for (*end = first; *end < quota->count && quota->entries[*end].table == table && quota->entries[*end].from == from;)
        ++*end;
    return first;
}

/* Whether an actor has entries in an earlier table; a table is looked up once, however many there are. */
static bool is_known_before(const struct quota *quota, uint32_t table, uint64_t from)
{
    bool known = false;
    for (uint32_t earlier = 0; earlier < table && !known; earlier++) {
        size_t end;
        known = quota_entries_of(quota, earlier, from, &end) < end;
    }
    return known;
}

size_t quota_actors(const struct quota *quota)
{
    size_t actors = 0, end;
    for (size_t i = 0; i < quota->count; i = end) {
        const struct quota_entry *entry = &quota->entries[i];
        quota_entries_of(quota, entry->table, entry->from, &end);
        actors += !is_known_before(quota, entry->table, entry->from);
    }
    return actors;
}

bool quota_lacks(const struct quota *quota, const struct quota *other)
{
    for (size_t i = 0; i < other->count; i++) {
        size_t at = find(quota, &other->entries[i]);
        if (!is_at(quota, at, &other->entries[i]) || quota->entries[at].amount < other->entries[i].amount)
            return true;
    }
    return false;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void insert_at(struct quota *quota, size_t i, const struct quota_entry *entry)
{
    memmove(quota->entries + i + 1, quota->entries + i, (quota->count - i) * sizeof *entry);
    quota->entries[i] = *entry;
    quota->count++;
}

void quota_raise(struct quota *quota, uint32_t table, uint64_t from, uint64_t to, uint64_t amount)
{
    struct quota_entry entry = {table, from, to, amount};
    size_t i = find(quota, &entry);
    if (is_at(quota, i, &entry))
        quota->entries[i].amount += amount;
    else
        insert_at(quota, i, &entry);
}

/* How many entries of the other quota are in none of ours. */
static size_t count_missing(const struct quota *quota, const struct quota *other)
{
    size_t missing = 0;
    for (size_t i = 0, j = 0; j < other->count; j++) {
        while (i < quota->count && compare_entries(&quota->entries[i], &other->entries[j]) < 0)
            i++;
        missing += !is_at(quota, i, &other->entries[j]);
    }
    return missing;
}

/* From the last entry to the first, so that each moves once. */
bool quota_merge(struct quota *quota, const struct quota *other, quota_visitor *unseen, void *context)
{
    size_t left = quota->count, to = quota->count + count_missing(quota, other);
    bool grew = false;
    quota->count = to;
    for (size_t from = other->count; from > 0; from--) {
        const struct quota_entry *entry = &other->entries[from - 1];
        while (left > 0 && compare_entries(&quota->entries[left - 1], entry) > 0)
            quota->entries[--to] = quota->entries[--left];
        bool known = left > 0 && compare_entries(&quota->entries[left - 1], entry) == 0;
        bool larger = !known || quota->entries[left - 1].amount < entry->amount;
        quota->entries[--to] = larger ? *entry : quota->entries[left - 1];
        left -= known;
        if (larger)
            unseen(context, entry);
        grew |= larger;
    }
    return grew;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

void quota_write_entry(struct bit_writer *writer, const struct quota_entry *entry)
{
    write_varint(writer, entry->table);
    write_fixed64(writer, entry->from);
    write_fixed64(writer, entry->to);
    write_varint(writer, entry->amount);
}

void quota_write(const struct quota *quota, struct bit_writer *writer)
{
    write_varint(writer, quota->count);
    for (size_t i = 0; i < quota->count; i++)
        quota_write_entry(writer, &quota->entries[i]);
}

/* Amounts are bounded so that a sum of fewer than 65,536 of them never overflows; longer ones are capped. */
/*@ requires sound_reader(reader) && \valid(entry) && \separated(reader, entry);
    requires \separated(entry, reader->bytes + (0 .. reader->size - 1));
    assigns *entry, reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures \result ==> !reader->failed && entry->amount > 0; */
bool quota_read_entry(struct bit_reader *reader, struct quota_entry *entry, uint32_t tables)
{
    uint64_t table = read_varint(reader);
    *entry = (struct quota_entry){.table = (uint32_t)table};
    entry->from = read_fixed64(reader);
    entry->to = read_fixed64(reader);
    entry->amount = read_varint(reader);
    return !reader->failed && table < tables && entry->from && entry->to && entry->amount &&
           entry->amount < UINT64_C(1) << 48;
}

enum quota_read quota_read(struct quota *quota, struct bit_reader *reader, uint32_t tables,
                           const roost_allocator *allocator)
{
    *quota = (struct quota){0};
    uint64_t count = read_varint(reader);
    if (reader->failed || count > reader_bits_left(reader) / 8 / FEWEST_BYTES)
        return QUOTA_CORRUPT;
    if (!quota_reserve(quota, allocator, (size_t)count))
        return QUOTA_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        struct quota_entry *entry = &quota->entries[i];
        if (!quota_read_entry(reader, entry, tables) || (i > 0 && compare_entries(entry - 1, entry) >= 0)) {
            quota_release(quota, allocator);
            return QUOTA_CORRUPT;
        }
        quota->count++;
    }
    return QUOTA_READ;
}

bool quota_check(const struct quota *quota)
{
    for (size_t i = 0; i < quota->count; i++) {
        const struct quota_entry *entry = &quota->entries[i];
        if (!entry->from || !entry->to || !entry->amount || (i > 0 && compare_entries(entry - 1, entry) >= 0))
            return false;
    }
    return quota->count <= quota->room;
}
