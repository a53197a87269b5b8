/*
 * Filters: approximate sets that replicas update independently and merge whenever they meet (state-based CRDTs).
 *
 * Every kind keeps the same promises. A "no" from roost_filter_contains is always right; a "yes" is wrong with at most
 * the probability that the configuration promises, as long as all replicas together add no more than its capacity.
 * Merge is idempotent, commutative and associative, so frames may be lost, duplicated and reordered. Equal states have
 * equal digests and encode to equal bytes, whatever led to them. A call that fails changes nothing, unless its
 * description says otherwise.
 *
 * Arguments: the object comes first, then outputs, then inputs; a length follows its buffer. An output that may be NULL
 * is named so. A key is `size` bytes at `key`; where `size` is 0, `key` may be NULL. A call with a `_hash` twin hashes
 * the key and calls the twin; `_many` calls do the same for `count` keys, several times as fast. An `environment` may
 * be NULL for the defaults, and is copied.
 *
 * Threads: any number of threads may call functions that take a `const roost_filter *` at the same time. A function
 * that takes a plain `roost_filter *` needs the filter for itself. Two filters share nothing that changes. The same
 * holds for every other object of the library.
 *
 * Forks: a process that was forked has its own copy of every filter. The copy becomes a replica of its own before it
 * changes, as a clone is one: the child takes another actor, and cursors from before the fork get the whole state. Fork
 * while no other thread is inside a call.
 *
 * Ownership: what `new`, `clone` and `decode` return belongs to the caller, who frees it with `free`; a buffer that a
 * call fills, with roost_buffer_release. No call keeps a pointer to what it is given, unless its description says so.
 * Where a call fails, the objects and buffers that it would have returned are NULL or empty.
 *
 * Errors: every call that returns a status may return ROOST_NO_MEMORY, and ROOST_TOO_LARGE where the environment has a
 * memory limit; the descriptions list the others.
 */
#ifndef ROOST_FILTER_H
#define ROOST_FILTER_H

#include "status.h"
#include "types.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A filter of any kind: its state, its configuration and its environment. */
typedef struct roost_filter roost_filter;

/* ---- small values ---------------------------------------------------------------------------------------------- */

/* The kinds of filters. The numbers are those of frames and are pinned. */
typedef enum roost_kind {
    ROOST_BLOOM = 1,    /* grow-only Bloom filter (GBF): fastest, never full */
    ROOST_CUCKOO = 2,   /* grow-only cuckoo filter (GCF): smaller on the wire, full when its table is */
    ROOST_ORCUCKOO = 3, /* observed-remove cuckoo filter (ORCF): elements can be removed again */
    ROOST_WINDOW = 6,   /* forgetful filter (FBF): holds the elements of the last window of time; see window.h */
    ROOST_COUNTER = 7,  /* idempotent counter: sums, and a window of the operations that were counted; window.h */
} roost_kind;

/* How a Bloom filter lays out the bits of a key. */
typedef enum roost_layout {
    ROOST_BLOCKED = 1, /* all bits of a key in one cache line; for rates from 1e-9 up */
    ROOST_CLASSIC = 2, /* k bits anywhere, as in the papers */
} roost_layout;

/* A digest of configuration and state. Equal digests mean equal states, but for a chance of about 2^-128. */
typedef struct roost_digest {
    uint8_t bytes[16]; /* the digest */
} roost_digest;

/*
 * The identity of one addition to an observed-remove filter: the actor that made it, and how many additions that actor
 * had made by then. An actor is one incarnation of one replica, a number drawn at random at its first addition. No two
 * additions share a dot.
 */
typedef struct roost_dot {
    uint64_t actor;   /* 0: no dot */
    uint64_t counter; /* from 1 on; 0: no dot */
} roost_dot;

/* A place in the journal of one filter, for roost_filter_encode_delta. All zero means "nothing so far". */
typedef struct roost_cursor {
    uint64_t incarnation; /* of the journal; opaque */
    uint64_t sequence;    /* the number of the next change; cursors of one incarnation are ordered by it */
} roost_cursor;

