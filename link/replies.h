/* Parsers of the replies to a link's commands. A server may reply anything; everything is checked. */
#ifndef LINK_REPLIES_H
#define LINK_REPLIES_H

#include "rows.h"

struct redisReply;

#define CHANGE_CURSOR_SIZE 80
#define CURSOR_ROOM        40

/* ---- texts ---- */

void cursor_text(char text[CURSOR_ROOM], roost_cursor cursor);

/* replies: all return false for anything else */

struct summary {
    roost_digest digest;
    char change_cursor[CHANGE_CURSOR_SIZE];
    uint64_t keys;
    bool more;
    uint64_t time;                    /* by its clock; 0: not given */
    roost_bytes link;                 /* the key for ROOST.LINK; data NULL: not supported */
    bool knows_listings;              /* false: an older server, which does not send what follows */
    bool listed;                      /* all keys that existed when the listing began have been reported */
    bool missed;                      /* a removal of a key may have been missed */
    bool full;                        /* it is close to its maxmemory */
    const struct redisReply *changed; /* an array */
};
bool read_summary(struct summary *summary, const struct redisReply *reply);

struct summary_entry {
    int database;
    roost_bytes key;
    struct view view;
    bool dropped; /* its tombstone was dropped, since all regions have received it */
};
bool read_summary_entry(struct summary_entry *entry, const struct redisReply *reply);

struct pulled {
    struct view view;
    roost_bytes frame; /* data NULL: no frame */
};
bool read_pulled(struct pulled *pulled, const struct redisReply *reply);

enum outcome { PUSH_MERGED, PUSH_SAME, PUSH_STALE, PUSH_WHOLE };
struct pushed {
    enum outcome outcome;
    struct view view; /* with the cursor after the push */
    roost_cursor from;
};
bool read_pushed(struct pushed *pushed, const struct redisReply *reply);

struct asked {
    roost_bytes session;
    roost_bytes request; /* data NULL: the sync is over, and what follows is set */
    bool equal;
    roost_digest digest;
    roost_cursor cursor;
    char session_text[24];
};
bool read_asked(struct asked *asked, const struct redisReply *reply);

/* ---- errors ---- */

/* Out of memory: passes at an unknown time. */
bool is_memory_error(const char *text);
/* Passes by itself: a server that loads, fails over, or cannot write at the moment. */
bool is_passing_error(const char *text);
/* The two filters have other configurations. */
bool is_configuration_error(const char *text);
/* The value is ahead of the server's clock. */
bool is_clock_error(const char *text);
/* The generation of the key has changed, or the server has dropped the sync. */
bool is_outdated_error(const char *text);

#endif
