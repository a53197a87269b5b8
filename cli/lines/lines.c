/*
 * Reads lines at the speed of a pipe: large reads, one search for each newline, no copying of lines. A line is all
 * bytes before its newline, or before another terminator; the last one needs none. The buffer grows to the longest line.
 */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"

#define FIRST_ROOM ((size_t)256 << 10)

void line_reader_open(struct line_reader *reader, int descriptor)
{
    *reader = (struct line_reader){.name = "standard input", .descriptor = descriptor, .terminator = '\n'};
}

void line_reader_close(struct line_reader *reader)
{
    free(reader->bytes);
    reader->bytes = NULL;
}

/* Moves the incomplete last line to the front; doubles the buffer if that line fills it. */
static bool make_room(struct line_reader *reader)
{
    if (reader->next > 0) {
        memmove(reader->bytes, reader->bytes + reader->next, reader->end - reader->next);
        reader->searched -= reader->next;
        reader->end -= reader->next;
        reader->next = 0;
    }
    if (reader->end < reader->room)
        return true;
    size_t room = reader->room ? 2 * reader->room : FIRST_ROOM;
    char *bytes = realloc(reader->bytes, room);
    if (!bytes)
        return complain(reader->name, "a line is too long for the memory of this machine");
    reader->bytes = bytes;
    reader->room = room;
    return true;
}

/* Another process may have set the descriptor to O_NONBLOCK. */
static bool read_some(struct line_reader *reader)
{
    for (;;) {
        ssize_t got = read(reader->descriptor, reader->bytes + reader->end, reader->room - reader->end);
        if (got >= 0 && !interrupted()) {
            reader->end += (size_t)got;
            reader->ended = got == 0;
            return true;
        }
        bool again = got < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_input(reader->descriptor, -1)));
        if (interrupted() || !again)
            return complain(reader->name, "%s", strerror(errno));
    }
}

static size_t split(struct line_reader *reader, roost_bytes *lines, size_t most)
{
    size_t count = 0;
    while (count < most && reader->searched < reader->end) {
        const char *from = reader->bytes + reader->searched;
        const char *found = memchr(from, reader->terminator, reader->end - reader->searched);
        reader->searched = found ? (size_t)(found - reader->bytes) + 1 : reader->end;
        if (!found)
            break;
        lines[count++] = (roost_bytes){reader->bytes + reader->next, reader->searched - 1 - reader->next};
        reader->next = reader->searched;
    }
    return count;
}

static size_t take_last(struct line_reader *reader, roost_bytes *lines)
{
    if (reader->next == reader->end)
        return 0;
    lines[0] = (roost_bytes){reader->bytes + reader->next, reader->end - reader->next};
    reader->next = reader->searched = reader->end;
    return 1;
}

bool line_reader_next(struct line_reader *reader, roost_bytes *lines, size_t *count, size_t most)
{
    for (*count = split(reader, lines, most); *count == 0 && !reader->ended; *count = split(reader, lines, most))
        if (!make_room(reader) || !read_some(reader))
            return false;
    if (*count == 0)
        *count = take_last(reader, lines);
    return true;
}