/* The changes in the journal of one filter between two of its cursors. */
typedef struct roost_span {
    uint64_t from; /* the sequence of the first change */
    uint64_t to;   /* the sequence after the last change */
} roost_span;

/* How a scalable filter divides its error rate among its tables. */
typedef enum roost_schedule {
    ROOST_QUADRATIC = 1, /* table i gets a part in (i + 1)^2: a few bits more for each table */
    ROOST_HALVING = 2,   /* each table gets half of the one before, as in the thesis */
    ROOST_GENTLE = 3, /* cuckoo kinds only: most of it within the capacity, or nearly equal parts if that is unknown */
} roost_schedule;

/*
 * What holds where replicas add and remove an element at the same time, neither having seen the other. (A removal that
 * has seen an addition always removes it, and an addition that has seen a removal always adds.) The numbers are those
 * of frames and are pinned.
 */
typedef enum roost_semantics {
    ROOST_ADD_WINS = 0,         /* the element is in; a removal leaves nothing behind */
    ROOST_REMOVE_WINS = 1,      /* the element is out, until it is added again by a replica that has seen the removal */
    ROOST_LAST_WRITER_WINS = 2, /* the later change holds: roost_filter_set_time */
} roost_semantics;

/* How two states compare in the order of the lattice. */
typedef enum roost_order {
    ROOST_EQUAL = 0,      /* the states are equal */
    ROOST_BEFORE = 1,     /* the first is included in the second */
    ROOST_AFTER = 2,      /* the first includes the second */
    ROOST_CONCURRENT = 3, /* each has something that the other lacks */
} roost_order;

/* The seed of filters that are configured without one. */
#define ROOST_DEFAULT_SEED UINT64_C(0x526f6f7374)
/* How many entries an insertion displaces at most where the environment does not say. */
#define ROOST_DEFAULT_KICKS 500

/*
 * The configuration of a filter. Filters of equal configuration merge. Start from roost_config_default and change what
 * matters; a field that the kind does not use is ignored.
 */
typedef struct roost_config {
    roost_kind kind;           /* the kind of filter */
    roost_layout layout;       /* Bloom filters and windows of fixed size */
    uint64_t capacity;         /* elements, over all replicas, for which the promise holds; of a multiset, copies;
                                  scalable cuckoo kinds: 0 if it is unknown */
    double fpr;                /* promised false-positive rate, in (0,1); cuckoo: 0 for what fingerprint_bits give */
    uint64_t seed;             /* of the hash; filters that are made apart with one seed merge */
    uint32_t fingerprint_bits; /* cuckoo: 4 to 32, and then set fpr to 0; 0: the fewest that keep fpr.
                                  orcuckoo: 16 to 28, in a multiset 8 to 28; 0: 24, or more where fpr needs it */
    uint32_t bucket_size;      /* cuckoo only: 1, 2, 4 or 8 slots */
    uint32_t entry_bits;       /* orcuckoo only: 64, or 32 (multiset, fingerprints of 8 bits); 0: 64 */
    bool multiset;             /* orcuckoo only: equal elements are kept and counted apart */
    roost_semantics semantics; /* orcuckoo, scalable, not a multiset; others are ROOST_ADD_WINS */
    bool scalable;             /* grows as elements come; `capacity` is that of the beginning */
    uint32_t writers;          /* scalable only: how many replicas add at the same time, 1 to 1024; 0: 4 */
    uint32_t growth;         /* scalable only: the capacity of each table (cuckoo: each level), in multiples of the one
                                  before: 1, 2, 4 or 8; 0: 2. With ROOST_GENTLE 1 is the same as 2 */
    roost_schedule schedule; /* scalable only; 0: ROOST_QUADRATIC for Bloom, else ROOST_GENTLE */
    uint64_t window;         /* window and counter: how long elements are kept at least, in microseconds; `capacity`
                                  is then what comes in such a time */
    uint32_t past;           /* window and counter: slots that the window is cut in, less one: 1 to 255, not scalable
                                  to 64; 0: 3 */
    uint64_t slot_bits;      /* window and counter, not scalable: bits of a slot; 0: as many as keep fpr */
    uint32_t slot_probes;    /* window and counter, not scalable: bits of a key in a slot; 0: as many as keep fpr */
} roost_config;

