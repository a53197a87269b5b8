/*
 * roost._roost: the C part of the package `roost`. It has what must be fast or needs the library, and as few words as
 * possible; names, defaults and documentation that people see are the package's, in Python.
 *
 *     module.c       this file
 *     keys.c         one object as a key               array.c, batch.c   many
 *     access.c       who may use an object             errors.c           exceptions
 *     replica.c      filters as objects                base.c             what all can do, with merging.c, frames.c,
 *                                                                         info.c, file.c and sync.c
 *     filter.c, window.c                               reconcile.c        sessions
 *     fork.c         what a child process inherits
 *
 * Classes and exceptions are static variables: the module is for one interpreter of a process.
 */
#include <endian.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base.h"
#include "errors.h"
#include "file.h"
#include "filter.h"
#include "fork.h"
#include "frames.h"
#include "keys.h"
#include "reconcile.h"
#include "replica.h"
#include "sync.h"
#include "window.h"

/* xxh3_64(key): what the keys of sharded filters are chosen by, the same as in the program. */
static PyObject *xxh3_64(PyObject *module, PyObject *object)
{
    struct key key;
    (void)module;
    if (!key_get(&key, object))
        return NULL;
    uint64_t hash = XXH3_64bits(key.bytes.data, key.bytes.size);
    key_release(&key);
    return PyLong_FromUnsignedLongLong(hash);
}

static PyMethodDef functions[] = {
    {"key_bytes", key_bytes, METH_O,
     "key_bytes(key, /)\n--\n\n"
     "Returns the bytes that a key is to the library.\n\n"
     ">>> import roost\n"
     ">>> roost.key_bytes('swift'), roost.key_bytes(5)\n"
     "(b'swift', b'\\x05\\x00\\x00\\x00\\x00\\x00\\x00\\x00')\n"},
    {"xxh3_64", xxh3_64, METH_O,
     "xxh3_64(key, /)\n--\n\n"
     "Returns XXH3 (64 bits, seed 0) of the bytes of a key."},
    {"from_bytes", frames_decode_any, METH_VARARGS, "from_bytes(frame, limit)"},
    {"open_file", file_open, METH_VARARGS, "open_file(path, mode, fresh, wait)"},
    {"after_fork", fork_inherit, METH_NOARGS, "after_fork(): in the child; see fork.c."},
    {"set_classes", replica_set_classes, METH_VARARGS, "set_classes(Filter, Window, Counter)"},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "roost._roost", "The C part of roost.", -1, functions, NULL, NULL, NULL, NULL,
};

static bool fill(PyObject *module)
{
    return errors_add(module) && base_add_type(module) && filter_add_type(module) && window_add_types(module) &&
           sync_add_type(module) && reconcile_add_type(module) &&
           PyModule_AddStringConstant(module, "version", roost_version()) == 0;
}

PyMODINIT_FUNC PyInit__roost(void);

PyMODINIT_FUNC PyInit__roost(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && !fill(module))
        Py_CLEAR(module);
    return module;
}
