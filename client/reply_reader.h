/* Parses the replies of a server incrementally, from bytes that may be anything. */
#ifndef CLIENT_REPLY_READER_H
#define CLIENT_REPLY_READER_H

#include <stddef.h>

struct reply_reader;
struct redisReply;

struct reply_reader *reply_reader_new(void); /* NULL without memory */
void reply_reader_free(struct reply_reader *reader);

/* Both return NULL, or an error text; nothing can be read after an error. */
const char *reply_reader_feed(struct reply_reader *reader, const void *bytes, size_t size);
/* The next complete reply, to be freed with freeReplyObject; NULL if it is not complete yet. */
const char *reply_reader_next(struct reply_reader *reader, struct redisReply **reply);

/* Whether an incomplete reply has begun. */
int reply_reader_is_within(const struct reply_reader *reader);

#endif
