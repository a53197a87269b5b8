/* Numbers as people write and read them, independent of the locale. */
#ifndef CLI_BASE_NUMBERS_H
#define CLI_BASE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* ---- reading: false where the text is anything else ------------------------------------------------------------- */

/* 1000, 1e6, 2.5M; k, M and G are powers of ten; the result must be a whole number. */
bool parse_count(uint64_t *count, const char *text);

/* 0.01, 1e-2 or 1%: the same double, so that filters created with any of them merge. */
bool parse_share(double *share, const char *text);

/* 60s, 10m, 1.5h, 2d, 250ms, or seconds without a unit. The result is in microseconds, rounded down. */
bool parse_duration(uint64_t *microseconds, const char *text);

/* 1000, -5, +2.5k: a whole number within 64 bits. */
bool parse_amount(int64_t *amount, const char *text);

/* Decimal, or hexadecimal after 0x. */
bool parse_seed(uint64_t *seed, const char *text);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

#define COUNT_ROOM  32
#define NUMBER_ROOM 32

/* 1,234,567 */
void format_count(char text[COUNT_ROOM], uint64_t count);

#define THINGS_ROOM 64

/* 1 key; 1,234 keys, entries or prefixes */
void format_things(char text[THINGS_ROOM], uint64_t count, const char *thing);

/* 90 s, 1.5 h: from microseconds, in the largest unit that gives 1 or more. */
void format_duration(char text[COUNT_ROOM], uint64_t microseconds);

/* 2 h, 61 s, 1500 ms: exactly, in the largest unit that gives a whole number. */
void format_exact_duration(char text[COUNT_ROOM], uint64_t microseconds);

/* 12.3 MB, in powers of ten */
void format_bytes(char text[COUNT_ROOM], uint64_t bytes);

/* The fewest digits that read back as the same double. */
void format_shortest(char text[NUMBER_ROOM], double number);

/* 0.0123 as "1.23 %", with at most that many digits; the lowest shares as "under 0.0001 %". */
void format_percent(char text[NUMBER_ROOM], double share, int digits);

/* A rate of false positives: "1.23 %", low ones as "1 in 1,230,000" or "under 1 in 10^15". */
void format_rate(char text[NUMBER_ROOM], double rate);

#endif
