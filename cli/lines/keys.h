/* The keys of a verb: from its command line, from files, from standard input, or all of these. */
#ifndef CLI_LINES_KEYS_H
#define CLI_LINES_KEYS_H

#include "lines.h"
#include "cli/base/options.h"

#define KEYS_AT_ONCE 4096

/* What the user says about the keys. All zero: nothing. */
struct key_options {
    struct text_list files;
    bool null; /* a NUL ends a key, not a newline */
};

/* The options for it, for the option tables of verbs. */
#define KEY_OPTIONS(keys)                                                                                              \
    {.name = "file",                                                                                                   \
     .letter = 'f',                                                                                                    \
     .type = OPTION_TEXTS,                                                                                             \
     .place = &(keys).files,                                                                                           \
     .value = "KEYS",                                                                                                  \
     .help = "take the lines of this file as keys; - is standard input; may be repeated"},                             \
    {                                                                                                                  \
        .name = "null", .letter = '0', .type = OPTION_BOOLEAN, .place = &(keys).null,                                  \
        .help = "a NUL ends a key, not a newline: read and printed as by xargs -0 and grep -z"                         \
    }

/* What ends a key that is read or printed. */
char key_terminator(const struct key_options *options);

struct key_source {
    const struct key_options *options;
    char **operands;
    size_t count, next, literal_from, next_file;
    bool input_alone; /* no keys and no files were given: standard input is still to be read */
    bool reading;     /* from `lines` */
    struct line_reader lines;
    const char *file_as_key; /* an operand that is also the name of a file; NULL: none was seen */
    const char *unopened;    /* a file that cannot be opened, because of `error`; NULL: none */
    int error;
    roost_bytes keys[KEYS_AT_ONCE];
};

/* Keys are the operands from `first` on, and then the lines of the files. "-" before a "--" stands for standard input,
   and so does nothing at all. */
void key_source_open(struct key_source *source, const struct arguments *arguments, size_t first,
                     const struct key_options *options);
void key_source_close(struct key_source *source);

/* Whether keys will be read from a terminal. */
bool key_source_is_typed(const struct key_source *source);

/* Reads the next batch into source->keys; *count is 0 at the end. Returns false after an error, with a message, or a
   signal. */
bool key_source_next(struct key_source *source, size_t *count);

/* The same for blocks, as work_on_blocks calls them; `source` is a struct key_source. */
bool key_source_read(void *source, struct line_block *block);
bool key_source_is_ready(void *source);
void key_source_complain(void *source);

/* On a terminal, says that an operand was taken as a key and not as the file that has this name, and how to get the
   lines of that file: "added the key 'a' itself; to add the lines of that file: roost window add -f a FILE". */
void key_source_hint(const struct key_source *source, const char *done, const char *verb, const char *file);

#endif
