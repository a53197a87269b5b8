/* See valkey_bloom.h. Everything is hostile: numbers are checked here as far as the library does not check them. */
#include "valkey_bloom.h"

#include <math.h>

#include "module/base/counters.h"
#include "foreign.h"
#include "reserved.h"

#define LAST_VERSION  1
#define LOAD_VERSION  1
#define ARRAY_VERSION 1

#define LOAD_HEADER  30 /* of BF.LOAD */
#define LOAD_FILTER  24 /* without the string */
#define ARRAY_HEADER 45
#define SEED_AT      13
#define MOST_FILTERS 65536

struct description {
    enum encoding encoding; /* what it is decoded for */
    uint64_t count, expansion;
    double rate, tightening;
    roost_imported_part *parts;
};

static bool is_sound(const struct description *description)
{
    return description->count > 0 && description->count <= MOST_FILTERS && description->rate > 0 &&
           description->rate < 1 && description->tightening > 0 && description->tightening < 1;
}

static roost_status make(struct filter_value **filter, const struct description *description)
{
    struct bf_options options = {.rate = description->rate < 0.999 ? description->rate : 0.999,
                                 .capacity = within(description->parts[0].capacity, 1, MOST_RESERVED_CAPACITY),
                                 .expansion = within(description->expansion, 1, MOST_NUMBER),
                                 .fixed = description->expansion == 0};
    roost_config config = bf_config(&options);
    roost_status status = filter_value_import(filter, &config, bf_shown(&options), description->parts,
                                              description->count, description->encoding);
    if (status == ROOST_OK)
        count_one(IMPORTED_FILTERS);
    return status == ROOST_INVALID ? ROOST_CORRUPT : status;
}

/* The string of filter number `index`; items and capacity are the caller's. False: it makes no sense. */
static bool read_array(roost_imported_part *part, const struct description *description, size_t index,
                       const uint8_t *bytes, size_t size)
{
    if (size <= ARRAY_HEADER || bytes[0] != ARRAY_VERSION || number_at(bytes + 1, 8) != size - ARRAY_HEADER)
        return false;
    *part = (roost_imported_part){.form = ROOST_IMPORTED_BLOOM_SIP,
                                  .places = 8 * (uint64_t)(size - ARRAY_HEADER),
                                  .width = (uint32_t)number_at(bytes + 9, 4),
                                  .fpr = description->rate * pow(description->tightening, (double)index),
                                  .bytes = bytes + ARRAY_HEADER,
                                  .size = size - ARRAY_HEADER};
    for (size_t i = 0; i < 4; i++)
        part->seeds[i] = number_at(bytes + SEED_AT + 8 * i, 8);
    return true;
}

/* ---- BF.LOAD ----------------------------------------------------------------------------------------------------- */

static bool read_filters(struct description *description, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < description->count; i++) {
        uint64_t string = size >= LOAD_FILTER ? number_at(bytes, 8) : 0;
        roost_imported_part *part = &description->parts[i];
        if (size < LOAD_FILTER || string > size - LOAD_FILTER ||
            !read_array(part, description, i, bytes + 8, (size_t)string))
            return false;
        part->items = number_at(bytes + 8 + string, 8);
        part->capacity = number_at(bytes + 16 + string, 8);
        bytes += LOAD_FILTER + string;
        size -= LOAD_FILTER + (size_t)string;
    }
    return size == 0;
}

roost_status valkey_bloom_decode(struct filter_value **filter, const uint8_t *bytes, size_t size,
                                 enum encoding encoding)
{
    *filter = NULL;
    if (size < LOAD_HEADER || bytes[0] != LOAD_VERSION)
        return ROOST_CORRUPT;
    struct description description = {.encoding = encoding,
                                      .expansion = number_at(bytes + 1, 4),
                                      .rate = rate_at(bytes + 5),
                                      .tightening = rate_at(bytes + 13),
                                      .count = number_at(bytes + 22, 8)};
    if (!is_sound(&description) || description.count > (size - LOAD_HEADER) / LOAD_FILTER)
        return ROOST_CORRUPT;
    description.parts = RedisModule_Calloc(description.count, sizeof *description.parts);
    roost_status status = read_filters(&description, bytes + LOAD_HEADER, size - LOAD_HEADER)
                              ? make(filter, &description)
                              : ROOST_CORRUPT;
    RedisModule_Free(description.parts);
    return status;
}

/* ---- RDB --------------------------------------------------------------------------------------------------------- */

/* The strings, which the parts point into, are collected in `strings` as they arrive, whatever number is announced. */
static bool load_filters(struct description *description, RedisModuleIO *io, char ***strings, size_t *loaded)
{
    for (; *loaded < description->count; ++*loaded) {
        size_t i = *loaded, size = 0;
        description->parts = RedisModule_Realloc(description->parts, (i + 1) * sizeof *description->parts);
        *strings = RedisModule_Realloc(*strings, (i + 1) * sizeof **strings);
        (*strings)[i] = RedisModule_IsIOError(io) ? NULL : RedisModule_LoadStringBuffer(io, &size);
        if (!(*strings)[i] || RedisModule_IsIOError(io) ||
            !read_array(&description->parts[i], description, i, (const uint8_t *)(*strings)[i], size)) {
            RedisModule_Free((*strings)[i]);
            return false;
        }
        description->parts[i].capacity = load_number(io);
        description->parts[i].items = i + 1 < description->count ? description->parts[i].capacity : load_number(io);
    }
    return !RedisModule_IsIOError(io);
}

static roost_status load(struct filter_value **filter, RedisModuleIO *io)
{
    struct description description = {.encoding = ENCODE_COPY};
    char **strings = NULL;
    size_t loaded = 0;
    description.count = load_number(io);
    description.expansion = load_number(io);
    description.rate = load_rate(io);
    description.tightening = load_rate(io);
    load_number(io); /* whether the seed is random: it is in the strings */
    roost_status status = ROOST_CORRUPT;
    if (!RedisModule_IsIOError(io) && is_sound(&description) && load_filters(&description, io, &strings, &loaded))
        status = make(filter, &description);
    for (size_t i = 0; i < loaded; i++)
        RedisModule_Free(strings[i]);
    RedisModule_Free(strings);
    RedisModule_Free(description.parts);
    return status;
}

roost_status valkey_bloom_load(struct filter_value **filter, RedisModuleIO *io, int version)
{
    *filter = NULL;
    roost_status status = version == LAST_VERSION ? load(filter, io) : ROOST_UNSUPPORTED;
    if (status != ROOST_OK)
        RedisModule_LogIOError(io, "warning", "a filter of valkey-bloom (type bloomfltr) cannot be imported: %s",
                               status == ROOST_UNSUPPORTED ? "it was made by a version that is not known"
                               : status == ROOST_CORRUPT   ? "its bytes are not valid"
                                                           : roost_status_text(status));
    return status;
}
