/* See redisbloom.h. Everything is hostile: numbers are checked here as far as the library does not check them. */
#include "redisbloom.h"

#include <math.h>
#include <string.h>

#include "module/base/counters.h"
#include "foreign.h"
#include "reserved.h"

#define FIRST_BLOOM_VERSION  2
#define FIRST_CUCKOO_VERSION 4
#define GROWTH_SINCE         4
#define SEED_SINCE           5
#define LAST_VERSION         5

/* The seeds that all filters had before version 5. */
#define BLOOM_SEED    UINT64_C(0xc6a4a7935bd1e995)
#define BLOOM_SEED_32 UINT64_C(0x9747b28c)
#define CUCKOO_SEED   UINT64_C(0)

/* Set in the header of chunks that ends with a seed: in the options, and in the number of tables. */
#define SEED_IN_OPTIONS (UINT32_C(1) << 31)
#define SEED_IN_TABLES  (UINT64_C(1) << 63)

/* Options of a Bloom filter: how it was sized, and which hash it has. */
#define HASH_OF_64_BITS 4u
#define NOT_SCALING     8u
#define ALL_OPTIONS     15u

#define BLOOM_HEADER  20
#define BLOOM_LINK    53
#define CUCKOO_HEADER 38
#define SEED_BYTES    8
#define MOST_PARTS    65536
#define MOST_ARRAYS   (UINT64_C(1) << 46)
#define OLD_GROWTH    2

/* What is known before the arrays are. */
struct description {
    enum redisbloom kind;
    enum encoding encoding;                      /* what it is decoded for */
    uint32_t options, growth;                    /* Bloom */
    uint64_t buckets, deleted;                   /* cuckoo */
    uint64_t bucket_size, iterations, expansion; /* cuckoo */
    uint64_t count;                              /* of parts */
    bool seeded;                                 /* chunks: the header ends with a seed */
    roost_imported_part *parts;                  /* as far as they were read */
    bool owns_bytes;                             /* those of the parts, and not a buffer of somebody else */
};

static void release(struct description *description, size_t parts)
{
    for (size_t i = 0; description->owns_bytes && i < parts; i++)
        RedisModule_Free((void *)(uintptr_t)description->parts[i].bytes);
    RedisModule_Free(description->parts);
    description->parts = NULL;
}

/* ---- to a filter ------------------------------------------------------------------------------------------------- */

/* A chain that scales gives its first link half of the rate that was asked for. */
static roost_status make_bloom(struct filter_value **filter, const struct description *description)
{
    bool fixed = description->options & NOT_SCALING;
    double rate = description->parts[0].fpr * (fixed ? 1 : 2);
    struct bf_options options = {.rate = rate < 0.999 ? rate : 0.999,
                                 .capacity = within(description->parts[0].capacity, 1, MOST_RESERVED_CAPACITY),
                                 .expansion = within(description->growth, 1, MOST_NUMBER),
                                 .fixed = fixed};
    roost_config config = bf_config(&options);
    return filter_value_import(filter, &config, bf_shown(&options), description->parts, description->count,
                               description->encoding);
}

static roost_status make_cuckoo(struct filter_value **filter, const struct description *description)
{
    uint64_t slots = description->buckets * description->bucket_size;
    struct cf_options options = {.capacity = within(slots, 1, MOST_RESERVED_CAPACITY),
                                 .bucket_size = (long long)description->bucket_size,
                                 .iterations = (long long)description->iterations,
                                 .expansion = (long long)description->expansion};
    roost_config config = cf_config(&options);
    return filter_value_import(filter, &config, cf_shown(&options), description->parts, description->count,
                               description->encoding);
}

static roost_status make(struct filter_value **filter, const struct description *description)
{
    roost_status status =
        description->kind == REDISBLOOM_BLOOM ? make_bloom(filter, description) : make_cuckoo(filter, description);
    if (status == ROOST_OK)
        count_one(IMPORTED_FILTERS);
    return status == ROOST_INVALID ? ROOST_CORRUPT : status;
}

