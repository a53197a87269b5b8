/*
 * Figure 14. Ten servers, three of which hold the counter. A client sends each operation to any of the ten, for any of
 * the three. Some answers are lost, and the client tries again, with the same id: at the same replica; at another one,
 * after the first attempt has arrived there; and, rarely, at another one that has not heard of it, which counts twice
 * and is reported as such. Now and then the replica is killed with -9 when it was asked, before it has looked or after
 * it has stored the operation, which is then tried again at its successor. Beside it, a counter without a window.
 *
 * The year. Three replicas with clocks of their own, off by up to half a slot. Messages are whole states, lost,
 * doubled, and delivered late; each replica is cut off for days at a time; each crashes and goes on from what it had
 * stored, which is always what it had answered for. Operations are retried as above, within the window less what clocks
 * may differ.
 */
#include "counting.h"

#include <math.h>
#include <stdlib.h>

#include "claim.h"
#include "environment.h"
#include "fatal.h"
#include "server.h"
#include "workload.h"

#define BEGIN    (1700000000 * ROOST_SECOND)
#define SERVERS  10
#define REPLICAS 3

static unsigned below(uint64_t *luck, unsigned bound)
{
    return (unsigned)((next_number(luck) >> 32) * bound >> 32);
}

/* ---- Figure 14 --------------------------------------------------------------------------------------------------- */

struct client {
    struct cluster cluster;
    struct counting *experiment;
    uint64_t luck, time;
};

static void send_operation(struct client *client, unsigned replica, uint64_t id)
{
    struct request request = {REQUEST_OPERATION, replica, id, client->time += 10000};
    cluster_ask(&client->cluster, below(&client->luck, SERVERS), request);
}

static void pull(struct client *client, unsigned to, unsigned from)
{
    cluster_ask(&client->cluster, to, (struct request){.type = REQUEST_PULL, .target = from});
}

static void pull_all(struct client *client)
{
    for (unsigned to = 0; to < REPLICAS; to++)
        for (unsigned from = 0; from < REPLICAS; from++)
            if (to != from)
                pull(client, to, from);
}

/* Six in a hundred replies are lost; one of these operations is retried at a replica that has not seen it. */
static void perform(struct client *client, uint64_t id)
{
    unsigned replica = below(&client->luck, REPLICAS), other = (replica + 1 + below(&client->luck, 2)) % REPLICAS;
    unsigned fate = below(&client->luck, 200);
    send_operation(client, replica, id);
    if (fate < 5) {
        send_operation(client, replica, id);
        client->experiment->retries_here++;
    } else if (fate < 10) {
        pull(client, other, replica);
        send_operation(client, other, id);
        client->experiment->retries_after_merge++;
    } else if (fate < 12) {
        send_operation(client, other, id);
        client->experiment->retries_unmerged++;
    }
}

static void perform_with_kill(struct client *client, uint64_t id)
{
    unsigned replica = below(&client->luck, REPLICAS);
    struct request request = {REQUEST_APPLY, 0, id, client->time += 10000};
    cluster_kill_asked(&client->cluster, replica, request, client->experiment->kills % 2);
    send_operation(client, replica, id);
    client->experiment->kills++;
}

static void look(struct client *client, unsigned point, unsigned done)
{
    struct counting *experiment = client->experiment;
    pull_all(client);
    experiment->replicas_agree = true;
    experiment->final_attempts = 0;
    for (unsigned i = 0; i < REPLICAS; i++) {
        struct reply reply = cluster_ask(&client->cluster, i, (struct request){.type = REQUEST_STATE});
        experiment->replicas_agree &= i == 0 || reply.value == experiment->final_value;
        experiment->final_value = reply.value;
        experiment->final_attempts += reply.attempts;
    }
    experiment->points[point].expected = done;
    experiment->points[point].value = experiment->final_value;
    experiment->points[point].due_twice = experiment->retries_unmerged;
    experiment->points[point].without = experiment->final_attempts;
}

static void run_cluster(struct counting *experiment, uint64_t seed)
{
    struct client client = {.experiment = experiment, .luck = seed, .time = BEGIN};
    roost_config config = roost_window_config_default(ROOST_COUNTER, 60 * ROOST_SECOND);
    config.capacity = 10000;
    cluster_open(&client.cluster, SERVERS, &config);
    unsigned chunk = experiment->operations / FIGURE_POINTS;
    for (unsigned id = 0; id < experiment->operations; id++) {
        if (id % (experiment->operations / 5) == chunk / 2)
            perform_with_kill(&client, id);
        else
            perform(&client, id);
        if ((id + 1) % chunk == 0 && (id + 1) / chunk <= FIGURE_POINTS)
            look(&client, (id + 1) / chunk - 1, id + 1);
    }
    pull_all(&client);
    cluster_close(&client.cluster);
}

