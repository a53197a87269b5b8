#include "ledger.h"

#include <string.h>

#define FEWEST_BYTES 18 /* of an entry */

static int compare_entries(const struct ledger_entry *first, const struct ledger_entry *second)
{
    if (first->table != second->table)
        return first->table < second->table ? -1 : 1;
    if (first->from != second->from)
        return first->from < second->from ? -1 : 1;
    return first->to == second->to ? 0 : first->to < second->to ? -1 : 1;
}

/* Where the entry is, or would be. */
static size_t find(const struct ledger *ledger, const struct ledger_entry *wanted)
{
    size_t below = 0, left = ledger->count;
    while (left > 0) {
        size_t half = left - left / 2;
        below += half * (compare_entries(&ledger->entries[below + half - 1], wanted) < 0);
        left -= half;
    }
    return below;
}

static bool is_at(const struct ledger *ledger, size_t i, const struct ledger_entry *wanted)
{
    return i < ledger->count && compare_entries(&ledger->entries[i], wanted) == 0;
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

void ledger_release(struct ledger *ledger, const roost_allocator *allocator)
{
    memory_release(allocator, ledger->entries);
    *ledger = (struct ledger){0};
}

bool ledger_reserve(struct ledger *ledger, const roost_allocator *allocator, size_t entries)
{
    if (ledger->room - ledger->count >= entries)
        return true;
    size_t room = ledger->count * 2 + entries;
    struct ledger_entry *larger = memory_allocate(allocator, room * sizeof *larger);
    if (!larger)
        return false;
    if (ledger->count)
        memcpy(larger, ledger->entries, ledger->count * sizeof *larger);
    memory_release(allocator, ledger->entries);
    ledger->entries = larger;
    ledger->room = room;
    return true;
}

bool ledger_copy(struct ledger *copy, const struct ledger *ledger, const roost_allocator *allocator)
{
    *copy = (struct ledger){0};
    if (!ledger_reserve(copy, allocator, ledger->count))
        return false;
    if (ledger->count)
        memcpy(copy->entries, ledger->entries, ledger->count * sizeof *copy->entries);
    copy->count = ledger->count;
    return true;
}

/* Sums stay where they would overflow: only forgers get there. */
static uint64_t add_capped(uint64_t sum, uint64_t amount)
{
    return amount < UINT64_MAX - sum ? sum + amount : UINT64_MAX;
}

/* ---- questions -----------------------------------------------------------------------------------------------------
 */

uint64_t ledger_left(const struct ledger *ledger, uint32_t table, uint64_t actor, uint64_t share)
{
    uint64_t received = share, gone = 0;
    for (size_t i = find(ledger, &(struct ledger_entry){.table = table});
         i < ledger->count && ledger->entries[i].table == table; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->from == actor)
            gone = add_capped(gone, entry->amount);
        else if (entry->to == actor)
            received = add_capped(received, entry->amount);
    }
    return received > gone ? received - gone : 0;
}

uint64_t ledger_spent(const struct ledger *ledger, uint32_t table, uint64_t actor)
{
    struct ledger_entry wanted = {.table = table, .from = actor, .to = actor};
    size_t i = find(ledger, &wanted);
    return is_at(ledger, i, &wanted) ? ledger->entries[i].amount : 0;
}

uint64_t ledger_spent_in(const struct ledger *ledger, uint32_t table)
{
    uint64_t spent = 0;
    for (size_t i = find(ledger, &(struct ledger_entry){.table = table});
         i < ledger->count && ledger->entries[i].table == table; i++)
        spent = add_capped(spent, ledger->entries[i].from == ledger->entries[i].to ? ledger->entries[i].amount : 0);
    return spent;
}

uint64_t ledger_spent_at_all(const struct ledger *ledger)
{
    uint64_t spent = 0;
    for (size_t i = 0; i < ledger->count; i++)
        spent = add_capped(spent, ledger->entries[i].from == ledger->entries[i].to ? ledger->entries[i].amount : 0);
    return spent;
}

size_t ledger_entries_of(const struct ledger *ledger, uint32_t table, uint64_t from, size_t *end)
{
    size_t first = find(ledger, &(struct ledger_entry){.table = table, .from = from});
    for (*end = first;
         *end < ledger->count && ledger->entries[*end].table == table && ledger->entries[*end].from == from;)
        ++*end;
    return first;
}

/* Whether an actor has entries in an earlier table; a table is looked up once, however many there are. */
static bool is_known_before(const struct ledger *ledger, uint32_t table, uint64_t from)
{
    bool known = false;
    for (uint32_t earlier = 0; earlier < table && !known; earlier++) {
        size_t end;
        known = ledger_entries_of(ledger, earlier, from, &end) < end;
    }
    return known;
}

