/*
 * Reads lines at the speed of a pipe: large reads, one search for each newline, no copying of lines. A line is all
 * bytes before its newline, or before another terminator; the last one needs none. The buffer grows to the longest
 * line.
 */
#define _GNU_SOURCE
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"

#define FIRST_ROOM ((size_t)256 << 10)
#define BLOCK_ROOM ((size_t)256 << 10)
#define TOO_LONG   "a line is too long for the memory of this machine"

void line_reader_open(struct line_reader *reader, int descriptor)
{
    *reader = (struct line_reader){.name = "standard input", .descriptor = descriptor, .terminator = '\n'};
}

void line_reader_close(struct line_reader *reader)
{
    free(reader->bytes);
    reader->bytes = NULL;
}

static bool fail(struct line_reader *reader, const char *why)
{
    reader->failure = why;
    return false;
}

void line_reader_complain(const struct line_reader *reader)
{
    complain(reader->name, "%s", reader->failure);
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
        return fail(reader, TOO_LONG);
    reader->bytes = bytes;
    reader->room = room;
    return true;
}

/* Another process may have set the descriptor to O_NONBLOCK. */
static bool read_some(struct line_reader *reader, char *bytes, size_t room, size_t *end)
{
    for (;;) {
        ssize_t got = read(reader->descriptor, bytes + *end, room - *end);
        if (got >= 0 && !interrupted()) {
            *end += (size_t)got;
            reader->ended = got == 0;
            return true;
        }
        bool again = got < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_input(reader->descriptor, -1)));
        if (interrupted() || !again)
            return fail(reader, strerror(errno));
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
        if (!make_room(reader) || !read_some(reader, reader->bytes, reader->room, &reader->end)) {
            line_reader_complain(reader);
            return false;
        }
    if (*count == 0)
        *count = take_last(reader, lines);
    return true;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* What is behind the last complete line is the beginning of the next block. */
static bool keep_rest(struct line_reader *reader, const char *rest, size_t size)
{
    if (size > reader->room) {
        char *bytes = realloc(reader->bytes, size);
        if (!bytes)
            return fail(reader, TOO_LONG);
        reader->bytes = bytes;
        reader->room = size;
    }
    if (size > 0)
        memcpy(reader->bytes, rest, size);
    reader->end = size;
    return true;
}

static bool take_rest(struct line_reader *reader, struct line_block *block)
{
    size_t room = 2 * reader->end > BLOCK_ROOM ? 2 * reader->end : BLOCK_ROOM;
    if (!line_block_reserve(block, room))
        return fail(reader, TOO_LONG);
    if (reader->end > 0)
        memcpy(block->bytes, reader->bytes, reader->end);
    block->size = reader->end;
    reader->end = 0;
    return true;
}

/* A pipe gives little at a time: a block takes what is there, until half of it is full. */
static bool reads_on(const struct line_reader *reader, const struct line_block *block, size_t complete)
{
    if (reader->ended || reader->failure)
        return false;
    return complete == 0 || (block->size < BLOCK_ROOM / 2 && wait_for_input(reader->descriptor, 0));
}

static size_t read_more(struct line_reader *reader, struct line_block *block, size_t complete)
{
    size_t before = block->size;
    if (before + 1 == block->room && !line_block_reserve(block, 2 * before)) {
        fail(reader, TOO_LONG);
        return complete;
    }
    if (!read_some(reader, block->bytes, block->room - 1, &block->size))
        return complete;
    const char *last = memrchr(block->bytes + before, reader->terminator, block->size - before);
    return last ? (size_t)(last - block->bytes) + 1 : complete;
}

/* Lines that were read before an error are returned first. */
bool line_reader_fill(struct line_reader *reader, struct line_block *block)
{
    size_t complete = 0; /* bytes up to the last terminator */
    if (reader->failure || !take_rest(reader, block))
        return false;
    while (reads_on(reader, block, complete))
        complete = read_more(reader, block, complete);
    if (reader->ended)
        complete = block->size;
    bool fine =
        (complete > 0 || !reader->failure) && keep_rest(reader, block->bytes + complete, block->size - complete);
    block->size = complete;
    return fine;
}
