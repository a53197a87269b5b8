/*
 * Files. An object with a file owns a roost_file, which owns the filter and the lock: from open_file to _close, no
 * other process changes the file.
 *
 *     mode      file is there           file is not there        lock
 *     r         loaded                  FileNotFoundError        none; a replica of its own, not to be changed
 *     r+        loaded                  FileNotFoundError        exclusive
 *     a         loaded                  created                  exclusive
 *     x         FileExistsError         created                  exclusive
 *     w         replaced                created                  exclusive
 *
 * Where a file is created or replaced, `fresh` is an object that the package made with the options of the caller; it
 * gets the file. Else there is a new object of the class that fits.
 *
 * Waiting for a lock, and reading and writing, may take long: the GIL is released. A signal handler that raises, as that
 * of Ctrl-C does, ends the wait for a lock and the reading with its exception. A save runs to its end first: a handler
 * may use the object that is being saved, and would wait for it for ever.
 */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"

/* Called without the GIL, where a signal came and between blocks. */
static bool is_interrupted(void *context)
{
    (void)context;
    PyGILState_STATE state = PyGILState_Ensure();
    bool interrupted = PyErr_CheckSignals() < 0;
    PyGILState_Release(state);
    return interrupted;
}

/* ---- save -------------------------------------------------------------------------------------------------------- */

/* Keeps the path: an exception may run Python code, and another thread then gives up the file. */
PyObject *file_raise_unsaved(const struct replica *self, roost_status status)
{
    PyObject *path = self->path;
    Py_INCREF(path);
    raise_file(self->file, status, path);
    Py_DECREF(path);
    return NULL;
}

roost_status file_save_taken(struct replica *self)
{
    roost_status status = ROOST_OK;
    roost_file *file = self->file;
    if (!file)
        return ROOST_OK;
    Py_BEGIN_ALLOW_THREADS
    status = roost_file_save(file);
    Py_END_ALLOW_THREADS
    if (status == ROOST_OK)
        self->changed = false;
    return status;
}

/* While this waited for the object, another thread may have saved it, or have lost its file: see without_file. */
bool file_save(struct replica *self)
{
    if (!replica_begin(self, TO_CACHE))
        return false;
    roost_status status = file_save_taken(self);
    replica_end(self, TO_CACHE);
    return status == ROOST_OK || file_raise_unsaved(self, status);
}

static bool refuse_unsaved(const struct replica *self)
{
    PyErr_Format(PyExc_ValueError,
                 "%S: has changes from before this process was forked that were not saved; save it "
                 "before the fork, or its state cannot leave this process",
                 self->path);
    return false;
}

bool file_settle(struct replica *self)
{
    if (self->filter && self->unsaved)
        return refuse_unsaved(self);
    return !self->file || !self->changed || file_save(self);
}

bool file_begin_export(struct replica *self)
{
    while (file_settle(self) && replica_begin(self, TO_READ)) {
        if (!self->file || !self->changed)
            return true;
        replica_end(self, TO_READ);
    }
    return false;
}

