/*
 * What a program pays that calls with one key at a time, bytes in: the hash, the call and the memory. And the same keys
 * in batches of bytes.
 *
 * Beside each stands a stand-in, measured in turns with it, and the median of the ratios of both: the least code that
 * makes the same memory accesses with the same hash, inlined into the loop, without digest, journal, sizes of any kind,
 * or a library between. It is what a header-only library at its best does. For Bloom it is a split block filter (blocks of 32 bytes, AVX2, 10.5 bits a
 * key); for cuckoo a table of buckets of four bytes, or of four slots of twelve bits in a word, a power of two of them,
 * which is filled as far as ours; for observed-remove a set of 64-bit hashes, open addressing, half full.
 *
 * A library is called, and is not told how long keys are. So Bloom filters and look-ups in buckets of four bytes have a
 * second stand-in, the same code behind a function for keys of any size in a file of its own (called.c).
 *
 * `--calls WHAT` makes the calls of one row and nothing else, for bench/instructions, which counts what each function
 * takes: so they are not inlined into one another.
 */
#include <sys/mman.h>

#include "parts.h"
#include "stand_in.h"

#define AT_ONCE   4096
#define HUGE_FROM ((size_t)4 << 20)

/* Counted by bench/instructions under its own name. */
#define MEASURED __attribute__((noinline))

static volatile uint64_t kept;

/* ---- ours: `from` to `from + count`, returns how many were found or changed -------------------------------------- */

/* As a caller does it: a comparison. */
static inline void expect(roost_status status, const char *what)
{
    if (status != ROOST_OK)
        must(status, what);
}

static MEASURED uint64_t contains_one(roost_filter *filter, uint64_t from, uint64_t count)
{
    uint64_t found = 0;
    for (uint64_t key = from; key < from + count; key++)
        found += roost_filter_contains(filter, &key, sizeof key);
    return found;
}

static MEASURED uint64_t add_one(roost_filter *filter, uint64_t from, uint64_t count)
{
    uint64_t changed = 0;
    for (uint64_t key = from; key < from + count; key++) {
        bool grew;
        expect(roost_filter_add(filter, &grew, &key, sizeof key), "add");
        changed += grew;
    }
    return changed;
}

static MEASURED uint64_t remove_one(roost_filter *filter, uint64_t from, uint64_t count)
{
    uint64_t changed = 0;
    for (uint64_t key = from; key < from + count; key++) {
        bool removed;
        expect(roost_filter_remove(filter, &removed, &key, sizeof key), "remove");
        changed += removed;
    }
    return changed;
}

static double outside; /* seconds in which a batch was made ready */
static uint64_t keys[AT_ONCE];
static roost_bytes all_bytes[AT_ONCE];
static bool answers[AT_ONCE];

/* Outside the clock: counts the answers of the batch before, and makes the next one ready. */
static size_t next_batch(uint64_t *yes, size_t before, uint64_t from, uint64_t count)
{
    double begin = seconds();
    size_t some = count < AT_ONCE ? (size_t)count : AT_ONCE;
    for (size_t i = 0; i < before; i++)
        *yes += answers[i];
    for (size_t i = 0; i < some; i++) {
        keys[i] = from + i;
        all_bytes[i] = (roost_bytes){&keys[i], sizeof keys[i]};
    }
    outside += seconds() - begin;
    return some;
}

static MEASURED uint64_t contains_many(roost_filter *filter, uint64_t from, uint64_t count)
{
    uint64_t found = 0;
    size_t some = next_batch(&found, 0, from, count);
    for (uint64_t done = 0; some > 0; some = next_batch(&found, some, from + done, count - done)) {
        roost_filter_contains_many(filter, answers, all_bytes, some);
        done += some;
    }
    return found;
}

static MEASURED uint64_t add_many(roost_filter *filter, uint64_t from, uint64_t count)
{
    uint64_t changed = 0;
    size_t some = next_batch(&changed, 0, from, count);
    for (uint64_t done = 0; some > 0; some = next_batch(&changed, some, from + done, count - done)) {
        must(roost_filter_add_many(filter, answers, NULL, all_bytes, some), "add");
        done += some;
    }
    return changed;
}

