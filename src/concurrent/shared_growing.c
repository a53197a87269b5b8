/*
 * A scalable cuckoo filter that threads share.
 *
 *     hash   |  9 bits: the part  |  ...
 *
 *     part 0 [lock][set of prefixes]     part 1 [lock][set of prefixes]     ...     part 511
 *
 * The state is the union of the parts. Each is a filter of its own for the hashes of one range, without the bits that
 * they have in common. It may add a 512th of what the whole may add of each length (../prefix/budget.c), so that the
 * rate of all together is the one that was promised, and hashes are spread so evenly that the parts come to the next
 * length at about the same time.
 *
 * Prefixes that span parts come from strangers only. Each part that they cover is told so, for look-ups, and the
 * prefixes themselves are kept in a filter beside the parts, which snapshots are merged with.
 *
 * A thread holds the lock of one part, and only while it adds or looks up. Threads that look up hold it together. Who
 * has to wait spins: mostly for a few nanoseconds. The number of parts is chosen for the exception, a segment that is
 * cut: that takes as long as eighty additions, and another thread must seldom come to that part meanwhile.
 *
 * A snapshot holds all locks at once, for as long as it takes to clone the parts, which then share their segments with
 * the clones (../prefix/segment.c): microseconds. The one set of all prefixes is built from the clones afterwards.
 */
#include <sched.h>
#include <stdatomic.h>

#include "shared_kind.h"
#include "../base/sort.h"
#include "../growing/growing_cuckoo.h"

#define PART_BITS 9
#define PARTS     (1u << PART_BITS)

/* On cache lines of their own. */
struct part {
    _Alignas(2 * CACHE_LINE) _Atomic uint32_t lock; /* how many look something up; WRITER: one adds */
    roost_filter *filter;
};

struct shared_growing {
    roost_shared shared; /* its model stays empty */
    void *memory;        /* of the parts */
    struct part *parts;  /* and after them one for what spans parts */
};

static struct part *parts_of(const roost_shared *shared)
{
    return ((const struct shared_growing *)shared)->parts;
}

static struct part *part_of(const roost_shared *shared, roost_hash hash)
{
    return &parts_of(shared)[hash.high >> (64 - PART_BITS)];
}

/* What spans parts. */
static struct part *beside_parts(const roost_shared *shared)
{
    return &parts_of(shared)[PARTS];
}

/* A prefix without the bits of its part, and the reverse. */
static uint64_t without_part(uint64_t prefix)
{
    return prefix << PART_BITS;
}

static uint64_t with_part(uint64_t prefix, unsigned part)
{
    return prefix >> PART_BITS | (uint64_t)part << (64 - PART_BITS);
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

#define WRITER      (1u << 31)
#define MOST_ROUNDS 64

/* Whoever has the lock may need this processor. */
static void wait_a_little(unsigned *rounds)
{
    if (++*rounds % MOST_ROUNDS == 0)
        sched_yield();
}

static void lock_to_read(struct part *part)
{
    unsigned rounds = 0;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&part->lock, memory_order_relaxed);
        if (seen < WRITER && atomic_compare_exchange_weak_explicit(&part->lock, &seen, seen + 1, memory_order_acquire,
                                                                   memory_order_relaxed))
            return;
        wait_a_little(&rounds);
    }
}

static void unlock_to_read(struct part *part)
{
    atomic_fetch_sub_explicit(&part->lock, 1, memory_order_release);
}

/* A writer takes the lock once nobody reads; readers that come in a row do not keep it out, since it first bars
   them. */
static void lock_to_write(struct part *part)
{
    unsigned rounds = 0;
    while (atomic_fetch_or_explicit(&part->lock, WRITER, memory_order_acquire) & WRITER)
        wait_a_little(&rounds);
    while (atomic_load_explicit(&part->lock, memory_order_acquire) != WRITER)
        wait_a_little(&rounds);
}

