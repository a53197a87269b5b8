/*
 * Filter: sets of keys. The calls with one key are the hot ones: they are type slots and METH_O, take no lock and make
 * no object (keys.c, access.c), so that `key in filter` is a hash, a look-up, and what Python takes to get there.
 *
 *     add(key)              True if the key is new
 *     update(keys)          how many were new
 *     key in filter
 *     contains_many(keys)   list of bool; of an array, a memoryview of bool
 *     remove(key)           KeyError if it is not there
 *     discard(key)          True if it was there
 *     remove_many(keys)     how many were there
 *
 * What the constructor takes here are the fields of roost_config as numbers; names, defaults and complaints are the
 * package's.
 */
#include "filter.h"

#include "base.h"
#include "batch.h"
#include "errors.h"
#include "keys.h"
#include "replica.h"

PyTypeObject *filter_type;

static int filter_init(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    roost_config config = roost_config_default();
    int kind, layout, multiset, scalable, schedule, semantics;
    unsigned long long capacity, seed;
    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "iiKdKIIIppIIii", &kind, &layout, &capacity, &config.fpr, &seed,
                          &config.fingerprint_bits, &config.bucket_size, &config.entry_bits, &multiset, &scalable,
                          &config.writers, &config.growth, &schedule, &semantics))
        return -1;
    config.kind = (roost_kind)kind;
    config.layout = (roost_layout)layout;
    config.capacity = capacity;
    config.seed = seed;
    config.multiset = multiset;
    config.scalable = scalable;
    config.schedule = (roost_schedule)schedule;
    config.semantics = (roost_semantics)semantics;
    if (kind != ROOST_BLOOM && kind != ROOST_CUCKOO && kind != ROOST_ORCUCKOO) {
        raise_status(ROOST_INVALID);
        return -1;
    }
    return replica_make(as_replica(object), &config);
}

/* ---- one key ----------------------------------------------------------------------------------------------------- */

/* Read before the key is released: its buffer may run code that closes the filter. */
static uint64_t capacity_if_refused(roost_status status, const roost_filter *filter)
{
    return UNLIKELY(status != ROOST_OK) ? roost_filter_get_config(filter)->capacity : 0;
}

static PyObject *filter_add(PyObject *object, PyObject *item)
{
    struct key key;
    bool changed = false;
    if (UNLIKELY(!key_get(&key, item)))
        return NULL;
    roost_filter *filter = replica_change(as_replica(object));
    if (LIKELY(filter != NULL))
        tell_time(filter);
    roost_status status = filter ? roost_filter_add(filter, &changed, key.bytes.data, key.bytes.size) : ROOST_OK;
    uint64_t capacity = capacity_if_refused(status, filter);
    key_release(&key);
    if (UNLIKELY(status != ROOST_OK))
        return raise_refused(status, capacity);
    return LIKELY(filter != NULL) ? PyBool_FromLong(changed) : NULL;
}

static int filter_contains(PyObject *object, PyObject *item)
{
    struct key key;
    int found = -1;
    if (UNLIKELY(!key_get(&key, item)))
        return -1;
    roost_filter *filter = replica_look(as_replica(object));
    if (LIKELY(filter != NULL))
        found = roost_filter_contains(filter, key.bytes.data, key.bytes.size);
    key_release(&key);
    return found;
}

static PyObject *filter_count(PyObject *object, PyObject *item)
{
    struct key key;
    uint64_t count = 0;
    if (!key_get(&key, item))
        return NULL;
    roost_filter *filter = replica_look(as_replica(object));
    if (filter)
        count = roost_filter_count(filter, key.bytes.data, key.bytes.size);
    key_release(&key);
    return filter ? PyLong_FromUnsignedLongLong(count) : NULL;
}

typedef roost_status remover(roost_filter *filter, bool *changed, const void *key, size_t size);

