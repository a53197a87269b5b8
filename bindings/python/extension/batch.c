/*
 * Batches. Keys come from two places:
 *
 *     iterable    list, tuple, generator ...    up to 1,024 objects become keys with the GIL; then the call,
 *                                               without it
 *     array       array.array, numpy ...        read where they are, all of it without the GIL (array.c)
 *
 * The object is taken only while the library works on it, never while Python code runs: an iterable may add to the
 * filter that it is added to. The keys of a block hold references to their objects, so that a list which another thread
 * empties does not matter; buffers other than bytes are copied for the same reason.
 *
 * Where a call fails in the middle, as with a full filter, the keys before it stay, and the text says how many. They
 * stay, too, where an object is no key, or where the iterable raises: what a generator has given would else be lost.
 *
 * Signal handlers run between blocks, so that Ctrl-C ends a batch without end.
 */
#include "batch.h"

#include <string.h>

#include "array.h"
#include "errors.h"
#include "keys.h"

#define FEW            32   /* keys for which releasing the GIL takes longer than it is worth */
#define AHEAD          24   /* objects between the one that is worked on and the one that is fetched */
#define BLOCKS_A_SLICE 4096 /* of an array, between signals: some tenths of a second */
#define CACHE_LINE     64

/* ---- blocks of objects ------------------------------------------------------------------------------------------- */

/* Not on the stack: an iterable may call a batch whose iterable calls a batch, as deep as Python allows. */
struct block {
    size_t count;
    roost_bytes keys[KEYS_AT_ONCE];
    uint64_t numbers[KEYS_AT_ONCE];
    PyObject *held[KEYS_AT_ONCE];
    bool answers[KEYS_AT_ONCE];
};

static struct block *new_block(void)
{
    struct block *block = PyMem_Malloc(sizeof *block);
    if (block)
        block->count = 0;
    else
        PyErr_NoMemory();
    return block;
}

/* Keeps the object, whose reference it takes, or its copy; false with an exception. */
static bool hold(struct block *block, PyObject *object)
{
    block->held[block->count] = object;
    return object != NULL;
}

static bool hold_bytes(struct block *block, PyObject *object)
{
    char *data;
    Py_ssize_t size;
    if (!hold(block, object))
        return false;
    if (PyBytes_AsStringAndSize(object, &data, &size) < 0) {
        Py_DECREF(object);
        return false;
    }
    block->keys[block->count++] = (roost_bytes){data, (size_t)size};
    return true;
}

/* Others than those below: the key is copied. Takes the reference. */
static bool hold_copy(struct block *block, PyObject *object)
{
    PyObject *copy = key_bytes(NULL, object);
    Py_DECREF(object);
    return hold_bytes(block, copy);
}

static bool hold_text(struct block *block, PyObject *object)
{
    if (!key_of_text(&block->keys[block->count], object)) {
        Py_DECREF(object);
        return false;
    }
    block->held[block->count++] = object;
    return true;
}

static bool hold_number(struct block *block, PyObject *object)
{
    uint64_t *number = &block->numbers[block->count];
    bool fine = key_of_number(number, object);
    Py_DECREF(object);
    if (!fine)
        return false;
    block->keys[block->count] = (roost_bytes){number, sizeof *number};
    block->held[block->count++] = NULL;
    return true;
}

/* Whether the key of an object is had without Python code: its type is one of these and no subclass. */
static bool is_plain(PyObject *object)
{
    return PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyBytes_CheckExact(object);
}

/* Takes the reference. */
static bool put_object(struct block *block, PyObject *object)
{
    if (PyUnicode_CheckExact(object))
        return hold_text(block, object);
    if (PyLong_CheckExact(object))
        return hold_number(block, object);
    return PyBytes_CheckExact(object) ? hold_bytes(block, object) : hold_copy(block, object);
}

static void empty_block(struct block *block)
{
    for (size_t i = 0; i < block->count; i++)
        Py_XDECREF(block->held[i]);
    block->count = 0;
}

/* ---- where objects come from ------------------------------------------------------------------------------------- */

