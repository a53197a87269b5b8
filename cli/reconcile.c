/*
 * roost reconcile: finds the lines that only one of two files has, with bytes in proportion to the difference.
 *
 * The initiator is this process. The responder is a process on the machine of the peer or, if both files are here, the
 * same code called directly, so that the counted bytes are those that would have been sent. Either file may be the
 * responder's; which of the two is A only decides which lines are printed with "<". Where both files are here and no
 * one asks for the bytes, there is no session (cli/lines/sorted_comparison.c, cli/lines/line_comparison.c).
 *
 *     initiator: read lines -> request, reply, request, reply ... -> its own differences
 *     responder:                                                     lines that only it has, if they are wanted
 *     --fetch:   lines that only B has are added to A; they are received if A is here, and sent if A is there
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/lines/line_comparison.h"
#include "cli/lines/line_responder.h"
#include "cli/lines/sorted_comparison.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/base/progress.h"
#include "cli/peer/remote.h"
#include "verb.h"

/* In the order of roost_reconcile_method; a choice counts from 1. */
static const char *const methods[] = {"auto", "riblt", "dbf", "ccf-query", "ccf-decode", NULL};

static struct {
    unsigned method;
    uint64_t threads;
    bool multiset, fetch, stats, json, quiet;
    struct remote_shell shell;
} settings = {.method = 1 + ROOST_RECONCILE_AUTO, .shell.option = "--lines"};

static const struct option options[] = {
    {.name = "method",
     .type = OPTION_CHOICE,
     .place = &settings.method,
     .value = "METHOD",
     .choices = methods,
     .help = "auto: the fewest bytes (default)\n"
             "riblt: rateless IBLT, for sets\n"
             "dbf: distributed Bloom filters, for sets\n"
             "ccf-query, ccf-decode: counting cuckoo filters; approximate, and say so if they missed differences"},
    {.name = "multiset",
     .type = OPTION_BOOLEAN,
     .place = &settings.multiset,
     .help = "count how often each line occurs"},
    {.name = "fetch",
     .type = OPTION_BOOLEAN,
     .place = &settings.fetch,
     .help = "append to A the lines that are only in B; A is replaced atomically"},
    {.name = "stats", .type = OPTION_BOOLEAN, .place = &settings.stats, .help = "print bytes, rounds and CPU time"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "print only these, as a JSON object"},
    {.name = "quiet", .letter = 'q', .type = OPTION_BOOLEAN, .place = &settings.quiet, .help = "print no lines"},
    THREADS_OPTION(settings.threads, "to read lines, "),
    SHELL_OPTIONS(settings.shell),
    {0},
};

struct reconciling {
    struct line_side initiator;
    bool initiator_is_a;
    const char *responder_name;
    bool responder_is_remote;
    struct line_side responder; /* if it is here */
    struct remote remote;
    struct byte_buffer reply, request;
    roost_buffer last;                       /* our message of the session that has not been sent */
    uint64_t sent, received;                 /* bytes of the session on the wire */
    uint64_t payload_sent, payload_received; /* of lines */
    uint32_t rounds;
    roost_reconcile_result result;
};

/* ---- requests --------------------------------------------------------------------------------------------------- */

/* Before the first reply the terminal may be the remote shell's. */
static void show_exchange(const struct reconciling *work)
{
    char sent[COUNT_ROOM], received[COUNT_ROOM];
    format_bytes(sent, work->sent + work->payload_sent);
    format_bytes(received, work->received + work->payload_received);
    if (work->rounds > 1)
        progress_note("round %u, %s sent, %s received", work->rounds, sent, received);
}

static bool ask(struct reconciling *work, roost_bytes request)
{
    bool understood = true; /* else the reply says so */
    work->rounds++;
    show_exchange(work);
    if (work->responder_is_remote)
        return remote_ask(&work->remote, &work->reply, request);
    return line_responder_reply(&work->responder, &work->reply, &understood, request);
}

static bool ask_session(struct reconciling *work, roost_bytes request)
{
    if (!ask(work, request))
        return false;
    work->sent += wire_size(request.size);
    work->received += wire_size(work->reply.size);
    return true;
}

/* Session and lines are counted apart; the last message of the session is part of the first request for lines. */
static bool ask_program(struct reconciling *work)
{
    if (work->request.failed)
        return complain_of_session(work->initiator.file.name, ROOST_NO_MEMORY);
    if (!ask(work, (roost_bytes){work->request.data, work->request.size}))
        return false;
    uint64_t of_session = work->last.size;
    roost_buffer_release(&work->last);
    work->sent += of_session;
    work->payload_sent += wire_size(work->request.size) - of_session;
    work->payload_received += wire_size(work->reply.size);
    return true;
}

