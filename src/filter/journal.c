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

void journal_release(struct journal *journal, const roost_allocator *allocator)
{
    memory_release(allocator, journal->changes);
    memory_release(allocator, journal->tables);
    *journal = (struct journal){0};
}
