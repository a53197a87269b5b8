/* For WebAssembly: XXH3 as functions that are compiled once (../xxhash.c), not inlined into each file that hashes. Inlined, it
   takes 2 kB each time. */
#undef XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include_next <xxhash.h>
