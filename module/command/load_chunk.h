/* LOADCHUNK and ROOST.RESTORE: key, iterator, chunk. */
#ifndef MODULE_COMMAND_LOAD_CHUNK_H
#define MODULE_COMMAND_LOAD_CHUNK_H

#include "module/value/filter_value.h"
#include "module/value/redisbloom.h"

struct load_errors {
    const char *number, *position, *data, *event;
    filter_test *takes;     /* the filters that may be loaded; NULL: any value */
    enum redisbloom source; /* chunks of RedisBloom that may be loaded, too */
};

int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct load_errors *errors);

#endif
