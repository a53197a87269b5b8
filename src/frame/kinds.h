/* Opens filters of every kind. `kinds.c` has the table of them. */
#ifndef FRAME_KINDS_H
#define FRAME_KINDS_H

#include "../filter/configuration.h"

/* An empty filter with the configuration that the reader is at; ROOST_CORRUPT if no filter has it. */
roost_status open_configured(roost_filter **filter, struct bit_reader *reader, const roost_environment *environment);

/* Whether the reader is at options that a filter may have. The sizes of the kind, which follow, are not read. */
bool has_configuration(struct bit_reader reader);

#endif
