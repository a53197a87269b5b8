/*
 * Change cursors: where a client is in the list of changes that ROOST.SUMMARY pages through.
 *
 * Every change of a key gets the next number, and the list is ordered by it (registry.h). Each page returns a cursor,
 * which the client sends with the next request:
 *
 *     incarnation-position           the client has received everything up to this change
 *     incarnation-position-began     the same, within a listing from the beginning: when its first page was made, the
 *                                    latest change had the number `began`
 *
 * All numbers are hexadecimal. When a listing has reached `began`, it has returned everything that existed when it
 * began, and the third part is left out. The simulated servers of the tests use this file, too: it needs nothing of the
 * server.
 *
 * Why paging always advances. A page has the entries with numbers above `position`, in ascending order, and its cursor
 * has the number of the last one. No page begins before the position of its request (except for a cursor of another
 * incarnation, which begins a listing), so each page with entries has a higher position than the one before.
 *
 * Why a listing ends. The number of entries up to `began` only falls: a change moves an entry behind `began`, and new
 * entries are behind it. So a listing of N entries reaches `began` after N / COUNT pages, whatever changes meanwhile.
 * Without further changes the pages after that end, too, with what has changed until then.
 *
 * What a listing may miss. An entry of a key without a value and without a tombstone is dropped from the list after a
 * while; `floor` is the highest number of a dropped entry. A client at a lower position has not received the removal of
 * that key. This matters only if the client received the key before. If the number is at most `began`, the key was
 * empty before the listing began, so the listing has not mentioned it, and the client knows that a key which a whole
 * listing does not mention does not exist. Otherwise the page says `missed`. Going back would not help, since the entry
 * is no longer in the list: the client continues, and lists again from the beginning at a time of its choice. A client
 * that ignores `missed` finds the difference by the digest over all keys.
 */
#ifndef MODULE_REGISTRY_CHANGE_CURSOR_H
#define MODULE_REGISTRY_CHANGE_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CHANGE_CURSOR_ROOM 56

struct change_cursor {
    uint64_t incarnation, position;
    uint64_t began; /* 0: not in a listing, or the listing has reached it */
};

/* A listing from the beginning; `latest` is the number of the latest change. */
static inline struct change_cursor change_cursor_begin(uint64_t incarnation, uint64_t latest)
{
    return (struct change_cursor){incarnation, 0, latest};
}

/* Parses a cursor. If it is not one of this incarnation: a listing from the beginning. */
static inline struct change_cursor change_cursor_read(const char *text, uint64_t incarnation, uint64_t latest)
{
    unsigned long long other, position, began = 0;
    char rest;
    int numbers = sscanf(text, "%llx-%llx-%llx%c", &other, &position, &began, &rest);
    if (numbers != 3)
        numbers = sscanf(text, "%llx-%llx%c", &other, &position, &rest);
    if ((numbers != 2 && numbers != 3) || other != incarnation || position > latest || began > latest)
        return change_cursor_begin(incarnation, latest);
    return (struct change_cursor){incarnation, position, numbers == 3 ? began : 0};
}

/* The listing has returned everything that existed when it began; or the cursor is not in a listing. */
static inline bool change_cursor_has_listed(const struct change_cursor *cursor)
{
    return cursor->position >= cursor->began;
}

static inline void change_cursor_text(char text[CHANGE_CURSOR_ROOM], const struct change_cursor *cursor)
{
    int size = snprintf(text, CHANGE_CURSOR_ROOM, "%016llx-%llx", (unsigned long long)cursor->incarnation,
                        (unsigned long long)cursor->position);
    if (!change_cursor_has_listed(cursor))
        snprintf(text + size, CHANGE_CURSOR_ROOM - (size_t)size, "-%llx", (unsigned long long)cursor->began);
}

/* Whether the client may have missed the removal of a key, with this floor. */
static inline bool change_cursor_has_missed(const struct change_cursor *cursor, uint64_t floor)
{
    return floor > cursor->position && floor > cursor->began;
}

#endif
