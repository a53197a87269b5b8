/*
 * An observed-remove filter as bytes, whole or in part. docs/format.md is the specification.
 *
 *     dots         a causal context: for a state all dots that were ever seen, for a delta those that changed
 *     live         how many of them are entries; the others were removed
 *     hinted       how many of those removed are sent with their class (a delta; 0 in a state)
 *     positions    which of the dots are live, then which of the others are hinted: by rank in the causal context
 *     classes      of the live ones, then of the hinted ones, in the order of their ranks
 *
 * Entries are sorted by dot and not by class, as the grow-only cuckoo filter sorts them. Either order saves the same
 * bits, those of one sorted column. But dots come in runs: where nothing was removed, naming them costs nothing; a
 * frame cannot name one twice, nor one that its causal context lacks, nor one both live and dead, so there is no need
 * to look for such frames; and reading needs no sorting.
 *
 * A set of ranks is coded by the gaps between its members, or by those between the others, whichever are fewer. How
 * classes are coded is up to the kind.
 *
 * A removal is complete without its class: the reader then searches the table for the dot. With the class it is found
 * at once, and the time of merging a delta follows the delta and not the table.
 */
#include "rank_map.h"

/* ---- sets of ranks ----------------------------------------------------------------------------------------------- */

static void write_ranks(struct bit_writer *writer, const struct members *members, uint64_t universe)
{
    const uint64_t count = members->count;
    bool others = count > universe - count;
    unsigned parameter = rice_parameter(universe, others ? universe - count : count);
    uint64_t next = 0, last = 0, place = 0;
    for (uint64_t i = 0; i < count && count < universe; i++) {
        uint64_t rank = next_member(members, &place).key;
        for (; others && next < rank; next++, last = next)
            write_rice(writer, next - last, parameter);
        if (!others)
            write_rice(writer, rank - next, parameter);
        next = rank + 1;
    }
    for (; others && count < universe && next < universe; next++, last = next)
        write_rice(writer, next - last, parameter);
}

struct rank_reader {
    struct bit_reader *reader;
    unsigned parameter;
    bool others;      /* the members are those that are not named */
    uint64_t named;   /* how many are still to be read */
    uint64_t next;    /* the smallest that can be a member */
    uint64_t skipped; /* the next that is not a member; or the universe */
    uint64_t from;    /* where the next gap starts */
    uint64_t universe;
};

static uint64_t read_named(struct rank_reader *ranks)
{
    uint64_t gap = read_rice(ranks->reader, ranks->parameter);
    if (ranks->reader->failed || gap >= ranks->universe - ranks->from) {
        ranks->reader->failed = true;
        return ranks->universe;
    }
    ranks->named--;
    ranks->from += gap + 1;
    return ranks->from - 1;
}

static void read_skipped(struct rank_reader *ranks)
{
    ranks->skipped = ranks->named ? read_named(ranks) : ranks->universe;
}

static struct rank_reader rank_reader_for(struct bit_reader *reader, uint64_t count, uint64_t universe)
{
    bool others = count > universe - count;
    uint64_t named = others ? universe - count : count;
    struct rank_reader ranks = {.reader = reader,
                                .parameter = rice_parameter(universe, named),
                                .others = others,
                                .named = named,
                                .universe = universe};
    if (others)
        read_skipped(&ranks);
    return ranks;
}

/* The next member; there must be one, or the reader fails. */
static inline uint64_t next_rank(struct rank_reader *ranks)
{
    if (!ranks->others)
        return read_named(ranks);
    while (ranks->next == ranks->skipped && !ranks->reader->failed) {
        ranks->next++;
        read_skipped(ranks);
    }
    return ranks->next++;
}

/* Skips what is named behind the last member; to be called before anything else is read. */
static void finish_ranks(struct rank_reader *ranks)
{
    while (ranks->others && ranks->named && !ranks->reader->failed)
        read_skipped(ranks);
}

/* ---- writing a delta --------------------------------------------------------------------------------------------- */

