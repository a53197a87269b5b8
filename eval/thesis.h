/* Figures that the thesis "Conflict-Free Replicated Probabilistic Filter" (2024) reports: facts to stand beside ours.
 */
#ifndef EVAL_THESIS_H
#define EVAL_THESIS_H

/* Chapter 6: five probes for the Bloom filter, four slots of eight bits for the cuckoo filter, both meant to err so. */
#define THESIS_FPR              (1.0 / 32)
#define THESIS_PROBES           5
#define THESIS_BUCKET_SIZE      4
#define THESIS_FINGERPRINT_BITS 8

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

#endif