size_t ledger_actors(const struct ledger *ledger)
{
    size_t actors = 0, end;
    for (size_t i = 0; i < ledger->count; i = end) {
        const struct ledger_entry *entry = &ledger->entries[i];
        ledger_entries_of(ledger, entry->table, entry->from, &end);
        actors += !is_known_before(ledger, entry->table, entry->from);
    }
    return actors;
}

bool ledger_lacks(const struct ledger *ledger, const struct ledger *other)
{
    for (size_t i = 0; i < other->count; i++) {
        size_t at = find(ledger, &other->entries[i]);
        if (!is_at(ledger, at, &other->entries[i]) || ledger->entries[at].amount < other->entries[i].amount)
            return true;
    }
    return false;
}

/* ---- changes -------------------------------------------------------------------------------------------------------
 */

static void insert_at(struct ledger *ledger, size_t i, const struct ledger_entry *entry)
{
    memmove(ledger->entries + i + 1, ledger->entries + i, (ledger->count - i) * sizeof *entry);
    ledger->entries[i] = *entry;
    ledger->count++;
}

void ledger_raise(struct ledger *ledger, uint32_t table, uint64_t from, uint64_t to, uint64_t amount)
{
    struct ledger_entry entry = {table, from, to, amount};
    size_t i = find(ledger, &entry);
    if (is_at(ledger, i, &entry))
        ledger->entries[i].amount += amount;
    else
        insert_at(ledger, i, &entry);
}

/* How many entries of the other ledger are in none of ours. */
static size_t count_missing(const struct ledger *ledger, const struct ledger *other)
{
    size_t missing = 0;
    for (size_t i = 0, j = 0; j < other->count; j++) {
        while (i < ledger->count && compare_entries(&ledger->entries[i], &other->entries[j]) < 0)
            i++;
        missing += !is_at(ledger, i, &other->entries[j]);
    }
    return missing;
}

/* From the last entry to the first, so that each moves once. */
bool ledger_merge(struct ledger *ledger, const struct ledger *other, ledger_visitor *news, void *context)
{
    size_t left = ledger->count, to = ledger->count + count_missing(ledger, other);
    bool grew = false;
    ledger->count = to;
    for (size_t from = other->count; from > 0; from--) {
        const struct ledger_entry *entry = &other->entries[from - 1];
        while (left > 0 && compare_entries(&ledger->entries[left - 1], entry) > 0)
            ledger->entries[--to] = ledger->entries[--left];
        bool known = left > 0 && compare_entries(&ledger->entries[left - 1], entry) == 0;
        bool larger = !known || ledger->entries[left - 1].amount < entry->amount;
        ledger->entries[--to] = larger ? *entry : ledger->entries[left - 1];
        left -= known;
        if (larger)
            news(context, entry);
        grew |= larger;
    }
    return grew;
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------
 */

void ledger_write_entry(struct bit_writer *writer, const struct ledger_entry *entry)
{
    write_varint(writer, entry->table);
    write_fixed64(writer, entry->from);
    write_fixed64(writer, entry->to);
    write_varint(writer, entry->amount);
}

void ledger_write(const struct ledger *ledger, struct bit_writer *writer)
{
    write_varint(writer, ledger->count);
    for (size_t i = 0; i < ledger->count; i++)
        ledger_write_entry(writer, &ledger->entries[i]);
}

/* Amounts are bounded so that a sum of fewer than 65,536 of them never overflows; longer ones are capped. */
bool ledger_read_entry(struct bit_reader *reader, struct ledger_entry *entry, uint32_t tables)
{
    uint64_t table = read_varint(reader);
    *entry = (struct ledger_entry){.table = (uint32_t)table};
    entry->from = read_fixed64(reader);
    entry->to = read_fixed64(reader);
    entry->amount = read_varint(reader);
    return !reader->failed && table < tables && entry->from && entry->to && entry->amount &&
           entry->amount < UINT64_C(1) << 48;
}

enum ledger_read ledger_read(struct ledger *ledger, struct bit_reader *reader, uint32_t tables,
                             const roost_allocator *allocator)
{
    *ledger = (struct ledger){0};
    uint64_t count = read_varint(reader);
    if (reader->failed || count > reader_bits_left(reader) / 8 / FEWEST_BYTES)
        return LEDGER_CORRUPT;
    if (!ledger_reserve(ledger, allocator, (size_t)count))
        return LEDGER_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        struct ledger_entry *entry = &ledger->entries[i];
        if (!ledger_read_entry(reader, entry, tables) || (i > 0 && compare_entries(entry - 1, entry) >= 0)) {
            ledger_release(ledger, allocator);
            return LEDGER_CORRUPT;
        }
        ledger->count++;
    }
    return LEDGER_READ;
}

bool ledger_check(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (!entry->from || !entry->to || !entry->amount || (i > 0 && compare_entries(entry - 1, entry) >= 0))
            return false;
    }
    return ledger->count <= ledger->room;
}
