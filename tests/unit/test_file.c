/*
 * Filter files, as programs and bindings use them: real files in a folder of their own, real processes, copies, kill
 * -9, hostile sections, failing allocations.
 */
#include "meter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "file/atomic_file.h"
#include "file/replica_section.h"
#include "cuckoo/class_keys.h"
#include "filter/configuration.h"
#include "frame/frame.h"
#include "frame/frame_input.h"

static char folder[64];

static int enter_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/roost-test-file-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* ---- short forms ----------------------------------------------------------------------------------------------- */

static roost_file *file_of(const char *path)
{
    roost_file *file;
    assert_ok(roost_file_new(&file, path, NULL));
    return file;
}

static roost_file *locked(const char *path)
{
    roost_file *file = file_of(path);
    assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
    return file;
}

static roost_file *opened(const char *path)
{
    roost_file *file = locked(path);
    assert_ok(roost_file_load(file, NULL));
    return file;
}

static void add_text(roost_filter *filter, const char *key)
{
    assert_ok(roost_filter_add(filter, NULL, key, strlen(key)));
}

static bool has_text(const roost_filter *filter, const char *key)
{
    return roost_filter_contains(filter, key, strlen(key));
}

/* A file with one element, whose replica has an actor. */
static void create(const char *path)
{
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_file *file = locked(path);
    assert_false(roost_file_exists(file));
    roost_file_set_filter(file, new_filter(&config));
    add_text(roost_file_get_filter(file), "swift");
    assert_ok(roost_file_save(file));
    assert_true(roost_file_exists(file));
    roost_file_free(file);
}

static uint64_t actor_in(const char *path, roost_replica_status expected)
{
    roost_file *file = file_of(path);
    assert_ok(roost_file_load(file, NULL));
    assert_int_equal(roost_file_get_replica_status(file), expected);
    uint64_t actor = roost_filter_get_actor(roost_file_get_filter(file));
    roost_file_free(file);
    return actor;
}

static roost_buffer bytes_in(const char *path)
{
    struct stat stat;
    int descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0 && fstat(descriptor, &stat) == 0);
    roost_allocator allocator = allocator_or_default((roost_allocator){0});
    roost_buffer buffer = {memory_allocate(&allocator, (size_t)stat.st_size + 1), (size_t)stat.st_size, allocator};
    assert_int_equal(read(descriptor, buffer.data, buffer.size), buffer.size);
    close(descriptor);
    return buffer;
}

static void put_bytes(const char *path, const void *bytes, size_t size)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, size), size);
    close(descriptor);
}

static void copy_file(const char *from, const char *to)
{
    roost_buffer bytes = bytes_in(from);
    put_bytes(to, bytes.data, bytes.size);
    roost_buffer_release(&bytes);
}

/* Waits until a process that was started ends, and returns its exit status, or minus its signal. */
static int wait_for(pid_t process)
{
    int status;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool folder_has_temporaries(void)
{
    return system("test -n \"$(find . -name '.roost-*')\"") == 0;
}

/* ---- round trip ------------------------------------------------------------------------------------------------ */

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    create("trip");
    roost_file *file = opened("trip");
    uint64_t actor = roost_filter_get_actor(roost_file_get_filter(file));
    assert_true(actor != 0 && roost_file_get_replica_status(file) == ROOST_REPLICA_RESTORED);
    add_text(roost_file_get_filter(file), "martin");
    assert_ok(roost_file_set_peer_cursor(file, "host:path", "cursor", 6));
    assert_ok(roost_file_save(file));
    assert_true(roost_file_is_current(file));
    roost_file_free(file);

    file = file_of("trip");
    bool reread;
    assert_ok(roost_file_load(file, &reread));
    assert_true(reread && has_text(roost_file_get_filter(file), "swift") &&
                has_text(roost_file_get_filter(file), "martin"));
    assert_int_equal(roost_filter_get_actor(roost_file_get_filter(file)), actor);
    assert_int_equal(roost_file_get_peer_count(file), 1);
    roost_bytes cursor = roost_file_get_peer_cursor(file, "host:path");
    assert_int_equal(cursor.size, 6);
    assert_memory_equal(cursor.data, "cursor", 6);
    assert_int_equal(roost_file_get_peer_cursor(file, "elsewhere").size, 0);
    assert_string_equal(roost_file_get_error(file), "");
    roost_file_free(file);
}

/* The frame alone, and what roost_filter_decode makes of the whole file. */
static void a_file_is_read_as_a_new_replica(void **state)
{
    (void)state;
    create("read");
    roost_file *file = file_of("read");
    roost_filter *filter;
    assert_ok(roost_file_read(file, &filter));
    assert_true(has_text(filter, "swift") && roost_filter_get_actor(filter) == 0);
    assert_null(roost_file_get_filter(file));
    roost_filter_free(filter);
    roost_buffer bytes = bytes_in("read");
    assert_int_equal(roost_filter_decode(&filter, bytes.data, bytes.size, NULL), ROOST_CORRUPT);
    assert_ok(roost_file_decode(&filter, bytes.data, bytes.size, NULL));
    assert_true(has_text(filter, "swift"));
    roost_filter_free(filter);
    assert_int_equal(roost_file_decode(&filter, bytes.data, 0, NULL), ROOST_NOT_FRAME);
    assert_null(filter);

    assert_ok(roost_file_load(file, NULL));
    put_bytes("plain", bytes.data, roost_file_get_frame_size(file));
    assert_int_equal(actor_in("plain", ROOST_REPLICA_NEW), 0);
    roost_buffer_release(&bytes);
    roost_file_free(file);
}

