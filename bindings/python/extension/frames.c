/*
 * Frames go out as `bytes` and come in as any buffer; all of one is validated before there is an object.
 *
 * A cursor is sixteen opaque bytes, the two numbers of roost_cursor in little-endian order: so it can be stored,
 * pickled and compared, and no cursor that is held keeps anything else alive. None stands for the cursor that is all
 * zero.
 */
#include "frames.h"

#include <endian.h>
#include <string.h>

#include "errors.h"
#include "file.h"
#include "replica.h"

const char frames_encode_documentation[] =
    "to_bytes($self, /)\n--\n\n"
    "Returns the state as a frame: for files, networks, and roost.from_bytes. Equal states have\n"
    "equal bytes, whatever led to them, in every program that uses Roost.";

PyObject *frames_encode(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    roost_buffer frame;
    roost_status status;
    (void)none;
    if (!file_begin_export(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_encode(self->filter, &frame);
    Py_END_ALLOW_THREADS
    replica_end(self, TO_READ);
    return status == ROOST_OK ? take_bytes(&frame) : raise_status(status);
}

static roost_filter *decode(PyObject *arguments)
{
    PyObject *object;
    Py_buffer frame;
    unsigned long long limit;
    roost_filter *filter;
    roost_status status;
    if (!PyArg_ParseTuple(arguments, "OK", &object, &limit) || !get_frozen(&frame, object))
        return NULL;
    roost_environment environment = replica_environment(limit);
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_decode(&filter, frame.buf, (size_t)frame.len, &environment);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&frame);
    if (status != ROOST_OK)
        raise_status(status);
    return filter;
}

PyObject *frames_decode(PyObject *class, PyObject *arguments)
{
    roost_filter *filter = decode(arguments);
    if (!filter)
        return NULL;
    if (!replica_fits((PyTypeObject *)class, roost_filter_get_config(filter)->kind)) {
        roost_filter_free(filter);
        return NULL;
    }
    return replica_adopt((PyTypeObject *)class, filter);
}

PyObject *frames_decode_any(PyObject *module, PyObject *arguments)
{
    (void)module;
    roost_filter *filter = decode(arguments);
    return filter ? replica_adopt(replica_class(roost_filter_get_config(filter)->kind), filter) : NULL;
}

/* ---- deltas ------------------------------------------------------------------------------------------------------ */

static PyObject *cursor_to_bytes(const roost_cursor *cursor)
{
    uint64_t words[2] = {htole64(cursor->incarnation), htole64(cursor->sequence)};
    return PyBytes_FromStringAndSize((const char *)words, sizeof words);
}

static bool cursor_from(roost_cursor *cursor, PyObject *object)
{
    uint64_t words[2] = {0, 0};
    Py_buffer bytes;
    *cursor = (roost_cursor){0};
    if (object == Py_None)
        return true;
    if (PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE) < 0)
        return false;
    bool fits = bytes.len == sizeof words;
    if (fits)
        memcpy(words, bytes.buf, sizeof words);
    else
        PyErr_SetString(PyExc_ValueError, "a cursor has 16 bytes, as cursor() and delta() return them");
    PyBuffer_Release(&bytes);
    *cursor = (roost_cursor){le64toh(words[0]), le64toh(words[1])};
    return fits;
}

PyObject *frames_delta(PyObject *object, PyObject *since)
{
    struct replica *self = as_replica(object);
    roost_cursor cursor;
    roost_buffer frame;
    roost_status status;
    if (!cursor_from(&cursor, since) || !replica_begin(self, TO_CHANGE))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_encode_delta(self->filter, &frame, &cursor, &cursor);
    Py_END_ALLOW_THREADS
    replica_end(self, TO_CHANGE);
    if (status != ROOST_OK)
        return raise_status(status);
    PyObject *bytes = take_bytes(&frame), *next = cursor_to_bytes(&cursor);
    PyObject *both = bytes && next && file_settle(self) ? PyTuple_Pack(2, bytes, next) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(next);
    return both;
}

const char frames_cursor_documentation[] =
    "cursor($self, /)\n--\n\n"
    "Returns the cursor of the present state: delta(cursor) will have all that changes from now\n"
    "on. A cursor is 16 bytes.";

PyObject *frames_cursor(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    roost_cursor cursor;
    roost_filter *filter = replica_change(self);
    (void)none;
    if (!filter)
        return NULL;
    roost_status status = roost_filter_get_cursor(filter, &cursor);
    if (status != ROOST_OK)
        return raise_status(status);
    return file_settle(self) ? cursor_to_bytes(&cursor) : NULL;
}
