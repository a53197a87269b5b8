/* Filter files, the same ones as the program's. */
#ifndef PYTHON_FILE_H
#define PYTHON_FILE_H

#include "python.h"
#include "replica.h"

/* Saves an object with a file; false with an exception. */
bool file_save(struct replica *self);
/* The same for one that is taken alone. If it fails, give the object back, and raise then. */
roost_status file_save_taken(struct replica *self);
PyObject *file_raise_unsaved(const struct replica *self, roost_status status);

/* Methods of Replica, and open_file(path, mode, fresh, wait) of the module. */
PyObject *file_save_method(PyObject *self, PyObject *none);
PyObject *file_get_peer(PyObject *self, PyObject *peer);
PyObject *file_set_peer(PyObject *self, PyObject *arguments);
PyObject *file_open(PyObject *module, PyObject *arguments);

/*
 * Before state leaves an object with a file: saves it, if it has changed. Else a file that is not saved later, because
 * the process died or the caller changed its mind, would use the same dots and cursors for other changes. False with an
 * exception; so for an object whose changes only the process that forked this one can save. Nothing for other objects
 * without a file.
 */
bool file_settle(struct replica *self);

/* As replica_begin(self, TO_READ), for state that leaves the object: settled, and nothing has changed since. */
bool file_begin_export(struct replica *self);

#endif
