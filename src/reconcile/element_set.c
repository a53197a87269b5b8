#include "element_set.h"

#include <string.h>

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
    size_t wanted = *room ? *room + *room / 2 : FIRST_ROOM;
    if (wanted > SIZE_MAX / 2 / size || (set->memory_limit && wanted * size > set->memory_limit))
        return ROOST_TOO_LARGE;
    void *larger = memory_allocate(&set->allocator, wanted * size);
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
    sort_radix(set->elements, set->count, 64);
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
    size_t from = 0, to = set->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (set->elements[middle].high < high)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}
