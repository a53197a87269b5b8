#include "tally.h"

#include <string.h>

#include "../base/hash.h"

#define FEWEST_BYTES 10 /* of an entry */

void tally_release(struct tally *tally, const roost_allocator *allocator)
{
    memory_release(allocator, tally->entries);
    *tally = (struct tally){0};
}

bool tally_reserve(struct tally *tally, const roost_allocator *allocator, size_t entries)
{
    if (tally->room - tally->count >= entries)
        return true;
    size_t room = tally->room * 2 > tally->count + entries ? tally->room * 2 : tally->count + entries;
    struct tally_entry *larger = memory_allocate(allocator, room * sizeof *larger);
    if (!larger)
        return false;
    if (tally->count)
        memcpy(larger, tally->entries, tally->count * sizeof *larger);
    memory_release(allocator, tally->entries);
    tally->entries = larger;
    tally->room = room;
    return true;
}

bool tally_copy(struct tally *copy, const struct tally *tally, const roost_allocator *allocator)
{
    *copy = (struct tally){0};
    if (!tally_reserve(copy, allocator, tally->count))
        return false;
    if (tally->count)
        memcpy(copy->entries, tally->entries, tally->count * sizeof *copy->entries);
    copy->count = tally->count;
    return true;
}

/* Where the actor is, or would be. */
/*@ requires \valid_read(tally) && tally->count <= SIZE_MAX / 24;
    requires \valid_read(tally->entries + (0 .. tally->count - 1));
    requires \forall integer a, b; 0 <= a < b < tally->count ==> tally->entries[a].actor < tally->entries[b].actor;
    assigns \nothing; ensures \result <= tally->count;
    ensures \forall integer i; 0 <= i < \result ==> tally->entries[i].actor < actor;
    ensures \forall integer i; \result <= i < tally->count ==> tally->entries[i].actor >= actor; */
static size_t place_of(const struct tally *tally, uint64_t actor)
{
    size_t low = 0, high = tally->count;
    /*@ loop invariant low <= high <= tally->count;
        loop invariant \forall integer i; 0 <= i < low ==> tally->entries[i].actor < actor;
        loop invariant \forall integer i; high <= i < tally->count ==> tally->entries[i].actor >= actor;
        loop assigns low, high; */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tally->entries[middle].actor < actor)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*@ requires \valid_read(tally) && tally->count <= SIZE_MAX / 24;
    requires \valid_read(tally->entries + (0 .. tally->count - 1));
    requires \forall integer a, b; 0 <= a < b < tally->count ==> tally->entries[a].actor < tally->entries[b].actor;
    assigns \nothing; ensures \result <= tally->count;
    ensures \result < tally->count ==> tally->entries[\result].actor == actor;
    ensures \result == tally->count ==>
            \forall integer i; 0 <= i < tally->count ==> tally->entries[i].actor != actor; */
size_t tally_find(const struct tally *tally, uint64_t actor)
{
    size_t place = place_of(tally, actor);
    return place < tally->count && tally->entries[place].actor == actor ? place : tally->count;
}

/*@ requires \valid(number); assigns *number;
    ensures *number == \max(\old(*number), other) && (\result <==> other > \old(*number)); */
static bool raise_to(uint64_t *number, uint64_t other)
{
    bool unseen = other > *number;
    if (unseen)
        *number = other;
    return unseen;
}

bool tally_take(struct tally *tally, const struct tally_entry *entry)
{
    size_t place = place_of(tally, entry->actor);
    if (place == tally->count || tally->entries[place].actor != entry->actor) {
        memmove(tally->entries + place + 1, tally->entries + place, (tally->count - place) * sizeof *tally->entries);
        tally->entries[place] = *entry;
        tally->count++;
        return true;
    }
    bool added = raise_to(&tally->entries[place].added, entry->added);
    return raise_to(&tally->entries[place].taken, entry->taken) || added;
}

bool tally_lacks(const struct tally *tally, const struct tally *other)
{
    for (size_t i = 0; i < other->count; i++) {
        const struct tally_entry *theirs = &other->entries[i];
        size_t place = tally_find(tally, theirs->actor);
        if (place == tally->count || tally->entries[place].added < theirs->added ||
            tally->entries[place].taken < theirs->taken)
            return true;
    }
    return false;
}

__int128 tally_value(const struct tally *tally)
{
    __int128 value = 0;
    for (size_t i = 0; i < tally->count; i++)
        value += (__int128)tally->entries[i].added - tally->entries[i].taken;
    return value;
}

uint128 tally_digest(const struct tally *tally, uint64_t seed)
{
    uint128 sum = 0;
    for (size_t i = 0; i < tally->count; i++) {
        uint8_t bytes[24];
        store_word(bytes, tally->entries[i].actor);
        store_word(bytes + 8, tally->entries[i].added);
        store_word(bytes + 16, tally->entries[i].taken);
        sum += hash_to_number(hash_bytes(~seed, bytes, sizeof bytes));
    }
    return sum;
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

void tally_write_entry(struct bit_writer *writer, const struct tally_entry *entry)
{
    write_fixed64(writer, entry->actor);
    write_varint(writer, entry->added);
    write_varint(writer, entry->taken);
}

void tally_write(const struct tally *tally, struct bit_writer *writer)
{
    write_varint(writer, tally->count);
    for (size_t i = 0; i < tally->count; i++)
        tally_write_entry(writer, &tally->entries[i]);
}

/*@ requires sound_reader(reader) && \valid(entry) && \separated(reader, entry);
    requires \separated(entry, reader->bytes + (0 .. reader->size - 1));
    assigns *entry, reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures \result ==> !reader->failed && entry->actor > before;
    ensures \result ==> entry->added <= MOST_TALLY && entry->taken <= MOST_TALLY; */
static bool read_entry(struct bit_reader *reader, struct tally_entry *entry, uint64_t before)
{
    entry->actor = read_fixed64(reader);
    entry->added = read_varint(reader);
    entry->taken = read_varint(reader);
    return !reader->failed && entry->actor > before && entry->added <= MOST_TALLY && entry->taken <= MOST_TALLY &&
           (entry->added | entry->taken) != 0;
}

enum tally_read tally_read(struct tally *tally, struct bit_reader *reader, const roost_allocator *allocator)
{
    uint64_t count = read_varint(reader), before = 0;
    *tally = (struct tally){0};
    if (reader->failed || count > reader_bits_left(reader) / 8 / FEWEST_BYTES)
        return TALLY_CORRUPT;
    if (!tally_reserve(tally, allocator, (size_t)count))
        return TALLY_NO_MEMORY;
    for (; tally->count < count; tally->count++) {
        if (!read_entry(reader, &tally->entries[tally->count], before)) {
            tally_release(tally, allocator);
            return TALLY_CORRUPT;
        }
        before = tally->entries[tally->count].actor;
    }
    return TALLY_READ;
}

bool tally_check(const struct tally *tally)
{
    for (size_t i = 0; i < tally->count; i++) {
        const struct tally_entry *entry = &tally->entries[i];
        if (entry->actor == 0 || (i > 0 && entry->actor <= entry[-1].actor) || entry->added > MOST_TALLY ||
            entry->taken > MOST_TALLY || (entry->added | entry->taken) == 0)
            return false;
    }
    return tally->count <= tally->room;
}
