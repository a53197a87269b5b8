/*
 * Filters with imported parts. A filter that has none has a NULL where they would be, and pays one comparison.
 *
 * Queries ask the filter first, then the parts. An addition to a filter without removal does nothing if a part has the
 * element: parts are never lost, so the element stays, and clients get the answer that they got before the import. In
 * a multiset every copy counts, so it is added. A removal takes the copy in the filter first, since its entries tell
 * elements apart much better than imported fingerprints do; only if there is none it takes one from a part.
 *
 * Journal. A part that arrives, and a slot that is removed, are records like others, with a table number of their own,
 * which the walks of the kinds leave out (journal.h). So cursors order all changes, and a delta has all of them.
 */
#include "importing.h"

#include <string.h>

#include "configuration.h"

bool can_import(const roost_filter *filter, const struct imported *imported)
{
    roost_kind code = filter->kind->code;
    if (filter->kind->removal.remove)
        return filter->config->multiset && !imported_has_bloom(imported);
    return (code == ROOST_BLOOM || code == ROOST_CUCKOO) && !imported_has_cuckoo(imported);
}

/* ---- journal ----------------------------------------------------------------------------------------------------- */

static void note_arrival(void *context, uint128 id)
{
    journal_note(((roost_filter *)context)->journal, IMPORTED_TABLE, PART_ARRIVED, (uint64_t)id);
}

static void note_removal(void *context, uint128 id, uint64_t slot)
{
    journal_note(((roost_filter *)context)->journal, IMPORTED_TABLE, slot, (uint64_t)id);
}

static struct imported_observer noting(roost_filter *filter)
{
    return (struct imported_observer){note_arrival, note_removal, filter};
}

roost_status write_imported_changes(const roost_filter *filter, struct bit_writer *writer, struct selection selection,
                                    bool *any)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    uint64_t record;
    size_t count = 0;
    *any = false;
    if (!filter->imported)
        return ROOST_OK;
    struct imported_change *changes =
        memory_allocate(allocator, (count_selected(filter->journal, selection) + 1) * sizeof *changes);
    if (!changes)
        return ROOST_NO_MEMORY;
    while (next_selected_record(filter->journal, &selection, &record))
        if (journal_table(filter->journal, record) == IMPORTED_TABLE) {
            const struct change *change = journal_change(filter->journal, record);
            changes[count++] = (struct imported_change){.part = change->tag, .slot = change->key};
        }
    *any = count > 0;
    roost_status status =
        count > 0 ? imported_write_changes(filter->imported, writer, changes, count, allocator) : ROOST_OK;
    memory_release(allocator, changes);
    return status;
}

/* ---- join -------------------------------------------------------------------------------------------------------- */

bool fits_with(const roost_filter *filter, const struct imported *other, uint64_t limit)
{
    uint64_t taken = filter->kind->report.memory(filter) + imported_memory(filter->imported);
    return taken <= limit && imported_memory(other) <= limit - taken;
}

roost_status prepare_import(roost_filter *filter, struct imported_join *join, const struct imported *other,
                            const struct memory_account *account_of_other)
{
    const struct memory_account account = account_of(filter);
    *join = (struct imported_join){.mine = filter->imported};
    if (other && !can_import(filter, other))
        return ROOST_CORRUPT;
    roost_status status =
        imported_prepare(join, filter->imported, other, &account, may_share(&account, account_of_other));
    if (status != ROOST_OK || !join->joined || fits_with(filter, other, filter->environment.common->memory_limit))
        return status;
    imported_abandon(join);
    return ROOST_TOO_LARGE;
}

bool commit_import(roost_filter *filter, struct imported_join *join)
{
    const struct imported_observer observer = noting(filter);
    if (!join->changed)
        return false;
    filter->imported = imported_commit(join, &observer);
    choose_key_calls(filter);
    return true;
}

roost_status copy_import(roost_filter *copy, const roost_filter *filter)
{
    const struct memory_account account = account_of(copy), original = account_of(filter);
    roost_status status =
        filter->imported ? imported_clone(filter->imported, &copy->imported, &account, may_share(&account, &original))
                         : ROOST_OK;
    choose_key_calls(copy);
    return status;
}

