/*
 * All verbs read their command line in the same way: "--opt value" and "--opt=value", letters that may be combined
 * ("-vc"), options and operands in any order, "--" as the end of options. One table describes where values go and
 * prints the help.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "numbers.h"

#define HELP_COLUMN 24

/* The option as written on the command line, for messages: "--fpr" or "-v". */
struct spelling {
    char text[64];
};

static struct spelling spell(const struct option *option)
{
    struct spelling spelling;
    snprintf(spelling.text, sizeof spelling.text, "--%s", option->name);
    return spelling;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static bool refuse(const struct option *option, const char *value, const char *expected)
{
    char subject[256];
    snprintf(subject, sizeof subject, "--%s %.128s", option->name, value);
    return complain(subject, "%s", expected);
}

static bool set_count(const struct option *option, const char *value)
{
    char expected[128];
    uint64_t count, most = option->most ? option->most : UINT64_MAX;
    if (parse_count(&count, value) && count >= option->least && count <= most) {
        *(uint64_t *)option->place = count;
        return true;
    }
    if (option->most)
        snprintf(expected, sizeof expected, "must be a whole number from %llu to %llu",
                 (unsigned long long)option->least, (unsigned long long)option->most);
    else
        snprintf(expected, sizeof expected,
                 "must be a whole number, at least %llu and below 2^64, as 1000, 1e6 or 2.5M",
                 (unsigned long long)option->least);
    return refuse(option, value, expected);
}

static bool set_duration(const struct option *option, const char *value)
{
    uint64_t duration;
    if (!parse_duration(&duration, value) || duration == 0)
        return refuse(option, value, "must be a time above 0, as 60s, 10m, 1.5h, 250ms, or a number of seconds");
    *(uint64_t *)option->place = duration;
    return true;
}

static bool set_amount(const struct option *option, const char *value)
{
    return parse_amount(option->place, value) ||
           refuse(option, value, "must be a whole number of at most 63 bits, as 5, -3 or 1e6");
}

static bool set_rate(const struct option *option, const char *value)
{
    double rate;
    if (!parse_share(&rate, value) || !(rate > 0 && rate < 1))
        return refuse(option, value, "must be above 0 and below 1, as 0.01 or 1%");
    *(double *)option->place = rate;
    return true;
}

static bool set_share(const struct option *option, const char *value)
{
    char expected[64];
    double share;
    if (parse_share(&share, value) && share * 100 <= (double)option->most) {
        *(double *)option->place = share;
        return true;
    }
    snprintf(expected, sizeof expected, "must be from 0 to %llu%%", (unsigned long long)option->most);
    return refuse(option, value, expected);
}

static bool set_seed(const struct option *option, const char *value)
{
    struct seed_option *place = option->place;
    place->given = parse_seed(&place->seed, value);
    return place->given || refuse(option, value, "must be a number below 2^64, decimal or 0x and hexadecimal");
}

static bool set_text(const struct option *option, const char *value)
{
    *(const char **)option->place = value;
    return *value || complain(spell(option).text, "must not be empty");
}

static unsigned find_choice(const char *const *choices, const char *value)
{
    for (unsigned i = 0; choices && choices[i]; i++)
        if (strcmp(choices[i], value) == 0)
            return i + 1;
    return 0;
}

static bool set_choice(const struct option *option, const char *value)
{
    unsigned choice = find_choice(option->choices, value);
    char expected[128] = "must be ";
    if (choice) {
        *(unsigned *)option->place = choice;
        return true;
    }
    if (find_choice(option->later_choices, value))
        return refuse(option, value, "not available in this version");
    for (size_t i = 0; option->choices[i]; i++) {
        if (i > 0)
            strcat(expected, option->choices[i + 1] ? ", " : " or ");
        strcat(expected, option->choices[i]);
    }
    return refuse(option, value, expected);
}

static bool set_option(const struct option *option, const char *value)
{
    switch (option->type) {
    case OPTION_BOOLEAN:
        *(bool *)option->place = true;
        return true;
    case OPTION_COUNT:
        return set_count(option, value);
    case OPTION_DURATION:
        return set_duration(option, value);
    case OPTION_AMOUNT:
        return set_amount(option, value);
    case OPTION_RATE:
        return set_rate(option, value);
    case OPTION_SHARE:
        return set_share(option, value);
    case OPTION_SEED:
        return set_seed(option, value);
    case OPTION_CHOICE:
        return set_choice(option, value);
    case OPTION_TEXT:
        return set_text(option, value);
    case OPTION_LATER:
        break;
    }
    return complain(spell(option).text, "not available in this version");
}

/* ---- the command line ------------------------------------------------------------------------------------------ */

struct word_list {
    char **words;
    size_t count, next;
};

static const struct option *find_long(const struct option *options, const char *name, size_t size)
{
    for (; options && options->name; options++)
        if (strlen(options->name) == size && memcmp(options->name, name, size) == 0)
            return options;
    return NULL;
}

static const struct option *find_letter(const struct option *options, char letter)
{
    for (; options && options->name; options++)
        if (options->letter == letter)
            return options;
    return NULL;
}

static bool take_long(struct arguments *arguments, const struct option *options, struct word_list *list)
{
    char *word = list->words[list->next++], *equals = strchr(word, '=');
    size_t size = equals ? (size_t)(equals - word) : strlen(word);
    if (strcmp(word, "--help") == 0) {
        arguments->help_wanted = true;
        return true;
    }
    const struct option *option = find_long(options, word + 2, size - 2);
    if (!option) {
        char subject[128];
        snprintf(subject, sizeof subject, "%.*s", (int)(size < 100 ? size : 100), word);
        return complain(subject, "unknown option");
    }
    if (!option->value && equals)
        return complain(spell(option).text, "takes no value");
    if (!option->value || option->type == OPTION_LATER)
        return set_option(option, "");
    if (!equals && list->next == list->count)
        return complain(spell(option).text, "needs a value (%s)", option->value);
    return set_option(option, equals ? equals + 1 : list->words[list->next++]);
}

/* One word of letters; only booleans have letters. */
static bool take_letters(struct arguments *arguments, const struct option *options, const char *letters)
{
    for (; *letters; letters++) {
        const struct option *option = find_letter(options, *letters);
        char subject[] = {'-', *letters, '\0'};
        if (option && !set_option(option, ""))
            return false;
        if (!option && *letters != 'h')
            return complain(subject, "unknown option");
        arguments->help_wanted |= !option;
    }
    return true;
}

bool read_arguments(struct arguments *arguments, const struct option *options, char **words, size_t count)
{
    struct word_list list = {words, count, 0};
    *arguments = (struct arguments){.operands = words};
    bool fine = true;
    while (fine && list.next < count && strcmp(words[list.next], "--") != 0) {
        char *word = words[list.next];
        if (strncmp(word, "--", 2) == 0)
            fine = take_long(arguments, options, &list);
        else if (word[0] == '-' && word[1] != '\0')
            fine = take_letters(arguments, options, words[list.next++] + 1);
        else
            words[arguments->count++] = words[list.next++];
    }
    arguments->literal_from = arguments->count;
    for (size_t i = list.next + 1; fine && i < count; i++)
        words[arguments->count++] = words[i];
    return fine;
}

/* ---- help ------------------------------------------------------------------------------------------------------ */

/* A newline in a help text starts the next line of its column. */
static void print_help_text(const char *help)
{
    for (; *help; help++)
        if (*help == '\n')
            printf("\n%*s", HELP_COLUMN, "");
        else
            putchar(*help);
    putchar('\n');
}

void print_options(const struct option *options)
{
    for (; options && options->name; options++) {
        char left[64], letter[8] = "";
        if (options->type == OPTION_LATER)
            continue;
        if (options->letter)
            snprintf(letter, sizeof letter, "-%c, ", options->letter);
        snprintf(left, sizeof left, "  %s--%s%s%s", letter, options->name, options->value ? " " : "",
                 options->value ? options->value : "");
        printf("%-*s", HELP_COLUMN - 1, left);
        if (strlen(left) >= HELP_COLUMN - 1)
            printf("\n%*s", HELP_COLUMN - 1, "");
        putchar(' ');
        print_help_text(options->help);
    }
    printf("%-*s %s\n", HELP_COLUMN - 1, "  -h, --help", "this text");
}
