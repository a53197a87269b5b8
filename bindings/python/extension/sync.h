/* Sync: both ends of an exchange, as messages. */
#ifndef PYTHON_SYNC_H
#define PYTHON_SYNC_H

#include "python.h"
#include "replica.h"

bool sync_add_type(PyObject *module);

/* Before the filter of a replica is freed: ends the exchanges that use it. */
void sync_abandon(struct replica *replica);

/* The same, where a thread that does not exist any more has left them half done: their memory is lost. */
void sync_lose(struct replica *replica);

/* A method of Replica. */
PyObject *sync_reply(PyObject *self, PyObject *request);
extern const char sync_reply_documentation[];

#endif
