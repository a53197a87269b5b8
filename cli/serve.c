/* roost serve: the responder of roost sync and roost reconcile, on standard input and output. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/peer/responder.h"
#include "cli/base/interrupt.h"
#include "cli/lines/line_responder.h"
#include "cli/base/messages.h"
#include "verb.h"
#include "cli/peer/wire.h"

static bool lines;

static const struct option options[] = {
    {.name = "lines", .type = OPTION_BOOLEAN, .place = &lines, .help = "FILE has lines; respond to roost reconcile"},
    {0},
};

/*
 * If a request is invalid, the reply says so, and the initiator prints it. A closed connection is not reported here:
 * the initiator knows.
 */
static bool serve_one(struct wire *wire, struct filter_file *file, roost_bytes request, bool *understood)
{
    roost_buffer reply = {0};
    roost_status verdict = ROOST_OK;
    enum wire_result sent = WIRE_FINE;
    bool answered = responder_reply(file, &reply, &verdict, request);
    if (answered)
        sent = wire_send(wire, reply.data, reply.size);
    if (sent == WIRE_FAILED)
        complain("standard output", "%s", strerror(errno));
    *understood &= verdict == ROOST_OK;
    roost_buffer_release(&reply);
    return answered && sent == WIRE_FINE;
}

static bool complain_of_input(const char *name, enum wire_result result)
{
    switch (result) {
    case WIRE_CUT:
        return complain(name, "the connection ended within a message");
    case WIRE_NONSENSE:
        return complain(name, "received bytes that are not a message of roost %s", lines ? "reconcile" : "sync");
    case WIRE_FAILED:
        return complain("standard input", "%s", strerror(errno));
    case WIRE_FINE:
    case WIRE_ENDED:
        break;
    }
    return true;
}

static bool serve_all(struct filter_file *file)
{
    struct wire wire = {.in = STDIN_FILENO, .out = STDOUT_FILENO};
    struct byte_buffer request = {0};
    bool fine = true, understood = true;
    while (fine) {
        enum wire_result received = wire_receive(&wire, &request);
        fine = complain_of_input(file->name, received);
        if (received == WIRE_ENDED)
            break;
        fine = fine && serve_one(&wire, file, (roost_bytes){request.data, request.size}, &understood);
    }
    byte_buffer_release(&request);
    return fine && understood;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static bool serve_one_of_lines(struct wire *wire, struct line_side *side, roost_bytes request, bool *understood)
{
    struct byte_buffer reply = {0};
    bool answered = line_responder_reply(side, &reply, understood, request);
    interrupt_catch(); /* a save may have released the signals */
    enum wire_result sent = answered && reply.size > 0 ? wire_send(wire, reply.data, reply.size) : WIRE_FINE;
    if (sent == WIRE_FAILED)
        complain("standard output", "%s", strerror(errno));
    byte_buffer_release(&reply);
    return answered && sent == WIRE_FINE;
}

static bool serve_lines(const char *name)
{
    struct wire wire = {.in = STDIN_FILENO, .out = STDOUT_FILENO};
    struct line_side side;
    struct byte_buffer request = {0};
    bool fine = line_side_open(&side, name), understood = true;
    while (fine) {
        enum wire_result received = wire_receive(&wire, &request);
        fine = complain_of_input(name, received);
        if (received == WIRE_ENDED)
            break;
        fine = fine && serve_one_of_lines(&wire, &side, (roost_bytes){request.data, request.size}, &understood);
    }
    byte_buffer_release(&request);
    line_side_close(&side);
    return fine && understood;
}

/* ---- the verb -------------------------------------------------------------------------------------------------- */

static bool serve_filter(const char *name)
{
    struct filter_file file = {0};
    if (access(name, F_OK) != 0 && errno == ENOENT)
        return complain(name, "%s; copy the filter of the other side there, or create one with the same options",
                        strerror(errno));
    bool served = filter_file_look(&file, name) && serve_all(&file);
    filter_file_close(&file);
    return served;
}

static int run(const struct arguments *arguments)
{
    interrupt_catch();
    signal(SIGPIPE, SIG_IGN); /* a closed connection then makes write() fail */
    bool served = lines ? serve_lines(arguments->operands[0]) : serve_filter(arguments->operands[0]);
    return served ? EXIT_FINE : EXIT_ERROR;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_serve = {
    .name = "serve",
    .synopsis = "FILE [--lines]",
    .summary = "respond to roost sync on standard input and output",
    .details = "The responder of roost sync and, with --lines, of roost reconcile, which start it on the "
               "machine of the peer. Ends at the end of standard input. Changes are on the disk before they are "
               "acknowledged.",
    .options = options,
    .operands = operands,
    .run = run,
};
