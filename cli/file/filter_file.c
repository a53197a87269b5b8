/*
 * What a file holds may be anything, so much of this is about telling apart what can be wrong with it: a clear word
 * here is worth more than a status code.
 *
 * Writing goes the other way: frame, then section, then the time stamp that makes the section this very file's, then
 * all of it to the disk, and only then the name. Where the file system did not keep the stamp, the section is cut off
 * again.
 */
#include "filter_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/base/byte_buffer.h"
#include "cli/base/interrupt.h"
#include "cli/base/machine.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "replica_section.h"

#define FIRST_ROOM   ((size_t)64 << 10)
#define READ_AT_ONCE ((size_t)16 << 20)

/* Of a frame, see docs/format.md. */
#define FRAME_PREFIX   6 /* magic, version, type; then comes the length of the body */
#define FRAME_CHECKSUM 8
/* What the clock of another machine may be ahead of this one's. */
#define MOST_AHEAD (24 * 3600 * ROOST_SECOND)

roost_environment filter_environment(void)
{
    roost_environment environment = {.memory_limit = machine_memory()};
    if (getrandom(&environment.random_seed, sizeof environment.random_seed, 0) < 0)
        environment.random_seed = 0; /* only speed depends on it */
    return environment;
}

roost_status filter_like(roost_filter **filter, const roost_filter *other)
{
    roost_environment environment = filter_environment();
    roost_config config = *roost_filter_config(other);
    if (config.scalable && config.kind == ROOST_CUCKOO)
        config.fingerprint_bits = 0; /* are derived, and nothing that one could ask for */
    return roost_filter_new(filter, &config, &environment);
}

