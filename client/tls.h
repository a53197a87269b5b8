/* TLS over a non-blocking socket. Without OpenSSL, tls_missing.c takes the place of tls.c: contexts cannot be
   created. */
#ifndef CLIENT_TLS_H
#define CLIENT_TLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct connection_options;
struct tls_context; /* trusted certificates, and our own: for all connections of a deployment */
struct tls;         /* one connection */

/* NULL, with a message, on error. */
struct tls_context *tls_context_new(const struct connection_options *options, const char *subject);
void tls_context_free(struct tls_context *tls_context); /* NULL is fine */

/* The certificate must be for one of the two hosts. NULL without memory. */
struct tls *tls_new(struct tls_context *tls_context, int descriptor, const char *host, const char *other_host);
void tls_free(struct tls *tls); /* NULL is fine */

/* A number of bytes, or one of these. */
enum { TRANSFER_END = 0, TRANSFER_AGAIN = -1, TRANSFER_ERROR = -2 };

/* 1 when the handshake is complete. */
ssize_t tls_handshake(struct tls *tls);
ssize_t tls_read(struct tls *tls, void *bytes, size_t room);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t size);

/* After TRANSFER_AGAIN: whether it waits until the socket is writable. */
int tls_wants_to_write(const struct tls *tls);
/* Bytes that were received but not read yet; the socket does not signal them. */
size_t tls_unread(const struct tls *tls);
/* What to do where the handshake fails with a server that does not answer as TLS does, or not at all. */
#define PORT_FOR_TLS "is this its port for TLS? redis:// is without TLS"

/* After TRANSFER_ERROR. */
const char *tls_error(const struct tls *tls);

/* What went over the socket so far, the handshake included. */
uint64_t tls_sent(const struct tls *tls);
uint64_t tls_received(const struct tls *tls);

#endif