/* ---- the stand-ins ----------------------------------------------------------------------------------------------- */

/* Untouched pages, as in a filter that is new, and huge ones from the same size on. */
static void open_stand_in(struct stand_in *stand_in, size_t bytes, uint64_t size)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        must(ROOST_NO_MEMORY, "array");
    if (bytes >= HUGE_FROM)
        madvise(memory, bytes, MADV_HUGEPAGE);
    *stand_in = (struct stand_in){memory, size, 1, bytes};
}

#if defined(__x86_64__)
static void open_split_block(struct stand_in *stand_in, uint64_t count)
{
    uint64_t blocks = (uint64_t)((double)count * 10.5 / 256) + 1;
    open_stand_in(stand_in, blocks * 32, blocks);
}

static MEASURED AVX2 uint64_t split_contains(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t found = 0;
    for (uint64_t key = from; key < from + count; key++) {
        XXH128_hash_t hash = number_hash(key);
        found += (uint64_t)_mm256_testc_si256(*split_block(stand_in, hash), split_bits(hash));
    }
    return found;
}

static MEASURED AVX2 uint64_t split_add(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    for (uint64_t key = from; key < from + count; key++) {
        XXH128_hash_t hash = number_hash(key);
        __m256i *block = split_block(stand_in, hash);
        *block = _mm256_or_si256(*block, split_bits(hash));
    }
    return count;
}
#endif

/* ---- those that are called --------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static MEASURED uint64_t call_split_contains(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t found = 0;
    for (uint64_t key = from; key < from + count; key++)
        found += called_split_contains(stand_in, &key, sizeof key);
    return found;
}

static MEASURED uint64_t call_split_add(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    for (uint64_t key = from; key < from + count; key++)
        called_split_add(stand_in, &key, sizeof key);
    return count;
}
#endif

static MEASURED uint64_t call_bytes_contains(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t found = 0;
    for (uint64_t key = from; key < from + count; key++)
        found += called_bytes_contains(stand_in, &key, sizeof key);
    return found;
}

/* ---- cuckoo tables and sets -------------------------------------------------------------------------------------- */

static uint64_t buckets_for(uint64_t count)
{
    uint64_t buckets = 4;
    while ((double)buckets * 4 * 0.96 < (double)count)
        buckets *= 2;
    return buckets;
}

static void open_bytes_table(struct stand_in *stand_in, uint64_t count)
{
    open_stand_in(stand_in, buckets_for(count) * 4, buckets_for(count) - 1);
}

static void open_words_table(struct stand_in *stand_in, uint64_t count)
{
    open_stand_in(stand_in, buckets_for(count) * 6 + 8, buckets_for(count) - 1);
}

static MEASURED uint64_t bytes_table_contains(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t found = 0;
    for (uint64_t key = from; key < from + count; key++) {
        found += pair_is_in_bytes(stand_in, pair_of(stand_in, number_hash(key), 8));
    }
    return found;
}

static MEASURED uint64_t words_table_contains(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t found = 0;
    for (uint64_t key = from; key < from + count; key++) {
        struct pair pair = pair_of(stand_in, number_hash(key), 12);
        uint64_t first = load_words_bucket(stand_in, pair.first), second = load_words_bucket(stand_in, pair.second);
        found += (lanes_that_are(first, pair.print, WORD_ONES, WORD_ONES << 11) |
                  lanes_that_are(second, pair.print, WORD_ONES, WORD_ONES << 11)) != 0;
    }
    return found;
}

/* Returns whether the bucket had a free slot. */
static inline bool put_slot(struct stand_in *stand_in, uint64_t bucket, uint64_t print, unsigned bits)
{
    uint64_t ones = bits == 8 ? (uint32_t)BYTE_ONES : WORD_ONES;
    uint64_t word = bits == 8 ? load_bytes_bucket(stand_in, bucket) : load_words_bucket(stand_in, bucket);
    uint64_t free = lanes_that_are(word, 0, ones, ones << (bits - 1));
    if (!free)
        return false;
    word |= print << ((unsigned)__builtin_ctzll(free) - (bits - 1));
    memcpy((char *)stand_in->words + bucket * (bits / 2), &word, bits == 8 ? 4 : 6);
    return true;
}

