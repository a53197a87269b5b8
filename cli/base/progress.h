/* A line on the terminal while long work runs. */
#ifndef CLI_BASE_PROGRESS_H
#define CLI_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Shows nothing unless standard error is a terminal where no keys are typed and to which none are printed. `things` is
   what is counted: "keys". */
void progress_begin(const char *things, bool types_keys, bool prints_keys);

/* Call it after each batch; the count is shown after the first second, ten times a second. */
void progress_count(uint64_t count);

/* The same for work that is not counted. Costs little where no line is due. */
__attribute__((format(printf, 1, 2))) void progress_note(const char *format, ...);

/* Shows this line. The caller has checked that there is a terminal. */
void progress_show(const char *text);

/* Removes the line, if there is one. */
void progress_erase(void);

/* The same; the terminal is used for something else now. */
void progress_end(void);

#endif