/* A closed object, and one that another thread closed meanwhile, raise in file_save. */
PyObject *file_save_method(PyObject *object, PyObject *none)
{
    struct replica *self = as_replica(object);
    (void)none;
    if (!replica_look(self))
        return NULL;
    bool had_file = self->file != NULL;
    if (had_file && !file_settle(self))
        return NULL;
    if (!had_file || (!self->file && self->filter)) {
        PyErr_SetString(PyExc_ValueError, self->read_only ? "opened for reading; there is nothing to save"
                                                          : "there is no file to save to; see roost.open and to_bytes");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- open -------------------------------------------------------------------------------------------------------- */

struct opening {
    roost_file *file;
    roost_filter *filter; /* of mode r */
    PyObject *path;
    char mode; /* '+' is r+ */
    bool waits;
    struct replica *fresh; /* or NULL */
};

static roost_status lock_and_load(struct opening *opening)
{
    roost_status status = opening->waits ? roost_file_lock(opening->file, ROOST_LOCK_EXCLUSIVE)
                                         : roost_file_try_lock(opening->file, ROOST_LOCK_EXCLUSIVE);
    if (status != ROOST_OK || opening->mode == 'w' || opening->mode == 'x' || !roost_file_exists(opening->file))
        return status;
    return roost_file_load(opening->file, NULL);
}

static roost_status read_or_load(struct opening *opening)
{
    return opening->mode == 'r' ? roost_file_read(opening->file, &opening->filter) : lock_and_load(opening);
}

static PyObject *raise_errno(int number, PyObject *path)
{
    errno = number;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static PyObject *with_file(PyObject *object, struct opening *opening)
{
    struct replica *self = as_replica(object);
    self->file = opening->file;
    self->filter = roost_file_get_filter(opening->file);
    self->path = opening->path;
    Py_INCREF(self->path);
    opening->file = NULL;
    roost_file_set_interrupt(self->file, NULL, NULL);
    distrust_the_future(self->filter);
    return object;
}

static void take_back(struct replica *self)
{
    self->filter = roost_file_take_filter(self->file);
    roost_file_free(self->file);
    self->file = NULL;
    self->changed = false;
    Py_CLEAR(self->path);
}

/* Undoes with_file: the filter is the object's own again. The exception stays. */
static void without_file(struct replica *self)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (replica_begin(self, TO_CACHE)) {
        if (self->file)
            take_back(self);
        replica_end(self, TO_CACHE);
    }
    PyErr_Restore(type, value, trace);
}

static bool is_in_memory(const struct replica *fresh)
{
    return fresh && fresh->filter && !fresh->path;
}

/* The filter of `fresh` moves to the file. Other threads may use it, and may have been faster. */
static bool move_to_file(struct replica *fresh, struct opening *opening)
{
    bool fine = is_in_memory(fresh);
    if (fine && !replica_begin(fresh, TO_CHANGE))
        return false;
    if (fine) {
        fine = is_in_memory(fresh);
        if (fine) {
            roost_file_set_filter(opening->file, fresh->filter);
            with_file((PyObject *)fresh, opening);
        }
        replica_end(fresh, TO_CHANGE);
    }
    if (!fine)
        PyErr_SetString(PyExc_ValueError,
                        "a file is created from a filter in memory: not from one of a file, or a closed one");
    return fine;
}

/* Saved at once, so that the file is there. Where that fails, the filter moves back. */
static PyObject *created(struct opening *opening)
{
    struct replica *fresh = opening->fresh;
    if (!move_to_file(fresh, opening))
        return NULL;
    if (!file_save(fresh)) {
        without_file(fresh);
        return NULL;
    }
    Py_INCREF((PyObject *)fresh);
    return (PyObject *)fresh;
}

/* Whether the file has the configuration of `fresh`; else false with an exception. */
static bool is_like(struct replica *fresh, const roost_filter *filter)
{
    roost_order order;
    if (!replica_begin(fresh, TO_READ))
        return false;
    bool fits = roost_filter_compare(fresh->filter, &order, filter) == ROOST_OK;
    roost_config wanted = *roost_filter_get_config(fresh->filter);
    replica_end(fresh, TO_READ);
    if (!fits)
        raise_mismatch(&wanted, roost_filter_get_config(filter));
    return fits;
}

static PyObject *loaded(struct opening *opening)
{
    const roost_config *config = roost_filter_get_config(roost_file_get_filter(opening->file));
    if (opening->fresh && !is_like(opening->fresh, roost_file_get_filter(opening->file)))
        return NULL;
    PyObject *object = replica_adopt(replica_class(config->kind), NULL);
    return object ? with_file(object, opening) : NULL;
}

static PyObject *read_only(struct opening *opening)
{
    PyObject *object = replica_adopt(replica_class(roost_filter_get_config(opening->filter)->kind), opening->filter);
    if (object) {
        as_replica(object)->path = opening->path;
        Py_INCREF(opening->path);
        as_replica(object)->read_only = true;
    }
    return object;
}

static PyObject *object_for(struct opening *opening)
{
    bool exists = opening->mode == 'r' || roost_file_exists(opening->file);
    if (opening->mode == '+' && !exists)
        return raise_errno(ENOENT, opening->path);
    if (opening->mode == 'x' && exists)
        return raise_errno(EEXIST, opening->path);
    if (opening->mode == 'r')
        return read_only(opening);
    return opening->mode == 'w' || !exists ? created(opening) : loaded(opening);
}

/* Mode x does not wait for the lock of a file that is there. */
static bool exists_already(const struct opening *opening, const char *name)
{
    struct stat status;
    return opening->mode == 'x' && lstat(name, &status) == 0;
}

static PyObject *open_path(struct opening *opening, const char *name)
{
    if (exists_already(opening, name))
        return raise_errno(EEXIST, opening->path);
    roost_environment environment = replica_environment(0);
    roost_status status = roost_file_new(&opening->file, name, &environment);
    if (status != ROOST_OK)
        return raise_status(status);
    roost_file_set_interrupt(opening->file, is_interrupted, NULL);
    Py_BEGIN_ALLOW_THREADS
    status = read_or_load(opening);
    Py_END_ALLOW_THREADS
    PyObject *object = status == ROOST_OK ? object_for(opening) : raise_file(opening->file, status, opening->path);
    roost_file_free(opening->file);
    return object;
}

/* The path as a plain str: one of a class of its own might refer to the object, or do anything when it is printed. */
static PyObject *plain_path(PyObject *object)
{
    PyObject *path, *plain;
    if (!PyUnicode_FSDecoder(object, &path))
        return NULL;
    plain = PyUnicode_FromObject(path);
    Py_DECREF(path);
    return plain;
}

/* A relative name would be another file once the process has changed its folder, and the file is saved after that. Where
   the folder has no name any more, the relative one has to do. */
static PyObject *absolute_name(PyObject *path)
{
    PyObject *name;
    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    const char *text = PyBytes_AsString(name);
    char *folder = text[0] == '/' || !text[0] ? NULL : getcwd(NULL, 0);
    if (!folder)
        return name;
    PyObject *absolute = PyBytes_FromFormat("%s/%s", folder, text);
    free(folder);
    Py_DECREF(name);
    return absolute;
}

/* open_file(path, mode, fresh, wait): mode is "r", "r+", "a", "x" or "w"; fresh an object or None. */
PyObject *file_open(PyObject *module, PyObject *arguments)
{
    struct opening opening = {0};
    PyObject *path, *fresh, *name;
    const char *mode;
    int waits;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OsOp", &path, &mode, &fresh, &waits))
        return NULL;
    if (fresh != Py_None && !PyObject_TypeCheck(fresh, replica_type)) {
        PyErr_SetString(PyExc_TypeError, "a file is created from a Filter, Window or Counter");
        return NULL;
    }
    if (!(opening.path = plain_path(path)))
        return NULL;
    if (!(name = absolute_name(opening.path))) {
        Py_DECREF(opening.path);
        return NULL;
    }
    opening.mode = strcmp(mode, "r+") == 0 ? '+' : mode[0];
    opening.waits = waits;
    opening.fresh = fresh == Py_None ? NULL : as_replica(fresh);
    PyObject *object = open_path(&opening, PyBytes_AsString(name));
    Py_DECREF(name);
    Py_DECREF(opening.path);
    return object;
}

/* ---- peers ------------------------------------------------------------------------------------------- */

/* None: there is no file, or it has nothing for this peer. */
PyObject *file_get_peer(PyObject *object, PyObject *peer)
{
    struct replica *self = as_replica(object);
    const char *name;
    if (!PyArg_Parse(peer, "s;a peer has a name, of type str", &name) || !replica_look(self))
        return NULL;
    roost_bytes cursor = self->file ? roost_file_get_peer_cursor(self->file, name) : (roost_bytes){0};
    if (cursor.size == 0)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(cursor.data, (Py_ssize_t)cursor.size);
}

PyObject *file_set_peer(PyObject *object, PyObject *arguments)
{
    struct replica *self = as_replica(object);
    const char *name;
    Py_buffer cursor;
    if (!PyArg_ParseTuple(arguments, "sy*", &name, &cursor))
        return NULL;
    roost_status status = ROOST_OK;
    bool open = replica_change(self) != NULL;
    if (open && self->file)
        status = roost_file_set_peer_cursor(self->file, name, cursor.buf, (size_t)cursor.len);
    PyBuffer_Release(&cursor);
    if (!open)
        return NULL;
    if (status != ROOST_OK)
        return raise_status(status);
    Py_RETURN_NONE;
}
