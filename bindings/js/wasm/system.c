/*
 * What the C library would ask of an operating system. There is none: random numbers come from JavaScript
 * (crypto.getRandomValues), and what cannot go on traps. So the module imports nothing but its memory and `random`.
 */
#include <stddef.h>
#include <stdint.h>

__attribute__((import_module("roost"), import_name("random"))) int32_t roost_random(void *bytes, size_t size);

int getentropy(void *bytes, size_t size)
{
    return roost_random(bytes, size) ? 0 : -1;
}

_Noreturn void abort(void)
{
    __builtin_trap();
}
