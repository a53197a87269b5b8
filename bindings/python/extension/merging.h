/* Two replicas: merge, order, copies. Methods of Replica. */
#ifndef PYTHON_MERGING_H
#define PYTHON_MERGING_H

#include "python.h"

PyObject *merging_merge(PyObject *self, PyObject *other);
PyObject *merging_or(PyObject *a, PyObject *b);
PyObject *merging_inplace_or(PyObject *self, PyObject *other);
PyObject *merging_compare(PyObject *a, PyObject *b, int operation);
PyObject *merging_copy(PyObject *self, PyObject *none);
PyObject *merging_transfer(PyObject *self, PyObject *none);

extern const char merging_merge_documentation[], merging_copy_documentation[], merging_transfer_documentation[];

#endif