/* `live`: ranks and class keys; `hinted`: ranks among those that are not live, and class keys. */
static roost_status write_delta_body(const struct observed *filter, struct bit_writer *writer,
                                     const struct causal_context *causal, const struct members *live,
                                     const struct members *hinted)
{
    struct bit_writer ranks;
    bit_writer_init(&ranks, writer->buffer.allocator);
    write_ranks(&ranks, live, causal->dots);
    write_ranks(&ranks, hinted, causal->dots - live->count);
    write_alignment(&ranks);
    causal_write(causal, writer);
    write_varint(writer, live->count);
    write_varint(writer, hinted->count);
    write_varint(writer, ranks.buffer.size);
    write_bytes(writer, ranks.buffer.data, ranks.buffer.size);
    filter->store->write_classes(filter, writer, live);
    filter->store->write_classes(filter, writer, hinted);
    write_alignment(writer);
    bool failed = ranks.failed || writer->failed;
    bit_writer_release(&ranks);
    return failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static unsigned rank_bits(const struct causal_context *causal)
{
    return causal->dots ? highest_bit(causal->dots) + 1 : 1;
}

/* ---- the state --------------------------------------------------------------------------------------------------- */

struct gather {
    struct rank_map map;
    struct sort_pair *row;
    uint64_t *by_rank;
    uint64_t count;
};

/* Without a branch: those that have no rank are overwritten by the next. */
static void gather_in_row(void *context, struct entry entry)
{
    struct gather *gather = context;
    uint64_t rank = rank_of(&gather->map, entry);
    gather->row[gather->count] = (struct sort_pair){rank, entry.key};
    gather->count += rank != NO_RANK;
}

static void gather_by_rank(void *context, struct entry entry)
{
    struct gather *gather = context;
    uint64_t rank = rank_of(&gather->map, entry);
    if (rank == NO_RANK)
        return;
    gather->by_rank[rank] = entry.key;
    gather->count++;
}

static inline bool has_rank(const void *context, uint64_t rank)
{
    (void)context;
    return rank != NO_RANK;
}

#define FEW_OF 8

static void gather_members(const struct observed *filter, struct gather *gather, const struct causal_context *dots,
                           struct sort_pair *scratch)
{
    if (gather->by_rank && dots->dots < filter->store->count(filter) / FEW_OF) {
        visit_wanted(filter, &gather->map, has_rank, NULL, gather_by_rank, gather);
    } else if (gather->by_rank) {
        visit_entries(filter, gather_by_rank, gather);
    } else {
        visit_entries(filter, gather_in_row, gather);
        sort_pairs(gather->row, scratch, gather->count, rank_bits(dots));
    }
}

/* What the filter holds of these dots, all of which it has seen. Where most of them are live there is nothing to sort.
 */
roost_status observed_write_dots(const roost_filter *base, struct bit_writer *writer, const struct causal_context *dots)
{
    const struct observed *filter = as_const_observed(base);
    const roost_allocator *allocator = &base->environment.allocator;
    uint64_t entries = filter->store->count(filter);
    bool dense = dots->dots <= 4 * entries;
    size_t bytes = dense ? (dots->dots + 1) * sizeof(uint64_t) : 2 * (entries + 1) * sizeof(struct sort_pair);
    void *memory = memory_allocate_large(allocator, bytes);
    struct gather gather = {.row = dense ? NULL : memory, .by_rank = dense ? memory : NULL};
    roost_status status = ROOST_NO_MEMORY;
    if (memory && rank_map_init(&gather.map, filter, dots)) {
        gather_members(filter, &gather, dots, dense ? NULL : gather.row + entries + 1);
        struct members live = {gather.row, gather.by_rank, gather.count}, none = {0};
        status = write_delta_body(filter, writer, dots, &live, &none);
        rank_map_release(&gather.map);
    }
    memory_release(allocator, memory);
    return status;
}

roost_status observed_write_state(const roost_filter *base, struct bit_writer *writer)
{
    return observed_write_dots(base, writer, &as_const_observed(base)->causal);
}

/* ---- a state as many deltas -------------------------------------------------------------------------------------- */

/* A state that is being cut: the dots that are cut, and what the filter holds of them, by rank. */
struct cutting {
    const struct observed *filter;
    struct causal_context dots;
    uint64_t *before;
    struct gather gather;
    uint64_t next; /* of the row: the first that was not cut yet */
    uint64_t most_live;
    size_t most_runs;
};

/* Where a slice from `from` on ends: it holds at most so many live dots, in at most so many runs. */
static uint64_t end_of_slice(const struct cutting *cutting, uint64_t from)
{
    size_t run = causal_run_of_rank(&cutting->dots, cutting->before, from) + cutting->most_runs;
    uint64_t end = run < cutting->dots.count ? cutting->before[run] : cutting->dots.dots, to = from, live = 0;
    if (cutting->gather.row) {
        uint64_t beyond = cutting->next + cutting->most_live;
        return beyond < cutting->gather.count && cutting->gather.row[beyond].key < end ? cutting->gather.row[beyond].key
                                                                                       : end;
    }
    while (to < end && live < cutting->most_live)
        live += cutting->gather.by_rank[to++] != 0;
    return to;
}

/* Ranks in the slice count from its beginning. */
static struct members members_of_slice(struct cutting *cutting, uint64_t from, uint64_t to)
{
    struct members live = {0};
    if (!cutting->gather.row) {
        live.by_rank = cutting->gather.by_rank + from;
        for (uint64_t rank = from; rank < to; rank++)
            live.count += cutting->gather.by_rank[rank] != 0;
        return live;
    }
    live.row = cutting->gather.row + cutting->next;
    for (; cutting->next < cutting->gather.count && cutting->gather.row[cutting->next].key < to; cutting->next++) {
        cutting->gather.row[cutting->next].key -= from;
        live.count++;
    }
    return live;
}

static bool dots_of_slice(const struct cutting *cutting, struct causal_context *dots, uint64_t from, uint64_t to)
{
    const roost_allocator *allocator = &cutting->filter->base.environment.allocator;
    *dots = (struct causal_context){0};
    for (size_t run = causal_run_of_rank(&cutting->dots, cutting->before, from);
         run < cutting->dots.count && cutting->before[run] < to; run++) {
        struct dot_run slice = cutting->dots.runs[run];
        if (cutting->before[run + 1] > to)
            slice.last = slice.first + (uint32_t)(to - 1 - cutting->before[run]);
        if (cutting->before[run] < from)
            slice.first += (uint32_t)(from - cutting->before[run]);
        if (!causal_add(dots, allocator, slice)) {
            causal_release(dots, allocator);
            return false;
        }
    }
    return true;
}

static roost_status cut_slice(struct cutting *cutting, uint64_t from, uint64_t to, struct delta_sink *sink)
{
    const roost_allocator *allocator = &cutting->filter->base.environment.allocator;
    struct members live = members_of_slice(cutting, from, to), none = {0};
    struct bit_writer writer;
    struct causal_context dots;
    if (!dots_of_slice(cutting, &dots, from, to))
        return ROOST_NO_MEMORY;
    bit_writer_init(&writer, *allocator);
    roost_status status = write_delta_body(cutting->filter, &writer, &dots, &live, &none);
    if (status == ROOST_OK)
        status = sink->take(sink, &writer);
    bit_writer_release(&writer);
    causal_release(&dots, allocator);
    return status;
}

static roost_status cut_all(struct cutting *cutting, struct delta_sink *sink)
{
    roost_status status = ROOST_OK;
    for (uint64_t from = 0, to; from < cutting->dots.dots && status == ROOST_OK; from = to) {
        to = end_of_slice(cutting, from);
        status = cut_slice(cutting, from, to, sink);
    }
    return status;
}

/* Everything that a cutting needs; what it got is released by the caller in either case. */
static bool cutting_begin(struct cutting *cutting, const struct causal_context *known)
{
    const struct observed *filter = cutting->filter;
    const roost_allocator *allocator = &filter->base.environment.allocator;
    const struct causal_context nothing = {0};
    uint64_t entries = filter->store->count(filter);
    if (!causal_difference(&cutting->dots, &filter->causal, known ? known : &nothing, allocator))
        return false;
    bool dense = cutting->dots.dots <= 4 * entries;
    if (dense)
        cutting->gather.by_rank = memory_allocate(allocator, (cutting->dots.dots + 1) * sizeof(uint64_t));
    else
        cutting->gather.row = memory_allocate(allocator, 2 * (entries + 1) * sizeof(struct sort_pair));
    cutting->before = memory_allocate(allocator, (cutting->dots.count + 1) * sizeof *cutting->before);
    if (!(dense ? (void *)cutting->gather.by_rank : cutting->gather.row) || !cutting->before ||
        !rank_map_init(&cutting->gather.map, filter, &cutting->dots))
        return false;
    causal_ranks(&cutting->dots, cutting->before);
    gather_members(filter, &cutting->gather, &cutting->dots, dense ? NULL : cutting->gather.row + entries + 1);
    rank_map_release(&cutting->gather.map);
    return true;
}

static void cutting_end(struct cutting *cutting)
{
    const roost_allocator *allocator = &cutting->filter->base.environment.allocator;
    causal_release(&cutting->dots, allocator);
    memory_release(allocator, cutting->before);
    memory_release(allocator, cutting->gather.by_rank);
    memory_release(allocator, cutting->gather.row);
}

/* Slices of the causal context. Of the dots that are known already only those that were removed matter: whether
   there are any can be counted, but only a sweep of the receiver's table finds the entries. */
roost_status observed_cut(const roost_filter *base, const struct causal_context *known, size_t bytes,
                          struct delta_sink *sink)
{
    const struct observed *filter = as_const_observed(base);
    struct cutting cutting = {
        .filter = filter, .most_live = bytes / BYTES_A_PLACE + 1, .most_runs = bytes / BYTES_A_PLACE + 1};
    roost_status status = cutting_begin(&cutting, known) ? cut_all(&cutting, sink) : ROOST_NO_MEMORY;
    uint64_t entries = filter->store->count(filter) - cutting.gather.count;
    if (status == ROOST_OK && filter->causal.dots - cutting.dots.dots > entries)
        sink->removals = true;
    cutting_end(&cutting);
    return status;
}

/* ---- writing what changed ---------------------------------------------------------------------------------------- */

#define DEAD_FLAG (UINT64_C(1) << 63)

/* The dots of the selected records. */
static bool changed_dots(const struct observed *filter, struct causal_context *dots, struct selection selection)
{
    const struct journal *journal = filter->base.journal;
    const roost_allocator *allocator = &filter->base.environment.allocator;
    uint64_t count = 0;
    struct dot_run *runs = memory_allocate(allocator, (count_selected(journal, selection) + 1) * sizeof *runs);
    if (!runs)
        return false;
    for (uint64_t record; next_selected(journal, &selection, &record);)
        if (is_noted_here(&filter->base, record))
            runs[count++] = run_of_change(filter, *journal_change(journal, record));
    bool added = causal_add_many(dots, allocator, runs, count);
    memory_release(allocator, runs);
    return added;
}

/*
 * The changes that name a class, by rank: those of all records from the first on, selected or not. A delta carries the
 * present state of each of its dots. Otherwise a run would declare those of its dots dead whose additions are left out,
 * and an addition would be sent as live whose removal is left out.
 */
static uint64_t gather_changes(const struct observed *filter, struct sort_pair *pairs,
                               const struct causal_context *dots, const uint64_t *before,
                               const struct selection *selection)
{
    const struct journal *journal = filter->base.journal;
    uint64_t count = 0;
    for (uint64_t i = selection->since; i < journal->next; i++) {
        struct change change = *journal_change(journal, i);
        enum change_kind kind = change_kind_of(change);
        if (kind == CHANGE_RUN || !is_noted_here(&filter->base, i))
            continue;
        uint64_t actor = filter->actors.list[change.tag >> 32].id;
        if (selection->count > 0 && !causal_contains(dots, actor, (uint32_t)change.tag))
            continue;
        pairs[count++] = (struct sort_pair){causal_rank(dots, before, actor, (uint32_t)change.tag),
                                            change_key(change) | (kind == CHANGE_DEAD ? DEAD_FLAG : 0)};
    }
    return count;
}

/* Sorted changes become two lists, both in place: the live ones to the front of `pairs`, the others to `hinted`. */
static void split_changes(struct sort_pair *pairs, uint64_t count, struct sort_pair *hinted, uint64_t *live_count,
                          uint64_t *hinted_count)
{
    *live_count = *hinted_count = 0;
    for (uint64_t i = 0, next; i < count; i = next) {
        uint64_t rank = pairs[i].key, dead = 0;
        for (next = i; next < count && pairs[next].key == rank; next++)
            dead |= pairs[next].value & DEAD_FLAG;
        uint64_t key = pairs[i].value & ~DEAD_FLAG;
        if (dead)
            hinted[(*hinted_count)++] = (struct sort_pair){rank - *live_count, key};
        else
            pairs[(*live_count)++] = (struct sort_pair){rank, key};
    }
}

roost_status observed_write_delta(const roost_filter *base, struct bit_writer *writer, struct selection selection)
{
    const struct observed *filter = as_const_observed(base);
    const roost_allocator *allocator = &base->environment.allocator;
    uint64_t most = base->journal->next - selection.since, live, hinted;
    struct causal_context dots = {0};
    uint64_t *before = NULL;
    struct sort_pair *pairs = memory_allocate(allocator, 2 * (most + 1) * sizeof *pairs);
    roost_status status = ROOST_NO_MEMORY;
    if (pairs && changed_dots(filter, &dots, selection))
        before = memory_allocate(allocator, (dots.count + 1) * sizeof *before);
    if (before) {
        causal_ranks(&dots, before);
        uint64_t count = gather_changes(filter, pairs, &dots, before, &selection);
        sort_pairs(pairs, pairs + most + 1, count, rank_bits(&dots));
        split_changes(pairs, count, pairs + most + 1, &live, &hinted);
        struct members live_ones = {.row = pairs, .count = live},
                       hinted_ones = {.row = pairs + most + 1, .count = hinted};
        status = write_delta_body(filter, writer, &dots, &live_ones, &hinted_ones);
    }
    causal_release(&dots, allocator);
    memory_release(allocator, before);
    memory_release(allocator, pairs);
    return status;
}

/* ---- reading a delta --------------------------------------------------------------------------------------------- */

/* Two readers, one in the ranks, one in the classes. Every dot that is handed out is in the causal context, once. */
struct delta_reader {
    const struct observed *filter;
    struct causal_context causal;
    uint64_t live, hinted;       /* counts */
    struct bit_reader positions; /* the bytes of the ranks, and nothing else */
    struct class_reader classes;
    struct bit_reader start_of_positions, start_of_classes;
    struct rank_reader ranks;
    uint64_t rank_base; /* where the run that the last dot was in begins */
    size_t run;
};

static void delta_close(struct delta_reader *delta, const roost_allocator *allocator)
{
    causal_release(&delta->causal, allocator);
}

/* Back to the first live one. */
static void delta_rewind(struct delta_reader *delta)
{
    delta->positions = delta->start_of_positions;
    delta->classes = (struct class_reader){.bits = delta->start_of_classes};
    delta->run = 0;
    delta->rank_base = 0;
    delta->ranks = rank_reader_for(&delta->positions, delta->live, delta->causal.dots);
}

/* In a series the lowest bits of an actor are the number of its table. */
static bool names_table(const struct causal_context *causal, const struct roost_filter *filter)
{
    bool names = true;
    for (size_t i = 0; i < causal->count && filter->in_series; i++)
        names &= (causal->runs[i].actor & (MOST_TABLES - 1)) == filter->table;
    return names;
}

static roost_status delta_open(struct delta_reader *delta, const struct observed *filter, struct bit_reader *reader)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    *delta = (struct delta_reader){.filter = filter};
    switch (causal_read(&delta->causal, reader, filter->most_counter, MOST_ACTORS, allocator)) {
    case CAUSAL_READ:
        break;
    case CAUSAL_TOO_MANY:
        return ROOST_TOO_LARGE;
    case CAUSAL_NO_MEMORY:
        return ROOST_NO_MEMORY;
    default:
        return ROOST_CORRUPT;
    }
    delta->live = read_varint(reader);
    delta->hinted = read_varint(reader);
    uint64_t size = read_varint(reader);
    reader->failed |= !names_table(&delta->causal, &filter->base);
    bool counts_fit = delta->live <= delta->causal.dots && delta->hinted <= delta->causal.dots - delta->live;
    const uint8_t *bytes = counts_fit && size <= reader_bits_left(reader) / 8 ? read_bytes(reader, (size_t)size) : NULL;
    uint64_t left = reader_bits_left(reader), width = filter->store->fewest_bits(filter);
    if ((!bytes && size > 0) || reader->failed || delta->live > left / width || delta->hinted > left / width) {
        delta_close(delta, allocator);
        return ROOST_CORRUPT;
    }
    delta->start_of_positions = bit_reader_over(bytes, (size_t)size);
    delta->start_of_classes = *reader;
    delta_rewind(delta);
    return ROOST_OK;
}

