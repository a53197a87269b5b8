/* Claims: what the evaluation sets out to show. Each prints one line, `name: ok ...` or `name: FAILED ...`, and is a
   row of a table where there is one. */
#ifndef EVAL_CLAIM_H
#define EVAL_CLAIM_H

#include <stdbool.h>
#include <stdio.h>

void claim(const char *name, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* From here on claims are also rows of this table; NULL for none. */
void claims_write_to(FILE *csv);

unsigned claims_made(void);
unsigned claims_failed(void);

#endif
