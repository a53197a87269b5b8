/* Opens filters of every kind. `kinds.c` has the table of them. */
#ifndef FRAME_KINDS_H
#define FRAME_KINDS_H

#include "../filter/configuration.h"

/* An empty filter with the configuration that the reader is at; ROOST_CORRUPT if no filter has it. */
roost_status open_configured(roost_filter **filter, struct bit_reader *reader, const roost_environment *environment);

#endif
