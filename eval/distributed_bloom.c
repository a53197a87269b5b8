/*
 * Sections 3.2 and 3.3 of the paper: 50 participants, ten random neighbours each, 1,000 elements, of which each has 200
 * at random; filters that err half the time. In a round every participant contacts each of its neighbours, in turn. A
 * network stops when everybody has everything; those without a number for the round also when a round has changed
 * nothing, since every later one would be the same.
 *
 *     first experiment     filters for 1,000 elements, whatever a set holds (fixed m)
 *     second experiment    for the larger of the two sets (changing m)
 *
 * Networks of one number are alike in elements, sets and neighbours; only mapping and course differ.
 *
 *     in turn      contacts follow each other, and both sides learn: Roost's contact
 *     at once      everybody sends to its neighbours at the same time, by what it had when the round began, and both
 *                  sides learn: all messages with elements are made before any is taken
 *     one way      the same, but only who receives a filter learns, from its sender
 *
 * The paper says that each node sends to its neighbours during an iteration; not whether all do so at the same time. A
 * filter shows its receiver both what it lacks and what the sender lacks (its Figure 3); who learns in the experiments
 * the paper does not say either.
 *
 * Beside the paper's methods stands the exact one (roost/reconcile.h): in each contact both learn what they lack, and
 * elements follow with a byte for their length, as in gossip.
 */
#include "distributed_bloom.h"

#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "fatal.h"
#include "workload.h"

enum {
    NEIGHBOURS = 10,
    ELEMENTS = 1000,
    OWN = 200,
    ELEMENT_BYTES = 32,
};

static const char *const mapping_names[GOSSIP_COURSES][GOSSIP_MAPPINGS] = {
    {"standard", "pair", "pair and round"},
    {"standard at once", "pair at once", "pair and round at once"},
    {"standard one way", "pair one way", "pair and round one way"},
};
static const roost_mapping mappings[GOSSIP_MAPPINGS] = {ROOST_ONE_MAPPING, ROOST_PAIR_MAPPING, ROOST_ROUND_MAPPING};
static const char *const sizing_names[GOSSIP_SIZINGS] = {"fixed m", "changing m"};

struct network {
    uint8_t elements[ELEMENTS][ELEMENT_BYTES];
    bool has[PARTICIPANTS][ELEMENTS]; /* at the start, and in the exact method later on */
    roost_gossip *participants[PARTICIPANTS];
    uint64_t ids[PARTICIPANTS];
    unsigned neighbours[PARTICIPANTS][NEIGHBOURS];
    unsigned held[ELEMENTS]; /* by how many at the start */
    unsigned whole;          /* elements that anybody holds: once in seventy networks one is nobody's */
};

/* ---- one network ------------------------------------------------------------------------------------------------- */

/* `count` different numbers below `limit`, none of them `except`. */
static void draw_different(uint64_t *luck, unsigned *numbers, unsigned count, unsigned limit, unsigned except)
{
    for (unsigned drawn = 0; drawn < count;) {
        unsigned number = (unsigned)(next_number(luck) % limit);
        bool fits = number != except;
        for (unsigned i = 0; i < drawn; i++)
            fits &= numbers[i] != number;
        numbers[drawn] = number;
        drawn += fits;
    }
}

static void give_elements(struct network *network, unsigned participant, uint64_t *luck)
{
    unsigned own[OWN];
    draw_different(luck, own, OWN, ELEMENTS, ELEMENTS);
    for (unsigned i = 0; i < OWN; i++) {
        must(roost_gossip_add(network->participants[participant], NULL, network->elements[own[i]], ELEMENT_BYTES),
             "element");
        network->has[participant][own[i]] = true;
        network->whole += network->held[own[i]]++ == 0;
    }
}