/* A filter that is no replica yet is a frame and nothing else: the bytes that the program has always written. */
static void a_filter_without_a_replica_is_a_plain_frame(void **state)
{
    (void)state;
    roost_config config = bloom_config(ROOST_BLOCKED, 100, 0.01);
    roost_file *file = locked("bloom");
    roost_buffer frame;
    roost_file_set_filter(file, new_filter(&config));
    add_text(roost_file_get_filter(file), "swift");
    assert_ok(roost_filter_encode(roost_file_get_filter(file), &frame));
    assert_ok(roost_file_save(file));
    roost_buffer bytes = bytes_in("bloom");
    assert_int_equal(bytes.size, frame.size);
    assert_memory_equal(bytes.data, frame.data, frame.size);
    assert_int_equal(roost_file_get_frame_size(file), frame.size);
    roost_buffer_release(&bytes);
    roost_buffer_release(&frame);
    roost_file_free(file);
}

static void a_load_reads_only_what_changed(void **state)
{
    (void)state;
    create("often");
    roost_file *file = file_of("often");
    bool reread;
    for (int round = 0; round < 3; round++) {
        assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
        assert_int_equal(roost_file_is_current(file), round > 0);
        assert_ok(roost_file_load(file, &reread));
        assert_int_equal(reread, round == 0);
        add_text(roost_file_get_filter(file), "martin");
        assert_ok(roost_file_save(file));
        roost_file_unlock(file);
    }
    roost_file *other = opened("often");
    add_text(roost_file_get_filter(other), "heron");
    assert_ok(roost_file_save(other));
    assert_false(roost_file_is_same(file, other));
    roost_file_free(other);

    assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
    assert_ok(roost_file_load(file, &reread));
    assert_true(reread && has_text(roost_file_get_filter(file), "heron"));
    add_text(roost_file_get_filter(file), "crane");
    roost_file_discard(file);
    assert_ok(roost_file_load(file, &reread));
    assert_true(reread && !has_text(roost_file_get_filter(file), "crane"));
    roost_file_free(file);
}

/* ---- identity -------------------------------------------------------------------------------------------------- */

static void a_copy_is_a_new_replica(void **state)
{
    (void)state;
    create("original");
    uint64_t actor = actor_in("original", ROOST_REPLICA_RESTORED);
    assert_true(actor != 0);
    copy_file("original", "copy");
    assert_int_equal(actor_in("copy", ROOST_REPLICA_COPY), 0);
    roost_file *file = opened("copy");
    add_text(roost_file_get_filter(file), "martin");
    assert_ok(roost_file_save(file));
    roost_file_free(file);
    uint64_t other = actor_in("copy", ROOST_REPLICA_RESTORED);
    assert_true(other != 0 && other != actor);
    assert_int_equal(actor_in("original", ROOST_REPLICA_RESTORED), actor);

    assert_int_equal(rename("original", "renamed"), 0);
    assert_int_equal(actor_in("renamed", ROOST_REPLICA_RESTORED), actor);
    assert_int_equal(link("renamed", "second"), 0);
    assert_int_equal(actor_in("renamed", ROOST_REPLICA_COPY), 0);
    assert_int_equal(actor_in("second", ROOST_REPLICA_COPY), 0);
}

static void an_old_state_that_is_written_back_is_a_new_replica(void **state)
{
    (void)state;
    create("rolled");
    roost_buffer before = bytes_in("rolled");
    put_bytes("rolled", before.data, before.size);
    assert_int_equal(actor_in("rolled", ROOST_REPLICA_COPY), 0);
    roost_buffer_release(&before);
}

static void a_link_that_is_made_meanwhile_loses_the_replica(void **state)
{
    (void)state;
    create("linked");
    roost_file *file = opened("linked");
    assert_int_equal(link("linked", "snapshot"), 0);
    add_text(roost_file_get_filter(file), "martin");
    assert_ok(roost_file_save(file));
    roost_file_free(file);
    assert_int_equal(actor_in("snapshot", ROOST_REPLICA_COPY), 0);
    assert_true(actor_in("linked", ROOST_REPLICA_RESTORED) != 0);
}

static void a_new_replica_can_be_forced(void **state)
{
    (void)state;
    create("forced");
    uint64_t actor = actor_in("forced", ROOST_REPLICA_RESTORED);
    roost_file *file = opened("forced");
    assert_ok(roost_file_set_peer_cursor(file, "peer", "c", 1));
    assert_ok(roost_file_reset_replica(file));
    assert_int_equal(roost_file_get_peer_count(file), 0);
    assert_ok(roost_file_save(file));
    add_text(roost_file_get_filter(file), "martin");
    assert_ok(roost_file_save(file));
    roost_file_free(file);
    uint64_t other = actor_in("forced", ROOST_REPLICA_RESTORED);
    assert_true(other != 0 && other != actor);
}

static void the_latest_peers_are_kept(void **state)
{
    (void)state;
    enum { PEERS = ROOST_FILE_MOST_PEERS + 6 };
    char name[20];
    create("peers");
    roost_file *file = opened("peers");
    for (int i = 0; i < PEERS; i++) {
        snprintf(name, sizeof name, "peer %d", i);
        assert_ok(roost_file_set_peer_cursor(file, name, &i, sizeof i));
    }
    assert_ok(roost_file_save(file));
    roost_file_free(file);
    file = opened("peers");
    assert_int_equal(roost_file_get_peer_count(file), ROOST_FILE_MOST_PEERS);
    for (int i = 0; i < PEERS; i++) {
        snprintf(name, sizeof name, "peer %d", i);
        roost_bytes cursor = roost_file_get_peer_cursor(file, name);
        assert_int_equal(cursor.size, i < PEERS - ROOST_FILE_MOST_PEERS ? 0 : sizeof i);
        assert_true(!cursor.size || memcmp(cursor.data, &i, sizeof i) == 0);
    }
    roost_file_free(file);
}

