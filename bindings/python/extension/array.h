/* Arrays as keys: objects with a buffer of one or two dimensions. */
#ifndef PYTHON_ARRAY_H
#define PYTHON_ARRAY_H

#include "python.h"
#include "roost.h"

#define UTF8_ROOM 65536 /* bytes for the UTF-8 of one block of keys */

struct array {
    Py_buffer buffer;
    size_t count, next; /* keys, and the first that was not read */
    const char *data;   /* of the first key */
    ptrdiff_t stride;   /* from key to key, in bytes */
    size_t size;        /* bytes of a key as it is there */
    enum { ARRAY_WORDS, ARRAY_NUMBERS, ARRAY_ROWS, ARRAY_TEXTS, ARRAY_WIDE_TEXTS } form;
    bool is_signed, is_swapped;
    size_t characters; /* of a wide text */
    bool failed;       /* a text has what is no character: array_read stopped there */
};

/* Whether an object is to be taken as an array: it has a buffer, and is no str, bytes or bytearray. */
bool is_array(PyObject *object);

/* False with an exception. Release it. */
bool array_open(struct array *array, PyObject *object);
void array_release(struct array *array);

/* Makes up to `most` keys, which point into the array, to `numbers` or to `text`. Needs no GIL. Returns how many, and 0
   at the end, or where a text is invalid. */
size_t array_read(struct array *array, roost_bytes *keys, uint64_t *numbers, char *text, size_t most);

/* Whether all went well; else sets an exception. */
bool array_finish(const struct array *array);

#endif