/* 1 if the key was there, 0 if not, -1 with an exception. */
static int take_out(PyObject *object, PyObject *item, remover *remove)
{
    struct key key;
    bool changed = false;
    if (!key_get(&key, item))
        return -1;
    roost_filter *filter = replica_change(as_replica(object));
    if (filter)
        tell_time(filter);
    roost_status status = filter ? remove(filter, &changed, key.bytes.data, key.bytes.size) : ROOST_OK;
    key_release(&key);
    if (status == ROOST_UNSUPPORTED)
        raise_status_with(status, remove == roost_filter_remove_one
                                      ? "copies are removed from Filter(kind='orcuckoo', multiset=True)"
                                      : "keys are removed from Filter(kind='orcuckoo')");
    else if (status != ROOST_OK)
        raise_status(status);
    return filter && status == ROOST_OK ? changed : -1;
}

static PyObject *filter_discard(PyObject *object, PyObject *item)
{
    int changed = take_out(object, item, roost_filter_remove);
    return changed < 0 ? NULL : PyBool_FromLong(changed);
}

static PyObject *filter_remove(PyObject *object, PyObject *item)
{
    int changed = take_out(object, item, roost_filter_remove);
    if (changed > 0)
        Py_RETURN_NONE;
    if (changed == 0)
        PyErr_SetObject(PyExc_KeyError, item);
    return NULL;
}

static PyObject *filter_remove_one(PyObject *object, PyObject *item)
{
    int changed = take_out(object, item, roost_filter_remove_one);
    return changed < 0 ? NULL : PyBool_FromLong(changed);
}

/* ---- dots -------------------------------------------------------------------------------------------------------- */

static PyObject *filter_add_dot(PyObject *object, PyObject *item)
{
    struct key key;
    roost_dot dot = {0};
    if (!key_get(&key, item))
        return NULL;
    roost_filter *filter = replica_change(as_replica(object));
    roost_status status = filter ? roost_filter_add_dot(filter, &dot, key.bytes.data, key.bytes.size) : ROOST_OK;
    uint64_t capacity = capacity_if_refused(status, filter);
    key_release(&key);
    if (status != ROOST_OK)
        return raise_refused(status, capacity);
    return filter ? Py_BuildValue("(KK)", (unsigned long long)dot.actor, (unsigned long long)dot.counter) : NULL;
}

/* A converter for PyArg_ParseTuple, which would cut off what does not fit. */
static int dot_number(PyObject *object, void *number)
{
    PyObject *index = PyNumber_Index(object);
    unsigned long long value = index ? PyLong_AsUnsignedLongLong(index) : 0;
    Py_XDECREF(index);
    *(uint64_t *)number = value;
    return !PyErr_Occurred();
}

static PyObject *filter_remove_dot(PyObject *object, PyObject *arguments)
{
    struct key key;
    PyObject *item;
    roost_dot dot;
    bool changed = false;
    if (!PyArg_ParseTuple(arguments, "O(O&O&)", &item, dot_number, &dot.actor, dot_number, &dot.counter) ||
        !key_get(&key, item))
        return NULL;
    roost_filter *filter = replica_change(as_replica(object));
    roost_status status = ROOST_OK;
    if (filter)
        status = roost_filter_remove_dot(filter, &changed, key.bytes.data, key.bytes.size, dot);
    key_release(&key);
    if (status != ROOST_OK)
        return raise_status(status);
    return filter ? PyBool_FromLong(changed) : NULL;
}

/* ---- many keys --------------------------------------------------------------------------------------------------- */

static roost_status add_many(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys, size_t count,
                             uint64_t time)
{
    (void)time;
    tell_time(filter);
    return roost_filter_add_many(filter, answers, done, keys, count);
}

static roost_status contains_many(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys,
                                  size_t count, uint64_t time)
{
    (void)time;
    *done = count;
    roost_filter_contains_many(filter, answers, keys, count);
    return ROOST_OK;
}

static roost_status remove_many(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys,
                                size_t count, uint64_t time)
{
    (void)time;
    tell_time(filter);
    roost_status status = roost_filter_remove_many(filter, answers, keys, count);
    *done = status == ROOST_OK ? count : 0;
    return status;
}

static PyObject *filter_update(PyObject *object, PyObject *keys)
{
    return batch_count(&(struct batch){as_replica(object), TO_CHANGE, add_many, 0}, keys);
}

static PyObject *filter_contains_many(PyObject *object, PyObject *keys)
{
    return batch_answers(&(struct batch){as_replica(object), TO_READ, contains_many, 0}, keys);
}

