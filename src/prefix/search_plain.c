/* Look-ups in plain C: the reference for the vector kernels. */
#include "search_row.h"
#include "slots.h"

#define buckets_match buckets_match_plainly
#define buckets_cover buckets_cover_plainly
#define look_at       look_at_plainly
#define used_of       used_plainly
#define find_ways     find_ways_plainly
#define locate_all    locate_plainly

#include "search_loops.h"

const struct search_kernel search_kernel_plain = {
    {"plain", usable_everywhere}, contains_one,          contains_batch,      put_batch,    uncovered, decode_plainly,
    decode_positions_plainly,     decode_tagged_plainly, decode_tags_plainly, used_plainly, find_move, locate_all};
