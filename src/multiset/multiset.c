/* The one interface over both kinds of multiset: checks what is common, hashes keys, and passes on. */
#include "multiset.h"

#include <assert.h>
#include <string.h>

#include "../base/hash.h"
#include "../filter/configuration.h"

static const struct multiset_kind *const multiset_kinds[] = {&counting_cuckoo_kind, &counting_bloom_kind};

static const struct multiset_kind *multiset_kind_of(roost_multiset_kind code)
{
    for (size_t i = 0; i < sizeof multiset_kinds / sizeof *multiset_kinds; i++)
        if (multiset_kinds[i]->code == code)
            return multiset_kinds[i];
    return NULL;
}

roost_multiset_config roost_multiset_config_default(void)
{
    return (roost_multiset_config){
        .kind = ROOST_COUNTING_CUCKOO, .fpr = 0.01, .seed = ROOST_DEFAULT_SEED, .bucket_size = 4};
}

/* ---- configuration ----------------------------------------------------------------------------------------------- */

void multiset_write_configuration(const roost_multiset *multiset, struct bit_writer *writer)
{
    uint64_t rate;
    memcpy(&rate, &multiset->config.fpr, sizeof rate);
    write_byte(writer, (uint8_t)multiset->config.kind);
    write_varint(writer, multiset->config.capacity);
    write_fixed64(writer, rate);
    write_varint(writer, multiset->config.seed ^ ROOST_DEFAULT_SEED);
    multiset->kind->write_sizes(multiset, writer);
}

roost_status multiset_open_configured(roost_multiset **multiset, struct bit_reader *reader,
                                      const roost_environment *environment)
{
    roost_multiset_config config = {.kind = read_byte(reader)};
    config.capacity = read_varint(reader);
    uint64_t rate = read_fixed64(reader);
    memcpy(&config.fpr, &rate, sizeof rate);
    config.seed = read_varint(reader) ^ ROOST_DEFAULT_SEED;
    const struct multiset_kind *kind = multiset_kind_of(config.kind);
    if (reader->failed || !kind || config.capacity == 0)
        return ROOST_CORRUPT;
    return kind->open(multiset, &config, environment, reader);
}

static size_t configuration_of(const roost_multiset *multiset, uint8_t bytes[CONFIGURATION_ROOM])
{
    struct bit_writer writer = bit_writer_over(bytes, CONFIGURATION_ROOM);
    multiset_write_configuration(multiset, &writer);
    assert(!writer.failed);
    return writer.buffer.size;
}

