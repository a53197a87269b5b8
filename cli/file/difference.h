/* Why two filters do not merge. */
#ifndef CLI_FILE_DIFFERENCE_H
#define CLI_FILE_DIFFERENCE_H

#include "roost.h"

/* Says why the filter `theirs`, called `name`, does not merge into `ours`, called `into`. Returns false. */
bool complain_of_mismatch(const char *name, const roost_filter *theirs, const char *into, const roost_filter *ours);

/* The same where only the configuration of `theirs` is known. */
bool complain_of_other_config(const char *name, const roost_config *theirs, const char *into, const roost_config *ours);

#endif