/*
 * Returns the default configuration: a blocked Bloom filter, 1 %, the default seed, buckets of four. The capacity is 0
 * and must be set.
 */
ROOST_API roost_config roost_config_default(void);

/* ---- environment: what a filter lives in, never part of its state ----------------------------------------------- */

/*
 * What a filter gets from its caller. All zero means: calloc and free, a fixed random seed, no memory limit, no
 * executor, ROOST_DEFAULT_KICKS, the entropy of the operating system, and a journal of at most an eighth of the
 * capacity, which in a scalable filter is that of the tables that it has by then.
 *
 * Copies share memory if they have the same allocator (roost_filter_clone). With `count`, which gets the context of the
 * allocator, they also do if their allocators differ in nothing but the context, and each may release what another one
 * has allocated. It is called for a block of another filter that this one begins to use (`more`), and for a block that
 * this one no longer uses while others do: so a context can count all that its filter uses.
 */
typedef struct roost_environment {
    roost_allocator allocator; /* of all memory that the filter takes */
    uint64_t random_seed;      /* of the choices that shape a cuckoo table; results never depend on it */
    uint64_t memory_limit;     /* bytes that one filter may take; calls that need more return ROOST_TOO_LARGE */
    uint32_t kicks;            /* how many entries one insertion may displace before the table counts as full */
    roost_entropy entropy;     /* of actors and journals */
    uint64_t journal;          /* changes that the journal keeps at most, for deltas; the oldest are dropped first. The
                                  journal starts small and grows as it fills, 17 bytes a change; without memory for
                                  more it drops changes earlier */
    uint32_t journal_part;     /* the journal takes at most one part in so many of the filter's memory; 0: as much as
                                  `journal` says. It has room for 256 changes all the same, and for twice as many as a
                                  cursor was behind: up to 16384, or as many as fit in the filter's memory once more */
    uint64_t most_moved;       /* entries that a table of a growing cuckoo filter moves at once when it gets more rows;
                                  0: any number. A table that passes this bound gets all its rows at the next time:
                                  memory for speed, for servers with one thread */
    void (*count)(void *context, void *memory, bool more); /* for allocators that count memory, or NULL: see above */
    roost_executor executor; /* of calls that take milliseconds: their results are the same without. docs/api.md says
                                which calls use it; it must live as long as the filter and its copies */
} roost_environment;

/* ---- life ------------------------------------------------------------------------------------------------------ */

/*
 * Makes an empty filter. `config` and `environment` are copied. On failure `*filter` is NULL.
 *
 * Errors: ROOST_INVALID where the configuration makes no sense.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_new(roost_filter **filter, const roost_config *config,
                                                         const roost_environment *environment);

/* Frees a filter. NULL is fine. */
ROOST_API void roost_filter_free(roost_filter *filter);

/*
 * Copies a filter with its state, configuration and environment to `*copy`, which is NULL on failure. The copy is a
 * replica of its own: it has no actor, no journal and no cursors.
 *
 * A copy of a scalable cuckoo filter takes a pointer for every two thousand elements: the two share memory, and each
 * makes a part of it its own when it changes it. They may belong to different threads. So a snapshot costs little, and
 * the first changes after it a few microseconds more, and memory (also removals). roost_info.bytes_memory counts what
 * is shared for each of them.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_clone(const roost_filter *filter, roost_filter **copy);

/* Returns the configuration, with all defaults filled in. It belongs to the filter and lives as long as it does. */
ROOST_API const roost_config *roost_filter_get_config(const roost_filter *filter);

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* Returns the hash of a key that the `_hash` twins take. It is the same in all filters of the same seed. */
ROOST_API roost_hash roost_filter_hash(const roost_filter *filter, const void *key, size_t size);

