/* How reports of verbs that change a filter end: with what it holds now. */
#ifndef CLI_ELEMENTS_H
#define CLI_ELEMENTS_H

#include "cli/base/json.h"
#include "roost.h"

/* "about 3 elements", and whether that is more than it was made for; ends the line. */
void print_elements(const roost_filter *filter);

/* Where it holds more than it was made for: one line on standard error. */
void warn_of_promise(const char *name, const roost_filter *filter);

/* The same as fields of an object. */
void json_elements(struct json *json, const roost_filter *filter);

#endif
