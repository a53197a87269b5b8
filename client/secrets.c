/*
 * Passwords come from three places. The first that has one for a server is used:
 *
 *     the URL itself                 redis://user:password@host:6379
 *     a line of a file               redis://user@host:6379 password
 *     the environment                ROOST_PASSWORD, ROOST_USER
 *
 * A line of the file applies to servers with the same scheme, host and port, and with the same user if the URL has one;
 * otherwise the line also gives the user. The password is the rest of the line. Empty lines and lines that begin with #
 * are ignored; of two lines for the same server the later one counts. A file that other users can read is refused, as
 * ssh does with its keys.
 *
 * Command lines can be read by every user of the machine. So main first overwrites passwords in URLs among the
 * arguments with as many stars, since arguments cannot be shortened in place, and the verbs that need them work on
 * copies. (The environment of a process is readable by its own user alone; we put nothing there.)
 *
 * Between exec and main the arguments are readable as they were given, for about a millisecond. Executing the program
 * again, with the password handed over in another way, would not help, since that also happens after main begins. So a
 * user who types such a URL at a terminal gets a hint about the other ways.
 */
#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/messages.h"

struct secret {
    struct secret *next;
    struct server_name name; /* with the password */
};

struct secrets {
    struct secret *first;
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void forget(char *text, size_t size)
{
    if (text)
        explicit_bzero(text, size);
    free(text);
}

static char *copied(const char *bytes, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy) {
        memcpy(copy, bytes, size);
        copy[size] = '\0';
    }
    return copy;
}

/* Messages name a line only by its number. */
static bool read_line(struct secrets *secrets, const char *file, unsigned number, char *line)
{
    size_t url = strcspn(line, " \t"), gap = strspn(line + url, " \t");
    const char *password = line + url + gap;
    if (*line == '\0' || *line == '#')
        return true;
    struct secret *secret = calloc(1, sizeof *secret);
    if (!secret)
        return complain(file, "%s", strerror(ENOMEM));
    secret->next = secrets->first;
    secrets->first = secret;
    line[url] = '\0';
    if (gap == 0 || !server_name_read(&secret->name, line) || secret->name.password || secret->name.path_size > 0)
        return complain(file, "line %u: expected a URL without password, a space, and the password", number);
    secret->name.password = strdup(password);
    secret->name.password_size = strlen(password);
    return secret->name.password || complain(file, "%s", strerror(ENOMEM));
}

static bool read_lines(struct secrets *secrets, const char *file, FILE *stream)
{
    char *line = NULL;
    size_t room = 0;
    bool fine = true;
    for (unsigned number = 1; fine && getline(&line, &room, stream) >= 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        fine = read_line(secrets, file, number, line);
    }
    fine = fine && (!ferror(stream) || complain(file, "%s", strerror(errno)));
    forget(line, room);
    return fine;
}

static bool is_private(const char *file, FILE *stream)
{
    struct stat status;
    if (fstat(fileno(stream), &status) != 0)
        return complain(file, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return complain(file, "is not a file");
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return complain(file, "contains passwords and other users can read it: run chmod 600 on it");
    return true;
}

/* Non-blocking, so that a pipe is refused instead of waited for. */
static FILE *open_file(const char *file)
{
    int descriptor = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *stream = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    int error = errno;
    if (descriptor >= 0 && !stream)
        close(descriptor);
    errno = error;
    return stream;
}

static bool read_file(struct secrets *secrets, const char *file)
{
    FILE *stream = open_file(file);
    if (!stream)
        return complain(file, "%s", strerror(errno));
    bool fine = is_private(file, stream) && read_lines(secrets, file, stream);
    fclose(stream);
    return fine;
}

struct secrets *secrets_read(const char *file)
{
    struct secrets *secrets = calloc(1, sizeof *secrets);
    if (!secrets) {
        complain_plainly("%s", strerror(ENOMEM));
        return NULL;
    }
    if (!file || read_file(secrets, file))
        return secrets;
    secrets_free(secrets);
    return NULL;
}

void secrets_free(struct secrets *secrets)
{
    if (!secrets)
        return;
    for (struct secret *secret; (secret = secrets->first);) {
        secrets->first = secret->next;
        server_name_release(&secret->name);
        free(secret);
    }
    free(secrets);
}

void secrets_hide(char *url)
{
    size_t length;
    const char *password = password_within(url, &length);
    if (password)
        memset(url + (password - url), '*', length);
}

bool secrets_take(char **words, size_t count, bool *any)
{
    size_t length;
    *any = false;
    for (size_t i = 0; i < count; i++) {
        if (!password_within(words[i], &length))
            continue;
        char *copy = strdup(words[i]);
        secrets_hide(words[i]);
        if (!copy)
            return false;
        words[i] = copy;
        *any = true;
    }
    return true;
}

/* ---- logins ------------------------------------------------------------------------------------------------------ */

static bool is_for(const struct secret *secret, const struct server_name *name)
{
    const struct server_name *known = &secret->name;
    bool same_user = !name->user || (known->user && known->user_size == name->user_size &&
                                     memcmp(known->user, name->user, name->user_size) == 0);
    return known->tls == name->tls && strcmp(known->host, name->host) == 0 && known->port == name->port && same_user;
}

static bool take_login(struct server_name *name, const char *user, size_t user_size, const char *password, size_t size)
{
    name->password = copied(password, size);
    name->password_size = size;
    if (user && !name->user) {
        name->user = copied(user, user_size);
        name->user_size = user_size;
    }
    return name->password && (!user || name->user);
}

bool secrets_complete(const struct secrets *secrets, struct server_name *name)
{
    const struct secret *secret = secrets ? secrets->first : NULL;
    const char *user = getenv("ROOST_USER"), *password = getenv("ROOST_PASSWORD");
    if (name->password || !secrets)
        return true;
    while (secret && !is_for(secret, name))
        secret = secret->next;
    if (secret)
        return take_login(name, secret->name.user, secret->name.user_size, secret->name.password,
                          secret->name.password_size);
    return !password || take_login(name, user, user ? strlen(user) : 0, password, strlen(password));
}
