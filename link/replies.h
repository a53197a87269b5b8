/* What servers reply to the commands of a link, checked: a server may answer anything. */
#ifndef LINK_REPLIES_H
#define LINK_REPLIES_H

#include "rows.h"

struct redisReply;

#define CHANGE_CURSOR_SIZE 80
#define CURSOR_ROOM        40

/* ---- texts ---- */

void cursor_text(char text[CURSOR_ROOM], roost_cursor cursor);

/* ---- replies: all false where the reply is something else ---- */

struct summary {
    roost_digest digest;
    char change_cursor[CHANGE_CURSOR_SIZE];
    uint64_t keys;
    bool more;
    uint64_t time;                    /* by its clock; 0 where it does not tell */
    roost_bytes link;                 /* the key for ROOST.LINK; data NULL: it knows of none */
    bool knows_listings;              /* an older server does not tell what follows: */
    bool listed;                      /* all that there was when the listing began has been told */
    bool missed;                      /* that a key went away may have been missed */
    bool full;                        /* it is close to its maxmemory */
    const struct redisReply *changed; /* an array */
};
bool read_summary(struct summary *summary, const struct redisReply *reply);

struct summary_entry {
    int database;
    roost_bytes key;
    struct view view;
    bool dropped; /* its tombstone is, since all regions have had it */
};
bool read_summary_entry(struct summary_entry *entry, const struct redisReply *reply);

struct pulled {
    struct view view;
    roost_bytes frame; /* data NULL: there is none */
};
bool read_pulled(struct pulled *pulled, const struct redisReply *reply);

enum outcome { PUSH_MERGED, PUSH_SAME, PUSH_STALE, PUSH_WHOLE };
struct pushed {
    enum outcome outcome;
    struct view view; /* its cursor is that after the push */
    roost_cursor from;
};
bool read_pushed(struct pushed *pushed, const struct redisReply *reply);

struct asked {
    roost_bytes session;
    roost_bytes request; /* data NULL: the sync is over, and what follows is known */
    bool equal;
    roost_digest digest;
    roost_cursor cursor;
    char session_text[24];
};
bool read_asked(struct asked *asked, const struct redisReply *reply);

/* A number by its name in a flat array of names and values. */
bool read_field(int64_t *value, const struct redisReply *reply, const char *name);
/* Whether there is such a name with this text. */
bool field_is(const struct redisReply *reply, const char *name, const char *text);

/* ---- errors ---- */

/* There is no room: it will pass, but nobody knows when. */
bool is_memory_error(const char *text);
/* One that will pass by itself: a server that loads, fails over, or cannot write at the moment. */
bool is_passing_error(const char *text);
/* The two filters have other configurations. */
bool is_configuration_error(const char *text);
/* What was to be taken in is ahead of the server's clock. */
bool is_clock_error(const char *text);
/* The generation of a name is another one by now, or a sync was forgotten. */
bool is_outdated_error(const char *text);

#endif
