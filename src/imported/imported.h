/*
 * Imported parts: arrays of RedisBloom's and valkey-bloom's filters, kept as they are (include/roost/imported.h).
 * `imported.c` has the lattice and the argument, `imported_bytes.c` the bytes.
 */
#ifndef IMPORTED_IMPORTED_H
#define IMPORTED_IMPORTED_H

#include "roost/imported.h"
#include "../base/bits.h"
#include "../base/bitstream.h"
#include "slot_set.h"

#define MOST_PARTS 65536
#define MOST_SLOT  (UINT64_C(1) << 56)

/* The bytes of a part, which copies share. */
struct part_array {
    struct shared_block block;
    uint64_t filled; /* cuckoo: slots that hold a fingerprint */
    uint8_t bytes[];
};

/* One part. Without an array it was not seen yet, only removals from it. Invariants: `id` is the hash of all fields of
   `part` and its bytes; `live` is how many slots hold a fingerprint and are not removed. */
struct imported_part {
    uint128 id;
    roost_imported_part part; /* its bytes are those of `array` */
    struct part_array *array;
    struct slot_set removed; /* its seed is `part_seed(id)` */
    uint64_t live;
};

/* Ascending by id. */
struct imported {
    struct imported_part *parts;
    size_t count;
    uint128 digest; /* the sum over parts and removals */
};

/* Receives what a change made new, for the journal. */
struct imported_observer {
    void (*arrived)(void *context, uint128 id);
    void (*removed)(void *context, uint128 id, uint64_t slot);
    void *context;
};

/* NULL is fine. */
void imported_free(struct imported *imported, const struct memory_account *account);
/* ROOST_INVALID, ROOST_TOO_LARGE. */
roost_status imported_new(struct imported **imported, const struct memory_account *account,
                          const roost_imported_part *parts, size_t count);
/* Where `shares`, the copy shares memory with the original: may_share. */
roost_status imported_clone(const struct imported *imported, struct imported **copy,
                            const struct memory_account *account, bool shares);
void imported_move(struct imported **imported, const struct memory_mover *mover);

/* Whether parts of one form or the other are among them; what was only removed from is a cuckoo part. */
bool imported_has_bloom(const struct imported *imported);
bool imported_has_cuckoo(const struct imported *imported);

bool imported_contains(const struct imported *imported, const void *key, size_t size);
/* Copies in cuckoo parts. */
uint64_t imported_count(const struct imported *imported, const void *key, size_t size);
/* Removes one copy, or all. ROOST_NO_MEMORY, and then nothing is removed. */
roost_status imported_remove(struct imported *imported, bool *changed, const void *key, size_t size, bool all,
                             const struct memory_account *account, const struct imported_observer *observer);

/*
 * The join in two phases: `prepare` does all that can fail, and `joined` borrows memory of `mine` until it is
 * committed, which frees what is left of `mine`, or abandoned. `other` must live until then. Either may be NULL. Where
 * `shares`, `joined` shares the new parts with `other`: may_share.
 */
struct imported_join {
    struct imported *mine, *joined;
    const struct imported *removals; /* all that there is to do: these, in place */
    struct memory_account account;
    bool shares, changed;
};
roost_status imported_prepare(struct imported_join *join, struct imported *mine, const struct imported *other,
                              const struct memory_account *account, bool shares);
struct imported *imported_commit(struct imported_join *join, const struct imported_observer *observer);
void imported_abandon(struct imported_join *join);

roost_order imported_compare(const struct imported *imported, const struct imported *other);
uint128 imported_digest(const struct imported *imported);
uint64_t imported_memory(const struct imported *imported);
void imported_info(const struct imported *imported, roost_imported_info *info);
bool imported_check(const struct imported *imported);

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* A change since a cursor: a slot of the part with this low half of its id was removed, or the part arrived. */
#define PART_ARRIVED UINT64_MAX
struct imported_change {
    uint64_t part, slot;
};

void imported_write(const struct imported *imported, struct bit_writer *writer);
/* One part with all its removals. */
void imported_write_part(const struct imported *imported, size_t part, struct bit_writer *writer);
/* What the changes name, which are reordered. */
roost_status imported_write_changes(const struct imported *imported, struct bit_writer *writer,
                                    struct imported_change *changes, size_t count, const roost_allocator *allocator);
/* All that the reader has. ROOST_CORRUPT. */
roost_status imported_read(struct imported **imported, struct bit_reader *reader, const struct memory_account *account);

/* For imported_bytes.c. */
/* Empty, with room for so many parts; NULL without memory. */
struct imported *imported_allocate(size_t room, const roost_allocator *allocator);
bool form_is_cuckoo(roost_imported_form form);
/* How many words of `seeds` the form has. */
unsigned form_seeds(roost_imported_form form);
/* The bytes of the array; its places and width are within bounds. */
uint64_t part_array_size(const roost_imported_part *part);
bool part_is_sound(const roost_imported_part *part);
uint128 part_id(const roost_imported_part *part, const uint8_t *bytes);
/* Gives the part its id. */
void part_name(struct imported_part *part, uint128 id);
/* Copies the bytes; false without memory. */
bool part_take_bytes(struct imported_part *part, const void *bytes, const roost_allocator *allocator);
/* After parts were read: sorts nothing, counts what is live and sums up. */
void imported_complete(struct imported *imported);

#endif
