/*
 * Figures. _info() returns all fields of the library's structs under their own names; the package picks those that the
 * program prints for this kind (roost/_objects.py), so that info() and `roost info --json` are alike.
 */
#include "info.h"

#include <math.h>

#include "errors.h"
#include "replica.h"

/* Adds a value, whose reference it takes. */
static void put(PyObject *dictionary, const char *name, PyObject *value)
{
    if (value && !PyErr_Occurred())
        PyDict_SetItemString(dictionary, name, value);
    Py_XDECREF(value);
}

static void put_count(PyObject *dictionary, const char *name, uint64_t value)
{
    put(dictionary, name, PyLong_FromUnsignedLongLong(value));
}

static void put_number(PyObject *dictionary, const char *name, double value)
{
    put(dictionary, name, PyFloat_FromDouble(value));
}

static void put_bool(PyObject *dictionary, const char *name, bool value)
{
    put(dictionary, name, PyBool_FromLong(value));
}

static void put_config(PyObject *facts, const roost_config *config)
{
    put_count(facts, "kind", config->kind);
    put_count(facts, "layout", config->layout);
    put_count(facts, "capacity", config->capacity);
    put_number(facts, "fpr", config->fpr);
    put_count(facts, "seed", config->seed);
    put_count(facts, "fingerprint_bits", config->fingerprint_bits);
    put_count(facts, "bucket_size", config->bucket_size);
    put_count(facts, "entry_bits", config->entry_bits);
    put_bool(facts, "multiset", config->multiset);
    put_bool(facts, "scalable", config->scalable);
    put_count(facts, "writers", config->writers);
    put_count(facts, "growth", config->growth);
    put_count(facts, "schedule", config->schedule);
    put_count(facts, "semantics", config->semantics);
    put_count(facts, "window", config->window);
    put_count(facts, "past", config->past);
}

static void put_info(PyObject *facts, const roost_info *info)
{
    put_count(facts, "elements", (uint64_t)llround(info->elements));
    put_count(facts, "entries", info->entries);
    put_count(facts, "overflow", info->overflow);
    put_number(facts, "load", info->load);
    put_number(facts, "fpr_now", info->fpr_now);
    put_bool(facts, "promise_holds", info->promise_holds);
    put_count(facts, "bits", info->bits);
    put_count(facts, "probes", info->probes);
    put_count(facts, "buckets", info->buckets);
    put_count(facts, "bytes_memory", info->bytes_memory);
    put_count(facts, "actors", info->actors);
    put_count(facts, "dots", info->dots);
    put_count(facts, "gaps", info->gaps);
    put_count(facts, "journal", info->journal);
    put_count(facts, "tables", info->tables);
    put_count(facts, "inserted", info->inserted);
    put_count(facts, "shortest_prefix", info->shortest_prefix);
    put_count(facts, "longest_prefix", info->longest_prefix);
    put_count(facts, "growth_limit", info->growth_limit);
}

static void put_imported(PyObject *facts, const roost_imported_info *imported)
{
    put_count(facts, "imported_parts", imported->parts);
    put_count(facts, "imported_items", imported->items);
    put_count(facts, "imported_removed", imported->removed);
    put_count(facts, "imported_capacity", imported->capacity);
    put_count(facts, "imported_bytes", imported->bytes);
    put_number(facts, "imported_fpr", imported->fpr);
}

static void put_slots(PyObject *facts, const roost_filter *filter)
{
    roost_window_info window;
    int64_t value;
    roost_window_get_info(filter, &window);
    put_count(facts, "promised_window", window.window);
    put_count(facts, "slot", window.slot);
    put_count(facts, "shortest_slot", window.shortest_slot);
    put_count(facts, "slots", window.slots);
    put_count(facts, "newest", window.newest);
    if (roost_filter_get_config(filter)->kind == ROOST_COUNTER && roost_counter_get_value(filter, &value) == ROOST_OK)
        put(facts, "value", PyLong_FromLongLong(value));
}

PyObject *info_get(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    roost_info info;
    roost_imported_info imported;
    (void)none;
    PyObject *facts = PyDict_New();
    if (!facts || !replica_begin(self, TO_READ)) {
        Py_XDECREF(facts);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    roost_filter_get_info(self->filter, &info);
    roost_filter_get_imported(self->filter, &imported);
    Py_END_ALLOW_THREADS
    const roost_config *config = roost_filter_get_config(self->filter);
    put_config(facts, config);
    put_info(facts, &info);
    put_imported(facts, &imported);
    put_count(facts, "actor", roost_filter_get_actor(self->filter));
    put_count(facts, "peers", self->file ? roost_file_get_peer_count(self->file) : 0);
    if (config->kind == ROOST_WINDOW || config->kind == ROOST_COUNTER)
        put_slots(facts, self->filter);
    replica_end(self, TO_READ);
    if (PyErr_Occurred())
        Py_CLEAR(facts);
    return facts;
}

/* The estimate of a Bloom filter counts all its bits. */
Py_ssize_t info_length(PyObject *object)
{
    struct replica *self = as_replica(object);
    roost_info info;
    if (!replica_begin(self, TO_READ))
        return -1;
    Py_BEGIN_ALLOW_THREADS
    roost_filter_get_info(self->filter, &info);
    Py_END_ALLOW_THREADS
    replica_end(self, TO_READ);
    return info.elements < (double)PY_SSIZE_T_MAX ? (Py_ssize_t)llround(info.elements) : PY_SSIZE_T_MAX;
}

const char info_digest_documentation[] =
    "digest($self, /)\n--\n\n"
    "Returns the digest of configuration and state, 32 hexadecimal digits, as `roost digest`\n"
    "prints it. Replicas with equal digests have converged.\n\n"
    ">>> import roost\n"
    ">>> here, there = roost.Filter(capacity=1000), roost.Filter(capacity=1000)\n"
    ">>> here.update(['swift', 'martin']), there.update(['martin', 'swift'])\n"
    "(2, 2)\n"
    ">>> here.digest() == there.digest()\n"
    "True\n"
    ">>> here.digest()\n"
    "'bc8b9eb9d208311edf5ef307cb8fe0ea'\n";

/* Computing it changes a cache of the filter and nothing else: no reason to save a file. */
PyObject *info_digest(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    char text[33];
    (void)none;
    if (!replica_begin(self, TO_CACHE))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    roost_digest_text(roost_filter_digest(self->filter), text);
    Py_END_ALLOW_THREADS
    replica_end(self, TO_CACHE);
    return PyUnicode_FromString(text);
}

const char info_check_documentation[] =
    "check($self, /)\n--\n\n"
    "Checks the invariants of the structure in memory, for tests and diagnosis. Raises\n"
    "FrameError where memory was overwritten.";

PyObject *info_check(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    roost_status status;
    (void)none;
    if (!replica_begin(self, TO_READ))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = roost_filter_check(self->filter);
    Py_END_ALLOW_THREADS
    replica_end(self, TO_READ);
    if (status != ROOST_OK)
        return raise_status(status);
    Py_RETURN_NONE;
}
