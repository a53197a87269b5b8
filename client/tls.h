/* TLS over a socket that does not block. A roost that was built without OpenSSL says so when it is asked for it. */
#ifndef CLIENT_TLS_H
#define CLIENT_TLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct connection_options;
struct tls_context; /* whom we believe, and who we are: for all connections of a deployment */
struct tls;         /* one connection */

/* Complains and gives NULL. */
struct tls_context *tls_context_new(const struct connection_options *options, const char *subject);
void tls_context_free(struct tls_context *tls_context); /* NULL is fine */

/* The certificate must be good for one of the two hosts. NULL without memory. */
struct tls *tls_new(struct tls_context *tls_context, int descriptor, const char *host, const char *other_host);
void tls_free(struct tls *tls); /* NULL is fine */

/* Bytes, or one of these. */
enum { TRANSFER_END = 0, TRANSFER_AGAIN = -1, TRANSFER_ERROR = -2 };

/* Until the connection stands: 1 then. */
ssize_t tls_handshake(struct tls *tls);
ssize_t tls_read(struct tls *tls, void *bytes, size_t room);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t size);

/* After TRANSFER_AGAIN: whether it waits for room to write. */
int tls_wants_to_write(const struct tls *tls);
/* Bytes that were received but not read yet: nothing on the socket will tell of them. */
size_t tls_unread(const struct tls *tls);
/* After TRANSFER_ERROR. */
const char *tls_error(const struct tls *tls);

/* What went over the socket so far, the handshake included. */
uint64_t tls_sent(const struct tls *tls);
uint64_t tls_received(const struct tls *tls);

#endif
