/* The options of a verb: a table for the parser and the help. */
#ifndef CLI_BASE_OPTIONS_H
#define CLI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option takes, and the type of the variable behind `place`. */
enum option_type {
    OPTION_BOOLEAN,  /* bool: takes no value, becomes true */
    OPTION_COUNT,    /* uint64_t: a whole number from `least` to `most` */
    OPTION_DURATION, /* uint64_t: microseconds, at least 1 */
    OPTION_AMOUNT,   /* int64_t: any whole number */
    OPTION_RATE,     /* double: between 0 and 1, both excluded */
    OPTION_SHARE,    /* double: from 0 to `most` hundredths */
    OPTION_SEED,     /* struct seed_option */
    OPTION_CHOICE,   /* unsigned: one of `choices`; the first is 1 */
    OPTION_TEXT,     /* const char *: any text but the empty one */
    OPTION_TEXTS,    /* struct text_list: each time one more */
    OPTION_LATER,    /* of another version of roost; `value`: it takes a value */
};

struct seed_option {
    bool given;
    uint64_t seed;
};

/* They are never freed: one list for each option of a program that ends. */
struct text_list {
    const char **texts;
    size_t count;
};

struct option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* or 0 */
    enum option_type type;
    void *place;
    const char *value; /* its name in the help; NULL: takes none */
    const char *help;  /* wrapped when it is printed; a newline begins a line */
    uint64_t least, most;
    const char *const *choices;       /* up to a NULL */
    const char *const *later_choices; /* refused with a message about the version; NULL or up to a NULL */
};

/* What is left of a command line. Options and operands may come in any order. */
struct arguments {
    char **operands;
    size_t count;
    size_t literal_from; /* operands from this one on followed "--" */
    bool help_wanted;
};

/* Parses the command line behind the verb: operands move to the front, values of options to their places. Complains
   if it fails. */
bool read_arguments(struct arguments *arguments, const char *verb, const struct option *options, char **words,
                    size_t count);

/* Prints the table as help. */
void print_options(const struct option *options);

#endif
