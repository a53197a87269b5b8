/*
 * The calls of the observed-remove filter for one key (struct filter_calls). Sets with four slots a bucket, which are
 * most filters, have calls that the compiler makes one function each, from the key to the slot (../filter/key_calls.h).
 * What seldom happens is a jump to a function that is not inlined.
 */
#include "../filter/key_calls.h"
#include "orcuckoo.h"
#include "orcuckoo_plain.h"

/* ---- any table --------------------------------------------------------------------------------------------------- */

static bool orcuckoo_contains_one(const roost_filter *filter, roost_hash hash)
{
    return cuckoo_table_contains_hash(&as_const_orcuckoo(filter)->table, hash);
}

static const struct filter_calls calls_of_any = {.contains = orcuckoo_contains_one,
                                                 .add = orcuckoo_add_one,
                                                 .remove = orcuckoo_remove_key,
                                                 .key = CALLS_FOR_ANY_KEY};

/* ---- sets with four slots a bucket ------------------------------------------------------------------------------- */

static ALWAYS_INLINE const struct hash_seed *seed_of_orcuckoo(const roost_filter *filter)
{
    return &as_const_orcuckoo(filter)->own.hash_seed;
}

static ALWAYS_INLINE bool contains_of_set(const roost_filter *base, roost_hash hash)
{
    const struct orcuckoo *filter = as_const_orcuckoo(base);
    return is_plain(&filter->table, FOUR_TAGGED) ? find_in_pair(&filter->table, FOUR_TAGGED, place_in_set(filter, hash))
                                                 : cuckoo_table_contains_hash(&filter->table, hash);
}

/* Of what relieve_if_overfull asks, a plain table can only be full of copies. */
static ALWAYS_INLINE bool may_be_full_of_copies(const struct orcuckoo *filter)
{
    return (filter->table.filled - filter->classes) * 16 > filter->table.filled;
}

/* What seldom comes after an addition, and is not seldom where there are peers. */
static __attribute__((noinline)) roost_status finish_addition(struct orcuckoo *filter, uint64_t key)
{
    note_new(filter, key);
    if (may_be_full_of_copies(filter))
        relieve_if_overfull(filter);
    return ROOST_OK;
}

/* Both buckets of a new class are full. */
static __attribute__((noinline)) roost_status add_by_force(struct orcuckoo *filter, bool *changed, roost_hash hash)
{
    struct place place = place_in_set(filter, hash);
    uint64_t word = next_word(filter, place), key = key_in_set(filter, place);
    roost_status status = ROOST_OK;
    if (cuckoo_table_displace(&filter->table, place, word, &filter->own.random) == PUT_NEW) {
        count_new(filter, key);
        finish_addition(filter, key);
    } else {
        status = add_without_room(filter, &place);
    }
    if (changed)
        *changed = status == ROOST_OK;
    return status;
}

static ALWAYS_INLINE roost_status add_of_set(roost_filter *base, bool *changed, roost_hash hash)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    struct place place = place_in_set(filter, hash);
    if (!is_plain(&filter->table, FOUR_TAGGED) || !is_ready(&filter->observed) ||
        find_in_pair(&filter->table, FOUR_TAGGED, place))
        return orcuckoo_add_one(base, changed, hash);
    if (__builtin_expect(!take_free_slot(&filter->table, FOUR_TAGGED, place, next_word(filter, place)), 0))
        return add_by_force(filter, changed, hash);
    uint64_t key = key_in_set(filter, place);
    count_new(filter, key);
    if (changed)
        *changed = true;
    if (__builtin_expect(journal_is_on(base->journal), 0) || __builtin_expect(may_be_full_of_copies(filter), 0))
        return finish_addition(filter, key);
    return ROOST_OK;
}

static __attribute__((noinline)) roost_status finish_removal(struct orcuckoo *filter, uint64_t key, uint32_t number,
                                                             uint32_t counter)
{
    note_removal(filter, (struct entry){number, counter, key});
    return ROOST_OK;
}

static ALWAYS_INLINE roost_status remove_of_set(roost_filter *base, bool *changed, roost_hash hash)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    struct place place = place_in_set(filter, hash);
    uint32_t slots = is_plain(&filter->table, FOUR_TAGGED) ? slots_in_plain(filter, place) : UINT32_MAX;
    if (!is_one_at_most(slots))
        return orcuckoo_remove_key(base, changed, hash);
    if (changed)
        *changed = slots != 0;
    if (!slots)
        return ROOST_OK;
    struct entry entry = clear_slot(filter, byte_of_slot(slots, place), key_in_set(filter, place));
    if (__builtin_expect(journal_is_on(base->journal), 0))
        return finish_removal(filter, entry.key, entry.number, entry.counter);
    return ROOST_OK;
}

KEY_CALLS(_of_set, seed_of_orcuckoo)

static roost_status remove_key_of_set(roost_filter *filter, bool *changed, const void *key, size_t size)
{
    return __builtin_expect(size == 8, 1)
               ? remove_of_set(filter, changed, hash_short_key(seed_of_orcuckoo(filter), key, 8))
               : remove_any_key(filter, changed, key, size);
}

static const struct filter_calls calls_of_set = {
    .contains = contains_of_set,
    .add = add_of_set,
    .remove = remove_of_set,
    .key = {KEY_CALL(contains, _of_set), KEY_CALL(add, _of_set), remove_key_of_set}};

static bool is_set_of_four(const struct orcuckoo *filter)
{
    return filter->table.form == FOUR_TAGGED && !filter->observed.base.config->multiset;
}

const struct filter_calls *orcuckoo_calls_for(const struct orcuckoo *filter)
{
    return is_set_of_four(filter) ? &calls_of_set : &calls_of_any;
}
