/*
 * TLS by OpenSSL.
 *
 * OpenSSL verifies the chain of certificates. The owner of the certificate is checked here, since a deployment has many
 * servers: a server names the other nodes by address, while certificates often contain only the name in the URL. So a
 * certificate is accepted if it is for the host that we connect to, or for the host in the URL.
 */
#include "tls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/messages.h"
#include "connection_options.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct tls_context {
    SSL_CTX *context;
    bool insecure;
};

struct tls {
    SSL *ssl;
    bool insecure, wants_to_write;
    const char *host, *other_host;
    char error[256];
};

/* ---- certificates ------------------------------------------------------------------------------------------------ */

static const char *last_error(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason ? reason : "no reason given";
}

/* OpenSSL names the error of the system first, and then the functions that it made fail. */
static bool complain_of_file(const char *file, const char *what)
{
    unsigned long first = ERR_peek_error();
    if (ERR_GET_LIB(first) == ERR_LIB_SYS)
        return complain(file, "%s", strerror(ERR_GET_REASON(first)));
    return complain(file, "%s (%s)", what, last_error());
}

static bool load_authorities(SSL_CTX *context, const char *file)
{
    ERR_clear_error();
    if (file)
        return SSL_CTX_load_verify_locations(context, file, NULL) == 1 ||
               complain_of_file(file, "contains no usable certificates");
    return SSL_CTX_set_default_verify_paths(context) == 1 ||
           complain_plainly("the certificates of the system cannot be read (%s)", last_error());
}

static bool load_our_own(SSL_CTX *context, const struct connection_options *options)
{
    const char *file = options->certificate_file, *key = options->key_file ? options->key_file : file;
    ERR_clear_error();
    if (!file)
        return true;
    if (SSL_CTX_use_certificate_chain_file(context, file) != 1)
        return complain_of_file(file, "is not a usable certificate");
    return (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 &&
            SSL_CTX_check_private_key(context) == 1) ||
           complain_of_file(key, "is not the key of the certificate");
}

struct tls_context *tls_context_new(const struct connection_options *options, const char *subject)
{
    struct tls_context *tls_context = calloc(1, sizeof *tls_context);
    SSL_CTX *context = tls_context ? SSL_CTX_new(TLS_client_method()) : NULL;
    if (!context) {
        free(tls_context);
        complain(subject, "no memory");
        return NULL;
    }
    *tls_context = (struct tls_context){context, options->insecure};
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context, options->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (load_authorities(context, options->ca_file) && load_our_own(context, options))
        return tls_context;
    tls_context_free(tls_context);
    return NULL;
}

void tls_context_free(struct tls_context *tls_context)
{
    if (tls_context)
        SSL_CTX_free(tls_context->context);
    free(tls_context);
}

/* ---- one connection ---------------------------------------------------------------------------------------------- */

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

struct tls *tls_new(struct tls_context *tls_context, int descriptor, const char *host, const char *other_host)
{
    struct tls *tls = calloc(1, sizeof *tls);
    if (!tls)
        return NULL;
    *tls = (struct tls){.ssl = SSL_new(tls_context->context),
                        .insecure = tls_context->insecure,
                        .host = host,
                        .other_host = other_host};
    if (!tls->ssl || SSL_set_fd(tls->ssl, descriptor) != 1) {
        tls_free(tls);
        return NULL;
    }
    if (!is_address(host))
        SSL_set_tlsext_host_name(tls->ssl, host);
    return tls;
}

void tls_free(struct tls *tls)
{
    if (tls)
        SSL_free(tls->ssl);
    free(tls);
}

static ssize_t failed(struct tls *tls, const char *what)
{
    snprintf(tls->error, sizeof tls->error, "%s", what);
    return TRANSFER_ERROR;
}

/* What to do about the errors of OpenSSL that users meet first; "" for others. */
static const char *advice(void)
{
    switch (ERR_GET_REASON(ERR_peek_last_error())) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "; the server wants a certificate: --cert and --key";
    case SSL_R_WRONG_VERSION_NUMBER:
        return "; " PORT_FOR_TLS;
    default:
        return "";
    }
}

/* The meaning of a call of OpenSSL that did not succeed. */
static ssize_t outcome(struct tls *tls, int result)
{
    int error = SSL_get_error(tls->ssl, result);
    tls->wants_to_write = error == SSL_ERROR_WANT_WRITE;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return TRANSFER_AGAIN;
    if (error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_SYSCALL && ERR_peek_error() == 0) ||
        ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return TRANSFER_END;
    char text[200];
    snprintf(text, sizeof text, "TLS failed: %s%s", last_error(), advice());
    return failed(tls, text);
}

static bool is_for(X509 *certificate, const char *host)
{
    return is_address(host) ? X509_check_ip_asc(certificate, host, 0) == 1
                            : X509_check_host(certificate, host, strlen(host), 0, NULL) == 1;
}

static ssize_t check_owner(struct tls *tls)
{
    X509 *certificate = SSL_get1_peer_certificate(tls->ssl);
    bool fine =
        tls->insecure || (certificate && (is_for(certificate, tls->host) || is_for(certificate, tls->other_host)));
    X509_free(certificate);
    return fine ? 1 : failed(tls, "its certificate is for another host");
}

ssize_t tls_handshake(struct tls *tls)
{
    ERR_clear_error();
    int result = SSL_connect(tls->ssl);
    if (result == 1)
        return check_owner(tls);
    long verdict = SSL_get_verify_result(tls->ssl);
    ssize_t came = outcome(tls, result);
    if (came != TRANSFER_ERROR || verdict == X509_V_OK || tls->insecure)
        return came;
    char text[200];
    snprintf(text, sizeof text, "its certificate is not trusted: %s; --cacert names the authority to trust",
             X509_verify_cert_error_string(verdict));
    return failed(tls, text);
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t room)
{
    size_t size;
    ERR_clear_error();
    int result = SSL_read_ex(tls->ssl, bytes, room, &size);
    return result == 1 ? (ssize_t)size : outcome(tls, result);
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t size)
{
    size_t written;
    ERR_clear_error();
    int result = SSL_write_ex(tls->ssl, bytes, size, &written);
    return result == 1 ? (ssize_t)written : outcome(tls, result);
}

int tls_wants_to_write(const struct tls *tls)
{
    return tls->wants_to_write;
}

size_t tls_unread(const struct tls *tls)
{
    return (size_t)SSL_pending(tls->ssl);
}

const char *tls_error(const struct tls *tls)
{
    return tls->error;
}

uint64_t tls_sent(const struct tls *tls)
{
    return BIO_number_written(SSL_get_wbio(tls->ssl));
}

uint64_t tls_received(const struct tls *tls)
{
    return BIO_number_read(SSL_get_rbio(tls->ssl));
}
