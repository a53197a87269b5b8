/* What a call can answer. Zero is success, values are pinned for ever, texts come from one table. */
#ifndef ROOST_STATUS_H
#define ROOST_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ROOST_API        __attribute__((visibility("default")))
#define ROOST_MUST_CHECK __attribute__((warn_unused_result))
#else
#define ROOST_API
#define ROOST_MUST_CHECK
#endif

typedef enum roost_status {
    ROOST_OK = 0,
    ROOST_INVALID = 1,     /* an argument or a configuration makes no sense */
    ROOST_NO_MEMORY = 2,   /* an allocation failed */
    ROOST_TOO_LARGE = 3,   /* it would need more than the memory limit of the environment */
    ROOST_FULL = 4,        /* a cuckoo table of fixed size has no room for this element, or a window's rate has none */
    ROOST_MISMATCH = 5,    /* the two filters have other configurations */
    ROOST_UNSUPPORTED = 6, /* this kind of filter has no such operation */
    ROOST_NOT_FRAME = 7,   /* the bytes are not a Roost frame at all */
    ROOST_VERSION = 8,     /* a frame of a later version */
    ROOST_TRUNCATED = 9,   /* a frame that ends too soon */
    ROOST_CORRUPT = 10,    /* a frame whose checksum or content is wrong */
    ROOST_EXHAUSTED = 11,  /* no actor can be had for one more addition */
    ROOST_PROTOCOL = 12,   /* the peer of a sync speaks something else, or a later version */
    ROOST_CLOCK = 13,      /* a time that cannot be right: older than the window, or far ahead of all that is known */
    ROOST_OVERFLOW = 14,   /* a counter would leave the range of 64 bits */

    /* Of file.h alone. */
    ROOST_SYSTEM = 15,      /* the operating system refused a call; roost_file_errno has its errno */
    ROOST_BUSY = 16,        /* another process has locked the file */
    ROOST_INTERRUPTED = 17, /* the caller stopped the call: roost_file_set_interrupt */
} roost_status;

/* A short lower-case phrase, never NULL; "unknown status" for a value that is none of the above. */
ROOST_API const char *roost_status_text(roost_status status);

#ifdef __cplusplus
}
#endif
#endif
