/*
 * Imported parts: the lattice, queries and removals.
 *
 * RedisBloom's filters are chains of arrays. A scaling Bloom filter has Bloom arrays, each stricter than the one before
 * it; a cuckoo filter has tables of fingerprints of 8 bits. Elements cannot be read back from them, so each array
 * becomes a *part* here, as it is:
 *
 *     Bloom     bit (a + i b) mod bits, i = 0 ... k - 1, with a = murmur(key, constant), b = murmur(key, a)
 *     cuckoo    fingerprint f = h mod 255 + 1, buckets h mod n and (h xor f * constant) mod n, with h = murmur(key, 0)
 *
 * Later filters of RedisBloom have seeds of their own in place of the constant and the 0. Those of valkey-bloom are
 * chains of Bloom arrays, too, with a = sip(key, first half of a seed of 32 bytes), b = sip(key, second half):
 *
 *     Bloom     bits a, b, and (a + i b) mod (2^64 - 59), i = 2 ... k - 1, each mod bits
 *
 * The lattice. A part is named by the hash of all that it is, so two replicas that import the same dump have the same
 * part, and nothing about a part ever changes but one thing: copies may be removed from a cuckoo part. Its slots never
 * move, since nothing is ever kicked, so (part, slot) names one copy for ever, in all replicas. So the state is
 *
 *     for each part    absent < present
 *     for each slot    live < removed
 *
 * a product of chains. Merge is the pointwise maximum: the union of the parts, and of the removed slots. It is
 * idempotent, commutative and associative; add wins does not arise, since nothing is added here. Removals may come
 * before their part does (a lost delta): they are kept, and count once it is there.
 *
 * Which copy. Two elements may share fingerprint and buckets, and an array cannot tell which slot is whose. A removal
 * takes the first live slot, in the order of parts, buckets and slots. That is a function of the state, so two replicas
 * with equal states that remove an element at the same time choose the same copy: it is removed once. If they remove
 * two elements that share a class, they also choose the same copy, and one more is left than should be. This is the
 * safe side: a later query answers yes once too often, and no element that is there is ever lost. (If the rule were
 * random, two removals of one element that was added once could take another element's copy with them.)
 *
 *     slots of a class    x y        Tokyo removes x, Osaka removes y: both remove the first
 *     merged              . y        the class still answers yes
 *
 * A caller that removes elements that it never added loses others, as in the program that made the part: one time in
 * about 255 / (2 bucket size). So the caller looks in the Roost filter first, whose fingerprints are longer.
 *
 * Copies share the array of a part, which never changes, and the pages of its removed slots (slot_set.c). So a copy of
 * a filter with gigabytes of parts takes microseconds, and so does the merge of a part that the receiver lacks.
 *
 * Digest: the sum of a hash of each part's id, and of each removed slot under the id for a seed.
 */
#include "imported.h"

#include <math.h>
#include <string.h>

#include "murmur.h"
#include "sip.h"
#include "../base/hash.h"

#define BLOOM_SEED_64 MURMUR_64
#define BLOOM_SEED_32 0x9747b28cu
#define MOST_BITS     (UINT64_C(1) << 56)
#define MOST_PROBES   2048
#define MOST_WIDTH    255
#define FIELDS        7 /* of a part, as numbers */
#define SEEDS         4
#define LARGEST_PRIME (UINT64_MAX - 58) /* that a word can hold */

/* ---- parts ------------------------------------------------------------------------------------------------------- */

bool form_is_cuckoo(roost_imported_form form)
{
    return form == ROOST_IMPORTED_CUCKOO || form == ROOST_IMPORTED_CUCKOO_SEEDED;
}

unsigned form_seeds(roost_imported_form form)
{
    return form == ROOST_IMPORTED_BLOOM_SIP                                              ? SEEDS
           : form == ROOST_IMPORTED_BLOOM_SEEDED || form == ROOST_IMPORTED_CUCKOO_SEEDED ? 1
                                                                                         : 0;
}

uint64_t part_array_size(const roost_imported_part *part)
{
    return form_is_cuckoo(part->form)               ? part->places * part->width
           : part->form == ROOST_IMPORTED_BLOOM_SIP ? (part->places + 7) / 8
                                                    : (part->places + 63) / 64 * 8;
}

static bool is_cuckoo(const struct imported_part *part)
{
    return !part->array || form_is_cuckoo(part->part.form);
}

