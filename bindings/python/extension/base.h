/* The type Replica, the base of Filter, Window and Counter. */
#ifndef PYTHON_BASE_H
#define PYTHON_BASE_H

#include "python.h"

bool base_add_type(PyObject *module);

/* A type whose base is that of all replicas. */
PyTypeObject *base_subtype(PyObject *module, PyType_Spec *spec);

#endif
