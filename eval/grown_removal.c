/*
 * Two replicas of an observed-remove series that add, remove and meet.
 *
 *     round    each replica adds 3/2 of what it will remove, then removes random elements that it has observed: those
 *              that both knew after the last round, and its own new ones. Two may remove the same one. Then they meet.
 *     rounds   twenty; the first capacity is a 512th of all that is added, so that prefixes have many lengths
 *
 * Every remove is safe in the sense of the thesis, Definition 3.1: the remover has seen the addition. A remove takes
 * every entry whose prefix covers the key, and so another element now and then: documented is less than once in a
 * million removes. It is noticed as an element that is missing, or, where that was to be removed as well, as a remove
 * that finds nothing.
 */
#include "grown_removal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "environment.h"
#include "fatal.h"
#include "measure.h"

#define ROUNDS            20
#define PROMISE           0.01
#define DOCUMENTED_CHANCE 1e-6
#define FIRST_PART        512

struct remover {
    roost_filter *filter;
    uint64_t entropy, luck;
    roost_cursor sent;
    bool *gone;       /* by key: this replica has removed it, or has heard so */
    size_t own, next; /* keys that it added in this round */
};

struct course {
    struct remover removers[2];
    const struct workload *workload;
    size_t common; /* keys that both have heard of: all below */
    struct grown_removal *result;
};

static void remover_open(struct remover *remover, const struct workload *workload, uint64_t seed)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.fpr = PROMISE;
    config.capacity = workload->count / FIRST_PART;
    config.scalable = true;
    config.writers = 2;
    *remover = (struct remover){.luck = seed, .gone = must_allocate(workload->count, sizeof *remover->gone)};
    roost_environment environment = seeded_environment(&remover->entropy, seed);
    environment.journal = workload->count;
    must(roost_filter_new(&remover->filter, &config, &environment), "replica");
}

/* A key that this replica has observed and not removed. */
static size_t observed_key(struct course *course, struct remover *remover)
{
    for (;;) {
        size_t fresh = remover->next - remover->own;
        size_t pick = (size_t)(next_number(&remover->luck) % (course->common + fresh));
        size_t key = pick < course->common ? pick : remover->own + (pick - course->common);
        if (!remover->gone[key])
            return key;
    }
}

static void work(struct course *course, struct remover *remover, size_t from, size_t adds, size_t removes)
{
    remover->own = from;
    remover->next = from + adds;
    must(roost_filter_add_many_hash(remover->filter, NULL, NULL, course->workload->hashes + from, adds), "add");
    for (size_t i = 0; i < removes; i++) {
        bool found;
        size_t key = observed_key(course, remover);
        must(roost_filter_remove_hash(remover->filter, &found, course->workload->hashes[key]), "remove");
        remover->gone[key] = true;
        course->result->idle += !found;
    }
    course->result->added += adds;
    course->result->removes += removes;
}

static void send_changes(struct remover *from, struct remover *to, size_t keys)
{
    roost_buffer delta;
    must(roost_filter_encode_delta(from->filter, &delta, &from->sent, &from->sent), "delta");
    must(roost_filter_merge_frame(to->filter, NULL, delta.data, delta.size), "merge of a delta");
    roost_buffer_release(&delta);
    for (size_t i = 0; i < keys; i++)
        to->gone[i] |= from->gone[i];
}

static void examine(struct course *course)
{
    struct grown_removal *result = course->result;
    for (size_t key = 0; key < course->common; key++) {
        roost_hash hash = course->workload->hashes[key];
        bool here = roost_filter_contains_hash(course->removers[0].filter, hash);
        bool there = roost_filter_contains_hash(course->removers[1].filter, hash);
        if (course->removers[0].gone[key]) {
            result->still_reported += here;
        } else {
            result->elements++;
            result->missing += !here || !there;
        }
    }
    result->agree = roost_filter_equal(course->removers[0].filter, course->removers[1].filter);
    roost_filter_get_info(course->removers[0].filter, &result->info);
}

void grown_removal_run(struct grown_removal *experiment, struct scale scale, uint64_t seed)
{
    size_t removes = scale.removes / ROUNDS / 2, adds = removes * 3 / 2;
    struct workload workload;
    workload_draw(&workload, seed, 2 * adds * ROUNDS, 0);
    struct course course = {.workload = &workload, .result = experiment};
    *experiment = (struct grown_removal){0};
    for (unsigned i = 0; i < 2; i++)
        remover_open(&course.removers[i], &workload, seed + i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 2; i++)
            work(&course, &course.removers[i], course.common + i * adds, adds, removes);
        course.common += 2 * adds;
        send_changes(&course.removers[0], &course.removers[1], course.common);
        send_changes(&course.removers[1], &course.removers[0], course.common);
    }
    examine(&course);
    for (unsigned i = 0; i < 2; i++) {
        roost_filter_free(course.removers[i].filter);
        free(course.removers[i].gone);
    }
    workload_release(&workload);
}

void grown_removal_claims(const struct grown_removal *experiment)
{
    double documented = DOCUMENTED_CHANCE * (double)experiment->removes;
    double most = documented + 4 * sqrt(documented); /* chance decides how many */
    claim("removes from a grown ScORCF hide about one element in a million at most",
          (double)(experiment->missing + experiment->idle) <= most,
          "%llu of %llu elements are missing, %llu of %llu removes found nothing",
          (unsigned long long)experiment->missing, (unsigned long long)experiment->elements,
          (unsigned long long)experiment->idle, (unsigned long long)experiment->removes);
    claim("what was removed from a grown ScORCF is gone", (double)experiment->still_reported <= 2 * most,
          "%llu reported, %u tables", (unsigned long long)experiment->still_reported, experiment->info.tables);
    claim("a grown ScORCF agrees with its replica and has prefixes of several lengths",
          experiment->agree && experiment->info.longest_prefix > experiment->info.shortest_prefix + 3,
          "%u to %u bits, %llu entries, %llu dots", experiment->info.shortest_prefix, experiment->info.longest_prefix,
          (unsigned long long)experiment->info.entries, (unsigned long long)experiment->info.dots);
}

void grown_removal_write_table(const struct grown_removal *experiment, FILE *csv)
{
    const roost_info *info = &experiment->info;
    fprintf(csv, "added,removes,idle_removes,elements,missing,still_reported,replicas_agree,tables,shortest_prefix,"
                 "longest_prefix,entries,dots,memory_bytes\n");
    fprintf(csv, "%llu,%llu,%llu,%llu,%llu,%llu,%s,%u,%u,%u,%llu,%llu,%llu\n", (unsigned long long)experiment->added,
            (unsigned long long)experiment->removes, (unsigned long long)experiment->idle,
            (unsigned long long)experiment->elements, (unsigned long long)experiment->missing,
            (unsigned long long)experiment->still_reported, experiment->agree ? "yes" : "no", info->tables,
            info->shortest_prefix, info->longest_prefix, (unsigned long long)info->entries,
            (unsigned long long)info->dots, (unsigned long long)info->bytes_memory);
}
