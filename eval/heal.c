/*
 * Ten replicas of a series add independently, then the partition heals: all are merged into one, and that one into all.
 *
 *     splits    balanced; 99 to 1: one replica adds 99 of 100 elements, the others share the rest
 *     courses   apart: no replica merges another before the partition heals
 *               meeting: all meet 16 times while they add, and transfer the shares that they can spare, as the
 *               program does
 *     sizes     five that span one doubling. A series that has just grown has an empty table as large as all others
 *               together, so memory an element is a saw; one size would show whatever point of it one likes
 *
 * Memory is held against one filter of fixed size that has room for exactly these elements at the same promised rate.
 *
 * Limits. What was asked for is 2.5 times as much (Bloom, one busy: ten times apart, three times when they meet). Over
 * the whole saw that is not met everywhere; the claims hold the worst point against what was seen, with a little room,
 * so that a loss shows, and say at how many sizes the asked limit is met.
 */
#include "heal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "environment.h"
#include "fatal.h"
#include "measure.h"

#define REPLICAS      10
#define MEETINGS      16
#define FIRST_PART    131 /* the first table has room for so small a part of the elements, of the smallest size */
#define PROMISE       0.01
#define MOST_OVERFLOW 0.03 /* of the entries: look-ups pass the stash only for those */

static const roost_kind kinds[HEAL_KINDS] = {ROOST_BLOOM, ROOST_CUCKOO, ROOST_ORCUCKOO};
static const char *const kind_names[HEAL_KINDS] = {"ScGBF", "ScGCF", "ScORCF"};
static const char *const split_names[HEAL_SPLITS] = {"balanced", "99-1"};
static const char *const course_names[HEAL_COURSES] = {"apart", "meeting"};

struct limit {
    double asked, worst; /* times the memory of one filter */
};

static const struct limit limits[HEAL_KINDS][HEAL_SPLITS][HEAL_COURSES] = {
    {{{2.5, 4.6}, {2.5, 4.6}}, {{10, 48}, {3, 8.5}}},
    {{{2.5, 2.3}, {2.5, 2.7}}, {{2.5, 2.8}, {2.5, 2.9}}},
    {{{2.5, 1.1}, {2.5, 1.1}}, {{2.5, 1.3}, {2.5, 1.2}}},
};

struct partition {
    roost_filter *filters[REPLICAS];
    uint64_t entropy[REPLICAS];
    roost_hash *pending[REPLICAS];
    size_t count[REPLICAS];
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

static roost_config heal_config(roost_kind kind, uint64_t capacity)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.fpr = PROMISE;
    config.capacity = capacity;
    return config;
}

static void partition_open(struct partition *partition, const roost_config *config, const struct workload *workload,
                           size_t elements)
{
    for (unsigned i = 0; i < REPLICAS; i++) {
        roost_environment environment = seeded_environment(&partition->entropy[i], workload->seed + i);
        must(roost_filter_new(&partition->filters[i], config, &environment), "replica");
        partition->pending[i] = must_allocate(elements, sizeof **partition->pending);
        partition->count[i] = 0;
    }
}

static void partition_close(struct partition *partition)
{
    for (unsigned i = 0; i < REPLICAS; i++) {
        roost_filter_free(partition->filters[i]);
        free(partition->pending[i]);
    }
}

/* ---- the course -------------------------------------------------------------------------------------------------- */

static unsigned whose(size_t element, enum heal_split split)
{
    if (split == HEAL_BALANCED)
        return element % REPLICAS;
    return is_first_replicas(element, 99) ? 0 : 1 + (unsigned)(element / 100 % (REPLICAS - 1));
}

static void add_pending(struct partition *partition)
{
    for (unsigned i = 0; i < REPLICAS; i++) {
        must(roost_filter_add_many_hash(partition->filters[i], NULL, NULL, partition->pending[i], partition->count[i]),
             "add");
        partition->count[i] = 0;
    }
}

static void meet(struct partition *partition)
{
    for (unsigned i = 1; i < REPLICAS; i++)
        must(roost_filter_merge(partition->filters[0], NULL, partition->filters[i]), "merge");
    for (unsigned i = 1; i < REPLICAS; i++)
        must(roost_filter_merge(partition->filters[i], NULL, partition->filters[0]), "merge");
}

static void meet_and_transfer(struct partition *partition)
{
    bool any = false;
    meet(partition);
    for (unsigned i = 0; i < REPLICAS; i++) {
        bool gave;
        must(roost_filter_transfer_shares(partition->filters[i], &gave), "transfer");
        any |= gave;
    }
    if (any)
        meet(partition);
}

