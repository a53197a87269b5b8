/*
 * Which filters stand behind BF.* and CF.*: from the arguments of BF.RESERVE and CF.RESERVE, or of an imported filter,
 * to a configuration of the library.
 *
 *     BF.*   scaling                 a scalable cuckoo filter: one table of hash prefixes that grows (src/growing)
 *            NONSCALING              a blocked Bloom filter of fixed size; below a rate of 1e-5 the classic layout,
 *                                    which is much smaller there
 *            scaling, bf-kind bloom, a scalable Bloom filter: a series of tables. For deployments that exchange filters
 *            or a rate below 1e-7    with an earlier version, and for rates at which prefixes of hashes become too long
 *     CF.*   EXPANSION above 0       an observed-remove multiset: one table of hash prefixes that grows
 *            EXPANSION 0             the same in a table of fixed size
 *
 * The table of prefixes grows by itself and evenly, so EXPANSION changes nothing about it, and filters with different
 * expansions merge. A series of Bloom filters rounds it up to 2, 4 or 8.
 *
 * A small capacity says little: most filters that are created with the default will hold more. Below FEWEST_NAMED it
 * counts as unknown, which costs a small filter a byte an item, and saves one that grows as much.
 */
#ifndef MODULE_VALUE_RESERVED_H
#define MODULE_VALUE_RESERVED_H

#include "filter_value.h"

#define MOST_RESERVED_CAPACITY (1LL << 40)

struct bf_options {
    double rate;
    long long capacity, expansion;
    bool fixed;
    uint64_t seed; /* 0: the default one */
};

struct cf_options {
    long long capacity, bucket_size, iterations, expansion;
};

/* What INFO shows of a table that grows: the series of filters that other modules would have in its place. */
struct series {
    uint64_t filters, capacity; /* the capacity is that of all filters together */
};
/* One that begins with room for `first` items, 1 or more, and has room for `items`. */
struct series series_with_room(uint64_t first, uint64_t expansion, uint64_t items);
/* Buckets of the first cuckoo filter of such a series. */
uint64_t series_buckets(uint64_t capacity, uint64_t bucket_size);

roost_config bf_config(const struct bf_options *options);
struct shown bf_shown(const struct bf_options *options);
roost_config cf_config(const struct cf_options *options);
struct shown cf_shown(const struct cf_options *options);

#endif
