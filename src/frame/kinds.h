/* Opens filters of every kind. `kinds.c` has the table of them. */
#ifndef FRAME_KINDS_H
#define FRAME_KINDS_H

#include "../filter/configuration.h"

/* An empty filter with the configuration that the reader is at; ROOST_CORRUPT if no filter has it. */
roost_status open_configured(roost_filter **filter, struct bit_reader *reader, const roost_environment *environment);

/* Whether the reader is at a configuration that a filter may have, and this one has not. Needs no memory; sizes of the
   kind, which follow, are not compared. */
bool is_other_configuration(const roost_filter *filter, struct bit_reader reader);

#endif