struct delta_item {
    uint64_t actor;
    uint32_t counter;
    uint64_t key;
};

/* The dot of a rank; ranks come in ascending order. */
static void name_dot(struct delta_reader *delta, uint64_t rank, struct delta_item *item)
{
    const struct dot_run *runs = delta->causal.runs;
    while (rank - delta->rank_base > runs[delta->run].last - runs[delta->run].first)
        delta->rank_base += (uint64_t)runs[delta->run].last - runs[delta->run].first + 1, delta->run++;
    item->actor = runs[delta->run].actor;
    item->counter = runs[delta->run].first + (uint32_t)(rank - delta->rank_base);
}

static bool read_item_class(struct delta_reader *delta, struct delta_item *item)
{
    return delta->filter->store->read_class(delta->filter, &delta->classes, &item->key);
}

/* One list of classes has been read; the next one begins. */
static void end_classes(struct delta_reader *delta)
{
    delta->classes.bits.failed |= delta->classes.run != 0;
    delta->classes = (struct class_reader){.bits = delta->classes.bits};
}

/* False when the bytes are wrong. To be called for each of the live ones. */
static inline bool next_live(struct delta_reader *delta, struct delta_item *item)
{
    uint64_t rank = next_rank(&delta->ranks);
    if (delta->positions.failed)
        return false;
    name_dot(delta, rank, item);
    return read_item_class(delta, item);
}

