#include "journal.h"

bool journal_begin(struct journal *journal, uint64_t room, uint64_t incarnation, const roost_allocator *allocator)
{
    struct change *changes = memory_allocate(allocator, room * sizeof *changes);
    if (!changes)
        return false;
    *journal = (struct journal){changes, room, 1, 1, incarnation};
    return true;
}

void journal_release(struct journal *journal, const roost_allocator *allocator)
{
    memory_release(allocator, journal->changes);
    *journal = (struct journal){0};
}
