/* What the program says on standard error: one line for each trouble. */
#ifndef CLI_BASE_MESSAGES_H
#define CLI_BASE_MESSAGES_H

#include <stdbool.h>

enum exit_status {
    EXIT_FINE = 0,
    EXIT_NONE = 1,    /* all went well, and the answer is no */
    EXIT_TROUBLE = 2, /* something is wrong, and nothing was changed */
};

/* Writes "roost: SUBJECT: what is wrong". Always false, so that a failing function ends in `return complain(...)`. */
__attribute__((format(printf, 2, 3))) bool complain(const char *subject, const char *format, ...);

/* The same without a subject: "roost: what is wrong". */
__attribute__((format(printf, 1, 2))) bool complain_plainly(const char *format, ...);

/* Says that a signal stopped the work; `unchanged` names the file that is as it was, or is NULL. */
void complain_of_interrupt(const char *unchanged);

/* Sees to it that all output arrived; complains if it did not. */
bool finish_output(void);

#endif