static void unlock_to_write(struct part *part)
{
    atomic_fetch_and_explicit(&part->lock, ~WRITER, memory_order_release);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static roost_status add_shared(roost_shared *shared, bool *changed, roost_hash hash)
{
    struct part *part = part_of(shared, hash);
    size_t done;
    hash.high <<= PART_BITS;
    lock_to_write(part);
    roost_status status = part->filter->kind->set.add(part->filter, changed, &done, &hash, 1);
    unlock_to_write(part);
    return status;
}

static bool contains_shared(const roost_shared *shared, roost_hash hash)
{
    struct part *part = part_of(shared, hash);
    lock_to_read(part);
    bool found = set_contains(&((const struct growing_cuckoo *)part->filter)->set, hash.high << PART_BITS);
    unlock_to_read(part);
    return found;
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

/* Prefixes in order, into one part, or beside them. A filter of these alone is made first, so that the lock is held for
   the merge only. */
static roost_status merge_list(struct part *part, bool *changed, const struct longer_list *list)
{
    struct prefix_list source = {list->prefixes, list->count};
    roost_filter *some;
    bool grew = false;
    if (list->count == 0)
        return ROOST_OK;
    roost_status status = growing_cuckoo_from(&some, part->filter, list->count, next_of_list, &source);
    if (status != ROOST_OK)
        return status;
    lock_to_write(part);
    status = part->filter->kind->lattice.merge(part->filter, &grew, some);
    unlock_to_write(part);
    roost_filter_free(some);
    *changed |= grew;
    return status;
}

/* What the other has of each part in turn. */
struct parting {
    struct set_stream stream;
    uint64_t ahead; /* the next prefix; 0: there is none */
    struct longer_list list, wide;
    const roost_allocator *allocator;
};

/* The next part: all of it, if what spans parts covers it. */
static bool list_part(struct parting *parting, unsigned part)
{
    const uint64_t end = with_part(UINT64_MAX, part), all = prefix_of(0, 0);
    for (parting->list.count = 0; parting->ahead && first_covered(parting->ahead) <= end;) {
        uint64_t prefix = parting->ahead;
        bool is_wide = prefix_length(prefix) < PART_BITS, ends = last_covered(prefix) <= end;
        uint64_t inside = is_wide ? all : without_part(prefix);
        if (!prefixes_append(&parting->list, &inside, 1, parting->allocator) ||
            (is_wide && ends && !prefixes_append(&parting->wide, &prefix, 1, parting->allocator)))
            return false;
        if (!ends)
            return true; /* it goes on in the next part */
        parting->ahead = next_of_set(&parting->stream);
    }
    return true;
}

static roost_status merge_shared(roost_shared *shared, bool *changed, const roost_filter *other)
{
    struct parting parting = {.allocator = &shared->model->environment.allocator};
    roost_status status = ROOST_OK;
    set_stream_begin(&parting.stream, &((const struct growing_cuckoo *)other)->set);
    parting.ahead = next_of_set(&parting.stream);
    for (unsigned i = 0; i < PARTS && status == ROOST_OK; i++)
        status = list_part(&parting, i) ? merge_list(&parts_of(shared)[i], changed, &parting.list) : ROOST_NO_MEMORY;
    if (status == ROOST_OK)
        status = merge_list(beside_parts(shared), changed, &parting.wide);
    set_stream_end(&parting.stream);
    memory_release(parting.allocator, parting.list.prefixes);
    memory_release(parting.allocator, parting.wide.prefixes);
    return status == ROOST_OK ? parting.stream.table.status : status;
}

/* ---- snapshot ---------------------------------------------------------------------------------------------------- */

/* The prefixes of all parts in order. */
struct all_parts {
    roost_filter *clones[PARTS + 1];
    struct set_stream stream;
    unsigned next; /* part whose stream is still to be begun */
    roost_status status;
};

static void end_stream(struct all_parts *all)
{
    if (all->next == 0)
        return;
    set_stream_end(&all->stream);
    if (all->status == ROOST_OK)
        all->status = all->stream.table.status;
}

static uint64_t next_of_parts(void *context)
{
    struct all_parts *all = context;
    for (;;) {
        uint64_t prefix = all->next ? next_of_set(&all->stream) : 0;
        if (prefix)
            return with_part(prefix, all->next - 1);
        end_stream(all);
        if (all->next == PARTS || all->status != ROOST_OK) {
            all->next = 0;
            return 0;
        }
        set_stream_begin(&all->stream, &((const struct growing_cuckoo *)all->clones[all->next++])->set);
    }
}

/* Of one moment. */
static roost_status clone_parts(const roost_shared *shared, struct all_parts *all)
{
    struct part *parts = parts_of(shared);
    roost_status status = ROOST_OK;
    for (unsigned i = 0; i <= PARTS; i++)
        lock_to_read(&parts[i]);
    for (unsigned i = 0; i <= PARTS && status == ROOST_OK; i++)
        status = roost_filter_clone(parts[i].filter, &all->clones[i]);
    for (unsigned i = 0; i <= PARTS; i++)
        unlock_to_read(&parts[i]);
    return status;
}

static roost_status unite(const roost_shared *shared, struct all_parts *all, roost_filter **copy)
{
    uint64_t count = 0;
    bool changed = false;
    for (unsigned i = 0; i < PARTS; i++)
        count += set_count(&((const struct growing_cuckoo *)all->clones[i])->set);
    roost_status status = growing_cuckoo_from(copy, shared->model, count, next_of_parts, all);
    if (status == ROOST_OK)
        status = all->status;
    return status == ROOST_OK ? (*copy)->kind->lattice.merge(*copy, &changed, all->clones[PARTS]) : status;
}

static roost_status snapshot_shared(const roost_shared *shared, roost_filter **copy)
{
    struct all_parts all = {.next = 0}; /* four kilobytes */
    roost_status status = clone_parts(shared, &all);
    if (status == ROOST_OK)
        status = unite(shared, &all, copy);
    for (unsigned i = 0; i <= PARTS; i++)
        roost_filter_free(all.clones[i]);
    if (status != ROOST_OK) {
        roost_filter_free(*copy);
        *copy = NULL;
    }
    return status;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void close_shared(roost_shared *shared)
{
    struct shared_growing *growing = (struct shared_growing *)shared;
    roost_filter *model = shared->model;
    for (unsigned i = 0; i <= PARTS; i++)
        roost_filter_free(growing->parts[i].filter);
    memory_release(&model->environment.allocator, growing->memory);
    memory_release(&model->environment.allocator, growing);
    roost_filter_free(model);
}

static const struct shared_kind shared_growing_kind = {close_shared, add_shared, contains_shared, merge_shared,
                                                       snapshot_shared};

static bool open_parts(struct shared_growing *growing)
{
    for (unsigned i = 0; i <= PARTS; i++)
        if (growing_cuckoo_open_part(&growing->parts[i].filter, growing->shared.model, i < PARTS ? PART_BITS : 0) !=
            ROOST_OK)
            return false;
    return true;
}

roost_shared *shared_growing_open(roost_filter *empty)
{
    const roost_allocator *allocator = &empty->environment.allocator;
    struct shared_growing *made = memory_allocate(allocator, sizeof *made);
    void *memory = memory_allocate(allocator, (PARTS + 2) * sizeof *made->parts);
    if (!made || !memory) {
        memory_release(allocator, made);
        memory_release(allocator, memory);
        roost_filter_free(empty);
        return NULL;
    }
    uintptr_t aligned = ((uintptr_t)memory + sizeof(struct part) - 1) & ~(uintptr_t)(sizeof(struct part) - 1);
    *made = (struct shared_growing){{&shared_growing_kind, empty, {0}}, memory, (struct part *)aligned};
    if (open_parts(made))
        return &made->shared;
    close_shared(&made->shared);
    return NULL;
}
