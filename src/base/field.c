#include "field.h"

#include <assert.h>

/* One for each degree from 8 on; tests/unit/test_sketches.c shows that none can be factored. */
static const uint8_t terms[] = {
    27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9, 5, 3, 33, 27, 9, 27, 39, 3, 5, 3, 9, 141,
};

struct field field_of_bits(unsigned bits)
{
    assert(bits >= FEWEST_FIELD_BITS && bits <= MOST_FIELD_BITS);
    return (struct field){bits, terms[bits - FEWEST_FIELD_BITS], (UINT64_C(1) << bits) - 1};
}
