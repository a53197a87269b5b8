/* Compares two files of lines that are both here and sorted. */
#ifndef CLI_LINES_SORTED_COMPARISON_H
#define CLI_LINES_SORTED_COMPARISON_H

#include "line_side.h"

/*
 * As line_sides_compare, for files whose lines ascend by their bytes, as `LC_ALL=C sort` leaves them. *sorted tells
 * whether they do; if not, nothing was found. Complains if it fails.
 */
bool sorted_sides_compare(struct line_side *a, struct line_side *b, bool multiset, roost_reconcile_result *result,
                          bool *sorted);

#endif
