/*
 * The parts of client/ that need no server: the loop, the resolver, names of servers, slots, and the parser of replies,
 * with hostile input for all but the first. What needs servers is in tests/module/deployment.py.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <pthread.h>

#include "client/cluster_slots.h"
#include "client/event_loop.h"
#include "client/reply_reader.h"
#include "client/resolver.h"
#include "client/secrets.h"

/* ---- the loop -------------------------------------------------------------------------------------------------- */

struct stage {
    struct event_loop *loop;
    char said[256];
    struct timer *victim;
    struct watch *watches[4];
    int pipes[4][2], chain;
};

static void say(struct stage *stage, const char *word)
{
    strcat(stage->said, word);
}

static void stage_open(struct stage *stage)
{
    *stage = (struct stage){.loop = event_loop_new()};
    assert_non_null(stage->loop);
    for (size_t i = 0; i < COUNT_OF(stage->pipes); i++) {
        assert_int_equal(pipe(stage->pipes[i]), 0);
        assert_int_equal(write(stage->pipes[i][1], "x", 1), 1);
    }
}

static void stage_close(struct stage *stage)
{
    event_loop_free(stage->loop);
    for (size_t i = 0; i < COUNT_OF(stage->pipes); i++) {
        close(stage->pipes[i][0]);
        close(stage->pipes[i][1]);
    }
}

static void say_a(void *context)
{
    say(context, "a");
}

static void say_b_and_remove(void *context)
{
    struct stage *stage = context;
    say(stage, "b");
    timer_remove(stage->victim);
    stage->victim = NULL;
}

static void say_victim(void *context)
{
    say(context, "victim");
}

static void stop(void *context)
{
    struct stage *stage = context;
    say(stage, "stop");
    event_loop_stop(stage->loop);
}

static void timers_come_in_order(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    /* The longest delays last, so that a machine that pauses in between does not change the order. */
    for (int i = 0; i < 3; i++)
        timer_add(stage.loop, 5, say_a, &stage);
    timer_add(stage.loop, 10, say_b_and_remove, &stage);
    stage.victim = timer_add(stage.loop, 20, say_victim, &stage);
    timer_add(stage.loop, 30, stop, &stage);
    timer_add(stage.loop, 3600000, say_victim, &stage); /* freed with the loop */
    timer_remove(timer_add(stage.loop, 1, say_victim, &stage));
    event_loop_run(stage.loop);
    assert_string_equal(stage.said, "aaabstop");
    stage_close(&stage);
}

struct draw {
    struct stage *stage;
    uint64_t when;
};

static uint64_t last_drawn;

static void check_draw(void *context)
{
    struct draw *draw = context;
    assert_true(draw->when >= last_drawn);
    last_drawn = draw->when;
    draw->stage->chain++;
}

/* Many timers, many of them removed again, come in order. */
static void many_timers(void **state)
{
    struct stage stage;
    static struct draw draws[2000];
    static struct timer *timers[2000];
    struct random_source random = random_from_seed(test_seed(7));
    int kept = 0;
    (void)state;
    stage_open(&stage);
    last_drawn = 0;
    uint64_t begin = event_loop_now(stage.loop);
    for (size_t i = 0; i < COUNT_OF(draws); i++) {
        uint64_t delay = random_next(&random) % 40, before = event_loop_now(stage.loop) - begin;
        timers[i] = timer_add(stage.loop, delay, check_draw, &draws[i]);
        /* The time of a timer is known only if the clock did not advance while it was added. */
        draws[i] = (struct draw){&stage, event_loop_now(stage.loop) - begin == before ? before + delay : 0};
        if (draws[i].when == 0 || random_next(&random) % 3 == 0)
            timer_remove(timers[i]);
        else
            kept++;
    }
    timer_add(stage.loop, 60, stop, &stage);
    event_loop_run(stage.loop);
    assert_int_equal(stage.chain, kept);
    assert_true(kept > 500);
    stage_close(&stage);
}

/* The first callback removes all watches, its own included, and adds another one on the same descriptor. */
static void second_watch(void *context, unsigned events)
{
    struct stage *stage = context;
    assert_true(events & READABLE);
    say(stage, "second");
    event_loop_stop(stage->loop);
}

