/* All ways to call a filter give the same: keys as bytes or as hashes, one a call or many, with and without a journal. */
#ifndef TESTS_CALLS_H
#define TESTS_CALLS_H

#include "check.h"

enum { CALLED_KEYS = 1500, WAYS_TO_CALL = 4 };

/* Keys of 0 to 40 bytes, each of them three times as often short as not; the first third comes twice. */
static inline roost_bytes *keys_of_all_sizes(void)
{
    static roost_bytes keys[CALLED_KEYS];
    static uint8_t bytes[CALLED_KEYS][40];
    for (size_t i = 0; i < CALLED_KEYS; i++) {
        size_t number = i % (CALLED_KEYS * 2 / 3);
        uint64_t mixed[5];
        for (size_t j = 0; j < 5; j++)
            mixed[j] = hash_for_key(number * 8 + j).low;
        memcpy(bytes[i], mixed, sizeof mixed);
        keys[i] = (roost_bytes){bytes[i], number % 4 == 0   ? number / 4 % 41
                                          : number % 4 == 1 ? 8
                                                            : 4 + number / 4 % 13};
    }
    return keys;
}

/* The first way is the plain one: batches of hashes. Returns how many keys were taken. */
static inline size_t add_in_a_way(roost_filter *filter, int way, bool *changed, const roost_bytes *keys,
                                  const roost_hash *hashes)
{
    size_t done = 0;
    if (way == 0)
        (void)roost_filter_add_many_hash(filter, changed, &done, hashes, CALLED_KEYS);
    if (way == 1)
        (void)roost_filter_add_many(filter, changed, &done, keys, CALLED_KEYS);
    while (way >= 2 && done < CALLED_KEYS) {
        roost_status status = way == 2 ? roost_filter_add(filter, &changed[done], keys[done].data, keys[done].size)
                                       : roost_filter_add_hash(filter, &changed[done], hashes[done]);
        if (status != ROOST_OK) {
            assert_false(changed[done]);
            break;
        }
        done++;
    }
    return done;
}

static inline bool contains_in_a_way(const roost_filter *filter, int way, const roost_bytes *key, roost_hash hash)
{
    bool found;
    if (way == 0)
        roost_filter_contains_many_hash(filter, &found, &hash, 1);
    else if (way == 1)
        roost_filter_contains_many(filter, &found, key, 1);
    else
        found =
            way == 2 ? roost_filter_contains(filter, key->data, key->size) : roost_filter_contains_hash(filter, hash);
    return found;
}

/* The state in bytes, and the delta of everything where there is a journal. */
static inline void assert_same_bytes_and_delta(roost_filter *filter, const roost_cursor *from, roost_filter *other,
                                               const roost_cursor *other_from)
{
    roost_buffer delta, other_delta;
    roost_cursor to;
    assert_same_frame(filter, other);
    assert_same_digest(filter, other);
    if (from->incarnation == 0)
        return;
    assert_ok(roost_filter_encode_delta(filter, &delta, &to, from));
    assert_ok(roost_filter_encode_delta(other, &other_delta, &to, other_from));
    assert_int_equal(delta.size, other_delta.size);
    roost_buffer_release(&delta);
    roost_buffer_release(&other_delta);
}

/* `prepare`, where there is one, is called with each new filter. Not for kinds whose additions differ by their dots. */
static inline void assert_ways_to_call_agree(const roost_config *config, void (*prepare)(roost_filter *filter))
{
    static bool changed[WAYS_TO_CALL][CALLED_KEYS], found[WAYS_TO_CALL][CALLED_KEYS];
    static roost_hash hashes[CALLED_KEYS], absent[CALLED_KEYS];
    const roost_bytes *keys = keys_of_all_sizes();
    for (int with_journal = 0; with_journal < 2; with_journal++) {
        roost_filter *filters[WAYS_TO_CALL];
        roost_cursor cursors[WAYS_TO_CALL] = {0};
        size_t done[WAYS_TO_CALL];
        memset(changed, 0, sizeof changed);
        for (int way = 0; way < WAYS_TO_CALL; way++) {
            filters[way] = new_filter(config);
            if (prepare)
                prepare(filters[way]);
            for (size_t i = 0; i < CALLED_KEYS; i++) {
                hashes[i] = roost_filter_hash(filters[way], keys[i].data, keys[i].size);
                absent[i] = hash_for_key(i + 1000000);
            }
            if (with_journal)
                assert_ok(roost_filter_get_cursor(filters[way], &cursors[way]));
            done[way] = add_in_a_way(filters[way], way, changed[way], keys, hashes);
            assert_int_equal(done[way], done[0]);
            assert_memory_equal(changed[way], changed[0], done[0]);
            assert_ok(roost_filter_check(filters[way]));
            assert_same_bytes_and_delta(filters[way], &cursors[way], filters[0], &cursors[0]);
        }
        for (int way = 0; way < WAYS_TO_CALL; way++) {
            for (size_t i = 0; i < done[0]; i++)
                assert_true(contains_in_a_way(filters[way], way, &keys[i], hashes[i]));
            for (size_t i = 0; i < CALLED_KEYS; i++)
                found[way][i] = contains_in_a_way(filters[way], way == 2 ? 3 : way == 1 ? 0 : way, NULL, absent[i]);
            assert_memory_equal(found[way], found[0], CALLED_KEYS);
        }
        free_all(filters, WAYS_TO_CALL);
    }
}

#endif
