/* Fields of a reply that is a flat array of names and values, as those of ROOST.SUMMARY and ROOST.INFO are. */
#ifndef CLIENT_REPLY_FIELDS_H
#define CLIENT_REPLY_FIELDS_H

#include "roost.h"

struct redisReply;

/* Whether a reply is this text, in any case. */
bool text_is(const struct redisReply *reply, const char *text);

/* The value of a field; NULL: the reply has none of this name, or is not such an array. */
const struct redisReply *reply_field(const struct redisReply *reply, const char *name);
/* A number. */
bool read_field(int64_t *value, const struct redisReply *reply, const char *name);
/* A number with a fraction; 0: there is none. */
double fraction_in(const struct redisReply *reply, const char *name);
/* Whether a field has this text. */
bool field_is(const struct redisReply *reply, const char *name, const char *text);

/* The configuration of a filter, from ROOST.INFO. Older servers leave out layout, entry and schedule, which are 0
   then. */
bool read_config(roost_config *config, const struct redisReply *reply);

#endif