static void remove_all(void *context, unsigned events)
{
    struct stage *stage = context;
    assert_true(events & READABLE);
    say(stage, "first");
    for (size_t i = 0; i < COUNT_OF(stage->watches); i++) {
        watch_remove(stage->watches[i]);
        stage->watches[i] = NULL;
    }
    assert_non_null(watch_add(stage->loop, stage->pipes[2][0], READABLE, second_watch, stage));
}

static void watches_are_removed_within_callbacks(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    for (size_t i = 0; i < COUNT_OF(stage.watches); i++)
        stage.watches[i] = watch_add(stage.loop, stage.pipes[i][0], READABLE, remove_all, &stage);
    event_loop_run(stage.loop);
    assert_string_equal(stage.said, "firstsecond");
    watch_remove(NULL);
    timer_remove(NULL);
    event_loop_free(NULL);
    stage_close(&stage);
}

/* A chain of timers without delay lets descriptors have their turn. */
static void chain_link(void *context)
{
    struct stage *stage = context;
    stage->chain++;
    timer_add(stage->loop, 0, chain_link, stage);
}

static void drain(void *context, unsigned events)
{
    struct stage *stage = context;
    assert_int_equal(events, WRITABLE);
    if (stage->chain > 20)
        event_loop_stop(stage->loop);
}

static void nobody_starves(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    struct watch *watch = watch_add(stage.loop, stage.pipes[0][1], READABLE, drain, &stage);
    watch_change(watch, WRITABLE);
    chain_link(&stage);
    event_loop_run(stage.loop);
    assert_true(stage.chain > 20);
    stage_close(&stage);
}

/* ---- the resolver ---------------------------------------------------------------------------------------------- */

/*
 * A name server that answers when it is told to. Takes the place of the C library's function for the whole program:
 * names that end in ".slow" stand for 127.0.0.1 once they are released, other ones for nothing.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool released;
    int asked, initiator, most;
} name_server = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, 0, 0};

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **addresses)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    size_t size = strlen(host);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (hints->ai_flags & AI_NUMERICHOST)
        return real(host, service, hints, addresses);
    pthread_mutex_lock(&name_server.lock);
    name_server.asked++;
    name_server.initiator++;
    name_server.most = name_server.initiator > name_server.most ? name_server.initiator : name_server.most;
    while (!name_server.released)
        pthread_cond_wait(&name_server.changed, &name_server.lock);
    name_server.initiator--;
    pthread_mutex_unlock(&name_server.lock);
    return size > 5 && strcmp(host + size - 5, ".slow") == 0 ? real("127.0.0.1", service, hints, addresses)
           : strcmp(host, "again") == 0                      ? EAI_AGAIN
                                                             : EAI_NONAME;
}

static void name_server_answers(bool released)
{
    pthread_mutex_lock(&name_server.lock);
    name_server.released = released;
    pthread_cond_broadcast(&name_server.changed);
    pthread_mutex_unlock(&name_server.lock);
}

static int name_server_was_asked(void)
{
    pthread_mutex_lock(&name_server.lock);
    int asked = name_server.asked;
    pthread_mutex_unlock(&name_server.lock);
    return asked;
}

static int most_at_once(void)
{
    pthread_mutex_lock(&name_server.lock);
    int most = name_server.most;
    pthread_mutex_unlock(&name_server.lock);
    return most;
}

static bool name_server_is_idle(void)
{
    pthread_mutex_lock(&name_server.lock);
    bool idle = name_server.initiator == 0;
    pthread_mutex_unlock(&name_server.lock);
    return idle;
}

struct inquiry {
    struct event_loop *loop;
    struct lookup *lookup;
    int answers, stop_after;
    char said[600];
};

static void note_answer(void *context, const struct addrinfo *addresses, const char *error)
{
    struct inquiry *inquiry = context;
    char host[64] = "";
    if (addresses)
        assert_int_equal(
            getnameinfo(addresses->ai_addr, addresses->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST), 0);
    snprintf(inquiry->said + strlen(inquiry->said), sizeof inquiry->said - strlen(inquiry->said), "[%s]",
             addresses ? host : error);
    if (++inquiry->answers == inquiry->stop_after)
        event_loop_stop(inquiry->loop);
}

static void stop_loop(void *loop)
{
    event_loop_stop(loop);
}

static void run_for(struct event_loop *loop, uint64_t milliseconds)
{
    timer_add(loop, milliseconds, stop_loop, loop);
    event_loop_run(loop);
}

/* With a name server that does not answer, the loop goes on, numeric addresses are found, and look-ups that ended
   are not called. */
