/*
 * A filter: an approximate set that replicas update apart and merge whenever they meet.
 *
 * Every kind keeps the same promises. A "no" from contains is always true; a "yes" is wrong with at most the
 * probability that the configuration promises, as long as the union of what was added stays within its capacity.
 * Merge is idempotent, commutative and associative, so frames may be lost, doubled and reordered. Equal states have
 * equal digests and encode to equal bytes, whatever the history that led there. A call that fails changes nothing.
 *
 * Argument order: the object, then what comes out, then what goes in; a length follows its buffer.
 *
 * Threads: any number of threads may call functions that take a `const roost_filter *` at once; a function that takes
 * a plain `roost_filter *` needs the filter for itself. Two filters never share anything.
 *
 * Ownership: what `new`, `clone` and `decode` hand out is released by `free`; a buffer by `roost_buffer_release`.
 */
#ifndef ROOST_FILTER_H
#define ROOST_FILTER_H

#include "status.h"
#include "types.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct roost_filter roost_filter;

/* ---- small values ---------------------------------------------------------------------------------------------- */

typedef enum roost_kind {
    ROOST_BLOOM = 1,    /* grow-only Bloom filter (GBF): fastest, never full */
    ROOST_CUCKOO = 2,   /* grow-only cuckoo filter (GCF): smaller on the wire, full when its table is */
    ROOST_ORCUCKOO = 3, /* observed-remove cuckoo filter (ORCF): elements can be removed again */
    ROOST_WINDOW = 6,   /* forgetful filter (FBF): holds what came lately; see window.h */
    ROOST_COUNTER = 7,  /* idempotent counter: what was counted, and a window of the operations that did; window.h */
} roost_kind;

typedef enum roost_layout {
    ROOST_BLOCKED = 1, /* all bits of a key in one cache line; for rates from 1e-9 up */
    ROOST_CLASSIC = 2, /* k bits anywhere, as in the papers */
} roost_layout;

/* Equal digests: equal configuration and equal state (but for a chance of about 2^-128). */
typedef struct roost_digest {
    uint8_t bytes[16];
} roost_digest;

/*
 * The name of one addition to an observed-remove filter: which actor made it, and how many it had made by then. An
 * actor is one incarnation of one replica, a number drawn at random when it first adds. No two additions share a dot;
 * actor 0 and counter 0 are none.
 */
typedef struct roost_dot {
    uint64_t actor, counter;
} roost_dot;

/* A place in the journal of one filter, for roost_filter_delta. Opaque; all zero means "nothing so far". */
typedef struct roost_cursor {
    uint64_t incarnation, sequence;
} roost_cursor;

/* Changes in the journal of one filter, between two of its cursors: those of a sequence from <= sequence < to. */
typedef struct roost_span {
    uint64_t from, to;
} roost_span;

/* How a scalable filter divides its error rate among its tables. */
typedef enum roost_schedule {
    ROOST_QUADRATIC = 1, /* table i gets a part in (i + 1)^2: few bits more for each table */
    ROOST_HALVING = 2,   /* each half of the one before: the thesis's */
} roost_schedule;

/* How two states stand in the order that merge derives. */
typedef enum roost_order {
    ROOST_EQUAL = 0,
    ROOST_BEFORE = 1,     /* the first is included in the second */
    ROOST_AFTER = 2,      /* the first includes the second */
    ROOST_CONCURRENT = 3, /* each has something that the other lacks */
} roost_order;

#define ROOST_DEFAULT_SEED  UINT64_C(0x526f6f7374)
#define ROOST_DEFAULT_KICKS 500

/* Filters of equal configuration merge. Start from roost_config_default and change what matters. */
typedef struct roost_config {
    roost_kind kind;
    roost_layout layout;       /* Bloom only */
    uint64_t capacity;         /* elements, over all replicas, for which the promise holds; of a multiset, copies */
    double fpr;                /* promised false-positive rate, in (0,1); cuckoo: 0 for what fingerprint_bits give */
    uint64_t seed;             /* of the hash; filters made apart with one seed merge */
    uint32_t fingerprint_bits; /* cuckoo: 4 to 32, and then set fpr to 0; 0: the fewest that keep fpr.
                                  orcuckoo: 16 to 28, in a multiset 8 to 28; 0: 24, or more where fpr needs it */
    uint32_t bucket_size;      /* cuckoo only: 1, 2, 4 or 8 slots */
    uint32_t entry_bits;       /* orcuckoo only: 64, or 32 (multiset, fingerprints of 8 bits); 0: 64 */
    bool multiset;             /* orcuckoo only: equal elements are kept and counted apart */
    bool scalable;             /* grows by further tables as long as elements come; `capacity` is that of the first */
    uint32_t writers;          /* scalable only: how many replicas add at the same time, 1 to 1024; 0: 4 */
    uint32_t growth;           /* scalable only: each table has so many times the capacity of the one before: 1, 2, 4 or
                                  8; 0: 2 (Bloom) or 8 (the others, whose memory follows what they hold) */
    roost_schedule schedule;   /* scalable only; 0: ROOST_QUADRATIC */
    uint64_t window;    /* window and counter: how long elements are kept at least, in microseconds; `capacity` is
                           then what comes in such a time */
    uint32_t past;      /* window and counter: slots that the window is cut in, less one: 1 to 255, not scalable
                           to 64; 0: 3 */
    uint64_t slot_bits; /* window and counter, not scalable: bits and probes of a slot; 0: those that keep fpr */
    uint32_t slot_probes;
} roost_config;

