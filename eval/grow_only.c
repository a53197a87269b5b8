/*
 * Runs each filter through each schedule, repeat after repeat, and keeps what came out; claims and tables read it
 * there.
 *
 *     filters     Bloom, classic, five probes; Bloom, blocked, of the same promise; cuckoo, four slots of eight bits,
 *                 grow-only, and observed-remove in the thesis's narrow entries, where each add makes an entry
 *     schedules   all local; 50-50, 80-20 and 99-1, each merged every so many operations
 *     repeats     other keys, other fresh keys, other random choices; the same for every cell of one repeat
 *
 * The cuckoo table is to have as many slots as there are keys. A Roost filter is sized by its capacity, which is what
 * its table holds at a load of 95.3 %, or 90.5 % if it is an observed-remove one, so that is the capacity that is asked
 * for; adds go on beyond it until one is refused.
 */
#include "grow_only.h"

#include <stdlib.h>
#include <string.h>

#include "thesis.h"

static const unsigned shares[SPLITS] = {50, 80, 99};

const char *const contender_names[CONTENDERS] = {"GBF5", "GBF5 blocked", "GCF4", "ORCF4"};

/* ---- configurations and schedules -------------------------------------------------------------------------------- */

static roost_config bloom_config(size_t keys, roost_layout layout)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_BLOOM;
    config.layout = layout;
    config.capacity = keys;
    config.fpr = THESIS_FPR;
    return config;
}

static roost_config cuckoo_config(size_t keys)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.capacity = keys * 953 / 1000;
    config.fpr = 0;
    config.fingerprint_bits = THESIS_FINGERPRINT_BITS;
    config.bucket_size = THESIS_BUCKET_SIZE;
    return config;
}

roost_config thesis_orcuckoo(size_t keys)
{
    roost_config config = cuckoo_config(keys);
    config.kind = ROOST_ORCUCKOO;
    config.capacity = keys * 905 / 1000;
    config.entry_bits = THESIS_ENTRY_BITS;
    config.multiset = true;
    return config;
}

static void list_schedules(struct grow_only *experiment, enum contender contender)
{
    struct cell *cell = experiment->results[contender];
    *cell++ = (struct cell){.schedule = {ALL_LOCAL, ONLY_AT_THE_END}};
    for (unsigned split = 0; split < SPLITS; split++) {
        uint64_t every = experiment->scale.first_interval;
        for (unsigned i = 0; i < experiment->scale.intervals; i++, every *= 10)
            *cell++ = (struct cell){.schedule = {shares[split], every}};
    }
    experiment->cells = (unsigned)(cell - experiment->results[contender]);
}

void split_name(char name[16], struct schedule schedule)
{
    if (schedule.first_share == ALL_LOCAL)
        strcpy(name, "all local");
    else
        snprintf(name, 16, "%u-%u", schedule.first_share % 100, 100 - schedule.first_share % 100);
}

const struct cell *split_cell(const struct grow_only *experiment, enum contender contender)
{
    return &experiment->results[contender][experiment->scale.intervals];
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void measure_coding(struct set_sizes *sizes, const struct grow_set *whole, const struct grow_set *merged,
                           enum grow_set_coding coding)
{
    struct set_frame frame = grow_set_encode(whole, coding), other = grow_set_encode(merged, coding);
    sizes->bytes[coding] = frame.size;
    sizes->merge_agrees &= same_frames(frame, other);
    sizes->frames_return &= grow_set_frame_holds(frame, whole);
    free(frame.bytes);
    free(other.bytes);
}

static struct set_sizes measure_sets(const struct workload *workload)
{
    struct grow_set whole = grow_set_of(workload->keys, workload->count, 0, 1);
    struct grow_set even = grow_set_of(workload->keys, workload->count, 0, 2);
    struct grow_set odd = grow_set_of(workload->keys, workload->count, 1, 2);
    struct grow_set merged = grow_set_merged(&even, &odd);
    struct set_sizes sizes = {.elements = whole.count, .merge_agrees = true, .frames_return = true};
    measure_coding(&sizes, &whole, &merged, SET_RAW);
    measure_coding(&sizes, &whole, &merged, SET_RICE);
    grow_set_release(&whole);
    grow_set_release(&even);
    grow_set_release(&odd);
    grow_set_release(&merged);
    return sizes;
}

static void run_repeat(struct grow_only *experiment, unsigned repeat, const struct workload *workload)
{
    for (int contender = 0; contender < CONTENDERS; contender++) {
        if (experiment->scale.says_where_it_is)
            fprintf(stderr, "roost-eval: repeat %u of %u: %s\n", repeat + 1, experiment->scale.repeats,
                    contender_names[contender]);
        for (unsigned i = 0; i < experiment->cells; i++) {
            struct cell *cell = &experiment->results[contender][i];
            cell->outcomes[repeat] = replica_pair_run(&experiment->configs[contender], workload, cell->schedule);
        }
    }
    experiment->sets[repeat] = measure_sets(workload);
}

void grow_only_run(struct grow_only *experiment, struct scale scale, uint64_t seed)
{
    *experiment = (struct grow_only){.scale = scale};
    experiment->configs[GBF_CLASSIC] = bloom_config(scale.keys, ROOST_CLASSIC);
    experiment->configs[GBF_BLOCKED] = bloom_config(scale.keys, ROOST_BLOCKED);
    experiment->configs[GCF] = cuckoo_config(scale.keys);
    experiment->configs[ORCF] = thesis_orcuckoo(scale.keys);
    for (int contender = 0; contender < CONTENDERS; contender++)
        list_schedules(experiment, contender);
    for (unsigned repeat = 0; repeat < scale.repeats; repeat++) {
        struct workload workload;
        workload_draw(&workload, seed + ((uint64_t)repeat << 32), scale.keys, scale.fresh_keys);
        run_repeat(experiment, repeat, &workload);
        workload_release(&workload);
    }
}

struct spread spread_of(const struct grow_only *experiment, const struct cell *cell, measure *quantity)
{
    return spread_over(cell->outcomes, experiment->scale.repeats, quantity);
}
