/*
 * Windows and counters: additions have a time, in microseconds since 1970, as for the program. Here each method takes
 * the time as its last argument, None for the clock of this machine; the package turns seconds and datetimes into it.
 *
 * A time that cannot be right raises ClockError: older than the window, or more than a month ahead of all known ones.
 * After a longer silence the caller says resume, and this machine's clock is believed.
 */
#include "window.h"

#include <string.h>

#include "base.h"
#include "batch.h"
#include "errors.h"
#include "keys.h"
#include "replica.h"

PyTypeObject *window_type, *counter_type;

/* _roost.Window(window, capacity, fpr, past, seed), the same for counters; the first one in microseconds. */
static int make(PyObject *object, PyObject *arguments, roost_kind kind)
{
    unsigned long long window, capacity, seed;
    double fpr;
    unsigned past;
    if (!PyArg_ParseTuple(arguments, "KKdIK", &window, &capacity, &fpr, &past, &seed))
        return -1;
    roost_config config = roost_window_config_default(kind, window);
    config.capacity = capacity;
    config.fpr = fpr;
    config.past = past;
    config.seed = seed;
    return replica_make(as_replica(object), &config);
}

static int window_init(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    (void)keywords;
    return make(object, arguments, ROOST_WINDOW);
}

static int counter_init(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    (void)keywords;
    return make(object, arguments, ROOST_COUNTER);
}

static bool time_from(uint64_t *time, PyObject *object)
{
    if (object == Py_None) {
        *time = present_time();
        return true;
    }
    *time = PyLong_AsUnsignedLongLong(object);
    return !(*time == (uint64_t)-1 && PyErr_Occurred());
}

