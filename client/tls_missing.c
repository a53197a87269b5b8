/* Takes the place of tls.c without OpenSSL: no context can be created, so the other functions are never called. */
#include "tls.h"

#include "cli/base/messages.h"

struct tls_context *tls_context_new(const struct connection_options *options, const char *subject)
{
    (void)options;
    complain(subject, "this roost was built without OpenSSL, and cannot talk to rediss://");
    return NULL;
}

void tls_context_free(struct tls_context *tls_context)
{
    (void)tls_context;
}

struct tls *tls_new(struct tls_context *tls_context, int descriptor, const char *host, const char *other_host)
{
    (void)tls_context;
    (void)descriptor;
    (void)host;
    (void)other_host;
    return NULL;
}

void tls_free(struct tls *tls)
{
    (void)tls;
}

ssize_t tls_handshake(struct tls *tls)
{
    (void)tls;
    return TRANSFER_ERROR;
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t room)
{
    (void)tls;
    (void)bytes;
    (void)room;
    return TRANSFER_ERROR;
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t size)
{
    (void)tls;
    (void)bytes;
    (void)size;
    return TRANSFER_ERROR;
}

int tls_wants_to_write(const struct tls *tls)
{
    (void)tls;
    return 0;
}

size_t tls_unread(const struct tls *tls)
{
    (void)tls;
    return 0;
}

const char *tls_error(const struct tls *tls)
{
    (void)tls;
    return "this roost was built without OpenSSL";
}

uint64_t tls_sent(const struct tls *tls)
{
    (void)tls;
    return 0;
}

uint64_t tls_received(const struct tls *tls)
{
    (void)tls;
    return 0;
}
