/*
 * The filters of Figure 6.1a,b,c, and a plain set beside them.
 *
 *     filters     Bloom, classic, five probes; Bloom, blocked, of the same promise; cuckoo, four slots of eight bits,
 *                 grow-only, and observed-remove in the thesis's narrow entries, where each add makes an entry
 *
 * The cuckoo table is to have as many slots as there are keys. A Roost filter is sized by its capacity, which is what
 * its table holds at a load of 95.3 %, or 90.5 % if it is an observed-remove one, so that is the capacity that is asked
 * for; adds go on beyond it until one is refused.
 */
#include "grow_only.h"

#include <stdlib.h>

#include "gzip.h"
#include "repeats.h"
#include "thesis.h"

static const char *const contender_names[CONTENDERS] = {"GBF5", "GBF5 blocked", "GCF4", "ORCF4"};

/* ---- configurations ---------------------------------------------------------------------------------------------- */

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

const struct cell *split_cell(const struct panel *panel)
{
    return &panel->results[panel->scale.intervals];
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void measure_coding(struct set_sizes *sizes, const struct grow_set *whole, const struct grow_set *merged,
                           enum grow_set_coding coding, bool gzips)
{
    struct set_frame frame = grow_set_encode(whole, coding), other = grow_set_encode(merged, coding);
    sizes->bytes[coding] = frame.size;
    sizes->gzipped[coding] = gzips ? gzipped_size(frame.bytes, frame.size) : 0;
    sizes->merge_agrees &= same_frames(frame, other);
    sizes->frames_return &= grow_set_frame_holds(frame, whole);
    free(frame.bytes);
    free(other.bytes);
}

static struct set_sizes measure_sets(const struct workload *workload, bool gzips)
{
    struct grow_set whole = grow_set_of(workload->keys, workload->count, 0, 1);
    struct grow_set even = grow_set_of(workload->keys, workload->count, 0, 2);
    struct grow_set odd = grow_set_of(workload->keys, workload->count, 1, 2);
    struct grow_set merged = grow_set_merged(&even, &odd);
    struct set_sizes sizes = {.elements = whole.count, .merge_agrees = true, .frames_return = true};
    measure_coding(&sizes, &whole, &merged, SET_RAW, gzips);
    measure_coding(&sizes, &whole, &merged, SET_RICE, gzips);
    grow_set_release(&whole);
    grow_set_release(&even);
    grow_set_release(&odd);
    grow_set_release(&merged);
    return sizes;
}

static void open_panel(struct grow_only *experiment, enum contender contender, roost_config config)
{
    panel_open(&experiment->panels[contender], contender_names[contender], config, experiment->scale);
}

static void run_repeat(void *context, unsigned repeat)
{
    struct grow_only *experiment = context;
    const struct scale *scale = &experiment->scale;
    struct workload workload;
    workload_draw(&workload, experiment->seed + ((uint64_t)repeat << 32), scale->keys, scale->fresh_keys);
    for (int contender = 0; contender < CONTENDERS; contender++)
        if (!scale->sample || contender == GCF) /* the others are in other samples */
            panel_run(&experiment->panels[contender], repeat, &workload);
    if (!scale->sample)
        experiment->sets[repeat] = measure_sets(&workload, scale->gzips);
    workload_release(&workload);
}

void grow_only_run(struct grow_only *experiment, struct scale scale, uint64_t seed)
{
    scale.repeats = scale.sample ? 1 : scale.repeats;
    *experiment = (struct grow_only){.scale = scale, .seed = seed};
    open_panel(experiment, GBF_CLASSIC, bloom_config(scale.keys, ROOST_CLASSIC));
    open_panel(experiment, GBF_BLOCKED, bloom_config(scale.keys, ROOST_BLOCKED));
    open_panel(experiment, GCF, cuckoo_config(scale.keys));
    open_panel(experiment, ORCF, thesis_orcuckoo(scale.keys));
    run_repeats(run_repeat, experiment, scale.repeats, scale.at_once);
}
