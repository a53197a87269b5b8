#include "cuckoo_size.h"

/* How full a table gets by random kicks, less a little so that the last insertions stay cheap. In 1/1000. */
static uint32_t load_target(uint32_t bucket_size)
{
    switch (bucket_size) {
    case 1:
        return 470;
    case 2:
        return 830;
    case 4:
        return 953;
    default:
        return 980;
    }
}

/* A table eight times as large is out of the caches, and each kick waits for memory: some room saves most of them. */
static uint32_t roomy_load_target(uint32_t bucket_size)
{
    return load_target(bucket_size) * 19 / 20;
}

roost_status cuckoo_size(struct cuckoo_geometry *geometry, const roost_config *config)
{
    bool tagged = config->kind == ROOST_ORCUCKOO;
    uint32_t load = tagged ? roomy_load_target(config->bucket_size) : load_target(config->bucket_size);
    uint128 slots = ((uint128)config->capacity * 1000 + load - 1) / load;
    uint128 buckets = (slots + config->bucket_size - 1) / config->bucket_size;
    if (buckets > UINT32_MAX)
        return ROOST_TOO_LARGE;
    *geometry = (struct cuckoo_geometry){
        .buckets = (uint32_t)buckets, .bits = config->fingerprint_bits, .bucket_size = config->bucket_size};
    return ROOST_OK;
}

double cuckoo_rate_at_capacity(const roost_config *config, struct cuckoo_geometry geometry)
{
    if (config->capacity == 0)
        return 0;
    struct binary64 capacity = binary64_of_integer(config->capacity);
    uint64_t rate = bits_of_double(double_of_binary64(binary64_multiply(capacity, exact_class_probability(geometry))));
    return double_of_bits(rate < BITS_OF_ONE ? rate : BITS_OF_ONE - 1);
}

uint32_t cuckoo_bits_for(const roost_config *config, struct cuckoo_geometry geometry, uint32_t fewest, uint32_t most)
{
    for (geometry.bits = fewest; geometry.bits <= most; geometry.bits++)
        if (cuckoo_rate_at_capacity(config, geometry) <= config->fpr)
            return geometry.bits;
    return 0;
}

bool is_bucket_size(uint32_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}
