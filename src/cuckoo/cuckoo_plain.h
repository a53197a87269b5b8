/*
 * One key in a *plain* table: classes and slots have one geometry, since it is outside a series and has not spread, and
 * its stash is empty. That is what calls with one key nearly always meet. The form is known to the compiler, so that
 * all that other tables need is left out, and hash, look-up and insertion become one function without calls. What
 * seldom happens, an entry that has to be displaced above all, is a jump at the end of it, so that no registers are
 * saved.
 */
#ifndef CUCKOO_CUCKOO_PLAIN_H
#define CUCKOO_CUCKOO_PLAIN_H

#include "cuckoo_slots.h"
#include "cuckoo_table.h"

/* Of a table that may spread; others have one form for ever. */
static ALWAYS_INLINE bool is_plain(const struct cuckoo_table *table, enum form form)
{
    return __builtin_expect(table->plain_form == (int)form, 1) && __builtin_expect(table->stash.count == 0, 1);
}

static ALWAYS_INLINE uint64_t key_in_plain(const struct cuckoo_table *table, enum form form, struct place place)
{
    return plain_class_key(place.bucket, place.fingerprint, table->geometry.buckets,
                           form == FOUR_BYTES ? 8 : table->geometry.bits);
}

#endif
