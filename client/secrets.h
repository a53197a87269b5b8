/* Passwords that are not in URLs, and how those that are get hidden. */
#ifndef CLIENT_SECRETS_H
#define CLIENT_SECRETS_H

#include <stddef.h>

#include "cli/base/server_name.h"

struct secrets;

/*
 * Passwords that are not in URLs: from the environment (ROOST_PASSWORD, ROOST_USER, for every deployment whose URL has
 * none) and from a file that nobody else can read, with lines "URL-without-password password". Complains and gives
 * NULL. What is in the URLs of a command line is made unreadable for those who list processes by secrets_hide; by
 * secrets_take for all words, which are copies from then on, to be hidden once they have been read. False without
 * memory.
 */
struct secrets *secrets_read(const char *file);
void secrets_free(struct secrets *secrets); /* NULL is fine */
void secrets_hide(char *url);
bool secrets_take(char **words, size_t count, bool *any);

/* Completes a name that has no password. False without memory. */
bool secrets_complete(const struct secrets *secrets, struct server_name *name);

#endif
