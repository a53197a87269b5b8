/*
 * Elements that collide, in a multiset of 32-bit entries (ORCF4) that several replicas hold. At the same time each
 * replica removes one of them; then all merge.
 *
 *     apart   each removes another element (thesis, Figure 3.4b). It is wrong if two take the same entry: then one
 *             entry more is left than there are elements. Equation 3.19 is the chance for random picks.
 *     same    all remove the same element (Figure 3.4a). It is wrong if no entry is left, since the others are there.
 *
 * Rules: a random entry, as in the thesis (here by roost_filter_remove_dot, of one of the dots); the smallest dot,
 * which is roost_filter_remove_one; the dot of the element itself. All run on real filters.
 */
#include "parallel_picks.h"

#include <math.h>

#include "claim.h"
#include "class_theory.h"
#include "environment.h"
#include "fatal.h"
#include "grow_only.h"
#include "workload.h"

#define SLOTS           64
#define MOST_DEVIATIONS 4.5

static const char *const course_names[PICK_COURSES] = {"each another element", "all the same element"};
static const char *const rule_names[PICK_RULES] = {"random entry", "smallest dot", "own dot"};

struct collision {
    roost_filter *filter; /* with one entry of each */
    unsigned entries;
    roost_hash hashes[MOST_PICKED];
    roost_dot dots[MOST_PICKED];
};

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static roost_hash draw(uint64_t *luck)
{
    uint64_t low = next_number(luck);
    return (roost_hash){low, next_number(luck)};
}

/* The first, and others that the filter takes for it. */
static void collision_open(struct collision *collision, unsigned entries, uint64_t *entropy, uint64_t *luck)
{
    roost_config config = thesis_orcuckoo(SLOTS);
    roost_environment environment = seeded_environment(entropy, *luck);
    collision->entries = entries;
    must(roost_filter_new(&collision->filter, &config, &environment), "replica");
    for (unsigned found = 0; found < entries;) {
        roost_hash hash = draw(luck);
        if (found > 0 && !roost_filter_contains_hash(collision->filter, hash))
            continue;
        must(roost_filter_add_dot_hash(collision->filter, &collision->dots[found], hash), "add");
        collision->hashes[found++] = hash;
    }
}

static void remove_one(roost_filter *replica, const struct collision *collision, enum pick_rule rule, unsigned element,
                       uint64_t *luck)
{
    unsigned pick = rule == PICK_RANDOM ? (unsigned)(next_number(luck) % collision->entries) : element;
    roost_hash hash = collision->hashes[pick];
    if (rule == PICK_SMALLEST)
        must(roost_filter_remove_one_hash(replica, NULL, hash), "remove");
    else
        must(roost_filter_remove_dot_hash(replica, NULL, hash, collision->dots[pick]), "remove of a dot");
}

/* Entries that are left after `removers` replicas have removed and merged. */
static uint64_t entries_left(const struct collision *collision, enum pick_course course, enum pick_rule rule,
                             unsigned removers, uint64_t *luck)
{
    roost_filter *all, *replica;
    unsigned first = (unsigned)(next_number(luck) % collision->entries);
    must(roost_filter_clone(collision->filter, &all), "replica");
    for (unsigned i = 0; i < removers; i++) {
        unsigned element = (first + (course == PICK_SAME ? 0 : i)) % collision->entries;
        must(roost_filter_clone(collision->filter, &replica), "replica");
        remove_one(replica, collision, rule, element, luck);
        must(roost_filter_merge(all, NULL, replica), "merge");
        roost_filter_free(replica);
    }
    uint64_t left = roost_filter_count_hash(all, collision->hashes[0]);
    roost_filter_free(all);
    return left;
}

static double expected(enum pick_course course, enum pick_rule rule, unsigned removers, unsigned entries)
{
    if (rule == PICK_RANDOM)
        return course == PICK_SAME ? all_picked(removers, entries) : same_pick(removers, entries);
    return rule == PICK_SMALLEST && course == PICK_APART ? 1 : 0;
}

static struct pick_cell run_cell(enum pick_course course, enum pick_rule rule, unsigned removers, unsigned entries,
                                 uint64_t trials, uint64_t seed)
{
    struct collision collision;
    uint64_t entropy, luck = seed ^ (uint64_t)(entries * 64 + removers) << 32;
    struct pick_cell cell = {entries, removers, trials, 0, expected(course, rule, removers, entries)};
    collision_open(&collision, entries, &entropy, &luck);
    for (uint64_t trial = 0; trial < trials; trial++) {
        uint64_t left = entries_left(&collision, course, rule, removers, &luck);
        cell.wrong += course == PICK_SAME ? left == 0 : left > entries - removers;
    }
    roost_filter_free(collision.filter);
    return cell;
}

