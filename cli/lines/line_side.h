/*
 * One side of roost reconcile: a file of lines, and the session that its lines are the keys of.
 *
 * What the two ends of a connection say to each other is the messages of the session (include/roost/reconcile.h), as
 * they are, and when it is over, these. All of the program's own begin with a byte that no session's does.
 *
 *     request                                          reply
 *     LINES_WANTED  last message of the session,       LINES_MORE or LINES_LAST, and records
 *                   sized, or an empty one
 *     LINES_GO_ON                                      LINES_MORE or LINES_LAST, and records
 *     LINES_TAKE    the same, records                  LINES_TAKEN
 *     LINES_COMMIT  the same, records                  LINES_TAKEN: they are on the disk
 *     LINES_ENOUGH  the same                           LINES_TAKEN
 *
 *     record   a multiset's: how often the line is here, how often there | the line, sized
 */
#ifndef CLI_LINES_LINE_SIDE_H
#define CLI_LINES_LINE_SIDE_H

#include "cli/base/byte_buffer.h"
#include "line_file.h"
#include "line_union.h"

enum line_message {
    LINES_WANTED = 0x81,
    LINES_GO_ON,
    LINES_TAKE,
    LINES_COMMIT,
    LINES_ENOUGH,
    LINES_MORE,
    LINES_LAST,
    LINES_TAKEN,
};

/* All zero before the first call. */
struct line_side {
    struct line_file file;
    roost_reconcile *session;
    roost_difference *differences; /* of this side, once the session is over */
    size_t count, next;            /* how many; the first that was not handed out */
    struct line_picker picker;
    struct line_union united;
};

/* What sessions of this program live in. */
roost_environment line_environment(void);

/* Each complains where it fails. */
bool line_side_open(struct line_side *side, const char *name);
void line_side_close(struct line_side *side);

/* All lines become keys of the session, which the caller has made. */
bool line_side_load(struct line_side *side);

/* The session is over: its differences are handed out by line_side_next, from the first on. */
bool line_side_conclude(struct line_side *side);
bool line_side_has_more(const struct line_side *side);
bool line_side_next(struct line_side *side, roost_difference *difference, roost_bytes *line);

/* Records of the next differences, about a megabyte of them. */
bool line_side_write(struct line_side *side, struct byte_buffer *message);

/* A record as it came. False: there is none, or nonsense, see reader->failed. */
struct line_record {
    uint64_t there, here; /* how often the sending side has it, and the other; 1 and 0 in a set */
    roost_bytes line;
};
bool take_record(struct byte_reader *reader, struct line_record *record, bool multiset);

/* The line so often that this side has it as often as the other. */
bool line_side_take(struct line_side *side, const struct line_record *record);

bool complain_of_session(const char *name, roost_status status);

#endif
