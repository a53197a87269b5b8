/*
 * The sessions of ROOST.ASK: syncs that wait for the next reply of the other server.
 *
 * A session belongs to a filter at its generation. It ends with its value, or a minute after its last message. Four are
 * kept per key, 256 in all; another one replaces the oldest.
 */
#ifndef MODULE_COMMAND_SYNC_SESSIONS_H
#define MODULE_COMMAND_SYNC_SESSIONS_H

#include "module/key/target.h"

struct sync_session {
    uint64_t serial; /* 0: none yet */
    roost_sync *sync;
    roost_filter *copy;   /* of the filter, which the sync is about; NULL: it is about the filter itself */
    struct value *memory; /* counts that of the copy */
};

/* Takes the session out of the list; false if there is none of this filter. */
bool sync_session_take(struct sync_session *session, const struct target *target, const RedisModuleString *serial);

/* Puts it into the list, with a serial if it has none. */
void sync_session_keep(struct sync_session *session, struct target *target);

/* On any thread. The filter of a session without a copy has to be there. */
void sync_session_free(struct sync_session *session);

/* Ends the sessions of a filter that is freed, and keeps the memory of a filter with sessions from being moved. */
extern const struct value_observer sync_sessions_observer;
void sync_sessions_end(void);

#endif
