/*
 * Merge is `|=` and `|`, the order of the lattice is `<=`, as with sets:
 *
 *     a |= b        a takes in what b has                     a.merge(b) also tells whether a changed
 *     a | b         a new replica that has both
 *     a <= b        b has everything that a has               False for two that each have something
 *     a == b        equal configurations and equal states     never an error
 *
 * A merge of two configurations raises MismatchError and changes nothing, and so does their order. With itself an
 * object is equal, and a merge with itself changes nothing: it would otherwise be taken twice.
 */
#include "merging.h"

#include "errors.h"
#include "file.h"
#include "replica.h"

static bool is_replica(PyObject *object)
{
    return PyObject_TypeCheck(object, replica_type);
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

/* Of objects that are given back, since an exception may run Python code, as access.c says; so configurations are
   copied before. */
static bool raised(roost_status status, const roost_config *ours, const roost_config *theirs)
{
    if (status == ROOST_MISMATCH)
        raise_mismatch(ours, theirs);
    else if (status != ROOST_OK)
        raise_status(status);
    return status != ROOST_OK;
}

/* Takes both; what leaves `other` is saved in its file. */
static bool begin_merge(struct replica *self, struct replica *other)
{
    while (file_settle(other) && replica_begin_two(self, TO_CHANGE, other)) {
        if (!other->file || !other->changed)
            return true;
        replica_end(self, TO_CHANGE);
        replica_end(other, TO_READ);
    }
    return false;
}

static bool merge(struct replica *self, bool *changed, struct replica *other)
{
    roost_status status;
    *changed = false;
    if (self == other)
        return replica_look(self) != NULL;
    if (!begin_merge(self, other))
        return false;
    distrust_the_future(self->filter);
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_merge(self->filter, changed, other->filter);
    Py_END_ALLOW_THREADS
    roost_config ours = *roost_filter_get_config(self->filter), theirs = *roost_filter_get_config(other->filter);
    replica_end(self, TO_CHANGE);
    replica_end(other, TO_READ);
    return !raised(status, &ours, &theirs);
}

/* The configuration is found out only where the merge failed for it. */
static void raise_frame_mismatch(const roost_config *ours, const Py_buffer *frame)
{
    roost_environment environment = replica_environment(0);
    roost_filter *theirs;
    if (roost_filter_decode(&theirs, frame->buf, (size_t)frame->len, &environment) == ROOST_OK)
        raise_mismatch(ours, roost_filter_get_config(theirs));
    else
        raise_status(ROOST_MISMATCH);
    roost_filter_free(theirs);
}

static bool merge_frame(struct replica *self, bool *changed, const Py_buffer *frame)
{
    roost_status status;
    if (!replica_begin(self, TO_CHANGE))
        return false;
    distrust_the_future(self->filter);
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_merge_frame(self->filter, changed, frame->buf, (size_t)frame->len);
    Py_END_ALLOW_THREADS
    roost_config ours = *roost_filter_get_config(self->filter);
    replica_end(self, TO_CHANGE);
    if (status == ROOST_MISMATCH)
        raise_frame_mismatch(&ours, frame);
    else if (status != ROOST_OK)
        raise_status(status);
    return status == ROOST_OK;
}

const char merging_merge_documentation[] =
    "merge($self, other, /)\n--\n\n"
    "Takes in what `other` has: another object, or the bytes of a frame or a delta.\n\n"
    "Returns whether this changed anything. Merging is idempotent, commutative and\n"
    "associative, so frames may be lost, repeated and reordered. A failure changes nothing.\n\n"
    ">>> import roost\n"
    ">>> here, there = roost.Filter(), roost.Filter()\n"
    ">>> there.add('swift')\n"
    "True\n"
    ">>> here.merge(there.to_bytes()), here.merge(there)\n"
    "(True, False)\n"
    ">>> 'swift' in here\n"
    "True\n";

PyObject *merging_merge(PyObject *object, PyObject *other)
{
    Py_buffer frame;
    bool changed = false, fine;
    if (is_replica(other))
        return merge(as_replica(object), &changed, as_replica(other)) ? PyBool_FromLong(changed) : NULL;
    if (!PyObject_CheckBuffer(other)) {
        PyErr_SetString(PyExc_TypeError, "merge takes a Filter, Window or Counter, or the bytes of a frame");
        return NULL;
    }
    if (!get_frozen(&frame, other))
        return NULL;
    fine = merge_frame(as_replica(object), &changed, &frame);
    PyBuffer_Release(&frame);
    return fine ? PyBool_FromLong(changed) : NULL;
}

PyObject *merging_inplace_or(PyObject *self, PyObject *other)
{
    bool changed;
    if (!is_replica(other))
        Py_RETURN_NOTIMPLEMENTED;
    if (!merge(as_replica(self), &changed, as_replica(other)))
        return NULL;
    Py_INCREF(self);
    return self;
}

PyObject *merging_or(PyObject *a, PyObject *b)
{
    bool changed;
    if (!is_replica(a) || !is_replica(b))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *both = merging_copy(a, NULL);
    if (both && !merge(as_replica(both), &changed, as_replica(b)))
        Py_CLEAR(both);
    return both;
}

const char merging_transfer_documentation[] =
    "transfer_shares($self, /)\n--\n\n"
    "Scalable Bloom filters: gives capacity that this replica does not use to writers that\n"
    "have used up theirs. A sync does so by itself; otherwise call it after a merge. Returns\n"
    "whether anything was given.";

PyObject *merging_transfer(PyObject *object, PyObject *none)
{
    bool changed = false;
    roost_filter *filter = replica_change(as_replica(object));
    (void)none;
    if (!filter)
        return NULL;
    roost_status status = roost_filter_transfer_shares(filter, &changed);
    return status == ROOST_OK ? PyBool_FromLong(changed) : raise_status(status);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

const char merging_copy_documentation[] =
    "copy($self, /)\n--\n\n"
    "Returns a copy, which is a replica of its own. A copy of a file's filter is in memory.";

PyObject *merging_copy(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    roost_filter *copy;
    roost_status status;
    (void)none;
    if (!file_begin_export(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_clone(self->filter, &copy);
    Py_END_ALLOW_THREADS
    replica_end(self, TO_READ);
    return status == ROOST_OK ? replica_adopt(Py_TYPE(object), copy) : raise_status(status);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static bool find_order(struct replica *a, roost_order *order, struct replica *b)
{
    roost_status status;
    *order = ROOST_EQUAL;
    if (a == b)
        return replica_look(a) != NULL;
    if (!replica_begin_two(a, TO_READ, b))
        return false;
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_compare(a->filter, order, b->filter);
    Py_END_ALLOW_THREADS
    roost_config ours = *roost_filter_get_config(a->filter), theirs = *roost_filter_get_config(b->filter);
    replica_end(a, TO_READ);
    replica_end(b, TO_READ);
    return !raised(status, &ours, &theirs);
}

static bool find_equal(struct replica *a, bool *equal, struct replica *b)
{
    *equal = true;
    if (a == b)
        return replica_look(a) != NULL;
    if (!replica_begin_two(a, TO_READ, b))
        return false;
    Py_BEGIN_ALLOW_THREADS
    *equal = roost_filter_equal(a->filter, b->filter);
    Py_END_ALLOW_THREADS
    replica_end(a, TO_READ);
    replica_end(b, TO_READ);
    return true;
}

static bool holds(roost_order order, int operation)
{
    switch (operation) {
    case Py_LT:
        return order == ROOST_BEFORE;
    case Py_LE:
        return order == ROOST_BEFORE || order == ROOST_EQUAL;
    case Py_GT:
        return order == ROOST_AFTER;
    default:
        return order == ROOST_AFTER || order == ROOST_EQUAL;
    }
}

PyObject *merging_compare(PyObject *a, PyObject *b, int operation)
{
    roost_order order;
    bool equal;
    if (!is_replica(a) || !is_replica(b))
        Py_RETURN_NOTIMPLEMENTED;
    if (operation == Py_EQ || operation == Py_NE)
        return find_equal(as_replica(a), &equal, as_replica(b)) ? PyBool_FromLong(equal == (operation == Py_EQ)) : NULL;
    return find_order(as_replica(a), &order, as_replica(b)) ? PyBool_FromLong(holds(order, operation)) : NULL;
}
