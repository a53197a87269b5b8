/*
 * Reports for other programs. File names may be any bytes, JSON is Unicode: invalid UTF-8 is replaced, so that the
 * output always parses. Numbers have the fewest digits that read back as the same value.
 */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "numbers.h"

/* The size of the well-formed UTF-8 character at the front of a text with `left` bytes, or 0. */
static size_t character_size(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char first, last, second_first, second_last, size;
    } forms[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (text[0] < forms[i].first || text[0] > forms[i].last)
            continue;
        if (forms[i].size > left)
            return 0;
        if (forms[i].size > 1 && (text[1] < forms[i].second_first || text[1] > forms[i].second_last))
            return 0;
        for (size_t at = 2; at < forms[i].size; at++)
            if (text[at] < 0x80 || text[at] > 0xbf)
                return 0;
        return forms[i].size;
    }
    return 0;
}

static void write_string(roost_bytes text)
{
    const unsigned char *at = text.data, *end = at + text.size;
    putchar('"');
    while (at < end) {
        size_t size = character_size(at, (size_t)(end - at));
        if (size == 0)
            fputs("\\ufffd", stdout);
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            printf("\\u%04x", *at);
        else
            fwrite(at, 1, size, stdout);
        at += size ? size : 1;
    }
    putchar('"');
}

static void write_name(struct json *json, const char *name)
{
    fputs(json->any ? "," : "", stdout);
    json->any = true;
    write_string((roost_bytes){name, strlen(name)});
    putchar(':');
}

void json_begin(struct json *json)
{
    json->any = false;
    putchar('{');
}

void json_end(struct json *json)
{
    (void)json;
    fputs("}\n", stdout);
}

void json_text(struct json *json, const char *name, const char *text)
{
    write_name(json, name);
    if (text)
        write_string((roost_bytes){text, strlen(text)});
    else
        fputs("null", stdout);
}

void json_bytes(struct json *json, const char *name, roost_bytes bytes)
{
    write_name(json, name);
    write_string(bytes);
}

void json_count(struct json *json, const char *name, uint64_t count)
{
    write_name(json, name);
    printf("%llu", (unsigned long long)count);
}

void json_integer(struct json *json, const char *name, int64_t number)
{
    write_name(json, name);
    printf("%lld", (long long)number);
}

void json_number(struct json *json, const char *name, double number)
{
    char text[NUMBER_ROOM] = "null";
    if (isfinite(number))
        format_shortest(text, number);
    write_name(json, name);
    fputs(text, stdout);
}

void json_bool(struct json *json, const char *name, bool value)
{
    write_name(json, name);
    fputs(value ? "true" : "false", stdout);
}
