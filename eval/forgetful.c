/*
 * How each figure is run. Elements are random and never repeat; probes are 200,000 elements that were never added, for
 * each repeat. "Simple", "optimised" and "estimate" are the paper's: any filter, pairs of neighbours (Algorithm 2, with
 * the oldest filter asked for every N), Equation 3. "Slots" is Roost's query.
 *
 *     8, 9, 10   basic filter, t = 5 s: elements come evenly within the first two slots, then it is probed. (The paper
 *                does not say how they came. All at once, the two checks err alike; over more slots than two, the
 *                optimised check errs by half as much; its tenth is that of two.)
 *     11         four refresh periods, rates that double, three slots each
 *     12         3, 6, 12 and 24 filters, a rate that rises evenly to 120 a second, 3,000 elements
 *                Equation 3 takes filters for independent. Neighbours have a slot in common, and with more than three
 *                filters that counts: beside it stands the rate that is due when it is taken into account.
 *                Both figures by Equation 3 and measured: probes go on until four hundred were wrong. Where the most
 *                that a form allows would not make ten, nothing is measured.
 *     13         a rate that rises, falls and rises again, with resizing; asked every second. Where all levels are full
 *                additions are refused, and counted; the same load on a window that grows, which refuses none
 *     16         counters before which a forgetful and a recyclable filter stand, of equal memory; operations are
 *                retried within the window, more and more often
 */
#include "forgetful.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "fatal.h"
#include "workload.h"
#include "roost/evaluation.h"

#define PROBES          200000
#define BITS            6250
#define HASHES          5
#define ENOUGH_WRONG    400 /* probes, for a figure within 5 % */
#define FEWEST_WRONG    10
#define LEAST_IN_SAMPLE 0.005 /* a rate that few probes measure */
#define BEGIN           (1000000 * ROOST_SECOND)
#define NO_RESIZING     0.999999 /* a rate that no slot ever reaches */
#define RESIZE_UNDER    0.01     /* Figure 13's target */

static void note(struct forgetful *experiment, unsigned figure, const char *series, double x, double y)
{
    if (experiment->count == MOST_POINTS)
        fatal("forgetful", "too many points");
    experiment->points[experiment->count++] = (struct forgetful_point){figure, series, x, y};
}

static double value_at(const struct forgetful *experiment, unsigned figure, const char *series, double x)
{
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct forgetful_point *point = &experiment->points[i];
        if (point->figure == figure && strcmp(point->series, series) == 0 && fabs(point->x - x) < 1e-9)
            return point->y;
    }
    fatal(series, "no such point");
}

static roost_hash draw(uint64_t *luck)
{
    uint64_t low = next_number(luck);
    return (roost_hash){low, next_number(luck)};
}

static roost_filter *open_window(uint32_t past, double seconds, uint64_t bits, uint32_t probes, double fpr)
{
    roost_filter *window;
    roost_config config = roost_window_config_default(ROOST_WINDOW, (uint64_t)(seconds * 1e6) * (past + 1));
    config.layout = ROOST_CLASSIC;
    config.scalable = false; /* the paper's filters */
    config.past = past;
    config.capacity = 1000;
    config.fpr = fpr;
    config.slot_bits = bits;
    config.slot_probes = probes;
    must(roost_filter_new(&window, &config, NULL), "a window");
    return window;
}

static roost_status try_to_add(roost_filter *window, uint64_t *luck, double seconds)
{
    return roost_window_add_hash(window, NULL, draw(luck), BEGIN + (uint64_t)(seconds * 1e6));
}

static void add(roost_filter *window, uint64_t *luck, double seconds)
{
    must(try_to_add(window, luck, seconds), "an addition");
}

/* The same probes for the same luck. */
static double measure(const roost_filter *window, roost_overlap_query check, uint64_t luck, double seconds)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < PROBES; i++)
        found += roost_overlap_contains_hash(window, check, draw(&luck), BEGIN + (uint64_t)(seconds * 1e6));
    return (double)found / PROBES;
}

static double estimate(const roost_filter *window, roost_overlap_query check, double seconds)
{
    return roost_overlap_estimate_fpr(window, check, BEGIN + (uint64_t)(seconds * 1e6));
}

