/*
 * Sets of slot numbers.
 *
 * As in Roaring bitmaps (Lemire and others), the numbers are cut into pages by all bits but the lowest 16. A page with
 * few slots is an ascending array of 16-bit numbers with room for up to twice as many, a page with many an array of
 * 65,536 bits: never more than 8 KiB for a page.
 *
 *     pages     number 0   number 3   number 9
 *                  |          |          |
 *               1 7 9 200    bits       0 5        slots 1 7 9 200 ... 196,612 ... 589,824 589,829
 *
 * Pages are what copies share (../base/shared_block.h). So a copy of a set with millions of slots costs a pointer for
 * each 65,536 numbers, and the first change of a page after that copies 8 KiB at most.
 */
#include "slot_set.h"

#include <string.h>

#include "../base/hash.h"
#include "../base/sort.h"

#define PAGE_SHIFT  16
#define PAGE_SLOTS  (UINT32_C(1) << PAGE_SHIFT)
#define WORD        16                  /* bits of a number in a page */
#define PAGE_WORDS  (PAGE_SLOTS / WORD) /* of a page of bits; an array of as many slots is as large */
#define LEAST_ROOM  4
#define LEAST_PAGES 4

/* Invariant: `count` is 0 only where room was reserved and not used. */
struct slot_page {
    struct shared_block block;
    uint32_t count;
    uint32_t room;    /* of an array; PAGE_WORDS: bits */
    uint16_t words[]; /* as many as there is room for */
};

static bool has_bits(const struct slot_page *page)
{
    return page->room == PAGE_WORDS;
}

static uint64_t number_of(uint64_t slot)
{
    return slot >> PAGE_SHIFT;
}

