/*
 * A fork copies filters, with their actors and journals. Parent and child go on, and are two replicas: no dot, no share
 * and no cursor of one of them is ever taken for one of the other.
 */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A window has slots of 90 keys each. */
#define TIME_OF(key) (UINT64_C(1699999200000000) + (key)*10000000)

enum { BEFORE = 100, MORE = 40, KINDS = 12 };

static roost_config config_of(unsigned number)
{
    roost_config config = roost_config_default();
    config.capacity = 1000;
    switch (number) {
    case 0:
        return orcuckoo_config(24, 64, false, 1000);
    case 1:
        return orcuckoo_config(8, 32, true, 1000);
    case 2: /* Bloom filters of fixed size and series of them */
    case 3:
        config.scalable = number == 3;
        return config;
    case 4: /* a counter that grows; those of fixed size, and a window of fixed size */
    case 9:
    case 10:
    case 11:
        config = roost_window_config_default(number == 11 ? ROOST_WINDOW : ROOST_COUNTER, UINT64_C(3600000000));
        config.capacity = 1000;
        config.layout = number == 10 ? ROOST_CLASSIC : ROOST_BLOCKED;
        config.scalable = number == 4;
        return config;
    default: /* 5 and 6: with removal, of which 6 is remove-wins; 7: a multiset; 8: without removal */
        config.kind = number == 8 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
        config.scalable = true;
        config.capacity = 0;
        config.semantics = number == 6 ? ROOST_REMOVE_WINS : ROOST_ADD_WINS;
        config.multiset = number == 7;
        return config;
    }
}

static bool has_actor(unsigned number)
{
    return number != 2 && number != 8 && number != 11;
}

static void put(roost_filter *filter, uint64_t from, uint64_t count)
{
    for (uint64_t key = from; key < from + count; key++) {
        if (roost_filter_get_config(filter)->kind == ROOST_COUNTER)
            assert_ok(roost_counter_increment(filter, NULL, NULL, &key, sizeof key, 1, TIME_OF(key)));
        else if (roost_filter_get_config(filter)->kind == ROOST_WINDOW)
            assert_ok(roost_window_add(filter, NULL, &key, sizeof key, TIME_OF(key)));
        else
            assert_ok(roost_filter_add(filter, NULL, &key, sizeof key));
    }
}

static void assert_has(const roost_filter *filter, uint64_t count)
{
    int64_t value;
    if (roost_filter_get_config(filter)->kind == ROOST_COUNTER) {
        assert_ok(roost_counter_get_value(filter, &value));
        assert_int_equal(value, count);
        return;
    }
    for (uint64_t key = 0; key < count; key++)
        assert_true(roost_filter_contains(filter, &key, sizeof key));
    assert_ok(roost_filter_check(filter));
}

/* ---- what a child sends ------------------------------------------------------------------------------------------ */

struct message {
    roost_cursor cursor;
    uint64_t inherited, actor; /* when it began, and after its additions */
    uint64_t saved;            /* bytes of the replica that it inherited */
    uint64_t size;
    uint8_t frame[1 << 16];
};

static void send_all(int end, const void *bytes, size_t size)
{
    for (ssize_t done; size > 0; bytes = (const uint8_t *)bytes + done, size -= (size_t)done)
        if ((done = write(end, bytes, size)) <= 0)
            _exit(1);
}

static void live_as_child(roost_filter *filter, uint64_t from, uint64_t count, int end)
{
    static struct message message;
    roost_buffer frame, replica;
    message.inherited = roost_filter_get_actor(filter);
    assert_ok(roost_filter_save_replica(filter, &replica));
    message.saved = replica.size;
    put(filter, from, count);
    message.actor = roost_filter_get_actor(filter);
    assert_ok(roost_filter_get_cursor(filter, &message.cursor));
    assert_ok(roost_filter_encode(filter, &frame));
    message.size = frame.size;
    memcpy(message.frame, frame.data, frame.size < sizeof message.frame ? frame.size : 0);
    send_all(end, &message, sizeof message);
    _exit(0);
}

