/* Compares two files of lines that are both here. */
#ifndef CLI_LINES_LINE_COMPARISON_H
#define CLI_LINES_LINE_COMPARISON_H

#include "line_side.h"

/*
 * Finds the lines that only one of the two has, or has another number of, as a session of the two would: `a->session`
 * has no keys, and is used for its hash. Then line_side_next returns the differences of each. Complains if it fails.
 */
bool line_sides_compare(struct line_side *a, struct line_side *b, roost_reconcile_result *result);

#endif
