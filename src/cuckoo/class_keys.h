/* The class keys of a cuckoo table without tags: as a list, and as bytes. `class_keys.c` has the essay. */
#ifndef CUCKOO_CLASS_KEYS_H
#define CUCKOO_CLASS_KEYS_H

#include "cuckoo_table.h"
#include "../base/bitstream.h"

/* How many bits a class key has. */
static inline unsigned class_key_bits(struct cuckoo_geometry geometry)
{
    return highest_bit(class_universe(geometry)) + 1;
}

/* All keys in any order; room for ENTRIES_ROOM more. */
void class_keys_list(const struct cuckoo_table *table, uint64_t *keys);

/* Where a sorted list is written to. */
struct class_key_coder {
    struct bit_writer *writer;
    unsigned parameter;
    uint64_t next; /* one past the last key written */
};

static inline struct class_key_coder class_key_coder_for(struct bit_writer *writer, struct cuckoo_geometry geometry,
                                                         uint64_t count)
{
    return (struct class_key_coder){writer, rice_parameter(class_universe(geometry), count), 0};
}

void class_keys_write(struct class_key_coder *coder, const uint64_t *keys, uint64_t count);

/* All keys of the table; false if there is no memory to sort them in. */
bool class_keys_write_all(const struct cuckoo_table *table, struct class_key_coder *coder);

/* Whether there are so many that their bytes should go out as they are written. */
bool class_keys_are_passed_on(const struct cuckoo_table *table);

/* How many keys are sorted at once; a table with more is encoded slice by slice. Only tests change it. */
extern uint64_t class_keys_at_once;

#endif
