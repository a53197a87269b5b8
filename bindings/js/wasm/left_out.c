/*
 * What core.wasm and removal.wasm leave out (../build.sh lists the sources), as the rest of the library sees it. The
 * declarations are the library's own, so that the compiler says where they have changed.
 *
 * Kinds: tables whose configurations are all refused. The table of kinds (src/frame/kinds.c) finds a kind by the code of its form
 * of fixed size, so those two have theirs; all others have 0, which no configuration has.
 *
 * Imported parts: there never are any, so the calls below get NULL, which stands for none.
 *
 * Rates of blocked Bloom filters: those from 1e-5 up, and of each the upper RATE_BITS of 64. From one to the next they
 * fall by so regular steps that the differences of their differences, which is what is stored, take one or two bytes
 * each. A rate that someone asks for is compared with them. Where all bits that are stored are equal, that does not tell
 * which is larger: core_has_rate says so, and the filter is refused. That concerns one rate in about five thousand.
 */
#include "core.h"

#include "base/binary64.h"
#include "bloom/bloom_size.h"
#include "filter/importing.h"
#include "filter/kind.h"
#include "growing/growing_orcuckoo.h"
#include "growing/last_writer.h"
#include "imported/imported.h"
#include "roost/incremental.h"
#include "window/forgetful.h"

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static roost_status resolve(roost_config *config)
{
    (void)config;
    return ROOST_UNSUPPORTED;
}

static bool is_resolved(const roost_config *config)
{
    (void)config;
    return false;
}

#define LEFT_OUT(kind, number)                                                                                         \
    const struct filter_kind kind = {.code = (roost_kind)(number),                                                     \
                                     .lifecycle = {.resolve = resolve, .is_resolved = is_resolved}}
LEFT_OUT(gcuckoo_kind, ROOST_CUCKOO);
LEFT_OUT(orcuckoo_kind, ROOST_ORCUCKOO);
LEFT_OUT(series_bloom_kind, 0);
LEFT_OUT(series_gcuckoo_kind, 0);
LEFT_OUT(series_orcuckoo_kind, 0);
LEFT_OUT(window_kind, 0);
LEFT_OUT(counter_kind, 0);
LEFT_OUT(growing_window_kind, 0);
LEFT_OUT(growing_counter_kind, 0);
LEFT_OUT(last_writer_kind, 0);
#ifdef ROOST_JS_WITHOUT_REMOVAL
LEFT_OUT(growing_orcuckoo_kind, 0);
#endif

/* ---- rates ------------------------------------------------------------------------------------------------------- */

static int64_t next_number(const uint8_t **at)
{
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

/* Of the row, without the bits that are not stored; the last one where there is no such row. */
uint64_t bloom_block_rate(uint32_t row)
{
    const uint8_t *at = core_rates;
    int64_t step = 0, rate = 0;
    for (uint32_t i = 0; i <= row && i < CORE_RATES; i++) {
        step += next_number(&at);
        rate += step;
    }
    return (uint64_t)rate << (64 - RATE_BITS);
}

bool core_has_rate(double rate)
{
    uint64_t bits = bits_of_double(rate) >> (64 - RATE_BITS);
    bool differs = rate >= LEAST_CORE_RATE;
    for (uint32_t row = 0; row < CORE_RATES && differs; row++)
        differs = bloom_block_rate(row) >> (64 - RATE_BITS) != bits;
    return differs;
}

/* ---- imported parts ---------------------------------------------------------------------------------------------- */

void imported_free(struct imported *imported, const struct memory_account *account)
{
    (void)imported, (void)account;
}

void imported_move(struct imported **imported, const struct memory_mover *mover)
{
    (void)imported, (void)mover;
}

bool imported_contains(const struct imported *imported, const void *key, size_t size)
{
    (void)key, (void)size;
    return imported != NULL;
}

uint64_t imported_count(const struct imported *imported, const void *key, size_t size)
{
    (void)key, (void)size;
    return imported != NULL;
}

void imported_abandon(struct imported_join *join)
{
    (void)join;
}

roost_order imported_compare(const struct imported *imported, const struct imported *other)
{
    (void)imported, (void)other;
    return ROOST_EQUAL;
}

uint128 imported_digest(const struct imported *imported)
{
    (void)imported;
    return 0;
}

uint64_t imported_memory(const struct imported *imported)
{
    (void)imported;
    return 0;
}

void imported_info(const struct imported *imported, roost_imported_info *info)
{
    (void)imported, (void)info;
}

bool imported_check(const struct imported *imported)
{
    return imported == NULL;
}

void imported_write(const struct imported *imported, struct bit_writer *writer)
{
    (void)imported, (void)writer;
}

void imported_write_part(const struct imported *imported, size_t part, struct bit_writer *writer)
{
    (void)imported, (void)part, (void)writer;
}

roost_status imported_read(struct imported **imported, struct bit_reader *reader, const struct memory_account *account)
{
    (void)reader, (void)account;
    *imported = NULL;
    return ROOST_UNSUPPORTED;
}

/* ---- filters with imported parts ----------------------------------------------------------------------------------- */

roost_status prepare_import(roost_filter *filter, struct imported_join *join, const struct imported *other,
                            const struct memory_account *account_of_other)
{
    (void)filter, (void)account_of_other;
    *join = (struct imported_join){0};
    return other ? ROOST_UNSUPPORTED : ROOST_OK;
}

bool commit_import(roost_filter *filter, struct imported_join *join)
{
    (void)filter, (void)join;
    return false;
}

roost_status copy_import(roost_filter *copy, const roost_filter *filter)
{
    (void)copy, (void)filter;
    return ROOST_OK;
}

void free_import(roost_filter *filter)
{
    (void)filter;
}

roost_status adopt_import(roost_filter *filter, struct imported *imported)
{
    (void)filter;
    return imported ? ROOST_UNSUPPORTED : ROOST_OK;
}

roost_status write_imported_changes(const roost_filter *filter, struct bit_writer *writer, struct selection selection,
                                    bool *any)
{
    (void)filter, (void)writer, (void)selection;
    *any = false;
    return ROOST_OK;
}

bool contains_or_imported(const roost_filter *filter, const void *key, size_t size)
{
    (void)key, (void)size;
    return filter->imported != NULL;
}

roost_status add_unless_imported(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    (void)filter, (void)changed, (void)key, (void)size;
    return ROOST_UNSUPPORTED;
}

roost_status remove_with_imported(roost_filter *filter, bool *changed, const void *key, size_t size, bool all)
{
    (void)filter, (void)changed, (void)key, (void)size, (void)all;
    return ROOST_UNSUPPORTED;
}

/* ---- merges in time slices: there is no server that they would hold up ---------------------------------------------- */

roost_status roost_merge_job_new(roost_merge_job **job, const roost_filter *filter,
                                 const roost_environment *environment)
{
    (void)filter, (void)environment;
    *job = NULL;
    return ROOST_UNSUPPORTED;
}

roost_status roost_merge_job_read(roost_merge_job *job, const void *frame, size_t size, size_t bytes)
{
    (void)job, (void)frame, (void)size, (void)bytes;
    return ROOST_UNSUPPORTED;
}

roost_status roost_merge_job_step(roost_merge_job *job, roost_filter *filter, bool *changed, bool *done,
                                  roost_bytes *delta)
{
    (void)job, (void)filter, (void)changed, (void)done, (void)delta;
    return ROOST_UNSUPPORTED;
}

void roost_merge_job_free(roost_merge_job *job)
{
    (void)job;
}
