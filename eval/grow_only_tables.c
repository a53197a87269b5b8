/*
 * The results as CSV: kept in the repository, so that a change shows in review, and read by the gnuplot scripts.
 *
 * Each row is a cell; `_mean`, `_min` and `_max` are over its repeats. Rates and loads are fractions. Where a column
 * makes no sense for a filter it is empty.
 */
#include "grow_only.h"

#include "thesis.h"

/* ---- Figure 6.1 -------------------------------------------------------------------------------------------------- */

static void write_bloom_theory(FILE *csv)
{
    fprintf(csv, ",,%.6f,", THESIS_FPR);
}

static void write_cuckoo_theory(const struct panel *panel, const struct cell *cell, FILE *csv)
{
    fprintf(csv, ",%.6f,%.6f,%.6f", panel_spread(panel, cell, cuckoo_expected_fpr).mean,
            panel_spread(panel, cell, cuckoo_bound).mean, panel_spread(panel, cell, cuckoo_bound_by_entries).mean);
}

static void write_loads(const struct panel *panel, const struct cell *cell, FILE *csv)
{
    fprintf(csv, ",%.6f,%.6f", panel_spread(panel, cell, load_by_elements).mean,
            panel_spread(panel, cell, load_by_entries).mean);
}

static void write_cell(const struct panel *panel, bool cuckoo, const struct cell *cell, FILE *csv)
{
    panel_write_cell(panel, cell, csv);
    if (cuckoo)
        write_cuckoo_theory(panel, cell, csv);
    else
        write_bloom_theory(csv);
    write_spread(csv, panel_spread(panel, cell, elements), 1);
    write_spread(csv, panel_spread(panel, cell, entries), 1);
    if (cuckoo)
        write_loads(panel, cell, csv);
    else
        fprintf(csv, ",,");
    write_spread(csv, panel_spread(panel, cell, overflow), 1);
    fprintf(csv, ",%.0f", panel_spread(panel, cell, buckets_at_the_end).most);
    panel_write_faults(panel, cell, csv);
}

void grow_only_write_figure(const struct grow_only *experiment, FILE *csv)
{
    fprintf(csv, "filter,split,sync_every,repeats,fpr_mean,fpr_min,fpr_max,fpr_exact,fpr_bound,fpr_bound_by_entries,"
                 "elements_mean,elements_min,elements_max,entries_mean,entries_min,entries_max,"
                 "load_by_elements,load_by_entries,overflow_mean,overflow_min,overflow_max,buckets_max,"
                 "false_negatives,replicas_agree\n");
    for (int contender = 0; contender < CONTENDERS; contender++)
        for (unsigned i = 0; i < experiment->panels[contender].cells; i++)
            write_cell(&experiment->panels[contender], is_cuckoo(contender), &experiment->panels[contender].results[i],
                       csv);
}

void grow_only_write_first_repeat(const struct grow_only *experiment, FILE *csv)
{
    panel_write_first_repeat_header(csv);
    for (int contender = 0; contender < CONTENDERS; contender++)
        panel_write_first_repeat(&experiment->panels[contender], csv);
}

/* ---- Table 6.1 --------------------------------------------------------------------------------------------------- */

static void write_filter_size(const struct grow_only *experiment, enum contender contender, bool split,
                              const char *workload, FILE *csv)
{
    const struct panel *panel = &experiment->panels[contender];
    const struct cell *cell = split ? split_cell(panel) : &panel->results[LOCAL_CELL];
    fprintf(csv, "%s,%s,Roost,frame,%.4f,%.1f,%.1f", workload, panel->name,
            panel_spread(panel, cell, elements).mean / (double)experiment->scale.keys,
            panel_spread(panel, cell, elements).mean, panel_spread(panel, cell, frame_bytes).mean);
    write_spread(csv, panel_spread(panel, cell, bytes_an_element), 4);
    if (contender == GCF)
        fprintf(csv, ",%.1f,%.4f,%.4f,%.6f", panel_spread(panel, cell, entries).mean,
                panel_spread(panel, cell, load_by_entries).mean, panel_spread(panel, cell, bytes_an_entry).mean,
                panel_spread(panel, cell, overflow_share).most);
    else
        fprintf(csv, ",,,,");
    fprintf(csv, ",%.4f\n", panel_spread(panel, cell, gzip_bytes_an_element).mean);
}

static void write_set_size(const struct grow_only *experiment, enum grow_set_coding coding, const char *workload,
                           FILE *csv)
{
    struct spread bytes = {0, 1e300, 0}, each = {0, 1e300, 0};
    double gzipped = 0;
    unsigned repeats = experiment->scale.repeats;
    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        const struct set_sizes *sizes = &experiment->sets[repeat];
        double size = (double)sizes->bytes[coding], value = size / (double)sizes->elements;
        bytes.mean += size / repeats;
        gzipped += (double)sizes->gzipped[coding] / (double)sizes->elements / repeats;
        each.mean += value / repeats;
        each.least = value < each.least ? value : each.least;
        each.most = value > each.most ? value : each.most;
    }
    fprintf(csv, "%s,GSet,Roost,%s,%.4f,%.1f,%.1f", workload, coding == SET_RAW ? "sorted" : "Rice-coded", 1.0,
            (double)experiment->sets[0].elements, bytes.mean);
    write_spread(csv, each, 4);
    fprintf(csv, ",,,,,%.4f\n", gzipped);
}

static void write_thesis_sizes(FILE *csv)
{
    for (size_t i = 0; i < sizeof thesis_sizes / sizeof *thesis_sizes; i++) {
        const struct thesis_size *size = &thesis_sizes[i];
        fprintf(csv, "%s,%s,thesis,raw,%.2f,,,%.2f,,,,,,,\n", size->workload, size->structure, size->load, size->raw);
        fprintf(csv, "%s,%s,thesis,gzip,%.2f,,,%.2f,,,,,,,\n", size->workload, size->structure, size->load,
                size->gzipped);
    }
}

void grow_only_write_table(const struct grow_only *experiment, FILE *csv)
{
    static const char *const workloads[] = {"all local", "50-50 split"};
    fprintf(
        csv,
        "workload,structure,source,form,load_factor,elements,bytes,bytes_an_element_mean,bytes_an_element_min,"
        "bytes_an_element_max,entries,load_by_entries,bytes_an_entry,overflow_share_max,gzipped_bytes_an_element\n");
    for (int split = 0; split < 2; split++) {
        for (int contender = 0; contender <= GCF; contender++)
            write_filter_size(experiment, contender, split, workloads[split], csv);
        write_set_size(experiment, SET_RAW, workloads[split], csv);
        write_set_size(experiment, SET_RICE, workloads[split], csv);
    }
    write_thesis_sizes(csv);
}
