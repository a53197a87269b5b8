/*
 * What is a key? The library knows bytes alone, so each type of Python has one mapping to bytes, the same in every
 * call:
 *
 *     str                        its UTF-8                                   "swift" -> 73 77 69 66 74
 *     bytes, bytearray, ...      these bytes (any contiguous buffer)
 *     int, and what has          8 bytes, little-endian, two's complement    5  -> 05 00 00 00 00 00 00 00
 *     __index__ (numpy.int32)    from -2**63 to 2**64 - 1                    -1 -> ff ff ff ff ff ff ff ff
 *
 * So "swift" and b"swift" are one key, as they are to the program and to a server; -1 and 2**64 - 1 are one key, too;
 * and 5 is another key than "5". Eight bytes are what a C program gets that passes the address of a uint64_t, and what
 * an array of numbers consists of: an array needs no conversion (batch.c).
 *
 * A float, a tuple or None is no key: there would be several ways to write it as bytes, and other programs have theirs.
 * The same holds for a number with a buffer, as numpy's and those of ctypes are: it is a key if it has __index__.
 *
 * The usual types are found by a comparison of pointers, and no object is made for a key: a str that is ASCII has its
 * UTF-8 inside, others keep theirs once it was made.
 */
#include "keys.h"

#include <endian.h>
#include <string.h>

bool refuse_key(PyObject *object)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    if (name)
        PyErr_Format(PyExc_TypeError, "a key is str, int, bytes or another buffer, not %S",
                     name); /* a metaclass may say anything */
    Py_XDECREF(name);
    return false;
}

bool key_of_text(roost_bytes *bytes, PyObject *object)
{
    Py_ssize_t size;
    bytes->data = PyUnicode_AsUTF8AndSize(object, &size);
    bytes->size = (size_t)size;
    return bytes->data != NULL;
}

static bool refuse_number(void)
{
    PyErr_SetString(PyExc_OverflowError, "an int as a key is from -2**63 to 2**64 - 1; use bytes or str for others");
    return false;
}

bool key_of_number(uint64_t *number, PyObject *object)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (UNLIKELY(overflow != 0)) {
        unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : (unsigned long long)-1;
        if (overflow < 0 || (large == (unsigned long long)-1 && PyErr_Occurred()))
            return refuse_number();
        *number = htole64(large);
        return true;
    }
    *number = htole64((uint64_t)value);
    return !(value == -1 && PyErr_Occurred());
}

static bool number_key(struct key *key, PyObject *object)
{
    key->bytes = (roost_bytes){&key->number, sizeof key->number};
    return key_of_number(&key->number, object);
}

static bool bytes_key(struct key *key, PyObject *object)
{
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(object, &data, &size) < 0)
        return false;
    key->bytes = (roost_bytes){data, (size_t)size};
    return true;
}

static bool index_key(struct key *key, PyObject *object)
{
    if (!PyIndex_Check(object))
        return refuse_key(object);
    PyObject *number = PyNumber_Index(object);
    bool fine = number && number_key(key, number);
    Py_XDECREF(number);
    return fine;
}

/* A buffer without dimensions whose item is a number: numpy.int32(5), numpy.float64(2.5), ctypes.c_int(5). */
static bool is_one_number(const Py_buffer *buffer)
{
    const char *format = buffer->format ? buffer->format : "B";
    format += strchr("<>=@!", *format) && *format;
    return buffer->ndim == 0 && strchr("?bBhHiIlLqQnNefdgZ", *format);
}

/* One number is a key by its __index__, as it is without a buffer, or none: its bytes would be another key than the
   number. */
static bool buffer_key(struct key *key, PyObject *object)
{
    if (PyObject_GetBuffer(object, &key->buffer, PyBUF_ND | PyBUF_FORMAT) < 0) {
        key->buffer.obj = NULL;
        return false;
    }
    if (is_one_number(&key->buffer)) {
        PyBuffer_Release(&key->buffer);
        return index_key(key, object);
    }
    key->bytes = (roost_bytes){key->buffer.buf, (size_t)key->buffer.len};
    return true;
}

static bool unusual_key(struct key *key, PyObject *object)
{
    if (PyUnicode_Check(object))
        return key_of_text(&key->bytes, object);
    if (PyBytes_Check(object))
        return bytes_key(key, object);
    return PyObject_CheckBuffer(object) ? buffer_key(key, object) : index_key(key, object);
}

bool key_get(struct key *key, PyObject *object)
{
    key->buffer.obj = NULL;
    if (LIKELY(PyUnicode_CheckExact(object)))
        return key_of_text(&key->bytes, object);
    if (PyBytes_CheckExact(object))
        return bytes_key(key, object);
    if (PyLong_CheckExact(object))
        return number_key(key, object);
    return unusual_key(key, object);
}

PyObject *key_bytes(PyObject *module, PyObject *object)
{
    struct key key;
    (void)module;
    if (!key_get(&key, object))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(key.bytes.data, (Py_ssize_t)key.bytes.size);
    key_release(&key);
    return bytes;
}
