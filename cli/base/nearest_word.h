/* "Did you mean ...?" */
#ifndef CLI_BASE_NEAREST_WORD_H
#define CLI_BASE_NEAREST_WORD_H

#include <stdbool.h>

/* The word that the user may have meant: one that begins like this, or that a few letters make of it. NULL: there is
   none. The list ends with a NULL. */
const char *nearest_word(const char *written, const char *const *words);

#define WORD_LIST_ROOM 256

/* "add, check and dedup" */
void list_words(char list[WORD_LIST_ROOM], const char *const *words);

/* Writes "roost: chek: unknown verb; did you mean check?", or names all words if none is near. Returns false. */
bool refuse_word(const char *written, const char *what, const char *const *words);

#endif
