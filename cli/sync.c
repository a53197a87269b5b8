/*
 * roost sync: two replicas exchange what the other lacks (anti-entropy). This process is the initiator.
 *
 * No lock is held while it waits for the peer: the exchange works on the filter as it was loaded, and the lock is taken
 * only to save the result. If the file has changed meanwhile, the result is merged into it, and the exchange is
 * repeated, since the peer lacks that change. Nothing is saved here before an exchange is complete; the peer stores the
 * effect of whole messages.
 *
 *     load FILE -> request, reply, request, reply ... -> lock FILE, save filter and cursor of the peer, unlock
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/secrets.h"
#include "element_report.h"
#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/peer/share_transfer.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/peer/peer.h"
#include "verb.h"

#define MOST_EXCHANGES 3

static struct {
    bool json, quiet;
    struct remote_shell shell;
    struct server_options server;
} settings;

static const struct option options[] = {
    SHELL_OPTIONS(settings.shell),
    CONNECTION_OPTIONS(settings.server.connection, settings.server.password_file),
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "report as a JSON object"},
    {.name = "quiet", .letter = 'q', .type = OPTION_BOOLEAN, .place = &settings.quiet, .help = "no report"},
    {0},
};

/* ---- one exchange ---------------------------------------------------------------------------------------------- */

struct syncing {
    struct filter_file file;
    struct peer peer;
    uint32_t rounds;
    bool equal, changed;
};

/* Sends requests and takes replies until the exchange is complete. */
static bool exchange_messages(struct syncing *syncing, roost_sync *sync)
{
    struct byte_buffer reply = {0};
    roost_buffer request = {0};
    roost_status status;
    bool has_request, fine;
    do {
        status = roost_sync_next(sync, &request, reply.data, reply.size);
        has_request = status == ROOST_OK && request.size > 0;
        fine = !has_request || peer_ask(&syncing->peer, &reply, (roost_bytes){request.data, request.size});
        roost_buffer_release(&request);
    } while (has_request && fine && !interrupted());
    byte_buffer_release(&reply);
    if (status != ROOST_OK)
        return complain_of_peer(&syncing->peer, status, syncing->file.name, syncing->file.filter);
    return fine && !interrupted();
}

static bool set_peer_cursor(struct syncing *syncing, roost_bytes cursor)
{
    roost_status status =
        roost_file_set_peer_cursor(syncing->file.handle, syncing->peer.known_as, cursor.data, cursor.size);
    return status == ROOST_OK || complain_of_file(syncing->file.name, syncing->file.handle, status);
}