/*
 * The hinted ones are named by their rank among the dots that are not live, so that another reader goes along the live
 * ones. `hints` is ready once all live ones were read by next_live.
 */
struct hint_reader {
    struct bit_reader positions; /* along the live ones again */
    struct rank_reader live, hints;
    uint64_t live_left, next_live;
    uint64_t rank, others; /* so many others come before this rank */
};

static void step_live(struct hint_reader *hints)
{
    hints->next_live = hints->live_left ? next_rank(&hints->live) : UINT64_MAX;
    hints->live_left -= hints->live_left > 0;
}

static void hints_begin(struct hint_reader *hints, struct delta_reader *delta)
{
    *hints = (struct hint_reader){.positions = delta->start_of_positions, .live_left = delta->live};
    hints->live = rank_reader_for(&hints->positions, delta->live, delta->causal.dots);
    finish_ranks(&delta->ranks);
    hints->hints = rank_reader_for(&delta->positions, delta->hinted, delta->causal.dots - delta->live);
    delta->run = 0;
    delta->rank_base = 0;
    end_classes(delta);
    step_live(hints);
}

static bool next_hint(struct hint_reader *hints, struct delta_reader *delta, struct delta_item *item)
{
    uint64_t wanted = next_rank(&hints->hints);
    if (delta->positions.failed)
        return false;
    /* Skip whole intervals between live ones. */
    while (hints->others + (hints->next_live - hints->rank) <= wanted && hints->next_live != UINT64_MAX) {
        hints->others += hints->next_live - hints->rank;
        hints->rank = hints->next_live + 1;
        step_live(hints);
    }
    uint64_t rank = hints->rank + (wanted - hints->others);
    name_dot(delta, rank, item);
    return read_item_class(delta, item);
}

