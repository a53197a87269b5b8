/*
 * Table 6.2 as CSV: one row a workload, structure and form. `_mean`, `_min` and `_max` are over the repeats; the load
 * is elements over operations, which for ORCF4 are as many as its slots. `dots` are the additions that the filter has
 * seen.
 */
#include "observed_remove.h"

#include <math.h>

#include "thesis.h"

static double dots(const struct outcome *outcome)
{
    return (double)outcome->info.dots;
}

static void write_filter(const struct observed_remove *experiment, unsigned share, enum place place,
                         enum removing_contender contender, FILE *csv)
{
    const struct removing_cell *cell = &experiment->cells[share][place];
    struct spread held = removing_spread(experiment, cell, contender, elements);
    struct spread each = removing_spread(experiment, cell, contender, bytes_an_element);
    fprintf(csv, "%u,%s,%s,Roost,frame,%.4f,%.1f,%.1f,%.4f,%.4f,%.4f,%.1f,%.6f,%.4f\n", add_shares[share],
            place_names[place], removing_names[contender], held.mean / (double)experiment->scale.operations, held.mean,
            removing_spread(experiment, cell, contender, frame_bytes).mean, each.mean, each.least, each.most,
            removing_spread(experiment, cell, contender, dots).mean,
            removing_spread(experiment, cell, contender, overflow_share).most,
            removing_spread(experiment, cell, contender, gzip_bytes_an_element).mean);
}

static void write_set(const struct observed_remove *experiment, unsigned share, enum place place,
                      enum dotted_coding coding, FILE *csv)
{
    const struct removing_cell *cell = &experiment->cells[share][place];
    unsigned repeats = experiment->scale.operation_repeats;
    double held = 0, bytes = 0, gzipped = 0;
    struct spread each = {0, INFINITY, -INFINITY};
    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        const struct dotted_sizes *sizes = &cell->sets[repeat];
        double size = (double)(coding == DOTTED_RAW ? sizes->raw : sizes->coded);
        double value = size / (double)sizes->elements;
        held += (double)sizes->elements / repeats;
        bytes += size / repeats;
        gzipped += (double)sizes->gzipped[coding == DOTTED_CODED] / (double)sizes->elements / repeats;
        each = (struct spread){each.mean + value / repeats, fmin(each.least, value), fmax(each.most, value)};
    }
    fprintf(csv, "%u,%s,ORSet,Roost,%s,%.4f,%.1f,%.1f,%.4f,%.4f,%.4f,,,%.4f\n", add_shares[share], place_names[place],
            coding == DOTTED_RAW ? "uncoded" : "coded", held / (double)experiment->scale.operations, held, bytes,
            each.mean, each.least, each.most, gzipped);
}

static void write_thesis(FILE *csv)
{
    for (size_t i = 0; i < sizeof thesis_removing_sizes / sizeof *thesis_removing_sizes; i++) {
        const struct thesis_removing_size *size = &thesis_removing_sizes[i];
        fprintf(csv, "%u,%s,%s,thesis,raw,%.2f,,,%.2f,,,,,\n", size->share, size->workload, size->structure, size->load,
                size->raw);
        fprintf(csv, "%u,%s,%s,thesis,gzip,%.2f,,,%.2f,,,,,\n", size->share, size->workload, size->structure,
                size->load, size->gzipped);
    }
}

void observed_remove_write_table(const struct observed_remove *experiment, FILE *csv)
{
    fprintf(csv, "adds_percent,workload,structure,source,form,load_factor,elements,bytes,bytes_an_element_mean,"
                 "bytes_an_element_min,bytes_an_element_max,dots,overflow_share_max,gzipped_bytes_an_element\n");
    for (int place = 0; place < PLACES; place++)
        for (unsigned share = 0; share < SHARES; share++) {
            for (int contender = 0; contender < REMOVING_CONTENDERS; contender++)
                write_filter(experiment, share, place, contender, csv);
            write_set(experiment, share, place, DOTTED_RAW, csv);
            write_set(experiment, share, place, DOTTED_CODED, csv);
        }
    write_thesis(csv);
}
