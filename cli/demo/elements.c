/*
 * A key is made of seed, owner and index, so that nothing but the fate of each element has to be stored: one byte.
 */
#include "elements.h"

#include <stdlib.h>

#define KEYS_AT_ONCE 512
#define NO_OWNER     UINT32_MAX /* owner of the keys that are never added */

/* ---- keys ------------------------------------------------------------------------------------------------------ */

struct demo_key {
    uint64_t seed, owner, index;
};

struct key_run {
    struct demo_key room[KEYS_AT_ONCE];
    roost_bytes keys[KEYS_AT_ONCE];
    size_t count;
};

/* As many keys of [first, end) as fit. */
static void take_keys(struct key_run *run, uint64_t seed, uint32_t owner, uint64_t first, uint64_t end)
{
    run->count = end - first < KEYS_AT_ONCE ? (size_t)(end - first) : KEYS_AT_ONCE;
    for (size_t i = 0; i < run->count; i++) {
        run->room[i] = (struct demo_key){seed, owner, first + i};
        run->keys[i] = (roost_bytes){&run->room[i], sizeof run->room[i]};
    }
}

static struct demo_key key_of(const struct elements *elements, struct element element)
{
    return (struct demo_key){elements->seed, element.owner, element.index};
}

/* ---- fates ----------------------------------------------------------------------------------------------------- */

bool elements_open(struct elements *elements, uint64_t total, uint32_t owners, uint64_t seed)
{
    uint64_t room = total / owners + 1;
    *elements = (struct elements){.seed = seed, .total = total, .owners = owners, .room = room};
    elements->fates = calloc((size_t)room, owners);
    return elements->fates != NULL;
}

void elements_close(struct elements *elements)
{
    free(elements->fates);
    elements->fates = NULL;
}

uint64_t elements_of(const struct elements *elements, uint32_t owner)
{
    return elements->total / elements->owners + (owner < elements->total % elements->owners);
}

static uint8_t *fate_of(const struct elements *elements, struct element element)
{
    return &elements->fates[element.owner * elements->room + element.index];
}

static void set_fate(struct elements *elements, struct element element, enum fate fate)
{
    uint8_t *place = fate_of(elements, element);
    if (*place == NOT_ADDED)
        elements->added++;
    else
        elements->counts[*place]--;
    *place = (uint8_t)fate;
    elements->counts[fate]++;
}

uint64_t elements_alive(const struct elements *elements)
{
    return elements->counts[ADDED] + elements->counts[ADDED_AGAIN];
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

roost_status elements_add(struct elements *elements, roost_filter *filter, uint32_t owner, uint64_t first, uint64_t end)
{
    struct key_run run;
    roost_status status = ROOST_OK;
    for (uint64_t from = first; status == ROOST_OK && from < end; from += run.count) {
        take_keys(&run, elements->seed, owner, from, end);
        status = roost_filter_add_many(filter, NULL, NULL, run.keys, run.count);
        for (size_t i = 0; status == ROOST_OK && i < run.count; i++)
            set_fate(elements, (struct element){owner, from + i}, ADDED);
    }
    return status;
}

roost_status element_remove(struct elements *elements, roost_filter *filter, struct element element)
{
    struct demo_key key = key_of(elements, element);
    bool changed;
    roost_status status = roost_filter_remove(filter, &changed, &key, sizeof key);
    if (status == ROOST_OK && changed)
        set_fate(elements, element, REMOVED);
    return status;
}

roost_status element_add_again(struct elements *elements, roost_filter *filter, struct element element)
{
    struct demo_key key = key_of(elements, element);
    roost_status status = roost_filter_add(filter, NULL, &key, sizeof key);
    if (status == ROOST_OK)
        set_fate(elements, element, ADDED_AGAIN);
    return status;
}

/* ---- look-ups -------------------------------------------------------------------------------------------------- */

uint64_t elements_found(const struct elements *elements, const roost_filter *filter, enum fate fate)
{
    struct key_run run;
    bool found[KEYS_AT_ONCE];
    uint64_t count = 0;
    for (uint32_t owner = 0; owner < elements->owners; owner++) {
        for (uint64_t first = 0; first < elements_of(elements, owner); first += run.count) {
            take_keys(&run, elements->seed, owner, first, elements_of(elements, owner));
            roost_filter_contains_many(filter, found, run.keys, run.count);
            for (size_t i = 0; i < run.count; i++)
                count += found[i] && *fate_of(elements, (struct element){owner, first + i}) == fate;
        }
    }
    return count;
}

uint64_t elements_found_false(const struct elements *elements, const roost_filter *filter, uint64_t keys)
{
    struct key_run run;
    bool found[KEYS_AT_ONCE];
    uint64_t count = 0;
    for (uint64_t first = 0; first < keys; first += run.count) {
        take_keys(&run, elements->seed, NO_OWNER, first, keys);
        roost_filter_contains_many(filter, found, run.keys, run.count);
        for (size_t i = 0; i < run.count; i++)
            count += found[i];
    }
    return count;
}
