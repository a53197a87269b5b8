/*
 * The Bloom filter as bytes, whole or in part. docs/format.md is the specification.
 *
 *     state    raw words, or the Rice-coded gaps between the bits that are set: whichever is shorter
 *     delta    positions in the whole array, or a range of its words in either form
 */
#include "bloom.h"
#include "bloom_array.h"

#include <string.h>

#include "../base/sort.h"

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

enum state_form { RAW_WORDS = 0, RICE_POSITIONS = 1, WORD_RANGE = 2 /* in deltas only */ };

void bloom_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    write_varint(writer, as_const_bloom(filter)->geometry.bits);
    write_varint(writer, as_const_bloom(filter)->geometry.probes);
}

/* Calls for each set bit in order, with the gap to the one before. */
typedef void gap_visitor(void *context, uint64_t gap);

static void visit_gaps(const struct bloom *bloom, gap_visitor *visit, void *context)
{
    uint64_t next = 0;
    for (size_t chunk = next_used(bloom, 0); chunk < bloom->chunks; chunk = next_used(bloom, chunk + 1)) {
        size_t end = chunk * CHUNK_WORDS + words_in_chunk(bloom, chunk);
        for (size_t i = chunk * CHUNK_WORDS; i < end; i++)
            for (uint64_t word = words_of(bloom)[i]; word; word &= word - 1) {
                uint64_t position = i * 64 + lowest_bit(word);
                visit(context, position - next);
                next = position + 1;
            }
    }
}

struct gap_coder {
    struct bit_writer *writer;
    unsigned parameter;
    uint64_t bits; /* what the code takes, or a little more */
};

static void measure_gap(void *context, uint64_t gap)
{
    struct gap_coder *coder = context;
    coder->bits += (gap >> coder->parameter) + 1 + coder->parameter;
}

static void write_gap(void *context, uint64_t gap)
{
    struct gap_coder *coder = context;
    write_rice(coder->writer, gap, coder->parameter);
}

static size_t raw_bytes(const struct bloom *bloom)
{
    return (size_t)divide_up(bloom->geometry.bits, 8);
}

static void write_raw(const struct bloom *bloom, struct bit_writer *writer)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t byte = 0; byte < raw_bytes(bloom); byte++)
        write_byte(writer, (uint8_t)(words_of(bloom)[byte / 8] >> (byte % 8 * 8)));
#else
    write_array(writer, bloom->words.bytes, raw_bytes(bloom));
#endif
}

/* How many bits are set, and one more than the position of the last of them. */
struct bit_count {
    uint64_t set, end;
};

static struct bit_count count_bits(const struct bloom *bloom)
{
    struct bit_count count = {0, 0};
    size_t last = 0;
    for (size_t chunk = next_used(bloom, 0); chunk < bloom->chunks; chunk = next_used(bloom, chunk + 1)) {
        uint64_t ones = ones_in_chunk(bloom, chunk);
        count.set += ones;
        last = ones ? chunk : last;
    }
    size_t word = last * CHUNK_WORDS + words_in_chunk(bloom, last);
    while (count.set && !words_of(bloom)[word - 1])
        word--;
    count.end = count.set ? (word - 1) * 64 + highest_bit(words_of(bloom)[word - 1]) + 1 : 0;
    return count;
}

static bool positions_are_shorter(const struct bloom *bloom, uint64_t bits)
{
    return divide_up(bits, 8) + 9 < raw_bytes(bloom);
}

/*
 * Which form is the shorter one depends on the state alone; `coder` is ready for the positions. A gap takes its
 * quotient by 2^parameter, and 1 + parameter bits. All gaps together are known without a walk: what is not set before
 * the last bit that is. So is the sum of their quotients, but for what each division leaves; hardly ever does the
 * answer depend on that, and never where the parameter is 0, in arrays that are well filled.
 */