/* ---- the session ------------------------------------------------------------------------------------------------ */

static bool begin_session(struct reconciling *work)
{
    roost_reconcile_config config = {(roost_reconcile_method)(settings.method - 1), settings.multiset};
    roost_environment environment = line_environment();
    roost_status status = roost_reconcile_new_initiator(&work->initiator.session, &config, &environment);
    if (status == ROOST_UNSUPPORTED) {
        char option[64];
        snprintf(option, sizeof option, "--method %s", methods[config.method]);
        return complain(option, "cannot be used with --multiset");
    }
    return status == ROOST_OK || complain_of_session(work->initiator.file.name, status);
}

static bool complain_of_conversation(const struct reconciling *work, roost_status status)
{
    const roost_reconcile_method method = roost_reconcile_get_config(work->initiator.session)->method;
    bool limited = method == ROOST_RECONCILE_CCF_QUERY || method == ROOST_RECONCILE_CCF_DECODE;
    if (limited && status == ROOST_TOO_LARGE)
        return complain(work->responder_name, "has more lines than --method %s allows; use --method auto",
                        methods[method]);
    return complain_of_session(work->responder_name, status);
}

/* Exchanges messages until the session ends; a last message of ours is kept for the next request. */
static bool exchange_messages(struct reconciling *work)
{
    roost_buffer message = {0};
    roost_status status = roost_reconcile_next(work->initiator.session, &message, NULL, 0);
    bool fine = true;
    while (fine && status == ROOST_OK && message.size > 0 && !roost_reconcile_is_done(work->initiator.session)) {
        fine = ask_session(work, (roost_bytes){message.data, message.size});
        roost_buffer_release(&message);
        if (fine)
            status = roost_reconcile_next(work->initiator.session, &message, work->reply.data, work->reply.size);
        fine = fine && !interrupted();
    }
    if (fine && status == ROOST_OK) {
        work->last = message;
        return true;
    }
    roost_buffer_release(&message);
    return fine ? complain_of_conversation(work, status) : false;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static void print_line(char side, uint64_t count, roost_bytes line)
{
    putchar(side);
    if (settings.multiset)
        printf(" %llu", (unsigned long long)count);
    putchar(' ');
    fwrite(line.data, 1, line.size, stdout);
    putchar('\n');
}

static bool prints_lines(void)
{
    return !settings.quiet && !settings.json;
}

static bool print_side(struct line_side *side, char sign)
{
    while (line_side_has_more(side) && !interrupted()) {
        roost_difference difference;
        roost_bytes line;
        if (!line_side_next(side, &difference, &line))
            return false;
        print_line(sign, difference.count_here, line);
    }
    return !interrupted();
}

static bool print_initiator(struct reconciling *work)
{
    return print_side(&work->initiator, work->initiator_is_a ? '<' : '>');
}

static void begin_request(struct reconciling *work, enum line_message type)
{
    work->request.size = 0;
    append_number(&work->request, type, 1);
    append_sized(&work->request, work->last.data, work->last.size);
}

/* Tells the responder that the session is over, and that no lines are wanted. */
static bool say_enough(struct reconciling *work)
{
    begin_request(work, LINES_ENOUGH);
    return ask_program(work) && ((work->reply.size == 1 && work->reply.data[0] == LINES_TAKEN) ||
                                 complain_of_session(work->responder_name, ROOST_PROTOCOL));
}

/* There must be as many lines as the session found, and no others. */
static bool take_far_records(struct reconciling *work, uint64_t *taken, bool fetch)
{
    struct byte_reader reader = {.next = work->reply.data + 1, .left = work->reply.size - 1};
    struct line_record record;
    while (take_record(&reader, &record, settings.multiset)) {
        if (++*taken > work->result.only_there)
            return complain_of_session(work->responder_name, ROOST_CORRUPT);
        if (prints_lines())
            print_line(work->initiator_is_a ? '>' : '<', record.there, record.line);
        if (fetch && !line_side_take(&work->initiator, &record))
            return false;
    }
    return !reader.failed || complain_of_session(work->responder_name, ROOST_CORRUPT);
}

static bool receive_lines(struct reconciling *work, bool fetch)
{
    uint64_t taken = 0;
    uint8_t type = LINES_MORE;
    begin_request(work, LINES_WANTED);
    while (type == LINES_MORE) {
        uint64_t before = taken;
        if (!ask_program(work))
            return false;
        type = work->reply.size > 0 ? work->reply.data[0] : 0;
        if ((type != LINES_MORE && type != LINES_LAST) || !take_far_records(work, &taken, fetch))
            return type == LINES_MORE || type == LINES_LAST ? false
                                                            : complain_of_session(work->responder_name, ROOST_PROTOCOL);
        if (interrupted() || (type == LINES_MORE && taken == before))
            return !interrupted() && complain_of_session(work->responder_name, ROOST_CORRUPT);
        work->request.size = 0;
        append_number(&work->request, LINES_GO_ON, 1);
    }
    return taken == work->result.only_there || complain_of_session(work->responder_name, ROOST_CORRUPT);
}

/* Sends lines that only this side has; A is the responder's file. */
static bool send_lines(struct reconciling *work)
{
    bool more = true;
    while (more) {
        begin_request(work, LINES_TAKE);
        if (!line_side_write(&work->initiator, &work->request))
            return false;
        more = line_side_has_more(&work->initiator);
        work->request.data[0] = more ? LINES_TAKE : LINES_COMMIT;
        if (!ask_program(work))
            return false;
        if (work->reply.size != 1 || work->reply.data[0] != LINES_TAKEN)
            return complain_of_session(work->responder_name, ROOST_PROTOCOL);
    }
    return true;
}

/* "<" first. If A is the responder's file, its lines are received before ours are printed. */
static bool exchange_lines(struct reconciling *work)
{
    bool fetch_here = settings.fetch && work->initiator_is_a, send = settings.fetch && !work->initiator_is_a;
    if (work->initiator_is_a && prints_lines() && !print_initiator(work))
        return false;
    bool wanted = work->result.only_there > 0 && (fetch_here || prints_lines());
    if (wanted ? !receive_lines(work, fetch_here) : !send && !say_enough(work))
        return false;
    if (!work->initiator_is_a && prints_lines() && !print_initiator(work))
        return false;
    if (!send)
        return line_union_commit(&work->initiator.united);
    work->initiator.next = 0;
    line_picker_close(&work->initiator.picker);
    return (work->initiator.count == 0 || line_picker_open(&work->initiator.picker, &work->initiator.file)) &&
           send_lines(work);
}

/* ---- the verb --------------------------------------------------------------------------------------------------- */

static bool is_equal(const roost_reconcile_result *result)
{
    return result->only_here + result->only_there == 0 && result->complete;
}

/* An approximate method knows that it missed something, but not what. */
static void warn_of_missed(const struct reconciling *work)
{
    if (!work->result.complete)
        complain(work->responder_name, "--method %s missed some differences; use --method auto to find all",
                 methods[settings.method - 1]);
}

static void report(const struct reconciling *work)
{
    double cpu = (double)clock() / CLOCKS_PER_SEC;
    const roost_reconcile_result *result = &work->result;
    uint64_t only_a = work->initiator_is_a ? result->only_here : result->only_there;
    uint64_t only_b = work->initiator_is_a ? result->only_there : result->only_here;
    if (settings.json) {
        struct json json;
        json_begin(&json);
        json_bool(&json, "equal", is_equal(result));
        json_bool(&json, "exact", result->exact);
        json_bool(&json, "complete", result->complete);
        json_count(&json, "only_here", only_a);
        json_count(&json, "only_there", only_b);
        if (settings.multiset)
            json_count(&json, "changed", result->changed);
        json_count(&json, "rounds", work->rounds);
        json_count(&json, "sent", work->sent);
        json_count(&json, "received", work->received);
        json_count(&json, "payload_sent", work->payload_sent);
        json_count(&json, "payload_received", work->payload_received);
        json_number(&json, "cpu_seconds", cpu);
        json_end(&json);
    } else if (settings.stats) {
        char sent[THINGS_ROOM], received[THINGS_ROOM], rounds[THINGS_ROOM], payload[THINGS_ROOM];
        format_things(sent, work->sent, "byte");
        format_things(received, work->received, "byte");
        format_things(rounds, work->rounds, "round");
        format_things(payload, work->payload_sent + work->payload_received, "byte");
        printf("# %llu only in A, %llu only in B%s; sent %s, received %s in %s, lines %s; %.2f s of CPU\n",
               (unsigned long long)only_a, (unsigned long long)only_b,
               result->exact      ? ""
               : result->complete ? " (approximate)"
                                  : " (approximate, some missed)",
               sent, received, rounds, payload, cpu);
    }
}

static bool open_sides(struct reconciling *work, const char *a, const char *b)
{
    bool a_is_remote = is_remote_name(a), b_is_remote = is_remote_name(b);
    if (is_url(a) || is_url(b))
        return complain(is_url(a) ? a : b, "must be a path or HOST:PATH");
    if (a_is_remote && b_is_remote)
        return complain(b, "only one of the two may be on another machine");
    work->initiator_is_a = !a_is_remote;
    work->responder_name = a_is_remote ? a : b;
    work->responder_is_remote = a_is_remote || b_is_remote;
    if (!line_side_open(&work->initiator, a_is_remote ? b : a))
        return false;
    return work->responder_is_remote ? remote_is_valid(work->responder_name, &settings.shell)
                                     : line_side_open(&work->responder, work->responder_name);
}

/* After this side has read its lines: ssh may ask for a password, and needs the line of the terminal. */
static bool start_responder(struct reconciling *work)
{
    work->responder.loaded = work->initiator.loaded;
    if (!work->responder_is_remote)
        return true;
    progress_erase();
    return remote_start(&work->remote, work->responder_name, &settings.shell);
}

/* Whether only the lines are wanted, and both files are here. */
static bool needs_no_session(const struct reconciling *work)
{
    return !work->responder_is_remote && settings.method == 1 + ROOST_RECONCILE_AUTO && !settings.fetch &&
           !settings.stats && !settings.json;
}

static bool compare_here(struct reconciling *work)
{
    bool sorted;
    if (!sorted_sides_compare(&work->initiator, &work->responder, settings.multiset, &work->result, &sorted) ||
        (!sorted && !line_sides_compare(&work->initiator, &work->responder, &work->result)))
        return false;
    progress_erase();
    if (prints_lines() && isatty(STDOUT_FILENO))
        progress_end();
    return !prints_lines() || (print_side(&work->initiator, '<') && print_side(&work->responder, '>'));
}

static bool reconcile(struct reconciling *work)
{
    work->initiator.threads = work->responder.threads = settings.threads;
    if (!begin_session(work))
        return false;
    if (needs_no_session(work))
        return compare_here(work);
    if (!line_side_load(&work->initiator) || !start_responder(work) || !exchange_messages(work))
        return false;
    work->result = roost_reconcile_get_result(work->initiator.session);
    progress_erase();
    if (prints_lines() && isatty(STDOUT_FILENO))
        progress_end();
    if (!line_side_conclude(&work->initiator) || !exchange_lines(work))
        return false;
    progress_erase();
    report(work);
    warn_of_missed(work);
    return true;
}

static void close_sides(struct reconciling *work)
{
    remote_end(&work->remote);
    line_side_close(&work->initiator);
    line_side_close(&work->responder);
    roost_buffer_release(&work->last);
    byte_buffer_release(&work->reply);
    byte_buffer_release(&work->request);
}

static int run(const struct arguments *arguments)
{
    struct reconciling work = {.initiator.file.descriptor = -1, .responder.file.descriptor = -1};
    complete_shell(&settings.shell);
    interrupt_catch();
    progress_begin("lines read", false, false);
    bool fine = open_sides(&work, arguments->operands[0], arguments->operands[1]) && reconcile(&work);
    bool equal = is_equal(&work.result);
    close_sides(&work);
    return !fine ? EXIT_ERROR : equal ? EXIT_FINE : EXIT_NONE;
}

static const char *const operands[] = {"A", "B", NULL};

const struct verb verb_reconcile = {
    .name = "reconcile",
    .synopsis = "A B [--multiset] [--fetch] [--method auto|riblt|dbf|ccf-query|ccf-decode] [--stats] [--json] "
                "[-q] [--threads N] [--rsh COMMAND] [--roost PATH]",
    .summary = "find the lines in which two files differ, with few bytes",
    .details = "A and B are files of lines. Prints the lines that are only in A as \"< LINE\", those only in B as "
               "\"> LINE\". Order does not matter, nor do repetitions unless --multiset is given: then a line "
               "whose counts differ is printed with the count of that side, \"< 3 LINE\" and \"> 5 LINE\".\n\n"
               "A or B may be HOST:PATH, where ssh starts roost serve --lines. The bytes sent are in proportion "
               "to the difference, not to the files.\n\n"
               "Exit status: 0 the two are equal, 1 they differ, 2 error.",
    .options = options,
    .operands = operands,
    .changes_file = false,
    .run = run,
};
