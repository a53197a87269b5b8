/*
 * Inside the exact method. exact.c has the idea; here is what its files share.
 *
 *     exact_plan.c      how large is the difference, and what is cheapest then
 *     exact_cells.c     the window: cells, their hashes, their weights
 *     exact_sketch.c    the side that sends sketches, and learns which of its elements the other lacks
 *     exact_decode.c    the side that decodes them
 *     exact_counts.c    in a multiset: which elements have the same key, and how often each side has it
  *     exact.c           the order of the messages
 */
#ifndef RECONCILE_EXACT_H
#define RECONCILE_EXACT_H

#include "exact_plan.h"
#include "pin_sketch.h"
#include "../base/sort.h"

enum exact_message {
    WINDOW = FIRST_OF_METHOD, /* sketches of the cells of a new window */
    MORE,                     /* more of those that are not resolved */
    REPORT,                   /* what was decoded */
    ESTIMATE,                 /* requests an estimator */
    ESTIMATED,
    START, /* the sides change places: the receiver is to send the sketches */
    AUDIT, /* all cells agree, and the whole does not */
    AUDITED,
    COUNTS,
    COUNTED,
};

enum cell_state {
    CELL_CLOSED, /* resolved, as far as its check shows */
    CELL_FRESH,  /* a new sketch is due */
    CELL_WANTS,  /* more sums of the sketch are due */
    CELL_SHOWN,  /* the decoding side has decoded it, the other has not yet checked that */
};

struct cell {
    uint128 weight;        /* of its elements that are in common, and of what was reported about it */
    uint128 weight_before; /* before the last message that reported anything */
    uint32_t from, to;     /* its elements */
    uint32_t salt;         /* number of its present sketch */
    uint32_t known_count;  /* sums that were sent, or hashes */
    uint64_t *known;       /* the decoding side: those, NULL where there are none */
    uint32_t forgotten;    /* what was reported under this salt is to be forgotten; ALL_SALTS, or 0 for nothing */
    uint8_t state;
    bool listed; /* not sums but hashes */
};

#define ALL_SALTS UINT32_MAX

/* One element of the sketching side that the other lacks, as messages name it. */
struct reported {
    uint32_t cell; /* in the partition, not the window */
    uint32_t salt;
    uint64_t hash;    /* within the cell */
    uint32_t element; /* the sketching side: which it is */
};

struct exact {
    bool sketching;
    struct plan plan;
    struct field field;
    uint64_t first; /* cell of the partition with which the window begins */
    struct cell *cells;
    size_t count;
    uint32_t salts;    /* that were used up */
    uint32_t restarts; /* with all cells from the beginning */
    uint32_t rounds;   /* in this window */
    size_t *open;      /* the cells of the last sketches, ascending */
    size_t open_count;
    size_t slot; /* ranks of reported elements are below this */
    struct reported *reported;
    size_t reported_count, reported_room;
    size_t reported_before; /* this window */
    unsigned count_bits;    /* of the keys' hashes in COUNTS */
    uint64_t *numbers, *spare;
    size_t room;             /* numbers in each of these two */
    bool any_only_here;      /* among the elements of `numbers` */
    uint64_t *scratch;       /* the decoding side's, for sums */
    double difference;       /* as estimated; 0: not yet */
    bool requested_estimate; /* since the first sketch was decoded wrongly */
};

static inline struct exact *exact_of(const struct roost_reconcile *session)
{
    return session->state;
}

/* ---- exact_cells.c ---------------------------------------------------------------------------------------------- */

/* A cell is alone where there is no other: then its checks are the window's. */
static inline bool window_is_one_cell(const struct exact *exact)
{
    return exact->plan.cells == 1;
}

/* Makes a window of cells, all fresh, with nothing known to be only here. */
roost_status window_begin(struct roost_reconcile *session, uint64_t first, size_t count);
void window_release(struct roost_reconcile *session);
uint128 window_weight(const struct roost_reconcile *session);
/* The same with the number of elements that are only on the decoding side. */
uint64_t window_check(const struct roost_reconcile *session, uint64_t only_there);
/* Back to the beginning: nothing in the cell is only here. */
void cell_reset(struct roost_reconcile *session, struct cell *cell);

/* Two arrays for so many numbers, exact->numbers and exact->spare. */
roost_status make_numbers(struct roost_reconcile *session, size_t count);
/* Large ones are not kept from one message to the next. */
void drop_numbers(struct roost_reconcile *session);

/* Under the salt of the cell: never 0. */
struct cell_hash {
    struct element_key key;
    unsigned bits;
    unsigned count_bits;           /* of these, so many that distinguish counts; the others are of the key alone */
    const struct element_set *set; /* has the counts */
};
struct cell_hash cell_hash_of(const struct roost_reconcile *session, uint32_t salt);
static inline uint64_t hash_in_cell(const struct cell_hash *hash, const struct element *element)
{
    uint64_t mixed = element_hash(hash->key, element), short_hash = mixed >> (64 - hash->bits);
    if (hash->count_bits) {
        struct element key = {.high = element->high, .low = low_of_key(hash->set, element)};
        uint64_t of_key = element_hash(hash->key, &key);
        short_hash = of_key >> (64 - hash->bits + hash->count_bits) << hash->count_bits;
        short_hash |= multiply_and_fold(mixed, hash->key.low | 1) >> (64 - hash->count_bits);
    }
    return short_hash ? short_hash : 1;
}

