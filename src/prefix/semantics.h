/*
 * What additions and removals mean to each other: the semantics of sets whose elements can be removed.
 *
 * Two changes of one element are concurrent if neither replica had seen the other's change. Replicas that have seen the
 * same changes must agree on the outcome, whatever order they came in; which outcome, the user chooses when the filter
 * is made (roost_semantics). This file says what an entry records, which entries a change supersedes, and what is a
 * member. The tables know nothing else of semantics: merge, bytes, deltas and syncs are those of the entries.
 *
 *                        add-wins              remove-wins                      last-writer-wins
 *     state              dots, live with a     the same                         a map: prefix -> stamp
 *                        prefix, or dead
 *     an entry records   an addition           an addition, or a removal:       the latest change: its time and
 *                                              a prefix of 60 bits              whether it adds
 *     add                supersedes what it    the same, and removals of        the next stamp
 *                        has seen there        the element that it has seen
 *     remove             supersedes all that   the same, and leaves an entry    the next stamp
 *                        it has seen
 *     member             an addition is live   an addition is live, and no      the stamp adds
 *                                              removal is
 *     merge              of each dot the later of unseen < live < dead          of each prefix the larger stamp
 *
 * *Remove-wins* is that of AntidoteDB's set_rw: an addition cancels the removals that its replica has seen, and an
 * element is in if an addition is left and no removal. A removal has a dot as an addition has, so that its entry is
 * superseded, merged and sent as any other, and the lattice is the one of add-wins. Which of the two an entry records
 * is told by its prefix: additions have at most 59 bits (budget.c), removals 60. So nothing in the table, in frames or
 * in deltas has another form, and a look-up asks for no dots.
 *
 *     A: add x (A1), sent to B       A: A1 live
 *     B: remove x (B1)               B: A1 dead, B1 live: out
 *     A: add x (A2), concurrently    A: A1 dead, A2 live: in
 *     merged                         A2 and B1 live: out; with add-wins there is no B1, and x is in
 *     A: add x (A3)                  A2 and B1 dead, A3 live: in, and B agrees once it has seen A3
 *
 * Why 60 bits, when additions have some 45. A removal that stays hides whatever its prefix covers, also elements that
 * were added elsewhere before it came. With n removals of 60 bits that happens to an element with probability n 2^-60,
 * one in 10^12 for a million of them. Were it as short as the additions, it would be one in a million. And since all
 * have one length, none covers another: an element has one removal prefix, which its next addition supersedes. An
 * addition makes itself visible to its own replica for that reason, and cancels no other element's removal but with
 * that probability.
 *
 * What that costs: 7.5 bytes a removal in a frame and 11 in memory, in a filter of a million, and 2 more for each
 * addition beside it, since slots are as wide as the longest prefix of their segment; until the element is added again.
 * There are as many as different elements were removed last. Removing what was never there costs as much, and must be
 * recorded too: it may have been added where nobody looked.
 *
 * *Last-writer-wins* keeps no causal context. Time is passed in by the caller: a change has the time of its clock, or
 * one later than what its replica has seen of the element, if that is later (a hybrid logical clock for each element:
 * Kulkarni, Demirbas, Madappa, Avva, Leone, 2014). So it supersedes whatever its replica has seen, and of concurrent
 * changes the one with the later time holds. What was seen of other elements does not matter: a clock that is far ahead
 * moves the times of those elements only that it has changed. Of two changes at the same microsecond the addition
 * holds: a stamp is twice its time, and one more if it adds, so that two equal stamps are equal changes and need no
 * actor to tell them apart.
 */
#ifndef PREFIX_SEMANTICS_H
#define PREFIX_SEMANTICS_H

#include "prefix.h"
#include "roost/filter.h"

/* Whether a configuration may have its semantics: sets of prefixes with removal have any, all others are add-wins. */
static inline bool semantics_fit(const roost_config *config)
{
    return config->semantics == ROOST_ADD_WINS ||
           ((config->semantics == ROOST_REMOVE_WINS || config->semantics == ROOST_LAST_WRITER_WINS) &&
            config->kind == ROOST_ORCUCKOO && config->scalable && !config->multiset);
}

/* ---- entries with dots: add-wins and remove-wins ----------------------------------------------------------------- */

#define REMOVAL_LENGTH MOST_LENGTH

/* Whether removals have entries. */
static inline bool records_removals(roost_semantics semantics)
{
    return semantics == ROOST_REMOVE_WINS;
}

/* The longest prefix of an addition. */
static inline unsigned longest_addition(roost_semantics semantics)
{
    return records_removals(semantics) ? REMOVAL_LENGTH - 1 : MOST_LENGTH;
}

/* The prefix of the removal of an element. */
static inline uint64_t removal_of(uint64_t hash)
{
    return prefix_of(hash, REMOVAL_LENGTH);
}

static inline bool is_removal(roost_semantics semantics, uint64_t prefix)
{
    return records_removals(semantics) && prefix_length(prefix) == REMOVAL_LENGTH;
}

/*
 * Whether the entry that an element gets takes the place of another one that covers the element's hash and that its
 * replica has seen. An addition leaves shorter prefixes alone, which may be there for other elements; it covers the
 * removal of the element.
 */
static inline bool supersedes(roost_semantics semantics, uint64_t newcomer, uint64_t other)
{
    return is_removal(semantics, newcomer) || covers_prefix(newcomer, other);
}

/* Of an element that some entry covers; `removed`: there is an entry of its removal. */
static inline bool is_member(roost_semantics semantics, bool removed)
{
    return !(records_removals(semantics) && removed);
}

/* ---- stamps: last-writer-wins ------------------------------------------------------------------------------------ */

/* Of an entry. */
#define STAMPED_LENGTH MOST_LENGTH
#define STAMP_BITS     56
#define MOST_TIME      (UINT64_MAX >> (64 - STAMP_BITS) >> 1) /* microseconds: a thousand years */

/* Stamps are ordered as numbers, and the larger one holds. */
static inline uint64_t stamp_of(uint64_t time, bool adds)
{
    return time << 1 | adds;
}

static inline uint64_t time_of_stamp(uint64_t stamp)
{
    return stamp >> 1;
}

static inline bool stamp_adds(uint64_t stamp)
{
    return stamp & 1;
}

/* From time 1 on: no stamp is 0. */
static inline bool is_stamp(uint64_t stamp)
{
    return time_of_stamp(stamp) >= 1 && stamp >> STAMP_BITS == 0;
}

/* The time of an element's next change, at a replica that has seen this stamp of it; 0: none. Above MOST_TIME: there is
   none. */
static inline uint64_t next_time(uint64_t now, uint64_t before)
{
    uint64_t next = time_of_stamp(before) + 1;
    return now > next ? now : next;
}

#endif
