#include "line_responder.h"

#include "cli/base/messages.h"

static bool reply_to_session_message(struct line_side *side, struct byte_buffer *reply, bool *understood,
                                     roost_bytes message)
{
    roost_buffer next = {0};
    roost_status status = roost_reconcile_next(side->session, &next, message.data, message.size);
    append_bytes(reply, next.data, next.size);
    roost_buffer_release(&next);
    *understood &= status == ROOST_OK;
    if (reply->failed)
        status = ROOST_NO_MEMORY;
    return (status == ROOST_OK || reply->size > 0) || complain_of_session(side->file.name, status);
}

static bool begin_session(struct line_side *side, struct byte_buffer *reply, bool *understood, roost_bytes message)
{
    roost_environment environment = line_environment();
    roost_status status = roost_reconcile_new_responder(&side->session, message.data, message.size, &environment);
    if (status != ROOST_OK)
        return complain_of_session(side->file.name, status);
    return line_side_load(side) && reply_to_session_message(side, reply, understood, message);
}

/* The last message of the session is part of the first request behind it. */
static bool end_session(struct line_side *side, struct byte_reader *reader)
{
    roost_bytes last = take_sized(reader);
    roost_buffer nothing = {0};
    roost_status status = ROOST_OK;
    if (!reader->failed && last.size > 0 && !side->differences)
        status = roost_reconcile_next(side->session, &nothing, last.data, last.size);
    roost_buffer_release(&nothing);
    if (status == ROOST_OK && (reader->failed || !roost_reconcile_is_done(side->session)))
        status = ROOST_PROTOCOL;
    if (status != ROOST_OK)
        return complain_of_session(side->file.name, status);
    return side->differences || line_side_conclude(side);
}

static bool send_lines(struct line_side *side, struct byte_buffer *reply)
{
    append_number(reply, LINES_MORE, 1);
    if (!line_side_write(side, reply))
        return false;
    if (!line_side_has_more(side))
        reply->data[0] = LINES_LAST;
    return true;
}

static bool take_lines(struct line_side *side, struct byte_reader *reader)
{
    bool multiset = roost_reconcile_get_config(side->session)->multiset;
    struct line_record record;
    while (take_record(reader, &record, multiset))
        if (!line_side_take(side, &record))
            return false;
    return !reader->failed || complain_of_session(side->file.name, ROOST_CORRUPT);
}

static bool reply_to_program_message(struct line_side *side, struct byte_buffer *reply, uint8_t type,
                                     struct byte_reader *reader)
{
    bool fine = type == LINES_GO_ON ? side->differences != NULL : end_session(side, reader);
    switch (type) {
    case LINES_WANTED:
    case LINES_GO_ON:
        return fine && send_lines(side, reply);
    case LINES_TAKE:
    case LINES_COMMIT:
        fine = fine && take_lines(side, reader) && (type == LINES_TAKE || line_union_commit(&side->united));
        break;
    default:
        fine = fine && type == LINES_ENOUGH;
    }
    append_number(reply, LINES_TAKEN, 1);
    return fine;
}

bool line_responder_reply(struct line_side *side, struct byte_buffer *reply, bool *understood, roost_bytes request)
{
    struct byte_reader reader = {.next = request.data, .left = request.size};
    reply->size = 0;
    if (!side->session)
        return begin_session(side, reply, understood, request);
    uint8_t type = (uint8_t)take_number(&reader, 1);
    if (type < LINES_WANTED)
        return reply_to_session_message(side, reply, understood, request);
    return reply_to_program_message(side, reply, type, &reader) &&
           (!reply->failed || complain_of_session(side->file.name, ROOST_NO_MEMORY));
}