/* As `measure`, with as many probes as it takes; not a number where that would be too many. */
static double measure_rare(const struct forgetful *experiment, const roost_filter *window, uint64_t luck,
                           double seconds, uint64_t most)
{
    double least = experiment->scale.sample ? LEAST_IN_SAMPLE : FEWEST_WRONG / (double)most;
    uint64_t time = BEGIN + (uint64_t)(seconds * 1e6), wrong = 0, probes = 0;
    if (estimate(window, ROOST_OVERLAP_PAIRS, seconds) < least)
        return NAN;
    for (; probes < most && wrong < ENOUGH_WRONG; probes++)
        wrong += roost_overlap_contains_hash(window, ROOST_OVERLAP_PAIRS, draw(&luck), time);
    return wrong < FEWEST_WRONG ? NAN : (double)wrong / (double)probes;
}

/* ---- Figures 8, 9 and 10 ----------------------------------------------------------------------------------------- */

struct rates {
    double simple, optimised, slots, estimate;
};

/* Points that were not probed, in a sample, are not numbers, and not in the table. */
static struct rates fill_and_probe(uint64_t *luck, unsigned elements, uint64_t bits, bool probed)
{
    roost_filter *window = open_window(1, 5, bits, HASHES, NO_RESIZING);
    for (unsigned i = 0; i < elements; i++)
        add(window, luck, 10.0 * i / elements);
    next_number(luck);
    struct rates rates = {NAN, NAN, NAN, estimate(window, ROOST_OVERLAP_PAIRS, 9.99)};
    if (probed) {
        rates.simple = measure(window, ROOST_OVERLAP_ANY, *luck, 9.99);
        rates.optimised = measure(window, ROOST_OVERLAP_PAIRS, *luck, 9.99);
        rates.slots = measure(window, ROOST_OVERLAP_SLOTS, *luck, 9.99);
    }
    *luck = ~*luck;
    roost_filter_free(window);
    return rates;
}

static struct rates average(const struct forgetful *experiment, uint64_t *luck, unsigned elements, uint64_t bits)
{
    struct rates sum = {0};
    for (unsigned repeat = 0; repeat < experiment->scale.repeats; repeat++) {
        struct rates rates = fill_and_probe(luck, elements, bits, !experiment->scale.sample);
        sum.simple += rates.simple / experiment->scale.repeats;
        sum.optimised += rates.optimised / experiment->scale.repeats;
        sum.slots += rates.slots / experiment->scale.repeats;
        sum.estimate += rates.estimate / experiment->scale.repeats;
    }
    return sum;
}

static void run_checks(struct forgetful *experiment, uint64_t *luck)
{
    for (unsigned elements = 100; elements <= 1000; elements += 100) {
        struct rates rates = average(experiment, luck, elements, BITS);
        note(experiment, 8, "simple", elements, rates.simple);
        note(experiment, 8, "optimised", elements, rates.optimised);
        note(experiment, 8, "slots", elements, rates.slots);
        note(experiment, 9, "measured", elements, rates.optimised);
        note(experiment, 9, "estimate", elements, rates.estimate);
    }
    for (unsigned bits = 5000; bits <= 30000; bits += 5000) {
        struct rates rates = average(experiment, luck, 300, bits);
        note(experiment, 10, "measured", bits, rates.optimised);
        note(experiment, 10, "estimate", bits, rates.estimate);
    }
}

/* ---- Figures 11 and 12 ------------------------------------------------------------------------------------------- */

static void run_refresh(struct forgetful *experiment, uint64_t *luck)
{
    static const struct {
        double seconds;
        const char *name, *measured;
    } periods[] = {{5, "t = 5 s", "t = 5 s measured"},
                   {3, "t = 3 s", "t = 3 s measured"},
                   {2, "t = 2 s", "t = 2 s measured"},
                   {1, "t = 1 s", "t = 1 s measured"}};
    for (unsigned i = 0; i < sizeof periods / sizeof *periods; i++) {
        double period = periods[i].seconds, time = 0;
        uint64_t most = experiment->scale.rare_probes;
        roost_filter *window = open_window(1, period, 25000, HASHES, NO_RESIZING);
        for (double rate = 12.5; rate <= 400; rate *= 2) {
            for (double until = time + 3 * period; time < until - 1e-9; time += 1 / rate)
                add(window, luck, time);
            note(experiment, 11, periods[i].name, rate, estimate(window, ROOST_OVERLAP_PAIRS, time - 1e-3));
            note(experiment, 11, periods[i].measured, rate,
                 measure_rare(experiment, window, ~*luck, time - 1e-3, most));
        }
        roost_filter_free(window);
    }
}