/* Seeds that the form does not have are 0: equal parts are equal in all fields. */
static bool seeds_are_sound(const roost_imported_part *part)
{
    for (unsigned i = form_seeds(part->form); i < SEEDS; i++)
        if (part->seeds[i] != 0)
            return false;
    return true;
}

static bool bloom_is_sound(const roost_imported_part *part)
{
    return part->places >= 1 && part->places <= MOST_BITS && part->width >= 1 && part->width <= MOST_PROBES &&
           part->size == part_array_size(part) && part->fpr > 0 && part->fpr < 1 && part->deleted == 0;
}

static bool cuckoo_is_sound(const roost_imported_part *part)
{
    return part->places >= 1 && (part->places & (part->places - 1)) == 0 && part->width >= 1 &&
           part->width <= MOST_WIDTH && part->places <= MOST_SLOT / MOST_WIDTH && part->size == part_array_size(part) &&
           part->capacity == 0 && part->items == 0 && part->fpr == 0;
}

bool part_is_sound(const roost_imported_part *part)
{
    if (part->form < ROOST_IMPORTED_BLOOM || part->form > ROOST_IMPORTED_CUCKOO_SEEDED || !seeds_are_sound(part))
        return false;
    return form_is_cuckoo(part->form) ? cuckoo_is_sound(part) : bloom_is_sound(part);
}

uint128 part_id(const roost_imported_part *part, const uint8_t *bytes)
{
    uint8_t fields[(FIELDS + SEEDS) * 8];
    uint64_t rate;
    memcpy(&rate, &part->fpr, sizeof rate);
    const uint64_t numbers[FIELDS] = {part->form,  part->places,  part->width, part->capacity,
                                      part->items, part->deleted, rate};
    size_t count = FIELDS + form_seeds(part->form);
    for (size_t i = 0; i < count; i++)
        store_word(fields + 8 * i, i < FIELDS ? numbers[i] : part->seeds[i - FIELDS]);
    uint64_t seed = hash_bytes(0, fields, 8 * count).low;
    return hash_to_number(hash_bytes(seed, bytes, part->size)) + hash_number(1, seed);
}

static uint128 digest_of_part(uint128 id)
{
    uint8_t bytes[16];
    store_double_word(bytes, id);
    return hash_to_number(hash_bytes(2, bytes, sizeof bytes));
}

static uint64_t part_seed(uint128 id)
{
    return (uint64_t)id ^ (uint64_t)(id >> 64);
}

void part_name(struct imported_part *part, uint128 id)
{
    part->id = id;
    part->removed.seed = part_seed(id);
}

static uint64_t count_filled(const uint8_t *bytes, size_t size)
{
    uint64_t filled = 0;
    for (size_t i = 0; i < size; i++)
        filled += bytes[i] != 0;
    return filled;
}

static bool holds_fingerprint(const struct imported_part *part, uint64_t slot)
{
    return part->array && is_cuckoo(part) && slot < part->part.size && part->array->bytes[slot] != 0;
}

static uint64_t count_live(const struct imported_part *part)
{
    struct slot_walk walk = {0};
    uint64_t live = part->array && is_cuckoo(part) ? part->array->filled : 0;
    while (live > 0 && slot_walk_next(&part->removed, &walk))
        live -= holds_fingerprint(part, walk.slot);
    return live;
}

static uint128 sum_of(const struct imported *imported)
{
    uint128 sum = 0;
    for (size_t i = 0; i < imported->count; i++)
        sum += (imported->parts[i].array ? digest_of_part(imported->parts[i].id) : 0) + imported->parts[i].removed.sum;
    return sum;
}

void imported_complete(struct imported *imported)
{
    for (size_t i = 0; i < imported->count; i++)
        imported->parts[i].live = count_live(&imported->parts[i]);
    imported->digest = sum_of(imported);
}

bool part_take_bytes(struct imported_part *part, const void *bytes, const roost_allocator *allocator)
{
    part->array = memory_allocate(allocator, sizeof *part->array + part->part.size);
    if (!part->array)
        return false;
    memcpy(part->array->bytes, bytes, part->part.size);
    part->array->filled = is_cuckoo(part) ? count_filled(part->array->bytes, part->part.size) : 0;
    part->part.bytes = NULL;
    return true;
}

