/*
 * Counts in bits. A count is at least 1; with v = count - 1 and a parameter p, (v >> p) + 1 in Elias gamma (as many
 * zeros as it has bits after the first, a one, those bits), then the low p bits of v.
 *
 *     count 10, p = 2:  v = 9 = 2 * 4 + 1    gamma of 3: 0 1 1    low bits: 1 0      five bits, lowest first
 *
 * Counts are skewed, and one that is a million times the others must cost a few bytes and not lengthen the code of
 * all: that is why it is no Rice code. The parameter is the one that makes all counts of a state shortest, the smaller
 * of two that do; a reader adds up the same costs and refuses any other, so that one state has one form.
 */
#ifndef MULTISET_COUNT_CODE_H
#define MULTISET_COUNT_CODE_H

#include "../base/bitstream.h"

#define COUNT_PARAMETERS 16

/* Bits that the counts so far take, for each parameter. */
struct count_costs {
    uint64_t bits[COUNT_PARAMETERS];
};

//@ requires \valid(costs) && count >= 1; assigns costs->bits[0 .. COUNT_PARAMETERS - 1];
static inline void count_costs_add(struct count_costs *costs, uint64_t count)
{
    //@ loop invariant p <= COUNT_PARAMETERS; loop assigns p, costs->bits[0 .. COUNT_PARAMETERS - 1];
    for (unsigned p = 0; p < COUNT_PARAMETERS; p++)
        costs->bits[p] += 2 * highest_bit(((count - 1) >> p) + 1) + 1 + p;
}

/*@ requires \valid_read(costs); assigns \nothing; ensures \result < COUNT_PARAMETERS;
    ensures \forall integer p; 0 <= p < COUNT_PARAMETERS ==> costs->bits[\result] <= costs->bits[p]; */
static inline unsigned count_parameter(const struct count_costs *costs)
{
    unsigned best = 0;
    /*@ loop invariant best < p <= COUNT_PARAMETERS;
        loop invariant \forall integer q; 0 <= q < p ==> costs->bits[best] <= costs->bits[q];
        loop assigns p, best; */
    for (unsigned p = 1; p < COUNT_PARAMETERS; p++)
        best = costs->bits[p] < costs->bits[best] ? p : best;
    return best;
}

static inline void write_count(struct bit_writer *writer, uint64_t count, unsigned parameter)
{
    uint64_t gamma = ((count - 1) >> parameter) + 1;
    unsigned bits = highest_bit(gamma);
    write_bits(writer, UINT64_C(1) << bits, bits + 1);
    write_bits(writer, gamma, bits);
    write_bits(writer, count - 1, parameter);
}

/* Counts up to 2^48 - 1; a larger one, or bytes that end too soon, fail the reader. */
/*@ requires sound_reader(reader) && parameter < COUNT_PARAMETERS; assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures reader->failed ==> \result == 0; */
static inline uint64_t read_count(struct bit_reader *reader, unsigned parameter)
{
    unsigned bits = 0;
    /*@ loop invariant bits <= 48 && sound_reader(reader) && reader_goes_on{Pre, Here}(reader);
        loop assigns bits, reader->position, reader->failed; */
    while (read_bits(reader, 1) == 0 && !reader->failed && bits < 48)
        bits++;
    uint64_t gamma = UINT64_C(1) << bits | read_bits(reader, bits < 48 ? bits : 0);
    uint64_t count = ((gamma - 1) << parameter | read_bits(reader, parameter)) + 1;
    reader->failed |= bits >= 48 || count >> 48 != 0;
    return reader->failed ? 0 : count;
}

#endif
