/* Figures that the thesis "Conflict-Free Replicated Probabilistic Filter" (2024) reports: facts to stand beside ours.
 */
#ifndef EVAL_THESIS_H
#define EVAL_THESIS_H

/* Chapter 6: five probes for the Bloom filter, four slots of eight bits for the cuckoo filter, both meant to err so. */
#define THESIS_FPR              (1.0 / 32)
#define THESIS_PROBES           5
#define THESIS_BUCKET_SIZE      4
#define THESIS_FINGERPRINT_BITS 8
#define THESIS_PARTS            4  /* series: the first table has room for a quarter of the keys */
#define THESIS_ENTRY_BITS       32 /* of the observed-remove cuckoo filter: with the dot */

/* Table 6.1: part of the capacity that is used, bytes an element as serialised and after gzip. */
struct thesis_size {
    const char *workload, *structure;
    double load, raw, gzipped;
};

static const struct thesis_size thesis_sizes[] = {
    {"all local", "GBF5", 1.00, 1.01, 0.91},   {"all local", "GCF4", 0.96, 1.05, 1.04},
    {"all local", "GSet", 1.00, 22.00, 16.37}, {"50-50 split", "GBF5", 1.00, 1.01, 0.91},
    {"50-50 split", "GCF4", 0.98, 3.62, 1.54}, {"50-50 split", "GSet", 1.00, 22.00, 16.37},
};

/* Table 6.2, by the share of adds among the operations in per cent. */
struct thesis_removing_size {
    unsigned share;
    const char *workload, *structure;
    double load, raw, gzipped;
};

static const struct thesis_removing_size thesis_removing_sizes[] = {
    {100, "all local", "ORCF4", 0.96, 8.37, 4.74},    {100, "all local", "ORSet", 1.00, 49.00, 20.18},
    {80, "all local", "ORCF4", 0.60, 13.34, 5.44},    {80, "all local", "ORSet", 0.60, 49.00, 20.13},
    {51, "all local", "ORCF4", 0.02, 400.14, 9.16},   {51, "all local", "ORSet", 0.02, 49.00, 20.87},
    {100, "50-50 split", "ORCF4", 1.00, 11.96, 5.45}, {100, "50-50 split", "ORSet", 1.00, 49.00, 20.46},
    {80, "50-50 split", "ORCF4", 0.60, 14.70, 5.62},  {80, "50-50 split", "ORSet", 0.60, 49.00, 20.44},
    {51, "50-50 split", "ORCF4", 0.02, 381.81, 9.10}, {51, "50-50 split", "ORSet", 0.02, 49.00, 21.25},
};

#endif
