/*
 * The distance of two words is the number of letters to insert, delete, replace or swap with their neighbour
 * (Damerau and Levenshtein, where no letter is edited twice). A third of the letters may be wrong.
 */
#include "nearest_word.h"

#include <stdio.h>
#include <string.h>

#include "messages.h"

#define LONGEST_WORD 40 /* longer ones are not looked at */
#define LEAST_PREFIX 2

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
    size_t steps[LONGEST_WORD + 1][LONGEST_WORD + 1]; /* from the first i letters of a to the first j of b */
    size_t size_a = strlen(a), size_b = strlen(b);
    for (size_t i = 0; i <= size_a; i++)
        for (size_t j = 0; j <= size_b; j++) {
            steps[i][j] = i == 0 ? j : i;
            if (i == 0 || j == 0)
                continue;
            steps[i][j] =
                least(steps[i - 1][j - 1] + (a[i - 1] != b[j - 1]), 1 + least(steps[i - 1][j], steps[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                steps[i][j] = least(steps[i][j], 1 + steps[i - 2][j - 2]);
        }
    return steps[size_a][size_b];
}

const char *nearest_word(const char *written, const char *const *words)
{
    const char *nearest = NULL;
    size_t best = LONGEST_WORD, size = strlen(written);
    for (; *words && size <= LONGEST_WORD; words++) {
        bool begins_like = size >= LEAST_PREFIX && strncmp(written, *words, size) == 0;
        size_t longer = size > strlen(*words) ? size : strlen(*words);
        size_t away = begins_like ? 1 : longer <= LONGEST_WORD ? distance(written, *words) : best;
        if (away < best && away <= (longer + 1) / 3) {
            nearest = *words;
            best = away;
        }
    }
    return nearest;
}

void list_words(char list[WORD_LIST_ROOM], const char *const *words)
{
    size_t size = 0;
    *list = '\0';
    for (size_t i = 0; words[i] && size < WORD_LIST_ROOM; i++)
        size += (size_t)snprintf(list + size, WORD_LIST_ROOM - size, "%s%s",
                                 i == 0         ? ""
                                 : words[i + 1] ? ", "
                                                : " and ",
                                 words[i]);
}

bool refuse_word(const char *written, const char *what, const char *const *words)
{
    char list[WORD_LIST_ROOM];
    const char *nearest = nearest_word(written, words);
    if (nearest)
        return complain(written, "unknown %s; did you mean %s?", what, nearest);
    list_words(list, words);
    return complain(written, "unknown %s; there are %s", what, list);
}