static inline uint64_t swap_slot(struct stand_in *stand_in, uint64_t bucket, uint64_t print, unsigned bits)
{
    stand_in->random = stand_in->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    unsigned shift = (unsigned)(stand_in->random >> 62) * bits;
    uint64_t word = bits == 8 ? load_bytes_bucket(stand_in, bucket) : load_words_bucket(stand_in, bucket);
    uint64_t victim = word >> shift & ((1u << bits) - 1);
    word ^= (victim ^ print) << shift;
    memcpy((char *)stand_in->words + bucket * (bits / 2), &word, bits == 8 ? 4 : 6);
    return victim;
}

static inline uint64_t table_add(struct stand_in *stand_in, uint64_t from, uint64_t count, unsigned bits)
{
    uint64_t added = 0;
    for (uint64_t key = from; key < from + count; key++) {
        struct pair pair = pair_of(stand_in, number_hash(key), bits);
        if (put_slot(stand_in, pair.first, pair.print, bits)) {
            added++;
            continue;
        }
        uint64_t bucket = pair.second, print = pair.print;
        for (int kicks = 0; kicks < 500; kicks++) {
            if (put_slot(stand_in, bucket, print, bits)) {
                added++;
                break;
            }
            print = swap_slot(stand_in, bucket, print, bits);
            bucket ^= print * 0x5bd1e995 & stand_in->size;
        }
    }
    return added;
}

static MEASURED uint64_t bytes_table_add(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    return table_add(stand_in, from, count, 8);
}

static MEASURED uint64_t words_table_add(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    return table_add(stand_in, from, count, 12);
}

/* A set of hashes. A removed one leaves a 1. */
static void open_hash_set(struct stand_in *stand_in, uint64_t count)
{
    uint64_t slots = 16;
    while (slots < count * 3 / 2)
        slots *= 2;
    open_stand_in(stand_in, slots * 8, slots - 1);
}

static inline uint64_t *hash_set_slot(struct stand_in *stand_in, uint64_t key, uint64_t *wanted)
{
    uint64_t hash = number_hash(key).low64 | 2, i = hash >> 20;
    *wanted = hash;
    while (stand_in->words[i & stand_in->size] && stand_in->words[i & stand_in->size] != hash)
        i++;
    return &stand_in->words[i & stand_in->size];
}

static MEASURED uint64_t hash_set_contains(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t found = 0, wanted;
    for (uint64_t key = from; key < from + count; key++)
        found += *hash_set_slot(stand_in, key, &wanted) != 0;
    return found;
}

static MEASURED uint64_t hash_set_add(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t added = 0, wanted;
    for (uint64_t key = from; key < from + count; key++) {
        uint64_t *slot = hash_set_slot(stand_in, key, &wanted);
        added += *slot == 0;
        *slot = wanted;
    }
    return added;
}

