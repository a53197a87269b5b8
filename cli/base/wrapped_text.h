/* Text for a terminal of 80 columns. */
#ifndef CLI_BASE_WRAPPED_TEXT_H
#define CLI_BASE_WRAPPED_TEXT_H

#include <stddef.h>

/* Prints the text and a newline. The cursor is at `column`; lines after the first begin at `indent`. A newline in the
   text begins a line, too. */
void print_wrapped(const char *text, size_t column, size_t indent);

#endif