/* Part of the bits that are set by those who came in one slot. */
static double fill(const unsigned *arrivals, int slot)
{
    return slot < 0 ? 0 : -expm1(-(double)HASHES * arrivals[slot] / BITS);
}

/* Filter i is slots i and i - 1. A bit is set in filters i and i - 1 if slot i - 1 has it, which they share, or both
   slots i and i - 2. Bits of the future are all in the present, and whatever the oldest has counts alone. */
static double due_rate(const unsigned *arrivals, int present, int past)
{
    int oldest = present > past ? present - past : 0;
    double right = 1 - pow(fill(arrivals, present), HASHES);
    for (int i = present; i > oldest + 1; i--) {
        double apart = fill(arrivals, i) * fill(arrivals, i - 2);
        right *= 1 - pow(1 - (1 - fill(arrivals, i - 1)) * (1 - apart), HASHES);
    }
    double alone = 1 - (1 - fill(arrivals, oldest)) * (1 - fill(arrivals, oldest - 1));
    return 1 - right * (1 - pow(alone, HASHES));
}

/* At time s the rate is 2.4 s; in 50 seconds that makes 3,000 elements. */
static void run_filters(struct forgetful *experiment, uint64_t *luck)
{
    static const struct {
        uint32_t past;
        const char *name, *due, *measured;
    } sizes[] = {{1, "3 filters", "3 filters due", "3 filters measured"},
                 {4, "6 filters", "6 filters due", "6 filters measured"},
                 {10, "12 filters", "12 filters due", "12 filters measured"},
                 {22, "24 filters", "24 filters due", "24 filters measured"}};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned arrivals[11] = {0};
        uint64_t most = experiment->scale.rare_probes / 10; /* no rate here is as small as there */
        roost_filter *window = open_window(sizes[i].past, 5, BITS, HASHES, NO_RESIZING);
        for (unsigned element = 0, second = 0; element < 3000; element++) {
            double time = sqrt(element / 1.2);
            for (; second + 1 <= time; second++) {
                double now = second + 1 - 1e-3;
                note(experiment, 12, sizes[i].name, 2.4 * (second + 1), estimate(window, ROOST_OVERLAP_PAIRS, now));
                note(experiment, 12, sizes[i].due, 2.4 * (second + 1),
                     due_rate(arrivals, (int)(now / 5), (int)sizes[i].past));
                if ((second + 1) % 3 == 0)
                    note(experiment, 12, sizes[i].measured, 2.4 * (second + 1),
                         measure_rare(experiment, window, ~*luck, now, most));
            }
            add(window, luck, time);
            arrivals[(unsigned)(time / 5)]++;
        }
        roost_filter_free(window);
    }
}

/* ---- Figure 13 --------------------------------------------------------------------------------------------------- */

static double load_at(double time)
{
    return time < 40 ? 10 + 3 * time : time < 70 ? 10 : time < 100 ? 10 + 5 * (time - 70) : time < 130 ? 160 : 10;
}

/* Whether it was refused, for all levels are full. */
static bool is_refused(roost_filter *window, uint64_t *luck, double seconds)
{
    roost_status status = try_to_add(window, luck, seconds);
    if (status != ROOST_FULL)
        must(status, "an addition");
    return status == ROOST_FULL;
}

static void run_resizing(struct forgetful *experiment, uint64_t *luck)
{
    roost_filter *window = open_window(1, 11, BITS, HASHES, RESIZE_UNDER);
    double time = 0;
    for (unsigned second = 1; second <= 200; second++) {
        roost_window_info info;
        unsigned offered = 0, refused = 0;
        for (; time < second; time += 1 / load_at(time), offered++)
            refused += is_refused(window, luck, time);
        roost_window_get_info(window, &info);
        note(experiment, 13, "load", second, load_at(second));
        note(experiment, 13, "offered", second, offered);
        note(experiment, 13, "refused", second, refused);
        note(experiment, 13, "estimate", second, estimate(window, ROOST_OVERLAP_SLOTS, second));
        note(experiment, 13, "measured", second,
             second % 10 || experiment->scale.sample ? NAN : measure(window, ROOST_OVERLAP_SLOTS, ~*luck, second));
        note(experiment, 13, "slots", second, info.slots);
        note(experiment, 13, "shortest slot", second, (double)info.shortest_slot / 1e6);
    }
    roost_filter_free(window);
}