static void network_open(struct network *network, uint64_t seed, roost_mapping mapping, bool fixed)
{
    uint64_t luck = seed;
    *network = (struct network){0};
    for (unsigned i = 0; i < ELEMENTS; i++)
        for (unsigned word = 0; word < ELEMENT_BYTES / 8; word++) {
            uint64_t number = next_number(&luck);
            memcpy(network->elements[i] + word * 8, &number, sizeof number);
        }
    for (unsigned i = 0; i < PARTICIPANTS; i++) {
        roost_gossip_config config = roost_gossip_config_default();
        config.id = network->ids[i] = next_number(&luck);
        config.mapping = mapping;
        config.expected = fixed ? ELEMENTS : 0;
        must(roost_gossip_new(&network->participants[i], &config, NULL), "participant");
        give_elements(network, i, &luck);
        draw_different(&luck, network->neighbours[i], NEIGHBOURS, PARTICIPANTS, i);
    }
}

static void network_close(struct network *network)
{
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        roost_gossip_free(network->participants[i]);
}

static void meet(struct network *network, struct gossip_run *run, uint64_t *learnt, unsigned from, unsigned to,
                 unsigned round)
{
    roost_gossip *sides[2] = {network->participants[from], network->participants[to]};
    roost_buffer message, reply;
    must(roost_gossip_begin(sides[0], &message, network->ids[to], round), "contact");
    run->contacts++;
    for (unsigned turn = 1; message.size > 0; turn ^= 1) {
        uint64_t more;
        run->overhead_bytes += message.size;
        must(roost_gossip_receive(sides[turn], &reply, &more, message.data, message.size), "message");
        roost_buffer_release(&message);
        message = reply;
        *learnt += more;
    }
}

/* ---- rounds at once ---------------------------------------------------------------------------------------------- */

/* The message with which `to` learns from `from`; it has the filter of `from` as well, which is as large as the one
   before it. With changing m a message with the size goes before. */
static roost_buffer answer_of(struct network *network, struct gossip_run *run, unsigned from, unsigned to,
                              unsigned round, bool fixed)
{
    roost_gossip *sender = network->participants[from], *receiver = network->participants[to];
    roost_buffer size, offer, answer;
    if (fixed) {
        must(roost_gossip_begin(receiver, &offer, network->ids[from], round), "filter");
    } else {
        must(roost_gossip_begin(sender, &size, network->ids[to], round), "size");
        must(roost_gossip_receive(receiver, &offer, NULL, size.data, size.size), "filter");
        run->overhead_bytes += size.size;
        roost_buffer_release(&size);
    }
    must(roost_gossip_receive(sender, &answer, NULL, offer.data, offer.size), "elements");
    run->contacts++;
    run->overhead_bytes += offer.size;
    run->element_bytes += answer.size - offer.size;
    roost_buffer_release(&offer);
    return answer;
}

static uint64_t take_answer(roost_gossip *participant, roost_buffer *answer)
{
    uint64_t learnt;
    roost_buffer unsent;
    must(roost_gossip_receive(participant, &unsent, &learnt, answer->data, answer->size), "elements");
    roost_buffer_release(answer);
    roost_buffer_release(&unsent);
    return learnt;
}

static uint64_t send_at_once(struct network *network, struct gossip_run *run, bool fixed, bool both_learn)
{
    static roost_buffer there[PARTICIPANTS][NEIGHBOURS], back[PARTICIPANTS][NEIGHBOURS];
    uint64_t learnt = 0;
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        for (unsigned j = 0; j < NEIGHBOURS; j++) {
            there[i][j] = answer_of(network, run, i, network->neighbours[i][j], run->rounds, fixed);
            if (both_learn)
                back[i][j] = answer_of(network, run, network->neighbours[i][j], i, run->rounds, fixed);
        }
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        for (unsigned j = 0; j < NEIGHBOURS; j++) {
            learnt += take_answer(network->participants[network->neighbours[i][j]], &there[i][j]);
            if (both_learn)
                learnt += take_answer(network->participants[i], &back[i][j]);
        }
    return learnt;
}

/* ---- courses ----------------------------------------------------------------------------------------------------- */

/* A filter never lacks what its owner has, so whatever is sent is new to the receiver: elements are counted as they are
   learnt, and what is left of the messages is filters, headers and checksums. */