static MEASURED uint64_t hash_set_remove(struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    uint64_t removed = 0, wanted;
    for (uint64_t key = from; key < from + count; key++) {
        uint64_t *slot = hash_set_slot(stand_in, key, &wanted);
        removed += *slot == wanted;
        *slot = *slot ? 1 : 0;
    }
    return removed;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef uint64_t our_call(roost_filter *filter, uint64_t from, uint64_t count);
typedef uint64_t their_call(struct stand_in *stand_in, uint64_t from, uint64_t count);

struct peer {
    void (*open)(struct stand_in *stand_in, uint64_t count);
    their_call *add, *contains, *remove, *call_add, *call_contains; /* NULL: none */
};

struct subject {
    const char *name, *row;
    roost_config config;
    struct peer peer; /* all NULL: there is none on this machine */
};

enum { ADD, PRESENT, ABSENT, REMOVE, ADD_MANY, PRESENT_MANY, ABSENT_MANY, FIGURES };
static const char *const figures[FIGURES] = {"one a call: add",      "one a call: present", "one a call: absent",
                                             "one a call: remove",   "bytes batched: add",  "bytes batched: present",
                                             "bytes batched: absent"};

/* In large filters nothing but the last keys is measured. */
#define MOST_MEASURED 8000000

static double timed(our_call *call, roost_filter *filter, uint64_t from, uint64_t count)
{
    double begin = seconds();
    outside = 0;
    kept = call(filter, from, count);
    return (seconds() - begin - outside) / (double)count * 1e9;
}

static double timed_peer(their_call *call, struct stand_in *stand_in, uint64_t from, uint64_t count)
{
    double begin = seconds();
    kept = call(stand_in, from, count);
    return (seconds() - begin) / (double)count * 1e9;
}

static void round_of_ours(const struct subject *subject, uint64_t count, double times[FIGURES])
{
    uint64_t measured = count < MOST_MEASURED ? count : MOST_MEASURED, first = count - measured;
    uint64_t absent = UINT64_C(1) << 60;
    roost_filter *filter = make(&subject->config);
    add_many(filter, 0, first);
    times[ADD] = timed(add_one, filter, first, measured);
    times[PRESENT] = timed(contains_one, filter, first, measured);
    if (kept != measured)
        must(ROOST_CORRUPT, "an element is missing");
    times[ABSENT] = timed(contains_one, filter, absent, measured);
    times[PRESENT_MANY] = timed(contains_many, filter, first, measured);
    times[ABSENT_MANY] = timed(contains_many, filter, absent, measured);
    if (subject->config.kind == ROOST_ORCUCKOO)
        times[REMOVE] = timed(remove_one, filter, first, measured);
    roost_filter_free(filter);
    filter = make(&subject->config);
    add_many(filter, 0, first);
    times[ADD_MANY] = timed(add_many, filter, first, measured);
    roost_filter_free(filter);
}

static void round_of_peer(const struct peer *peer, uint64_t count, double times[FIGURES], double called[FIGURES])
{
    uint64_t measured = count < MOST_MEASURED ? count : MOST_MEASURED, first = count - measured;
    struct stand_in stand_in;
    if (!peer->open)
        return;
    peer->open(&stand_in, count);
    peer->add(&stand_in, 0, first);
    times[ADD] = timed_peer(peer->add, &stand_in, first, measured);
    times[PRESENT] = timed_peer(peer->contains, &stand_in, first, measured);
    times[ABSENT] = timed_peer(peer->contains, &stand_in, UINT64_C(1) << 60, measured);
    if (peer->call_contains)
        called[PRESENT] = timed_peer(peer->call_contains, &stand_in, first, measured);
    if (peer->remove)
        times[REMOVE] = timed_peer(peer->remove, &stand_in, first, measured);
    munmap(stand_in.words, stand_in.bytes);
    if (!peer->call_add)
        return;
    peer->open(&stand_in, count);
    peer->add(&stand_in, 0, first);
    called[ADD] = timed_peer(peer->call_add, &stand_in, first, measured);
    munmap(stand_in.words, stand_in.bytes);
}

/* Batches have the same stand-in. */
static int figure_of_peer(int figure)
{
    return figure == ADD_MANY ? ADD : figure == PRESENT_MANY ? PRESENT : figure == ABSENT_MANY ? ABSENT : figure;
}

static void report_ratio(const struct subject *subject, const char *figure, const double *ours, double *theirs,
                         const char *unit)
{
    double ratios[MOST_ROUNDS];
    char name[64];
    for (int round = 0; round < rounds; round++)
        ratios[round] = theirs[round] > 0 ? ours[round] / theirs[round] : 0;
    if (median(ratios, rounds) == 0)
        return;
    snprintf(name, sizeof name, "%.*s for %s", (int)strlen(unit) - 1, unit, subject->row);
    report_times(name, subject->config.capacity, figure, theirs, 0);
    report_plain(subject->row, subject->config.capacity, figure, median(ratios, rounds), unit);
}

static void report_figure(const struct subject *subject, const char *figure, double *ours, double *theirs,
                          double *called)
{
    report_times(subject->row, subject->config.capacity, figure, ours, 0);
    report_ratio(subject, figure, ours, theirs, "stand-ins");
    report_ratio(subject, figure, ours, called, "called stand-ins");
}

static void bench_subject(const struct subject *subject)
{
    static double ours[FIGURES][MOST_ROUNDS], theirs[FIGURES][MOST_ROUNDS], called[FIGURES][MOST_ROUNDS];
    uint64_t count = subject->config.capacity;
    for (int round = 0; round < rounds; round++) {
        double times[FIGURES] = {0}, peer_times[FIGURES] = {0}, called_times[FIGURES] = {0};
        round_of_ours(subject, count, times);
        round_of_peer(&subject->peer, count, peer_times, called_times);
        for (int figure = 0; figure < FIGURES; figure++) {
            ours[figure][round] = times[figure];
            theirs[figure][round] = peer_times[figure_of_peer(figure)];
            called[figure][round] = called_times[figure];
        }
    }
    for (int figure = 0; figure < FIGURES; figure++)
        if (ours[figure][0] > 0)
            report_figure(subject, figures[figure], ours[figure], theirs[figure], called[figure]);
}

static roost_config config_of(roost_kind kind, uint32_t bits, uint64_t count)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.capacity = count;
    config.fingerprint_bits = bits;
    config.fpr = bits ? 0 : config.fpr;
    return config;
}