bool complain_of_status(const char *name, roost_status status)
{
    if (status == ROOST_TOO_LARGE) {
        char memory[COUNT_ROOM];
        format_bytes(memory, machine_memory());
        return complain(name, "too large for the memory of this machine (%s)", memory);
    }
    if (status == ROOST_FULL)
        return complain(name,
                        "full: one more would break the promised rate; make another one with a larger --capacity");
    if (status == ROOST_CLOCK)
        return complain(name, "a clock is wrong: the time is older than the window, or far ahead of all that it holds");
    return complain(name, "%s", roost_status_text(status));
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

/* The frame at the front of these bytes, as its header tells its size; all of them where it does not. */
static roost_bytes frame_of(const struct byte_buffer *contents)
{
    struct byte_reader reader = {.next = contents->data, .left = contents->size};
    take_bytes(&reader, FRAME_PREFIX);
    uint64_t body = take_varint(&reader);
    bool ends = !reader.failed && reader.left >= FRAME_CHECKSUM && body <= reader.left - FRAME_CHECKSUM;
    size_t size = ends ? contents->size - reader.left + (size_t)body + FRAME_CHECKSUM : contents->size;
    return (roost_bytes){contents->data, size};
}

static roost_status decode_frame(roost_filter **filter, const struct byte_buffer *contents)
{
    roost_environment environment = filter_environment();
    roost_bytes frame = frame_of(contents);
    return roost_filter_decode(filter, frame.data, frame.size, &environment);
}

static bool make_room(const char *name, struct byte_buffer *contents, size_t room)
{
    roost_status status = byte_buffer_reserve(contents, room);
    return status == ROOST_OK || complain_of_status(name, status);
}

/* Reads until the room is used up or the file ends, which is told by room left over. */
static bool fill_room(const char *name, int descriptor, struct byte_buffer *contents)
{
    while (contents->size < contents->room) {
        size_t wanted = contents->room - contents->size;
        ssize_t got = read(descriptor, contents->data + contents->size, wanted < READ_AT_ONCE ? wanted : READ_AT_ONCE);
        if (got == 0)
            return true;
        if (interrupted() || (got < 0 && errno != EINTR))
            return complain(name, "%s", strerror(errno));
        contents->size += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Whether it is worth reading on: the first bytes of a film tell that it is none of ours. */
static bool begins_like_a_frame(const char *name, const struct byte_buffer *contents)
{
    roost_filter *filter;
    roost_status status = decode_frame(&filter, contents);
    roost_filter_free(filter);
    return status == ROOST_OK || status == ROOST_TRUNCATED || complain_of_status(name, status);
}

static size_t room_for_all(const struct stat *stat)
{
    return S_ISREG(stat->st_mode) && (uint64_t)stat->st_size < SIZE_MAX / 2 ? (size_t)stat->st_size + 1 : 0;
}

static bool read_contents(const char *name, int descriptor, struct byte_buffer *contents)
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

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int open_to_read(const char *name)
{
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        complain(name, "%s", strerror(errno));
    return descriptor;
}

static roost_bytes behind_frame(const struct byte_buffer *contents)
{
    size_t frame = frame_of(contents).size;
    return (roost_bytes){contents->data + frame, contents->size - frame};
}

/* A wrong clock somewhere else must not make a window forget everything: nothing is taken in from the days to come. */
static void distrust_the_future(roost_filter *filter)
{
    roost_kind kind = roost_filter_config(filter)->kind;
    if (kind == ROOST_WINDOW || kind == ROOST_COUNTER)
        roost_window_set_latest(filter, machine_time() + MOST_AHEAD);
}

/* A frame with bytes behind it that have no business there is as bad as one that is too long. */
static roost_filter *decode_contents(const char *name, const struct byte_buffer *contents)
{
    roost_filter *filter;
    roost_bytes behind = behind_frame(contents);
    roost_status status = decode_frame(&filter, contents);
    if (status == ROOST_OK && behind.size > 0 && !is_replica_section(behind)) {
        roost_filter_free(filter);
        filter = NULL;
        status = ROOST_CORRUPT;
    }
    if (status != ROOST_OK)
        complain_of_status(name, status);
    else
        distrust_the_future(filter);
    return filter;
}

roost_filter *filter_file_read(const char *name)
{
    struct byte_buffer contents = {0};
    int descriptor = open_to_read(name);
    if (descriptor < 0)
        return NULL;
    roost_filter *filter = read_contents(name, descriptor, &contents) ? decode_contents(name, &contents) : NULL;
    byte_buffer_release(&contents);
    close(descriptor);
    return filter;
}

static void drop_filter(struct filter_file *file)
{
    roost_filter_free(file->filter);
    file->filter = NULL;
    file->on_disk = false;
    peer_memories_release(&file->peers);
}

/* That a copy is another replica is as it should be, and nothing to talk about. */
static void restore_replica(struct filter_file *file, int descriptor, const struct byte_buffer *contents)
{
    roost_bytes section = behind_frame(contents);
    if (section.size == 0)
        return;
    switch (replica_section_restore(section, frame_of(contents), descriptor, file->filter, &file->peers)) {
    case REPLICA_IS_OURS:
    case REPLICA_IS_FOREIGN:
        break;
    case REPLICA_IS_LATER:
        complain(file->name, "a later version of Roost used it; for this one it is a new replica");
        break;
    case REPLICA_IS_DAMAGED:
        complain(file->name, "its replica section is damaged, the filter is not; it goes on as a new replica");
        break;
    }
}

static bool read_from(struct filter_file *file, int descriptor)
{
    struct byte_buffer contents = {0};
    drop_filter(file);
    if (fstat(descriptor, &file->version) != 0)
        return complain(file->name, "%s", strerror(errno));
    if (read_contents(file->name, descriptor, &contents))
        file->filter = decode_contents(file->name, &contents);
    if (file->filter) {
        file->on_disk = true;
        file->frame_size = frame_of(&contents).size;
        restore_replica(file, descriptor, &contents);
    }
    byte_buffer_release(&contents);
    return file->filter != NULL;
}

bool filter_file_look(struct filter_file *file, const char *name)
{
    file->name = name;
    int descriptor = open_to_read(name);
    if (descriptor < 0)
        return false;
    bool fine = read_from(file, descriptor);
    close(descriptor);
    return fine;
}

/* ---- locked ---------------------------------------------------------------------------------------------------- */

bool filter_file_lock(struct filter_file *file, const char *name)
{
    file->name = name;
    file->locked = true;
    return safe_file_open(&file->place, name);
}

void filter_file_unlock(struct filter_file *file)
{
    if (file->locked)
        safe_file_close(&file->place);
    file->locked = false;
}

bool filter_file_exists(const struct filter_file *file)
{
    return file->place.lock >= 0;
}

bool filter_file_is_fresh(const struct filter_file *file)
{
    if (filter_file_exists(file) && file->on_disk)
        return same_version(&file->version, &file->place.present);
    return !filter_file_exists(file) && !file->on_disk && file->filter; /* one that is yet to be made */
}

bool filter_file_refresh(struct filter_file *file)
{
    if (filter_file_is_fresh(file))
        return true;
    if (!filter_file_exists(file))
        return complain(file->name, "%s", strerror(ENOENT));
    return read_from(file, file->place.lock);
}

bool filter_file_open(struct filter_file *file, const char *name)
{
    return filter_file_lock(file, name) && filter_file_refresh(file);
}

void filter_file_close(struct filter_file *file)
{
    filter_file_unlock(file);
    drop_filter(file);
}

bool filter_file_forget_replica(struct filter_file *file)
{
    roost_filter *nobody;
    roost_status status = roost_filter_clone(file->filter, &nobody);
    if (status != ROOST_OK)
        return complain_of_status(file->name, status);
    drop_filter(file);
    file->filter = nobody;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static bool write_bare(struct safe_file *place, roost_bytes frame)
{
    return safe_file_write(place, frame.data, frame.size) && safe_file_flush(place);
}

static bool cut_section_off(struct safe_file *place, roost_bytes frame)
{
    if (ftruncate(place->successor, (off_t)frame.size) != 0)
        return complain(place->name, "cannot be written: %s", strerror(errno));
    return safe_file_flush(place);
}

static bool write_with_section(struct safe_file *place, roost_bytes frame, const struct byte_buffer *section,
                               const struct file_identity *identity)
{
    if (!safe_file_write(place, frame.data, frame.size) || !safe_file_write(place, section->data, section->size))
        return false;
    bool stamped = file_identity_stamp(place->successor, identity);
    if (!safe_file_flush(place))
        return false;
    return (stamped && file_identity_matches(identity, place->successor)) || cut_section_off(place, frame);
}

static bool write_contents(struct filter_file *file, roost_bytes frame, roost_bytes replica)
{
    struct file_identity identity;
    struct byte_buffer section = {0};
    bool worth_keeping = replica.size > 0 || file->peers.count > 0;
    if (!worth_keeping || !file_identity_choose(&identity, file->place.successor))
        return write_bare(&file->place, frame);
    replica_section_append(&section, file->filter, frame, replica, &file->peers, &identity);
    bool written = section.failed ? complain_of_status(file->name, ROOST_NO_MEMORY)
                                  : write_with_section(&file->place, frame, &section, &identity);
    byte_buffer_release(&section);
    return written;
}

/*
 * Somebody may have linked the file to another name while we were at work, and there it would go on as the replica that
 * we are. The old file is kept open until the new one has its place, to see to that.
 */
static bool commit(struct filter_file *file)
{
    bool was_unique = file->on_disk && file->version.st_nlink == 1;
    int predecessor = was_unique ? fcntl(file->place.lock, F_DUPFD_CLOEXEC, 0) : -1;
    bool committed = safe_file_commit(&file->place);
    if (committed && predecessor >= 0)
        file_identity_retire(predecessor);
    if (predecessor >= 0)
        close(predecessor);
    file->on_disk = committed;
    file->version = file->place.present;
    return committed;
}

static bool save_bytes(struct filter_file *file, const roost_buffer *frame, const roost_buffer *replica)
{
    roost_bytes frame_bytes = {frame->data, frame->size}, replica_bytes = {replica->data, replica->size};
    file->frame_size = frame->size;
    return safe_file_begin(&file->place) && write_contents(file, frame_bytes, replica_bytes) && commit(file);
}

bool filter_file_save(struct filter_file *file)
{
    roost_buffer frame = {0}, replica = {0};
    roost_status status = roost_filter_encode(file->filter, &frame);
    if (status == ROOST_OK)
        status = roost_filter_save_replica(file->filter, &replica);
    bool saved = status == ROOST_OK ? save_bytes(file, &frame, &replica) : complain_of_status(file->name, status);
    roost_buffer_release(&frame);
    roost_buffer_release(&replica);
    return saved;
}
