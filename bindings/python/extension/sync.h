/* Sync: both ends of an exchange, as messages. */
#ifndef PYTHON_SYNC_H
#define PYTHON_SYNC_H

#include "python.h"
#include "replica.h"

bool sync_add_type(PyObject *module);

/* A method of Replica. */
PyObject *sync_reply(PyObject *self, PyObject *request);
extern const char sync_reply_documentation[];

#endif
