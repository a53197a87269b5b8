/*
 * Counting Bloom filter (CBF): the baseline of the paper on counting cuckoo filters, as it describes it.
 *
 * Fan, Cao, Almeida, Broder: "Summary Cache" (2000); Li, Luo, Guo: "Multiset Synchronization with Counting Cuckoo
 * Filters" (2020), sections 2.2 and 6.1. An element has k of m counters, by double hashing:
  *     cell i = (g1 + i * g2) mod m,  i = 0 .. k - 1        g1 below m, g2 from 1 to m - 1: the halves of the hash
 *
 * An add raises all of them; the count of an element is the least. Counters are packed:
 *
 *     bytes    |  cell 0  |  cell 1  |  cell 2  | ...        c bits each, from bit i * c on; padding for a whole word
 *
 * State. m numbers; merge takes the larger of each, a product of chains. The count of an element is then at least the
 * larger of its counts on both sides.
 *
 * Where we differ. Cells that coincide count once (m need not be prime, so i * g2 can come round). Counters don't wrap:
 * an add that would, changes nothing and answers ROOST_FULL.
 *
 * Differences (section 2.2), in the two ways that the paper names. *By query*: what the other's filter counts of each
 * own element, as in Algorithm 4. *By decoding*: a host subtracts its counters from the other's; what both have
 * cancels. An element whose cells are all above zero is one of which the other has more, by the least of them; if all
 * are below, the other has fewer, or none: these cannot be distinguished, and the element is sent. The first errs
 * where cells are shared at all, the second where differences of both signs meet, the more so the more cells an element
 * has.
 *
 * Worked example, m = 8, k = 2: x has cells 1 and 6, y 6 and 3. add(x, 3), add(y, 2): cells 1: 3, 6: 5, 3: 2. Both
 * counts are right: the least of (3, 5) and of (5, 2).
 */
#include <math.h>
#include <string.h>

#include "count_code.h"
#include "multiset.h"
#include "../base/hash.h"
#include "../bloom/bloom_size.h"

#define MOST_CELLS           (UINT64_C(1) << 48)
#define LN2                  UINT64_C(0xb17217f7d1cf79ac) /* ln 2, in units of 2^-64 */
#define FEWEST_COUNTER_BITS  4
#define MOST_COUNTER_BITS    32
#define DEFAULT_COUNTER_BITS 16
#define PADDING              8

struct counting_bloom {
    struct roost_multiset base;
    struct region cells;
    uint128 sum;      /* of the weights of (cell, counter) where the counter is not 0 */
    uint64_t nonzero; /* counters */
};

static inline struct counting_bloom *as_counting_bloom(roost_multiset *multiset)
{
    return (struct counting_bloom *)multiset;
}

