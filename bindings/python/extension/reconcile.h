/* The type Session: one side of a reconciliation. */
#ifndef PYTHON_RECONCILE_H
#define PYTHON_RECONCILE_H

#include "python.h"

bool reconcile_add_type(PyObject *module);

#endif
