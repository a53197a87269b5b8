/*
 * Runs a fuzz target over a folder, without a fuzzer: the corpus as a plain test, and then as many mutants of it.
 *
 *     replay-NAME FOLDER [MUTANTS]
 *
 * Files come in the order of their names and mutants from a fixed seed, so that every run of every machine tries the
 * same inputs: what a test finds today it finds again tomorrow. Chance is for the fuzzers proper (make fuzz).
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_FILES = 4096, MOST_BYTES = 1 << 20, MOST_MUTANT = 600, MOST_EDITS = 4 };

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input corpus[MOST_FILES];
static uint32_t files;

/* In memory of its exact size, so that a sanitizer sees the smallest step beyond. */
static void try_input(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size + !size);
    for (size_t i = 0; i < size; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* ---- the corpus -------------------------------------------------------------------------------------------------- */

static void load(const char *path)
{
    static uint8_t bytes[MOST_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file || files == MOST_FILES) {
        perror(path);
        exit(1);
    }
    struct input *input = &corpus[files++];
    input->size = fread(bytes, 1, sizeof bytes, file);
    input->bytes = malloc(input->size + 1);
    memcpy(input->bytes, bytes, input->size);
    fclose(file);
}

static void load_folder(const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            load(path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static size_t below(struct random_source *random, size_t bound)
{
    return bound ? random_choice(random, (uint32_t)bound) : 0;
}

/* Replaces `gone` bytes at `at` by `count` others. */
static size_t splice(uint8_t *bytes, size_t size, size_t at, size_t gone, const uint8_t *others, size_t count)
{
    if (size - gone + count > MOST_MUTANT)
        return size;
    memmove(bytes + at + count, bytes + at + gone, size - at - gone);
    if (count)
        memcpy(bytes + at, others, count);
    return size - gone + count;
}

static size_t edit(uint8_t *bytes, size_t size, struct random_source *random)
{
    static const uint8_t telling[] = {0, 1, 2, 0x7f, 0x80, 0xfe, 0xff};
    const struct input *donor = &corpus[below(random, files)];
    size_t at = below(random, size + 1), left = size - at, from = below(random, donor->size), some;
    uint8_t any = (uint8_t)random_next(random);
    switch (random_choice(random, 7)) {
    case 0:
        if (left)
            bytes[at] ^= (uint8_t)(1u << any % 8);
        return size;
    case 1:
        if (left)
            bytes[at] = telling[any % sizeof telling];
        return size;
    case 2:
        if (left)
            bytes[at] = any;
        return size;
    case 3: /* something goes */
        return splice(bytes, size, at, below(random, left < 16 ? left + 1 : 16), NULL, 0);
    case 4: /* something comes */
        return splice(bytes, size, at, 0, &any, 1);
    case 5: /* a chunk of another input, in place of as much */
        some = below(random, donor->size - from + 1);
        return splice(bytes, size, at, some < left ? some : left, donor->bytes + from, some);
    default: /* the end of another input */
        return splice(bytes, size, at, left, donor->bytes + from, donor->size - from);
    }
}

static void try_mutants(uint64_t mutants)
{
    struct random_source random = random_from_seed(1);
    uint8_t bytes[MOST_MUTANT];
    for (uint64_t i = 0; i < mutants; i++) {
        const struct input *parent = &corpus[below(&random, files)];
        size_t size = parent->size < MOST_MUTANT ? parent->size : MOST_MUTANT;
        memcpy(bytes, parent->bytes, size);
        for (size_t edits = 1 + below(&random, MOST_EDITS); edits > 0; edits--)
            size = edit(bytes, size, &random);
        try_input(bytes, size);
    }
}

int main(int argc, char **argv)
{
    uint64_t mutants = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc > 1)
        load_folder(argv[1]);
    for (uint32_t i = 0; i < files; i++)
        try_input(corpus[i].bytes, corpus[i].size);
    if (files)
        try_mutants(mutants);
    printf("%s replayed %u inputs and %llu mutants\n", files ? "ok" : "not ok", files, (unsigned long long)mutants);
    for (uint32_t i = 0; i < files; i++)
        free(corpus[i].bytes);
    return files == 0;
}
