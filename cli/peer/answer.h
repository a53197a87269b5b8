/* The answering end of a sync, on a file. */
#ifndef CLI_PEER_ANSWER_H
#define CLI_PEER_ANSWER_H

#include "cli/file/filter_file.h"

/*
 * Answers one request as roost_sync_answer does, with what the file holds by now. What the request changed is on the
 * disk before this returns. Complains and answers false where the file cannot be read or written; what is wrong with
 * the request itself is in *verdict and in the reply.
 */
bool answer_request(struct filter_file *file, roost_buffer *reply, roost_status *verdict, roost_bytes request);

#endif
