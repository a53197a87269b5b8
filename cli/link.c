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
#include "verb.h"

#define MOST_INTERVAL 3600000 /* milliseconds */

static struct {
    const char *match, *password_file, *ca_file, *certificate_file, *key_file;
    uint64_t interval, metrics;
    bool once, json, quiet, insecure, refill;
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
    {.name = "once", .type = OPTION_BOOLEAN, .place = &settings.once, .help = "make all regions equal, say what was done, and end"},
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
    {.name = "password-file",
     .type = OPTION_TEXT,
     .place = &settings.password_file,
     .value = "FILE",
     .help = "a file of lines \"URL password\", readable by you alone"},
    {.name = "cacert",
     .type = OPTION_TEXT,
     .place = &settings.ca_file,
     .value = "FILE",
     .help = "certificates to trust with rediss:// (default: the system's)"},
    {.name = "cert",
     .type = OPTION_TEXT,
     .place = &settings.certificate_file,
     .value = "FILE",
     .help = "client certificate, for servers that want one"},
    {.name = "key",
     .type = OPTION_TEXT,
     .place = &settings.key_file,
     .value = "FILE",
     .help = "the key of that certificate"},
    {.name = "insecure",
     .type = OPTION_BOOLEAN,
     .place = &settings.insecure,
     .help = "accept any certificate of a server"},
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
    return true;
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
                                 .connection = {.ca_file = settings.ca_file,
                                                .certificate_file = settings.certificate_file,
                                                .key_file = settings.key_file,
                                                .insecure = settings.insecure}};
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
