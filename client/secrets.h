/* Passwords that are not in URLs, and functions that hide those that are. */
#ifndef CLIENT_SECRETS_H
#define CLIENT_SECRETS_H

#include <stddef.h>

#include "cli/base/server_name.h"

struct secrets;

/*
 * secrets_read: passwords from the environment (ROOST_PASSWORD, ROOST_USER, for every deployment whose URL has none)
 * and from a file that no other user can read, with lines "URL-without-password password". NULL, with a message, on
 * error.
 *
 * secrets_hide overwrites the password in a URL of the command line, so that it does not show in the list of processes.
 * secrets_take does that for all words, and replaces them by copies, which are to be hidden once they have been read.
 * False without memory.
 */
struct secrets *secrets_read(const char *file);
void secrets_free(struct secrets *secrets); /* NULL is fine */
void secrets_hide(char *url);
bool secrets_take(char **words, size_t count, bool *any);

/* Adds user and password to a server's name that has no password. False without memory. */
bool secrets_complete(const struct secrets *secrets, struct server_name *name);

#endif
