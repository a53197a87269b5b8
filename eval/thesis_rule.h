/* What the thesis's own rule for series comes to, by arithmetic: its text shows Figure 6.1d,e,f without numbers. */
#ifndef EVAL_THESIS_RULE_H
#define EVAL_THESIS_RULE_H

#include "replica_pair.h"

/* The expected rate after the last merge of a schedule, for so many distinct keys. */
double thesis_rule_fpr(roost_kind kind, size_t keys, struct schedule schedule);

#endif