static enum state_form shorter_form(const struct bloom *bloom, struct bit_count count, struct gap_coder *coder)
{
    unsigned parameter = rice_parameter(bloom->geometry.bits, count.set);
    uint64_t gaps = count.end - count.set, fixed_bits = count.set * (1 + parameter);
    uint64_t left_over = count.set * ((UINT64_C(1) << parameter) - 1); /* at most, by all divisions */
    uint64_t least = fixed_bits + ((gaps > left_over ? gaps - left_over : 0) >> parameter);
    coder->parameter = parameter;
    coder->bits = fixed_bits + (gaps >> parameter);
    if (positions_are_shorter(bloom, coder->bits))
        return RICE_POSITIONS;
    if (!positions_are_shorter(bloom, least))
        return RAW_WORDS;
    coder->bits = 0;
    visit_gaps(bloom, measure_gap, coder);
    return positions_are_shorter(bloom, coder->bits) ? RICE_POSITIONS : RAW_WORDS;
}

roost_status bloom_write_state(const roost_filter *filter, struct bit_writer *writer)
{
    const struct bloom *bloom = as_const_bloom(filter);
    struct bit_count count = count_bits(bloom);
    struct gap_coder coder = {.writer = writer};
    if (shorter_form(bloom, count, &coder) == RICE_POSITIONS) {
        write_byte(writer, RICE_POSITIONS);
        write_varint(writer, count.set);
        bit_writer_reserve(writer, (size_t)divide_up(coder.bits, 8));
        visit_gaps(bloom, write_gap, &coder);
        write_alignment(writer);
    } else {
        write_byte(writer, RAW_WORDS);
        write_raw(bloom, writer);
    }
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static roost_status read_raw(struct bloom *bloom, struct bit_reader *reader)
{
    if (!read_array(reader, bloom->words.bytes, raw_bytes(bloom)))
        return ROOST_CORRUPT;
    memset(bloom->stale, 1, bloom->chunks);
    uint64_t *words = words_of(bloom);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < word_count(bloom); i++)
        words[i] = to_little_endian(words[i]);
#endif
    unsigned tail = bloom->geometry.bits % 64;
    return tail && words[word_count(bloom) - 1] >> tail ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status read_positions(struct bloom *bloom, struct bit_reader *reader)
{
    uint64_t set = read_varint(reader), next = 0;
    if (set > bloom->geometry.bits || set > reader_bits_left(reader))
        return ROOST_CORRUPT;
    unsigned parameter = rice_parameter(bloom->geometry.bits, set);
    for (uint64_t i = 0; i < set; i++) {
        uint64_t gap = read_rice(reader, parameter);
        if (reader->failed || gap >= bloom->geometry.bits - next)
            return ROOST_CORRUPT;
        next += gap;
        words_of(bloom)[next / 64] |= UINT64_C(1) << (next & 63);
        bloom->stale[next / 8 / CHUNK_BYTES] = 1;
        next++;
    }
    read_alignment(reader);
    return reader->failed ? ROOST_CORRUPT : ROOST_OK;
}

roost_status bloom_read_state(roost_filter *filter, struct bit_reader *reader)
{
    struct bloom *bloom = as_bloom(filter);
    uint8_t form = read_byte(reader);
    if (reader->failed || form > RICE_POSITIONS)
        return ROOST_CORRUPT;
    roost_status status = form == RAW_WORDS ? read_raw(bloom, reader) : read_positions(bloom, reader);
    struct gap_coder coder = {0};
    if (status == ROOST_OK && shorter_form(bloom, count_bits(bloom), &coder) != form)
        status = ROOST_CORRUPT;
    return status;
}

/* ---- deltas ---------------------------------------------------------------------------------------------------- */

static uint64_t positions_of_change(const struct bloom *bloom, uint64_t *positions, struct change change)
{
    if (change.tag)
        return bloom_positions(&bloom->base, positions, (roost_hash){change.key, change.tag});
    *positions = change.key;
    return 1;
}

static void write_positions(struct bit_writer *writer, uint64_t *positions, uint64_t count, uint64_t bits)
{
    uint64_t set = 0, next = 0;
    for (uint64_t i = 0; i < count; i++)
        if (set == 0 || positions[set - 1] != positions[i])
            positions[set++] = positions[i];
    unsigned parameter = rice_parameter(bits, set);
    write_byte(writer, RICE_POSITIONS);
    write_varint(writer, set);
    for (uint64_t i = 0; i < set; i++) {
        write_rice(writer, positions[i] - next, parameter);
        next = positions[i] + 1;
    }
    write_alignment(writer);
}

roost_status bloom_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection)
{
    const struct bloom *bloom = as_const_bloom(filter);
    uint64_t most = count_selected(filter->journal, selection) * bloom->geometry.probes + MOST_PROBES, count = 0;
    uint64_t *positions = memory_allocate(&filter->environment.allocator, 2 * most * sizeof *positions);
    if (!positions)
        return ROOST_NO_MEMORY;
    for (uint64_t record; next_selected(filter->journal, &selection, &record);)
        if (is_noted_here(filter, record))
            count += positions_of_change(bloom, positions + count, *journal_change(filter->journal, record));
    sort_numbers(positions, positions + most, count, highest_bit(bloom->geometry.bits) + 1);
    write_positions(writer, positions, count, bloom->geometry.bits);
    memory_release(&filter->environment.allocator, positions);
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static void take_bit(struct bloom *bloom, bool *changed, uint64_t position)
{
    uint64_t *word = &words_of(bloom)[position / 64], bit = UINT64_C(1) << (position & 63);
    if (*word & bit)
        return;
    *word |= bit;
    bloom->stale[position / 8 / CHUNK_BYTES] = 1;
    note(&bloom->base, position, 0);
    *changed = true;
}

/*
 * A delta has positions in the whole array, or a range of its words: the words as they are, or the positions of their
 * bits. The deltas of an incremental merge are many and dense: as ranges of words they take no more bytes than the
 * state, and are merged a vector at a time.
 */
struct bloom_delta {
    uint64_t first, words; /* the range of words */
    uint64_t bits;         /* that it has */
    uint8_t form;
    struct bit_reader reader;
};

static bool open_delta(struct bloom_delta *delta, uint64_t bits, struct bit_reader reader)
{
    uint64_t all = divide_up(bits, 64);
    *delta = (struct bloom_delta){.words = all, .form = read_byte(&reader)};
    bool word_range = delta->form == WORD_RANGE;
    if (word_range) {
        delta->first = read_varint(&reader);
        delta->words = read_varint(&reader);
        delta->form = read_byte(&reader);
    }
    delta->reader = reader;
    if (reader.failed || delta->form > RICE_POSITIONS || (delta->form == RAW_WORDS && !word_range) ||
        delta->first >= all || delta->words == 0 || delta->words > all - delta->first)
        return false;
    delta->bits = delta->first + delta->words == all ? bits - delta->first * 64 : delta->words * 64;
    return true;
}

static bool positions_are_sound(uint64_t bits, struct bit_reader reader)
{
    uint64_t set = read_varint(&reader), next = 0;
    if (reader.failed || set > bits || set > reader_bits_left(&reader))
        return false;
    unsigned parameter = rice_parameter(bits, set);
    for (uint64_t i = 0; i < set; i++, next++) {
        uint64_t gap = read_rice(&reader, parameter);
        if (reader.failed || gap >= bits - next)
            return false;
        next += gap;
    }
    read_alignment(&reader);
    return !reader.failed && reader_bits_left(&reader) == 0;
}

static bool words_are_sound(const struct bloom_delta *delta)
{
    struct bit_reader reader = delta->reader;
    if (delta->words != reader_bits_left(&reader) / 64 || reader_bits_left(&reader) % 64 != 0)
        return false;
    const uint8_t *bytes = read_bytes(&reader, (size_t)delta->words * 8);
    unsigned tail = delta->bits % 64;
    return bytes && !(tail && load_word(bytes + (delta->words - 1) * 8) >> tail);
}

bool bloom_is_sound_delta(uint64_t bits, struct bit_reader reader)
{
    struct bloom_delta delta;
    if (!open_delta(&delta, bits, reader))
        return false;
    return delta.form == RAW_WORDS ? words_are_sound(&delta) : positions_are_sound(delta.bits, delta.reader);
}

static bool is_sound_delta(const roost_filter *filter, struct bit_reader reader)
{
    return bloom_is_sound_delta(as_const_bloom(filter)->geometry.bits, reader);
}

static void take_positions(struct bloom *bloom, bool *changed, struct bloom_delta *delta)
{
    uint64_t set = read_varint(&delta->reader), next = delta->first * 64;
    unsigned parameter = rice_parameter(delta->bits, set);
    for (uint64_t i = 0; i < set; i++, next++) {
        next += read_rice(&delta->reader, parameter);
        take_bit(bloom, changed, next);
    }
}

/* Some words of a range, up to the end of a chunk at most. */
static size_t copy_words(const struct bloom_delta *delta, const uint8_t *bytes, uint64_t at,
                         uint64_t words[CHUNK_WORDS])
{
    uint64_t place = delta->first + at, left = delta->words - at, some = CHUNK_WORDS - place % CHUNK_WORDS;
    some = some < left ? some : left;
    for (uint64_t i = 0; i < some; i++)
        words[i] = load_word(bytes + (at + i) * 8);
    return (size_t)some;
}

/* How many bits of a range of words are not set here yet. */
static uint64_t count_unseen(const struct bloom *bloom, const struct bloom_delta *delta, const uint8_t *bytes)
{
    const uint64_t *here = words_of(bloom) + delta->first;
    uint64_t unseen = 0;
    for (uint64_t i = 0; i < delta->words; i++)
        unseen += count_ones(load_word(bytes + i * 8) & ~here[i]);
    return unseen;
}

/* More changes than the journal has room for are not recorded at all: it forgets everything instead. */
static void take_words(struct bloom *bloom, bool *changed, struct bloom_delta *delta)
{
    const struct bloom_kernel *kernel = bloom_kernel_in_use();
    const uint8_t *bytes = read_bytes(&delta->reader, (size_t)delta->words * 8);
    struct journal *journal = bloom->base.journal;
    uint64_t buffer[CHUNK_WORDS], unseen = journal_is_on(journal) ? count_unseen(bloom, delta, bytes) : 0;
    bool noted = unseen > 0 && journal_takes(journal, unseen);
    size_t some;
    for (uint64_t at = 0; at < delta->words; at += some) {
        size_t place = (size_t)(delta->first + at);
        some = copy_words(delta, bytes, at, buffer);
        if (noted)
            note_unseen(bloom, buffer, place, some);
        bool grew = kernel->merge(words_of(bloom) + place, buffer, some);
        bloom->stale[place / CHUNK_WORDS] |= grew;
        *changed |= grew;
    }
    if (unseen > 0 && !noted)
        journal_forget(journal);
}

static void take_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    struct bloom_delta delta;
    struct bloom *bloom = as_bloom(filter);
    open_delta(&delta, bloom->geometry.bits, *reader);
    if (delta.form == RAW_WORDS)
        take_words(bloom, changed, &delta);
    else
        take_positions(bloom, changed, &delta);
}