/* ---- numbers that both encodings have ---------------------------------------------------------------------------- */

static bool is_sound(const struct description *description)
{
    if (description->count == 0 || description->count > MOST_PARTS)
        return false;
    if (description->kind == REDISBLOOM_BLOOM)
        return (description->options & ~ALL_OPTIONS) == 0;
    return description->buckets > 0 && description->buckets < MOST_ARRAYS && description->bucket_size > 0 &&
           description->bucket_size <= 255 && description->iterations <= MOST_NUMBER &&
           description->expansion <= MOST_NUMBER;
}

struct bloom_link {
    uint64_t entries, hashes, bits, log2_of_bits, items;
    double rate;
};

/* False: it makes no sense. The library checks the rest. */
static bool bloom_part(roost_imported_part *part, const struct description *description, const struct bloom_link *link)
{
    *part = (roost_imported_part){
        .form = description->options & HASH_OF_64_BITS ? ROOST_IMPORTED_BLOOM : ROOST_IMPORTED_BLOOM_32,
        .places = link->log2_of_bits > 0 && link->log2_of_bits < 64 ? UINT64_C(1) << link->log2_of_bits : link->bits,
        .width = link->hashes > UINT32_MAX ? 0 : (uint32_t)link->hashes,
        .capacity = link->entries,
        .items = link->items,
        .fpr = link->rate};
    part->size = part->places / 64 * 8 + (part->places % 64 > 0 ? 8 : 0);
    return link->log2_of_bits < 64 && part->places > 0 && part->places < MOST_ARRAYS && isfinite(link->rate);
}

static bool cuckoo_part(roost_imported_part *part, const struct description *description, uint64_t buckets, bool first)
{
    *part = (roost_imported_part){.form = ROOST_IMPORTED_CUCKOO,
                                  .places = buckets,
                                  .width = (uint32_t)description->bucket_size,
                                  .deleted = first ? description->deleted : 0,
                                  .size = buckets * description->bucket_size};
    return buckets > 0 && buckets < MOST_ARRAYS;
}

