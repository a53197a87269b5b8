/* The imported parts of a filter (../imported): how they take part in its merges, deltas and journal. */
#ifndef FILTER_IMPORTING_H
#define FILTER_IMPORTING_H

#include "kind.h"
#include "../imported/imported.h"

/* Whether the kind can have these parts: Bloom parts where nothing is removed, cuckoo parts where copies are
   counted. */
bool can_import(const roost_filter *filter, const struct imported *imported);

/* The join of the filter's parts with `other`, in two phases (../imported/imported.h). ROOST_CORRUPT where the kind
   cannot have them, ROOST_TOO_LARGE where the filter would take more than its memory limit. */
roost_status prepare_import(roost_filter *filter, struct imported_join *join, const struct imported *other,
                            const struct memory_account *account_of_other);
/* Whether the filter takes at most `limit` bytes with these parts, which it does not have. */
bool fits_with(const roost_filter *filter, const struct imported *other, uint64_t limit);
/* Whether there was anything new. */
bool commit_import(roost_filter *filter, struct imported_join *join);

/* The parts of a filter for its copy, which has none. */
roost_status copy_import(roost_filter *copy, const roost_filter *filter);
void free_import(roost_filter *filter);

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
