/* Lines break at blanks, but not within brackets: "[--fpr P]" stays together. */
#include "wrapped_text.h"

#include <stdbool.h>
#include <stdio.h>

#define MOST_COLUMNS 80

static size_t word_size(const char *text)
{
    size_t size = 0;
    int depth = 0;
    for (; text[size] && text[size] != '\n' && (text[size] != ' ' || depth > 0); size++)
        depth += (text[size] == '[') - (text[size] == ']');
    return size;
}

static size_t begin_line(size_t indent)
{
    printf("\n%*s", (int)indent, "");
    return indent;
}

void print_wrapped(const char *text, size_t column, size_t indent)
{
    bool first = true; /* word of its line */
    while (*text) {
        size_t size = word_size(text);
        bool too_long = !first && column + 1 + size > MOST_COLUMNS;
        if (*text == '\n' || too_long) {
            column = begin_line(indent);
            first = true;
            text += *text == '\n';
            continue;
        }
        printf("%s%.*s", first ? "" : " ", (int)size, text);
        column += size + !first;
        first = false;
        text += size + (text[size] == ' ');
    }
    putchar('\n');
}
