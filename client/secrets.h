/* What a deployment asks of the secrets (deployment.h): the login of a server. */
#ifndef CLIENT_SECRETS_H
#define CLIENT_SECRETS_H

#include "deployment.h"
#include "cli/base/server_name.h"

/* Completes a name that has no password. False without memory. */
bool secrets_complete(const struct secrets *secrets, struct server_name *name);

#endif
