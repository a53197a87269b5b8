/*
 * The remote shell (usually ssh) is a child process that always ends before this program: its pipes are closed, then it
 * gets a signal, and it is waited for. It shares our standard error, so that prompts for passwords, warnings and the
 * messages of the remote roost reach the user, as with rsync and git.
 *
 * The name of a peer may come from an untrusted source, and ssh has options that run commands on this machine. So the
 * check is made on the word that ssh is given, after the brackets of an address were removed:
 *
 *     [-oProxyCommand=x]:PATH    ->  -oProxyCommand=x    refused
 *     me@[::1]:PATH              ->  me@::1
 *
 * The word, and the user and host in it, must not be empty or begin with a dash. Shell metacharacters are refused, as
 * recent versions of ssh do: older ones insert user and host into the ProxyCommand of the user's settings unquoted. In
 * addition ssh gets "--", which ends its options. Another COMMAND does not get it: it may be a script whose first
 * argument is the host.
 */
#define _GNU_SOURCE
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"

#define BLANKS          " \t"
#define DEFAULT_SHELL   "ssh"
#define DEFAULT_ROOST   "roost"
#define SECONDS_TO_END  5.0 /* after the end of its input */
#define SECONDS_TO_STOP 1.0 /* after SIGTERM */
#define LOOK_EVERY      2   /* milliseconds */

#define NOT_FOUND 127 /* exit status of a shell for an unknown command */

extern char **environ;

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* An address with colons is in brackets: [::1]:PATH, user@[::1]:PATH. */
static const char *address_end(const char *name)
{
    const char *at = strchr(name, '@'), *address = at ? at + 1 : name;
    const char *bracket = *address == '[' ? strchr(address, ']') : NULL;
    return bracket ? bracket + 1 : name;
}

/* The colon behind HOST, or NULL. */
static const char *host_end(const char *name)
{
    const char *from = address_end(name), *end = from + strcspn(from, ":/");
    return *end == ':' ? end : NULL;
}

bool is_remote_name(const char *name)
{
    return host_end(name) != NULL;
}

bool is_url(const char *name)
{
    const char *scheme_end = strstr(name, "://");
    return scheme_end && strcspn(name, "/@") > (size_t)(scheme_end - name);
}

/* HOST for the remote shell: without the brackets around an address. */
static char *copy_host(const char *name)
{
    char *host = strndup(name, (size_t)(host_end(name) - name));
    char *at = host ? strchr(host, '@') : NULL, *address = at ? at + 1 : host;
    size_t size = address ? strlen(address) : 0;
    if (size >= 2 && address[0] == '[' && address[size - 1] == ']') {
        memmove(address, address + 1, size - 2);
        address[size - 2] = '\0';
    }
    return host;
}

static bool is_option_or_empty(const char *word)
{
    return *word == '\0' || *word == '@' || *word == '-';
}

static bool has_any(const char *word, const char *refused)
{
    for (; *word; word++)
        if ((unsigned char)*word < ' ' || *word == 0x7f || strchr(refused, *word))
            return true;
    return false;
}

/* Of the word that the remote shell gets; the last @ ends the user. */
static bool host_is_sound(const char *name, const char *host)
{
    const char *at = strrchr(host, '@'), *address = at ? at + 1 : host;
    if (is_option_or_empty(host) || is_option_or_empty(address))
        return complain(
            name, "the host before the colon must not be empty or begin with a dash; write ./PATH for a path that "
                  "has a colon");
    if (has_any(host, "'`\";&<>|(){}[]") || has_any(address, " $\\"))
        return complain(
            name, "has characters that are not allowed in a host or user; write ./PATH for a path that has a colon");
    return true;
}

/*
 * The shell on the other machine parses the path again, so it is quoted; quotes, and exclamation marks, which some
 * shells expand within quotes, are escaped outside of them. A leading ~ is left for that shell to expand.
 */
static char *quote_path(const char *path)
{
    struct byte_buffer quoted = {0};
    size_t home = strncmp(path, "~/", 2) == 0 ? 2 : 0;
    append_bytes(&quoted, path, home);
    append_bytes(&quoted, "'", 1);
    for (const char *next = path + home; *next; next++) {
        bool special = *next == '\'' || *next == '!';
        append_bytes(&quoted, "'\\", special ? 2 : 0);
        append_bytes(&quoted, next, 1);
        append_bytes(&quoted, "'", special ? 1 : 0);
    }
    append_bytes(&quoted, "'", 2); /* with the NUL behind it */
    if (quoted.failed)
        byte_buffer_release(&quoted);
    return (char *)quoted.data;
}

void complete_shell(struct remote_shell *shell)
{
    const char *variable = getenv("ROOST_RSH");
    if (!shell->command)
        shell->command = variable && *variable ? variable : DEFAULT_SHELL;
    if (!shell->roost)
        shell->roost = DEFAULT_ROOST;
}

/* ---- start ----------------------------------------------------------------------------------------------------- */

struct command {
    char *shell, *host, *path; /* copies that `words` points into */
    char **words;              /* up to a NULL */
};

static void release_command(struct command *command)
{
    free(command->shell);
    free(command->host);
    free(command->path);
    free(command->words);
}

static bool is_ssh(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, DEFAULT_SHELL) == 0;
}

static bool make_command(struct command *command, const char *name, const struct remote_shell *shell)
{
    const char *path = host_end(name) + 1;
    *command = (struct command){strdup(shell->command), copy_host(name), quote_path(path), NULL};
    command->words = malloc((strlen(shell->command) + 9) * sizeof *command->words);
    if (!command->shell || !command->host || !command->path || !command->words)
        return false;
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(command->shell, BLANKS, &rest); word; word = strtok_r(NULL, BLANKS, &rest))
        command->words[count++] = word;
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): request_is_sound has seen that the command has a word
    if (is_ssh(command->words[0]))
        command->words[count++] = (char *)"--";
    command->words[count++] = command->host;
    command->words[count++] = (char *)shell->roost;
    command->words[count++] = (char *)"serve";
    if (shell->option)
        command->words[count++] = (char *)shell->option;
    command->words[count++] = (char *)"--";
    command->words[count++] = command->path;
    command->words[count] = NULL;
    return true;
}

