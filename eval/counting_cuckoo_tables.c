/* What the multiset experiments write: one row a setting. */
#include "counting_cuckoo.h"

/* Table 1 of the paper. */
static const double paper_occupancy[] = {0.96387, 0.96631, 0.96875, 0.96683, 0.97004, 0.96992,
                                         0.96905, 0.96946, 0.96913, 0.96938, 0.96916, 0.96926};

void counting_cuckoo_write_occupancy(const struct counting_cuckoo *experiment, FILE *csv)
{
    fprintf(csv, "elements,buckets,fingerprint_bits,repeats,occupancy_mean,occupancy_min,overflow,paper\n");
    for (unsigned i = 0; i < experiment->tables; i++) {
        const struct ccf_filling *filling = &experiment->occupancy[i];
        fprintf(csv, "%llu,%llu,%u,%u,%.5f,%.5f,%llu,", (unsigned long long)filling->elements, 1ULL << filling->buckets,
                filling->bits, filling->repeats, filling->occupancy, filling->least_occupancy,
                (unsigned long long)filling->overflow);
        if (i < sizeof paper_occupancy / sizeof *paper_occupancy)
            fprintf(csv, "%.5f", paper_occupancy[i]);
        fprintf(csv, "\n");
    }
}

static void write_accuracy_row(FILE *csv, const char *filter, const struct ccf_accuracy *row)
{
    fprintf(csv, "%s,%zu,%.3f,%.3f,%u,%u,%u,%.8f,%.8f,", filter, row->roots, row->bits_an_element,
            row->frame_bits_an_element, row->bits, row->probes, row->counter_bits, row->accuracy[PAIR_QUERY],
            row->accuracy[PAIR_DECODING]);
    if (row->bits)
        fprintf(csv, "%.8f", row->accuracy[PAIR_QUERY_AS_PRINTED]);
    fprintf(csv, "\n");
}

static const char accuracy_header[] = "filter,elements,bits_an_element,frame_bits_an_element,fingerprint_bits,probes,"
                                      "counter_bits,accuracy_query,accuracy_decode,accuracy_query_as_printed\n";

void counting_cuckoo_write_accuracy(const struct counting_cuckoo *experiment, FILE *csv)
{
    fputs(accuracy_header, csv);
    for (unsigned i = 0; i < CCF_WIDTHS; i++)
        write_accuracy_row(csv, "CCF", &experiment->cuckoo[i]);
    for (unsigned i = 0; i < CBF_SETTINGS; i++)
        write_accuracy_row(csv, "CBF", &experiment->bloom[i]);
}

void counting_cuckoo_write_sizes(const struct counting_cuckoo *experiment, FILE *csv)
{
    fputs(accuracy_header, csv);
    for (unsigned i = 0; i < experiment->growth_steps; i++)
        write_accuracy_row(csv, "CCF", &experiment->growth[i]);
    for (unsigned i = 0; i < experiment->growth_steps; i++)
        write_accuracy_row(csv, "CBF", &experiment->growth_bloom[i]);
}

void counting_cuckoo_write_times(const struct counting_cuckoo *experiment, FILE *csv)
{
    fprintf(csv, "elements,ccf_insertion_ns,cbf_insertion_ns,ccf_query_ns,ccf_decode_ns,cbf_query_ns,cbf_decode_ns\n");
    for (unsigned i = 0; i < experiment->growth_steps; i++) {
        const struct ccf_accuracy *cuckoo = &experiment->growth[i], *bloom = &experiment->growth_bloom[i];
        double each = 1e9 / 2 / (double)cuckoo->roots; /* nanoseconds an element, of both sides */
        fprintf(csv, "%zu,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f\n", cuckoo->roots, cuckoo->insertion_seconds * each,
                bloom->insertion_seconds * each, cuckoo->identification[PAIR_QUERY] * each,
                cuckoo->identification[PAIR_DECODING] * each, bloom->identification[PAIR_QUERY] * each,
                bloom->identification[PAIR_DECODING] * each);
    }
}

static void write_collision_row(FILE *csv, const char *series, const struct ccf_filling *filling)
{
    fprintf(csv, "%s,%llu,%llu,%u,%u,%.2f,%.2f\n", series, (unsigned long long)filling->elements,
            1ULL << filling->buckets, filling->bits, filling->repeats, filling->collided, filling->expected);
}

void counting_cuckoo_write_collisions(const struct counting_cuckoo *experiment, FILE *csv)
{
    fprintf(csv, "series,elements,buckets,fingerprint_bits,repeats,collided_mean,expected\n");
    for (unsigned i = 0; i < experiment->tables; i++)
        write_collision_row(csv, "by buckets", &experiment->by_buckets[i]);
    for (unsigned i = 0; i < CCF_WIDTHS && experiment->by_bits[i].repeats; i++)
        write_collision_row(csv, "by bits", &experiment->by_bits[i]);
}