/* After the parts were read. False: a hash of 32 bits, of which no filter with another seed is known. */
static bool give_seed(struct description *description, uint64_t seed)
{
    bool bloom = description->kind == REDISBLOOM_BLOOM, narrow = bloom && !(description->options & HASH_OF_64_BITS);
    if (seed == (narrow ? BLOOM_SEED_32 : bloom ? BLOOM_SEED : CUCKOO_SEED))
        return true;
    for (size_t i = 0; i < description->count && !narrow; i++) {
        description->parts[i].form = bloom ? ROOST_IMPORTED_BLOOM_SEEDED : ROOST_IMPORTED_CUCKOO_SEEDED;
        description->parts[i].seeds[0] = seed;
    }
    return !narrow;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static void read_header(struct description *description, const uint8_t *header)
{
    if (description->kind == REDISBLOOM_BLOOM) {
        description->count = number_at(header + 8, 4);
        description->options = (uint32_t)number_at(header + 12, 4);
        description->seeded = description->options & SEED_IN_OPTIONS;
        description->options &= ~SEED_IN_OPTIONS;
        description->growth = (uint32_t)number_at(header + 16, 4);
    } else {
        description->buckets = number_at(header + 8, 8);
        description->deleted = number_at(header + 16, 8);
        description->count = number_at(header + 24, 8);
        description->seeded = description->count & SEED_IN_TABLES;
        description->count &= ~SEED_IN_TABLES;
        description->bucket_size = number_at(header + 32, 2);
        description->iterations = number_at(header + 34, 2);
        description->expansion = number_at(header + 36, 2);
    }
}

size_t redisbloom_header_size(enum redisbloom kind, const uint8_t *bytes, size_t size)
{
    struct description description = {.kind = kind};
    if (size < (kind == REDISBLOOM_BLOOM ? BLOOM_HEADER : CUCKOO_HEADER))
        return 0;
    read_header(&description, bytes);
    size_t header = kind == REDISBLOOM_BLOOM ? BLOOM_HEADER + BLOOM_LINK * description.count : CUCKOO_HEADER;
    header += description.seeded ? SEED_BYTES : 0;
    return is_sound(&description) && header <= size ? header : 0;
}

static bool read_link(roost_imported_part *part, const struct description *description, const uint8_t *link)
{
    const struct bloom_link numbers = {.bits = number_at(link + 8, 8),
                                       .items = number_at(link + 16, 8),
                                       .rate = rate_at(link + 24),
                                       .hashes = number_at(link + 40, 4),
                                       .entries = number_at(link + 44, 8),
                                       .log2_of_bits = link[52]};
    return bloom_part(part, description, &numbers) && part->size == number_at(link, 8);
}

/* Tables of a cuckoo filter grow by the expansion; those of expansion 0 are one. */
static bool read_part(roost_imported_part *part, const struct description *description, const uint8_t *header,
                      size_t number, uint64_t *buckets)
{
    if (description->kind == REDISBLOOM_BLOOM)
        return read_link(part, description, header + BLOOM_HEADER + BLOOM_LINK * number);
    bool read = cuckoo_part(part, description, *buckets, number == 0);
    *buckets = *buckets < MOST_ARRAYS ? *buckets * description->expansion : 0;
    return read;
}

/* All parts without their arrays; the caller releases them. */
static bool describe(struct description *description, const uint8_t *header, size_t size, uint64_t *arrays)
{
    *arrays = 0;
    size_t header_size = redisbloom_header_size(description->kind, header, size);
    if (header_size == 0)
        return false;
    read_header(description, header);
    description->parts = RedisModule_Calloc(description->count, sizeof *description->parts);
    uint64_t buckets = description->buckets;
    for (size_t i = 0; i < description->count; i++) {
        if (!read_part(&description->parts[i], description, header, i, &buckets) || *arrays > MOST_ARRAYS) {
            release(description, 0);
            return false;
        }
        *arrays += description->parts[i].size;
    }
    if (description->seeded && !give_seed(description, number_at(header + header_size - SEED_BYTES, SEED_BYTES))) {
        release(description, 0);
        return false;
    }
    return *arrays <= MOST_ARRAYS;
}

uint64_t redisbloom_array_bytes(enum redisbloom kind, const uint8_t *header, size_t size)
{
    struct description description = {.kind = kind};
    uint64_t arrays;
    if (!describe(&description, header, size, &arrays))
        return 0;
    release(&description, 0);
    return redisbloom_header_size(kind, header, size) == size ? arrays : 0;
}

roost_status redisbloom_decode(struct filter_value **filter, enum redisbloom kind, const uint8_t *bytes, size_t size,
                               enum encoding encoding)
{
    struct description description = {.kind = kind, .encoding = encoding};
    uint64_t arrays;
    *filter = NULL;
    if (!describe(&description, bytes, size, &arrays))
        return ROOST_CORRUPT;
    size_t header = redisbloom_header_size(kind, bytes, size);
    roost_status status = size - header == arrays ? ROOST_OK : ROOST_CORRUPT;
    const uint8_t *array = bytes + header;
    for (size_t i = 0; i < description.count && status == ROOST_OK; array += description.parts[i++].size)
        description.parts[i].bytes = array;
    if (status == ROOST_OK)
        status = make(filter, &description);
    release(&description, 0);
    return status;
}

/* ---- RDB --------------------------------------------------------------------------------------------------------- */

/* The array of a part, which has to have the size that its numbers give. */
static bool load_array(RedisModuleIO *io, roost_imported_part *part)
{
    size_t size = 0;
    part->bytes = RedisModule_IsIOError(io) ? NULL : RedisModule_LoadStringBuffer(io, &size);
    return part->bytes && !RedisModule_IsIOError(io) && size == part->size;
}

static bool load_link(RedisModuleIO *io, const struct description *description, roost_imported_part *part)
{
    struct bloom_link link = {0};
    link.entries = load_number(io);
    link.rate = load_rate(io);
    link.hashes = load_number(io);
    load_rate(io); /* bits an entry */
    link.bits = load_number(io);
    link.log2_of_bits = load_number(io);
    bool loaded = bloom_part(part, description, &link) && load_array(io, part);
    part->items = loaded ? load_number(io) : 0;
    return loaded && !RedisModule_IsIOError(io);
}

static bool load_table(RedisModuleIO *io, const struct description *description, roost_imported_part *part, bool first)
{
    return cuckoo_part(part, description, load_number(io), first) && load_array(io, part);
}

static void load_description(struct description *description, RedisModuleIO *io, int version)
{
    if (description->kind == REDISBLOOM_BLOOM) {
        load_number(io); /* items of all links */
        description->count = load_number(io);
        description->options = (uint32_t)load_number(io);
        description->growth = version >= GROWTH_SINCE ? (uint32_t)load_number(io) : OLD_GROWTH;
    } else {
        description->count = load_number(io);
        description->buckets = load_number(io);
        load_number(io); /* items of all tables */
        description->deleted = load_number(io);
        description->bucket_size = load_number(io);
        description->iterations = load_number(io);
        description->expansion = load_number(io);
    }
}

/* Memory is taken as parts arrive, whatever number is announced. */
static roost_status load_parts(struct description *description, RedisModuleIO *io)
{
    for (size_t i = 0; i < description->count; i++) {
        description->parts = RedisModule_Realloc(description->parts, (i + 1) * sizeof *description->parts);
        roost_imported_part *part = &description->parts[i];
        *part = (roost_imported_part){0};
        bool loaded = description->kind == REDISBLOOM_BLOOM ? load_link(io, description, part)
                                                            : load_table(io, description, part, i == 0);
        if (!loaded) {
            release(description, i + 1);
            return ROOST_CORRUPT;
        }
    }
    return ROOST_OK;
}

static const char *version_error(enum redisbloom kind, int version)
{
    int first = kind == REDISBLOOM_BLOOM ? FIRST_BLOOM_VERSION : FIRST_CUCKOO_VERSION;
    return version < first          ? "it was made by a version of RedisBloom before 2.0"
           : version > LAST_VERSION ? "it was made by a version of RedisBloom that is not known"
                                    : NULL;
}

static const char *load(struct filter_value **filter, struct description *description, RedisModuleIO *io, int version)
{
    const char *error = version_error(description->kind, version);
    if (error)
        return error;
    load_description(description, io, version);
    if (RedisModule_IsIOError(io) || !is_sound(description) || load_parts(description, io) != ROOST_OK)
        return "its bytes are not valid";
    bool known = version < SEED_SINCE || give_seed(description, load_number(io));
    roost_status status = RedisModule_IsIOError(io) ? ROOST_CORRUPT : known ? ROOST_OK : ROOST_UNSUPPORTED;
    if (status == ROOST_OK)
        status = make(filter, description);
    release(description, description->count);
    return !known                    ? "it has a hash of 32 bits with a seed of its own, which is not known"
           : status == ROOST_CORRUPT ? "its bytes are not valid"
           : status != ROOST_OK      ? roost_status_text(status)
                                     : NULL;
}

roost_status redisbloom_load(struct filter_value **filter, enum redisbloom kind, RedisModuleIO *io, int version)
{
    struct description description = {.kind = kind, .owns_bytes = true};
    *filter = NULL;
    const char *error = load(filter, &description, io, version);
    if (error)
        RedisModule_LogIOError(io, "warning", "a filter of RedisBloom cannot be imported: %s", error);
    return error ? ROOST_CORRUPT : ROOST_OK;
}
