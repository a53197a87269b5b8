/* What a server replies, read piece by piece from bytes that may be anything. */
#ifndef CLIENT_REPLY_READER_H
#define CLIENT_REPLY_READER_H

#include <stddef.h>

struct reply_reader;
struct redisReply;

struct reply_reader *reply_reader_new(void); /* NULL without memory */
void reply_reader_free(struct reply_reader *reader);

/* Both answer NULL, or what is wrong with the bytes; nothing can be read any more then. */
const char *reply_reader_feed(struct reply_reader *reader, const void *bytes, size_t size);
/* The next whole reply, to be freed with freeReplyObject; NULL where it has not come yet. */
const char *reply_reader_next(struct reply_reader *reader, struct redisReply **reply);

/* Whether a reply has begun that is not whole yet. */
int reply_reader_is_within(const struct reply_reader *reader);

#endif
