/*
 * Adding a hundred million keys takes a while, and a silent program looks hung. There is one progress line on standard
 * error; messages erase it before they are written.
 */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

#define FIRST_SHOWN_AFTER 1.0
#define SHOWN_EVERY       0.1

static struct {
    bool enabled;
    const char *things;
    double begin, next;
    int width; /* of the present line */
} line;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress_begin(const char *things, bool types_keys, bool prints_keys)
{
    line.enabled = isatty(STDERR_FILENO) && !types_keys && !(prints_keys && isatty(STDOUT_FILENO));
    line.things = things;
    line.begin = seconds();
    line.next = line.begin + FIRST_SHOWN_AFTER;
}

/* Sets the time of the next line if one is due now. */
static bool is_due(double *now)
{
    *now = line.enabled ? seconds() : 0;
    if (!line.enabled || *now < line.next)
        return false;
    line.next = *now + SHOWN_EVERY;
    return true;
}

void progress_count(uint64_t things)
{
    double now;
    if (!is_due(&now))
        return;
    char count[COUNT_ROOM], rate[COUNT_ROOM], text[128];
    format_count(count, things);
    format_count(rate, (uint64_t)((double)things / (now - line.begin)));
    snprintf(text, sizeof text, "%s %s, %s a second", count, line.things, rate);
    progress_show(text);
}

void progress_note(const char *format, ...)
{
    double now;
    char text[128];
    va_list values;
    if (!is_due(&now))
        return;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    progress_show(text);
}

void progress_show(const char *text)
{
    fprintf(stderr, "\r%-*s", line.width, text);
    fflush(stderr);
    line.width = (int)strlen(text);
}

void progress_erase(void)
{
    if (line.width > 0)
        fprintf(stderr, "\r%*s\r", line.width, "");
    line.width = 0;
}

void progress_end(void)
{
    progress_erase();
    line.enabled = false;
}
