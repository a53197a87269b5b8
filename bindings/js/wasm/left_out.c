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
#include "filter/bloom_size.h"
#include "filter/kind.h"
#include "growing/growing_orcuckoo.h"
#include "growing/last_writer.h"
#include "imported/imported.h"
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

roost_status imported_new(struct imported **imported, const struct memory_account *account,
                          const roost_imported_part *parts, size_t count)
{
    (void)imported, (void)account, (void)parts, (void)count;
    return ROOST_UNSUPPORTED;
}

roost_status imported_clone(const struct imported *imported, struct imported **copy,
                            const struct memory_account *account, bool shares)
{
    (void)imported, (void)copy, (void)account, (void)shares;
    return ROOST_UNSUPPORTED;
}

void imported_move(struct imported **imported, const struct memory_mover *mover)
{
    (void)imported, (void)mover;
}

bool imported_has_bloom(const struct imported *imported)
{
    return imported != NULL;
}

bool imported_has_cuckoo(const struct imported *imported)
{
    return imported != NULL;
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

roost_status imported_remove(struct imported *imported, bool *changed, const void *key, size_t size, bool all,
                             const struct memory_account *account, const struct imported_observer *observer)
{
    (void)imported, (void)changed, (void)key, (void)size, (void)all, (void)account, (void)observer;
    return ROOST_UNSUPPORTED;
}

roost_status imported_prepare(struct imported_join *join, struct imported *mine, const struct imported *other,
                              const struct memory_account *account, bool shares)
{
    (void)mine, (void)account, (void)shares;
    *join = (struct imported_join){0};
    return other ? ROOST_UNSUPPORTED : ROOST_OK;
}

struct imported *imported_commit(struct imported_join *join, const struct imported_observer *observer)
{
    (void)join, (void)observer;
    return NULL;
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

roost_status imported_write_changes(const struct imported *imported, struct bit_writer *writer,
                                    struct imported_change *changes, size_t count, const roost_allocator *allocator)
{
    (void)imported, (void)writer, (void)changes, (void)count, (void)allocator;
    return ROOST_UNSUPPORTED;
}

roost_status imported_read(struct imported **imported, struct bit_reader *reader,
                           const struct memory_account *account)
{
    (void)reader, (void)account;
    *imported = NULL;
    return ROOST_UNSUPPORTED;
}
