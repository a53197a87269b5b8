/*
 * The messages of a sync. docs/format.md has their bytes; `initiator.c` shows how they follow each other.
 *
 *     request                                         reply
 *     HELLO   version, configuration, digest, cursor  EQUAL | DELTA what changed | LOST causal context
 *     PUSH    what changed here, digest               DONE
 *     TRADE   dots wanted, what the peer lacks        CHANGES what the dots wanted are, digest
 *     RANGES  digests of ranges                       DIFFER which of them are different
 *     LEAVES  what some ranges hold                   RESOLVE positions, digest
 *     STATE   all, digest                             WHOLE all, unless it is the same
 *     PUSH, TRADE, RANGES, LEAVES                     LOST, from a replica that they are not meant for, or that
 *                                                     no longer knows the causal context that they refer to
 *     anything                                        FAILURE status, version; after LEAVES: too much, send STATE
 *
 * All but HELLO and FAILURE end with a checksum that is keyed by the configuration, so that neither a damaged message
 * nor one for another filter is ever merged. The checksum of a reply covers its request too: a reply to another
 * request, or to a HELLO that was damaged on the way, is refused.
 */
#ifndef SYNC_MESSAGES_H
#define SYNC_MESSAGES_H

#include "roost/sync.h"
#include "../filter/configuration.h"
#include "../filter/journal_policy.h"

#define SYNC_VERSION 1

enum message_type {
    HELLO = 0x52, /* 'R': distinguishes a first message from noise */
    EQUAL = 1,
    DELTA,
    LOST,
    PUSH,
    DONE,
    TRADE,
    CHANGES,
    RANGES,
    DIFFER,
    LEAVES,
    RESOLVE,
    STATE,
    WHOLE,
    FAILURE = 0x58,
};

/* What a reply says about the responder's state, compared with what the initiator knew of it. */
enum reply_flags {
    REPLY_EQUAL = 1,       /* the digests are the same now */
    REPLY_UNDISTURBED = 2, /* no other client changed the filter since the last reply */
};

/* ---- envelope: messages.c ---------------------------------------------------------------------------------------- */

void message_begin(struct bit_writer *writer, const roost_filter *filter, enum message_type type);

/* The message, or nothing and the status. */
roost_status message_end(struct bit_writer *writer, const roost_filter *filter, roost_buffer *message,
                         roost_status status);

/* A reply is bound to the request that it answers. */
uint64_t request_hash(const roost_filter *filter, const void *request, size_t size);
void bind_reply(roost_buffer *reply, uint64_t request_hash);

/* Checks type and checksum; `reader` then has what is between. ROOST_PROTOCOL for another type, ROOST_CORRUPT. The hash
   of the request is 0 where the message is one. */
roost_status message_open(struct bit_reader *reader, const roost_filter *filter, const void *message, size_t size,
                          uint64_t request_hash);

/* Half a digest: enough to see that two filters are equal. */
uint64_t short_digest(roost_filter *filter);
/* An incarnation in requests: half of it is enough to detect another one. */
static inline uint32_t half_incarnation(uint64_t incarnation)
{
    return (uint32_t)incarnation;
}
void write_half(struct bit_writer *writer, uint32_t half);
uint32_t read_half(struct bit_reader *reader);
/* Identifies a space of dots (NULL for kinds without dots) of a replica: both sides compute it and compare. */
uint32_t space_hash(const struct causal_context *space, uint64_t incarnation);

/* Resolves the positions at the end of a message, and merges the extra state after them (kind.h): all or nothing. */
roost_status resolve_all_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                   const uint64_t *positions, uint64_t count, struct bit_reader *reader);

#endif
