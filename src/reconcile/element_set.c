#include "element_set.h"

#include <string.h>

#include "../base/sort.h"

#define FIRST_ROOM 64
#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)
#define FEW        24 /* so many are sorted by insertion */
#define MOST_ADDED UINT32_MAX

void element_set_init(struct element_set *set, bool multiset, const roost_environment *environment)
{
    *set = (struct element_set){
        .multiset = multiset, .allocator = environment->allocator, .memory_limit = environment->memory_limit};
}

void element_set_release(struct element_set *set)
{
    memory_release(&set->allocator, set->elements);
    memory_release(&set->allocator, set->counts);
    set->elements = NULL;
    set->counts = NULL;
    set->count = set->room = set->counts_room = 0;
}

/* ---- growing ---------------------------------------------------------------------------------------------------- */

static roost_status grow(const struct element_set *set, void **array, size_t *room, size_t used, size_t size)
{
    size_t wanted = *room ? *room * 2 : FIRST_ROOM;
    if (set->memory_limit && wanted * size > set->memory_limit)
        wanted = *room + *room / 2;
    if (wanted > SIZE_MAX / 2 / size || (set->memory_limit && wanted * size > set->memory_limit))
        return ROOST_TOO_LARGE;
    void *larger = memory_allocate_large(&set->allocator, wanted * size);
    if (!larger)
        return ROOST_NO_MEMORY;
    if (used)
        memcpy(larger, *array, used * size);
    memory_release(&set->allocator, *array);
    *array = larger;
    *room = wanted;
    return ROOST_OK;
}

static roost_status make_room(struct element_set *set)
{
    roost_status status = ROOST_OK;
    void *elements = set->elements, *counts = set->counts;
    if (set->count == set->room)
        status = grow(set, &elements, &set->room, set->count, sizeof *set->elements);
    set->elements = elements;
    if (status == ROOST_OK && set->multiset && set->added == set->counts_room)
        status = grow(set, &counts, &set->counts_room, set->added, sizeof *set->counts);
    set->counts = counts;
    return status;
}

roost_status element_set_add(struct element_set *set, roost_hash hash, uint64_t count)
{
    if (set->added == MOST_ADDED)
        return ROOST_TOO_LARGE;
    roost_status status = make_room(set);
    if (status != ROOST_OK)
        return status;
    if (set->multiset)
        set->counts[set->added] = count;
    set->elements[set->count++] = (struct element){.high = hash.high, .low = hash.low, .index = (uint32_t)set->added++};
    return ROOST_OK;
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

static inline bool comes_before(const struct element *a, const struct element *b)
{
    if (a->high != b->high)
        return a->high < b->high;
    return a->low != b->low ? a->low < b->low : a->index < b->index;
}

static inline void swap_elements(struct element *a, struct element *b)
{
    struct element swap = *a;
    *a = *b;
    *b = swap;
}

static void sort_few(struct element *elements, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct element element = elements[i];
        size_t j = i;
        for (; j > 0 && comes_before(&element, &elements[j - 1]); j--)
            elements[j] = elements[j - 1];
        elements[j] = element;
    }
}

/* Where many share the whole of `high`: no radix is left but `low`, and it may be the same, too. */
static void sift(struct element *heap, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && comes_before(&heap[child], &heap[child + 1]))
            child++;
        if (!comes_before(&heap[root], &heap[child]))
            return;
        swap_elements(&heap[root], &heap[child]);
    }
}

static void sort_heap(struct element *elements, size_t count)
{
    for (size_t root = count / 2; root-- > 0;)
        sift(elements, root, count);
    for (size_t end = count; end-- > 1;) {
        swap_elements(&elements[0], &elements[end]);
        sift(elements, 0, end);
    }
}

/* Each digit's elements to their place, by swapping: no second array of this size is needed. */
static void sort_radix(struct element *elements, size_t count, unsigned bits)
{
    if (count <= FEW || bits == 0) {
        count <= FEW ? sort_few(elements, count) : sort_heap(elements, count);
        return;
    }
    unsigned shift = bits - DIGIT_BITS;
    size_t next[DIGITS] = {0}, ends[DIGITS], begin = 0;
    for (size_t i = 0; i < count; i++)
        next[elements[i].high >> shift & (DIGITS - 1)]++;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        size_t size = next[digit];
        next[digit] = begin;
        ends[digit] = begin += size;
    }
    for (unsigned digit = 0; digit < DIGITS; digit++)
        while (next[digit] < ends[digit]) {
            unsigned home = elements[next[digit]].high >> shift & (DIGITS - 1);
            if (home == digit)
                next[digit]++;
            else
                swap_elements(&elements[next[digit]], &elements[next[home]++]);
        }
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        size_t from = digit ? ends[digit - 1] : 0;
        sort_radix(elements + from, ends[digit] - from, shift);
    }
}

