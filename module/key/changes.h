/*
 * Changes of a key, and their replication.
 *
 * Replicas of the server and its AOF get the effect of a command, in a form that leaves nothing to decide:
 *
 *     creation               ROOST.RESTORE key 0 bytes      the empty filter, with all defaults filled in
 *     an identity is drawn   ROOST.IDENTITY key number
 *     additions, Bloom       BF.ADD or ROOST.ADD            a function of state and identity, and replicas have both;
 *     and table of prefixes                                 where there is no identity, of the state alone
 *     all other changes      ROOST.MERGE key frame          the delta of the change; of a small filter, its state
 *     a deletion             ROOST.GENERATION key ...       beside the deletion itself (registry/tombstones.h)
 *
 * A command that changed nothing is not replicated. A *mirrored* command, which comes from a primary or from the AOF,
 * is passed on as it came, and no limit applies to it.
 */
#ifndef MODULE_KEY_CHANGES_H
#define MODULE_KEY_CHANGES_H

#include "target.h"

/* Creates a filter at a missing key. */
roost_status target_create(struct target *target, const roost_config *config, struct shown shown);
/* Replaces what is there by the filter: at the next generation, or at the given one. */
void target_put(struct target *target, struct filter_value *filter);
void target_put_at(struct target *target, struct filter_value *filter, uint64_t generation);
/* Deletes what is there, if anything. The key is at this generation afterwards. */
void target_delete(struct target *target, uint64_t generation);

/* For changes that the caller makes itself: what is needed before, and the replication of what has changed. At most as
   many changes in between as a journal holds. target_replicate returns whether anything has changed. */
roost_status target_begin(struct target *target);
bool target_replicate(struct target *target);

/* As filter_value_add. `items` are the arguments whose bytes are in `keys`. */
roost_status target_add(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                        RedisModuleString **items, size_t count);
/* Removes each element, or one copy of each. */
roost_status target_remove(struct target *target, bool *changed, const roost_bytes *keys, size_t count, bool one);
/* Merges a frame. */
roost_status target_merge(struct target *target, bool *changed, const void *frame, size_t size);
/* One step of an incremental merge (roost/incremental.h). */
roost_status target_merge_step(struct target *target, bool *changed, bool *done, roost_merge_job *merging);
/* The imported parts of another key, alone. */
roost_status target_merge_imported(struct target *target, const struct target *source);
/* One message of a sync, as responder. The caller releases the reply. */
roost_status target_sync(struct target *target, roost_buffer *reply, const void *message, size_t size);
/* The same in stages (roost/incremental.h). Each step is replicated. */
roost_status target_begin_sync(struct target *target, roost_reply_job **job, roost_bytes message,
                               const roost_environment *environment);
void target_step_sync(struct target *target, roost_reply_job *job);
/* One step of a sync, as initiator. The caller releases the request. */
roost_status target_ask(struct target *target, roost_sync *sync, roost_buffer *request, const void *reply, size_t size);

#endif