static bool share_array(struct imported_part *copy, const struct imported_part *part,
                        const struct memory_account *account, bool shares)
{
    if (!shares)
        return part_take_bytes(copy, part->array->bytes, &account->allocator);
    copy->array = part->array;
    block_share(&part->array->block, account);
    return true;
}

static void release_array(struct imported_part *part, const struct memory_account *account)
{
    if (part->array)
        block_leave(&part->array->block, account);
    part->array = NULL;
}

static void part_release(struct imported_part *part, const struct memory_account *account)
{
    release_array(part, account);
    slot_set_release(&part->removed, account);
}

static bool part_clone(struct imported_part *copy, const struct imported_part *part,
                       const struct memory_account *account, bool shares)
{
    *copy = *part;
    copy->array = NULL;
    if (part->array && !share_array(copy, part, account, shares))
        return false;
    if (slot_set_clone(&copy->removed, &part->removed, account, shares))
        return true;
    release_array(copy, account);
    return false;
}

/* ---- sets of parts ----------------------------------------------------------------------------------------------- */

void imported_free(struct imported *imported, const struct memory_account *account)
{
    if (!imported)
        return;
    for (size_t i = 0; i < imported->count; i++)
        part_release(&imported->parts[i], account);
    memory_release(&account->allocator, imported->parts);
    memory_release(&account->allocator, imported);
}

/* Empty, with room for so many parts. */
struct imported *imported_allocate(size_t room, const roost_allocator *allocator)
{
    struct imported *made = memory_allocate(allocator, sizeof *made);
    if (!made)
        return NULL;
    *made = (struct imported){.parts = memory_allocate(allocator, (room + 1) * sizeof *made->parts)};
    if (!made->parts) {
        memory_release(allocator, made);
        return NULL;
    }
    return made;
}

