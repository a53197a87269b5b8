/*
 * Python's headers, for the stable ABI of 3.9: one binary serves CPython 3.9 and all later ones.
 *
 * The stable ABI has buffers since 3.11 and PyUnicode_AsUTF8AndSize since 3.10. Without buffers every array would be
 * copied before its keys are read. 3.9 and 3.10 export the same functions with the same Py_buffer, and both have reached
 * their end of life, so nothing about them can change any more; later versions promise these declarations. So they are
 * repeated here for headers that hide them. ../tests/abi.c compares them with those of each Python's own headers.
 */
#ifndef PYTHON_PYTHON_H
#define PYTHON_PYTHON_H

#include <stdbool.h>
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>

#if Py_LIMITED_API < 0x030b0000
#include "later_abi.h"
#endif

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A method in the table of a type; the casts go through a type without arguments, as compilers ask for. */
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

#endif
