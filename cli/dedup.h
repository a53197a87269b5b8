/* roost window dedup: lines that were not seen within the window. */
#ifndef CLI_DEDUP_H
#define CLI_DEDUP_H

#include "cli/file/timed_file.h"

struct dedup_settings {
    const struct timed_settings *timed;
    bool stamped;  /* each line begins with its time and a blank */
    uint64_t step; /* between two lines, by a clock of its own; 0: the real one */
    bool json;     /* counts, on standard error */
};

bool dedup(const struct dedup_settings *settings);

#endif
