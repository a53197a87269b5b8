/*
 * The lock is held for the time of one reply. Between two requests of a session the file may change, and that is as
 * good as a change before or after the session: the responder keeps no state but the filter, which is loaded again if
 * the file has changed. So a silent peer does not block the file. The initiator holds no lock while it waits (sync.c),
 * so two machines that sync with each other at the same time do not deadlock.
 *
 * Idle shares (share_transfer.h) are transferred before the reply, so that the reply contains them. There are some only
 * if the file has changed since the last reply, which is when an exchange begins.
 */
#include "responder.h"

#include "cli/base/interrupt.h"
#include "share_transfer.h"

static bool reply_locked(struct filter_file *file, roost_buffer *reply, roost_status *verdict, roost_bytes request)
{
    bool changed = false, gave;
    if (!filter_file_refresh(file) || !transfer_idle_shares(file, &gave))
        return false;
    *verdict = roost_sync_reply(file->filter, reply, &changed, request.data, request.size);
    if (!changed && !gave)
        return true;
    if (*verdict != ROOST_OK) { /* what was transferred, or merged before memory ran out, is not to be saved */
        roost_file_discard(file->handle);
        return true;
    }
    bool saved = filter_file_save(file);
    interrupt_catch(); /* for the next request */
    return saved;
}

bool responder_reply(struct filter_file *file, roost_buffer *reply, roost_status *verdict, roost_bytes request)
{
    bool answered = filter_file_lock(file, file->name) && reply_locked(file, reply, verdict, request);
    filter_file_unlock(file);
    return answered;
}