/* Two files sync as two processes would, with their cursors. */
static void cursors_make_the_next_sync_small(void **state)
{
    (void)state;
    create("here");
    copy_file("here", "there");
    uint64_t bytes[2] = {0};
    for (int round = 0; round < 2; round++) {
        roost_file *here = opened("here"), *there = opened("there");
        for (int i = 0; i < (round == 0 ? 50 : 1); i++)
            add_text(roost_file_get_filter(here), round == 0 ? (char[]){(char)('a' + i), 0} : "last");
        roost_bytes known = roost_file_get_peer_cursor(here, "there");
        assert_int_equal(known.size > 0, round > 0);
        roost_sync *sync;
        roost_buffer request = {0}, reply = {0}, cursor;
        assert_ok(roost_sync_new(&sync, roost_file_get_filter(here), known.data, known.size));
        for (;;) {
            assert_ok(roost_sync_next(sync, &request, reply.data, reply.size));
            roost_buffer_release(&reply);
            if (request.size == 0)
                break;
            assert_ok(roost_sync_reply(roost_file_get_filter(there), &reply, NULL, request.data, request.size));
            bytes[round] += request.size + reply.size;
            roost_buffer_release(&request);
        }
        assert_true(roost_filter_equal(roost_file_get_filter(here), roost_file_get_filter(there)));
        assert_ok(roost_sync_save_memory(sync, &cursor));
        assert_ok(roost_file_set_peer_cursor(here, "there", cursor.data, cursor.size));
        assert_ok(roost_file_save(here));
        assert_ok(roost_file_save(there));
        roost_buffer_release(&cursor);
        roost_sync_free(sync);
        roost_file_free(here);
        roost_file_free(there);
    }
    assert_true(bytes[1] < 150 && bytes[1] < bytes[0]);
}

/* ---- locks and processes --------------------------------------------------------------------------------------- */

static void locks_exclude_each_other(void **state)
{
    (void)state;
    static const struct {
        roost_lock first, second;
        roost_status expected;
    } cases[] = {{ROOST_LOCK_SHARED, ROOST_LOCK_SHARED, ROOST_OK},
                 {ROOST_LOCK_SHARED, ROOST_LOCK_EXCLUSIVE, ROOST_BUSY},
                 {ROOST_LOCK_EXCLUSIVE, ROOST_LOCK_SHARED, ROOST_BUSY},
                 {ROOST_LOCK_EXCLUSIVE, ROOST_LOCK_EXCLUSIVE, ROOST_BUSY}};
    create("locks");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        roost_file *first = file_of("locks"), *second = file_of("locks");
        assert_ok(roost_file_try_lock(first, cases[i].first));
        assert_int_equal(roost_file_try_lock(first, cases[i].first), ROOST_INVALID);
        assert_int_equal(roost_file_try_lock(second, cases[i].second), cases[i].expected);
        assert_ok(roost_file_load(second, NULL)); /* reading needs no lock */
        assert_int_equal(roost_file_exists(second), cases[i].expected == ROOST_OK);
        roost_file_unlock(first);
        roost_file_unlock(second);
        assert_ok(roost_file_try_lock(second, cases[i].second));
        roost_file_free(first);
        roost_file_free(second);
    }
}

static void only_an_exclusive_lock_allows_a_save(void **state)
{
    (void)state;
    create("unlocked");
    roost_file *file = file_of("unlocked");
    assert_int_equal(roost_file_reset_replica(file), ROOST_INVALID);
    assert_ok(roost_file_load(file, NULL));
    assert_int_equal(roost_file_save(file), ROOST_INVALID);
    assert_string_equal(roost_file_get_error(file), "not locked for writing");
    assert_int_equal(roost_file_begin(file), ROOST_INVALID);
    assert_int_equal(roost_file_commit(file), ROOST_INVALID);
    assert_ok(roost_file_lock(file, ROOST_LOCK_SHARED));
    assert_int_equal(roost_file_save(file), ROOST_INVALID);
    roost_file_unlock(file);
    assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
    assert_ok(roost_file_save(file));
    roost_file_free(file);
    file = locked("not-there");
    assert_int_equal(roost_file_save(file), ROOST_INVALID);
    roost_file_free(file);
}

/* Each process adds keys of its own, a lock and a save for each. */
static void writers_wait_for_each_other(void **state)
{
    (void)state;
    enum { WRITERS = 4, KEYS = 12 };
    char key[32];
    pid_t writers[WRITERS];
    create("shared");
    for (int writer = 0; writer < WRITERS; writer++) {
        writers[writer] = fork();
        if (writers[writer] == 0) {
            for (int i = 0; i < KEYS; i++) {
                roost_file *file = opened("shared");
                snprintf(key, sizeof key, "%d %d", writer, i);
                add_text(roost_file_get_filter(file), key);
                assert_ok(roost_file_save(file));
                roost_file_free(file);
            }
            _exit(0);
        }
    }
    for (int writer = 0; writer < WRITERS; writer++)
        assert_int_equal(wait_for(writers[writer]), 0);
    roost_file *file = opened("shared");
    for (int writer = 0; writer < WRITERS; writer++)
        for (int i = 0; i < KEYS; i++) {
            snprintf(key, sizeof key, "%d %d", writer, i);
            assert_true(has_text(roost_file_get_filter(file), key));
        }
    assert_int_equal(info_of(roost_file_get_filter(file)).actors, 1);
    roost_file_free(file);
    assert_false(folder_has_temporaries());
}