/* Adds keys in a forked process, and returns what that says. */
static struct message *message_of_child(roost_filter *filter, uint64_t from, uint64_t count)
{
    int ends[2], status;
    struct message *message = calloc(1, sizeof *message);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        live_as_child(filter, from, count, ends[1]);
    close(ends[1]);
    for (size_t done = 0; done < sizeof *message;) {
        ssize_t some = read(ends[0], (uint8_t *)message + done, sizeof *message - done);
        assert_true(some > 0);
        done += (size_t)some;
    }
    close(ends[0]);
    assert_true(waitpid(child, &status, 0) == child && status == 0 && message->size <= sizeof message->frame);
    return message;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void merge_with_child(unsigned number, bool journalled)
{
    const roost_config config = config_of(number);
    roost_filter *parent = new_filter(&config), *child;
    roost_cursor cursor;
    put(parent, 0, BEFORE);
    if (journalled)
        assert_ok(roost_filter_get_cursor(parent, &cursor));
    uint64_t actor = roost_filter_get_actor(parent);
    struct message *message = message_of_child(parent, BEFORE, MORE);
    put(parent, BEFORE + MORE, MORE);
    assert_int_equal(roost_filter_get_actor(parent), actor);
    assert_true(message->inherited == 0 && message->saved == 0);
    assert_int_equal(message->actor != 0, has_actor(number));
    assert_true(message->actor == 0 || message->actor != actor);
    assert_ok(roost_filter_decode(&child, message->frame, message->size, NULL));
    assert_ok(roost_filter_merge(child, NULL, parent));
    assert_ok(roost_filter_merge(parent, NULL, child));
    assert_true(roost_filter_equal(parent, child));
    assert_has(parent, BEFORE + 2 * MORE);
    FREE_ALL(parent, child);
    free(message);
}

static void a_child_is_another_replica(void **state)
{
    (void)state;
    for (unsigned number = 0; number < KINDS; number++)
        for (int journalled = 0; journalled < 2; journalled++)
            merge_with_child(number, journalled);
}

/* The parent has as many changes since the fork as the child, and others. */
static void a_cursor_of_a_child_is_none_of_its_parent(void **state)
{
    (void)state;
    for (unsigned number = 0; number < KINDS; number++) {
        const roost_config config = config_of(number);
        roost_filter *parent = new_filter(&config), *peer;
        roost_cursor cursor;
        roost_buffer delta;
        put(parent, 0, BEFORE);
        assert_ok(roost_filter_get_cursor(parent, &cursor));
        struct message *message = message_of_child(parent, BEFORE, MORE);
        put(parent, BEFORE + MORE, MORE);
        assert_ok(roost_filter_decode(&peer, message->frame, message->size, NULL));
        assert_ok(roost_filter_encode_delta(parent, &delta, &cursor, &message->cursor));
        assert_ok(roost_filter_merge_frame(peer, NULL, delta.data, delta.size));
        assert_has(peer, BEFORE + 2 * MORE);
        roost_buffer_release(&delta);
        FREE_ALL(parent, peer);
        free(message);
    }
}

/* What came before the fork was journalled; the child's journal counts from 1 again. */
static void tell_what_changed(roost_filter *filter)
{
    roost_filter *before;
    roost_cursor cursor;
    roost_buffer delta;
    assert_ok(roost_filter_get_cursor(filter, &cursor));
    assert_ok(roost_filter_clone(filter, &before));
    put(filter, BEFORE, MORE);
    assert_copy_says_the_same(filter, &cursor);
    assert_ok(roost_filter_encode_delta(filter, &delta, &cursor, &cursor));
    assert_ok(roost_filter_merge_frame(before, NULL, delta.data, delta.size));
    _exit(!roost_filter_equal(before, filter));
}

static void a_child_tells_what_changed(void **state)
{
    (void)state;
    for (unsigned number = 0; number < KINDS; number++) {
        const roost_config config = config_of(number);
        roost_filter *filter = new_filter(&config);
        roost_cursor cursor;
        int status;
        assert_ok(roost_filter_get_cursor(filter, &cursor));
        put(filter, 0, BEFORE);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            tell_what_changed(filter);
        assert_true(waitpid(child, &status, 0) == child && status == 0);
        roost_filter_free(filter);
    }
}

static void a_filter_made_in_a_child_keeps_its_replica(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const roost_config config = config_of(0);
        roost_filter *filter = new_filter(&config);
        roost_cursor first, second;
        put(filter, 0, 1);
        uint64_t actor = roost_filter_get_actor(filter);
        assert_ok(roost_filter_get_cursor(filter, &first));
        put(filter, 1, 10);
        assert_ok(roost_filter_get_cursor(filter, &second));
        _exit(!(actor != 0 && roost_filter_get_actor(filter) == actor && first.incarnation == second.incarnation));
    }
    assert_true(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- random families ---------------------------------------------------------------------------------------------- */

/* A filter in one process of a family. Each key is added by one of them, whichever takes the next number. */
struct life {
    roost_filter *filter;
    struct random_source random;
    uint64_t *next_key; /* shared by the family */
    unsigned generations;
    roost_filter *before; /* the filter as it was at the cursor */
    roost_cursor cursor;
};

/* A delta since then has all that changed, and a copy with the journal says the same. */
static void look_back(struct life *life)
{
    roost_buffer delta;
    roost_cursor next;
    if (life->before) {
        assert_copy_says_the_same(life->filter, &life->cursor);
        assert_ok(roost_filter_encode_delta(life->filter, &delta, &next, &life->cursor));
        assert_ok(roost_filter_merge_frame(life->before, NULL, delta.data, delta.size));
        assert_true(roost_filter_equal(life->before, life->filter));
        roost_buffer_release(&delta);
        roost_filter_free(life->before);
    }
    assert_ok(roost_filter_get_cursor(life->filter, &life->cursor));
    assert_ok(roost_filter_clone(life->filter, &life->before));
}

static void live(struct life *life);

static void live_and_report(struct life *life, int end)
{
    roost_buffer frame;
    life->generations--;
    drawn_numbers = random_from_seed(random_next(&life->random));
    life->random = random_from_seed(random_next(&drawn_numbers));
    live(life);
    assert_ok(roost_filter_encode(life->filter, &frame));
    send_all(end, frame.data, frame.size);
    _exit(0);
}

/* Goes on while a child lives, and merges what it says. */
static void have_child(struct life *life)
{
    static uint8_t frame[1 << 16];
    int ends[2], status;
    size_t size = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        live_and_report(life, ends[1]);
    close(ends[1]);
    put(life->filter, __atomic_fetch_add(life->next_key, 2, __ATOMIC_RELAXED), 2);
    for (ssize_t some; (some = read(ends[0], frame + size, sizeof frame - size)) > 0;)
        size += (size_t)some;
    close(ends[0]);
    assert_true(waitpid(child, &status, 0) == child && status == 0 && size < sizeof frame);
    assert_ok(roost_filter_merge_frame(life->filter, NULL, frame, size));
}

static void live(struct life *life)
{
    for (uint32_t steps = 3 + random_choice(&life->random, 8); steps > 0; steps--) {
        uint32_t choice = random_choice(&life->random, 8);
        if (choice == 0)
            look_back(life);
        else if (choice == 1 && life->generations > 0)
            have_child(life);
        else
            put(life->filter, __atomic_fetch_add(life->next_key, 3, __ATOMIC_RELAXED), 3);
    }
    look_back(life);
}

static void families_agree(void **state)
{
    uint64_t *next_key = mmap(NULL, sizeof *next_key, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(next_key != MAP_FAILED);
    for (unsigned number = 0; number < KINDS; number++)
        for (uint64_t round = 0; round < 8; round++) {
            const roost_config config = config_of(number);
            struct life life = {.filter = new_filter(&config), .next_key = next_key, .generations = 3};
            life.random = random_from_seed(test_seed(round * KINDS + number));
            *next_key = 0;
            for (unsigned children = 0; children < 3; children++) {
                live(&life);
                have_child(&life);
            }
            look_back(&life);
            assert_has(life.filter, *next_key);
            FREE_ALL(life.before, life.filter);
        }
    munmap(next_key, sizeof *next_key);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static roost_file *opened(const char *path, bool is_new)
{
    const roost_config config = config_of(0);
    roost_file *file;
    assert_ok(roost_file_new(&file, path, NULL));
    assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
    if (is_new)
        roost_file_set_filter(file, new_filter(&config));
    else
        assert_ok(roost_file_load(file, NULL));
    return file;
}

/* The lock came along, and does not keep the two apart. */
static void a_file_belongs_to_the_process_that_locked_it(void **state)
{
    char path[] = "/tmp/roost-fork-XXXXXX";
    int status;
    (void)state;
    close(mkstemp(path));
    roost_file *file = opened(path, true);
    put(roost_file_get_filter(file), 0, BEFORE);
    assert_ok(roost_file_save(file));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        put(roost_file_get_filter(file), BEFORE, MORE);
        bool refused = roost_file_save(file) == ROOST_BUSY && strstr(roost_file_get_error(file), "forked");
        roost_file_unlock(file);
        _exit(!(refused && roost_file_try_lock(file, ROOST_LOCK_EXCLUSIVE) == ROOST_BUSY));
    }
    assert_true(waitpid(child, &status, 0) == child && status == 0);
    put(roost_file_get_filter(file), BEFORE, 2 * MORE);
    assert_ok(roost_file_save(file));
    roost_file_free(file);
    file = opened(path, false);
    assert_has(roost_file_get_filter(file), BEFORE + 2 * MORE);
    roost_file_free(file);
    unlink(path);
}

/* A child that does not know of the file lives on: it was forked by another thread, to run a program. */
static void a_child_does_not_keep_a_file_locked(void **state)
{
    char path[] = "/tmp/roost-fork-XXXXXX";
    (void)state;
    close(mkstemp(path));
    for (int is_saved = 0; is_saved < 2; is_saved++) {
        roost_file *file = opened(path, true);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            pause();
            _exit(0);
        }
        if (is_saved)
            assert_ok(roost_file_save(file));
        roost_file_unlock(file);
        roost_status again = roost_file_try_lock(file, ROOST_LOCK_EXCLUSIVE);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_ok(again);
        roost_file_free(file);
    }
    unlink(path);
}

/* What a parent has begun is not the child's to go on with, and not to remove. */
static void what_was_begun_stays_with_the_parent(void **state)
{
    char path[] = "/tmp/roost-fork-XXXXXX", text[8] = {0};
    int status, descriptor = mkstemp(path);
    (void)state;
    for (int is_new = 0; is_new < 2; is_new++) {
        roost_file *file;
        if (is_new)
            unlink(path);
        assert_ok(roost_file_new(&file, path, NULL));
        assert_ok(roost_file_lock(file, ROOST_LOCK_EXCLUSIVE));
        assert_ok(roost_file_begin(file));
        assert_ok(roost_file_write(file, "par", 3));
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bool refused = roost_file_write(file, "child", 5) == ROOST_BUSY && roost_file_commit(file) == ROOST_BUSY &&
                           roost_file_begin(file) == ROOST_BUSY && strstr(roost_file_get_error(file), "forked");
            roost_file_free(file);
            _exit(!refused);
        }
        assert_true(waitpid(child, &status, 0) == child && status == 0);
        assert_ok(roost_file_write(file, "ent", 3));
        assert_ok(roost_file_commit(file));
        roost_file_free(file);
        close(descriptor);
        descriptor = open(path, O_RDONLY);
        assert_int_equal(read(descriptor, text, sizeof text), 6);
        assert_string_equal(text, "parent");
    }
    close(descriptor);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_another_replica),
        cmocka_unit_test(a_cursor_of_a_child_is_none_of_its_parent),
        cmocka_unit_test(a_child_tells_what_changed),
        cmocka_unit_test(a_filter_made_in_a_child_keeps_its_replica),
        cmocka_unit_test(families_agree),
        cmocka_unit_test(a_file_belongs_to_the_process_that_locked_it),
        cmocka_unit_test(a_child_does_not_keep_a_file_locked),
        cmocka_unit_test(what_was_begun_stays_with_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
