/*
 * Frames of observed-remove filters, made by hand: a second writer of docs/format.md that shares nothing with the first
 * but the bit stream, and that lies where it is told to. The checksum is always right, as an attacker's would be.
 */
#ifndef TESTS_FORGE_H
#define TESTS_FORGE_H

#include "dots.h"

#include "base/hash.h"
#include "filter/configuration.h"

struct forgery {
    const roost_filter *like; /* whose configuration it has */
    uint8_t type;             /* 1 a state, 2 a delta */
    /* the truth: runs by actor and counter, ranks ascending (hinted: among those that are not live), classes of both */
    const struct dot_run *runs;
    size_t run_count;
    const uint64_t *live, *hinted, *keys;
    uint64_t live_count, hinted_count;
    /* lies: what is added to numbers that are told, bytes that come in the place of the causal context or on top */
    int64_t more_actors, more_live, more_hinted, more_positions;
    const uint8_t *causal;
    size_t causal_size;
    size_t extra_positions, extra_classes;
    bool dirty_positions, dirty_classes; /* padding that is not zero */
    uint64_t most_run, more_run;         /* prefixes of a run at most; more of them than there are in the last */
};

static inline size_t forge_actors(const struct forgery *forgery)
{
    size_t actors = forgery->run_count > 0;
    for (size_t i = 1; i < forgery->run_count; i++)
        actors += forgery->runs[i].actor != forgery->runs[i - 1].actor;
    return actors;
}

static inline uint64_t forge_dots(const struct forgery *forgery)
{
    uint64_t dots = 0;
    for (size_t i = 0; i < forgery->run_count; i++)
        dots += (uint64_t)forgery->runs[i].last - forgery->runs[i].first + 1;
    return dots;
}

static inline void forge_causal(const struct forgery *forgery, struct bit_writer *writer)
{
    const struct dot_run *runs = forgery->runs;
    if (forgery->causal) {
        write_bytes(writer, forgery->causal, forgery->causal_size);
        return;
    }
    write_varint(writer, forge_actors(forgery) + (uint64_t)forgery->more_actors);
    for (size_t i = 0; i < forgery->run_count;) {
        uint64_t actor = runs[i].actor, last = runs[i].first == 1 ? runs[i].last : 0;
        size_t next = i + (last > 0);
        write_fixed64(writer, actor);
        write_varint(writer, last << 1 | (next < forgery->run_count && runs[next].actor == actor));
        for (i = next; i < forgery->run_count && runs[i].actor == actor; i++) {
            write_varint(writer, runs[i].first - last - 2);
            write_varint(writer, (uint64_t)(runs[i].last - runs[i].first) << 1 |
                                     (i + 1 < forgery->run_count && runs[i + 1].actor == actor));
            last = runs[i].last;
        }
    }
}

static inline bool forge_is_in(const uint64_t *members, uint64_t count, uint64_t number)
{
    for (uint64_t i = 0; i < count; i++)
        if (members[i] == number)
            return true;
    return false;
}

/* The members, or the others, whichever are fewer. */
static inline void forge_ranks(struct bit_writer *writer, const uint64_t *members, uint64_t count, uint64_t universe)
{
    bool others = count > universe - count;
    unsigned parameter = rice_parameter(universe, others ? universe - count : count);
    uint64_t next = 0;
    for (uint64_t i = 0; i < count && !others; i++) {
        write_rice(writer, members[i] - next, parameter);
        next = members[i] + 1;
    }
    for (uint64_t rank = 0; rank < universe && others; rank++)
        if (count < universe && !forge_is_in(members, count, rank)) {
            write_rice(writer, rank - next, parameter);
            next = rank + 1;
        }
}

/* Truncated binary over the pairs of buckets, then the fingerprint. */
static inline void forge_class(struct bit_writer *writer, struct cuckoo_geometry geometry, uint64_t key)
{
    uint64_t pairs = geometry.buckets / 2 + 1, pair = key >> geometry.bits;
    unsigned bits = 0;
    while (UINT64_C(2) << bits <= pairs)
        bits++;
    uint64_t shorter = (UINT64_C(2) << bits) - pairs;
    if (pair < shorter) {
        write_bits(writer, pair, bits);
    } else {
        write_bits(writer, (pair + shorter) >> 1, bits);
        write_bits(writer, (pair + shorter) & 1, 1);
    }
    write_bits(writer, key, geometry.bits);
}

