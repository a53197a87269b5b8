/* The entries of the registry by database and key. `entry_index.c` has the table. */
#ifndef MODULE_REGISTRY_ENTRY_INDEX_H
#define MODULE_REGISTRY_ENTRY_INDEX_H

#include "registry_entry.h"

/* NULL: there is none. */
struct registry_entry *entry_index_find(int database, const void *key, size_t size);
/* There is none of this key yet. */
void entry_index_add(struct registry_entry *entry);
void entry_index_remove(struct registry_entry *entry);
/* Forgets all entries, which are the caller's. */
void entry_index_clear(void);

#endif