/* The same load on a window that grows, which has to take in all of it. */
static void run_growing(struct forgetful *experiment, uint64_t *luck)
{
    roost_filter *window;
    roost_config config = roost_window_config_default(ROOST_WINDOW, 22 * ROOST_SECOND);
    double time = 0;
    config.past = 1;
    config.capacity = 1000;
    config.fpr = RESIZE_UNDER;
    must(roost_filter_new(&window, &config, NULL), "a window");
    for (unsigned second = 1; second <= 200; second++) {
        for (; time < second; time += 1 / load_at(time))
            add(window, luck, time);
        if (second % 10 == 0 && !experiment->scale.sample)
            note(experiment, 13, "growing measured", second, measure(window, ROOST_OVERLAP_SLOTS, ~*luck, second));
    }
    roost_filter_free(window);
}

/* ---- Figure 16 --------------------------------------------------------------------------------------------------- */

enum { COUNTED = 4000, A_SECOND = 4, MOST_RETRIES = 8 };

/* Attempts in the order of time: each operation once, and again within ten seconds, so often on average. */
struct attempt {
    double time;
    roost_hash hash;
};

static int compare_attempts(const void *a, const void *b)
{
    double x = ((const struct attempt *)a)->time, y = ((const struct attempt *)b)->time;
    return (x > y) - (x < y);
}

static size_t draw_attempts(struct attempt *attempts, uint64_t *luck, double retries)
{
    size_t count = 0;
    for (unsigned i = 0; i < COUNTED; i++) {
        roost_hash hash = draw(luck);
        double time = (double)i / A_SECOND;
        attempts[count++] = (struct attempt){time, hash};
        for (unsigned again = 0; again < MOST_RETRIES; again++)
            if ((double)(next_number(luck) >> 11) * 0x1p-53 < retries / MOST_RETRIES)
                attempts[count++] = (struct attempt){time + 9.9 * (double)(next_number(luck) >> 11) * 0x1p-53, hash};
    }
    qsort(attempts, count, sizeof *attempts, compare_attempts);
    return count;
}

static double error_of(unsigned counted)
{
    return fabs((double)counted - COUNTED) / COUNTED * 100;
}

static double count_forgetful(const struct attempt *attempts, size_t count, roost_overlap_query check)
{
    unsigned counted = 0;
    roost_filter *window = open_window(1, 5, 500, 3, NO_RESIZING);
    for (size_t i = 0; i < count; i++) {
        uint64_t time = BEGIN + (uint64_t)(attempts[i].time * 1e6);
        if (roost_overlap_contains_hash(window, check, attempts[i].hash, time))
            continue;
        must(roost_window_add_hash(window, NULL, attempts[i].hash, time), "an addition");
        counted++;
    }
    roost_filter_free(window);
    return error_of(counted);
}

static double count_recyclable(const struct attempt *attempts, size_t count)
{
    unsigned counted = 0;
    bool seen;
    roost_recyclable *filter;
    must(roost_recyclable_new(&filter, 1500, 3, 0.01, NULL), "a recyclable filter");
    for (size_t i = 0; i < count; i++) {
        must(roost_recyclable_add_hash(filter, &seen, attempts[i].hash), "an addition");
        counted += !seen;
    }
    roost_recyclable_free(filter);
    return error_of(counted);
}

static void run_baseline(struct forgetful *experiment, uint64_t *luck)
{
    struct attempt *attempts = must_allocate(COUNTED * (1 + MOST_RETRIES), sizeof *attempts);
    for (double retries = 0.0625; retries <= MOST_RETRIES; retries *= 2) {
        size_t count = draw_attempts(attempts, luck, retries);
        note(experiment, 16, "forgetful as in the paper", retries * 100,
             count_forgetful(attempts, count, ROOST_OVERLAP_PAIRS));
        note(experiment, 16, "forgetful with slots apart", retries * 100,
             count_forgetful(attempts, count, ROOST_OVERLAP_SLOTS));
        note(experiment, 16, "recyclable", retries * 100, count_recyclable(attempts, count));
    }
    free(attempts);
}

