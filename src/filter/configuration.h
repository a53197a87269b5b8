/*
 * The configuration of a filter as bytes: what frames carry, what merge compares, what the digest covers. The first
 * bytes are those of `roost_config` and the same for all kinds; the sizes of the kind follow (`write_geometry`).
 */
#ifndef FILTER_CONFIGURATION_H
#define FILTER_CONFIGURATION_H

#include "kind.h"

/* Defaults filled in; NULL means all of them. */
roost_environment environment_or_default(const roost_environment *environment);

void write_configuration(const roost_filter *filter, struct bit_writer *writer);
/* What precedes the sizes, and whether the kind has prefixes. Nothing is checked but that the reader has so many bytes:
   see `reader->failed`. */
roost_config read_configuration(struct bit_reader *reader, bool *has_prefixes);

/* Of filters that grow: how many replicas add at the same time. */
#define DEFAULT_WRITERS 4
#define MOST_WRITERS    1024

#define CONFIGURATION_ROOM 96
size_t configuration_bytes(const roost_filter *filter, uint8_t bytes[CONFIGURATION_ROOM]);

bool same_configuration(const roost_filter *filter, const roost_filter *other);
/* Equal for filters of the same configuration, and for hardly any others. */
roost_hash configuration_hash(const roost_filter *filter);

#endif
