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
    .summary = "print what tells whether two filters are equal",
    .details = "Prints 32 hex digits. Two filters have the same ones exactly when they were made alike\n"
               "and hold the same, whatever the order in which they came to it.\n",
    .options = options,
    .operands = operands,
    .run = run,
};
