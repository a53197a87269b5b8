/* Replies are those of RESP2: booleans are 0 or 1, and numbers with a fraction are texts. */
#include "reply_fields.h"

#include <hiredis/hiredis.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/base/kinds.h"

#define SECOND 1000000 /* microseconds */

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
}

bool text_is(const redisReply *reply, const char *text)
{
    return is_text(reply) && (size_t)reply->len == strlen(text) && strncasecmp(reply->str, text, strlen(text)) == 0;
}

const redisReply *reply_field(const redisReply *reply, const char *name)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2)
        if (text_is(reply->element[i], name))
            return reply->element[i + 1];
    return NULL;
}

bool read_field(int64_t *value, const redisReply *reply, const char *name)
{
    const redisReply *found = reply_field(reply, name);
    *value = found && found->type == REDIS_REPLY_INTEGER ? found->integer : 0;
    return found && found->type == REDIS_REPLY_INTEGER;
}

bool field_is(const redisReply *reply, const char *name, const char *text)
{
    const redisReply *found = reply_field(reply, name);
    return found && text_is(found, text);
}

/* ---- a configuration --------------------------------------------------------------------------------------------- */

static uint64_t number_in(const redisReply *reply, const char *name)
{
    int64_t value;
    read_field(&value, reply, name);
    return (uint64_t)value;
}

/* A server formats integers without a fraction. */
double fraction_in(const redisReply *reply, const char *name)
{
    const redisReply *found = reply_field(reply, name);
    if (found && found->type == REDIS_REPLY_INTEGER)
        return (double)found->integer;
    return found && is_text(found) ? strtod(found->str, NULL) : 0;
}

static roost_kind kind_in(const redisReply *reply)
{
    for (unsigned kind = 1; kind <= ROOST_COUNTER; kind++)
        if (field_is(reply, "kind", kind_name((roost_kind)kind)))
            return (roost_kind)kind;
    return (roost_kind)0;
}

static unsigned choice_in(const redisReply *reply, const char *name, const char *const *choices)
{
    for (unsigned i = 0; choices[i]; i++)
        if (field_is(reply, name, choices[i]))
            return i + 1;
    return 0;
}

bool read_config(roost_config *config, const redisReply *reply)
{
    double window = fraction_in(reply, "window_seconds");
    unsigned semantics =
        choice_in(reply, "semantics", semantics_names); /* servers of earlier versions have no such field */
    *config = (roost_config){
        .kind = kind_in(reply),
        .scalable = number_in(reply, "scalable") != 0,
        .multiset = number_in(reply, "multiset") != 0,
        .semantics = semantics ? (roost_semantics)(semantics - 1) : ROOST_ADD_WINS,
        .layout = (roost_layout)choice_in(reply, "layout", layout_names),
        .schedule = (roost_schedule)choice_in(reply, "schedule", schedule_names),
        .capacity = number_in(reply, "capacity"),
        .fpr = fraction_in(reply, "fpr_promised"),
        .seed = number_in(reply, "seed"),
        .writers = (uint32_t)number_in(reply, "writers"),
        .growth = (uint32_t)number_in(reply, "growth"),
        .fingerprint_bits = (uint32_t)number_in(reply, "fingerprint_bits"),
        .bucket_size = (uint32_t)number_in(reply, "bucket_size"),
        .entry_bits = (uint32_t)number_in(reply, "entry_bits"),
        .past = (uint32_t)number_in(reply, "past"),
        .window = window > 0 && window < 1e12 ? (uint64_t)llround(window * SECOND) : 0,
    };
    return config->kind != 0;
}
