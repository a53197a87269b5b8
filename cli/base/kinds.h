/* The names of kinds, layouts, schedules and semantics on the command line, in the order of their numbers in the
   library. */
#ifndef CLI_BASE_KINDS_H
#define CLI_BASE_KINDS_H

#include "roost.h"

/* For options of type OPTION_CHOICE, which count from 1 as the library does. */
extern const char *const kind_names[], *const layout_names[], *const schedule_names[];
/* The same, one more than the library's number. */
extern const char *const semantics_names[];

const char *kind_name(roost_kind kind);
const char *layout_name(roost_layout layout);
const char *schedule_name(roost_schedule schedule);
const char *semantics_name(roost_semantics semantics);

#endif
