/* Processes that are forked: multiprocessing, os.fork. */
#ifndef PYTHON_FORK_H
#define PYTHON_FORK_H

#include "python.h"

/* after_fork(): for os.register_at_fork, in the child. */
PyObject *fork_inherit(PyObject *module, PyObject *none);

#endif
