/* How many bytes gzip makes of a frame: the thesis reports its sizes also after GZIP. */
#ifndef EVAL_GZIP_H
#define EVAL_GZIP_H

#include <stddef.h>
#include <stdint.h>

uint64_t gzipped_size(const void *bytes, size_t size);

#endif