/* Nothing may be left over, in either place. */
static bool delta_ends(struct delta_reader *delta, struct bit_reader *reader)
{
    finish_ranks(&delta->ranks);
    read_alignment(&delta->positions);
    end_classes(delta);
    read_alignment(&delta->classes.bits);
    *reader = delta->classes.bits;
    return !delta->positions.failed && !reader->failed && reader_bits_left(&delta->positions) == 0;
}

/* ---- reading a state --------------------------------------------------------------------------------------------- */

/* Reads so many and takes them in. */
static roost_status take_live(struct observed *filter, struct delta_reader *delta, size_t count)
{
    struct entry entries[ENTRIES_AT_ONCE];
    struct delta_item item;
    uint64_t actor = 0;
    uint32_t number = NO_ACTOR;
    for (size_t i = 0; i < count; i++) {
        if (!next_live(delta, &item))
            return ROOST_CORRUPT;
        if (item.actor != actor) {
            actor = item.actor;
            number = actors_find(&filter->actors, actor);
        }
        entries[i] = (struct entry){number, item.counter, item.key};
    }
    return filter->store->take(filter, entries, count);
}

/* Into an empty filter, which is of no use when this fails. A class takes a byte at least, whatever the frame says. */
static roost_status fill(struct observed *filter, struct delta_reader *delta)
{
    uint64_t most = reader_bits_left(&delta->classes.bits) / 8;
    roost_status status = number_actors(filter, &delta->causal);
    filter->store->make_room(filter, delta->live < most ? delta->live : most);
    for (uint64_t left = delta->live; left > 0 && status == ROOST_OK;) {
        size_t row = left < ENTRIES_AT_ONCE ? (size_t)left : ENTRIES_AT_ONCE;
        status = take_live(filter, delta, row);
        left -= row;
    }
    if (status == ROOST_OK) {
        filter->causal = delta->causal;
        delta->causal = (struct causal_context){0};
    }
    return status;
}