/* ---- the year ---------------------------------------------------------------------------------------------------- */

#define HOUR          (3600 * ROOST_SECOND)
#define WINDOW        (2 * HOUR)
#define MOST_SKEW     (WINDOW / 4 / 2) /* half a slot */
#define RETRY_WITHIN  (WINDOW - 2 * MOST_SKEW)
#define PROMISED      1e-3
#define A_DAY         1000 /* operations */
#define LATE_MESSAGES 4

struct replica {
    roost_filter *counter;
    roost_environment environment;
    uint64_t entropy;
    int64_t skew;
    uint64_t cut_off_until;
    roost_buffer late[LATE_MESSAGES]; /* states that are still on their way from here */
};

struct year {
    struct counting *experiment;
    struct replica replicas[REPLICAS];
    uint64_t luck, now;
};

static uint64_t clock_of(const struct year *year, unsigned replica)
{
    return (uint64_t)((int64_t)year->now + year->replicas[replica].skew);
}

static void open_replicas(struct year *year, uint64_t seed)
{
    roost_config config = roost_window_config_default(ROOST_COUNTER, WINDOW);
    config.capacity = 100;
    config.fpr = PROMISED;
    for (unsigned i = 0; i < REPLICAS; i++) {
        struct replica *replica = &year->replicas[i];
        replica->environment = seeded_environment(&replica->entropy, seed + i);
        replica->skew = (int64_t)below(&year->luck, 2 * (unsigned)(MOST_SKEW / 1000)) * 1000 - (int64_t)MOST_SKEW;
        must(roost_filter_new(&replica->counter, &config, &replica->environment), "a counter");
    }
}

static bool increment(struct year *year, unsigned replica, uint64_t id)
{
    bool applied;
    must(roost_counter_increment(year->replicas[replica].counter, &applied, NULL, &id, sizeof id, 1,
                                 clock_of(year, replica)),
         "an increment");
    return applied;
}

/* Goes on from its bytes, as the same replica. */
static void crash(struct year *year, struct replica *replica)
{
    roost_buffer frame, identity;
    must(roost_filter_encode(replica->counter, &frame), "a frame");
    must(roost_filter_save_replica(replica->counter, &identity), "a replica");
    roost_filter_free(replica->counter);
    must(roost_filter_decode(&replica->counter, frame.data, frame.size, &replica->environment), "a frame");
    must(roost_filter_restore_replica(replica->counter, identity.data, identity.size), "a replica");
    roost_buffer_release(&frame);
    roost_buffer_release(&identity);
    year->experiment->year_crashes++;
}

static bool can_talk(const struct year *year, unsigned a, unsigned b)
{
    return year->now >= year->replicas[a].cut_off_until && year->now >= year->replicas[b].cut_off_until;
}

/* Sends a state: an old one in its place, or none, or twice. */
static void send_state(struct year *year, unsigned from, unsigned to)
{
    struct replica *sender = &year->replicas[from];
    roost_buffer *late = &sender->late[below(&year->luck, LATE_MESSAGES)];
    unsigned fate = below(&year->luck, 10);
    year->experiment->year_messages++;
    if (!can_talk(year, from, to) || fate < 3) {
        year->experiment->year_lost++;
        return;
    }
    if (fate == 3 && late->data)
        must(roost_filter_merge_frame(year->replicas[to].counter, NULL, late->data, late->size), "an old state");
    roost_buffer_release(late);
    must(roost_filter_encode(sender->counter, late), "a frame");
    for (unsigned times = fate == 4 ? 0 : fate == 5 ? 2 : 1; times > 0; times--)
        must(roost_filter_merge_frame(year->replicas[to].counter, NULL, late->data, late->size), "a state");
}

/* Within the window: at the same replica, or at another one once the first attempt is known to be there. */
static void retry(struct year *year, unsigned replica, uint64_t id)
{
    unsigned other = (replica + 1) % REPLICAS;
    uint64_t then = year->now;
    year->now += below(&year->luck, 1000) * (RETRY_WITHIN / 1000);
    if (below(&year->luck, 2) && can_talk(year, replica, other)) {
        must(roost_filter_merge(year->replicas[other].counter, NULL, year->replicas[replica].counter), "a merge");
        replica = other;
    }
    increment(year, replica, id);
    year->experiment->year_retries++;
    year->now = then;
}

