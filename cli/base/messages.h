/* Messages on standard error: one line for each error. */
#ifndef CLI_BASE_MESSAGES_H
#define CLI_BASE_MESSAGES_H

#include <stdbool.h>

enum exit_status {
    EXIT_FINE = 0,
    EXIT_NONE = 1,  /* no error, and the answer is no */
    EXIT_ERROR = 2, /* an error; the file is unchanged */
    EXIT_LATER = 75 /* what is missing may be there later: a service is to be started again (EX_TEMPFAIL) */
};

/* Writes "roost: SUBJECT: what is wrong". Always returns false, so that a failing function ends in `return
   complain(...)`. */
__attribute__((format(printf, 2, 3))) bool complain(const char *subject, const char *format, ...);

/* The same without a subject: "roost: what is wrong". */
__attribute__((format(printf, 1, 2))) bool complain_plainly(const char *format, ...);

/* Says that a signal stopped the program; `unchanged` (may be NULL) is the file that is as before. */
void complain_of_interrupt(const char *unchanged);

/* Flushes standard output; complains if not all output could be written. */
bool finish_output(void);

#endif