struct objects {
    PyObject *list, *tuple, *iterator; /* one of them */
    Py_ssize_t next;
};

static bool objects_open(struct objects *objects, PyObject *keys)
{
    *objects = (struct objects){0};
    if (PyUnicode_Check(keys) || PyBytes_Check(keys) || PyByteArray_Check(keys)) {
        PyErr_SetString(PyExc_TypeError, "one str or bytes is one key; this call takes an iterable of keys");
        return false;
    }
    if (PyList_CheckExact(keys))
        objects->list = keys;
    else if (PyTuple_CheckExact(keys))
        objects->tuple = keys;
    else
        return (objects->iterator = PyObject_GetIter(keys)) != NULL;
    return true;
}

static void objects_close(struct objects *objects)
{
    Py_XDECREF(objects->iterator);
}

/* Objects of a long list are anywhere in memory, and each is a miss of the cache or two: its count of references, and
   the characters behind it. So they are fetched while others before them are worked on. */
static void fetch_soon(PyObject *object)
{
    __builtin_prefetch(object, 1);
    __builtin_prefetch((const char *)object + CACHE_LINE);
}

/* Borrowed references of the next objects of a list or a tuple, as many as a block has room for. A list is asked anew
   for each block: it may change meanwhile. */
static size_t gather(const struct objects *objects, PyObject **items, size_t room)
{
    Py_ssize_t size = objects->list ? PyList_Size(objects->list) : PyTuple_Size(objects->tuple);
    size_t left = size > objects->next ? (size_t)(size - objects->next) : 0, count = left < room ? left : room;
    if (objects->list)
        for (size_t i = 0; i < count; i++)
            items[i] = PyList_GetItem(objects->list, objects->next + (Py_ssize_t)i);
    else
        for (size_t i = 0; i < count; i++)
            items[i] = PyTuple_GetItem(objects->tuple, objects->next + (Py_ssize_t)i);
    return count;
}

/* Puts gathered objects until one is not plain: making its key may run code that changes the list. */
static bool put_gathered(struct block *block, struct objects *objects, PyObject **items, size_t count)
{
    bool fine = true, plain = true;
    for (size_t i = 0; i < count && fine && plain; i++) {
        if (i + AHEAD < count)
            fetch_soon(items[i + AHEAD]);
        plain = is_plain(items[i]);
        objects->next++;
        Py_INCREF(items[i]);
        fine = put_object(block, items[i]);
    }
    return fine;
}

static bool fill_from_sequence(struct block *block, struct objects *objects)
{
    PyObject **items = block->held; /* those behind the objects that are held already */
    bool fine = true;
    size_t count;
    while (fine && (count = gather(objects, items + block->count, KEYS_AT_ONCE - block->count)) > 0)
        fine = put_gathered(block, objects, items + block->count, count);
    return fine;
}

static bool fill_from_iterator(struct block *block, PyObject *iterator)
{
    PyObject *object;
    while (block->count < KEYS_AT_ONCE && (object = PyIter_Next(iterator)))
        if (!put_object(block, object))
            return false;
    return !PyErr_Occurred();
}

