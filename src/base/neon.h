/*
 * Whether the kernels for ARM are built: on aarch64, whose processors have NEON unless the compiler is told otherwise,
 * if words are little-endian, as the kernels read them, and the compiler has the header with all that they use (gcc
 * since version 10). src/meson.build asks here too.
 */
#ifndef BASE_NEON_H
#define BASE_NEON_H

#if defined(__aarch64__) && defined(__ARM_NEON) && defined(__has_include) &&                                           \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && (defined(__clang__) || __GNUC__ >= 10)
#if __has_include(<arm_neon.h>)
#define HAS_NEON 1
#endif
#endif

#endif
