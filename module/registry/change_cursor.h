/*
 * Change cursors: where a client is in the list of changes that ROOST.SUMMARY pages through.
 *
 * Every change of a key gets the next number, and the list is ordered by it (registry.h). A cursor is what a page hands
 * out, and what the next question brings back:
 *
 *     incarnation-position           the client has been told everything up to this change
 *     incarnation-position-began     the same, within a listing from the beginning: when its first page was made, the
 *                                    latest change had the number `began`
 *
 * All numbers are hexadecimal. A listing that has come to `began` has told everything that there was when it began, and
 * the third part goes. The tests' simulated servers use this file, too: it needs nothing of the server.
 *
 * Why paging always advances. A page tells entries of the list with numbers above `position`, in ascending order, and
 * its cursor has the number of the last one. No question is answered from before its position (but for one that has a
 * cursor of another incarnation, which begins a listing), so each page that has entries has a higher position than the
 * one before.
 *
 * Why a listing ends. Entries with numbers up to `began` only become fewer: a change moves an entry behind `began`, and
 * new entries come behind it. So a listing of N entries has come to `began` after N / COUNT pages, whatever changes
 * meanwhile; without further changes, the pages after that end as well, with what has changed until then.
 *
 * What a listing may miss. An entry of a key that holds nothing, and that no tombstone tells of, is dropped from the
 * list one day; `floor` is the highest number of those that were. A client at a lower position has not been told that
 * the key went away. It matters only to one that was told of the key before: if the number is at most `began`, the key
 * was empty before the listing began, so the listing has not mentioned it, and what a whole listing does not mention is
 * not there. Otherwise the page says `missed`. Going back would not help, since the entry is not in the list any more:
 * the client goes on, and lists once more from the beginning at a time of its choice. A client that does not know of
 * `missed` finds the difference by the digest over all keys.
 */
#ifndef MODULE_REGISTRY_CHANGE_CURSOR_H
#define MODULE_REGISTRY_CHANGE_CURSOR_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CHANGE_CURSOR_ROOM 56

struct change_cursor {
    uint64_t incarnation, position;
    uint64_t began; /* 0: of no listing, or of one that has come so far */
};

/* A listing from the beginning; `latest` is the number of the latest change. */
static inline struct change_cursor change_cursor_begin(uint64_t incarnation, uint64_t latest)
{
    return (struct change_cursor){incarnation, 0, latest};
}

/* The cursor that a text has; a listing from the beginning where it has none of this incarnation. */
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

/* Everything that there was when the listing began has been told; or it is no listing. */
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

/* Whether the client may have missed that a key went away, with this floor. */
static inline bool change_cursor_has_missed(const struct change_cursor *cursor, uint64_t floor)
{
    return floor > cursor->position && floor > cursor->began;
}

#endif
