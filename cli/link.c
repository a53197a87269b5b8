/*
 * roost link: keeps the filters, windows and counters of several Redis or Valkey deployments in step.
 *
 * It has no state of its own: it may be started anywhere, stopped at any moment and run twice. link/engine.h describes
 * its parts, link/engine.c why it works.
 */
#include <string.h>

#include "link/engine.h"
#include "link/glob.h"
#include "cli/base/messages.h"
#include "cli/base/server_name.h"
#include "verb.h"

#define MOST_INTERVAL 3600000 /* milliseconds */

static struct {
    const char *match, *password_file;
    struct connection_options connection;
    uint64_t interval, metrics;
    bool once, json, quiet, refill;
} settings = {.interval = 100000};

static const struct option options[] = {
    {.name = "match",
     .type = OPTION_TEXT,
     .place = &settings.match,
     .value = "GLOB",
     .help = "only keys that match: * ? [a-z], as in KEYS"},
    {.name = "interval",
     .type = OPTION_DURATION,
     .place = &settings.interval,
     .value = "TIME",
     .help = "send a key that keeps changing once in this time (default 100ms)"},
    {.name = "once",
     .type = OPTION_BOOLEAN,
     .place = &settings.once,
     .help = "make all regions equal, say what was done, and end"},
    {.name = "refill",
     .type = OPTION_BOOLEAN,
     .place = &settings.refill,
     .help = "send keys again, once, that a region evicted or has no room for"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "print events, one JSON object a line"},
    {.name = "metrics",
     .type = OPTION_COUNT,
     .place = &settings.metrics,
     .value = "PORT",
     .least = 1,
     .most = 65535,
     .help = "metrics for Prometheus at http://127.0.0.1:PORT/metrics"},
    CONNECTION_OPTIONS(settings.connection, settings.password_file),
    {.name = "quiet",
     .letter = 'q',
     .type = OPTION_BOOLEAN,
     .place = &settings.quiet,
     .help = "no status line on a terminal, and no report of --once"},
    {0},
};

static bool settings_make_sense(const struct arguments *arguments)
{
    if (arguments->count > MOST_REGIONS)
        return complain("link", "at most %d regions", MOST_REGIONS);
    if (settings.match && !glob_is_valid(settings.match))
        return complain("--match", "%s is not a valid pattern", settings.match);
    if (settings.interval < 1000 || settings.interval / 1000 > MOST_INTERVAL)
        return complain("--interval", "must be from 1ms to 1h");
    bool tls = false;
    for (size_t i = 0; i < arguments->count; i++)
        tls |= is_encrypted_server(arguments->operands[i]);
    return connection_options_are_valid(&settings.connection, tls);
}

#if defined(HAVE_HIREDIS)

static int run_link(const struct arguments *arguments)
{
    if (!settings_make_sense(arguments))
        return EXIT_ERROR;
    struct link_settings link = {.urls = arguments->operands,
                                 .count = (unsigned)arguments->count,
                                 .match = settings.match,
                                 .interval = settings.interval / 1000,
                                 .once = settings.once,
                                 .json = settings.json,
                                 .quiet = settings.quiet,
                                 .refill = settings.refill,
                                 .metrics = (uint16_t)settings.metrics,
                                 .password_file = settings.password_file,
                                 .connection = settings.connection};
    return link_run(&link);
}

#else

static int run_link(const struct arguments *arguments)
{
    if (settings_make_sense(arguments))
        complain("link", "this roost was built without hiredis and libevent, and cannot talk to servers");
    return EXIT_ERROR;
}

#endif

static const char *const operands[] = {"URL", "URL", NULL};

const struct verb verb_link = {
    .name = "link",
    .synopsis = "URL URL [URL...] [OPTION...]",
    .summary = "keep the filters of several Redis or Valkey deployments in step",
    .details = "Each URL is a region: redis://[user[:password]@]host[:port], or rediss:// with TLS. It may be a "
               "server, a primary with replicas, or a cluster; all need the module roost.so. What is added, "
               "removed and deleted in one region arrives in all others, and digests are equal when clients "
               "pause. The link keeps no data: stop it, start it, run it twice.\n\n"
               "Passwords: ROOST_PASSWORD and ROOST_USER in the environment, --password-file, or in a URL, "
               "where other users of this machine can read it when roost starts.\n\n"
               "Exit status of --once: 0 all keys are equal, 1 some are not, 2 a region could not be reached.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .run = run_link,
};