/* Where the part is, or would be. */
static size_t place_of(const struct imported *imported, uint128 id)
{
    size_t low = 0, high = imported->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (imported->parts[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct imported_part *find_part(const struct imported *imported, uint128 id)
{
    size_t place = imported ? place_of(imported, id) : 0;
    return imported && place < imported->count && imported->parts[place].id == id ? &imported->parts[place] : NULL;
}

static roost_status import_part(struct imported *imported, const roost_imported_part *part,
                                const roost_allocator *allocator)
{
    if (!part_is_sound(part))
        return ROOST_INVALID;
    struct imported_part made = {.part = *part};
    part_name(&made, part_id(part, part->bytes));
    size_t place = place_of(imported, made.id);
    if (place < imported->count && imported->parts[place].id == made.id)
        return ROOST_OK;
    if (!part_take_bytes(&made, part->bytes, allocator))
        return ROOST_NO_MEMORY;
    memmove(&imported->parts[place + 1], &imported->parts[place], (imported->count - place) * sizeof *imported->parts);
    imported->parts[place] = made;
    imported->count++;
    return ROOST_OK;
}

roost_status imported_new(struct imported **imported, const struct memory_account *account,
                          const roost_imported_part *parts, size_t count)
{
    *imported = NULL;
    if (count > MOST_PARTS)
        return ROOST_TOO_LARGE;
    struct imported *made = imported_allocate(count, &account->allocator);
    roost_status status = made ? ROOST_OK : ROOST_NO_MEMORY;
    for (size_t i = 0; i < count && status == ROOST_OK; i++)
        status = import_part(made, &parts[i], &account->allocator);
    if (status != ROOST_OK) {
        imported_free(made, account);
        return status;
    }
    imported_complete(made);
    *imported = made;
    return ROOST_OK;
}

roost_status imported_clone(const struct imported *imported, struct imported **copy,
                            const struct memory_account *account, bool shares)
{
    struct imported *made = imported_allocate(imported->count, &account->allocator);
    *copy = NULL;
    if (!made)
        return ROOST_NO_MEMORY;
    for (; made->count < imported->count; made->count++)
        if (!part_clone(&made->parts[made->count], &imported->parts[made->count], account, shares)) {
            imported_free(made, account);
            return ROOST_NO_MEMORY;
        }
    made->digest = imported->digest;
    *copy = made;
    return ROOST_OK;
}

void imported_move(struct imported **imported, const struct memory_mover *mover)
{
    if (!*imported)
        return;
    *imported = memory_moved(mover, *imported);
    (*imported)->parts = memory_moved(mover, (*imported)->parts);
    for (size_t i = 0; i < (*imported)->count; i++) {
        struct imported_part *part = &(*imported)->parts[i];
        if (part->array)
            part->array = block_moved(mover, &part->array->block);
        slot_set_move(&part->removed, mover);
    }
}

bool imported_has_bloom(const struct imported *imported)
{
    for (size_t i = 0; imported && i < imported->count; i++)
        if (!is_cuckoo(&imported->parts[i]))
            return true;
    return false;
}

bool imported_has_cuckoo(const struct imported *imported)
{
    for (size_t i = 0; imported && i < imported->count; i++)
        if (is_cuckoo(&imported->parts[i]))
            return true;
    return false;
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

/* The hashes of a key. Parts of one filter have the same, so those of the last part are kept. */
struct key_hash {
    const uint8_t *key;
    size_t size;
    uint64_t first, second; /* a cuckoo part has only the first */
    const roost_imported_part *of;
};

/* Most forms have no seeds to compare. */
static bool same_hash(const roost_imported_part *part, const roost_imported_part *other)
{
    return part->form == other->form &&
           (part->form < ROOST_IMPORTED_BLOOM_SIP || memcmp(part->seeds, other->seeds, sizeof part->seeds) == 0);
}

static void hash_for(struct key_hash *hash, const roost_imported_part *part)
{
    if (hash->of && same_hash(hash->of, part))
        return;
    hash->of = part;
    switch (part->form) {
    case ROOST_IMPORTED_BLOOM_32:
        hash->first = murmur_32(hash->key, hash->size, BLOOM_SEED_32);
        hash->second = murmur_32(hash->key, hash->size, (uint32_t)hash->first);
        break;
    case ROOST_IMPORTED_BLOOM_SIP:
        hash->first = sip_13(hash->key, hash->size, part->seeds);
        hash->second = sip_13(hash->key, hash->size, part->seeds + 2);
        break;
    case ROOST_IMPORTED_BLOOM:
    case ROOST_IMPORTED_BLOOM_SEEDED:
        hash->first =
            murmur_64(hash->key, hash->size, part->form == ROOST_IMPORTED_BLOOM ? BLOOM_SEED_64 : part->seeds[0]);
        hash->second = murmur_64(hash->key, hash->size, hash->first);
        break;
    default:
        hash->first = murmur_64(hash->key, hash->size, part->seeds[0]);
    }
}

static uint64_t sip_position(const struct key_hash *hash, uint32_t probe)
{
    return probe == 0 ? hash->first : probe == 1 ? hash->second : (hash->first + probe * hash->second) % LARGEST_PRIME;
}

static bool bloom_part_contains(const struct imported_part *part, struct key_hash *hash)
{
    bool sip = part->part.form == ROOST_IMPORTED_BLOOM_SIP;
    hash_for(hash, &part->part);
    uint64_t position = hash->first;
    for (uint32_t i = 0; i < part->part.width; i++, position += hash->second) {
        uint64_t bit = (sip ? sip_position(hash, i) : position) % part->part.places;
        if (!(part->array->bytes[bit / 8] >> (bit % 8) & 1))
            return false;
    }
    return true;
}

/* The slots of a key in a cuckoo part, one bucket after the other; a bucket that is both counts once. */
struct slots {
    uint64_t bucket[2];
    unsigned buckets;
    uint8_t fingerprint;
};

static struct slots slots_in(const struct imported_part *part, struct key_hash *key)
{
    hash_for(key, &part->part);
    uint64_t hash = key->first;
    uint64_t fingerprint = hash % 255 + 1, other = hash ^ fingerprint * MURMUR_32;
    struct slots slots = {{hash & (part->part.places - 1), other & (part->part.places - 1)}, 2, (uint8_t)fingerprint};
    slots.buckets = slots.bucket[0] == slots.bucket[1] ? 1 : 2;
    return slots;
}

/* The next live slot of the fingerprint from place `at` on, which counts through both buckets. False: no more. */
static bool next_live(const struct imported_part *part, const struct slots *slots, uint32_t *at, uint64_t *slot)
{
    for (; *at < slots->buckets * part->part.width; ++*at) {
        *slot = slots->bucket[*at / part->part.width] * part->part.width + *at % part->part.width;
        if (part->array->bytes[*slot] == slots->fingerprint && !slot_set_has(&part->removed, *slot)) {
            ++*at;
            return true;
        }
    }
    return false;
}

static uint64_t count_in(const struct imported_part *part, struct key_hash *hash, uint64_t most)
{
    struct slots slots = slots_in(part, hash);
    uint64_t slot, count = 0;
    for (uint32_t at = 0; count < most && next_live(part, &slots, &at, &slot);)
        count++;
    return count;
}

/* The newest parts of a chain are the largest, but no order helps all callers. */
bool imported_contains(const struct imported *imported, const void *key, size_t size)
{
    struct key_hash hash = {.key = key, .size = size};
    for (size_t i = 0; i < imported->count; i++) {
        const struct imported_part *part = &imported->parts[i];
        if (part->array && (is_cuckoo(part) ? count_in(part, &hash, 1) > 0 : bloom_part_contains(part, &hash)))
            return true;
    }
    return false;
}

uint64_t imported_count(const struct imported *imported, const void *key, size_t size)
{
    struct key_hash hash = {.key = key, .size = size};
    uint64_t count = 0;
    for (size_t i = 0; i < imported->count; i++)
        if (imported->parts[i].array && is_cuckoo(&imported->parts[i]))
            count += count_in(&imported->parts[i], &hash, UINT64_MAX);
    return count;
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

static void remove_slot(struct imported *imported, struct imported_part *part, uint64_t slot,
                        const struct imported_observer *observer)
{
    slot_set_put(&part->removed, slot);
    part->live -= holds_fingerprint(part, slot);
    imported->digest += hash_number(part->removed.seed, slot);
    observer->removed(observer->context, part->id, slot);
}

static bool reserve_in(struct imported_part *part, struct key_hash *hash, const struct memory_account *account)
{
    struct slots slots = slots_in(part, hash);
    uint32_t count = (uint32_t)count_in(part, hash, UINT64_MAX); /* of two buckets */
    uint64_t slot;
    for (uint32_t at = 0; next_live(part, &slots, &at, &slot);)
        if (!slot_set_reserve(&part->removed, slot, count, account))
            return false;
    return true;
}

/* Room first, so that nothing is removed where something fails. */
static bool reserve_removals(struct imported *imported, struct key_hash *hash, const struct memory_account *account)
{
    for (size_t i = 0; i < imported->count; i++)
        if (imported->parts[i].array && is_cuckoo(&imported->parts[i]) &&
            !reserve_in(&imported->parts[i], hash, account))
            return false;
    return true;
}

roost_status imported_remove(struct imported *imported, bool *changed, const void *key, size_t size, bool all,
                             const struct memory_account *account, const struct imported_observer *observer)
{
    struct key_hash hash = {.key = key, .size = size};
    uint64_t slot;
    *changed = false;
    if (!reserve_removals(imported, &hash, account))
        return ROOST_NO_MEMORY;
    for (size_t i = 0; i < imported->count && (all || !*changed); i++) {
        struct imported_part *part = &imported->parts[i];
        if (!part->array || !is_cuckoo(part))
            continue;
        struct slots slots = slots_in(part, &hash);
        for (uint32_t at = 0; (all || !*changed) && next_live(part, &slots, &at, &slot); *changed = true)
            remove_slot(imported, part, slot, observer);
    }
    return ROOST_OK;
}

/* ---- lattice ----------------------------------------------------------------------------------------------------- */

/* Whether all of `other` is in the first. */
static bool includes(const struct imported *imported, const struct imported *other)
{
    for (size_t i = 0; other && i < other->count; i++) {
        const struct imported_part *theirs = &other->parts[i], *mine = find_part(imported, theirs->id);
        if (!mine || (theirs->array && !mine->array) || !slot_set_includes(&mine->removed, &theirs->removed))
            return false;
    }
    return true;
}

/* All slots of both; some of `theirs` are new. */
static bool join_slots(struct imported_part *joined, const struct imported_part *mine,
                       const struct imported_part *theirs, const struct memory_account *account)
{
    struct slot_walk walk = {0};
    if (!slot_set_clone(&joined->removed, &mine->removed, account, true))
        return false;
    if (!slot_set_reserve_all(&joined->removed, &theirs->removed, account)) {
        slot_set_release(&joined->removed, account);
        return false;
    }
    while (slot_walk_next_beyond(&theirs->removed, &walk, &mine->removed))
        slot_set_put(&joined->removed, walk.slot);
    return true;
}

/* `joined` borrows what `mine` has until the join is committed; where `theirs` has more, it has that of its own. */
static bool join_part(struct imported_part *joined, const struct imported_part *mine,
                      const struct imported_part *theirs, const struct imported_join *join)
{
    *joined = *mine;
    bool arrives = theirs->array && !mine->array, removes = !slot_set_includes(&mine->removed, &theirs->removed);
    if (arrives) {
        joined->part = theirs->part;
        if (!share_array(joined, theirs, &join->account, join->shares))
            return false;
    }
    if (removes && !join_slots(joined, mine, theirs, &join->account)) {
        if (arrives)
            release_array(joined, &join->account);
        return false;
    }
    if (arrives || removes)
        joined->live = count_live(joined);
    return true;
}

static bool borrows_array(const struct imported_part *part, const struct imported_part *mine)
{
    return mine && part->array == mine->array;
}

static bool borrows_slots(const struct imported_part *part, const struct imported_part *mine)
{
    return mine && part->removed.pages == mine->removed.pages;
}

void imported_abandon(struct imported_join *join)
{
    for (size_t i = 0; join->joined && i < join->joined->count; i++) {
        struct imported_part *part = &join->joined->parts[i];
        const struct imported_part *mine = find_part(join->mine, part->id);
        if (!borrows_array(part, mine))
            release_array(part, &join->account);
        if (!borrows_slots(part, mine))
            slot_set_release(&part->removed, &join->account);
    }
    if (join->joined)
        memory_release(&join->account.allocator, join->joined->parts);
    memory_release(&join->account.allocator, join->joined);
    *join = (struct imported_join){0};
}

/* The next part in ascending order of either. */
static bool join_next(struct imported_join *join, const struct imported *other, size_t at[2])
{
    static const struct imported none;
    const struct imported *mine = join->mine ? join->mine : &none;
    struct imported_part *joined = &join->joined->parts[join->joined->count];
    bool left = at[0] < mine->count, right = at[1] < other->count;
    if (left && right && mine->parts[at[0]].id == other->parts[at[1]].id)
        return join_part(joined, &mine->parts[at[0]++], &other->parts[at[1]++], join);
    if (left && (!right || mine->parts[at[0]].id < other->parts[at[1]].id)) {
        *joined = mine->parts[at[0]++];
        return true;
    }
    return part_clone(joined, &other->parts[at[1]++], &join->account, join->shares);
}

/* Whether the parts stay as they are, and only slots are removed. */
static bool only_removes(const struct imported *mine, const struct imported *other)
{
    for (size_t i = 0; i < other->count; i++) {
        const struct imported_part *part = find_part(mine, other->parts[i].id);
        if (!part || (other->parts[i].array && !part->array))
            return false;
    }
    return true;
}

/* Room for all removals: what is left to do cannot fail, and takes as long as they are many. */
static roost_status prepare_removals(struct imported_join *join, const struct imported *other)
{
    for (size_t i = 0; i < other->count; i++) {
        struct imported_part *part = &join->mine->parts[place_of(join->mine, other->parts[i].id)];
        if (!slot_set_reserve_all(&part->removed, &other->parts[i].removed, &join->account))
            return ROOST_NO_MEMORY;
    }
    join->removals = other;
    return ROOST_OK;
}

static roost_status prepare_parts(struct imported_join *join, const struct imported *other)
{
    size_t at[2] = {0, 0}, count = join->mine ? join->mine->count : 0;
    if (count + other->count > MOST_PARTS)
        return ROOST_TOO_LARGE;
    join->joined = imported_allocate(count + other->count, &join->account.allocator);
    if (!join->joined)
        return ROOST_NO_MEMORY;
    for (; at[0] < count || at[1] < other->count; join->joined->count++)
        if (!join_next(join, other, at)) {
            imported_abandon(join);
            return ROOST_NO_MEMORY;
        }
    join->joined->digest = sum_of(join->joined);
    return ROOST_OK;
}

roost_status imported_prepare(struct imported_join *join, struct imported *mine, const struct imported *other,
                              const struct memory_account *account, bool shares)
{
    *join = (struct imported_join){.mine = mine, .account = *account, .shares = shares};
    if (!other || includes(mine, other))
        return ROOST_OK;
    roost_status status =
        mine && only_removes(mine, other) ? prepare_removals(join, other) : prepare_parts(join, other);
    join->changed = status == ROOST_OK;
    return status;
}

/* A part that arrives is written with all its removals. */
static void observe_new(const struct imported_part *part, const struct imported_part *before,
                        const struct imported_observer *observer)
{
    static const struct slot_set none;
    struct slot_walk walk = {0};
    if (part->array && !(before && before->array))
        observer->arrived(observer->context, part->id);
    else
        while (slot_walk_next_beyond(&part->removed, &walk, before ? &before->removed : &none))
            observer->removed(observer->context, part->id, walk.slot);
}

static void commit_removals(struct imported *mine, const struct imported *other,
                            const struct imported_observer *observer)
{
    for (size_t i = 0; i < other->count; i++) {
        struct imported_part *part = &mine->parts[place_of(mine, other->parts[i].id)];
        struct slot_walk walk = {0};
        while (slot_walk_next_beyond(&other->parts[i].removed, &walk, &part->removed))
            remove_slot(mine, part, walk.slot, observer);
    }
}

/* What was borrowed has moved. */
static void free_replaced(struct imported *mine, const struct imported_join *join)
{
    if (!mine)
        return;
    for (size_t i = 0; i < mine->count; i++)
        if (!borrows_slots(find_part(join->joined, mine->parts[i].id), &mine->parts[i]))
            slot_set_release(&mine->parts[i].removed, &join->account);
    memory_release(&join->account.allocator, mine->parts);
    memory_release(&join->account.allocator, mine);
}

struct imported *imported_commit(struct imported_join *join, const struct imported_observer *observer)
{
    struct imported *mine = join->mine;
    if (join->removals)
        commit_removals(mine, join->removals, observer);
    if (!join->joined)
        return mine;
    for (size_t i = 0; i < join->joined->count; i++)
        observe_new(&join->joined->parts[i], find_part(mine, join->joined->parts[i].id), observer);
    free_replaced(mine, join);
    return join->joined;
}

roost_order imported_compare(const struct imported *imported, const struct imported *other)
{
    return (includes(imported, other) ? 0u : (unsigned)ROOST_BEFORE) |
           (includes(other, imported) ? 0u : (unsigned)ROOST_AFTER);
}

uint128 imported_digest(const struct imported *imported)
{
    return imported ? imported->digest : 0;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

uint64_t imported_memory(const struct imported *imported)
{
    uint64_t bytes = imported ? sizeof *imported : 0;
    for (size_t i = 0; imported && i < imported->count; i++) {
        const struct imported_part *part = &imported->parts[i];
        bytes += sizeof *part + slot_set_memory(&part->removed);
        bytes += part->array ? sizeof *part->array + part->part.size : 0;
    }
    return bytes;
}

/* A key reads two buckets, and each of their live slots has its fingerprint with a probability of 1 in 255. */
static double rate_of(const struct imported_part *part)
{
    if (!is_cuckoo(part))
        return part->part.fpr;
    return -expm1(log1p(-1.0 / 255) * 2 * (double)part->live / (double)part->part.places);
}

void imported_info(const struct imported *imported, roost_imported_info *info)
{
    double none = 1;
    *info = (roost_imported_info){.bytes = imported_memory(imported)};
    for (size_t i = 0; imported && i < imported->count; i++) {
        const struct imported_part *part = &imported->parts[i];
        if (!part->array)
            continue;
        info->parts++;
        info->removed += part->removed.count;
        info->deleted += part->part.deleted;
        info->items += is_cuckoo(part) ? part->live : part->part.items;
        info->capacity += is_cuckoo(part) ? part->part.size : part->part.capacity;
        if (is_cuckoo(part) && (info->buckets == 0 || part->part.places < info->buckets))
            info->buckets = part->part.places;
        none *= 1 - rate_of(part);
    }
    info->fpr = 1 - none;
}

bool imported_check(const struct imported *imported)
{
    if (!imported)
        return true;
    for (size_t i = 0; i < imported->count; i++) {
        const struct imported_part *part = &imported->parts[i];
        if ((i > 0 && imported->parts[i - 1].id >= part->id) || (!part->array && part->removed.count == 0) ||
            (part->array &&
             (!part_is_sound(&part->part) || part_id(&part->part, part->array->bytes) != part->id ||
              (is_cuckoo(part) && part->array->filled != count_filled(part->array->bytes, part->part.size)))) ||
            part->removed.seed != part_seed(part->id) || !slot_set_check(&part->removed) ||
            part->live != count_live(part))
            return false;
    }
    return imported->count > 0 && imported->digest == sum_of(imported);
}
