/*
 * The grammar is that of other clients of these servers:
 *
 *     rediss://user:pass%40word@[2001:db8::7]:6380/some%20key
 *     scheme   user password     host         port path
 *
 * The login ends at the last @ before the first slash, so that a password may be written with an @ in it; a slash in it
 * has to be %2F. A percent sign that no two hexadecimal digits follow stands for itself. A password is overwritten
 * before its memory is given back.
 */
#include "server_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_SCHEME "redis://"
#define TLS_SCHEME   "rediss://"
#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_PORT 6379
#define HIGHEST_PORT 65535

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* What follows the scheme; NULL: another scheme. */
static const char *after_scheme(const char *text)
{
    return begins_with(text, PLAIN_SCHEME) ? text + strlen(PLAIN_SCHEME)
           : begins_with(text, TLS_SCHEME) ? text + strlen(TLS_SCHEME)
                                           : NULL;
}

bool is_server_name(const char *text)
{
    return after_scheme(text) != NULL;
}

bool is_encrypted_server(const char *text)
{
    return begins_with(text, TLS_SCHEME);
}

void server_name_release(struct server_name *name)
{
    if (name->password)
        explicit_bzero(name->password, name->password_size);
    free(name->user);
    free(name->password);
    free(name->host);
    free(name->path);
    *name = (struct server_name){0};
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int hex_digit(char digit)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF", *found = digit ? strchr(digits, digit) : NULL;
    return found ? (int)(found - digits) % 16 : -1;
}

/* A copy of the bytes with %41 and so on decoded; NULL without memory. */
static char *decoded(const char *text, size_t length, size_t *size)
{
    char *copy = malloc(length + 1), *to = copy;
    for (size_t i = 0; copy && i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        *to++ = low >= 0 ? (char)(high << 4 | low) : text[i];
        i += low >= 0 ? 2 : 0;
    }
    if (copy)
        *to = '\0';
    *size = copy ? (size_t)(to - copy) : 0;
    return copy;
}

static bool read_login(struct server_name *name, const char *login, const char *end)
{
    const char *colon = memchr(login, ':', (size_t)(end - login));
    if (colon)
        name->password = decoded(colon + 1, (size_t)(end - colon - 1), &name->password_size);
    if (!colon || colon > login)
        name->user = decoded(login, (size_t)((colon ? colon : end) - login), &name->user_size);
    return (!colon || name->password) && (colon == login || name->user);
}

/* Digits only, up to the end. */
static bool read_port(int *port, const char *text, const char *end)
{
    int number = 0;
    for (const char *digit = text; digit < end; digit++) {
        if (*digit < '0' || *digit > '9' || number > HIGHEST_PORT)
            return false;
        number = 10 * number + *digit - '0';
    }
    *port = number;
    return number >= 1 && number <= HIGHEST_PORT;
}

static bool is_host(const char *host)
{
    for (const char *c = host; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("[]?#\\\"<>", *c))
            return false;
    return true;
}

/* host, host:port, [address], [address]:port */
static bool read_host(struct server_name *name, const char *host, const char *end)
{
    bool brackets = *host == '[';
    const char *close = brackets ? memchr(host, ']', (size_t)(end - host)) : NULL, *after = close ? close + 1 : host;
    const char *colon = memchr(after, ':', (size_t)(end - after));
    const char *host_end = close ? close : colon ? colon : end;
    name->port = DEFAULT_PORT;
    if ((brackets && !close) || (close && after != end && colon != after))
        return false;
    if (colon && !read_port(&name->port, colon + 1, end))
        return false;
    host += brackets;
    name->host = host < host_end ? strndup(host, (size_t)(host_end - host)) : strdup(DEFAULT_HOST);
    return name->host && is_host(name->host);
}

/* The last @ of the login. */
static const char *login_end(const char *authority, const char *end)
{
    const char *last = NULL;
    for (const char *c = authority; c < end; c++)
        last = *c == '@' ? c : last;
    return last;
}

bool server_name_read(struct server_name *name, const char *text)
{
    const char *authority = after_scheme(text);
    *name = (struct server_name){.tls = begins_with(text, TLS_SCHEME)};
    if (!authority)
        return false;
    const char *end = authority + strcspn(authority, "/"), *at = login_end(authority, end);
    if (at && !read_login(name, authority, at))
        return false;
    if (*end)
        name->path = decoded(end + 1, strlen(end + 1), &name->path_size);
    return (!*end || name->path) && read_host(name, at ? at + 1 : authority, end);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

char *host_and_port(const char *host, int port)
{
    size_t room = strlen(host) + 16;
    char *text = malloc(room);
    bool brackets = strchr(host, ':') != NULL;
    if (text)
        snprintf(text, room, "%s%s%s:%d", brackets ? "[" : "", host, brackets ? "]" : "", port);
    return text;
}

char *server_name_plain(const struct server_name *name, const char *text)
{
    const char *scheme = name->tls ? TLS_SCHEME : PLAIN_SCHEME, *path = strchr(after_scheme(text), '/');
    char *place = host_and_port(name->host, name->port);
    size_t room = place ? strlen(scheme) + strlen(place) + (path ? strlen(path) : 0) + 1 : 0;
    char *plain = place ? malloc(room) : NULL;
    if (plain)
        snprintf(plain, room, "%s%s%s", scheme, place, path ? path : "");
    free(place);
    return plain;
}

const char *password_within(const char *text, size_t *length)
{
    const char *authority = after_scheme(text);
    const char *end = authority ? authority + strcspn(authority, "/") : NULL;
    const char *at = authority ? login_end(authority, end) : NULL;
    const char *colon = at ? memchr(authority, ':', (size_t)(at - authority)) : NULL;
    *length = colon ? (size_t)(at - colon - 1) : 0;
    return colon ? colon + 1 : NULL;
}