/* The rules without chance need few trials. A sample has the classes of two entries. */
static void run_rule(struct parallel_picks *experiment, enum pick_course course, enum pick_rule rule, uint64_t seed)
{
    unsigned most = experiment->scale.sample ? FEWEST_PICKED : MOST_PICKED, count = 0;
    uint64_t trials = rule == PICK_RANDOM ? experiment->scale.picks : experiment->scale.picks / 16;
    for (unsigned entries = FEWEST_PICKED; entries <= most; entries++)
        for (unsigned removers = FEWEST_PICKED; removers <= (course == PICK_SAME ? MOST_PICKED : entries); removers++)
            experiment->cells[course][rule][count++] = run_cell(course, rule, removers, entries, trials, seed);
    experiment->counts[course] = count;
}

void parallel_picks_run(struct parallel_picks *experiment, struct scale scale, uint64_t seed)
{
    *experiment = (struct parallel_picks){.scale = scale};
    if (scale.says_where_it_is)
        fprintf(stderr, "roost-eval: removes of colliding elements at the same time\n");
    for (int course = 0; course < PICK_COURSES; course++)
        for (int rule = 0; rule < PICK_RULES; rule++)
            run_rule(experiment, course, rule, seed);
}

/* ---- claims and table -------------------------------------------------------------------------------------------- */

static double measured(const struct pick_cell *cell)
{
    return (double)cell->wrong / (double)cell->trials;
}

/* Where both are possible, in standard deviations; elsewhere any difference is too much. */
static double deviations(const struct pick_cell *cell)
{
    double due = cell->expected, off = fabs(measured(cell) - due), trials = (double)cell->trials;
    return off == 0 ? 0 : off / sqrt(due * (1 - due) / trials);
}

static void claim_random(const struct parallel_picks *experiment, enum pick_course course, const char *name)
{
    double worst = 0, least = 1, most = 0;
    for (unsigned i = 0; i < experiment->counts[course]; i++) {
        const struct pick_cell *cell = &experiment->cells[course][PICK_RANDOM][i];
        worst = fmax(worst, deviations(cell));
        least = fmin(least, measured(cell));
        most = fmax(most, measured(cell));
    }
    claim(name, worst <= MOST_DEVIATIONS,
          "%.2f standard deviations off at most in %u classes of %llu trials, chances from %.4f to %.4f", worst,
          experiment->counts[course], (unsigned long long)experiment->cells[course][PICK_RANDOM][0].trials, least,
          most);
}

static void claim_rule(const struct parallel_picks *experiment, enum pick_course course, enum pick_rule rule,
                       const char *name)
{
    uint64_t trials = 0, wrong = 0;
    double due = 0;
    for (unsigned i = 0; i < experiment->counts[course]; i++) {
        const struct pick_cell *cell = &experiment->cells[course][rule][i];
        trials += cell->trials;
        wrong += cell->wrong;
        due += cell->expected * (double)cell->trials;
    }
    claim(name, (double)wrong == due, "%llu of %llu trials, %.0f expected", (unsigned long long)wrong,
          (unsigned long long)trials, due);
}

void parallel_picks_claims(const struct parallel_picks *experiment)
{
    claim_random(experiment, PICK_APART, "Equation 3.19: removers that pick at random take the same entry as often");
    claim_random(experiment, PICK_SAME, "Figure 3.4a: removers that pick at random leave no entry as often as theory");
    claim_rule(experiment, PICK_APART, PICK_SMALLEST, "Figure 3.4b: removers of the smallest dot take the same entry");
    claim_rule(experiment, PICK_SAME, PICK_SMALLEST, "Figure 3.4a: removers of the smallest dot hide nothing");
    claim_rule(experiment, PICK_APART, PICK_OWN, "Figure 3.4b: removers of their own dot never take the same entry");
    claim_rule(experiment, PICK_SAME, PICK_OWN, "Figure 3.4a: removers of the element's dot hide nothing");
}

void parallel_picks_write_table(const struct parallel_picks *experiment, FILE *csv)
{
    fprintf(csv, "removes,rule,entries,removers,trials,wrong,measured,expected\n");
    for (int course = 0; course < PICK_COURSES; course++)
        for (int rule = 0; rule < PICK_RULES; rule++)
            for (unsigned i = 0; i < experiment->counts[course]; i++) {
                const struct pick_cell *cell = &experiment->cells[course][rule][i];
                fprintf(csv, "%s,%s,%u,%u,%llu,%llu,%.6f,%.6f\n", course_names[course], rule_names[rule], cell->entries,
                        cell->removers, (unsigned long long)cell->trials, (unsigned long long)cell->wrong,
                        measured(cell), cell->expected);
            }
}
