/*
 * The parser is hiredis's. It waits for as many bytes and allocates as many elements as the peer announces, and it
 * scans a line from its beginning whenever more of it arrives. So limits stop a hostile peer, or one that is not Redis,
 * before it costs memory or time:
 *
 *     a reply of more than 1 GiB          at the length that announces it, or when so much has arrived
 *     more than four million elements     at the count that announces them, over all arrays of a reply
 *     nested arrays                       the parser itself allows seven levels
 *     a line without an end               at 64 KiB; only errors and simple strings are long lines
 */
#include "reply_reader.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES    ((size_t)1 << 30)
#define MOST_ELEMENTS ((size_t)1 << 22)
#define LONGEST_LINE  (64 << 10)

/* Parts of the parser that changed in hiredis 1.0. */
#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#define CURRENT_TASK(parser) ((parser)->task[(parser)->ridx])
#else
typedef int element_count;
#define CURRENT_TASK(parser) (&(parser)->rstack[(parser)->ridx])
#endif

struct reply_reader {
    redisReader *parser;
    redisReplyObjectFunctions functions; /* hiredis's, except for arrays */
    void *(*create_array)(const redisReadTask *task, element_count elements);
    size_t bytes;    /* since the last complete reply */
    size_t elements; /* announced in this reply so far */
    bool too_many;
};

static void *create_array(const redisReadTask *task, element_count elements)
{
    struct reply_reader *reader = task->privdata;
    reader->elements += (size_t)elements; /* a negative count becomes very large */
    reader->too_many = reader->elements > MOST_ELEMENTS || (size_t)elements > MOST_ELEMENTS;
    return reader->too_many ? NULL : reader->create_array(task, elements);
}

struct reply_reader *reply_reader_new(void)
{
    struct reply_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->parser = redisReaderCreate();
    if (!reader->parser) {
        free(reader);
        return NULL;
    }
    reader->functions = *reader->parser->fn;
    reader->create_array = reader->functions.createArray;
    reader->functions.createArray = create_array;
    reader->parser->fn = &reader->functions;
    reader->parser->privdata = reader;
    return reader;
}

void reply_reader_free(struct reply_reader *reader)
{
    if (reader)
        redisReaderFree(reader->parser);
    free(reader);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* Whether the announced length of the current string is too large. */
static bool announces_too_much(const redisReader *parser)
{
    size_t length = 0, digits = 0;
    if (parser->ridx < 0 || CURRENT_TASK(parser)->type != REDIS_REPLY_STRING)
        return false;
    for (size_t i = parser->pos; i < parser->len && parser->buf[i] >= '0' && parser->buf[i] <= '9'; i++, digits++)
        length = digits < 15 ? 10 * length + (size_t)(parser->buf[i] - '0') : MOST_BYTES + 1;
    return length > MOST_BYTES;
}

static bool line_has_no_end(const redisReader *parser)
{
    size_t waiting = parser->len - parser->pos;
    return waiting > LONGEST_LINE && !memchr(parser->buf + parser->pos, '\n', LONGEST_LINE);
}

static const char *limit_passed(const struct reply_reader *reader)
{
    return reader->bytes > MOST_BYTES || announces_too_much(reader->parser) ? "its reply is larger than 1 GiB"
           : line_has_no_end(reader->parser)                                ? "its reply has a line of more than 64 KiB"
                                                                            : NULL;
}

static const char *complaint(const struct reply_reader *reader)
{
    return reader->too_many                           ? "its reply has more than 4 million elements"
           : reader->parser->err == REDIS_ERR_OOM     ? "not enough memory for its reply"
           : strstr(reader->parser->errstr, "nested") ? "its reply is nested too deeply"
                                                      : "does not speak the protocol of Redis";
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

const char *reply_reader_feed(struct reply_reader *reader, const void *bytes, size_t size)
{
    reader->bytes += size;
    return redisReaderFeed(reader->parser, bytes, size) == REDIS_OK ? NULL : complaint(reader);
}

const char *reply_reader_next(struct reply_reader *reader, struct redisReply **reply)
{
    void *read = NULL;
    *reply = NULL;
    if (redisReaderGetReply(reader->parser, &read) != REDIS_OK)
        return complaint(reader);
    if (!read)
        return limit_passed(reader);
    *reply = read;
    reader->elements = 0;
    reader->bytes = reader->parser->len - reader->parser->pos;
    return NULL;
}

int reply_reader_is_within(const struct reply_reader *reader)
{
    const redisReader *parser = reader->parser;
    bool begun = parser->ridx > 0 || (parser->ridx == 0 && CURRENT_TASK(parser)->type >= 0);
    return begun || parser->len > parser->pos;
}