static void live_a_step(struct year *year, uint64_t id)
{
    unsigned replica = below(&year->luck, REPLICAS);
    year->now += below(&year->luck, 2000) * (24 * HOUR / A_DAY / 1000);
    increment(year, replica, id);
    if (below(&year->luck, 4) == 0)
        retry(year, replica, id);
    if (below(&year->luck, 3000) == 0)
        year->replicas[below(&year->luck, REPLICAS)].cut_off_until = year->now + below(&year->luck, 72) * HOUR;
    if (below(&year->luck, 50) == 0)
        crash(year, &year->replicas[below(&year->luck, REPLICAS)]);
    unsigned from = below(&year->luck, REPLICAS);
    send_state(year, from, (from + 1 + below(&year->luck, REPLICAS - 1)) % REPLICAS);
}

static void meet(struct year *year)
{
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < REPLICAS; i++)
            must(roost_filter_merge(year->replicas[i].counter, NULL, year->replicas[(i + 1) % REPLICAS].counter),
                 "a merge");
}

static void run_year(struct counting *experiment, uint64_t seed)
{
    struct year year = {.experiment = experiment, .luck = ~seed, .now = BEGIN};
    open_replicas(&year, seed);
    for (uint64_t end = BEGIN + experiment->days * 24 * HOUR; year.now < end;)
        live_a_step(&year, experiment->year_operations++);
    meet(&year);
    experiment->year_agrees = true;
    for (unsigned i = 0; i < REPLICAS; i++) {
        int64_t value;
        must(roost_counter_get_value(year.replicas[i].counter, &value), "a value");
        experiment->year_agrees &= i == 0 || value == experiment->year_value;
        experiment->year_value = value;
        roost_filter_free(year.replicas[i].counter);
        for (unsigned j = 0; j < LATE_MESSAGES; j++)
            roost_buffer_release(&year.replicas[i].late[j]);
    }
    double mean = PROMISED * (double)experiment->year_operations;
    experiment->year_bound = mean + 4 * sqrt(mean);
}

void counting_run(struct counting *experiment, struct scale scale, uint64_t seed)
{
    *experiment = (struct counting){.operations = scale.counted, .days = scale.days};
    if (scale.says_where_it_is)
        fprintf(stderr, "roost-eval: counters\n");
    run_cluster(experiment, seed);
    run_year(experiment, seed);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

void counting_claims(const struct counting *experiment)
{
    int64_t expected = (int64_t)experiment->operations + experiment->retries_unmerged;
    double error =
        100.0 * (double)(experiment->final_attempts - (int64_t)experiment->operations) / experiment->operations;
    claim("Figure 14: with a window, each operation counts once", experiment->final_value == expected,
          "%u operations, %u retries at the same replica, %u at another after a merge, %u kills; value %lld",
          experiment->operations, experiment->retries_here, experiment->retries_after_merge, experiment->kills,
          (long long)experiment->final_value);
    claim("Figure 14: retries where nobody has heard of the first attempt are all that counts twice",
          experiment->replicas_agree && experiment->retries_unmerged > 0, "%u of them; the replicas %s",
          experiment->retries_unmerged, experiment->replicas_agree ? "agree" : "differ");
    claim("Figure 14: without a window the counter is about 6 % off", error > 3 && error < 10, "%.1f %%", error);
    int64_t missing = (int64_t)experiment->year_operations - experiment->year_value;
    claim("a year of a counter: never too much", missing >= 0 && experiment->year_agrees,
          "%llu operations in %u days, %llu retries, %llu of %llu messages lost, %llu crashes; %lld",
          (unsigned long long)experiment->year_operations, experiment->days,
          (unsigned long long)experiment->year_retries, (unsigned long long)experiment->year_lost,
          (unsigned long long)experiment->year_messages, (unsigned long long)experiment->year_crashes,
          (long long)experiment->year_value);
    claim("a year of a counter: too little by no more than the error rate", (double)missing <= experiment->year_bound,
          "%lld missing, at most %.0f for a rate of %g", (long long)missing, experiment->year_bound, PROMISED);
}

void counting_write_table(const struct counting *experiment, FILE *csv)
{
    fprintf(csv, "operations,with_window,due_twice,without\n");
    for (unsigned i = 0; i < FIGURE_POINTS; i++)
        fprintf(csv, "%lld,%lld,%lld,%lld\n", (long long)experiment->points[i].expected,
                (long long)experiment->points[i].value, (long long)experiment->points[i].due_twice,
                (long long)experiment->points[i].without);
}