/*
 * Adds an element. `*changed` (may be NULL) tells whether it is new: false means that it was (probably) there already.
 * The state of an observed-remove set grows in either case, by the dot of this addition.
 *
 * Errors: ROOST_FULL where a table has no room, or a scalable filter can have no further table
 * (roost_info.growth_limit). ROOST_EXHAUSTED where an observed-remove filter has no actor: no entropy, or as many
 * actors as a filter can have. ROOST_UNSUPPORTED for windows and counters: use roost_window_add.
 */
ROOST_API roost_status roost_filter_add(roost_filter *filter, bool *changed, const void *key, size_t size);

/* As roost_filter_add, for the hash of a key. */
ROOST_API roost_status roost_filter_add_hash(roost_filter *filter, bool *changed, roost_hash hash);

/*
 * Adds `count` elements, as that many calls of roost_filter_add do, and much faster: hashing and memory accesses
 * overlap. Where one addition fails the call stops: `*done` (may be NULL) is the number of elements that were added;
 * the failed one and those after it changed nothing. `changed` is NULL or has `count` places, of which the first
 * `*done` are set.
 *
 * Errors: as roost_filter_add.
 */
ROOST_API roost_status roost_filter_add_many(roost_filter *filter, bool *changed, size_t *done, const roost_bytes *keys,
                                             size_t count);

/* As roost_filter_add_many, for the hashes of keys. */
ROOST_API roost_status roost_filter_add_many_hash(roost_filter *filter, bool *changed, size_t *done,
                                                  const roost_hash *hashes, size_t count);

/* Returns whether the filter (probably) contains an element; false is always right. */
ROOST_API bool roost_filter_contains(const roost_filter *filter, const void *key, size_t size);

/* As roost_filter_contains, for the hash of a key. */
ROOST_API bool roost_filter_contains_hash(const roost_filter *filter, roost_hash hash);

/* Looks `count` elements up, as that many calls of roost_filter_contains do. `found` has `count` places. */
ROOST_API void roost_filter_contains_many(const roost_filter *filter, bool *found, const roost_bytes *keys,
                                          size_t count);

/* As roost_filter_contains_many, for the hashes of keys. */
ROOST_API void roost_filter_contains_many_hash(const roost_filter *filter, bool *found, const roost_hash *hashes,
                                               size_t count);

/* Returns how many copies of an element a multiset holds, at least those that were added; in a set, 1 or 0. */
ROOST_API uint64_t roost_filter_count(const roost_filter *filter, const void *key, size_t size);

/* As roost_filter_count, for the hash of a key. */
ROOST_API uint64_t roost_filter_count_hash(const roost_filter *filter, roost_hash hash);

/*
 * Sets the time of the changes that follow, of a filter with ROOST_LAST_WRITER_WINS: `now` is in microseconds since an
 * epoch that all replicas share, 1970 for instance. Call it before additions and removals. A change is always later
 * than all changes of the element that this replica has seen, whatever the clock says; without a call changes are
 * ordered by that alone. Times from 2^55 on, in the year 3111, are refused by the change (ROOST_CLOCK). The time
 * belongs to this object and is not part of a frame; for other filters the call does nothing.
 */
ROOST_API void roost_filter_set_time(roost_filter *filter, uint64_t now);

/* ---- dots and removal: observed-remove filters; other kinds return ROOST_UNSUPPORTED ---------------------------- */

/*
 * Adds an element and returns the dot of this addition in `*dot`. In a set the new dot replaces the dots of the element
 * that this replica has seen, so adding it over and over costs nothing. (In a scalable set that several replicas have
 * filled beyond what each may, the new dot may come beside the old one, until the element is removed.)
 *
 * Errors: ROOST_UNSUPPORTED, also where removals are recorded (roost_semantics), and as roost_filter_add.
 */
