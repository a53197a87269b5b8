#include "journal.h"

#include <string.h>

bool journal_begin(struct journal *journal, const roost_allocator *allocator, uint64_t room, uint64_t incarnation,
                   journal_extension *extend)
{
    struct change *changes = memory_allocate(allocator, room * sizeof *changes);
    uint8_t *tables = memory_allocate(allocator, room);
    if (!changes || !tables) {
        memory_release(allocator, changes);
        memory_release(allocator, tables);
        return false;
    }
    *journal = (struct journal){.changes = changes,
                                .tables = tables,
                                .room = room,
                                .oldest = 1,
                                .next = 1,
                                .incarnation = incarnation,
                                .extend = extend};
    return true;
}

/* In runs that end where either ring does: a server copies hundreds of thousands of records at once. */
static void copy_records(struct journal *to, const struct journal *from, uint64_t since, uint64_t end)
{
    while (since < end) {
        const uint64_t target = since % to->room, source = since % from->room;
        uint64_t run = end - since;
        run = run < to->room - target ? run : to->room - target;
        run = run < from->room - source ? run : from->room - source;
        memcpy(&to->changes[target], &from->changes[source], run * sizeof *to->changes);
        memcpy(&to->tables[target], &from->tables[source], run);
        since += run;
    }
}

bool journal_lengthen(struct journal *journal, const roost_allocator *allocator, uint64_t room)
{
    struct journal longer;
    if (!journal_begin(&longer, allocator, room, journal->incarnation, journal->extend))
        return false;
    copy_records(&longer, journal, journal->oldest, journal->next);
    longer.behind = journal->behind;
    longer.owner = journal->owner;
    longer.oldest = journal->oldest;
    longer.next = journal->next;
    journal_release(journal, allocator);
    *journal = longer;
    return true;
}

bool journal_take_records(struct journal *journal, const roost_allocator *allocator, const struct journal *other,
                          uint64_t since)
{
    if (journal->room < other->next - since && !journal_lengthen(journal, allocator, other->next - since))
        return false;
    copy_records(journal, other, since, other->next);
    journal->incarnation = other->incarnation;
    journal->oldest = since;
    journal->next = other->next;
    return true;
}

bool journal_outgrow(struct journal *journal)
{
    if (journal->extend(journal))
        return true;
    journal->content = journal->next + journal->room;
    return false;
}

void journal_release(struct journal *journal, const roost_allocator *allocator)
{
    memory_release(allocator, journal->changes);
    memory_release(allocator, journal->tables);
    *journal = (struct journal){0};
}

void journal_move(struct journal *journal, const struct memory_mover *mover)
{
    journal->changes = memory_moved(mover, journal->changes);
    journal->tables = memory_moved(mover, journal->tables);
}