static void names_that_nobody_answers_hold_up_nobody(void **state)
{
    struct event_loop *loop = event_loop_new();
    struct resolver *dead = resolver_new(loop), *other = resolver_new(loop);
    struct inquiry silent = {.loop = loop}, quick = {.loop = loop, .stop_after = 3},
                   late = {.loop = loop, .stop_after = 1};
    (void)state;
    name_server_answers(false);
    int asked = name_server_was_asked();
    silent.lookup = lookup_begin(dead, "a.slow", 6379, note_answer, &silent);
    struct lookup *first = lookup_begin(dead, "127.0.0.1", 6379, note_answer, &quick);
    struct lookup *second = lookup_begin(dead, "::1", 6379, note_answer, &quick);
    struct lookup *third = lookup_begin(other, "127.0.0.2", 1, note_answer, &quick);
    event_loop_run(loop);
    assert_int_equal(quick.answers, 3);
    assert_int_equal(silent.answers, 0);
    lookup_end(silent.lookup);
    /* A second look-up waits for the same answer. */
    while (name_server_was_asked() == asked)
        run_for(loop, 1);
    late.lookup = lookup_begin(dead, "a.slow", 6379, note_answer, &late);
    run_for(loop, 1);
    name_server_answers(true);
    event_loop_run(loop);
    assert_int_equal(name_server_was_asked(), asked + 1);
    assert_string_equal(late.said, "[127.0.0.1]");
    assert_int_equal(silent.answers, 0);
    lookup_end(late.lookup);
    lookup_end(first);
    lookup_end(second);
    lookup_end(third);
    resolver_free(dead);
    resolver_free(other);
    event_loop_free(loop);
}

/* Four names of one deployment are looked up at a time; those of another one do not wait for them. */
static void look_ups_are_bounded(void **state)
{
    struct event_loop *loop = event_loop_new();
    struct resolver *resolver = resolver_new(loop), *other = resolver_new(loop);
    struct inquiry many = {.loop = loop, .stop_after = 21};
    struct lookup *lookups[21];
    char name[32];
    (void)state;
    name_server_answers(false);
    name_server.most = 0;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "%d.slow", i);
        lookups[i] = lookup_begin(resolver, name, 6379, note_answer, &many);
    }
    lookups[20] = lookup_begin(other, "other.slow", 6379, note_answer, &many);
    while (most_at_once() < 5) /* four, and one of the other */
        run_for(loop, 1);
    name_server_answers(true);
    event_loop_run(loop);
    assert_int_equal(many.answers, 21);
    assert_int_equal(most_at_once(), 5);
    for (size_t i = 0; i < COUNT_OF(lookups); i++)
        lookup_end(lookups[i]);
    resolver_free(resolver);
    resolver_free(other);
    event_loop_free(loop);
}

