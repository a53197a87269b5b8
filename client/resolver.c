/*
 * getaddrinfo asks all sources that the machine is configured for (/etc/hosts, DNS, LDAP, mDNS), and blocks: with a
 * name server that does not answer 10 s are usual, and 30 s are possible. So it is called on a thread, which wakes the
 * loop through a descriptor.
 *
 *     loop      begin ----> question                     woken: delivers the answer to all look-ups that wait for it
 *     thread                  `--> getaddrinfo ... --> answer, wake
 *
 * Why not a library with its own DNS client (c-ares, libevent's evdns): these read resolv.conf and /etc/hosts, but none
 * of the other sources in nsswitch.conf, so that a name that every other program on the machine resolves could be
 * unknown here. getaddrinfo_a exists in glibc alone, and uses threads as well.
 *
 * A call of getaddrinfo cannot be cancelled. When a look-up is ended, its thread goes on: the question belongs to both,
 * and the last one frees it. Each deployment has its own resolver with at most MOST_THREADS threads; further questions
 * wait in a queue. So names of one region that no server answers do not delay another region. A look-up of a name that
 * a thread is already asking for waits for that answer, even if the look-ups before it have given up. An answer that
 * nobody waited for is kept for a while, for the next attempt. A delivered answer is not used again: addresses change.
 *
 * Numeric addresses need no thread.
 */
#include "resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "event_loop.h"

#define MOST_THREADS 4
#define KEPT         30000 /* milliseconds, for an answer that no look-up waited for */

struct question {
    /* shared with the thread */
    atomic_int holders;
    atomic_bool answered;
    int wake;
    char service[8], *host;
    struct addrinfo *addresses;
    int problem, error; /* the result of getaddrinfo, and errno */

    /* used by the loop alone */
    struct question *next;
    bool asked;     /* a thread was started for it */
    bool delivered; /* to a look-up; later ones begin a new question */
    uint64_t at;    /* when the answer was noticed */
};

struct lookup {
    struct resolver *resolver;
    struct lookup *next;
    struct question *question;
    struct timer *soon;
    bool waits;
    void (*done)(void *context, const struct addrinfo *addresses, const char *error);
    void *context;
};

struct resolver {
    struct event_loop *loop;
    int wake;
    struct watch *watch;
    struct question *questions; /* oldest first */
    struct lookup *lookups;
};

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void question_release(struct question *question)
{
    if (atomic_fetch_sub(&question->holders, 1) > 1)
        return;
    if (question->addresses)
        freeaddrinfo(question->addresses);
    if (question->wake >= 0)
        close(question->wake);
    free(question->host);
    free(question);
}

static struct question *question_new(struct resolver *resolver, const char *host, int port)
{
    struct question *question = calloc(1, sizeof *question), **end = &resolver->questions;
    if (!question)
        return NULL;
    atomic_init(&question->holders, 1);
    snprintf(question->service, sizeof question->service, "%d", port);
    question->host = strdup(host);
    question->wake = fcntl(resolver->wake, F_DUPFD_CLOEXEC, 0);
    if (!question->host || question->wake < 0) {
        question_release(question);
        return NULL;
    }
    while (*end)
        end = &(*end)->next;
    return *end = question;
}

static int resolve(struct question *question, int flags)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    question->problem = getaddrinfo(question->host, question->service, &hints, &question->addresses);
    question->error = errno;
    return question->problem;
}

static void *ask(void *context)
{
    struct question *question = context;
    const uint64_t one = 1;
    resolve(question, 0);
    atomic_store(&question->answered, true);
    ssize_t written = write(question->wake, &one, sizeof one);
    (void)written; /* a full counter wakes the loop as well */
    question_release(question);
    return NULL;
}

/* Blocks all signals on the new thread. */
static int start_thread(struct question *question)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, ask, question);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_detach(thread);
    return error;
}

static void deliver_soon(struct lookup *lookup);

static void fail_question(struct resolver *resolver, struct question *question, int error)
{
    question->problem = EAI_SYSTEM;
    question->error = error;
    atomic_store(&question->answered, true);
    for (struct lookup *lookup = resolver->lookups; lookup; lookup = lookup->next)
        if (lookup->question == question && lookup->waits)
            deliver_soon(lookup);
}

/* Starts threads for waiting questions, up to the limit. */
static void start_threads(struct resolver *resolver)
{
    unsigned running = 0;
    for (const struct question *question = resolver->questions; question; question = question->next)
        running += question->asked && !atomic_load(&question->answered);
    for (struct question *question = resolver->questions; question && running < MOST_THREADS;
         question = question->next) {
        if (question->asked || atomic_load(&question->answered))
            continue;
        question->asked = true;
        atomic_fetch_add(&question->holders, 1);
        int error = start_thread(question);
        if (error) {
            atomic_fetch_sub(&question->holders, 1);
            fail_question(resolver, question, error);
        } else {
            running++;
        }
    }
}

