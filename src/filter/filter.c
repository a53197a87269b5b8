/*
 * The one interface over all kinds (Specification 1 of the thesis): checks what is common, hashes keys, and passes on.
 *
 * The calls with one key go through the table of the filter (struct filter_calls in kind.h). Batches of keys are hashed
 * a few hundred at a time, eight at once where the machine can (../base/hash_kernel.h), so that the hashes stay in the
 * first cache and the kind can look ahead in them.
 */
#include "configuration.h"
#include "importing.h"
#include "inherited.h"
#include "roost/incremental.h"

#include <string.h>

#include "../base/hash_kernel.h"
#include "../base/tasks.h"

#define HASHES_AT_ONCE 512

/* ---- objects ----------------------------------------------------------------------------------------------------- */

void roost_filter_free(roost_filter *filter)
{
    if (!filter)
        return;
    free_import(filter);
    filter->kind->lifecycle.close(filter);
}

roost_status roost_filter_clone(const roost_filter *filter, roost_filter **copy)
{
    *copy = NULL;
    roost_status status = filter->kind->lifecycle.clone(filter, copy);
    if (status == ROOST_OK)
        status = copy_import(*copy, filter);
    if (status != ROOST_OK) {
        roost_filter_free(*copy);
        *copy = NULL;
    }
    return status;
}

const roost_config *roost_filter_get_config(const roost_filter *filter)
{
    return filter->config;
}

/* ---- keys in batches of hashes ---------------------------------------------------------------------------------- */

static size_t hash_some(const roost_filter *filter, roost_hash *hashes, const roost_bytes *keys, size_t count)
{
    const struct hash_seed seed = hash_seed_of(filter);
    size_t some = count < HASHES_AT_ONCE ? count : HASHES_AT_ONCE;
    hash_keys(&seed, hashes, keys, some);
    return some;
}

static void contains_keys(const roost_filter *filter, bool *found, const roost_bytes *keys, size_t count)
{
    roost_hash hashes[HASHES_AT_ONCE];
    for (size_t total = 0, some; total < count; total += some) {
        some = hash_some(filter, hashes, keys + total, count - total);
        filter->kind->set.contains(filter, found + total, hashes, some);
    }
}

static roost_status add_keys(roost_filter *filter, bool *changed, size_t *done, const roost_bytes *keys, size_t count)
{
    roost_hash hashes[HASHES_AT_ONCE];
    roost_status status = ROOST_OK;
    for (*done = 0; *done < count && status == ROOST_OK;) {
        size_t taken, some = hash_some(filter, hashes, keys + *done, count - *done);
        status = filter->kind->set.add(filter, changed ? changed + *done : NULL, &taken, hashes, some);
        *done += taken;
    }
    return status;
}

static bool contains_by_batch(const roost_filter *filter, roost_hash hash)
{
    bool found;
    if (filter->kind->set.contains_one)
        return filter->kind->set.contains_one(filter, hash);
    filter->kind->set.contains(filter, &found, &hash, 1);
    return found;
}

static roost_status add_by_batch(roost_filter *filter, bool *changed, roost_hash hash)
{
    size_t done;
    if (changed)
        *changed = false;
    return filter->kind->set.add(filter, changed, &done, &hash, 1);
}

roost_status remove_by_batch(roost_filter *filter, bool *changed, roost_hash hash)
{
    return roost_filter_remove_many_hash(filter, changed, &hash, 1);
}

const struct filter_calls calls_by_batch = {
    .contains = contains_by_batch, .add = add_by_batch, .remove = remove_by_batch, .key = CALLS_FOR_ANY_KEY};

/* A slim filter has these: two jumps fewer to it, which in WebAssembly are also checked. */
static ALWAYS_INLINE bool contains_here(const roost_filter *filter, roost_hash hash)
{
    return is_slim(filter) ? contains_by_batch(filter, hash) : const_own_part(filter)->calls->contains(filter, hash);
}