/* Killed with everything written and nothing renamed: a child that stops at its last chance to be interrupted. */
static bool stop_at(void *context)
{
    int *calls = context;
    if (--*calls == 0)
        raise(SIGKILL);
    return false;
}

static void a_killed_writer_leaves_the_old_file(void **state)
{
    (void)state;
    create("victim");
    int kills = 0;
    for (int moment = 1;; moment++) {
        pid_t writer = fork();
        if (writer == 0) {
            roost_file *file = opened("victim");
            int calls = moment;
            add_text(roost_file_get_filter(file), "martin");
            roost_file_set_interrupt(file, stop_at, &calls);
            assert_ok(roost_file_save(file));
            _exit(0);
        }
        if (wait_for(writer) == 0)
            break;
        kills++;
        assert_true(folder_has_temporaries());
        roost_file *file = file_of("victim");
        assert_ok(roost_file_load(file, NULL));
        assert_true(has_text(roost_file_get_filter(file), "swift") && !has_text(roost_file_get_filter(file), "martin"));
        assert_int_equal(roost_file_get_replica_status(file), ROOST_REPLICA_RESTORED);
        assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
        assert_false(folder_has_temporaries());
        roost_file_free(file);
    }
    assert_true(kills >= 3); /* frame, section, rename */
    roost_file *file = opened("victim");
    assert_true(has_text(roost_file_get_filter(file), "martin"));
    roost_file_free(file);
}

static volatile sig_atomic_t alarmed;

static void note_alarm(int number)
{
    (void)number;
    alarmed = 1;
}

static bool is_alarmed(void *context)
{
    ++*(int *)context;
    return alarmed;
}

static void a_wait_for_a_lock_can_be_interrupted(void **state)
{
    (void)state;
    create("waiting");
    roost_file *holder = opened("waiting"), *waiter = file_of("waiting");
    struct sigaction action = {.sa_handler = note_alarm}, before;
    int calls = 0, pipes[2];
    sigaction(SIGUSR1, &action, &before);
    roost_file_set_interrupt(waiter, is_alarmed, &calls);
    assert_int_equal(pipe(pipes), 0);
    pid_t parent = getpid(), child = fork();
    if (child == 0) { /* signals until the parent closes the pipe */
        char byte;
        close(pipes[1]);
        fcntl(pipes[0], F_SETFL, O_NONBLOCK);
        while (read(pipes[0], &byte, 1) < 0) {
            kill(parent, SIGUSR1);
            usleep(2000);
        }
        _exit(0);
    }
    close(pipes[0]);
    assert_int_equal(roost_file_lock(waiter, ROOST_LOCK_EXCLUSIVE), ROOST_INTERRUPTED);
    close(pipes[1]);
    int status;
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    sigaction(SIGUSR1, &before, NULL);
    assert_true(calls > 0);
    assert_string_equal(roost_file_get_error(waiter), "interrupted");
    assert_int_equal(roost_file_get_errno(waiter), 0);
    roost_file_free(holder);
    assert_int_equal(roost_file_save(waiter), ROOST_INVALID);
    roost_file_set_interrupt(waiter, NULL, NULL);
    assert_ok(roost_file_lock(waiter, ROOST_LOCK_EXCLUSIVE));
    roost_file_free(waiter);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static void an_interrupted_save_changes_nothing(void **state)
{
    (void)state;
    create("kept");
    roost_buffer before = bytes_in("kept");
    roost_file *file = opened("kept");
    add_text(roost_file_get_filter(file), "martin");
    roost_file_set_interrupt(file, always, NULL);
    assert_int_equal(roost_file_save(file), ROOST_INTERRUPTED);
    roost_buffer after = bytes_in("kept");
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, after.size);
    assert_false(folder_has_temporaries());
    roost_file_set_interrupt(file, NULL, NULL);
    assert_ok(roost_file_save(file));
    assert_int_equal(actor_in("kept", ROOST_REPLICA_RESTORED), roost_filter_get_actor(roost_file_get_filter(file)));
    roost_file_free(file);
    roost_buffer_release(&before);
    roost_buffer_release(&after);
}

/* ---- the system says no ---------------------------------------------------------------------------------------- */

static void errors_of_the_system_are_reported(void **state)
{
    (void)state;
    roost_file *file = file_of("missing");
    assert_int_equal(roost_file_load(file, NULL), ROOST_SYSTEM);
    assert_int_equal(roost_file_get_errno(file), ENOENT);
    assert_string_equal(roost_file_get_error(file), strerror(ENOENT));
    assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
    assert_int_equal(roost_file_load(file, NULL), ROOST_SYSTEM);
    assert_int_equal(roost_file_get_errno(file), ENOENT);
    roost_file_free(file);

    assert_int_equal(mkdir("directory", 0755), 0);
    file = file_of("directory");
    assert_int_equal(roost_file_load(file, NULL), ROOST_SYSTEM);
    assert_int_equal(roost_file_get_errno(file), EISDIR);
    roost_file_free(file);
    file = file_of("/dev/null");
    assert_int_equal(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE), ROOST_INVALID);
    assert_string_equal(roost_file_get_error(file), "not a regular file");
    assert_int_equal(roost_file_load(file, NULL), ROOST_NOT_FRAME);
    assert_string_equal(roost_file_get_error(file), "empty file");
    roost_file_free(file);
    assert_int_equal(symlink("loop", "loop"), 0);
    file = file_of("loop");
    assert_int_equal(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE), ROOST_SYSTEM);
    assert_int_equal(roost_file_get_errno(file), ELOOP);
    roost_file_free(file);
}