static PyObject *filter_remove_many(PyObject *object, PyObject *keys)
{
    return batch_count(&(struct batch){as_replica(object), TO_CHANGE, remove_many, 0}, keys);
}

/* ---- the type ---------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"add", filter_add, METH_O,
     "add($self, key, /)\n--\n\n"
     "Adds a key. Returns whether it is new: False means that it was (probably) there.\n\n"
     ">>> import roost\n"
     ">>> seen = roost.Filter()\n"
     ">>> seen.add('swift'), seen.add(b'swift'), seen.add(17)\n"
     "(True, False, True)\n"},
    {"update", filter_update, METH_O,
     "update($self, keys, /)\n--\n\n"
     "Adds the keys of an iterable or an array. Returns how many were new.\n\n"
     "Where one is no key, or cannot be added, as FullError says, those before it stay.\n\n"
     ">>> import array, roost\n"
     ">>> seen = roost.Filter(capacity=1000)\n"
     ">>> seen.update(['swift', 'martin', 'swift'])\n"
     "2\n"
     ">>> seen.update(array.array('i', [1, 2, 3]))\n"
     "3\n"
     ">>> 3 in seen\n"
     "True\n"},
    {"contains_many", filter_contains_many, METH_O,
     "contains_many($self, keys, /)\n--\n\n"
     "Looks up the keys of an iterable or an array, several times as fast as one by one.\n\n"
     "Returns a list of bool; for an array, a memoryview of bool, which numpy takes as it is.\n\n"
     ">>> import roost\n"
     ">>> seen = roost.Filter()\n"
     ">>> seen.add('swift')\n"
     "True\n"
     ">>> seen.contains_many(['swift', 'heron'])\n"
     "[True, False]\n"},
    {"remove", filter_remove, METH_O,
     "remove($self, key, /)\n--\n\n"
     "Removes a key from a filter of kind 'orcuckoo'. KeyError if it is not there.\n\n"
     "Remove only what was added: see the page on Python. An addition that another replica\n"
     "makes at the same time wins.\n\n"
     ">>> import roost\n"
     ">>> seen = roost.Filter(kind='orcuckoo')\n"
     ">>> seen.add('swift')\n"
     "True\n"
     ">>> seen.remove('swift')\n"
     ">>> seen.remove('swift')\n"
     "Traceback (most recent call last):\n"
     "KeyError: 'swift'\n"},
    {"discard", filter_discard, METH_O,
     "discard($self, key, /)\n--\n\n"
     "Removes a key from a filter of kind 'orcuckoo'. Returns whether it was there."},
    {"remove_many", filter_remove_many, METH_O,
     "remove_many($self, keys, /)\n--\n\n"
     "Removes the keys of an iterable or an array. Returns how many were there."},
    {"remove_one", filter_remove_one, METH_O,
     "remove_one($self, key, /)\n--\n\n"
     "Removes one copy of a key from a multiset. Returns whether there was one."},
    {"count", filter_count, METH_O,
     "count($self, key, /)\n--\n\n"
     "Returns how many copies of a key a multiset holds; in a set, 1 or 0.\n\n"
     ">>> import roost\n"
     ">>> seen = roost.Filter(kind='orcuckoo', multiset=True)\n"
     ">>> seen.update(['swift', 'swift'])\n"
     "2\n"
     ">>> seen.count('swift')\n"
     "2\n"},
    {"add_dot", filter_add_dot, METH_O,
     "add_dot($self, key, /)\n--\n\n"
     "Adds a key to a filter of kind 'orcuckoo' and returns the dot of this addition, for\n"
     "remove_dot: (actor, counter)."},
    {"remove_dot", filter_remove_dot, METH_VARARGS,
     "remove_dot($self, key, dot, /)\n--\n\n"
     "Removes the one addition of a key that has this dot. Returns whether it was there."},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A set of keys. The fields of roost_config as numbers; use roost.Filter."},
    {Py_tp_init, filter_init},
    {Py_tp_methods, methods},
    {Py_sq_contains, filter_contains},
    {0, NULL},
};

static PyType_Spec spec = {
    "roost._roost.Filter", SUBTYPE_BYTES, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots,
};

bool filter_add_type(PyObject *module)
{
    filter_type = base_subtype(module, &spec);
    return filter_type != NULL;
}