/* The power sums of the elements that are not only here, XORed to `sums`. */
void cell_add_sums(const struct roost_reconcile *session, const struct cell *cell, uint64_t *sums, size_t count);

/*
 * exact->numbers gets all elements of the cell, each as hash << shift | number within the cell, ascending. At least one
 * of the two, hash or cell, is small enough.
 */
roost_status cell_sort(struct roost_reconcile *session, const struct cell *cell, unsigned *shift);
/* Whether the element of one of these numbers is only here. Most cells have none such; then it is not looked for, since
   the numbers are in another order than the elements. */
static inline bool number_is_only_here(const struct roost_reconcile *session, const struct cell *cell, uint64_t number,
                                       uint64_t mask)
{
    return exact_of(session)->any_only_here && session->set.elements[cell->from + (number & mask)].marks & ONLY_HERE;
}

/* The weight of a hash that was reported, and of one that is looked at. */
uint128 reported_weight(const struct roost_reconcile *session, uint64_t cell, uint32_t salt, uint64_t hash);
static inline uint64_t glance(uint64_t hash)
{
    return multiply_and_fold(hash ^ UINT64_C(0xa0761d6478bd642f), UINT64_C(0x8ebc6af09c88c6e3));
}

/* Bits of the two checks of a cell: whether the difference was decoded rightly; whether the cells are equal then. */
static inline unsigned decoding_check_bits(const struct exact *exact, const struct cell *cell)
{
    if (window_is_one_cell(exact) || cell->listed)
        return 0;
    return cell->known_count >= 8 ? 4 : 12;
}
/* Sums that a cell gets when those it had were too few. */
static inline uint32_t sums_more(const struct cell *cell)
{
    return cell->known_count < 8 ? 2 : cell->known_count / 4;
}
/*
 * Every portion of sums is decoded together with all that came before it, so a peer that sent one at a time would have
 * us decode 96 times. An honest one sends a quarter more, or, of the first sketch, at least two for twelve. Where each
 * portion is an eighth of what is there, all decodings together cost less than five times the last of them.
 */
static inline bool portion_is_fair(const struct cell *cell, uint32_t sums)
{
    return cell->known_count + sums <= MOST_SUMS && 8 * sums >= cell->known_count;
}
static inline unsigned equality_check_bits(const struct exact *exact)
{
    return window_is_one_cell(exact) ? 0 : 10;
}

/* exact->open becomes the cells that are fresh or want more; the fresh ones get the next salt. */
void window_open_cells(struct exact *exact);
/* What MORE says of cells that were shown, or closed: how the decoding went. Both sides do the same. */
void cell_was_misread(struct roost_reconcile *session, struct cell *cell);
void cell_starts_afresh(struct roost_reconcile *session, struct cell *cell);

/* Bounds that no honest window passes. */
#define MOST_CELLS    ((size_t)1 << 18)
#define MOST_ROUNDS   64
#define MOST_RESTARTS 8

roost_status reported_append(struct roost_reconcile *session, struct reported reported);
/* What cells have forgotten (cell->forgotten) is no longer reported: one pass, however many cells of a message it
   is. */
void reported_forget(struct exact *exact);

/* ---- exact_sketch.c --------------------------------------------------------------------------------------------- */

/* What follows the header of the first message: sums of all elements in one cell, as first_plan has it. */
roost_status sketch_first(struct roost_reconcile *session, struct bit_writer *writer);
roost_status sketch_window(struct roost_reconcile *session, struct bit_writer *writer, uint64_t first);
roost_status sketch_take_report(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
roost_status sketch_take_audited(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
/* The single cell of the first message, with more sums. */
roost_status sketch_more_of_first(struct roost_reconcile *session, struct bit_writer *writer, uint32_t sums);

/* ---- exact_decode.c --------------------------------------------------------------------------------------------- */

/* Answers with REPORT, or, where it cannot be decoded, with ESTIMATED. */
roost_status decode_first(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
roost_status decode_window(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
roost_status decode_more(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
roost_status decode_audit(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
#define AUDITED_AT_ONCE 32
#define AUDIT_BITS      16
#define AUDITED_BITS    24

/* ---- exact_counts.c --------------------------------------------------------------------------------------------- */

roost_status request_counts(struct roost_reconcile *session, struct bit_writer *writer);
roost_status answer_counts(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
roost_status take_counts(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);

/* ---- exact.c ---------------------------------------------------------------------------------------------------- */

void write_estimated(struct roost_reconcile *session, struct bit_writer *writer);
/* The window is resolved: on to the next one, or to the end. */
roost_status exact_next_window(struct roost_reconcile *session, struct bit_writer *writer);
/* The window cannot be resolved as it is. */
roost_status exact_restart(struct roost_reconcile *session, struct bit_writer *writer);

#endif