/* Twice through the bytes: once to see that they are right, once to do what they say. */
roost_status bloom_prepare_delta(roost_filter *filter, struct prepared_delta *prepared, struct bit_reader reader)
{
    *prepared = (struct prepared_delta){.ready = is_sound_delta(filter, reader), .reader = reader};
    return prepared->ready ? ROOST_OK : ROOST_CORRUPT;
}

void bloom_commit_delta(roost_filter *filter, bool *changed, struct prepared_delta *prepared)
{
    take_delta(filter, changed, &prepared->reader);
}

roost_status bloom_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    *changed = false;
    if (!is_sound_delta(filter, *reader))
        return ROOST_CORRUPT;
    take_delta(filter, changed, reader);
    return ROOST_OK;
}

/* ---- a state as many deltas -------------------------------------------------------------------------------------- */

static void write_word_range(const struct bloom *bloom, struct bit_writer *writer, size_t first, size_t words,
                             uint64_t set)
{
    uint64_t left = bloom->geometry.bits - first * 64, bits = words * 64 < left ? words * 64 : left, next = 0;
    unsigned parameter = rice_parameter(bits, set);
    bool raw = set * (parameter + 2) >= bits;
    write_byte(writer, WORD_RANGE);
    write_varint(writer, first);
    write_varint(writer, words);
    write_byte(writer, raw ? RAW_WORDS : RICE_POSITIONS);
    for (size_t i = 0; raw && i < words; i++)
        write_fixed64(writer, words_of(bloom)[first + i]);
    if (!raw)
        write_varint(writer, set);
    for (size_t i = 0; !raw && i < words; i++) {
        if (!is_used(bloom, (first + i) / CHUNK_WORDS)) {
            i += CHUNK_WORDS - 1; /* a range begins with a chunk */
            continue;
        }
        for (uint64_t word = words_of(bloom)[first + i]; word; word &= word - 1) {
            uint64_t position = i * 64 + lowest_bit(word);
            write_rice(writer, position - next, parameter);
            next = position + 1;
        }
    }
    write_alignment(writer);
}

