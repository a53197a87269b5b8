/*
 * Replies of RESP2: maps are flat arrays, booleans are 0 or 1. Each parser accepts its reply as a whole or returns
 * false; numbers in texts are read digit by digit.
 */
#include "replies.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "client/reply_fields.h"

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
}

static bool is_nil(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_NIL;
}

static bool is_array(const redisReply *reply, size_t least)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements >= least;
}

static int hex_value(char digit)
{
    const char *digits = "0123456789abcdef", *found = digit ? strchr(digits, digit) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Hexadecimal digits up to a stop or the end; the rest of the text, or NULL. */
static const char *read_hex(uint64_t *number, const char *text, const char *end, char stop)
{
    const char *begin = text;
    *number = 0;
    for (; text < end && *text != stop; text++) {
        int value = hex_value(*text);
        if (value < 0 || text - begin >= 16)
            return NULL;
        *number = *number << 4 | (uint64_t)value;
    }
    return text > begin ? text : NULL;
}

static bool read_cursor(roost_cursor *cursor, const redisReply *reply)
{
    *cursor = (roost_cursor){0, 0};
    if (!is_text(reply))
        return false;
    const char *end = reply->str + reply->len, *at = read_hex(&cursor->incarnation, reply->str, end, '-');
    if (!at || at == end)
        return at && cursor->incarnation == 0;
    return read_hex(&cursor->sequence, at + 1, end, '\0') == end;
}

static bool read_digest(roost_digest *digest, const redisReply *reply)
{
    if (!is_text(reply) || reply->len != 32)
        return false;
    for (size_t i = 0; i < 16; i++) {
        int high = hex_value(reply->str[2 * i]), low = hex_value(reply->str[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        digest->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool read_generation(uint64_t *generation, const redisReply *reply)
{
    *generation = (uint64_t)reply->integer;
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0;
}

/* Generation, and digest and cursor of a value or two nulls. */
static bool read_view(struct view *view, const redisReply *generation, const redisReply *digest,
                      const redisReply *cursor)
{
    *view = (struct view){.known = true};
    if (!read_generation(&view->generation, generation))
        return false;
    if (is_nil(digest) || is_nil(cursor))
        return is_nil(digest) && is_nil(cursor);
    view->value = true;
    return read_digest(&view->digest, digest) && read_cursor(&view->cursor, cursor) && view->cursor.incarnation != 0;
}

static roost_bytes text_bytes(const redisReply *reply)
{
    return (roost_bytes){reply->str, (size_t)reply->len};
}

void cursor_text(char text[CURSOR_ROOM], roost_cursor cursor)
{
    if (cursor.incarnation)
        snprintf(text, CURSOR_ROOM, "%" PRIx64 "-%" PRIx64, cursor.incarnation, cursor.sequence);
    else
        strcpy(text, "0");
}

/* ---- summaries --------------------------------------------------------------------------------------------------- */

/* False, and the flag is false, if there is no such field. */
static bool read_flag(const redisReply *reply, const char *name, bool *flag)
{
    int64_t value = 0;
    bool there = read_field(&value, reply, name);
    *flag = there && value != 0;
    return there;
}

bool read_summary(struct summary *summary, const redisReply *reply)
{
    const redisReply *digest = reply_field(reply, "digest"), *change_cursor = reply_field(reply, "mark");
    int64_t keys, more;
    summary->changed = reply_field(reply, "changed");
    if (!digest || !read_digest(&summary->digest, digest) || !change_cursor || !is_text(change_cursor) ||
        change_cursor->len >= CHANGE_CURSOR_SIZE || memchr(change_cursor->str, 0, change_cursor->len) ||
        !read_field(&keys, reply, "keys") || keys < 0 || !read_field(&more, reply, "more") || !summary->changed ||
        !is_array(summary->changed, 0))
        return false;
    memcpy(summary->change_cursor, change_cursor->str, (size_t)change_cursor->len);
    summary->change_cursor[change_cursor->len] = '\0';
    summary->keys = (uint64_t)keys;
    summary->more = more != 0;
    summary->knows_listings = read_flag(reply, "listed", &summary->listed);
    if (!summary->knows_listings)
        summary->listed = !summary->more;
    read_flag(reply, "missed", &summary->missed);
    read_flag(reply, "full", &summary->full);
    const redisReply *link = reply_field(reply, "link");
    int64_t time;
    summary->link = link && is_text(link) ? text_bytes(link) : (roost_bytes){NULL, 0};
    summary->time = read_field(&time, reply, "time") && time > 0 ? (uint64_t)time : 0;
    return !summary->more || summary->changed->elements > 0;
}

/* The time of a tombstone in seconds, or 0. */
static uint32_t read_time(const redisReply *reply, size_t place)
{
    const redisReply *time = reply->elements > place ? reply->element[place] : NULL;
    bool good = time && time->type == REDIS_REPLY_INTEGER && time->integer > 0 && time->integer < UINT32_MAX;
    return good ? (uint32_t)time->integer : 0;
}

/* The sixth element says whether the key was evicted; the seventh is the time of a tombstone. */
bool read_summary_entry(struct summary_entry *entry, const redisReply *reply)
{
    if (!is_array(reply, 5) || reply->element[0]->type != REDIS_REPLY_INTEGER || reply->element[0]->integer < 0 ||
        reply->element[0]->integer > INT_MAX || !is_text(reply->element[1]))
        return false;
    entry->database = (int)reply->element[0]->integer;
    entry->key = text_bytes(reply->element[1]);
    if (entry->key.size > UINT32_MAX ||
        !read_view(&entry->view, reply->element[2], reply->element[3], reply->element[4]))
        return false;
    entry->view.withheld = !entry->view.value && reply->elements > 5 && text_is(reply->element[5], "evicted");
    entry->view.time = read_time(reply, 6);
    entry->dropped = reply->elements > 6 && reply->element[6]->type == REDIS_REPLY_INTEGER &&
                     reply->element[6]->integer == -1 && !entry->view.value && entry->view.generation == 0;
    return true;
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

bool read_pulled(struct pulled *pulled, const redisReply *reply)
{
    pulled->frame = (roost_bytes){NULL, 0};
    if (!is_array(reply, 4) || !read_view(&pulled->view, reply->element[0], reply->element[2], reply->element[1]))
        return false;
    pulled->view.time = read_time(reply, 4);
    if (is_text(reply->element[3]))
        pulled->frame = text_bytes(reply->element[3]);
    return is_text(reply->element[3]) ? pulled->view.value && pulled->frame.size > 0 : is_nil(reply->element[3]);
}

static bool read_outcome(enum outcome *outcome, const redisReply *reply)
{
    static const char *const names[] = {"merged", "same", "stale", "whole"};
    for (*outcome = PUSH_MERGED; *outcome <= PUSH_WHOLE; ++*outcome)
        if (text_is(reply, names[*outcome]))
            return true;
    return false;
}

bool read_pushed(struct pushed *pushed, const redisReply *reply)
{
    if (!is_array(reply, 5) || !read_outcome(&pushed->outcome, reply->element[0]))
        return false;
    const redisReply *from = reply->element[3];
    if (!is_nil(from) && !read_cursor(&pushed->from, from))
        return false;
    if (is_nil(from))
        pushed->from = (roost_cursor){0, 0};
    if (pushed->outcome <= PUSH_SAME)
        return read_view(&pushed->view, reply->element[1], reply->element[2],
                         is_nil(reply->element[2]) ? reply->element[2] : reply->element[4]);
    pushed->view = (struct view){0};
    return read_generation(&pushed->view.generation, reply->element[1]);
}

static bool read_session(struct asked *asked, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(asked->session_text, sizeof asked->session_text, "%lld", reply->integer);
        asked->session = (roost_bytes){asked->session_text, strlen(asked->session_text)};
    } else if (is_text(reply)) {
        asked->session = text_bytes(reply);
    }
    return reply->type == REDIS_REPLY_INTEGER || is_text(reply);
}

bool read_asked(struct asked *asked, const redisReply *reply)
{
    *asked = (struct asked){0};
    if (!is_array(reply, 2) || !read_session(asked, reply->element[0]))
        return false;
    if (is_text(reply->element[1])) {
        asked->request = text_bytes(reply->element[1]);
        return asked->request.size > 0;
    }
    if (!is_nil(reply->element[1]) || !is_array(reply, 5) || reply->element[2]->type != REDIS_REPLY_INTEGER)
        return false;
    asked->equal = reply->element[2]->integer == 1;
    return read_digest(&asked->digest, reply->element[3]) && read_cursor(&asked->cursor, reply->element[4]);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static bool begins_with_any(const char *text, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

bool is_memory_error(const char *text)
{
    static const char *const beginnings[] = {"OOM", NULL};
    return begins_with_any(text, beginnings);
}

bool is_passing_error(const char *text)
{
    static const char *const passing[] = {"LOADING",    "BUSY",    "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY",
                                          "NOREPLICAS", "MISCONF", "UNBLOCKED",  "MOVED",       "ASK ",     NULL};
    return begins_with_any(text, passing);
}

bool is_configuration_error(const char *text)
{
    return strncmp(text, "ERR ", 4) == 0 && strcmp(text + 4, roost_status_text(ROOST_MISMATCH)) == 0;
}

bool is_clock_error(const char *text)
{
    const char *expected = roost_status_text(ROOST_CLOCK);
    return strncmp(text, "ERR ", 4) == 0 && strncmp(text + 4, expected, strlen(expected)) == 0;
}

bool is_outdated_error(const char *text)
{
    static const char *const outdated[] = {"STALE", "ERR no such session", "ERR not found", NULL};
    return begins_with_any(text, outdated);
}
