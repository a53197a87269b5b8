/*
 * Python's headers, for the stable ABI: one binary serves CPython 3.11 and all later ones.
 *
 * 3.11 is the first version whose stable ABI has Py_buffer. Without it a batch could not be read from where it is: every
 * array would be copied through a memoryview first. The older versions 3.9 and 3.10 compile the same sources for
 * themselves alone, with the whole API, in which Py_buffer always was.
 */
#ifndef PYTHON_PYTHON_H
#define PYTHON_PYTHON_H

#include <stdbool.h>
#define PY_SSIZE_T_CLEAN
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030b0000 && !defined(Py_LIMITED_API)
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A method in the table of a type; the casts go through a type without arguments, as compilers ask for. */
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

#endif