ROOST_API roost_status roost_filter_add_dot(roost_filter *filter, roost_dot *dot, const void *key, size_t size);

/* As roost_filter_add_dot, for the hash of a key. */
ROOST_API roost_status roost_filter_add_dot_hash(roost_filter *filter, roost_dot *dot, roost_hash hash);

/*
 * Removes every addition of the element that this replica has seen; one made elsewhere at the same time survives (add
 * wins). `*changed` (may be NULL) tells whether the element was there. Remove only what was added: an element that was
 * not, and that roost_filter_contains reports nevertheless, takes with it the element that it was mistaken for.
 *
 * With ROOST_REMOVE_WINS and ROOST_LAST_WRITER_WINS a removal is recorded, also that of an element that is not there,
 * since it may have been added elsewhere: the state changes even if `*changed` is false, and it takes memory as an
 * addition does.
 *
 * Errors: ROOST_UNSUPPORTED; where removals are recorded as roost_filter_add.
 */
ROOST_API roost_status roost_filter_remove(roost_filter *filter, bool *changed, const void *key, size_t size);

/* As roost_filter_remove, for the hash of a key. */
ROOST_API roost_status roost_filter_remove_hash(roost_filter *filter, bool *changed, roost_hash hash);

/*
 * Removes `count` elements, as that many calls of roost_filter_remove do, and much faster. `changed` is NULL or has
 * `count` places. Where memory fails, some may have been removed, and `changed` tells which.
 *
 * Errors: ROOST_UNSUPPORTED.
 */
ROOST_API roost_status roost_filter_remove_many(roost_filter *filter, bool *changed, const roost_bytes *keys,
                                                size_t count);

/* As roost_filter_remove_many, for the hashes of keys. */
ROOST_API roost_status roost_filter_remove_many_hash(roost_filter *filter, bool *changed, const roost_hash *hashes,
                                                     size_t count);

/*
 * Removes one copy of an element from a multiset. `*changed` (may be NULL) tells whether there was one.
 *
 * Errors: ROOST_UNSUPPORTED, also for an observed-remove set.
 */
ROOST_API roost_status roost_filter_remove_one(roost_filter *filter, bool *changed, const void *key, size_t size);

/* As roost_filter_remove_one, for the hash of a key. */
ROOST_API roost_status roost_filter_remove_one_hash(roost_filter *filter, bool *changed, roost_hash hash);

/*
 * Removes the one addition of this element that has this dot. `*changed` (may be NULL) tells whether it was there. In a
 * multiset no other element is affected; in a set an addition may stand for two elements that the filter cannot tell
 * apart, as for roost_filter_remove.
 *
 * Errors: ROOST_UNSUPPORTED, also where removals are recorded (roost_semantics).
 */
ROOST_API roost_status roost_filter_remove_dot(roost_filter *filter, bool *changed, const void *key, size_t size,
                                               roost_dot dot);

/* As roost_filter_remove_dot, for the hash of a key. */
ROOST_API roost_status roost_filter_remove_dot_hash(roost_filter *filter, bool *changed, roost_hash hash,
                                                    roost_dot dot);

/* ---- replication ----------------------------------------------------------------------------------------------- */

/*
 * Merges the state of `other` into the filter. It never fails for lack of room in a table. `*changed` (may be NULL)
 * tells whether the state grew. A failure leaves both filters as they were; it may empty the journal, and earlier
 * cursors then get the whole state.
 *
 * Errors: ROOST_MISMATCH; ROOST_CLOCK for a window that is ahead of roost_window_set_latest.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_merge(roost_filter *filter, bool *changed,
                                                           const roost_filter *other);

/*
 * Compares the states of the filter and of `other`: `*order` tells which one includes the other. It needs no memory.
 *
 * Errors: only ROOST_MISMATCH, and then `*order` is ROOST_CONCURRENT.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_compare(const roost_filter *filter, roost_order *order,
                                                             const roost_filter *other);

/* Returns whether the filter and `other` have equal configurations and equal states. */
ROOST_API bool roost_filter_equal(const roost_filter *filter, const roost_filter *other);

