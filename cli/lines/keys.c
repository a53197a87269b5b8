/*
 * The keys of a verb. After "--" every operand is a key, even "-", so that a script can write -- "$key" for any key.
 *
 * Those who are new to the program give it the name of a file with keys, as they would to grep. That is a valid key, so
 * it is taken as one; at a terminal they are told. Scripts see no hints.
 */
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"

char key_terminator(const struct key_options *options)
{
    return options->null ? '\0' : '\n';
}

void key_source_open(struct key_source *source, const struct arguments *arguments, size_t first,
                     const struct key_options *options)
{
    source->options = options;
    source->operands = arguments->operands;
    source->count = arguments->count;
    source->next = first;
    source->literal_from = arguments->literal_from;
    source->next_file = 0;
    source->input_alone = arguments->count == first && options->files.count == 0;
    source->reading = false;
    source->file_as_key = NULL;
    source->unopened = NULL;
}

/* ---- files and standard input ----------------------------------------------------------------------------------- */

static bool is_dash(const char *name)
{
    return strcmp(name, "-") == 0;
}

static void end_reading(struct key_source *source)
{
    line_reader_close(&source->lines);
    if (source->lines.descriptor != STDIN_FILENO)
        close(source->lines.descriptor);
    source->reading = false;
}

void key_source_close(struct key_source *source)
{
    if (source->reading)
        end_reading(source);
}

static bool begin_reading(struct key_source *source, const char *name)
{
    bool input = is_dash(name);
    int descriptor = input ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        source->unopened = name;
        source->error = errno;
        return false;
    }
    if (input && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        complain_plainly("reading keys from the terminal%s; Ctrl-D ends", source->options->null ? "" : ", one a line");
    line_reader_open(&source->lines, descriptor);
    source->lines.terminator = key_terminator(source->options);
    if (!input)
        source->lines.name = name;
    source->reading = true;
    return true;
}

/* NULL: there is nothing more to read. */
static const char *next_to_read(struct key_source *source)
{
    bool input = source->input_alone || source->next < source->count; /* at an operand "-" */
    if (input) {
        source->next += !source->input_alone;
        source->input_alone = false;
        return "-";
    }
    return source->next_file < source->options->files.count ? source->options->files.texts[source->next_file++] : NULL;
}

bool key_source_is_typed(const struct key_source *source)
{
    bool input = source->input_alone;
    for (size_t i = source->next; i < source->literal_from; i++)
        input |= is_dash(source->operands[i]);
    for (size_t i = 0; i < source->options->files.count; i++)
        input |= is_dash(source->options->files.texts[i]);
    return input && isatty(STDIN_FILENO);
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

static bool means_standard_input(const struct key_source *source)
{
    return source->next < source->literal_from && is_dash(source->operands[source->next]);
}

static void look_for_file(struct key_source *source, const char *key)
{
    struct stat about;
    if (!source->file_as_key && source->next < source->literal_from && isatty(STDERR_FILENO) &&
        stat(key, &about) == 0 && S_ISREG(about.st_mode))
        source->file_as_key = key;
}

static size_t take_operands(struct key_source *source)
{
    size_t count = 0;
    for (; count < KEYS_AT_ONCE && source->next < source->count && !means_standard_input(source); source->next++) {
        const char *key = source->operands[source->next];
        look_for_file(source, key);
        source->keys[count++] = (roost_bytes){key, strlen(key)};
    }
    return count;
}

bool key_source_next(struct key_source *source, size_t *count)
{
    for (;;) {
        bool was_reading = source->reading;
        if (was_reading && !line_reader_next(&source->lines, source->keys, count, KEYS_AT_ONCE))
            return false;
        if (!was_reading)
            *count = take_operands(source);
        if (*count > 0)
            return !interrupted();
        const char *name = was_reading ? NULL : next_to_read(source);
        if (was_reading)
            end_reading(source);
        else if (!name)
            return true;
        else if (!begin_reading(source, name)) {
            key_source_complain(source);
            return false;
        }
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

void key_source_complain(void *context)
{
    struct key_source *source = context;
    if (source->unopened)
        complain(source->unopened, "%s", strerror(source->error));
    else
        line_reader_complain(&source->lines);
}

/* Operands go into the block one after the other, with room for a terminator behind each. */
static bool take_operand_block(struct key_source *source, struct line_block *block)
{
    size_t count = take_operands(source), bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += source->keys[i].size + 1;
    if (!line_block_reserve(block, bytes) || !line_block_reserve_lines(block, count)) {
        source->unopened = "keys";
        source->error = ENOMEM;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(block->bytes + block->size, source->keys[i].data, source->keys[i].size);
        block->lines[i] = (roost_bytes){block->bytes + block->size, source->keys[i].size};
        block->size += source->keys[i].size + 1;
    }
    block->count = count;
    block->is_split = true;
    return true;
}

bool key_source_read(void *context, struct line_block *block)
{
    struct key_source *source = context;
    for (;;) {
        bool was_reading = source->reading;
        if (!(was_reading ? line_reader_fill(&source->lines, block) : take_operand_block(source, block)))
            return false;
        if (block->size > 0)
            return true;
        block->is_split = false;
        const char *name = was_reading ? NULL : next_to_read(source);
        if (was_reading)
            end_reading(source);
        else if (!name)
            return true;
        else if (!begin_reading(source, name))
            return false;
    }
}

/* To open a file may take long, too. */
bool key_source_is_ready(void *context)
{
    struct key_source *source = context;
    return source->reading && wait_for_input(source->lines.descriptor, 0);
}

/* ---- hints ------------------------------------------------------------------------------------------------------ */

/* A name that a shell would split or expand is not shown as part of a command. */
static const char *in_command(const char *name, const char *otherwise)
{
    return *name && *name != '-' && !strpbrk(name, " \t\n\r\"'\\`$*?[]{}()<>|&;!#~") ? name : otherwise;
}

void key_source_hint(const struct key_source *source, const char *done, const char *verb, const char *file)
{
    const char *last_word = strrchr(verb, ' ');
    if (source->file_as_key)
        complain_plainly("%s the key '%s' itself; to %s the lines of that file: roost %s -f %s %s", done,
                         source->file_as_key, last_word ? last_word + 1 : verb, verb,
                         in_command(source->file_as_key, "KEYS"), in_command(file, "FILE"));
}
