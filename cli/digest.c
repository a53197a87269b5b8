/* roost digest: prints 32 hex digits for each file, equal for equal filters. */
#include <stdio.h>
#include <string.h>

#include "cli/file/filter_file.h"
#include "cli/base/json.h"
#include "cli/base/messages.h"
#include "verb.h"

static struct {
    bool json;
} settings;

static const struct option options[] = {
    {.name = "json",
     .type = OPTION_BOOLEAN,
     .place = &settings.json,
     .help = "a JSON object for each file, one a line"},
    {0},
};

/* As sha256sum does: a name that would break its line is escaped, and a backslash in front of the line says so. */
static void print_named(const char *digest, const char *name)
{
    printf("%s%s  ", strpbrk(name, "\\\n\r") ? "\\" : "", digest);
    for (; *name; name++)
        if (*name == '\n' || *name == '\r')
            fputs(*name == '\n' ? "\\n" : "\\r", stdout);
        else
            printf("%s%c", *name == '\\' ? "\\" : "", *name);
    putchar('\n');
}

static bool print_digest(const char *name, bool with_name)
{
    char text[33];
    roost_filter *filter = filter_file_read(name);
    if (!filter)
        return false;
    roost_digest_text(roost_filter_digest(filter), text);
    roost_filter_free(filter);
    if (settings.json) {
        struct json json;
        json_begin(&json);
        json_text(&json, "file", name);
        json_text(&json, "digest", text);
        json_end(&json);
    } else if (with_name) {
        print_named(text, name);
    } else {
        printf("%s\n", text);
    }
    return true;
}

/* An error in one file does not stop the others. */
static int run(const struct arguments *arguments)
{
    int status = EXIT_FINE;
    for (size_t i = 0; i < arguments->count; i++)
        if (!print_digest(arguments->operands[i], arguments->count > 1))
            status = EXIT_ERROR;
    return status;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_digest = {
    .name = "digest",
    .synopsis = "FILE... [--json]",
    .summary = "print a digest, equal for equal filters",
    .details = "Prints 32 hex digits. They are equal if and only if two filters have the same options and the "
               "same contents, in whatever order these were added. For several files, each line ends with the "
               "name of its file, as sha256sum prints it.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .run = run,
};
