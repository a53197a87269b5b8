/*
 * What a link knows of each key: a row for each (database, key), which holds a view of each region: the last state that
 * the region reported.
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
 * The state of a key in a region, as last reported. Digest and cursor are of the same moment; both are zero without a
 * value.
 *
 * A value is *withheld* from a region that evicted it or has no room for it: it is not sent there until it changes
 * elsewhere or there is room. The digest is then that of the withheld value, or zero if that is not known yet.
 */
struct view {
    uint64_t generation;
    roost_digest digest;
    roost_cursor cursor;
    uint32_t listing; /* the last one that mentioned it */
    uint32_t time;    /* of the tombstone, by the region's clock */
    bool known, value, withheld;
};

struct work;

struct row {
    struct row *next; /* in the same slot of the table */
    struct work *work;
    uint32_t key_size;
    int database;
    bool asked_writers, refilled; /* refilled: a withheld value was sent once because of --refill */
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

/* The row of a key, created if there is none; NULL without memory. */
struct row *rows_get(struct rows *rows, int database, roost_bytes key);
void rows_remove(struct rows *rows, struct row *row);
/* Frees room that is no longer needed. Not from a visitor. */
void rows_shrink(struct rows *rows);

/* Visits each row; the visitor may remove it. */
void rows_each(struct rows *rows, void (*visit)(void *context, struct row *row), void *context);

/* ---- views ---- */

bool same_digest(roost_digest a, roost_digest b);
bool same_cursor(roost_cursor a, roost_cursor b);

/* The view after a report. A value that is gone stays withheld if it was evicted, or was withheld before. */
struct view view_after(const struct view *before, const struct view *heard);

/* Whether both are known and have the same generation and the same value, or both none; or one has the value that is
   withheld from the other. */
bool views_agree(const struct view *a, const struct view *b);

#endif
