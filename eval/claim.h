/* Claims: what the evaluation sets out to show. Each prints one line, `name: ok ...` or `name: FAILED ...`. */
#ifndef EVAL_CLAIM_H
#define EVAL_CLAIM_H

#include <stdbool.h>

void claim(const char *name, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

unsigned claims_made(void);
unsigned claims_failed(void);

#endif
