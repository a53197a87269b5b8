/* LOADCHUNK and ROOST.RESTORE: key, iterator, chunk. */
#ifndef MODULE_COMMAND_LOAD_CHUNK_H
#define MODULE_COMMAND_LOAD_CHUNK_H

#include "module/base/server.h"

struct load_errors {
    const char *number, *position, *data, *event;
    roost_kind kind; /* of the filter; 0: any */
};

int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct load_errors *errors);

#endif
