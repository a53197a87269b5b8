/* Commands that read all of a large filter. A thread reads a copy, while others are served. */
#ifndef MODULE_JOB_READING_H
#define MODULE_JOB_READING_H

#include <pthread.h>
#include <stdatomic.h>

#include "copying.h"
#include "key_job.h"

enum reading_stage {
    TO_BE_COPIED,  /* on the main thread, with the key */
    TO_BE_READ,    /* on a thread, without the key */
    TO_BE_STEPPED, /* on the main thread, with the key */
    TO_BE_ANSWERED
};

struct reading;

struct reading_verb {
    size_t size; /* of the struct of the command, which begins with a struct reading, and is zeroed */
    enum reading_stage (*stage)(const struct reading *reading);
    /* Takes the copy, which has the state that the filter has now. */
    void (*copied)(struct reading *reading, struct target *target, roost_filter *copy);
    void (*read)(struct reading *reading);
    /* A fraction of a millisecond; may change the filter. NULL: there are no steps. */
    void (*step)(struct reading *reading, struct target *target);
    /* Long replies are written by the thread: nothing but `reading` may be used here. */
    int (*reply)(RedisModuleCtx *ctx, struct reading *reading);
    void (*release)(struct reading *reading);
};

/* A command puts its own fields behind these. */
struct reading {
    struct key_job job;
    const struct reading_verb *verb;
    struct value *memory; /* counts and limits the memory of the copy; NULL: somebody has taken both */
    struct copying copying;
    RedisModuleString *argument;
    pthread_t thread;
    bool begun;       /* the thread */
    atomic_bool read; /* by it */
    bool replied;     /* by it */
    const char *error;
    roost_status failed; /* the copy */
};

/* Whether the filter is so large, and the client can wait. */
bool reading_is_long(const struct target *target);

/* `argument` is NULL, or held while the job lasts. */
struct reading *reading_new(const struct reading_verb *verb, const struct target *target, RedisModuleString *argument);

/* Goes on from the first stage, at once if that is the reply; closes the target. */
int reading_begin(struct reading *reading, struct target *target);

/* Instead: replies with an error. */
int reading_refuse(struct reading *reading, struct target *target, roost_status status);

/* ---- states and deltas ------------------------------------------------------------------------------------------- */

/* A command that replies with the whole state, or with what has changed since a cursor: it puts its fields behind
   these, and these functions into its verb. */
struct state_reading {
    struct reading reading;
    roost_cursor since; /* all zero: the whole state */
    bool or_state;      /* if the cursor is not known; otherwise the frame is empty then */
    roost_span *spans;  /* to be left out; from RedisModule_Alloc, or NULL */
    size_t span_count;
    roost_filter *copy;
    bool read;
    roost_status status;
    roost_cursor cursor; /* of the moment of the copy */
    bool placed;         /* there is one */
    roost_digest digest;
    roost_buffer frame;
};

/* Whether so much has changed since the cursor that the delta should be encoded in this way. */
bool delta_is_long(struct target *target, roost_cursor since);
enum reading_stage state_reading_stage(const struct reading *reading);
void state_reading_copied(struct reading *reading, struct target *target, roost_filter *copy);
void state_reading_read(struct reading *reading);
void state_reading_release(struct reading *reading);

#endif
