/* roost window dedup: prints lines that did not occur within the window before. */
#ifndef CLI_WINDOW_DEDUP_H
#define CLI_WINDOW_DEDUP_H

#include "cli/file/timed_file.h"

struct dedup_settings {
    const struct timed_settings *timed;
    bool stamped;     /* each line begins with its time and a space */
    uint64_t step;    /* time from one line to the next; 0: the system clock */
    char terminator;  /* of lines, read and printed */
    bool json;        /* counts, on standard error */
    uint64_t threads; /* of work_on_blocks */
};

bool dedup(const struct dedup_settings *settings);

#endif
