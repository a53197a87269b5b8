/* The key that a command is about: opening it, refusing it, its generation. changes.h has the changes. */
#ifndef MODULE_KEY_TARGET_H
#define MODULE_KEY_TARGET_H

#include "module/value/filter_value.h"

struct target {
    RedisModuleCtx *ctx;
    RedisModuleString *name;
    RedisModuleKey *key;
    struct filter_value *filter; /* NULL: there is none */
    bool missing;                /* the key does not exist, and a filter may be created there */
    bool reserved;   /* the key does not exist, and is reserved (value.h); only if it was opened for writing */
    bool staged;     /* it holds a value of which chunks are missing */
    bool mirrored;   /* the command comes from a primary or the AOF */
    bool passed_on;  /* the command itself was replicated already */
    bool as_it_came; /* the command only adds the items given to target_add, so it may be replicated as it is */
};

/* Whatever the key holds. The caller closes the target. */
void target_open(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name, int mode);
void target_close(struct target *target);

/* A filter of any kind. False after an error reply; the target is closed then. */
bool target_open_filter(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name, int mode);

/* Whether the slot of a missing key is here to stay. The server checks that before a command, but not for what a job
   does later. */
bool target_can_be_created(const struct target *target);

/* Replies with the error that says why there is no filter, and closes the target. */
int target_refuse(struct target *target, const char *when_missing);

/* The generation of the key: that of its filter, or that of its deletion. */
uint64_t target_generation(const struct target *target);
/* Whether the argument is that generation. False after an error reply; the target is closed then. */
bool target_is_at(struct target *target, const RedisModuleString *argument);

/* Sends the keyspace event, and moves the key to the front of the registry. */
void target_changed(struct target *target, const char *event);

#endif