/* Runs of one length: how many, the length, and the bits of each. */
static inline void forge_prefixes(struct bit_writer *writer, const struct forgery *forgery, const uint64_t *keys,
                                  uint64_t count)
{
    uint64_t most = forgery->most_run ? forgery->most_run : count;
    for (uint64_t i = 0, run; i < count; i += run) {
        unsigned length = highest_bit(keys[i]);
        for (run = 1; i + run < count && run < most && highest_bit(keys[i + run]) == length; run++)
            ;
        write_gamma(writer, i + run == count ? run + forgery->more_run : run);
        write_bits(writer, length, 6);
        for (uint64_t j = 0; j < run; j++)
            write_bits(writer, keys[i + j], length);
    }
}

static inline void forge_padding(struct bit_writer *writer, bool dirty, size_t extra)
{
    if (dirty)
        write_bits(writer, 1, 1);
    write_alignment(writer);
    for (; extra > 0; extra--)
        write_byte(writer, 0);
}

static inline void forge_body(const struct forgery *forgery, struct bit_writer *writer)
{
    struct bit_writer positions;
    uint64_t dots = forge_dots(forgery);
    bit_writer_init(&positions, writer->buffer.allocator);
    forge_ranks(&positions, forgery->live, forgery->live_count, dots);
    forge_ranks(&positions, forgery->hinted, forgery->hinted_count, dots - forgery->live_count);
    forge_padding(&positions, forgery->dirty_positions, forgery->extra_positions);
    forge_causal(forgery, writer);
    write_varint(writer, forgery->live_count + (uint64_t)forgery->more_live);
    write_varint(writer, forgery->hinted_count + (uint64_t)forgery->more_hinted);
    write_varint(writer, positions.buffer.size + (uint64_t)forgery->more_positions);
    write_bytes(writer, positions.buffer.data, positions.buffer.size);
    bool has_prefixes = forgery->like->kind->has_prefixes;
    if (has_prefixes) {
        forge_prefixes(writer, forgery, forgery->keys, forgery->live_count);
        forge_prefixes(writer, forgery, forgery->keys + forgery->live_count, forgery->hinted_count);
    }
    for (uint64_t i = 0; i < forgery->live_count + forgery->hinted_count && !has_prefixes; i++)
        forge_class(writer, as_const_orcuckoo(forgery->like)->table.geometry, forgery->keys[i]);
    forge_padding(writer, forgery->dirty_classes, forgery->extra_classes);
    bit_writer_release(&positions);
}

/* Header, body, checksum. */
static inline roost_buffer forge_frame_of(uint8_t version, uint8_t type, const uint8_t *body, size_t size)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_bytes(&writer, "Rost", 4);
    write_byte(&writer, version);
    write_byte(&writer, type);
    write_varint(&writer, size);
    write_bytes(&writer, body, size);
    write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
    assert_false(writer.failed);
    return writer.buffer;
}

static inline roost_buffer forge_frame(const uint8_t *body, size_t size, uint8_t type)
{
    return forge_frame_of(1, type, body, size);
}

static inline roost_buffer forge(const struct forgery *forgery)
{
    struct bit_writer body;
    bit_writer_init(&body, allocator_or_default((roost_allocator){0}));
    write_configuration(forgery->like, &body);
    forge_body(forgery, &body);
    assert_false(body.failed);
    uint8_t version = forgery->like->kind->has_prefixes ? 3 : 1; /* prefixes came with version 3 */
    roost_buffer frame = forge_frame_of(version, forgery->type, body.buffer.data, body.buffer.size);
    bit_writer_release(&body);
    return frame;
}

/* A state of many actors, numbered from `first_actor` on, each with one live dot, in classes of their own. */
static inline roost_buffer forge_crowd(const roost_filter *like, uint8_t type, uint64_t first_actor, size_t actors)
{
    struct dot_run *runs = calloc(actors + 1, sizeof *runs);
    uint64_t *ranks = calloc(actors + 1, sizeof *ranks), *keys = calloc(actors + 1, sizeof *keys);
    for (size_t i = 0; i < actors; i++) {
        runs[i] = (struct dot_run){first_actor + i, 1, 1};
        ranks[i] = i;
        keys[i] = class_for(like, hash_for_key(first_actor + i));
    }
    struct forgery crowd = {.like = like,
                            .type = type,
                            .runs = runs,
                            .run_count = actors,
                            .live = ranks,
                            .keys = keys,
                            .live_count = actors};
    roost_buffer frame = forge(&crowd);
    free(runs);
    free(ranks);
    free(keys);
    return frame;
}

#endif