/* Bloom, blocked, 1 %, the default seed, buckets of four. The capacity is 0 and must be set. */
ROOST_API roost_config roost_config_default(void);

/* ---- environment: what a filter lives in, never part of its state ----------------------------------------------- */

/* All zero means: calloc and free, a fixed random seed, no limit, ROOST_DEFAULT_KICKS, the operating system's entropy,
   a journal of at most an eighth of the capacity, of a scalable filter of that of the tables that it has by then. */
typedef struct roost_environment {
    roost_allocator allocator;
    uint64_t random_seed;  /* of the choices that shape a cuckoo table; results never depend on it */
    uint64_t memory_limit; /* bytes that one filter may take; calls that need more answer ROOST_TOO_LARGE */
    uint32_t kicks;        /* how many entries one insertion may displace before the table counts as full */
    roost_entropy entropy;
    /*
     * How many changes are remembered at most for those who ask for deltas; oldest first forgotten. The journal begins
     * with a few and takes more memory as it fills, 17 bytes a change; without memory it forgets.
     */
    uint64_t journal;
    /*
     * One part in so many of the filter's memory that the journal may take at most; 0: as much as `journal` says. It
     * has room for 256 changes all the same, and for twice as many as somebody was behind with his cursor: up to 16384,
     * or as many as there are bytes for in the memory of the filter once more.
     */
    uint32_t journal_part;
    /* How many entries a table of a growing cuckoo filter moves at once when it gets more rows. 0: any number. With a
     * bound, a table that passes it gets all its rows at the next time: memory for speed, for servers with one thread.
     */
    uint64_t most_moved;
} roost_environment;

/* ---- life ------------------------------------------------------------------------------------------------------ */

/* `environment` may be NULL for the defaults; it is copied. On failure *filter is NULL. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_new(roost_filter **filter, const roost_config *config,
                                                         const roost_environment *environment);
ROOST_API void roost_filter_free(roost_filter *filter); /* NULL is fine */
/* The state and the environment; the copy is a replica of its own, without actor, journal or cursors. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_clone(const roost_filter *filter, roost_filter **copy);

/* The configuration with nothing left to derive. Lives as long as the filter. */
ROOST_API const roost_config *roost_filter_config(const roost_filter *filter);

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* The hash that the `_hash` twins take: the same for every filter of the same seed. */
ROOST_API roost_hash roost_filter_hash(const roost_filter *filter, const void *key, size_t size);

/*
 * *changed (may be NULL) tells whether the element is new: false means that it was already (probably) there. The state
 * of an observed-remove set grows in either case, by the dot of this addition. A scalable filter answers ROOST_FULL
 * where there can be no further table: roost_info.growth_limit.
 */
ROOST_API roost_status roost_filter_add(roost_filter *filter, bool *changed, const void *key, size_t size);
ROOST_API roost_status roost_filter_add_hash(roost_filter *filter, bool *changed, roost_hash hash);

/*
 * As many adds in a row, much faster: hashing and memory accesses overlap. Where one is refused the call stops there:
 * *done (may be NULL) says how many were taken; the refused one and those behind it changed nothing.
 * `changed` is NULL or has `count` places, of which those up to *done are set.
 */
ROOST_API roost_status roost_filter_add_many(roost_filter *filter, bool *changed, size_t *done, const roost_bytes *keys,
                                             size_t count);
ROOST_API roost_status roost_filter_add_many_hash(roost_filter *filter, bool *changed, size_t *done,
                                                  const roost_hash *hashes, size_t count);

ROOST_API bool roost_filter_contains(const roost_filter *filter, const void *key, size_t size);
ROOST_API bool roost_filter_contains_hash(const roost_filter *filter, roost_hash hash);
ROOST_API void roost_filter_contains_many(const roost_filter *filter, bool *found, const roost_bytes *keys,
                                          size_t count);
