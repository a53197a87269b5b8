/* In what two filters differ that do not merge. */
#ifndef CLI_FILE_DIFFERENCE_H
#define CLI_FILE_DIFFERENCE_H

#include "roost.h"

/* Says why the filter of one name does not merge into that of another, and answers false. */
bool complain_of_mismatch(const char *name, const roost_filter *theirs, const char *into, const roost_filter *ours);

#endif
