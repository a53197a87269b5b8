/* What windows and tests use of the grow-only Bloom filter beyond its kind. `bloom.c` has the essay. */
#ifndef BLOOM_BLOOM_H
#define BLOOM_BLOOM_H

#include "bloom_kernel.h"
#include "../filter/kind.h"

/* An empty filter of these sizes (bloom_is_sound_geometry) instead of those that follow from its configuration. */
roost_status bloom_open_sized(roost_filter **filter, const roost_config *config, const roost_environment *environment,
                              struct bloom_geometry geometry);
/* An estimate of the elements that it holds, from the bits. */
double bloom_elements(const roost_filter *filter);
/* The bits of a key, in no order; how many. Whether one is set. */
uint32_t bloom_positions(const roost_filter *filter, uint64_t positions[MOST_PROBES], roost_hash hash);
bool bloom_has_bit(const roost_filter *filter, uint64_t position);
/* It is one of several filters that are queried in turn, and all of them together are larger than the caches. */
void bloom_expect_misses(roost_filter *filter);
/* Whether bytes are a part of the state of some filter of so many bits, as merge_delta takes it. */
bool bloom_is_sound_delta(uint64_t bits, struct bit_reader reader);
/* Whether a frame may state these sizes. */
bool bloom_is_sound_geometry(roost_layout layout, uint64_t bits, uint64_t probes);

#endif
