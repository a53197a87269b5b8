/* What is known about a replica. Methods of Replica. */
#ifndef PYTHON_INFO_H
#define PYTHON_INFO_H

#include "python.h"

PyObject *info_get(PyObject *self, PyObject *none);
PyObject *info_digest(PyObject *self, PyObject *none);
PyObject *info_check(PyObject *self, PyObject *none);
Py_ssize_t info_length(PyObject *self);

extern const char info_digest_documentation[], info_check_documentation[];

#endif
