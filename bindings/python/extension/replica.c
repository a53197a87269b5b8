/*
 * How an object begins, and who may use it. One that is closed keeps its place in memory; every call then raises
 * ValueError. What it can do, and how it ends, is in base.c.
 */
#include "replica.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"

#define MOST_AHEAD (24 * 3600 * ROOST_SECOND)

PyTypeObject *replica_type;
static PyTypeObject *class_of_filters, *class_of_windows, *class_of_counters;
static struct replica *first;

/* ---- access ------------------------------------------------------------------------------------------------------ */

static bool may_use(const struct replica *self, bool writing)
{
    if (!self->filter)
        PyErr_SetString(PyExc_ValueError, self->path ? "the file is closed" : "the filter is closed");
    else if (writing && self->inherited)
        PyErr_Format(PyExc_ValueError, "%S: opened before this process was forked; open it here again to change it",
                     self->path);
    else if (writing && self->read_only)
        PyErr_Format(PyExc_ValueError, "%S: opened for reading; open it with mode 'r+' to change it", self->path);
    else
        return true;
    return false;
}

roost_filter *replica_wait(struct replica *self, bool writing)
{
    while (may_use(self, writing)) {
        if (access_allows(&self->access, writing)) {
            self->changed |= writing;
            return self->filter;
        }
        access_wait(&self->access, writing);
    }
    return NULL;
}

bool replica_begin(struct replica *self, enum use use)
{
    bool writing = use != TO_READ, changing = use == TO_CHANGE || use == TO_EXCHANGE;
    while (may_use(self, changing)) {
        if (access_try(&self->access, writing)) {
            self->changed |= use == TO_CHANGE;
            return true;
        }
        access_wait(&self->access, writing);
    }
    return false;
}

void replica_end(struct replica *self, enum use use)
{
    access_end(&self->access, use != TO_READ);
}

bool replica_begin_two(struct replica *self, enum use use, struct replica *other)
{
    while (replica_begin(self, use)) {
        if (other->filter && access_try(&other->access, false))
            return true;
        replica_end(self, use);
        if (!may_use(other, false))
            return false;
        access_wait(&other->access, false);
    }
    return false;
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

roost_environment replica_environment(uint64_t limit)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    roost_environment environment = {.memory_limit = (uint64_t)pages * (uint64_t)page};
    if (limit > 0 && limit < environment.memory_limit)
        environment.memory_limit = limit;
    if (getrandom(&environment.random_seed, sizeof environment.random_seed, 0) < 0)
        environment.random_seed = 0; /* only speed depends on it */
    return environment;
}

static void link_replica(struct replica *self)
{
    self->next = first;
    if (first)
        first->previous = self;
    first = self;
}

void replica_unlink(struct replica *self)
{
    if (self->previous)
        self->previous->next = self->next;
    else
        first = self->next;
    if (self->next)
        self->next->previous = self->previous;
}

struct replica *replica_first(void)
{
    return first;
}

void replica_abandon(struct replica *self)
{
    for (struct exchange *each = self->exchanges; each; each = each->next) {
        roost_sync_free(each->sync);
        each->sync = NULL;
    }
}

PyObject *replica_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)arguments, (void)keywords;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = allocate(type, 0);
    if (object) {
        access_init(&as_replica(object)->access);
        link_replica(as_replica(object));
    }
    return object;
}

PyObject *replica_adopt(PyTypeObject *type, roost_filter *filter)
{
    PyObject *object = replica_new(type, NULL, NULL);
    if (object)
        as_replica(object)->filter = filter;
    else
        roost_filter_free(filter);
    return object;
}

int replica_make(struct replica *self, const roost_config *config)
{
    if (self->filter || self->path) {
        PyErr_SetString(PyExc_TypeError, "__init__ was called before");
        return -1;
    }
    roost_environment environment = replica_environment(0);
    roost_filter *filter;
    roost_status status = roost_filter_new(&filter, config, &environment);
    if (status == ROOST_TOO_LARGE)
        raise_status_with(status, "give a smaller capacity, or none, and the filter grows");
    else if (status != ROOST_OK)
        raise_status(status);
    if (status != ROOST_OK)
        return -1;
    self->filter = filter;
    return 0;
}

/* Classes and exceptions are those of the interpreter that came first (module.c). */
static bool is_first_interpreter(void)
{
    static int64_t owner = -1;
    int64_t present = PyInterpreterState_GetID(PyInterpreterState_Get());
    owner = owner < 0 ? present : owner;
    if (present != owner)
        PyErr_SetString(PyExc_ImportError,
                        "roost is for one interpreter of a process, and another one has imported it");
    return present == owner;
}

PyObject *replica_set_classes(PyObject *module, PyObject *arguments)
{
    PyTypeObject *filters, *windows, *counters;
    (void)module;
    if (!is_first_interpreter())
        return NULL;
    if (!PyArg_ParseTuple(arguments, "O!O!O!", &PyType_Type, &filters, &PyType_Type, &windows, &PyType_Type, &counters))
        return NULL;
    if (!PyType_IsSubtype(filters, filter_type) || !PyType_IsSubtype(windows, window_type) ||
        !PyType_IsSubtype(counters, counter_type)) {
        PyErr_SetString(PyExc_TypeError, "set_classes takes classes that derive from Filter, Window and Counter");
        return NULL;
    }
    Py_INCREF((PyObject *)filters);
    Py_INCREF((PyObject *)windows);
    Py_INCREF((PyObject *)counters);
    class_of_filters = filters, class_of_windows = windows, class_of_counters = counters; /* for ever */
    Py_RETURN_NONE;
}

PyTypeObject *replica_class(roost_kind kind)
{
    return kind == ROOST_WINDOW ? class_of_windows : kind == ROOST_COUNTER ? class_of_counters : class_of_filters;
}

bool replica_fits(PyTypeObject *type, roost_kind kind)
{
    PyTypeObject *needed = kind == ROOST_WINDOW ? window_type : kind == ROOST_COUNTER ? counter_type : filter_type;
    if (PyType_IsSubtype(type, needed))
        return true;
    return raise_kind(kind) != NULL;
}

/* ---- small things ------------------------------------------------------------------------------------------------ */

bool get_frozen(Py_buffer *buffer, PyObject *object)
{
    if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) < 0)
        return false;
    if (PyBytes_CheckExact(object))
        return true;
    PyObject *copy = PyBytes_FromStringAndSize(buffer->buf, buffer->len);
    PyBuffer_Release(buffer);
    bool fine = copy && PyObject_GetBuffer(copy, buffer, PyBUF_SIMPLE) == 0; /* which keeps the copy */
    Py_XDECREF(copy);
    return fine;
}

PyObject *take_bytes(roost_buffer *buffer)
{
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)buffer->data, (Py_ssize_t)buffer->size);
    roost_buffer_release(buffer);
    return bytes;
}

uint64_t present_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * ROOST_SECOND + (uint64_t)now.tv_nsec / 1000;
}

void distrust_the_future(roost_filter *filter)
{
    roost_kind kind = roost_filter_get_config(filter)->kind;
    if (kind == ROOST_WINDOW || kind == ROOST_COUNTER)
        roost_window_set_latest(filter, present_time() + MOST_AHEAD);
}
