/* What a link tells: troubles on standard error, or events as JSON on standard output; a line on a terminal; figures.
 */
#ifndef LINK_REPORT_H
#define LINK_REPORT_H

#include "engine_state.h"

void report_start(struct engine *engine);
void report_stop(struct engine *engine);

/* A region can be asked, or cannot any more. */
void report_region(struct region *region, bool up);
/* Of a whole region; NULL: it is over. */
void report_error(struct region *region, const char *text);
/* The same where `who` is a server of the region, at most once a minute for one text. */
void report_error_at(struct region *region, const char *who, const char *text);

/* A name was merged, seeded, deleted at a region; bytes that this took. */
void report_work(struct region *region, const struct row *row, const char *event, uint64_t bytes);
/* A region refuses a key; told once for each text. Lines are few: of many keys the rest is counted. */
void report_conflict(struct region *region, struct work *work, const char *text);
/* The clock of a region is ahead of that of others by so many milliseconds, or behind; the name is one that is refused
   for it. */
void report_clock(struct region *region, int database, roost_bytes key, int64_t ahead);
/* What a region holds is ahead of the clock of another one, and is not taken there; why is not known. */
void report_ahead(struct region *region, struct region *refusing, int database, roost_bytes key);
/* The count of those, when it is time; or at the end. */
void report_refusals(struct engine *engine, bool end);
/* A filter whose promised rate is for fewer writers than there are regions. */
void report_writers(struct region *region, const struct row *row, int64_t writers);
/* Names of numbered databases, where one of the regions is a cluster. */
void report_databases(struct engine *engine);
/* Nothing is behind, or something is again. */
void report_in_step(struct engine *engine, bool in_step);
/* Names that kept changing, or could not be worked on, when a single run ended. */
void report_left(struct engine *engine, size_t keys);

/* Keys that are withheld from a region, when a single run ended. */
void report_withheld(struct region *region, uint64_t keys);

/* ---- figures ---- */

struct status {
    uint64_t keys, behind, conflicts; /* keys with a value; with something left to do; refused somewhere */
    uint64_t lag;                     /* milliseconds: the most of all peers */
    uint64_t withheld;                /* of all peers */
    struct peer_status {
        uint64_t lag;      /* since the oldest change that may not have arrived there, or may not have been heard of */
        uint64_t behind;   /* keys of which it lacks something */
        uint64_t withheld; /* keys that it evicted or has no room for */
    } peers[MOST_REGIONS];
};
void report_status(struct engine *engine, struct status *status);

/* The line on the terminal, if there is one. */
void report_status_line(struct engine *engine);

#endif