static uint16_t low_part(uint64_t slot)
{
    return (uint16_t)slot;
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static size_t bytes_for(uint32_t room)
{
    return sizeof(struct slot_page) + room * sizeof(uint16_t);
}

static struct slot_page *page_allocate(uint32_t room, const roost_allocator *allocator)
{
    struct slot_page *page = memory_allocate(allocator, bytes_for(room));
    if (page)
        page->room = room;
    return page;
}

/* Where the slot is in an array, or would be. */
static uint32_t place_in(const struct slot_page *page, uint16_t low)
{
    uint32_t from = 0, to = page->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (page->words[middle] < low)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool page_has(const struct slot_page *page, uint16_t low)
{
    if (has_bits(page))
        return page->words[low / WORD] >> (low % WORD) & 1;
    uint32_t place = place_in(page, low);
    return place < page->count && page->words[place] == low;
}

static void page_put(struct slot_page *page, uint16_t low)
{
    if (has_bits(page)) {
        page->words[low / WORD] |= (uint16_t)(1u << (low % WORD));
    } else {
        uint32_t place = place_in(page, low);
        memmove(&page->words[place + 1], &page->words[place], (page->count - place) * sizeof *page->words);
        page->words[place] = low;
    }
    page->count++;
}

/* Steps to the next slot from `*at` on, which is then behind it. */
static bool page_next(const struct slot_page *page, uint32_t *at, uint16_t *low)
{
    if (!has_bits(page)) {
        if (*at >= page->count)
            return false;
        *low = page->words[(*at)++];
        return true;
    }
    while (*at < PAGE_SLOTS) {
        unsigned rest = (unsigned)page->words[*at / WORD] >> (*at % WORD);
        if (rest != 0) {
            *at += (uint32_t)__builtin_ctz(rest);
            *low = (uint16_t)(*at)++;
            return true;
        }
        *at = (*at / WORD + 1) * WORD;
    }
    return false;
}

static bool page_includes(const struct slot_page *page, const struct slot_page *other)
{
    uint16_t low;
    if (page == other)
        return true;
    if (other->count > page->count)
        return false;
    for (uint32_t at = 0; page_next(other, &at, &low);)
        if (!page_has(page, low))
            return false;
    return true;
}

static struct slot_page *page_copy(const struct slot_page *page, uint32_t room, const roost_allocator *allocator)
{
    struct slot_page *copy = page_allocate(room, allocator);
    if (!copy)
        return NULL;
    if (has_bits(copy) == has_bits(page)) {
        memcpy(copy->words, page->words, (has_bits(page) ? PAGE_WORDS : page->count) * sizeof *page->words);
        copy->count = page->count;
    } else {
        for (uint32_t i = 0; i < page->count; i++)
            page_put(copy, page->words[i]);
    }
    return copy;
}

static uint32_t room_for(uint32_t count)
{
    uint32_t room = LEAST_ROOM;
    while (room < count && room < PAGE_WORDS)
        room *= 2;
    return room;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void slot_set_release(struct slot_set *set, const struct memory_account *account)
{
    for (size_t i = 0; i < set->page_count; i++)
        block_leave(&set->pages[i].page->block, account);
    memory_release(&account->allocator, set->pages);
    *set = (struct slot_set){.seed = set->seed};
}

static bool copy_page(struct numbered_page *copy, const struct numbered_page *page,
                      const struct memory_account *account, bool shares)
{
    *copy = *page;
    if (shares)
        block_share(&page->page->block, account);
    else
        copy->page = page_copy(page->page, page->page->room, &account->allocator);
    return copy->page;
}

bool slot_set_clone(struct slot_set *copy, const struct slot_set *set, const struct memory_account *account,
                    bool shares)
{
    struct slot_set made = *set;
    made.page_count = made.page_room = 0;
    made.pages = NULL;
    if (set->page_count > 0) {
        made.pages = memory_allocate(&account->allocator, set->page_count * sizeof *made.pages);
        if (!made.pages)
            return false;
        made.page_room = set->page_count;
    }
    for (; made.page_count < set->page_count; made.page_count++)
        if (!copy_page(&made.pages[made.page_count], &set->pages[made.page_count], account, shares)) {
            slot_set_release(&made, account);
            return false;
        }
    *copy = made;
    return true;
}

void slot_set_move(struct slot_set *set, const struct memory_mover *mover)
{
    set->pages = memory_moved(mover, set->pages);
    for (size_t i = 0; i < set->page_count; i++)
        set->pages[i].page = block_moved(mover, &set->pages[i].page->block);
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

/* Where the page is, or would be. */
static size_t place_of(const struct slot_set *set, uint64_t number)
{
    size_t count = set->page_count;
    return count > 0 && set->pages[count - 1].number < number
               ? count
               : place_in_sorted(set->pages, count, sizeof *set->pages, number);
}

static struct slot_page **find_page(const struct slot_set *set, uint64_t number)
{
    size_t place = place_of(set, number);
    return place < set->page_count && set->pages[place].number == number ? &set->pages[place].page : NULL;
}

bool slot_set_has(const struct slot_set *set, uint64_t slot)
{
    struct slot_page **page = set->count > 0 ? find_page(set, number_of(slot)) : NULL;
    return page && page_has(*page, low_part(slot));
}

bool slot_set_includes(const struct slot_set *set, const struct slot_set *other)
{
    for (size_t i = 0; i < other->page_count; i++) {
        struct slot_page **page = find_page(set, other->pages[i].number);
        if (page ? !page_includes(*page, other->pages[i].page) : other->pages[i].page->count > 0)
            return false;
    }
    return true;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static bool reserve_page(struct slot_set *set, const roost_allocator *allocator)
{
    if (set->page_count < set->page_room)
        return true;
    size_t room = set->page_room ? 2 * set->page_room : LEAST_PAGES;
    struct numbered_page *pages = memory_allocate(allocator, room * sizeof *pages);
    if (!pages)
        return false;
    if (set->page_count > 0)
        memcpy(pages, set->pages, set->page_count * sizeof *pages);
    memory_release(allocator, set->pages);
    set->pages = pages;
    set->page_room = room;
    return true;
}

static bool add_page(struct slot_set *set, uint64_t number, uint32_t room, const roost_allocator *allocator)
{
    struct slot_page *page = reserve_page(set, allocator) ? page_allocate(room, allocator) : NULL;
    if (!page)
        return false;
    size_t place = place_of(set, number);
    memmove(&set->pages[place + 1], &set->pages[place], (set->page_count - place) * sizeof *set->pages);
    set->pages[place] = (struct numbered_page){number, page};
    set->page_count++;
    set->bytes += bytes_for(room);
    return true;
}

bool slot_set_reserve(struct slot_set *set, uint64_t slot, uint32_t more, const struct memory_account *account)
{
    struct slot_page **page = find_page(set, number_of(slot)), *larger;
    if (!page)
        return add_page(set, number_of(slot), room_for(more), &account->allocator);
    bool fits = has_bits(*page) || (*page)->room - (*page)->count >= more;
    if (fits && !block_is_shared(&(*page)->block))
        return true;
    larger = page_copy(*page, fits ? (*page)->room : room_for((*page)->count + more), &account->allocator);
    if (!larger)
        return false;
    set->bytes += bytes_for(larger->room) - bytes_for((*page)->room);
    block_leave(&(*page)->block, account);
    *page = larger;
    return true;
}

bool slot_set_reserve_all(struct slot_set *set, const struct slot_set *other, const struct memory_account *account)
{
    for (size_t i = 0; i < other->page_count; i++) {
        const struct numbered_page *theirs = &other->pages[i];
        struct slot_page **mine = find_page(set, theirs->number);
        if ((mine && page_includes(*mine, theirs->page)) || theirs->page->count == 0)
            continue;
        if (!slot_set_reserve(set, theirs->number << PAGE_SHIFT, theirs->page->count, account))
            return false;
    }
    return true;
}

void slot_set_put(struct slot_set *set, uint64_t slot)
{
    page_put(*find_page(set, number_of(slot)), low_part(slot));
    set->count++;
    set->sum += hash_number(set->seed, slot);
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

bool slot_walk_next(const struct slot_set *set, struct slot_walk *walk)
{
    uint16_t low;
    for (; walk->page < set->page_count; walk->page++, walk->at = 0)
        if (page_next(set->pages[walk->page].page, &walk->at, &low)) {
            walk->slot = set->pages[walk->page].number << PAGE_SHIFT | low;
            return true;
        }
    return false;
}

bool slot_walk_next_beyond(const struct slot_set *set, struct slot_walk *walk, const struct slot_set *other)
{
    for (; walk->page < set->page_count; walk->page++, walk->at = 0) {
        const struct numbered_page *page = &set->pages[walk->page];
        struct slot_page **theirs = find_page(other, page->number);
        uint16_t low;
        if (theirs && *theirs == page->page)
            continue;
        while (page_next(page->page, &walk->at, &low))
            if (!theirs || !page_has(*theirs, low)) {
                walk->slot = page->number << PAGE_SHIFT | low;
                return true;
            }
    }
    return false;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

uint64_t slot_set_memory(const struct slot_set *set)
{
    return set->page_room * sizeof *set->pages + set->bytes;
}

bool slot_set_check(const struct slot_set *set)
{
    struct slot_set counted = {.seed = set->seed};
    for (size_t i = 0; i < set->page_count; i++) {
        const struct slot_page *page = set->pages[i].page;
        uint32_t count = 0;
        uint16_t low, before = 0;
        for (uint32_t at = 0; page_next(page, &at, &low); before = low, count++) {
            if (count > 0 && low <= before)
                return false;
            counted.sum += hash_number(set->seed, set->pages[i].number << PAGE_SHIFT | low);
        }
        if (count != page->count || count > (has_bits(page) ? PAGE_SLOTS : page->room) ||
            (i > 0 && set->pages[i - 1].number >= set->pages[i].number))
            return false;
        counted.count += count;
        counted.bytes += bytes_for(page->room);
    }
    return counted.count == set->count && counted.bytes == set->bytes && counted.sum == set->sum;
}
