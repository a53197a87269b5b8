/*
 * A filter and its file: `contents.c` reads, `replica_section.c` restores the replica, `atomic_file.c` locks and
 * replaces.
 *
 *     load   frame -> filter; section -> actor, journal, peer cursors, if the section names this very file
 *     save   frame, which a large table passes on as it encodes it; section; modification time of the identity; fsync;
 *            rename
 *
 * The section contains the identity of the file that it is written into, so that the identity is chosen first, and the
 * modification time that belongs to it is set after the last write. If the file system did not keep that time, the
 * section is cut off again, and the file becomes a new replica at the next load.
 */
#include "roost/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../base/entropy.h"
#include "../base/process.h"
#include "../filter/configuration.h"
#include "../frame/frame.h"
#include "contents.h"
#include "replica_section.h"

struct roost_file {
    roost_environment environment; /* complete */
    struct atomic_file place;
    bool locked;
    uint32_t process; /* by which it is locked */
    roost_filter *filter;
    struct peer_cursors peers;
    roost_replica_status replica;
    uint64_t frame_size;
    bool on_disk;        /* `filter` was read from the file or written to it, */
    struct stat version; /* and the file looked so */
    char path[];
};

/* ---- the object ------------------------------------------------------------------------------------------------ */

roost_status roost_file_new(roost_file **file, const char *path, const roost_environment *environment)
{
    roost_environment complete = environment_or_default(environment);
    roost_file *made = *file = memory_allocate(&complete.allocator, sizeof *made + strlen(path) + 1);
    if (!made)
        return ROOST_NO_MEMORY;
    strcpy(made->path, path);
    made->environment = complete;
    made->peers.allocator = complete.allocator;
    made->place = (struct atomic_file){.path = made->path,
                                       .allocator = complete.allocator,
                                       .entropy = entropy_or_default(complete.entropy),
                                       .lock = -1,
                                       .successor = -1};
    return ROOST_OK;
}

static void drop_filter(roost_file *file)
{
    roost_filter_free(file->filter);
    peer_cursors_clear(&file->peers);
    file->filter = NULL;
    file->on_disk = false;
    file->replica = ROOST_REPLICA_NEW;
    file->frame_size = 0;
}

void roost_file_free(roost_file *file)
{
    if (!file)
        return;
    roost_file_unlock(file);
    drop_filter(file);
    memory_release(&file->environment.allocator, file);
}

void roost_file_set_interrupt(roost_file *file, bool (*requested)(void *context), void *context)
{
    file->place.interrupt = (struct interrupt){requested, context};
}

const char *roost_file_get_error(const roost_file *file)
{
    return file->place.failure.text;
}

int roost_file_get_errno(const roost_file *file)
{
    return file->place.failure.number;
}

/* Each call that can fail begins so. */
static void forget_failure(roost_file *file)
{
    file->place.failure = (struct failure){0};
}

static roost_status fail_with(roost_file *file, roost_status status, const char *text)
{
    return status == ROOST_OK ? status : file_fail(&file->place.failure, status, text);
}

/* ---- locks ----------------------------------------------------------------------------------------------------- */

static roost_status lock_file(roost_file *file, roost_lock lock, bool wait)
{
    forget_failure(file);
    if (file->locked || (lock != ROOST_LOCK_SHARED && lock != ROOST_LOCK_EXCLUSIVE))
        return fail_with(file, ROOST_INVALID, file->locked ? "locked already" : NULL);
    roost_status status = atomic_file_open(&file->place, lock, wait);
    file->locked = status == ROOST_OK;
    file->process = process_number;
    return status;
}

roost_status roost_file_lock(roost_file *file, roost_lock lock)
{
    return lock_file(file, lock, true);
}

roost_status roost_file_try_lock(roost_file *file, roost_lock lock)
{
    return lock_file(file, lock, false);
}

/* What was locked before a fork, and what was begun, belong to the parent. */
static bool is_locked_by_parent(const roost_file *file)
{
    return file->locked && file->process != process_number;
}

void roost_file_unlock(roost_file *file)
{
    if (is_locked_by_parent(file))
        atomic_file_leave(&file->place);
    else if (file->locked)
        atomic_file_close(&file->place);
    file->locked = false;
}