ROOST_API void roost_filter_contains_many_hash(const roost_filter *filter, bool *found, const roost_hash *hashes,
                                               size_t count);

/* How many of it there are: copies of its class in a multiset, else 1 or 0. */
ROOST_API uint64_t roost_filter_count(const roost_filter *filter, const void *key, size_t size);
ROOST_API uint64_t roost_filter_count_hash(const roost_filter *filter, roost_hash hash);

/*
 * The rest of this part is for observed-remove filters; grow-only kinds answer ROOST_UNSUPPORTED.
 *
 * Add as above, and the dot of this addition. In a set, the new dot takes the place of those that were seen of the
 * element before, so adding it over and over costs nothing. (In a scalable set whose table of that element is past its
 * capacity, because several replicas filled it, the new dot goes to a later table, beside the one before.) An add answers ROOST_EXHAUSTED where no actor can be had:
 * no entropy, or as many actors as a filter can know.
 */
ROOST_API roost_status roost_filter_add_dot(roost_filter *filter, roost_dot *dot, const void *key, size_t size);
ROOST_API roost_status roost_filter_add_dot_hash(roost_filter *filter, roost_dot *dot, roost_hash hash);

/*
 * Removes every addition of the element that this replica has seen; one made elsewhere at the same time survives. Only
 * remove what was added: an element that was not, and that `contains` reports nevertheless, takes with it the one that
 * it was mistaken for. *changed (may be NULL) tells whether anything was there.
 */
ROOST_API roost_status roost_filter_remove(roost_filter *filter, bool *changed, const void *key, size_t size);
ROOST_API roost_status roost_filter_remove_hash(roost_filter *filter, bool *changed, roost_hash hash);

/* As many removals in a row, much faster; `changed` is NULL or has `count` places. */
ROOST_API roost_status roost_filter_remove_many(roost_filter *filter, bool *changed, const roost_bytes *keys,
                                                size_t count);
ROOST_API roost_status roost_filter_remove_many_hash(roost_filter *filter, bool *changed, const roost_hash *hashes,
                                                     size_t count);

/* One copy, in a multiset; ROOST_UNSUPPORTED in a set. */
ROOST_API roost_status roost_filter_remove_one(roost_filter *filter, bool *changed, const void *key, size_t size);
ROOST_API roost_status roost_filter_remove_one_hash(roost_filter *filter, bool *changed, roost_hash hash);

/* The one addition that had this dot, of this element. In a multiset it takes no other with it; in a set an addition
   may stand for two elements that the filter cannot tell apart, as for remove. */
ROOST_API roost_status roost_filter_remove_dot(roost_filter *filter, bool *changed, const void *key, size_t size,
                                               roost_dot dot);
ROOST_API roost_status roost_filter_remove_dot_hash(roost_filter *filter, bool *changed, roost_hash hash,
                                                    roost_dot dot);

/* ---- replication ----------------------------------------------------------------------------------------------- */

/*
 * The filter takes in all that `other` holds. Never refuses for lack of room. *changed (may be NULL) tells whether
 * there was anything new. A failure (ROOST_MISMATCH, ROOST_NO_MEMORY, ROOST_TOO_LARGE) leaves both as they were; it may
 * empty the journal, and cursors from before it then get the whole state.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_merge(roost_filter *filter, bool *changed,
                                                           const roost_filter *other);

/* Fails only with ROOST_MISMATCH, and then the order is ROOST_CONCURRENT. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_compare(const roost_filter *filter, roost_order *order,
                                                             const roost_filter *other);

/* Equal configuration and equal state. */
ROOST_API bool roost_filter_equal(const roost_filter *filter, const roost_filter *other);

/* Costs what changed since the last call; not const, because it remembers. */
ROOST_API roost_digest roost_filter_digest(roost_filter *filter);

/* 32 hex digits and a final NUL. */
ROOST_API void roost_digest_text(roost_digest digest, char text[33]);

