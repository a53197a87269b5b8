/*
 * One side of roost reconcile: a file of lines, and the session whose keys are these lines.
 *
 * The two sides exchange the messages of the session (include/roost/reconcile.h), and then the messages below. These
 * begin with a byte that no message of a session begins with. "Sized" bytes follow a varint with their number.
 *
 *     request                                          reply
 *     LINES_WANTED  last message of the session,       LINES_MORE or LINES_LAST, and records
 *                   sized, or an empty one
 *     LINES_GO_ON                                      LINES_MORE or LINES_LAST, and records
 *     LINES_TAKE    the same, records                  LINES_TAKEN
 *     LINES_COMMIT  the same, records                  LINES_TAKEN: they are on the disk
 *     LINES_ENOUGH  the same                           LINES_TAKEN
 *
 *     record   of a multiset: copies on this side, copies on the other | the line, sized
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
    uint64_t threads;              /* of work_on_blocks */
    uint64_t loaded;               /* lines, for the line of progress */
    roost_difference *differences; /* of this side, once the session is over */
    size_t count, next;            /* how many; the first that has not been returned */
    size_t room;                   /* for differences */
    struct line_picker picker;
    struct line_union united;
};

/* The environment of sessions. */
roost_environment line_environment(void);

/* Each complains if it fails. */
bool line_side_open(struct line_side *side, const char *name);
void line_side_close(struct line_side *side);

/* Adds all lines to the session, which the caller has made. */
bool line_side_load(struct line_side *side);

/* The session is over: line_side_next returns its differences, from the first on. */
bool line_side_conclude(struct line_side *side);
/* Notes one more difference, behind the others; false without memory. */
bool line_side_append(struct line_side *side, roost_difference difference);
/* The same as line_side_conclude for differences that are in place already. */
bool line_side_begin(struct line_side *side);
bool line_side_has_more(const struct line_side *side);
bool line_side_next(struct line_side *side, roost_difference *difference, roost_bytes *line);

/* Appends records of the next differences, about a megabyte. */
bool line_side_write(struct line_side *side, struct byte_buffer *message);

/* Reads a record. False: there is none, or it is invalid (reader->failed). */
struct line_record {
    uint64_t there, here; /* copies on the sending side and on the other; 1 and 0 in a set */
    roost_bytes line;
};
bool take_record(struct byte_reader *reader, struct line_record *record, bool multiset);

/* Appends the line until this side has as many copies as the other. */
bool line_side_take(struct line_side *side, const struct line_record *record);

bool complain_of_session(const char *name, roost_status status);

#endif
