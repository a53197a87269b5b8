/* wasi-libc has none, and tests that trap need none. */
