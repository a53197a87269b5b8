/*
 * The thesis derives the chance that parallel removes pick the same entry (Equation 3.19), and leaves open how many
 * elements unsafe removes hide (section 8.2). Both follow from how entries and removes fall into classes: each class,
 * a fingerprint with its pair of buckets, gets a number of either that is Poisson distributed.
 *
 *     an element e         is hidden when its class got more removes R than it has other entries J, each remove taking
 *                          one: the chance is P(R > J), the upper tail of a Skellam distribution
 *     the same in a set    a remove takes the class, so R > 0 suffices
 *     two replicas         both take the smallest dot first, so a class loses the larger of their numbers, not the sum
 *
 * Example: a full ORCF4 of 2^18 buckets has 33 million classes and 0.028 entries in each. With as many removes of
 * strangers as there are entries, R and J both have the mean 0.028, and P(R > J) is 2.7 %.
 */
#include "class_theory.h"

#include <math.h>
#include <stdbool.h>

enum { MOST = 24 }; /* entries and removes of a class; means are below 1 */

static double poisson(double mean, unsigned count)
{
    return mean > 0 ? exp(count * log(mean) - mean - lgamma(count + 1.0)) : count == 0;
}

static double at_most(double mean, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i <= count; i++)
        sum += poisson(mean, i);
    return sum;
}

static double choose(unsigned from, unsigned count)
{
    return count > from ? 0 : exp(lgamma(from + 1.0) - lgamma(count + 1.0) - lgamma(from - count + 1.0));
}

/* ---- keys that were never added ---------------------------------------------------------------------------------- */

/* Sums what is rare: 1 - at_most would lose its digits. */
double hidden_in_multiset(double entries, double removes)
{
    double sum = 0;
    for (unsigned others = 0; others < MOST; others++)
        for (unsigned more = others + 1; more <= MOST; more++)
            sum += poisson(entries, others) * poisson(removes, more);
    return sum;
}

double hidden_in_set(double removes)
{
    return -expm1(-removes);
}

double hidden_at_two_replicas(double entries, double removes)
{
    double sum = 0;
    for (unsigned others = 0; others < MOST; others++) {
        double few = at_most(removes / 2, others);
        sum += poisson(entries, others) * (1 - few * few);
    }
    return sum;
}

/* ---- elements that are there ------------------------------------------------------------------------------------- */

static double left_over(double entries, double share, bool by_random)
{
    double sum = 0;
    for (unsigned a = 1; a < MOST; a++)
        for (unsigned b = 1; b < MOST; b++)
            for (unsigned rest = 0; rest < MOST; rest++) {
                double both = by_random ? (double)a * b / (a + b + rest) : a < b ? a : b;
                sum += poisson(entries * share, a) * poisson(entries * share, b) *
                       poisson(entries * (1 - 2 * share), rest) * both;
            }
    return sum;
}

double left_by_smallest(double entries, double share)
{
    return left_over(entries, share, false);
}

double left_by_random(double entries, double share)
{
    return left_over(entries, share, true);
}

/* Both pick `gone` of gone + rest entries: none is left if the second takes all that the first has left. */
double hidden_by_random(double entries, double share)
{
    double sum = 0;
    for (unsigned gone = 1; gone < MOST; gone++)
        for (unsigned rest = 1; rest <= gone; rest++)
            sum += poisson(entries * share, gone) * poisson(entries * (1 - share), rest) * rest * choose(gone, rest) /
                   choose(gone + rest, gone);
    return sum;
}

/* ---- one class --------------------------------------------------------------------------------------------------- */

double same_pick(unsigned removers, unsigned entries)
{
    double apart = 1;
    for (unsigned k = 1; k < removers; k++)
        apart *= 1 - (double)k / entries;
    return 1 - apart;
}

double all_picked(unsigned removers, unsigned entries)
{
    double sum = 0;
    for (unsigned missed = 0; missed <= entries; missed++)
        sum += (missed % 2 ? -1 : 1) * choose(entries, missed) * pow((double)(entries - missed) / entries, removers);
    return fmax(sum, 0);
}
