/*
 * One object for all that replicates. Filters, windows and counters of the library are one type of C, roost_filter, and
 * most calls work with all of them: merge, compare, frames, deltas, sync, files. Here they have one base, Replica, with
 * these calls, and a type each for what differs.
 *
 *     Replica            merging.c, frames.c, info.c, file.c, sync.c
 *       Filter           filter.c:  add, in, discard, batches
 *       Window           window.c:  the same, with a time
 *       Counter          window.c:  increment, value
 *
 * The package adds what is not about speed, in Python, to classes that derive from these (roost/_objects.py).
 */
#include "base.h"

#include "errors.h"
#include "file.h"
#include "frames.h"
#include "info.h"
#include "merging.h"
#include "replica.h"
#include "sync.h"

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void release(struct replica *self)
{
    if (self->file)
        roost_file_free(self->file);
    else
        roost_filter_free(self->filter);
    self->file = NULL;
    self->filter = NULL;
}

/* _close(save): in one step, else what is added between the two, as by a signal handler, would be lost. Where saving
   fails, the object stays open. */
static PyObject *replica_close(PyObject *object, PyObject *save)
{
    struct replica *self = as_replica(object);
    int saves = PyObject_IsTrue(save);
    if (saves < 0)
        return NULL;
    if (!self->filter)
        Py_RETURN_NONE;
    if (!replica_begin(self, TO_CACHE)) { /* another thread was faster */
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    roost_status status = saves && self->changed ? file_save_taken(self) : ROOST_OK;
    if (status != ROOST_OK) {
        replica_end(self, TO_CACHE);
        return file_raise_unsaved(self, status);
    }
    roost_file *file = self->file;
    roost_filter *filter = self->filter;
    replica_abandon(self);
    self->file = NULL;
    self->filter = NULL;
    replica_end(self, TO_CACHE);
    Py_BEGIN_ALLOW_THREADS
    if (file)
        roost_file_free(file);
    else
        roost_filter_free(filter);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* Exchanges that are under way refuse to go on. */
static PyObject *reset_replica(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    (void)none;
    if (!replica_begin(self, TO_CHANGE))
        return NULL;
    replica_abandon(self);
    roost_status status = self->file ? roost_file_reset_replica(self->file) : ROOST_INVALID;
    if (self->file)
        self->filter = roost_file_get_filter(self->file);
    replica_end(self, TO_CHANGE);
    if (status != ROOST_OK)
        return raise_status(status);
    Py_RETURN_NONE;
}

static void warn_of_loss(struct replica *self)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyErr_WarnFormat(PyExc_ResourceWarning, 1, "%S was not closed, and its changes are not saved", self->path) < 0)
        PyErr_WriteUnraisable(NULL);
    PyErr_Restore(type, value, trace);
}

/* An object refers to its class alone, which may refer to it. What a class refers to, Python clears. */
static int replica_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    return 0;
}

/* The last reference is gone, so nobody waits. */
static void replica_dealloc(PyObject *object)
{
    struct replica *self = as_replica(object);
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->file && self->changed)
        warn_of_loss(self);
    release(self);
    replica_unlink(self);
    Py_XDECREF(self->path);
    access_destroy(&self->access);
    freefunc release_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release_memory(object);
    Py_DECREF(type);
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

static PyObject *get_closed(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(!as_replica(object)->filter);
}

static PyObject *get_path(PyObject *object, void *closure)
{
    PyObject *path = as_replica(object)->path;
    (void)closure;
    path = path ? path : Py_None;
    Py_INCREF(path);
    return path;
}

/* ---- the type ---------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"_close", replica_close, METH_O, "_close(save): saves the file or not, unlocks it, and frees the filter."},
    {"_save", file_save_method, METH_NOARGS, "Saves the filter to its file, if it has changed."},
    {"_peer_cursor", file_get_peer, METH_O, "What the file stores about a peer."},
    {"_set_peer_cursor", file_set_peer, METH_VARARGS, "Stores what is known about a peer."},
    {"_reset_replica", reset_replica, METH_NOARGS, "Makes the file a new replica."},
    {"_decode", METHOD(frames_decode), METH_VARARGS | METH_CLASS, "_decode(frame, limit): a new object for a frame."},
    {"_info", info_get, METH_NOARGS, "Everything that is known, as a dictionary with the library's names."},
    {"_delta", frames_delta, METH_O, "_delta(cursor): a frame, and the next cursor."},
    {"check", info_check, METH_NOARGS, info_check_documentation},
    {"copy", merging_copy, METH_NOARGS, merging_copy_documentation},
    {"cursor", frames_cursor, METH_NOARGS, frames_cursor_documentation},
    {"digest", info_digest, METH_NOARGS, info_digest_documentation},
    {"merge", merging_merge, METH_O, merging_merge_documentation},
    {"reply", sync_reply, METH_O, sync_reply_documentation},
    {"to_bytes", frames_encode, METH_NOARGS, frames_encode_documentation},
    {"transfer_shares", merging_transfer, METH_NOARGS, merging_transfer_documentation},
    {0},
};

static PyGetSetDef properties[] = {
    {"closed", get_closed, NULL, "Whether it was closed. Every other call then raises ValueError.", NULL},
    {"path", get_path, NULL, "The file that roost.open opened, or None.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What Filter, Window and Counter have in common: merge, frames, deltas, sync and files."},
    {Py_tp_new, replica_new},
    {Py_tp_dealloc, replica_dealloc},
    {Py_tp_traverse, replica_traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_richcompare, merging_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_nb_or, merging_or},
    {Py_nb_inplace_or, merging_inplace_or},
    {Py_mp_length, info_length},
    {Py_sq_length, info_length},
    {0, NULL},
};

static PyType_Spec spec = {
    "roost._roost.Replica",
    sizeof(struct replica),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, /* which the types below inherit */
    slots,
};

static const char *short_name(const char *name)
{
    const char *last = name;
    for (const char *at = name; *at; at++)
        last = *at == '.' ? at + 1 : last;
    return last;
}

static PyTypeObject *add_type(PyObject *module, PyType_Spec *type_spec, PyObject *bases)
{
    PyObject *type = PyType_FromSpecWithBases(type_spec, bases);
    if (!type)
        return NULL;
    Py_INCREF(type);
    return PyModule_AddObject(module, short_name(type_spec->name), type) == 0 ? (PyTypeObject *)type : NULL;
}

PyTypeObject *base_subtype(PyObject *module, PyType_Spec *type_spec)
{
    PyObject *bases = PyTuple_Pack(1, (PyObject *)replica_type);
    PyTypeObject *type = bases ? add_type(module, type_spec, bases) : NULL;
    Py_XDECREF(bases);
    return type;
}

bool base_add_type(PyObject *module)
{
    replica_type = add_type(module, &spec, NULL);
    return replica_type != NULL;
}