static void add_apart(struct partition *partition, const struct workload *workload, size_t elements,
                      enum heal_split split, enum heal_course course)
{
    size_t every = elements / MEETINGS;
    for (size_t i = 0; i < elements; i++) {
        unsigned replica = whose(i, split);
        partition->pending[replica][partition->count[replica]++] = workload->hashes[i];
        if (course == HEAL_MEETING && (i + 1) % every == 0) {
            add_pending(partition);
            meet_and_transfer(partition);
        }
    }
    add_pending(partition);
}

/* ---- the examination --------------------------------------------------------------------------------------------- */

static uint64_t standard_memory(roost_kind kind, size_t elements)
{
    roost_config config = heal_config(kind, elements);
    roost_filter *filter;
    roost_info info;
    must(roost_filter_new(&filter, &config, NULL), "filter of fixed size");
    roost_filter_get_info(filter, &info);
    roost_filter_free(filter);
    return info.bytes_memory;
}

static roost_info busiest(const struct partition *partition)
{
    roost_info busiest = {0}, info;
    for (unsigned i = 0; i < REPLICAS; i++) {
        roost_filter_get_info(partition->filters[i], &info);
        busiest = info.tables > busiest.tables ? info : busiest;
    }
    return busiest;
}

static bool all_agree(const struct partition *partition)
{
    roost_digest first = roost_filter_digest(partition->filters[0]);
    bool agree = true;
    for (unsigned i = 1; i < REPLICAS; i++) {
        roost_digest other = roost_filter_digest(partition->filters[i]);
        agree &= memcmp(first.bytes, other.bytes, sizeof first.bytes) == 0;
    }
    return agree;
}

static struct healed examine(const struct partition *partition, const struct workload *workload, size_t elements)
{
    const roost_filter *filter = partition->filters[0];
    struct healed healed = {.elements = elements, .agree = all_agree(partition)};
    healed.missing = elements - count_found(filter, workload->hashes, elements);
    healed.fpr = (double)count_found(filter, workload->fresh, workload->fresh_count) / (double)workload->fresh_count;
    healed.standard = standard_memory(roost_filter_get_config(filter)->kind, elements);
    roost_filter_get_info(filter, &healed.info);
    return healed;
}

static struct healed run_one(roost_kind kind, enum heal_split split, enum heal_course course,
                             const struct workload *workload, size_t smallest, size_t elements)
{
    struct partition partition;
    roost_config config = heal_config(kind, smallest / FIRST_PART);
    config.scalable = true;
    config.writers = REPLICAS;
    partition_open(&partition, &config, workload, elements);
    add_apart(&partition, workload, elements, split, course);
    roost_info before = busiest(&partition);
    meet(&partition);
    struct healed healed = examine(&partition, workload, elements);
    healed.before = before;
    partition_close(&partition);
    return healed;
}

