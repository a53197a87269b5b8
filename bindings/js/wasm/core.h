/* What core.wasm and removal.wasm have in place of the table of rates of blocked Bloom filters: left_out.c explains it. */
#ifndef WASM_CORE_H
#define WASM_CORE_H

#include <stdbool.h>
#include <stdint.h>

#define CORE_RATES      1965 /* those of up to twelve probes */
#define RATE_BITS       32
#define LEAST_CORE_RATE 1e-5

/* Made by core_rates.js. */
extern const uint8_t core_rates[];

/* Whether the sizes of blocked Bloom filters of this rate can be told. */
bool core_has_rate(double rate);

#endif
