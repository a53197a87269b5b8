/*
 * A repeat draws its keys from its own seed and writes to its own part of the experiment, so the order in which repeats
 * run changes nothing, and processes need no locks. A repeat that fails has said why, and ends the program.
 */
#include "repeats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fatal.h"

void *must_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fatal("shared memory", strerror(errno));
    return memory;
}

static void begin(repeat_runner *run, void *experiment, unsigned repeat)
{
    fflush(NULL); /* or the child writes it once more */
    pid_t child = fork();
    if (child < 0)
        fatal("fork", strerror(errno));
    if (child > 0)
        return;
    run(experiment, repeat);
    exit(0);
}

static void await_one(void)
{
    int status;
    if (wait(&status) < 0)
        fatal("wait", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fatal("a repeat", "did not end well");
}

void run_repeats(repeat_runner *run, void *experiment, unsigned repeats, unsigned at_once)
{
    unsigned running = 0;
    if (at_once < 2) {
        for (unsigned repeat = 0; repeat < repeats; repeat++)
            run(experiment, repeat);
        return;
    }
    for (unsigned repeat = 0; repeat < repeats; repeat++, running++) {
        if (running == at_once) {
            await_one();
            running--;
        }
        begin(run, experiment, repeat);
    }
    for (; running > 0; running--)
        await_one();
}
