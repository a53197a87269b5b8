/* How families of commands come to the filter that they add to, and how they look items up. */
#ifndef MODULE_COMMAND_ITEMS_H
#define MODULE_COMMAND_ITEMS_H

#include "module/key/target.h"

struct adding {
    bool (*takes)(const struct target *target); /* which filters the family adds to */
    roost_status (*create)(struct target *target, const void *options);
    const char *refusal; /* the error if the options are not valid */
    const void *options;
    bool no_create;
};
/* Opens the key; creates a filter if it is missing. False after an error reply; the target is closed then. */
bool target_open_to_add(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct adding *adding);
int reply_creation_error(RedisModuleCtx *ctx, roost_status status, const char *refusal);

struct membership_query {
    bool (*takes)(const struct target *target);
    bool single;         /* one item, and no array */
    bool refuses_others; /* keys that hold something else; otherwise these contain nothing */
};
/* Replies whether the items are in. A missing key contains nothing. */
int reply_contained(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct membership_query *query);

#endif
