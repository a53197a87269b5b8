/*
 * One error, one line. Scripts read standard error line by line, so that a file name with a newline must not make two
 * lines: control characters are escaped, and a line is written by one call.
 */
#include "messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "progress.h"
#include "server_name.h"

#define LONGEST_LINE 6000

static size_t escape(char *line, const char *text)
{
    size_t size = 0;
    for (; *text && size < LONGEST_LINE - 8; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x20 && c != 0x7f)
            line[size++] = (char)c;
        else
            size += (size_t)sprintf(line + size, c == '\n' ? "\\n" : "\\x%02x", c);
    }
    return size;
}

static void write_line(const char *text)
{
    char line[LONGEST_LINE];
    size_t size = escape(line, text);
    line[size++] = '\n';
    progress_erase();
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written; /* standard error may be closed */
}

/* The subject comes from the user, and may be a URL with a password. */
static int begin_message(char *text, size_t room, const char *subject)
{
    size_t length = 0;
    const char *password = subject ? password_within(subject, &length) : NULL;
    if (!subject)
        return snprintf(text, room, "roost: ");
    if (!password)
        return snprintf(text, room, "roost: %s: ", subject);
    return snprintf(text, room, "roost: %.*s***%s: ", (int)(password - subject), subject, password + length);
}

/* After a signal, main prints the only message. */
static void write_message(const char *subject, const char *format, va_list values)
{
    char text[LONGEST_LINE];
    if (interrupted())
        return;
    int size = begin_message(text, sizeof text, subject);
    if (size > 0 && (size_t)size < sizeof text)
        vsnprintf(text + size, sizeof text - (size_t)size, format, values);
    write_line(text);
}

bool complain(const char *subject, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    write_message(subject, format, values);
    va_end(values);
    return false;
}

bool complain_plainly(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    write_message(NULL, format, values);
    va_end(values);
    return false;
}

void complain_of_interrupt(const char *unchanged)
{
    char text[LONGEST_LINE];
    if (unchanged)
        snprintf(text, sizeof text, "roost: interrupted, %s is unchanged", unchanged);
    else
        snprintf(text, sizeof text, "roost: interrupted");
    write_line(text);
}

bool finish_output(void)
{
    static bool reported;
    bool failed_before = ferror(stdout) != 0;
    if (reported || (fflush(stdout) == 0 && !failed_before))
        return !reported;
    reported = true;
    return complain("standard output", "%s", errno ? strerror(errno) : "write error");
}
