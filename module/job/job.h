/*
 * Incremental jobs: long commands that block their client, but not the server.
 *
 * A job is a command that is answered later. It runs on the main thread, where filters live, in small steps. All jobs
 * share a *time slice* of about a millisecond; between two slices the server does everything else. A job may have a
 * thread of its own for work that needs no filter. Jobs about a key: key_job.h.
 *
 * In MULTI, in scripts, and in commands from a primary or an AOF, no client can be blocked: there everything is done at
 * once (can_wait()).
 */
#ifndef MODULE_JOB_JOB_H
#define MODULE_JOB_JOB_H

#include "module/base/counters.h"

enum progress { MORE_TO_DO, NOTHING_TO_DO_NOW, ALL_DONE };

struct job;

struct job_class {
    enum progress (*step)(RedisModuleCtx *ctx, struct job *job); /* a fraction of a millisecond */
    int (*reply)(RedisModuleCtx *ctx, struct job *job);
    void (*free)(struct job *job);
    enum slow_path path; /* under which INFO counts it */
};

/* A class puts its own fields behind these. */
struct job {
    const struct job_class *class;
    int database;
    RedisModuleBlockedClient *client;
    struct job *next;
    uint64_t begun;           /* microseconds; 0: it has not begun to run */
    RedisModuleTimerID timer; /* 0: none */
    void (*timed_out)(struct job *job);
};

/* Blocks the client and starts the job. The class replies and frees the job when it is done. */
int job_begin(RedisModuleCtx *ctx, struct job *job);

/*
 * Blocks the client for a job that waits for an event. The caller starts the steps of the job (job_go_on) or ends it
 * (job_end). The functions are called when the job has waited for `most` milliseconds, when another client unblocks the
 * client (CLIENT UNBLOCK), and when the client disconnects.
 *
 * The timer is ours and not the server's: Redis 7.0 drops a client without any reply if its time is over in the same
 * cycle in which it was unblocked, after a slow command.
 */
struct job_wait {
    long long most;
    void (*timed_out)(struct job *job);
    RedisModuleCmdFunc unblocked;
    RedisModuleDisconnectFunc disconnected;
};
void job_wait(RedisModuleCtx *ctx, struct job *job, const struct job_wait *wait);
void job_go_on(struct job *job);
void job_end(struct job *job);

/* For the reply of a class: the job has failed. */
int job_reply_error(RedisModuleCtx *ctx, const char *error);
int job_reply_status(RedisModuleCtx *ctx, roost_status status);

/* For INFO: the longest time slice, in microseconds of processor time, and how many jobs run. */
uint64_t longest_slice(void);
uint64_t jobs_running(void);

#endif
