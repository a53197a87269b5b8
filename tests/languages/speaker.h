/*
 * What the programs in C and in C++ read and write; same_bytes.py describes it. Both include this file, so it is in the
 * language that they share.
 */
#ifndef LANGUAGES_SPEAKER_H
#define LANGUAGES_SPEAKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roost.h"

enum { MOST_KEYS = 1000, MOST_PATH = 4096, ONE_BY_ONE = 20, OWN_KEYS = 40, OWN_IDS = 3 };

static inline void insist(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline roost_bytes read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    insist(file != NULL, path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    char *data = (char *)malloc(size + 1);
    rewind(file);
    insist(data && fread(data, 1, size, file) == size, path);
    data[size] = 0;
    fclose(file);
    roost_bytes bytes = {data, size};
    return bytes;
}

/* Until the next call. */
static inline const char *path_of(const char *folder, const char *form, const char *speaker, const char *stage)
{
    static char path[MOST_PATH];
    snprintf(path, sizeof path, "%s/%s.%s.%s", folder, form, speaker, stage);
    return path;
}

/* The digest, and behind it the frame. */
static inline void write_stage(const char *path, const void *frame, size_t size, const char *digest)
{
    FILE *file = fopen(path, "wb");
    insist(file && fwrite(digest, 1, 32, file) == 32 && fwrite(frame, 1, size, file) == size, path);
    insist(fclose(file) == 0, path);
}

/* The keys that all speakers add, from the lines of a file. */
static inline size_t read_keys(const char *folder, roost_bytes keys[MOST_KEYS])
{
    char path[MOST_PATH];
    snprintf(path, sizeof path, "%s/keys", folder);
    const char *at = (const char *)read_whole(path).data, *end;
    size_t count = 0;
    for (; (end = strchr(at, '\n')) != NULL && count < MOST_KEYS; at = end + 1) {
        keys[count].data = at;
        keys[count++].size = (size_t)(end - at);
    }
    return count;
}

static inline const char *own_key(const char *speaker, int number)
{
    static char key[MOST_PATH];
    snprintf(key, sizeof key, "%s own %d", speaker, number);
    return key;
}

static inline void set_option(roost_config *config, const char *name, const char *value)
{
#define OPTION(field, type, parsed)                                                                                    \
    if (strcmp(name, #field) == 0) {                                                                                   \
        config->field = (type)(parsed);                                                                                \
        return;                                                                                                        \
    }
    uint64_t number = strtoull(value, NULL, 0);
    OPTION(kind, roost_kind, number)
    OPTION(layout, roost_layout, number)
    OPTION(capacity, uint64_t, number)
    OPTION(fpr, double, strtod(value, NULL))
    OPTION(seed, uint64_t, number)
    OPTION(fingerprint_bits, uint32_t, number)
    OPTION(bucket_size, uint32_t, number)
    OPTION(entry_bits, uint32_t, number)
    OPTION(multiset, bool, number)
    OPTION(scalable, bool, number)
    OPTION(writers, uint32_t, number)
    OPTION(growth, uint32_t, number)
    OPTION(schedule, roost_schedule, number)
    OPTION(past, uint32_t, number)
#undef OPTION
    insist(false, name);
}

/* Of a line "NAME [timed=KIND:MICROSECONDS] [FIELD=VALUE...]"; returns the name. */
static inline const char *read_form(char *line, roost_config *config)
{
    const char *name = strtok(line, " \n");
    *config = roost_config_default();
    for (char *word; name && (word = strtok(NULL, " \n")) != NULL;) {
        char *value = strchr(word, '=');
        *value++ = 0;
        if (strcmp(word, "timed") == 0)
            *config = roost_window_config_default((roost_kind)strtoul(value, NULL, 10),
                                                  strtoull(strchr(value, ':') + 1, NULL, 10));
        else
            set_option(config, word, value);
    }
    return name;
}

/* Calls `speak` for each form of the folder. */
typedef void speaking(const char *form, const roost_config *config, char **words);
static inline void for_each_form(const char *folder, speaking *speak, char **words)
{
    char path[MOST_PATH], line[MOST_PATH];
    snprintf(path, sizeof path, "%s/forms", folder);
    FILE *forms = fopen(path, "r");
    insist(forms != NULL, path);
    while (fgets(line, sizeof line, forms)) {
        roost_config config;
        const char *form = read_form(line, &config);
        speak(form, &config, words);
    }
    fclose(forms);
}

#endif
