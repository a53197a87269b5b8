/*
 * What a link knows of each name: a row for each (database, name), in it a view of each region as it was last heard.
 *
 * A row is at rest while all regions are known to hold the same; then nothing but the views is kept. Any other row has
 * work (work.h) and a place in the schedule (schedule.h).
 */
#ifndef LINK_ROWS_H
#define LINK_ROWS_H

#include "roost.h"
#include "settings.h"

#define NEVER UINT64_MAX

/* A set of regions, a bit each. */
typedef uint32_t region_set;

static inline region_set one_region(unsigned region)
{
    return (region_set)1 << region;
}

/*
 * What a region holds of a key. Digest and cursor are of one moment; both are zero where there is no value.
 *
 * A value is *withheld* from a region that evicted it, or has no room for it: it is not brought there (again) until it
 * changes elsewhere or there is room. The digest is that of the value which is withheld, or zero if it is not known
 * yet.
 */
struct view {
    uint64_t generation;
    roost_digest digest;
    roost_cursor cursor;
    uint32_t listing; /* the one in which it was last told */
    uint32_t time;    /* when the deletion was written down there, by its clock */
    bool known, value, withheld;
};

struct work;

struct row {
    struct row *next; /* of the same slot of the table */
    struct work *work;
    uint32_t key_size;
    int database;
    bool asked_writers, refilled; /* refilled: what was withheld has been brought back, since somebody asked for it */
    char *key;                    /* behind the views */
    struct view views[];
};

struct rows {
    struct row **slots;
    size_t room, count;
    unsigned regions;
    uint64_t seed;
};

void rows_begin(struct rows *rows, unsigned regions);
void rows_release(struct rows *rows); /* and all rows; none may have work */

/* The row of a name, a fresh one where there was none; NULL without memory. */
struct row *rows_get(struct rows *rows, int database, roost_bytes key);
void rows_remove(struct rows *rows, struct row *row);

/* Calls with each row; it may remove that one. */
void rows_each(struct rows *rows, void (*visit)(void *context, struct row *row), void *context);

/* ---- views ---- */

bool same_digest(roost_digest a, roost_digest b);
bool same_cursor(roost_cursor a, roost_cursor b);

/* What is known after this was heard. A value that is gone and was evicted, or was withheld before, is withheld. */
struct view view_after(const struct view *before, const struct view *heard);

/* Both known, and of the same generation with the same value, or with none; or one has the value that is withheld from
   the other. */
bool views_agree(const struct view *a, const struct view *b);

#endif