/*
 * Returns the digest of configuration and state. It costs what changed since the last call; the filter is not const,
 * because it caches the digest.
 */
ROOST_API roost_digest roost_filter_digest(roost_filter *filter);

/* Writes a digest to `text` as 32 hexadecimal digits and a final NUL. */
ROOST_API void roost_digest_text(roost_digest digest, char text[33]);

/* Encodes the state as a frame, for files and networks: its canonical bytes (docs/format.md). */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_encode(const roost_filter *filter, roost_buffer *frame);

/*
 * Decodes a frame into a new filter. The frame may come from anyone: all of it is validated, or `*filter` is NULL. A
 * delta is decoded as well: as a filter that holds its changes alone.
 *
 * Errors: ROOST_NOT_FRAME, ROOST_UNSUPPORTED_VERSION, ROOST_TRUNCATED, ROOST_CORRUPT.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_decode(roost_filter **filter, const void *frame, size_t size,
                                                            const roost_environment *environment);

/*
 * Merges a frame, of a state or a delta, all of it or nothing, in time that follows the size of the frame. `*changed`
 * (may be NULL) tells whether the state grew. Of a frame of another configuration no more is read than that
 * (ROOST_MISMATCH): no filter of its size is made.
 *
 * Errors: as roost_filter_merge and roost_filter_decode.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_merge_frame(roost_filter *filter, bool *changed, const void *frame,
                                                                 size_t size);

/*
 * Encodes what changed since a cursor, as a frame. A *delta* has the form of a state, and merging it is idempotent, so
 * deltas may be lost, duplicated and reordered; a peer that merged them all has everything. `*next` is the cursor for
 * the next call; `next` and `since` may be the same object.
 *
 * A cursor that this filter did not return, or that is older than its journal, gets the whole state. So does the cursor
 * that is all zero; from then on the filter keeps a journal.
 *
 * If you keep filters in files, save the replica (roost_filter_save_replica) before you send a delta or a cursor: a
 * replica that is restored to an earlier state would use the same cursor for other changes.
 *
 * Errors: ROOST_EXHAUSTED where there is no entropy for a journal.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_encode_delta(roost_filter *filter, roost_buffer *frame,
                                                                  roost_cursor *next, const roost_cursor *since);

/*
 * Returns the cursor of the present state in `*cursor`, and starts the journal if there is none. It encodes nothing and
 * takes constant time. On failure `*cursor` is left as it was.
 *
 * Errors: ROOST_EXHAUSTED where there is no entropy for a journal.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_get_cursor(roost_filter *filter, roost_cursor *cursor);

/*
 * As roost_filter_encode_delta, and leaves out the changes in `count` spans, which the receiver sent itself. A span
 * lies between the cursors before and after the merge of what the receiver sent; spans come in any order and may
 * overlap, and changes in them that the journal has dropped are ignored. A receiver that has the state at the cursor
 * and the changes in the spans has everything after it merged the delta. One that names spans that it does not have
 * gets less, and never anything wrong: every choice of changes is a part of the state.
 *
 * Where the cursor is not known, because it is too old or all zero, the frame stays empty (its size is 0), `*next` is
 * set and the status is ROOST_OK: the caller can find out what differs in another way than by the whole state.
 *
 * Errors: as roost_filter_encode_delta.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_encode_delta_without(roost_filter *filter, roost_buffer *frame,
                                                                          roost_cursor *next, const roost_cursor *since,
                                                                          const roost_span *spans, size_t count);

/*
 * Scalable Bloom filters: transfers shares of the capacity that this replica does not use to writers that have used up
 * theirs, so that they fill tables up instead of adding new ones (docs/error-bounds.md). A sync does this by itself;
 * otherwise call it after a merge. `*changed` (may be NULL) tells whether anything was transferred; then the state has
 * grown. For other kinds it does nothing.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_transfer_shares(roost_filter *filter, bool *changed);

/* ---- replica: what belongs to this object alone, and is never part of a frame ----------------------------------- */