/* The clock of this machine may be wrong, too: it is believed only if the caller says so. */
static void begin_additions(roost_filter *filter, bool resume)
{
    if (resume)
        distrust_the_future(filter);
    else
        roost_window_set_latest(filter, 0);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static PyObject *window_add(PyObject *object, PyObject *const *arguments, Py_ssize_t count)
{
    struct key key;
    uint64_t time;
    bool seen = false;
    if (count < 1 || count > 3) {
        PyErr_SetString(PyExc_TypeError, "_add takes a key, a time and whether to resume");
        return NULL;
    }
    int resume = count > 2 ? PyObject_IsTrue(arguments[2]) : 0;
    if (resume < 0 || !time_from(&time, count > 1 ? arguments[1] : Py_None) || !key_get(&key, arguments[0]))
        return NULL;
    roost_filter *filter = replica_change(as_replica(object));
    roost_status status = ROOST_OK;
    if (filter) {
        begin_additions(filter, resume);
        status = roost_window_add(filter, &seen, key.bytes.data, key.bytes.size, time);
    }
    key_release(&key);
    if (status != ROOST_OK)
        return raise_status(status);
    return filter ? PyBool_FromLong(!seen) : NULL;
}

static int found_at(PyObject *object, PyObject *item, uint64_t time)
{
    struct key key;
    int found = -1;
    if (!key_get(&key, item))
        return -1;
    roost_filter *filter = replica_look(as_replica(object));
    if (filter)
        found = roost_window_contains(filter, key.bytes.data, key.bytes.size, time);
    key_release(&key);
    return found;
}

static int window_contains(PyObject *object, PyObject *item)
{
    return found_at(object, item, present_time());
}

static PyObject *window_contains_at(PyObject *object, PyObject *arguments)
{
    PyObject *item, *when;
    uint64_t time;
    if (!PyArg_ParseTuple(arguments, "OO", &item, &when) || !time_from(&time, when))
        return NULL;
    int found = found_at(object, item, time);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

/* Each block says anew what it believes: other calls come between two of them. */
static roost_status add_block(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys, size_t count,
                              uint64_t time, bool resume)
{
    begin_additions(filter, resume);
    roost_status status = roost_window_add_many(filter, answers, done, keys, count, time);
    for (size_t i = 0; i < *done; i++)
        answers[i] = !answers[i];
    return status;
}

static roost_status add_many(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys, size_t count,
                             uint64_t time)
{
    return add_block(filter, answers, done, keys, count, time, false);
}

static roost_status resume_with_many(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys,
                                     size_t count, uint64_t time)
{
    return add_block(filter, answers, done, keys, count, time, true);
}

static roost_status contains_many(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys,
                                  size_t count, uint64_t time)
{
    *done = count;
    for (size_t i = 0; i < count; i++)
        answers[i] = roost_window_contains(filter, keys[i].data, keys[i].size, time);
    return ROOST_OK;
}

static PyObject *window_update(PyObject *object, PyObject *arguments)
{
    struct batch batch = {as_replica(object), TO_CHANGE, add_many, 0};
    PyObject *keys, *when;
    int resume;
    if (!PyArg_ParseTuple(arguments, "OOp", &keys, &when, &resume) || !time_from(&batch.time, when))
        return NULL;
    batch.call = resume ? resume_with_many : add_many;
    return batch_count(&batch, keys);
}

static PyObject *window_contains_many(PyObject *object, PyObject *arguments)
{
    struct batch batch = {as_replica(object), TO_READ, contains_many, 0};
    PyObject *keys, *when;
    if (!PyArg_ParseTuple(arguments, "OO", &keys, &when) || !time_from(&batch.time, when))
        return NULL;
    return batch_answers(&batch, keys);
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

static PyObject *raise_increment(roost_status status)
{
    return status == ROOST_INVALID ? raise_status_with(status, "the id of an operation has 1 to 65536 bytes")
                                   : raise_status(status);
}

static PyObject *counter_increment(PyObject *object, PyObject *arguments)
{
    struct key id;
    PyObject *item, *when;
    long long amount;
    int64_t value;
    int resume;
    uint64_t time;
    bool applied = false;
    if (!PyArg_ParseTuple(arguments, "OLOp", &item, &amount, &when, &resume) || !time_from(&time, when) ||
        !key_get(&id, item))
        return NULL;
    roost_filter *filter = replica_change(as_replica(object));
    roost_status status = ROOST_OK;
    if (filter) {
        begin_additions(filter, resume);
        status = roost_counter_increment(filter, &applied, &value, id.bytes.data, id.bytes.size, amount, time);
    }
    key_release(&id);
    if (status != ROOST_OK)
        return raise_increment(status);
    return filter ? PyBool_FromLong(applied) : NULL;
}

static PyObject *counter_value(PyObject *object, void *closure)
{
    int64_t value;
    roost_filter *filter = replica_look(as_replica(object));
    (void)closure;
    if (!filter)
        return NULL;
    roost_status status = roost_counter_get_value(filter, &value);
    return status == ROOST_OK ? PyLong_FromLongLong(value) : raise_status(status);
}

static PyObject *counter_number(PyObject *object)
{
    return counter_value(object, NULL);
}

/* ---- the types --------------------------------------------------------------------------------------------------- */

static PyMethodDef window_methods[] = {
    {"_add", METHOD(window_add), METH_FASTCALL, "_add(key, time, resume): whether the key is new."},
    {"_contains", window_contains_at, METH_VARARGS, "_contains(key, time)"},
    {"_update", window_update, METH_VARARGS, "_update(keys, time, resume): how many keys are new."},
    {"_contains_many", window_contains_many, METH_VARARGS, "_contains_many(keys, time)"},
    {0},
};

static PyType_Slot window_slots[] = {
    {Py_tp_doc, "Keys of the last time; use roost.Window."},
    {Py_tp_init, window_init},
    {Py_tp_methods, window_methods},
    {Py_sq_contains, window_contains},
    {0, NULL},
};

static PyType_Spec window_spec = {
    "roost._roost.Window", SUBTYPE_BYTES, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, window_slots,
};

static PyMethodDef counter_methods[] = {
    {"_increment", counter_increment, METH_VARARGS, "_increment(id, amount, time, resume): whether it was counted."},
    {0},
};

static PyGetSetDef counter_properties[] = {
    {"value", counter_value, NULL, "The sum of what was counted.", NULL},
    {0},
};

static PyType_Slot counter_slots[] = {
    {Py_tp_doc, "Operations that are counted once each; use roost.Counter."},
    {Py_tp_init, counter_init},
    {Py_tp_methods, counter_methods},
    {Py_tp_getset, counter_properties},
    {Py_nb_int, counter_number},
    {0, NULL},
};

static PyType_Spec counter_spec = {
    "roost._roost.Counter", SUBTYPE_BYTES, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, counter_slots,
};

bool window_add_types(PyObject *module)
{
    window_type = base_subtype(module, &window_spec);
    counter_type = base_subtype(module, &counter_spec);
    return window_type && counter_type;
}
