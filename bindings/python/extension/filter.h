/* The type Filter. */
#ifndef PYTHON_FILTER_H
#define PYTHON_FILTER_H

#include "python.h"

bool filter_add_type(PyObject *module);

#endif
