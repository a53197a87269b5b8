/* The object that Filter, Window and Counter are: a filter of the library, with its lock and perhaps its file. */
#ifndef PYTHON_REPLICA_H
#define PYTHON_REPLICA_H

#include "access.h"
#include "python.h"
#include "roost.h"

/* An exchange that is under way (sync.c). The library's object has a pointer to the filter, and ends before it. */
struct exchange {
    roost_sync *sync;                 /* NULL: the filter is gone */
    struct exchange *next, *previous; /* of the same object */
};

struct replica {
    PyObject_HEAD
    roost_filter *filter; /* NULL: not made yet, or closed */
    roost_file *file;     /* owns the filter; NULL: in memory only */
    PyObject *path;       /* of the file, a str; or NULL */
    bool changed;         /* since the file was saved */
    bool read_only;       /* opened for reading, or by the process that forked this one */
    bool inherited;       /* that process had opened it for changing (fork.c) */
    bool unsaved;         /* and had not saved what it had changed */
    struct exchange *exchanges;
    struct access access;
    struct replica *next, *previous; /* of all */
};

extern PyTypeObject *replica_type, *filter_type, *window_type, *counter_type;

/* Bytes of a Filter, Window or Counter: a word more than a Replica. So each has a layout of its own, and Python refuses
   classes that derive from two of them, and `filter.__class__ = roost.Window`. The library asserts kinds. */
#define SUBTYPE_BYTES (sizeof(struct replica) + sizeof(void *))

static inline struct replica *as_replica(PyObject *object)
{
    return (struct replica *)object;
}

/* ---- short calls, which keep the GIL; NULL with an exception if the object is closed ----------------------------- */

roost_filter *replica_wait(struct replica *self, bool writing);

static inline roost_filter *replica_look(struct replica *self)
{
    return LIKELY(self->filter && access_allows(&self->access, false)) ? self->filter : replica_wait(self, false);
}

static inline roost_filter *replica_change(struct replica *self)
{
    if (UNLIKELY(!self->filter || self->read_only || !access_allows(&self->access, true)))
        return replica_wait(self, true);
    self->changed = true;
    return self->filter;
}

/* ---- long calls: false with an exception ------------------------------------------------------------------------- */

enum use {
    TO_READ,
    TO_CHANGE,
    TO_EXCHANGE, /* alone; whether it has changed is for the caller to note */
    TO_CACHE,    /* alone, for what is no change of the state: also if it is read-only */
};

bool replica_begin(struct replica *self, enum use use);
void replica_end(struct replica *self, enum use use);

/* Takes two objects, which are not the same one: `self` to read or to change, `other` to read. */
bool replica_begin_two(struct replica *self, enum use use, struct replica *other);

/* ---- life -------------------------------------------------------------------------------------------------------- */

/* Before the filter of an object is freed: ends the exchanges that use it. */
void replica_abandon(struct replica *self);

/* All objects: the first one, which has pointers to the others. */
struct replica *replica_first(void);
/* At the end of an object. */
void replica_unlink(struct replica *self);

/* A new object without a filter. */
PyObject *replica_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords);

/* A new object of a type for a filter, which it owns, also on failure; then NULL with an exception. */
PyObject *replica_adopt(PyTypeObject *type, roost_filter *filter);

/* The type for a filter: the package's classes, see set_classes. */
PyTypeObject *replica_class(roost_kind kind);
/* set_classes(Filter, Window, Counter) */
PyObject *replica_set_classes(PyObject *module, PyObject *arguments);
/* Whether filters of a kind are of a type; else sets an exception. */
bool replica_fits(PyTypeObject *type, roost_kind kind);

/* Makes the filter of a new object; the work of __init__. -1 with an exception. */
int replica_make(struct replica *self, const roost_config *config);

/* The environment of all filters: the memory of this machine is the limit, unless `limit` is another one; 0: none
   given. */
roost_environment replica_environment(uint64_t limit);

/* ---- time: windows and counters ---------------------------------------------------------------------------------- */

/* The time of this machine, in microseconds. */
uint64_t present_time(void);

/* Before a change: where the last writer wins, that is what decides. */
static inline void tell_time(roost_filter *filter)
{
    if (UNLIKELY(roost_filter_get_config(filter)->semantics == ROOST_LAST_WRITER_WINS))
        roost_filter_set_time(filter, present_time());
}
/* Before a merge: a window takes in nothing that is more than a day ahead of this machine. Other kinds: nothing. */
void distrust_the_future(roost_filter *filter);

/* The buffer of an object, for a call that decodes it without the GIL; false with an exception. What is no `bytes` is
   copied: another thread may write to it meanwhile, and a decoder reads some bytes twice. */
bool get_frozen(Py_buffer *buffer, PyObject *object);

/* Bytes of a call of the library, as an object; releases the buffer. */
PyObject *take_bytes(roost_buffer *buffer);

#endif
