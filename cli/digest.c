/* roost digest: prints 32 hex digits, equal for equal filters. */
#include <stdio.h>

#include "cli/file/filter_file.h"
#include "cli/base/json.h"
#include "cli/base/messages.h"
#include "verb.h"

static struct {
    bool json;
} settings;

static const struct option options[] = {
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "as a JSON object"},
    {0},
};

static int run(const struct arguments *arguments)
{
    char text[33];
    roost_filter *filter = filter_file_read(arguments->operands[0]);
    if (!filter)
        return EXIT_ERROR;
    roost_digest_text(roost_filter_digest(filter), text);
    roost_filter_free(filter);
    if (settings.json) {
        struct json json;
        json_begin(&json);
        json_text(&json, "file", arguments->operands[0]);
        json_text(&json, "digest", text);
        json_end(&json);
    } else {
        printf("%s\n", text);
    }
    return EXIT_FINE;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_digest = {
    .name = "digest",
    .synopsis = "FILE [--json]",
    .summary = "print a digest, equal for equal filters",
    .details = "Prints 32 hex digits. They are equal if and only if two filters have the same options and\n"
               "the same contents, in whatever order these were added.\n",
    .options = options,
    .operands = operands,
    .run = run,
};
