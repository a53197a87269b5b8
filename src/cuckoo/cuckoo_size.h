/* Sizes of cuckoo tables, and their false-positive rates: the same for all cuckoo filters. */
#ifndef CUCKOO_CUCKOO_SIZE_H
#define CUCKOO_CUCKOO_SIZE_H

#include <stdbool.h>

#include "cuckoo_geometry.h"

/* The buckets for a capacity; the configuration's bits and bucket size. ROOST_TOO_LARGE past 2^32 buckets. */
roost_status cuckoo_size(struct cuckoo_geometry *geometry, const roost_config *config);

/* The rate when the capacity is reached: exact where each class is held once, until there are no more classes. */
double cuckoo_rate_at_capacity(const roost_config *config, struct cuckoo_geometry geometry);

/* The fewest bits from `fewest` to `most` that keep the configured rate, or 0. */
uint32_t cuckoo_bits_for(const roost_config *config, struct cuckoo_geometry geometry, uint32_t fewest, uint32_t most);

bool is_bucket_size(uint32_t size);

#endif
