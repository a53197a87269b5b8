/* The data types of the module: what the server calls to load, save, copy, move and free the values of keys. */
#ifndef MODULE_VALUE_DATA_TYPES_H
#define MODULE_VALUE_DATA_TYPES_H

#include "value.h"

/* Registers the data types. NULL, or the name of the one that another module has. */
const char *data_types_create(RedisModuleCtx *ctx, bool bf_cf);

#endif
