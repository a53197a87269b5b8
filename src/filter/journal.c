#include "journal.h"

bool journal_begin(struct journal *journal, uint64_t room, uint64_t incarnation, const roost_allocator *allocator)
{
    struct change *changes = memory_allocate(allocator, room * sizeof *changes);
    uint8_t *tables = memory_allocate(allocator, room);
    if (!changes || !tables) {
        memory_release(allocator, changes);
        memory_release(allocator, tables);
        return false;
    }
    *journal = (struct journal){changes, tables, room, 1, 1, incarnation};
    return true;
}

bool journal_lengthen(struct journal *journal, uint64_t room, const roost_allocator *allocator)
{
    struct journal longer;
    if (!journal_begin(&longer, room, journal->incarnation, allocator))
        return false;
    for (uint64_t record = journal->oldest; record < journal->next; record++) {
        longer.changes[record % room] = journal->changes[record % journal->room];
        longer.tables[record % room] = journal->tables[record % journal->room];
    }
    longer.oldest = journal->oldest;
    longer.next = journal->next;
    journal_release(journal, allocator);
    *journal = longer;
    return true;
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
