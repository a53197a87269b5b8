/*
 * The signal handler only sets a flag. Without SA_RESTART, a read or a lock that waits returns with EINTR. Verbs check
 * the flag between batches, remove their temporary file, and end.
 */
#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;
static const int stopping_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void raise_flag(int signal_number)
{
    caught = signal_number;
}

static void set_handlers(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof stopping_signals / sizeof *stopping_signals; i++) {
        sigaction(stopping_signals[i], NULL, &before);
        if (before.sa_handler != SIG_IGN)
            sigaction(stopping_signals[i], &action, NULL);
    }
}

void interrupt_catch(void)
{
    set_handlers(raise_flag);
}

void interrupt_release(void)
{
    set_handlers(SIG_DFL);
    caught = 0;
}

bool interrupted(void)
{
    return caught != 0;
}

bool wait_for_input(int descriptor, int milliseconds)
{
    struct pollfd wanted = {.fd = descriptor, .events = POLLIN};
    int ready;
    do
        ready = poll(&wanted, 1, milliseconds);
    while (ready < 0 && errno == EINTR && !interrupted());
    return ready > 0;
}
