/* The types Window and Counter. */
#ifndef PYTHON_WINDOW_H
#define PYTHON_WINDOW_H

#include "python.h"

bool window_add_types(PyObject *module);

#endif
