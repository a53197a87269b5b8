/*
 * Compares what extension/later_abi.h declares with what a Python's own headers have: cc -fsyntax-only -Werror. A constant
 * that differs is a macro defined twice.
 */
#include <stddef.h>
#include <Python.h>

#define Py_buffer               declared_buffer
#define PyObject_CheckBuffer    declared_check
#define PyObject_GetBuffer      declared_get
#define PyBuffer_Release        declared_release
#define PyUnicode_AsUTF8AndSize declared_text
#include "../extension/later_abi.h"
#undef Py_buffer
#undef PyUnicode_AsUTF8AndSize

#define SAME(member)                                                                                                    \
    _Static_assert(offsetof(Py_buffer, member) == offsetof(declared_buffer, member), "Py_buffer has another layout");   \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((Py_buffer *)0)->member),                                   \
                                                __typeof__(((declared_buffer *)0)->member)),                            \
                   "a member of Py_buffer has another type")

SAME(buf);
SAME(obj);
SAME(len);
SAME(itemsize);
SAME(readonly);
SAME(ndim);
SAME(format);
SAME(shape);
SAME(strides);
SAME(suboffsets);
SAME(internal);
_Static_assert(sizeof(Py_buffer) == sizeof(declared_buffer), "Py_buffer has another size");
_Static_assert(__builtin_types_compatible_p(__typeof__(PyUnicode_AsUTF8AndSize), __typeof__(declared_text)),
               "PyUnicode_AsUTF8AndSize has another type");