bool multiset_same_configuration(const roost_multiset *multiset, const roost_multiset *other)
{
    uint8_t bytes[CONFIGURATION_ROOM], other_bytes[CONFIGURATION_ROOM];
    size_t size = configuration_of(multiset, bytes);
    return size == configuration_of(other, other_bytes) && memcmp(bytes, other_bytes, size) == 0;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

roost_status roost_multiset_new(roost_multiset **multiset, const roost_multiset_config *config,
                                const roost_environment *environment)
{
    *multiset = NULL;
    roost_multiset_config resolved = *config;
    roost_environment complete = environment_or_default(environment);
    const struct multiset_kind *kind = multiset_kind_of(config->kind);
    if (!kind || config->capacity == 0 || !(config->fpr >= 0 && config->fpr < 1))
        return ROOST_INVALID;
    roost_status status = kind->resolve(&resolved);
    return status == ROOST_OK ? kind->open(multiset, &resolved, &complete, NULL) : status;
}

void roost_multiset_free(roost_multiset *multiset)
{
    if (multiset)
        multiset->kind->close(multiset);
}

roost_status roost_multiset_clone(const roost_multiset *multiset, roost_multiset **copy)
{
    *copy = NULL;
    return multiset->kind->clone(multiset, copy);
}

const roost_multiset_config *roost_multiset_get_config(const roost_multiset *multiset)
{
    return &multiset->config;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

roost_hash roost_multiset_hash(const roost_multiset *multiset, const void *key, size_t size)
{
    return hash_bytes(multiset->config.seed, key, size);
}

roost_status roost_multiset_add_hash(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies)
{
    uint64_t ignored;
    return multiset->kind->add(multiset, count ? count : &ignored, hash, copies);
}

roost_status roost_multiset_add(roost_multiset *multiset, uint64_t *count, const void *key, size_t size,
                                uint64_t copies)
{
    return roost_multiset_add_hash(multiset, count, roost_multiset_hash(multiset, key, size), copies);
}

void roost_multiset_remove_hash(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies)
{
    uint64_t ignored;
    multiset->kind->remove(multiset, count ? count : &ignored, hash, copies);
}

void roost_multiset_remove(roost_multiset *multiset, uint64_t *count, const void *key, size_t size, uint64_t copies)
{
    roost_multiset_remove_hash(multiset, count, roost_multiset_hash(multiset, key, size), copies);
}

uint64_t roost_multiset_count_hash(const roost_multiset *multiset, roost_hash hash)
{
    return multiset->kind->count(multiset, hash);
}

uint64_t roost_multiset_count(const roost_multiset *multiset, const void *key, size_t size)
{
    return roost_multiset_count_hash(multiset, roost_multiset_hash(multiset, key, size));
}

/* ---- replication ------------------------------------------------------------------------------------------------- */

roost_status roost_multiset_merge(roost_multiset *multiset, bool *changed, const roost_multiset *other)
{
    bool grew = false;
    roost_status status = ROOST_OK;
    if (multiset != other)
        status = multiset_same_configuration(multiset, other) ? multiset->kind->merge(multiset, &grew, other)
                                                              : ROOST_MISMATCH;
    if (changed)
        *changed = grew;
    return status;
}

roost_status roost_multiset_compare(const roost_multiset *multiset, roost_order *order, const roost_multiset *other)
{
    *order = ROOST_CONCURRENT;
    if (!multiset_same_configuration(multiset, other))
        return ROOST_MISMATCH;
    *order = multiset == other ? ROOST_EQUAL : multiset->kind->compare(multiset, other);
    return ROOST_OK;
}

bool roost_multiset_equal(const roost_multiset *multiset, const roost_multiset *other)
{
    roost_order order;
    return roost_multiset_compare(multiset, &order, other) == ROOST_OK && order == ROOST_EQUAL;
}

uint128 count_weight(uint64_t seed, uint64_t number, uint64_t count)
{
    uint8_t bytes[16];
    store_word(bytes, number);
    store_word(bytes + 8, count);
    return hash_to_number(hash_bytes(seed, bytes, sizeof bytes));
}

roost_digest roost_multiset_digest(const roost_multiset *multiset)
{
    uint8_t configuration[CONFIGURATION_ROOM];
    size_t size = configuration_of(multiset, configuration);
    uint128 sum =
        multiset->kind->digest(multiset) + hash_to_number(hash_bytes(multiset->config.seed, configuration, size));
    roost_digest digest;
    store_double_word(digest.bytes, sum);
    // cppcheck-suppress uninitvar ; the line above sets all of it
    return digest;
}

/* ---- differences and report -------------------------------------------------------------------------------------- */

roost_status roost_multiset_identify(const roost_multiset *here, roost_finding *findings, const roost_multiset *there,
                                     const roost_copies *elements, size_t count, roost_identification method)
{
    if (!multiset_same_configuration(here, there))
        return ROOST_MISMATCH;
    return here->kind->identify(here, findings, there, elements, count, method);
}

void roost_multiset_get_info(const roost_multiset *multiset, roost_multiset_info *info)
{
    *info = (roost_multiset_info){0};
    multiset->kind->inspect(multiset, info);
}

roost_status roost_multiset_check(const roost_multiset *multiset)
{
    return multiset->kind->check(multiset) ? ROOST_OK : ROOST_CORRUPT;
}
