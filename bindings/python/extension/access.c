/*
 * Locks. An object of the library is for one thread at a time, or for several that only read. Two kinds of calls:
 *
 *     short     add, `in`, discard: keep the GIL from beginning to end. That is their lock; they look whether a long
 *               call is under way, and take nothing
 *     long      batches, merges, frames, files: take the object, release the GIL, work, acquire the GIL, give it back
 *
 * So a short call pays two loads, and any number of threads look up batches in one filter at the same time.
 *
 * The fields change only in the hands of a thread that has both the GIL and the mutex. A thread that waits has the
 * mutex without the GIL, and no thread asks for the GIL while it has the mutex: so nobody waits in a circle. Whoever
 * has waited tries again from the beginning, because the object may have been taken, or closed, before it got the GIL
 * back.
 *
 * While a thread has an object it runs no Python code, which might use that object and wait for ever. Code runs also
 * where a new object, such as an exception, starts the garbage collector: so a call gives back first, and raises then.
 *
 * A call that needs two objects takes both at once or none. While a thread waits to change an object, no new long call
 * begins to read it.
 */
#include "access.h"

#include "python.h"

void access_init(struct access *access)
{
    pthread_mutex_init(&access->mutex, NULL);
    pthread_cond_init(&access->released, NULL);
}

void access_destroy(struct access *access)
{
    pthread_cond_destroy(&access->released);
    pthread_mutex_destroy(&access->mutex);
}

/* Threads that wait may have had the mutex. */
bool access_forget(struct access *access)
{
    bool changing = access->writer;
    *access = (struct access){0};
    access_init(access);
    return changing;
}

static bool is_free(const struct access *access, bool writing)
{
    return access_allows(access, writing) && (writing || access->waiting_writers == 0);
}

bool access_try(struct access *access, bool writing)
{
    pthread_mutex_lock(&access->mutex);
    bool granted = is_free(access, writing);
    if (granted && writing)
        access->writer = true;
    else if (granted)
        access->readers++;
    pthread_mutex_unlock(&access->mutex);
    return granted;
}

void access_end(struct access *access, bool writing)
{
    pthread_mutex_lock(&access->mutex);
    if (writing)
        access->writer = false;
    else
        access->readers--;
    pthread_cond_broadcast(&access->released);
    pthread_mutex_unlock(&access->mutex);
}

static void wait_for_release(struct access *access, bool writing)
{
    pthread_mutex_lock(&access->mutex);
    access->waiting_writers += writing;
    while (!is_free(access, writing))
        pthread_cond_wait(&access->released, &access->mutex);
    access->waiting_writers -= writing;
    if (writing)
        pthread_cond_broadcast(&access->released); /* to those that let it go first */
    pthread_mutex_unlock(&access->mutex);
}

void access_wait(struct access *access, bool writing)
{
    Py_BEGIN_ALLOW_THREADS
    wait_for_release(access, writing);
    Py_END_ALLOW_THREADS
}
