/* What the stable ABI has since 3.10 and 3.11, for a binary that 3.9 loads as well; python.h says why it may. */
#ifndef PYTHON_LATER_ABI_H
#define PYTHON_LATER_ABI_H

#define METH_FASTCALL 0x0080 /* since 3.10 */

/* Since 3.11. */
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

#define PyBUF_SIMPLE     0
#define PyBUF_FORMAT     0x0004
#define PyBUF_ND         0x0008
#define PyBUF_STRIDES    (0x0010 | PyBUF_ND)
#define PyBUF_RECORDS_RO (PyBUF_STRIDES | PyBUF_FORMAT)

PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);

/* Since 3.10. */
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);

#endif
