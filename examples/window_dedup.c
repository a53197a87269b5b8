/*
 * Passes each line on once in ten minutes: an id that comes again within that time is dropped. The window forgets old ids by
 * itself, so that memory follows what comes in ten minutes.
 *
 *     cc window_dedup.c $(pkg-config --cflags --libs roost) && printf 'a\nb\na\n' | ./a.out
 *
 * A "seen before" is wrong with a chance of one in a million (config.fpr); a "new" is always right. Windows of several
 * processes merge as every filter does (roost_filter_merge, roost/sync.h): then they drop what any of them has seen.
 */
#include <roost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The library has no clock: times are passed in, in microseconds. */
static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * ROOST_SECOND + (uint64_t)time.tv_nsec / 1000;
}

static roost_status pass_new_lines(roost_filter *window)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    roost_status status = ROOST_OK;
    while (status == ROOST_OK && (size = getline(&line, &room, stdin)) > 0) {
        size_t length = strcspn(line, "\n");
        bool seen = false;
        status = roost_window_add(window, &seen, line, length, now());
        if (status == ROOST_OK && !seen)
            printf("%.*s\n", (int)length, line);
    }
    free(line);
    return status;
}

int main(void)
{
    roost_config config = roost_window_config_default(ROOST_WINDOW, 600 * ROOST_SECOND);
    config.capacity = 100000; /* what you expect in ten minutes; more takes more memory */
    roost_filter *window;
    roost_status status = roost_filter_new(&window, &config, NULL);
    if (status == ROOST_OK)
        status = pass_new_lines(window);
    if (status != ROOST_OK)
        fprintf(stderr, "window_dedup: %s\n", roost_status_text(status));
    roost_filter_free(window);
    return status == ROOST_OK ? 0 : 1;
}