static bool same_bytes(roost_bytes a, roost_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* ---- storing the result ---------------------------------------------------------------------------------------- */

/* The file has not changed: saves what was received together with the new cursor of the peer. */
static bool store_in_same_file(struct syncing *syncing, roost_bytes cursor, bool changed, bool *gave)
{
    if (!transfer_idle_shares(&syncing->file, gave))
        return false;
    roost_bytes before = roost_file_get_peer_cursor(syncing->file.handle, syncing->peer.known_as);
    if (!changed && !*gave && same_bytes(before, cursor))
        return true;
    return set_peer_cursor(syncing, cursor) && filter_file_save(&syncing->file);
}

/*
 * The file has changed: merges what was received. The new cursor belongs to the filter as it was, so the file keeps its
 * older one.
 */
static bool merge_into_newer_file(struct syncing *syncing, bool *gave)
{
    bool grew = false;
    struct filter_file *file = &syncing->file;
    roost_filter *got = roost_file_take_filter(file->handle);
    bool fine = filter_file_refresh(file);
    roost_status status = fine ? roost_filter_merge(file->filter, &grew, got) : ROOST_OK;
    roost_filter_free(got);
    if (status != ROOST_OK)
        return complain_of_status(file->name, status);
    return fine && transfer_idle_shares(file, gave) && (!(grew || *gave) || filter_file_save(file));
}

/* Shares are transferred now that the needs of the peer are known; they are on the disk before the next exchange
   sends them. */
static bool store_result(struct syncing *syncing, roost_bytes cursor, const roost_sync_result *result)
{
    struct filter_file *file = &syncing->file;
    bool locked = filter_file_lock(file, file->name), fresh = locked && roost_file_is_current(file->handle);
    bool gave = false;
    bool fine = locked && (fresh ? store_in_same_file(syncing, cursor, result->changed, &gave)
                                 : merge_into_newer_file(syncing, &gave));
    filter_file_unlock(file);
    interrupt_catch(); /* another exchange may follow */
    syncing->rounds += result->rounds;
    syncing->changed |= result->changed;
    syncing->equal = result->equal && fresh && !gave;
    return fine;
}

static bool exchange(struct syncing *syncing)
{
    roost_sync *sync;
    roost_buffer cursor = {0};
    roost_bytes known = roost_file_get_peer_cursor(syncing->file.handle, syncing->peer.known_as);
    roost_status status = roost_sync_new(&sync, syncing->file.filter, known.data, known.size);
    bool fine = status == ROOST_OK && exchange_messages(syncing, sync);
    roost_sync_result result = {0};
    if (fine) {
        result = roost_sync_get_result(sync);
        status = roost_sync_save_memory(sync, &cursor);
    }
    roost_sync_free(sync);
    if (status != ROOST_OK)
        complain_of_status(syncing->file.name, status);
    fine = fine && status == ROOST_OK && store_result(syncing, (roost_bytes){cursor.data, cursor.size}, &result);
    roost_buffer_release(&cursor);
    return fine;
}

/* One exchange is enough, unless one of the two changes meanwhile, or shares were transferred. */
static bool exchange_until_equal(struct syncing *syncing)
{
    bool fine = true;
    for (int i = 0; fine && !syncing->equal && i < MOST_EXCHANGES; i++)
        fine = exchange(syncing);
    return fine && peer_finish(&syncing->peer);
}

/* ---- the verb -------------------------------------------------------------------------------------------------- */

static void report(const struct syncing *syncing)
{
    char sent[THINGS_ROOM], received[THINGS_ROOM], rounds[THINGS_ROOM];
    format_things(sent, syncing->peer.sent, "byte");
    format_things(received, syncing->peer.received, "byte");
    format_things(rounds, syncing->rounds, "round");
    if (settings.json) {
        struct json json;
        json_begin(&json);
        json_count(&json, "sent", syncing->peer.sent);
        json_count(&json, "received", syncing->peer.received);
        json_count(&json, "rounds", syncing->rounds);
        json_bool(&json, "equal", syncing->equal);
        json_bool(&json, "changed", syncing->changed);
        json_end(&json);
    } else if (!settings.quiet) {
        printf("sent %s, received %s in %s; %s\n", sent, received, rounds,
               syncing->equal ? "the two are equal" : "one of them changed meanwhile, sync again");
    }
}

/* Options that PEER has no use for are not ignored. */
static bool options_fit(const char *peer)
{
    if (settings.server.password_file && !is_server_name(peer))
        return complain("--password-file", "only for a PEER of redis:// or rediss://");
    return connection_options_are_valid(&settings.server.connection, is_encrypted_server(peer));
}

static bool is_same_file(const struct syncing *syncing)
{
    return syncing->peer.file.handle && roost_file_is_same(syncing->file.handle, syncing->peer.file.handle);
}

static bool sync_with(struct syncing *syncing, const char *peer)
{
    if (!peer_open(&syncing->peer, peer, &settings.shell, &settings.server, syncing->file.filter))
        return false;
    syncing->equal = is_same_file(syncing);
    if (syncing->equal && !settings.json && !settings.quiet)
        return printf("%s and %s are the same file: nothing to do\n", syncing->file.name, peer) >= 0;
    if (!syncing->equal && !exchange_until_equal(syncing))
        return false;
    if (syncing->changed)
        warn_of_promise(syncing->file.name, syncing->file.filter);
    report(syncing);
    return true;
}

/* The peer may be a URL with a password, which must not show in the list of processes. */
static int run(const struct arguments *arguments)
{
    struct syncing syncing = {0};
    char *peer = strdup(arguments->operands[1]);
    secrets_hide(arguments->operands[1]);
    complete_shell(&settings.shell);
    interrupt_catch();
    bool synced = (peer || complain_plainly("out of memory")) && options_fit(peer) &&
                  filter_file_look(&syncing.file, arguments->operands[0]) && sync_with(&syncing, peer);
    peer_close(&syncing.peer);
    filter_file_close(&syncing.file);
    if (peer)
        explicit_bzero(peer, strlen(peer));
    free(peer);
    return synced ? EXIT_FINE : EXIT_ERROR;
}

static const char *const operands[] = {"FILE", "PEER", NULL};

const struct verb verb_sync = {
    .name = "sync",
    .synopsis = "FILE PEER [--rsh COMMAND] [--roost PATH] [--cacert FILE] [--cert FILE] [--key FILE] [OPTION...]",
    .summary = "sync two replicas, sending only what differs",
    .details = "Anti-entropy: FILE and PEER exchange the additions and removals that the other lacks, and are equal "
               "then. Only changes since the last sync of the two are sent.\n\n"
               "PEER is a path; or HOST:PATH, where ssh starts roost serve; or a key of a server that has loaded the "
               "module roost.so, redis://[user[:password]@]host[:port]/KEY, or rediss:// for TLS. Without a "
               "password in the URL, that of --password-file or of ROOST_PASSWORD and ROOST_USER in the environment is "
               "used.\n\n"
               "A local path or a key that does not exist is created. If the connection breaks, both sides are intact: "
               "sync again.",
    .options = options,
    .operands = operands,
    .run = run,
};
