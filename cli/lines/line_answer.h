/* The answering end of roost reconcile: requests in, replies out, whoever carries them. */
#ifndef CLI_LINES_LINE_ANSWER_H
#define CLI_LINES_LINE_ANSWER_H

#include "line_side.h"

/* Makes the reply. Complains where there is none; *understood is set to false where the request was refused in the
   reply. A side whose session is NULL has not heard anything yet. */
bool line_answer(struct line_side *side, struct byte_buffer *reply, bool *understood, roost_bytes request);

#endif
