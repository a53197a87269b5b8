/* Inside windows and counters. `forgetful.c` has the essay on those of fixed size, `growing.c` on those that grow. */
#ifndef WINDOW_FORGETFUL_H
#define WINDOW_FORGETFUL_H

#include "roost/window.h"
#include "recent.h"
#include "tally.h"
#include "../bloom/bloom.h"

#define MOST_PAST         64
#define MOST_GROWING_PAST 255
#define MOST_LEVELS       7
#define MOST_SLOTS        250
#define DEFAULT_PAST      3
#define MOST_WINDOW       (UINT64_C(1) << 50)
#define WINDOW_ROW        512 /* elements that are looked up at once */
/* Records of the journal: which slot they are about by its place, or these. */
#define ENTRY_TABLE 0   /* of a window that grows: a prefix came, or came again in a later slot */
#define DEAD_TABLE  254 /* a slot that is forgotten */
#define TALLY_TABLE 255 /* the tally; key is the actor */

extern const struct filter_kind window_kind, counter_kind, growing_window_kind, growing_counter_kind;

struct slot {
    uint64_t start;     /* a multiple of its length */
    uint32_t level;     /* its length is t / 2^level */
    uint8_t place;      /* its number in the journal, */
    uint64_t since;     /* from this record on; those before are about another slot */
    uint64_t held;      /* elements, counted as they came; */
    bool held_is_known; /* unless something else came as well */
    uint64_t limit;     /* elements that it takes while the others stay as they are; 0: to be computed */
    roost_filter *bits; /* Bloom, never empty */
};

/*
 * What both sorts share comes first. One that grows (`scalable`) has a table and no slots. Invariants of the other
 * (window_check): slots are sorted by start, then level, and differ; all are aligned, remembered, not empty and of the
 * window's geometry; places differ. The tally is a counter's alone.
 */
struct window {
    struct roost_filter base;
    struct filter_own own;
    uint64_t slot_length; /* t */
    uint64_t latest;      /* nothing later is merged; 0: no limit */
    struct tally tally;
    uint64_t actor; /* counter: of this replica, or 0 */

    struct recent recent; /* what has come, where it grows, */
    uint64_t most;        /* and how many entries keep the rate */

    struct bloom_geometry geometry; /* of each slot */
    uint32_t finest;                /* the highest level */
    uint32_t count;
    uint8_t next_place;
    uint32_t level;      /* additions go to slots of this level, at first */
    uint64_t full_at;    /* elements: a slot then errs by 0.9 of its part; 0: not yet computed */
    double slope;        /* with fewer elements it errs less by this power */
    uint64_t idle_at;    /* and here by 0.1 of its part, or is less than half full */
    struct slot slots[]; /* MOST_SLOTS; none where it grows */
};

static inline struct window *as_window(roost_filter *filter)
{
    return (struct window *)filter;
}

static inline const struct window *as_const_window(const roost_filter *filter)
{
    return (const struct window *)filter;
}

static inline bool is_window(const roost_filter *filter)
{
    return filter->config->kind == ROOST_WINDOW || filter->config->kind == ROOST_COUNTER;
}

static inline bool is_counter(const struct window *window)
{
    return window->base.config->kind == ROOST_COUNTER;
}

static inline bool window_grows(const struct window *window)
{
    return window->base.config->scalable;
}

static inline uint64_t level_length(const struct window *window, uint32_t level)
{
    return window->slot_length >> level;
}

/* W: how long elements stay at least. */
static inline uint64_t promised_window(const struct window *window)
{
    return window->slot_length * (window->base.config->past + 1);
}

static inline uint64_t slot_end(const struct window *window, const struct slot *slot)
{
    return slot->start + level_length(window, slot->level);
}

/* Whether something in the slot may be younger than the window at this time. */
static inline bool is_remembered(const struct window *window, const struct slot *slot, uint64_t time)
{
    return slot_end(window, slot) + promised_window(window) > time;
}

static inline bool window_is_empty(const struct window *window)
{
    return window_grows(window) ? recent_is_empty(&window->recent) : window->count == 0;
}

/* Slots are sorted by start. */
static inline uint64_t newest_start(const struct window *window)
{
    if (window_grows(window))
        return recent_is_empty(&window->recent) ? 0 : window->recent.newest * window->slot_length;
    return window->count ? window->slots[window->count - 1].start : 0;
}

/* The part of the error rate that one slot may have. */
static inline double slot_rate(const struct window *window)
{
    return window->base.config->fpr / (window->base.config->past + 2);
}

/* t, and the finest level, for so many past slots and a window of this length. */
void window_lengths(uint64_t *slot_length, uint32_t *finest, uint64_t window, uint32_t past);

