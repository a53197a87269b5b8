/*
 * All verbs read their command line in the same way: "--opt value" and "--opt=value", letters that may be combined
 * ("-vc"), options and operands in any order, "--" as the end of options. One table describes where values go and
 * prints the help.
 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "nearest_word.h"
#include "numbers.h"
#include "server_name.h"
#include "wrapped_text.h"

#define HELP_COLUMN  24
#define MOST_OPTIONS 32

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

/* An option whose value was left out takes the next word, which may be a URL: its password is not shown. */
static bool refuse(const struct option *option, const char *value, const char *expected)
{
    char subject[256];
    size_t length;
    if (password_within(value, &length))
        return complain(spell(option).text, "%s", expected);
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

static bool append_text(const struct option *option, const char *value)
{
    struct text_list *list = option->place;
    const char **texts = realloc(list->texts, (list->count + 1) * sizeof *texts);
    if (!texts)
        return complain_plainly("out of memory");
    list->texts = texts;
    list->texts[list->count++] = value;
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
    case OPTION_TEXTS:
        return append_text(option, value);
    case OPTION_LATER:
        break;
    }
    return complain(spell(option).text, "not available in this version");
}

/* ---- the command line ------------------------------------------------------------------------------------------ */

struct command_line {
    const char *verb;
    const struct option *options;
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

/* The name of the option that the user may have meant; NULL: none. */
static const char *nearest_option(const struct option *options, const char *name)
{
    const char *names[MOST_OPTIONS + 2] = {"help"};
    for (size_t i = 0; options && options[i].name && i < MOST_OPTIONS; i++)
        names[i + 1] = options[i].name;
    return nearest_word(name, names);
}

/* `word` has its dashes; "-capacity" may be meant as "--capacity". */
static bool refuse_option(const struct command_line *line, const char *word)
{
    const char *name = word + strspn(word, "-");
    const char *nearest = strlen(name) > 1 ? nearest_option(line->options, name) : NULL;
    if (nearest)
        return complain(word, "unknown option; did you mean --%s?", nearest);
    return complain(word, "unknown option; see roost help %s", line->verb);
}

static bool set_from_next_word(struct command_line *line, const struct option *option)
{
    if (line->next == line->count)
        return complain(spell(option).text, "needs a value (%s)", option->value);
    return set_option(option, line->words[line->next++]);
}

static bool take_long(struct arguments *arguments, struct command_line *line)
{
    char *word = line->words[line->next++], *equals = strchr(word, '=');
    size_t size = equals ? (size_t)(equals - word) : strlen(word);
    if (strcmp(word, "--help") == 0) {
        arguments->help_wanted = true;
        return true;
    }
    const struct option *option = find_long(line->options, word + 2, size - 2);
    if (!option) {
        char subject[128];
        snprintf(subject, sizeof subject, "%.*s", (int)(size < 100 ? size : 100), word);
        return refuse_option(line, subject);
    }
    if (!option->value && equals)
        return complain(spell(option).text, "takes no value");
    if (!option->value || option->type == OPTION_LATER)
        return set_option(option, "");
    return equals ? set_option(option, equals + 1) : set_from_next_word(line, option);
}

static bool refuse_letter(const struct command_line *line, const char *word, char letter)
{
    const char subject[] = {'-', letter, '\0'};
    bool may_be_long = word[1] && word[2] && nearest_option(line->options, word + 1);
    return refuse_option(line, may_be_long ? word : subject);
}

/* One word of letters. One that takes a value takes the rest of the word or, if there is none, the next word. */
static bool take_letters(struct arguments *arguments, struct command_line *line)
{
    const char *word = line->words[line->next++];
    for (const char *letter = word + 1; *letter; letter++) {
        const struct option *option = find_letter(line->options, *letter);
        if (!option && *letter != 'h')
            return refuse_letter(line, word, *letter);
        if (option && option->value)
            return letter[1] ? set_option(option, letter + 1) : set_from_next_word(line, option);
        if (option && !set_option(option, ""))
            return false;
        arguments->help_wanted |= !option;
    }
    return true;
}

bool read_arguments(struct arguments *arguments, const char *verb, const struct option *options, char **words,
                    size_t count)
{
    struct command_line line = {verb, options, words, count, 0};
    *arguments = (struct arguments){.operands = words};
    bool fine = true;
    while (fine && line.next < count && strcmp(words[line.next], "--") != 0) {
        char *word = words[line.next];
        if (strncmp(word, "--", 2) == 0)
            fine = take_long(arguments, &line);
        else if (word[0] == '-' && word[1] != '\0')
            fine = take_letters(arguments, &line);
        else
            words[arguments->count++] = words[line.next++];
    }
    arguments->literal_from = arguments->count;
    for (size_t i = line.next + 1; fine && i < count; i++)
        words[arguments->count++] = words[i];
    return fine;
}

/* ---- help ------------------------------------------------------------------------------------------------------ */

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
        print_wrapped(options->help, HELP_COLUMN, HELP_COLUMN);
    }
    printf("%-*s %s\n", HELP_COLUMN - 1, "  -h, --help", "this text");
}