static inline const struct counting_bloom *as_const_counting_bloom(const roost_multiset *multiset)
{
    return (const struct counting_bloom *)multiset;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static bool sizes_are_sound(const roost_multiset_config *config)
{
    return config->cells > 0 && config->cells <= MOST_CELLS && config->probes >= 1 && config->probes <= MOST_PROBES &&
           config->counter_bits >= FEWEST_COUNTER_BITS && config->counter_bits <= MOST_COUNTER_BITS;
}

/* (m / n) ln 2, to the nearest. */
static uint32_t best_probes(const roost_multiset_config *config)
{
    uint128 twice = ((uint128)config->cells * LN2) >> 63;
    uint128 probes = (twice + config->capacity) / ((uint128)config->capacity * 2);
    return probes < 1 ? 1 : probes < MOST_PROBES ? (uint32_t)probes : MOST_PROBES;
}

/* k = (m / n) ln 2; for a rate k = log2(1 / rate), rounded up, and the m that then keeps it, with k^2 + 1 more: the
   formula is a limit for large filters. */
static roost_status counting_bloom_resolve(roost_multiset_config *config)
{
    if (config->fingerprint_bits || config->buckets || (config->cells ? config->fpr != 0 : config->fpr == 0))
        return ROOST_INVALID;
    config->bucket_size = 0;
    config->counter_bits = config->counter_bits ? config->counter_bits : DEFAULT_COUNTER_BITS;
    if (config->cells == 0) {
        uint32_t probes = config->probes ? config->probes : bloom_probes_for(config->fpr);
        if (probes > MOST_PROBES)
            return ROOST_INVALID;
        uint64_t cells = bloom_bits_for(config->capacity, probes, config->fpr);
        if (cells > MOST_CELLS - probes * probes - 1)
            return ROOST_TOO_LARGE;
        config->probes = probes;
        config->cells = cells + probes * probes + 1;
    }
    if (config->probes == 0)
        config->probes = best_probes(config);
    return sizes_are_sound(config) ? ROOST_OK : ROOST_INVALID;
}

static uint64_t cell_bytes(const roost_multiset_config *config)
{
    return (config->cells * config->counter_bits + 7) / 8 + PADDING;
}

static uint64_t own_bytes(const roost_multiset_config *config)
{
    return cell_bytes(config) + CACHE_LINE + sizeof(struct counting_bloom);
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static roost_status read_sizes(struct bit_reader *sizes, roost_multiset_config *config)
{
    config->cells = read_varint(sizes);
    config->probes = read_byte(sizes);
    config->counter_bits = read_byte(sizes);
    bool is_rate = config->fpr >= 0 && config->fpr < 1 && !signbit(config->fpr);
    return sizes->failed || !sizes_are_sound(config) || !is_rate ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status counting_bloom_open(roost_multiset **multiset, const roost_multiset_config *config,
                                        const roost_environment *environment, struct bit_reader *sizes)
{
    roost_multiset_config complete = *config;
    roost_status status = sizes ? read_sizes(sizes, &complete) : ROOST_OK;
    if (status != ROOST_OK)
        return status;
    if (own_bytes(&complete) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct counting_bloom *filter = memory_allocate(&environment->allocator, sizeof *filter);
    if (!filter)
        return ROOST_NO_MEMORY;
    multiset_init_base(&filter->base, &counting_bloom_kind, &complete, environment);
    if (!region_allocate(&filter->cells, &environment->allocator, cell_bytes(&complete))) {
        memory_release(&environment->allocator, filter);
        return ROOST_NO_MEMORY;
    }
    *multiset = &filter->base;
    return ROOST_OK;
}

static void counting_bloom_close(roost_multiset *multiset)
{
    const roost_allocator allocator = multiset->environment.allocator;
    region_release(&as_counting_bloom(multiset)->cells, &allocator);
    memory_release(&allocator, multiset);
}

static roost_status counting_bloom_clone(const roost_multiset *multiset, roost_multiset **copy)
{
    const struct counting_bloom *filter = as_const_counting_bloom(multiset);
    const roost_allocator *allocator = &multiset->environment.allocator;
    struct counting_bloom *twin = memory_allocate(allocator, sizeof *twin);
    if (!twin)
        return ROOST_NO_MEMORY;
    *twin = *filter;
    if (!region_allocate(&twin->cells, allocator, filter->cells.size)) {
        memory_release(allocator, twin);
        return ROOST_NO_MEMORY;
    }
    memcpy(twin->cells.bytes, filter->cells.bytes, filter->cells.size);
    *copy = &twin->base;
    return ROOST_OK;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static inline uint64_t largest_counter(const struct counting_bloom *filter)
{
    return (UINT64_C(1) << filter->base.config.counter_bits) - 1;
}

static inline uint64_t cell_read(const struct counting_bloom *filter, uint64_t cell)
{
    uint64_t bit = cell * filter->base.config.counter_bits;
    return load_word(filter->cells.bytes + bit / 8) >> (bit & 7) & largest_counter(filter);
}

/* Keeps the digest and the number of counters that are not 0. */
static void cell_write(struct counting_bloom *filter, uint64_t cell, uint64_t counter)
{
    uint64_t bit = cell * filter->base.config.counter_bits, before = cell_read(filter, cell);
    uint64_t mask = largest_counter(filter) << (bit & 7), seed = filter->base.config.seed;
    uint8_t *bytes = filter->cells.bytes + bit / 8;
    store_word(bytes, (load_word(bytes) & ~mask) | counter << (bit & 7));
    filter->nonzero += (counter != 0) - (uint64_t)(before != 0);
    filter->sum += counter ? count_weight(seed, cell, counter) : 0;
    filter->sum -= before ? count_weight(seed, cell, before) : 0;
}

/* The cells of an element, each once; returns how many. */
static uint32_t cells_of(const struct counting_bloom *filter, roost_hash hash, uint64_t cells[MOST_PROBES])
{
    const uint64_t m = filter->base.config.cells;
    uint64_t cell = scale_to_range(hash.low, m), step = m > 1 ? 1 + scale_to_range(hash.high, m - 1) : 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < filter->base.config.probes; i++) {
        if (i > 0 && cell == cells[0]) /* round once: from here on they repeat */
            break;
        cells[found++] = cell;
        cell += step;
        cell -= cell >= m ? m : 0;
    }
    return found;
}

static uint64_t least_of(const struct counting_bloom *filter, const uint64_t *cells, uint32_t count)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t counter = cell_read(filter, cells[i]);
        least = counter < least ? counter : least;
    }
    return least;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static roost_status counting_bloom_add(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies)
{
    struct counting_bloom *filter = as_counting_bloom(multiset);
    uint64_t cells[MOST_PROBES];
    uint32_t probes = cells_of(filter, hash, cells);
    *count = least_of(filter, cells, probes);
    for (uint32_t i = 0; i < probes; i++)
        if (copies > largest_counter(filter) - cell_read(filter, cells[i]))
            return ROOST_FULL;
    for (uint32_t i = 0; i < probes && copies; i++)
        cell_write(filter, cells[i], cell_read(filter, cells[i]) + copies);
    *count += copies;
    return ROOST_OK;
}

static void counting_bloom_remove(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies)
{
    struct counting_bloom *filter = as_counting_bloom(multiset);
    uint64_t cells[MOST_PROBES];
    uint32_t probes = cells_of(filter, hash, cells);
    uint64_t present = least_of(filter, cells, probes), taken = copies < present ? copies : present;
    for (uint32_t i = 0; i < probes && taken; i++)
        cell_write(filter, cells[i], cell_read(filter, cells[i]) - taken);
    *count = present - taken;
}

static uint64_t counting_bloom_count(const roost_multiset *multiset, roost_hash hash)
{
    const struct counting_bloom *filter = as_const_counting_bloom(multiset);
    uint64_t cells[MOST_PROBES];
    return least_of(filter, cells, cells_of(filter, hash, cells));
}

/* ---- replication ------------------------------------------------------------------------------------------------- */

static roost_status counting_bloom_merge(roost_multiset *multiset, bool *changed, const roost_multiset *other)
{
    struct counting_bloom *filter = as_counting_bloom(multiset);
    *changed = false;
    for (uint64_t cell = 0; cell < multiset->config.cells; cell++) {
        uint64_t theirs = cell_read(as_const_counting_bloom(other), cell);
        if (theirs > cell_read(filter, cell)) {
            cell_write(filter, cell, theirs);
            *changed = true;
        }
    }
    return ROOST_OK;
}

static roost_order counting_bloom_compare(const roost_multiset *multiset, const roost_multiset *other)
{
    unsigned order = ROOST_EQUAL;
    for (uint64_t cell = 0; cell < multiset->config.cells; cell++) {
        uint64_t ours = cell_read(as_const_counting_bloom(multiset), cell);
        uint64_t theirs = cell_read(as_const_counting_bloom(other), cell);
        order |= (ours < theirs ? ROOST_BEFORE : 0) | (ours > theirs ? ROOST_AFTER : 0);
    }
    return order;
}

static uint128 counting_bloom_digest(const roost_multiset *multiset)
{
    return as_const_counting_bloom(multiset)->sum;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static void counting_bloom_write_sizes(const roost_multiset *multiset, struct bit_writer *writer)
{
    write_varint(writer, multiset->config.cells);
    write_byte(writer, (uint8_t)multiset->config.probes);
    write_byte(writer, (uint8_t)multiset->config.counter_bits);
}

static unsigned parameter_for(const struct counting_bloom *filter)
{
    struct count_costs costs = {0};
    for (uint64_t cell = 0; cell < filter->base.config.cells; cell++)
        if (cell_read(filter, cell))
            count_costs_add(&costs, cell_read(filter, cell));
    return count_parameter(&costs);
}

static roost_status counting_bloom_write_state(const roost_multiset *multiset, struct bit_writer *writer)
{
    const struct counting_bloom *filter = as_const_counting_bloom(multiset);
    unsigned counts = parameter_for(filter), gaps = rice_parameter(multiset->config.cells, filter->nonzero);
    uint64_t next = 0;
    write_varint(writer, filter->nonzero);
    write_byte(writer, (uint8_t)counts);
    for (uint64_t cell = 0; cell < multiset->config.cells; cell++) {
        uint64_t counter = cell_read(filter, cell);
        if (!counter)
            continue;
        write_rice(writer, cell - next, gaps);
        write_count(writer, counter, counts);
        next = cell + 1;
    }
    write_alignment(writer);
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static roost_status counting_bloom_read_state(roost_multiset *multiset, struct bit_reader *reader)
{
    struct counting_bloom *filter = as_counting_bloom(multiset);
    const uint64_t m = multiset->config.cells;
    uint64_t entries = read_varint(reader), next = 0;
    unsigned counts = read_byte(reader), gaps = rice_parameter(m, entries);
    if (reader->failed || entries > reader_bits_left(reader) || entries > m || counts >= COUNT_PARAMETERS)
        return ROOST_CORRUPT;
    for (uint64_t i = 0; i < entries; i++) {
        uint64_t gap = read_rice(reader, gaps), counter = read_count(reader, counts);
        if (reader->failed || next >= m || gap >= m - next || counter > largest_counter(filter))
            return ROOST_CORRUPT;
        cell_write(filter, next + gap, counter);
        next += gap + 1;
    }
    read_alignment(reader);
    return reader->failed || counts != parameter_for(filter) ? ROOST_CORRUPT : ROOST_OK;
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

static roost_finding query(const roost_multiset *there, const roost_copies *element)
{
    uint64_t theirs = counting_bloom_count(there, element->hash);
    return (roost_finding){.missing_there = theirs == 0,
                           .fewer_here = theirs > element->count ? theirs - element->count : 0};
}

/* The other's counters less our own, over the cells of an element. */
static roost_finding subtract(const struct counting_bloom *here, const struct counting_bloom *there, roost_hash hash)
{
    uint64_t cells[MOST_PROBES];
    uint32_t probes = cells_of(here, hash, cells);
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < probes; i++) {
        int64_t difference = (int64_t)cell_read(there, cells[i]) - (int64_t)cell_read(here, cells[i]);
        least = difference < least ? difference : least;
        most = difference > most ? difference : most;
    }
    return (roost_finding){.missing_there = most<0, .fewer_here = least> 0 ? (uint64_t)least : 0};
}

static roost_status counting_bloom_identify(const roost_multiset *here, roost_finding *findings,
                                            const roost_multiset *there, const roost_copies *elements, size_t count,
                                            roost_identification method)
{
    if (method != ROOST_BY_QUERY && method != ROOST_BY_DECODING)
        return ROOST_INVALID;
    for (size_t i = 0; i < count; i++)
        findings[i] = method == ROOST_BY_QUERY
                          ? query(there, &elements[i])
                          : subtract(as_const_counting_bloom(here), as_const_counting_bloom(there), elements[i].hash);
    return ROOST_OK;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void counting_bloom_inspect(const roost_multiset *multiset, roost_multiset_info *info)
{
    const struct counting_bloom *filter = as_const_counting_bloom(multiset);
    const roost_multiset_config *config = &multiset->config;
    for (uint64_t cell = 0; cell < config->cells; cell++) {
        uint64_t counter = cell_read(filter, cell);
        info->cardinality += counter < UINT64_MAX - info->cardinality ? counter : UINT64_MAX - info->cardinality;
        info->largest = info->largest > counter ? info->largest : counter;
    }
    info->entries = filter->nonzero;
    info->load = (double)filter->nonzero / (double)config->cells;
    info->fpr_now = pow(info->load, config->probes);
    info->bits = config->cells * config->counter_bits;
    info->bytes_memory = own_bytes(config);
}

static bool counting_bloom_check(const roost_multiset *multiset)
{
    const struct counting_bloom *filter = as_const_counting_bloom(multiset);
    uint64_t end = multiset->config.cells * multiset->config.counter_bits, nonzero = 0;
    uint128 sum = 0;
    for (uint64_t cell = 0; cell < multiset->config.cells; cell++) {
        uint64_t counter = cell_read(filter, cell);
        nonzero += counter != 0;
        sum += counter ? count_weight(multiset->config.seed, cell, counter) : 0;
    }
    for (uint64_t bit = end; bit < filter->cells.size * 8; bit++)
        if (filter->cells.bytes[bit / 8] >> (bit & 7) & 1)
            return false;
    return nonzero == filter->nonzero && sum == filter->sum;
}

const struct multiset_kind counting_bloom_kind = {
    .code = ROOST_COUNTING_BLOOM,
    .resolve = counting_bloom_resolve,
    .open = counting_bloom_open,
    .close = counting_bloom_close,
    .clone = counting_bloom_clone,
    .add = counting_bloom_add,
    .remove = counting_bloom_remove,
    .count = counting_bloom_count,
    .merge = counting_bloom_merge,
    .compare = counting_bloom_compare,
    .digest = counting_bloom_digest,
    .write_sizes = counting_bloom_write_sizes,
    .write_state = counting_bloom_write_state,
    .read_state = counting_bloom_read_state,
    .identify = counting_bloom_identify,
    .inspect = counting_bloom_inspect,
    .check = counting_bloom_check,
};
