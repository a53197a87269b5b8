/* PinSketch in plain C: what the other kernel is tested against. */
#include "pin_sketch.h"

static inline uint64_t multiply(const struct field *field, uint64_t a, uint64_t b)
{
    return field_multiply_plainly(field, a, b);
}

#include "pin_sketch_loops.h"

const struct pin_sketch_kernel pin_sketch_plain = {{"plain", usable_everywhere}, add_singly, decode};