static uint64_t meet_all(struct network *network, struct gossip_run *run)
{
    uint64_t learnt = 0;
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        for (unsigned j = 0; j < NEIGHBOURS; j++)
            meet(network, run, &learnt, i, network->neighbours[i][j], run->rounds);
    run->element_bytes += learnt * (ELEMENT_BYTES + 1);
    run->overhead_bytes -= learnt * (ELEMENT_BYTES + 1);
    return learnt;
}

static unsigned count_converged(const struct network *network, struct gossip_run *run)
{
    unsigned converged = 0;
    for (unsigned i = 0; i < PARTICIPANTS; i++) {
        bool whole = roost_gossip_get_cardinality(network->participants[i]) == network->whole;
        converged += whole;
        if (whole && run->whole_by[i] == 0)
            run->whole_by[i] = run->rounds;
    }
    return converged;
}

static int compare_numbers(const void *a, const void *b)
{
    const unsigned *first = a, *second = b;
    return (*first > *second) - (*first < *second);
}

static double median_of_others(const struct network *network)
{
    unsigned sizes[PARTICIPANTS], others = 0;
    for (unsigned i = 0; i < PARTICIPANTS; i++) {
        sizes[others] = (unsigned)roost_gossip_get_cardinality(network->participants[i]);
        others += sizes[others] < network->whole;
    }
    qsort(sizes, others, sizeof *sizes, compare_numbers);
    return others ? (sizes[(others - 1) / 2] + sizes[others / 2]) / 2.0 : 0;
}

static void run_network(struct gossip_run *run, uint64_t seed, roost_mapping mapping, bool fixed,
                        enum gossip_course course)
{
    struct network network;
    uint64_t learnt = 1;
    network_open(&network, seed, mapping, fixed);
    *run = (struct gossip_run){0};
    while (run->rounds < MOST_GOSSIP_ROUND && run->converged < PARTICIPANTS &&
           (learnt > 0 || mapping == ROOST_ROUND_MAPPING)) {
        run->rounds++;
        learnt = course == GOSSIP_IN_TURN ? meet_all(&network, run)
                                          : send_at_once(&network, run, fixed, course == GOSSIP_AT_ONCE);
        run->converged = run->converged_by[run->rounds] = count_converged(&network, run);
    }
    for (unsigned round = run->rounds + 1; round <= MOST_GOSSIP_ROUND; round++)
        run->converged_by[round] = run->converged;
    run->median = median_of_others(&network);
    network_close(&network);
}

/* ---- the same with exact reconciliation -------------------------------------------------------------------------- */

/* Instead of the operating system's, so that a network comes out the same each time. */
static bool draw_salt(void *context, void *bytes, size_t size)
{
    uint64_t number = next_number(context);
    memset(bytes, 0, size);
    memcpy(bytes, &number, size < sizeof number ? size : sizeof number);
    return true;
}

/* `numbers` are those of the elements in the order in which the session got them. */
static void add_elements(const struct network *network, roost_reconcile *session, unsigned participant,
                         unsigned numbers[ELEMENTS])
{
    unsigned added = 0;
    for (unsigned i = 0; i < ELEMENTS; i++) {
        if (!network->has[participant][i])
            continue;
        must(roost_reconcile_add(session, network->elements[i], ELEMENT_BYTES, 1), "element");
        numbers[added++] = i;
    }
}

/* What is only with the one is sent to the other; answers how many that are. */
static uint64_t hand_over(struct network *network, const roost_reconcile *session, unsigned to,
                          const unsigned numbers[ELEMENTS])
{
    roost_difference differences[ELEMENTS];
    uint64_t count = roost_reconcile_get_result(session).only_here;
    roost_reconcile_get_differences(session, differences);
    for (uint64_t i = 0; i < count; i++)
        network->has[to][numbers[differences[i].index]] = true;
    return count;
}