void forgetful_run(struct forgetful *experiment, struct scale scale, uint64_t seed)
{
    uint64_t luck = seed;
    *experiment = (struct forgetful){.scale = scale, .seed = seed};
    if (scale.says_where_it_is)
        fprintf(stderr, "roost-eval: forgetful filters\n");
    run_checks(experiment, &luck);
    run_refresh(experiment, &luck);
    run_filters(experiment, &luck);
    run_resizing(experiment, &luck);
    run_baseline(experiment, &luck);
    run_growing(experiment, &luck); /* last, so that the random numbers of the others stay as they were */
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Where enough probes were wrong to tell: the largest of estimate / measured and its reverse. */
static double worst_ratio(const struct forgetful *experiment, unsigned figure)
{
    double worst = 1, least = 30.0 / (PROBES * experiment->scale.repeats);
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct forgetful_point *point = &experiment->points[i];
        if (point->figure != figure || strcmp(point->series, "measured") != 0 || point->y < least)
            continue;
        double ratio = value_at(experiment, figure, "estimate", point->x) / point->y;
        worst = fmax(worst, fmax(ratio, 1 / ratio));
    }
    return worst;
}

static void claim_checks(const struct forgetful *experiment)
{
    double simple = value_at(experiment, 8, "simple", 300), optimised = value_at(experiment, 8, "optimised", 300);
    double slots = value_at(experiment, 8, "slots", 300);
    claim("Figure 8: the optimised check errs about 90 % less at 300 operations", optimised <= 0.12 * simple,
          "%.2e against %.2e, %.1f %% less; slots apart %.2e", optimised, simple, 100 * (1 - optimised / simple),
          slots);
    claim("Figure 8: slots apart err no more than the optimised check", slots <= optimised, "%.2e against %.2e", slots,
          optimised);
    claim("Figure 9: Equation 3 agrees with what is measured", worst_ratio(experiment, 9) <= 1.6,
          "off by a factor of at most %.2f", worst_ratio(experiment, 9));
    claim("Figure 10: so it does for filters of 5,000 to 30,000 bits", worst_ratio(experiment, 10) <= 1.6,
          "off by a factor of at most %.2f", worst_ratio(experiment, 10));
}

/* Of figures 11 and 12, whose curves have names of their own: the largest of estimate / measured and its reverse. */
static double worst_rare_ratio(const struct forgetful *experiment, unsigned figure, const char *suffix,
                               unsigned *points)
{
    double worst = 1;
    *points = 0;
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct forgetful_point *point = &experiment->points[i];
        const char *end = strstr(point->series, " measured");
        char series[32];
        if (point->figure != figure || !end || isnan(point->y))
            continue;
        snprintf(series, sizeof series, "%.*s%s", (int)(end - point->series), point->series, suffix);
        double ratio = value_at(experiment, figure, series, point->x) / point->y;
        worst = fmax(worst, fmax(ratio, 1 / ratio));
        ++*points;
    }
    return worst;
}

static void claim_measured_knobs(const struct forgetful *experiment)
{
    unsigned points;
    double worst = worst_rare_ratio(experiment, 11, "", &points);
    claim("Figure 11: Equation 3 agrees with what is measured", points >= 4 && worst <= 2,
          "off by a factor of at most %.2f in %u points", worst, points);
    double equation = worst_rare_ratio(experiment, 12, "", &points);
    worst = worst_rare_ratio(experiment, 12, " due", &points);
    claim("Figure 12: measured is what is due when filters share slots", points >= 4 && worst <= 2,
          "off by a factor of at most %.2f in %u points, Equation 3 by %.2f", worst, points, equation);
    double few = value_at(experiment, 12, "3 filters measured", 2.4 * 42),
           many = value_at(experiment, 12, "24 filters measured", 2.4 * 42);
    claim("Figure 12: 3 filters err several times as much as 24, measured", few >= 2 * many,
          "%.2e against %.2e, %.1f times (the paper: 5.5)", few, many, few / many);
}