static bool is_waited_for(const struct resolver *resolver, const struct question *question)
{
    for (const struct lookup *lookup = resolver->lookups; lookup; lookup = lookup->next)
        if (lookup->question == question && lookup->waits)
            return true;
    return false;
}

/* Whether an answer may still be used; a question without a thread only if a look-up waits for it. */
static bool is_of_use(const struct resolver *resolver, struct question *question)
{
    bool answered = atomic_load(&question->answered);
    if (is_waited_for(resolver, question))
        return true;
    if (answered && !question->at)
        question->at = event_loop_now(resolver->loop);
    return answered
               ? !question->delivered && question->problem == 0 && event_loop_now(resolver->loop) - question->at < KEPT
               : question->asked;
}

static void drop_questions(struct resolver *resolver)
{
    for (struct question **link = &resolver->questions, *question; (question = *link);) {
        if (is_of_use(resolver, question)) {
            link = &question->next;
            continue;
        }
        *link = question->next;
        question_release(question);
    }
}

static struct question *find_question(struct resolver *resolver, const char *host, int port)
{
    char service[sizeof resolver->questions->service];
    snprintf(service, sizeof service, "%d", port);
    drop_questions(resolver);
    for (struct question *question = resolver->questions; question; question = question->next)
        if (!question->delivered && strcmp(question->host, host) == 0 && strcmp(question->service, service) == 0)
            return question;
    return NULL;
}

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

static const char *error_of(const struct question *question)
{
    return question->problem == EAI_AGAIN    ? NO_NAME_SERVER
           : question->problem == EAI_SYSTEM ? strerror(question->error)
                                             : gai_strerror(question->problem);
}

/* The callback may end this look-up, and others. */
static void deliver(void *context)
{
    struct lookup *lookup = context;
    struct question *question = lookup->question;
    lookup->soon = NULL;
    lookup->waits = false;
    question->delivered = true;
    lookup->done(lookup->context, question->problem ? NULL : question->addresses,
                 question->problem ? error_of(question) : NULL);
}

static void deliver_soon(struct lookup *lookup)
{
    if (!lookup->soon)
        lookup->soon = timer_add(lookup->resolver->loop, 0, deliver, lookup);
}

static void woken(void *context, unsigned events)
{
    struct resolver *resolver = context;
    uint64_t count;
    (void)events;
    ssize_t size = read(resolver->wake, &count, sizeof count);
    (void)size;
    for (struct lookup *lookup = resolver->lookups; lookup; lookup = lookup->next)
        if (lookup->waits && atomic_load(&lookup->question->answered))
            deliver_soon(lookup);
    drop_questions(resolver);
    start_threads(resolver);
}

struct lookup *lookup_begin(struct resolver *resolver, const char *host, int port,
                            void (*done)(void *context, const struct addrinfo *addresses, const char *error),
                            void *context)
{
    struct lookup *lookup = calloc(1, sizeof *lookup);
    struct question *question = lookup ? find_question(resolver, host, port) : NULL;
    if (lookup && !question && (question = question_new(resolver, host, port)))
        atomic_store(&question->answered, resolve(question, AI_NUMERICHOST) == 0);
    if (!question) {
        free(lookup);
        return NULL;
    }
    atomic_fetch_add(&question->holders, 1);
    *lookup = (struct lookup){resolver, resolver->lookups, question, NULL, true, done, context};
    resolver->lookups = lookup;
    if (atomic_load(&question->answered))
        deliver_soon(lookup);
    start_threads(resolver);
    return lookup;
}

void lookup_end(struct lookup *lookup)
{
    if (!lookup)
        return;
    struct lookup **link = &lookup->resolver->lookups;
    while (*link != lookup)
        link = &(*link)->next;
    *link = lookup->next;
    timer_remove(lookup->soon);
    drop_questions(lookup->resolver);
    question_release(lookup->question);
    free(lookup);
}

/* ---- the resolver ------------------------------------------------------------------------------------------------ */

struct resolver *resolver_new(struct event_loop *loop)
{
    struct resolver *resolver = calloc(1, sizeof *resolver);
    if (!resolver)
        return NULL;
    resolver->loop = loop;
    resolver->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (resolver->wake >= 0)
        resolver->watch = watch_add(loop, resolver->wake, READABLE, woken, resolver);
    if (resolver->watch)
        return resolver;
    resolver_free(resolver);
    return NULL;
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver)
        return;
    for (struct question *question; (question = resolver->questions);) {
        resolver->questions = question->next;
        question_release(question);
    }
    watch_remove(resolver->watch);
    if (resolver->wake >= 0)
        close(resolver->wake);
    free(resolver);
}
