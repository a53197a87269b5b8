/*
 * An array is a batch without objects: its items are read from where they are. What an item is as a key follows from
 * what it would be as an object of Python, so that `5 in filter` finds the 5 of an array, whatever its type:
 *
 *     format                     item as a key
 *     b B h H i I l L q Q n N    the number, as 8 bytes (an int32 is widened); bool is no number here
 *     16s (numpy S16), c         these bytes, without the NULs at the end, as numpy shows them
 *     5w (numpy U5)              the text as UTF-8, without the NULs at the end
 *     B, two dimensions          each row is a key: shape (n, 16) for n keys of 16 bytes
 *
 * An array of 8-byte numbers in the order of this machine is the usual case: its keys are pointers into it. Other
 * numbers are widened in blocks. Steps (array[::2]) and the other order of bytes work as well. Floating-point numbers
 * are refused, as a float is.
 *
 * The memory belongs to the object while the buffer is held: nobody resizes it. Another thread may write to it
 * meanwhile; then a key is some mixture, but every byte is read once and within bounds.
 */
#include "array.h"

#include <endian.h>
#include <string.h>

bool is_array(PyObject *object)
{
    return PyObject_CheckBuffer(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
           !PyByteArray_Check(object);
}

/* ---- what it consists of ----------------------------------------------------------------------------------------- */

static bool refuse_format(const char *format)
{
    PyErr_Format(PyExc_TypeError, "an array of keys has integers, bytes or text, not items of the format '%s'", format);
    return false;
}

/* Takes the order of bytes, '<', '>', '=', '@' or none, from the format. */
static const char *without_order(struct array *array, const char *format)
{
    const uint16_t one = 1;
    bool is_little = *(const uint8_t *)&one == 1;
    array->is_swapped = (*format == '<' && !is_little) || ((*format == '>' || *format == '!') && is_little);
    return strchr("<>=@!", *format) && *format ? format + 1 : format;
}

static bool set_numbers(struct array *array, char type, size_t size)
{
    array->is_signed = strchr("bhilqn", type) != NULL;
    array->form = size == 8 && !array->is_swapped && htole64(1) == 1 ? ARRAY_WORDS : ARRAY_NUMBERS;
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool set_texts(struct array *array, char type, size_t size)
{
    array->form = type == 'w' ? ARRAY_WIDE_TEXTS : ARRAY_TEXTS;
    array->characters = size / 4;
    return type != 'w' || (size % 4 == 0 && size <= UTF8_ROOM);
}

static bool set_form(struct array *array, const char *whole)
{
    const char *format = without_order(array, whole);
    while (*format >= '0' && *format <= '9')
        format++;
    bool counted = format > whole && format[-1] >= '0' && format[-1] <= '9';
    bool fine = *format && !format[1];
    if (fine && !counted && strchr("bBhHiIlLqQnN", *format))
        fine = set_numbers(array, *format, array->size);
    else
        fine = fine && strchr("scw", *format) && set_texts(array, *format, array->size);
    return fine || refuse_format(whole);
}

static bool set_rows(struct array *array, const char *whole)
{
    const Py_buffer *buffer = &array->buffer;
    const char *format = without_order(array, whole);
    if (buffer->itemsize != 1 || !*format || !strchr("Bbc", *format) || format[1]) {
        PyErr_Format(
            PyExc_TypeError,
            "the rows of a two-dimensional array of keys are bytes, not '%s'; flatten it if each item is a key", whole);
        return false;
    }
    if (buffer->strides && buffer->strides[1] != 1 && buffer->shape[1] > 1) {
        PyErr_SetString(PyExc_ValueError, "the rows of a two-dimensional array of keys must be contiguous");
        return false;
    }
    array->form = ARRAY_ROWS;
    array->size = (size_t)buffer->shape[1];
    return true;
}

/* ctypes gives no strides although they are asked for: its arrays are contiguous. */
static ptrdiff_t first_stride(const Py_buffer *buffer)
{
    if (buffer->strides)
        return buffer->strides[0];
    return buffer->ndim == 2 ? buffer->shape[1] * buffer->itemsize : buffer->itemsize;
}

static bool describe(struct array *array)
{
    const Py_buffer *buffer = &array->buffer;
    const char *format = buffer->format ? buffer->format : "B";
    if (buffer->ndim != 1 && buffer->ndim != 2) {
        PyErr_Format(PyExc_ValueError, "an array of keys has one dimension, or two for rows of bytes, not %d",
                     buffer->ndim);
        return false;
    }
    array->count = (size_t)buffer->shape[0];
    array->data = buffer->buf;
    array->stride = first_stride(buffer);
    array->size = (size_t)buffer->itemsize;
    return buffer->ndim == 2 ? set_rows(array, format) : set_form(array, format);
}

bool array_open(struct array *array, PyObject *object)
{
    *array = (struct array){0};
    if (PyObject_GetBuffer(object, &array->buffer, PyBUF_RECORDS_RO) < 0)
        return false;
    if (describe(array))
        return true;
    array_release(array);
    return false;
}

void array_release(struct array *array)
{
    PyBuffer_Release(&array->buffer);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static uint64_t load_number(const struct array *array, const char *item)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (array->size) {
    case 1:
        memcpy(&one, item, 1);
        return array->is_signed ? (uint64_t)(int8_t)one : one;
    case 2:
        memcpy(&two, item, 2);
        two = array->is_swapped ? __builtin_bswap16(two) : two;
        return array->is_signed ? (uint64_t)(int16_t)two : two;
    case 4:
        memcpy(&four, item, 4);
        four = array->is_swapped ? __builtin_bswap32(four) : four;
        return array->is_signed ? (uint64_t)(int32_t)four : four;
    default:
        memcpy(&eight, item, 8);
        return array->is_swapped ? __builtin_bswap64(eight) : eight;
    }
}

static size_t size_without_nuls(const char *item, size_t size)
{
    while (size > 0 && item[size - 1] == 0)
        size--;
    return size;
}

static bool is_character(uint32_t character)
{
    return character <= 0x10ffff && (character < 0xd800 || character >= 0xe000);
}

static char *put_character(char *at, uint32_t character)
{
    if (character < 0x80) {
        *at++ = (char)character;
    } else if (character < 0x800) {
        *at++ = (char)(0xc0 | character >> 6);
        *at++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *at++ = (char)(0xe0 | character >> 12);
        *at++ = (char)(0x80 | (character >> 6 & 0x3f));
        *at++ = (char)(0x80 | (character & 0x3f));
    } else {
        *at++ = (char)(0xf0 | character >> 18);
        *at++ = (char)(0x80 | (character >> 12 & 0x3f));
        *at++ = (char)(0x80 | (character >> 6 & 0x3f));
        *at++ = (char)(0x80 | (character & 0x3f));
    }
    return at;
}

/* A character takes at most four bytes as UTF-8, as many as it takes here. */
static size_t put_text(struct array *array, char *text, const char *item)
{
    char *at = text, *end = text; /* behind the last character that is no NUL */
    for (size_t i = 0; i < array->characters; i++) {
        uint32_t character;
        memcpy(&character, item + 4 * i, 4);
        character = array->is_swapped ? __builtin_bswap32(character) : character;
        array->failed |= !is_character(character);
        at = put_character(at, is_character(character) ? character : '?');
        end = character ? at : end;
    }
    return (size_t)(end - text);
}

static size_t read_words(const struct array *array, roost_bytes *keys, const char *item, size_t count)
{
    for (size_t i = 0; i < count; i++, item += array->stride)
        keys[i] = (roost_bytes){item, 8};
    return count;
}

static size_t read_numbers(const struct array *array, roost_bytes *keys, uint64_t *numbers, const char *item,
                           size_t count)
{
    for (size_t i = 0; i < count; i++, item += array->stride) {
        numbers[i] = htole64(load_number(array, item));
        keys[i] = (roost_bytes){&numbers[i], 8};
    }
    return count;
}

static size_t read_bytes(const struct array *array, roost_bytes *keys, const char *item, size_t count)
{
    bool whole = array->form == ARRAY_ROWS;
    for (size_t i = 0; i < count; i++, item += array->stride)
        keys[i] = (roost_bytes){item, whole ? array->size : size_without_nuls(item, array->size)};
    return count;
}

static size_t read_wide_texts(struct array *array, roost_bytes *keys, char *text, const char *item, size_t count)
{
    size_t used = 0, done = 0;
    for (; done < count && used + array->size <= UTF8_ROOM; done++, item += array->stride) {
        size_t size = put_text(array, text + used, item);
        if (array->failed)
            break;
        keys[done] = (roost_bytes){text + used, size};
        used += size;
    }
    return done;
}

size_t array_read(struct array *array, roost_bytes *keys, uint64_t *numbers, char *text, size_t most)
{
    size_t left = array->count - array->next, count = left < most ? left : most;
    const char *item = array->data + (ptrdiff_t)array->next * array->stride;
    switch (array->form) {
    case ARRAY_WORDS:
        count = read_words(array, keys, item, count);
        break;
    case ARRAY_NUMBERS:
        count = read_numbers(array, keys, numbers, item, count);
        break;
    case ARRAY_WIDE_TEXTS:
        count = read_wide_texts(array, keys, text, item, count);
        break;
    default:
        count = read_bytes(array, keys, item, count);
    }
    array->next += count;
    return count;
}

bool array_finish(const struct array *array)
{
    if (array->failed)
        PyErr_Format(PyExc_ValueError, "item %zu of the array of text has a surrogate, which UTF-8 cannot express",
                     array->next);
    return !array->failed;
}
