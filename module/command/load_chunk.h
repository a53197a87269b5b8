/* LOADCHUNK and ROOST.RESTORE: key, iterator, chunk. */
#ifndef MODULE_COMMAND_LOAD_CHUNK_H
#define MODULE_COMMAND_LOAD_CHUNK_H

#include "module/value/chunks.h"

struct load_errors {
    const char *number, *position, *data, *event;
    filter_test *takes;     /* the filters that may be loaded; NULL: any value */
    enum redisbloom source; /* chunks of RedisBloom that may be loaded, too */
    foreign_decoder *whole; /* NULL, or another program's filter that may be loaded as one chunk */
};

int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct load_errors *errors);

#endif