/* The canonical frame of the state (docs/format.md), for files and networks. On failure the buffer is empty. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_encode(const roost_filter *filter, roost_buffer *frame);

/* The reverse. The bytes may come from anyone: all of them are validated, or *filter is NULL. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_decode(roost_filter **filter, const void *frame, size_t size,
                                                            const roost_environment *environment);

/* Merges what a frame holds, a state or a delta, all of it or nothing, in time that follows the size of the frame. As
   merge and decode. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_merge_frame(roost_filter *filter, bool *changed, const void *frame,
                                                                 size_t size);

/*
 * What changed since the cursor, as a frame: a *delta* has the form of a state, and merging it is idempotent, so deltas
 * may be lost, doubled and reordered; a peer that got them all has all. *next is the cursor to ask with the next time.
 * A cursor that this filter did not hand out, or that is older than its journal, gets the whole state; so does the
 * cursor that is all zero, and from then on the filter keeps a journal. `next` and `since` may be the same.
 * Whoever keeps filters in files saves the replica before a delta or a cursor leaves the house: a replica that wakes up
 * older than what it told would give the same cursor to other changes.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_delta(roost_filter *filter, roost_buffer *frame,
                                                           roost_cursor *next, const roost_cursor *since);

/* The cursor of now, at no cost: the journal begins, if it has not, and nothing is written. *cursor is set where the
   status is ROOST_OK. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_cursor(roost_filter *filter, roost_cursor *cursor);

/*
 * The same for one who has brought some of the changes himself: those within the spans are not told. A span lies
 * between the cursors before and after a merge of what he sent; spans come in any order and may overlap, and the parts
 * of them that are not in the journal mean nothing. Whoever has all that was there at the cursor and all that came
 * within the spans has everything after merging the delta. Whoever names spans that he does not have gets less, and
 * never anything wrong: what is told is a part of the state.
 * Where the cursor is not known any more (or never was: all zero) nothing is written, so that the caller can find out
 * what differs in another way than by the whole state: ROOST_OK, an empty frame (its size is 0, which no delta is), and
 * *next.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_delta_without(roost_filter *filter, roost_buffer *frame,
                                                                   roost_cursor *next, const roost_cursor *since,
                                                                   const roost_span *spans, size_t count);

/*
 * Scalable Bloom filters: gives parts of the shares that this replica does not use to writers that have used up theirs,
 * so that they fill tables up instead of adding new ones (docs/error-bounds.md). A sync does this by itself; others
 * call it after a merge. *changed (may be NULL) tells whether anything was given; then the state has grown. No other
 * kind needs it.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_transfer_shares(roost_filter *filter, bool *changed);

/* ---- replica: what belongs to this very object, and is never part of a frame ---------------------------------------
 *
 * Identity (the actor) and journal, so that a filter that is put to sleep in a file can go on as the same replica.
 * Restore it only into the state that it was saved with, and only if that state was never given to anyone who restored
 * it too: two objects with one actor lose each other's elements. A copy, a backup, a clone must start without.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_save_replica(const roost_filter *filter, roost_buffer *bytes);
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_restore_replica(roost_filter *filter, const void *bytes,
                                                                     size_t size);

/* 0 while it has none. */
ROOST_API uint64_t roost_filter_actor(const roost_filter *filter);

/* ---- report ---------------------------------------------------------------------------------------------------- */

typedef struct roost_info {
    double elements;       /* estimate of the distinct elements that the filter holds; of a multiset, copies */
    uint64_t entries;      /* exact: bits set (Bloom), fingerprint classes (cuckoo), additions not removed (orcuckoo) */
    uint64_t overflow;     /* entries in the overflow stash (cuckoo) */
    double load;           /* part of the bits set (Bloom), of the slots filled (cuckoo) */
    double fpr_now;        /* false-positive rate of the present state */
    bool promise_holds;    /* false once the filter holds more than its capacity and errs more than it promised */
    uint64_t bits;         /* Bloom: bits in the array */
    uint32_t probes;       /* Bloom: bits a key */
    uint32_t buckets;      /* cuckoo */
    uint64_t bytes_memory; /* all that the filter takes */
    uint64_t actors;       /* orcuckoo: how many this filter knows; scalable: the most that one table knows */
    uint64_t dots;         /* orcuckoo: additions that it has seen, removed ones too */
    uint64_t gaps;         /* orcuckoo: runs of dots that await others before them */
    uint64_t journal;      /* changes that deltas can still tell */
    uint32_t tables;       /* 1; of a scalable filter as many as it has; of a window its slots */
    uint64_t inserted;     /* scalable Bloom: additions that were new where they were made, exact; orcuckoo: what counts
                              against the capacity, in all tables; else as entries */
    uint64_t growth_limit; /* scalable: elements that one replica alone can add before the filter is full; else 0 */
} roost_info;

/* Reads the whole filter. */
ROOST_API void roost_filter_info(const roost_filter *filter, roost_info *info);

/* What of it is known at once: all of a cuckoo filter's (an element that several tables of a scalable one hold counts
   once for each of them); of a Bloom filter's and a window's sizes, memory, journal, tables and actors, of a scalable
   one `inserted`; what would have to be counted (entries, load, fpr_now) is 0 then. */
ROOST_API void roost_filter_brief(const roost_filter *filter, roost_info *info);

/* Proves the invariants of the structure: ROOST_OK, or ROOST_CORRUPT if memory was overwritten or Roost has a bug. */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_check(const roost_filter *filter);

#ifdef __cplusplus
}
#endif
#endif