static uint64_t meet_exactly(struct network *network, struct gossip_run *run, unsigned from, unsigned to,
                             uint64_t *luck)
{
    roost_environment environment = {.entropy = {luck, draw_salt}};
    roost_reconcile *sides[2];
    roost_buffer message, reply;
    unsigned numbers[2][ELEMENTS];
    must(roost_reconcile_new_initiator(&sides[0], NULL, &environment), "reconciliation");
    add_elements(network, sides[0], from, numbers[0]);
    must(roost_reconcile_next(sides[0], &message, NULL, 0), "opening");
    must(roost_reconcile_new_responder(&sides[1], message.data, message.size, &environment), "answer");
    add_elements(network, sides[1], to, numbers[1]);
    for (unsigned turn = 1; message.size > 0; turn ^= 1) {
        run->overhead_bytes += message.size;
        must(roost_reconcile_next(sides[turn], &reply, message.data, message.size), "message");
        roost_buffer_release(&message);
        message = reply;
    }
    run->contacts++;
    uint64_t sent = hand_over(network, sides[0], to, numbers[0]) + hand_over(network, sides[1], from, numbers[1]);
    roost_reconcile_free(sides[0]);
    roost_reconcile_free(sides[1]);
    return sent;
}

static unsigned count_exactly_converged(const struct network *network)
{
    unsigned converged = 0;
    for (unsigned i = 0; i < PARTICIPANTS; i++) {
        unsigned count = 0;
        for (unsigned element = 0; element < ELEMENTS; element++)
            count += network->has[i][element];
        converged += count == network->whole;
    }
    return converged;
}

static void run_exactly(struct gossip_run *run, uint64_t seed)
{
    static struct network network;
    uint64_t sent = 0, luck = seed;
    network_open(&network, seed, ROOST_ROUND_MAPPING, false);
    *run = (struct gossip_run){0};
    while (run->rounds < MOST_GOSSIP_ROUND && run->converged < PARTICIPANTS) {
        run->rounds++;
        for (unsigned i = 0; i < PARTICIPANTS; i++)
            for (unsigned j = 0; j < NEIGHBOURS; j++)
                sent += meet_exactly(&network, run, i, network.neighbours[i][j], &luck);
        run->converged = count_exactly_converged(&network);
    }
    run->element_bytes = sent * (ELEMENT_BYTES + 1);
    network_close(&network);
}

/* ---- all networks ------------------------------------------------------------------------------------------------ */

static void run_all_exactly(struct distributed_bloom *experiment, struct scale scale, uint64_t seed)
{
    if (scale.says_where_it_is)
        fprintf(stderr, "roost-eval: gossip: exact\n");
    for (unsigned network = 0; network < scale.networks; network++)
        run_exactly(&experiment->exact[network], seed + network);
}

/* Rounds at once take longest: short forms have few of them, in one network, and a sample one. */
static unsigned networks_of(struct scale scale, enum gossip_course course, int sizing, roost_mapping mapping)
{
    if (course == GOSSIP_IN_TURN || scale.networks == MOST_NETWORKS)
        return scale.networks;
    if (scale.sample)
        return course == GOSSIP_AT_ONCE && sizing == 0 && mapping == ROOST_PAIR_MAPPING;
    return sizing == 0 && mapping == (course == GOSSIP_AT_ONCE ? ROOST_PAIR_MAPPING : ROOST_ROUND_MAPPING);
}

static void run_course(struct distributed_bloom *experiment, struct scale scale, enum gossip_course course)
{
    for (int sizing = 0; sizing < GOSSIP_SIZINGS; sizing++)
        for (int mapping = 0; mapping < GOSSIP_MAPPINGS; mapping++) {
            unsigned networks = networks_of(scale, course, sizing, mappings[mapping]);
            if (scale.says_where_it_is)
                fprintf(stderr, "roost-eval: gossip: %s, %s\n", sizing_names[sizing], mapping_names[course][mapping]);
            experiment->counts[course][sizing][mapping] = networks;
            for (unsigned network = 0; network < networks; network++)
                run_network(&experiment->runs[course][sizing][mapping][network], experiment->seed + network,
                            mappings[mapping], sizing == 0, course);
        }
}

void distributed_bloom_run(struct distributed_bloom *experiment, struct scale scale, uint64_t seed)
{
    *experiment = (struct distributed_bloom){.networks = scale.networks, .seed = seed};
    run_course(experiment, scale, GOSSIP_IN_TURN);
    run_course(experiment, scale, GOSSIP_AT_ONCE);
    run_course(experiment, scale, GOSSIP_ONE_WAY);
    run_all_exactly(experiment, scale, seed);
}

