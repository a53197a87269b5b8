/*
 * The one interface over all kinds (Specification 1 of the thesis): checks what is common, hashes keys, and passes on.
 *
 * Batches of keys are hashed a few hundred at a time, so that the hashes stay in the first cache and the kinds can look
 * ahead in them.
 */
#include "kind.h"
#include "roost/incremental.h"

#include <assert.h>
#include <string.h>

#include "../base/binary64.h"
#include "../base/entropy.h"
#include "../base/hash.h"

#define HASHES_AT_ONCE    512
#define SCALABLE          0x10 /* beside the kind */
#define FEWEST_CHANGES    4096
#define CAPACITY_A_CHANGE 8
#define FIRST_CHANGES     64    /* in a journal that begins */
#define FEWEST_IN_PART    256   /* however small the filter, */
#define MOST_WANTED       16384 /* and so many where they are asked for */

static const struct filter_kind *const filter_kinds[][2] = {{&bloom_kind, &series_bloom_kind},
                                                            {&gcuckoo_kind, &series_gcuckoo_kind},
                                                            {&orcuckoo_kind, &series_orcuckoo_kind},
                                                            {&window_kind, &growing_window_kind},
                                                            {&counter_kind, &growing_counter_kind}};

const struct filter_kind *filter_kind_of(roost_kind code, bool scalable)
{
    for (size_t i = 0; i < sizeof filter_kinds / sizeof *filter_kinds; i++)
        if (filter_kinds[i][0]->code == code)
            return filter_kinds[i][scalable];
    return NULL;
}

roost_environment environment_or_default(const roost_environment *environment)
{
    roost_environment complete = environment ? *environment : (roost_environment){0};
    complete.allocator = allocator_or_default(complete.allocator);
    if (complete.memory_limit == 0)
        complete.memory_limit = SIZE_MAX / 2;
    if (complete.kicks == 0)
        complete.kicks = ROOST_DEFAULT_KICKS;
    complete.entropy = entropy_or_default(complete.entropy);
    return complete;
}

roost_config roost_config_default(void)
{
    return (roost_config){
        .kind = ROOST_BLOOM, .layout = ROOST_BLOCKED, .fpr = 0.01, .seed = ROOST_DEFAULT_SEED, .bucket_size = 4};
}

/* ---- configuration -------------------------------------------------------------------------------------------------
 */

void write_configuration(const roost_filter *filter, struct bit_writer *writer)
{
    const roost_config *config = &filter->config;
    write_byte(writer, (uint8_t)config->kind | (config->scalable ? SCALABLE : 0));
    write_byte(writer, (uint8_t)config->layout);
    write_varint(writer, config->capacity);
    write_fixed64(writer, bits_of_double(config->fpr));
    write_varint(writer, config->seed ^ ROOST_DEFAULT_SEED);
    write_byte(writer, (uint8_t)config->fingerprint_bits);
    write_byte(writer, (uint8_t)config->bucket_size);
    if (config->scalable) {
        write_varint(writer, config->writers);
        write_byte(writer, (uint8_t)config->growth);
        write_byte(writer, (uint8_t)config->schedule);
    }
    filter->kind->write_geometry(filter, writer);
}

static roost_config read_configuration(struct bit_reader *reader)
{
    roost_config config = {0};
    uint8_t kind = read_byte(reader);
    config.kind = kind & ~SCALABLE;
    config.scalable = (kind & SCALABLE) != 0;
    config.layout = read_byte(reader);
    config.capacity = read_varint(reader);
    config.fpr = double_of_bits(read_fixed64(reader));
    config.seed = read_varint(reader) ^ ROOST_DEFAULT_SEED;
    config.fingerprint_bits = read_byte(reader);
    config.bucket_size = read_byte(reader);
    if (config.scalable) {
        uint64_t writers = read_varint(reader);
        config.writers = writers <= UINT32_MAX ? (uint32_t)writers : 0;
        config.growth = read_byte(reader);
        config.schedule = read_byte(reader);
    }
    return config;
}

static roost_status resolve(roost_config *config)
{
    const struct filter_kind *kind = filter_kind_of(config->kind, config->scalable);
    return !kind || config->capacity == 0 ? ROOST_INVALID : kind->resolve(config);
}

roost_status open_configured(roost_filter **filter, struct bit_reader *reader, const roost_environment *environment)
{
    roost_config config = read_configuration(reader);
    const struct filter_kind *kind = filter_kind_of(config.kind, config.scalable);
    if (reader->failed || !kind || config.capacity == 0 || !kind->is_resolved(&config))
        return ROOST_CORRUPT;
    return kind->open(filter, &config, environment, reader);
}

