/*
 * Specifications 5 to 8 of the thesis, with nothing but counts: how many elements end in which sub-filter, and the rate
 * that sub-filters of that size have with as many.
 *
 *     sub-filter i   a quarter of the keys; its part of the rate is 1 / 2^(i+1)
 *     full           Bloom: at its capacity. Cuckoo: at 95 % of its slots, where insertion fails
 *     add            Bloom and cuckoo: to the last one, after which comes a new one if that is full.
 *                    Observed-remove: to the last one that is not full
 *     merge          one by one, so that a sub-filter that both replicas have filled holds twice its capacity
 *
 * Example: 50-50, merged once at the end. Each replica has filled sub-filters 0 and 1, which then hold twice as much.
 * The first is a Bloom filter of six probes for 1/64: three quarters of its bits are set, and it errs 0.75^6 = 17.8 %.
 */
#include "thesis_rule.h"

#include <math.h>

#include "thesis.h"

#define MOST_PARTS    64
#define FULL_OF_SLOTS 0.95

struct rule {
    roost_kind kind;
    uint64_t full;
    uint64_t merged[MOST_PARTS], own[2][MOST_PARTS]; /* elements: known to both, since then to one */
    unsigned length[2];
};

static uint64_t seen(const struct rule *rule, int replica, unsigned part)
{
    return rule->merged[part] + rule->own[replica][part];
}

static void add(struct rule *rule, int replica)
{
    unsigned last = rule->length[replica] - 1, part = last;
    while (rule->kind == ROOST_ORCUCKOO && part > 0 && seen(rule, replica, part) >= rule->full)
        part--;
    if (seen(rule, replica, part) >= rule->full)
        part = rule->length[replica]++;
    rule->own[replica][part]++;
}

static void merge(struct rule *rule)
{
    for (unsigned part = 0; part < MOST_PARTS; part++) {
        rule->merged[part] += rule->own[0][part] + rule->own[1][part];
        rule->own[0][part] = rule->own[1][part] = 0;
    }
    rule->length[0] = rule->length[1] = rule->length[0] > rule->length[1] ? rule->length[0] : rule->length[1];
}

static double part_rate(const struct rule *rule, double capacity, unsigned part)
{
    double count = (double)rule->merged[part], fpr = ldexp(THESIS_FPR, -(int)part - 1);
    if (rule->kind == ROOST_BLOOM) {
        double probes = round(-log2(fpr)), bits = -capacity * log(fpr) / (M_LN2 * M_LN2);
        return pow(-expm1(-probes * count / bits), probes);
    }
    double width = ceil(log2(2 * THESIS_BUCKET_SIZE / fpr)), buckets = capacity / THESIS_BUCKET_SIZE;
    return -expm1(count * log1p(-2 / (buckets * exp2(width))));
}

double thesis_rule_fpr(roost_kind kind, size_t keys, struct schedule schedule)
{
    double capacity = (double)keys / THESIS_PARTS, right = 1;
    struct rule rule = {.kind = kind, .length = {1, 1}};
    rule.full = (uint64_t)(capacity * (kind == ROOST_BLOOM ? 1 : FULL_OF_SLOTS));
    for (uint64_t i = 0; i < keys; i++) {
        add(&rule, is_first_replicas(i, schedule.first_share) ? 0 : 1);
        if (schedule.sync_every != ONLY_AT_THE_END && (i + 1) % schedule.sync_every == 0)
            merge(&rule);
    }
    merge(&rule);
    for (unsigned part = 0; part < rule.length[0]; part++)
        right *= 1 - part_rate(&rule, capacity, part);
    return 1 - right;
}