roost_status observed_read_state(roost_filter *base, struct bit_reader *reader)
{
    struct observed *filter = as_observed(base);
    struct delta_reader delta;
    roost_status status = delta_open(&delta, filter, reader);
    if (status != ROOST_OK)
        return status;
    status = delta.hinted ? ROOST_CORRUPT : fill(filter, &delta);
    if (status == ROOST_OK && !delta_ends(&delta, reader))
        status = ROOST_CORRUPT;
    if (status == ROOST_OK && !has_memory_for(filter, 0))
        status = ROOST_TOO_LARGE;
    delta_close(&delta, &base->environment.allocator);
    return status;
}

/* ---- merging a delta --------------------------------------------------------------------------------------------- */

/* All of it, before anything is done. */
static bool delta_is_sound(struct delta_reader *delta, struct bit_reader *reader)
{
    struct delta_item item;
    struct hint_reader hints;
    for (uint64_t i = 0; i < delta->live; i++)
        if (!next_live(delta, &item))
            return false;
    hints_begin(&hints, delta);
    for (uint64_t i = 0; i < delta->hinted; i++)
        if (!next_hint(&hints, delta, &item))
            return false;
    finish_ranks(&hints.hints);
    return delta_ends(delta, reader) && reader_bits_left(reader) == 0;
}

/* By way of a filter that holds the delta: time that follows the table, for deltas that are large or lack classes. */
static roost_status merge_slowly(struct observed *filter, bool *changed, struct delta_reader *delta)
{
    roost_filter *other;
    roost_status status = filter->store->open_alike(&other, filter);
    if (status != ROOST_OK)
        return status;
    delta_rewind(delta);
    status = fill(as_observed(other), delta);
    if (status == ROOST_OK)
        status = filter->base.kind->lattice.merge(&filter->base, changed, other);
    other->kind->lifecycle.close(other);
    return status;
}

/* Removals without a class must be searched for, unless their dots are new. */
static bool needs_search(const struct observed *filter, const struct delta_reader *delta)
{
    return delta->live + delta->hinted < delta->causal.dots && causal_overlaps(&delta->causal, &filter->causal);
}

/* Whether the time of a whole merge is no more than a few times that of the delta. */
static bool is_large(const struct observed *filter, const struct delta_reader *delta)
{
    return delta->live + delta->hinted > 1024 + filter->store->count(filter) / 16;
}