/* ---- claims and tables ------------------------------------------------------------------------------------------- */

struct tally {
    unsigned least, most, rounds;
    double mean, overhead;
};

static struct tally tally_runs(const struct gossip_run *runs, unsigned networks)
{
    struct tally tally = {.least = PARTICIPANTS};
    for (unsigned i = 0; i < networks; i++) {
        const struct gossip_run *run = &runs[i];
        tally.least = run->converged < tally.least ? run->converged : tally.least;
        tally.most = run->converged > tally.most ? run->converged : tally.most;
        tally.rounds = run->rounds > tally.rounds ? run->rounds : tally.rounds;
        tally.mean += (double)run->converged / networks;
        tally.overhead += (double)run->overhead_bytes / networks;
    }
    return tally;
}

static struct tally tally(const struct distributed_bloom *experiment, enum gossip_course course, int sizing,
                          int mapping)
{
    return tally_runs(experiment->runs[course][sizing][mapping], experiment->counts[course][sizing][mapping]);
}

static const char *const claimed[GOSSIP_COURSES] = {"gossip", "gossip at once", "gossip one way"};

/* The paper: fixed m, nobody; changing m, 18 of 50. With rounds at once more of them converge. */
static void claim_standard(const struct distributed_bloom *experiment, enum gossip_course course, int sizing)
{
    char name[96];
    struct tally standard = tally(experiment, course, sizing, 0), pair = tally(experiment, course, sizing, 1);
    double behind = course == GOSSIP_IN_TURN ? 10 : 2;
    if (experiment->counts[course][sizing][0] == 0)
        return;
    snprintf(name, sizeof name, "%s, %s: standard filters leave participants behind", claimed[course],
             sizing_names[sizing]);
    bool holds = standard.mean <= pair.mean - behind;
    claim(name, sizing == 0 ? standard.most == 0 : holds,
          "%u to %u of %u converge, mean %.1f, in %u networks (the paper: %s)", standard.least, standard.most,
          PARTICIPANTS, standard.mean, experiment->counts[course][sizing][0], sizing == 0 ? "none" : "18");
}

static void claim_distributed(const struct distributed_bloom *experiment, enum gossip_course course, int sizing,
                              int mapping, unsigned least)
{
    char name[96];
    struct tally found = tally(experiment, course, sizing, mapping);
    if (experiment->counts[course][sizing][mapping] == 0)
        return;
    snprintf(name, sizeof name, "%s, %s: a mapping for each %s", claimed[course], sizing_names[sizing],
             mapping_names[GOSSIP_IN_TURN][mapping]);
    claim(name, found.least >= least,
          "at least %u of %u converge in every one of %u networks, %u wanted; %u rounds at most", found.least,
          PARTICIPANTS, experiment->counts[course][sizing][mapping], least, found.rounds);
}

static void claim_exact(const struct distributed_bloom *experiment)
{
    struct tally exact = tally_runs(experiment->exact, experiment->networks),
                 filters = tally(experiment, GOSSIP_IN_TURN, 1, 2);
    claim("gossip: with exact reconciliation nobody is left", exact.least == PARTICIPANTS,
          "at least %u of %u converge, rounds: %u at most, for %.0f bytes beside the elements; filters with changing "
          "m, "
          "pair and round: %.0f",
          exact.least, PARTICIPANTS, exact.rounds, exact.overhead, filters.overhead);
}

/* One way a participant has half as many others to learn from: each element that it lacks in the end is hidden by the
   filters of all of them. */
void distributed_bloom_claims(const struct distributed_bloom *experiment)
{
    static const unsigned least[GOSSIP_COURSES] = {47, 47, 20};
    for (int course = 0; course < GOSSIP_COURSES; course++)
        for (int sizing = 0; sizing < GOSSIP_SIZINGS; sizing++) {
            claim_standard(experiment, course, sizing);
            claim_distributed(experiment, course, sizing, 1, least[course]);
            claim_distributed(experiment, course, sizing, 2, PARTICIPANTS);
        }
    claim_exact(experiment);
}