/*
 * Encodes the identity of this replica (its actor) and its journal, so that a filter that is stored in a file can
 * continue as the same replica: store these bytes beside the frame of the same state.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_save_replica(const roost_filter *filter, roost_buffer *bytes);

/*
 * Restores what roost_filter_save_replica returned, into a filter that was decoded from the state of that moment. No
 * bytes are fine, and restore nothing. Restore a replica once: two objects with one actor lose each other's elements. A
 * copy, a backup and a clone start without. On failure the filter has no actor and no journal, and is otherwise as it
 * was.
 *
 * Errors: ROOST_INVALID where the filter has an actor or a journal already; ROOST_UNSUPPORTED_VERSION, ROOST_TRUNCATED,
 * ROOST_CORRUPT.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_restore_replica(roost_filter *filter, const void *bytes,
                                                                     size_t size);

/* Returns the actor of this replica; 0 while it has none. */
ROOST_API uint64_t roost_filter_get_actor(const roost_filter *filter);

/* ---- info ------------------------------------------------------------------------------------------------------ */

/* What is known about a filter. Fields that the kind does not have are 0. */
typedef struct roost_info {
    double elements;       /* estimate of the distinct elements that the filter holds; of a multiset, copies */
    uint64_t entries;      /* exact: bits set (Bloom), fingerprint classes (cuckoo), additions not removed (orcuckoo) */
    uint64_t overflow;     /* entries in the overflow stash (cuckoo) */
    double load;           /* part of the bits set (Bloom), of the slots filled (cuckoo) */
    double fpr_now;        /* false-positive rate of the present state */
    bool promise_holds;    /* false once the filter holds more than its capacity and errs more than it promised; with
                              imported parts, once it errs more */
    uint64_t bits;         /* Bloom: bits in the array */
    uint32_t probes;       /* Bloom: bits a key */
    uint32_t buckets;      /* cuckoo: buckets of the table */
    uint64_t bytes_memory; /* memory that the filter takes, in bytes */
    uint64_t actors;       /* orcuckoo: how many this filter knows */
    uint64_t dots;         /* orcuckoo: additions that it has seen, also removed ones */
    uint64_t gaps;         /* orcuckoo: runs of dots that await others before them */
    uint64_t journal;      /* changes that deltas can still contain */
    uint32_t tables;       /* 1; of a scalable filter, its tables; of a window, its slots */
    uint64_t inserted;     /* scalable Bloom: additions that were new where they were made, exact; orcuckoo: what counts
                              against the capacity; else as entries */
    uint32_t shortest_prefix; /* scalable cuckoo kinds: bits of the shortest prefix of a hash that it holds, */
    uint32_t longest_prefix;  /* and of the longest; 0 while it is empty */
    uint64_t growth_limit;    /* scalable: elements that one replica alone can add before the filter is full; else 0 */
} roost_info;

/* Fills `*info` with the figures of the present state, exactly. Reads the whole filter. */
ROOST_API void roost_filter_get_info(const roost_filter *filter, roost_info *info);

/*
 * Fills `*info` with what is known without reading the filter, in constant time. Of a cuckoo filter that is everything
 * (an element of which a scalable filter holds several prefixes counts once for each of them). Of a Bloom filter and a
 * window it is sizes, memory, journal, tables and actors, of a scalable one also `inserted`; `entries`, `load` and
 * `fpr_now`, which would have to be counted, are 0.
 */
ROOST_API void roost_filter_get_brief_info(const roost_filter *filter, roost_info *info);

/*
 * Checks the invariants of the structure, for tests and for diagnosis.
 *
 * Errors: ROOST_CORRUPT where memory was overwritten or Roost has a bug.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_check(const roost_filter *filter);

#ifdef __cplusplus
}
#endif
#endif
