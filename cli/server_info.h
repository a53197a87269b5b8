/* roost info of a filter in servers. */
#ifndef CLI_SERVER_INFO_H
#define CLI_SERVER_INFO_H

#include "cli/peer/shards.h"

/* Complains if it fails. */
bool print_server_info(const char *url, const struct shards_options *options, bool json);

#endif