static void apply_hints(struct observed *filter, bool *changed, struct delta_reader *delta)
{
    struct hint_reader hints;
    struct delta_item item;
    delta_rewind(delta);
    for (uint64_t i = 0; i < delta->live; i++)
        next_live(delta, &item);
    hints_begin(&hints, delta);
    for (uint64_t i = 0; i < delta->hinted; i++) {
        next_hint(&hints, delta, &item);
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the delta was read to its end before, so there is an item
        struct entry entry = {actors_find(&filter->actors, item.actor), item.counter, item.key};
        bool unseen = !causal_contains(&filter->causal, item.actor, item.counter);
        if (unseen) { /* it entered, and was dead: two notes */
            note_change(filter, CHANGE_RUN, entry.counter, entry.number, entry.counter);
            note_change(filter, CHANGE_DEAD, entry.key, entry.number, entry.counter);
        }
        *changed |= unseen || filter->store->drop(filter, entry);
    }
}

/* The next live ones that are unseen, ENTRIES_AT_ONCE at most; `left` counts those that are still to be read. */
static size_t next_unseen(const struct observed *filter, struct delta_reader *delta, uint64_t *left,
                          struct entry *entries)
{
    struct delta_item item;
    size_t count = 0;
    for (; *left > 0 && count < ENTRIES_AT_ONCE; --*left) {
        next_live(delta, &item);
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): as above
        if (!causal_contains(&filter->causal, item.actor, item.counter))
            entries[count++] = (struct entry){actors_find(&filter->actors, item.actor), item.counter, item.key};
    }
    return count;
}

static void apply_live(struct observed *filter, bool *changed, struct delta_reader *delta)
{
    struct entry entries[ENTRIES_AT_ONCE];
    uint64_t left = delta->live;
    delta_rewind(delta);
    for (size_t count; (count = next_unseen(filter, delta, &left, entries)) > 0;) {
        roost_status status = filter->store->take(filter, entries, count);
        (void)status; /* reserved */
        for (size_t i = 0; i < count; i++)
            note_change(filter, CHANGE_LIVE, entries[i].key, entries[i].number, entries[i].counter);
        *changed = true;
    }
    filter->store->release_reserve(filter);
}

/* Few runs are added one by one, each of which may move those behind it; many are added at once. */
#define FEW_RUNS 64

static bool prepare_causal(struct observed *filter, struct causal_context *joined, const struct delta_reader *delta)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    *joined = (struct causal_context){0};
    if (delta->causal.count <= FEW_RUNS)
        return causal_reserve(&filter->causal, allocator, delta->causal.count);
    return causal_union(joined, &filter->causal, &delta->causal, allocator);
}

static void apply_causal(struct observed *filter, bool *changed, const struct delta_reader *delta,
                         struct causal_context *joined)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    uint64_t before = filter->causal.dots;
    if (delta->causal.count <= FEW_RUNS) {
        for (size_t i = 0; i < delta->causal.count; i++)
            causal_add(&filter->causal, allocator, delta->causal.runs[i]);
    } else {
        causal_release(&filter->causal, allocator);
        filter->causal = *joined;
        *joined = (struct causal_context){0};
    }
    *changed |= filter->causal.dots > before;
    filter->run = 0;
    leave_shared_actor(filter);
}

/* At most so many bytes more: lists double, or grow by what is added. */
static uint64_t most_growth(const struct observed *filter, const struct delta_reader *delta)
{
    const struct entry_store *store = filter->store;
    uint64_t runs = delta->causal.count;
    return store->bytes_with(filter, delta->live) - store->bytes(filter) + actors_bytes(&filter->actors) + 64 * runs +
           256 + (filter->causal.room + runs + 4) * sizeof *filter->causal.runs;
}

static bool knows_all_actors(const struct observed *filter, const struct causal_context *causal)
{
    for (size_t i = 0; i < causal->count; i++)
        if (actors_find(&filter->actors, causal->runs[i].actor) == NO_ACTOR)
            return false;
    return true;
}

/* A delta that can be merged without fail, and the actors as they were before, in case it is abandoned. */
struct ready_delta {
    struct delta_reader delta;
    struct causal_context joined;
    struct actors before;
    bool knew_all;
};

static void ready_delta_close(struct observed *filter, struct ready_delta *ready)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    delta_close(&ready->delta, allocator);
    causal_release(&ready->joined, allocator);
    actors_release(&ready->before, allocator);
    filter->store->release_reserve(filter);
}

