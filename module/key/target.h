/*
 * The key that a command is about, and the effects of a command on it.
 *
 * Effects. Replicas of the server and its AOF are told what happened, in a form in which nothing is left to decide:
 *
 *     creation               ROOST.RESTORE key 0 bytes      the empty filter, with all that the defaults filled in
 *     an identity is drawn   ROOST.IDENTITY key number
 *     additions, Bloom       BF.ADD or ROOST.ADD            a function of state and identity, both of which they have
 *     all other changes      ROOST.MERGE key frame          the delta that the change made
 *     a burial               ROOST.GENERATION name ...      beside the deletion (graves.h)
 *
 * A command that changed nothing tells nothing. A command that comes from a primary or from the AOF is a mirrored one:
 * it is passed on as it came, and no limit counts.
 */
#ifndef MODULE_KEY_TARGET_H
#define MODULE_KEY_TARGET_H

#include "module/base/context.h"
#include "module/value/filter_value.h"

struct target {
    RedisModuleCtx *ctx;
    RedisModuleString *name;
    RedisModuleKey *key;
    struct filter_value *filter; /* NULL where there is none */
    bool missing;                /* the key does not exist, and might */
    bool reserved;               /* it does not, and is none for filters (graves.h); only where it was to be written */
    bool staged;                 /* it holds a value that is not whole yet */
    bool mirrored;
    bool passed_on;  /* the command itself was, and once is enough */
    bool as_it_came; /* the command does nothing but add the items that target_add is given: it may be passed on itself
                      */
};

/* Whatever the key holds; close it after use. */
void target_open(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name, int mode);
void target_close(struct target *target);

/* A filter, of any kind. False when an error was replied; the target is closed then. */
bool target_open_filter(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name, int mode);

/* The error that says why there is no filter; the target is closed. */
int target_refuse(struct target *target, const char *when_missing);

/* Makes a filter at a missing key, and tells of it. */
roost_status target_create(struct target *target, const roost_config *config, struct shown shown);
/* Puts a filter in the place of what is there, and tells of it whole. */
void target_put(struct target *target, struct filter_value *filter);
void target_put_at(struct target *target, struct filter_value *filter, uint64_t generation);

/* The generation that the name is at: of its filter, or of its burial. */
uint64_t target_generation(const struct target *target);
/* The argument is that generation; else an error was replied, and the target is closed. */
bool target_is_at(struct target *target, const RedisModuleString *argument);
/* The name holds nothing, at this generation. */
void target_delete(struct target *target, uint64_t generation);

/*
 * How a family of commands comes to the filter that it adds to: which it takes, how it makes one where the key is
 * missing, and what it says where that fails.
 */
struct adding {
    bool (*takes)(const struct target *target);
    roost_status (*create)(struct target *target, const void *options);
    const char *refusal; /* where the options make no sense */
    const void *options;
    bool no_create;
};
/* False when an error was replied; the target is closed then. */
bool target_open_to_add(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct adding *adding);
int reply_creation_error(RedisModuleCtx *ctx, roost_status status, const char *refusal);

/*
 * How a family of commands asks whether items are in, at keys that hold what it takes. A key that is missing contains
 * nothing, and so does one that holds something else, unless those are refused.
 */
struct membership_query {
    bool (*takes)(const struct target *target);
    bool single; /* one item, and no array */
    bool refuses_others;
};
int reply_contained(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                    const struct membership_query *membership_query);

/* Changes that are made by others, in window.c: what there must be before, and the effects of what has changed; whether
   anything has. No more than a journal holds in between. */
roost_status target_begin(struct target *target);
bool target_replicate(struct target *target);

/* Additions with their effects; as filter_value_add. `items` are the arguments that `keys` are the bytes of. */
roost_status target_add(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                        RedisModuleString **items, size_t count);
/* Removes each element, or one copy of it. */
roost_status target_remove(struct target *target, bool *changed, const roost_bytes *keys, size_t count, bool one);
/* Takes in a frame. */
roost_status target_merge(struct target *target, bool *changed, const void *frame, size_t size);
/* One step of a merge (roost/incremental.h). */
roost_status target_merge_step(struct target *target, bool *changed, bool *done, roost_merging *merging);
/* One message of a sync; the reply is to be released. */
roost_status target_sync(struct target *target, roost_buffer *reply, const void *message, size_t size);
/* One step of the asking side; the request is to be released. */
roost_status target_ask(struct target *target, roost_sync *sync, roost_buffer *request, const void *reply, size_t size);

/* The keyspace event, and the place in the registry. */
void target_changed(struct target *target, const char *event);

#endif
