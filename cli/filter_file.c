/*
 * Filters in files. What a file holds may be anything, so most of this is about telling apart what can be wrong with
 * it: a clear word here is worth more than a status code.
 */
#include "filter_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "interrupt.h"
#include "messages.h"
#include "numbers.h"

#define FIRST_ROOM   ((size_t)64 << 10)
#define READ_AT_ONCE ((size_t)16 << 20)

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : SIZE_MAX / 2;
}

roost_environment filter_environment(void)
{
    roost_environment environment = {.memory_limit = machine_memory()};
    if (getrandom(&environment.random_seed, sizeof environment.random_seed, 0) < 0)
        environment.random_seed = 0; /* only speed depends on it */
    return environment;
}

bool complain_of_status(const char *name, roost_status status)
{
    if (status == ROOST_TOO_LARGE) {
        char memory[COUNT_ROOM];
        format_bytes(memory, machine_memory());
        return complain(name, "too large for the memory of this machine (%s)", memory);
    }
    return complain(name, "%s", roost_status_text(status));
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

struct contents {
    uint8_t *bytes;
    size_t size, room;
};

static bool make_room(const char *name, struct contents *contents, size_t room)
{
    uint8_t *bytes = room <= machine_memory() ? realloc(contents->bytes, room) : NULL;
    if (!bytes)
        return complain_of_status(name, room <= machine_memory() ? ROOST_NO_MEMORY : ROOST_TOO_LARGE);
    contents->bytes = bytes;
    contents->room = room;
    return true;
}

/* Reads until the room is used up or the file ends, which is told by room left over. */
static bool fill_room(const char *name, int descriptor, struct contents *contents)
{
    while (contents->size < contents->room) {
        size_t wanted = contents->room - contents->size;
        ssize_t got = read(descriptor, contents->bytes + contents->size, wanted < READ_AT_ONCE ? wanted : READ_AT_ONCE);
        if (got == 0)
            return true;
        if (interrupted() || (got < 0 && errno != EINTR))
            return complain(name, "%s", strerror(errno));
        contents->size += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Whether it is worth reading on: the first bytes of a film tell that it is none of ours. */
static bool begins_like_a_frame(const char *name, const struct contents *contents)
{
    roost_filter *filter;
    roost_environment environment = filter_environment();
    roost_status status = roost_filter_decode(&filter, contents->bytes, contents->size, &environment);
    roost_filter_free(filter);
    return status == ROOST_OK || status == ROOST_TRUNCATED || complain_of_status(name, status);
}

static size_t room_for_all(const struct stat *stat)
{
    return S_ISREG(stat->st_mode) && (uint64_t)stat->st_size < SIZE_MAX / 2 ? (size_t)stat->st_size + 1 : 0;
}

static bool read_contents(const char *name, int descriptor, struct contents *contents)
{
    struct stat stat;
    if (fstat(descriptor, &stat) != 0)
        return complain(name, "%s", strerror(errno));
    if (S_ISDIR(stat.st_mode))
        return complain(name, "%s", strerror(EISDIR));
    if (!make_room(name, contents, FIRST_ROOM) || !fill_room(name, descriptor, contents))
        return false;
    if (contents->size == contents->room && !begins_like_a_frame(name, contents))
        return false;
    while (contents->size == contents->room) {
        size_t all = room_for_all(&stat), doubled = contents->room * 2;
        if (!make_room(name, contents, all > contents->room ? all : doubled) || !fill_room(name, descriptor, contents))
            return false;
    }
    return contents->size > 0 || complain(name, "empty file");
}

/* ---- filters --------------------------------------------------------------------------------------------------- */

static roost_filter *read_filter(const char *name, int descriptor, uint64_t *size)
{
    struct contents contents = {0};
    roost_filter *filter = NULL;
    if (read_contents(name, descriptor, &contents)) {
        roost_environment environment = filter_environment();
        roost_status status = roost_filter_decode(&filter, contents.bytes, contents.size, &environment);
        if (status != ROOST_OK)
            complain_of_status(name, status);
    }
    if (size)
        *size = contents.size;
    free(contents.bytes);
    return filter;
}

roost_filter *filter_file_read(const char *name, uint64_t *size)
{
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return complain(name, "%s", strerror(errno)), NULL;
    roost_filter *filter = read_filter(name, descriptor, size);
    close(descriptor);
    return filter;
}

roost_filter *filter_file_read_locked(const struct safe_file *file)
{
    if (file->lock < 0)
        return complain(file->name, "%s", strerror(ENOENT)), NULL;
    return read_filter(file->name, file->lock, NULL);
}

bool filter_file_write(struct safe_file *file, const roost_filter *filter)
{
    roost_buffer frame;
    roost_status status = roost_filter_encode(filter, &frame);
    if (status != ROOST_OK)
        return complain_of_status(file->name, status);
    bool written = safe_file_replace(file, frame.data, frame.size);
    roost_buffer_release(&frame);
    return written;
}