#define SUBJECTS 4

static void list_subjects(struct subject subjects[SUBJECTS], uint64_t slots)
{
    const struct peer split_block = {
#if defined(__x86_64__)
        __builtin_cpu_supports("avx2") ? open_split_block : NULL,
        split_add,
        split_contains,
        NULL,
        call_split_add,
        call_split_contains,
#endif
    };
    const struct peer bytes_table = {open_bytes_table,   bytes_table_add, bytes_table_contains, NULL, NULL,
                                     call_bytes_contains};
    const struct peer words_table = {open_words_table, words_table_add, words_table_contains, NULL, NULL, NULL};
    const struct peer hash_set = {open_hash_set, hash_set_add, hash_set_contains, hash_set_remove, NULL, NULL};
    const uint64_t full = (uint64_t)((double)slots * 0.953);
    subjects[0] = (struct subject){"bloom", "blocked Bloom 1 %", config_of(ROOST_BLOOM, 0, slots), split_block};
    subjects[1] = (struct subject){"cuckoo8", "cuckoo 8 bit 95 % full", config_of(ROOST_CUCKOO, 8, full), bytes_table};
    subjects[2] =
        (struct subject){"cuckoo12", "cuckoo 12 bit 95 % full", config_of(ROOST_CUCKOO, 12, full), words_table};
    subjects[3] = (struct subject){"orcuckoo", "orcuckoo 64 bit", config_of(ROOST_ORCUCKOO, 0, slots), hash_set};
}

/* ---- new filters ------------------------------------------------------------------------------------------------- */

static void bench_new(const char *row, roost_layout layout, double rate)
{
    enum { EACH = 1000 };
    double times[MOST_ROUNDS];
    roost_config config = roost_config_default();
    config.layout = layout;
    config.capacity = 1000;
    config.fpr = rate;
    for (int round = 0; round < rounds; round++) {
        double begin = seconds();
        for (int i = 0; i < EACH; i++)
            roost_filter_free(make(&config));
        times[round] = (seconds() - begin) / EACH * 1e6;
    }
    report_spans(row, config.capacity, "new and free", times, "us");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void bench_one_call(bool large)
{
    struct subject subjects[SUBJECTS];
    list_subjects(subjects, 1 << 20);
    for (size_t i = 0; i < SUBJECTS; i++)
        bench_subject(&subjects[i]);
    bench_new("blocked Bloom 1 %", ROOST_BLOCKED, 0.01);
    bench_new("blocked Bloom 1e-6", ROOST_BLOCKED, 1e-6);
    bench_new("classic Bloom 1 %", ROOST_CLASSIC, 0.01);
    list_subjects(subjects, 100000000);
    if (large)
        bench_subject(&subjects[0]);
}

int bench_calls(const char *name, uint64_t count)
{
    struct subject subjects[SUBJECTS];
    list_subjects(subjects, count);
    for (size_t i = 0; i < SUBJECTS; i++)
        if (strcmp(name, subjects[i].name) == 0) {
            double times[FIGURES], called[FIGURES];
            round_of_ours(&subjects[i], subjects[i].config.capacity, times);
            round_of_peer(&subjects[i].peer, subjects[i].config.capacity, times, called);
            return 0;
        }
    return 2;
}