/* A range with few bits may be long. */
roost_status bloom_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                       struct delta_sink *sink)
{
    const struct bloom *bloom = as_const_bloom(filter);
    roost_status status = ROOST_OK;
    (void)known;
    for (size_t chunk = 0; chunk < bloom->chunks && status == ROOST_OK;) {
        struct bit_writer writer;
        size_t first = chunk * CHUNK_WORDS, words = 0;
        uint64_t set = 0, more;
        do {
            more = ones_in_chunk(bloom, chunk);
            if (words > 0 && (words + CHUNK_WORDS) * 8 > bytes && (set + more) * BYTES_A_PLACE > bytes)
                break;
            words += words_in_chunk(bloom, chunk++);
            set += more;
        } while (chunk < bloom->chunks);
        if (set == 0)
            continue; /* nothing so far, and the next chunk is full enough for a delta of its own */
        bit_writer_init(&writer, filter->environment.allocator);
        write_word_range(bloom, &writer, first, words, set);
        status = writer.failed ? ROOST_NO_MEMORY : sink->take(sink, &writer);
        bit_writer_release(&writer);
    }
    return status;
}

/* ---- without cursors --------------------------------------------------------------------------------------------- */

roost_status bloom_summarize(const roost_filter *filter, struct summary *summary, const struct causal_context *space)
{
    const struct bloom *bloom = as_const_bloom(filter);
    (void)space;
    if (!summary_of_bits(summary, 1, bloom->geometry.bits, filter->config->seed, &filter->environment.allocator))
        return ROOST_NO_MEMORY;
    summary->word_ranges[summary->word_range_count++] = (struct word_range){0, bloom->geometry.bits, words_of(bloom)};
    return ROOST_OK;
}

roost_status bloom_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                     const uint64_t *positions, uint64_t count)
{
    (void)space;
    if (count > 0 && positions[count - 1] >= as_bloom(filter)->geometry.bits)
        return ROOST_CORRUPT;
    for (uint64_t i = 0; i < count; i++)
        take_bit(as_bloom(filter), changed, positions[i]);
    return ROOST_OK;
}

/* ---- journal ----------------------------------------------------------------------------------------------------- */

bool bloom_is_change(const roost_filter *filter, uint8_t table, struct change change)
{
    (void)table;
    return change.tag != 0 || change.key < as_const_bloom(filter)->geometry.bits;
}
