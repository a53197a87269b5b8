/* What the tests of series share: new ones, whether a table holds more than was planned, equality in every respect. */
#ifndef TESTS_SERIES_H
#define TESTS_SERIES_H

#include "check.h"
#include "old_series.h"

#include "series/series.h"
#include "growing/growing_cuckoo.h"
#include "growing/growing_orcuckoo.h"

static inline bool removable(const roost_filter *filter)
{
    return roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
}

static inline uint64_t allowance(const roost_filter *filter, uint32_t index)
{
    struct table_plan plan;
    assert_true(series_plan_table(&plan, roost_filter_get_config(filter), as_const_series(filter)->buckets, index));
    return plan.capacity;
}

/* A cuckoo filter that grows is no series: it has one table of prefixes. */
static inline bool is_series(uint64_t number)
{
    return number % SERIES < 2;
}

/* It was one once, and frames of that time are read. */
static inline roost_filter *new_series(const roost_config *config)
{
    roost_filter *filter;
    assert_ok(old_series_new(&filter, config, NULL));
    return filter;
}

/* How full the fullest length is, of what the writers together may add. */
static inline double fullest_length(const roost_filter *filter)
{
    struct budget budget;
    uint64_t counts[MOST_LENGTH + 1];
    double fullest = 0;
    if (removable(filter)) {
        uint64_t room[MOST_LENGTH + 1];
        memcpy(counts, tagged_set_counts(&as_const_growing_orcuckoo(filter)->set, room), sizeof counts);
        budget = shared_of_filter(filter)->budget;
    } else {
        set_counts(&((const struct growing_cuckoo *)filter)->set, counts);
        budget_of(&budget, filter->config);
    }
    for (unsigned length = 0; length <= MOST_LENGTH; length++) {
        uint64_t most = budget.capacity[length] * filter->config->writers;
        assert_true(counts[length] <= most);
        double part = most ? (double)counts[length] / (double)most : 0;
        fullest = part > fullest ? part : fullest;
    }
    return fullest;
}

/* Bloom: no table has got more than it has room for. Cuckoo: no more than the writers together may put there. */
static inline void assert_within_plan(const roost_filter *filter)
{
    if (filter->kind->has_prefixes) {
        assert_true(fullest_length(filter) <= 1);
        return;
    }
    const struct series *series = as_const_series(filter);
    for (uint32_t i = 0; i < series->count; i++) {
        if (filter->config->kind == ROOST_BLOOM)
            assert_true(quota_spent_in(&series->quota, i) <= allowance(filter, i));
        else if (series->tables[i])
            assert_true(series->table_kind->table.elements(series->tables[i]) <=
                        allowance(filter, i) * filter->config->writers);
    }
}

static inline void assert_same_all(roost_filter *a, roost_filter *b)
{
    assert_true(roost_filter_equal(a, b));
    assert_int_equal(order_of(a, b), ROOST_EQUAL);
    assert_same_frame(a, b);
    assert_same_digest(a, b);
}

#endif
