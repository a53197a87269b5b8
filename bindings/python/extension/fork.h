/* Processes that are forked: multiprocessing, os.fork. */
#ifndef PYTHON_FORK_H
#define PYTHON_FORK_H

#include "python.h"
#include "replica.h"

/* Every object is in a list, from its beginning to its end. */
void fork_link(struct replica *self);
void fork_unlink(struct replica *self);

/* after_fork(): for os.register_at_fork, in the child. */
PyObject *fork_inherit(PyObject *module, PyObject *none);

#endif
