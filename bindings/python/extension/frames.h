/* State as bytes: frames, deltas, cursors. Methods of Replica. */
#ifndef PYTHON_FRAMES_H
#define PYTHON_FRAMES_H

#include "python.h"

PyObject *frames_encode(PyObject *self, PyObject *none);
/* Of a class: (frame, limit) -> an object of this class. */
PyObject *frames_decode(PyObject *class, PyObject *arguments);
/* from_bytes(frame, limit) -> an object of the class that fits. */
PyObject *frames_decode_any(PyObject *module, PyObject *arguments);
PyObject *frames_delta(PyObject *self, PyObject *cursor);
PyObject *frames_cursor(PyObject *self, PyObject *none);

extern const char frames_encode_documentation[], frames_cursor_documentation[];

#endif