bool roost_file_exists(const roost_file *file)
{
    return file->place.lock >= 0;
}

int roost_file_get_descriptor(const roost_file *file)
{
    return file->place.lock;
}

/* ---- loading --------------------------------------------------------------------------------------------------- */

static struct contents_reading reading_of(roost_file *file)
{
    return (struct contents_reading){&file->environment, &file->place.interrupt, &file->place.failure};
}

/* The locked file, or the one that has the path now; close_after closes the latter. */
static int open_to_read(roost_file *file)
{
    if (file->locked && !roost_file_exists(file))
        errno = ENOENT;
    int descriptor = file->locked ? file->place.lock : open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        file_fail_by_errno(&file->place.failure, NULL);
    return descriptor;
}

static void close_after(const roost_file *file, int descriptor)
{
    if (descriptor >= 0 && descriptor != file->place.lock)
        close(descriptor);
}

/* A locked file may have been read before. */
static roost_status load_contents(roost_file *file, struct contents *contents, roost_filter **filter, int descriptor)
{
    *filter = NULL;
    struct contents_reading reading = reading_of(file);
    if (file->locked && lseek(descriptor, 0, SEEK_SET) != 0)
        return file_fail_by_errno(&file->place.failure, NULL);
    return contents_load(contents, filter, descriptor, &reading);
}

static roost_status restore_replica(roost_file *file, const struct contents *contents, int descriptor)
{
    roost_bytes section = contents_section(contents);
    roost_status status = ROOST_OK;
    if (section.size > 0)
        file->replica =
            replica_section_restore(section, contents_frame(contents), descriptor, file->filter, &file->peers, &status);
    return status;
}

/* The old filter is freed first: two of them may not fit into memory. */
static roost_status load_from(roost_file *file, int descriptor)
{
    struct contents contents = {0};
    drop_filter(file);
    roost_status status = load_contents(file, &contents, &file->filter, descriptor);
    if (status == ROOST_OK)
        status = fail_with(file, restore_replica(file, &contents, descriptor), NULL);
    file->frame_size = contents_frame(&contents).size;
    contents_release(&contents, &file->environment.allocator);
    if (status != ROOST_OK)
        drop_filter(file);
    file->on_disk = status == ROOST_OK;
    return status;
}

bool roost_file_is_current(const roost_file *file)
{
    if (roost_file_exists(file) && file->on_disk)
        return file_version_is_same(&file->version, &file->place.present);
    return file->locked && !roost_file_exists(file) && !file->on_disk && file->filter; /* not created yet */
}

roost_status roost_file_load(roost_file *file, bool *reread)
{
    forget_failure(file);
    bool current = roost_file_is_current(file);
    if (reread)
        *reread = !current;
    if (current)
        return ROOST_OK;
    int descriptor = open_to_read(file);
    roost_status status = ROOST_SYSTEM;
    if (descriptor < 0)
        drop_filter(file);
    else if (fstat(descriptor, &file->version) != 0)
        status = file_fail_by_errno(&file->place.failure, NULL);
    else
        status = load_from(file, descriptor);
    close_after(file, descriptor);
    return status;
}

roost_status roost_file_read(roost_file *file, roost_filter **filter)
{
    struct contents contents = {0};
    *filter = NULL;
    forget_failure(file);
    int descriptor = open_to_read(file);
    roost_status status = descriptor < 0 ? ROOST_SYSTEM : load_contents(file, &contents, filter, descriptor);
    contents_release(&contents, &file->environment.allocator);
    close_after(file, descriptor);
    return status;
}

roost_filter *roost_file_get_filter(const roost_file *file)
{
    return file->filter;
}

roost_replica_status roost_file_get_replica_status(const roost_file *file)
{
    return file->replica;
}

uint64_t roost_file_get_frame_size(const roost_file *file)
{
    return file->frame_size;
}

bool roost_file_is_same(const roost_file *file, const roost_file *other)
{
    return file->on_disk && other->on_disk && file->version.st_dev == other->version.st_dev &&
           file->version.st_ino == other->version.st_ino;
}

/* ---- the filter and its replica -------------------------------------------------------------------------------- */

