/*
 * Exceptions. All that the library refuses is a roost.Error; where Python has a word of its own for the same thing, the
 * class is that one, too, so that `except ValueError` catches what people expect it to catch.
 *
 *     status                             exception                          is also a
 *     INVALID                            InvalidError                       ValueError
 *     NO_MEMORY                          MemoryError (Python's own)
 *     TOO_LARGE                          TooLargeError                      MemoryError
 *     FULL                               FullError
 *     MISMATCH                           MismatchError                      ValueError
 *     UNSUPPORTED                        UnsupportedError                   TypeError
 *     NOT_FRAME, UNSUPPORTED_VERSION,    FrameError                         ValueError
 *     TRUNCATED, CORRUPT
 *     EXHAUSTED                          ExhaustedError
 *     PROTOCOL                           ProtocolError
 *     CLOCK                              ClockError                         ValueError
 *     OVERFLOW                           RangeError                         OverflowError
 *     SYSTEM                             OSError (Python's own), with errno and the name of the file
 *     BUSY                               BusyError                          BlockingIOError
 *
 * The texts are the library's (roost_status_text, roost_file_get_error); what the binding knows besides follows a
 * colon.
 */
#include "errors.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static PyObject *base_error;

static struct error {
    const char *name, *documentation;
    PyObject **also; /* the class of Python's own that it is, too; NULL: none */
    PyObject *class;
} errors[] = {
    [ROOST_INVALID] = {"roost.InvalidError", "An argument or a configuration makes no sense.", &PyExc_ValueError, NULL},
    [ROOST_TOO_LARGE] = {"roost.TooLargeError", "More memory than the memory limit.", &PyExc_MemoryError, NULL},
    [ROOST_FULL] = {"roost.FullError", "A filter of fixed size has no room for one more key.", NULL, NULL},
    [ROOST_MISMATCH] = {"roost.MismatchError", "Two filters have different configurations.", &PyExc_ValueError, NULL},
    [ROOST_UNSUPPORTED] = {"roost.UnsupportedError", "This kind of filter has no such operation.", &PyExc_TypeError,
                           NULL},
    [ROOST_NOT_FRAME] = {"roost.FrameError", "Bytes that are no frame, or a damaged one.", &PyExc_ValueError, NULL},
    [ROOST_EXHAUSTED] = {"roost.ExhaustedError", "No actor can be had for one more addition.", NULL, NULL},
    [ROOST_PROTOCOL] = {"roost.ProtocolError", "The peer speaks another protocol.", NULL, NULL},
    [ROOST_CLOCK] = {"roost.ClockError", "A time that cannot be right.", &PyExc_ValueError, NULL},
    [ROOST_OVERFLOW] = {"roost.RangeError", "A counter would leave the range of 64 bits.", &PyExc_OverflowError, NULL},
    [ROOST_BUSY] = {"roost.BusyError", "Another process has locked the file.", &PyExc_BlockingIOError, NULL},
};

static bool add_error(PyObject *module, struct error *error)
{
    PyObject *bases = error->also ? PyTuple_Pack(2, base_error, *error->also) : PyTuple_Pack(1, base_error);
    error->class = bases ? PyErr_NewExceptionWithDoc(error->name, error->documentation, bases, NULL) : NULL;
    Py_XDECREF(bases);
    if (!error->class)
        return false;
    Py_INCREF(error->class);
    return PyModule_AddObject(module, strchr(error->name, '.') + 1, error->class) == 0;
}

bool errors_add(PyObject *module)
{
    base_error =
        PyErr_NewExceptionWithDoc("roost.Error", "What Roost refuses. The base of its other exceptions.", NULL, NULL);
    if (!base_error)
        return false;
    Py_INCREF(base_error);
    if (PyModule_AddObject(module, "Error", base_error) < 0)
        return false;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].name && !add_error(module, &errors[i]))
            return false;
    return true;
}

static PyObject *class_of(roost_status status)
{
    if (status == ROOST_NO_MEMORY)
        return PyExc_MemoryError;
    if (status == ROOST_UNSUPPORTED_VERSION || status == ROOST_TRUNCATED || status == ROOST_CORRUPT)
        status = ROOST_NOT_FRAME;
    unsigned index = (unsigned)status;
    return index < sizeof errors / sizeof *errors && errors[index].class ? errors[index].class : base_error;
}

PyObject *raise_status(roost_status status)
{
    PyErr_SetString(class_of(status), roost_status_text(status));
    return NULL;
}

PyObject *raise_refused(roost_status status, uint64_t capacity)
{
    if (status != ROOST_FULL)
        return raise_status(status);
    return raise_status_with(status, "it was made for %llu keys; give a larger capacity, or none, and it grows",
                             (unsigned long long)capacity);
}

PyObject *raise_status_with(roost_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *more = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (more)
        PyErr_Format(class_of(status), "%s: %U", roost_status_text(status), more);
    Py_XDECREF(more);
    return NULL;
}

PyObject *raise_kind(roost_kind kind)
{
    const char *name = kind == ROOST_WINDOW ? "Window" : kind == ROOST_COUNTER ? "Counter" : "Filter";
    return PyErr_Format(class_of(ROOST_MISMATCH), "these are the bytes of a %s; use %s.from_bytes or roost.from_bytes",
                        name, name);
}