/* False with an exception; an empty block is the end. */
static bool fill_block(struct block *block, struct objects *objects)
{
    return objects->iterator ? fill_from_iterator(block, objects->iterator) : fill_from_sequence(block, objects);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

struct tally {
    uint64_t done, yes;
};

static uint64_t count_yes(const bool *answers, size_t count)
{
    uint64_t yes = 0;
    for (size_t i = 0; i < count; i++)
        yes += answers[i];
    return yes;
}

static bool raise_partly(roost_status status, const struct tally *tally)
{
    if (tally->done > 0)
        raise_status_with(status, "%llu keys of the batch were done", (unsigned long long)tally->done);
    else
        raise_status(status);
    return false;
}

static roost_status call(const struct batch *batch, bool *answers, struct tally *tally, const roost_bytes *keys,
                         size_t count)
{
    size_t done = count;
    roost_status status = batch->call(batch->replica->filter, answers, &done, keys, count, batch->time);
    tally->done += done;
    tally->yes += count_yes(answers, done);
    return status;
}

static bool call_with_block(const struct batch *batch, struct tally *tally, struct block *block)
{
    roost_status status;
    if (!replica_begin(batch->replica, batch->use))
        return false;
    if (block->count < FEW) {
        status = call(batch, block->answers, tally, block->keys, block->count);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = call(batch, block->answers, tally, block->keys, block->count);
        Py_END_ALLOW_THREADS
    }
    replica_end(batch->replica, batch->use);
    return status == ROOST_OK || raise_partly(status, tally);
}

static bool append_answers(PyObject *list, const bool *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (PyList_Append(list, answers[i] ? Py_True : Py_False) < 0)
            return false;
    return true;
}

/* Where the block could not be filled: does what came before, with that exception, or one of an earlier key. */
static void call_with_rest(const struct batch *batch, struct tally *tally, struct block *block)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (block->count == 0 || batch->use != TO_CHANGE || call_with_block(batch, tally, block)) {
        PyErr_Restore(type, value, trace);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static bool run_blocks(const struct batch *batch, struct objects *objects, PyObject *list, struct tally *tally)
{
    struct block *block = new_block();
    bool fine = block != NULL, more = true;
    while (fine && more) {
        fine = fill_block(block, objects);
        if (!fine)
            call_with_rest(batch, tally, block);
        more = block->count > 0;
        fine = fine && (!more || call_with_block(batch, tally, block));
        fine = fine && (!list || append_answers(list, block->answers, block->count));
        empty_block(block);
        fine = fine && PyErr_CheckSignals() == 0;
    }
    PyMem_Free(block);
    return fine;
}

static bool run_objects(const struct batch *batch, PyObject *keys, PyObject *list, struct tally *tally)
{
    struct objects objects;
    if (!replica_look(batch->replica) || !objects_open(&objects, keys))
        return false;
    bool fine = run_blocks(batch, &objects, list, tally);
    objects_close(&objects);
    return fine;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Without the GIL. `all`, if not NULL, has a place for each key. `*more`: it may not be the end. */
static roost_status call_with_slice(const struct batch *batch, struct array *array, bool *all, struct tally *tally,
                                    char *text, bool *more)
{
    roost_bytes keys[KEYS_AT_ONCE];
    uint64_t numbers[KEYS_AT_ONCE];
    bool some[KEYS_AT_ONCE];
    roost_status status = ROOST_OK;
    *more = true;
    for (int block = 0; block < BLOCKS_A_SLICE && status == ROOST_OK && *more; block++) {
        size_t count = array_read(array, keys, numbers, text, KEYS_AT_ONCE);
        *more = count > 0;
        if (*more)
            status = call(batch, all ? all + tally->done : some, tally, keys, count);
    }
    return status;
}

static bool run_slice(const struct batch *batch, struct array *array, bool *all, struct tally *tally, char *text,
                      bool *more)
{
    roost_status status;
    if (!replica_begin(batch->replica, batch->use))
        return false;
    Py_BEGIN_ALLOW_THREADS
    status = call_with_slice(batch, array, all, tally, text, more);
    Py_END_ALLOW_THREADS
    replica_end(batch->replica, batch->use);
    return (status == ROOST_OK || raise_partly(status, tally)) && PyErr_CheckSignals() == 0;
}

static bool run_array(const struct batch *batch, struct array *array, bool *all, struct tally *tally)
{
    char *text = array->form == ARRAY_WIDE_TEXTS ? PyMem_Malloc(UTF8_ROOM) : NULL;
    bool fine = text || array->form != ARRAY_WIDE_TEXTS, more = true;
    if (!fine)
        PyErr_NoMemory();
    while (fine && more)
        fine = run_slice(batch, array, all, tally, text, &more);
    PyMem_Free(text);
    return fine && array_finish(array);
}

/* As many bytes, shown as bool. */
static PyObject *memory_of_bools(PyObject *bytes)
{
    PyObject *memory = PyMemoryView_FromObject(bytes);
    PyObject *bools = memory ? PyObject_CallMethod(memory, "cast", "s", "?") : NULL;
    Py_XDECREF(memory);
    return bools;
}

/* In two steps: where there is no memory for the bytes, PyByteArray_FromStringAndSize frees an object that it has not
   filled in, and Python prints an error of its own. */
static PyObject *new_bytes(size_t size)
{
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, 0);
    if (bytes && PyByteArray_Resize(bytes, (Py_ssize_t)size) < 0)
        Py_CLEAR(bytes);
    return bytes;
}

static PyObject *answers_of_array(const struct batch *batch, PyObject *keys)
{
    struct array array;
    struct tally tally = {0};
    if (!array_open(&array, keys))
        return NULL;
    PyObject *bytes = new_bytes(array.count);
    bool fine = bytes && run_array(batch, &array, (bool *)PyByteArray_AsString(bytes), &tally);
    PyObject *answers = fine ? memory_of_bools(bytes) : NULL;
    Py_XDECREF(bytes);
    array_release(&array);
    return answers;
}

static PyObject *count_of_array(const struct batch *batch, PyObject *keys)
{
    struct array array;
    struct tally tally = {0};
    if (!array_open(&array, keys))
        return NULL;
    bool fine = run_array(batch, &array, NULL, &tally);
    array_release(&array);
    return fine ? PyLong_FromUnsignedLongLong(tally.yes) : NULL;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

PyObject *batch_count(const struct batch *batch, PyObject *keys)
{
    struct tally tally = {0};
    if (is_array(keys))
        return count_of_array(batch, keys);
    return run_objects(batch, keys, NULL, &tally) ? PyLong_FromUnsignedLongLong(tally.yes) : NULL;
}

PyObject *batch_answers(const struct batch *batch, PyObject *keys)
{
    struct tally tally = {0};
    if (is_array(keys))
        return answers_of_array(batch, keys);
    PyObject *list = PyList_New(0);
    if (list && !run_objects(batch, keys, list, &tally))
        Py_CLEAR(list);
    return list;
}

/* ---- without an object ------------------------------------------------------------------------------------------- */

static bool each_of_array(PyObject *keys, batch_taker *take, void *context)
{
    struct array array;
    roost_bytes block[KEYS_AT_ONCE];
    uint64_t numbers[KEYS_AT_ONCE];
    roost_status status = ROOST_OK;
    size_t count;
    if (!array_open(&array, keys))
        return false;
    char *text = PyMem_Malloc(UTF8_ROOM);
    if (text) {
        Py_BEGIN_ALLOW_THREADS
        while (status == ROOST_OK && (count = array_read(&array, block, numbers, text, KEYS_AT_ONCE)) > 0)
            status = take(context, block, count);
        Py_END_ALLOW_THREADS
    } else {
        status = ROOST_NO_MEMORY;
    }
    PyMem_Free(text);
    bool fine = (status == ROOST_OK || raise_status(status)) && array_finish(&array);
    array_release(&array);
    return fine;
}

static bool each_of_blocks(struct objects *objects, batch_taker *take, void *context)
{
    struct block *block = new_block();
    bool fine = block != NULL, more = true;
    while (fine && more) {
        fine = fill_block(block, objects);
        more = block->count > 0;
        roost_status status = fine && more ? take(context, block->keys, block->count) : ROOST_OK;
        if (status != ROOST_OK)
            fine = raise_status(status) != NULL;
        empty_block(block);
    }
    PyMem_Free(block);
    return fine;
}

static bool each_of_objects(PyObject *keys, batch_taker *take, void *context)
{
    struct objects objects;
    if (!objects_open(&objects, keys))
        return false;
    bool fine = each_of_blocks(&objects, take, context);
    objects_close(&objects);
    return fine;
}

bool batch_each(PyObject *keys, batch_taker *take, void *context)
{
    return is_array(keys) ? each_of_array(keys, take, context) : each_of_objects(keys, take, context);
}