/* New actors stay only if all of them do: otherwise refused deltas could use up the numbers. */
static roost_status number_all_or_none(struct observed *filter, struct ready_delta *ready)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    ready->knew_all = knows_all_actors(filter, &ready->delta.causal);
    if (ready->knew_all)
        return ROOST_OK;
    if (!actors_copy(&ready->before, &filter->actors, allocator))
        return ROOST_NO_MEMORY;
    roost_status status = number_actors(filter, &ready->delta.causal);
    if (status != ROOST_OK) {
        actors_release(&filter->actors, allocator);
        filter->actors = ready->before;
        ready->before = (struct actors){0};
    }
    return status;
}

static bool own_delta(struct observed *filter, struct delta_reader *delta)
{
    struct hint_reader hints;
    struct delta_item item = {0};
    bool owned = true;
    if (!filter->store->own)
        return true;
    delta_rewind(delta);
    for (uint64_t i = 0; i < delta->live && owned; i++)
        owned = next_live(delta, &item) && own_class(filter, item.key);
    hints_begin(&hints, delta);
    for (uint64_t i = 0; i < delta->hinted && owned; i++)
        owned = next_hint(&hints, delta, &item) && own_class(filter, item.key);
    return owned;
}

/* Does everything that can fail. */
static roost_status ready_delta(struct observed *filter, struct ready_delta *ready)
{
    roost_status status = filter->store->reserve(filter, ready->delta.live);
    if (status == ROOST_OK && !own_delta(filter, &ready->delta))
        status = ROOST_NO_MEMORY;
    if (status == ROOST_OK && !prepare_causal(filter, &ready->joined, &ready->delta))
        status = ROOST_NO_MEMORY;
    return status == ROOST_OK ? number_all_or_none(filter, ready) : status;
}

static void apply_delta(struct observed *filter, bool *changed, struct ready_delta *ready)
{
    struct delta_reader *delta = &ready->delta;
    if (delta->live + delta->hinted < delta->causal.dots) /* all of it is new, see needs_search */
        note_runs(filter, &delta->causal);
    apply_hints(filter, changed, delta);
    apply_live(filter, changed, delta);
    apply_causal(filter, changed, delta, &ready->joined);
}

/* The memory of a copy can be measured before the copy is kept. */
static bool needs_copy(const struct observed *filter, const struct delta_reader *delta)
{
    return is_large(filter, delta) || needs_search(filter, delta) ||
           !has_memory_for(filter, most_growth(filter, delta));
}

/* Reads the delta; ROOST_CORRUPT, ROOST_NO_MEMORY. */
static roost_status open_sound(struct delta_reader *delta, const struct observed *filter, struct bit_reader *reader)
{
    roost_status status = delta_open(delta, filter, reader);
    if (status != ROOST_OK)
        return status;
    if (delta_is_sound(delta, reader))
        return ROOST_OK;
    delta_close(delta, &filter->base.environment.allocator);
    return ROOST_CORRUPT;
}

roost_status observed_prepare_delta(roost_filter *base, struct prepared_delta *prepared, struct bit_reader reader)
{
    struct observed *filter = as_observed(base);
    struct ready_delta *ready = memory_allocate(&base->environment.allocator, sizeof *ready);
    *prepared = (struct prepared_delta){.delta = ready};
    if (!ready)
        return ROOST_NO_MEMORY;
    roost_status status = open_sound(&ready->delta, filter, &reader);
    if (status == ROOST_OK && !needs_copy(filter, &ready->delta)) {
        status = ready_delta(filter, ready);
        prepared->ready = status == ROOST_OK;
    }
    if (!prepared->ready) {
        ready_delta_close(filter, ready);
        memory_release(&base->environment.allocator, ready);
    }
    return status;
}

void observed_commit_delta(roost_filter *base, bool *changed, struct prepared_delta *prepared)
{
    apply_delta(as_observed(base), changed, prepared->delta);
    ready_delta_close(as_observed(base), prepared->delta);
    memory_release(&base->environment.allocator, prepared->delta);
}

void observed_abandon_delta(roost_filter *base, struct prepared_delta *prepared)
{
    struct observed *filter = as_observed(base);
    struct ready_delta *ready = prepared->delta;
    if (!ready->knew_all) {
        actors_release(&filter->actors, &base->environment.allocator);
        filter->actors = ready->before;
        ready->before = (struct actors){0};
    }
    ready_delta_close(filter, ready);
    memory_release(&base->environment.allocator, ready);
}

roost_status observed_merge_delta(roost_filter *base, bool *changed, struct bit_reader *reader)
{
    struct observed *filter = as_observed(base);
    struct ready_delta ready = {0};
    *changed = false;
    roost_status status = open_sound(&ready.delta, filter, reader);
    if (status != ROOST_OK)
        return status;
    if (needs_copy(filter, &ready.delta)) {
        status = merge_slowly(filter, changed, &ready.delta);
    } else {
        status = ready_delta(filter, &ready);
        if (status == ROOST_OK)
            apply_delta(filter, changed, &ready);
    }
    ready_delta_close(filter, &ready);
    return status;
}
