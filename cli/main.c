/* The program `roost`: finds the verb, parses its options, runs it, and checks that all output could be written. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/secrets.h"
#include "cli/base/interrupt.h"
#include "cli/base/messages.h"
#include "cli/base/nearest_word.h"
#include "cli/base/progress.h"
#include "cli/base/wrapped_text.h"
#include "verb.h"

#include "roost.h"

#define OUTPUT_BUFFER (256 << 10)

static const struct verb *const verbs[] = {&verb_create, &verb_add,     &verb_remove, &verb_check, &verb_merge,
                                           &verb_sync,   &verb_info,    &verb_digest, &verb_serve, &verb_reconcile,
                                           &verb_window, &verb_counter, &verb_link,   &verb_demo};
#define VERBS (sizeof verbs / sizeof *verbs)

/* ---- help ------------------------------------------------------------------------------------------------------ */

static const char *const introduction =
    "Bloom and cuckoo filters in files. Replicas are updated independently, then merged or synced. A \"no\" is always "
    "true; a \"yes\" is wrong with the probability promised at creation.";

static const char *const example = "\n"
                                   "Two machines, one set:\n"
                                   "  roost create seen.roost --capacity 1M --fpr 1%\n"
                                   "  roost add seen.roost < urls.txt\n"
                                   "  roost sync seen.roost other-machine:seen.roost\n"
                                   "  roost check -v seen.roost < candidates.txt    # those not seen yet\n"
                                   "\n"
                                   "roost help VERB explains a verb. Exit status: 0 success, 1 the answer is no\n"
                                   "(nothing selected, or the two differ), 2 error.\n";

static int print_general_help(void)
{
    printf("usage: roost VERB [ARGUMENT...]\n\n");
    print_wrapped(introduction, 0, 0);
    putchar('\n');
    for (size_t i = 0; i < VERBS; i++)
        printf("  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    printf("  %-10s %s\n", "help", "explain a verb");
    fputs(example, stdout);
    return EXIT_FINE;
}

/* Forms of a verb, which are separated by " | ", have a line each. */
static void print_usage(const struct verb *verb)
{
    const char *form = verb->synopsis, *end;
    for (; form; form = end ? end + 3 : NULL) {
        end = strstr(form, " | ");
        char *text = end ? strndup(form, (size_t)(end - form)) : strdup(form);
        int column = printf("%s roost %s ", form == verb->synopsis ? "usage:" : "      ", verb->name);
        if (text)
            print_wrapped(text, (size_t)column, (size_t)column);
        free(text);
    }
}

static int print_verb_help(const struct verb *verb)
{
    print_usage(verb);
    putchar('\n');
    print_wrapped(verb->details, 0, 0);
    putchar('\n');
    print_options(verb->options);
    return EXIT_FINE;
}

static int print_version(void)
{
    printf("roost %s\n", roost_version());
    return EXIT_FINE;
}

/* ---- verbs ----------------------------------------------------------------------------------------------------- */

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

static int refuse_verb(const char *name)
{
    char list[WORD_LIST_ROOM];
    const char *names[VERBS + 2] = {[VERBS] = "help"};
    for (size_t i = 0; i < VERBS; i++)
        names[i] = verbs[i]->name;
    list_words(list, names);
    if (name)
        refuse_word(name, "verb", names);
    else
        complain_plainly("the verb is missing; there are %s", list);
    return EXIT_ERROR;
}

static int refuse_option(const char *word)
{
    static const char *const options[] = {"--help", "--version", NULL};
    const char *nearest = nearest_word(word, options);
    if (nearest)
        complain(word, "unknown option; did you mean %s?", nearest);
    else
        complain(word, "unknown option; the verb comes first: roost VERB [ARGUMENT...]");
    return EXIT_ERROR;
}

static bool operands_fit(const struct verb *verb, const struct arguments *arguments)
{
    size_t needed = 0;
    for (; verb->operands[needed]; needed++)
        if (needed >= arguments->count)
            return complain(verb->name, "%s is missing; usage: roost %s %s", verb->operands[needed], verb->name,
                            verb->synopsis);
    if (arguments->count > needed && !verb->more_operands)
        return complain(arguments->operands[needed], "one argument too many; usage: roost %s %s", verb->name,
                        verb->synopsis);
    return true;
}

static int run_verb(const struct verb *verb, char **words, size_t count)
{
    struct arguments arguments;
    if (!read_arguments(&arguments, verb->name, verb->options, words, count))
        return EXIT_ERROR;
    if (arguments.help_wanted)
        return print_verb_help(verb);
    if (!operands_fit(verb, &arguments))
        return EXIT_ERROR;
    int status = verb->run(&arguments);
    progress_erase();
    if (status == EXIT_ERROR && interrupted())
        complain_of_interrupt(verb->changes_file && !is_server_name(arguments.operands[0]) ? arguments.operands[0]
                                                                                           : NULL);
    return status;
}

static int run_help(char **words, size_t count)
{
    const struct verb *verb = count > 0 ? find_verb(words[0]) : NULL;
    if (count == 0 || strcmp(words[0], "help") == 0)
        return print_general_help();
    return verb ? print_verb_help(verb) : refuse_verb(words[0]);
}

static bool is_one_of(const char *word, const char *first, const char *second, const char *third)
{
    return strcmp(word, first) == 0 || strcmp(word, second) == 0 || strcmp(word, third) == 0;
}

static int dispatch(char **words, size_t count)
{
    if (count == 0)
        return refuse_verb(NULL);
    const struct verb *verb = find_verb(words[0]);
    if (verb)
        return run_verb(verb, words + 1, count - 1);
    if (is_one_of(words[0], "help", "--help", "-h"))
        return run_help(words + 1, count - 1);
    if (is_one_of(words[0], "--version", "-V", "version"))
        return print_version();
    if (words[0][0] == '-')
        return refuse_option(words[0]);
    return refuse_verb(words[0]);
}

/* ---- start and end --------------------------------------------------------------------------------------------- */

/*
 * If a standard descriptor is closed, the next file to be opened would get its number, and a report would overwrite a
 * filter. So closed ones are replaced by descriptors that fail with EBADF, as closed ones do.
 */
static bool fill_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor)
            return false;
    return true;
}

/* Verbs get copies of URLs with passwords, which may also be keys; in the list of processes the passwords are
   hidden. */
static bool hide_passwords(char **words, size_t count)
{
    bool any = false;
    if (!secrets_take(words, count, &any))
        return complain_plainly("out of memory");
    if (any && isatty(STDERR_FILENO))
        complain_plainly("other users of this machine can read a password in a URL when roost starts; use "
                         "ROOST_PASSWORD in the environment, or --password-file");
    return true;
}

int main(int count, char **words)
{
    bool hidden = hide_passwords(words + 1, count > 0 ? (size_t)count - 1 : 0);
    if (!hidden)
        return EXIT_ERROR;
    if (!fill_standard_descriptors())
        return EXIT_ERROR;
    signal(SIGXFSZ, SIG_IGN); /* a file size limit then makes write() fail */
    setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
    int status = dispatch(words + 1, count > 0 ? (size_t)count - 1 : 0);
    return finish_output() ? status : EXIT_ERROR;
}
