/* A command to a server as its words and as bytes on the wire, and how its reply is delivered. */
#ifndef CLIENT_COMMAND_H
#define CLIENT_COMMAND_H

#include <stddef.h>

#include "roost.h"

struct redisReply;

/*
 * Called once for each command. The reply is valid during the call only; it may be an error of the server. NULL: there
 * was no reply (the command may have been carried out all the same), and `error` says why.
 */
typedef void answered(void *context, const struct redisReply *reply, const char *error);

/* The words of a command, the key among them. */
struct words {
    const roost_bytes *words;
    size_t count;
};

/* The command in the Redis protocol, to be freed; NULL without memory. */
char *format_words(struct words command, size_t *size);
/* The same for words that end with a NULL. */
char *format_texts(size_t *size, const char *word, ...);

/* Whether a reply is an error that begins with the text. */
bool is_error(const struct redisReply *reply, const char *begin);

#endif
