/*
 * A hash table with chains, which doubles as it fills and can be made smaller. A row without work takes 64 bytes for
 * each region and about 60 more with its key:
 *
 *     row | view of region 0 | view of region 1 | ... | key
 */
#include "rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_ROOM 64

void rows_begin(struct rows *rows, unsigned regions)
{
    *rows = (struct rows){.regions = regions};
    if (getrandom(&rows->seed, sizeof rows->seed, 0) != sizeof rows->seed)
        rows->seed = (uint64_t)(uintptr_t)rows;
}

void rows_release(struct rows *rows)
{
    for (size_t slot = 0; slot < rows->room; slot++)
        for (struct row *row = rows->slots[slot], *next; row; row = next) {
            next = row->next;
            free(row);
        }
    free(rows->slots);
    *rows = (struct rows){0};
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static uint64_t hash_key(const struct rows *rows, int database, roost_bytes key)
{
    uint64_t hash = rows->seed ^ (uint64_t)database * UINT64_C(0x9e3779b97f4a7c15);
    const uint8_t *bytes = key.data;
    for (size_t i = 0; i < key.size; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash ^ hash >> 29;
}

static struct row **find_slot(const struct rows *rows, int database, roost_bytes key)
{
    return &rows->slots[hash_key(rows, database, key) & (rows->room - 1)];
}

static roost_bytes key_of(const struct row *row)
{
    return (roost_bytes){row->key, row->key_size};
}

/* To a power of two; false without memory. */
static bool resize(struct rows *rows, size_t room)
{
    struct rows resized = *rows;
    resized.room = room;
    resized.slots = calloc(room, sizeof *resized.slots);
    if (!resized.slots)
        return false;
    for (size_t slot = 0; slot < rows->room; slot++)
        for (struct row *row = rows->slots[slot], *next; row; row = next) {
            next = row->next;
            struct row **to = find_slot(&resized, row->database, key_of(row));
            row->next = *to;
            *to = row;
        }
    free(rows->slots);
    *rows = resized;
    return true;
}

static bool grow(struct rows *rows)
{
    return resize(rows, rows->room ? 2 * rows->room : FIRST_ROOM);
}

void rows_shrink(struct rows *rows)
{
    size_t room = rows->room;
    while (room > FIRST_ROOM && rows->count < room / 4)
        room /= 2;
    if (room < rows->room)
        (void)resize(rows, room);
}

static struct row *row_new(const struct rows *rows, int database, roost_bytes key)
{
    size_t views = rows->regions * sizeof(struct view);
    struct row *row = calloc(1, sizeof *row + views + key.size + 1);
    if (!row)
        return NULL;
    row->database = database;
    row->key_size = (uint32_t)key.size;
    row->key = (char *)row + sizeof *row + views;
    if (key.size)
        memcpy(row->key, key.data, key.size);
    return row;
}

struct row *rows_get(struct rows *rows, int database, roost_bytes key)
{
    if (rows->count >= rows->room && !grow(rows) && !rows->room)
        return NULL;
    struct row **slot = find_slot(rows, database, key), *row = *slot;
    while (row && (row->database != database || row->key_size != key.size ||
                   (key.size && memcmp(row->key, key.data, key.size) != 0)))
        row = row->next;
    if (row || !(row = row_new(rows, database, key)))
        return row;
    row->next = *slot;
    *slot = row;
    rows->count++;
    return row;
}

void rows_remove(struct rows *rows, struct row *row)
{
    struct row **at = find_slot(rows, row->database, key_of(row));
    while (*at != row)
        at = &(*at)->next;
    *at = row->next;
    rows->count--;
    free(row);
}

void rows_each(struct rows *rows, void (*visit)(void *context, struct row *row), void *context)
{
    for (size_t slot = 0; slot < rows->room; slot++)
        for (struct row *row = rows->slots[slot], *next; row; row = next) {
            next = row->next;
            visit(context, row);
        }
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

bool same_digest(roost_digest a, roost_digest b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

bool same_cursor(roost_cursor a, roost_cursor b)
{
    return a.incarnation == b.incarnation && a.sequence == b.sequence;
}

struct view view_after(const struct view *before, const struct view *heard)
{
    struct view after = *heard;
    if (heard->value || heard->generation != before->generation || !(heard->withheld || before->withheld))
        return after;
    after.withheld = true;
    after.digest = before->digest; /* of the value that it held, or that was withheld before */
    return after;
}

bool views_agree(const struct view *a, const struct view *b)
{
    if (!a->known || !b->known || a->generation != b->generation)
        return false;
    if (a->value != b->value)
        return (a->withheld || b->withheld) && same_digest(a->digest, b->digest);
    return !a->value || same_digest(a->digest, b->digest);
}
