/*
 * One key in a *plain* table: classes and slots have one geometry, since it is outside a series and has not spread, and
 * its stash is empty. That is what calls with one key nearly always meet. The form is known to the compiler, so that all
 * that other tables need is left out, and hash, look-up and insertion become one function without calls.
 */
#ifndef FILTER_CUCKOO_PLAIN_H
#define FILTER_CUCKOO_PLAIN_H

#include "cuckoo_slots.h"
#include "cuckoo_table.h"

static ALWAYS_INLINE bool is_plain(const struct cuckoo_table *table, enum form form)
{
    return __builtin_expect(table->plain_form == (int)form, 1) && __builtin_expect(table->stash.count == 0, 1);
}

/* As cuckoo_table_insert_class: puts a word, whose fingerprint is that of the place, unless its class is there. */
static ALWAYS_INLINE enum put_result put_plain(struct cuckoo_table *table, enum form form, struct place place,
                                               uint64_t word, struct random_source *random)
{
    if (find_in_pair(table, form, place))
        return PUT_PRESENT;
    if (__builtin_expect(take_free_slot(table, form, place, word), 1))
        return PUT_NEW;
    return cuckoo_table_displace(table, place, word, random);
}

#endif
