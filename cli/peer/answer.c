/*
 * The lock is held for the time of one answer and no longer. Between two requests of a session the file may change, and
 * that is as good as if it had changed before or after: the answering end keeps nothing in its head but the filter,
 * which is read again where the file is not as we left it. So a peer that falls silent keeps nobody from the file, and
 * since the asking end holds no lock while it waits (see sync.c), two machines that sync with each other at once never
 * wait in a ring.
 *
 * What is lent (lending.h) is lent before the answer, so that it travels with it. There is something to lend only where
 * the file has taken in something new since the last answer, which is when an exchange begins.
 */
#include "answer.h"

#include "cli/base/interrupt.h"
#include "share_transfer.h"

static bool answer_locked(struct filter_file *file, roost_buffer *reply, roost_status *verdict, roost_bytes request)
{
    bool changed = false, gave;
    if (!filter_file_refresh(file) || !transfer_idle_shares(file, &gave))
        return false;
    *verdict = roost_sync_answer(file->filter, reply, &changed, request.data, request.size);
    if (*verdict != ROOST_OK) /* a request that fails leaves the file alone; what was lent for it, or merged before
                                 memory ran out, is forgotten: the file is read again */
        if (gave || changed)
            roost_file_discard(file->handle);
    if (!(changed || gave) || *verdict != ROOST_OK)
        return true;
    bool saved = filter_file_save(file);
    interrupt_catch(); /* the session goes on */
    return saved;
}

bool answer_request(struct filter_file *file, roost_buffer *reply, roost_status *verdict, roost_bytes request)
{
    bool answered = filter_file_lock(file, file->name) && answer_locked(file, reply, verdict, request);
    filter_file_unlock(file);
    return answered;
}