void free_import(roost_filter *filter)
{
    const struct memory_account account = account_of(filter);
    imported_free(filter->imported, &account);
    filter->imported = NULL;
    choose_key_calls(filter);
}

roost_status adopt_import(roost_filter *filter, struct imported *imported)
{
    const struct memory_account account = account_of(filter);
    if (!imported)
        return ROOST_OK;
    roost_status status = !can_import(filter, imported)                                            ? ROOST_CORRUPT
                          : !fits_with(filter, imported, filter->environment.common->memory_limit) ? ROOST_TOO_LARGE
                                                                                                   : ROOST_OK;
    if (status == ROOST_OK)
        filter->imported = imported;
    else
        imported_free(imported, &account);
    choose_key_calls(filter);
    return status;
}

roost_status roost_filter_import(roost_filter *filter, bool *changed, const roost_imported_part *parts, size_t count)
{
    const struct memory_account account = account_of(filter);
    struct imported *imported = NULL;
    struct imported_join join = {0};
    bool grew = false;
    roost_status status = count > 0 ? imported_new(&imported, &account, parts, count) : ROOST_OK;
    if (status == ROOST_OK && imported && !can_import(filter, imported))
        status = ROOST_UNSUPPORTED;
    if (status == ROOST_OK && imported && !filter->imported && !journal_is_on(filter->journal)) {
        status = adopt_import(filter, imported);
        grew = status == ROOST_OK;
        imported = NULL;
    }
    if (status == ROOST_OK)
        status = prepare_import(filter, &join, imported, &account);
    if (status == ROOST_OK)
        grew |= commit_import(filter, &join);
    imported_free(imported, &account);
    if (changed)
        *changed = grew;
    return status;
}

roost_status roost_filter_merge_imported(roost_filter *filter, bool *changed, const roost_filter *other)
{
    const struct memory_account account = account_of(other);
    struct imported_join join = {0};
    bool grew = false;
    roost_status status = same_configuration(filter, other) ? ROOST_OK : ROOST_MISMATCH;
    if (status == ROOST_OK && filter != other)
        status = prepare_import(filter, &join, other->imported, &account);
    if (status == ROOST_OK)
        grew = commit_import(filter, &join);
    if (changed)
        *changed = grew;
    return status;
}

void roost_filter_get_imported(const roost_filter *filter, roost_imported_info *info)
{
    imported_info(filter->imported, info);
    if (!filter->imported)
        *info = (roost_imported_info){0};
}

bool roost_filter_get_imported_part(const roost_filter *filter, roost_imported_part *part, size_t index)
{
    for (size_t i = 0; filter->imported && i < filter->imported->count; i++) {
        const struct imported_part *found = &filter->imported->parts[i];
        if (!found->array || index-- > 0)
            continue;
        *part = found->part;
        part->bytes = found->array->bytes;
        return true;
    }
    return false;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

bool contains_or_imported(const roost_filter *filter, const void *key, size_t size)
{
    return roost_filter_contains_hash(filter, roost_filter_hash(filter, key, size)) ||
           imported_contains(filter->imported, key, size);
}

roost_status add_unless_imported(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    if (changed)
        *changed = false;
    if (!filter->kind->removal.remove && imported_contains(filter->imported, key, size))
        return ROOST_OK;
    return roost_filter_add_hash(filter, changed, roost_filter_hash(filter, key, size));
}

/* Those of the parts first where all are removed: if there is no memory for that, nothing has changed. */
roost_status remove_with_imported(roost_filter *filter, bool *changed, const void *key, size_t size, bool all)
{
    const struct imported_observer observer = noting(filter);
    const struct memory_account account = account_of(filter);
    roost_hash hash = roost_filter_hash(filter, key, size);
    bool here = false, there = false;
    roost_status status = ROOST_OK;
    if (!all) {
        status = roost_filter_remove_one_hash(filter, &here, hash);
        if (status == ROOST_OK && !here)
            status = imported_remove(filter->imported, &there, key, size, false, &account, &observer);
    } else {
        status = imported_remove(filter->imported, &there, key, size, true, &account, &observer);
        if (status == ROOST_OK)
            status = roost_filter_remove_hash(filter, &here, hash);
    }
    if (changed)
        *changed = here || there;
    return status;
}
