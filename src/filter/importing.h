/* The imported parts of a filter (../imported): how they take part in its merges, deltas and journal. */
#ifndef FILTER_IMPORTING_H
#define FILTER_IMPORTING_H

#include "kind.h"
#include "../imported/imported.h"

/* Whether the kind can have these parts: Bloom parts where nothing is removed, cuckoo parts where copies are counted. */
bool can_import(const roost_filter *filter, const struct imported *imported);

/* The join of the filter's parts with `other`, in two phases (../imported/imported.h). ROOST_CORRUPT where the kind
   cannot have them, ROOST_TOO_LARGE where the filter would take more than its memory limit. */
roost_status prepare_import(roost_filter *filter, struct imported_join *join, const struct imported *other);
/* The same for one that is used up, and has the allocator of the filter. */
roost_status prepare_spent_import(roost_filter *filter, struct imported_join *join, struct imported *other);
/* Whether there was anything new. */
bool commit_import(roost_filter *filter, struct imported_join *join);
void abandon_import(const roost_filter *filter, struct imported_join *join);

/* Makes the parts those of a filter that was just made, and has none; they are freed where that fails. */
roost_status adopt_import(roost_filter *filter, struct imported *imported);

/* What the selected records of the journal say about imported parts. `*any`: whether anything was written. */
roost_status write_imported_changes(const roost_filter *filter, struct bit_writer *writer, struct selection selection,
                                    bool *any);

/* The calls of filter.h, for a filter that has imported parts. */
bool contains_or_imported(const roost_filter *filter, const void *key, size_t size);
roost_status add_unless_imported(roost_filter *filter, bool *changed, const void *key, size_t size);
roost_status remove_with_imported(roost_filter *filter, bool *changed, const void *key, size_t size, bool all);

#endif
