/* One key: an object of Python as bytes. */
#ifndef PYTHON_KEYS_H
#define PYTHON_KEYS_H

#include "python.h"
#include "roost.h"

/* A key, with what it points to. The object must outlive it. */
struct key {
    roost_bytes bytes;
    uint64_t number;  /* of an int: little-endian */
    Py_buffer buffer; /* of other objects, if its `obj` is not NULL */
};

/* Makes a key of an object; false with an exception. Release it. */
bool key_get(struct key *key, PyObject *object);

static inline void key_release(struct key *key)
{
    if (UNLIKELY(key->buffer.obj != NULL))
        PyBuffer_Release(&key->buffer);
}

/* The parts of key_get, for batches. */
bool key_of_text(roost_bytes *bytes, PyObject *object);
bool key_of_number(uint64_t *number, PyObject *object);
/* TypeError: no key. */
bool refuse_key(PyObject *object);

/* key_bytes(key): the bytes of a key. */
PyObject *key_bytes(PyObject *module, PyObject *object);

#endif