void heal_run(struct heal *experiment, struct scale scale, uint64_t seed)
{
    struct workload workload;
    workload_draw(&workload, seed, 2 * scale.healing, scale.series_fresh_keys);
    for (unsigned kind = 0; kind < HEAL_KINDS; kind++) {
        if (scale.says_where_it_is)
            fprintf(stderr, "roost-eval: partitions of ten: %s\n", kind_names[kind]);
        for (int split = 0; split < (scale.sample ? 1 : HEAL_SPLITS); split++)
            for (int course = 0; course < (scale.sample ? 1 : HEAL_COURSES); course++)
                for (unsigned size = 0; size < (scale.sample ? 1 : HEAL_SIZES); size++)
                    experiment->runs[kind][split][course][size] =
                        run_one(kinds[kind], split, course, &workload, scale.healing,
                                (size_t)((double)scale.healing * exp2((double)size / HEAL_SIZES)));
    }
    workload_release(&workload);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static double times_standard(const struct healed *healed)
{
    return (double)healed->info.bytes_memory / (double)healed->standard;
}

static void claim_of(const char *what, unsigned kind, int split, int course, bool holds, const char *detail)
{
    char name[128];
    snprintf(name, sizeof name, "healed %s, %s, %s: %s", kind_names[kind], split_names[split], course_names[course],
             what);
    claim(name, holds, "%s", detail);
}

static void claim_state(const struct healed *runs, unsigned kind, int split, int course)
{
    char detail[128];
    unsigned right = 0;
    double rate = 0, overflow = 0;
    size_t elements = 0;
    uint64_t missing = 0;
    for (unsigned size = 0; size < HEAL_SIZES; size++) {
        const struct healed *run = &runs[size];
        right += run->agree && run->fpr <= PROMISE && run->info.fpr_now <= PROMISE && run->info.promise_holds;
        rate = fmax(rate, fmax(run->fpr, run->info.fpr_now));
        overflow = fmax(overflow, (double)run->info.overflow / (double)run->info.entries);
        elements += run->elements;
        missing += run->missing;
    }
    snprintf(detail, sizeof detail, "%llu of %zu elements are missing", (unsigned long long)missing, elements);
    claim_of("nothing lost", kind, split, course, missing == 0, detail);
    snprintf(detail, sizeof detail, "%u of %u runs, %.5f %% at most, promised %.0f %%", right, HEAL_SIZES, 100 * rate,
             100 * PROMISE);
    claim_of("replicas agree, FPR within the promise", kind, split, course, right == HEAL_SIZES, detail);
    if (kinds[kind] == ROOST_BLOOM)
        return;
    snprintf(detail, sizeof detail, "%.2f %% of the entries at most", 100 * overflow);
    claim_of("tables hold their entries", kind, split, course, overflow <= MOST_OVERFLOW, detail);
}

/* No more tables to look into than before. */
static void claim_lookups(const struct healed *runs, unsigned kind, int split, int course)
{
    char detail[96];
    bool same = true;
    uint32_t most = 0;
    for (unsigned size = 0; size < HEAL_SIZES; size++) {
        same &= runs[size].info.tables == runs[size].before.tables;
        most = runs[size].info.tables > most ? runs[size].info.tables : most;
    }
    snprintf(detail, sizeof detail, "%u at most", most);
    claim_of("as many tables as the busiest had", kind, split, course, same, detail);
}

static void claim_memory(const struct healed *runs, unsigned kind, int split, int course)
{
    char what[64], detail[128];
    const struct limit *limit = &limits[kind][split][course];
    double least = INFINITY, most = 0;
    unsigned met = 0;
    for (unsigned size = 0; size < HEAL_SIZES; size++) {
        least = fmin(least, times_standard(&runs[size]));
        most = fmax(most, times_standard(&runs[size]));
        met += times_standard(&runs[size]) <= limit->asked;
    }
    snprintf(what, sizeof what, "memory at most %.1f times that of one filter", limit->worst);
    snprintf(detail, sizeof detail, "%.2f to %.2f times; the asked %.1f times is met at %u of %u sizes", least, most,
             limit->asked, met, HEAL_SIZES);
    claim_of(what, kind, split, course, most <= limit->worst, detail);
}

void heal_claims(const struct heal *experiment)
{
    for (unsigned kind = 0; kind < HEAL_KINDS; kind++)
        for (int split = 0; split < HEAL_SPLITS; split++)
            for (int course = 0; course < HEAL_COURSES; course++) {
                const struct healed *runs = experiment->runs[kind][split][course];
                claim_state(runs, kind, split, course);
                claim_lookups(runs, kind, split, course);
                claim_memory(runs, kind, split, course);
            }
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

void heal_write_table(const struct heal *experiment, FILE *csv)
{
    fprintf(csv, "filter,split,course,elements,tables,fpr,fpr_of_state,fpr_promised,missing,memory_bits_an_element,"
                 "fixed_size_bits_an_element,times,times_asked\n");
    for (unsigned kind = 0; kind < HEAL_KINDS; kind++)
        for (int split = 0; split < HEAL_SPLITS; split++)
            for (int course = 0; course < HEAL_COURSES; course++)
                for (unsigned size = 0; size < HEAL_SIZES; size++) {
                    const struct healed *run = &experiment->runs[kind][split][course][size];
                    double bits = 8.0 / (double)run->elements;
                    if (run->elements == 0) /* not part of the sample */
                        continue;
                    fprintf(csv, "%s,%s,%s,%zu,%u,%.6f,%.3e,%.2f,%llu,%.2f,%.2f,%.3f,%.1f\n", kind_names[kind],
                            split_names[split], course_names[course], run->elements, run->info.tables, run->fpr,
                            run->info.fpr_now, PROMISE, (unsigned long long)run->missing,
                            bits * (double)run->info.bytes_memory, bits * (double)run->standard, times_standard(run),
                            limits[kind][split][course].asked);
                }
}
