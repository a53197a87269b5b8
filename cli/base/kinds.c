/* Options, reports and messages use the same names of kinds, layouts, schedules and semantics. */
#include "kinds.h"

const char *const kind_names[] = {"bloom", "cuckoo", "orcuckoo", NULL};
const char *const layout_names[] = {"blocked", "classic", NULL};
const char *const schedule_names[] = {"quadratic", "halving", "gentle", NULL};
const char *const semantics_names[] = {"add-wins", "remove-wins", "last-writer-wins", NULL};

_Static_assert(ROOST_BLOOM == 1 && ROOST_CUCKOO == 2 && ROOST_ORCUCKOO == 3, "kind_names follows these numbers");
_Static_assert(ROOST_BLOCKED == 1 && ROOST_CLASSIC == 2, "layout_names follows these numbers");
_Static_assert(ROOST_QUADRATIC == 1 && ROOST_HALVING == 2 && ROOST_GENTLE == 3, "schedule_names follows these numbers");
_Static_assert(ROOST_ADD_WINS == 0 && ROOST_REMOVE_WINS == 1 && ROOST_LAST_WRITER_WINS == 2,
               "semantics_names follows these numbers");

const char *kind_name(roost_kind kind)
{
    if (kind == ROOST_WINDOW || kind == ROOST_COUNTER)
        return kind == ROOST_WINDOW ? "window" : "counter";
    return kind >= ROOST_BLOOM && kind <= ROOST_ORCUCKOO ? kind_names[kind - 1] : "unknown";
}

const char *layout_name(roost_layout layout)
{
    return layout == ROOST_BLOCKED || layout == ROOST_CLASSIC ? layout_names[layout - 1] : "none";
}

const char *schedule_name(roost_schedule schedule)
{
    return schedule >= ROOST_QUADRATIC && schedule <= ROOST_GENTLE ? schedule_names[schedule - 1] : "none";
}

const char *semantics_name(roost_semantics semantics)
{
    return semantics <= ROOST_LAST_WRITER_WINS ? semantics_names[semantics] : "unknown";
}
