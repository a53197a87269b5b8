/* When the journal of a filter begins. `journal_policy.c` has the limits of its length. */
#ifndef FILTER_JOURNAL_POLICY_H
#define FILTER_JOURNAL_POLICY_H

#include "kind.h"

/* Begins the journal of a filter that is no table of a series, unless it has begun. */
roost_status begin_journal(roost_filter *filter);

#endif