static void write_row(FILE *csv, const char *method, const char *sizes, unsigned network, const struct gossip_run *run)
{
    fprintf(csv, "%s,%s,%u,%u,%u,%.1f,%llu,%llu,%llu\n", method, sizes, network, run->rounds, run->converged,
            run->median, (unsigned long long)run->contacts, (unsigned long long)run->overhead_bytes,
            (unsigned long long)run->element_bytes);
}

static void write_course(const struct distributed_bloom *experiment, enum gossip_course course, FILE *csv)
{
    for (int sizing = 0; sizing < GOSSIP_SIZINGS; sizing++)
        for (int mapping = 0; mapping < GOSSIP_MAPPINGS; mapping++)
            for (unsigned i = 0; i < experiment->counts[course][sizing][mapping]; i++)
                write_row(csv, mapping_names[course][mapping], sizing_names[sizing], i,
                          &experiment->runs[course][sizing][mapping][i]);
}

void distributed_bloom_write_table(const struct distributed_bloom *experiment, FILE *csv)
{
    fprintf(csv, "method,sizes,network,rounds,converged,median_of_others,contacts,overhead_bytes,element_bytes\n");
    write_course(experiment, GOSSIP_IN_TURN, csv);
    for (unsigned i = 0; i < experiment->networks; i++)
        write_row(csv, "exact", "no filters", i, &experiment->exact[i]);
    write_course(experiment, GOSSIP_AT_ONCE, csv);
    write_course(experiment, GOSSIP_ONE_WAY, csv);
}

static void write_curve(const struct distributed_bloom *experiment, int course, int sizing, int mapping, FILE *csv)
{
    unsigned networks = experiment->counts[course][sizing][mapping], last = course == GOSSIP_IN_TURN ? 6 : 12;
    for (unsigned round = 0; round <= last && networks > 0; round++) {
        unsigned least = PARTICIPANTS, most = 0, sum = 0;
        for (unsigned i = 0; i < networks; i++) {
            unsigned converged = experiment->runs[course][sizing][mapping][i].converged_by[round];
            least = converged < least ? converged : least;
            most = converged > most ? converged : most;
            sum += converged;
        }
        fprintf(csv, "%s,%s,%u,%.2f,%u,%u\n", mapping_names[course][mapping], sizing_names[sizing], round,
                (double)sum / networks, least, most);
    }
}

void distributed_bloom_write_curves(const struct distributed_bloom *experiment, FILE *csv)
{
    fprintf(csv, "method,sizes,round,converged_mean,converged_min,converged_max\n");
    for (int course = 0; course < GOSSIP_COURSES; course++)
        for (int sizing = 0; sizing < GOSSIP_SIZINGS; sizing++)
            for (int mapping = 0; mapping < GOSSIP_MAPPINGS; mapping++)
                write_curve(experiment, course, sizing, mapping, csv);
}

void distributed_bloom_write_participants(const struct distributed_bloom *experiment, FILE *csv)
{
    fprintf(csv, "method,sizes,participant,whole_by_round\n");
    for (int course = 0; course < GOSSIP_COURSES; course++)
        for (int sizing = 0; sizing < GOSSIP_SIZINGS; sizing++)
            for (int mapping = 0; mapping < GOSSIP_MAPPINGS; mapping++)
                for (unsigned i = 0; i < PARTICIPANTS; i++)
                    fprintf(csv, "%s,%s,%u,%u\n", mapping_names[course][mapping], sizing_names[sizing], i,
                            experiment->runs[course][sizing][mapping][0].whole_by[i]);
}

void distributed_bloom_write_neighbours(const struct distributed_bloom *experiment, FILE *csv)
{
    static struct network network;
    network_open(&network, experiment->seed, ROOST_ROUND_MAPPING, false);
    fprintf(csv, "participant,neighbour\n");
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        for (unsigned j = 0; j < NEIGHBOURS; j++)
            fprintf(csv, "%u,%u\n", i, network.neighbours[i][j]);
    network_close(&network);
}
