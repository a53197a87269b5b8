/* For WebAssembly: an assertion that fails traps, which JavaScript gets as an exception. The texts would be 2 kB. */
#undef assert
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#define static_assert _Static_assert