static bool request_is_sound(const char *name, const struct remote_shell *shell)
{
    if (host_end(name)[1] == '\0')
        return complain(name, "the path behind the colon is missing");
    if (shell->command[strspn(shell->command, BLANKS)] == '\0')
        return complain("--rsh", "must name a program");
    if (shell->roost[0] == '-')
        return complain("--roost", "must name a program, and not begin with a dash");
    return true;
}

/* exec inherits ignored signals; the child must not ignore those that this program does. */
static int spawn(pid_t *process, char **words, const int input[2], const int output[2])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, output[1], STDOUT_FILENO);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(process, words[0], &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static bool start_with_pipes(struct remote *remote, char **words)
{
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0)
        return complain(remote->name, "%s", strerror(errno));
    if (pipe2(output, O_CLOEXEC) != 0)
        return close_both(input), complain(remote->name, "%s", strerror(errno));
    int error = spawn(&remote->process, words, input, output);
    close(input[0]);
    close(output[1]);
    remote->wire = (struct wire){.in = output[0], .out = input[1], .takes_turns = true};
    fcntl(remote->wire.in, F_SETFL, O_NONBLOCK);
    fcntl(remote->wire.out, F_SETFL, O_NONBLOCK);
    if (error == 0)
        return true;
    remote->process = 0;
    close(output[0]);
    close(input[1]);
    return complain(words[0], "%s", strerror(error));
}

bool remote_is_valid(const char *name, const struct remote_shell *shell)
{
    char *host = copy_host(name);
    bool valid =
        host ? request_is_sound(name, shell) && host_is_sound(name, host) : complain(name, "%s", strerror(ENOMEM));
    free(host);
    return valid;
}

bool remote_start(struct remote *remote, const char *name, const struct remote_shell *shell)
{
    struct command command;
    *remote = (struct remote){.name = name, .shell = shell};
    if (!remote_is_valid(name, shell))
        return false;
    signal(SIGPIPE, SIG_IGN); /* a closed connection then makes write() fail */
    bool made = make_command(&command, name, shell);
    bool started = made ? start_with_pipes(remote, command.words) : complain(name, "%s", strerror(ENOMEM));
    release_command(&command);
    return started;
}

/* ---- end ------------------------------------------------------------------------------------------------------- */

static bool ends_within(pid_t process, int *status, double seconds)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY * 1000000L};
    const unsigned looks = 1 + (unsigned)(seconds * 1000 / LOOK_EVERY);
    for (unsigned i = 0; i < looks; i++) {
        if (waitpid(process, status, WNOHANG) != 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Returns the status of waitpid. */
static int end_process(struct remote *remote, double patience)
{
    int status = 0;
    close(remote->wire.in);
    close(remote->wire.out);
    if (!ends_within(remote->process, &status, patience)) {
        kill(remote->process, SIGTERM);
        if (!ends_within(remote->process, &status, SECONDS_TO_STOP)) {
            kill(remote->process, SIGKILL);
            waitpid(remote->process, &status, 0);
        }
    }
    remote->process = 0;
    return status;
}

void remote_end(struct remote *remote)
{
    if (remote->process)
        end_process(remote, interrupted() ? 0 : SECONDS_TO_END);
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

/* The peer is not roost, or something in between prints text of its own. */
static bool complain_of_foreign_peer(struct remote *remote)
{
    char line[OPENING_ROOM + 1];
    wire_first_line(&remote->wire, line);
    end_process(remote, 0);
    if (line[0])
        return complain(remote->name,
                        "the peer does not speak roost's sync protocol (is roost installed there?); it says: %s", line);
    return complain(remote->name, "the peer does not speak roost's sync protocol (is roost installed there?)");
}

static bool complain_of_no_reply(const struct remote *remote, int status)
{
    const char *shell = remote->shell->command;
    if (WIFSIGNALED(status))
        return complain(remote->name, "no answer: %s was stopped by signal %d", shell, WTERMSIG(status));
    if (WEXITSTATUS(status) == NOT_FOUND)
        return complain(remote->name, "no answer: %s was not found there; --roost gives its path",
                        remote->shell->roost);
    if (WEXITSTATUS(status) != 0)
        return complain(remote->name, "no answer: %s ended with exit status %d", shell, WEXITSTATUS(status));
    return complain(remote->name, "the peer does not speak roost's sync protocol (is roost installed there?)");
}

/* The first bytes show whether the peer is roost; a later failure is one of the connection. */
static bool complain_of_result(struct remote *remote, enum wire_result result)
{
    int error = errno;
    if (result == WIRE_FAILED) {
        end_process(remote, 0);
        return complain(remote->name, "%s", strerror(error));
    }
    if (result == WIRE_NONSENSE)
        return complain_of_foreign_peer(remote);
    bool spoke = remote->wire.received > 0;
    int status = end_process(remote, SECONDS_TO_END);
    return spoke ? complain(remote->name, "the connection broke off") : complain_of_no_reply(remote, status);
}

bool remote_ask(struct remote *remote, struct byte_buffer *reply, roost_bytes request)
{
    enum wire_result result = wire_send(&remote->wire, request.data, request.size);
    if (result == WIRE_FINE)
        result = wire_receive(&remote->wire, reply);
    return result == WIRE_FINE || complain_of_result(remote, result);
}
