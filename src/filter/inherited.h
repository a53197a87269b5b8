/*
 * A fork copies a filter with its identity as a replica: its actor and its journal. Used by two processes, an actor
 * makes the same dots for different elements, which are lost when the two merge, and a cursor of one process reads the
 * wrong records in the other. So the identity belongs to the process in which it began, and a child takes one of its
 * own before it makes a dot, spends of a share or uses a cursor: as a clone does, without copying the filter.
 */
#ifndef FILTER_INHERITED_H
#define FILTER_INHERITED_H

#include "../base/process.h"
#include "kind.h"

/* Whether actor and journal, if there are any, belong to the process that this one was forked from. */
static ALWAYS_INLINE bool is_inherited(const roost_filter *filter)
{
    return __builtin_expect(filter->process != process_number, 0);
}

/* What leave_inherited seldom has to do (journal_policy.c). */
void forget_inherited(roost_filter *filter);

/* What begins from now on belongs to this process. */
static ALWAYS_INLINE void leave_inherited(roost_filter *filter)
{
    if (is_inherited(filter))
        forget_inherited(filter);
}

#endif