void roost_file_set_filter(roost_file *file, roost_filter *filter)
{
    assert(!filter || filter != file->filter);
    drop_filter(file);
    file->filter = filter;
}

roost_filter *roost_file_take_filter(roost_file *file)
{
    roost_filter *filter = file->filter;
    file->filter = NULL;
    drop_filter(file);
    return filter;
}

void roost_file_discard(roost_file *file)
{
    file->on_disk = false;
}

roost_status roost_file_reset_replica(roost_file *file)
{
    roost_filter *fresh;
    forget_failure(file);
    if (!file->filter)
        return fail_with(file, ROOST_INVALID, "nothing is loaded");
    roost_status status = roost_filter_clone(file->filter, &fresh);
    if (status == ROOST_OK)
        roost_file_set_filter(file, fresh);
    return fail_with(file, status, NULL);
}

roost_bytes roost_file_get_peer_cursor(const roost_file *file, const char *peer)
{
    return peer_cursors_get(&file->peers, peer);
}

roost_status roost_file_set_peer_cursor(roost_file *file, const char *peer, const void *cursor, size_t size)
{
    forget_failure(file);
    return fail_with(file, peer_cursors_set(&file->peers, peer, strlen(peer), (roost_bytes){cursor, size}), NULL);
}

size_t roost_file_get_peer_count(const roost_file *file)
{
    return file->peers.count;
}

/* ---- saving ---------------------------------------------------------------------------------------------------- */

/* What is to be written. A frame that is passed on is encoded as it is written: before that there is nothing of it. */
struct image {
    bool passed_on;
    struct frame_pieces frame; /* or */
    uint64_t size;             /* of the frame, and */
    uint8_t checksum[8];       /* its last bytes, once it is written */
    roost_buffer replica;
};

static roost_bytes bytes_of(const roost_buffer *buffer)
{
    return (roost_bytes){buffer->data, buffer->size};
}

static roost_status write_some(void *place, const void *bytes, size_t size)
{
    return atomic_file_write(place, bytes, size);
}

static roost_status rewrite_first(void *place, const void *bytes, size_t size)
{
    return atomic_file_rewrite(place, bytes, size);
}

static roost_status read_again(void *place, uint64_t position, uint8_t *bytes, size_t size)
{
    return atomic_file_read(place, position, bytes, size);
}

static roost_status pass_frame_on(roost_file *file, struct image *image)
{
    const struct frame_output output = {write_some, rewrite_first, read_again, &file->place};
    roost_status status = frame_pass_on(file->filter, &output, &image->size, image->checksum);
    return status == ROOST_NO_MEMORY ? fail_with(file, status, NULL) : status;
}

static roost_status write_frame(roost_file *file, struct image *image)
{
    if (image->passed_on)
        return pass_frame_on(file, image);
    const roost_buffer *last = &image->frame.buffer;
    image->size = frame_pieces_size(&image->frame);
    memcpy(image->checksum, last->data + last->size - sizeof image->checksum, sizeof image->checksum);
    return frame_pieces_write(&image->frame, write_some, &file->place);
}

/* Behind the frame. Without the identity that it names, the section would be wrong: it is cut off again. */
static roost_status write_section(struct atomic_file *place, const struct image *image, roost_bytes section,
                                  const struct file_identity *identity)
{
    roost_status status = atomic_file_write(place, section.data, section.size);
    bool stamped = status == ROOST_OK && file_identity_stamp(place->successor, identity);
    if (status == ROOST_OK)
        status = atomic_file_flush(place);
    if (status != ROOST_OK || (stamped && file_identity_matches(identity, place->successor)))
        return status;
    status = atomic_file_truncate(place, (size_t)image->size);
    return status == ROOST_OK ? atomic_file_flush(place) : status;
}

