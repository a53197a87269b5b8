/* A line on the terminal while long work runs. */
#ifndef CLI_BASE_PROGRESS_H
#define CLI_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing is ever shown unless standard error is a terminal that nobody types on and no keys are printed to. */
void progress_begin(bool prints_keys);

/* After each batch: shown from the second second on, ten times a second. */
void progress_tell(uint64_t keys);

/* The line itself, for whoever knows that there is a terminal and what to say. */
void progress_show(const char *text);

/* Removes the line, if there is one. */
void progress_erase(void);

#endif