static void claim_knobs(const struct forgetful *experiment)
{
    claim_measured_knobs(experiment);
    double slow = value_at(experiment, 11, "t = 5 s", 100), fast = value_at(experiment, 11, "t = 1 s", 100);
    claim("Figure 11: a refresh every second errs 1,000 times less than one every 5 s, at 100 operations a second",
          slow >= 1000 * fast, "%.2e against %.2e, %.0f times", slow, fast, slow / fast);
    double few = value_at(experiment, 12, "3 filters", 2.4 * 42),
           many = value_at(experiment, 12, "24 filters", 2.4 * 42);
    claim("Figure 12: 3 filters err several times as much as 24, at 100 operations a second", few >= 2 * many,
          "%.2e against %.2e, %.1f times (the paper: 5.5)", few, many, few / many);
}

static double most_of(const struct forgetful *experiment, unsigned figure, const char *series, double sign)
{
    double most = -INFINITY;
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct forgetful_point *point = &experiment->points[i];
        if (point->figure == figure && strcmp(point->series, series) == 0 && !isnan(point->y))
            most = fmax(most, sign * point->y);
    }
    return sign * most;
}

static double sum_of(const struct forgetful *experiment, unsigned figure, const char *series)
{
    double sum = 0;
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct forgetful_point *point = &experiment->points[i];
        if (point->figure == figure && strcmp(point->series, series) == 0)
            sum += point->y;
    }
    return sum;
}

static void claim_resizing(const struct forgetful *experiment)
{
    double offered = sum_of(experiment, 13, "offered"), refused = sum_of(experiment, 13, "refused");
    double estimated = most_of(experiment, 13, "estimate", 1), measured = most_of(experiment, 13, "measured", 1);
    double slots = most_of(experiment, 13, "slots", 1), shortest = most_of(experiment, 13, "shortest slot", -1);
    double end = value_at(experiment, 13, "shortest slot", 200);
    claim("Figure 13: the rate stays under its target while the load rises and falls",
          estimated <= RESIZE_UNDER && measured <= RESIZE_UNDER * 1.1,
          "at most %.4f estimated, %.4f measured, target %.2f", estimated, measured, RESIZE_UNDER);
    claim("Figure 13: for that, one addition in a hundred is refused at most", refused <= offered / 100, "%.0f of %.0f",
          refused, offered);
    claim("Figure 13: a window that grows refuses none, and stays under the target as well",
          most_of(experiment, 13, "growing measured", 1) <= RESIZE_UNDER, "at most %.4f measured",
          most_of(experiment, 13, "growing measured", 1));
    claim("Figure 13: slots follow the load", slots >= 6 && shortest < 11 && end == 11,
          "up to %.0f slots, the shortest %.3g s; at the end of %.3g s again", slots, shortest, end);
}

static void claim_baseline(const struct forgetful *experiment)
{
    double forgetful = most_of(experiment, 16, "forgetful as in the paper", 1);
    double slots = most_of(experiment, 16, "forgetful with slots apart", 1),
           recyclable = most_of(experiment, 16, "recyclable", 1);
    double spread = forgetful - most_of(experiment, 16, "forgetful as in the paper", -1);
    claim("Figure 16: the error of a counter with a forgetful filter stays as retries grow", spread <= 1.5,
          "at most %.2f %%, by %.2f; slots apart at most %.2f %%", forgetful, spread, slots);
    claim("Figure 16: that of one with a recyclable filter explodes", recyclable >= 10 * forgetful,
          "%.2f %% at eight retries each, %.2f %% with a forgetful one", recyclable, forgetful);
}

void forgetful_claims(const struct forgetful *experiment)
{
    claim_checks(experiment);
    claim_knobs(experiment);
    claim_resizing(experiment);
    claim_baseline(experiment);
}

void forgetful_write_table(const struct forgetful *experiment, FILE *csv)
{
    fprintf(csv, "figure,series,x,y\n");
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct forgetful_point *point = &experiment->points[i];
        if (!isnan(point->y))
            fprintf(csv, "%u,%s,%.10g,%.6g\n", point->figure, point->series, point->x, point->y);
    }
}
