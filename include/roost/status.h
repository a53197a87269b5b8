/* The status that calls return. 0 is success; the values are pinned for ever; the texts come from one table. */
#ifndef ROOST_STATUS_H
#define ROOST_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* Marks a function that the library exports. */
#define ROOST_API __attribute__((visibility("default")))
/* Marks a function whose status must not be ignored. */
#define ROOST_MUST_CHECK __attribute__((warn_unused_result))
#else
#define ROOST_API
#define ROOST_MUST_CHECK
#endif

/*
 * What a call returns. After any status but ROOST_OK the call has changed nothing, unless its description says
 * otherwise.
 */
typedef enum roost_status {
    ROOST_OK = 0,          /* success */
    ROOST_INVALID = 1,     /* an argument or a configuration makes no sense */
    ROOST_NO_MEMORY = 2,   /* an allocation failed */
    ROOST_TOO_LARGE = 3,   /* the call needs more than the memory limit of the environment */
    ROOST_FULL = 4,        /* a table of fixed size has no room for this element, or a window cannot keep its rate */
    ROOST_MISMATCH = 5,    /* the two filters have different configurations */
    ROOST_UNSUPPORTED = 6, /* this kind of filter has no such operation */
    ROOST_NOT_FRAME = 7,   /* the bytes are not a Roost frame */
    ROOST_UNSUPPORTED_VERSION = 8, /* a frame of a later version */
    ROOST_TRUNCATED = 9,           /* a frame that ends too soon */
    ROOST_CORRUPT = 10,            /* a frame whose checksum or content is wrong */
    ROOST_EXHAUSTED = 11,          /* no actor can be had for one more addition */
    ROOST_PROTOCOL = 12,           /* the peer of a sync speaks another protocol, or a later version */
    ROOST_CLOCK = 13,       /* a time that cannot be right: older than the window, or far ahead of all known times */
    ROOST_OVERFLOW = 14,    /* a counter would leave the range of 64 bits */
    ROOST_SYSTEM = 15,      /* file.h: the operating system refused a call; roost_file_get_errno has its errno */
    ROOST_BUSY = 16,        /* file.h: another process has locked the file */
    ROOST_INTERRUPTED = 17, /* file.h: the caller stopped the call: roost_file_set_interrupt */
} roost_status;

/*
 * Returns what a status means, as a short lower-case phrase: a constant, never NULL. For a value that is no status it
 * returns "unknown status".
 */
ROOST_API const char *roost_status_text(roost_status status);

#ifdef __cplusplus
}
#endif
#endif
