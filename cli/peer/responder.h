/* The responder of a sync, for a file. */
#ifndef CLI_PEER_RESPONDER_H
#define CLI_PEER_RESPONDER_H

#include "cli/file/filter_file.h"

/*
 * Makes the reply to one request (roost_sync_reply) from what the file holds now. What the request changed is on the
 * disk when this returns. Complains and returns false if the file cannot be read or written; if the request is invalid,
 * *verdict and the reply say so.
 */
bool responder_reply(struct filter_file *file, roost_buffer *reply, roost_status *verdict, roost_bytes request);

#endif
