/*
 * Two processes with a list of keys each find out, exactly, which keys the other one lacks. The bytes that they send follow the
 * number of differences, not the length of the lists.
 *
 *     cc reconcile_pipe.c $(pkg-config --cflags --libs roost) && ./a.out
 *
 * Both lists have the keys 0 to 9999; one lacks 17, the other 4242. A message is sent behind its length, here through two pipes
 * in the byte order of the machine; between machines choose one, as sync_socket.c does.
 */
#include <roost.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEYS 10000

/* One side: the pipes to and from the other one, and its session. */
struct side {
    const char *name;
    FILE *in, *out;
    int missing; /* the key that this side does not have */
    roost_reconcile *session;
};

static bool send_message(struct side *side, const roost_buffer *message)
{
    return fwrite(&message->size, sizeof message->size, 1, side->out) == 1 &&
           fwrite(message->data, 1, message->size, side->out) == message->size && fflush(side->out) == 0;
}

/* Returns a message, which the caller frees; NULL where the other side has ended. */
static void *receive_message(struct side *side, size_t *size)
{
    void *bytes = NULL;
    if (fread(size, sizeof *size, 1, side->in) == 1 && (bytes = malloc(*size + 1)))
        if (fread(bytes, 1, *size, side->in) == *size)
            return bytes;
    free(bytes);
    return NULL;
}

/* Keys are numbered from 0 in the order in which they are added. */
static int key_of(const struct side *side, uint64_t index)
{
    return (int)index + ((int)index >= side->missing);
}

static roost_status add_keys(struct side *side)
{
    roost_status status = ROOST_OK;
    for (uint64_t i = 0; status == ROOST_OK && i < KEYS - 1; i++) {
        char key[16];
        int size = snprintf(key, sizeof key, "%d", key_of(side, i));
        status = roost_reconcile_add(side->session, key, (size_t)size, 1);
    }
    return status;
}

/* Passes what was received to the session and sends what it returns, until there is nothing more to send or to receive. */
static roost_status exchange(struct side *side, void *received, size_t size)
{
    for (;;) {
        roost_buffer message;
        roost_status status = roost_reconcile_next(side->session, &message, received, size);
        free(received);
        bool more = message.size > 0 && send_message(side, &message);
        roost_buffer_release(&message);
        if (status != ROOST_OK || !more)
            return status;
        if (!(received = receive_message(side, &size))) /* nothing is wrong with an end once this side is done */
            return roost_reconcile_is_done(side->session) ? ROOST_OK : ROOST_PROTOCOL;
    }
}

static roost_status initiate(struct side *side)
{
    roost_status status = roost_reconcile_new_initiator(&side->session, NULL, NULL);
    if (status == ROOST_OK)
        status = add_keys(side);
    return status == ROOST_OK ? exchange(side, NULL, 0) : status;
}

/* The first message tells the responder how the session hashes keys. */
static roost_status respond(struct side *side)
{
    size_t size;
    void *first = receive_message(side, &size);
    roost_status status = first ? roost_reconcile_new_responder(&side->session, first, size, NULL) : ROOST_PROTOCOL;
    if (status == ROOST_OK)
        status = add_keys(side);
    if (status == ROOST_OK)
        return exchange(side, first, size);
    free(first);
    return status;
}

static int show(struct side *side, roost_status status)
{
    if (status == ROOST_OK) {
        roost_reconcile_result result = roost_reconcile_get_result(side->session);
        roost_difference *differences = calloc(result.only_here + 1, sizeof *differences);
        if (differences)
            roost_reconcile_get_differences(side->session, differences);
        for (uint64_t i = 0; differences && i < result.only_here; i++)
            printf("only at the %s: %d\n", side->name, key_of(side, differences[i].index));
        free(differences);
    } else {
        fprintf(stderr, "%s: %s\n", side->name, roost_status_text(status));
    }
    roost_reconcile_free(side->session);
    return status == ROOST_OK ? 0 : 1;
}

int main(void)
{
    int there[2], back[2], child_status;
    if (pipe(there) != 0 || pipe(back) != 0)
        return 1;
    pid_t child = fork();
    if (child < 0)
        return 1;
    bool responds = child == 0;
    close(responds ? there[1] : there[0]);
    close(responds ? back[0] : back[1]);
    if (responds) {
        struct side side = {"responder", fdopen(there[0], "r"), fdopen(back[1], "w"), .missing = 4242};
        return show(&side, respond(&side));
    }
    struct side side = {"initiator", fdopen(back[0], "r"), fdopen(there[1], "w"), .missing = 17};
    roost_status status = initiate(&side);
    fclose(side.out);
    waitpid(child, &child_status, 0);
    return show(&side, status) || child_status != 0;
}
