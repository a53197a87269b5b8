/*
 * Section 6 of "Multiset Synchronization with Counting Cuckoo Filters": root sets of 64,000 elements, 640,000 copies in
 * each multiset, none above 255. It does not say what the two have in common. Here four fifths of the elements are in
 * both, a quarter of these with other multiplicities on each side. Multiplicities are geometric with mean ten; some are
 * then corrected by one, until the copies add up to ten times the elements exactly.
 *
 * Accuracy is Equation 11: after both hosts have made the copies and sent the elements that they found to differ, the
 * copies that both hold over the copies that either holds.
 */
#include "multiset_pair.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "fatal.h"
#include "workload.h"

#define MEAN_COPIES 10
#define MOST_COPIES 255

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static uint64_t draw_copies(uint64_t *luck)
{
    double uniform = (double)(next_number(luck) >> 11) * 0x1p-53;
    uint64_t copies = 1 + (uint64_t)(log1p(-uniform) / log1p(-1.0 / MEAN_COPIES));
    return copies < MOST_COPIES ? copies : MOST_COPIES;
}

/* Only elements that differ anyway, or are a side's own, are corrected. */
static void correct_sum(roost_copies *side, size_t from, size_t roots, uint64_t *luck)
{
    uint64_t sum = 0, wanted = (uint64_t)roots * MEAN_COPIES;
    for (size_t i = 0; i < roots; i++)
        sum += side[i].count;
    while (sum != wanted) {
        roost_copies *element = &side[from + next_number(luck) % (roots - from)];
        if (sum < wanted && element->count < MOST_COPIES) {
            element->count++;
            sum++;
        } else if (sum > wanted && element->count > 1) {
            element->count--;
            sum--;
        }
    }
}

static roost_hash draw_hash(uint64_t *luck)
{
    uint64_t low = next_number(luck);
    return (roost_hash){low, next_number(luck)};
}

void multiset_pair_draw(struct multiset_pair *pair, uint64_t seed, size_t roots)
{
    uint64_t luck = seed;
    *pair = (struct multiset_pair){.roots = roots, .common = roots / 5 * 4};
    size_t alike = pair->common / 4 * 3;
    for (int side = 0; side < 2; side++)
        pair->sides[side] = must_allocate(roots, sizeof **pair->sides);
    for (size_t i = 0; i < roots; i++) {
        roost_copies first = {draw_hash(&luck), draw_copies(&luck)}, second = first;
        if (i >= alike)
            second.count = draw_copies(&luck);
        if (i >= pair->common)
            second.hash = draw_hash(&luck);
        pair->sides[0][i] = first;
        pair->sides[1][i] = second;
    }
    for (int side = 0; side < 2; side++)
        correct_sum(pair->sides[side], alike, roots, &luck);
}

void multiset_pair_release(struct multiset_pair *pair)
{
    free(pair->sides[0]);
    free(pair->sides[1]);
    *pair = (struct multiset_pair){0};
}

bool multiset_of_side(roost_multiset **multiset, const struct multiset_pair *pair, int side,
                      const roost_multiset_config *config, uint32_t kicks)
{
    roost_environment environment = {.kicks = kicks};
    must(roost_multiset_new(multiset, config, &environment), "multiset");
    for (size_t i = 0; i < pair->roots; i++) {
        roost_status status =
            roost_multiset_add_hash(*multiset, NULL, pair->sides[side][i].hash, pair->sides[side][i].count);
        if (status == ROOST_FULL) {
            roost_multiset_free(*multiset);
            *multiset = NULL;
            return false;
        }
        must(status, "add");
    }
    return true;
}

/* ---- synchronisation --------------------------------------------------------------------------------------------- */

/* Algorithm 4 to the letter. */
static void query_as_printed(roost_finding *findings, const roost_multiset *there, const roost_copies *elements,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t theirs = roost_multiset_count_hash(there, elements[i].hash);
        uint64_t more = theirs > elements[i].count ? theirs - elements[i].count : 0;
        findings[i] = (roost_finding){.missing_there = theirs == 0, .fewer_here = more};
    }
}

static roost_finding *identify(const struct multiset_pair *pair, roost_multiset *const multisets[2], int side,
                               enum pair_method method)
{
    roost_finding *findings = must_allocate(pair->roots, sizeof *findings);
    if (method == PAIR_QUERY_AS_PRINTED)
        query_as_printed(findings, multisets[!side], pair->sides[side], pair->roots);
    else
        must(roost_multiset_identify(multisets[side], findings, multisets[!side], pair->sides[side], pair->roots,
                                     method == PAIR_QUERY ? ROOST_BY_QUERY : ROOST_BY_DECODING),
             "identification");
    return findings;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What a side has of an element of its own, and gets if the other sends it. */
static uint64_t count_after(roost_copies own, roost_finding found, uint64_t sent)
{
    return larger(own.count + found.fewer_here, sent);
}

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double accuracy_after_sync(const struct multiset_pair *pair, roost_multiset *const multisets[2],
                           enum pair_method method, double *seconds)
{
    double begin = seconds_now();
    roost_finding *found[2] = {identify(pair, multisets, 0, method), identify(pair, multisets, 1, method)};
    *seconds += seconds_now() - begin;
    uint64_t shared = 0, all = 0;
    for (size_t i = 0; i < pair->roots; i++) {
        roost_copies first = pair->sides[0][i], second = pair->sides[1][i];
        uint64_t to_second = found[0][i].missing_there ? first.count : 0;
        uint64_t to_first = found[1][i].missing_there ? second.count : 0;
        if (i < pair->common) {
            uint64_t here = count_after(first, found[0][i], to_first),
                     there = count_after(second, found[1][i], to_second);
            shared += here < there ? here : there;
            all += larger(here, there);
        } else { /* two elements, each of which the other side has only if it was sent */
            uint64_t here = count_after(first, found[0][i], 0), there = count_after(second, found[1][i], 0);
            shared += to_second + to_first;
            all += here + there;
        }
    }
    free(found[0]);
    free(found[1]);
    return (double)shared / (double)all;
}