size_t configuration_bytes(const roost_filter *filter, uint8_t bytes[CONFIGURATION_ROOM])
{
    struct bit_writer writer = bit_writer_over(bytes, CONFIGURATION_ROOM);
    write_configuration(filter, &writer);
    assert(!writer.failed);
    return writer.buffer.size;
}

bool same_configuration(const roost_filter *filter, const roost_filter *other)
{
    uint8_t bytes[CONFIGURATION_ROOM], other_bytes[CONFIGURATION_ROOM];
    size_t size = configuration_bytes(filter, bytes);
    return size == configuration_bytes(other, other_bytes) && memcmp(bytes, other_bytes, size) == 0;
}

roost_hash configuration_hash(const roost_filter *filter)
{
    uint8_t bytes[CONFIGURATION_ROOM];
    size_t size = configuration_bytes(filter, bytes);
    return hash_bytes(filter->config.seed, bytes, size);
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

roost_status roost_filter_new(roost_filter **filter, const roost_config *config, const roost_environment *environment)
{
    *filter = NULL;
    roost_config resolved = *config;
    roost_environment complete = environment_or_default(environment);
    roost_status status = resolve(&resolved);
    return status != ROOST_OK
               ? status
               : filter_kind_of(resolved.kind, resolved.scalable)->open(filter, &resolved, &complete, NULL);
}

void roost_filter_free(roost_filter *filter)
{
    if (filter)
        filter->kind->close(filter);
}

roost_status roost_filter_clone(const roost_filter *filter, roost_filter **copy)
{
    *copy = NULL;
    return filter->kind->clone(filter, copy);
}

const roost_config *roost_filter_get_config(const roost_filter *filter)
{
    return &filter->config;
}

/* ---- elements ------------------------------------------------------------------------------------------------------
 */

roost_hash roost_filter_hash(const roost_filter *filter, const void *key, size_t size)
{
    return hash_bytes(filter->config.seed, key, size);
}

roost_status roost_filter_add_hash(roost_filter *filter, bool *changed, roost_hash hash)
{
    size_t done;
    if (changed)
        *changed = false;
    return filter->kind->add(filter, changed, &done, &hash, 1);
}

roost_status roost_filter_add(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    return roost_filter_add_hash(filter, changed, roost_filter_hash(filter, key, size));
}

roost_status roost_filter_add_many_hash(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes,
                                        size_t count)
{
    size_t taken;
    roost_status status = filter->kind->add(filter, changed, &taken, hashes, count);
    if (done)
        *done = taken;
    return status;
}

static size_t hash_some(const roost_filter *filter, roost_hash *hashes, const roost_bytes *keys, size_t count)
{
    size_t some = count < HASHES_AT_ONCE ? count : HASHES_AT_ONCE;
    for (size_t i = 0; i < some; i++)
        hashes[i] = roost_filter_hash(filter, keys[i].data, keys[i].size);
    return some;
}

roost_status roost_filter_add_many(roost_filter *filter, bool *changed, size_t *done, const roost_bytes *keys,
                                   size_t count)
{
    roost_hash hashes[HASHES_AT_ONCE];
    roost_status status = ROOST_OK;
    size_t total = 0;
    while (total < count && status == ROOST_OK) {
        size_t taken, some = hash_some(filter, hashes, keys + total, count - total);
        status = filter->kind->add(filter, changed ? changed + total : NULL, &taken, hashes, some);
        total += taken;
    }
    if (done)
        *done = total;
    return status;
}

bool roost_filter_contains_hash(const roost_filter *filter, roost_hash hash)
{
    bool found;
    filter->kind->contains(filter, &found, &hash, 1);
    return found;
}

bool roost_filter_contains(const roost_filter *filter, const void *key, size_t size)
{
    return roost_filter_contains_hash(filter, roost_filter_hash(filter, key, size));
}

void roost_filter_contains_many_hash(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    filter->kind->contains(filter, found, hashes, count);
}

void roost_filter_contains_many(const roost_filter *filter, bool *found, const roost_bytes *keys, size_t count)
{
    roost_hash hashes[HASHES_AT_ONCE];
    for (size_t total = 0, some; total < count; total += some) {
        some = hash_some(filter, hashes, keys + total, count - total);
        filter->kind->contains(filter, found + total, hashes, some);
    }
}

uint64_t roost_filter_count_hash(const roost_filter *filter, roost_hash hash)
{
    return filter->kind->count ? filter->kind->count(filter, hash) : roost_filter_contains_hash(filter, hash);
}

uint64_t roost_filter_count(const roost_filter *filter, const void *key, size_t size)
{
    return roost_filter_count_hash(filter, roost_filter_hash(filter, key, size));
}

roost_status roost_filter_add_dot_hash(roost_filter *filter, roost_dot *dot, roost_hash hash)
{
    *dot = (roost_dot){0, 0};
    return filter->kind->add_dot ? filter->kind->add_dot(filter, dot, hash) : ROOST_UNSUPPORTED;
}

roost_status roost_filter_add_dot(roost_filter *filter, roost_dot *dot, const void *key, size_t size)
{
    return roost_filter_add_dot_hash(filter, dot, roost_filter_hash(filter, key, size));
}

roost_status roost_filter_remove_many_hash(roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count)
{
    if (changed)
        memset(changed, 0, count * sizeof *changed);
    return filter->kind->remove ? filter->kind->remove(filter, changed, hashes, count) : ROOST_UNSUPPORTED;
}

roost_status roost_filter_remove_many(roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count)
{
    roost_hash hashes[HASHES_AT_ONCE];
    roost_status status = ROOST_OK;
    for (size_t total = 0, some; total < count && status == ROOST_OK; total += some) {
        some = hash_some(filter, hashes, keys + total, count - total);
        status = roost_filter_remove_many_hash(filter, changed ? changed + total : NULL, hashes, some);
    }
    return status;
}

roost_status roost_filter_remove_hash(roost_filter *filter, bool *changed, roost_hash hash)
{
    return roost_filter_remove_many_hash(filter, changed, &hash, 1);
}

roost_status roost_filter_remove(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    return roost_filter_remove_hash(filter, changed, roost_filter_hash(filter, key, size));
}

roost_status roost_filter_remove_one_hash(roost_filter *filter, bool *changed, roost_hash hash)
{
    bool removed = false;
    roost_status status =
        filter->kind->remove_one ? filter->kind->remove_one(filter, &removed, hash) : ROOST_UNSUPPORTED;
    if (changed)
        *changed = removed;
    return status;
}

roost_status roost_filter_remove_one(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    return roost_filter_remove_one_hash(filter, changed, roost_filter_hash(filter, key, size));
}

roost_status roost_filter_remove_dot_hash(roost_filter *filter, bool *changed, roost_hash hash, roost_dot dot)
{
    bool removed = false;
    roost_status status =
        filter->kind->remove_dot ? filter->kind->remove_dot(filter, &removed, hash, dot) : ROOST_UNSUPPORTED;
    if (changed)
        *changed = removed;
    return status;
}

roost_status roost_filter_remove_dot(roost_filter *filter, bool *changed, const void *key, size_t size, roost_dot dot)
{
    return roost_filter_remove_dot_hash(filter, changed, roost_filter_hash(filter, key, size), dot);
}

/* ---- replication ---------------------------------------------------------------------------------------------------
 */

roost_status roost_filter_merge(roost_filter *filter, bool *changed, const roost_filter *other)
{
    bool grew = false;
    roost_status status = ROOST_OK;
    if (filter != other)
        status = same_configuration(filter, other) ? filter->kind->merge(filter, &grew, other) : ROOST_MISMATCH;
    if (changed)
        *changed = grew;
    return status;
}

/* ---- journal -------------------------------------------------------------------------------------------------------
 */

/* How many changes are worth being remembered. */
static uint64_t most_changes(const roost_filter *filter)
{
    uint64_t capacity = filter->config.capacity;
    if (filter->environment.journal)
        return filter->environment.journal;
    if (filter->kind->capacity && filter->kind->capacity(filter) > capacity)
        capacity = filter->kind->capacity(filter);
    return capacity / CAPACITY_A_CHANGE > FEWEST_CHANGES ? capacity / CAPACITY_A_CHANGE : FEWEST_CHANGES;
}

static uint64_t changes_in(uint64_t bytes)
{
    return bytes / journal_bytes(&(struct journal){.room = 1});
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * As many of them as the journal's part of the memory holds. Those who ask get more, so that they keep their cursors:
 * twice as many as they have been behind, unless that were more than the filter itself and more than a little.
 */
static uint64_t most_changes_here(const roost_filter *filter)
{
    uint64_t held = changes_in(filter->kind->bytes(filter) - journal_bytes(filter->journal));
    uint64_t wanted = least(2 * filter->journal->behind, largest(held, MOST_WANTED));
    if (!filter->environment.journal_part)
        return most_changes(filter);
    uint64_t part = largest(held / filter->environment.journal_part, FEWEST_IN_PART);
    return least(most_changes(filter), largest(part, wanted));
}

static uint64_t bytes_left(const roost_filter *filter)
{
    uint64_t limit = filter->environment.memory_limit, taken = filter->kind->bytes(filter);
    return taken < limit ? limit - taken : 0;
}

/* Twice as long, or as long as it may be. Half of the memory that is left stays for elements. */
bool journal_outgrow(struct journal *journal)
{
    const roost_filter *filter = journal->owner;
    uint64_t room = least(2 * journal->room, most_changes_here(filter));
    room = least(room, changes_in(bytes_left(filter) / 2));
    if (room > journal->room && journal_lengthen(journal, room))
        return true;
    journal->content = journal->next + journal->room;
    return false;
}

roost_status begin_journal(roost_filter *filter)
{
    uint64_t incarnation, room;
    if (journal_is_on(filter->journal))
        return ROOST_OK;
    room = least(least(FIRST_CHANGES, most_changes(filter)), changes_in(bytes_left(filter)));
    if (room == 0)
        return ROOST_TOO_LARGE;
    if (!entropy_number(&filter->environment.entropy, &incarnation))
        return ROOST_EXHAUSTED;
    return journal_begin(filter->journal, room, incarnation, filter) ? ROOST_OK : ROOST_NO_MEMORY;
}

/* ---- more of replication -------------------------------------------------------------------------------------------
 */

roost_status roost_filter_transfer_shares(roost_filter *filter, bool *changed)
{
    bool gave = false;
    roost_status status = filter->kind->transfer_shares ? filter->kind->transfer_shares(filter, &gave) : ROOST_OK;
    if (changed)
        *changed = gave;
    return status;
}

uint64_t roost_filter_get_actor(const roost_filter *filter)
{
    return filter->kind->actor ? filter->kind->actor(filter) : 0;
}

roost_status roost_filter_compare(const roost_filter *filter, roost_order *order, const roost_filter *other)
{
    *order = ROOST_CONCURRENT;
    if (!same_configuration(filter, other))
        return ROOST_MISMATCH;
    *order = filter == other ? ROOST_EQUAL : filter->kind->compare(filter, other);
    return ROOST_OK;
}

bool roost_filter_equal(const roost_filter *filter, const roost_filter *other)
{
    roost_order order;
    return roost_filter_compare(filter, &order, other) == ROOST_OK && order == ROOST_EQUAL;
}

roost_digest roost_filter_digest(roost_filter *filter)
{
    uint128 sum = filter->kind->digest(filter) + hash_to_number(configuration_hash(filter));
    roost_digest digest;
    store_double_word(digest.bytes, sum);
    return digest;
}

bool roost_filter_precompute_digest(roost_filter *filter, uint64_t effort)
{
    return filter->kind->precompute_digest && filter->kind->precompute_digest(filter, &effort);
}

bool roost_filter_defragment(roost_filter **filter, uint64_t *place, roost_mover *move, void *context)
{
    const struct memory_mover mover = {move, context};
    if (!(*filter)->kind->move)
        return false;
    if (*place == 0)
        *filter = moved_filter(&mover, *filter);
    return (*filter)->kind->move(*filter, &mover, (*place)++);
}

void roost_digest_text(roost_digest digest, char text[33])
{
    for (size_t i = 0; i < sizeof digest.bytes; i++) {
        text[2 * i] = "0123456789abcdef"[digest.bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest.bytes[i] & 15];
    }
    text[32] = '\0';
}

/* ---- report --------------------------------------------------------------------------------------------------------
 */

void roost_filter_get_info(const roost_filter *filter, roost_info *info)
{
    *info = (roost_info){.tables = 1};
    filter->kind->info(filter, info);
    if (!info->inserted)
        info->inserted = info->entries;
}

void roost_filter_estimate_info(const roost_filter *filter, roost_info *info)
{
    *info = (roost_info){.tables = 1};
    (filter->kind->estimate ? filter->kind->estimate : filter->kind->info)(filter, info);
    if (!info->inserted)
        info->inserted = info->entries;
}

void roost_filter_get_brief_info(const roost_filter *filter, roost_info *info)
{
    *info = (roost_info){.tables = 1};
    (filter->kind->brief ? filter->kind->brief : filter->kind->info)(filter, info);
    if (!info->inserted)
        info->inserted = info->entries;
}

roost_status roost_filter_check(const roost_filter *filter)
{
    return filter->kind->check(filter);
}