static void of_two_creators_one_wins(void **state)
{
    (void)state;
    roost_config config = bloom_config(ROOST_BLOCKED, 100, 0.01);
    roost_file *first = locked("contested"), *second = locked("contested");
    roost_file_set_filter(first, new_filter(&config));
    roost_file_set_filter(second, new_filter(&config));
    assert_true(roost_file_is_current(first));
    assert_ok(roost_file_save(first));
    assert_int_equal(roost_file_save(second), ROOST_SYSTEM);
    assert_int_equal(roost_file_get_errno(second), EEXIST);
    roost_file_free(first);
    roost_file_free(second);
    assert_false(folder_has_temporaries());
}

static void links_and_permissions_stay(void **state)
{
    (void)state;
    struct stat stat;
    create("target");
    assert_int_equal(chmod("target", 0640), 0);
    assert_int_equal(symlink("target", "alias"), 0);
    roost_file *file = opened("alias");
    add_text(roost_file_get_filter(file), "martin");
    assert_ok(roost_file_save(file));
    roost_file_free(file);
    assert_true(lstat("alias", &stat) == 0 && S_ISLNK(stat.st_mode));
    assert_true(lstat("target", &stat) == 0 && S_ISREG(stat.st_mode) && (stat.st_mode & 07777) == 0640);
    assert_true(actor_in("target", ROOST_REPLICA_RESTORED) != 0);
}

static void other_bytes_are_replaced_alike(void **state)
{
    (void)state;
    put_bytes("notes", "old", 3);
    roost_file *file = locked("notes");
    assert_ok(roost_file_begin(file));
    assert_ok(roost_file_write(file, "lost", 4));
    assert_ok(roost_file_begin(file));
    assert_ok(roost_file_write(file, "ne", 2));
    assert_ok(roost_file_write(file, "wer", 3));
    roost_buffer bytes = bytes_in("notes");
    assert_memory_equal(bytes.data, "old", 3);
    roost_buffer_release(&bytes);
    assert_ok(roost_file_commit(file));
    bytes = bytes_in("notes");
    assert_int_equal(bytes.size, 5);
    assert_memory_equal(bytes.data, "newer", 5);
    roost_buffer_release(&bytes);
    assert_ok(roost_file_begin(file));
    assert_ok(roost_file_write(file, "never", 5));
    roost_file_free(file);
    bytes = bytes_in("notes");
    assert_memory_equal(bytes.data, "newer", 5);
    roost_buffer_release(&bytes);
    assert_false(folder_has_temporaries());
}

/* ---- hostile bytes --------------------------------------------------------------------------------------------- */

/* Whatever is behind the frame, the filter is as it was, or the file is refused. */
static void assert_harmless(const void *bytes, size_t size, size_t frame)
{
    put_bytes("hostile", bytes, size);
    roost_file *file = file_of("hostile");
    roost_status status = roost_file_load(file, NULL);
    if (size < frame)
        assert_int_not_equal(status, ROOST_OK);
    if (status == ROOST_OK) {
        assert_true(has_text(roost_file_get_filter(file), "swift"));
        assert_int_equal(roost_filter_get_actor(roost_file_get_filter(file)), 0);
        assert_int_equal(roost_file_get_peer_count(file), 0);
        assert_true(roost_file_get_replica_status(file) ==
                    (size == frame ? ROOST_REPLICA_NEW : roost_file_get_replica_status(file)));
    } else {
        assert_null(roost_file_get_filter(file));
        assert_true(*roost_file_get_error(file) && roost_file_get_errno(file) == 0);
    }
    roost_file_free(file);
}

static void damaged_sections_are_dropped(void **state)
{
    (void)state;
    create("sound");
    roost_file *file = opened("sound");
    assert_ok(roost_file_set_peer_cursor(file, "peer", "cursor", 6));
    assert_ok(roost_file_save(file));
    size_t frame = roost_file_get_frame_size(file);
    roost_file_free(file);
    roost_buffer bytes = bytes_in("sound");
    for (size_t at = 0; at < bytes.size; at++) {
        assert_harmless(bytes.data, at, frame);
        bytes.data[at] ^= (uint8_t)(1 << at % 8);
        assert_harmless(bytes.data, bytes.size, frame);
        bytes.data[at] ^= (uint8_t)(1 << at % 8);
    }
    memset(bytes.data + frame, 'x', bytes.size - frame);
    put_bytes("hostile", bytes.data, bytes.size);
    file = file_of("hostile");
    assert_int_equal(roost_file_load(file, NULL), ROOST_CORRUPT);
    roost_file_free(file);
    roost_buffer_release(&bytes);
}

