/* Statuses of the library as exceptions of Python. */
#ifndef PYTHON_ERRORS_H
#define PYTHON_ERRORS_H

#include "python.h"
#include "roost.h"

/* Makes the exceptions and adds them to the module; false with an exception. */
bool errors_add(PyObject *module);

/* Sets the exception of a status with the library's text. Returns NULL, so that callers can return it. */
PyObject *raise_status(roost_status status);

/* The same, with a text that says more: "TEXT: MORE", printf-like with the formats of PyErr_Format. */
PyObject *raise_status_with(roost_status status, const char *format, ...);

/* What an addition returned to a filter of this capacity: where that is full, the text says what to do. */
PyObject *raise_refused(roost_status status, uint64_t capacity);

/* The bytes are those of another class. */
PyObject *raise_kind(roost_kind kind);

/* The filters have different configurations; the text names the first difference. */
PyObject *raise_mismatch(const roost_config *ours, const roost_config *theirs);

/* What a call with a file returned: the text is that of the file, the name is `path`. An exception that is set
   stays. */
PyObject *raise_file(const roost_file *file, roost_status status, PyObject *path);

#endif