/* ---- different configurations ----------------------------------------------------------------------------------- */

static const char *kind_name(roost_kind kind)
{
    static const char *const names[] = {"unknown", "bloom",   "cuckoo", "orcuckoo",
                                        "unknown", "unknown", "window", "counter"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static const char *semantics_name(roost_semantics semantics)
{
    static const char *const names[] = {"add-wins", "remove-wins", "last-writer-wins"};
    return (unsigned)semantics < sizeof names / sizeof *names ? names[semantics] : "unknown";
}

static const char *layout_name(roost_layout layout)
{
    return layout == ROOST_BLOCKED ? "blocked" : layout == ROOST_CLASSIC ? "classic" : "none";
}

static const char *schedule_name(roost_schedule schedule)
{
    static const char *const names[] = {"none", "quadratic", "halving", "gentle"};
    return (unsigned)schedule < sizeof names / sizeof *names ? names[schedule] : "unknown";
}

static PyObject *mismatch_in_number(const char *field, uint64_t ours, uint64_t theirs)
{
    return raise_status_with(ROOST_MISMATCH, "%s %llu and %llu", field, (unsigned long long)ours,
                             (unsigned long long)theirs);
}

static PyObject *mismatch_in_word(const char *field, const char *ours, const char *theirs)
{
    return raise_status_with(ROOST_MISMATCH, "%s %s and %s", field, ours, theirs);
}

/* The options that few set: those of fixed size, then how filters grow. */
static PyObject *mismatch_in_detail(const roost_config *ours, const roost_config *theirs)
{
    if (ours->layout != theirs->layout)
        return mismatch_in_word("layout", layout_name(ours->layout), layout_name(theirs->layout));
    if (ours->multiset != theirs->multiset)
        return mismatch_in_word("multiset", ours->multiset ? "True" : "False", theirs->multiset ? "True" : "False");
    if (ours->past != theirs->past)
        return mismatch_in_number("past", ours->past, theirs->past);
    if (ours->entry_bits != theirs->entry_bits)
        return mismatch_in_number("entry", ours->entry_bits, theirs->entry_bits);
    if (!ours->scalable && ours->bucket_size != theirs->bucket_size)
        return mismatch_in_number("bucket", ours->bucket_size, theirs->bucket_size);
    if (!ours->scalable && ours->fingerprint_bits != theirs->fingerprint_bits)
        return mismatch_in_number("bits", ours->fingerprint_bits, theirs->fingerprint_bits);
    if (ours->scalable && ours->writers != theirs->writers)
        return mismatch_in_number("writers", ours->writers, theirs->writers);
    if (ours->scalable && ours->growth != theirs->growth)
        return mismatch_in_number("growth", ours->growth, theirs->growth);
    if (ours->scalable && ours->schedule != theirs->schedule)
        return mismatch_in_word("schedule", schedule_name(ours->schedule), schedule_name(theirs->schedule));
    return raise_status(ROOST_MISMATCH);
}

static PyObject *mismatch_in_rate(double ours, double theirs)
{
    PyObject *a = PyFloat_FromDouble(ours), *b = PyFloat_FromDouble(theirs);
    if (a && b)
        raise_status_with(ROOST_MISMATCH, "fpr %R and %R", a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return NULL;
}

PyObject *raise_mismatch(const roost_config *ours, const roost_config *theirs)
{
    bool of_time = ours->window || theirs->window;
    if (!of_time && ours->scalable != theirs->scalable)
        return raise_status_with(ROOST_MISMATCH, "one has a capacity of %llu, and the other grows",
                                 (unsigned long long)(ours->scalable ? theirs : ours)->capacity);
    if (ours->kind != theirs->kind)
        return mismatch_in_word("kind", kind_name(ours->kind), kind_name(theirs->kind));
    if (ours->capacity != theirs->capacity)
        return mismatch_in_number("capacity", ours->capacity, theirs->capacity);
    if (ours->fpr != theirs->fpr)
        return mismatch_in_rate(ours->fpr, theirs->fpr);
    if (ours->seed != theirs->seed)
        return mismatch_in_number("seed", ours->seed, theirs->seed);
    if (ours->semantics != theirs->semantics)
        return mismatch_in_word("semantics", semantics_name(ours->semantics), semantics_name(theirs->semantics));
    if (ours->window != theirs->window)
        return mismatch_in_number("window (in microseconds)", ours->window, theirs->window);
    return mismatch_in_detail(ours, theirs);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

PyObject *raise_file(const roost_file *file, roost_status status, PyObject *path)
{
    if (PyErr_Occurred()) /* of a signal handler, which stopped the call */
        return NULL;
    if (status == ROOST_SYSTEM) {
        errno = roost_file_get_errno(file);
        return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    }
    if (status == ROOST_BUSY) {
        const char *text = "the file is locked: it is open already, in this process or another";
        PyObject *error = PyObject_CallFunction(class_of(status), "isO", EAGAIN, text, path);
        if (error)
            PyErr_SetObject(class_of(status), error);
        Py_XDECREF(error);
        return NULL;
    }
    const char *text = file ? roost_file_get_error(file) : "";
    PyErr_Format(class_of(status), "%S: %s", path, text[0] ? text : roost_status_text(status));
    return NULL;
}
