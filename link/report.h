/* What a link reports: errors on standard error, or events as JSON on standard output; a status line on a terminal. */
#ifndef LINK_REPORT_H
#define LINK_REPORT_H

#include "engine_state.h"

struct difference;

void report_start(struct engine *engine);
void report_stop(struct engine *engine);

/* A region is up, or down. */
void report_region(struct region *region, bool up);
/* An error of a whole region; NULL: it has recovered. */
void report_error(struct region *region, const char *text);
/* An error of the server `who` of the region; the same text at most once a minute. */
void report_error_at(struct region *region, const char *who, const char *text);

/* A key was merged, seeded, deleted or synced at a region, with so many bytes. */
void report_work(struct region *region, const struct row *row, const char *event, uint64_t bytes);
/* Whether this is another refusal than the last one that was reported of the key and the region. */
bool report_is_new(struct region *region, struct work *work, const char *text);
/* A region refuses a key. Of many keys only some are listed, and the rest is counted. */
void report_conflict(struct region *region, const struct row *row, const char *text);
/* Two regions refuse each other's values of a key, since an option differs; NULL: it is not known which. */
void report_mismatch(struct region *region, struct region *other, const struct row *row,
                     const struct difference *difference);
/* The clock of a region is ahead of the others by so many milliseconds, or behind (less than 0); the key is one that
   was refused for it. */
void report_clock(struct region *region, int database, roost_bytes key, int64_t ahead);
/* A value of a region is refused by another one as ahead of its clock; which clock is wrong is not known. */
void report_ahead(struct region *region, struct region *refusing, int database, roost_bytes key);
/* Reports how many more keys were refused, once a minute or at the end. */
void report_refusals(struct engine *engine, bool end);
/* A filter was created for fewer writers than there are regions. */
void report_writers(struct region *region, const struct row *row, int64_t writers);
/* There are keys outside of database 0, and one of the regions is a cluster. */
void report_databases(struct engine *engine);
/* All regions are equal, or no longer are. */
void report_in_step(struct engine *engine, bool in_step);
/* At the end of --once: keys that kept changing. */
void report_left(struct engine *engine, size_t keys);

/* At the end of --once: keys that are withheld from a region. */
void report_withheld(struct region *region, uint64_t keys);

/* At the end of --once: one line on standard output about all that was done. */
void report_once(struct engine *engine, bool equal);

/* ---- status ---- */

struct status {
    uint64_t keys, behind, conflicts; /* keys with a value; with work left; refused by some region */
    uint64_t lag;                     /* milliseconds: the largest of all peers */
    uint64_t withheld;                /* of all peers */
    struct peer_status {
        uint64_t lag;      /* age of the oldest change that may not have arrived there, or may not be known of it */
        uint64_t behind;   /* keys of which it lacks changes */
        uint64_t withheld; /* keys that it evicted or has no room for */
    } peers[MOST_REGIONS];
};
void report_status(struct engine *engine, struct status *status);

/* Prints the status line if standard error is a terminal. */
void report_status_line(struct engine *engine);

#endif
