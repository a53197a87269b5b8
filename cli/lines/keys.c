/* The keys of a verb. After "--" every operand is a key, even "-", so that a script can write -- "$key" for any key. */
#include "keys.h"

#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"

void key_source_open(struct key_source *source, const struct arguments *arguments, size_t first)
{
    source->operands = arguments->operands;
    source->count = arguments->count;
    source->next = first;
    source->literal_from = arguments->literal_from;
    source->reading = arguments->count == first;
    line_reader_open(&source->lines, STDIN_FILENO);
}

void key_source_close(struct key_source *source)
{
    line_reader_close(&source->lines);
}

static bool means_standard_input(const struct key_source *source)
{
    return source->next < source->literal_from && strcmp(source->operands[source->next], "-") == 0;
}

static size_t take_operands(struct key_source *source)
{
    size_t count = 0;
    for (; count < KEYS_AT_ONCE && source->next < source->count && !means_standard_input(source); source->next++)
        source->keys[count++] = (roost_bytes){source->operands[source->next], strlen(source->operands[source->next])};
    return count;
}

bool key_source_next(struct key_source *source, size_t *count)
{
    for (;;) {
        if (source->reading && !line_reader_next(&source->lines, source->keys, count, KEYS_AT_ONCE))
            return false;
        if (!source->reading)
            *count = take_operands(source);
        if (*count > 0)
            return !interrupted();
        if (source->reading)
            source->reading = false;
        else if (source->next < source->count)
            source->reading = true, source->next++;
        else
            return true;
    }
}