struct slot *window_find(const struct window *window, uint64_t start, uint32_t level);
/* An empty array for a slot that is not in the window yet. `others`: how many more are about to come. */
roost_status window_new_bits(const struct window *window, roost_filter **bits, size_t others);
/* Puts a slot in; there is none like it, and there is room, once the forgotten are gone. */
struct slot *window_put(struct window *window, uint64_t start, uint32_t level, roost_filter *bits);
/* Forgets what is no longer remembered when this is the newest start. */
void window_forget(struct window *window, uint64_t newest);

/* Finds or makes the slot for one addition at this time: ROOST_CLOCK, or out of memory. *room: how many more it takes
   before another one should. */
roost_status window_target(struct window *window, struct slot **slot, uint64_t *room, uint64_t time);
bool window_holds(const struct window *window, roost_hash hash, uint64_t time);
/* What a check at this time looks at: the later of time and newest start. */
uint64_t window_time(const struct window *window, uint64_t time);
/* ROOST_CLOCK for a time that cannot be right. */
roost_status window_check_time(const struct window *window, uint64_t time);
bool window_is_sound_time(const roost_config *config, uint32_t most_past);
/* windows take no additions without a time. */
roost_status window_add(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes, size_t count);

/* ---- windows that grow: growing.c, growing_bytes.c --------------------------------------------------------------- */

roost_status growing_add(struct window *window, bool *seen, size_t *done, const roost_hash *hashes, size_t count,
                         uint64_t time);
bool growing_holds(const struct window *window, roost_hash hash, uint64_t time);

/* The source of the entries that a merge adds: another table, or bytes that were checked. */
struct incoming {
    const struct recent *table;
    struct recent_walk walk;
    struct bit_reader reader;
    uint64_t slots, entries; /* still to be read; of this slot */
    uint64_t slot, prefix;
    unsigned parameter;
    uint32_t bits;
    bool first; /* no slot was read yet */
};
bool incoming_next(struct incoming *incoming, uint64_t *prefix, uint64_t *slot);
/* Merges all of it or nothing; reserves the tally. `newest` is that of the incoming entries, if there are any. */
roost_status growing_take(struct window *window, bool *changed, const struct incoming *incoming, uint64_t newest,
                          const struct tally *tally);
/* The bytes of a window beside its table, which count against the memory limit too. */
uint64_t growing_bytes_beside(const struct window *window);

void growing_write_geometry(const roost_filter *filter, struct bit_writer *writer);
roost_status growing_write_state(const roost_filter *filter, struct bit_writer *writer);
roost_status growing_read_state(roost_filter *filter, struct bit_reader *reader);
roost_status growing_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
roost_status growing_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader);
roost_status growing_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                         struct delta_sink *sink);
bool growing_is_change(const roost_filter *filter, uint8_t table, struct change change);

/* ---- bytes and deltas: forgetful_bytes.c ------------------------------------------------------------------------- */

/* Slots and entries that a merge is about to add. */
struct window_unseen {
    uint64_t newest;
    struct staged_slot {
        uint64_t start;
        uint32_t level;
        roost_filter *bits;
    } slots[MOST_SLOTS];
    size_t count;
};

roost_status window_stage(const struct window *window, struct window_unseen *unseen, uint64_t start, uint32_t level);
void window_unstage(struct window_unseen *unseen);
void window_commit(struct window *window, struct window_unseen *unseen);
/* Merges entries that were reserved; drops the own actor if another replica has used it. */
bool window_take_tally(struct window *window, const struct tally *tally);

void window_write_geometry(const roost_filter *filter, struct bit_writer *writer);
roost_status window_write_state(const roost_filter *filter, struct bit_writer *writer);
roost_status window_read_state(roost_filter *filter, struct bit_reader *reader);
roost_status window_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
roost_status window_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader);
uint8_t window_table_after_decode(const roost_filter *filter, uint64_t record);
uint8_t window_table_before_decode(const roost_filter *filter, uint8_t table);
bool window_is_change(const roost_filter *filter, uint8_t table, struct change change);

void window_forget_replica(roost_filter *filter);

roost_status window_status_of_tally(enum tally_read read);
roost_status window_write_changed_tally(const struct window *window, struct bit_writer *writer,
                                        struct selection selection);

/* ---- counters: counter.c ---------------------------------------------------------------------------------------- */

uint64_t counter_actor(const roost_filter *filter);
void counter_write_replica(const roost_filter *filter, struct bit_writer *writer);
roost_status counter_read_replica(roost_filter *filter, struct bit_reader *reader);

#endif
