/* Many keys at once. */
#ifndef PYTHON_BATCH_H
#define PYTHON_BATCH_H

#include "python.h"
#include "replica.h"

#define KEYS_AT_ONCE 1024

/*
 * What is done with keys, at most KEYS_AT_ONCE of them a call. It runs with the object taken, and without the GIL.
 * `answers` has a place for each key; `*done` is how many were dealt with, and is `count` unless the status says
 * otherwise.
 */
typedef roost_status batch_call(roost_filter *filter, bool *answers, size_t *done, const roost_bytes *keys,
                                size_t count, uint64_t time);

struct batch {
    struct replica *replica;
    enum use use;
    batch_call *call;
    uint64_t time; /* for the call */
};

/* How many answers were true, as an int. */
PyObject *batch_count(const struct batch *batch, PyObject *keys);

/* All answers: a list of bool for an iterable, a memoryview of bool for an array. */
PyObject *batch_answers(const struct batch *batch, PyObject *keys);

/* Calls `take` for each block of keys of an iterable or array, without the GIL; for what is no replica. */
typedef roost_status batch_taker(void *context, const roost_bytes *keys, size_t count);
bool batch_each(PyObject *keys, batch_taker *take, void *context);

#endif