static ALWAYS_INLINE roost_status add_here(roost_filter *filter, bool *changed, roost_hash hash)
{
    return is_slim(filter) ? add_by_batch(filter, changed, hash)
                           : const_own_part(filter)->calls->add(filter, changed, hash);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

roost_hash roost_filter_hash(const roost_filter *filter, const void *key, size_t size)
{
    const struct hash_seed seed = hash_seed_of(filter);
    return hash_key(&seed, key, size);
}

roost_status roost_filter_add_hash(roost_filter *filter, bool *changed, roost_hash hash)
{
    return add_here(filter, changed, hash);
}

/* Long keys apart: a function that calls another before its last jump has to save registers, however short the key.
   Where code is to be short, all keys go this way. */
static __attribute__((noinline)) roost_status add_long_key(roost_filter *filter, bool *changed, const void *key,
                                                           size_t size)
{
    const struct hash_seed seed = hash_seed_of(filter);
    return add_here(filter, changed, hash_any_key(&seed, key, size));
}

roost_status add_any_key(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    const struct hash_seed seed = hash_seed_of(filter);
    if (__builtin_expect(filter->imported != NULL, 0))
        return add_unless_imported(filter, changed, key, size);
    if (!SHORT_CODE && size == 8)
        return add_here(filter, changed, hash_short_key(&seed, key, 8));
    if (SHORT_CODE || __builtin_expect(!is_short_key(size), 0))
        return add_long_key(filter, changed, key, size);
    return add_here(filter, changed, hash_short_key(&seed, key, size));
}

roost_status roost_filter_add(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    const struct filter_own *own = const_own_part(filter);
    return __builtin_expect(!own, 0) ? add_any_key(filter, changed, key, size)
                                     : own->key.add(filter, changed, key, size);
}

roost_status roost_filter_add_many_hash(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes,
                                        size_t count)
{
    size_t taken;
    roost_status status = filter->kind->set.add(filter, changed, &taken, hashes, count);
    if (done)
        *done = taken;
    return status;
}

static roost_status add_many_unless_imported(roost_filter *filter, bool *changed, size_t *done, const roost_bytes *keys,
                                             size_t count)
{
    roost_status status = ROOST_OK;
    for (*done = 0; *done < count && status == ROOST_OK; *done += status == ROOST_OK)
        status = add_unless_imported(filter, changed ? changed + *done : NULL, keys[*done].data, keys[*done].size);
    return status;
}

roost_status roost_filter_add_many(roost_filter *filter, bool *changed, size_t *done, const roost_bytes *keys,
                                   size_t count)
{
    size_t taken;
    roost_status status = filter->imported ? add_many_unless_imported(filter, changed, &taken, keys, count)
                                           : add_keys(filter, changed, &taken, keys, count);
    if (done)
        *done = taken;
    return status;
}

bool roost_filter_contains_hash(const roost_filter *filter, roost_hash hash)
{
    return contains_here(filter, hash);
}

static __attribute__((noinline)) bool contains_long_key(const roost_filter *filter, const void *key, size_t size)
{
    const struct hash_seed seed = hash_seed_of(filter);
    return contains_here(filter, hash_any_key(&seed, key, size));
}

bool contains_any_key(const roost_filter *filter, const void *key, size_t size)
{
    const struct hash_seed seed = hash_seed_of(filter);
    if (__builtin_expect(filter->imported != NULL, 0))
        return contains_or_imported(filter, key, size);
    if (!SHORT_CODE && size == 8)
        return contains_here(filter, hash_short_key(&seed, key, 8));
    if (SHORT_CODE || __builtin_expect(!is_short_key(size), 0))
        return contains_long_key(filter, key, size);
    return contains_here(filter, hash_short_key(&seed, key, size));
}

bool roost_filter_contains(const roost_filter *filter, const void *key, size_t size)
{
    const struct filter_own *own = const_own_part(filter);
    return __builtin_expect(!own, 0) ? contains_any_key(filter, key, size) : own->key.contains(filter, key, size);
}

/* A batch that is cut into tasks has so many keys for each of them at least. */
#define KEYS_OF_TASK ((size_t)1 << 15)

struct look_ups {
    const roost_filter *filter;
    bool *found;
    const roost_hash *hashes; /* or */
    const roost_bytes *keys;
};

static void look_hashes_up(void *context, size_t from, size_t to)
{
    const struct look_ups *all = context;
    all->filter->kind->set.contains(all->filter, all->found + from, all->hashes + from, to - from);
}

void roost_filter_contains_many_hash(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    struct look_ups all = {filter, found, hashes, NULL};
    run_in_spans(&filter->environment.common->executor, look_hashes_up, &all, count, KEYS_OF_TASK);
}

static void look_keys_up(void *context, size_t from, size_t to)
{
    const struct look_ups *all = context;
    const roost_filter *filter = all->filter;
    contains_keys(filter, all->found + from, all->keys + from, to - from);
    for (size_t i = from; filter->imported && i < to; i++)
        if (!all->found[i])
            all->found[i] = imported_contains(filter->imported, all->keys[i].data, all->keys[i].size);
}

void roost_filter_contains_many(const roost_filter *filter, bool *found, const roost_bytes *keys, size_t count)
{
    struct look_ups all = {filter, found, NULL, keys};
    run_in_spans(&filter->environment.common->executor, look_keys_up, &all, count, KEYS_OF_TASK);
}

void roost_filter_set_time(roost_filter *filter, uint64_t now)
{
    if (filter->kind->set.set_time)
        filter->kind->set.set_time(filter, now);
}

uint64_t roost_filter_count_hash(const roost_filter *filter, roost_hash hash)
{
    return filter->kind->removal.count ? filter->kind->removal.count(filter, hash)
                                       : roost_filter_contains_hash(filter, hash);
}

uint64_t roost_filter_count(const roost_filter *filter, const void *key, size_t size)
{
    uint64_t count = roost_filter_count_hash(filter, roost_filter_hash(filter, key, size));
    if (!filter->imported)
        return count;
    return filter->kind->removal.count ? count + imported_count(filter->imported, key, size)
                                       : count || imported_contains(filter->imported, key, size);
}

roost_status roost_filter_add_dot_hash(roost_filter *filter, roost_dot *dot, roost_hash hash)
{
    *dot = (roost_dot){0, 0};
    return filter->kind->removal.add_dot ? filter->kind->removal.add_dot(filter, dot, hash) : ROOST_UNSUPPORTED;
}

roost_status roost_filter_add_dot(roost_filter *filter, roost_dot *dot, const void *key, size_t size)
{
    return roost_filter_add_dot_hash(filter, dot, roost_filter_hash(filter, key, size));
}

roost_status roost_filter_remove_many_hash(roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count)
{
    if (changed)
        memset(changed, 0, count * sizeof *changed);
    return filter->kind->removal.remove ? filter->kind->removal.remove(filter, changed, hashes, count)
                                        : ROOST_UNSUPPORTED;
}

static roost_status remove_many_with_imported(roost_filter *filter, bool *changed, const roost_bytes *keys,
                                              size_t count)
{
    roost_status status = ROOST_OK;
    if (changed)
        memset(changed, 0, count * sizeof *changed);
    for (size_t i = 0; i < count && status == ROOST_OK; i++)
        status = remove_with_imported(filter, changed ? changed + i : NULL, keys[i].data, keys[i].size, true);
    return status;
}

roost_status roost_filter_remove_many(roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count)
{
    roost_hash hashes[HASHES_AT_ONCE];
    roost_status status = ROOST_OK;
    if (filter->imported && filter->kind->removal.remove)
        return remove_many_with_imported(filter, changed, keys, count);
    for (size_t total = 0, some; total < count && status == ROOST_OK; total += some) {
        some = hash_some(filter, hashes, keys + total, count - total);
        status = roost_filter_remove_many_hash(filter, changed ? changed + total : NULL, hashes, some);
    }
    return status;
}

roost_status roost_filter_remove_hash(roost_filter *filter, bool *changed, roost_hash hash)
{
    return calls_of(filter)->remove(filter, changed, hash);
}

static __attribute__((noinline)) roost_status remove_long_key(roost_filter *filter, bool *changed, const void *key,
                                                              size_t size)
{
    const struct hash_seed seed = hash_seed_of(filter);
    return calls_of(filter)->remove(filter, changed, hash_any_key(&seed, key, size));
}

roost_status remove_any_key(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    const struct hash_seed seed = hash_seed_of(filter);
    if (__builtin_expect(filter->imported != NULL, 0) && filter->kind->removal.remove)
        return remove_with_imported(filter, changed, key, size, true);
    if (SHORT_CODE || __builtin_expect(!is_short_key(size), 0))
        return remove_long_key(filter, changed, key, size);
    return calls_of(filter)->remove(filter, changed, hash_short_key(&seed, key, size));
}

roost_status roost_filter_remove(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    const struct filter_own *own = const_own_part(filter);
    return __builtin_expect(!own, 0) ? remove_any_key(filter, changed, key, size)
                                     : own->key.remove(filter, changed, key, size);
}

roost_status roost_filter_remove_one_hash(roost_filter *filter, bool *changed, roost_hash hash)
{
    bool removed = false;
    roost_status status =
        filter->kind->removal.remove_one ? filter->kind->removal.remove_one(filter, &removed, hash) : ROOST_UNSUPPORTED;
    if (changed)
        *changed = removed;
    return status;
}

roost_status roost_filter_remove_one(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    if (filter->imported && filter->kind->removal.remove_one)
        return remove_with_imported(filter, changed, key, size, false);
    return roost_filter_remove_one_hash(filter, changed, roost_filter_hash(filter, key, size));
}

roost_status roost_filter_remove_dot_hash(roost_filter *filter, bool *changed, roost_hash hash, roost_dot dot)
{
    bool removed = false;
    roost_status status = filter->kind->removal.remove_dot
                              ? filter->kind->removal.remove_dot(filter, &removed, hash, dot)
                              : ROOST_UNSUPPORTED;
    if (changed)
        *changed = removed;
    return status;
}

roost_status roost_filter_remove_dot(roost_filter *filter, bool *changed, const void *key, size_t size, roost_dot dot)
{
    return roost_filter_remove_dot_hash(filter, changed, roost_filter_hash(filter, key, size), dot);
}

/* ---- replication ------------------------------------------------------------------------------------------------- */

roost_status roost_filter_merge(roost_filter *filter, bool *changed, const roost_filter *other)
{
    bool grew = false;
    struct imported_join join = {0};
    const struct memory_account account = account_of(other);
    roost_status status = ROOST_OK;
    if (filter != other)
        status = same_configuration(filter, other) ? prepare_import(filter, &join, other->imported, &account)
                                                   : ROOST_MISMATCH;
    if (filter != other && status == ROOST_OK)
        status = filter->kind->lattice.merge(filter, &grew, other);
    if (status == ROOST_OK)
        grew |= commit_import(filter, &join);
    else
        imported_abandon(&join);
    if (changed)
        *changed = grew;
    return status;
}

roost_status roost_filter_transfer_shares(roost_filter *filter, bool *changed)
{
    bool gave = false;
    roost_status status =
        filter->kind->sync.transfer_shares ? filter->kind->sync.transfer_shares(filter, &gave) : ROOST_OK;
    if (changed)
        *changed = gave;
    return status;
}

uint64_t roost_filter_get_actor(const roost_filter *filter)
{
    return filter->kind->replica.actor && !is_inherited(filter) ? filter->kind->replica.actor(filter) : 0;
}

roost_status roost_filter_compare(const roost_filter *filter, roost_order *order, const roost_filter *other)
{
    *order = ROOST_CONCURRENT;
    if (!same_configuration(filter, other))
        return ROOST_MISMATCH;
    *order = filter == other ? ROOST_EQUAL
                             : (roost_order)(filter->kind->lattice.compare(filter, other) |
                                             imported_compare(filter->imported, other->imported));
    return ROOST_OK;
}

bool roost_filter_equal(const roost_filter *filter, const roost_filter *other)
{
    roost_order order;
    return roost_filter_compare(filter, &order, other) == ROOST_OK && order == ROOST_EQUAL;
}

roost_digest roost_filter_digest(roost_filter *filter)
{
    uint128 sum = filter->kind->lattice.digest(filter) + hash_to_number(configuration_hash(filter)) +
                  imported_digest(filter->imported);
    roost_digest digest;
    store_double_word(digest.bytes, sum);
    // cppcheck-suppress uninitvar ; the line above sets all of it
    return digest;
}

bool roost_filter_precompute_digest(roost_filter *filter, uint64_t effort)
{
    return filter->kind->lattice.precompute_digest && filter->kind->lattice.precompute_digest(filter, &effort);
}

bool roost_filter_defragment(roost_filter **filter, uint64_t *place, roost_mover *move, void *context)
{
    const struct memory_mover mover = {move, context};
    if (!(*filter)->kind->incremental.move)
        return false;
    if (*place == 0) {
        *filter = moved_filter(&mover, *filter);
        imported_move(&(*filter)->imported, &mover);
    }
    return (*filter)->kind->incremental.move(*filter, &mover, (*place)++);
}

void roost_digest_text(roost_digest digest, char text[33])
{
    for (size_t i = 0; i < sizeof digest.bytes; i++) {
        text[2 * i] = "0123456789abcdef"[digest.bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest.bytes[i] & 15];
    }
    text[32] = '\0';
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

/* Imported parts count in what a query answers and in memory; the other figures are those of the filter itself. */
static void complete_info(const roost_filter *filter, roost_info *info)
{
    roost_imported_info imported;
    if (!info->inserted)
        info->inserted = info->entries;
    if (!filter->imported)
        return;
    imported_info(filter->imported, &imported);
    info->elements += (double)imported.items;
    info->fpr_now = 1 - (1 - info->fpr_now) * (1 - imported.fpr);
    info->promise_holds &= info->fpr_now <= filter->config->fpr; /* parts keep what they were made for, no more */
    info->bytes_memory += imported.bytes;
}

void roost_filter_get_info(const roost_filter *filter, roost_info *info)
{
    *info = (roost_info){.tables = 1};
    filter->kind->report.info(filter, info);
    complete_info(filter, info);
}

void roost_filter_estimate_info(const roost_filter *filter, roost_info *info)
{
    *info = (roost_info){.tables = 1};
    (filter->kind->report.estimate ? filter->kind->report.estimate : filter->kind->report.info)(filter, info);
    complete_info(filter, info);
}

void roost_filter_get_brief_info(const roost_filter *filter, roost_info *info)
{
    *info = (roost_info){.tables = 1};
    (filter->kind->report.brief ? filter->kind->report.brief : filter->kind->report.info)(filter, info);
    complete_info(filter, info);
}

/* Imported parts are not left out by calls that do not look at them. */
static bool has_calls_for_its_keys(const roost_filter *filter)
{
    const struct filter_own *own = const_own_part(filter);
    const struct key_calls *right = filter->imported ? &calls_by_batch.key : &calls_of(filter)->key;
    return !own || memcmp(&own->key, right, sizeof *right) == 0;
}

roost_status roost_filter_check(const roost_filter *filter)
{
    return imported_check(filter->imported) && has_calls_for_its_keys(filter) ? filter->kind->report.check(filter)
                                                                              : ROOST_CORRUPT;
}