/* A section with the right checksum and the identity of the file, and a body that makes no sense behind it. */
static void forged_sections_are_dropped(void **state)
{
    (void)state;
    static const uint8_t too_many_peers[] = {0, 65}, long_name[] = {0, 1, 0xff, 0xff, 0x7f}, no_peers[] = {0},
                         replica[] = {3, 1, 2, 3, 0}, more[] = {0, 0, 0};
    static const roost_bytes forged[] = {{too_many_peers, 2}, {long_name, 5}, {no_peers, 1}, {replica, 5}, {more, 3}};
    for (size_t i = 0; i < COUNT_OF(forged); i++) {
        roost_config config = bloom_config(ROOST_BLOCKED, 100, 0.01);
        roost_filter *filter = new_filter(&config);
        roost_buffer frame;
        struct file_identity identity;
        struct bit_writer body, section;
        assert_ok(roost_filter_encode(filter, &frame));
        int descriptor = open("forged", O_RDWR | O_CREAT | O_TRUNC, 0644);
        assert_true(descriptor >= 0 && file_identity_choose(&identity, descriptor));
        bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
        bit_writer_init(&section, allocator_or_default((roost_allocator){0}));
        write_bytes(&body, frame.data + frame.size - 8, 8);
        write_fixed64(&body, identity.device);
        write_fixed64(&body, identity.inode);
        write_fixed64(&body, (uint64_t)identity.birth.tv_sec);
        write_bits(&body, (uint64_t)identity.birth.tv_nsec, 32);
        write_fixed64(&body, (uint64_t)identity.modified.tv_sec);
        write_bits(&body, (uint64_t)identity.modified.tv_nsec, 32);
        write_bytes(&body, forged[i].data, forged[i].size);
        write_bytes(&section, "Rrep\1", 5);
        write_varint(&section, body.buffer.size);
        write_bytes(&section, body.buffer.data, body.buffer.size);
        write_fixed64(&section, roost_filter_hash(filter, section.buffer.data, section.buffer.size).low);
        write_bytes(&section, "Rrep", 4);
        assert_int_equal(write(descriptor, frame.data, frame.size), frame.size);
        assert_int_equal(write(descriptor, section.buffer.data, section.buffer.size), section.buffer.size);
        assert_true(file_identity_stamp(descriptor, &identity));
        close(descriptor);
        assert_int_equal(actor_in("forged", ROOST_REPLICA_DAMAGED), 0);
        bit_writer_release(&body);
        bit_writer_release(&section);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
}

static void the_memory_limit_bounds_a_file(void **state)
{
    (void)state;
    roost_environment environment = {.memory_limit = 1 << 20};
    roost_file *file;
    create("large");
    roost_buffer bytes = bytes_in("large");
    bytes.data[6] = 0xff; /* a frame of 2^35 bytes and more */
    memset(bytes.data + 7, 0xff, 4);
    bytes.data[11] = 1;
    put_bytes("large", bytes.data, 64);
    assert_int_equal(truncate("large", (off_t)1 << 32), 0);
    assert_ok(roost_file_new(&file, "large", &environment));
    assert_int_equal(roost_file_load(file, NULL), ROOST_TOO_LARGE);
    roost_file_free(file);
    roost_buffer_release(&bytes);
}

/* ---- long files: decoded while they are read ------------------------------------------------------------------- */

#define LONG_KINDS   10
#define FIRST_WINDOW 8

static roost_filter *long_window(bool scalable)
{
    roost_config config = roost_window_config_default(ROOST_WINDOW, 3600 * ROOST_SECOND);
    config.capacity = 100000;
    config.scalable = scalable;
    roost_filter *window = new_filter(&config);
    for (uint64_t key = 0; key < 60000; key++)
        assert_ok(roost_window_add(window, NULL, &key, sizeof key, (1000 + key / 20) * ROOST_SECOND));
    return window;
}

static roost_filter *new_long_filter(size_t number)
{
    roost_config configs[LONG_KINDS] = {bloom_config(ROOST_BLOCKED, 100000, 0.01),
                                        bloom_config(ROOST_CLASSIC, 100001, 0.001),
                                        bloom_config(ROOST_BLOCKED, 400000, 0.01), /* few bits, as positions */
                                        cuckoo_config(12, 4, 70000),
                                        orcuckoo_config(24, 64, false, 20000),
                                        bloom_config(ROOST_BLOCKED, 60000, 0.01), /* a series, see below */
                                        cuckoo_config(0, 4, 1000),
                                        orcuckoo_config(0, 64, false, 1000)};
    if (number >= FIRST_WINDOW)
        return long_window(number == FIRST_WINDOW);
    roost_config *config = &configs[number];
    config->scalable = number >= 5;
    config->writers = config->scalable ? 1 : config->writers;
    config->fpr = config->scalable ? 0.01 : config->fpr;
    roost_filter *filter = new_filter(config);
    for (uint64_t key = 0; key < (config->kind == ROOST_ORCUCKOO ? 20000u : 100000u); key++)
        if (number != 3 || key < 70000)
            assert_ok(roost_filter_add(filter, NULL, &key, sizeof key));
    return filter;
}

/* Filters whose frames are longer than what is read of a file at first. Each is made once. */
static roost_filter *long_filter(size_t number)
{
    static roost_filter *made[LONG_KINDS];
    if (!made[number])
        made[number] = new_long_filter(number);
    return clone_of(made[number]);
}

static void save_filter(const char *path, roost_filter *filter)
{
    roost_file *file = locked(path);
    roost_file_set_filter(file, filter);
    assert_ok(roost_file_save(file));
    roost_file_free(file);
}

/* What is saved is the frame, whatever it was written from; what is loaded is the filter. */
static void long_files_are_what_they_were(void **state)
{
    (void)state;
    for (size_t number = 0; number < LONG_KINDS; number++) {
        roost_filter *filter = long_filter(number), *copy = clone_of(filter);
        roost_buffer frame;
        assert_ok(roost_filter_encode(filter, &frame));
        assert_true(frame.size > 70000);
        unlink("long");
        save_filter("long", filter);
        roost_buffer bytes = bytes_in("long");
        assert_true(bytes.size >= frame.size && memcmp(bytes.data, frame.data, frame.size) == 0);
        roost_file *file = opened("long");
        assert_int_equal(roost_file_get_frame_size(file), frame.size);
        assert_same_digest(copy, roost_file_get_filter(file));
        assert_same_frame(copy, roost_file_get_filter(file));
        assert_ok(roost_filter_check(roost_file_get_filter(file)));
        assert_int_equal(roost_file_get_replica_status(file),
                         bytes.size > frame.size ? ROOST_REPLICA_RESTORED : ROOST_REPLICA_NEW);
        roost_file_free(file);
        roost_buffer_release(&bytes);
        roost_buffer_release(&frame);
        roost_filter_free(copy);
    }
}

/* No kind needs its bytes twice: decoding while reading succeeds. */
struct tap {
    roost_buffer *frame;
    size_t next;
};

static bool drink(void *context, uint8_t *bytes, size_t size)
{
    struct tap *tap = context;
    if (tap->next + size > tap->frame->size)
        return false;
    memcpy(bytes, tap->frame->data + tap->next, size);
    tap->next += size;
    return true;
}

static void every_kind_is_decoded_while_it_is_read(void **state)
{
    (void)state;
    for (size_t number = 0; number < LONG_KINDS; number++) {
        roost_filter *filter = long_filter(number), *decoded;
        roost_environment environment = environment_or_default(NULL);
        roost_buffer frame;
        assert_ok(roost_filter_encode(filter, &frame));
        uint8_t *room = calloc(1, frame.size);
        for (size_t ready = 64; ready < frame.size - 8; ready += frame.size / (is_brief() ? 2 : 5)) {
            struct tap tap = {&frame, ready};
            struct frame_input input = {room, frame.size, ready, drink, &tap};
            memcpy(room, frame.data, ready);
            assert_ok(frame_input_decode(&decoded, &input, &environment));
            assert_same_frame(filter, decoded);
            assert_memory_equal(room + frame.size - 8, frame.data + frame.size - 8, 8);
            roost_filter_free(decoded);
            frame.data[frame.size / 2] ^= 16;
            tap.next = ready;
            memcpy(room, frame.data, ready);
            assert_int_not_equal(frame_input_decode(&decoded, &input, &environment), ROOST_OK);
            assert_null(decoded);
            frame.data[frame.size / 2] ^= 16;
        }
        free(room);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
}

/* Whatever is wrong with a long file, the status is that of its bytes. */
static void assert_as_decoded(const roost_buffer *bytes, size_t size)
{
    roost_filter *decoded, *loaded;
    roost_status expected = roost_file_decode(&decoded, bytes->data, size, NULL);
    put_bytes("damaged", bytes->data, size);
    roost_file *file = file_of("damaged");
    assert_int_equal(roost_file_load(file, NULL), expected);
    assert_int_equal(roost_file_get_filter(file) != NULL, expected == ROOST_OK);
    assert_int_equal(roost_file_read(file, &loaded), expected);
    assert_int_equal(loaded != NULL, expected == ROOST_OK);
    assert_int_equal(*roost_file_get_error(file) != 0, expected != ROOST_OK);
    roost_filter_free(decoded);
    roost_filter_free(loaded);
    roost_file_free(file);
}

static void long_files_that_are_damaged_are_refused(void **state)
{
    (void)state;
    for (size_t number = 0; number < LONG_KINDS; number++) {
        unlink("long");
        save_filter("long", long_filter(number));
        roost_buffer bytes = bytes_in("long");
        size_t stride = stride_of(5), long_stride = bytes.size / (is_long() ? 40 : is_brief() ? 8 : 14);
        for (size_t at = 0; at < bytes.size; at += at < 48 || at + 20 > bytes.size ? stride : long_stride) {
            bytes.data[at] ^= (uint8_t)(1 << at % 8);
            assert_as_decoded(&bytes, bytes.size);
            bytes.data[at] ^= (uint8_t)(1 << at % 8);
            if (at % 7 == 0)
                assert_as_decoded(&bytes, at + bytes.size / 80);
        }
        bytes.data[bytes.size] = 'x';
        assert_as_decoded(&bytes, bytes.size + 1);
        roost_buffer_release(&bytes);
    }
}

static void fill(roost_filter *filter, uint64_t count)
{
    for (uint64_t key = 0; key < count; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
}

/* Bytes that are allocated, now and at most. Each block has its size in front. */
struct bytes_meter {
    size_t now, most;
};

static void *count_bytes(void *context, size_t size)
{
    struct bytes_meter *meter = context;
    size_t *block = calloc(1, size + CACHE_LINE);
    meter->now += *block = size;
    meter->most = meter->now > meter->most ? meter->now : meter->most;
    return (uint8_t *)block + CACHE_LINE;
}

static void discount_bytes(void *context, void *memory)
{
    struct bytes_meter *meter = context;
    size_t *block = (size_t *)(void *)((uint8_t *)memory - CACHE_LINE);
    meter->now -= *block;
    free(block);
}

/* The frame of a large table is written while it is encoded, and is not in memory; what is behind it is as ever. */
static void a_large_table_is_passed_on(void **state)
{
    (void)state;
    const uint64_t usual = class_keys_at_once;
    struct bytes_meter meter = {0};
    roost_environment environment = {.allocator = {&meter, count_bytes, discount_bytes}};
    roost_config config = cuckoo_config(20, 4, 600000);
    roost_filter *filter;
    roost_file *file;
    roost_buffer frame;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    fill(filter, config.capacity);
    assert_true(frame_is_passed_on(filter));
    assert_ok(roost_filter_encode(filter, &frame));
    unlink("passed-on");
    assert_ok(roost_file_new(&file, "passed-on", &environment));
    assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
    roost_file_set_filter(file, filter);
    assert_ok(roost_file_set_peer_cursor(file, "peer", "cursor", 6));
    meter.most = meter.now;
    class_keys_at_once = 60000;
    assert_ok(roost_file_save(file));
    class_keys_at_once = usual;
    assert_true(meter.most - meter.now < frame.size * 3 / 4);
    assert_int_equal(roost_file_get_frame_size(file), frame.size);
    roost_file_free(file);
    roost_buffer bytes = bytes_in("passed-on");
    assert_true(bytes.size > frame.size && memcmp(bytes.data, frame.data, frame.size) == 0);
    file = opened("passed-on");
    assert_int_equal(roost_file_get_replica_status(file), ROOST_REPLICA_RESTORED);
    assert_int_equal(roost_file_get_peer_cursor(file, "peer").size, 6);
    assert_ok(roost_filter_check(roost_file_get_filter(file)));
    roost_file_free(file);
    roost_buffer_release(&bytes);
    roost_buffer_release(&frame);
    assert_int_equal(meter.now, 0);
}

/* Kilobytes of memory that a process of its own takes at most to add to a file. */
static long memory_to_add(const char *path)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        uint64_t key = 1;
        roost_file *file = opened(path);
        assert_ok(roost_filter_add(roost_file_get_filter(file), NULL, &key, sizeof key));
        assert_ok(roost_file_save(file));
        _exit(0);
    }
    assert_true(wait4(child, &status, 0, &usage) == child && status == 0);
    return usage.ru_maxrss;
}

/* A file and its filter are not both in memory, neither when it is loaded nor when it is saved. */
static void a_large_file_takes_little_more_memory_than_its_size(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* what sanitizers take hides it */
    roost_config config = bloom_config(ROOST_BLOCKED, 24000000, 0.01);
    roost_filter *filter = new_filter(&config);
    static roost_hash hashes[4096];
    struct random_source random = random_from_seed(7);
    for (uint64_t i = 0; i < config.capacity; i += COUNT_OF(hashes)) {
        for (size_t j = 0; j < COUNT_OF(hashes); j++)
            hashes[j] = (roost_hash){random_next(&random), random_next(&random)};
        assert_ok(roost_filter_add_many_hash(filter, NULL, NULL, hashes, COUNT_OF(hashes)));
    }
    create("small");
    save_filter("large-bloom", filter); /* and freed */
    long small = memory_to_add("small"), large = memory_to_add("large-bloom"), file = 24000000L * 10 / 8 / 1024;
    assert_true(large - small < file * 5 / 4);
}

/* ---- every allocation fails ------------------------------------------------------------------------------------ */

/* All that a program does with a file, until the first failure. */
static roost_status use_file(const roost_environment *environment)
{
    roost_file *file = NULL;
    roost_filter *copy = NULL;
    roost_status status = roost_file_new(&file, "metered", environment);
    if (status == ROOST_OK)
        status = roost_file_lock(file, ROOST_LOCK_EXCLUSIVE);
    if (status == ROOST_OK)
        status = roost_file_load(file, NULL);
    if (status == ROOST_OK)
        assert_int_equal(roost_file_get_replica_status(file), ROOST_REPLICA_RESTORED);
    if (status == ROOST_OK)
        status = roost_file_set_peer_cursor(file, "peer", "other", 5);
    if (status == ROOST_OK)
        status = roost_file_save(file);
    if (status == ROOST_OK)
        status = roost_file_read(file, &copy);
    if (status == ROOST_OK)
        status = roost_file_reset_replica(file);
    if (file)
        assert_int_equal(status != ROOST_OK, *roost_file_get_error(file) != 0);
    roost_filter_free(copy);
    roost_file_free(file);
    return status;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    create("metered");
    uint64_t actor = actor_in("metered", ROOST_REPLICA_RESTORED);
    for (int recovers = 0; recovers < 2; recovers++) {
        int64_t failing = 0;
        roost_status status;
        do {
            struct meter meter;
            roost_environment environment = {.allocator = allocator_of(&meter)};
            meter.allowed = failing++;
            meter.recovers = recovers;
            status = use_file(&environment);
            assert_true(status == ROOST_OK || status == ROOST_NO_MEMORY);
            assert_true(meter.failures > 0 || status == ROOST_OK);
            assert_int_equal(meter.outstanding, 0);
            assert_int_equal(actor_in("metered", ROOST_REPLICA_RESTORED), actor);
            if (meter.failures == 0)
                break;
        } while (failing < 1000);
        assert_int_equal(status, ROOST_OK);
        assert_true(failing > 10);
    }
    assert_false(folder_has_temporaries());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(a_file_is_read_as_a_new_replica),
        cmocka_unit_test(a_filter_without_a_replica_is_a_plain_frame),
        cmocka_unit_test(a_load_reads_only_what_changed),
        cmocka_unit_test(a_copy_is_a_new_replica),
        cmocka_unit_test(an_old_state_that_is_written_back_is_a_new_replica),
        cmocka_unit_test(a_link_that_is_made_meanwhile_loses_the_replica),
        cmocka_unit_test(a_new_replica_can_be_forced),
        cmocka_unit_test(the_latest_peers_are_kept),
        cmocka_unit_test(cursors_make_the_next_sync_small),
        cmocka_unit_test(locks_exclude_each_other),
        cmocka_unit_test(only_an_exclusive_lock_allows_a_save),
        cmocka_unit_test(writers_wait_for_each_other),
        cmocka_unit_test(a_killed_writer_leaves_the_old_file),
        cmocka_unit_test(a_wait_for_a_lock_can_be_interrupted),
        cmocka_unit_test(an_interrupted_save_changes_nothing),
        cmocka_unit_test(errors_of_the_system_are_reported),
        cmocka_unit_test(of_two_creators_one_wins),
        cmocka_unit_test(links_and_permissions_stay),
        cmocka_unit_test(other_bytes_are_replaced_alike),
        cmocka_unit_test(damaged_sections_are_dropped),
        cmocka_unit_test(forged_sections_are_dropped),
        cmocka_unit_test(the_memory_limit_bounds_a_file),
        cmocka_unit_test(long_files_are_what_they_were),
        cmocka_unit_test(every_kind_is_decoded_while_it_is_read),
        cmocka_unit_test(long_files_that_are_damaged_are_refused),
        cmocka_unit_test(a_large_table_is_passed_on),
        cmocka_unit_test(a_large_file_takes_little_more_memory_than_its_size),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
