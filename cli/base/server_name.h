/* Where a server is and who we are there: redis://[user[:password]@]host[:port][/path], or rediss:// for TLS. */
#ifndef CLI_BASE_SERVER_NAME_H
#define CLI_BASE_SERVER_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Texts end in a zero byte; user, password and path may also have some inside, since %00 stands for one. */
struct server_name {
    bool tls;
    char *user, *password; /* NULL where the URL has none */
    size_t user_size, password_size;
    char *host; /* without brackets */
    int port;
    char *path; /* what follows the slash; NULL without a slash */
    size_t path_size;
};

/* Whether the text begins like one. */
bool is_server_name(const char *text);

/* False where the text is none, or without memory; release it in any case. */
bool server_name_read(struct server_name *name, const char *text);
void server_name_release(struct server_name *name);

/* "host:port", with brackets around an address that has colons itself; NULL without memory. */
char *host_and_port(const char *host, int port);

/* The same with the scheme before it and the path as the text has it, but without user and password: what may be shown
   and remembered. */
char *server_name_plain(const struct server_name *name, const char *text);

/* Where the password stands in the text; NULL where there is none. */
const char *password_within(const char *text, size_t *length);

#endif