static void answers_of_name_servers(void **state)
{
    struct event_loop *loop = event_loop_new();
    struct resolver *resolver = resolver_new(loop);
    struct inquiry inquiry = {.loop = loop, .stop_after = 2}, kept = {.loop = loop, .stop_after = 1},
                   never = {.loop = loop};
    (void)state;
    name_server_answers(true);
    struct lookup *again = lookup_begin(resolver, "again", 1, note_answer, &inquiry), *none;
    while (inquiry.answers < 1)
        run_for(loop, 1);
    none = lookup_begin(resolver, "none", 1, note_answer, &inquiry);
    event_loop_run(loop);
    char expected[200];
    snprintf(expected, sizeof expected, "[%s][%s]", NO_NAME_SERVER, gai_strerror(EAI_NONAME));
    assert_string_equal(inquiry.said, expected);
    lookup_end(again);
    lookup_end(none);

    /* An answer that no look-up waits for is kept for the next one, and for one only. */
    name_server_answers(false);
    struct lookup *left = lookup_begin(resolver, "kept.slow", 1, note_answer, &never);
    int asked;
    while ((asked = name_server_was_asked(), name_server_is_idle()))
        run_for(loop, 1);
    lookup_end(left);
    name_server_answers(true);
    while (!name_server_is_idle())
        run_for(loop, 1);
    run_for(loop, 20);
    kept.lookup = lookup_begin(resolver, "kept.slow", 1, note_answer, &kept);
    event_loop_run(loop);
    assert_string_equal(kept.said, "[127.0.0.1]");
    assert_int_equal(name_server_was_asked(), asked);
    left = lookup_begin(resolver, "kept.slow", 1, note_answer, &kept);
    while (kept.answers < 2)
        run_for(loop, 1);
    assert_int_equal(name_server_was_asked(), asked + 1);
    lookup_end(kept.lookup);
    lookup_end(left);

    /* A thread that is still asking outlives the resolver. */
    name_server_answers(false);
    lookup_end(lookup_begin(resolver, "left.slow", 1, note_answer, &never));
    left = lookup_begin(resolver, "behind.slow", 1, note_answer, &never);
    while (name_server_is_idle())
        run_for(loop, 1);
    lookup_end(left);
    resolver_free(resolver);
    event_loop_free(loop);
    name_server_answers(true);
    while (!name_server_is_idle())
        sched_yield();
    assert_int_equal(never.answers, 0);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

struct name_case {
    const char *text, *user, *password, *host, *path, *plain;
    int port;
    bool tls;
};

static void check_text(const char *got, size_t size, const char *expected)
{
    assert_int_equal(got == NULL, expected == NULL);
    if (expected) {
        assert_string_equal(got, expected);
        assert_int_equal(size, strlen(expected));
    }
}

static void names_are_read(void **state)
{
    static const struct name_case cases[] = {
        {"redis://h", NULL, NULL, "h", NULL, "redis://h:6379", 6379, false},
        {"redis://", NULL, NULL, "127.0.0.1", NULL, "redis://127.0.0.1:6379", 6379, false},
        {"redis://:7", NULL, NULL, "127.0.0.1", NULL, "redis://127.0.0.1:7", 7, false},
        {"rediss://h:1/", NULL, NULL, "h", "", "rediss://h:1/", 1, true},
        {"redis://u@h:65535", "u", NULL, "h", NULL, "redis://h:65535", 65535, false},
        {"redis://u:p@h/k%20y", "u", "p", "h", "k y", "redis://h:6379/k%20y", 6379, false},
        {"redis://:p@h", NULL, "p", "h", NULL, "redis://h:6379", 6379, false},
        {"redis://u:@h", "u", "", "h", NULL, "redis://h:6379", 6379, false},
        {"redis://u:p@q:r@h", "u", "p@q:r", "h", NULL, "redis://h:6379", 6379, false},
        {"redis://u:%70%2f%4Z%@h", "u", "p/%4Z%", "h", NULL, "redis://h:6379", 6379, false},
        {"redis://[::1]", NULL, NULL, "::1", NULL, "redis://[::1]:6379", 6379, false},
        {"rediss://u:p@[fe80::1]:6380/a/b", "u", "p", "fe80::1", "a/b", "rediss://[fe80::1]:6380/a/b", 6380, true},
        {"redis://h/u:p@k", NULL, NULL, "h", "u:p@k", "redis://h:6379/u:p@k", 6379, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct server_name name;
        const struct name_case *expected = &cases[i];
        assert_true(is_server_name(expected->text));
        assert_true(server_name_read(&name, expected->text));
        check_text(name.user, name.user_size, expected->user);
        check_text(name.password, name.password_size, expected->password);
        check_text(name.path, name.path_size, expected->path);
        assert_string_equal(name.host, expected->host);
        assert_int_equal(name.port, expected->port);
        assert_int_equal(name.tls, expected->tls);
        char *plain = server_name_plain(&name, expected->text);
        assert_string_equal(plain, expected->plain);
        free(plain);
        server_name_release(&name);
    }
}

static void what_is_no_name(void **state)
{
    static const char *const texts[] = {"",
                                        "redis",
                                        "redis:/h",
                                        "Redis://h",
                                        "redis+tls://h",
                                        "redis://h:",
                                        "redis://h:x",
                                        "redis://h:0",
                                        "redis://h:65536",
                                        "redis://h:99999999999999999999",
                                        "redis://h:+1",
                                        "redis://h: 1",
                                        "redis://h:1 ",
                                        "redis://u:p@h:-1",
                                        "redis://[::1",
                                        "redis://[::1]6379",
                                        "redis://[::1]:",
                                        "redis://[::1/k]",
                                        "redis://[[::1]",
                                        "redis://h]",
                                        "redis://two words",
                                        "redis://h?x"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct server_name name;
        assert_false(server_name_read(&name, texts[i]));
        server_name_release(&name);
    }
}

/* Whatever the password is, neither the plain name nor the hidden one contains it. */
static void passwords_stay_hidden(void **state)
{
    static const char letters[] = "ab:/@%[]?# 4142\\\n";
    struct random_source random = random_from_seed(test_seed(11));
    unsigned read = 0;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[80] = "rediss://";
        struct server_name name;
        size_t length = 9 + random_next(&random) % 40, secret;
        for (size_t i = 9; i < length; i++)
            text[i] = letters[random_next(&random) % (sizeof letters - 1)];
        bool fine = server_name_read(&name, text);
        const char *password = password_within(text, &secret);
        assert_true(!fine || (password != NULL) == (name.password != NULL));
        char *plain = fine ? server_name_plain(&name, text) : NULL;
        char copy[80];
        strcpy(copy, text);
        secrets_hide(copy);
        assert_int_equal(strlen(copy), strlen(text));
        if (password) {
            size_t at = (size_t)(password - text);
            assert_memory_equal(copy, text, at);
            assert_int_equal(strspn(copy + at, "*") >= secret, 1);
            assert_string_equal(copy + at + secret, text + at + secret);
        } else {
            assert_string_equal(copy, text);
        }
        struct server_name again;
        if (plain) {
            read++;
            assert_true(server_name_read(&again, plain));
            assert_null(again.password);
            assert_null(again.user);
            assert_string_equal(again.host, name.host);
            server_name_release(&again);
        }
        free(plain);
        server_name_release(&name);
    }
    assert_true(read > 2000);
}

/* ---- slots ----------------------------------------------------------------------------------------------------- */

static unsigned slot_of(const char *key)
{
    return cluster_slot((roost_bytes){key, strlen(key)});
}

static void keys_fall_into_slots(void **state)
{
    (void)state;
    assert_int_equal(slot_of("123456789"), 0x31c3); /* from the cluster specification */
    assert_int_equal(slot_of("foo"), 12182);
    assert_int_equal(slot_of("bar"), 5061);
    assert_int_equal(slot_of(""), 0);
    assert_int_equal(cluster_slot((roost_bytes){NULL, 0}), 0);
    assert_int_equal(slot_of("{user1000}.following"), slot_of("user1000"));
    assert_int_equal(slot_of("foo{bar}{zap}"), slot_of("bar"));
    assert_int_equal(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    assert_int_equal(slot_of("{foo"), slot_of("{foo"));
    assert_int_not_equal(slot_of("foo{}{bar}"), slot_of("bar"));
    assert_int_not_equal(slot_of("}foo{"), slot_of("foo"));
}

static void redirections(void **state)
{
    unsigned slot;
    int port;
    static const char *const bad[] = {"MOVED",
                                      "MOVED 1",
                                      "MOVED 1 host",
                                      "MOVED 16384 h:1",
                                      "MOVED 1 h:0",
                                      "MOVED 1 h:65536",
                                      "MOVED -1 h:1",
                                      "ASK x",
                                      "MOVED 1 h:abc",
                                      "ASK  ",
                                      "",
                                      " : "};
    (void)state;
    char *host = read_redirection("MOVED 3999 127.0.0.1:6381", &slot, &port);
    assert_string_equal(host, "127.0.0.1");
    assert_int_equal(slot, 3999);
    assert_int_equal(port, 6381);
    free(host);
    host = read_redirection("ASK 0 fe80::1:7", &slot, &port);
    assert_string_equal(host, "fe80::1");
    assert_int_equal(port, 7);
    free(host);
    host = read_redirection("MOVED 16383 :6381", &slot, &port);
    assert_string_equal(host, "");
    free(host);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_null(read_redirection(bad[i], &slot, &port));
}

/* ---- replies --------------------------------------------------------------------------------------------------- */

/* A tilde stands for a zero byte. */
static redisReply *parsed(const char *text)
{
    struct reply_reader *reader = reply_reader_new();
    redisReply *reply;
    char bytes[200];
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(text[i] == '~' ? 0 : text[i]);
    assert_null(reply_reader_feed(reader, bytes, size));
    assert_null(reply_reader_next(reader, &reply));
    assert_non_null(reply);
    reply_reader_free(reader);
    return reply;
}

static void maps_are_checked(void **state)
{
    static const char two[] = "*2\r\n*3\r\n:0\r\n:1\r\n*2\r\n$-1\r\n:1\r\n*4\r\n:2\r\n:2\r\n"
                              "*3\r\n$0\r\n\r\n:1\r\n$1\r\na\r\n*2\r\n$1\r\nb\r\n:2\r\n";
    const char *const good[] = {"*0\r\n", "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$1\r\nh\r\n:1\r\n$2\r\nid\r\n", two};
    static const char *const bad[] = {":1\r\n",
                                      "+OK\r\n",
                                      "*1\r\n:1\r\n",
                                      "*1\r\n*2\r\n:0\r\n:1\r\n",
                                      "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n",
                                      "*1\r\n*3\r\n:-1\r\n:5\r\n*2\r\n$1\r\nh\r\n:1\r\n",
                                      "*1\r\n*3\r\n:6\r\n:5\r\n*2\r\n$1\r\nh\r\n:1\r\n",
                                      "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nh\r\n:0\r\n",
                                      "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nh\r\n:65536\r\n",
                                      "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$2\r\nh~\r\n:1\r\n",
                                      "*1\r\n*3\r\n:0\r\n:5\r\n*1\r\n$1\r\nh\r\n",
                                      "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n*0\r\n:1\r\n",
                                      "*1\r\n*4\r\n:0\r\n:5\r\n*2\r\n$1\r\nh\r\n:1\r\n:7\r\n",
                                      "*1\r\n*3\r\n$1\r\n0\r\n:5\r\n*2\r\n$1\r\nh\r\n:1\r\n"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        redisReply *reply = parsed(good[i]);
        assert_true(is_slot_map(reply));
        freeReplyObject(reply);
    }
    redisReply *reply = parsed(two);
    struct slot_range range = slot_range_at(reply, 1);
    assert_null(slot_range_at(reply, 0).primary.host);
    assert_null(range.primary.host);
    assert_string_equal(range.primary.id, "a");
    assert_int_equal(slot_range_replicas(&range), 1);
    assert_string_equal(slot_range_replica(&range, 0).host, "b");
    assert_null(slot_range_replica(&range, 0).id);
    freeReplyObject(reply);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        reply = parsed(bad[i]);
        assert_false(is_slot_map(reply));
        freeReplyObject(reply);
    }
}

static const char *fed(struct reply_reader *reader, const char *text, size_t size, unsigned *replies)
{
    redisReply *reply = NULL;
    const char *error = reply_reader_feed(reader, text, size);
    while (!error) {
        error = reply_reader_next(reader, &reply);
        if (!reply)
            break;
        freeReplyObject(reply);
        ++*replies;
    }
    return error;
}

static void replies_come_in_any_chunks(void **state)
{
    static const char text[] = "+OK\r\n:5\r\n$3\r\na\nb\r\n*2\r\n*1\r\n$-1\r\n-ERR x\r\n*0\r\n$0\r\n\r\n*-1\r\n";
    (void)state;
    for (size_t first = 0; first < sizeof text; first++)
        for (size_t step = 1; step < 9; step++) {
            struct reply_reader *reader = reply_reader_new();
            unsigned replies = 0;
            assert_null(fed(reader, text, first, &replies));
            for (size_t i = first; i < sizeof text - 1; i += step)
                assert_null(fed(reader, text + i, i + step < sizeof text ? step : sizeof text - 1 - i, &replies));
            assert_int_equal(replies, 7);
            assert_false(reply_reader_is_within(reader));
            reply_reader_free(reader);
        }
}

static const char *error_of(const char *text, size_t times)
{
    struct reply_reader *reader = reply_reader_new();
    const char *error = NULL;
    unsigned replies = 0;
    for (size_t i = 0; !error && i < times; i++)
        error = fed(reader, text, strlen(text), &replies);
    reply_reader_free(reader);
    return error ? error : "";
}

static void replies_have_limits(void **state)
{
    char line[4096];
    (void)state;
    memset(line, 'a', sizeof line);
    line[0] = '+';
    line[sizeof line - 1] = '\0';
    assert_string_equal(error_of(line, 100), "its reply has a line of more than 64 KiB");
    assert_string_equal(error_of("$1073741825\r\nabc", 1), "its reply is larger than 1 GiB");
    assert_string_equal(error_of("*2\r\n:1\r\n$999999999999999\r\n", 1), "its reply is larger than 1 GiB");
    assert_string_equal(error_of("$1073741824\r\nabc", 1), "");
    assert_string_equal(error_of("*4194305\r\n", 1), "its reply has more than 4 million elements");
    assert_string_equal(error_of("*2147483647\r\n", 1), "its reply has more than 4 million elements");
    assert_string_equal(error_of("*3\r\n*2097152\r\n", 1), "");
    assert_string_equal(error_of("*2\r\n*2\r\n*2\r\n*4194300\r\n", 1), "its reply has more than 4 million elements");
    assert_string_equal(error_of("*1\r\n", 100), "its reply is nested too deeply");
    assert_string_equal(error_of("*-2\r\n", 1), "does not speak the protocol of Redis");
    assert_string_equal(error_of("$-2\r\n", 1), "does not speak the protocol of Redis");
    assert_string_equal(error_of(":x\r\n", 1), "does not speak the protocol of Redis");
    assert_string_equal(error_of("HTTP/1.1 200 OK\r\n", 1), "does not speak the protocol of Redis");
    assert_string_equal(error_of("*1000\r\n", 1), "");
}

/* Fragments of the protocol in any order are parsed or refused, without other effects. */
static void replies_of_any_kind(void **state)
{
    static const char *const chunks[] = {"*", "$",  ":", "+", "-",  "\r\n",       "1",
                                         "3", "-1", "0", "a", "\n", "9999999999", "\r"};
    struct random_source random = random_from_seed(test_seed(13));
    unsigned replies = 0, refused = 0;
    (void)state;
    for (int round = 0; round < 30000; round++) {
        struct reply_reader *reader = reply_reader_new();
        const char *error = NULL;
        for (uint64_t i = random_next(&random) % 30; !error && i > 0; i--) {
            const char *chunk = chunks[random_next(&random) % COUNT_OF(chunks)];
            error = fed(reader, chunk, strlen(chunk), &replies);
        }
        refused += error != NULL;
        reply_reader_free(reader);
    }
    assert_true(replies > 100 && refused > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_come_in_order),
        cmocka_unit_test(many_timers),
        cmocka_unit_test(watches_are_removed_within_callbacks),
        cmocka_unit_test(nobody_starves),
        cmocka_unit_test(names_that_nobody_answers_hold_up_nobody),
        cmocka_unit_test(look_ups_are_bounded),
        cmocka_unit_test(answers_of_name_servers),
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(what_is_no_name),
        cmocka_unit_test(passwords_stay_hidden),
        cmocka_unit_test(keys_fall_into_slots),
        cmocka_unit_test(redirections),
        cmocka_unit_test(maps_are_checked),
        cmocka_unit_test(replies_come_in_any_chunks),
        cmocka_unit_test(replies_have_limits),
        cmocka_unit_test(replies_of_any_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
