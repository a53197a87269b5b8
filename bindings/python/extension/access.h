/* Who may use an object while the GIL is released: several that read, or one that changes it. */
#ifndef PYTHON_ACCESS_H
#define PYTHON_ACCESS_H

#include <pthread.h>
#include <stdbool.h>

struct access {
    pthread_mutex_t mutex;
    pthread_cond_t released;
    unsigned readers, waiting_writers;
    bool writer;
};

void access_init(struct access *access);
void access_destroy(struct access *access);

/* All with the GIL. What is granted ends with access_end; between, the caller may release the GIL. */

/* Whether a call that keeps the GIL may read or change the object now. */
static inline bool access_allows(const struct access *access, bool writing)
{
    return !access->writer && !(writing && access->readers);
}

/* Takes the object, unless others have it. */
bool access_try(struct access *access, bool writing);
void access_end(struct access *access, bool writing);

/* Waits, without the GIL, until it is worth another try. */
void access_wait(struct access *access, bool writing);

/* In a process that was forked: forgets the threads of the other one. Whether one of them was changing the object. */
bool access_forget(struct access *access);

#endif