static roost_status write_image(roost_file *file, struct image *image)
{
    struct file_identity identity;
    bool needs_section = image->replica.size > 0 || file->peers.count > 0;
    roost_status status = write_frame(file, image);
    if (status != ROOST_OK)
        return status;
    if (!needs_section || !file_identity_choose(&identity, file->place.successor))
        return atomic_file_flush(&file->place);
    struct bit_writer section;
    bit_writer_init(&section, file->environment.allocator);
    replica_section_append(&section, file->filter, (roost_bytes){image->checksum, sizeof image->checksum},
                           bytes_of(&image->replica), &file->peers, &identity);
    status = section.failed ? fail_with(file, ROOST_NO_MEMORY, NULL)
                            : write_section(&file->place, image, bytes_of(&section.buffer), &identity);
    bit_writer_release(&section);
    return status;
}

/*
 * Another process may have made a hard link to the file since it was loaded, and the link would go on as the replica
 * that this file is. So the old file stays open until the new one is in place, and then loses its identity.
 */
static roost_status replace(roost_file *file)
{
    bool was_unique = file->on_disk && file->version.st_nlink == 1, in_place;
    int predecessor = was_unique ? fcntl(file->place.lock, F_DUPFD_CLOEXEC, 0) : -1;
    roost_status status = atomic_file_commit(&file->place, &in_place);
    if (in_place && predecessor >= 0)
        file_identity_retire(predecessor);
    if (predecessor >= 0)
        close(predecessor);
    if (in_place) {
        file->on_disk = true;
        file->version = file->place.present;
    }
    return status;
}

static roost_status encode_image(const roost_file *file, struct image *image)
{
    image->passed_on = frame_is_passed_on(file->filter);
    roost_status status = image->passed_on ? ROOST_OK : frame_encode_pieces(file->filter, &image->frame);
    return status == ROOST_OK ? roost_filter_save_replica(file->filter, &image->replica) : status;
}

static roost_status save_image(roost_file *file, struct image *image)
{
    roost_status status = atomic_file_begin(&file->place);
    if (status == ROOST_OK)
        status = write_image(file, image);
    if (status == ROOST_OK)
        status = replace(file);
    if (status == ROOST_OK)
        file->frame_size = image->size;
    atomic_file_abandon(&file->place);
    return status;
}

/* A process and its child share a lock that was taken before the fork, and would overwrite each other's work. */
static roost_status check_own_lock(roost_file *file)
{
    forget_failure(file);
    return is_locked_by_parent(file)
               ? fail_with(file, ROOST_BUSY, "locked by the process that this one was forked from")
               : ROOST_OK;
}

static roost_status check_writable(roost_file *file)
{
    roost_status status = check_own_lock(file);
    if (status != ROOST_OK)
        return status;
    return file->locked && file->place.exclusive ? ROOST_OK : fail_with(file, ROOST_INVALID, "not locked for writing");
}

roost_status roost_file_save(roost_file *file)
{
    struct image image = {0};
    roost_status status = check_writable(file);
    if (status != ROOST_OK)
        return status;
    if (!file->filter)
        return fail_with(file, ROOST_INVALID, "nothing is loaded");
    status = fail_with(file, encode_image(file, &image), NULL);
    if (status == ROOST_OK)
        status = save_image(file, &image);
    roost_buffer_release(&image.frame.buffer);
    roost_buffer_release(&image.replica);
    return status;
}

/* ---- other contents -------------------------------------------------------------------------------------------- */

roost_status roost_file_begin(roost_file *file)
{
    roost_status status = check_writable(file);
    return status == ROOST_OK ? atomic_file_begin(&file->place) : status;
}

static roost_status check_begun(roost_file *file)
{
    roost_status status = check_own_lock(file);
    if (status != ROOST_OK)
        return status;
    return file->place.successor >= 0 ? ROOST_OK : fail_with(file, ROOST_INVALID, "not begun");
}

roost_status roost_file_write(roost_file *file, const void *bytes, size_t size)
{
    roost_status status = check_begun(file);
    return status == ROOST_OK ? atomic_file_write(&file->place, bytes, size) : status;
}

roost_status roost_file_commit(roost_file *file)
{
    roost_status status = check_begun(file);
    bool in_place = false;
    if (status == ROOST_BUSY)
        return status;
    if (status == ROOST_OK)
        status = atomic_file_flush(&file->place);
    if (status == ROOST_OK)
        status = atomic_file_commit(&file->place, &in_place);
    atomic_file_abandon(&file->place);
    file->on_disk = file->on_disk && !in_place;
    return status;
}
