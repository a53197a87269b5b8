/* The events of the server that concern keys: loaded, renamed, moved, copied, restored, removed, flushed. They keep the
   registry, tombstones and key removals up to date. */
#ifndef MODULE_REGISTRY_KEYSPACE_H
#define MODULE_REGISTRY_KEYSPACE_H

#include "module/base/server.h"

int keyspace_begin(RedisModuleCtx *ctx);
void keyspace_end(void);

#endif
