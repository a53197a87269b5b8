/* One flat JSON object on standard output. */
#ifndef CLI_BASE_JSON_H
#define CLI_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "roost.h"

struct json {
    bool any; /* a field has been written */
};

void json_begin(struct json *json);
void json_end(struct json *json);

/* A NULL text is null; bytes that are not UTF-8 become U+FFFD. */
void json_text(struct json *json, const char *name, const char *text);
void json_bytes(struct json *json, const char *name, roost_bytes bytes);
void json_count(struct json *json, const char *name, uint64_t count);
void json_integer(struct json *json, const char *name, int64_t number);
void json_number(struct json *json, const char *name, double number);
void json_bool(struct json *json, const char *name, bool value);

#endif
