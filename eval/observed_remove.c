/*
 * Runs each observed-remove filter, and a plain set, through each workload, and keeps what came out.
 *
 *     workloads   100 %, 80 %, 51 % adds, the rest removes of random elements that the replica holds
 *     places      all local; half of it at each of two replicas, each with its own keys, then one merge
 *     repeats     other keys, other orders; the same for all structures
 *
 * ORCF4 has as many slots as there are operations, as in the thesis, and with adds alone it is filled until it refuses.
 * The default filter has the number of operations as its capacity, and takes them all.
 */
#include "observed_remove.h"

#include <stdlib.h>

#include "grow_only.h"
#include "gzip.h"

const unsigned add_shares[SHARES] = {100, 80, 51};
const char *const place_names[PLACES] = {"all local", "50-50 split"};
const char *const removing_names[REMOVING_CONTENDERS] = {"ORCF4", "ORCF default"};

static roost_config default_orcuckoo(size_t operations)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.capacity = operations;
    return config;
}

static void draw_scripts(struct script scripts[2], uint64_t seed, size_t operations, unsigned share, enum place place)
{
    size_t first = place == PLACE_LOCAL ? operations : operations / 2;
    script_draw(&scripts[0], seed ^ 3, 0, first, share);
    script_draw(&scripts[1], seed ^ 4, first, operations - first, share);
}

static uint64_t measure_frame(struct dotted_sizes *sizes, const struct observed_remove_set *set,
                              enum dotted_coding coding, bool gzips)
{
    struct set_frame frame = observed_remove_set_encode(set, coding);
    uint64_t bytes = frame.size;
    sizes->gzipped[coding == DOTTED_CODED] = gzips ? gzipped_size(frame.bytes, frame.size) : 0;
    sizes->frames_return &= observed_remove_set_frame_holds(frame, set);
    free(frame.bytes);
    return bytes;
}

static struct dotted_sizes measure_set(const struct workload *workload, const struct script scripts[2], bool gzips)
{
    uint64_t state = workload->seed, actor = next_number(&state), other = next_number(&state);
    struct observed_remove_set first = observed_remove_set_of(workload->keys, &scripts[0], actor);
    struct observed_remove_set second = observed_remove_set_of(workload->keys, &scripts[1], other);
    struct observed_remove_set merged = observed_remove_set_merged(&first, &second);
    struct dotted_sizes sizes = {.elements = merged.count, .frames_return = true};
    sizes.raw = measure_frame(&sizes, &merged, DOTTED_RAW, gzips);
    sizes.coded = measure_frame(&sizes, &merged, DOTTED_CODED, gzips);
    observed_remove_set_release(&first);
    observed_remove_set_release(&second);
    observed_remove_set_release(&merged);
    return sizes;
}

static void run_cell(struct observed_remove *experiment, unsigned share, enum place place, unsigned repeat,
                     const struct workload *workload)
{
    struct removing_cell *cell = &experiment->cells[share][place];
    struct script scripts[2];
    bool gzips = experiment->scale.gzips || share == SHARES - 1; /* the last are the smallest */
    draw_scripts(scripts, workload->seed, experiment->scale.operations, add_shares[share], place);
    for (int contender = 0; contender < REMOVING_CONTENDERS; contender++)
        cell->outcomes[contender][repeat] =
            replica_pair_play(&experiment->configs[contender], workload, scripts, gzips);
    cell->sets[repeat] = measure_set(workload, scripts, experiment->scale.gzips);
    script_release(&scripts[0]);
    script_release(&scripts[1]);
}

void observed_remove_run(struct observed_remove *experiment, struct scale scale, uint64_t seed)
{
    *experiment = (struct observed_remove){.scale = scale};
    experiment->configs[ORCF_THESIS] = thesis_orcuckoo(scale.operations);
    experiment->configs[ORCF_DEFAULT] = default_orcuckoo(scale.operations);
    for (unsigned repeat = 0; repeat < scale.operation_repeats; repeat++) {
        struct workload workload;
        if (scale.says_where_it_is)
            fprintf(stderr, "roost-eval: repeat %u of %u: adds and removes\n", repeat + 1, scale.operation_repeats);
        workload_draw(&workload, seed + ((uint64_t)repeat << 32), scale.operations, scale.fresh_keys);
        for (unsigned share = 0; share < SHARES; share++)
            for (int place = 0; place < PLACES; place++)
                run_cell(experiment, share, place, repeat, &workload);
        workload_release(&workload);
    }
}

struct spread removing_spread(const struct observed_remove *experiment, const struct removing_cell *cell,
                              enum removing_contender contender, measure *quantity)
{
    return spread_over(cell->outcomes[contender], experiment->scale.operation_repeats, quantity);
}
