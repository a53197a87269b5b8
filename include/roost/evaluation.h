/*
 * For the evaluation of the papers alone: the queries and the baseline of "Idempotent Distributed Counters Using a
 * Forgetful Bloom Filter".
 *
 * This header is not installed, and the installed libraries do not have these functions, which err more often than
 * those of window.h. The evaluation and the tests link them beside the library (src/meson.build). They may change in
 * any version.
 */
#ifndef ROOST_EVALUATION_H
#define ROOST_EVALUATION_H

#include "window.h"

/* ---- the paper's queries --------------------------------------------------------------------------------------- */

/*
 * The ways to query a window of fixed size (`scalable` false). All return true for the elements of the window; the
 * paper's two, which work on filters that overlap, return true for more elements that were never added. A scalable
 * window has one way, and ignores this.
 */
typedef enum roost_overlap_query {
    ROOST_OVERLAP_SLOTS = 0, /* one slot has all bits of the element: roost_window_contains */
    ROOST_OVERLAP_PAIRS = 1, /* two neighbours among the paper's filters have, or the oldest one (Algorithm 2) */
    ROOST_OVERLAP_ANY = 2,   /* any one of the paper's filters has */
} roost_overlap_query;

/* Returns whether an element came within the window before this time, as the query `check` finds. */
bool roost_overlap_contains_hash(const roost_filter *window, roost_overlap_query check, roost_hash hash, uint64_t time);

/* Returns the error rate of the query `check` at this time, estimated from how much was added (the paper's Equation 3
   for pairs). */
double roost_overlap_estimate_fpr(const roost_filter *window, roost_overlap_query check, uint64_t time);

/* ---- the paper's baseline -------------------------------------------------------------------------------------- */

/* Recyclable Bloom filter (RBF): one array, which is cleared whole once its error rate passes the configured one. */
typedef struct roost_recyclable roost_recyclable;

/* Makes an empty filter of this many bits, with this many probes for each element, which is cleared once its error
   rate passes `fpr`. ROOST_INVALID, ROOST_NO_MEMORY, ROOST_TOO_LARGE; then *filter is NULL. */
ROOST_MUST_CHECK roost_status roost_recyclable_new(roost_recyclable **filter, uint64_t bits, uint32_t probes,
                                                   double fpr, const roost_environment *environment);

/* Frees the filter; NULL is fine. */
void roost_recyclable_free(roost_recyclable *filter);

/* Adds an element. *seen (may be NULL) tells whether it was there. Fails only for lack of memory. */
roost_status roost_recyclable_add_hash(roost_recyclable *filter, bool *seen, roost_hash hash);

/* Returns whether the element was (probably) added since the filter was last cleared. */
bool roost_recyclable_contains_hash(const roost_recyclable *filter, roost_hash hash);

/* Returns how often the filter was cleared. */
uint64_t roost_recyclable_get_cycles(const roost_recyclable *filter);

#endif