/*
 * Hashes are evenly spread, so there is a quicker way, with a second array: the elements are dealt out by their first
 * digit into parts that fit the cache, and those by a digit of about as many values as there are elements, back to
 * where they came from. Then each is next to where it belongs. Parts where that is not so are left to the radix.
 */
#define EVEN_BITS    10
#define MOST_ALIKE   12
#define FEWEST_DEALT 4096

/* Counts digits below `high << skip`. False if more than `most` share one, and nothing was dealt out then. */
static bool deal_out(struct element *to, const struct element *from, size_t count, unsigned skip, unsigned bits,
                     size_t *ends, size_t most)
{
    size_t start = 0, crowd = 0;
    memset(ends, 0, sizeof *ends << bits);
    for (size_t i = 0; i < count; i++)
        ends[from[i].high << skip >> (64 - bits)]++;
    for (size_t digit = 0; digit < (size_t)1 << bits; digit++) {
        size_t here = ends[digit];
        crowd = here > crowd ? here : crowd;
        ends[digit] = start;
        start += here;
    }
    for (size_t i = 0; i < count && crowd <= most; i++)
        to[ends[from[i].high << skip >> (64 - bits)]++] = from[i];
    return crowd <= most;
}

static void sort_evenly(struct element *elements, struct element *scratch, size_t count)
{
    size_t ends[1u << EVEN_BITS], within[1u << (EVEN_BITS + 2)], begin = 0;
    unsigned parts = EVEN_BITS - 2;
    while (parts < EVEN_BITS && count >> parts > 1u << EVEN_BITS)
        parts++;
    deal_out(scratch, elements, count, 0, parts, ends, SIZE_MAX);
    for (size_t part = 0; part < (size_t)1 << parts; begin = ends[part++]) {
        size_t size = ends[part] - begin;
        unsigned bits = size > 1 ? highest_bit(size) + 1 : 1;
        bits = bits < EVEN_BITS + 2 ? bits : EVEN_BITS + 2;
        if (deal_out(elements + begin, scratch + begin, size, parts, bits, within, MOST_ALIKE)) {
            sort_few(elements + begin, size);
        } else {
            memcpy(elements + begin, scratch + begin, size * sizeof *elements);
            sort_radix(elements + begin, size, 64);
        }
    }
}

/* Without memory for a second array there is the radix. */
static void sort_elements(struct element_set *set)
{
    struct element *scratch = NULL;
    if (set->count >= FEWEST_DEALT && (!set->memory_limit || 2 * set->count * sizeof *scratch <= set->memory_limit))
        scratch = memory_allocate_large(&set->allocator, set->count * sizeof *scratch);
    if (scratch)
        sort_evenly(set->elements, scratch, set->count);
    else
        sort_radix(set->elements, set->count, 64);
    memory_release(&set->allocator, scratch);
}

/* Equal ones stand together, the one that was added first before the others. */
static roost_status unite_equals(struct element_set *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct element *element = &set->elements[i], *last = &set->elements[kept ? kept - 1 : 0];
        if (kept == 0 || last->high != element->high || last->low != element->low)
            set->elements[kept++] = *element;
        else if (set->multiset && __builtin_add_overflow(set->counts[last->index], set->counts[element->index],
                                                         &set->counts[last->index]))
            return ROOST_TOO_LARGE;
    }
    set->count = kept;
    return ROOST_OK;
}

roost_status element_set_seal(struct element_set *set)
{
    sort_elements(set);
    roost_status status = unite_equals(set);
    for (size_t i = 0; status == ROOST_OK && set->multiset && i < set->count; i++) {
        struct element *element = &set->elements[i];
        uint64_t count = set->counts[element->index];
        element->low ^= scramble_count(count);
        element->small_count = count <= MOST_SMALL_COUNT ? (uint32_t)count : 0;
    }
    return status;
}

size_t element_set_find(const struct element_set *set, uint64_t high)
{
    return place_in_sorted(set->elements, set->count, sizeof *set->elements, high);
}
