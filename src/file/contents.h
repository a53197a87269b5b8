/* The bytes of a filter file: a frame, and possibly a replica section behind it. */
#ifndef FILE_CONTENTS_H
#define FILE_CONTENTS_H

#include "atomic_file.h"

/* All zero is empty. */
struct contents {
    uint8_t *data;
    size_t size, room;
};

/* What reading takes from its file object. */
struct contents_reading {
    const roost_environment *environment; /* complete */
    const struct interrupt *interrupt;
    struct failure *failure;
};

/*
 * Reads an open file to its end, and its filter, as a new replica; *filter is NULL after a failure. If the first bytes
 * show that it is not a filter, reads no further: ROOST_NOT_FRAME and so on. ROOST_CORRUPT also if there are bytes
 * behind the frame that are not a replica section. ROOST_TOO_LARGE: beyond the memory limit. Of a long frame the
 * contents have only the size and the last bytes, its checksum. Release them in any case.
 */
roost_status contents_load(struct contents *contents, roost_filter **filter, int descriptor,
                           const struct contents_reading *reading);
void contents_release(struct contents *contents, const roost_allocator *allocator);

/* The frame at the front, whose header has its size; all bytes if it does not. */
roost_bytes contents_frame(const struct contents *contents);
/* What stands behind it. */
roost_bytes contents_section(const struct contents *contents);

#endif
