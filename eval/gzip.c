/*
 * Runs the program gzip, which every Debian has, at its default level, which is also that of Java, the thesis's. Bytes
 * go in and out by files, so that neither side waits for the other.
 */
#include "gzip.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fatal.h"

extern char **environ;

static void run_gzip(int from, int to)
{
    char *const arguments[] = {"gzip", "-6", "-n", "-c", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    if (posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ) == 0)
        waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0)
        fatal("gzip", "it fails");
}

uint64_t gzipped_size(const void *bytes, size_t size)
{
    FILE *from = tmpfile(), *to = tmpfile();
    struct stat made = {0};
    if (!from || !to || fwrite(bytes, 1, size, from) != size || fflush(from) != 0 || fseek(from, 0, SEEK_SET) != 0)
        fatal("gzip", "no temporary file");
    run_gzip(fileno(from), fileno(to));
    if (fstat(fileno(to), &made) != 0)
        fatal("gzip", "no size");
    fclose(from);
    fclose(to);
    return (uint64_t)made.st_size;
}
