/* How many elements a filter holds: the end of the reports of add, remove, merge and sync. */
#ifndef CLI_ELEMENT_REPORT_H
#define CLI_ELEMENT_REPORT_H

#include "cli/base/json.h"
#include "roost.h"

/* Prints "about 3 elements", with a note if that is more than the capacity, and ends the line. */
void print_elements(const roost_filter *filter);

/* Prints a line on standard error if the promised rate no longer holds. */
void warn_of_promise(const char *name, const roost_filter *filter);

/* Adds the fields `elements` and `promise_holds`. */
void json_elements(struct json *json, const roost_filter *filter);

#endif
