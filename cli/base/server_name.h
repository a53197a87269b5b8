/* The URL of a server: redis://[user[:password]@]host[:port][/path], or rediss:// for TLS. */
#ifndef CLI_BASE_SERVER_NAME_H
#define CLI_BASE_SERVER_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Texts end with a zero byte; user, password and path may also contain some, from %00. */
struct server_name {
    bool tls;
    char *user, *password; /* NULL: the URL has none */
    size_t user_size, password_size;
    char *host; /* without brackets */
    int port;
    char *path; /* what follows the slash; NULL without a slash */
    size_t path_size;
};

/* Whether the text begins like such a URL. */
bool is_server_name(const char *text);
/* Whether it is one with TLS. */
bool is_encrypted_server(const char *text);

/* False if the text is not such a URL, or without memory; release it in any case. */
bool server_name_read(struct server_name *name, const char *text);
void server_name_release(struct server_name *name);

/* "host:port", with brackets around an address that has colons itself; NULL without memory. */
char *host_and_port(const char *host, int port);

/* The same with scheme and path, and without user and password: safe to show and to store. */
char *server_name_plain(const struct server_name *name, const char *text);

/* The password within the text; NULL: it has none. */
const char *password_within(const char *text, size_t *length);

#endif
