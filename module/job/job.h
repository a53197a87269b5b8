/*
 * Long work of commands, in steps: the client waits, the server does not.
 *
 * A job is a command that will be answered later. Its steps are made on the main thread, where filters live, in turns
 * of about a millisecond with a pause between them in which the server does what else there is to do; all jobs share a
 * turn. A job may have a thread of its own for work that needs no filter. Between two turns anything may happen to the
 * key, so a job finds it again by its name each time, and knows by the number of the object and by the generation
 * whether it is the same. Where it is not, the answer is an error that begins with STALE.
 *
 * In MULTI, in scripts, in what a primary or an AOF tells, nobody can wait: there all is done at once.
 */
#ifndef MODULE_JOB_JOB_H
#define MODULE_JOB_JOB_H

#include "module/key/target.h"

enum progress { MORE_TO_DO, NOTHING_TO_DO_NOW, ALL_DONE };

struct job;

struct job_class {
    enum progress (*step)(RedisModuleCtx *ctx, struct job *job); /* a fraction of a millisecond */
    int (*reply)(RedisModuleCtx *ctx, struct job *job);
    void (*free)(struct job *job);
};

/* A class puts its own fields behind these. */
struct job {
    const struct job_class *class;
    RedisModuleString *name; /* of the key; NULL: it is about none */
    uint64_t object;         /* at it; 0: none yet */
    uint64_t generation;     /* of the name */
    int database;
    RedisModuleBlockedClient *client;
    struct job *next;
    RedisModuleTimerID timer; /* 0: none */
    void (*enough)(struct job *job);
};

bool can_wait(RedisModuleCtx *ctx);

/* The command will be answered when the job is done, which is released then by its class. About the key of the target,
   which is closed; or about none. */
int job_begin(RedisModuleCtx *ctx, struct job *job, struct target *target);

/*
 * The same for work that has an occasion to wait for. The job is nobody's business until it is let go: on, to be done
 * in turns, or to its end. Where it has waited so many milliseconds, or the client was unblocked by another one or has
 * gone away, the functions are told.
 *
 * The time is kept by a timer of ours: a server that finds a client's time to be over in the very turn in which it was
 * woken (Redis 7.0, after a slow command) would let it go without any answer.
 */
struct job_patience {
    long long most;
    void (*enough)(struct job *job);
    RedisModuleCmdFunc unblocked;
    RedisModuleDisconnectFunc disconnected;
};
void job_wait(RedisModuleCtx *ctx, struct job *job, const struct job_patience *patience);
void job_go_on(struct job *job);
void job_end(struct job *job);

/* Whether a job may change anything now. Where it never will again, the error says why. */
bool may_write(RedisModuleCtx *ctx, const char **error);

/* Opens the key; false if it does not hold the object any more, at its generation. To be closed in either case. */
bool job_open(RedisModuleCtx *ctx, const struct job *job, struct target *target, int mode);

/* The module goes away. */
void jobs_end(void);

/* Of a clock that never goes back. */
uint64_t microseconds_now(void);

/* For INFO: how long the longest turn has taken, in microseconds of the processor: waiting for it does not count. */
uint64_t longest_slice(void);

#endif
