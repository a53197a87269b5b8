/*
 * Sync in messages: the initiator is an object of its own, Sync, because it keeps state between two messages; the
 * responder is a call, reply(request). Who carries the messages is up to the package (roost/_streams.py) or its user.
 *
 *     sync = Sync(filter, memory)
 *     request = sync.next(None)           filter of the other side: reply = other.reply(request)
 *     request = sync.next(reply)          ... until it returns None
 *     sync.result(), sync.memory()
 *
 * The library's roost_sync keeps a pointer to the filter. So Sync keeps the object alive and holds it for the time of
 * each call; an object that is closed ends the exchanges that are in its list, which then refuse to go on.
 */
#include "sync.h"

#include <stdbool.h>

#include "errors.h"
#include "file.h"
#include "replica.h"

struct sync {
    PyObject_HEAD
    struct exchange exchange;
    struct replica *replica;
};

static struct sync *as_sync(PyObject *object)
{
    return (struct sync *)object;
}

const char sync_reply_documentation[] =
    "reply($self, request, /)\n--\n\n"
    "The responder of a sync: takes one message of the initiator, changes this replica by what it\n"
    "brings, and returns the message to send back. With a file, that is saved first.";

PyObject *sync_reply(PyObject *object, PyObject *message)
{
    struct replica *self = as_replica(object);
    Py_buffer request;
    roost_buffer reply = {0};
    roost_status status;
    bool changed = false;
    if (!get_frozen(&request, message))
        return NULL;
    if (!replica_begin(self, TO_EXCHANGE)) {
        PyBuffer_Release(&request);
        return NULL;
    }
    distrust_the_future(self->filter);
    Py_BEGIN_ALLOW_THREADS
    status = roost_sync_reply(self->filter, &reply, &changed, request.buf, (size_t)request.len);
    Py_END_ALLOW_THREADS
    self->changed |= changed;
    replica_end(self, TO_EXCHANGE);
    PyBuffer_Release(&request);
    PyObject *bytes = reply.size > 0 ? take_bytes(&reply) : NULL;
    roost_buffer_release(&reply);
    if (!bytes) /* what a peer did wrong is in the reply, which tells the peer */
        return PyErr_Occurred() ? NULL : raise_status(status);
    if (!file_settle(self))
        Py_CLEAR(bytes);
    return bytes;
}

/* ---- the initiator ----------------------------------------------------------------------------------------------- */

static void link_sync(struct sync *self, struct replica *replica)
{
    struct exchange *exchange = &self->exchange;
    Py_INCREF((PyObject *)replica);
    self->replica = replica;
    exchange->next = replica->exchanges;
    if (exchange->next)
        exchange->next->previous = exchange;
    replica->exchanges = exchange;
}

static void unlink_sync(struct sync *self)
{
    struct exchange *exchange = &self->exchange;
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        self->replica->exchanges = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    Py_DECREF((PyObject *)self->replica);
}

static bool begin_sync(struct sync *self, struct replica *replica, const Py_buffer *memory)
{
    roost_filter *filter = replica_change(replica);
    if (!filter)
        return false;
    roost_status status = roost_sync_new(&self->exchange.sync, filter, memory->buf, (size_t)memory->len);
    if (status != ROOST_OK)
        return raise_status(status) != NULL;
    link_sync(self, replica);
    return true;
}

/* The object comes first: to make it may run Python code, which may close the filter. */
static PyObject *sync_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *replica;
    Py_buffer memory = {0};
    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "O!z*", replica_type, &replica, &memory))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = allocate(type, 0);
    if (object && !begin_sync(as_sync(object), as_replica(replica), &memory))
        Py_CLEAR(object);
    PyBuffer_Release(&memory);
    return object;
}

/* A replica of a class with attributes may refer to its exchange; Python clears the attributes. */
static int sync_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)as_sync(object)->replica);
    return 0;
}

/* Freeing it does not touch the filter's state, so a call that is under way does not matter. */
static void sync_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    roost_sync_free(as_sync(object)->exchange.sync);
    if (as_sync(object)->replica)
        unlink_sync(as_sync(object));
    freefunc release_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release_memory(object);
    Py_DECREF(type);
}

static bool is_under_way(const struct sync *self)
{
    if (!self->exchange.sync)
        PyErr_SetString(PyExc_ValueError, "the filter was closed, or became another replica, during the sync");
    return self->exchange.sync != NULL;
}

static PyObject *next_request(struct sync *self, roost_status status, roost_buffer *request)
{
    if (status != ROOST_OK)
        return raise_status(status);
    if (request->size == 0) {
        roost_buffer_release(request);
        Py_RETURN_NONE;
    }
    PyObject *bytes = take_bytes(request);
    if (bytes && !file_settle(self->replica))
        Py_CLEAR(bytes);
    return bytes;
}

static PyObject *sync_next(PyObject *object, PyObject *message)
{
    struct sync *self = as_sync(object);
    struct replica *replica = self->replica;
    Py_buffer reply = {0};
    roost_buffer request = {0};
    roost_status status = ROOST_OK;
    if (message != Py_None && !get_frozen(&reply, message))
        return NULL;
    bool begun = replica_begin(replica, TO_EXCHANGE), fine = begun && self->exchange.sync;
    if (fine) {
        distrust_the_future(replica->filter);
        Py_BEGIN_ALLOW_THREADS
        status = roost_sync_next(self->exchange.sync, &request, reply.buf, (size_t)reply.len);
        Py_END_ALLOW_THREADS
        replica->changed |= roost_sync_get_result(self->exchange.sync).changed;
    }
    if (begun)
        replica_end(replica, TO_EXCHANGE);
    if (message != Py_None)
        PyBuffer_Release(&reply);
    if (begun && !fine)
        is_under_way(self); /* raises */
    return fine ? next_request(self, status, &request) : NULL;
}

static PyObject *sync_result(PyObject *object, PyObject *none)
{
    struct sync *self = as_sync(object);
    (void)none;
    if (!replica_look(self->replica) || !is_under_way(self)) /* also waits for a call that is under way */
        return NULL;
    roost_sync_result result = roost_sync_get_result(self->exchange.sync);
    return Py_BuildValue("(NNIKK)", PyBool_FromLong(result.equal), PyBool_FromLong(result.changed),
                         (unsigned)result.rounds, (unsigned long long)result.sent, (unsigned long long)result.received);
}

static PyObject *sync_memory(PyObject *object, PyObject *none)
{
    struct sync *self = as_sync(object);
    roost_buffer memory = {0};
    (void)none;
    if (!replica_look(self->replica) || !is_under_way(self))
        return NULL;
    roost_status status = roost_sync_save_memory(self->exchange.sync, &memory);
    return status == ROOST_OK ? take_bytes(&memory) : raise_status(status);
}

static PyMethodDef methods[] = {
    {"next", sync_next, METH_O, "next(reply): the next request, or None at the end. The first reply is None."},
    {"result", sync_result, METH_NOARGS, "(equal, changed, rounds, sent, received)"},
    {"memory", sync_memory, METH_NOARGS, "Bytes for the next Sync of these two replicas."},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Sync(replica, memory): the initiator of one exchange."},
    {Py_tp_new, sync_new},
    {Py_tp_dealloc, sync_dealloc},
    {Py_tp_traverse, sync_traverse},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    "roost._roost.Sync", sizeof(struct sync), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots,
};

bool sync_add_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    return type && PyModule_AddObject(module, "Sync", type) == 0;
}
