/*
 * One side of a reconciliation, as messages:
 *
 *     Session(keys, message, method, multiset)       message None: the initiator; else the responder of this first
 *                                                    message
 *     next(received)                                 the next message, or None
 *     differences()                                  [(index, here, there), ...]: places in `keys`
 *
 * The session keeps hashes, not keys. The package remembers the keys, and finds those that differ by their places.
 *
 * A session belongs to one thread at a time; a flag says that a call is under way without the GIL.
 */
#include "reconcile.h"

#include <stdbool.h>

#include "batch.h"
#include "errors.h"
#include "keys.h"
#include "replica.h"

struct session {
    PyObject_HEAD
    roost_reconcile *session;
    bool busy;
};

static struct session *as_session(PyObject *object)
{
    return (struct session *)object;
}

static bool begin(struct session *self)
{
    if (self->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread uses this session");
    else
        self->busy = true;
    return !PyErr_Occurred();
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static roost_status add_keys(void *context, const roost_bytes *keys, size_t count)
{
    roost_reconcile *session = context;
    for (size_t i = 0; i < count; i++) {
        roost_status status = roost_reconcile_add(session, keys[i].data, keys[i].size, 1);
        if (status != ROOST_OK)
            return status;
    }
    return ROOST_OK;
}

static roost_status begin_session(roost_reconcile **session, const Py_buffer *message, int method, int multiset)
{
    roost_environment environment = replica_environment(0);
    roost_reconcile_config config = {.method = (roost_reconcile_method)method, .multiset = multiset};
    if (message->obj)
        return roost_reconcile_new_responder(session, message->buf, (size_t)message->len, &environment);
    return roost_reconcile_new_initiator(session, &config, &environment);
}

static PyObject *session_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *keys;
    Py_buffer message = {0};
    roost_reconcile *session = NULL;
    int method, multiset;
    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "Oz*ip", &keys, &message, &method, &multiset))
        return NULL;
    roost_status status = begin_session(&session, &message, method, multiset);
    PyBuffer_Release(&message);
    if (status != ROOST_OK)
        return raise_status(status);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = batch_each(keys, add_keys, session) ? allocate(type, 0) : NULL;
    if (object)
        as_session(object)->session = session;
    else
        roost_reconcile_free(session);
    return object;
}

static void session_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    roost_reconcile_free(as_session(object)->session);
    freefunc release_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release_memory(object);
    Py_DECREF(type);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* (message or None, status text or None): a message is to be sent also where the session has failed. */
static PyObject *session_next(PyObject *object, PyObject *argument)
{
    struct session *self = as_session(object);
    Py_buffer received = {0};
    roost_buffer message = {0};
    roost_status status;
    if (argument != Py_None && !get_frozen(&received, argument))
        return NULL;
    bool begun = begin(self);
    if (begun) {
        Py_BEGIN_ALLOW_THREADS
        status = roost_reconcile_next(self->session, &message, received.buf, (size_t)received.len);
        Py_END_ALLOW_THREADS
        self->busy = false;
    }
    if (argument != Py_None)
        PyBuffer_Release(&received);
    if (!begun)
        return NULL;
    if (status != ROOST_OK && message.size == 0)
        return raise_status(status);
    if (message.size > 0)
        return take_bytes(&message);
    roost_buffer_release(&message);
    Py_RETURN_NONE;
}

static PyObject *list_differences(roost_reconcile *session)
{
    if (!roost_reconcile_is_done(session)) {
        PyErr_SetString(PyExc_ValueError, "the session is not done");
        return NULL;
    }
    size_t count = (size_t)roost_reconcile_get_result(session).only_here;
    roost_difference *differences = PyMem_Calloc(count + 1, sizeof *differences);
    PyObject *list = differences ? PyList_New((Py_ssize_t)count) : PyErr_NoMemory();
    if (list)
        roost_reconcile_get_differences(session, differences);
    for (size_t i = 0; list && i < count; i++) {
        const roost_difference *each = &differences[i];
        PyObject *entry = Py_BuildValue("(KKK)", (unsigned long long)each->index, (unsigned long long)each->count_here,
                                        (unsigned long long)each->count_there);
        if (!entry || PyList_SetItem(list, (Py_ssize_t)i, entry) < 0)
            Py_CLEAR(list);
    }
    PyMem_Free(differences);
    return list;
}

/* Busy to the end: to make a list may run Python code, that of objects which Python frees meanwhile. */
static PyObject *session_differences(PyObject *object, PyObject *none)
{
    struct session *self = as_session(object);
    (void)none;
    if (!begin(self))
        return NULL;
    PyObject *list = list_differences(self->session);
    self->busy = false;
    return list;
}

static PyObject *session_done(PyObject *object, void *closure)
{
    struct session *self = as_session(object);
    (void)closure;
    if (!begin(self))
        return NULL;
    self->busy = false;
    return PyBool_FromLong(roost_reconcile_is_done(self->session));
}

static PyObject *session_multiset(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(roost_reconcile_get_config(as_session(object)->session)->multiset);
}

static PyObject *session_result(PyObject *object, PyObject *none)
{
    struct session *self = as_session(object);
    (void)none;
    if (!begin(self))
        return NULL;
    self->busy = false;
    roost_reconcile_result result = roost_reconcile_get_result(self->session);
    return Py_BuildValue("(IKKNN)", (unsigned)result.messages, (unsigned long long)result.sent,
                         (unsigned long long)result.received, PyBool_FromLong(result.exact),
                         PyBool_FromLong(result.complete));
}

static PyMethodDef methods[] = {
    {"next", session_next, METH_O, "next(received): the next message, or None. The initiator's first is next(None)."},
    {"differences", session_differences, METH_NOARGS, "[(index, here, there), ...], once it is done."},
    {"result", session_result, METH_NOARGS, "(messages, sent, received, exact, complete)"},
    {0},
};

static PyGetSetDef properties[] = {
    {"done", session_done, NULL, "Whether this side knows its differences.", NULL},
    {"multiset", session_multiset, NULL, "Whether counts matter: the choice of the initiator.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Session(keys, message, method, multiset): one side of a reconciliation."},
    {Py_tp_new, session_new},
    {Py_tp_dealloc, session_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"roost._roost.Session", sizeof(struct session), 0, Py_TPFLAGS_DEFAULT, slots};

bool reconcile_add_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    return type && PyModule_AddObject(module, "Session", type) == 0;
}
