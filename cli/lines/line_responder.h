/* The responder of roost reconcile: takes requests and makes replies, over any transport. */
#ifndef CLI_LINES_LINE_RESPONDER_H
#define CLI_LINES_LINE_RESPONDER_H

#include "line_side.h"

/* Makes the reply. Complains and returns false if there is none; sets *understood to false if the reply refuses the
   request. The session of the side is NULL before the first request. */
bool line_responder_reply(struct line_side *side, struct byte_buffer *reply, bool *understood, roost_bytes request);

#endif
