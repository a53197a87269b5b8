/*
 * The paper's own query of a window (section III-D) and its estimate of the error rate (section IV), for comparison.
 *
 * Its filters overlap: filter i is the union of what came in slot i and slot i - 1. Here they are read off the slots,
 * bit by bit; slots of finer levels count for the slot of length t that they lie in. At a time in slot c the filters
 * are c + 1 (future), c (present), c - 1 to c - N (past).
 *
 * Algorithm 2, optimised check. An element that came in slot s is in filters s and s + 1, so two neighbours must have
 * it; the oldest one stands alone, since its other neighbour is gone. As printed the algorithm ends after the loop over
 * the past where N > 1, and never looks at the oldest filter alone: elements of its older slot, which the paper
 * promises to keep, are forgotten one t early. Here it is looked at for every N.
 *
 * The present goes with the future as a pair that is sound, too, where the paper asks the future alone. It changes no
 * answer: all that is in the future went to the present as well, so its bits are included.
 *
 * Equation 3 takes filters for independent. Of the pair present and future only the future counts, for the reason just
 * given; other neighbours share a slot, so that the estimate is on the low side.
 */
#include "forgetful.h"
#include "roost/evaluation.h"

#include <assert.h>
#include <math.h>

static uint64_t period_of(const struct window *window, uint64_t time)
{
    return time / window->slot_length;
}

/* Whether the slots of periods i and i - 1 together have all these bits. */
static bool filter_has(const struct window *window, uint64_t period, const uint64_t *positions, uint32_t count)
{
    for (uint32_t bit = 0; bit < count; bit++) {
        bool set = false;
        for (uint32_t i = 0; i < window->count && !set; i++) {
            uint64_t where = period_of(window, window->slots[i].start);
            set = (where == period || where + 1 == period) && bloom_has_bit(window->slots[i].bits, positions[bit]);
        }
        if (!set)
            return false;
    }
    return true;
}

/* From the future down to the oldest past; early in time there are fewer. */
static uint64_t oldest_filter(const struct window *window, uint64_t present)
{
    return present > window->base.config->past ? present - window->base.config->past : 0;
}

static bool any_filter_has(const struct window *window, const uint64_t *positions, uint32_t count, uint64_t present)
{
    for (uint64_t i = present + 1; i + 1 > oldest_filter(window, present); i--) {
        if (filter_has(window, i, positions, count))
            return true;
        if (i == 0)
            break;
    }
    return false;
}

static bool pair_has(const struct window *window, const uint64_t *positions, uint32_t count, uint64_t present)
{
    uint64_t oldest = oldest_filter(window, present);
    bool newer = filter_has(window, present + 1, positions, count);
    for (uint64_t i = present; i + 1 > oldest; i--) {
        bool older = filter_has(window, i, positions, count);
        if ((newer && older) || (older && i == oldest))
            return true;
        newer = older;
        if (i == 0)
            break;
    }
    return false;
}

bool roost_overlap_contains_hash(const roost_filter *filter, roost_overlap_query check, roost_hash hash, uint64_t time)
{
    assert(is_window(filter));
    const struct window *window = as_const_window(filter);
    uint64_t positions[MOST_PROBES], present = period_of(window, window_time(window, time));
    if (check == ROOST_OVERLAP_SLOTS || window_grows(window))
        return window_holds(window, hash, time);
    if (window->count == 0)
        return false;
    uint32_t count = bloom_positions(window->slots[0].bits, positions, hash);
    return check == ROOST_OVERLAP_PAIRS ? pair_has(window, positions, count, present)
                                        : any_filter_has(window, positions, count, present);
}

/* ---- estimates ------------------------------------------------------------------------------------------------- */

static double held_by(const struct slot *slot)
{
    return slot->held_is_known ? (double)slot->held : bloom_elements(slot->bits);
}

/* Equation 1, for one of the paper's filters. */
static double filter_rate(const struct window *window, uint64_t period)
{
    double elements = 0;
    for (uint32_t i = 0; i < window->count; i++) {
        uint64_t where = period_of(window, window->slots[i].start);
        if (where == period || where + 1 == period)
            elements += held_by(&window->slots[i]);
    }
    return bloom_rate(window->base.config->layout, window->geometry, elements);
}

/* Equation 3. */
static double pairs_rate(const struct window *window, uint64_t present)
{
    uint64_t oldest = oldest_filter(window, present);
    double right = 1 - filter_rate(window, present + 1);
    for (uint64_t i = present; i > oldest; i--)
        right *= 1 - filter_rate(window, i) * filter_rate(window, i - 1);
    return 1 - right * (1 - filter_rate(window, oldest));
}

static double any_rate(const struct window *window, uint64_t present)
{
    double right = 1;
    for (uint64_t i = present + 1; i > oldest_filter(window, present); i--)
        right *= 1 - filter_rate(window, i);
    return 1 - right * (1 - filter_rate(window, oldest_filter(window, present)));
}

static double slots_rate(const struct window *window, uint64_t time)
{
    double right = 1;
    for (uint32_t i = 0; i < window->count; i++)
        if (is_remembered(window, &window->slots[i], time))
            right *= 1 - bloom_rate(window->base.config->layout, window->geometry, held_by(&window->slots[i]));
    return 1 - right;
}

double roost_overlap_estimate_fpr(const roost_filter *filter, roost_overlap_query check, uint64_t time)
{
    assert(is_window(filter));
    const struct window *window = as_const_window(filter);
    time = window_time(window, time);
    if (window_grows(window))
        return ldexp((double)window->recent.live, -(int)window->recent.bits);
    if (check == ROOST_OVERLAP_SLOTS)
        return slots_rate(window, time);
    uint64_t present = period_of(window, time);
    return check == ROOST_OVERLAP_PAIRS ? pairs_rate(window, present) : any_rate(window, present);
}
